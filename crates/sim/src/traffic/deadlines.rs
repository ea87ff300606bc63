//! Deadlines that differ from flow to flow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;
use crate::random::Stream;
use crate::units::Time;

/// How deadlines are distributed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Deadlines {
    /// Exponentially.
    Exponential(ExponentialDeadlines),
    /// Uniformly.
    Uniform(UniformDeadlines),
}

/// Exponential with mean `mean`; a draw below `min` is raised to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExponentialDeadlines {
    /// Mean before the floor.
    #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1000s"))]
    pub mean: Time,
    /// Shortest deadline.
    #[serde(default)]
    #[schemars(extend("x-maximum" = "1000s"))]
    pub min: Time,
}

/// Uniform from `min` to `max`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{ "min": "10ms", "max": "30ms" }]))]
pub struct UniformDeadlines {
    /// Shortest.
    #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1000s"))]
    pub min: Time,
    /// Longest.
    #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1000s"))]
    pub max: Time,
}

/// When a flow is due, counted from its start: by one deadline for all, or by one drawn for it, if there is any.
pub(super) fn due(all: Option<Time>, drawn: Option<&Deadlines>, stream: &mut Stream) -> Option<Time> {
    all.or_else(|| drawn.map(|deadlines| deadlines.sample(stream)))
}

impl Deadlines {
    /// All that is wrong; paths are below the deadlines.
    pub fn problems(&self) -> Vec<Problem> {
        match self {
            Deadlines::Uniform(UniformDeadlines { min, max }) if max < min => {
                vec![Problem::new("uniform.max", format!("{max} is below min, which is {min}"))]
            }
            _ => Vec::new(),
        }
    }

    /// The deadline of one flow, at least 1 ps.
    pub fn sample(&self, stream: &mut Stream) -> Time {
        match self {
            Deadlines::Exponential(ExponentialDeadlines { mean, min }) => {
                Time(stream.exponential(mean.0 as f64).round() as u64).max(*min).max(Time(1))
            }
            Deadlines::Uniform(UniformDeadlines { min, max }) => {
                Time(min.0 + stream.below(max.0 - min.0 + 1))
            }
        }
    }
}
