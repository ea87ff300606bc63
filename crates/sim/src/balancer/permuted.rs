//! Source-permuted paths: a sender walks through all its paths in a random order, and then anew.
//!
//! Source: Handley et al., "Re-architecting datacenter networks and stacks for low latency and high
//! performance", SIGCOMM 2017, section 3.1.1, and its public simulator (htsim, "perm"). The source writes the
//! path into the packet's label (`labels.rs`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use super::labels::{self, Digits, Numbered};
use crate::engine::contract::packet::reverse_label;
use crate::engine::contract::path::{Choose, Hop, Opening, Path, Trip};
use crate::engine::contract::paths::Paths;
use crate::ids::{ConnId, LinkId};
use crate::random::{Purpose, Stream};
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
    numbered: Numbered,
    draws: Stream,
}

impl Model {
    pub(super) fn new(_config: &Permuted, _fabric: &Fabric, seed: u64, replica: u64) -> Model {
        let stream = Stream::new(seed, replica, Purpose::Balancer, 1);
        Model { walks: Vec::new(), stream, seed, replica }
    }
}

impl Walk {
    /// A round begins: counts the paths, as they are now.
    #[cold]
    fn begin(&mut self, trip: &Trip) {
        self.numbered = Numbered::count(trip);
        if self.order.len() != usize::from(self.numbered.paths) {
            self.order.clear();
            self.order.extend(0..self.numbered.paths);
        }
        self.next = 0;
    }
}

impl Choose for Model {
    #[inline(always)]
    fn choose(&mut self, hop: Hop, _now: Time) -> u32 {
        labels::pick(hop, &self.stream)
    }

    #[inline(always)]
    fn foresee(&self, hop: Hop) -> Option<u32> {
        Some(labels::pick(hop, &self.stream))
    }

    #[cold]
    fn open(&mut self, opening: Opening, _paths: &mut Paths) -> (LinkId, LinkId) {
        let Opening { id, label, ports, .. } = opening;
        let (seed, replica) = (self.seed, self.replica);
        let walk = |label: u32| {
            let draws = Stream::new(seed, replica, Purpose::Paths, u64::from(label));
            Walk { order: Vec::new(), next: 0, numbered: Numbered::NONE, draws }
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
        let drawn = walk.next + walk.draws.below(left) as usize;
        walk.order.swap(walk.next, drawn);
        let number = walk.order[walk.next];
        walk.next += 1;
        Some(Path {
            number: u32::from(number),
            label: walk.numbered.label(number, Digits::LastFirst, &trip, |_| ()),
            flags: 0,
        })
    }

    fn path(&self, id: ConnId, forward: bool) -> Option<u32> {
        let walk = &self.walks[id.index()][usize::from(forward)];
        walk.next.checked_sub(1).map(|last| u32::from(walk.order[last]))
    }
}
