//! A network in parts for a run on several threads: which part each node belongs to.
//!
//! A host stays with its switch. Where taking away the switches that are farthest from hosts leaves pods that hang
//! together no more, pods stay whole; else each switch with hosts goes by itself, and each host without a switch. Parts
//! get whole pods, in the order of their numbers, with about as many hosts each; every other switch joins the part that
//! most of its cables lead to.

use super::Fabric;
use crate::ids::NodeId;

/// The part of each node, from 0 to at most `count - 1`; fewer parts where the network has no more pieces.
pub fn parts(fabric: &Fabric, count: u32) -> Vec<u32> {
    let neighbours = neighbours(fabric);
    let piece = pieces(fabric, &neighbours, count);
    let pieces = piece.iter().flatten().max().map_or(0, |last| last + 1);
    let mut hosts = vec![0u64; pieces];
    for piece in piece[..fabric.hosts as usize].iter().flatten() {
        hosts[*piece] += 1;
    }
    // A piece goes where its middle host falls if all hosts stand in a row.
    let (all, count) = (u64::from(fabric.hosts).max(1), u64::from(count.max(1)));
    let mut before = 0;
    let part_of_piece: Vec<u32> = hosts
        .iter()
        .map(|own| {
            let middle = 2 * before + own;
            before += own;
            (middle * count / (2 * all)).min(count - 1) as u32
        })
        .collect();
    let mut part: Vec<Option<u32>> =
        piece.iter().map(|piece| piece.map(|piece| part_of_piece[piece])).collect();
    // From the pods outwards.
    let mut cables = vec![0usize; count as usize];
    while part.contains(&None) {
        let before = part.clone();
        for node in (0..part.len()).filter(|&node| before[node].is_none()) {
            let mut links = vec![0usize; count as usize];
            neighbours[node]
                .iter()
                .filter_map(|&other| before[other])
                .for_each(|part| links[part as usize] += 1);
            if links.iter().any(|&links| links > 0) {
                let most =
                    |&part: &usize| (links[part], std::cmp::Reverse(cables[part]), std::cmp::Reverse(part));
                let best = (0..links.len()).max_by_key(most).expect("there is a part");
                cables[best] += neighbours[node].len();
                part[node] = Some(best as u32);
            }
        }
        if part == before {
            // Nothing leads there.
            part.iter_mut().for_each(|part| *part = part.or(Some(0)));
        }
    }
    renumbered(part.into_iter().flatten())
}

/// The same parts without the numbers that no node has.
fn renumbered(parts: impl Iterator<Item = u32>) -> Vec<u32> {
    let parts: Vec<u32> = parts.collect();
    let mut used: Vec<u32> = parts.clone();
    used.sort_unstable();
    used.dedup();
    parts.into_iter().map(|part| used.partition_point(|&other| other < part) as u32).collect()
}

fn neighbours(fabric: &Fabric) -> Vec<Vec<usize>> {
    let mut neighbours = vec![Vec::new(); fabric.nodes.len()];
    for link in &fabric.links {
        neighbours[link.from.index()].push(link.to.index());
    }
    neighbours
}

/// The pod of each node, by the first of its nodes; none for nodes that connect pods.
fn pieces(fabric: &Fabric, neighbours: &[Vec<usize>], count: u32) -> Vec<Option<usize>> {
    let tier = tiers(fabric, neighbours);
    let highest = tier.iter().copied().max().unwrap_or(0);
    for top in (2..=highest).rev() {
        let pieces = connected(neighbours, |node| tier[node] < top);
        if pieces.iter().flatten().max().is_some_and(|&last| last + 1 >= count as usize) {
            return pieces;
        }
    }
    // A switch with its hosts; a host without a switch.
    let mut pieces = vec![None; neighbours.len()];
    let mut known = 0;
    for host in 0..fabric.hosts as usize {
        let switch = neighbours[host].iter().copied().find(|&node| !fabric.is_host(NodeId(node as u32)));
        let piece = *pieces[switch.unwrap_or(host)].get_or_insert_with(|| {
            known += 1;
            known - 1
        });
        pieces[host] = Some(piece);
    }
    pieces
}

