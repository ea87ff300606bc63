//! Earliest deadline first (Liu and Layland, JACM 1973), without early termination.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Discipline, Service, Settings, Slot, first_by};

/// The flow that is due first. No flow leaves before its deadline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Edf {
    /// Which of several flows that are due together.
    pub ties: Ties,
}

/// Which of several flows that are due together is served first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// The one with the lower number, which arrived earlier: the thesis (section 1.3.2) names no rule for EDF as such.
    #[default]
    Id,
    /// The one with the fewest packets left, then the lower number: the schedule of PDQ that terminates flows only when
    /// they have expired.
    Size,
}

impl Settings for Edf {
    fn build(&self, _seed: u64, _replica: u64) -> Box<dyn Discipline> {
        Box::new(Model { ties: self.ties })
    }
}

struct Model {
    ties: Ties,
}

impl Discipline for Model {
    fn serve(&mut self, slot: &Slot, _shares: &mut [f64]) -> Service {
        match self.ties {
            Ties::Id => first_by(slot.flows, |flow| flow.due()),
            Ties::Size => first_by(slot.flows, |flow| (flow.due(), flow.left)),
        }
    }

    fn steady(&self) -> u64 {
        u64::MAX
    }
}
