//! Front-Back: of two paths one sends a block from its front and the other from its back, until they meet.
//!
//! Source: Song, "Multipath routing and TCP Incast in data centers" (PhD thesis, Iowa, 2017), chapter 4: FB2 needs no
//! estimate of rates and leaves the receiver two pieces, whatever the rates are (lemma 4.2, theorem 4.1). With more paths
//! (section 4.4.1, FBN) these are paired by their rates, so that the largest difference of the pairs' sums is smallest; the block is cut in
//! proportion to the sums, and each pair sends its range as FB2 does. A pair whose range is used up and the one that has most
//! left are paired anew over that rest.
//!
//! The thesis pairs anew when a group has finished; here a segment is claimed when it is sent, and a group has
//! finished when it has claimed its last. A rest of one segment stays with its pair.

use std::cmp::Reverse;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Path, Settings, Split, cut, rates};

/// Of each two paths one sends from the front of a range and the other from its back, until they meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FrontBack {}

impl Settings for FrontBack {}

/// A path or two, and the rest of their range.
#[derive(Clone, Debug, PartialEq)]
struct Group {
    front: usize,
    back: Option<usize>,
    left: Range<u32>,
}

impl Group {
    fn has(&self, path: usize) -> bool {
        self.front == path || self.back == Some(path)
    }

    fn paths(&self) -> impl Iterator<Item = usize> {
        [Some(self.front), self.back].into_iter().flatten()
    }
}

/// All groups of a sender's paths; each path is in one.
#[derive(Clone, Debug)]
pub struct Model {
    groups: Vec<Group>,
}

impl Model {
    pub(super) fn new(_config: &FrontBack) -> Model {
        Model { groups: Vec::new() }
    }

    fn group(&self, path: usize) -> Option<usize> {
        self.groups.iter().position(|group| group.has(path))
    }

    /// Groups of these paths over a range. Those that send from an end of it already go on there, if their groups can have
    /// that end: no jump for the receiver.
    fn form(&mut self, members: &[usize], range: Range<u32>, ends: [Option<usize>; 2], known: &[Path]) {
        let weights: Vec<f64> = rates(members.iter().map(|&path| known[path])).collect();
        let weight =
            |path: usize| weights[members.iter().position(|&member| member == path).expect("a member")];
        let [first, last] = ends;
        let mut groups: Vec<Group> = pairs(&weights)
            .into_iter()
            .map(|(one, other)| {
                let (one, other) = (members[one], other.map(|other| members[other]));
                let turned = other.is_some() && (other == first || last == Some(one));
                let (front, back) = if turned { (other.expect("a pair"), Some(one)) } else { (one, other) };
                Group { front, back, left: 0..0 }
            })
            .collect();
        let has = |group: &Group, end: Option<usize>| end.is_some_and(|path| group.has(path));
        groups.sort_by_key(|group| (!has(group, first), has(group, last)));
        let sums: Vec<f64> = groups.iter().map(|group| group.paths().map(weight).sum()).collect();
        for (mut group, left) in groups.into_iter().zip(cut(range, &sums)) {
            group.left = left;
            self.groups.push(group);
        }
    }

    /// The range of a group is used up: it shares that of the group that has most left.
    #[cold]
    fn regroup(&mut self, idle: usize, known: &[Path]) {
        let left = |at: usize| self.groups[at].left.len();
        let fullest = (0..self.groups.len()).max_by_key(|&at| (left(at), Reverse(at))).expect("a group");
        if left(fullest) < 2 {
            return;
        }
        let mut members: Vec<usize> =
            [fullest, idle].into_iter().flat_map(|at| self.groups[at].paths()).collect();
        members.sort_unstable();
        let Group { front, back, left: rest } = self.groups[fullest].clone();
        self.groups.swap_remove(fullest.max(idle));
        self.groups.swap_remove(fullest.min(idle));
        self.form(&members, rest, [Some(front), back], known);
    }
}

impl Split for Model {
    fn begin(&mut self, block: Range<u32>, paths: &[Path]) {
        self.groups.clear();
        if paths.len() <= 2 {
            // Their order is all the same then, and stays.
            self.groups.push(Group { front: 0, back: (paths.len() == 2).then_some(1), left: block });
        } else {
            let members: Vec<usize> = (0..paths.len()).collect();
            self.form(&members, block, [None; 2], paths);
        }
    }

    #[inline]
    fn peek(&self, path: usize) -> Option<u32> {
        let Group { front, left, .. } = &self.groups[self.group(path)?];
        (left.start < left.end).then(|| if *front == path { left.start } else { left.end - 1 })
    }

    #[inline]
    fn take(&mut self, path: usize, paths: &[Path]) -> Option<u32> {
        let at = self.group(path)?;
        let Group { front, left, .. } = &mut self.groups[at];
        let number = if *front == path { left.next() } else { left.next_back() };
        if left.start == left.end && self.groups.len() > 1 {
            self.regroup(at, paths);
        }
        number
    }
}

