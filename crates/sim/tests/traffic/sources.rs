//! Which hosts send, all-to-all, and Poisson arrivals that end at a time: against counts and loads worked out by hand.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::statistics::{ks_p, look_equal};
use crate::entries::{self, Demand, load, problems};
use flowyard_sim::scenario::{Format, no_files, read};
use flowyard_sim::topology::single_switch::SingleSwitch;
use flowyard_sim::topology::{Fabric, Generator};
use flowyard_sim::traffic::Traffic;
use flowyard_sim::traffic::arrivals::Arrivals;
use flowyard_sim::traffic::arrivals::at_once::AtOnce;
use flowyard_sim::traffic::arrivals::on_off::OnOff;
use flowyard_sim::traffic::arrivals::poisson::Poisson;
use flowyard_sim::traffic::matrix::Matrix;
use flowyard_sim::traffic::matrix::all_to_all::AllToAll;
use flowyard_sim::traffic::matrix::incast::{Incast, Receiver};
use flowyard_sim::traffic::matrix::pairs::Pairs;
use flowyard_sim::traffic::matrix::permutation::Permutation;
use flowyard_sim::traffic::matrix::stride::Stride;
use flowyard_sim::traffic::matrix::uniform::UniformMatrix;
use flowyard_sim::traffic::sources::Sources;
use flowyard_sim::units::Time;

fn entry(
    name: &str,
    arrivals: impl Into<Arrivals>,
    matrix: impl Into<Matrix>,
    sources: Option<Sources>,
) -> Demand {
    Demand { sources, ..entries::entry(name, arrivals, matrix) }
}

fn until(load: f64, until: Time) -> Poisson {
    Poisson { load: Some(load), until: Some(until), ..Poisson::default() }
}

/// So many hosts with ports of 10 Gbps.
fn fabric(hosts: u32) -> Fabric {
    SingleSwitch { hosts, ..SingleSwitch::default() }.build()
}

fn build(entries: &[Demand], hosts: u32, seed: u64) -> Traffic {
    let fabric = fabric(hosts);
    assert_eq!(problems(entries, &fabric), []);
    entries::build(entries, &fabric, seed, 0)
}

/// The pairs of an entry, in order.
fn pairs(traffic: &Traffic, entry: u32) -> Vec<(u32, u32)> {
    traffic.flows.iter().filter(|flow| flow.entry == entry).map(|flow| (flow.src.0, flow.dst.0)).collect()
}

fn senders(traffic: &Traffic, entry: u32) -> BTreeSet<u32> {
    pairs(traffic, entry).into_iter().map(|(src, _)| src).collect()
}

fn said(entries: &[Demand], hosts: u32) -> String {
    let problem = |(entry, problem)| format!("{entry} {problem}\n");
    problems(entries, &fabric(hosts)).into_iter().map(problem).collect()
}

#[test]
fn all_to_all_has_each_pair_once_a_round() {
    for arrivals in [Arrivals::from(AtOnce::default()), load(0.5).into()] {
        let twice = Demand { flows: Some(2 * 90), ..entry("flows", arrivals, AllToAll {}, None) };
        let drawn = build(&[twice], 10, 1);
        // At once, jitter mixes the rounds: in the order of their starts there is no telling them apart.
        let mut counts: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        pairs(&drawn, 0).into_iter().for_each(|pair| *counts.entry(pair).or_default() += 1);
        assert!(counts.len() == 90 && counts.values().all(|&count| count == 2));
        assert!(counts.keys().all(|(src, dst)| src != dst));
    }
    let still = AtOnce { jitter: Some(Time::ZERO), ..AtOnce::default() };
    let rounds = build(&[Demand { flows: Some(180), ..entry("flows", still, AllToAll {}, None) }], 10, 1);
    let drawn = pairs(&rounds, 0);
    let (first, second) = drawn.split_at(90);
    assert_eq!(first.iter().collect::<BTreeSet<_>>(), second.iter().collect());
    assert_ne!(first, second);
    let one = entry("flows", AtOnce::default(), AllToAll {}, Some(Sources::Hosts(vec![3, 1])));
    let drawn: BTreeSet<_> = pairs(&build(&[one], 4, 1), 0).into_iter().collect();
    assert_eq!(drawn, BTreeSet::from([(1, 0), (1, 2), (1, 3), (3, 0), (3, 1), (3, 2)]));
}

