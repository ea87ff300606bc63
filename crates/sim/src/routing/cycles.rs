//! Cycles of links of which each is followed by the next on the way of some packet.
//!
//! Where nodes pause each other instead of dropping, a packet holds its place behind one link until there is
//! room behind the next. Without such a cycle there is always a last link whose packets move on, and so no
//! deadlock; with one, all its links may wait for each other. Source: Dally and Seitz, "Deadlock-free message
//! routing in multiprocessor interconnection networks", IEEE Transactions on Computers 36(5), 1987.

use super::{Ports, Routes};
use crate::ids::{LinkId, NodeId};
use crate::topology::Fabric;

/// Links between switches, and which of them follow each other on shortest paths between hosts. Hosts hold whatever comes.
struct Follows<'a> {
    fabric: &'a Fabric,
    ports: Ports,
    /// By link, its place among those out of its node.
    places: Vec<usize>,
    /// By link, where the marks of those begin that may follow it: one for each link out of the node at its end.
    starts: Vec<usize>,
    marks: Vec<bool>,
}

/// A cycle of links of which each is followed by the next on the shortest path of some packet; none if there is none, or if
/// it would take more than so many steps to find out.
pub fn cycle(fabric: &Fabric, routes: &Routes, steps: u64) -> Option<Vec<LinkId>> {
    Follows::new(fabric, routes, steps)?.cycle()
}

