//! D2TCP: the reduction for a mark, by hand from Vamanan et al. 2012, and its effect for a flow with a near
//! deadline.

use crate::common::scenarios::{flow_into_a_slower_link, flows};
use crate::common::{Run, run};
use flowyard_sim::transport::tcp::congestion::d2tcp::D2tcp;
use flowyard_sim::transport::tcp::congestion::dctcp::Dctcp;
use flowyard_sim::transport::tcp::congestion::{
    Cause, Congestion, CongestionEvent, Control, Model, Progress, Window,
};
use flowyard_sim::transport::tcp::{Growth, Halves};
use flowyard_sim::units::Time;

const MSS: u64 = 1460;

const WINDOW: Window = Window {
    cwnd: 0,
    ssthresh: u64::MAX,
    mss: MSS,
    flight: 0,
    most: 1_000_000,
    min_ssthresh: 2,
    halves: Halves::Flight,
    growth: Growth::Acks,
    counted: 0,
    after_timeout: false,
};

fn model(config: D2tcp) -> Model {
    Congestion::from(config).model()
}

fn exponent(model: &Model, cwnd: u64, progress: Progress) -> f64 {
    let Model::D2tcp(d2tcp) = model else { panic!("D2TCP") };
    d2tcp.exponent(cwnd, &progress)
}

/// So many segments to send, with a round trip of 100 us, in so many microseconds.
fn hurry(segments: u64, time_left_us: u64) -> Progress {
    let round_trip = Some(Time::from_us(100));
    Progress { left: segments * MSS, round_trip, time_left: Some(Time::from_us(time_left_us)) }
}

/// A mark.
fn mark(progress: Progress) -> CongestionEvent {
    CongestionEvent { cause: Cause::EcnEcho, now: Time::ZERO, progress }
}

/// 150 segments with a window of 20 take 150 / 15 = 10 round trips, which are 1 ms.
#[test]
fn the_exponent_by_hand() {
    let plain = model(D2tcp::default());
    for (left_us, expected) in [(1000, 1.0), (800, 1.25), (1250, 0.8), (500, 2.0), (2000, 0.5)] {
        let found = exponent(&plain, 20 * MSS, hurry(150, left_us));
        assert!((found - expected).abs() < 1e-12, "{left_us} us: {found}");
    }
    // It stays between a half and two, and has its own value after the deadline.
    assert_eq!(exponent(&plain, 20 * MSS, hurry(150, 1)), 2.0);
    assert_eq!(exponent(&plain, 20 * MSS, hurry(150, 1_000_000)), 0.5);
    assert_eq!(exponent(&plain, 20 * MSS, hurry(150, 0)), 1.0);
    let other =
        model(D2tcp { min_exponent: 0.25, max_exponent: 4.0, late_exponent: 3.0, ..D2tcp::default() });
    assert_eq!(exponent(&other, 20 * MSS, hurry(150, 1)), 4.0);
    assert_eq!(exponent(&other, 20 * MSS, hurry(150, 1_000_000)), 0.25);
    assert_eq!(exponent(&other, 20 * MSS, hurry(150, 0)), 3.0);
    // Without a deadline, or before anything is known of the round trip, it is DCTCP.
    assert_eq!(exponent(&plain, 20 * MSS, Progress { time_left: None, ..hurry(150, 1) }), 1.0);
    assert_eq!(exponent(&plain, 20 * MSS, Progress { round_trip: None, ..hurry(150, 1) }), 1.0);
}

