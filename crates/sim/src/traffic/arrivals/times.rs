//! Flows start at given times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Jitter, Process};
use crate::problem::Problem;
use crate::random::Stream;
use crate::units::Time;

/// A flow for each given time, in the order of the matrix's pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{ "at": ["0s", "30us"] }]))]
pub struct Times {
    /// The starts, one for each flow.
    #[schemars(length(min = 1))]
    pub at: Vec<Time>,
    /// Added to each start, uniform from 0 up to this; by default the time of 1500 B at the source's port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Time>,
}

impl Process for Times {
    fn problems(&self) -> Vec<Problem> {
        let none = self.at.is_empty().then(|| Problem::new("at", "is empty; give a start for each flow"));
        none.into_iter().collect()
    }

    fn flows(&self, round: u64) -> Option<u64> {
        self.flows_max(round)
    }

    fn flows_max(&self, _round: u64) -> Option<u64> {
        Some(self.at.len() as u64)
    }

    fn starts(&self, _full: f64, _round: u64, _stream: Stream) -> Box<dyn Iterator<Item = Time> + '_> {
        Box::new(self.at.iter().copied())
    }

    fn jitter(&self) -> Jitter {
        self.jitter.into()
    }
}
