//! Traffic against closed forms: gaps, sizes, pairs and loads; and its independence of other changes.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::statistics::{ks_p, look_equal};
use crate::entries::{self, Demand, entry, load, problems};
use flowyard_sim::ids::NodeId;
use flowyard_sim::problem::Problem;
use flowyard_sim::random::{Purpose, Stream};
use flowyard_sim::topology::fat_tree::FatTree;
use flowyard_sim::topology::single_switch::SingleSwitch;
use flowyard_sim::topology::{Fabric, Generator};
use flowyard_sim::traffic::arrivals::Arrivals;
use flowyard_sim::traffic::arrivals::at_once::AtOnce;
use flowyard_sim::traffic::arrivals::poisson::Poisson;
use flowyard_sim::traffic::arrivals::times::Times;
use flowyard_sim::traffic::matrix::Matrix;
use flowyard_sim::traffic::matrix::incast::{Incast, Receiver};
use flowyard_sim::traffic::matrix::pairs::Pairs;
use flowyard_sim::traffic::matrix::permutation::Permutation;
use flowyard_sim::traffic::matrix::stride::Stride;
use flowyard_sim::traffic::matrix::uniform::UniformMatrix;
use flowyard_sim::traffic::sizes::cdf::Cdf;
use flowyard_sim::traffic::sizes::exponential::Exponential;
use flowyard_sim::traffic::sizes::fixed::Fixed;
use flowyard_sim::traffic::sizes::uniform::UniformSizes;
use flowyard_sim::traffic::sizes::workloads::WebSearch;
use flowyard_sim::traffic::sizes::{Distribution, Sizes};
use flowyard_sim::traffic::{FLOWS_MAX, Flow};
use flowyard_sim::units::{Bytes, Time};

/// 128 hosts with ports of 10 Gbps.
fn fabric() -> Fabric {
    FatTree::default().build()
}

fn few_hosts(hosts: u32) -> Fabric {
    SingleSwitch { hosts, ..SingleSwitch::default() }.build()
}

/// The only entry's flows.
fn draw(entry: Demand, fabric: &Fabric) -> Vec<Flow> {
    let entries = [entry];
    assert_eq!(problems(&entries, fabric), []);
    entries::build(&entries, fabric, 1, 0).flows
}

fn pairs(flows: &[Flow]) -> Vec<(u32, u32)> {
    flows.iter().map(|flow| (flow.src.0, flow.dst.0)).collect()
}

#[test]
fn poisson_gaps_are_exponential() {
    let fabric = fabric();
    // 0.6 of 128 ports of 10 Gbps in flows of 100,000 bytes: 960,000 flows per second.
    let by_load = Demand { flows: Some(20_000), ..entry("flows", load(0.6), UniformMatrix {}) };
    let by_rate = Poisson { rate: Some(960_000.0), start: Time::from_us(7), ..Poisson::default() };
    let by_rate = Demand { flows: Some(20_000), ..entry("flows", by_rate, UniformMatrix {}) };
    for (entry, mut before) in [(by_load, Time::ZERO), (by_rate, Time::from_us(7))] {
        let flows = draw(entry, &fabric);
        let gap = |flow: &Flow| (flow.start - std::mem::replace(&mut before, flow.start)).seconds();
        let gaps: Vec<f64> = flows.iter().map(gap).collect();
        let p = ks_p(gaps, |gap| 1.0 - (-gap * 960_000.0).exp());
        assert!(p > 0.01, "p = {p}");
    }
}

