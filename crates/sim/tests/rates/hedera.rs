//! Hedera's estimator against the paper's example and water-filling; its placements against brute force.

use std::collections::BTreeSet;

use flowyard_sim::controller::rates::hedera::{Annealing, Flow, Hedera, HostPlace, estimate, first_fit};
use flowyard_sim::controller::rates::max_min::WaterFilling;
use flowyard_sim::controller::rates::paths::Paths;
use flowyard_sim::random::Stream;

use super::stream;

fn flow(source: u32, destination: u32) -> Flow {
    Flow { source, destination, demand: 0.0 }
}

/// The paper's four hosts: 0 sends to each other one, 1 twice to 0 and once to 2, 2 to 0 and 3, 3 twice to 1. Three flows share
/// the links into 0 and 1; what 2 cannot send to 0, it sends to 3.
#[test]
fn demands_of_the_example() {
    let pairs = [(0, 1), (0, 2), (0, 3), (1, 0), (1, 0), (1, 2), (2, 0), (2, 3), (3, 1), (3, 1)];
    let mut flows = pairs.map(|(source, destination)| flow(source, destination));
    estimate(&mut flows, 4);
    for flow in flows {
        let expected = if (flow.source, flow.destination) == (2, 3) { 2.0 / 3.0 } else { 1.0 / 3.0 };
        assert!((flow.demand - expected).abs() < 1e-9, "{flow:?}");
    }
}

/// Natural demands are max-min fair on the hosts' links.
#[test]
fn demands_are_max_min_fair() {
    let mut draws = stream(31);
    let mut filling = WaterFilling::default();
    for _ in 0..500 {
        let hosts = 2 + draws.below(12) as usize;
        let mut flows = Vec::new();
        let mut paths = Paths::default();
        for _ in 0..1 + draws.below(40) {
            let source = draws.below(hosts as u64) as u32;
            let destination = (source + 1 + draws.below(hosts as u64 - 1) as u32) % hosts as u32;
            flows.push(flow(source, destination));
            paths.push(&[source, hosts as u32 + destination]);
        }
        estimate(&mut flows, hosts);
        let rates = filling.fill(&vec![1.0; 2 * hosts], &paths, &vec![1.0; flows.len()]);
        for (flow, rate) in flows.iter().zip(rates) {
            assert!((flow.demand - rate).abs() < 1e-6, "{flow:?} for {rate}: {flows:?}");
        }
    }
}

/// Pods of two hosts and a switch each, which has one link to each core and one from it.
struct Net {
    pods: u32,
    cores: u32,
}

impl Net {
    fn links(&self) -> usize {
        (2 * self.pods * self.cores) as usize
    }

    fn candidates(&self, flow: &Flow) -> Paths {
        let (from, to) = (flow.source / 2, flow.destination / 2);
        let mut paths = Paths::default();
        for core in 0..self.cores {
            let links = [from * self.cores + core, (self.pods + to) * self.cores + core];
            paths.push(if from == to { &[] } else { &links });
        }
        paths
    }

    fn flows(&self, draws: &mut Stream) -> Vec<Flow> {
        let hosts = u64::from(2 * self.pods);
        let one = |_| {
            let source = draws.below(hosts) as u32;
            let destination = (source + 1 + draws.below(hosts - 1) as u32) % hosts as u32;
            Flow { source, destination, demand: 0.1 + 0.9 * draws.unit() }
        };
        (0..2 + hosts).map(one).collect()
    }
}

/// Each flow takes the first path with room, one without has none, and no link holds more than it can.
#[test]
fn first_fit_takes_the_first_path_with_room() {
    let mut draws = stream(32);
    let net = Net { pods: 3, cores: 3 };
    let mut stayed = 0;
    for _ in 0..200 {
        let flows = net.flows(&mut draws);
        let candidates: Vec<Paths> = flows.iter().map(|flow| net.candidates(flow)).collect();
        let mut left = vec![1.0; net.links()];
        let placed = first_fit(&flows, &candidates, &vec![None; flows.len()], &mut left);
        let mut taken = vec![0.0; net.links()];
        for ((flow, paths), path) in flows.iter().zip(&candidates).zip(&placed) {
            let fits = |path: usize| {
                paths.links(path).iter().all(|&link| taken[link as usize] + flow.demand <= 1.0 + 1e-9)
            };
            assert!((0..path.unwrap_or(paths.len())).all(|earlier| !fits(earlier)));
            stayed += usize::from(path.is_none());
            if let Some(path) = *path {
                assert!(fits(path));
                paths.links(path).iter().for_each(|&link| taken[link as usize] += flow.demand);
            }
        }
        assert!(taken.iter().zip(&left).all(|(taken, left)| (taken + left - 1.0).abs() < 1e-9));
        // No flow moves without need.
        let again = first_fit(&flows, &candidates, &placed, &mut vec![1.0; net.links()]);
        assert_eq!(again, placed);
    }
    assert!(stayed > 0, "some find no room");
}

/// By how much links are exceeded with these cores.
fn energy(net: &Net, flows: &[Flow], cores: &[u32]) -> f64 {
    let mut loads = vec![0.0; net.links()];
    for flow in flows {
        let paths = net.candidates(flow);
        for &link in paths.links(cores[flow.destination as usize] as usize) {
            loads[link as usize] += flow.demand;
        }
    }
    loads.iter().map(|load| (load - 1.0f64).max(0.0)).sum()
}

/// All orders of the cores that hosts begin with, of which exchanges make any.
fn orders(cores: &mut Vec<u32>, from: usize, all: &mut BTreeSet<Vec<u32>>) {
    if from == cores.len() {
        all.insert(cores.clone());
    }
    for other in from..cores.len() {
        cores.swap(from, other);
        orders(cores, from + 1, all);
        cores.swap(from, other);
    }
}

#[test]
fn annealing_finds_the_least_energy() {
    let mut draws = stream(33);
    for (pods, cores) in [(2, 2), (3, 2), (3, 3)] {
        let net = Net { pods, cores };
        let places: Vec<HostPlace> =
            (0..2 * pods).map(|host| HostPlace { edge: host / 2, pod: host / 2 }).collect();
        let mut all = BTreeSet::new();
        orders(&mut (0..2 * pods).map(|host| host % cores).collect(), 0, &mut all);
        for _ in 0..30 {
            let mut annealing = Annealing::new(&places, cores);
            let flows = net.flows(&mut draws);
            let candidates: Vec<Paths> = flows.iter().map(|flow| net.candidates(flow)).collect();
            let found = annealing.search(
                &Hedera::default(),
                &flows,
                &candidates,
                &vec![1.0; net.links()],
                &mut draws,
            );
            let chosen: Vec<u32> = (0..2 * pods).map(|host| annealing.core(host)).collect();
            assert!((energy(&net, &flows, &chosen) - found).abs() < 1e-9, "{found} of {chosen:?}");
            let least = all.iter().map(|cores| energy(&net, &flows, cores)).fold(f64::INFINITY, f64::min);
            assert!((found - least).abs() < 1e-9, "{found} for {least}");
        }
    }
}
