//! CUBIC in runs: the window after a loss against RFC 9438's functions of time. The controller alone is tested beside it.

use crate::common::{MS, run};

const MSS: f64 = 1460.0;

/// The congestion window in segments, sampled, of a flow over a cable with an initial window of so many segments, of
/// which the first is lost: by the third duplicate all of them are in flight, and when the repeat is acknowledged, two
/// round trips after the start, congestion avoidance begins with 0.7 of them.
fn after_a_loss(segments: u64, cable: &str, settings: &str, until: &str, every: &str) -> Vec<(u64, f64)> {
    let run = run(&format!(
        r#"
        faults.packets = [{{ traffic = "flow", numbers = [1] }}]
        [topology.line]
        switches = 0
        rate = "10Gbps"
        delay = "{cable}"
        [transport.tcp]
        congestion.cubic = {{ {settings} losses.full_ack = "ssthresh" }}
        handshake = false
        delayed_ack = 1
        initial_window = {segments}
        receive_window = "10MB"
        [[traffic]]
        name = "flow"
        background = true
        arrivals.at-once = {{ jitter = "0s" }}
        matrix.pairs = [[0, 1]]
        sizes = "endless"
        [run]
        until = "{until}"
        [observe.samples]
        every = "{every}"
        links = []
        "#
    ));
    assert_eq!((run.counters().drops, run.counters().timeouts), (0, 0));
    run.samples("cwnd_bytes").into_iter().map(|(time, bytes)| (time, bytes / MSS)).collect()
}

/// Equation 1: from 140 of 200 segments the window is 0.4 (t - K)^3 + 200 with K = cbrt(60 / 0.4) = 5.313 s, to within a
/// segment: acknowledgements come in bursts, a round trip of 10 ms apart, in which the function rises by 0.34 at most.
#[test]
fn the_window_is_the_cubic_function_of_time() {
    let windows = after_a_loss(200, "5ms", "reno_friendly = false,", "8s", "100ms");
    let k = (60.0_f64 / 0.4).cbrt();
    let mut seen = 0;
    for (time, window) in windows {
        let t = (time as f64 / MS as f64 - 20.0) / 1000.0;
        if t < 0.05 {
            continue;
        }
        let expected = 0.4 * (t - k).powi(3) + 200.0;
        assert!((window - expected).abs() < 1.0, "{t} s: {window}, not {expected}");
        seen += 1;
    }
    assert!(seen > 75, "{seen} samples");
}

/// Equation 4, where a round trip is 1 ms: from 70 of 100 segments the window grows by 0.9 / 1.7 of a segment a round
/// trip up to 100 and by a segment from there on, far above the cubic function, which would be at 74 after 200 ms.
#[test]
fn short_round_trips_are_in_the_reno_friendly_region() {
    let windows = after_a_loss(100, "500us", "", "150ms", "1ms");
    let alpha = 0.9 / 1.7;
    let turn = 30.0 / alpha;
    let mut seen = 0;
    for (time, window) in windows {
        let round_trips = (time as f64 / MS as f64 - 2.0) / 1.001_232;
        if round_trips < 1.0 {
            continue;
        }
        let expected = 70.0 + alpha * round_trips.min(turn) + (round_trips - turn).max(0.0);
        assert!((window - expected).abs() < 1.0, "{round_trips} round trips: {window}, not {expected}");
        seen += 1;
    }
    assert!(seen > 140);
}
