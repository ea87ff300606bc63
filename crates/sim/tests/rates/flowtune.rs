//! Flowtune's prices against closed forms and against the conditions of an optimum.

use flowyard_sim::controller::rates::flowtune::{Allocator, Flowtune, RateNormaliser};

use super::stream;

/// Without headroom, so that closed forms are of whole links.
fn whole() -> Flowtune {
    Flowtune { headroom: 0.0, ..Flowtune::default() }
}

fn converged(config: Flowtune, capacities: &[f64], flows: &[(&[u32], f64)]) -> Allocator {
    let mut allocator = Allocator::new(config, capacities);
    for (number, &(links, weight)) in flows.iter().enumerate() {
        allocator.start(number as u32, links, weight);
    }
    for _ in 0..2000 {
        allocator.iterate();
    }
    allocator
}

#[test]
fn one_link_is_shared_by_weight() {
    let allocator = converged(whole(), &[2.0], &[(&[0], 1.0), (&[0], 2.0), (&[0], 5.0)]);
    for (number, expected) in [0.25, 0.5, 1.25].into_iter().enumerate() {
        assert!((allocator.rate(number as u32) - expected).abs() < 1e-9);
    }
    assert!((allocator.price(0) - 4.0).abs() < 1e-9, "the weights over the capacity");
    let allocator = converged(Flowtune::default(), &[2.0], &[(&[0], 1.0)]);
    assert!((allocator.rate(0) - 1.98).abs() < 1e-9, "1 % of the link stays free");
}

/// From price 2 on, weights 1 and 2 want 1.5 of 4, and would want 0.75 less at a price higher by 1: the step is 0.4 * -2.5 / 0.75.
#[test]
fn a_step_is_a_share_of_newtons() {
    let mut allocator = Allocator::new(Flowtune { initial_price: 2.0, ..whole() }, &[4.0]);
    allocator.start(0, &[0], 1.0);
    allocator.start(1, &[0], 2.0);
    allocator.iterate();
    assert!((allocator.price(0) - 2.0 / 3.0).abs() < 1e-12, "{}", allocator.price(0));
}

/// A long flow over n links of capacity 1, with a short one on each: the long one gets 1 / (n + 1), each price is (n + 1) / n.
#[test]
fn parking_lot() {
    for normaliser in [RateNormaliser::PerFlow, RateNormaliser::Uniform, RateNormaliser::None] {
        for links in 1..=6u32 {
            let path: Vec<u32> = (0..links).collect();
            let mut flows: Vec<(&[u32], f64)> = vec![(&path, 1.0)];
            flows.extend(path.chunks(1).map(|link| (link, 1.0)));
            let allocator = converged(Flowtune { normaliser, ..whole() }, &vec![1.0; links as usize], &flows);
            let n = f64::from(links);
            assert!((allocator.rate(0) - 1.0 / (n + 1.0)).abs() < 1e-6, "{}", allocator.rate(0));
            for link in 0..links {
                assert!((allocator.rate(1 + link) - n / (n + 1.0)).abs() < 1e-6);
                assert!((allocator.price(link) - (n + 1.0) / n).abs() < 1e-6);
            }
        }
    }
}

