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

pub mod balancer;
pub mod chase;
pub mod engine;
pub mod faults;
pub mod floor;
pub mod ids;
pub mod nearest;
pub mod normal;
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

use engine::calendar::Agenda;
use engine::{Engine, Progress};
use results::{Outcome, collect};
use routing::Disconnected;
use scenario::Scenario;
use setup::Setup;

/// Runs a scenario that has been checked. `watch` is shown the progress now and then and says whether
/// to go on; what was done until then is in the tables.
pub fn simulate(
    scenario: &Scenario,
    watch: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Outcome, Disconnected> {
    let setup = Setup::new(scenario)?;
    let plan = setup.plan(scenario, Agenda::Calendar);
    let ended = Engine::new(&plan).run(watch);
    Ok(collect(scenario, &setup, &ended))
}
