//! Water-filling against bisection by the definition of max-min fairness.

use flowyard_sim::controller::rates::matrix::{Entry, Offered, Procedure};
use flowyard_sim::controller::rates::max_min::{FairRates, MaxMin, WaterFilling};
use flowyard_sim::controller::rates::paths::Paths;

use super::stream;

fn paths(all: &[&[u32]]) -> Paths {
    let mut paths = Paths::default();
    all.iter().for_each(|links| paths.push(links));
    paths
}

fn close(left: &[f64], right: &[f64], tolerance: f64) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| (left - right).abs() <= tolerance)
}

/// All rates rise together, by weight, until some link is full: its flows stay, and the others go on.
fn by_bisection(capacities: &[f64], paths: &Paths, weights: &[f64]) -> Vec<f64> {
    let mut rates: Vec<Option<f64>> = vec![None; paths.len()];
    while rates.iter().any(Option::is_none) {
        let at = |level: f64| {
            (0..paths.len()).map(|flow| rates[flow].unwrap_or(level * weights[flow])).collect::<Vec<f64>>()
        };
        let room = |rates: &[f64], link: usize| {
            let load: f64 =
                (0..paths.len()).filter(|&f| paths.links(f).contains(&(link as u32))).map(|f| rates[f]).sum();
            capacities[link] - load
        };
        let (mut low, mut high) = (0.0, 1e6);
        for _ in 0..100 {
            let level = (low + high) / 2.0;
            let fits = (0..capacities.len()).all(|link| room(&at(level), link) >= -1e-12);
            if fits { low = level } else { high = level }
        }
        let full: Vec<bool> = (0..capacities.len()).map(|link| room(&at(low), link) < 1e-9).collect();
        let level = at(low);
        for flow in 0..paths.len() {
            if paths.links(flow).iter().any(|&link| full[link as usize]) {
                rates[flow] = rates[flow].or(Some(level[flow]));
            }
        }
    }
    rates.into_iter().flatten().collect()
}

/// The example of Bertsekas and Gallager's section, with what follows by hand.
#[test]
fn a_line_of_links() {
    // Link 0 has three flows and 1/3 for each; the one that goes on leaves 2/3 of link 1 to the fourth; link 2 is its fifth's.
    let paths = paths(&[&[0], &[0], &[0, 1], &[1], &[2]]);
    let mut filling = WaterFilling::default();
    let rates = filling.fill(&[1.0, 1.0, 1.0], &paths, &[1.0; 5]);
    assert!(close(rates, &[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0, 1.0], 1e-12), "{rates:?}");
    let rates = filling.fill(&[1.0, 1.0, 1.0], &paths, &[1.0, 1.0, 2.0, 1.0, 1.0]);
    assert!(close(rates, &[0.25, 0.25, 0.5, 0.5, 1.0], 1e-12), "{rates:?}");
}

#[test]
fn random_networks() {
    let mut draws = stream(11);
    let mut filling = WaterFilling::default();
    for _ in 0..300 {
        let links = 1 + draws.below(8) as usize;
        let capacities: Vec<f64> = (0..links).map(|_| 0.1 + draws.unit()).collect();
        let mut paths = Paths::default();
        let mut weights = Vec::new();
        for _ in 0..draws.below(12) + 1 {
            let mut path: Vec<u32> = (0..links as u32).collect();
            draws.shuffle(&mut path);
            paths.push(&path[..1 + draws.below(links.min(4) as u64) as usize]);
            weights.push(if draws.coin() { 1.0 } else { 0.5 + draws.unit() });
        }
        let rates = filling.fill(&capacities, &paths, &weights);
        let expected = by_bisection(&capacities, &paths, &weights);
        assert!(close(rates, &expected, 1e-7), "{rates:?} for {expected:?}");
    }
}

/// Entries come and go; rates are those of the whole matrix, with and without the caps.
#[test]
fn matrix_by_parts_equals_the_whole() {
    let mut draws = stream(12);
    for round in 0..60 {
        let config = MaxMin { cap_by_offered: round % 2 == 0, ..MaxMin::default() };
        let hosts = 2 + draws.below(10) as usize;
        let mut offered = Offered::new(hosts);
        let mut fair = FairRates::new(config.clone(), hosts);
        for _ in 0..30 {
            let (source, destination) = (draws.below(hosts as u64) as u16, draws.below(hosts as u64) as u16);
            if offered.remove(source, destination).is_none() {
                let rate = 1.0 - draws.unit();
                let priority = if draws.coin() { 1.0 } else { 2.0 };
                let entry = Entry { order: 0, queue: 0, offered: rate, scaled: rate * priority, rate: 0.0 };
                offered.insert(source, destination, entry);
            }
            fair.update(&mut offered);
            let mut capacities = vec![1.0; 2 * hosts];
            let (mut paths, mut weights, mut rates) = (Paths::default(), Vec::new(), Vec::new());
            for source in 0..hosts {
                let row = offered.row(source as u16);
                for (entry, &destination) in row.entries.iter().zip(&row.destinations) {
                    let own = capacities.len() as u32;
                    capacities.push(if config.cap_by_offered { entry.offered } else { 2.0 });
                    paths.push(&[source as u32, hosts as u32 + u32::from(destination), own]);
                    weights.push(entry.scaled / entry.offered);
                    rates.push(entry.rate);
                }
            }
            let expected = by_bisection(&capacities, &paths, &weights);
            assert!(close(&rates, &expected, 1e-7), "{rates:?} for {expected:?}");
        }
    }
}
