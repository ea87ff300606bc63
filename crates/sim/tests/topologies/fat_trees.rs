//! FT(m, n) of any number of levels: its counts, and the properties of shortest paths in section 3.3.1 of
//! Song, "Multipath routing and Incast in fat-trees" (Iowa State University, 2017), by search.

use crate::graph::{Oracle, hosts, nodes, tier};
use flowyard_sim::ids::NodeId;
use flowyard_sim::routing::Routes;
use flowyard_sim::topology::fat_tree::FatTree;
use flowyard_sim::topology::{Fabric, Generator};

fn tree(m: u32, n: u32) -> Fabric {
    FatTree { k: m, levels: n, ..FatTree::default() }.build()
}

fn switches(fabric: &Fabric) -> impl Iterator<Item = usize> {
    fabric.hosts as usize..fabric.nodes.len()
}

/// For each node its level by distance from the nearest host: hosts are level n, edge switches n - 1, cores 0.
fn levels(fabric: &Fabric, n: u32, oracle: &Oracle) -> Vec<u32> {
    let nearest =
        |node: NodeId| hosts(fabric).map(|host| oracle.hops[host.index()][node.index()]).min().unwrap();
    nodes(fabric).map(|node| n - nearest(node)).collect()
}

/// MP-F1.4.b, ALL-1: 2 (m/2)^n hosts, (2n - 1) (m/2)^(n-1) switches of m ports, height n + 1.
#[test]
fn counts() {
    for (m, most) in [(2, 6), (4, 5), (6, 3), (8, 3), (16, 3)] {
        for n in 1..=most {
            let (fabric, half) = (tree(m, n), m / 2);
            assert_eq!(fabric.hosts, 2 * half.pow(n));
            let switches = fabric.nodes.len() as u32 - fabric.hosts;
            assert_eq!(switches, (2 * n - 1) * half.pow(n - 1));
            let mut ports = vec![0; fabric.nodes.len()];
            fabric.links.iter().for_each(|link| ports[link.from.index()] += 1);
            for node in nodes(&fabric) {
                assert_eq!(ports[node.index()], if fabric.is_host(node) { 1 } else { m });
            }
            assert_eq!(tier(&fabric, "core").len() as u32, half.pow(n - 1));
            assert_eq!(tier(&fabric, "edge").len() as u32, if n == 1 { 0 } else { 2 * half.pow(n - 1) });
        }
    }
    // The instance of the thesis' section 3.3.
    assert_eq!(FatTree { k: 32, ..FatTree::default() }.build().hosts, 8192);
}

/// The farthest hosts are 2n links apart, and (m/2)^(n-1) paths join them.
#[test]
fn diameters() {
    for (m, n) in [(2, 1), (2, 4), (4, 1), (4, 2), (4, 4), (6, 3), (8, 2)] {
        let fabric = tree(m, n);
        let oracle = Oracle::of(&fabric);
        let last = fabric.hosts as usize - 1;
        let farthest = hosts(&fabric).map(|to| oracle.hops[0][to.index()]).max();
        assert_eq!((farthest, oracle.hops[0][last]), (Some(2 * n), 2 * n));
        assert_eq!(oracle.ways[0][last], u64::from(m / 2).pow(n - 1));
        let routes = Routes::build(&fabric).unwrap();
        let counted = routes.path_count(&fabric, NodeId(0), NodeId(last as u32));
        assert_eq!(counted, u128::from(oracle.ways[0][last]));
    }
}

/// For each host the number of its SUBFT(m, t): what hangs together below level n - t.
fn subtrees(fabric: &Fabric, levels: &[u32], lowest: u32) -> Vec<usize> {
    let mut part = vec![usize::MAX; fabric.nodes.len()];
    let mut parts = 0;
    for start in hosts(fabric) {
        if part[start.index()] != usize::MAX {
            continue;
        }
        let mut open = vec![start.index()];
        part[start.index()] = parts;
        while let Some(node) = open.pop() {
            for link in fabric.links.iter().filter(|link| link.from.index() == node) {
                let to = link.to.index();
                if levels[to] >= lowest && part[to] == usize::MAX {
                    part[to] = parts;
                    open.push(to);
                }
            }
        }
        parts += 1;
    }
    part
}

const INSTANCES: [(u32, u32); 6] = [(2, 3), (4, 2), (4, 3), (4, 4), (6, 2), (8, 3)];

/// MP-PR1.a, MP-PR2.a: m (m/2)^(n-1-t) sub-trees SUBFT(m, t); inside the smallest one that holds both hosts
/// (m/2)^(t-1) shortest paths, and (m/2)^(n-1) if there is none.
#[test]
fn sub_trees_and_their_paths() {
    for (m, n) in INSTANCES {
        let (fabric, half) = (tree(m, n), u64::from(m / 2));
        let oracle = Oracle::of(&fabric);
        let levels = levels(&fabric, n, &oracle);
        let parts: Vec<_> = (1..n).map(|t| subtrees(&fabric, &levels, n - t)).collect();
        for (part, t) in parts.iter().zip(1..) {
            let count = part.iter().filter(|part| **part != usize::MAX).max().unwrap() + 1;
            assert_eq!(count as u64, u64::from(m) * half.pow(n - 1 - t));
            for number in 0..count {
                let inside = nodes(&fabric).filter(|node| part[node.index()] == number);
                let (hosts, switches): (Vec<_>, Vec<_>) = inside.partition(|node| fabric.is_host(*node));
                assert_eq!(hosts.len() as u64, half.pow(t));
                assert_eq!(switches.len() as u64, u64::from(t) * half.pow(t - 1));
            }
        }
        for a in hosts(&fabric) {
            for b in hosts(&fabric).filter(|&b| b != a) {
                let smallest = (1..n).find(|&t| {
                    let part = &parts[t as usize - 1];
                    part[a.index()] == part[b.index()]
                });
                assert_eq!(oracle.ways[a.index()][b.index()], half.pow(smallest.unwrap_or(n) - 1));
            }
        }
    }
}

