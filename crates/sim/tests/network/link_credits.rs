//! Credits on links: throughput by the window, and nothing dropped.

use crate::common::run;

/// The goodput of one flow of datagrams of 2048 B on the wire over a switch, cables of 10 Gbps and 1 us, in bit/s of the wire.
fn rate(window: &str) -> f64 {
    let packets = 1000;
    let run = run(&format!(
        r#"
        topology.single-switch = {{ hosts = 2, rate = "10Gbps", delay = "1us" }}
        transport.datagram.lengths.fixed = "2048B"
        queue.link-credits.window = "{window}"
        [[traffic]]
        name = "flow"
        arrivals.at-once = {{ jitter = "0s" }}
        matrix.pairs = [[0, 1]]
        sizes.fixed = "{}B"
        "#,
        packets * 2020
    ));
    assert_eq!(run.counters().drops, 0);
    (packets * 2048 * 8) as f64 / (run.flow("fct_ps") as f64 * 1e-12)
}

/// LIT-IB-1: 2048 B take 1.6384 us, the cable there and back 2 us, and a frame of 8 B 6.4 ns. With a window of one packet the link carries one in
/// 3.6448 us, 4.495 Gbps; of two 8.99 Gbps; from three on it is full. To half a percent, for the ends of the flow.
#[test]
fn a_link_carries_a_window_in_a_round_trip() {
    for (window, gbps) in [("2048B", 4.4952), ("4096B", 8.9904), ("6144B", 10.0), ("64KiB", 10.0)] {
        let found = rate(window) / 1e9;
        assert!((found / gbps - 1.0).abs() < 0.005, "{window}: {found} of {gbps}");
    }
}

/// LIT-IB-2: an incast of datagrams, which nothing slows down but credits, and flows that cross it: no drop, every byte
/// arrives, and no port holds more than the windows of the links that lead to its switch.
#[test]
fn nothing_is_dropped() {
    let run = run(r#"
        topology.leaf-spine = { leaves = 2, spines = 2, hosts = 4 }
        transport = "datagram"
        queue.link-credits.window = "4500B"
        [[traffic]]
        name = "incast"
        arrivals.at-once = {}
        matrix.incast = { senders = 6, receiver = 0 }
        sizes.fixed = "150KB"
        [[traffic]]
        name = "across"
        arrivals.at-once = {}
        matrix = "permutation"
        sizes.fixed = "150KB"
        [run]
        audit = true
        "#);
    assert_eq!((run.counters().drops, run.counters().unfinished_flows), (0, 0));
    let most = run.links("queue_max_bytes");
    let names: Vec<u64> = most.iter().copied().filter(|bytes| *bytes > 6 * 4500).collect();
    // A host's own port has all that it wants to send.
    assert!(names.len() <= 8, "{most:?}");
}
