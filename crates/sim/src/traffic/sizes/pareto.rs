//! Pareto-distributed sizes: a power law, of which few flows carry most bytes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Distribution, SIZE_MAX, drawn, whole};
use crate::problem::Problem;
use crate::random::Stream;
use crate::units::Bytes;

/// The share of flows larger than x is (min / x)^shape; with `max`, the bounded Pareto distribution on [min, max].
///
/// Without `max` the mean is shape * min / (shape - 1), less the contribution of the tail above 1000GB, since
/// no flow is larger than that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{ "shape": 1.2, "min": "1KB", "max": "10MB" }]))]
pub struct Pareto {
    /// Exponent of the tail. At 1 or less the mean is infinite unless there is a `max`.
    #[schemars(range(min = 0.001, max = 100.0))]
    pub shape: f64,
    /// Smallest size.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "10GB"))]
    pub min: Bytes,
    /// Largest size: sizes are distributed as before, on condition that they are not larger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000GB"))]
    pub max: Option<Bytes>,
}

impl Pareto {
    /// The logarithm of the largest size over the smallest.
    fn span(&self) -> f64 {
        libm::log(self.max.map_or(SIZE_MAX, |max| max.0) as f64 / self.min.0 as f64)
    }

    /// The mean of the power of that order.
    fn moment(&self, order: f64) -> f64 {
        let (shape, span) = (self.shape, self.span());
        // The integral of y^(order - 1 - shape) over y = x / min from 1 to the largest: also right near shape = order.
        let rest = order - shape;
        let area = if rest == 0.0 { span } else { libm::expm1(rest * span) / rest };
        let scale = libm::pow(self.min.0 as f64, order);
        match self.max {
            // By parts: the share of flows that are larger, weighted by the slope of the power.
            None => scale * (1.0 + order * area),
            Some(_) => scale * shape * area / -libm::expm1(-shape * span),
        }
    }
}

impl Distribution for Pareto {
    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.shape.is_nan() || self.shape <= 0.0 {
            problems.push(Problem::new("shape", format!("{} is not a number above 0", self.shape)));
        } else if self.max.is_none() && self.shape <= 1.0 {
            let what = format!("{} makes the mean infinite; use more than 1, or give max", self.shape);
            problems.push(Problem::new("shape", what));
        }
        if let Some(max) = self.max.filter(|max| *max <= self.min) {
            problems.push(Problem::new("min", format!("{} is not below max, which is {max}", self.min)));
        }
        problems
    }

    fn mean(&self) -> f64 {
        let most = self.max.map_or(f64::INFINITY, |max| max.0 as f64);
        let last = libm::pow(self.min.0 as f64 / most, self.shape);
        let larger = |size: f64| match libm::pow(self.min.0 as f64 / size, self.shape) {
            share if share < 1.0 => ((share - last) / (1.0 - last)).max(0.0),
            _ => 1.0,
        };
        drawn(self.moment(1.0), larger)
    }

    fn mean_square(&self) -> f64 {
        self.moment(2.0)
    }

    fn sample(&self, stream: &mut Stream) -> u64 {
        // Solved for x: the share of flows that are larger falls from 1 to this at the largest.
        let last = if self.max.is_some() { libm::exp(-self.shape * self.span()) } else { 0.0 };
        let larger = 1.0 - stream.unit() * (1.0 - last);
        let size = self.min.0 as f64 * libm::pow(larger, -1.0 / self.shape);
        whole(size.min(self.max.map_or(SIZE_MAX, |max| max.0) as f64))
    }
}
