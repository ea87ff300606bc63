//! The pairs that the scenario lists.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Order, PairIterator, Pattern};
use crate::ids::NodeId;
use crate::problem::{PROBLEMS_MAX, Problem};
use crate::random::Stream;
use crate::traffic::hosts::Host;

/// A list of [source, destination], each a host by number or name; one that is listed twice has two flows in a round.
///
/// A round goes through the list in its order; Poisson arrivals draw from it uniformly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [[[0, 5], [1, 5]]]))]
pub struct Pairs(#[schemars(with = "Vec<(Host, Host)>", length(min = 1))] pub Vec<(u32, u32)>);

impl Pattern for Pairs {
    fn problems(&self, hosts: u32) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.0.is_empty() {
            problems.push(Problem::new("", "is empty; list pairs of hosts, such as [[0, 1]]"));
        }
        for (index, &(src, dst)) in self.0.iter().enumerate() {
            if problems.len() >= PROBLEMS_MAX {
                break;
            }
            for (end, host) in [src, dst].into_iter().enumerate() {
                if host >= hosts {
                    let what = format!("{host} is not a host; hosts are 0 to {}", hosts - 1);
                    problems.push(Problem::new(format!("{index}.{end}"), what));
                }
            }
            if src == dst {
                let what = format!("[{src}, {dst}] has the same host at both ends; a flow joins two hosts");
                problems.push(Problem::new(format!("{index}"), what));
            }
        }
        problems
    }

    fn senders(&self, _hosts: u32, _stream: &mut Stream) -> Option<Vec<u32>> {
        Some(self.0.iter().map(|&(src, _)| src).collect())
    }

    fn round(&self, _sources: u64, _hosts: u32) -> u64 {
        self.0.len() as u64
    }

    fn pairs<'a>(
        &'a self,
        _hosts: u32,
        _sources: &'a [u32],
        order: Order,
        mut stream: Stream,
    ) -> PairIterator<'a> {
        let pair = |&(src, dst): &(u32, u32)| (NodeId(src), NodeId(dst));
        match order {
            Order::Rounds => Box::new(self.0.iter().cycle().map(pair)),
            Order::Singly => Box::new(std::iter::repeat_with(move || {
                pair(&self.0[stream.below(self.0.len() as u64) as usize])
            })),
        }
    }
}
