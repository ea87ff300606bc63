//! NUMFabric against closed forms: shares by fixed weights, the optimum of a line of two links, and the time of a lone flow.
//!
//! Nagaraj, Bharadia, Mao, Chinchali, Alizadeh and Katti, "NUMFabric: Fast and Flexible Bandwidth Allocation in Datacenters",
//! SIGCOMM 2016.

use crate::common::{MS, PACKET, Run, US, run, run_with};

/// Rates of flows at a sample, in ascending order, in shares of what a link of 10 Gbps carries: 1460 of 1500 B are payload.
fn shares_at(run: &Run, ms: u64) -> Vec<f64> {
    let own = run.samples("rate_bps").into_iter().filter(|(time, _)| *time == ms * MS);
    let mut shares: Vec<f64> = own.map(|(_, rate)| rate / (1e10 * 1460.0 / 1500.0)).collect();
    shares.sort_by(f64::total_cmp);
    shares
}

/// Each share is as expected, within that part of it.
fn close(found: &[f64], expected: &[f64], part: f64) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (share, expected) in found.iter().zip(expected) {
        assert!((share / expected - 1.0).abs() < part, "{found:?}");
    }
}

/// Two flows of fixed weights 1 and 3 between these hosts of a rack at 10 Gbps.
fn weighted(pairs: [[u32; 2]; 2]) -> Vec<f64> {
    let entry = |(pair, weight): ([u32; 2], u32)| {
        format!(
            r#"
            [[traffic]]
            name = "weight-{weight}"
            transport.numfabric = {{ weights = "fixed", weight = {weight}.0 }}
            arrivals.at-once = {{}}
            matrix.pairs = [{pair:?}]
            sizes = "endless"
            background = true
            "#
        )
    };
    let entries: String = pairs.into_iter().zip([1, 3]).map(entry).collect();
    let rack = r#"
        transport = "numfabric"
        topology.single-switch = { hosts = 4, rate = "10Gbps", delay = "1us" }
        observe.samples = { every = "4ms", links = [], flows = ["*"] }
        run.until = "8ms"
    "#;
    shares_at(&run(&format!("{rack}{entries}")), 8)
}

/// LIT-NUM-1: fixed weights of 1 and 3 share 10 Gbps as 2.5 and 7.5, within 1 %; at the port of a switch and at that of a host.
#[test]
fn fixed_weights_share_a_link_in_proportion() {
    close(&weighted([[1, 0], [2, 0]]), &[0.25, 0.75], 0.01);
    close(&weighted([[0, 1], [0, 2]]), &[0.25, 0.75], 0.01);
}

/// Two links of 10 Gbps in a row: one flow crosses both, and each has a flow of its own, the second from 10 ms on. Rates are
/// those of each millisecond.
fn line(numfabric: &str) -> Run {
    let entry = |(name, pairs, at): (&str, &str, u32)| {
        format!(
            r#"
            [[traffic]]
            name = "{name}"
            arrivals.at-once.at = "{at}ms"
            matrix.pairs = {pairs}
            sizes = "endless"
            background = true
            "#
        )
    };
    let entries = [("first", "[[0, 4], [1, 2]]", 0), ("second", "[[3, 5]]", 10)].map(entry).concat();
    run(&format!(
        r#"
        transport.numfabric = {{ {numfabric} }}
        [topology.explicit]
        hosts = ["0", "1", "2", "3", "4", "5"]
        switches = [{{ name = "a" }}, {{ name = "b" }}, {{ name = "c" }}]
        cables = [
            {{ ends = ["0", "a"] }}, {{ ends = ["1", "a"] }}, {{ ends = ["a", "b"] }}, {{ ends = ["2", "b"] }},
            {{ ends = ["3", "b"] }}, {{ ends = ["b", "c"] }}, {{ ends = ["4", "c"] }}, {{ ends = ["5", "c"] }},
        ]
        rate = "10Gbps"
        delay = "1us"
        {entries}
        [observe]
        samples = {{ every = "1ms", links = [], flows = ["*"] }}
        [run]
        until = "20ms"
        "#
    ))
}

