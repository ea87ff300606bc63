//! Checks of the synchronous controller's decisions, slot by slot; they share no code with it.

use std::collections::BTreeMap;

use crate::ids::{LinkId, NodeId};
use crate::routing::Routes;
use crate::topology::{Fabric, Link};
use crate::units::Rate;

/// Whether no host sends or receives more than `units` packets, and each pair that still waits has a host that is
/// busy: a matching, and a maximal one.
pub fn matching(
    matched: &[(NodeId, NodeId)],
    mut waiting: impl Iterator<Item = (NodeId, NodeId)>,
    units: u8,
) -> Result<(), String> {
    let (mut sent, mut received) = (BTreeMap::new(), BTreeMap::new());
    for &(source, destination) in matched {
        for (counts, host, does) in [(&mut sent, source, "sends"), (&mut received, destination, "receives")] {
            let count = counts.entry(host).or_insert(0);
            *count += 1;
            if *count > units {
                return Err(format!("host {host} {does} {count} packets in a slot"));
            }
        }
    }
    let idle = |counts: &BTreeMap<NodeId, u8>, host| counts.get(&host).is_none_or(|&count| count < units);
    match waiting.find(|&(source, destination)| idle(&sent, source) && idle(&received, destination)) {
        None => Ok(()),
        Some((source, destination)) => Err(format!("host {source} could send to host {destination}")),
    }
}

/// Whether the labels lead each packet to its destination, and no link carries more packets of the slot than it is
/// times as fast as the hosts' links.
pub fn paths(
    fabric: &Fabric,
    routes: &Routes,
    host_rate: Rate,
    matched: &[(NodeId, NodeId)],
    labels: &[u32],
) -> Result<(), String> {
    if matched.len() != labels.len() {
        return Err(format!("{} packets have {} paths", matched.len(), labels.len()));
    }
    let mut carried: BTreeMap<LinkId, u64> = BTreeMap::new();
    for (&(source, destination), &label) in matched.iter().zip(labels) {
        for link in walk(fabric, routes, source, destination, label)? {
            let count = carried.entry(link).or_insert(0);
            *count += 1;
            let Link { from, to, rate, .. } = &fabric.links[link.index()];
            if *count * host_rate.0 > rate.0 {
                let [from, to] = [from, to].map(|node| &fabric.nodes[node.index()].name);
                return Err(format!("the link from {from} to {to} has {count} packets of a slot"));
            }
        }
    }
    Ok(())
}

/// The links of a packet with that label: the digit for the n-th node behind the source is the n-th of its four bytes,
/// and behind these 0.
fn walk(
    fabric: &Fabric,
    routes: &Routes,
    source: NodeId,
    destination: NodeId,
    label: u32,
) -> Result<Vec<LinkId>, String> {
    let mut links = vec![routes.next_hops(source, destination)[0]];
    loop {
        let at = fabric.links[links[links.len() - 1].index()].to;
        if at == destination {
            return Ok(links);
        }
        let digit = label.checked_shr(8 * (links.len() as u32 - 1)).unwrap_or(0) & 0xFF;
        let hops = routes.next_hops(at, destination);
        let link = hops.get(digit as usize).ok_or_else(|| {
            let name = &fabric.nodes[at.index()].name;
            format!("{name} has {} ways to host {destination}, and none is number {digit}", hops.len())
        })?;
        if links.len() > 4 && hops.len() > 1 {
            return Err("a label chooses for four switches".into());
        }
        links.push(*link);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Generator;
    use crate::topology::leaf_spine::LeafSpine;

    fn pairs(pairs: &[(u32, u32)]) -> Vec<(NodeId, NodeId)> {
        pairs.iter().map(|&(source, destination)| (NodeId(source), NodeId(destination))).collect()
    }

    #[test]
    fn what_is_no_maximal_matching_is_found() {
        let check = |matched: &[_], waiting: &[_], units| {
            matching(&pairs(matched), pairs(waiting).into_iter(), units)
        };
        assert_eq!(check(&[(0, 1), (1, 2)], &[(0, 2), (3, 1)], 1), Ok(()));
        assert_eq!(check(&[(0, 1), (0, 2)], &[], 1), Err("host 0 sends 2 packets in a slot".into()));
        assert_eq!(check(&[(0, 1), (2, 1)], &[], 1), Err("host 1 receives 2 packets in a slot".into()));
        assert_eq!(check(&[(0, 1), (0, 2)], &[(0, 3)], 2), Ok(()));
        assert_eq!(check(&[(0, 1)], &[(0, 2), (2, 0)], 1), Err("host 2 could send to host 0".into()));
    }

    #[test]
    fn crowded_links_and_labels_without_meaning_are_found() {
        let tree = LeafSpine { leaves: 2, spines: 2, hosts: 2, ..LeafSpine::default() };
        let fabric = tree.build();
        let routes = Routes::build(&fabric).expect("a leaf-spine is connected");
        let matched = pairs(&[(0, 2), (1, 3)]);
        let check = |labels: &[u32]| paths(&fabric, &routes, tree.rate, &matched, labels);
        assert_eq!(check(&[0, 1]), Ok(()));
        assert_eq!(check(&[1, 0]), Ok(()));
        assert_eq!(check(&[0, 0]), Err("the link from leaf 0 to spine 0 has 2 packets of a slot".into()));
        assert_eq!(check(&[2, 0]), Err("leaf 0 has 2 ways to host 2, and none is number 2".into()));
        assert_eq!(check(&[0]), Err("2 packets have 1 paths".into()));
    }
}