#[test]
fn every_order_of_a_round_is_equally_likely() {
    // Two sources on three hosts: four pairs, 24 orders.
    let still = AtOnce { jitter: Some(Time::ZERO), ..AtOnce::default() };
    let matrix = entry("flows", still, AllToAll {}, Some(Sources::Hosts(vec![0, 1])));
    let traffic = build(&[Demand { flows: Some(4 * 24_000), ..matrix }], 3, 1);
    let mut counts: BTreeMap<Vec<(u32, u32)>, u64> = BTreeMap::new();
    pairs(&traffic, 0).chunks(4).for_each(|round| *counts.entry(round.to_vec()).or_default() += 1);
    assert_eq!(counts.len(), 24);
    assert!(look_equal(counts.values().copied()), "{counts:?}");
}

/// 27,648 hosts have 764 million pairs: a few of them take neither the time nor the memory of all.
#[test]
fn a_few_of_many_pairs_are_cheap() {
    let few = Demand { flows: Some(1_000), ..entry("flows", AtOnce::default(), AllToAll {}, None) };
    let drawn: BTreeSet<_> = pairs(&build(&[few], 20_000, 1), 0).into_iter().collect();
    assert_eq!(drawn.len(), 1_000);
    let all = said(&[entry("flows", AtOnce::default(), AllToAll {}, None)], 20_000);
    assert_eq!(all, "0 flows: 399980000 is too many; a scenario has at most 10000000 flows\n");
}

#[test]
fn a_share_is_drawn_once_and_by_seed() {
    let share = |share| Some(Sources::Share(share));
    let of = |seed| {
        let entries = [Demand { flows: Some(4_200), ..entry("a", load(0.5), UniformMatrix {}, share(0.33)) }];
        senders(&build(&entries, 128, seed), 0)
    };
    // 0.33 of 128 hosts are 42.24.
    assert_eq!(of(1).len(), 42);
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
    // At least one; and each host equally often.
    assert_eq!(
        senders(&build(&[entry("a", AtOnce::default(), Permutation {}, share(1e-6))], 8, 1), 0).len(),
        1
    );
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for seed in 0..4_000 {
        let traffic = build(&[entry("a", AtOnce::default(), Permutation {}, share(0.25))], 8, seed);
        senders(&traffic, 0).into_iter().for_each(|host| *counts.entry(host).or_default() += 1);
    }
    assert!(counts.len() == 8 && look_equal(counts.values().copied()), "{counts:?}");
}

#[test]
fn the_sources_of_a_permutation_keep_the_partners_of_the_whole() {
    let whole = build(&[entry("a", AtOnce::default(), Permutation {}, None)], 16, 1);
    let sources = vec![9, 2, 5];
    let part =
        build(&[entry("a", AtOnce::default(), Permutation {}, Some(Sources::Hosts(sources.clone())))], 16, 1);
    let expected: BTreeSet<_> =
        pairs(&whole, 0).into_iter().filter(|(src, _)| sources.contains(src)).collect();
    assert_eq!(pairs(&part, 0).into_iter().collect::<BTreeSet<_>>(), expected);
    assert_eq!(part.flows.len(), 3);
}

#[test]
fn sources_send_and_all_may_receive() {
    let hosts = || Some(Sources::Hosts(vec![1, 6]));
    let drawn = |matrix: Matrix, arrivals: Arrivals, flows| {
        pairs(&build(&[Demand { flows, ..entry("a", arrivals, matrix, hosts()) }], 8, 1), 0)
    };
    let still: Arrivals = AtOnce { jitter: Some(Time::ZERO), ..AtOnce::default() }.into();
    let by = Stride { by: vec![1, 3] };
    assert_eq!(drawn(by.clone().into(), still.clone(), None), [(1, 2), (6, 7), (1, 4), (6, 1)]);
    assert_eq!(drawn(UniformMatrix {}.into(), still, None).len(), 2);
    for (matrix, each) in [(Matrix::from(by), 4), (UniformMatrix {}.into(), 14)] {
        let mut counts: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let pairs = drawn(matrix, load(0.5).into(), Some(28_000));
        pairs.into_iter().for_each(|pair| *counts.entry(pair).or_default() += 1);
        assert!(counts.len() == each && look_equal(counts.values().copied()), "{counts:?}");
    }
}

