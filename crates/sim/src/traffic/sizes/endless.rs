//! Flows that go on for as long as the run does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Distribution;
use crate::random::Stream;

/// Flows without an end, for entries with `background = true`.
///
/// In results such a flow has a size of 1 PB (10^15 bytes): more than any run sends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Endless {}

/// Takes 5000 s at 1.6 Tbps. Sums of thousands of them still fit into 64 bits.
const SIZE: u64 = 1_000_000_000_000_000;

impl Distribution for Endless {
    fn mean(&self) -> f64 {
        f64::INFINITY
    }

    fn mean_square(&self) -> f64 {
        f64::INFINITY
    }

    fn endless(&self) -> bool {
        true
    }

    fn sample(&self, _stream: &mut Stream) -> u64 {
        SIZE
    }
}
