//! The generated networks against the arithmetic of the literature, and routes against oracles independent of
//! the route table: all-pairs searches, and every shortest path one by one.

use crate::graph::{Oracle, check_parts, hosts, nodes, tier};
use flowyard_sim::ids::{LinkId, NodeId};
use flowyard_sim::routing::{Disconnected, Routes, min_host_delay};
use flowyard_sim::topology::dumbbell::Dumbbell;
use flowyard_sim::topology::fat_tree::FatTree;
use flowyard_sim::topology::line::Line;
use flowyard_sim::topology::relay::Relay;
use flowyard_sim::topology::single_switch::SingleSwitch;
use flowyard_sim::topology::{Cable, Fabric, Generator};
use flowyard_sim::units::{Rate, Time};
use proptest::prelude::*;

fn fat_tree(k: u32) -> Fabric {
    FatTree { k, ..FatTree::default() }.build()
}

/// NDP-T1.a to d, ALL-1: the counts of the k-ary fat-tree are those of FT(k, 3), n = 3 levels.
#[test]
fn fat_tree_counts() {
    for k in [4, 6, 8, 10, 12u32] {
        let fabric = fat_tree(k);
        let half = k / 2;
        let count = |name| tier(&fabric, name).len() as u32;
        assert_eq!(fabric.hosts, k.pow(3) / 4);
        assert_eq!([count("core"), count("edge"), count("aggregation")], [k * k / 4, k * k / 2, k * k / 2]);
        assert_eq!(fabric.hosts, 2 * half.pow(3));
        assert_eq!(fabric.nodes.len() as u32 - fabric.hosts, 5 * half.pow(2));
        // A directed link for each port: one a host, k a switch.
        assert_eq!(fabric.links.len() as u32, fabric.hosts + 5 * half.pow(2) * k);
        for node in nodes(&fabric) {
            let ports = fabric.links.iter().filter(|link| link.from == node).count() as u32;
            assert_eq!(ports, if fabric.is_host(node) { 1 } else { k });
        }
    }
    let counts = |k: u32| {
        let fabric = fat_tree(k);
        let count = |name| tier(&fabric, name).len() as u32;
        (fabric.hosts, count("core"), count("edge") / k, count("aggregation") / k, count("edge"))
    };
    assert_eq!(counts(4), (16, 4, 2, 2, 8));
    assert_eq!(counts(8), (128, 16, 4, 4, 32));
    assert_eq!(counts(10), (250, 25, 5, 5, 50));
    assert_eq!(counts(6).0, 54);
    assert_eq!(counts(12).1, 36);
}

/// The rule of FT(m, n): switches <w, l> and <w', l + 1> are joined if w and w' agree except in digit l.
#[test]
fn fat_tree_wiring() {
    for k in [2, 4, 6] {
        let (fabric, half) = (fat_tree(k), k / 2);
        let label = |node: NodeId, first: u32| [(node.0 - first) / half, (node.0 - first) % half];
        let levels = ["core", "aggregation", "edge"].map(|name| tier(&fabric, name));
        let mut joined = 0;
        for level in 0..2 {
            for &upper in &levels[level] {
                for &lower in &levels[level + 1] {
                    let (high, low) =
                        (label(upper, levels[level][0].0), label(lower, levels[level + 1][0].0));
                    let agree = (0..2).all(|digit| digit == level || high[digit] == low[digit]);
                    let cables =
                        fabric.links.iter().filter(|link| link.from == lower && link.to == upper).count();
                    assert_eq!(cables, usize::from(agree));
                    joined += cables as u32;
                }
            }
        }
        assert_eq!(joined, 2 * k * half * half);
        // Host p0 p1 p2 hangs on edge switch <p0 p1>.
        for host in hosts(&fabric) {
            assert_eq!(fabric.links[2 * host.index()].from, host);
            assert_eq!(fabric.links[2 * host.index()].to.0, levels[2][0].0 + host.0 / half);
        }
    }
}

/// NDP-T1.e, ALL-1, MP-PR2.a: k^2/4 shortest paths between pods, k/2 inside a pod, 1 under an edge switch.
#[test]
fn fat_tree_path_counts() {
    for k in [4, 6, 8, 10, 12] {
        let (fabric, half) = (fat_tree(k), u64::from(k / 2));
        let routes = Routes::build(&fabric).unwrap();
        let oracle = Oracle::of(&fabric);
        for from in hosts(&fabric).step_by(7) {
            for to in hosts(&fabric).filter(|&to| to != from) {
                let (pod, edge) =
                    (from.0 / (k * k / 4) == to.0 / (k * k / 4), from.0 / (k / 2) == to.0 / (k / 2));
                let expected = if edge {
                    1
                } else if pod {
                    half
                } else {
                    half * half
                };
                assert_eq!(oracle.ways[from.index()][to.index()], expected);
                assert_eq!(routes.path_count(&fabric, from, to), u128::from(expected));
            }
        }
    }
}

