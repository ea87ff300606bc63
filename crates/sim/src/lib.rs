//! Flowyard's simulator: a scenario goes in, columns come out.
//!
//! The stages stand in this order, and each uses only those to its left:
//!
//! ```text
//! scenario -> topology, routing, faults -> traffic -> engine (queue, balancer, transport) -> records
//! ```
//!
//! Values in, values out: no file, clock, thread, environment or global state in here, so that a
//! run is a pure function of its scenario, many runs fit into one process, and tests are small.

pub mod advice;
pub mod balancer;
pub mod chase;
pub mod derived;
pub mod engine;
pub mod estimate;
pub mod faults;
pub mod floor;
pub mod ideal;
pub mod ids;
pub mod nearest;
pub mod normal;
pub mod observe;
pub mod queue;
pub mod random;
pub mod records;
pub mod register;
pub mod results;
pub mod routing;
pub mod scenario;
pub mod setup;
pub mod slotted;
pub mod topology;
pub mod traffic;
pub mod transport;
pub mod units;

use std::collections::BTreeMap;

use advice::{Advice, advice};
use engine::calendar::Agenda;
use engine::observer::Observer;
use engine::{Engine, Progress};
use estimate::Estimate;
use observe::Recorders;
use results::{Outcome, collect};
use scenario::{Problem, Problems, Scenario};
use serde::Serialize;
use serde_json::Value;
use setup::Setup;

/// Runs a scenario that has been checked. `watch` is shown the progress now and then and says whether
/// to go on; what was done until then is in the tables. Refuses a run that is out of reach: see `estimate`.
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
    let (setup, estimate) = prepare(scenario)?;
    let mut recorders = Recorders::new(&scenario.observe, &setup.fabric, &setup.carriers);
    let plan = setup.plan(scenario, agenda);
    let mut engine = Engine::new(&plan);
    recorders.all().for_each(|recorder| engine.observe(recorder));
    observers.iter_mut().for_each(|observer| engine.observe(*observer));
    let ended = engine.run(watch);
    Ok(collect(scenario, &setup, estimate, &ended, recorders))
}

/// What there is to know of a run before it; or why it is refused.
pub fn outlook(scenario: &Scenario) -> Result<Outlook, Problems> {
    let (setup, needs) = prepare(scenario)?;
    let advice = advice(scenario, &setup);
    Ok(Outlook { needs, derived: setup.derived, advice })
}

/// What there is to know of a run before it.
#[derive(Clone, Debug, Serialize)]
pub struct Outlook {
    /// What it will need.
    pub needs: Estimate,
    /// Fields that the scenario leaves to the network, by their paths, with the values that will be used.
    pub derived: BTreeMap<String, Value>,
    /// What is allowed and probably not meant.
    pub advice: Vec<Advice>,
}

fn prepare(scenario: &Scenario) -> Result<(Setup, Estimate), Problems> {
    let setup = Setup::new(scenario).map_err(|apart| Problem::new("topology", apart.to_string()))?;
    let estimate = Estimate::new(scenario, &setup);
    match estimate.refusal(scenario) {
        Some(problem) => Err(problem.into()),
        None => Ok((setup, estimate)),
    }
}
