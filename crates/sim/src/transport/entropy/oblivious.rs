//! Oblivious spraying: all values in turn, whatever answers say.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Select, Settings};
use crate::random::Stream;

/// All values in turn, in an order that a random number changes after each round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Oblivious {}

impl Settings for Oblivious {}

/// The place in a round.
#[derive(Clone, Debug)]
pub struct Model {
    mask: u16,
    at: u16,
    /// The value at a place differs from it in these bits.
    flips: u16,
    stream: Stream,
}

impl Model {
    pub(super) fn new(_config: &Oblivious, values: u16, stream: Stream) -> Model {
        Model::round(values, stream)
    }

    /// The rounds of any selector that has them.
    pub(super) fn round(values: u16, mut stream: Stream) -> Model {
        let mask = values - 1;
        let flips = stream.bits() as u16 & mask;
        Model { mask, at: 0, flips, stream }
    }

    /// The value whose turn it is.
    #[inline]
    pub(super) fn value(&self) -> u16 {
        self.at ^ self.flips
    }

    /// The turn passes on.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.at = (self.at + 1) & self.mask;
        if self.at == 0 {
            self.flips = self.stream.bits() as u16 & self.mask;
        }
    }
}

impl Select for Model {
    #[inline]
    fn next(&mut self, _sent: u64, _window: u64) -> u16 {
        let value = self.value();
        self.advance();
        value
    }
}