#[test]
fn a_load_refers_to_the_ports_of_the_sources() {
    let traffic = build(
        &[Demand {
            flows: Some(40_000),
            ..entry("a", load(0.6), UniformMatrix {}, Some(Sources::Hosts(vec![0, 4, 5])))
        }],
        16,
        1,
    );
    let bits = 8.0 * 100_000.0 * 40_000.0;
    let rate = bits / traffic.flows.last().unwrap().start.seconds();
    assert!((rate / (0.6 * 3.0 * 10e9) - 1.0).abs() < 0.02, "{rate}");
    assert!((traffic.entries[0].offered_load.unwrap() - 0.6).abs() < 1e-12);
    assert!((traffic.entries[0].realised_load.unwrap() - 0.6).abs() < 0.012);
}

/// As in the NDP paper: some servers run long flows, the others short ones, whichever entry comes first.
#[test]
fn those_not_in_another_entry_are_the_rest() {
    let background = entry("background", AtOnce::default(), Permutation {}, Some(Sources::Share(0.33)));
    let not_in = |name: &str| Some(Sources::NotIn(name.into()));
    let short =
        Demand { flows: Some(2_000), ..entry("short", load(0.1), UniformMatrix {}, not_in("background")) };
    let rest = entry("rest", AtOnce::default(), Permutation {}, not_in("short"));
    let traffic = build(&[rest, short.clone(), background.clone()], 30, 1);
    assert_eq!(
        (senders(&traffic, 0).len(), senders(&traffic, 1).len(), senders(&traffic, 2).len()),
        (10, 20, 10)
    );
    assert!(senders(&traffic, 1).is_disjoint(&senders(&traffic, 2)));
    assert_eq!(senders(&traffic, 0), senders(&traffic, 2));
    // The other entry is what it is without this one.
    let alone = build(std::slice::from_ref(&background), 30, 1);
    assert_eq!(pairs(&alone, 0), pairs(&traffic, 2));

    // What a matrix chooses counts as well, drawn or listed.
    let incast = entry("incast", AtOnce::default(), Incast { senders: 5, receiver: Receiver::Host(2) }, None);
    let others = entry("others", AtOnce::default(), Permutation {}, not_in("incast"));
    let traffic = build(&[incast, others], 12, 7);
    let (incast, others) = (senders(&traffic, 0), senders(&traffic, 1));
    assert!(incast.len() == 5 && others.len() == 7 && incast.is_disjoint(&others));
    let list = entry("list", AtOnce::default(), Pairs(vec![(3, 1), (0, 2), (3, 0)]), None);
    let others = entry("others", AtOnce::default(), Permutation {}, not_in("list"));
    assert_eq!(senders(&build(&[list, others], 5, 1), 1), BTreeSet::from([1, 2, 4]));
}

/// As in the NDP paper: servers with long flows are paired among themselves, and so are those with short ones.
#[test]
fn among_sources_nobody_else_receives() {
    let among = |entry: Demand| Demand { among_sources: true, ..entry };
    let not_in = Some(Sources::NotIn("background".into()));
    let matrices: [Matrix; 4] =
        [Permutation {}.into(), UniformMatrix {}.into(), Stride { by: vec![3] }.into(), AllToAll {}.into()];
    for matrix in matrices {
        for arrivals in [Arrivals::from(AtOnce::default()), load(0.5).into()] {
            let background =
                among(entry("background", AtOnce::default(), matrix.clone(), Some(Sources::Share(0.15))));
            let short = among(entry("short", arrivals, matrix.clone(), not_in.clone()));
            let traffic = build(&[background, Demand { flows: Some(4_600), ..short }], 54, 1);
            let (long, short) = (senders(&traffic, 0), senders(&traffic, 1));
            assert!(long.len() == 8 && short.len() == 46 && long.is_disjoint(&short));
            for (index, hosts) in [(0, &long), (1, &short)] {
                let drawn = pairs(&traffic, index);
                assert!(drawn.iter().all(|(src, dst)| src != dst && hosts.contains(dst)));
                if matches!(matrix, Matrix::Permutation(_)) {
                    let received: BTreeSet<u32> = drawn.iter().take(hosts.len()).map(|pair| pair.1).collect();
                    assert!(index == 1 || received == *hosts);
                }
            }
            if matches!(matrix, Matrix::Permutation(_)) {
                let mut received = BTreeMap::new();
                pairs(&traffic, 1).iter().for_each(|(_, dst)| *received.entry(*dst).or_insert(0) += 1);
                assert!(received.len() == 46 && received.values().all(|&flows| flows == 100));
            }
        }
    }
    // All-to-all among three is six pairs; a stride is one of places in the list.
    let hosts = || Some(Sources::Hosts(vec![7, 2, 4]));
    let all = build(&[among(entry("all", AtOnce::default(), AllToAll {}, hosts()))], 8, 1);
    assert_eq!(pairs(&all, 0).len(), 6);
    let by = Stride { by: vec![1] };
    let stride = build(
        &[among(entry("stride", AtOnce { jitter: Some(Time::ZERO), ..AtOnce::default() }, by, hosts()))],
        8,
        1,
    );
    assert_eq!(BTreeSet::from_iter(pairs(&stride, 0)), BTreeSet::from([(2, 4), (4, 7), (7, 2)]));
    // All hosts are all hosts.
    let plain = entry("flows", AtOnce::default(), Permutation {}, None);
    assert_eq!(build(&[among(plain.clone())], 16, 3), build(&[plain], 16, 3));
}

