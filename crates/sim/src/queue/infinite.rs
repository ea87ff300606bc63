//! A first-in first-out queue that never drops.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fifo::Fifo;
use super::{Build, Feature, Settings};
use crate::engine::contract::rules::Rules;

/// First-in first-out without a limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Infinite {}

impl Settings for Infinite {
    fn offers(&self) -> &'static [Feature] {
        &[Feature::Unlimited, Feature::Headers]
    }

    fn committed(&self, _full_packet: u64) -> Option<Rules> {
        Some(Rules::UNLIMITED)
    }
}

impl Build for Infinite {
    type Model = Fifo;

    fn model(&self, _full_packet: u64) -> Fifo {
        Fifo::new(Rules::UNLIMITED)
    }
}
