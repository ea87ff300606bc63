//! What benchmarks compare the simulator's speed with. Both loops are frozen, apart from the engine on purpose.

pub mod chase;
pub mod floor;
