//! The algorithms by which a controller gives rates or paths: they use numbers of hosts, links and flows, and
//! not the engine.
//!
//! `matrix` holds the offered rates between hosts, `parts` finds those that a change can move. `sinkhorn`, the procedure
//! of ASY, and `max_min` make rates of it; `flowtune` makes rates of flows on the links of their paths; `hedera` chooses
//! paths.

pub mod flowtune;
pub mod hedera;
mod lines;
pub mod matrix;
pub mod max_min;
mod parts;
pub mod paths;
mod rows;
pub mod sinkhorn;

/// Bytes that a list has taken.
fn bytes<T>(list: &Vec<T>) -> usize {
    list.capacity() * size_of::<T>()
}
