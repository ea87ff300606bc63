//! The sizes that the scenario lists.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Distribution, SIZE_MAX};
use crate::problem::Problem;
use crate::random::Stream;

/// Sizes in bytes, as whole numbers: the first flow takes the first, and so on.
///
/// There must be one for each flow; where nothing is counted, as for packet lengths, each is equally likely.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [[1000, 20000]]))]
pub struct List(
    #[schemars(length(min = 1, max = 10_000_000), inner(range(min = 1, max = 1_000_000_000_000_u64)))]
    pub  Vec<u64>,
);

impl Distribution for List {
    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.0.is_empty() {
            problems.push(Problem::new("", "is empty; give a size in bytes for each flow"));
        }
        if let Some(index) = self.0.iter().position(|size| !(1..=SIZE_MAX).contains(size)) {
            let what = format!("{} is not a size from 1 to {SIZE_MAX} bytes", self.0[index]);
            problems.push(Problem::new(format!("{index}"), what));
        }
        problems
    }

    fn mean(&self) -> f64 {
        self.0.iter().map(|&size| size as f64).sum::<f64>() / self.0.len() as f64
    }

    fn mean_square(&self) -> f64 {
        self.0.iter().map(|&size| (size as f64).powi(2)).sum::<f64>() / self.0.len() as f64
    }

    fn sample(&self, stream: &mut Stream) -> u64 {
        self.0[stream.below(self.0.len() as u64) as usize]
    }

    fn most(&self) -> Option<u64> {
        Some(self.0.len() as u64)
    }

    fn draws(&self, _stream: Stream) -> Box<dyn Iterator<Item = u64> + '_> {
        Box::new(self.0.iter().copied())
    }
}
