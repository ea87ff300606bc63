//! Distances between hosts and numbers of shortest paths: for users who look at a network.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Ports, Search};
use crate::ids::NodeId;
use crate::topology::Fabric;

/// Most sources that are looked at: beyond, evenly spaced ones stand for all.
const SOURCES_MAX: u32 = 256;

/// The shortest paths between hosts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Survey {
    /// Hosts from which paths were counted, to every other host.
    pub sources: u32,
    /// Whether these are fewer than all hosts.
    pub sampled: bool,
    /// By number of links on the way.
    pub distances: Vec<Distance>,
}

/// Pairs of hosts that are equally far apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Distance {
    /// Links on a shortest path.
    pub hops: u32,
    pub pairs: u64,
    /// Fewest shortest paths of a pair; parallel cables count as paths of their own.
    pub paths_min: u128,
    /// Most.
    pub paths_max: u128,
}

/// Counts the shortest paths between hosts; in time linear in the network for each source.
pub fn survey(fabric: &Fabric) -> Survey {
    let ports = Ports::all(fabric);
    let mut search = Search::new(fabric.nodes.len());
    let sources = fabric.hosts.min(SOURCES_MAX);
    let mut distances: BTreeMap<u32, Distance> = BTreeMap::new();
    for number in 0..sources {
        let from = NodeId((u64::from(number) * u64::from(fabric.hosts) / u64::from(sources)) as u32);
        search.run(&ports, from);
        // In the order of the search every node comes after those before it on its paths.
        let mut paths = vec![0u128; fabric.nodes.len()];
        paths[from.index()] = 1;
        for &node in &search.queue {
            for &to in ports.ends(node) {
                if search.distance[to.index()] == search.distance[node.index()] + 1 {
                    paths[to.index()] = paths[to.index()].saturating_add(paths[node.index()]);
                }
            }
        }
        for to in (0..fabric.hosts).map(NodeId).filter(|&to| to != from) {
            let (hops, count) = (search.distance[to.index()], paths[to.index()]);
            let first = Distance { hops, pairs: 0, paths_min: count, paths_max: count };
            let distance = distances.entry(hops).or_insert(first);
            distance.pairs += 1;
            distance.paths_min = distance.paths_min.min(count);
            distance.paths_max = distance.paths_max.max(count);
        }
    }
    Survey { sources, sampled: sources < fabric.hosts, distances: distances.into_values().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Generator;
    use crate::topology::fat_tree::FatTree;

    /// Under one edge switch, in one pod, between pods: 1, k/2 and k^2/4 paths.
    #[test]
    fn a_fat_tree() {
        let distances = |hosts: u64, k: u64| {
            let half = k / 2;
            let pairs = [half - 1, half * half - half, hosts - half * half].map(|others| others * hosts);
            let paths = [1, half, half * half];
            let distance = |i: usize| Distance {
                hops: 2 * i as u32 + 2,
                pairs: pairs[i],
                paths_min: paths[i].into(),
                paths_max: paths[i].into(),
            };
            [0, 1, 2].map(distance).to_vec()
        };
        for k in [4u32, 6, 8] {
            let fabric = FatTree { k, ..FatTree::default() }.build();
            let survey = survey(&fabric);
            assert_eq!((survey.sources, survey.sampled), (fabric.hosts, false));
            assert_eq!(survey.distances, distances(fabric.hosts.into(), k.into()));
        }
        let large = survey(&FatTree { k: 16, ..FatTree::default() }.build());
        assert_eq!((large.sources, large.sampled), (256, true));
        assert_eq!(large.distances.iter().map(|distance| distance.pairs).sum::<u64>(), 256 * 1023);
    }
}
