//! First come, first served.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Discipline, Service, Settings, Slot};

/// The flow that arrived first is served until it is done or its deadline has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fcfs {}

impl Settings for Fcfs {
    fn build(&self, _seed: u64, _replica: u64) -> Box<dyn Discipline> {
        Box::new(Model)
    }
}

struct Model;

impl Discipline for Model {
    fn serve(&mut self, slot: &Slot, _shares: &mut [f64]) -> Service {
        if slot.flows.is_empty() { Service::Nobody } else { Service::One(0) }
    }

    fn steady(&self) -> u64 {
        u64::MAX
    }
}
