//! Each source starts a flow, waits until it is over, idles, and starts the next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ClosedLoop, Process};
use crate::problem::Problem;
use crate::random::Stream;
use crate::units::Time;

/// One flow at a time for each source of the matrix: once its flow has ended, the source starts the next one in each
/// slot with `probability`.
///
/// With probability 1 and no slot a source is never idle: as soon as a flow ends, the next one starts. A
/// source goes through its destinations in a round of the matrix repeatedly; with `matrix.uniform` each flow
/// draws its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{ "probability": 1, "flows_each": 2 }]))]
pub struct OnOff {
    /// With which an idle source starts a flow in a slot.
    #[schemars(range(min = 1e-6, max = 1.0))]
    pub probability: f64,
    /// Length of a slot; slots are counted from `at`, and flows start where one begins, one at most in each. Without it, flows follow
    /// each other at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ps"))]
    pub slot: Option<Time>,
    /// When sources begin: the first slot.
    #[serde(default)]
    pub at: Time,
    /// Number of flows of each source; by default they go on until the run ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub flows_each: Option<u64>,
}

impl OnOff {
    /// Slots that pass before the one in which the source starts: geometric, by inversion.
    fn failures(&self, stream: &mut Stream) -> u64 {
        (libm::log(1.0 - stream.unit()) / libm::log1p(-self.probability)) as u64
    }
}

impl Process for OnOff {
    fn problems(&self) -> Vec<Problem> {
        let idles = self.slot.is_none() && self.probability < 1.0;
        let what = "is missing; a source that starts with a probability below 1 does so slot by slot: say slot = \"1.2us\"";
        idles.then(|| Problem::new("slot", what)).into_iter().collect()
    }

    fn flows(&self, _round: u64) -> Option<u64> {
        Some(0)
    }

    fn starts(&self, _full: f64, _round: u64, _stream: Stream) -> Box<dyn Iterator<Item = Time> + '_> {
        Box::new(std::iter::empty())
    }

    fn closed_loop(&self) -> Option<&dyn ClosedLoop> {
        Some(self)
    }
}

impl ClosedLoop for OnOff {
    fn next_start(&self, idle: Time, free: &mut u64, stream: &mut Stream) -> Time {
        let since = idle.saturating_sub(self.at);
        let Some(slot) = self.slot else {
            return self.at.saturating_add(since);
        };
        let chosen = since.0.div_ceil(slot.0).max(*free).saturating_add(self.failures(stream));
        *free = chosen.saturating_add(1);
        self.at.saturating_add(Time(chosen.saturating_mul(slot.0)))
    }

    fn flows_each(&self) -> Option<u64> {
        self.flows_each
    }
}
