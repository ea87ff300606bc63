//! Which segment of a block each path sends next: how a flow's data is divided over its connections.
//!
//! A block is a flow's data, in segments of a full payload. A path claims a segment when it sends it for the first time; from
//! then on the segment is that path's until it has arrived. A member has a configuration and a `Model`, its state
//! for one sender. Adding one is its file and its line in the list below; `in_order` is the shortest.

mod pieces;

use std::ops::Range;

use crate::problem::Problem;
use crate::register::{dispatch, register};

/// One list: configuration and model of each partition.
macro_rules! partitions {
    ($($module:ident :: $config:ident = $name:literal),* $(,)?) => {
        register! {
            /// Division of a flow's data over its connections.
            pub enum Partition: Settings { $($module::$config = $name),* }
        }

        /// The state of one sender's partition.
        #[derive(Clone, Debug)]
        pub enum Model {
            $($config($module::Model),)*
        }

        impl Partition {
            /// The state of a sender that has no block yet.
            pub fn model(&self) -> Model {
                match self {
                    $(Partition::$config(config) => Model::$config($module::Model::new(config)),)*
                }
            }
        }

        dispatch! {
            impl Split for Model [$($config)*] {
                fn begin(&mut self, block: Range<u32>, paths: &[Path]);
                #[inline]
                fn peek(&self, path: usize) -> Option<u32>;
                #[inline]
                fn take(&mut self, path: usize, paths: &[Path]) -> Option<u32>;
            }
        }
    };
}

partitions! {
    front_back::FrontBack = "front-back",
    divide::Divide = "divide",
    proportional::Proportional = "proportional",
    arrival_time::ArrivalTime = "arrival-time",
    last_idle::LastIdle = "last-idle",
    in_order::InOrder = "in-order",
}

/// Properties of a partition's configuration for the check.
pub trait Settings {
    /// All problems beyond those that the schema finds; paths are below the partition.
    fn problems(&self) -> Vec<Problem> {
        Vec::new()
    }
}

/// A sender's measurements of a path; before its first round trip none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Path {
    /// Segments a second: the window over the smoothed round-trip time; 0 if unknown.
    pub rate: f64,
    /// Half of the smoothed round-trip time, in seconds; 0 if unknown.
    pub delay: f64,
}

/// The division of a block over paths: the part that a researcher writes.
pub trait Split {
    /// A block of these segments; all of the one before have been taken.
    fn begin(&mut self, block: Range<u32>, paths: &[Path]);

    /// The segment that a path would take now; none if it has nothing to send. A path that has nothing will
    /// not be called again before the next block, unless it has segments in flight.
    fn peek(&self, path: usize) -> Option<u32>;

    /// The path takes the segment that [`Split::peek`] returned.
    fn take(&mut self, path: usize, paths: &[Path]) -> Option<u32>;
}

/// The rates of some paths; 1 for each as long as one of them is unknown.
fn rates(paths: impl Iterator<Item = Path> + Clone) -> impl Iterator<Item = f64> {
    let known = paths.clone().all(|path| path.rate > 0.0);
    paths.map(move |path| if known { path.rate } else { 1.0 })
}

/// A range cut in proportion to the weights, in their order, at whole segments: halves go up.
fn cut(range: Range<u32>, weights: &[f64]) -> impl Iterator<Item = Range<u32>> {
    let (total, len) = (weights.iter().sum::<f64>(), f64::from(range.end - range.start));
    let (mut before, mut sum) = (range.start, 0.0);
    weights.iter().enumerate().map(move |(place, weight)| {
        sum += weight;
        let last = place + 1 == weights.len();
        let end = if last { range.end } else { range.start + (len * sum / total + 0.5) as u32 };
        std::mem::replace(&mut before, end)..end
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::json;

    /// A block over paths that are never idle while they have data to take, each at a rate that may change
    /// with every segment: the path of each segment, in the order of time, and the time at which the last one
    /// was delivered.
    pub fn sent(
        partition: &Partition,
        block: Range<u32>,
        paths: usize,
        mut seconds: impl FnMut(usize, u32) -> f64,
        known: &[Path],
    ) -> (Vec<(usize, u32)>, f64) {
        let mut model = partition.model();
        model.begin(block, known);
        let (mut free, mut counts) = (vec![0.0_f64; paths], vec![0; paths]);
        let mut taken = Vec::new();
        // The path that is free first, and has something to take, sends.
        while let Some(path) =
            (0..paths).filter(|&path| model.peek(path).is_some()).min_by(|&a, &b| free[a].total_cmp(&free[b]))
        {
            let next = model.peek(path);
            assert_eq!(model.take(path, known), next);
            taken.push((path, next.unwrap()));
            free[path] += seconds(path, counts[path]);
            counts[path] += 1;
        }
        (taken, free.iter().copied().fold(0.0, f64::max))
    }

    /// Jumps: pieces of the block, each sent on in one direction by one path, less the paths that sent anything.
    pub fn switches(taken: &[(usize, u32)], paths: usize) -> usize {
        let mut runs = vec![super::super::run::Run::default(); paths];
        let pieces: usize = taken.iter().map(|&(path, number)| usize::from(runs[path].begins(number))).sum();
        let used = (0..paths).filter(|path| taken.iter().any(|(other, _)| other == path)).count();
        pieces - used
    }

    /// A partition by its name, with its defaults.
    pub fn named(name: &str) -> Partition {
        Deserialize::deserialize(&json!({ name: {} })).unwrap()
    }

    proptest! {
        /// Whatever the rates are, and whatever is known of them, each segment is taken once, and none is left.
        #[test]
        fn every_segment_is_taken_once(
            which in 0..Partition::NAMES.len(),
            paths in 1usize..9,
            first in 0u32..1000,
            segments in 1u32..300,
            speeds in prop::collection::vec(0.1f64..10.0, 8),
            known in prop::collection::vec((0.0f64..10.0, 0.0f64..1.0), 8),
            seed in 0u64..100,
        ) {
            let partition = named(Partition::NAMES[which]);
            let known: Vec<Path> = known.iter().map(|&(rate, delay)| Path { rate, delay }).collect();
            let varying = |path: usize, count: u32| {
                speeds[path] * (1.0 + (u64::from(count) * 7919 + seed * 31 + path as u64) as f64 % 5.0)
            };
            let (taken, _) = sent(&partition, first..first + segments, paths, varying, &known[..paths]);
            let mut numbers: Vec<u32> = taken.iter().map(|&(_, number)| number).collect();
            numbers.sort_unstable();
            prop_assert_eq!(numbers, (first..first + segments).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_range_is_cut_in_proportion() {
        let pieces = |weights: &[f64]| cut(10..20, weights).collect::<Vec<_>>();
        assert_eq!(pieces(&[1.0, 1.0]), [10..15, 15..20]);
        assert_eq!(pieces(&[3.0, 1.0]), [10..18, 18..20]);
        assert_eq!(pieces(&[1.0, 1.0, 1.0]), [10..13, 13..17, 17..20]);
        assert_eq!(pieces(&[1.0, 1e-9]), [10..20, 20..20]);
    }
}
