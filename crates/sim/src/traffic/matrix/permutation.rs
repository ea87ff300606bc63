//! Every host sends one flow and receives one flow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Order, PairIterator, Pattern, rounds};
use crate::ids::NodeId;
use crate::random::Stream;

/// A random permutation without fixed points, its senders in random order; each further round is a fresh one.
///
/// Poisson arrivals go through the rounds too: a host sends again once all have sent. With `sources`, the
/// permutation is still of all hosts, and only the pairs of the sources remain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Permutation {}

impl Pattern for Permutation {
    fn round(&self, sources: u64, _hosts: u32) -> u64 {
        sources
    }

    fn pairs<'a>(
        &'a self,
        hosts: u32,
        sources: &'a [u32],
        _order: Order,
        mut stream: Stream,
    ) -> PairIterator<'a> {
        rounds(move || {
            let image = derangement(hosts, &mut stream);
            let mut pairs: Vec<_> =
                (0..hosts).map(|host| (NodeId(host), NodeId(image[host as usize]))).collect();
            stream.shuffle(&mut pairs);
            pairs.retain(|(src, _)| sources.binary_search(&src.0).is_ok());
            pairs
        })
    }
}

/// A permutation without fixed points, each equally likely.
fn derangement(hosts: u32, stream: &mut Stream) -> Vec<u32> {
    // Shuffles until one has no fixed point, e times on average, and gives up on one at its first.
    let mut image: Vec<u32> = (0..hosts).collect();
    let mut place = 0;
    while place < image.len() {
        let chosen = place + stream.below((image.len() - place) as u64) as usize;
        image.swap(place, chosen);
        place = if image[place] as usize == place { 0 } else { place + 1 };
    }
    image
}
