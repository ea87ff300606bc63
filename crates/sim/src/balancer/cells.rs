//! Cells: runs of packets of one end of a connection, each run on the next path of a fixed list.
//!
//! The source of DRB (a packet a cell) and Presto (64 KB a cell). The list has all paths, in the digit-reversed order of DRB
//! unless the plain one is given, and begins at a random place for each end of each connection. A weighted list has a path
//! as often as its weight, spread over the list. The receiving host may put the cells in order: `reordering.rs`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::labels::{self, Digits, Numbered};
use super::reordering::Reordering;
use crate::engine::contract::packet::reverse_label;
use crate::engine::contract::path::{
    Acts, Choose, Hop, Opening, Passing, Path, ReorderCounts, Tag, Trip, Verdict,
};
use crate::engine::contract::paths::Paths;
use crate::ids::{ConnId, LinkId, PacketId};
use crate::random::{Purpose, Stream};
use crate::routing::Routes;
use crate::topology::Fabric;
use crate::units::{Rate, Time};

/// The order of the paths in the list of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Digit-reversed, as in DRB's paper: the first switch takes another link upwards with each path.
    #[default]
    Reversed,
    /// All paths by the first link upwards, then all by the second, as in the simulator of Hermes (SIGCOMM 2017).
    Plain,
}

/// How often a path is in the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// Once.
    #[default]
    Equal,
    /// In proportion to the least present rate of its links, up to 16 times. Follows faults `faults.detection_delay` later.
    Capacity,
}

/// Most times of a path in a weighted list.
const WEIGHT_MOST: u64 = 16;

/// The list of one end of a connection, and the place in it.
#[derive(Clone, Debug)]
struct Walk {
    /// Numbers of paths; empty before the first packet.
    list: Arc<[u16]>,
    numbered: Numbered,
    /// The change of routes to which the list belongs.
    routes: u32,
    /// Place in the list of the present cell.
    at: u32,
    /// Bytes of the present cell.
    bytes: u64,
    /// Where the walk began, as a fraction of 2^64 of the list.
    begin: u64,
    /// The present path.
    path: Path,
}

/// The cells of all sources.
#[derive(Clone, Debug)]
pub struct Cells {
    /// Most bytes of a cell, if it has more than one packet.
    cell: u64,
    order: Order,
    weights: Weights,
    /// By connection: the walk of the packets to its sender, and to its receiver.
    walks: Vec<[Walk; 2]>,
    /// Changes of routes so far.
    changes: u32,
    /// Present rates by link, where paths have weights.
    rates: Vec<u64>,
    /// The buffers of receiving hosts, if they have some.
    reordering: Option<Box<Reordering>>,
    /// For the choices that are not the source's.
    stream: Stream,
    seed: u64,
    replica: u64,
}

/// The settings of a balancer with cells.
pub trait Cut {
    /// Most bytes of a cell on the wire; a cell has at least one packet.
    fn cell(&self) -> u64;
    /// The list.
    fn list(&self) -> (Order, Weights);
    /// The most time for which a receiving host holds a packet behind a gap, if it has a reordering buffer.
    fn reorder_timeout(&self) -> Option<Time>;
}

impl Cells {
    pub(super) fn new(config: &impl Cut, _fabric: &Fabric, seed: u64, replica: u64) -> Cells {
        let (order, weights) = config.list();
        Cells {
            cell: config.cell(),
            order,
            weights,
            walks: Vec::new(),
            changes: 0,
            rates: Vec::new(),
            reordering: config.reorder_timeout().map(|timeout| Box::new(Reordering::new(timeout))),
            stream: Stream::new(seed, replica, Purpose::Balancer, 1),
            seed,
            replica,
        }
    }

    fn digits(&self) -> Digits {
        match self.order {
            Order::Reversed => Digits::FirstFirst,
            Order::Plain => Digits::LastFirst,
        }
    }

    /// The paths as they are now, each as often as its weight.
    fn list(&self, trip: &Trip) -> (Numbered, Arc<[u16]>) {
        let numbered = Numbered::count(trip);
        let all = 0..numbered.paths;
        if self.weights == Weights::Equal {
            return (numbered, all.collect());
        }
        let least = |number| {
            let mut least = u64::MAX;
            numbered.label(number, self.digits(), trip, |link| least = least.min(self.rates[link.index()]));
            least
        };
        (numbered, spread(&all.map(least).collect::<Vec<u64>>()).into())
    }