#[test]
fn loads_are_met() {
    let fabric = fabric();
    let offered = |matrix: Matrix, sizes: Sizes| {
        let entry = Demand { sizes, flows: Some(40_000), ..entry("flows", load(0.6), matrix) };
        let traffic = entries::build(&[entry], &fabric, 1, 0);
        let bits: f64 = traffic.flows.iter().map(|flow| 8.0 * flow.size as f64).sum();
        let summary = traffic.entries.into_iter().next().unwrap();
        assert!((summary.offered_load.unwrap() - 0.6).abs() < 1e-12);
        let last = traffic.flows.last().unwrap().start.seconds();
        (summary.realised_load.unwrap(), bits / last / 10e9)
    };
    let close = |(realised, ports): (f64, f64), expected: f64| {
        assert!((realised - 0.6).abs() < 0.02, "{realised}");
        assert!((ports / expected / 0.6 - 1.0).abs() < 0.04, "{ports}");
    };
    // Over all ports; for incast over the receiver's; for a list over its sources'.
    close(offered(UniformMatrix {}.into(), WebSearch {}.into()), 128.0);
    close(
        offered(Incast { senders: 20, receiver: Receiver::Host(3) }.into(), Fixed(Bytes(1000)).into()),
        1.0,
    );
    close(offered(Pairs(vec![(0, 1), (0, 2), (5, 2)]).into(), Fixed(Bytes(1000)).into()), 2.0);

    let at_once = entries::build(&[entry("flows", AtOnce::default(), Permutation {})], &fabric, 1, 0);
    assert_eq!((at_once.entries[0].offered_load, at_once.entries[0].realised_load), (None, None));
    assert_eq!((at_once.entries[0].flows, at_once.entries[0].mean_size_bytes), (128, Some(100_000.0)));
}

#[test]
fn sizes_have_their_mean_and_quantiles() {
    // Each with its CDF, for continuous ones exact but for the rounding to whole bytes.
    type Case = (Sizes, f64, fn(f64) -> f64);
    fn web_search(x: f64) -> f64 {
        let points =
            [(0.0, 0.0), (1e4, 15.0), (2e4, 20.0), (3e4, 30.0), (5e4, 40.0), (8e4, 53.0), (2e5, 60.0)];
        let tail = [(1e6, 70.0), (2e6, 80.0), (5e6, 90.0), (1e7, 97.0), (3e7, 100.0)];
        let points = [&points[..], &tail].concat();
        let ends = points.windows(2).find(|ends| x <= ends[1].0).unwrap();
        let ((low, from), (high, to)) = (ends[0], ends[1]);
        (from + (to - from) * (x - low) / (high - low)) / 100.0
    }
    let exponential = Exponential { mean: Bytes(46_000_000), min: Bytes(0) };
    let uniform = UniformSizes { min: Bytes(2_000), max: Bytes(58_000_000) };
    let cases: [Case; 3] = [
        (WebSearch {}.into(), 1_711_250.0, web_search),
        (exponential.into(), 46_000_000.0, |x| 1.0 - (-x / 46e6).exp()),
        (uniform.into(), 29_001_000.0, |x| (x - 2e3) / (58e6 - 2e3)),
    ];
    for (sizes, mean, cdf) in cases {
        assert_eq!(sizes.mean(), mean);
        let mut stream = Stream::new(1, 0, Purpose::Sizes, 0);
        let draws: Vec<f64> = (0..100_000).map(|_| sizes.sample(&mut stream) as f64).collect();
        let n = draws.len() as f64;
        let sample_mean = draws.iter().sum::<f64>() / n;
        let variance = draws.iter().map(|x| (x - sample_mean).powi(2)).sum::<f64>() / n;
        assert!((sample_mean - mean).abs() < 3.0 * (variance / n).sqrt(), "{} {sample_mean}", sizes.name());
        let p = ks_p(draws, cdf);
        assert!(p > 0.01, "{} p = {p}", sizes.name());
    }
}

#[test]
fn a_floor_raises_the_mean_of_exponential_sizes() {
    let sizes = Exponential { mean: Bytes(20_000), min: Bytes(3_000) };
    let mut stream = Stream::new(1, 0, Purpose::Sizes, 0);
    let draws: Vec<u64> = (0..200_000).map(|_| sizes.sample(&mut stream)).collect();
    let floor = draws.iter().filter(|&&draw| draw == 3_000).count() as f64 / 2e5;
    assert_eq!(draws.iter().min(), Some(&3_000));
    assert!((floor - (1.0 - (-0.15f64).exp())).abs() < 0.003, "{floor}");
    assert!((sizes.mean() - (3_000.0 + 20_000.0 * (-0.15f64).exp())).abs() < 1e-6);
    assert!((draws.iter().sum::<u64>() as f64 / 2e5 / sizes.mean() - 1.0).abs() < 0.01);
}

