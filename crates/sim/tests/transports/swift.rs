//! Swift in runs: where one flow comes to rest, how several share a port, and windows below a segment. The controller
//! alone is tested beside it.

use crate::common::scenarios::endless_incast;
use crate::common::{Run, US, run};
use flowyard_sim::problem::Problem;
use flowyard_sim::transport::tcp::congestion::Congestion;

const PACKET_BITS: f64 = 12_000.0;

/// One flow through a port of 1 Gbps towards a target of 200 us.
///
/// The round trip without a queue is 33.6 us: two packets of 1.2 and 12 us, four cables of 5 us, and
/// acknowledgements of 0.35 us. The rest of the target is for the queue: 166.4 us, 13.9 packets of 12 us. The
/// window grows by a segment a round trip, and the delay shows a round trip later: the delay passes the
/// target by two packets at most, at which a decrease takes 0.8 * 24 / 224 of 18.7 segments, 1.6 of them. The
/// queue stays within three packets.
#[test]
fn one_flow_holds_the_queue_at_the_target() {
    let run = run(r#"
        [topology.line]
        rates = ["10Gbps", "1Gbps"]
        delay = "5us"
        [transport.tcp]
        congestion.swift = { base_target = "200us", hop_target = "0s", fs_range = "0s" }
        [[traffic]]
        name = "flow"
        background = true
        arrivals.at-once = { jitter = "0s" }
        matrix.pairs = [[0, 1]]
        sizes = "endless"
        [run]
        until = "50ms"
        [observe.samples]
        every = "5us"
        links = ["switch 0 -> host 1"]
        "#);
    let expected = (200.0 - 33.552) / 12.0;
    let queue: Vec<f64> = run
        .samples("queue_bytes")
        .into_iter()
        .filter(|(time, _)| *time > 10_000 * US)
        .map(|(_, bytes)| bytes * 8.0 / PACKET_BITS)
        .collect();
    assert!(queue.len() > 7_000);
    let (least, most) = queue.iter().fold((f64::MAX, 0.0_f64), |(a, b), &q| (a.min(q), b.max(q)));
    assert!(expected - 3.0 < least && most < expected + 3.0, "{least} to {most} packets, not {expected}");
    let mean = queue.iter().sum::<f64>() / queue.len() as f64;
    assert!((mean - expected).abs() < 1.5, "{mean} packets, not {expected}");
    assert_eq!((run.counters().drops, run.counters().timeouts), (0, 0));
}

/// So many flows without an end to one host at 10 Gbps.
fn incast(senders: u64, settings: &str) -> Run {
    run(&format!(
        r#"
        queue.drop-tail.limit.packets = 500
        run.until = "100ms"
        observe.samples = {{ every = "100us", links = ["switch -> host 0"] }}
        [transport.tcp]
        preset = "datacentre"
        {settings}
        {}
        "#,
        endless_incast(senders, "10Gbps", "2us")
    ))
}

/// Jain's index of what the flows have delivered.
fn jain(run: &Run) -> f64 {
    let shares: Vec<f64> = run.flows("delivered_bytes").into_iter().map(|bytes| bytes as f64).collect();
    let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|share| share * share).sum::<f64>());
    sum * sum / (shares.len() as f64 * squares)
}

/// Flows share the port evenly and leave no capacity unused.
#[test]
fn flows_share_a_port_evenly() {
    for senders in [2, 4, 8, 16] {
        let run = incast(senders, "congestion = \"swift\"");
        assert!(jain(&run) > 0.95, "{senders} flows: {}", jain(&run));
        let used =
            run.flows("delivered_bytes").iter().sum::<u64>() as f64 / 1460.0 * PACKET_BITS / 10e9 / 0.1;
        assert!(used > 0.97, "{senders} flows: {used}");
        assert_eq!((run.counters().drops, run.counters().timeouts), (0, 0), "{senders} flows");
    }
}

/// Of 300 flows each has less than a segment in flight. The target is 20 us, 2 hops of 3.05 us and at most 100 us of flow
/// scaling, 105 packets of 1.2 us; windows of a segment, below which no other congestion control goes, fill 291.
#[test]
fn windows_below_a_segment() {
    let one = "initial_window = 1";
    let swift = incast(300, &format!("congestion = \"swift\"\n{one}"));
    let settled = |run: &Run, series: &str| {
        let late: Vec<f64> =
            run.samples(series).into_iter().filter(|row| row.0 > 20_000 * US).map(|row| row.1).collect();
        late.iter().sum::<f64>() / late.len() as f64
    };
    let packets = settled(&swift, "queue_bytes") * 8.0 / PACKET_BITS;
    assert!(packets < 130.0, "{packets}");
    assert!(settled(&swift, "cwnd_bytes") < 0.6 * 1460.0);
    assert_eq!((swift.counters().drops, swift.counters().timeouts), (0, 0));
    // Flow scaling is what makes shares even (section 3.5): without it some flows starve.
    let plain = incast(300, &format!("congestion.swift = {{ fs_range = \"0s\" }}\n{one}"));
    assert!(jain(&swift) > 0.95 && jain(&plain) < 0.8, "{}, {}", jain(&swift), jain(&plain));
    let held =
        incast(300, &format!("congestion = \"newreno\"\nreceive_window = \"1460B\"\ndelayed_ack = 1\n{one}"));
    let packets = settled(&held, "queue_bytes") * 8.0 / PACKET_BITS;
    assert!(packets > 280.0, "{packets}");
}

/// It has each segment acknowledged, and ignores marks: neither `delayed_ack` nor `ecn` makes a difference.
#[test]
fn each_segment_is_acknowledged_and_marks_are_ignored() {
    let digest = |settings: &str, queue: &str| {
        run(&format!(
            r#"
            {queue}
            [topology.single-switch]
            hosts = 5
            rate = "10Gbps"
            [transport.tcp]
            congestion = "swift"
            {settings}
            [[traffic]]
            name = "reads"
            arrivals = "at-once"
            matrix.incast = {{ senders = 4, receiver = 0 }}
            sizes.fixed = "1MB"
            "#
        ))
        .flows("fct_ps")
    };
    assert_eq!(digest("delayed_ack = 1", ""), digest("delayed_ack = 8", ""));
    let ecn = "queue.ecn = { limit.packets = 100, threshold.packets = 2 }";
    assert_eq!(digest("ecn = true", ecn), digest("", ecn));
}

/// Bounds of flow scaling that are no range are refused.
#[test]
fn flow_scaling_needs_a_range() {
    use flowyard_sim::transport::tcp::congestion::swift::Swift;
    let config = Swift { fs_min_cwnd: 5.0, fs_max_cwnd: 5.0, ..Swift::default() };
    let problems = Congestion::from(config).problems();
    assert_eq!(problems, [Problem::new("fs_max_cwnd", "5 is not above fs_min_cwnd, which is 5")]);
}
