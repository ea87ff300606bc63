//! Divide: each path sends a range of its own, and a path that is done takes over part of another's remaining
//! range.
//!
//! Source: Song, "Multipath routing and TCP Incast in data centers" (PhD thesis, Iowa, 2017), sections 4.3 and 4.4.2: Divide2
//! and Divide4, against which Front-Back is held. The range that has most left is cut again, in proportion to the estimates of
//! its path and of the one that is done; its own path keeps the front. In the thesis estimates never change (`estimates =
//! "equal"`); measured ones follow each path's window and round-trip time.

use std::cmp::Reverse;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pieces::Pieces;
use super::{Path, Settings, Split, cut, rates};

/// Each path sends a range of its own; a path that is done takes over part of another's remaining range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Divide {
    /// Whether ranges are cut again when a path is done; if not, the block is divided once.
    pub resplit: bool,
    /// The rates by which ranges are cut.
    pub estimates: Estimates,
}

/// The rates by which ranges are cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Estimates {
    /// Window over smoothed round-trip time, as of the cut; equal as long as a path has no round-trip sample.
    #[default]
    Measured,
    /// All equal.
    Equal,
}

impl Default for Divide {
    fn default() -> Self {
        Divide { resplit: true, estimates: Estimates::default() }
    }
}

impl Settings for Divide {}

/// The ranges of a sender's paths.
#[derive(Clone, Debug)]
pub struct Model {
    config: Divide,
    pieces: Pieces,
}

impl Model {
    pub(super) fn new(config: &Divide) -> Model {
        Model { config: *config, pieces: Pieces::default() }
    }

    fn weights(&self, paths: impl Iterator<Item = Path> + Clone) -> Vec<f64> {
        match self.config.estimates {
            Estimates::Measured => rates(paths).collect(),
            Estimates::Equal => paths.map(|_| 1.0).collect(),
        }
    }

    /// A path is done: it takes part of the range that has most left, if there are two segments for the two.
    #[cold]
    fn split(&mut self, done: usize, paths: &[Path]) {
        let left = &self.pieces.left;
        let most = (0..left.len()).max_by_key(|&at| (left[at].len(), Reverse(at)));
        let Some(owner) = most.filter(|&at| left[at].len() > 1) else { return };
        let rest = left[owner].clone();
        let weights = self.weights([owner, done].into_iter().map(|path| paths[path]));
        let mark = cut(rest.clone(), &weights).next().expect("two ranges").end;
        let mark = mark.clamp(rest.start + 1, rest.end - 1);
        self.pieces.left[owner] = rest.start..mark;
        self.pieces.left[done] = mark..rest.end;
    }
}

impl Split for Model {
    fn begin(&mut self, block: Range<u32>, paths: &[Path]) {
        let weights = self.weights(paths.iter().copied());
        self.pieces.cut(block, &weights);
    }

    #[inline]
    fn peek(&self, path: usize) -> Option<u32> {
        self.pieces.peek(path)
    }

    #[inline]
    fn take(&mut self, path: usize, paths: &[Path]) -> Option<u32> {
        let number = self.pieces.left[path].next();
        if self.config.resplit && self.pieces.peek(path).is_none() {
            self.split(path, paths);
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::super::Partition;
    use super::super::tests::{sent, switches};
    use super::*;

    /// 200,000 segments over two paths that are believed to send 10 a second, of which one is off by so many percent:
    /// context switches and the finish.
    fn outcome(resplit: bool, error: i32) -> (usize, f64) {
        let partition = Partition::from(Divide { resplit, estimates: Estimates::Equal });
        let seconds = [0.1, 0.1 / (1.0 + f64::from(error) / 100.0)];
        let (taken, finish) = sent(&partition, 0..200_000, 2, |path, _| seconds[path], &[Path::default(); 2]);
        (switches(&taken, 2), finish)
    }

    /// The values that section 5 of the sheet on multipath works out, by the rounding of a split.
    #[test]
    fn context_switches_grow_with_the_error() {
        assert_eq!(outcome(true, 0).0, 0);
        assert!((4..=6).contains(&outcome(true, 25).0), "{:?}", outcome(true, 25));
        assert!((5..=7).contains(&outcome(true, 50).0), "{:?}", outcome(true, 50));
        assert!((8..=9).contains(&outcome(true, -50).0), "{:?}", outcome(true, -50));
        assert!((12..=15).contains(&outcome(true, -90).0), "{:?}", outcome(true, -90));
    }

    /// Split again both paths stay busy; divided once, the slower one ends half as late again.
    #[test]
    fn divided_once_the_slower_path_ends_late() {
        assert!((outcome(true, -50).1 - 200_000.0 / 15.0).abs() < 0.5);
        assert_eq!(outcome(false, -50).0, 0);
        assert!((outcome(false, -50).1 - 20_000.0).abs() < 1e-3);
    }
}