#[test]
fn a_cdf_may_begin_with_a_share_and_may_step() {
    // 20 % have exactly 40 bytes, 65 % lie between 40 and 1499, 15 % have exactly 1500.
    let sizes = Cdf::of(vec![(40, 20.0), (1499, 85.0), (1500, 85.0), (1500, 100.0)]);
    assert_eq!(sizes.problems(), []);
    assert!((sizes.mean() - (0.2 * 40.0 + 0.65 * 769.5 + 0.15 * 1500.0)).abs() < 1e-9);
    let mut stream = Stream::new(1, 0, Purpose::Sizes, 0);
    let draws: Vec<u64> = (0..200_000).map(|_| sizes.sample(&mut stream)).collect();
    let share = |size| draws.iter().filter(|&&draw| draw == size).count() as f64 / 2e5;
    // Half a byte of the line next to 40 rounds to it.
    assert!((share(40) - 0.2 - 0.65 * 0.5 / 1459.0).abs() < 0.003);
    assert!((share(1500) - 0.15).abs() < 0.003);
    assert_eq!(Cdf::of(vec![(0, 100.0)]).sample(&mut stream), 1);
}

#[test]
fn permutations_have_no_fixed_point_and_change_by_round() {
    let fabric = fabric();
    let entry = Demand { flows: Some(3 * 128 + 10), ..entry("flows", load(0.5), Permutation {}) };
    let drawn = pairs(&draw(entry, &fabric));
    let rounds: Vec<&[(u32, u32)]> = drawn.chunks(128).collect();
    for round in &rounds {
        let senders: BTreeSet<u32> = round.iter().map(|pair| pair.0).collect();
        let receivers: BTreeSet<u32> = round.iter().map(|pair| pair.1).collect();
        assert_eq!((senders.len(), receivers.len()), (round.len(), round.len()));
        assert!(round.iter().all(|(src, dst)| src != dst));
    }
    let order = |round: usize| rounds[round].iter().map(|pair| pair.0).collect::<Vec<_>>();
    let partners = |round: usize| rounds[round].iter().copied().collect::<BTreeMap<_, _>>();
    assert!(order(0) != order(1) && order(1) != order(2));
    assert!(partners(0) != partners(1) && partners(1) != partners(2));
}

#[test]
fn every_derangement_is_equally_likely() {
    let entry = Demand { flows: Some(4 * 18_000), ..entry("flows", load(0.5), Permutation {}) };
    let mut counts: BTreeMap<BTreeMap<u32, u32>, u64> = BTreeMap::new();
    for round in pairs(&draw(entry, &few_hosts(4))).chunks(4) {
        *counts.entry(round.iter().copied().collect()).or_default() += 1;
    }
    assert_eq!(counts.len(), 9);
    assert!(look_equal(counts.values().copied()), "{counts:?}");
}

#[test]
fn uniform_pairs_are_equally_likely() {
    for poisson in [false, true] {
        let arrivals: Arrivals = if poisson { load(0.5).into() } else { AtOnce::default().into() };
        let entry = Demand { flows: Some(60_000), ..entry("flows", arrivals, UniformMatrix {}) };
        let mut counts: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let drawn = pairs(&draw(entry, &few_hosts(6)));
        drawn.iter().for_each(|&pair| *counts.entry(pair).or_default() += 1);
        assert!(counts.keys().all(|(src, dst)| src != dst));
        assert_eq!(counts.len(), 30);
        assert!(look_equal(counts.values().copied()), "{counts:?}");
    }
    // At once: one flow from each host.
    let drawn = pairs(&draw(entry("flows", AtOnce::default(), UniformMatrix {}), &fabric()));
    assert_eq!(drawn.iter().map(|pair| pair.0).collect::<BTreeSet<_>>().len(), 128);
}

