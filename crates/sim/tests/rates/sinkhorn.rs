//! Renormalisation against a literal version of the procedure, the linear program, and known properties of
//! its limit.

use flowyard_sim::controller::rates::matrix::{Entry, Offered, Procedure};
use flowyard_sim::controller::rates::sinkhorn::{Normaliser, Scaling, Sinkhorn};
use flowyard_sim::random::Stream;
use proptest::prelude::*;

use super::{matching, stream};

/// A matrix from (source, destination, offered rate), with priority 1 and a drawn order.
fn matrix(hosts: usize, entries: &[(u16, u16, f64)]) -> Offered {
    let mut offered = Offered::new(hosts);
    let mut draws = stream(7);
    for &(source, destination, rate) in entries {
        insert(&mut offered, source, destination, rate, 1.0, &mut draws);
    }
    offered
}

fn insert(
    offered: &mut Offered,
    source: u16,
    destination: u16,
    rate: f64,
    priority: f64,
    draws: &mut Stream,
) {
    let queue = u32::from(source) << 16 | u32::from(destination);
    let order = draws.bits() as u32;
    let entry = Entry { order, queue, offered: rate, scaled: rate * priority, rate: 0.0 };
    offered.insert(source, destination, entry);
}

/// A matrix of so many hosts, each entry present at random; all rates 1, or uniform.
fn random(hosts: usize, density: f64, even: bool, draws: &mut Stream) -> Offered {
    let mut offered = Offered::new(hosts);
    for source in 0..hosts as u16 {
        for destination in (0..hosts as u16).filter(|&destination| destination != source) {
            if draws.unit() < density {
                let rate = if even { 1.0 } else { 1.0 - draws.unit() };
                insert(&mut offered, source, destination, rate, 1.0, draws);
            }
        }
    }
    offered
}

/// A matrix without a zero, the diagonal included.
fn positive(hosts: usize, even: bool, draws: &mut Stream) -> Offered {
    let mut offered = random(hosts, 1.0, even, draws);
    for host in 0..hosts as u16 {
        let rate = if even { 1.0 } else { 1.0 - draws.unit() };
        insert(&mut offered, host, host, rate, 1.0, draws);
    }
    offered
}

fn normalise(config: &Sinkhorn, hosts: usize, offered: &mut Offered) {
    offered.change_all();
    Normaliser::new(config.clone(), hosts).update(offered);
}

fn rate(offered: &Offered, source: u16, destination: u16) -> f64 {
    offered.entry(source, destination).expect("an entry").rate
}

fn all(offered: &Offered, hosts: usize) -> Vec<(u16, u16, Entry)> {
    let mut entries = Vec::new();
    for source in 0..hosts as u16 {
        let row = offered.row(source);
        entries.extend(row.destinations.iter().zip(&row.entries).map(|(&to, &entry)| (source, to, entry)));
    }
    entries
}

/// Sums of rows and of columns.
fn sums(offered: &Offered, hosts: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut rows, mut columns) = (vec![0.0; hosts], vec![0.0; hosts]);
    for (source, destination, entry) in all(offered, hosts) {
        rows[usize::from(source)] += entry.rate;
        columns[usize::from(destination)] += entry.rate;
    }
    (rows, columns)
}

/// The procedure as the register of claims has it, step by step on the whole matrix.
fn as_it_reads(config: &Sinkhorn, offered: &Offered, hosts: usize) -> Vec<f64> {
    let entries = all(offered, hosts);
    let down = config.cap_by_offered || config.scaling == Scaling::Down;
    let mut rates: Vec<f64> = entries.iter().map(|(_, _, entry)| entry.scaled).collect();
    let sums = |rates: &[f64], columns: bool| {
        let mut sums = vec![0.0; hosts];
        for (&(source, destination, _), rate) in entries.iter().zip(rates) {
            sums[usize::from(if columns { destination } else { source })] += rate;
        }
        let of_entry = |&(source, destination, _): &(u16, u16, Entry)| {
            sums[usize::from(if columns { destination } else { source })]
        };
        entries.iter().map(of_entry).collect::<Vec<f64>>()
    };
    for _ in 0..config.rounds {
        for columns in [false, true] {
            let sums = sums(&rates, columns);
            for (rate, sum) in rates.iter_mut().zip(sums) {
                *rate /= if down { sum.max(1.0) } else { sum };
            }
        }
    }
    let (rows, columns) = (sums(&rates, false), sums(&rates, true));
    for (number, rate) in rates.iter_mut().enumerate() {
        *rate /= rows[number].max(columns[number]).max(1.0);
        if config.cap_by_offered {
            *rate = rate.min(entries[number].2.offered);
        }
    }
    if config.fill {
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by_key(|&number| (entries[number].2.order, entries[number].2.queue));
        for number in order {
            let most = if config.cap_by_offered { entries[number].2.offered - rates[number] } else { 1.0 };
            let slack = (1.0 - sums(&rates, false)[number]).min(1.0 - sums(&rates, true)[number]).min(most);
            if slack > 1e-6 {
                rates[number] += slack;
            }
        }
    }
    rates
}