/// MP-F1.4.a: FT(4, 3) has 16 nodes, 20 switches and 4 shortest paths from 010 to 201.
#[test]
fn fat_tree_of_the_figure() {
    let fabric = fat_tree(4);
    let routes = Routes::build(&fabric).unwrap();
    let host = |[p0, p1, p2]: [u32; 3]| NodeId(4 * p0 + 2 * p1 + p2);
    assert_eq!((fabric.hosts, fabric.nodes.len()), (16, 36));
    assert_eq!(routes.path_count(&fabric, host([0, 1, 0]), host([2, 0, 1])), 4);
}

/// NDP-T1.f: each core switch has one link to each pod. MP-F1.4.c: from a core the way down is unique.
#[test]
fn fat_tree_cores() {
    for k in [4, 6, 8] {
        let fabric = fat_tree(k);
        let routes = Routes::build(&fabric).unwrap();
        let first = tier(&fabric, "aggregation")[0].0;
        for core in tier(&fabric, "core") {
            let down = fabric.links.iter().filter(|link| link.from == core);
            let pods: Vec<u32> = down.map(|link| (link.to.0 - first) / (k / 2)).collect();
            assert_eq!(pods, (0..k).collect::<Vec<_>>());
            assert!(hosts(&fabric).all(|host| routes.path_count(&fabric, core, host) == 1));
        }
    }
}

/// NDP-T1.g: with equal shares over all shortest paths the worst permutation loads no link above 1.
///
/// Exact, by duality: a permutation takes at most one entry of each row and of each column of a
/// link's share matrix, so its load is at most the sum of the rows' largest entries, and of the
/// columns'. Stride(k^2/4) attains the bound on every link. Shares are counted in units of 4/k^2.
#[test]
fn fat_tree_is_non_blocking() {
    for k in [4, 6, 8] {
        let fabric = fat_tree(k);
        let oracle = Oracle::of(&fabric);
        let unit = u64::from(k * k / 4);
        for link in &fabric.links {
            let (u, v) = (link.from.index(), link.to.index());
            let share = |s: usize, d: usize| {
                let on_path = oracle.hops[s][u] + 1 + oracle.hops[v][d] == oracle.hops[s][d];
                let paths = u64::from(on_path) * oracle.ways[s][u] * oracle.ways[v][d];
                assert_eq!(unit % oracle.ways[s][d], 0);
                paths * (unit / oracle.ways[s][d])
            };
            let all = || 0..fabric.hosts as usize;
            let by_source: u64 = all().map(|s| all().map(|d| share(s, d)).max().unwrap()).sum();
            let by_destination: u64 = all().map(|d| all().map(|s| share(s, d)).max().unwrap()).sum();
            let stride: u64 = all().map(|s| share(s, (s + unit as usize) % fabric.hosts as usize)).sum();
            assert_eq!(by_source.min(by_destination), unit);
            assert_eq!(stride, unit);
        }
    }
}

#[test]
fn small_networks() {
    let hops = |fabric: &Fabric, from, to| {
        Routes::build(fabric).unwrap().best_path(fabric, NodeId(from), NodeId(to), 1500).len()
    };
    for switches in [0, 1, 3, 5] {
        let line = Line { switches, ..Line::default() }.build();
        assert_eq!((line.hosts, hops(&line, 0, 1)), (2, switches as usize + 1));
    }
    let single = SingleSwitch::default().build();
    assert_eq!((single.hosts, hops(&single, 2, 5)), (8, 2));

    let bottleneck = Cable { rate: Some(Rate(1_000_000)), delay: Some(Time::from_us(50)) };
    let dumbbell = Dumbbell { hosts: 3, bottleneck, ..Dumbbell::default() }.build();
    assert_eq!((dumbbell.hosts, hops(&dumbbell, 0, 2), hops(&dumbbell, 0, 3)), (6, 2, 3));
    assert_eq!(dumbbell.links.iter().filter(|link| link.rate == Rate(1_000_000)).count(), 2);
    assert_eq!(min_host_delay(&dumbbell), Time::from_us(2));

    // The middle host of three forwards, and is itself a destination.
    let relay = Relay::default().build();
    let routes = Routes::build(&relay).unwrap();
    assert_eq!((relay.nodes.len(), relay.hosts), (3, 3));
    assert_eq!(routes.next_hops(NodeId(0), NodeId(1)), [LinkId(0)]);
    assert_eq!(routes.next_hops(NodeId(0), NodeId(2)), [LinkId(0)]);
    assert_eq!(routes.next_hops(NodeId(1), NodeId(0)), [LinkId(1)]);
    assert_eq!(routes.next_hops(NodeId(1), NodeId(2)), [LinkId(2)]);
    assert_eq!(min_host_delay(&relay), Time::from_us(1));
    assert_eq!(min_host_delay(&Relay { delay: Time::ZERO, ..Relay::default() }.build()), Time::ZERO);
}

