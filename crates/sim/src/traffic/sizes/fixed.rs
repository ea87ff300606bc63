//! One size for all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Distribution;
use crate::random::Stream;
use crate::units::Bytes;

/// Every flow has this size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fixed(#[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000GB"))] pub Bytes);

impl Distribution for Fixed {
    fn mean(&self) -> f64 {
        self.0.0 as f64
    }

    fn mean_square(&self) -> f64 {
        self.mean() * self.mean()
    }

    fn sample(&self, _stream: &mut Stream) -> u64 {
        self.0.0
    }
}
