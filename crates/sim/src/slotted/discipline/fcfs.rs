//! First come, first served.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Discipline, EarlyTermination, Service, Settings, Slot};

/// The flow that arrived first is served until it leaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Fcfs {
    /// When a flow gives up.
    pub early_termination: EarlyTermination,
}

impl Default for Fcfs {
    fn default() -> Fcfs {
        Fcfs { early_termination: EarlyTermination::Expired }
    }
}

impl Settings for Fcfs {
    fn build(&self, _seed: u64, _replica: u64) -> Box<dyn Discipline> {
        Box::new(Model { early_termination: self.early_termination })
    }
}

struct Model {
    early_termination: EarlyTermination,
}

impl Discipline for Model {
    fn serve(&mut self, slot: &Slot, _shares: &mut [f64]) -> Service {
        if slot.flows.is_empty() { Service::Nobody } else { Service::One(0) }
    }

    fn early_termination(&self) -> EarlyTermination {
        self.early_termination
    }

    fn steady(&self) -> u64 {
        u64::MAX
    }
}
