//! Many hosts send to one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Order, PairIterator, Pattern};
use crate::ids::NodeId;
use crate::problem::Problem;
use crate::random::Stream;

/// `senders` distinct hosts, drawn once for the run, all send to `receiver`.
///
/// Poisson arrivals draw the sender uniformly among them. A load refers to the receiver's port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{ "senders": 3 }]))]
pub struct Incast {
    /// Number of senders; fewer than hosts.
    #[schemars(range(min = 1))]
    pub senders: u32,
    /// The host that receives.
    #[serde(default)]
    pub receiver: u32,
}

impl Pattern for Incast {
    fn problems(&self, hosts: u32) -> Vec<Problem> {
        let mut problems = Vec::new();
        let most = hosts - 1;
        if self.senders == 0 || self.senders > most {
            let what = format!("{} senders on {hosts} hosts; use 1 to {most}", self.senders);
            problems.push(Problem::new("senders", what));
        }
        if self.receiver >= hosts {
            let what = format!("{} is not a host; hosts are 0 to {most}", self.receiver);
            problems.push(Problem::new("receiver", what));
        }
        problems
    }

    fn senders(&self, hosts: u32, stream: &mut Stream) -> Option<Vec<u32>> {
        let mut candidates: Vec<u32> = (0..hosts).filter(|&host| host != self.receiver).collect();
        stream.shuffle(&mut candidates);
        candidates.truncate(self.senders as usize);
        Some(candidates)
    }

    fn round(&self, _sources: u64, _hosts: u32) -> u64 {
        u64::from(self.senders)
    }

    fn loaded<'a>(&'a self, _sources: &'a [u32]) -> &'a [u32] {
        std::slice::from_ref(&self.receiver)
    }

    fn pairs<'a>(
        &'a self,
        hosts: u32,
        _sources: &'a [u32],
        order: Order,
        mut stream: Stream,
    ) -> PairIterator<'a> {
        // In the order drawn, not ascending as the sources are.
        let senders = self.senders(hosts, &mut stream).expect("an incast has its own");
        let pair = move |src: u32| (NodeId(src), NodeId(self.receiver));
        match order {
            Order::Rounds => Box::new((0..senders.len()).cycle().map(move |index| pair(senders[index]))),
            Order::Singly => Box::new(std::iter::repeat_with(move || {
                pair(senders[stream.below(senders.len() as u64) as usize])
            })),
        }
    }
}
