//! XMP (Cao et al., CoNEXT 2013): the use of a link by BOS against the closed form of its sawtooth, and TraSh's shift of
//! traffic between two paths.

use crate::common::{Run, run};

/// A segment on the wire, and the rate of the bottleneck in packets of that size a microsecond.
const WIRE: f64 = 1500.0;
const RATE: f64 = 10e9 / 8.0 / WIRE / 1e6;
/// The round trip of a segment alone, in microseconds: three cables out and back, at 40, 10 and 40 Gbps, and an
/// acknowledgement of 40 B.
const ROUND_TRIP: f64 = 2.0 * (1.0 + 97.15 + 1.0) + (0.3 + 1.2 + 0.3) + (0.008 + 0.032 + 0.008);

/// Share of the bottleneck that a long flow uses, from the end of the second 100 ms to that of the fifth.
fn used(threshold: u32) -> f64 {
    let until = |ms: u64| {
        let run = run(&format!(
            r#"
            topology.dumbbell = {{ hosts = 1, rate = "40Gbps", delay = "1us", bottleneck = {{ rate = "10Gbps", delay = "97.15us" }} }}
            transport.tcp = {{ congestion = "bos", preset = "datacentre", delayed_ack = 1, receive_window = "10MB" }}
            queue.ecn = {{ threshold.packets = {threshold}, limit.packets = 1000 }}
            [[traffic]]
            name = "long"
            arrivals.at-once = {{}}
            matrix.pairs = [[0, 1]]
            sizes.fixed = "10GB"
            [run]
            until = "{ms}ms"
            "#
        ));
        run.link("left switch", "right switch", "bytes") as f64
    };
    (until(500) - until(200)) / (RATE * WIRE * 300e3)
}

/// The sawtooth of a window that a mark beyond K cuts by a quarter: it grows by a segment a round, and a round lasts the
/// round trip, or longer by the packets that wait.
fn sawtooth(threshold: u32) -> f64 {
    let product = RATE * ROUND_TRIP;
    let peak = product + f64::from(threshold);
    let windows = || (0..).map(|n| 0.75 * peak + f64::from(n)).take_while(|&window| window <= peak);
    let (sent, rounds): (f64, f64) = (windows().sum(), windows().map(|window| window.max(product)).sum());
    sent / rounds
}

/// The product of rate and round trip is 166.8 packets: K above a third of it, 55.6, keeps the link busy, and K = 28 lets the
/// window fall to 146.
#[test]
fn the_use_of_a_link_by_threshold() {
    assert!((RATE * ROUND_TRIP - 166.8).abs() < 0.3, "{}", RATE * ROUND_TRIP);
    for threshold in [10, 28, 56, 80] {
        let (found, expected) = (used(threshold), sawtooth(threshold));
        assert!((found - expected).abs() < 0.01, "K = {threshold}: {found}, by the closed form {expected}");
    }
    assert!((sawtooth(28) - 0.974).abs() < 0.002 && sawtooth(56) > 0.999);
}

/// The share of the link from leaf 0 to spine 0 that a flow of two subflows takes of it, the second by spine 1, beside a flow
/// of one; from 50 to 250 ms.
fn share(coupling: &str) -> f64 {
    let until = |ms: u64| -> Run {
        run(&format!(
            r#"
            topology.leaf-spine = {{ leaves = 2, spines = 2, hosts = 2, rate = "10Gbps", delay = "10us", spine.rate = "5Gbps" }}
            transport.mptcp = {{ subflows = 2, coupling = "{coupling}", tcp = {{ congestion = "bos", preset = "datacentre" }} }}
            queue.ecn = {{ threshold.packets = 30, limit.packets = 300 }}
            routing.balancer.explicit.routes = [
              {{ path = ["host 0", "leaf 0", "spine 0", "leaf 1", "host 2"], taken_by = {{ traffic = "two", flows = [0] }} }},
              {{ path = ["host 0", "leaf 0", "spine 1", "leaf 1", "host 2"], taken_by = {{ traffic = "two", flows = [0] }} }},
              {{ path = ["host 1", "leaf 0", "spine 0", "leaf 1", "host 3"] }},
            ]
            [[traffic]]
            name = "two"
            arrivals.at-once = {{}}
            matrix.pairs = [[0, 2]]
            sizes.fixed = "1GB"
            [[traffic]]
            name = "one"
            arrivals.at-once = {{}}
            matrix.pairs = [[1, 3]]
            sizes.fixed = "1GB"
            transport.tcp = {{ congestion = "bos", preset = "datacentre" }}
            [run]
            until = "{ms}ms"
            "#
        ))
    };
    let runs = [50, 250].map(until);
    let [all, alone] = [("leaf 0", "spine 0"), ("host 1", "leaf 0")]
        .map(|(from, to)| runs.each_ref().map(|run| run.link(from, to, "bytes") as f64))
        .map(|[early, late]| late - early);
    (all - alone) / all
}

/// In a fluid in which both flows meet each mark, windows on one port are in proportion to their growth: uncoupled, both have a
/// half. With TraSh the subflow grows by x / (x + 5), x of 5 Gbps being its rate there and 5 that on the free path, so that
/// x / (5 - x) would be that, and x = 0. A mark meets packets, of which a small window has few, so that it is cut more rarely:
/// the sign is what holds, less than half of the share that it has uncoupled.
#[test]
fn trash_moves_traffic_to_the_free_path() {
    let (alone, coupled) = (share("uncoupled"), share("trash"));
    assert!((alone - 0.5).abs() < 0.1, "uncoupled: {alone}");
    assert!(coupled < alone / 2.0, "TraSh: {coupled}, uncoupled: {alone}");
}
