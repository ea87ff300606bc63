//! Rounds of a matrix: at a fixed interval, as a Poisson process, and with hosts that each round draws.

use std::collections::BTreeSet;

use crate::common::statistics::{ks_p, look_equal};
use crate::entries::{self, Demand, entry, load, problems};
use flowyard_sim::topology::single_switch::SingleSwitch;
use flowyard_sim::topology::{Fabric, Generator};
use flowyard_sim::traffic::Flow;
use flowyard_sim::traffic::arrivals::on_off::OnOff;
use flowyard_sim::traffic::arrivals::periodic::Periodic;
use flowyard_sim::traffic::arrivals::poisson::{Poisson, PoissonEach};
use flowyard_sim::traffic::matrix::incast::{Incast, RandomReceiver, Receiver};
use flowyard_sim::traffic::matrix::pairs::Pairs;
use flowyard_sim::traffic::matrix::permutation::Permutation;
use flowyard_sim::units::Time;

const RANDOM: Receiver = Receiver::Random(RandomReceiver::Random);

/// So many hosts with ports of 10 Gbps.
fn fabric(hosts: u32) -> Fabric {
    SingleSwitch { hosts, ..SingleSwitch::default() }.build()
}

/// The only entry's flows.
fn draw(entry: Demand, hosts: u32, seed: u64) -> Vec<Flow> {
    let (entries, fabric) = ([entry], fabric(hosts));
    assert_eq!(problems(&entries, &fabric), []);
    entries::build(&entries, &fabric, seed, 0).flows
}

fn ends(flows: &[Flow]) -> Vec<(u32, u32)> {
    flows.iter().map(|flow| (flow.src.0, flow.dst.0)).collect()
}

/// Rounds a millisecond apart, to the picosecond.
fn every_ms(rounds: u64, start: Time) -> Periodic {
    Periodic {
        every: Time::from_us(1000),
        rounds: Some(rounds),
        start,
        until: None,
        jitter: Some(Time::ZERO),
    }
}

/// Rounds of the matrix as a Poisson process, to the picosecond.
fn rounds_at(load: f64) -> Poisson {
    Poisson { each: PoissonEach::Round, jitter: Some(Time::ZERO), ..entries::load(load) }
}

#[test]
fn a_round_starts_at_each_interval() {
    let flows = draw(entry("flows", every_ms(3, Time::from_us(2)), Pairs(vec![(0, 1), (2, 1)])), 3, 1);
    let starts: Vec<u64> = flows.iter().map(|flow| flow.start.0 / 1_000_000).collect();
    assert_eq!(starts, [2, 2, 1002, 1002, 2002, 2002]);
    assert_eq!(ends(&flows), [(0, 1), (2, 1)].repeat(3));
}

/// The last round starts at the end at the latest; a smaller number of rounds comes before.
#[test]
fn a_time_ends_the_rounds() {
    let starts = |rounds: Option<u64>, until: u64| {
        let arrivals =
            Periodic { rounds, until: Some(Time::from_us(until)), ..every_ms(1, Time::from_us(2)) };
        let flows = draw(entry("flows", arrivals, Pairs(vec![(0, 1)])), 3, 1);
        flows.iter().map(|flow| flow.start.0 / 1_000_000).collect::<Vec<u64>>()
    };
    assert_eq!(starts(None, 2), [2]);
    assert_eq!(starts(None, 2001), [2, 1002]);
    assert_eq!(starts(None, 2002), [2, 1002, 2002]);
    assert_eq!(starts(Some(2), 2002), [2, 1002]);
    let early = Periodic { until: Some(Time::from_us(1)), ..every_ms(1, Time::from_us(2)) };
    let found = problems(&[entry("flows", early, Pairs(vec![(0, 1)]))], &fabric(3));
    assert_eq!(found[0].1.to_string(), "arrivals.periodic.until: 1us is before the start, which is 2us");
}

