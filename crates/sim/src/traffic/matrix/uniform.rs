//! Every flow goes to a uniformly random other host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Order, PairIterator, Pattern, other, rounds};
use crate::ids::NodeId;
use crate::random::Stream;

/// Uniformly random destinations other than the source.
///
/// A round has one flow from each host, in random order; Poisson arrivals draw the source uniformly too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UniformMatrix {}

impl Pattern for UniformMatrix {
    fn round(&self, sources: u64, _hosts: u32) -> u64 {
        sources
    }

    fn anew(&self, source: NodeId, hosts: u32, stream: &mut Stream) -> Option<NodeId> {
        Some(NodeId(other(source.0, hosts, stream)))
    }

    fn pairs<'a>(
        &'a self,
        hosts: u32,
        sources: &'a [u32],
        order: Order,
        mut stream: Stream,
    ) -> PairIterator<'a> {
        rounds(move || {
            let mut senders: Vec<u32> = match order {
                Order::Rounds => sources.to_vec(),
                Order::Singly => vec![sources[stream.below(sources.len() as u64) as usize]],
            };
            stream.shuffle(&mut senders);
            let to = |src| (NodeId(src), NodeId(other(src, hosts, &mut stream)));
            senders.into_iter().map(to).collect()
        })
    }
}
