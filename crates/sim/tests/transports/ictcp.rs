//! ICTCP against TCP in the Incast of its paper, and its closed forms in a network.

use crate::common::{Run, run};

/// The set-up of ICTCP's figures as the multipath thesis gives it: 1 Gbps, 100 us, ports of 85 KB, no timeout below 200 ms.
fn incast(senders: u32, tcp: &str) -> Run {
    run(&format!(
        r#"
        transport.tcp = {{ rto_min = "200ms", rto_initial = "1s"{tcp} }}
        queue.drop-tail = {{ limit.bytes = "85KB" }}
        topology.single-switch = {{ hosts = {}, rate = "1Gbps", delay = "25us" }}
        [[traffic]]
        name = "answers"
        arrivals.at-once = {{ jitter = "100us" }}
        matrix.incast = {{ senders = {senders}, receiver = 0 }}
        sizes.fixed = "256KB"
        "#,
        senders + 1
    ))
}

/// Payload of all answers as a share of what the receiver's link carries until the last one is complete.
fn goodput(run: &Run, senders: u32) -> f64 {
    let end = run.flows("fct_ps").into_iter().max().expect("answers") as f64 / 1e12;
    f64::from(senders) * 256e3 * 8.0 / end / 1e9
}

/// Goodput stays above 80 % of the link, less a tenth of that for the start of new connections, without a timeout as long
/// as two segments of each sender fit into port and path, 85 + 12.5 KB: up to 32 senders. TCP alone collapses below half of that
/// from 16 on.
#[test]
fn the_receiver_prevents_the_collapse() {
    for senders in [4, 8, 16, 24, 32] {
        let ictcp = incast(senders, ", ictcp = {}");
        assert_eq!(ictcp.counters().timeouts, 0, "{senders}");
        let share = goodput(&ictcp, senders);
        assert!(share > 0.72, "{senders} senders: {share}");
        if senders >= 16 {
            let tcp = incast(senders, "");
            assert!(tcp.counters().timeouts > 0 && goodput(&tcp, senders) < 0.4, "{senders}");
        }
    }
}

/// One connection on an idle link: its window may use nine tenths of the link. It ends later than at line rate, and
/// within the slow start of the window and a tenth more than at nine tenths of it.
#[test]
fn a_lone_connection_gets_nine_tenths_of_the_link() {
    let text = |ictcp: &str| {
        format!(
            r#"
            transport.tcp = {{ initial_ssthresh = "1MB"{ictcp} }}
            topology.single-switch = {{ hosts = 2, rate = "1Gbps", delay = "25us" }}
            [[traffic]]
            name = "one"
            arrivals.at-once = {{ jitter = "0s" }}
            matrix.pairs = [[1, 0]]
            sizes.fixed = "20MB"
            "#
        )
    };
    let seconds = |ictcp: &str| run(&text(ictcp)).flow("fct_ps") as f64 / 1e12;
    // A segment of 1460 B takes 1500 B on the wire.
    let line = 20e6 * 8.0 * 1500.0 / 1460.0 / 1e9;
    let slower = seconds(", ictcp = {}");
    assert!(seconds("") < 1.02 * line);
    assert!((1.0..1.2).contains(&(slower * 0.9 / line)), "{slower} s, {line} at line rate");
}
