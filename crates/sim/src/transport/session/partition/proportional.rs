//! A block is divided once, in proportion to the rates that its paths have had so far.
//!
//! Source: Rodriguez and Biersack, "Dynamic parallel access to replicated content in the Internet", IEEE/ACM ToN 2002:
//! history-based parallel access. On kept connections the history are the blocks before; the first block is divided evenly,
//! as is each block of a new connection.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pieces::Pieces;
use super::{Path, Settings, Split, rates};

/// Each path sends a range of its own, as long as its rate in the blocks before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Proportional {}

impl Settings for Proportional {}

/// The ranges of a sender's paths.
#[derive(Clone, Debug)]
pub struct Model {
    pieces: Pieces,
}

impl Model {
    pub(super) fn new(_config: &Proportional) -> Model {
        Model { pieces: Pieces::default() }
    }
}

impl Split for Model {
    fn begin(&mut self, block: Range<u32>, paths: &[Path]) {
        let weights: Vec<f64> = rates(paths.iter().copied()).collect();
        self.pieces.cut(block, &weights);
    }

    #[inline]
    fn peek(&self, path: usize) -> Option<u32> {
        self.pieces.peek(path)
    }

    #[inline]
    fn take(&mut self, path: usize, _paths: &[Path]) -> Option<u32> {
        self.pieces.left[path].next()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{named, sent, switches};
    use super::*;

    /// With the rates as they are known all paths end together; where one is half as fast, the block waits for it.
    #[test]
    fn a_block_waits_for_a_path_that_is_slower_than_before() {
        let known = [30.0, 10.0].map(|rate| Path { rate, delay: 0.0 });
        let as_known = |path: usize, _: u32| 1.0 / known[path].rate;
        let (taken, finish) = sent(&named("proportional"), 0..400, 2, as_known, &known);
        assert_eq!(taken.iter().filter(|(path, _)| *path == 0).count(), 300);
        assert!((finish - 10.0).abs() < 1e-6);
        let slower = |path: usize, count: u32| as_known(path, count) * if path == 1 { 2.0 } else { 1.0 };
        let (taken, finish) = sent(&named("proportional"), 0..400, 2, slower, &known);
        assert_eq!(switches(&taken, 2), 0);
        assert!((finish - 20.0).abs() < 1e-6);
    }
}