impl<'a> Follows<'a> {
    fn new(fabric: &'a Fabric, routes: &Routes, steps: u64) -> Option<Follows<'a>> {
        let ports = Ports::all(fabric);
        let mut places = vec![0; fabric.links.len()];
        for node in 0..fabric.nodes.len() {
            let out = ports.out(NodeId(node as u32)).iter().enumerate();
            out.for_each(|(place, link)| places[link.index()] = place);
        }
        let mut marks = 0;
        let starts = fabric.links.iter().map(|link| {
            marks += ports.out(link.to).len();
            marks - ports.out(link.to).len()
        });
        let starts = starts.collect();
        if marks as u64 > steps {
            return None;
        }
        let mut follows = Follows { fabric, ports, places, starts, marks: vec![false; marks] };
        let mut left = steps;
        // Hosts that have one port lie behind their switch, and from there on all ways to them are the same.
        let mut seen = vec![false; fabric.nodes.len()];
        for to in (0..fabric.hosts).map(NodeId) {
            let home = routes.only_port(to).map_or(to, |port| fabric.links[port.index()].to);
            if !std::mem::replace(&mut seen[home.index()], true) {
                follows.mark(routes, to, &mut left)?;
            }
        }
        Some(follows)
    }

    /// Marks the successors of links on the paths to a host; nothing if the steps do not last.
    fn mark(&mut self, routes: &Routes, to: NodeId, left: &mut u64) -> Option<()> {
        let mut reached = vec![false; self.fabric.nodes.len()];
        reached[to.index()] = true;
        let mut nodes: Vec<NodeId> = (0..self.fabric.hosts).map(NodeId).filter(|&host| host != to).collect();
        nodes.iter().for_each(|host| reached[host.index()] = true);
        while let Some(at) = nodes.pop() {
            for &link in routes.next_hops(at, to) {
                let end = self.fabric.links[link.index()].to;
                *left = left.checked_sub(1)?;
                if end != to && self.is_between_switches(link) {
                    for &next in routes.next_hops(end, to) {
                        *left = left.checked_sub(1)?;
                        self.marks[self.starts[link.index()] + self.places[next.index()]] = true;
                    }
                }
                if !std::mem::replace(&mut reached[end.index()], true) {
                    nodes.push(end);
                }
            }
        }
        Some(())
    }

    fn is_between_switches(&self, link: LinkId) -> bool {
        let link = &self.fabric.links[link.index()];
        !self.fabric.is_host(link.from) && !self.fabric.is_host(link.to)
    }

    /// A link between switches that follows another, from that place on among those out of the node at its end.
    fn next(&self, link: LinkId, from: usize) -> Option<(usize, LinkId)> {
        let out = self.ports.out(self.fabric.links[link.index()].to);
        let marks = &self.marks[self.starts[link.index()]..][..out.len()];
        let follows = |place: &usize| marks[*place] && self.is_between_switches(out[*place]);
        (from..out.len()).find(follows).map(|place| (place, out[place]))
    }

    /// Depth first, until a link follows one on the way to it.
    fn cycle(&self) -> Option<Vec<LinkId>> {
        let mut entered = vec![false; self.fabric.links.len()];
        let mut on_way = vec![false; self.fabric.links.len()];
        for first in (0..self.fabric.links.len() as u32).map(LinkId) {
            if entered[first.index()] || !self.is_between_switches(first) {
                continue;
            }
            // Each link of the way, and where to go on among those that follow it.
            let mut way = vec![(first, 0)];
            (entered[first.index()], on_way[first.index()]) = (true, true);
            while let Some((link, from)) = way.last_mut() {
                let Some((place, next)) = self.next(*link, *from) else {
                    on_way[link.index()] = false;
                    way.pop();
                    continue;
                };
                *from = place + 1;
                if on_way[next.index()] {
                    let links = way.iter().map(|(link, _)| *link);
                    return Some(links.skip_while(|link| *link != next).collect());
                }
                if !std::mem::replace(&mut entered[next.index()], true) {
                    on_way[next.index()] = true;
                    way.push((next, 0));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::topology::Topology;

    /// Enough for all networks here.
    const STEPS: u64 = 1_000_000;

    fn network(topology: serde_json::Value) -> (Fabric, Routes) {
        let topology: Topology = serde::Deserialize::deserialize(&topology).expect("a topology");
        let fabric = topology.build();
        let routes = Routes::build(&fabric).expect("connected");
        (fabric, routes)
    }

    /// So many switches in a ring, a host at each.
    fn ring(switches: usize) -> serde_json::Value {
        let name = |what: &str, index: usize| format!("{what}{}", index % switches);
        let names = |what: &str| (0..switches).map(|index| name(what, index)).collect::<Vec<_>>();
        let cables = (0..switches).flat_map(|index| {
            let (host, here, next) = (name("h", index), name("s", index), name("s", index + 1));
            [json!({"ends": [host, here]}), json!({"ends": [here, next]})]
        });
        let switches: Vec<_> = names("s").iter().map(|name| json!({"name": name})).collect();
        let cables: Vec<_> = cables.collect();
        json!({"explicit": {"hosts": names("h"), "switches": switches, "cables": cables}})
    }

    /// Around a ring of five each cable is followed by the next, in each direction. In a ring of three no shortest path has
    /// two cables of it, and in one of four each pair of opposite switches has a path either way.
    #[test]
    fn a_ring_has_a_cycle_from_four_switches_on() {
        for switches in 3..8 {
            let (fabric, routes) = network(ring(switches));
            let found = cycle(&fabric, &routes, STEPS);
            assert_eq!(found.as_ref().map(Vec::len), (switches > 3).then_some(switches), "{switches}");
            let Some(found) = found else { continue };
            for (link, next) in found.iter().zip(found.iter().cycle().skip(1)) {
                assert_eq!(fabric.links[link.index()].to, fabric.links[next.index()].from);
                assert_ne!(*next, link.reverse(), "a shortest path never turns");
            }
        }
    }

    /// Up and then down; and where hosts relay, they hold whatever comes.
    #[test]
    fn trees_have_none() {
        for topology in [
            json!({"fat-tree": {"k": 4}}),
            json!({"leaf-spine": {}}),
            json!({"three-tier": {}}),
            json!({"dumbbell": {}}),
            json!({"bcube": {}}),
        ] {
            let (fabric, routes) = network(topology.clone());
            assert_eq!(cycle(&fabric, &routes, STEPS), None, "{topology}");
        }
    }

    /// By hand, on the paths to each of five hosts: a step for each of the four other hosts' links, for the
    /// four cables that lead to its switch and for its own, and one for the successors of each of the four
    /// cables; 65 together.
    #[test]
    fn what_takes_too_long_is_not_said() {
        let (fabric, routes) = network(ring(5));
        assert_eq!(cycle(&fabric, &routes, 64), None);
        assert_eq!(cycle(&fabric, &routes, 65).map(|links| links.len()), Some(5));
    }
}