    /// The list of an end is made, or made anew after a change of routes, with the walk at the same share of it.
    #[cold]
    #[inline(never)]
    fn renew(&mut self, trip: &Trip) {
        let (numbered, list) = self.list(trip);
        let (changes, forward) = (self.changes, usize::from(trip.forward));
        let walk = &mut self.walks[trip.conn.index()][forward];
        let at = if walk.list.is_empty() {
            ((u128::from(walk.begin) * list.len() as u128) >> 64) as u32
        } else {
            (u64::from(walk.at) * list.len() as u64 / walk.list.len() as u64) as u32
        };
        (walk.numbered, walk.list, walk.routes, walk.at) = (numbered, list, changes, at);
        walk.bytes = self.cell;
    }
}

/// The numbers of paths, each as often as its rate in proportion to the largest, at most [`WEIGHT_MOST`] times and at least once,
/// so that those of one path are far apart: the next is the one that is furthest behind its share, the first among equals.
fn spread(rates: &[u64]) -> Vec<u16> {
    let most = rates.iter().copied().max().unwrap_or(1).max(1);
    let scaled =
        |rate: &u64| ((u128::from(*rate) * u128::from(WEIGHT_MOST) / u128::from(most)) as i64).max(1);
    let weights: Vec<i64> = rates.iter().map(scaled).collect();
    let common = weights.iter().copied().fold(0, gcd);
    let weights: Vec<i64> = weights.iter().map(|weight| weight / common).collect();
    let total: i64 = weights.iter().sum();
    let mut behind = vec![0; weights.len()];
    (0..total)
        .map(|_| {
            behind.iter_mut().zip(&weights).for_each(|(behind, weight)| *behind += weight);
            let next = (0..behind.len()).rev().max_by_key(|&path| behind[path]).expect("a path");
            behind[next] -= total;
            next as u16
        })
        .collect()
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Choose for Cells {
    #[inline(always)]
    fn choose(&mut self, hop: Hop, _now: Time) -> u32 {
        labels::pick(hop, &self.stream)
    }

    #[inline(always)]
    fn foresee(&self, hop: Hop) -> Option<u32> {
        Some(labels::pick(hop, &self.stream))
    }

    fn routes_change(&mut self, _routes: &Routes, fabric: &Fabric, rate: &dyn Fn(LinkId) -> Rate) {
        self.changes += 1;
        if self.weights == Weights::Capacity {
            self.rates = (0..fabric.links.len() as u32).map(|link| rate(LinkId(link)).0).collect();
        }
    }

    #[cold]
    fn open(&mut self, opening: Opening, _paths: &mut Paths) -> (LinkId, LinkId) {
        let Opening { id, label, ports, .. } = opening;
        let (seed, replica) = (self.seed, self.replica);
        let walk = |label: u32| Walk {
            list: Arc::new([]),
            numbered: Numbered::NONE,
            routes: 0,
            at: 0,
            bytes: 0,
            begin: Stream::new(seed, replica, Purpose::Paths, u64::from(label)).bits(),
            path: Path { number: 0, label: 0, flags: 0 },
        };
        let walks = [walk(reverse_label(label)), walk(label)];
        if id.index() >= self.walks.len() {
            self.walks.resize(id.index() + 1, walks.clone());
        }
        self.walks[id.index()] = walks;
        if let Some(reordering) = &mut self.reordering {
            reordering.open(id);
        }
        ports
    }

    fn at_source(&self) -> bool {
        true
    }

    fn tags(&self) -> bool {
        self.reordering.is_some()
    }

    fn acts(&self) -> bool {
        self.reordering.is_some()
    }

    fn restores(&self) -> bool {
        self.reordering.is_some()
    }

    fn number(&mut self, conn: ConnId, label: u32, tag: &mut Tag) {
        if let Some(reordering) = &mut self.reordering {
            *tag = reordering.number(conn, label);
        }
    }

    fn handle(&mut self, passing: Passing, now: Time, tag: &mut Tag, acts: &mut Acts) -> Verdict {
        match &mut self.reordering {
            Some(reordering) if passing.passage.at == passing.passage.to => {
                reordering.arrive(passing, now, *tag, acts)
            }
            _ => Verdict::Pass(passing.passage.next),
        }
    }

    fn wake(&mut self, port: LinkId, now: Time, acts: &mut Acts) {
        if let Some(reordering) = &mut self.reordering {
            reordering.wake(port, now, acts);
        }
    }

    fn held(&self, found: &mut dyn FnMut(PacketId)) {
        if let Some(reordering) = &self.reordering {
            reordering.held(found);
        }
    }

    fn reordering(&self) -> Option<ReorderCounts> {
        self.reordering.as_ref().map(|reordering| reordering.counts())
    }

    #[inline]
    fn next_path(&mut self, trip: Trip) -> Option<Path> {
        let (cell, digits, changes) = (self.cell, self.digits(), self.changes);
        let forward = usize::from(trip.forward);
        let walk = &self.walks[trip.conn.index()][forward];
        if walk.routes != changes || walk.list.is_empty() {
            self.renew(&trip);
        }
        let walk = &mut self.walks[trip.conn.index()][forward];
        if walk.bytes + u64::from(trip.size) > cell {
            let number = walk.list[walk.at as usize];
            walk.at = if walk.at + 1 == walk.list.len() as u32 { 0 } else { walk.at + 1 };
            let label = walk.numbered.label(number, digits, &trip, |_| ());
            walk.path = Path { number: u32::from(number), label, flags: 0 };
            walk.bytes = 0;
        }
        walk.bytes += u64::from(trip.size);
        Some(walk.path)
    }

    fn path(&self, id: ConnId, forward: bool) -> Option<u32> {
        let walk = &self.walks[id.index()][usize::from(forward)];
        (!walk.list.is_empty()).then_some(walk.path.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balancer::presto::Presto;
    use crate::ids::NodeId;
    use crate::topology::Generator;
    use crate::topology::leaf_spine::LeafSpine;

    /// Rates 4, 4 and 2 are weights 2, 2 and 1; those of a path are apart. A path that is 40 times slower counts once in 16.
    #[test]
    fn weights_are_spread_over_the_list() {
        assert_eq!(spread(&[10, 10, 10]), [0, 1, 2]);
        assert_eq!(spread(&[4, 4, 2]), [0, 1, 2, 0, 1]);
        let list = spread(&[40, 1]);
        assert_eq!((list.len(), list.iter().filter(|&&path| path == 1).count()), (17, 1));
        assert_eq!(spread(&[0, 0]), [0, 1], "links without a rate");
    }

    /// A cell of 64 KB has room for both packets; a change of routes between them, whatever it is, begins the next
    /// cell, on the other one of two paths.
    #[test]
    fn a_change_of_routes_begins_a_cell() {
        let fabric = LeafSpine { leaves: 2, spines: 2, hosts: 1, ..LeafSpine::default() }.build();
        let routes = Routes::build(&fabric).expect("it is connected");
        let ends: Vec<NodeId> = fabric.links.iter().map(|link| link.to).collect();
        let port = |host| routes.only_port(NodeId(host)).expect("a host has one");
        let numbers = [false, true].map(|changes| {
            let mut cells = Cells::new(&Presto::default(), &fabric, 1, 0);
            let ports = (port(0), port(1));
            let (src, dst, label) = (NodeId(0), NodeId(1), 7);
            let id = ConnId(0);
            let opening = Opening {
                id,
                src,
                dst,
                label,
                flow_label: label,
                subflow: 0,
                key: 0,
                ports,
                routes: &routes,
            };
            cells.open(opening, &mut Paths::default());
            let (conn, port) = (id, ports.0);
            let trip = || Trip {
                conn,
                forward: true,
                port,
                to: dst,
                size: 1500,
                now: Time::ZERO,
                routes: &routes,
                ends: &ends,
            };
            let first = cells.next_path(trip()).expect("a path").number;
            if changes {
                cells.routes_change(&routes, &fabric, &|_| Rate(1));
            }
            (first, cells.next_path(trip()).expect("a path").number)
        });
        let [(first, same), (_, other)] = numbers;
        assert_eq!((same, other), (first, 1 - first));
    }
}