/// Places in pairs, such that the largest difference between the sums of their rates is smallest: the fastest with the
/// slowest, the next with the next. Of an odd number one stays alone, the one with which that difference is smallest. The
/// group of the slowest path comes first.
fn pairs(rates: &[f64]) -> Vec<(usize, Option<usize>)> {
    let mut order: Vec<usize> = (0..rates.len()).collect();
    order.sort_by(|&a, &b| rates[a].total_cmp(&rates[b]));
    let paired = |order: &[usize]| -> Vec<(usize, Option<usize>)> {
        (0..order.len() / 2).map(|at| (order[at], Some(order[order.len() - 1 - at]))).collect()
    };
    if order.len().is_multiple_of(2) {
        return paired(&order);
    }
    let spread = |groups: &[(usize, Option<usize>)]| {
        let sums = groups.iter().map(|&(one, other)| rates[one] + other.map_or(0.0, |other| rates[other]));
        let (least, most) =
            sums.fold((f64::INFINITY, 0.0_f64), |(least, most), sum| (least.min(sum), most.max(sum)));
        most - least
    };
    let without = |alone: usize| {
        let others: Vec<usize> = order.iter().copied().filter(|&path| path != alone).collect();
        let mut groups = paired(&others);
        groups.push((alone, None));
        groups
    };
    let all = order.iter().map(|&alone| without(alone));
    all.min_by(|a, b| spread(a).total_cmp(&spread(b))).expect("a path")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{named, sent, switches};
    use super::*;
    use proptest::prelude::*;

    /// The thesis's example (figure 4.5): rates 3, 4, 6, 7 make the pairs 3 + 7 and 4 + 6 with half the block each.
    #[test]
    fn the_example_of_figure_4_5() {
        assert_eq!(pairs(&[3.0, 4.0, 6.0, 7.0]), [(0, Some(3)), (1, Some(2))]);
        let known = [3.0, 4.0, 6.0, 7.0].map(|rate| Path { rate, delay: 0.0 });
        let mut model = Model::new(&FrontBack {});
        model.begin(0..100, &known);
        let ranges: Vec<_> = model.groups.iter().map(|group| group.left.clone()).collect();
        assert_eq!(ranges, [0..50, 50..100]);
    }

    /// The smallest spread of all groupings into pairs and at most one path alone, by trying all.
    fn least_spread(rates: &[f64]) -> f64 {
        fn groupings(paths: &[usize]) -> Vec<Vec<Vec<usize>>> {
            let Some((&first, rest)) = paths.split_first() else { return vec![vec![]] };
            let mut found = Vec::new();
            for at in 0..rest.len() {
                let others: Vec<usize> = rest
                    .iter()
                    .enumerate()
                    .filter(|(place, _)| *place != at)
                    .map(|(_, &path)| path)
                    .collect();
                for mut groups in groupings(&others) {
                    groups.push(vec![first, rest[at]]);
                    found.push(groups);
                }
            }
            if paths.len() % 2 == 1 {
                for mut groups in groupings(rest) {
                    groups.push(vec![first]);
                    found.push(groups);
                }
            }
            found
        }
        let paths: Vec<usize> = (0..rates.len()).collect();
        let spread = |groups: &Vec<Vec<usize>>| {
            let sums: Vec<f64> =
                groups.iter().map(|group| group.iter().map(|&path| rates[path]).sum()).collect();
            sums.iter().copied().fold(0.0, f64::max) - sums.iter().copied().fold(f64::INFINITY, f64::min)
        };
        groupings(&paths).iter().map(spread).fold(f64::INFINITY, f64::min)
    }

    proptest! {
        #[test]
        fn no_grouping_has_a_smaller_spread(rates in prop::collection::vec(0.1f64..10.0, 1..8)) {
            let sums: Vec<f64> = pairs(&rates)
                .iter()
                .map(|&(one, other)| rates[one] + other.map_or(0.0, |other| rates[other]))
                .collect();
            let spread =
                sums.iter().copied().fold(0.0, f64::max) - sums.iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert!((spread - least_spread(&rates)).abs() < 1e-9);
        }

        /// Lemma 4.2 and theorem 4.1: two paths make no context switch and are both busy until less than one segment is
        /// left for each, whatever their rates are and however they change.
        #[test]
        fn two_paths_never_jump(
            segments in 1u32..500,
            seconds in prop::collection::vec(prop::collection::vec(0.1f64..5.0, 500), 2),
        ) {
            let unknown = [Path::default(); 2];
            let of = |path: usize, count: u32| seconds[path][count as usize % 500];
            let (taken, finish) = sent(&named("front-back"), 0..segments, 2, of, &unknown);
            prop_assert_eq!(switches(&taken, 2), 0);
            let ends: Vec<f64> = (0..2)
                .map(|path| {
                    let count = taken.iter().filter(|(other, _)| *other == path).count() as u32;
                    (0..count).map(|count| of(path, count)).sum()
                })
                .collect();
            // The path that ends earlier has found nothing left when it was free: the last segment had been claimed.
            prop_assert!(finish - ends[0].min(ends[1]) <= 5.0);
        }
    }

    /// Four paths of equal and known rates need no more than their four pieces; and where one of them then is
    /// ten times as slow as believed, all end within the time of one of its segments.
    #[test]
    fn four_paths_end_together() {
        let known = [Path { rate: 10.0, delay: 0.0 }; 4];
        let (taken, finish) = sent(&named("front-back"), 0..4000, 4, |_, _| 0.1, &known);
        assert_eq!(switches(&taken, 4), 0);
        assert!((finish - 100.0).abs() < 0.2, "{finish}");
        let slow = |path: usize, _: u32| if path == 0 { 1.0 } else { 0.1 };
        let (_, finish) = sent(&named("front-back"), 0..4000, 4, slow, &known);
        assert!((finish - 4000.0 / 31.0).abs() < 1.1, "{finish}");
    }
}