#[test]
fn incast_is_divided_equally() {
    let mut offered = matrix(4, &[(1, 0, 1.0), (2, 0, 1.0), (3, 0, 1.0)]);
    normalise(&Sinkhorn::default(), 4, &mut offered);
    for source in 1..4 {
        assert!((rate(&offered, source, 0) - 1.0 / 3.0).abs() < 1e-12);
    }
}

/// Pairs (0, 1), (0, 2), (1, 2), (2, 0), (3, 0): a maximum matching has (0, 1) and (1, 2), so that (0, 2) goes towards 0.
/// By hand, a round maps w02 = x to x / (1 + 2 x), from 1/3 after the first to 1/41 after the 20th, while w01 is 1 and w12 is
/// 1 - x. The last division makes 41/42 and 1/42 of row 0, and the fill raises w12 by what that leaves of column 2.
#[test]
fn sparse_support_starves_what_is_in_no_maximum_matching() {
    let entries = [(0, 1, 1.0), (0, 2, 1.0), (1, 2, 1.0), (2, 0, 1.0), (3, 0, 1.0)];
    let mut offered = matrix(4, &entries);
    normalise(&Sinkhorn::default(), 4, &mut offered);
    let expected = [41.0 / 42.0, 1.0 / 42.0, 41.0 / 42.0, 0.5, 0.5];
    for ((source, destination, _), expected) in entries.into_iter().zip(expected) {
        assert!((rate(&offered, source, destination) - expected).abs() < 1e-9, "{source} to {destination}");
    }
    let fair = Sinkhorn { rounds: 1, cap_by_offered: true, fill: false, ..Sinkhorn::default() };
    normalise(&fair, 4, &mut offered);
    for ((source, destination, _), expected) in entries.into_iter().zip([0.5, 1.0 / 3.0, 2.0 / 3.0, 0.5, 0.5])
    {
        assert!((rate(&offered, source, destination) - expected).abs() < 1e-12, "{source} to {destination}");
    }
}

/// All hosts send to host 0, and host 0 to all: factors grow 2000-fold a round, and 60 rounds are the most.
#[test]
fn factors_stay_finite() {
    let hosts = 2000;
    let mut entries: Vec<(u16, u16, f64)> = (1..hosts as u16).map(|host| (host, 0, 1e-6)).collect();
    entries.extend((1..hosts as u16).map(|host| (0, host, 1.0)));
    entries.push((1, 2, 1.0));
    let mut offered = matrix(hosts, &entries);
    normalise(&Sinkhorn { rounds: 60, ..Sinkhorn::default() }, hosts, &mut offered);
    let (rows, columns) = sums(&offered, hosts);
    assert!((rows[0] - 1.0).abs() < 1e-9 && (columns[0] - 1.0).abs() < 1e-9);
    assert!((rate(&offered, 1, 2) - 1.0).abs() < 1e-3, "in every maximum matching");
    assert!(rows.iter().chain(&columns).all(|sum| *sum <= 1.0 + 1e-12));
}

