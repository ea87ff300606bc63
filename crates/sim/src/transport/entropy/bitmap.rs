//! All values in turn, except those that answers have penalised.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Feedback, Select, Settings, oblivious};
use crate::random::Stream;
use crate::units::Time;

/// All values in turn. Marks, trims and timeouts penalise a value: it is passed over once for each point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bitmap {
    /// Penalty of a mark.
    #[schemars(range(max = 255))]
    pub marked: u32,
    /// Penalty of a packet that was trimmed on its way.
    #[schemars(range(max = 255))]
    pub trimmed: u32,
    /// Penalty of a timeout.
    #[schemars(range(max = 255))]
    pub timed_out: u32,
    /// The largest penalty of a value.
    #[schemars(range(min = 1, max = 255))]
    pub most: u32,
}

impl Default for Bitmap {
    fn default() -> Self {
        Bitmap { marked: 1, trimmed: 4, timed_out: 15, most: 15 }
    }
}

impl Settings for Bitmap {}

/// The penalties of one flow.
#[derive(Clone, Debug)]
pub struct Model {
    config: Bitmap,
    round: oblivious::Model,
    /// By value.
    penalties: Vec<u8>,
}

impl Model {
    pub(super) fn new(config: &Bitmap, values: u16, stream: Stream) -> Model {
        let round = oblivious::Model::round(values, stream);
        Model { config: config.clone(), round, penalties: vec![0; usize::from(values)] }
    }
}

impl Select for Model {
    /// Of the values passed over for one packet only the first recovers a point; after a whole round any value is taken.
    #[inline]
    fn next(&mut self, _sent: u64, _window: u64) -> u16 {
        for passed in 0..=self.penalties.len() {
            let penalty = &mut self.penalties[usize::from(self.round.value())];
            if *penalty == 0 {
                break;
            }
            *penalty -= u8::from(passed == 0);
            if passed < self.penalties.len() {
                self.round.advance();
            }
        }
        let value = self.round.value();
        self.round.advance();
        value
    }

    #[inline]
    fn feedback(&mut self, value: u16, feedback: Feedback, _now: Time) {
        let points = match feedback {
            Feedback::Good => return,
            Feedback::Marked => self.config.marked,
            Feedback::Trimmed => self.config.trimmed,
            Feedback::TimedOut => self.config.timed_out,
        };
        // Values of another selector may be more: they stand for the same paths as their lower bits.
        let place = usize::from(value) & (self.penalties.len() - 1);
        let penalty = &mut self.penalties[place];
        *penalty = (u32::from(*penalty) + points).min(self.config.most) as u8;
    }
}
