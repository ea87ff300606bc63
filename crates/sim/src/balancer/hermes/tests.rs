//! Algorithm 2 by hand: where flows go, and when they leave.

use super::*;
use crate::ids::ConnId;
use crate::topology::Generator;
use crate::topology::leaf_spine::LeafSpine;

const NOW: Time = Time::from_us(1000);

/// Two leaves of two hosts, three spines, 10 Gbps; connection 0 is from host 0 to host 2, connection 1 from host 0 to host 3.
struct Bench {
    model: Model,
    routes: Routes,
    ends: Vec<NodeId>,
}

impl Bench {
    /// Attempts are always made, and a sample is the whole mean.
    fn new() -> Bench {
        Bench::of(Hermes { move_share: 1.0, weight: 1.0, ..Hermes::default() })
    }

    fn of(config: Hermes) -> Bench {
        let rate = Rate(10_000_000_000);
        let fabric = LeafSpine { leaves: 2, spines: 3, hosts: 2, rate, ..LeafSpine::default() }.build();
        let routes = Routes::build(&fabric).expect("it is connected");
        let ends = fabric.links.iter().map(|link| link.to).collect();
        let mut bench = Bench { model: Model::new(&config, &fabric, 1, 0), routes, ends };
        (0..2).for_each(|conn| bench.open(conn, 7 + conn));
        bench
    }

    fn open(&mut self, conn: u32, label: u32) {
        let port = |host| self.routes.only_port(NodeId(host)).expect("a host has one");
        let (src, dst) = (NodeId(0), NodeId(2 + conn % 2));
        let opening = Opening {
            id: ConnId(conn),
            src,
            dst,
            label,
            flow_label: label,
            subflow: 0,
            key: 0,
            ports: (port(0), port(dst.0)),
            routes: &self.routes,
        };
        self.model.open(opening, &mut Paths::default());
    }

    /// Data of 1500 B, or an acknowledgement, of a connection; its path.
    fn packet(&mut self, conn: u32, forward: bool, now: Time) -> u32 {
        let Bench { model, routes, ends } = self;
        let (from, to) = (NodeId(0), NodeId(2 + conn % 2));
        let (from, to) = if forward { (from, to) } else { (to, from) };
        let port = routes.only_port(from).expect("a host has one");
        let trip = Trip { conn: ConnId(conn), forward, port, to, size: 1500, now, routes, ends };
        model.next_path(trip).expect("a path").number
    }

    /// The view of host 0 of its paths to leaf 1: round trip in us, and whether packets are marked.
    fn know(&mut self, paths: [(u64, bool); 3], now: Time) {
        let Model { hosts, config, .. } = &mut self.model;
        for (own, (rtt, marked)) in hosts[0].to(1, (2, 3), config).iter_mut().zip(paths) {
            own.hear(Time::from_us(rtt), marked, now, config);
        }
    }

    /// Host 0 has just sent so many bytes by each path to leaf 1.
    fn load(&mut self, bytes: [u32; 3], now: Time) {
        let Model { hosts, config, forgetting, .. } = &mut self.model;
        for (own, bytes) in hosts[0].to(1, (2, 3), config).iter_mut().zip(bytes) {
            own.rate.add(bytes, now, *forgetting);
        }
    }
}

const GOOD: (u64, bool) = (40, false);
const GREY: (u64, bool) = (100, false);
const BAD: (u64, bool) = (300, true);

/// A new flow takes the good path by which its host sends least, else a grey one, else any.
#[test]
fn new_flows_take_good_paths() {
    for (paths, load, expected) in [
        ([GOOD, GOOD, GREY], [3000, 1500, 0], 1),
        ([GREY, BAD, GOOD], [0, 0, 90_000], 2),
        ([GREY, GREY, BAD], [1500, 0, 0], 1),
        ([BAD, GREY, BAD], [0, 90_000, 0], 1),
    ] {
        let mut bench = Bench::new();
        bench.know(paths, NOW);
        bench.load(load, NOW);
        assert_eq!(bench.packet(0, true, NOW), expected, "{paths:?} {load:?}");
    }
    // Of equal ones each as likely: a third of 3000 flows with a deviation of 26.
    for paths in [[GOOD; 3], [BAD; 3]] {
        let mut bench = Bench::new();
        bench.know(paths, NOW);
        let mut taken = [0u32; 3];
        for flow in 0..3000 {
            bench.open(0, flow * 7919);
            let path = bench.packet(0, true, NOW) as usize;
            taken[path] += 1;
            // As if nothing had been sent.
            bench.model.hosts[0].to(1, (2, 3), &Hermes::default())[path].rate = RateEstimator::default();
        }
        assert!(taken.iter().all(|count| count.abs_diff(1000) < 100), "{taken:?}");
    }
}

/// A flow on path 0 that has sent so much, in all and just now, where it is so long after its last attempt: whether it moves.
fn moves(paths: [(u64, bool); 3], sent: u64, lately: u32, after: Time) -> bool {
    let mut bench = Bench::new();
    bench.know(paths, NOW);
    let forgetting = bench.model.forgetting;
    let flow = &mut bench.model.flows[0][1];
    (flow.path, flow.changes, flow.sent) = (0, bench.model.changes, sent);
    flow.rate.add(lately, NOW, forgetting);
    flow.last = Time(NOW.0 - after.0);
    bench.packet(0, true, NOW) != 0
}

