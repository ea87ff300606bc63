//! Source-permuted paths: a sender walks through all its paths in a random order, and then anew.
//!
//! Source: Handley et al., "Re-architecting datacenter networks and stacks for low latency and high
//! performance", SIGCOMM 2017, section 3.1.1, and its public simulator (htsim, "perm"). A path has a number;
//! the source turns it into a choice for each switch on the way and writes these into the packet's label, from
//! which a switch reads its own by the number of links that the packet has crossed. So a switch keeps nothing
//! and divides nothing, and the next hop is known before the packet is there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use crate::engine::contract::packet::reverse_label;
use crate::engine::contract::path::{Choose, Hop, Opening, Path, Trip};
use crate::engine::contract::paths::Paths;
use crate::ids::{ConnId, LinkId, NodeId};
use crate::random::{Purpose, Stream, share};
use crate::topology::Fabric;
use crate::units::Time;

/// Each sender uses each of its paths once, in a random order, then each once more in another order.
///
/// Both ends of a connection do so, each with an order of its own, which depends on no other connection. The
/// choices of the first four switches on the path are the source's, each among at most 256 next hops: all
/// choices of a fat-tree of up to five levels. Where there are more, and where a change of routes leaves the
/// source's choice without meaning, a packet takes a random one, as under "per-packet". The same holds for
/// the first hop of a host with several ports, which belongs to the connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Permuted {}

impl Settings for Permuted {
    fn leaves_paths(&self) -> bool {
        true
    }

    fn spreads(&self) -> bool {
        true
    }
}

/// Switches whose choices a label holds, and bits for each.
const PLACES: u32 = 4;
const BITS: u32 = 8;

/// Most paths of an order; of more, so many are used that are spread over all of them.
const PATHS_MOST: u64 = 4096;

/// The position of each end of each connection in its order. Connections without this balancer have no place
/// here.
#[derive(Clone, Debug)]
pub struct Model {
    /// By connection: the walk of the packets to its sender, and to its receiver.
    walks: Vec<[Walk; 2]>,
    /// For the choices that are not the source's.
    stream: Stream,
    seed: u64,
    replica: u64,
}

/// A walk through all paths.
#[derive(Clone, Debug)]
struct Walk {
    /// The numbers of the paths: up to `next` in the order of this round, behind it those still to come.
    order: Vec<u16>,
    next: usize,
    /// A path's number times this is its place among all of them, as a fraction of 2^64.
    step: u64,
    chance: Stream,
}

impl Model {
    pub(super) fn new(_config: &Permuted, _fabric: &Fabric, seed: u64, replica: u64) -> Model {
        let stream = Stream::new(seed, replica, Purpose::Balancer, 1);
        Model { walks: Vec::new(), stream, seed, replica }
    }

    /// The label's choice for this switch, if it is a possible one here.
    #[inline(always)]
    fn pick(&self, hop: Hop) -> u32 {
        let place = u32::from(hop.hops).wrapping_sub(1);
        let digit = hop.label >> (BITS * (place % PLACES)) & ((1 << BITS) - 1);
        if place < PLACES && digit < hop.count() && hop.count() <= 1 << BITS {
            digit
        } else {
            share(self.stream.bits_at(hop.ticket), hop.count())
        }
    }
}

impl Walk {
    /// A round begins: counts the paths, as they are now.
    #[cold]
    fn begin(&mut self, trip: &Trip) {
        let mut paths = 1u64;
        trip.walk(|count| {
            paths = (paths * u64::from(count)).min(PATHS_MOST);
            0
        });
        if self.order.len() as u64 != paths {
            self.order.clear();
            self.order.extend(0..paths as u16);
            self.step = (u64::MAX / paths).wrapping_add(1);
        }
        self.next = 0;
    }

    /// The choice of each switch on the path of that number: the number's digits, each to the base of the
    /// number of choices, by multiplication of the fraction that it represents.
    fn label(&self, number: u16, trip: &Trip) -> u32 {
        let mut fraction = u64::from(number).wrapping_mul(self.step);
        let (mut label, mut place) = (0, 0);
        trip.walk(|count| {
            let product = u128::from(fraction) * u128::from(count);
            fraction = product as u64;
            let digit = (product >> 64) as u32;
            label |= (digit & ((1 << BITS) - 1)) << (BITS * place);
            place += 1;
            digit
        });
        label
    }
}

impl Trip<'_> {
    /// Goes along the path on which each of the first switches takes the next hop that `choose` returns,
    /// given their number; faults may leave none.
    #[inline]
    fn walk(&self, mut choose: impl FnMut(u32) -> u32) {
        let mut at: NodeId = self.ends[self.port.index()];
        for _ in 0..PLACES {
            if at == self.to {
                return;
            }
            let hops = self.routes.next_hops(at, self.to);
            if hops.is_empty() {
                return;
            }
            at = self.ends[hops[choose(hops.len() as u32) as usize].index()];
        }
    }
}

impl Choose for Model {
    #[inline(always)]
    fn choose(&mut self, hop: Hop, _now: Time) -> u32 {
        self.pick(hop)
    }

    #[inline(always)]
    fn foresee(&self, hop: Hop) -> Option<u32> {
        Some(self.pick(hop))
    }

    #[cold]
    fn open(&mut self, opening: Opening, _paths: &mut Paths) -> (LinkId, LinkId) {
        let Opening { id, label, ports, .. } = opening;
        let (seed, replica) = (self.seed, self.replica);
        let walk = |label: u32| {
            let chance = Stream::new(seed, replica, Purpose::Paths, u64::from(label));
            Walk { order: Vec::new(), next: 0, step: 0, chance }
        };
        let walks = [walk(reverse_label(label)), walk(label)];
        if id.index() >= self.walks.len() {
            self.walks.resize(id.index() + 1, walks.clone());
        }
        for (old, new) in self.walks[id.index()].iter_mut().zip(walks) {
            let mut order = std::mem::take(&mut old.order);
            order.clear();
            *old = Walk { order, ..new };
        }
        ports
    }

    fn at_source(&self) -> bool {
        true
    }

    /// One step of Fisher and Yates' shuffle for each packet, so that no packet pays for a whole round.
    fn next_path(&mut self, trip: Trip) -> Option<Path> {
        let walk = &mut self.walks[trip.conn.index()][usize::from(trip.forward)];
        if walk.next == walk.order.len() {
            walk.begin(&trip);
        }
        let left = (walk.order.len() - walk.next) as u64;
        let drawn = walk.next + walk.chance.below(left) as usize;
        walk.order.swap(walk.next, drawn);
        let number = walk.order[walk.next];
        walk.next += 1;
        Some(Path { number: u32::from(number), label: walk.label(number, &trip), flags: 0 })
    }

    fn path(&self, id: ConnId, forward: bool) -> Option<u32> {
        let walk = &self.walks[id.index()][usize::from(forward)];
        walk.next.checked_sub(1).map(|last| u32::from(walk.order[last]))
    }
}
