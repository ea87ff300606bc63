//! The best balanced cut that a search finds: an upper bound on a network's bisection bandwidth.
//!
//! The bisection bandwidth is the least capacity, in one direction, between two halves of the hosts, over all
//! ways to halve them. Finding it is NP-hard; any balanced cut is an upper bound. The search is that of
//! Fiduccia and Mattheyses ("A linear-time heuristic for improving network partitions", DAC 1982): move one
//! node after the other to the other side, whichever gains most, and keep the best balanced state met.

use std::collections::BinaryHeap;

use super::Fabric;
use crate::random::{Purpose, Stream};

/// Random starts besides the two by number.
const RANDOM_STARTS: u64 = 6;

/// Capacity of the best balanced cut found, in bits per second one way.
///
/// Halves differ by at most one host. Always the same for the same fabric.
pub fn best_cut(fabric: &Fabric) -> u128 {
    let hosts = fabric.hosts as usize;
    let by_number = |host: usize| 2 * host >= hosts;
    let alternating = |host: usize| host % 2 == 1;
    let mut starts: Vec<Vec<bool>> = vec![(0..hosts).map(by_number).collect()];
    starts.push((0..hosts).map(alternating).collect());
    for number in 0..RANDOM_STARTS {
        let mut halves: Vec<bool> = (0..hosts).map(by_number).collect();
        Stream::new(0, number, Purpose::Ties, 2).shuffle(&mut halves);
        starts.push(halves);
    }
    let found = starts.into_iter().map(|halves| {
        let mut search = Search::new(fabric, halves);
        while search.pass() {}
        search.cut
    });
    found.min().expect("there are starts")
}

struct Search {
    /// For each node its neighbours, with the capacity of each cable between them.
    near: Vec<Vec<(u32, u64)>>,
    hosts: usize,
    /// On which side each node is.
    side: Vec<bool>,
    cut: u128,
}

impl Search {
    fn new(fabric: &Fabric, halves: Vec<bool>) -> Search {
        let mut near = vec![Vec::new(); fabric.nodes.len()];
        for link in &fabric.links {
            near[link.from.index()].push((link.to.0, link.rate.0));
        }
        // Switches follow the majority of their neighbours whose side is known, nearest to the hosts first.
        let hosts = halves.len();
        let mut side: Vec<Option<bool>> = halves.into_iter().map(Some).collect();
        side.resize(fabric.nodes.len(), None);
        while side.iter().any(Option::is_none) {
            let majority = |node: usize| {
                let votes = |way| near[node].iter().filter(|(to, _)| side[*to as usize] == Some(way)).count();
                let (left, right) = (votes(false), votes(true));
                (left + right > 0).then_some(right > left)
            };
            let new: Vec<_> = (hosts..side.len()).map(|node| side[node].or_else(|| majority(node))).collect();
            if new == side[hosts..] {
                side[hosts..].iter_mut().for_each(|side| *side = Some(side.unwrap_or(false)));
            } else {
                side.splice(hosts.., new);
            }
        }
        let side: Vec<bool> = side.into_iter().map(|side| side.expect("all are set")).collect();
        let crosses = |link: &&super::Link| side[link.from.index()] != side[link.to.index()];
        // Each cable has a link each way.
        let cut = fabric.links.iter().filter(crosses).map(|link| u128::from(link.rate.0)).sum::<u128>() / 2;
        Search { near, hosts, side, cut }
    }

    /// The cut's loss if the node changes sides.
    fn gain(&self, node: usize) -> i128 {
        let sign = |to: u32| if self.side[to as usize] == self.side[node] { -1 } else { 1 };
        self.near[node].iter().map(|&(to, rate)| sign(to) * i128::from(rate)).sum()
    }

