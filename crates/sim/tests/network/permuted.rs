//! Source-permuted paths: every path as often as every other, to the packet.

use crate::common::scenarios::flow_across_a_fat_tree;
use crate::common::{Run, run, run_with, words};
use flowyard_sim::balancer::permuted::Permuted;
use flowyard_sim::balancer::{Balancer, Model};
use flowyard_sim::engine::contract::path::{Choose, Hop, Opening, Trip};
use flowyard_sim::engine::contract::paths::Paths;
use flowyard_sim::ids::{ConnId, LinkId, NodeId};
use flowyard_sim::routing::Routes;
use flowyard_sim::topology::Generator;
use flowyard_sim::topology::fat_tree::FatTree;
use flowyard_sim::topology::leaf_spine::LeafSpine;
use flowyard_sim::units::Time;
use std::collections::{BTreeMap, BTreeSet};

fn open(model: &mut Model, id: ConnId, label: u32, routes: &Routes) {
    let [src, dst] = [NodeId(0), NodeId(1)];
    let ports = (LinkId(0), LinkId(2));
    let opening = Opening { id, src, dst, label, flow_label: label, subflow: 0, key: 0, ports, routes };
    assert_eq!(model.open(opening, &mut Paths::default()), ports);
}

/// Goes the way of one packet after the other of a connection from the first to the last host, switch by switch, and
/// counts the packets on each path.
fn paths(fabric: &flowyard_sim::topology::Fabric, packets: usize) -> Vec<Vec<u32>> {
    let routes = Routes::build(fabric).expect("a connected network");
    let ends: Vec<NodeId> = fabric.links.iter().map(|link| link.to).collect();
    let (from, to) = (NodeId(0), NodeId(fabric.hosts - 1));
    let mut model = Balancer::from(Permuted {}).model(fabric, 1, 0);
    open(&mut model, ConnId(3), 12345, &routes);
    let port = routes.next_hops(from, to)[0];
    let way = |_| {
        let trip = Trip {
            conn: ConnId(3),
            forward: true,
            port,
            to,
            size: 1500,
            now: Time::ZERO,
            routes: &routes,
            ends: &ends,
        };
        let label = model.next_path(trip).expect("the source chooses").label;
        let (mut at, mut links) = (ends[port.index()], vec![port.0]);
        while at != to {
            let next = routes.next_hops(at, to);
            let hop = Hop { at, to, label, hops: links.len() as u8, ticket: 0, next_hops: next };
            let link = next[model.choose(hop, Time::ZERO) as usize];
            links.push(link.0);
            at = ends[link.index()];
        }
        links
    };
    (0..packets).map(way).collect()
}

/// Each round of as many packets as there are paths uses each path once, each round in an order of its own:
/// k^2/4 paths of a fat-tree (of four levels k^3/8), spines times parallel cables twice of a leaf-spine.
#[test]
fn a_round_uses_every_path_once() {
    let tree = |k, levels| FatTree { k, levels, ..FatTree::default() }.build();
    let leaf_spine =
        LeafSpine { leaves: 3, spines: 5, hosts: 2, parallel: 3, ..LeafSpine::default() }.build();
    for (fabric, count) in
        [(tree(4, 3), 4), (tree(6, 3), 9), (tree(8, 3), 16), (tree(4, 4), 8), (leaf_spine, 5 * 3 * 3)]
    {
        let rounds = 6;
        let paths = paths(&fabric, rounds * count);
        let orders: BTreeSet<_> = paths.chunks(count).collect();
        assert_eq!(orders.len(), rounds, "no two rounds have the same order");
        for round in paths.chunks(count) {
            assert_eq!(round.iter().collect::<BTreeSet<_>>().len(), count, "of {count} paths");
        }
    }
}

