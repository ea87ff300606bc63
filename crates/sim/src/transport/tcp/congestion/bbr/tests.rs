//! BBR by hand: samples go in, rate and window come out.

use super::super::fixtures::{MSS, event, window};
use super::super::sample::DeliveryRate;
use super::*;
use crate::random::Purpose;

/// A bottleneck of 100 segments a second, a round trip of 100 ms: ten segments are the product.
const ROUND_TRIP: Time = Time::from_us(100_000);

fn plain() -> Bbr {
    Bbr { pacing_margin: 0.0, ..Bbr::default() }
}

/// Segments that a path delivers in rounds.
struct Bench {
    model: Model,
    window: Window,
    now: Time,
    delivered: u64,
}

impl Bench {
    fn new(config: &Bbr) -> Bench {
        let mut bench =
            Bench { model: Model::new(config), window: window(10), now: Time::ZERO, delivered: 0 };
        bench.model.seed(Stream::new(1, 0, Purpose::Control, 0));
        bench.model.start(&bench.window, None, bench.now);
        bench
    }

    /// A round later one segment is delivered, whose rate was so many segments in a round trip.
    fn sample(&mut self, segments: u64, in_flight: u64) -> Sample {
        self.now = self.now + ROUND_TRIP;
        let before = self.delivered;
        self.delivered += segments * MSS;
        let rate = DeliveryRate { before, bytes: segments * MSS, interval: ROUND_TRIP, app_limited: false };
        Sample {
            now: self.now,
            delivered: self.delivered,
            acked: MSS,
            prior_in_flight: in_flight * MSS,
            in_flight: in_flight * MSS,
            rate: Some(rate),
            round_trip: Some(ROUND_TRIP),
            smoothed: Some(ROUND_TRIP),
            ..Sample::default()
        }
    }

    fn take(&mut self, sample: &Sample) -> bool {
        self.model.on_sample(&mut self.window, sample)
    }

    fn round(&mut self, segments: u64, in_flight: u64) {
        let sample = self.sample(segments, in_flight);
        self.take(&sample);
    }

    /// In ProbeBw, with ten segments of product: four rounds of ten, and in flight no more than those.
    fn probing(config: &Bbr) -> Bench {
        let mut bench = Bench::new(config);
        for _ in 0..4 {
            bench.round(10, 10);
        }
        assert!(matches!(bench.model.mode, Mode::ProbeBw(_)), "{:?}", bench.model.mode);
        bench
    }
}

/// Rate in segments of a round trip.
fn rate(model: &Model) -> f64 {
    model.rate.0 as f64 / 8.0 / MSS as f64 * ROUND_TRIP.seconds()
}

/// The first window of ten segments is paced at 2.885 times ten a round trip: by the nominal one of 1 ms, then by the first
/// that is measured; Linux' margin takes 1 % of it.
#[test]
fn the_first_window_is_paced_by_the_gain_of_startup() {
    let mut bench = Bench::new(&plain());
    assert!((rate(&bench.model) - 28.85 * 100.0).abs() < 1e-3, "{}", rate(&bench.model));
    bench.model.start(&bench.window, Some(ROUND_TRIP), bench.now);
    assert!((rate(&bench.model) - 28.85).abs() < 1e-3, "{}", rate(&bench.model));
    let mut bench = Bench::new(&Bbr::default());
    bench.model.start(&bench.window, Some(ROUND_TRIP), bench.now);
    assert!((rate(&bench.model) - 0.99 * 28.85).abs() < 1e-3, "{}", rate(&bench.model));
}

/// Startup: each round delivers twice as much, and the rate is 2.885 times that. Then ten segments a round trip: after
/// three rounds without growth it drains at 1 / 2.885 of them, until ten and the room for three are in flight.
#[test]
fn startup_and_drain() {
    let mut bench = Bench::new(&plain());
    for segments in [20, 40, 80] {
        bench.round(segments, 2 * segments);
        assert_eq!(bench.model.mode, Mode::Startup);
        assert!((rate(&bench.model) - 2.885 * segments as f64).abs() < 1e-3, "{}", rate(&bench.model));
    }
    for _ in 0..2 {
        bench.round(80, 200);
        assert_eq!(bench.model.mode, Mode::Startup);
    }
    bench.round(80, 200);
    assert_eq!(bench.model.mode, Mode::Drain);
    assert!((rate(&bench.model) - 80.0 / 2.885).abs() < 1e-3, "{}", rate(&bench.model));
    bench.round(80, 85);
    assert_eq!(bench.model.mode, Mode::Drain);
    // 83 and a half, to an even number.
    bench.round(80, 84);
    assert!(matches!(bench.model.mode, Mode::ProbeBw(_)));
}

