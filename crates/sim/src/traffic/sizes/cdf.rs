//! Sizes from the points of a cumulative distribution, linear in between.
//!
//! The reading that ns-2's `EmpiricalRandomVariable` (interpolation on) and the HPCC generator use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Distribution, SIZE_MAX, drawn, whole};
use crate::problem::Problem;
use crate::random::Stream;
use crate::units::Bytes;

/// An empirical distribution: straight lines between points of [bytes, cumulative percent], listed here or in a file.
///
/// A first point above 0 percent is a share of flows with exactly that size; two points with the same size
/// are a step; the last point has 100 percent. A file is read once, before the run: the scenario in the run's
/// records has its points.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("examples" = [{ "points": [[1000, 0], [10000, 80], [1000000, 100]] }]))]
pub struct Cdf {
    /// Points [size in bytes, percent of flows that are no larger], both ascending, the last percent 100.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100_000))]
    pub points: Vec<(u64, f64)>,
    /// In place of points: a text file with a size and a cumulative share per line, relative to the scenario's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Format of the file. By default it is recognised from its lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// Sizes in the file are packets of so many bytes; three columns ("ns2") need it. By default they are bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "64KB"))]
    pub packet_bytes: Option<Bytes>,
    /// Interpolation between two lines of the file. By default "linear", but "step" in the dialect "homa".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpolation: Option<Interpolation>,
}

/// Format of a file with a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// Size and percent, as in HPCC.
    Percent,
    /// Size and probability, as in TrafficGenerator.
    Fraction,
    /// Packets, a column that is not used, probability, as in ns-2 and pFabric.
    Ns2,
    /// The mean on a line of its own, then size and probability, as in the Homa simulator.
    Homa,
}

/// Interpolation between two lines of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// Sizes spread evenly between the line before and this one.
    Linear,
    /// All have the size of this line.
    Step,
}

impl Cdf {
    /// The distribution with these points.
    pub fn of(points: Vec<(u64, f64)>) -> Cdf {
        Cdf { points, ..Cdf::default() }
    }
}

impl Cdf {
    /// The share of sizes that are larger than that, before they are rounded.
    fn larger(&self, size: f64) -> f64 {
        let above = self.points.partition_point(|&(point, _)| point as f64 <= size);
        let below = match (above.checked_sub(1).map(|at| self.points[at]), self.points.get(above)) {
            (None, _) => 0.0,
            (Some((_, percent)), None) => percent,
            (Some((low, from)), Some(&(high, to))) => {
                from + (to - from) * (size - low as f64) / (high - low) as f64
            }
        };
        1.0 - below / 100.0
    }
}

impl Distribution for Cdf {
    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let only_files = [
            ("dialect", self.dialect.is_some()),
            ("packet_bytes", self.packet_bytes.is_some()),
            ("interpolation", self.interpolation.is_some()),
        ];
        for (name, _) in only_files.into_iter().filter(|(_, given)| *given && self.file.is_none()) {
            problems.push(Problem::new(name, "sets how a file is read, and no file is given; leave it out"));
        }
        match (&self.file, &self.points[..]) {
            (Some(_), []) => {
                problems.push(Problem::new("file", "has not been read; give its points"));
                return problems;
            }
            (Some(_), _) => problems.push(Problem::new("", "has both points and file; give one")),
            (None, []) => {
                let what = "has neither points nor file; give points such as [[1000, 0], [2000, 100]]";
                problems.push(Problem::new("", what));
            }
            _ => {}
        }
        let mut wrong =
            |index: usize, what: String| problems.push(Problem::new(format!("points.{index}"), what));
        for (index, &(size, percent)) in self.points.iter().enumerate() {
            if !(0.0..=100.0).contains(&percent) {
                wrong(index, format!("{percent} is not a percentage from 0 to 100"));
            }
            if size > SIZE_MAX {
                wrong(index, format!("{size} bytes is above 1000GB"));
            }
            let Some(&(size_before, percent_before)) =
                index.checked_sub(1).map(|before| &self.points[before])
            else {
                continue;
            };
            if size < size_before {
                wrong(index, format!("{size} bytes comes after {size_before}; sizes ascend"));
            }
            if percent < percent_before {
                wrong(index, format!("{percent} percent comes after {percent_before}; percentages ascend"));
            }
            if (size, percent) == (size_before, percent_before) {
                wrong(index, format!("[{size}, {percent}] repeats the point before"));
            }
        }
        match self.points.last() {
            Some((_, 100.0)) => {}
            Some((_, 1.0)) => {
                wrong(
                    self.points.len() - 1,
                    "the last point has 1, must have 100: give percent, not fractions".into(),
                );
            }
            Some((_, percent)) => {
                wrong(self.points.len() - 1, format!("the last point has {percent} percent; must have 100"));
            }
            None => {}
        }
        problems
    }

    fn mean(&self) -> f64 {
        // Of a table that has not been checked.
        let Some(&(first, percent)) = self.points.first() else { return 0.0 };
        let segments = self.points.windows(2).map(|ends| {
            let ((low, from), (high, to)) = (ends[0], ends[1]);
            (low as f64 + high as f64) / 2.0 * (to - from)
        });
        drawn((first as f64 * percent + segments.sum::<f64>()) / 100.0, |size| self.larger(size))
    }

    fn mean_square(&self) -> f64 {
        let (first, percent) = self.points[0];
        let segments = self.points.windows(2).map(|ends| {
            let ((low, from), (high, to)) = (ends[0], ends[1]);
            let (low, high) = (low as f64, high as f64);
            (low * low + low * high + high * high) / 3.0 * (to - from)
        });
        ((first as f64).powi(2) * percent + segments.sum::<f64>()) / 100.0
    }

    fn sample(&self, stream: &mut Stream) -> u64 {
        let draw = 100.0 * stream.unit();
        let above = self.points.partition_point(|&(_, percent)| percent <= draw);
        let (high, to) = self.points[above];
        let Some(&(low, from)) = above.checked_sub(1).map(|below| &self.points[below]) else {
            return high.max(1);
        };
        whole(low as f64 + (high as f64 - low as f64) * (draw - from) / (to - from))
    }
}