fn configs() -> impl Strategy<Value = Sinkhorn> {
    (1u32..=60, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(rounds, fill, down, cap_by_offered)| {
            let scaling = if down { Scaling::Down } else { Scaling::Both };
            Sinkhorn { rounds, fill, scaling, cap_by_offered, ..Sinkhorn::default() }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// Entries come, go and change; after each step all rates are those of the whole procedure.
    #[test]
    fn updates_by_parts_equal_the_whole(
        config in configs(), hosts in 2usize..24, even in any::<bool>(), density in 0.02..0.5f64, seed in any::<u64>(),
    ) {
        let mut draws = stream(seed);
        let mut offered = random(hosts, density, even, &mut draws);
        let mut normaliser = Normaliser::new(config.clone(), hosts);
        for _ in 0..40 {
            let source = draws.below(hosts as u64) as u16;
            let destination = draws.below(hosts as u64) as u16;
            let rate = if even { 1.0 } else { 1.0 - draws.unit() };
            let before = offered.clone();
            if offered.entry(source, destination).is_none() {
                insert(&mut offered, source, destination, rate, 1.0, &mut draws);
            } else if draws.coin() {
                offered.remove(source, destination);
            } else {
                offered.set(source, destination, rate, rate);
            }
            let updated = normaliser.update(&mut offered).to_vec();
            let expected = as_it_reads(&config, &offered, hosts);
            for ((from, to, entry), expected) in all(&offered, hosts).into_iter().zip(expected) {
                prop_assert!((entry.rate - expected).abs() < 1e-9, "{} to {}: {} for {}", from, to, entry.rate, expected);
                if !updated.contains(&from) {
                    prop_assert_eq!(Some(&entry), before.entry(from, to));
                }
            }
            let mut whole = offered.clone();
            normalise(&config, hosts, &mut whole);
            prop_assert_eq!(all(&whole, hosts), all(&offered, hosts), "to the bit");
        }
    }

    /// SYN-P4, and after the fill no queue can be raised any more.
    #[test]
    fn no_sum_exceeds_one(config in configs(), hosts in 2usize..60, even in any::<bool>(), density in 0.01..1.0f64, seed in any::<u64>()) {
        let mut offered = random(hosts, density, even, &mut stream(seed));
        normalise(&config, hosts, &mut offered);
        let (rows, columns) = sums(&offered, hosts);
        for sum in rows.iter().chain(&columns) {
            prop_assert!(*sum <= 1.0 + 1e-12, "{}", sum);
        }
        for (source, destination, entry) in all(&offered, hosts) {
            prop_assert!(entry.rate >= 0.0);
            let slack = (1.0 - rows[usize::from(source)]).min(1.0 - columns[usize::from(destination)]);
            let slack = if config.cap_by_offered { slack.min(entry.offered - entry.rate) } else { slack };
            prop_assert!(!config.fill || slack <= 1e-6 + 1e-12);
            prop_assert!(!config.cap_by_offered || entry.rate <= entry.offered + 1e-12);
        }
    }

    /// The least rate holds wherever rows and columns can spare it, as those of at most 39 entries can spare 0.01 for each.
    #[test]
    fn guard_leaves_no_queue_without_a_rate(hosts in 2usize..40, density in 0.02..1.0f64, seed in any::<u64>()) {
        let config = Sinkhorn { guard: 0.01, ..Sinkhorn::default() };
        let mut offered = random(hosts, density, true, &mut stream(seed));
        normalise(&config, hosts, &mut offered);
        let (rows, columns) = sums(&offered, hosts);
        for sum in rows.iter().chain(&columns) {
            prop_assert!(*sum <= 1.0 + 1e-12, "{}", sum);
        }
        for (source, destination, entry) in all(&offered, hosts) {
            prop_assert!(entry.rate >= 0.01 - 1e-12, "{} to {}: {}", source, destination, entry.rate);
        }
    }
}

/// 129 senders to one host have less than the least rate each, and none can spare any: all keep what they have.
#[test]
fn guard_takes_nothing_that_is_not_there() {
    let entries: Vec<(u16, u16, f64)> = (1..130).map(|source| (source, 0, 1.0)).collect();
    let mut offered = matrix(130, &entries);
    normalise(&Sinkhorn { guard: 0.01, ..Sinkhorn::default() }, 130, &mut offered);
    for (source, destination, _) in entries {
        assert!((rate(&offered, source, destination) - 1.0 / 129.0).abs() < 1e-9);
    }
}

/// The sum of rates as a share of the highest there is.
fn share_of_optimum(config: &Sinkhorn, offered: &mut Offered, hosts: usize) -> f64 {
    normalise(config, hosts, offered);
    let destinations: Vec<Vec<u16>> =
        (0..hosts as u16).map(|source| offered.row(source).destinations.clone()).collect();
    sums(offered, hosts).0.iter().sum::<f64>() / matching::size(&destinations, hosts) as f64
}

/// SYN-P5 on 1000 random R of 8 to 120 hosts, 1 to 25 % dense, half of them of 0 and 1; what is reported is printed.
#[test]
fn sum_of_rates_is_near_the_optimum() {
    let mut draws = stream(1);
    let (mut least, mut total) = ([1.0f64; 2], [0.0; 2]);
    for number in 0..1000 {
        let even = number % 2 == 0;
        let hosts = 8 + draws.below(113) as usize;
        let density = 0.01 + 0.24 * draws.unit();
        let mut offered = random(hosts, density, even, &mut draws);
        if all(&offered, hosts).is_empty() {
            insert(&mut offered, 0, 1, 1.0, 1.0, &mut draws);
        }
        let share = share_of_optimum(&Sinkhorn::default(), &mut offered, hosts);
        assert!(share <= 1.0 + 1e-9, "the linear program has {share}");
        let kind = usize::from(even);
        least[kind] = least[kind].min(share);
        total[kind] += share / 500.0;
    }
    println!(
        "uniform: least {:.4}, mean {:.4}; 0 and 1: least {:.4}, mean {:.4}",
        least[0], total[0], least[1], total[1]
    );
    assert!(least[0] >= 0.95 && least[1] >= 0.97, "{least:?}");
}

/// SYN-P11: on a positive R, a class whose entries are doubled does not lose. The rates maximise the entropy of W relative to R
/// under fixed sums, and doubling adds log 2 times the class's rate to what is maximised.
#[test]
fn priorities_raise_the_rate_of_their_class() {
    let mut draws = stream(2);
    let config = Sinkhorn { rounds: 60, ..Sinkhorn::default() };
    for _ in 0..300 {
        let hosts = 3 + draws.below(10) as usize;
        let mut offered = positive(hosts, false, &mut draws);
        let entries = all(&offered, hosts);
        let class: Vec<bool> = entries.iter().map(|_| draws.below(3) == 0).collect();
        let of_class = |offered: &Offered| -> f64 {
            all(offered, hosts)
                .iter()
                .zip(&class)
                .filter(|(_, of)| **of)
                .map(|((.., entry), _)| entry.rate)
                .sum()
        };
        normalise(&config, hosts, &mut offered);
        let before = of_class(&offered);
        for (&(source, destination, entry), _) in entries.iter().zip(&class).filter(|(_, of)| **of) {
            offered.set(source, destination, entry.offered, 2.0 * entry.scaled);
        }
        normalise(&config, hosts, &mut offered);
        assert!(of_class(&offered) >= before - 1e-9, "{} after {before}", of_class(&offered));
    }
}

/// The same of one queue, by the procedure with its 20 rounds and its fill. On a sparse R these stop short of the limit, and
/// the claim does not hold to the last digit: of 11,868 queues, on matrices that are 10 % or 25 % dense, four lose up to 2.6e-5.
#[test]
fn priority_raises_the_rate_of_one_queue() {
    let mut draws = stream(3);
    for number in 0..1000 {
        let hosts = 4 + draws.below(20) as usize;
        let mut offered = positive(hosts, number % 2 == 0, &mut draws);
        let (source, destination) = (draws.below(hosts as u64) as u16, draws.below(hosts as u64) as u16);
        normalise(&Sinkhorn::default(), hosts, &mut offered);
        let entry = *offered.entry(source, destination).expect("positive");
        offered.set(source, destination, entry.offered, 2.0 * entry.scaled);
        normalise(&Sinkhorn::default(), hosts, &mut offered);
        let after = rate(&offered, source, destination);
        assert!(after >= entry.rate - 1e-9, "{after} after {}", entry.rate);
    }
}

/// SYN-P12: for a positive R, log(w / r) is a sum of a row's term and a column's.
#[test]
fn positive_matrix_has_a_scaling_of_rank_one() {
    let mut draws = stream(4);
    for hosts in [2, 5, 20, 120] {
        let mut offered = positive(hosts, false, &mut draws);
        normalise(&Sinkhorn { rounds: 60, ..Sinkhorn::default() }, hosts, &mut offered);
        let (rows, columns) = sums(&offered, hosts);
        for sum in rows.iter().chain(&columns) {
            assert!((sum - 1.0).abs() < 1e-9, "doubly stochastic: {sum}");
        }
        let log = |source: usize, destination: usize| {
            let entry = offered.entry(source as u16, destination as u16).expect("positive");
            (entry.rate / entry.offered).ln()
        };
        for source in 0..hosts {
            for destination in 0..hosts {
                let residual = log(source, destination) - log(source, 0) - log(0, destination) + log(0, 0);
                assert!(residual.abs() <= 1e-9, "{residual}");
            }
        }
    }
}
