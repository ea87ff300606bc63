//! TIMELY, PowerTCP, DCTCP and the DCQCN of the HPCC simulator over RoCE: single reactions by hand, and fixed points.

use crate::common::{MS, Run, run};
use flowyard_sim::derived::Derived;
use flowyard_sim::transport::roce::congestion::dcqcn_hpcc::{DcqcnHpcc, Model as DcqcnHpccModel};
use flowyard_sim::transport::roce::congestion::dctcp::{DctcpControl, Model as DctcpModel};
use flowyard_sim::transport::roce::congestion::timely::{Counts, Model as TimelyModel, Timely};
use flowyard_sim::transport::roce::congestion::window::Window;
use flowyard_sim::transport::roce::congestion::{Ack, Control, Telemetry};
use flowyard_sim::units::{Rate, Time};

const GBPS: u64 = 1_000_000_000;

fn close(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-12
}

/// Round trips of so many us in order, one acknowledgement each, and the rate after each in Gbps.
fn timely(config: &Timely, line: u64, round_trips: &[u64]) -> Vec<f64> {
    let mut model = TimelyModel::new(config, Rate(line * GBPS));
    let mut rates = Vec::new();
    for (number, rtt) in (1..).zip(round_trips) {
        let ack = Ack { una: 1000 * number, next: 1000 * number, rtt: Time::from_us(*rtt), ..Ack::default() };
        model.on_ack(&ack, &Telemetry::NONE);
        rates.push(model.rate() / 1e9);
    }
    rates
}

/// Twice 1000 us, above 500 us: 10 (1 - 0.8 (1 - 500 / 1000)) = 6 Gbps. From 100 to 110 us: the average difference is
/// 0.875 x 10 us, by 20 us 0.4375: 10 (1 - 0.8 x 0.4375) = 6.5 Gbps; then 1000 us: 0.6 of it.
#[test]
fn timely_falls_by_hand() {
    let config = Timely::default();
    let found = timely(&config, 10, &[1000, 1000]);
    assert!(close(found[0], 10.0) && close(found[1], 6.0), "{found:?}");
    let found = timely(&config, 10, &[100, 110, 1000]);
    assert!(close(found[1], 6.5) && close(found[2], 3.9), "{found:?}");
}

/// From 1 Gbps, the least rate: five increases by 100 Mbps, then by 500 Mbps. By the paper's count those below 50 us are all
/// by 100 Mbps, and at a falling round trip above it hyper-active increase begins after five.
#[test]
fn timely_rises_by_hand() {
    let config = Timely { min_rate: Some(Rate(GBPS)), ..Timely::default() };
    let mut low = vec![100, 1_000_000, 1_000_000, 1_000_000];
    low.extend([10; 10]);
    let found = timely(&config, 100, &low);
    assert!(close(found[3], 1.0) && close(found[8], 1.5) && close(found[13], 4.0), "{found:?}");

    let paper = Timely { hai_counts: Counts::Gradient, ..config };
    let found = timely(&paper, 100, &low);
    assert!(close(found[13], 2.0), "{found:?}");
    let mut falling = vec![100, 1_000_000, 1_000_000, 1_000_000, 499];
    falling.extend((1..10).map(|step| 499 - step));
    let found = timely(&paper, 100, &falling);
    assert!(close(found[8] - found[7], 0.1) && close(found[10] - found[9], 0.5), "{found:?}");
}

/// By the paper's count an increase below 50 us is none with a falling gradient: the count begins anew. Five at falling
/// round trips, one at 10 us, and after that five more by 100 Mbps before the first by 500 Mbps; the weight of the fall
/// to 10 us keeps the average difference below zero at 51 and 50 us.
#[test]
fn timely_counts_increases_that_follow_each_other() {
    let hai_counts = Counts::Gradient;
    let config = Timely { min_rate: Some(Rate(GBPS)), hai_counts, ..Timely::default() };
    let round_trips =
        [100, 1_000_000, 1_000_000, 1_000_000, 499, 498, 497, 496, 495, 10, 51, 50, 50, 50, 50, 50];
    let found = timely(&config, 100, &round_trips);
    for (place, gbps) in [(3, 1.0), (8, 1.5), (9, 1.6), (14, 2.1), (15, 2.6)] {
        assert!(close(found[place], gbps), "{place}: {found:?}");
    }
}

