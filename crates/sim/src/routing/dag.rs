//! All shortest paths from a node to a host as one graph: how many there are, and which one has a number.

use super::Routes;
use crate::ids::{LinkId, NodeId};

/// The shortest paths, level by level: one level for each number of links from the beginning.
#[derive(Clone, Debug)]
pub struct Dag<'a> {
    routes: &'a Routes,
    ends: &'a [NodeId],
    to: NodeId,
    /// The nodes of each level, ascending, and the number of ways from each to the end.
    levels: Vec<Vec<(NodeId, u64)>>,
}

impl<'a> Dag<'a> {
    /// The paths by these routes, where `ends` has the end of each link; none if there is none.
    pub fn new(routes: &'a Routes, ends: &'a [NodeId], from: NodeId, to: NodeId) -> Option<Dag<'a>> {
        let mut levels: Vec<Vec<(NodeId, u64)>> = vec![vec![(from, 0)]];
        while levels[levels.len() - 1][0].0 != to {
            let last = &levels[levels.len() - 1];
            let nodes = last.iter().flat_map(|&(node, _)| routes.next_hops(node, to));
            let mut next: Vec<_> = nodes.map(|link| (ends[link.index()], 0)).collect();
            next.sort_unstable();
            next.dedup();
            if next.is_empty() {
                return None;
            }
            levels.push(next);
        }
        let mut dag = Dag { routes, ends, to, levels };
        dag.count_ways();
        Some(dag)
    }

    /// From the end back: a node has as many ways as its next nodes have together.
    fn count_ways(&mut self) {
        let last = self.levels.len() - 1;
        self.levels[last][0].1 = 1;
        for level in (0..last).rev() {
            for at in 0..self.levels[level].len() {
                let node = self.levels[level][at].0;
                let ways = |link: &LinkId| self.ways(level + 1, self.ends[link.index()]);
                let ways = self.routes.next_hops(node, self.to).iter().map(ways);
                self.levels[level][at].1 = ways.fold(0, u64::saturating_add);
            }
        }
    }

    fn ways(&self, level: usize, node: NodeId) -> u64 {
        let level = &self.levels[level];
        level[level.binary_search_by_key(&node, |&(node, _)| node).expect("a node of the level")].1
    }

    /// How many paths there are, at most 2^64 - 1; parallel cables make paths of their own.
    pub fn count(&self) -> u64 {
        self.levels[0][0].1
    }

    /// Nodes at so many links from the beginning, ascending.
    pub fn level(&self, links: usize) -> impl ExactSizeIterator<Item = NodeId> {
        self.levels[links].iter().map(|&(node, _)| node)
    }

    /// Links of each path.
    pub fn links(&self) -> usize {
        self.levels.len() - 1
    }

    /// Appends the links of the path of that number, counted from 0 in the order of their links.
    pub fn path(&self, number: u64, path: &mut Vec<LinkId>) {
        let (mut at, mut left) = (self.levels[0][0].0, number);
        for level in 1..self.levels.len() {
            for &link in self.routes.next_hops(at, self.to) {
                let end = self.ends[link.index()];
                let ways = self.ways(level, end);
                if left < ways {
                    path.push(link);
                    at = end;
                    break;
                }
                left -= ways;
            }
        }
    }
}