/// Six flows of an incast of three are two rounds; seven are none.
#[test]
fn rounds_follow_from_the_number_of_flows() {
    let incast = || Incast { senders: 3, receiver: Receiver::Host(4) };
    let every = |every| Periodic { every, rounds: None, ..every_ms(1, Time::ZERO) };
    let with = |flows, arrivals| Demand { flows, ..entry("flows", arrivals, incast()) };
    let two = ends(&draw(with(Some(6), every(Time::from_us(1000))), 9, 1));
    assert_eq!(two, ends(&draw(entry("flows", every_ms(2, Time::ZERO), incast()), 9, 1)));
    let said = |flows, arrivals| -> Vec<String> {
        let found = problems(&[with(flows, arrivals)], &fabric(9));
        found.into_iter().map(|(_, problem)| problem.to_string()).collect()
    };
    let what = "flows: 7 is not a whole number of rounds of 3 flows; use 6 or 9, or add arrivals.periodic.rounds = 3, whose \
                last round is cut";
    assert_eq!(said(Some(7), every(Time::from_us(1))), [what]);
    let what = "flows: is missing, and so is arrivals.periodic.rounds; give one of them";
    assert_eq!(said(None, every(Time::from_us(1))), [what]);
    let late = said(Some(12), every(Time(u64::MAX / 2)));
    assert!(late[0].starts_with("flows: 4 starts") && late.len() == 1, "{late:?}");
}

/// The senders of an incast are the same in each round; a permutation is another one.
#[test]
fn a_round_is_that_of_the_matrix() {
    let incast = Incast { senders: 3, receiver: Receiver::Host(4) };
    let flows = ends(&draw(entry("flows", every_ms(2, Time::ZERO), incast), 9, 1));
    assert_eq!((flows.len(), &flows[..3]), (6, &flows[3..]));
    let flows = ends(&draw(entry("flows", every_ms(2, Time::ZERO), Permutation {}), 9, 1));
    let round = |flows: &[(u32, u32)]| flows.iter().copied().collect::<BTreeSet<_>>();
    assert_ne!(round(&flows[..9]), round(&flows[9..]));
    let all = |half: &[(u32, u32)]| half.iter().map(|(src, _)| *src).collect::<BTreeSet<_>>().len();
    assert_eq!((all(&flows[..9]), all(&flows[9..])), (9, 9));
}

/// By default flows of a round are up to 1500 B at 10 Gbps apart: 1.2 us.
#[test]
fn starts_of_a_round_differ_by_a_packet_at_most() {
    for arrivals in [
        Periodic { jitter: None, ..every_ms(20, Time::ZERO) }.into(),
        flowyard_sim::traffic::arrivals::Arrivals::from(Poisson {
            jitter: None,
            until: Some(Time::from_us(30_000)),
            ..rounds_at(0.5)
        }),
    ] {
        let incast = Incast { senders: 8, receiver: Receiver::Host(0) };
        let mut flows = draw(Demand { arrivals, ..entry("flows", load(0.1), incast) }, 9, 1);
        assert!(flows.len() >= 80 && flows.len().is_multiple_of(8), "{}", flows.len());
        flows.sort_by_key(|flow| flow.start);
        let spread = |round: &[Flow]| (round[7].start - round[0].start).0;
        let spreads: Vec<u64> = flows.chunks(8).map(spread).collect();
        assert!(spreads.iter().all(|&spread| 0 < spread && spread <= 1_200_000), "{spreads:?}");
    }
}