/// Alpha is 1/4: alpha^2 = 1/16, alpha^1 = 1/4, alpha^(1/2) = 1/2; half of that goes.
#[test]
fn the_cut_by_hand() {
    let config = D2tcp { dctcp: Dctcp { initial_alpha: 0.25, ..Dctcp::default() }, ..D2tcp::default() };
    for (left_us, expected) in [(100, 31.0 / 32.0), (1000, 7.0 / 8.0), (9000, 3.0 / 4.0)] {
        let cwnd = 20 * MSS;
        let mut window = Window { cwnd, ..WINDOW };
        model(config.clone()).on_congestion_event(&mut window, &mark(hurry(150, left_us)));
        assert_eq!(window.cwnd, (cwnd as f64 * expected) as u64, "{left_us} us");
        assert_eq!(window.ssthresh, window.cwnd);
    }
    // Of a window of 40 the receiver lets 20 be used: those 150 segments take 1 ms, and not half of that.
    let mut window = Window { cwnd: 40 * MSS, most: 20 * MSS as u32, ..WINDOW };
    model(config).on_congestion_event(&mut window, &mark(hurry(150, 1000)));
    assert_eq!(window.cwnd, 35 * MSS);
}

/// One flow at 10 Gbps through a port of 1 Gbps, with a deadline or without: the same up to its first mark.
fn alone(congestion: &str, deadline: &str) -> Run {
    run(&format!(
        r#"
        transport.tcp.congestion = {congestion}
        queue.ecn = {{ limit.packets = 200, threshold.packets = 20 }}
        {}
        {deadline}
        [observe.samples]
        every = "1us"
        links = []
        "#,
        flow_into_a_slower_link(25, 1_000_000)
    ))
}

/// The window before and after the first time that it shrinks.
fn first_cut(run: &Run) -> (f64, f64) {
    let windows: Vec<f64> = run.samples("cwnd_bytes").into_iter().map(|(_, bytes)| bytes).collect();
    let pair = windows.windows(2).find(|pair| pair[1] < pair[0]).expect("a mark");
    (pair[0], pair[1])
}

/// At one and the same alpha, a flow near its deadline gives up less than one that has time; what it gives up is half
/// of alpha to the power of its exponent.
#[test]
fn near_deadlines_are_cut_less() {
    let at_once = "{ dctcp = { initial_alpha = 0.4, proportional_reduction = false } }";
    let d2tcp = format!("{{ d2tcp = {at_once} }}");
    let dctcp = first_cut(&alone(at_once, ""));
    let [near, none, far] =
        ["deadline = \"2ms\"", "", "deadline = \"1s\""].map(|deadline| first_cut(&alone(&d2tcp, deadline)));
    assert_eq!(none, dctcp);
    assert_eq!((near.0, far.0), (none.0, none.0));
    assert!(near.1 > none.1 && none.1 > far.1);
    let share = |(before, after): (f64, f64)| 2.0 * (1.0 - after / before);
    let alpha = share(none);
    assert!((share(near) - alpha.powi(2)).abs() < 1e-3 && (share(far) - alpha.sqrt()).abs() < 1e-3);
}

/// Two flows of one size share a port; the one in a hurry is through well before either would be without
/// deadlines, and the other when the link has carried both.
#[test]
fn a_flow_in_a_hurry_gets_more() {
    let fct = |near: &str, far: &str| {
        let text = format!(
            r#"
            transport.tcp = {{ congestion = "d2tcp", delayed_ack = 1 }}
            queue.ecn = {{ limit.packets = 200, threshold.packets = 20 }}
            [topology.dumbbell]
            hosts = 2
            rate = "10Gbps"
            delay = "10us"
            bottleneck = {{ rate = "1Gbps" }}
            {}
            {near}
            {}
            {far}
            "#,
            flows("near", &[[0, 2]], 5_000_000),
            flows("far", &[[1, 3]], 5_000_000)
        );
        let run = run(&text);
        let of = |tag: &str| run.flow_of(tag, "fct_ps");
        (of("near"), of("far"))
    };
    let (one, other) = fct("", "");
    let (near, far) = fct("deadline = \"50ms\"", "deadline = \"10s\"");
    assert!(near as f64 <= 0.9 * one.min(other) as f64, "{near} is not much before {one} and {other}");
    // 10 MB are 6850 segments of 12 us: the port is never idle for long.
    assert!((far as f64 / (6850.0 * 12e6) - 1.0).abs() < 0.03, "{far}");
}
