//! The generated networks besides the fat-tree against the arithmetic and the link rules of their papers.

use crate::graph::{Oracle, check_parts, hosts, nodes, tier};
use flowyard_sim::ids::NodeId;
use flowyard_sim::routing::{self, Routes};
use flowyard_sim::topology::bcube::BCube;
use flowyard_sim::topology::camcube::CamCube;
use flowyard_sim::topology::dcell::DCell;
use flowyard_sim::topology::explicit::Explicit;
use flowyard_sim::topology::fat_tree::FatTree;
use flowyard_sim::topology::leaf_spine::LeafSpine;
use flowyard_sim::topology::three_tier::ThreeTier;
use flowyard_sim::topology::vl2::Vl2;
use flowyard_sim::topology::{Cable, Fabric, Generator};
use flowyard_sim::units::{Rate, Time};
use serde::Deserialize;

const GBPS: u64 = 1_000_000_000;

fn cable(gbps: u64) -> Cable {
    Cable { rate: Some(Rate(gbps * GBPS)), delay: None }
}

/// The nodes at the other ends of a node's cables.
fn neighbours(fabric: &Fabric, node: NodeId) -> Vec<NodeId> {
    fabric.links.iter().filter(|link| link.from == node).map(|link| link.to).collect()
}

/// How many cables nodes of a tier have to nodes of another one; all must have as many.
fn cables(fabric: &Fabric, from: &str, to: &str) -> usize {
    let count = |node: NodeId| {
        let ends = neighbours(fabric, node).into_iter();
        ends.filter(|end| fabric.nodes[end.index()].tier == to).count()
    };
    let counts: Vec<usize> = tier(fabric, from).into_iter().map(count).collect();
    assert!(counts.windows(2).all(|pair| pair[0] == pair[1]), "{from} to {to}: {counts:?}");
    counts[0]
}

