//! Graph computations for tests, independent of the simulator's routes.

#![allow(dead_code, reason = "each test file uses a part of this")]

use flowyard_sim::ids::{LinkId, NodeId};
use flowyard_sim::topology::Fabric;

/// All nodes.
pub fn nodes(fabric: &Fabric) -> impl Iterator<Item = NodeId> {
    (0..fabric.nodes.len() as u32).map(NodeId)
}

/// The hosts.
pub fn hosts(fabric: &Fabric) -> impl Iterator<Item = NodeId> + Clone {
    (0..fabric.hosts).map(NodeId)
}

/// All links.
pub fn links(fabric: &Fabric) -> impl Iterator<Item = LinkId> {
    (0..fabric.links.len() as u32).map(LinkId)
}

/// Checks that each link is the way back of its reverse, that hosts are what is called so, and that no name is twice.
pub fn check_parts(fabric: &Fabric) {
    for id in links(fabric) {
        let (link, back) = (&fabric.links[id.index()], &fabric.links[id.reverse().index()]);
        assert_eq!((link.from, link.to), (back.to, back.from));
    }
    for node in nodes(fabric) {
        assert_eq!(fabric.is_host(node), fabric.nodes[node.index()].tier == "host");
    }
    let mut names: Vec<&str> = fabric.nodes.iter().map(|node| node.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), fabric.nodes.len());
}

/// The nodes of a tier.
pub fn tier(fabric: &Fabric, tier: &str) -> Vec<NodeId> {
    nodes(fabric).filter(|node| fabric.nodes[node.index()].tier == tier).collect()
}

/// All distances, and the number of shortest paths, by a breadth-first search from every node.
pub struct Oracle {
    /// Links between each two nodes.
    pub hops: Vec<Vec<u32>>,
    /// Shortest paths between each two nodes.
    pub ways: Vec<Vec<u64>>,
}

impl Oracle {
    /// Searches the whole graph.
    pub fn of(fabric: &Fabric) -> Oracle {
        let size = fabric.nodes.len();
        let mut oracle = Oracle { hops: vec![vec![u32::MAX; size]; size], ways: vec![vec![0; size]; size] };
        let mut out = vec![Vec::new(); size];
        fabric.links.iter().for_each(|link| out[link.from.index()].push(link.to.index()));
        for from in 0..size {
            let (hops, ways) = (&mut oracle.hops[from], &mut oracle.ways[from]);
            (hops[from], ways[from]) = (0, 1);
            let mut level = vec![from];
            for distance in 1.. {
                let mut next = Vec::new();
                for &node in &level {
                    for &to in &out[node] {
                        if hops[to] == u32::MAX {
                            hops[to] = distance;
                            next.push(to);
                        }
                        if hops[to] == distance {
                            ways[to] += ways[node];
                        }
                    }
                }
                if next.is_empty() {
                    break;
                }
                level = next;
            }
        }
        oracle
    }

    /// The links on which a shortest path begins.
    pub fn next_hops(&self, fabric: &Fabric, at: NodeId, to: NodeId) -> Vec<LinkId> {
        let nearer = |link: &LinkId| {
            let link = &fabric.links[link.index()];
            link.from == at && self.hops[link.to.index()][to.index()] + 1 == self.hops[at.index()][to.index()]
        };
        links(fabric).filter(nearer).collect()
    }

    /// Every shortest path, in the order of their links.
    pub fn paths(&self, fabric: &Fabric, at: NodeId, to: NodeId) -> Vec<Vec<LinkId>> {
        if at == to {
            return vec![Vec::new()];
        }
        let mut paths = Vec::new();
        for link in self.next_hops(fabric, at, to) {
            for rest in self.paths(fabric, fabric.links[link.index()].to, to) {
                paths.push([vec![link], rest].concat());
            }
        }
        paths
    }
}
