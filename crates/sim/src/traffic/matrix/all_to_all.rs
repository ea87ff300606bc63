//! Every host sends to every other.

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Order, PairIterator, Pattern};
use crate::ids::NodeId;
use crate::random::Stream;

/// Every ordered pair of hosts once a round, in random order; each further round has a fresh one.
///
/// Poisson arrivals go through the rounds too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AllToAll {}

impl Pattern for AllToAll {
    fn round(&self, sources: u64, hosts: u32) -> u64 {
        // Of a network that is refused for it there may be no host.
        sources * u64::from(hosts.saturating_sub(1))
    }

    fn pairs<'a>(
        &'a self,
        hosts: u32,
        sources: &'a [u32],
        _order: Order,
        mut stream: Stream,
    ) -> PairIterator<'a> {
        let others = u64::from(hosts - 1);
        let mut round = Shuffled::new(self.round(sources.len() as u64, hosts));
        Box::new(std::iter::repeat_with(move || {
            let index = round.next(&mut stream);
            let (src, other) = (sources[(index / others) as usize], (index % others) as u32);
            (NodeId(src), NodeId(other + u32::from(other >= src)))
        }))
    }
}

/// Whole numbers below a bound in random order, then again in another.
///
/// Fisher and Yates' shuffle, of which only the places are kept that differ from the start: a large fabric
/// has more pairs than fit into memory, and few of them may be needed.
struct Shuffled {
    bound: u64,
    place: u64,
    moved: FxHashMap<u64, u64>,
}

impl Shuffled {
    fn new(bound: u64) -> Shuffled {
        Shuffled { bound, place: 0, moved: FxHashMap::default() }
    }

    fn next(&mut self, stream: &mut Stream) -> u64 {
        if self.place == self.bound {
            *self = Shuffled::new(self.bound);
        }
        let here = self.moved.remove(&self.place).unwrap_or(self.place);
        let chosen = self.place + stream.below(self.bound - self.place);
        let drawn = if chosen == self.place { Some(here) } else { self.moved.insert(chosen, here) };
        self.place += 1;
        drawn.unwrap_or(chosen)
    }
}
