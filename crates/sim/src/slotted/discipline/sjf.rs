//! Shortest job first by what is left: with preemption, shortest remaining processing time (SRPT).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Discipline, Service, Settings, Slot, first_by};

/// The flow with the fewest packets left; ties go to the earlier one. Deadlines do not matter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sjf {}

impl Settings for Sjf {
    fn build(&self, _seed: u64, _replica: u64) -> Box<dyn Discipline> {
        Box::new(Model)
    }
}

struct Model;

impl Discipline for Model {
    fn serve(&mut self, slot: &Slot, _shares: &mut [f64]) -> Service {
        first_by(slot.flows, |flow| flow.left)
    }

    fn steady(&self) -> u64 {
        u64::MAX
    }
}
