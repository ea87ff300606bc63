//! Granted paths: a controller assigns the links by which packets go.
//!
//! Source: section II-A of Sviridov, Bianco and Giaccone, "To sync or not to sync", Globecom 2018: the
//! controller computes the path of each packet of a slot. The packet's label is the path: its first byte is
//! the number of the next hop at the first switch, its second byte that at the second, and so on. Flows
//! without an assignment have labels of their own, which are drawn: a random path for each flow, as by a
//! hash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use crate::engine::contract::path::{Hop, Stateless};
use crate::ids::{LinkId, NodeId};
use crate::routing::Routes;
use crate::topology::Fabric;

/// Packets take the path that the controller assigned to their flow; flows without an assignment take one by
/// a hash of the flow. Only with a controller that chooses paths.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Granted {}

impl Settings for Granted {
    fn follows_controller(&self) -> bool {
        true
    }

    fn among_shortest(&self) -> bool {
        false
    }
}

/// Nothing to keep: packets carry their paths.
#[derive(Clone, Debug)]
pub struct Model;

impl Model {
    pub(super) fn new(_config: &Granted, _fabric: &Fabric, _seed: u64, _replica: u64) -> Model {
        Model
    }
}

impl Stateless for Model {
    #[inline(always)]
    fn pick(&self, hop: Hop) -> u32 {
        // A host's own port is no choice of the controller: packets have crossed no link there.
        let place = u32::from(hop.hops.saturating_sub(1)).min(3);
        (hop.label >> (8 * place) & 0xff) % hop.count()
    }
}

/// The links that a packet with that label takes from a host to another.
pub fn links(label: u32, from: NodeId, to: NodeId, fabric: &Fabric, routes: &Routes) -> Vec<LinkId> {
    let (mut at, mut path) = (from, Vec::new());
    while at != to {
        let next = routes.next_hops(at, to);
        let hop = Hop { at, to, label, hops: path.len() as u8, ticket: 0, next_hops: next };
        let link = if let [only] = next { *only } else { next[Model.pick(hop) as usize] };
        path.push(link);
        at = fabric.links[link.index()].to;
    }
    path
}

/// A label for each shortest path from a host to another, in the order of the choices at its switches. Hosts have one port
/// each; from the fourth switch with a choice on, labels have room for one choice.
pub fn labels(from: NodeId, to: NodeId, fabric: &Fabric, routes: &Routes) -> Vec<u32> {
    let mut ways = vec![(from, 0)];
    let mut hops = 0u32;
    while ways[0].0 != to {
        let place = hops.saturating_sub(1);
        let onward = |(at, label): (NodeId, u32)| {
            let next = routes.next_hops(at, to);
            let open = if place < 4 { next.len().min(256) } else { 1 };
            let way = move |number: usize| {
                let own = Hop { at, to, label, hops: hops as u8, ticket: 0, next_hops: next };
                let label = if open > 1 { label | (number as u32) << (8 * place) } else { label };
                let taken = if open > 1 { number } else { Model.pick(own) as usize };
                (fabric.links[next[taken].index()].to, label)
            };
            (0..open).map(way)
        };
        ways = ways.into_iter().flat_map(onward).collect();
        hops += 1;
    }
    ways.into_iter().map(|(_, label)| label).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::topology::Topology;
    use crate::topology::fat_tree::FatTree;
    use crate::topology::leaf_spine::LeafSpine;

    #[test]
    fn each_switch_reads_its_byte() {
        let (at, to) = (NodeId(9), NodeId(1));
        let next_hops = &[LinkId(0); 8];
        let hop = |hops| Hop { at, to, label: 0x04_03_02_01, hops, ticket: 0, next_hops };
        let picks: Vec<u32> = (1..=4).map(|hops| Model.pick(hop(hops))).collect();
        assert_eq!(picks, [1, 2, 3, 4]);
    }

    /// Each label leads by a path of its own, and all shortest paths have one.
    #[test]
    fn labels_tell_all_paths_apart() {
        let fat_tree = Topology::from(FatTree { k: 4, ..FatTree::default() }).build();
        let leaf_spine =
            Topology::from(LeafSpine { leaves: 2, spines: 3, hosts: 2, ..LeafSpine::default() }).build();
        for (fabric, to, expected) in
            [(&fat_tree, 1, 1), (&fat_tree, 2, 2), (&fat_tree, 15, 4), (&leaf_spine, 3, 3)]
        {
            let routes = Routes::build(fabric).expect("a connected network");
            let (from, to) = (NodeId(0), NodeId(to));
            let labels = labels(from, to, fabric, &routes);
            let paths: BTreeSet<Vec<LinkId>> =
                labels.iter().map(|&label| links(label, from, to, fabric, &routes)).collect();
            assert_eq!((labels.len(), paths.len()), (expected, expected));
            assert_eq!(routes.path_count(fabric, from, to), expected as u128);
        }
    }
}
