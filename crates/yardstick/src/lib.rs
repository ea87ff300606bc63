//! Yardsticks of the benchmarks for the simulator's speed. Both loops are frozen, apart from the engine on
//! purpose.

pub mod chase;
pub mod floor;