/// The gains of eight phases, from the one that is drawn: each lasts longer than a round trip. The window grows to two
/// products and the room for three segments, even, and two more where it probes.
#[test]
fn eight_phases() {
    let mut bench = Bench::probing(&plain());
    let mut found = Vec::new();
    for _ in 0..16 {
        bench.now = bench.now + Time::from_us(1_000);
        bench.round(10, 18);
        found.push((rate(&bench.model) * 1e3).round() / 1e4);
    }
    let first = found.iter().position(|gain| *gain == 1.25).expect("a phase that probes");
    let cycle: Vec<f64> = (0..8).map(|at| found[(first + at) % 8]).collect();
    assert_eq!(cycle, [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    assert_eq!(found[..8], found[8..]);
    for _ in 0..30 {
        bench.round(10, 10);
        assert!(bench.window.cwnd <= 26 * MSS);
    }
}

/// A phase that probes lasts until 1.25 products, and the room, are in flight, or a segment is lost: 12.5 + 3 are 16, and
/// two more. One that drains ends at once when no more than a product and the room, 14, are in flight.
#[test]
fn ends_of_phases() {
    let at = |phase: u8, in_flight: u64, lost: u64, later: Time| {
        let mut bench = Bench::probing(&plain());
        (bench.model.mode, bench.model.phase_from) = (Mode::ProbeBw(phase), bench.now);
        let mut sample = bench.sample(10, in_flight);
        (sample.now, sample.lost) = (bench.model.phase_from + later, lost * MSS);
        bench.take(&sample);
        bench.model.mode != Mode::ProbeBw(phase)
    };
    let (soon, late) = (Time::from_us(50_000), Time::from_us(100_001));
    let found = [
        at(PROBES, 18, 0, soon),
        at(PROBES, 17, 0, late),
        at(PROBES, 18, 0, late),
        at(PROBES, 12, 1, late),
        at(DRAINS, 15, 0, soon),
        at(DRAINS, 14, 0, soon),
        at(DRAINS, 15, 0, late),
        at(2, 5, 1, soon),
        at(2, 5, 0, late),
    ];
    assert_eq!(found, [false, false, true, true, false, true, true, false, true]);
}

/// ProbeBw begins in any phase but the one that drains, by the connection's stream.
#[test]
fn the_first_phase_is_drawn() {
    let mut seen = [0; PHASES as usize];
    for entity in 0..700 {
        let mut model = Model::new(&plain());
        model.seed(Stream::new(1, 0, Purpose::Control, entity));
        model.enter_probe_bw(Time::ZERO);
        let Mode::ProbeBw(phase) = model.mode else { panic!("{:?}", model.mode) };
        seen[usize::from(phase)] += 1;
    }
    assert_eq!(seen[usize::from(DRAINS)], 0);
    assert!(seen.iter().filter(|count| **count > 60).count() == 7, "{seen:?}");
}

/// Ten seconds after the round trip was measured four segments are in flight: from then on for 200 ms and until a round is
/// over. Meanwhile the control holds itself back; afterwards the window is that of before.
#[test]
fn the_round_trip_is_measured_anew() {
    let mut bench = Bench::probing(&plain());
    bench.now = Time::from_us(10_000_000);
    for _ in 0..30 {
        bench.now = bench.now - ROUND_TRIP;
        bench.round(10, 10);
    }
    let before = bench.window.cwnd;
    bench.now = bench.now + ROUND_TRIP;
    let mut sample = bench.sample(10, 10);
    sample.round_trip = Some(Time::from_us(120_000));
    assert!(bench.take(&sample));
    assert_eq!((bench.window.cwnd, bench.model.path.round_trip), (4 * MSS, sample.round_trip));
    // Four are in flight from here.
    let until = [4, 4, 4].map(|in_flight| {
        let sample = bench.sample(4, in_flight);
        let held = bench.take(&sample);
        (held, bench.window.cwnd / MSS)
    });
    // 100 ms and 200 ms after the first of them; not longer than the duration.
    assert_eq!(until, [(true, 4), (true, 4), (true, 4)]);
    bench.now = bench.now + Time::from_us(1);
    let sample = bench.sample(4, 4);
    assert!(!bench.take(&sample));
    assert!(bench.window.cwnd >= before, "{} after {before}", bench.window.cwnd);
}

/// After a pause of more than ten seconds the round trip is old, and the first sample behind it measures it without holding the
/// sender back. Ten seconds after that sample it is old once more, and four segments are in flight.
#[test]
fn a_pause_saves_one_measurement_only() {
    let mut bench = Bench::probing(&plain());
    let long = Time::from_us(10_100_000);
    bench.now = bench.now + long;
    bench.model.on_restart(&mut bench.window, bench.now);
    let first = bench.sample(10, 10);
    assert!(!bench.take(&first));
    bench.now = bench.now + long;
    let mut second = bench.sample(10, 10);
    second.round_trip = Some(Time::from_us(120_000));
    assert!(bench.take(&second));
    assert_eq!(bench.window.cwnd, 4 * MSS);
}

/// A recovery: in its first round as much is sent as is delivered, so that five in flight and one delivered leave a window
/// of six; then the window grows by what is delivered, and after the recovery it is that of before.
#[test]
fn a_recovery_conserves_packets_for_a_round() {
    let mut bench = Bench::probing(&plain());
    for _ in 0..20 {
        bench.round(10, 10);
    }
    let before = bench.window.cwnd;
    let lost = event(Cause::FastRetransmit { dupacks: 0 }, bench.now);
    bench.model.on_congestion_event(&mut bench.window, &lost);
    assert_eq!(bench.window.cwnd, before);
    let mut sample = bench.sample(10, 5);
    (sample.repair, sample.lost) = (Repairing::Recovery, MSS);
    bench.take(&sample);
    assert_eq!(bench.window.cwnd, 6 * MSS);
    // The same round: the rate of a segment that was sent before it began.
    let mut again = bench.sample(0, 5);
    (again.repair, again.lost) = (Repairing::Recovery, 2 * MSS);
    again.rate = sample.rate;
    bench.take(&again);
    assert_eq!(bench.window.cwnd, 6 * MSS);
    let mut next = bench.sample(10, 5);
    next.repair = Repairing::Recovery;
    bench.take(&next);
    assert_eq!(bench.window.cwnd, 7 * MSS);
    let done = bench.sample(10, 5);
    bench.take(&done);
    assert!(bench.window.cwnd.abs_diff(before) <= 2 * MSS, "{} after {before}", bench.window.cwnd);
}

/// After a timeout the connection sets the window to a segment; by delivered data it grows, to at least four, and when all is
/// repaired it is that of before.
#[test]
fn a_timeout_is_repaired() {
    let mut bench = Bench::probing(&plain());
    for _ in 0..20 {
        bench.round(10, 10);
    }
    let before = bench.window.cwnd;
    let timeout = event(Cause::Timeout { first: true }, bench.now);
    bench.model.on_congestion_event(&mut bench.window, &timeout);
    bench.window.cwnd = MSS;
    let mut sample = bench.sample(1, 1);
    sample.repair = Repairing::Timeout;
    bench.take(&sample);
    assert_eq!(bench.window.cwnd, 4 * MSS);
    let done = bench.sample(1, 1);
    bench.take(&done);
    assert!(bench.window.cwnd.abs_diff(before) <= 2 * MSS, "{} after {before}", bench.window.cwnd);
}

/// After a pause ProbeBw sends at the bandwidth, whatever its phase, and a mark changes nothing.
#[test]
fn restarts_and_marks() {
    let mut bench = Bench::probing(&plain());
    bench.model.mode = Mode::ProbeBw(PROBES);
    let held = bench.window.cwnd;
    bench.model.on_congestion_event(&mut bench.window, &event(Cause::EcnEcho, bench.now));
    bench.model.on_restart(&mut bench.window, bench.now);
    assert!((rate(&bench.model) - 10.0).abs() < 1e-3, "{}", rate(&bench.model));
    assert_eq!(bench.window.cwnd, held);
}

/// A connection does not begin with a pause (Linux: `idle_restart` is 0): if the round trip of its handshake is older than
/// the window when the first segment is delivered, it is measured anew at once.
#[test]
fn a_connection_does_not_begin_as_after_a_pause() {
    for (window_ms, expected) in [(99, true), (101, false)] {
        let mut bench = Bench::new(&Bbr { min_rtt_window: Time::from_us(1_000 * window_ms), ..plain() });
        bench.model.start(&bench.window, Some(ROUND_TRIP), bench.now);
        bench.round(10, 10);
        assert_eq!(matches!(bench.model.mode, Mode::ProbeRtt { .. }), expected, "{window_ms} ms");
    }
}

/// Ten seconds after the last round trip was measured only retransmissions are acknowledged, which measure none (Karn). With four
/// segments in flight ProbeRtt is over all the same when 200 ms have passed: the old estimate does not begin it again.
#[test]
fn a_probe_without_a_round_trip_ends() {
    let mut bench = Bench::probing(&plain());
    bench.now = bench.now + Time::from_us(10_000_000);
    let held = [(); 4].map(|()| {
        let sample = Sample { round_trip: None, ..bench.sample(4, 4) };
        bench.take(&sample)
    });
    assert_eq!(held, [true, true, true, false]);
}