/// MP-PR3.a: of (m/2)^x shortest paths, each link and each switch of level n - 1 - t on the way has (m/2)^(x-t).
/// MP-F1.4.c: so that a core on the way fixes the path.
#[test]
fn paths_through_links_and_switches() {
    for (m, n) in INSTANCES {
        let (fabric, half) = (tree(m, n), u64::from(m / 2));
        let oracle = Oracle::of(&fabric);
        let levels = levels(&fabric, n, &oracle);
        let paths = |x: u32, level: u32| half.pow(x - (n - 1 - level));
        for s in hosts(&fabric).map(NodeId::index) {
            for d in hosts(&fabric).map(NodeId::index).filter(|&d| d != s) {
                let (hops, ways) = (oracle.hops[s][d], oracle.ways[s][d]);
                let x = hops / 2 - 1;
                assert_eq!(ways, half.pow(x));
                for link in &fabric.links {
                    let (u, v) = (link.from.index(), link.to.index());
                    if oracle.hops[s][u] + 1 + oracle.hops[v][d] == hops {
                        // A link has the level of its upper end.
                        let used = oracle.ways[s][u] * oracle.ways[v][d];
                        assert_eq!(used, paths(x, levels[u].min(levels[v])));
                    }
                }
                for w in switches(&fabric) {
                    if oracle.hops[s][w] + oracle.hops[w][d] == hops {
                        assert_eq!(oracle.ways[s][w] * oracle.ways[w][d], paths(x, levels[w]));
                    }
                }
            }
        }
    }
}

/// MP-PR5.a: an up link of level t carries traffic from (m/2)^(n-1-t) hosts, a down link to as many; a switch of
/// level t > 0 from (m/2)^(n-t) hosts upwards, a core from all 2 (m/2)^n.
#[test]
fn hosts_behind_links_and_switches() {
    for (m, n) in INSTANCES.into_iter().filter(|&(m, _)| m > 2) {
        let (fabric, half) = (tree(m, n), (m / 2) as usize);
        let oracle = Oracle::of(&fabric);
        let levels = levels(&fabric, n, &oracle);
        let all = || hosts(&fabric).map(NodeId::index);
        let uses = |s: usize, u: usize, v: usize, d: usize| {
            s != d && oracle.hops[s][u] + oracle.hops[u][v] + oracle.hops[v][d] == oracle.hops[s][d]
        };
        for link in &fabric.links {
            let (u, v) = (link.from.index(), link.to.index());
            let level = levels[u].min(levels[v]);
            let behind = if levels[u] > levels[v] {
                all().filter(|&s| all().any(|d| uses(s, u, v, d))).count()
            } else {
                all().filter(|&d| all().any(|s| uses(s, u, v, d))).count()
            };
            assert_eq!(behind, half.pow(n - 1 - level));
        }
        for w in switches(&fabric) {
            let below = |s: usize| oracle.hops[s][w] == n - levels[w];
            let sources = all().filter(|&s| below(s) && all().any(|d| uses(s, w, w, d))).count();
            assert_eq!(sources, if levels[w] == 0 { 2 * half.pow(n) } else { half.pow(n - levels[w]) });
        }
    }
}

/// "4:1" is four hosts for each uplink of an edge switch, and a quarter of the bandwidth of as many hosts.
#[test]
fn oversubscribed_trees() {
    for (k, levels, ratio) in [(4, 2, 2), (4, 3, 4), (6, 3, 3)] {
        let tree = FatTree { k, levels, oversubscription: ratio, ..FatTree::default() };
        let fabric = tree.build();
        assert_eq!(fabric.hosts, 2 * (k / 2).pow(levels) * ratio);
        for edge in tier(&fabric, "edge") {
            let ports = fabric.links.iter().filter(|link| link.from == edge);
            let (down, up): (Vec<bool>, Vec<bool>) =
                ports.map(|link| fabric.is_host(link.to)).partition(|down| *down);
            assert_eq!((down.len() as u32, up.len() as u32), (ratio * k / 2, k / 2));
        }
        assert_eq!(tree.oversubscription(), Some(f64::from(ratio)));
        let full = u128::from(fabric.hosts / 2) * u128::from(tree.rate.0);
        assert_eq!(tree.bisection().unwrap().bps, full / u128::from(ratio));
        assert!(Routes::build(&fabric).is_ok());
    }
}

/// Names have pod and tier at every height.
#[test]
fn names() {
    let named = |m, n| -> Vec<String> { tree(m, n).nodes.into_iter().map(|node| node.name).collect() };
    assert_eq!(named(2, 1), ["host 0", "host 1", "core 0"]);
    assert_eq!(named(2, 2), ["host 0", "host 1", "pod 0 edge 0", "pod 1 edge 0", "core 0"]);
    let four = named(4, 4);
    for name in ["pod 3 edge 3", "pod 0 aggregation 2 switch 1", "pod 3 aggregation 1 switch 3", "core 7"] {
        assert!(four.iter().any(|known| known == name), "{name} is not in {four:?}");
    }
}