#[test]
fn among_sources_that_make_no_sense_is_refused() {
    let among = |name: &str, arrivals: Arrivals, matrix: Matrix, sources| Demand {
        among_sources: true,
        ..entry(name, arrivals, matrix, sources)
    };
    let at_once = || Arrivals::from(AtOnce::default());
    let hosts = |list: &[u32]| Some(Sources::Hosts(list.to_vec()));
    let on_off = OnOff { probability: 1.0, slot: None, at: Time::ZERO, flows_each: Some(1) };
    let entries = [
        among("incast", at_once(), Incast { senders: 2, receiver: Receiver::Host(0) }.into(), None),
        among("alone", at_once(), Permutation {}.into(), hosts(&[3])),
        among("far", at_once(), Stride { by: vec![3] }.into(), hosts(&[0, 1, 2])),
        among("on-off", on_off.into(), UniformMatrix {}.into(), None),
    ];
    insta::assert_snapshot!(said(&entries, 8), @"
    0 among_sources: matrix.incast has its own; leave them out
    1 among_sources: 1 source has no other source to send to; have at least 2
    2 matrix.stride.by.0: 3 is not a stride on 3 hosts; use 1 to 2
    3 among_sources: arrivals.on-off has receivers among all hosts; leave it out
    ");
}

#[test]
fn sources_that_make_no_sense_are_refused() {
    let at_once = |name: &str, sources| entry(name, AtOnce::default(), Permutation {}, Some(sources));
    let not_in = |name: &str, other: &str| at_once(name, Sources::NotIn(other.into()));
    let entries = [
        at_once("zero", Sources::Share(0.0)),
        at_once("much", Sources::Share(1.5)),
        at_once("none", Sources::Hosts(vec![])),
        at_once("twice", Sources::Hosts(vec![1, 8, 1])),
        Demand {
            sources: Some(Sources::Share(0.5)),
            ..entry("incast", AtOnce::default(), Incast { senders: 2, receiver: Receiver::Host(0) }, None)
        },
        Demand {
            sources: Some(Sources::Share(0.5)),
            ..entry("pairs", AtOnce::default(), Pairs(vec![(0, 1)]), None)
        },
        not_in("self", "self"),
        not_in("there", "back"),
        not_in("back", "there"),
        not_in("nowhere", "nobody"),
        entry("all", AtOnce::default(), Permutation {}, None),
        not_in("rest", "all"),
    ];
    insta::assert_snapshot!(said(&entries, 8), @r#"
    0 sources.share: 0 is not a share above 0 and at most 1
    1 sources.share: 1.5 is not a share above 0 and at most 1
    2 sources.hosts: is empty; list hosts, such as [0, 1]
    3 sources.hosts.1: 8 is not a host; hosts are 0 to 7
    3 sources.hosts.2: 1 is in the list already
    4 sources: matrix.incast has its own; leave them out
    5 sources: matrix.pairs has its own; leave them out
    6 sources.not-in: "self" leads back to this entry; name one whose sources do not depend on it
    7 sources.not-in: "back" leads back to this entry; name one whose sources do not depend on it
    8 sources.not-in: "there" leads back to this entry; name one whose sources do not depend on it
    9 sources.not-in: "nobody" is not the name of a traffic entry
    11 sources.not-in: all hosts send there, so that none is left
    "#);
}

#[test]
fn poisson_arrivals_end_at_a_time() {
    // 0.6 of 16 ports of 10 Gbps in flows of 100,000 bytes: 120,000 flows per second.
    let end = Time(200_000_000_000);
    let traffic = build(&[entry("a", until(0.6, end), UniformMatrix {}, None)], 16, 1);
    let starts: Vec<f64> = traffic.flows.iter().map(|flow| flow.start.seconds()).collect();
    assert!((starts.len() as f64 - 24_000.0).abs() < 4.0 * 24_000f64.sqrt(), "{}", starts.len());
    assert!(traffic.flows.iter().all(|flow| flow.start <= end));
    // Given their number, the starts of a Poisson process are uniform.
    let p = ks_p(starts, |start| start / 0.2);
    assert!(p > 0.01, "p = {p}");

    // The same flows as by number, up to the end; or to the number, if that comes first.
    let numbered = |number, poisson: Poisson| {
        build(&[Demand { flows: Some(number), ..entry("a", poisson, UniformMatrix {}, None) }], 16, 1).flows
    };
    let longer = numbered(30_000, load(0.6));
    assert_eq!(traffic.flows[..], longer[..traffic.flows.len()]);
    assert!(longer[traffic.flows.len()].start > end);
    assert_eq!(numbered(30_000, until(0.6, end)), traffic.flows);
    assert_eq!(numbered(100, until(0.6, end)), traffic.flows[..100]);
}

#[test]
fn ends_that_make_no_sense_are_refused() {
    let late = Poisson { start: Time::from_us(9), ..until(0.6, Time::from_us(9)) };
    let rate = Poisson { rate: Some(1e12), until: Some(Time::from_us(11)), ..Poisson::default() };
    let neither = Poisson { until: Some(Time::from_us(11)), ..Poisson::default() };
    let many = |name: &str| entry(name, until(0.6, Time(50_000_000_000_000)), UniformMatrix {}, None);
    let entries = [
        entry("late", late, UniformMatrix {}, None),
        entry("rate", rate, UniformMatrix {}, None),
        entry("neither", neither, UniformMatrix {}, None),
        many("a"),
        many("b"),
    ];
    insta::assert_snapshot!(said(&entries, 16), @r#"
    0 arrivals.poisson.until: 9us is not after the start, which is 9us
    1 arrivals.poisson.until: lets 11000000 flows start, on average; a scenario has at most 10000000 flows
    2 arrivals.poisson: has neither load nor rate; give one, such as load = 0.6
    4 flows: makes 12000000 flows with the entries before; a scenario has at most 10000000
    "#);
}

/// Through the whole reader: an entry that cannot be read hides no mistake of another, and makes none up.
#[test]
fn a_scenario_is_told_of_its_sources() {
    let text = |sources: &str, sizes: &str| {
        format!(
            "topology = \"single-switch\"\ntransport = \"datagram\"\n\
             [[traffic]]\nname = \"a\"\narrivals = \"at-once\"\nmatrix = \"permutation\"\nsizes.fixed = \"1KB\"\n\
             sources = {{ {sources} }}\n\
             [[traffic]]\nname = \"b\"\narrivals = \"at-once\"\nmatrix = \"permutation\"\nsizes.fixed = {sizes}\n\
             sources.share = 0.5\n"
        )
    };
    let said = |sources: &str, sizes: &str| match read(&text(sources, sizes), Format::Toml, &[], &no_files) {
        Ok(scenario) => format!("fine: {:?}", scenario.traffic[0].sources),
        Err(problems) => problems.to_string(),
    };
    assert_eq!(said("not-in = \"b\"", "\"1KB\""), "fine: Some(NotIn(\"b\"))");
    assert_eq!(
        said("not-in = \"c\"", "\"1KB\""),
        "traffic.a.sources.not-in: \"c\" is not the name of a traffic entry"
    );
    assert_eq!(
        said("not-in = \"b\"", "3"),
        "traffic.b.sizes.fixed: 3 has no unit; write it with a unit, as in \"64KiB\""
    );
    assert_eq!(
        said("share = 2.0", "\"1KB\""),
        "traffic.a.sources.share: 2 is too large (allowed: 0.000001 to 1); use 1"
    );
    assert_eq!(
        said("hosts = [0, 4096]", "\"1KB\""),
        "traffic.a.sources.hosts.1: 4096 is not a host; hosts are 0 to 7"
    );
}
