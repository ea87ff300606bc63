//! The first form of REPS: the first window counts, later packets have the values of good answers in their order.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Feedback, Select, Settings, uniform};
use crate::random::Stream;
use crate::units::Time;

/// The first window goes through the values, later packets reuse those of answers without a mark, first in first out; a random
/// one if there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RepsLegacy {}

impl Settings for RepsLegacy {}

/// The values that wait for their use.
#[derive(Clone, Debug)]
pub struct Model {
    values: u16,
    counted: u16,
    good: VecDeque<u16>,
    stream: Stream,
}

impl Model {
    pub(super) fn new(_config: &RepsLegacy, values: u16, stream: Stream) -> Model {
        Model { values, counted: 0, good: VecDeque::new(), stream }
    }

    /// The oldest good value.
    #[inline]
    pub(super) fn recycled(&mut self) -> Option<u16> {
        self.good.pop_front()
    }
}

impl Select for Model {
    fn next(&mut self, sent: u64, window: u64) -> u16 {
        if sent < window.min(u64::from(self.values)) {
            self.counted = (self.counted + 1) & (self.values - 1);
            return self.counted;
        }
        self.recycled().unwrap_or_else(|| uniform(&mut self.stream, self.values))
    }

    #[inline]
    fn feedback(&mut self, value: u16, feedback: Feedback, _now: Time) {
        if feedback == Feedback::Good {
            self.good.push_back(value);
        }
    }
}
