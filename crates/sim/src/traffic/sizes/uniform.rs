//! Sizes spread evenly between two bounds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Distribution;
use crate::problem::Problem;
use crate::random::Stream;
use crate::units::Bytes;

/// Every whole number of bytes from `min` to `max`, both included, is equally likely.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{ "min": "2KB", "max": "58KB" }]))]
pub struct UniformSizes {
    /// Smallest size.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000GB"))]
    pub min: Bytes,
    /// Largest size.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000GB"))]
    pub max: Bytes,
}

impl Distribution for UniformSizes {
    fn problems(&self) -> Vec<Problem> {
        let crossed = self.min > self.max;
        let what = || Problem::new("min", format!("{} is above max, which is {}", self.min, self.max));
        crossed.then(what).into_iter().collect()
    }

    fn mean(&self) -> f64 {
        (self.min.0 as f64 + self.max.0 as f64) / 2.0
    }

    fn mean_square(&self) -> f64 {
        let values = (self.max.0 - self.min.0) as f64 + 1.0;
        self.mean() * self.mean() + (values * values - 1.0) / 12.0
    }

    fn sample(&self, stream: &mut Stream) -> u64 {
        self.min.0 + stream.below(self.max.0 - self.min.0 + 1)
    }
}