/// LIT-NUM-2: proportional fairness. log x + 2 log (C - x) is largest at x = C/3: the long flow has a third of each link, the
/// short ones two thirds, within 2 %. Before the second short flow starts the long one has half of the first link. The mean of
/// the second millisecond behind that start is within 5 %.
#[test]
fn a_line_of_two_links_is_shared_by_utility() {
    let run = line("alpha = 1.0");
    let thirds = [1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0];
    close(&shares_at(&run, 10), &[0.5, 0.5], 0.02);
    close(&shares_at(&run, 12), &thirds, 0.05);
    close(&shares_at(&run, 20), &thirds, 0.02);
}

/// With alpha the long flow has x with x^-alpha = 2 (C - x)^-alpha: C / (1 + 2^(1 / alpha)). At 4 that is 0.457 C, near the
/// half of max-min fairness. Within 2 %.
#[test]
fn a_larger_alpha_is_nearer_to_max_min() {
    let long = 1.0 / (1.0 + 2.0_f64.powf(0.25));
    close(&shares_at(&line("alpha = 4.0"), 20), &[long, 1.0 - long, 1.0 - long], 0.02);
}

/// Alone on an idle link: SYN there, answer back, then packets back to back. Over two cables of 75 us at 1 Gbps, n packets of
/// 1500 B: handshake 4 (75 us + 320 ns), data n + 1 packet times and 150 us. A window of 324.64 us and 6 us holds 28 packets,
/// of which 27.05 fill the round trip.
#[test]
fn a_lone_flow_takes_a_handshake_and_its_packets() {
    for packets in [1, 10, 100] {
        let run = run(&format!(
            r#"
            transport = "numfabric"
            topology.single-switch = {{ hosts = 2, rate = "1Gbps", delay = "75us" }}
            [[traffic]]
            name = "flow"
            arrivals.at-once.jitter = "0s"
            matrix.pairs = [[1, 0]]
            sizes.fixed = "{}B"
            "#,
            1460 * packets
        ));
        let expected = 4 * (75 * US + 320_000) + (packets + 1) * PACKET + 150 * US;
        assert_eq!(run.flow("fct_ps"), expected);
        assert_eq!(run.flow("fct_acked_ps"), expected + 2 * (75 * US + 320_000));
    }
}

/// Whatever is lost, SYN, data or acknowledgement, every flow completes; most losses are found before the timeout.
#[test]
fn flows_survive_lossy_links() {
    let text = r#"
        transport = "numfabric"
        topology.single-switch = { hosts = 9, rate = "1Gbps", delay = "5us" }
        [[traffic]]
        name = "incast"
        arrivals.at-once = {}
        matrix.incast = { senders = 8 }
        sizes.fixed = "200KB"
        [[faults.events]]
        at = "0s"
        target.cable = ["switch", "host 0"]
        change.loss = 0.02
    "#;
    for seed in ["1", "2", "3"] {
        let run = run_with(text, &[("run.seed", seed)]);
        let counters = run.counters();
        assert_eq!(counters.unfinished_flows, 0);
        assert!(counters.lost > 0 && counters.retransmissions > counters.timeouts, "{counters:?}");
        assert!(run.end() < 400 * MS, "{} ps", run.end());
    }
}

/// A port with room for eight packets drops those of an incast that it would serve last; all flows complete.
#[test]
fn flows_survive_short_queues() {
    let run = run(r#"
        transport = "numfabric"
        queue.wfq.limit.full-packets = 8
        topology.single-switch = { hosts = 33, rate = "10Gbps", delay = "1us" }
        [[traffic]]
        name = "incast"
        arrivals.at-once = {}
        matrix.incast = { senders = 32 }
        sizes.fixed = "100KB"
        "#);
    let counters = run.counters();
    assert_eq!(counters.unfinished_flows, 0);
    assert!(counters.drops > 0, "{counters:?}");
}