/// Links to the nearest host.
fn tiers(fabric: &Fabric, neighbours: &[Vec<usize>]) -> Vec<usize> {
    let mut tier = vec![usize::MAX; neighbours.len()];
    let mut now: Vec<usize> =
        (0..neighbours.len()).filter(|&node| fabric.is_host(NodeId(node as u32))).collect();
    let mut distance = 0;
    while !now.is_empty() {
        now.iter().for_each(|&node| tier[node] = distance);
        distance += 1;
        let mut next: Vec<usize> = now.iter().flat_map(|&node| neighbours[node].iter().copied()).collect();
        next.retain(|&node| tier[node] == usize::MAX);
        next.sort_unstable();
        next.dedup();
        now = next;
    }
    tier
}

/// The connected components of the kept nodes, numbered by their first nodes.
fn connected(neighbours: &[Vec<usize>], kept: impl Fn(usize) -> bool) -> Vec<Option<usize>> {
    let mut pieces = vec![None; neighbours.len()];
    let mut known = 0;
    for first in (0..neighbours.len()).filter(|&node| kept(node)) {
        if pieces[first].is_some() {
            continue;
        }
        let mut open = vec![first];
        while let Some(node) = open.pop() {
            if pieces[node].is_none() {
                pieces[node] = Some(known);
                open.extend(neighbours[node].iter().copied().filter(|&other| kept(other)));
            }
        }
        known += 1;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Generator;
    use crate::topology::camcube::CamCube;
    use crate::topology::dumbbell::Dumbbell;
    use crate::topology::fat_tree::FatTree;
    use crate::topology::single_switch::SingleSwitch;

    fn fat_tree(k: u32) -> Fabric {
        FatTree { k, ..FatTree::default() }.build()
    }

    /// Pods stay whole, parts have as many hosts each, and only cables to the core are cut.
    #[test]
    fn a_fat_tree_is_parted_by_pods() {
        let fabric = fat_tree(8);
        for count in [2, 4, 8] {
            let part = parts(&fabric, count);
            for own in 0..count {
                let hosts = part[..fabric.hosts as usize].iter().filter(|&&part| part == own).count();
                assert_eq!(hosts as u32, fabric.hosts / count);
            }
            for link in &fabric.links {
                if part[link.from.index()] != part[link.to.index()] {
                    let tiers = [link.from, link.to].map(|node| fabric.nodes[node.index()].tier.as_ref());
                    assert!(tiers.contains(&"core"), "{tiers:?}");
                }
            }
            let cores = (0..fabric.nodes.len()).filter(|&node| fabric.nodes[node].tier == "core");
            let mut own = vec![0; count as usize];
            cores.for_each(|node| own[part[node] as usize] += 1);
            assert_eq!(own, vec![16 / count; count as usize]);
        }
    }

    /// Three parts of eight pods: two, three and three.
    #[test]
    fn parts_differ_by_a_pod_at_most() {
        let fabric = fat_tree(8);
        let part = parts(&fabric, 3);
        let mut hosts = [0, 0, 0];
        part[..128].iter().for_each(|&part| hosts[part as usize] += 1);
        hosts.sort_unstable();
        assert_eq!(hosts, [32, 48, 48]);
    }

    /// 27 hosts without a switch: three slices of nine, each cut from both others.
    #[test]
    fn a_network_of_hosts_alone_is_parted_by_hosts() {
        let fabric = CamCube { x: 3, y: 3, z: 3, ..CamCube::default() }.build();
        let part = parts(&fabric, 3);
        let cut = fabric.links.iter().filter(|link| part[link.from.index()] != part[link.to.index()]);
        assert_eq!(cut.count(), 2 * 27);
        assert!((0..3).all(|own| part.iter().filter(|&&part| part == own).count() == 9));
    }

    #[test]
    fn a_switch_keeps_its_hosts() {
        let fabric = Dumbbell::default().build();
        let part = parts(&fabric, 4);
        assert_eq!(part.iter().max(), Some(&1), "two switches, two parts");
        for link in fabric.links.iter().filter(|link| fabric.is_host(link.from)) {
            assert_eq!(part[link.from.index()], part[link.to.index()]);
        }
        let whole = SingleSwitch::default().build();
        assert!(parts(&whole, 2).iter().all(|&part| part == 0));
    }
}
