//! Normally distributed sizes.

use std::f64::consts::PI;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Distribution, drawn, whole};
use crate::normal;
use crate::random::Stream;
use crate::units::Bytes;

/// Normal with mean `mean` and the given standard deviation; a draw below `min` is raised to it, and the mean
/// that a load is computed with takes that into account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{ "mean": "30KB", "deviation": "10KB" }]))]
pub struct Normal {
    /// Mean before the floor.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "10GB"))]
    pub mean: Bytes,
    /// Standard deviation before the floor.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "10GB"))]
    pub deviation: Bytes,
    /// Smallest size.
    #[serde(default = "one_byte")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "10GB"))]
    pub min: Bytes,
}

fn one_byte() -> Bytes {
    Bytes(1)
}

impl Distribution for Normal {
    fn mean(&self) -> f64 {
        // E[max(X, min)] = min P(X < min) + E[X; X > min].
        let (mean, deviation, min) = (self.mean.0 as f64, self.deviation.0 as f64, self.min.0 as f64);
        let score = (min - mean) / deviation;
        let density = libm::exp(-score * score / 2.0) / libm::sqrt(2.0 * PI);
        let larger = |size: f64| if size < min { 1.0 } else { normal::cdf((mean - size) / deviation) };
        drawn(min * normal::cdf(score) + mean * normal::cdf(-score) + deviation * density, larger)
    }

    fn mean_square(&self) -> f64 {
        // E[max(X, min)^2], as for the mean.
        let (mean, deviation, min) = (self.mean.0 as f64, self.deviation.0 as f64, self.min.0 as f64);
        let score = (min - mean) / deviation;
        let density = libm::exp(-score * score / 2.0) / libm::sqrt(2.0 * PI);
        let above = (mean * mean + deviation * deviation) * normal::cdf(-score);
        min * min * normal::cdf(score) + above + deviation * (mean + min) * density
    }

    fn sample(&self, stream: &mut Stream) -> u64 {
        let (mean, deviation) = (self.mean.0 as f64, self.deviation.0 as f64);
        // A draw of exactly 0 has no quantile; it is raised to the floor like all that are far below the mean.
        let size = mean + deviation * normal::quantile(stream.unit());
        whole(size.max(self.min.0 as f64))
    }
}
