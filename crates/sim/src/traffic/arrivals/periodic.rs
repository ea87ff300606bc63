//! Rounds of flows at a fixed interval.

use std::iter::repeat_n;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Jitter, Process};
use crate::problem::Problem;
use crate::random::Stream;
use crate::units::Time;

/// Rounds of the matrix at a fixed interval, whether or not the flows of the round before have ended: all flows of a
/// round start together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{ "every": "1ms", "rounds": 3 }]))]
pub struct Periodic {
    /// Time from the start of a round to that of the next.
    #[schemars(extend("x-minimum" = "1ps"))]
    pub every: Time,
    /// Number of rounds.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub rounds: u64,
    /// When the first round starts.
    #[serde(default)]
    pub start: Time,
    /// Added to each start, uniform from 0 up to this; by default the time of 1500 B at the source's port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Time>,
}

impl Process for Periodic {
    fn problems(&self) -> Vec<Problem> {
        let span = self.every.0.checked_mul(self.rounds - 1);
        if span.and_then(|span| span.checked_add(self.start.0)).is_some() {
            return Vec::new();
        }
        let what =
            format!("{} starts {} apart reach beyond the longest time of a run", self.rounds, self.every);
        vec![Problem::new("rounds", what)]
    }

    fn flows(&self, round: u64) -> Option<u64> {
        self.flows_max(round)
    }

    fn flows_max(&self, round: u64) -> Option<u64> {
        Some(self.rounds.saturating_mul(round))
    }

    fn starts(&self, _full: f64, round: u64, _stream: Stream) -> Box<dyn Iterator<Item = Time> + '_> {
        let start = |number: u64| Time(self.start.0 + self.every.0 * number);
        Box::new((0..self.rounds).flat_map(move |number| repeat_n(start(number), round as usize)))
    }

    fn jitter(&self) -> Jitter {
        self.jitter.into()
    }
}
