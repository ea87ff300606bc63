//! Which paths packets and flows take: one, all, evenly.

use std::collections::BTreeSet;

use crate::common::scenarios::flow_across_a_fat_tree;
use crate::common::{self, Run, run, words};
use flowyard_sim::balancer::per_flow::PerFlow;
use flowyard_sim::balancer::single::Single;
use flowyard_sim::balancer::{Balancer, Model};
use flowyard_sim::engine::contract::path::{Choose, Hop};
use flowyard_sim::ids::{LinkId, NodeId};
use flowyard_sim::random::{Purpose, Stream};
use flowyard_sim::routing::Routes;
use flowyard_sim::topology::Generator;
use flowyard_sim::topology::fat_tree::FatTree;
use flowyard_sim::units::Time;

/// One flow of that many packets between the first and the last host of a k-ary fat-tree.
fn one_flow(k: u32, balancer: &str, packets: u64, seed: u64) -> Run {
    let settings = format!("transport = \"datagram\"\nrouting.balancer = \"{balancer}\"\nrun.seed = {seed}");
    run(&format!("{settings}\n{}", flow_across_a_fat_tree(k, packets * 1472)))
}

/// For each link into a tier, the packets that it carried.
fn into(run: &Run, tier: &str) -> Vec<u64> {
    let (tiers, packets) = (words(&run.0.links, "tier"), run.links("packets"));
    tiers.iter().zip(packets).filter(|(name, _)| *name == tier).map(|(_, packets)| packets).collect()
}

/// For each link to the core from the pod of the first host, the packets that it carried: k^2/4 of them, used or not.
fn to_the_core(run: &Run) -> Vec<u64> {
    let (tiers, from) = (words(&run.0.links, "tier"), words(&run.0.links, "from"));
    let ours =
        tiers.iter().zip(from).map(|(tier, from)| tier == "aggregation-core" && from.starts_with("pod 0 "));
    ours.zip(run.links("packets")).filter(|(ours, _)| *ours).map(|(_, packets)| packets).collect()
}

/// NDP-F2.a: under per-flow ECMP all packets of a flow take one path, and arrive in order.
#[test]
fn a_flow_takes_one_path() {
    for k in [4, 6, 8] {
        for balancer in ["per-flow", "single"] {
            for seed in 1..=5 {
                let run = one_flow(k, balancer, 200, seed);
                assert_eq!(run.flow("reordered"), 0);
                // Six links, each with every packet; all others with none.
                let mut packets = run.links("packets");
                packets.retain(|&packets| packets > 0);
                assert_eq!(packets, [200; 6], "k = {k}, {balancer}");
            }
        }
    }
}

/// "single" is the same path for all flows: the first of the equal next hops. Per-flow, the path depends on
/// the flow.
#[test]
fn single_is_always_the_first() {
    for seed in 1..=5 {
        assert_eq!(into(&one_flow(4, "single", 10, seed), "aggregation-core")[0], 10);
    }
    let paths: BTreeSet<Vec<u64>> =
        (1..=20).map(|seed| into(&one_flow(4, "per-flow", 10, seed), "aggregation-core")).collect();
    assert_eq!(paths.len(), 4, "20 flows use the 4 paths");
}

/// NDP-F2.b: under per-packet ECMP a flow of 100 packets or more between pods uses all k^2/4 paths. There is one for
/// each core switch, and so one link to the core in the source's pod for each. That 100 packets miss
/// one of 4 or 9 paths has a probability of 4 (3/4)^100 or 9 (8/9)^100 < 10^-4; 16 paths get 400.
#[test]
fn packets_take_all_paths() {
    for (k, packets) in [(4, 100), (6, 100), (8, 400)] {
        for seed in 1..=5 {
            let run = one_flow(k, "per-packet", packets, seed);
            let up = to_the_core(&run);
            assert_eq!(up.len() as u32, k * k / 4, "k = {k}");
            assert!(up.iter().all(|&packets| packets > 0), "k = {k}: {up:?}");
            assert_eq!(up.iter().sum::<u64>(), packets);
        }
    }
}

/// A packet of the flow with that label at a node with so many ways.
fn hop(at: NodeId, label: u32, ways: usize) -> Hop<'static> {
    Hop { at, to: NodeId(0), label, hops: 0, ticket: 0, next_hops: &[LinkId(0); 16][..ways] }
}

/// The core switches that flows with random labels from host 0 to the last host pass, by the engine's own
/// routes and balancer; if not salted, every node has the hash of node 0.
fn cores(k: u32, flows: u64, salted: bool) -> BTreeSet<NodeId> {
    let fabric = FatTree { k, ..FatTree::default() }.build();
    let routes = Routes::build(&fabric).expect("a connected network");
    let mut model = Balancer::from(PerFlow {}).model(&fabric, 1, 0);
    let mut labels = Stream::new(1, 0, Purpose::FiveTuple, 0);
    let to = NodeId(fabric.hosts - 1);
    let mut cores = BTreeSet::new();
    for _ in 0..flows {
        let label = labels.bits() as u32;
        let mut at = NodeId(0);
        while at != to {
            let hops = routes.next_hops(at, to);
            let hashed_at = if salted { at } else { NodeId(0) };
            let choice = model.choose(hop(hashed_at, label, hops.len()), Time::ZERO);
            at = fabric.links[hops[choice as usize].index()].to;
            if fabric.nodes[at.index()].tier == "core" {
                cores.insert(at);
            }
        }
    }
    cores
}

