//! Exponentially distributed sizes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Distribution, drawn, whole};
use crate::random::Stream;
use crate::units::Bytes;

/// Exponential with mean `mean`; a draw below `min` is raised to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{ "mean": "46KB" }]))]
pub struct Exponential {
    /// Mean before the floor; with a floor, the mean is min + mean * exp(-min / mean).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "10GB"))]
    pub mean: Bytes,
    /// Smallest size.
    #[serde(default)]
    #[schemars(extend("x-maximum" = "10GB"))]
    pub min: Bytes,
}

impl Distribution for Exponential {
    fn mean(&self) -> f64 {
        let (mean, min) = (self.mean.0 as f64, self.min.0 as f64);
        let larger = |size: f64| if size < min { 1.0 } else { libm::exp(-size / mean) };
        drawn(min + mean * libm::exp(-min / mean), larger)
    }

    fn mean_square(&self) -> f64 {
        let (mean, min) = (self.mean.0 as f64, self.min.0 as f64);
        min * min + 2.0 * mean * (min + mean) * libm::exp(-min / mean)
    }

    fn sample(&self, stream: &mut Stream) -> u64 {
        whole(stream.exponential(self.mean.0 as f64).max(self.min.0 as f64))
    }
}
