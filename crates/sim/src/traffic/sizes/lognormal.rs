//! Log-normally distributed sizes: many small flows, a long tail.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Distribution, SIZE_MAX, drawn, whole};
use crate::normal;
use crate::problem::Problem;
use crate::random::Stream;
use crate::units::Bytes;

/// The logarithm of the size is normally distributed.
///
/// Without `max` the mean is median * exp(sigma^2 / 2): for a given mean, set the median to
/// mean * exp(-sigma^2 / 2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{ "median": "10KB", "sigma": 1.5 }]))]
pub struct Lognormal {
    /// Half of the sizes are below it: the exponential of the logarithm's mean.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "10GB"))]
    pub median: Bytes,
    /// Standard deviation of the natural logarithm of the size.
    #[schemars(range(min = 0.001, max = 10.0))]
    pub sigma: f64,
    /// Largest size: a draw above it is lowered to it, and the mean takes that into account. By default
    /// 1000GB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000GB"))]
    pub max: Option<Bytes>,
}

impl Lognormal {
    fn max(&self) -> f64 {
        self.max.map_or(SIZE_MAX, |max| max.0) as f64
    }
}

impl Distribution for Lognormal {
    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.sigma.is_nan() || self.sigma <= 0.0 {
            problems.push(Problem::new("sigma", format!("{} is not a number above 0", self.sigma)));
        }
        if let Some(max) = self.max.filter(|max| *max < self.median) {
            problems
                .push(Problem::new("max", format!("{max} is below the median, which is {}", self.median)));
        }
        problems
    }

    fn mean(&self) -> f64 {
        // E[min(X, max)] = E[X; X < max] + max P(X > max).
        let (median, sigma, max) = (self.median.0 as f64, self.sigma, self.max());
        let score = libm::log(max / median) / sigma;
        let below = median * libm::exp(sigma * sigma / 2.0) * normal::cdf(score - sigma);
        let larger =
            |size: f64| if size < max { normal::cdf(-libm::log(size / median) / sigma) } else { 0.0 };
        drawn(below + max * normal::cdf(-score), larger)
    }

    fn mean_square(&self) -> f64 {
        // E[min(X, max)^2], as for the mean.
        let (median, sigma, max) = (self.median.0 as f64, self.sigma, self.max());
        let score = libm::log(max / median) / sigma;
        let below = median * median * libm::exp(2.0 * sigma * sigma) * normal::cdf(score - 2.0 * sigma);
        below + max * max * normal::cdf(-score)
    }

    fn sample(&self, stream: &mut Stream) -> u64 {
        let size = self.median.0 as f64 * libm::exp(self.sigma * normal::quantile(stream.unit()));
        whole(size.min(self.max()))
    }
}
