//! Many hosts send to one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Order, PairIterator, Pattern, rounds};
use crate::ids::NodeId;
use crate::problem::Problem;
use crate::random::Stream;
use crate::traffic::hosts::Host;

/// `senders` distinct hosts all send to `receiver`: drawn once for the run or, with `receiver = "random"`, for each round.
///
/// Single Poisson arrivals draw the sender uniformly among them. A load refers to the receiver's port; with a random
/// receiver to the ports of all hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{ "senders": 3 }, { "senders": 3, "receiver": "random" }]))]
pub struct Incast {
    /// Number of senders; fewer than hosts.
    #[schemars(range(min = 1))]
    pub senders: u32,
    /// The host that receives, by number or name; or "random": each round draws a receiver, then its senders among the
    /// other hosts.
    #[serde(default)]
    pub receiver: Receiver,
}

/// The receiver of an incast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Receiver {
    /// This host.
    Host(#[schemars(with = "Host")] u32),
    /// Another one for each round.
    Random(RandomReceiver),
}

/// A receiver drawn for each round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum RandomReceiver {
    /// Its only name.
    Random,
}

impl Default for Receiver {
    fn default() -> Self {
        Receiver::Host(0)
    }
}

impl Incast {
    /// The senders to a receiver among so many hosts, in random order.
    fn senders_to(&self, receiver: u32, hosts: u32, stream: &mut Stream) -> Vec<u32> {
        let mut candidates: Vec<u32> = (0..hosts).filter(|&host| host != receiver).collect();
        stream.shuffle(&mut candidates);
        candidates.truncate(self.senders as usize);
        candidates
    }
}

impl Pattern for Incast {
    fn problems(&self, hosts: u32) -> Vec<Problem> {
        let mut problems = Vec::new();
        let most = hosts - 1;
        if self.senders == 0 || self.senders > most {
            let what = format!("{} senders on {hosts} hosts; use 1 to {most}", self.senders);
            problems.push(Problem::new("senders", what));
        }
        if let Receiver::Host(receiver) = self.receiver
            && receiver >= hosts
        {
            let what = format!("{receiver} is not a host; hosts are 0 to {most}");
            problems.push(Problem::new("receiver", what));
        }
        problems
    }

    fn senders(&self, hosts: u32, stream: &mut Stream) -> Option<Vec<u32>> {
        Some(match self.receiver {
            Receiver::Host(receiver) => self.senders_to(receiver, hosts, stream),
            Receiver::Random(_) => (0..hosts).collect(),
        })
    }

    fn drawn_by_round(&self) -> Option<&'static str> {
        matches!(self.receiver, Receiver::Random(_)).then_some("receiver")
    }

    fn fan_in(&self) -> Option<u64> {
        Some(u64::from(self.senders))
    }

    fn round(&self, _sources: u64, _hosts: u32) -> u64 {
        u64::from(self.senders)
    }

    fn loaded<'a>(&'a self, sources: &'a [u32]) -> &'a [u32] {
        match &self.receiver {
            Receiver::Host(receiver) => std::slice::from_ref(receiver),
            Receiver::Random(_) => sources,
        }
    }

    fn pairs<'a>(
        &'a self,
        hosts: u32,
        _sources: &'a [u32],
        order: Order,
        mut stream: Stream,
    ) -> PairIterator<'a> {
        let Receiver::Host(receiver) = self.receiver else {
            return rounds(move || {
                let receiver = stream.below(u64::from(hosts)) as u32;
                let senders = self.senders_to(receiver, hosts, &mut stream);
                senders.into_iter().map(|src| (NodeId(src), NodeId(receiver))).collect()
            });
        };
        // In the order drawn, not ascending as the sources are.
        let senders = self.senders_to(receiver, hosts, &mut stream);
        let pair = move |src: u32| (NodeId(src), NodeId(receiver));
        match order {
            Order::Rounds => Box::new((0..senders.len()).cycle().map(move |index| pair(senders[index]))),
            Order::Singly => Box::new(std::iter::repeat_with(move || {
                pair(senders[stream.below(senders.len() as u64) as usize])
            })),
        }
    }
}
