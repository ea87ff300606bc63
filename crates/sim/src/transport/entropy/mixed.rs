//! Recycled values first, and those of a bitmap where there is none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bitmap::{self, Bitmap};
use super::reps_legacy::{self, RepsLegacy};
use super::{Feedback, Select, Settings};
use crate::random::Stream;
use crate::units::Time;

/// Values of answers without a mark, first in first out, as under "reps-legacy" without its first window; without any, the next
/// one of "bitmap". Both learn from each answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mixed {
    /// Penalties of values that are not recycled.
    pub bitmap: Bitmap,
}

impl Settings for Mixed {}

/// Both choices of one flow.
#[derive(Clone, Debug)]
pub struct Model {
    bitmap: bitmap::Model,
    recycled: reps_legacy::Model,
}

impl Model {
    pub(super) fn new(config: &Mixed, values: u16, stream: Stream) -> Model {
        Model {
            bitmap: bitmap::Model::new(&config.bitmap, values, stream),
            recycled: reps_legacy::Model::new(&RepsLegacy {}, values, stream),
        }
    }
}

impl Select for Model {
    #[inline]
    fn next(&mut self, sent: u64, window: u64) -> u16 {
        match self.recycled.recycled() {
            Some(value) => value,
            None => self.bitmap.next(sent, window),
        }
    }

    #[inline]
    fn feedback(&mut self, value: u16, feedback: Feedback, now: Time) {
        self.bitmap.feedback(value, feedback, now);
        self.recycled.feedback(value, feedback, now);
    }
}
