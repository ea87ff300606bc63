//! SPAIN: a few paths between any two switches of hosts, computed before the run, of which each connection draws one.
//!
//! Source: Mudigonda, Yalagandula, Al-Fares and Mogul, "SPAIN: COTS data-center Ethernet for multipathing over arbitrary
//! topologies", NSDI 2010, section 4.1: paths are added one after the other, each the shortest where a link that an earlier one has
//! used costs as much more as the network has links, so that paths share as few links as possible. The paper merges paths into
//! VLANs, whose number Ethernet limits; here each path is one of its own, and a host keeps the path of a connection.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use super::assigned::{Answers, Assign, Way};
use crate::ids::{LinkId, NodeId};
use crate::random::{Purpose, Stream};
use crate::routing::Ports;
use crate::topology::Fabric;

/// Each connection has one of a few paths that share as few links as possible; paths may be longer than the shortest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spain {
    /// Most paths between two hosts; fewer where no further path exists.
    #[schemars(range(min = 1, max = 64))]
    pub paths: u32,
    /// The path of acknowledgements and other answers.
    pub answers: Answers,
}

impl Default for Spain {
    fn default() -> Self {
        Spain { paths: 4, answers: Answers::Own }
    }
}

impl Settings for Spain {
    fn one_path(&self) -> bool {
        true
    }

    fn answers_backwards(&self) -> bool {
        self.answers == Answers::Backwards
    }

    fn among_shortest(&self) -> bool {
        false
    }

    fn links_most(&self, longest: u32) -> u32 {
        // A path that avoids the links of others visits no node twice; twice the longest is that of Valiant's any switch.
        2 * longest
    }
}

/// The paths between two hosts.
type Set = Arc<Vec<Vec<LinkId>>>;

/// The network, and the sets of paths so far: what a set is does not depend on when it is computed.
#[derive(Debug)]
pub struct Scheme {
    most: u32,
    ports: Ports,
    nodes: usize,
    /// Links of the network.
    links: u64,
    /// Links of the longest shortest path.
    longest: u32,
    sets: Mutex<BTreeMap<(NodeId, NodeId), Set>>,
    seed: u64,
    replica: u64,
}

impl Scheme {
    pub(super) fn new(config: &Spain, fabric: &Fabric, seed: u64, replica: u64) -> Scheme {
        let longest = crate::routing::longest(fabric).map_or(0, |(links, _, _)| links);
        Scheme {
            most: config.paths,
            ports: Ports::all(fabric),
            nodes: fabric.nodes.len(),
            links: fabric.links.len() as u64,
            longest,
            sets: Mutex::default(),
            seed,
            replica,
        }
    }

    /// The paths from one host to another: the shortest first.
    fn set(&self, from: NodeId, to: NodeId) -> Set {
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(sets.entry((from, to)).or_insert_with(|| Arc::new(self.find(from, to))))
    }

    fn find(&self, from: NodeId, to: NodeId) -> Vec<Vec<LinkId>> {
        let mut used: BTreeMap<LinkId, u64> = BTreeMap::new();
        let mut paths: Vec<Vec<LinkId>> = Vec::new();
        while paths.len() < self.most as usize {
            let path = self.cheapest(from, to, &used);
            // Longer paths than that have no place in a packet's budget of hops.
            if path.is_empty() || paths.contains(&path) || path.len() > 2 * self.longest as usize {
                break;
            }
            path.iter().for_each(|link| *used.entry(*link).or_default() += 1);
            paths.push(path);
        }
        paths
    }

    /// The cheapest path by Dijkstra's algorithm: a link costs 1, and for each earlier path on it as much as all links. Among
    /// equals the one whose links have lower numbers at its end.
    fn cheapest(&self, from: NodeId, to: NodeId, used: &BTreeMap<LinkId, u64>) -> Vec<LinkId> {
        let mut best: Vec<(u64, LinkId)> = vec![(u64::MAX, LinkId::NONE); self.nodes];
        let mut before: Vec<NodeId> = vec![from; self.nodes];
        let mut open = BinaryHeap::from([Reverse((0, from))]);
        best[from.index()].0 = 0;
        while let Some(Reverse((cost, at))) = open.pop() {
            if cost > best[at.index()].0 {
                continue;
            }
            for (&link, &end) in self.ports.out(at).iter().zip(self.ports.ends(at)) {
                let next = (cost + 1 + self.links * used.get(&link).copied().unwrap_or(0), link);
                if next < best[end.index()] && end != from {
                    let cheaper = next.0 < best[end.index()].0;
                    best[end.index()] = next;
                    before[end.index()] = at;
                    if cheaper {
                        open.push(Reverse((next.0, end)));
                    }
                }
            }
        }
        let mut path = Vec::new();
        let mut at = to;
        while at != from && best[at.index()].0 < u64::MAX {
            path.push(best[at.index()].1);
            at = before[at.index()];
        }
        path.reverse();
        path
    }
}