/// A header that comes back from any switch goes through the switches that it came through: as many links from the
/// receiver as the others from the sender, they make the choice that the label has for these.
#[test]
fn headers_come_back_by_the_way_they_went() {
    let tree = |k, levels| FatTree { k, levels, ..FatTree::default() }.build();
    let leaf_spine = LeafSpine { leaves: 3, spines: 5, hosts: 2, ..LeafSpine::default() }.build();
    for fabric in [tree(4, 3), tree(8, 3), tree(4, 4), leaf_spine] {
        let routes = Routes::build(&fabric).expect("a connected network");
        let ends: Vec<NodeId> = fabric.links.iter().map(|link| link.to).collect();
        let (from, to) = (NodeId(0), NodeId(fabric.hosts - 1));
        let mut model = Balancer::from(Permuted {}).model(&fabric, 1, 0);
        open(&mut model, ConnId(0), 1, &routes);
        let port = routes.next_hops(from, to)[0];
        for _ in 0..20 {
            let trip = Trip {
                conn: ConnId(0),
                forward: true,
                port,
                to,
                size: 1500,
                now: Time::ZERO,
                routes: &routes,
                ends: &ends,
            };
            let label = model.next_path(trip).expect("the source chooses").label;
            let mut next = |at: NodeId, to: NodeId, hops: usize| {
                let next = routes.next_hops(at, to);
                let hop = Hop { at, to, label, hops: hops as u8, ticket: 0, next_hops: next };
                ends[next[model.choose(hop, Time::ZERO) as usize].index()]
            };
            let mut way = vec![from, ends[port.index()]];
            while *way.last().unwrap() != to {
                way.push(next(*way.last().unwrap(), to, way.len() - 1));
            }
            for bounced_at in 2..way.len() - 1 {
                // The first link back is the one that it came by.
                let mut back = way[..bounced_at].to_vec();
                let (mut at, mut hops) = (back.pop().unwrap(), way.len() - bounced_at);
                while at != from {
                    at = next(at, from, hops);
                    assert_eq!(Some(at), back.pop(), "back from {bounced_at} links from the sender");
                    hops += 1;
                }
            }
        }
    }
}

/// Every order is as frequent: of three paths there are six orders.
#[test]
fn every_order_is_as_likely() {
    let fabric = LeafSpine { leaves: 2, spines: 3, hosts: 1, ..LeafSpine::default() }.build();
    let mut seen = BTreeMap::new();
    for round in paths(&fabric, 3 * 6000).chunks(3) {
        *seen.entry(round.to_vec()).or_insert(0i32) += 1;
    }
    assert_eq!(seen.len(), 6);
    // Five standard deviations of a count of mean 1000.
    assert!(seen.values().all(|&count| (count - 1000).abs() < 5 * 29), "{seen:?}");
}

/// For each link of that tier that carried any, the packets that it carried.
fn used(run: &Run, tier: &str) -> Vec<u64> {
    let (tiers, packets) = (words(&run.0.links, "tier"), run.links("packets"));
    let carried = tiers.iter().zip(packets).filter(|(name, packets)| *name == tier && *packets > 0);
    carried.map(|(_, packets)| packets).collect()
}

/// In a run: a flow between pods puts as many packets on each of its k^2/4 ways up to the core, and the same flow
/// again uses them in the same order.
#[test]
fn a_flow_spreads_evenly() {
    for (k, rounds) in [(4, 50), (8, 20)] {
        let count = u64::from(k * k / 4);
        let settings = "transport = \"datagram\"\nrouting.balancer = \"permuted\"";
        let text = format!("{settings}\n{}", flow_across_a_fat_tree(k, rounds * count * 1472));
        let first = run(&text);
        assert_eq!(used(&first, "aggregation-core"), vec![rounds; count as usize], "k = {k}");
        assert_eq!(first.digest(), run(&text).digest());
    }
}

/// All hosts of a k = 8 fat-tree send to another one each: if each walks through its paths, the ways up fill
/// more evenly than if each packet takes a random path, and fewer packets are trimmed there (paper, section
/// 3.1.1 and figure 15: 0.01 % against 2.4 %).
#[test]
fn fewer_packets_are_trimmed_than_by_chance() {
    let text = r#"
        transport = "ndp"
        topology.fat-tree = { k = 8 }
        [[traffic]]
        name = "permutation"
        arrivals.at-once = {}
        matrix = "permutation"
        sizes.fixed = "1MB"
    "#;
    let trims = |balancer: &str| {
        let run = run_with(text, &[("routing.balancer", balancer)]);
        assert_eq!(run.counters().unfinished_flows, 0);
        run.counters().trims as f64 / run.flows("packets_sent").iter().sum::<u64>() as f64
    };
    let (permuted, random) = (trims("permuted"), trims("per-packet"));
    println!("trimmed: {permuted} permuted, {random} at random");
    assert!(permuted < random / 2.0, "{permuted}, {random}");
}
