//! Every host sends to the host a fixed number of places further on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Order, PairIterator, Pattern};
use crate::ids::NodeId;
use crate::problem::Problem;
use crate::random::Stream;

/// Host i sends to host (i + stride) mod hosts, for each stride in `by`.
///
/// A round goes through the strides, and for each through the hosts; Poisson arrivals draw both uniformly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{ "by": [1] }]))]
pub struct Stride {
    /// The strides, each from 1 to the number of hosts less 1.
    #[schemars(length(min = 1))]
    pub by: Vec<u32>,
}

impl Pattern for Stride {
    fn problems(&self, hosts: u32) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.by.is_empty() {
            problems.push(Problem::new("by", "is empty; give a stride, such as by = [1]"));
        }
        for (index, &by) in self.by.iter().enumerate() {
            if by == 0 || by >= hosts {
                let what = format!("{by} is not a stride on {hosts} hosts; use 1 to {}", hosts - 1);
                problems.push(Problem::new(format!("by.{index}"), what));
            }
        }
        problems
    }

    fn round(&self, sources: u64, _hosts: u32) -> u64 {
        sources * self.by.len() as u64
    }

    fn pairs<'a>(
        &'a self,
        hosts: u32,
        sources: &'a [u32],
        order: Order,
        mut stream: Stream,
    ) -> PairIterator<'a> {
        let senders = sources.len() as u64;
        let pair = move |index: u64| {
            let src = u64::from(sources[(index % senders) as usize]);
            let by = u64::from(self.by[(index / senders) as usize]);
            (NodeId(src as u32), NodeId(((src + by) % u64::from(hosts)) as u32))
        };
        let round = self.round(senders, hosts);
        match order {
            Order::Rounds => Box::new((0..round).cycle().map(pair)),
            Order::Singly => Box::new(std::iter::repeat_with(move || pair(stream.below(round)))),
        }
    }
}