impl Assign for Scheme {
    fn assign(&self, way: Way, path: &mut Vec<LinkId>) -> Option<u32> {
        let set = self.set(way.from, way.to);
        if set.is_empty() {
            return None;
        }
        let mut stream = Stream::new(self.seed, self.replica, Purpose::Paths, u64::from(way.label));
        let number = stream.below(set.len() as u64) as u32;
        path.extend(&set[number as usize]);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Generator;
    use crate::topology::fat_tree::FatTree;
    use crate::topology::leaf_spine::LeafSpine;
    use crate::units::{Rate, Time};

    fn scheme(fabric: &Fabric, paths: u32) -> Scheme {
        Scheme::new(&Spain { paths, ..Spain::default() }, fabric, 1, 0)
    }

    /// Four spines give four paths between leaves that share the hosts' links alone; asked for eight, the fifth would be the
    /// first again. Hosts of one leaf have one path.
    #[test]
    fn paths_share_no_spine() {
        let fabric = LeafSpine { leaves: 2, spines: 4, hosts: 2, ..LeafSpine::default() }.build();
        let set = scheme(&fabric, 8).find(NodeId(0), NodeId(2));
        assert_eq!(set.len(), 4);
        let mut spines: Vec<LinkId> = set.iter().map(|path| path[1]).collect();
        spines.sort();
        spines.dedup();
        assert_eq!(spines.len(), 4);
        assert!(set.iter().all(|path| path.len() == 4 && path[0] == set[0][0] && path[3] == set[0][3]));
        assert_eq!(scheme(&fabric, 8).find(NodeId(0), NodeId(1)).len(), 1);
    }

    /// Three switches in a triangle, a host at each: the path of three links and that of four by the third switch,
    /// which is longer than any shortest path.
    #[test]
    fn a_way_around_is_a_path() {
        let mut fabric = Fabric::default();
        let hosts: Vec<_> = (0..3).map(|host| fabric.add_node(format!("host {host}"), "host")).collect();
        let switches: Vec<_> = (0..3).map(|at| fabric.add_node(format!("switch {at}"), "switch")).collect();
        let mut cable = |a, b| fabric.add_cable(a, b, Rate(1_000_000_000), Time::from_us(1));
        for at in 0..3 {
            cable(hosts[at], switches[at]);
            cable(switches[at], switches[(at + 1) % 3]);
        }
        let set = scheme(&fabric, 4).find(hosts[0], hosts[1]);
        assert_eq!(set.iter().map(Vec::len).collect::<Vec<_>>(), [3, 4]);
    }

    /// Two hosts at neighbours in a ring, three links apart: the way around is a path up to twice as long. It has four cables and
    /// those of the hosts in a ring of five switches, and a cable more in one of six.
    #[test]
    fn a_way_around_is_no_longer_than_twice_the_longest() {
        for (count, lengths) in [(5, vec![3, 6]), (6, vec![3])] {
            let mut fabric = Fabric::default();
            let hosts = [0, 1].map(|host| fabric.add_node(format!("host {host}"), "host"));
            let ring: Vec<_> =
                (0..count).map(|at| fabric.add_node(format!("switch {at}"), "switch")).collect();
            let mut cable = |a, b| fabric.add_cable(a, b, Rate(1_000_000_000), Time::from_us(1));
            hosts.iter().zip(&ring).for_each(|(host, switch)| _ = cable(*host, *switch));
            (0..count).for_each(|at| _ = cable(ring[at], ring[(at + 1) % count]));
            let set = scheme(&fabric, 4).find(hosts[0], hosts[1]);
            assert_eq!(set.iter().map(Vec::len).collect::<Vec<_>>(), lengths);
        }
    }

    /// Of the four paths between pods of FT(4, 3), the first two have no link between switches in common, and all four are there
    /// after that.
    #[test]
    fn early_paths_are_apart() {
        let fabric = FatTree { k: 4, ..FatTree::default() }.build();
        let set = scheme(&fabric, 4).find(NodeId(0), NodeId(15));
        assert_eq!(set.len(), 4);
        assert!(set[0][1..5].iter().all(|link| !set[1][1..5].contains(link)));
        assert!(set.iter().all(|path| path.len() == 6));
    }
}
