//! The algorithms by which a controller gives rates or paths: they know hosts, links and flows by number, and no engine.
//!
//! `matrix` holds what hosts offer to send to each other. `sinkhorn`, the procedure of ASY, and `max_min` make rates of it;
//! `flowtune` makes rates of flows on the links of their paths; `hedera` chooses paths.

pub mod flowtune;
pub mod hedera;
mod lines;
pub mod matrix;
pub mod max_min;
pub mod paths;
pub mod sinkhorn;
