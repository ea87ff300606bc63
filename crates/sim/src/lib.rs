//! Flowyard's simulator: a scenario goes in, columns come out.
//!
//! The modules stand in layers, from the bottom up, and each uses only those of layers before its own
//! (`tests/layers.rs` holds them to it):
//!
//! ```text
//! units | ids | random | nearest | normal | register | problem | prototype | records
//! topology
//! routing | traffic
//! faults | derived
//! engine | advice
//! queue | balancer | agent | buffer
//! transport | controller
//! observe
//! scenario
//! measure
//! setup | slotted
//! estimate | ideal | overload | crowded | features | measuring | inert
//! absent | belated
//! advisor
//! results
//! parting | threads
//! checked
//! ```
//!
//! Values in, values out: no file, clock, environment or global state in here, and threads only in `threads`, so that a
//! run is a pure function of its scenario, many runs fit into one process, and tests are small.

#![cfg_attr(not(test), warn(clippy::too_many_lines))]

mod absent;
pub mod advice;
pub mod advisor;
pub mod agent;
pub mod balancer;
mod belated;
pub mod buffer;
pub mod checked;
pub mod controller;
mod crowded;
pub mod derived;
pub mod engine;
pub mod estimate;
pub mod faults;
pub mod features;
pub mod ideal;
pub mod ids;
mod inert;
pub mod measure;
mod measuring;
pub mod nearest;
pub mod normal;
pub mod observe;
pub mod overload;
mod parting;
pub mod problem;
pub mod prototype;
pub mod queue;
pub mod random;
pub mod records;
pub mod register;
pub mod results;
pub mod routing;
pub mod scenario;
pub mod setup;
pub mod slotted;
pub mod threads;
pub mod topology;
pub mod traffic;
pub mod transport;
pub mod units;

use engine::contract::observer::Observer;
use engine::data::plan::Agenda;
use engine::data::progress::Progress;
use problem::Problems;
use results::Outcome;
use scenario::Scenario;

pub use self::checked::{Checked, Outlook};

/// Runs a scenario that has been checked: see [`Checked::simulate`].
pub fn simulate(scenario: &Scenario, watch: &mut dyn FnMut(&Progress) -> bool) -> Result<Outcome, Problems> {
    simulate_observed(scenario, watch, &mut [])
}

/// The same, watched by observers of one's own: see `engine::observer`.
pub fn simulate_observed(
    scenario: &Scenario,
    watch: &mut dyn FnMut(&Progress) -> bool,
    observers: &mut [&mut dyn Observer],
) -> Result<Outcome, Problems> {
    simulate_on(Agenda::Calendar, scenario, watch, observers)
}

/// The same, with the structure for future events chosen: for tests that compare them.
pub fn simulate_on(
    agenda: Agenda,
    scenario: &Scenario,
    watch: &mut dyn FnMut(&Progress) -> bool,
    observers: &mut [&mut dyn Observer],
) -> Result<Outcome, Problems> {
    Checked::of(scenario).simulate_on(agenda, watch, observers)
}

/// Forecast of a run; or the reason why it is refused.
pub fn outlook(scenario: &Scenario) -> Result<Outlook, Problems> {
    Checked::of(scenario).outlook()
}
