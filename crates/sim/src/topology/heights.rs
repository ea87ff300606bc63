//! Networks whose paths go up and then down, such as fat-trees and leaf-spines: for schemes that choose on the way up.

use std::collections::VecDeque;

use super::Fabric;
use crate::ids::NodeId;

/// Why the paths of a network do not go up and then down; none if they do.
///
/// A node's height is its number of links to the nearest host. Each cable leads up or down, and no path between hosts leads
/// through another host.
pub fn flat(fabric: &Fabric) -> Option<String> {
    let hosts: Vec<NodeId> = (0..fabric.hosts).map(NodeId).collect();
    let heights = distances(fabric, &hosts, true);
    let name = |node: NodeId| &fabric.nodes[node.index()].name;
    let level = |link: &&super::Link| heights[link.from.index()] == heights[link.to.index()];
    if let Some(link) = fabric.links.iter().find(level) {
        return Some(format!(
            "\"{}\" and \"{}\" are of one height and joined",
            name(link.from),
            name(link.to)
        ));
    }
    let reached = distances(fabric, &hosts[..1], false);
    let beyond = reached.iter().position(|&distance| distance == u32::MAX)?;
    let (from, to) = (name(hosts[0]), name(NodeId(beyond as u32)));
    Some(format!("the way from \"{from}\" to \"{to}\" leads through other hosts"))
}

/// Links from the nearest of some hosts to each node; `relay` is whether other hosts forward packets.
fn distances(fabric: &Fabric, from: &[NodeId], relay: bool) -> Vec<u32> {
    let mut neighbours = vec![Vec::new(); fabric.nodes.len()];
    fabric.links.iter().for_each(|link| neighbours[link.from.index()].push(link.to));
    let mut distance = vec![u32::MAX; fabric.nodes.len()];
    from.iter().for_each(|node| distance[node.index()] = 0);
    let mut open: VecDeque<NodeId> = from.iter().copied().collect();
    while let Some(node) = open.pop_front() {
        if !relay && fabric.is_host(node) && !from.contains(&node) {
            continue;
        }
        for end in &neighbours[node.index()] {
            if distance[end.index()] == u32::MAX {
                distance[end.index()] = distance[node.index()] + 1;
                open.push_back(*end);
            }
        }
    }
    distance
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Generator;
    use crate::topology::bcube::BCube;
    use crate::topology::dumbbell::Dumbbell;
    use crate::topology::fat_tree::FatTree;
    use crate::topology::leaf_spine::LeafSpine;

    #[test]
    fn trees_have_heights_and_others_say_why_not() {
        assert_eq!(flat(&FatTree::default().build()), None);
        assert_eq!(flat(&FatTree { levels: 4, ..FatTree::default() }.build()), None);
        assert_eq!(flat(&LeafSpine::default().build()), None);
        let why = flat(&BCube::default().build()).expect("servers relay");
        assert!(why.contains("leads through other hosts"), "{why}");
        let why = flat(&Dumbbell::default().build()).expect("two switches of one height");
        assert!(why.ends_with("are of one height and joined"), "{why}");
    }
}