#[test]
fn strides_incast_and_lists_are_what_they_say() {
    let still = AtOnce { at: Time::from_us(3), jitter: Some(Time::ZERO) };
    let flows = draw(entry("flows", still.clone(), Stride { by: vec![1, 3] }), &few_hosts(4));
    assert!(flows.iter().all(|flow| flow.start == Time::from_us(3)));
    assert_eq!(pairs(&flows), [(0, 1), (1, 2), (2, 3), (3, 0), (0, 3), (1, 0), (2, 1), (3, 2)]);

    let list = vec![(3, 1), (0, 2), (3, 1)];
    assert_eq!(pairs(&draw(entry("flows", still.clone(), Pairs(list.clone())), &few_hosts(4))), list);

    let incast = Incast { senders: 5, receiver: Receiver::Host(2) };
    let twice = Demand { flows: Some(10), ..entry("flows", still, incast.clone()) };
    let drawn = pairs(&draw(twice, &few_hosts(8)));
    let senders: BTreeSet<u32> = drawn.iter().map(|pair| pair.0).collect();
    assert_eq!(senders.len(), 5);
    assert!(!senders.contains(&2) && drawn.iter().all(|pair| pair.1 == 2));
    assert_eq!(drawn[..5], drawn[5..]);
    let poisson = Demand { flows: Some(10_000), ..entry("flows", load(0.5), incast) };
    let mut counts: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    pairs(&draw(poisson, &few_hosts(8))).iter().for_each(|&pair| *counts.entry(pair).or_default() += 1);
    assert!(counts.len() == 5 && look_equal(counts.values().copied()), "{counts:?}");

    let at = [5, 1, 3].map(Time::from_us).to_vec();
    let times = Times { at, jitter: Some(Time::ZERO) };
    let flows = draw(entry("flows", times, Pairs(vec![(0, 1), (1, 2)])), &few_hosts(4));
    let starts: Vec<_> = flows.iter().map(|flow| (flow.start.0 / 1_000_000, flow.src.0)).collect();
    assert_eq!(starts, [(1, 1), (3, 0), (5, 0)]);
}

#[test]
fn jitter_is_a_packet_time_unless_said() {
    let spread = |jitter: Option<Time>| {
        let arrivals = AtOnce { at: Time::from_us(5), jitter };
        let entry = Demand { flows: Some(12_800), ..entry("flows", arrivals, Permutation {}) };
        draw(entry, &fabric())
            .into_iter()
            .map(|flow| (flow.start - Time::from_us(5)).0 as f64)
            .collect::<Vec<_>>()
    };
    // 1500 B at 10 Gbps take 1.2 us.
    for (jitter, most) in [(None, 1.2e6), (Some(Time::from_us(50)), 50e6)] {
        let jitters = spread(jitter);
        assert!(jitters.iter().all(|&jitter| jitter <= most));
        let p = ks_p(jitters, |jitter| jitter / most);
        assert!(p > 0.01, "p = {p}");
    }
    assert!(spread(Some(Time::ZERO)).iter().all(|&jitter| jitter == 0.0));
}

#[test]
fn another_entry_moves_no_flow() {
    let fabric = fabric();
    let queries = Demand {
        sizes: WebSearch {}.into(),
        flows: Some(500),
        deadline: Some(Time::from_us(900)),
        ..entry("queries", load(0.4), UniformMatrix {})
    };
    let background = entry("background", AtOnce::default(), Permutation {});
    let of = |entries: &[Demand], name: &str| -> Vec<Flow> {
        let traffic = entries::build(entries, &fabric, 1, 0);
        assert!(traffic.flows.is_sorted_by_key(|flow| (flow.start, flow.entry)));
        let index = entries.iter().position(|entry| entry.name == name).unwrap();
        assert_eq!(traffic.entries[index].name, name);
        let own = traffic.flows.into_iter().filter(|flow| flow.entry as usize == index);
        own.map(|flow| Flow { entry: 0, ..flow }).collect()
    };
    let alone = of(std::slice::from_ref(&queries), "queries");
    assert_eq!(alone.len(), 500);
    assert!(alone.iter().all(|flow| flow.deadline == Some(Time::from_us(900))));
    assert_eq!(of(&[background.clone(), queries.clone()], "queries"), alone);
    assert_eq!(of(&[queries.clone(), background.clone()], "queries"), alone);
    // Entries draw apart, and so do purposes: other sizes at the same rate leave starts and pairs.
    assert_ne!(of(&[Demand { name: "others".into(), ..queries.clone() }], "others"), alone);
    let rate = Poisson { rate: Some(1e6), ..Poisson::default() };
    let first = Demand { arrivals: rate.into(), ..queries };
    let second = Demand { sizes: Fixed(Bytes(1)).into(), ..first.clone() };
    let sizeless =
        |entry| of(&[entry], "queries").into_iter().map(|flow| Flow { size: 0, ..flow }).collect::<Vec<_>>();
    assert_eq!(sizeless(first), sizeless(second));
}

