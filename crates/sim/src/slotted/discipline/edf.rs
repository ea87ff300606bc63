//! Earliest deadline first (Liu and Layland, JACM 1973), without early termination.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Discipline, Service, Settings, Slot, first_by};

/// The flow that is due first; ties go to the smaller one, then to the earlier one. Nobody leaves before the deadline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edf {}

impl Settings for Edf {
    fn build(&self, _seed: u64, _replica: u64) -> Box<dyn Discipline> {
        Box::new(Model)
    }
}

struct Model;

impl Discipline for Model {
    fn serve(&mut self, slot: &Slot, _shares: &mut [f64]) -> Service {
        first_by(slot.flows, |flow| (flow.due(), flow.left))
    }

    fn steady(&self) -> u64 {
        u64::MAX
    }
}
