//! Ports, queues, paths and faults: the network between the hosts, and its records.

#[path = "../common/mod.rs"]
mod common;

mod analytic;
mod aqm;
mod balancing;
mod buffer;
mod determinism;
mod ecmp;
mod endings;
mod events;
mod faults;
mod ideals;
mod limits;
mod link_credits;
mod observe;
mod parts;
mod permuted;
mod pfc;
mod points;
mod queueing;
mod routes;
mod stationary;
mod ties;
mod utilisation;
mod window;