/// Acknowledgements within a round trip change nothing.
#[test]
fn timely_reacts_once_in_a_round_trip() {
    let mut model = TimelyModel::new(&Timely::default(), Rate(10 * GBPS));
    for (una, rtt) in [(1000, 1000), (2000, 1000), (5000, 1000), (5001, 1000), (9000, 1000)] {
        let ack = Ack { una, next: 5000, rtt: Time::from_us(rtt), ..Ack::default() };
        model.on_ack(&ack, &Telemetry::NONE);
        assert_eq!(
            model.rate() / 1e9,
            if una <= 5000 {
                10.0
            } else if una == 5001 {
                6.0
            } else {
                3.6
            }
        );
    }
}

/// Alone, with round trips below 50 us, a flow stays at its line's rate: a packet of 1056 B takes 84.48 ns.
#[test]
fn a_lone_flow_under_timely_to_the_picosecond() {
    let run = run(r#"
        topology.single-switch = { hosts = 2, rate = "100Gbps", delay = "1us" }
        transport.roce = { header_bytes = "56B", ack_bytes = "60B", congestion = "timely" }
        [[traffic]]
        name = "flow"
        arrivals.at-once = { jitter = "0s" }
        matrix.pairs = [[1, 0]]
        sizes.fixed = "100KB"
        "#);
    assert_eq!(run.flow("fct_acked_ps"), 101 * 84_480 + 2 * 4_800 + 4_000_000);
}

/// Alpha begins at 1. The first acknowledgement opens a round trip of 4 packets, of which 2 are marked: the first mark cuts
/// the rate to a half, the second one does nothing until byte 5000 is acknowledged. The share 2 / 4 enters alpha.
#[test]
fn dctcp_by_hand() {
    let config = DctcpControl { g: 0.25, ai: Some(Rate(GBPS)), ..DctcpControl::default() };
    let mut model = DctcpModel::new(&config, Rate(10 * GBPS));
    let mut answer = |una, next, marked| {
        model.on_ack(&Ack { una, next, marked, ..Ack::default() }, &Telemetry::NONE);
        (model.rate() / 1e9, model.alpha())
    };
    assert_eq!(answer(1000, 4000, false), (10.0, 1.0));
    assert_eq!(answer(2000, 5000, true), (5.0, 1.0));
    assert_eq!(answer(3000, 6000, true), (5.0, 1.0));
    assert_eq!(answer(4000, 6000, false), (5.0, 1.0));
    // Closes the round trip: 2 of 5 answers; still no rise behind the cut.
    assert_eq!(answer(5000, 9000, false), (5.0, 0.75 + 0.25 * 0.4));
    assert_eq!(answer(6000, 9000, false), (5.0, 0.85));
    // Closes the next one, without a mark: 1 Gbps more, at most the line.
    assert_eq!(answer(10_000, 12_000, false), (6.0, 0.75 * 0.85));
    for round in 0..9 {
        answer(13_000 + 3000 * round, 15_000 + 3000 * round, false);
    }
    assert_eq!(answer(99_000, 99_000, false).0, 10.0);
}

/// A base round trip of 4 us: 5000 B at the line's 10 Gbps, and half as many at the rate that a cut leaves, unless the window is
/// fixed.
#[test]
fn dctcp_may_have_a_window() {
    for (window, before, after) in [
        (Window::None, None, None),
        (Window::Fixed, Some(5000), Some(5000)),
        (Window::Variable, Some(5000), Some(2500)),
    ] {
        let base_rtt = Derived::Given(Time::from_ns(4000));
        let config = DctcpControl { window, base_rtt, ..DctcpControl::default() };
        let mut model = DctcpModel::new(&config, Rate(10 * GBPS));
        assert_eq!(model.window(), before);
        let mark = Ack { una: 1000, next: 4000, marked: true, ..Ack::default() };
        model.on_ack(&mark, &Telemetry::NONE);
        assert_eq!((model.rate(), model.window()), (5e9, after));
    }
}

/// So many endless flows into one port of 100 Gbps under PowerTCP, for some ms. Packets have hardly any header: windows count
/// payload.
fn powertcp(senders: u32, mode: &str) -> Run {
    run(&format!(
        r#"
        topology.single-switch = {{ hosts = {}, rate = "100Gbps", delay = "1us" }}
        transport.roce = {{ header_bytes = "1B", congestion.powertcp = {{ mode = "{mode}" }} }}
        [[traffic]]
        name = "flows"
        background = true
        arrivals.at-once = {{ jitter = "10us" }}
        matrix.incast = {{ senders = {senders}, receiver = 0 }}
        sizes = "endless"
        [run]
        audit = true
        until = "6ms"
        [observe.samples]
        every = "5us"
        links = ["switch -> host 0"]
        "#,
        senders + 1
    ))
}

/// Where W (1 - 1 / P) = beta and P = 1 + q / (C tau), a queue of N beta waits. Beta is a tenth of C tau, and tau the round
/// trip without queues: two packets of 1001 B, two acknowledgements of 66 B and four times 1 us.
#[test]
fn powertcp_keeps_a_queue_of_beta_for_each_flow() {
    let pipe = (2.0 * (1001.0 + 66.0) * 8.0 / 100.0 + 4000.0) * 100.0 / 8.0;
    for (mode, bound) in [("telemetry", 0.1), ("theta", 0.15)] {
        for senders in [5, 10] {
            let run = powertcp(senders, mode);
            let late = run.samples("queue_bytes").into_iter().filter(|(time, _)| *time > 3 * MS);
            let queue: Vec<f64> = late.map(|(_, bytes)| bytes).collect();
            let mean = queue.iter().sum::<f64>() / queue.len() as f64;
            let expected = f64::from(senders) * pipe / 10.0;
            let off = (mean - expected).abs();
            assert!(
                off <= f64::max(bound * expected, f64::from(senders) * 1001.0),
                "{mode}, {senders}: {mean}, {expected}"
            );
        }
    }
}

/// Acknowledgements with marks at so many us, and the rate in Gbps at each of the given times in ns.
fn dcqcn_hpcc(config: &DcqcnHpcc, marks: &[u64], times: &[u64]) -> Vec<f64> {
    let mut model = DcqcnHpccModel::new(config, Rate(100 * GBPS));
    let mut events: Vec<_> = marks.iter().map(|us| (1000 * us, true)).collect();
    events.extend(times.iter().map(|&ns| (ns, false)));
    events.sort_unstable();
    let mut rates = Vec::new();
    for (ns, marked) in events {
        let now = Time::from_ns(ns);
        model.advance(now);
        if marked {
            model.on_ack(&Ack { now, marked, ..Ack::default() }, &Telemetry::NONE);
        } else {
            rates.push(model.rate() / 1e9);
        }
    }
    rates
}

/// One notification at t = 10 us: alpha falls four times before the cut, 4.001 us later, to (255/256)^4 = 0.984466; the rate
/// to 50.7767 Gbps while the target stays. Then each 900 us it rises half of the way. Under the order of the paper, with an
/// alpha of 1, it would be 50 Gbps.
#[test]
fn dcqcn_of_the_hpcc_simulator_by_hand() {
    let cut = 14_001;
    let times = [cut - 1, cut, cut + 899_999, cut + 900_000, cut + 1_800_000, cut + 2_700_000];
    let found = dcqcn_hpcc(&DcqcnHpcc::default(), &[10], &times);
    let low = 100.0 * (1.0 - (255.0_f64 / 256.0).powi(4) / 2.0);
    assert!((low - 50.7767).abs() < 1e-4);
    let mut expected = vec![100.0, low, low];
    for _ in 0..3 {
        expected.push(f64::midpoint(100.0, expected[expected.len() - 1]));
    }
    for (found, expected) in found.iter().zip(&expected) {
        assert!(close(*found, *expected), "{found} is not {expected}");
    }
}

/// Notifications of one interval make one cut, with an alpha to which each microsecond with one of them adds g. A second cut
/// without a rise since the first keeps the target of 100 Gbps, or with `clamp_target` lowers it to the rate of the first.
#[test]
fn notifications_of_an_interval_make_one_cut() {
    let g = 1.0 / 256.0;
    // At 1, 2, 3, 4 us after the first: nothing, one, nothing, nothing; then nothing for four more.
    let alpha = [0.0, 1.0, 0.0, 0.0].iter().fold(1.0, |alpha, noted| (1.0 - g) * alpha + g * noted);
    let first = 100.0 * (1.0 - alpha / 2.0);
    let alpha = [1.0, 0.0, 0.0, 0.0].iter().fold(alpha, |alpha, noted| (1.0 - g) * alpha + g * noted);
    let second = first * (1.0 - alpha / 2.0);
    for (clamp_target, target) in [(false, 100.0), (true, first)] {
        let config = DcqcnHpcc { clamp_target, ..DcqcnHpcc::default() };
        let mut model = DcqcnHpccModel::new(&config, Rate(100 * GBPS));
        let mut at = |ns: u64, marked: bool| {
            let now = Time::from_ns(ns);
            model.advance(now);
            model.on_ack(&Ack { now, marked, ..Ack::default() }, &Telemetry::NONE);
            model.rate() / 1e9
        };
        at(0, true);
        at(1500, true);
        at(1900, true);
        assert!(close(at(4001, false), first));
        at(4500, true);
        assert!(close(at(8001, false), second) && close(at(12_001, false), second));
        assert!(close(at(908_001, false), f64::midpoint(second, target)));
    }
}