/// Eight hosts: each is the receiver of an eighth of the rounds, and a sender of 3/7 of the others.
#[test]
fn each_round_has_its_own_random_receiver() {
    let rounds = 4000;
    let entry = || entry("flows", every_ms(rounds, Time::ZERO), Incast { senders: 3, receiver: RANDOM });
    let flows = ends(&draw(entry(), 8, 1));
    assert_eq!(flows.len(), 3 * rounds as usize);
    let (mut received, mut sent) = ([0u64; 8], [0u64; 8]);
    for round in flows.chunks(3) {
        let hosts: BTreeSet<u32> = round.iter().flat_map(|&(src, dst)| [src, dst]).collect();
        assert!(hosts.len() == 4 && round.iter().all(|(_, dst)| *dst == round[0].1), "{round:?}");
        received[round[0].1 as usize] += 1;
        round.iter().for_each(|(src, _)| sent[*src as usize] += 1);
    }
    assert!(look_equal(received.into_iter()), "{received:?}");
    assert!(look_equal(sent.into_iter()), "{sent:?}");
    assert_eq!(ends(&draw(entry(), 8, 1)), flows);
    assert_ne!(ends(&draw(entry(), 8, 2)), flows);
}

/// Load 0.5 of the receiver's 10 Gbps, in incasts of 20 x 100 KB: 312.5 a second. With a random receiver 0.02 of the ports of
/// all 40 hosts: 500 a second.
#[test]
fn the_rate_of_incasts_follows_from_their_load() {
    for (receiver, load, rate, capacity) in
        [(Receiver::Host(0), 0.5, 312.5, 10e9), (RANDOM, 0.02, 500.0, 400e9)]
    {
        let incast = Incast { senders: 20, receiver };
        let demand = Demand { flows: Some(20_000), ..entry("flows", rounds_at(load), incast) };
        let traffic = entries::build(&[demand], &fabric(40), 1, 0);
        let summary = &traffic.entries[0];
        assert!((summary.offered_load.unwrap() / load - 1.0).abs() < 1e-12);
        assert_eq!(summary.capacity_bps, capacity);
        // Bits of the rounds but the last one over the time until its start.
        let (first, last) = (traffic.flows[0].start, traffic.flows.last().unwrap().start);
        let realised = 999.0 * 20.0 * 800_000.0 / (last - first).seconds() / capacity;
        assert!((summary.realised_load.unwrap() / realised - 1.0).abs() < 1e-12);
        // A round is 20 flows at one instant; gaps of rounds are exponential.
        let rounds: Vec<&[Flow]> = traffic.flows.chunks(20).collect();
        assert!(rounds.iter().all(|round| round.iter().all(|flow| flow.start == round[0].start)));
        let mut before = Time::ZERO;
        let gap =
            |round: &&[Flow]| (round[0].start - std::mem::replace(&mut before, round[0].start)).seconds();
        let p = ks_p(rounds.iter().map(gap).collect(), |gap| 1.0 - (-gap * rate).exp());
        assert!(p > 0.01, "p = {p}");
        // Var of the bits in a second: rounds a second times (20 x 800,000)^2.
        assert!((summary.variance / (rate * 16e6 * 16e6) - 1.0).abs() < 1e-12);
    }
}

#[test]
fn random_receivers_need_rounds() {
    let incast = || Incast { senders: 3, receiver: RANDOM };
    let said = |entry: Demand| -> Vec<String> {
        problems(&[entry], &fabric(8)).into_iter().map(|(_, problem)| problem.to_string()).collect()
    };
    let singly = Demand { flows: Some(9), ..entry("flows", load(0.1), incast()) };
    let what = "matrix.incast.receiver: \"random\" is drawn for each round, and arrivals.poisson starts flow by flow; say \
                arrivals.poisson.each = \"round\", or arrivals.periodic";
    assert_eq!(said(singly), [what]);
    let on_off = OnOff { probability: 1.0, slot: None, at: Time::ZERO, flows_each: Some(2) };
    assert_eq!(said(entry("flows", on_off, incast())), [what.replace("poisson starts", "on-off starts")]);
    let late = Periodic { every: Time(u64::MAX / 2), ..every_ms(4, Time::ZERO) };
    let said = said(entry("flows", late, incast()));
    assert!(said[0].starts_with("arrivals.periodic.rounds: 4 starts"), "{said:?}");
}