/// The digest is a fixed function of entries, fabric, seed and replica: there is no transport to depend on.
#[test]
fn digests_tell_seeds_and_replicas_apart() {
    let fabric = few_hosts(16);
    let entries = [
        Demand {
            sizes: WebSearch {}.into(),
            flows: Some(100),
            ..entry("queries", load(0.6), UniformMatrix {})
        },
        Demand { deadline: Some(Time::from_us(20_000)), ..entry("burst", AtOnce::default(), Permutation {}) },
    ];
    let digest = |seed, replica| entries::build(&entries, &fabric, seed, replica).digest;
    assert_eq!(digest(1, 0), "96dc8cdde3d8598e96a70ecd49812577b63f49630e8355333a16e48272bb4209");
    let all = BTreeSet::from([digest(1, 0), digest(1, 1), digest(2, 0), digest(2, 1), digest(1, 0)]);
    assert_eq!(all.len(), 4);
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let with_sizes = |entry: Demand, sizes: Sizes| Demand { sizes, ..entry };
    let both = Poisson { load: Some(-1.0), rate: Some(2.0), ..Poisson::default() };
    let points = vec![(10, 0.0), (5, 50.0), (20, 40.0), (20, 40.0), (30, 120.0), (40, 1.0)];
    let entries = [
        with_sizes(entry("a", Poisson::default(), Stride { by: vec![3, 0, 8] }), Cdf::of(points).into()),
        with_sizes(
            Demand {
                flows: Some(5),
                ..entry("a b", both, Incast { senders: 8, receiver: Receiver::Host(9) })
            },
            UniformSizes { min: Bytes(2), max: Bytes(1) }.into(),
        ),
        Demand {
            flows: Some(2),
            ..entry("c", Times { at: vec![Time::ZERO], jitter: None }, Pairs(vec![(0, 8), (4, 4)]))
        },
        entry("a", AtOnce::default(), Pairs(vec![])),
        Demand { flows: Some(FLOWS_MAX), ..entry("d", load(0.1), Permutation {}) },
        Demand { flows: Some(FLOWS_MAX + 1), ..entry("e", load(0.1), Permutation {}) },
        Demand { flows: Some(0), ..entry("f", load(0.1), Permutation {}) },
        Demand { flows: Some(1), ..entry("g", load(0.1), Permutation {}) },
    ];
    let problem = |(entry, problem)| format!("{entry} {problem}");
    let said: Vec<String> = problems(&entries, &few_hosts(8)).into_iter().map(problem).collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    0 arrivals.poisson: has neither load nor rate; give one, such as load = 0.6
    0 matrix.stride.by.1: 0 is not a stride on 8 hosts; use 1 to 7
    0 matrix.stride.by.2: 8 is not a stride on 8 hosts; use 1 to 7
    0 sizes.cdf.points.1: 5 bytes comes after 10; sizes ascend
    0 sizes.cdf.points.2: 40 percent comes after 50; percentages ascend
    0 sizes.cdf.points.3: [20, 40] repeats the point before
    0 sizes.cdf.points.4: 120 is not a percentage from 0 to 100
    0 sizes.cdf.points.5: 1 percent comes after 120; percentages ascend
    0 sizes.cdf.points.5: the last point has 1, must have 100: give percent, not fractions
    0 flows: is missing; arrivals.poisson has no end of its own: say flows = 1000
    1 name: "a b" is not a name; use letters, digits, "-" and "_"
    1 arrivals.poisson: has both load and rate; give one
    1 arrivals.poisson.load: -1 is not a number above 0
    1 matrix.incast.senders: 8 senders on 8 hosts; use 1 to 7
    1 matrix.incast.receiver: 9 is not a host; hosts are 0 to 7
    1 sizes.uniform.min: 2B is above max, which is 1B
    2 matrix.pairs.0.1: 8 is not a host; hosts are 0 to 7
    2 matrix.pairs.1: [4, 4] has the same host at both ends; a flow joins two hosts
    2 flows: 2 is more than arrivals.times has starts, 1
    3 matrix.pairs: is empty; list pairs of hosts, such as [[0, 1]]
    3 name: "a" is already the name of entry 0; names are unique
    4 flows: makes 10000005 flows with the entries before; a scenario has at most 10000000
    5 flows: 10000001 is too many; a scenario has at most 10000000 flows
    6 flows: 0 is too few; use 1 or more
    "#);
    // Not everything that is unusual is wrong.
    assert_eq!(problems(&[entry("a-1_B", AtOnce::default(), Stride { by: vec![7] })], &few_hosts(8)), []);
}

