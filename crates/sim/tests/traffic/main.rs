//! Traffic: sizes, arrivals, sources, and flows that react to others.

#[path = "../common/mod.rs"]
mod common;

mod cdf_files;
mod closed_forms;
mod collectives;
mod entries;
mod reacting;
mod rounds;
mod sizes;
mod sources;
mod workloads;
