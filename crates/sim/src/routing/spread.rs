//! The largest difference of delays of two shortest paths between the same hosts.

use std::collections::BTreeMap;

use super::Routes;
use crate::ids::NodeId;
use crate::topology::Fabric;
use crate::units::Time;

/// Most hosts between which paths are looked at: beyond, evenly spaced ones stand for all.
const HOSTS_MOST: u32 = 24;

/// The largest difference of the times that a packet of so many bytes takes on two shortest paths, by number of links, between
/// the same hosts of an empty network.
pub fn spread(fabric: &Fabric, routes: &Routes, bytes: u64) -> Time {
    let sampled = fabric.hosts.min(HOSTS_MOST);
    let host =
        |number: u32| NodeId((u64::from(number) * u64::from(fabric.hosts) / u64::from(sampled)) as u32);
    let hosts = || (0..sampled).map(host);
    let pairs = hosts().flat_map(|from| hosts().filter(move |to| *to != from).map(move |to| (from, to)));
    pairs.map(|(from, to)| between(fabric, routes, (from, to), bytes)).max().unwrap_or(Time::ZERO)
}

/// The same of two hosts: the least and the largest time to each node on the way, level by level.
fn between(fabric: &Fabric, routes: &Routes, (from, to): (NodeId, NodeId), bytes: u64) -> Time {
    let mut level = BTreeMap::from([(from, (Time::ZERO, Time::ZERO))]);
    loop {
        if let Some((least, most)) = level.get(&to) {
            return most.saturating_sub(*least);
        }
        let mut next: BTreeMap<NodeId, (Time, Time)> = BTreeMap::new();
        for (&node, &(least, most)) in &level {
            for link in routes.next_hops(node, to).iter().map(|link| &fabric.links[link.index()]) {
                let takes = link.rate.transmission(bytes).saturating_add(link.delay);
                let (least, most) = (least.saturating_add(takes), most.saturating_add(takes));
                let found = next.entry(link.to).or_insert((least, most));
                *found = (found.0.min(least), found.1.max(most));
            }
        }
        level = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Generator;
    use crate::topology::fat_tree::FatTree;
    use crate::topology::leaf_spine::LeafSpine;
    use crate::units::Rate;

    /// All paths of a fat-tree are alike. Of two spines, the cables of one are a tenth as fast and 3 us longer: a packet of
    /// 1500 B takes 12 in place of 1.2 us on each of two links, and 6 us more altogether.
    #[test]
    fn paths_that_differ() {
        let fabric = FatTree { k: 4, ..FatTree::default() }.build();
        let routes = Routes::build(&fabric).expect("a connected network");
        assert_eq!(spread(&fabric, &routes, 1500), Time::ZERO);
        let leaf_spine =
            LeafSpine { leaves: 2, spines: 2, hosts: 2, rate: Rate(10_000_000_000), ..LeafSpine::default() };
        let mut fabric = leaf_spine.build();
        let slow = |node: NodeId| fabric.nodes[node.index()].name == "spine 1";
        let slow: Vec<bool> = fabric.links.iter().map(|link| slow(link.from) || slow(link.to)).collect();
        for (link, _) in fabric.links.iter_mut().zip(slow).filter(|(_, slow)| *slow) {
            (link.rate, link.delay) = (Rate(1_000_000_000), link.delay.saturating_add(Time::from_us(3)));
        }
        let routes = Routes::build(&fabric).expect("a connected network");
        assert_eq!(spread(&fabric, &routes, 1500), Time::from_ns(2 * 10_800 + 6_000));
    }
}