/// Rates are an optimum if they fit, no link with a price has room, and each is the weight over the path's prices, or the slowest
/// link's capacity if that is less (Karush, Kuhn and Tucker: utilities are concave).
#[test]
fn random_networks_converge_to_an_optimum() {
    let mut draws = stream(21);
    for _ in 0..200 {
        let links = 2 + draws.below(6) as usize;
        let capacities: Vec<f64> =
            (0..links).map(|_| if draws.coin() { 1.0 } else { 0.5 + draws.unit() }).collect();
        let paths: Vec<(Vec<u32>, f64)> = (0..1 + draws.below(10))
            .map(|_| {
                let mut path: Vec<u32> = (0..links as u32).collect();
                draws.shuffle(&mut path);
                path.truncate(1 + draws.below(links.min(4) as u64) as usize);
                (path, 0.5 + draws.unit())
            })
            .collect();
        let flows: Vec<(&[u32], f64)> =
            paths.iter().map(|(path, weight)| (path.as_slice(), *weight)).collect();
        let config = Flowtune { normaliser: RateNormaliser::None, ..whole() };
        let allocator = converged(config, &capacities, &flows);
        let mut loads = vec![0.0; links];
        for (number, (path, weight)) in paths.iter().enumerate() {
            let rate = allocator.rate(number as u32);
            let price: f64 = path.iter().map(|&link| allocator.price(link)).sum();
            let slowest = path.iter().map(|&link| capacities[link as usize]).fold(f64::INFINITY, f64::min);
            let alone = (rate - slowest).abs() < 1e-9 && rate * price < *weight;
            assert!(alone || (rate * price - weight).abs() < 1e-5, "{rate} at {price}");
            path.iter().for_each(|&link| loads[link as usize] += rate);
        }
        for (link, (load, capacity)) in loads.iter().zip(&capacities).enumerate() {
            assert!(load - capacity < 1e-5, "{load} on {capacity}");
            // A link without flows keeps its price: no one pays it.
            assert!(*load == 0.0 || allocator.price(link as u32) * (capacity - load) < 1e-5);
        }
    }
}

/// Flows come and go: whatever the prices, normalised rates fit; and by the uniform one, some link is full.
#[test]
fn normalised_rates_always_fit() {
    let mut draws = stream(22);
    for normaliser in [RateNormaliser::PerFlow, RateNormaliser::Uniform] {
        let capacities = [1.0, 1.0, 0.5, 2.0, 1.0];
        let mut allocator = Allocator::new(Flowtune { normaliser, ..whole() }, &capacities);
        let mut flows: Vec<Option<Vec<u32>>> = vec![None; 12];
        for _ in 0..2000 {
            let number = draws.below(12) as usize;
            match flows[number].take() {
                Some(_) => allocator.end(number as u32),
                None => {
                    let mut path = vec![0, 1, 2, 3, 4];
                    draws.shuffle(&mut path);
                    path.truncate(1 + draws.below(3) as usize);
                    allocator.start(number as u32, &path, 0.1 + draws.unit());
                    flows[number] = Some(path);
                }
            }
            allocator.iterate();
            let mut shares = [0.0; 5];
            for (number, path) in flows.iter().enumerate() {
                for &link in path.iter().flatten() {
                    shares[link as usize] += allocator.rate(number as u32) / capacities[link as usize];
                }
            }
            let most = shares.into_iter().fold(0.0, f64::max);
            assert!(most <= 1.0 + 1e-9, "{most}");
            let any = flows.iter().any(Option::is_some);
            assert!(normaliser == RateNormaliser::PerFlow || !any || most >= 1.0 - 1e-9, "{most}");
        }
    }
}

/// The flows that are notified of their rate after an iteration.
fn told(allocator: &mut Allocator) -> Vec<u32> {
    allocator.iterate().iter().map(|(flow, _)| *flow).collect()
}

#[test]
fn flows_hear_of_changes_above_the_threshold() {
    let mut allocator = Allocator::new(Flowtune { normaliser: RateNormaliser::Uniform, ..whole() }, &[1.0]);
    allocator.start(0, &[0], 1.0);
    assert_eq!(told(&mut allocator), [0], "a new flow");
    assert!(allocator.iterate().is_empty());
    allocator.start(1, &[0], 0.005);
    assert_eq!(told(&mut allocator), [1], "the other loses half a per cent");
    allocator.end(1);
    allocator.start(1, &[0], 0.5);
    assert_eq!(told(&mut allocator), [0, 1]);
    allocator.end(1);
    assert_eq!(told(&mut allocator), [0]);
    assert_eq!(allocator.rate(0), 1.0);
}