/// The largest distance between hosts if a switch between two hosts does not count: the papers' server hops.
fn server_diameter(fabric: &Fabric) -> u32 {
    let out: Vec<_> = nodes(fabric).map(|node| neighbours(fabric, node)).collect();
    let mut farthest = 0;
    for from in hosts(fabric) {
        let mut hops = vec![u32::MAX; fabric.nodes.len()];
        hops[from.index()] = 0;
        let mut level = vec![from];
        for distance in 1.. {
            let mut next = Vec::new();
            for node in &level {
                let beyond =
                    |&end: &NodeId| if fabric.is_host(end) { vec![end] } else { out[end.index()].clone() };
                for end in out[node.index()].iter().flat_map(beyond) {
                    if hops[end.index()] == u32::MAX {
                        hops[end.index()] = distance;
                        next.push(end);
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            farthest = farthest.max(distance);
            level = next;
        }
    }
    farthest
}

/// SYN's fabric: 4 leaves with 30 hosts at 1 Gbps each, 3 spines at 10 Gbps, full bisection bandwidth.
fn of_the_paper() -> LeafSpine {
    LeafSpine { leaves: 4, spines: 3, hosts: 30, host: cable(1), spine: cable(10), ..LeafSpine::default() }
}

#[test]
fn leaf_spine() {
    for (leaves, spines, per_leaf, parallel) in [(4, 3, 30, 1), (2, 5, 3, 1), (3, 2, 4, 3), (1, 1, 2, 1)] {
        let topology = LeafSpine { leaves, spines, hosts: per_leaf, parallel, ..of_the_paper() };
        let fabric = topology.build();
        assert_eq!(fabric.hosts, leaves * per_leaf);
        assert_eq!(tier(&fabric, "leaf").len() as u32, leaves);
        assert_eq!(tier(&fabric, "spine").len() as u32, spines);
        assert_eq!(cables(&fabric, "host", "leaf"), 1);
        assert_eq!(cables(&fabric, "leaf", "host") as u32, per_leaf);
        assert_eq!(cables(&fabric, "leaf", "spine") as u32, spines * parallel);
        assert_eq!(cables(&fabric, "spine", "leaf") as u32, leaves * parallel);
        assert_eq!(fabric.links.len() as u32, 2 * leaves * (per_leaf + spines * parallel));
        let oracle = Oracle::of(&fabric);
        for to in hosts(&fabric).skip(1).map(NodeId::index) {
            let apart = to as u32 >= per_leaf;
            assert_eq!(oracle.hops[0][to], if apart { 4 } else { 2 });
            assert_eq!(oracle.ways[0][to], if apart { u64::from(spines * parallel * parallel) } else { 1 });
        }
    }
    assert_eq!(of_the_paper().oversubscription(), Some(1.0));
    assert_eq!(of_the_paper().bisection().unwrap().bps, 60 * u128::from(GBPS));
    let narrow = LeafSpine { spines: 1, ..of_the_paper() };
    assert_eq!(narrow.oversubscription(), Some(3.0));
    assert_eq!(narrow.bisection().unwrap().bps, 20 * u128::from(GBPS));
}

/// SYN-P8: links f times as fast are f links, with f times the switches of their layer; capacities stay.
#[test]
fn equal_rate_equivalent() {
    let equal = LeafSpine { equal_rate: true, ..of_the_paper() };
    assert_eq!(equal.problems(), []);
    let (before, after) = (of_the_paper().build(), equal.build());
    assert_eq!(tier(&after, "spine").len(), 30);
    assert_eq!(after.hosts, before.hosts);
    assert!(after.links.iter().all(|link| link.rate == Rate(GBPS)));
    let oracle = Oracle::of(&after);
    assert_eq!(oracle.ways[0][30], 30);
    // Between each leaf and all spines: 3 cables at 10 Gbps, and 30 at 1 Gbps.
    for (fabric, count) in [(&before, 3), (&after, 30)] {
        for leaf in tier(fabric, "leaf") {
            let up = fabric.links.iter().filter(|link| link.from == leaf && !fabric.is_host(link.to));
            let rates: Vec<u64> = up.map(|link| link.rate.0).collect();
            assert_eq!((rates.len(), rates.iter().sum::<u64>()), (count, 30 * GBPS));
        }
    }
    assert_eq!(equal.bisection().unwrap().bps, of_the_paper().bisection().unwrap().bps);
    assert_eq!(equal.oversubscription(), of_the_paper().oversubscription());

    // Rates that are equal already change nothing; with parallel cables each copy has them.
    let same = LeafSpine { parallel: 2, rate: Rate(GBPS), ..LeafSpine::default() };
    assert_eq!(LeafSpine { equal_rate: true, ..same.clone() }.build(), same.build());
}

/// PEQ-F1.2.a: two uplinks from each access and each aggregation switch. MP-F1.3: one uplink is a tree.
#[test]
fn three_tier() {
    for (cores, aggregations, accesses, per_access, uplinks) in
        [(2, 4, 8, 4, 2), (2, 2, 2, 1, 2), (4, 8, 12, 3, 2), (3, 6, 7, 2, 3), (1, 3, 6, 2, 1)]
    {
        let topology =
            ThreeTier { cores, aggregations, accesses, hosts: per_access, uplinks, ..ThreeTier::default() };
        assert_eq!(topology.problems(), []);
        let fabric = topology.build();
        assert_eq!(fabric.hosts, accesses * per_access);
        let count = |name| tier(&fabric, name).len() as u32;
        assert_eq!([count("access"), count("aggregation"), count("core")], [accesses, aggregations, cores]);
        assert_eq!(cables(&fabric, "access", "host") as u32, per_access);
        assert_eq!(cables(&fabric, "access", "aggregation") as u32, uplinks);
        assert_eq!(cables(&fabric, "aggregation", "core") as u32, uplinks);
        for switch in [tier(&fabric, "access"), tier(&fabric, "aggregation")].concat() {
            let mut ends = neighbours(&fabric, switch);
            ends.sort_unstable();
            ends.dedup();
            assert_eq!(ends.len(), neighbours(&fabric, switch).len(), "no two cables to the same switch");
        }
        let oracle = Oracle::of(&fabric);
        let farthest = hosts(&fabric).map(|to| oracle.hops[0][to.index()]).max();
        assert_eq!(farthest, Some(if aggregations == uplinks { 4 } else { 6 }));
        if uplinks == 1 {
            assert_eq!(fabric.links.len(), 2 * (fabric.nodes.len() - 1), "a tree");
            assert!(hosts(&fabric).all(|to| oracle.ways[0][to.index()] == 1));
        }
    }
    let narrow = ThreeTier { host: cable(1), aggregation: cable(1), core: cable(1), ..ThreeTier::default() };
    // 32 hosts at 1 Gbps over 8 aggregation uplinks.
    assert_eq!(narrow.oversubscription(), Some(4.0));
    // Groups of 3, 2 and 2 access switches: in the first, 12 hosts share the one cable to the core.
    let uneven = ThreeTier { cores: 1, uplinks: 1, aggregations: 3, accesses: 7, ..ThreeTier::default() };
    assert_eq!(uneven.oversubscription(), Some(12.0));
}

/// Access switches are shared out among the groups of aggregation switches in order: halves to two pairs; 3, 2 and 2 of seven
/// to three.
#[test]
fn access_switches_have_their_groups_in_order() {
    let above = |topology: ThreeTier| -> Vec<Vec<usize>> {
        let fabric = topology.build();
        let aggregations = tier(&fabric, "aggregation");
        let place = |node| aggregations.iter().position(|&other| other == node);
        let groups = |access| neighbours(&fabric, access).into_iter().filter_map(place).collect();
        tier(&fabric, "access").into_iter().map(groups).collect()
    };
    let pairs = ThreeTier { aggregations: 4, accesses: 4, ..ThreeTier::default() };
    assert_eq!(above(pairs), [[0, 1], [0, 1], [2, 3], [2, 3]]);
    let uneven = ThreeTier { cores: 1, uplinks: 1, aggregations: 3, accesses: 7, ..ThreeTier::default() };
    assert_eq!(above(uneven), [[0], [0], [0], [1], [1], [2], [2]]);
}

/// An unknown name is compared with at most 50,000 names: with those of 30,000 hosts once, so that only the first of two mistakes
/// gets a suggestion.
#[test]
fn suggestions_are_limited_in_a_long_list() {
    let cable = |ends: [&str; 2]| serde_json::json!({ "ends": ends });
    let listed = serde_json::json!({
        "hosts": (0..30_000).map(|host| format!("host {host}")).collect::<Vec<_>>(),
        "cables": [cable(["hots 1", "host 2"]), cable(["hots 3", "host 4"])],
    });
    let explicit = Explicit::deserialize(&listed).expect("a network");
    let problems = explicit.problems();
    let hints: Vec<bool> = problems.iter().map(|problem| problem.message.contains("did you mean")).collect();
    assert_eq!(hints, [true, false], "{problems:?}");
}

/// PEQ-F1.4.a: D_A/2 intermediate, D_I aggregation, D_A D_I / 4 top-of-rack switches with 20 hosts each.
#[test]
fn vl2() {
    for (d_a, d_i) in [(2, 2), (4, 4), (4, 6), (6, 4), (8, 12)] {
        let vl2 = Vl2 { aggregation_ports: d_a, intermediate_ports: d_i, host: cable(1), ..Vl2::default() };
        let fabric = vl2.build();
        let count = |name| tier(&fabric, name).len() as u32;
        assert_eq!([count("intermediate"), count("aggregation")], [d_a / 2, d_i]);
        assert_eq!((count("top-of-rack"), fabric.hosts), (d_a * d_i / 4, 20 * d_a * d_i / 4));
        assert_eq!(cables(&fabric, "top-of-rack", "host"), 20);
        assert_eq!(cables(&fabric, "top-of-rack", "aggregation"), 2);
        assert_eq!(cables(&fabric, "aggregation", "top-of-rack") as u32, d_a / 2);
        assert_eq!(cables(&fabric, "aggregation", "intermediate") as u32, d_a / 2);
        assert_eq!(cables(&fabric, "intermediate", "aggregation") as u32, d_i);
        for switch in tier(&fabric, "aggregation") {
            let mut above = neighbours(&fabric, switch);
            above.retain(|end| fabric.nodes[end.index()].tier == "intermediate");
            above.dedup();
            assert_eq!(above, tier(&fabric, "intermediate"), "complete bipartite");
        }
        // Up over either of a pair, any intermediate switch, down over either of the other pair.
        let oracle = Oracle::of(&fabric);
        let last = fabric.hosts as usize - 1;
        let (hops, ways) = (oracle.hops[0][last], oracle.ways[0][last]);
        match d_i {
            2 if d_a == 2 => assert_eq!((hops, ways), (2, 1)),
            2 => assert_eq!((hops, ways), (4, 2)),
            _ => assert_eq!((hops, ways), (6, 2 * u64::from(d_a))),
        }
        // 20 hosts at 1 Gbps under two uplinks at 10 Gbps.
        assert_eq!(vl2.oversubscription(), Some(1.0));
    }
}

/// PEQ-F1.5.a: every server of the torus has degree 6 if its sides are 3 or more, and there are no switches.
#[test]
fn camcube() {
    for sides in [[3, 3, 3], [4, 3, 5], [2, 2, 2], [2, 3, 4], [6, 2, 2]] {
        let [x, y, z] = sides;
        let fabric = CamCube { x, y, z, ..CamCube::default() }.build();
        assert_eq!((fabric.hosts, fabric.nodes.len() as u32), (x * y * z, x * y * z));
        let degree: usize = sides.iter().map(|&side| if side == 2 { 1 } else { 2 }).sum();
        let place = |host: NodeId| [host.0 / (y * z), host.0 / z % y, host.0 % z];
        let oracle = Oracle::of(&fabric);
        for host in hosts(&fabric) {
            assert_eq!(neighbours(&fabric, host).len(), degree);
            for to in hosts(&fabric) {
                // Round each ring by the shorter way; the steps in any order, and both ways if they are as long.
                let (mut hops, mut ways) = (0, 1);
                for ((a, b), side) in place(host).into_iter().zip(place(to)).zip(sides) {
                    let steps = a.abs_diff(b).min(side - a.abs_diff(b));
                    for step in 1..=u64::from(steps) {
                        hops += 1;
                        ways = ways * hops / step;
                    }
                    ways *= if 2 * steps == side && side > 2 { 2 } else { 1 };
                }
                assert_eq!(u64::from(oracle.hops[host.index()][to.index()]), hops);
                assert_eq!(oracle.ways[host.index()][to.index()], ways);
            }
        }
        assert_eq!(server_diameter(&fabric), sides.iter().map(|side| side / 2).sum::<u32>());
    }
}

/// PEQ-F1.6.a and the link rule of the DCell paper: hosts, ports, one cable between any two cells of a cell.
#[test]
fn dcell() {
    for (n, k, expected) in
        [(4, 0, 4), (2, 1, 6), (4, 1, 20), (5, 1, 30), (2, 2, 42), (3, 2, 156), (4, 2, 420)]
    {
        let fabric = DCell { n, k, ..DCell::default() }.build();
        assert_eq!((fabric.hosts, fabric.nodes.len() as u32), (expected, expected + expected / n));
        assert_eq!(fabric.links.len() as u32, 2 * expected + expected * k);
        for node in nodes(&fabric) {
            let ports = if fabric.is_host(node) { k + 1 } else { n };
            assert_eq!(neighbours(&fabric, node).len() as u32, ports);
        }
        // 2^(k+1) - 1 is the bound of the paper's DCellRouting (section 4.1), which shortest paths cannot exceed.
        assert!(server_diameter(&fabric) < 1 << (k + 1), "n = {n}, k = {k}");
        let mut size = n;
        for level in 1..=k {
            let larger = size * (size + 1);
            for cell in 0..expected / larger {
                for i in 0..=size {
                    for j in i + 1..=size {
                        let part =
                            |index: u32| cell * larger + index * size..cell * larger + (index + 1) * size;
                        let joins = fabric
                            .links
                            .iter()
                            .filter(|link| part(i).contains(&link.from.0) && part(j).contains(&link.to.0));
                        // [i, j - 1] and [j, i]: figure 3 of the paper.
                        let ends: Vec<_> = joins.map(|link| (link.from.0, link.to.0)).collect();
                        assert_eq!(ends, [(part(i).start + j - 1, part(j).start + i)], "level {level}");
                    }
                }
            }
            size = larger;
        }
    }
}

/// PEQ-F1.7.a, PEQ-F1.8.a: n^(k+1) servers of k + 1 ports, (k + 1) n^k switches of n; d! shortest paths between
/// servers whose addresses differ in d digits, of 2 d links; k + 1 server hops across.
#[test]
fn bcube() {
    for (n, k) in [(4u32, 0u32), (4, 1), (3, 2), (2, 3), (4, 2), (8, 1)] {
        let fabric = BCube { n, k, ..BCube::default() }.build();
        assert_eq!(fabric.hosts, n.pow(k + 1));
        assert_eq!(fabric.nodes.len() as u32, n.pow(k + 1) + (k + 1) * n.pow(k));
        assert_eq!(fabric.links.len() as u32, 2 * (k + 1) * n.pow(k + 1));
        for node in nodes(&fabric) {
            let ports = if fabric.is_host(node) { k + 1 } else { n };
            assert_eq!(neighbours(&fabric, node).len() as u32, ports);
        }
        let digit = |host: NodeId, level: u32| host.0 / n.pow(level) % n;
        for level in 0..=k {
            let switches = tier(&fabric, &format!("level {level}"));
            assert_eq!(switches.len() as u32, n.pow(k));
            for switch in switches {
                // All values of the level's digit, and the others the same.
                let ends = neighbours(&fabric, switch);
                let values: Vec<u32> = ends.iter().map(|&end| digit(end, level)).collect();
                assert_eq!(values, (0..n).collect::<Vec<_>>());
                let others = (0..=k).filter(|&other| other != level);
                assert!(
                    others
                        .into_iter()
                        .all(|other| ends.iter().all(|&end| digit(end, other) == digit(ends[0], other)))
                );
            }
        }
        let oracle = Oracle::of(&fabric);
        for to in hosts(&fabric) {
            let from = NodeId(fabric.hosts / 2);
            let differ = (0..=k).filter(|&level| digit(from, level) != digit(to, level)).count() as u64;
            assert_eq!(u64::from(oracle.hops[from.index()][to.index()]), 2 * differ);
            assert_eq!(oracle.ways[from.index()][to.index()], (1..=differ).product::<u64>());
        }
        assert_eq!(server_diameter(&fabric), k + 1);
    }
}

/// A small one of each kind, and the cells of its route table: a row for each switch, and for each host with
/// several ports; a column for each switch with hosts of one port, and for each host with several.
fn small() -> Vec<(Box<dyn Generator>, u64)> {
    vec![
        (Box::new(LeafSpine { parallel: 2, ..LeafSpine::default() }), (4 + 4) * 4),
        (Box::new(ThreeTier::default()), (8 + 4 + 2) * 8),
        (Box::new(Vl2 { hosts: 2, ..Vl2::default() }), (4 + 4 + 2) * 4),
        (Box::new(BCube { n: 3, ..BCube::default() }), (9 + 6) * 9),
        (Box::new(BCube { n: 5, k: 0, ..BCube::default() }), 1),
        (Box::new(DCell { n: 3, ..DCell::default() }), (12 + 4) * 12),
        (Box::new(CamCube { x: 4, y: 2, z: 3, ..CamCube::default() }), 24 * 24),
        (Box::new(CamCube { x: 2, y: 2, z: 2, ..CamCube::default() }), 8 * 8),
        (Box::new(FatTree { k: 4, levels: 4, ..FatTree::default() }), 56 * 16),
        (Box::new(FatTree { k: 4, levels: 2, oversubscription: 3, ..FatTree::default() }), 6 * 4),
    ]
}

#[test]
fn rules_of_a_fabric_and_its_routes() {
    for (topology, cells) in small() {
        assert_eq!(topology.problems(), []);
        let fabric = topology.build();
        assert_eq!(topology.counts(), fabric.counts());
        check_parts(&fabric);
        for link in &fabric.links {
            assert_ne!(link.from, link.to);
            assert_eq!((link.rate, link.delay), (Rate(10 * GBPS), Time::from_us(1)));
        }

        assert_eq!(routing::cells(&fabric), cells);
        let (routes, oracle) = (Routes::build(&fabric).unwrap(), Oracle::of(&fabric));
        for to in hosts(&fabric) {
            for at in nodes(&fabric).filter(|&at| at != to) {
                assert_eq!(routes.next_hops(at, to), oracle.next_hops(&fabric, at, to));
            }
        }
    }
}

/// Each tier's cables have what its table says, and the topology's where that says nothing.
#[test]
fn tiers_may_differ() {
    let (host, middle, top) = (cable(1), cable(2), Cable { rate: None, delay: Some(Time::from_us(9)) });
    let all: [(Fabric, &[&str]); 3] = [
        (LeafSpine { host, spine: top, ..LeafSpine::default() }.build(), &["host", "leaf", "spine"]),
        (
            ThreeTier { host, aggregation: middle, core: top, ..ThreeTier::default() }.build(),
            &["host", "access", "aggregation", "core"],
        ),
        (
            Vl2 { host, aggregation: middle, intermediate: top, ..Vl2::default() }.build(),
            &["host", "top-of-rack", "aggregation", "intermediate"],
        ),
    ];
    for (fabric, tiers) in all {
        let height =
            |node: NodeId| tiers.iter().position(|tier| fabric.nodes[node.index()].tier == *tier).unwrap();
        for link in &fabric.links {
            let expected = match height(link.from).min(height(link.to)) {
                0 => (Rate(GBPS), Time::from_us(1)),
                lower if lower + 2 == tiers.len() => (Rate(10 * GBPS), Time::from_us(9)),
                _ => (Rate(2 * GBPS), Time::from_us(1)),
            };
            assert_eq!((link.rate, link.delay), expected);
        }
    }
}
