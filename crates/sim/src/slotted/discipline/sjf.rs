//! Shortest job first by the remaining packets: with preemption, shortest remaining processing time (SRPT).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Discipline, EarlyTermination, Service, Settings, Slot, first_by};

/// The flow with the fewest packets left; ties go to the earlier one. Deadlines do not matter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sjf {
    /// When a flow gives up.
    pub early_termination: EarlyTermination,
}

impl Default for Sjf {
    fn default() -> Sjf {
        Sjf { early_termination: EarlyTermination::Expired }
    }
}

impl Settings for Sjf {
    fn build(&self, _seed: u64, _replica: u64) -> Box<dyn Discipline> {
        Box::new(Model { early_termination: self.early_termination })
    }
}

struct Model {
    early_termination: EarlyTermination,
}

impl Discipline for Model {
    fn serve(&mut self, slot: &Slot, _shares: &mut [f64]) -> Service {
        first_by(slot.flows, |flow| flow.left)
    }

    fn early_termination(&self) -> EarlyTermination {
        self.early_termination
    }

    fn steady(&self) -> u64 {
        u64::MAX
    }
}