#[test]
fn generators_keep_the_rules_of_a_fabric() {
    let all: [&dyn Generator; 5] = [
        &FatTree { k: 2, ..FatTree::default() },
        &SingleSwitch::default(),
        &Line::default(),
        &Dumbbell::default(),
        &Relay::default(),
    ];
    for topology in all {
        let fabric = topology.build();
        assert_eq!(topology.counts(), fabric.counts());
        check_parts(&fabric);
    }
}

#[test]
fn a_network_in_two_parts_is_refused() {
    let mut fabric = Fabric::default();
    let hosts: Vec<NodeId> = (0..4).map(|i| fabric.add_node(format!("host {i}"), "host")).collect();
    fabric.add_cable(hosts[0], hosts[1], Rate(1_000_000), Time::ZERO);
    fabric.add_cable(hosts[2], hosts[3], Rate(1_000_000), Time::ZERO);
    let error = Routes::build(&fabric).unwrap_err();
    assert_eq!(error, Disconnected { from: "host 0".into(), to: "host 2".into() });
    assert_eq!(error.to_string(), "there is no path from host 0 to host 2");
}

/// A connected network of hosts and switches: a random tree, then further cables, some of them parallel.
fn any_fabric() -> impl Strategy<Value = Fabric> {
    let cable = (any::<u32>(), any::<u32>(), 1u64..4, 0u64..4);
    (2usize..7, 0usize..6, proptest::collection::vec(cable, 11..26)).prop_map(|(hosts, switches, cables)| {
        let mut fabric = Fabric::default();
        for (tier, count) in [("host", hosts), ("switch", switches)] {
            for number in 0..count {
                fabric.add_node(format!("{tier} {number}"), tier);
            }
        }
        let size = (hosts + switches) as u32;
        for (index, (a, b, rate, delay)) in cables.into_iter().enumerate() {
            // Last node first, so that trees with hosts as leaves are the common ones.
            let a = if index as u32 + 1 < size { index as u32 } else { a % (size - 1) };
            let b = a + 1 + b % (size - 1 - a);
            fabric.add_cable(NodeId(a), NodeId(b), Rate(rate * 1_000_000), Time::from_us(delay));
        }
        fabric
    })
}

proptest! {
    #[test]
    fn routes_are_all_shortest_paths(fabric in any_fabric(), packet_bytes in 1u64..3000) {
        let routes = Routes::build(&fabric).unwrap();
        let oracle = Oracle::of(&fabric);
        let latency = |path: &[LinkId]| {
            let hop = |id: &LinkId| fabric.links[id.index()];
            path.iter().map(hop).map(|link| link.rate.transmission(packet_bytes).0 + link.delay.0).sum::<u64>()
        };
        for to in hosts(&fabric) {
            for at in nodes(&fabric).filter(|&at| at != to) {
                let expected = oracle.next_hops(&fabric, at, to);
                prop_assert_eq!(routes.next_hops(at, to), expected.as_slice());
                let paths = oracle.paths(&fabric, at, to);
                prop_assert_eq!(routes.path_count(&fabric, at, to), paths.len() as u128);
                // The first of the best: paths come in the order of their links.
                let best = paths.iter().min_by_key(|path| latency(path)).unwrap();
                prop_assert_eq!(&routes.best_path(&fabric, at, to, packet_bytes), best);
            }
        }
    }

    /// Against Floyd and Warshall over the delays.
    #[test]
    fn min_host_delay_is_the_least_of_all_pairs(fabric in any_fabric()) {
        let size = fabric.nodes.len();
        let mut delay = vec![vec![u64::MAX / 4; size]; size];
        for link in &fabric.links {
            let least = &mut delay[link.from.index()][link.to.index()];
            *least = link.delay.0.min(*least);
        }
        for via in 0..size {
            for from in 0..size {
                for to in 0..size {
                    delay[from][to] = delay[from][to].min(delay[from][via] + delay[via][to]);
                }
            }
        }
        let pairs = hosts(&fabric).flat_map(|from| hosts(&fabric).map(move |to| (from, to)));
        let least = pairs.filter(|(from, to)| from != to).map(|(from, to)| delay[from.index()][to.index()]).min();
        prop_assert_eq!(min_host_delay(&fabric), Time(least.unwrap()));
    }
}
