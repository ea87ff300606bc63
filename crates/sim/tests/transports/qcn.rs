//! QCN over a network: messages of the congested port hold its queue near the one that is aimed at.

use crate::common::{run, run_with};

/// Ten flows without an end through one port of 10 Gbps, a round trip of 100 us; from 40 to 80 ms.
fn ten(queue: &str, more: &str) -> String {
    format!(
        r#"
        topology.single-switch = {{ hosts = 11, rate = "10Gbps", delay = "25us" }}
        transport.roce.congestion = "qcn"
        {queue}
        {more}
        [[traffic]]
        name = "incast"
        background = true
        arrivals.at-once = {{ jitter = "100us" }}
        matrix.incast = {{ senders = 10, receiver = 0 }}
        sizes = "endless"
        [run]
        until = "80ms"
        [observe.samples]
        every = "20us"
        links = ["switch -> host 0"]
        "#
    )
}

/// LIT-QCN-3: ten flows on 10 Gbps with a round trip of 100 us. The mean queue is within half of q_eq, 26 kB, and the link is used
/// to 95 %. The flows begin at line rate, and only their first burst is above XOFF.
#[test]
fn the_queue_is_near_its_aim() {
    let run = run(&ten("", ""));
    let queue: Vec<f64> = run
        .samples("queue_bytes")
        .into_iter()
        .filter(|(time, _)| *time >= 40_000_000_000)
        .map(|(_, bytes)| bytes)
        .collect();
    let mean = queue.iter().sum::<f64>() / queue.len() as f64;
    assert!((13_000.0..39_000.0).contains(&mean), "{mean}");
    let delivered: u64 = run.flows("delivered_bytes").iter().sum();
    let used = delivered as f64 * 8.0 * 1062.0 / 1000.0 / (10e9 * 0.08);
    assert!(used > 0.95, "{used}");
}

/// Without the messages nothing slows the flows down: the port pauses them at XOFF, and its queue stays far above the aim.
#[test]
fn without_messages_the_port_pauses() {
    let with = run(&ten("", ""));
    let without = run_with(&ten("", ""), &[("transport.roce.congestion", "\"line-rate\"")]);
    assert!(without.counters().pauses > 20 * with.counters().pauses.max(1), "{:?}", with.counters());
}