/// Reroute cautiously: of a congested path alone, if more than 600,000 B are sent, the flow's rate is below 3 of 10 Gbps, which
/// 60,000 of 200,000 B stand for, 100 us have passed, and another path is notably better.
#[test]
fn flows_move_only_if_it_pays() {
    let later = Time::from_us(101);
    let best = [BAD, GOOD, BAD];
    assert!(moves(best, 600_001, 59_999, later));
    assert!(!moves(best, 600_000, 59_999, later), "it has not sent enough");
    assert!(!moves(best, 600_001, 60_000, later), "it is fast");
    assert!(!moves(best, 600_001, 0, Time::from_us(100)), "it has just tried");
    assert!(!moves([GREY, GOOD, GOOD], 10_000_000, 0, later), "its path is not congested");
    assert!(moves([BAD, GREY, BAD], 600_001, 0, later), "a grey path that is notably better");
    assert!(!moves([BAD, (200, false), (210, false)], 600_001, 0, later), "grey, by 100 us exactly, or less");
    assert!(!moves([BAD, BAD, (150, true)], 600_001, 0, later), "as many marks");
    assert!(!moves([BAD; 3], 600_001, 0, later), "no path is better");
}

/// Attempts are made with probability 1/2, at most one each 100 us: of 2000 flows, half move at the first, within three deviations
/// of 22; none tries again at once.
#[test]
fn half_of_the_attempts_are_made() {
    let mut moved = 0;
    let mut bench = Bench::of(Hermes { weight: 1.0, ..Hermes::default() });
    for flow in 0..2000 {
        bench.open(0, flow * 104_729);
        bench.know([BAD, GOOD, GOOD], NOW);
        let own = &mut bench.model.flows[0][1];
        (own.path, own.sent) = (0, 1_000_000);
        let path = bench.packet(0, true, NOW);
        assert_eq!(bench.packet(0, true, Time(NOW.0 + 1)), path);
        moved += u32::from(path != 0);
    }
    assert!(moved.abs_diff(1000) < 67, "{moved}");
}

/// After each timeout a flow chooses anew; after the third one on a path without an acknowledgement no flow between these hosts
/// takes it, nor one that is there already, while flows to another host do. A change of routes forgets that.
#[test]
fn black_holes_are_left() {
    let mut bench = Bench::new();
    bench.know([GOOD, GREY, GREY], NOW);
    for _ in 0..3 {
        assert_eq!(bench.packet(0, true, NOW), 0, "the only good path");
        bench.model.learn(ConnId(0), News::Timeout, NOW);
    }
    assert_ne!(bench.packet(0, true, NOW), 0);
    assert_eq!(bench.packet(1, true, NOW), 0);
    // A second flow between the same hosts.
    bench.open(2, 99);
    assert_ne!(bench.packet(2, true, NOW), 0);
    bench.model.hosts[0].forgive();
    bench.open(2, 99);
    assert_eq!(bench.packet(2, true, NOW), 0);
    // It leaves a path that fails while it is there.
    (0..3).for_each(|_| bench.model.learn(ConnId(2), News::Timeout, NOW));
    bench.model.flows[2][1].expired = false;
    assert_ne!(bench.packet(2, true, NOW), 0);
}

/// An acknowledgement is of the path that the flow had as its packet was sent. Retransmissions count once one of the new path
/// has come.
#[test]
fn news_is_of_the_path_of_its_packet() {
    let mut bench = Bench::new();
    bench.know([GOOD, BAD, BAD], NOW);
    assert_eq!(bench.packet(0, true, NOW), 0);
    bench.know([BAD, GOOD, BAD], NOW);
    let later = Time(NOW.0 + Time::from_us(200).0);
    bench.model.flows[0][1].sent = 1_000_000;
    assert_eq!(bench.packet(0, true, later), 1);
    let mut class = |sent: Time, now: Time| {
        bench.model.learn(ConnId(0), News::Acked { sent, marked: false }, now);
        let config = bench.model.config.clone();
        let settled = bench.model.flows[0][1].settled;
        let paths = bench.model.hosts[0].to(1, (2, 3), &config);
        (paths[0].view(now, &config).rtt / 1e6, paths[1].view(now, &config).rtt / 1e6, settled)
    };
    let now = Time(later.0 + Time::from_us(30).0);
    assert_eq!(class(Time(later.0 - 1_000_000), now), (31.0, 40.0, false));
    assert_eq!(class(later, now), (31.0, 30.0, true));
}

/// Acknowledgements keep a path, and take another one, perhaps the same, after a pause.
#[test]
fn answers_change_after_a_pause() {
    let mut bench = Bench::new();
    let at = |us| Time(NOW.0 + Time::from_us(us).0);
    let first = bench.packet(0, false, NOW);
    assert!((1..=20).all(|step| bench.packet(0, false, at(500 * step)) == first));
    let later: Vec<u32> = (1..=20).map(|step| bench.packet(0, false, at(20_000 + 501 * step))).collect();
    assert!(later.iter().any(|path| *path != first), "{later:?}");
}

/// A leaf finds the uplink of a label wherever it is among the next hops, and takes any if it is none of them.
#[test]
fn leaves_find_uplinks() {
    let bench = Bench::new();
    let (at, to) = (bench.ends[bench.routes.only_port(NodeId(0)).expect("a port").index()], NodeId(2));
    let next_hops = bench.routes.next_hops(at, to).to_vec();
    let pick = |label, next_hops: &[LinkId]| {
        let hop = Hop { at, to, label, hops: 1, ticket: 5, next_hops };
        next_hops[bench.model.pick(hop) as usize]
    };
    for uplink in 0..3 {
        assert_eq!(pick(0xabcd00 | uplink as u32, &next_hops), next_hops[uplink]);
    }
    assert_eq!(pick(2, &next_hops[1..]), next_hops[2]);
    assert!(next_hops[..2].contains(&pick(2, &next_hops[..2])));
}
