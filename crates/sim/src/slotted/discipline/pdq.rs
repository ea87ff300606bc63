//! PDQ as the thesis has it (section 1.4; Hong et al., SIGCOMM 2012): earliest deadline first, with early termination.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Discipline, EarlyTermination, Service, Settings, Slot, first_by};

/// The flow that is due first; ties go to the smaller one, then to the earlier one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pdq {
    /// When a flow gives up: the rule decides the result where larger flows are due earlier.
    pub early_termination: Rule,
}

/// When a flow gives up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// At the start of a slot in which it has more packets left than slots.
    #[default]
    Strict,
    /// The same, but for the flow that was served in the slot before: gives the same schedule.
    Waiting,
    /// When its deadline has come: time is spent on flows that cannot make it.
    Expired,
}

impl Settings for Pdq {
    fn build(&self, _seed: u64, _replica: u64) -> Box<dyn Discipline> {
        Box::new(Model { rule: self.early_termination })
    }
}

struct Model {
    rule: Rule,
}

impl Discipline for Model {
    fn serve(&mut self, slot: &Slot, _shares: &mut [f64]) -> Service {
        first_by(slot.flows, |flow| (flow.due(), flow.left))
    }

    fn early_termination(&self) -> EarlyTermination {
        match self.rule {
            Rule::Strict => EarlyTermination::Hopeless,
            Rule::Waiting => EarlyTermination::HopelessWaiting,
            Rule::Expired => EarlyTermination::Expired,
        }
    }

    fn steady(&self) -> u64 {
        u64::MAX
    }
}
