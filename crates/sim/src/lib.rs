//! Flowyard's simulator: a scenario goes in, columns come out.
//!
//! The stages stand in this order, and each uses only those to its left:
//!
//! ```text
//! scenario -> topology, routing -> traffic -> engine (queue, balancer, transport) -> records
//! ```
//!
//! Values in, values out: no file, clock, thread, environment or global state in here, so that a
//! run is a pure function of its scenario, many runs fit into one process, and tests are small.

pub mod balancer;
pub mod ids;
pub mod queue;
pub mod random;
pub mod records;
pub mod register;
pub mod routing;
pub mod scenario;
pub mod topology;
pub mod traffic;
pub mod transport;
pub mod units;
