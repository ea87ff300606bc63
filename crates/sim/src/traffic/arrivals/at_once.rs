//! All flows start together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Jitter, Process};
use crate::random::Stream;
use crate::units::Time;

/// All flows start at one instant, apart from a little jitter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AtOnce {
    /// When they start.
    pub at: Time,
    /// Added to each start, uniform from 0 up to this; by default the time of 1500 B at the source's port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Time>,
}

impl Process for AtOnce {
    fn flows(&self, round: u64) -> Option<u64> {
        Some(round)
    }

    fn starts(&self, _full: f64, _round: u64, _stream: Stream) -> Box<dyn Iterator<Item = Time> + '_> {
        Box::new(std::iter::repeat(self.at))
    }

    fn jitter(&self) -> Jitter {
        self.jitter.into()
    }
}