    /// Moves every node once, each time the one that gains most, and goes back to the best balanced state;
    /// false if that was the first.
    fn pass(&mut self) -> bool {
        let nodes = self.side.len();
        let mut gains: Vec<i128> = (0..nodes).map(|node| self.gain(node)).collect();
        let mut moved = vec![false; nodes];
        // By side, the best first; an entry whose gain is out of date is skipped. Switches may move at any
        // time; a host only from the side that has at least as many.
        let mut switches = BinaryHeap::new();
        let mut hosts = [BinaryHeap::new(), BinaryHeap::new()];
        for (node, &gain) in gains.iter().enumerate() {
            match node < self.hosts {
                true => hosts[usize::from(self.side[node])].push((gain, node)),
                false => switches.push((gain, node)),
            }
        }
        let mut balance: i64 = self.side[..self.hosts].iter().map(|&right| if right { 1 } else { -1 }).sum();
        let odd = self.hosts as i64 % 2;
        let (mut cut, mut best) = (self.cut as i128, self.cut as i128);
        let (mut order, mut keep) = (Vec::with_capacity(nodes), 0);
        loop {
            let fresh = |heap: &mut BinaryHeap<(i128, usize)>| {
                while let Some(&(gain, node)) = heap.peek() {
                    if !moved[node] && gains[node] == gain {
                        return Some((gain, node));
                    }
                    heap.pop();
                }
                None
            };
            let switch = fresh(&mut switches);
            let host = match balance {
                0 => fresh(&mut hosts[0]).max(fresh(&mut hosts[1])),
                more => fresh(&mut hosts[usize::from(more > 0)]),
            };
            let Some((gain, node)) = switch.max(host) else { break };
            // Otherwise a pass would never end.
            assert!(!moved[node], "node {node} moves twice in a pass");
            moved[node] = true;
            order.push(node);
            cut -= gain;
            self.side[node] = !self.side[node];
            if node < self.hosts {
                balance += if self.side[node] { 2 } else { -2 };
            }
            for &(to, rate) in &self.near[node] {
                let to = to as usize;
                let change = 2 * i128::from(rate);
                gains[to] += if self.side[to] == self.side[node] { -change } else { change };
                if moved[to] {
                    continue;
                }
                match to < self.hosts {
                    true => hosts[usize::from(self.side[to])].push((gains[to], to)),
                    false => switches.push((gains[to], to)),
                }
            }
            if balance.abs() <= odd && cut < best {
                (best, keep) = (cut, order.len());
            }
        }
        for &node in &order[keep..] {
            self.side[node] = !self.side[node];
        }
        self.cut = best as u128;
        keep > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;
    use crate::topology::Generator;
    use crate::topology::dumbbell::Dumbbell;
    use crate::topology::fat_tree::FatTree;
    use crate::topology::single_switch::SingleSwitch;
    use crate::units::{Rate, Time};

    const G: u128 = 1_000_000_000;

    #[test]
    fn known_networks() {
        // Half the hosts' ports; the bottleneck; half the hosts' ports again, for no cut above them is narrower.
        assert_eq!(best_cut(&SingleSwitch { hosts: 8, ..SingleSwitch::default() }.build()), 40 * G);
        assert_eq!(best_cut(&SingleSwitch { hosts: 7, ..SingleSwitch::default() }.build()), 30 * G);
        assert_eq!(best_cut(&Dumbbell { hosts: 3, ..Dumbbell::default() }.build()), 10 * G);
        assert_eq!(best_cut(&FatTree { k: 4, ..FatTree::default() }.build()), 80 * G);
        assert_eq!(best_cut(&FatTree { k: 8, ..FatTree::default() }.build()), 640 * G);
    }

    /// Against every way to halve the nodes of small random networks of hosts alone.
    #[test]
    fn small_networks_exactly() {
        let mut stream = Stream::new(7, 0, Purpose::Ties, 0);
        for hosts in [4u32, 6, 8, 9] {
            for _ in 0..20 {
                let mut fabric = Fabric::default();
                for host in 0..hosts {
                    fabric.add_node(format!("host {host}"), "host");
                }
                for node in 1..hosts {
                    let other = stream.below(u64::from(node)) as u32;
                    fabric.add_cable(NodeId(node), NodeId(other), Rate(1 + stream.below(5)), Time::ZERO);
                }
                for _ in 0..hosts {
                    let (a, b) = (stream.below(hosts.into()) as u32, stream.below(hosts.into()) as u32);
                    if a != b {
                        fabric.add_cable(NodeId(a), NodeId(b), Rate(1 + stream.below(5)), Time::ZERO);
                    }
                }
                let halves = (0u32..1 << hosts).filter(|half| half.count_ones() == hosts / 2);
                let capacity = |half: u32| {
                    let out = |link: &&crate::topology::Link| {
                        half >> link.from.0 & 1 == 1 && half >> link.to.0 & 1 == 0
                    };
                    fabric.links.iter().filter(out).map(|link| u128::from(link.rate.0)).sum::<u128>()
                };
                assert_eq!(best_cut(&fabric), halves.map(capacity).min().unwrap());
            }
        }
    }
}