#[test]
fn a_round_goes_to_the_only_other_host() {
    let flows = draw(entry("flows", AtOnce::default(), Permutation {}), &few_hosts(2));
    let ends: BTreeSet<_> = flows.iter().map(|flow| (flow.src, flow.dst)).collect();
    assert_eq!(ends, BTreeSet::from([(NodeId(0), NodeId(1)), (NodeId(1), NodeId(0))]));
}

/// Each flow's own deadline: exponential with a floor (as DAQ's short flows have it), and uniform.
#[test]
fn deadlines_have_their_distribution() {
    use flowyard_sim::traffic::deadlines::{Deadlines, ExponentialDeadlines, UniformDeadlines};
    let fabric = few_hosts(8);
    let (mean, min) = (Time::from_us(20_000), Time::from_us(3_000));
    let dues = |deadlines: Deadlines| {
        let entry = Demand {
            deadlines: Some(deadlines),
            flows: Some(20_000),
            ..entry("flows", load(0.5), UniformMatrix {})
        };
        draw(entry, &fabric)
            .iter()
            .map(|flow| flow.deadline.expect("each has one").seconds())
            .collect::<Vec<_>>()
    };
    let at_floor = 1.0 - (-0.15f64).exp();
    let drawn = dues(Deadlines::Exponential(ExponentialDeadlines { mean, min }));
    let floored = drawn.iter().filter(|&&due| due == 0.003).count() as f64 / 20_000.0;
    // 4 standard deviations of a share.
    assert!(
        (floored - at_floor).abs() < 4.0 * (at_floor * (1.0 - at_floor) / 20_000.0f64).sqrt(),
        "{floored}"
    );
    let above: Vec<f64> = drawn.into_iter().filter(|&due| due > 0.003).collect();
    let p = ks_p(above, |due| 1.0 - (-(due - 0.003) / 0.02).exp());
    assert!(p > 0.01, "p = {p}");
    let p = ks_p(dues(Deadlines::Uniform(UniformDeadlines { min, max: mean })), |due| (due - 0.003) / 0.017);
    assert!(p > 0.01, "p = {p}");
}

#[test]
fn two_kinds_of_deadline_are_refused() {
    use flowyard_sim::traffic::deadlines::{Deadlines, UniformDeadlines};
    let uniform = |min, max| Some(Deadlines::Uniform(UniformDeadlines { min: Time(min), max: Time(max) }));
    let wrong = |deadline, deadlines| {
        let entry = Demand { deadline, deadlines, ..entry("flows", AtOnce::default(), Permutation {}) };
        flowyard_sim::traffic::Demand::from(&entry).problems(8)
    };
    assert_eq!(wrong(None, uniform(5, 9)), []);
    let both = [Problem::new("deadlines", "stands beside deadline; keep one of the two")];
    assert_eq!(wrong(Some(Time(7)), uniform(5, 9)), both);
    let order = [Problem::new("deadlines.uniform.max", "5ps is below min, which is 9ps")];
    assert_eq!(wrong(None, uniform(9, 5)), order);
}