/// NDP-F2.c: edge and aggregation switches both have k/2 ways up. With one common hash they choose the same digit,
/// and only k/2 of the k^2/4 paths are ever used; with a salt for each switch all are.
#[test]
fn without_a_salt_most_paths_are_lost() {
    for k in [4, 6, 8] {
        let flows = 2000;
        assert_eq!(cores(k, flows, false).len() as u32, k / 2, "k = {k}, one hash");
        assert_eq!(cores(k, flows, true).len() as u32, k * k / 4, "k = {k}, salted");
    }
}

/// Sum of (seen - expected)^2 / expected.
fn chi_square(seen: &[u64]) -> f64 {
    let expected = seen.iter().sum::<u64>() as f64 / seen.len() as f64;
    seen.iter().map(|&seen| (seen as f64 - expected).powi(2) / expected).sum()
}

/// Quantiles of the chi-square distribution at 99.99 %, by degrees of freedom.
const CHI_SQUARE: [(usize, f64); 4] = [(1, 15.14), (2, 18.42), (3, 21.11), (15, 44.26)];

fn quantile(cells: usize) -> f64 {
    CHI_SQUARE.iter().find(|(freedom, _)| *freedom == cells - 1).expect("in the table").1
}

fn choices(model: &mut Model, at: u32, labels: impl Iterator<Item = u32>, ways: usize) -> Vec<u64> {
    let mut seen = vec![0; ways];
    labels.for_each(|label| seen[model.choose(hop(NodeId(at), label, ways), Time::ZERO) as usize] += 1);
    seen
}

/// Labels are spread evenly over next hops, be they random or consecutive; and independently at two switches:
/// every pair of choices is as frequent.
#[test]
fn the_hash_is_even() {
    let fabric = FatTree { k: 2, ..FatTree::default() }.build();
    let nodes = 7;
    let mut model = Balancer::from(PerFlow {}).model(&fabric, 1, 0);
    let mut stream = Stream::new(1, 0, Purpose::FiveTuple, 1);
    let random: Vec<u32> = (0..40_000).map(|_| stream.bits() as u32).collect();
    for at in 0..nodes as u32 {
        for ways in [2, 3, 4, 16] {
            let seen = choices(&mut model, at, random.iter().copied(), ways);
            assert!(chi_square(&seen) < quantile(ways), "random labels at node {at}: {seen:?}");
            let seen = choices(&mut model, at, 0..40_000, ways);
            assert!(chi_square(&seen) < quantile(ways), "labels in a row at node {at}: {seen:?}");
        }
    }
    for (first, second) in [(0, 1), (1, 2), (3, 6)] {
        let mut seen = vec![0; 16];
        for &label in &random {
            let choose = |model: &mut Model, at| model.choose(hop(NodeId(at), label, 4), Time::ZERO);
            let pair = choose(&mut model, first) * 4 + choose(&mut model, second);
            seen[pair as usize] += 1;
        }
        assert!(chi_square(&seen) < quantile(16), "nodes {first} and {second}: {seen:?}");
    }
}

/// Sprayed packets are spread evenly too, and "single" is always the first way.
#[test]
fn spraying_is_even() {
    let run = one_flow(8, "per-packet", 20_000, 1);
    let up = to_the_core(&run);
    assert_eq!((up.len(), up.iter().sum::<u64>()), (16, 20_000));
    assert!(chi_square(&up) < quantile(16), "{up:?}");
    let mut single = Balancer::from(Single {}).model(&FatTree::default().build(), 1, 0);
    assert_eq!(choices(&mut single, 3, 0..100, 4), [100, 0, 0, 0]);
}

/// Hosts with several ports: "single" always takes the same first link, "per-flow" about every one as often.
#[test]
fn the_first_hop_is_balanced_too() {
    let used = |balancer: &str| {
        let run = common::run(&format!(
            r#"
            topology.bcube = {{ n = 4, k = 1 }}
            transport = "datagram"
            routing.balancer = "{balancer}"
            [[traffic]]
            name = "flows"
            arrivals.poisson = {{ load = 0.01 }}
            matrix.pairs = [[0, 5], [0, 10], [0, 15], [0, 7]]
            sizes.fixed = "1000B"
            flows = 400
            "#
        ));
        ["level 0 switch 0", "level 1 switch 0"].map(|switch| run.link("host 0", switch, "packets"))
    };
    assert_eq!(used("single"), [400, 0]);
    for balancer in ["per-flow", "per-packet"] {
        // 4 standard deviations of 400 fair coins.
        assert!(used(balancer).iter().all(|&packets| (160..=240).contains(&packets)), "{:?}", used(balancer));
    }
}
