//! The contracts between the engine and the members of a run: what an author of a transport, queue, load balancer, agent,
//! controller or observer reads.

pub mod agent;
pub mod controller;
pub mod discipline;
pub mod endpoint;
pub mod fake;
pub mod host;
pub mod members;
pub mod observer;
pub mod path;
pub mod schedule;

pub use super::data::{
    conn, credit, event, gate, memory, numbers, packet, paths, points, ring, rules, telemetry,
};
