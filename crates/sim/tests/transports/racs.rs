//! RACS against its fluid limit, processor sharing and shortest remaining processing time; and the state of
//! ports after flows have ended.
//!
//! Munir, Qazi and Qaisar, "On achieving low latency in data centers", ICC 2013.

use crate::common::{Run, run, run_with};
use crate::racks;
use flowyard_sim::engine::data::finished::Status;

/// Flows of so many bytes from hosts of their own to one, which start together, by their weights and nothing else: the
/// controller of spare capacity rests. What waits after the first round trip, in which all begin, so waits to the end.
fn rack(sizes: &[u64], exponent: f64) -> Run {
    let flow = |(host, size): (usize, &u64)| {
        format!(
            "[[traffic]]\nname = \"flow-{host}\"\narrivals.at-once.jitter = \"0s\"\nmatrix.pairs = [[{}, 0]]\n\
             sizes.fixed = \"{size}B\"\n",
            host + 1
        )
    };
    run(&format!(
        "transport = \"racs\"\nqueue = \"infinite\"\n\
         agent.racs = {{ exponent = {exponent}, alpha = 0, beta = 0 }}\n{}{}",
        racks::rack(sizes.len() as u32 + 1, "10Gbps", "75us"),
        sizes.iter().enumerate().map(flow).collect::<String>()
    ))
}

/// Picoseconds that so many bytes of payload take at 10 Gbps with their headers.
fn on_wire(size: f64) -> f64 {
    size * 1500.0 / 1460.0 * 800.0
}

/// Two flows of sizes A < B, each served at a rate in proportion to 1 / s^k of the s that it has left: a^k a' = b^k b', so that
/// b^(k+1) - a^(k+1) stays what it was. When the first is through, the second has (B^(k+1) - A^(k+1))^(1/(k+1)) left: with 60
/// and 100 MB and k = 1, 80 MB. k = 0 is processor sharing, 40 MB; a large k shortest remaining processing time, 100 MB.
/// Within 5 %, which is not derived: what can be counted is that weights are a round trip old, 0.3 ms and as much that waits
/// since the first one, and that nothing is sent in the first; 1 % of the 98 ms after which the first ends with k = 0.
#[test]
fn two_flows_share_by_their_weights() {
    let (a, b) = (60e6, 100e6);
    for (exponent, left) in [(0.0, 40e6), (1.0, 80e6), (2.0, 98.0_f64.cbrt() * 20e6), (30.0, 100e6)] {
        let run = rack(&[60_000_000, 100_000_000], exponent);
        let formula =
            (f64::powf(5.0, exponent + 1.0) - f64::powf(3.0, exponent + 1.0)).powf(1.0 / (exponent + 1.0));
        assert!((formula * 20e6 - left).abs() < 0.001 * left, "{formula}");
        let first = run.flow_of("flow-0", "fct_ps") as f64 / on_wire(a + b - left);
        let second = run.flow_of("flow-1", "fct_ps") as f64 / on_wire(a + b);
        assert!((first - 1.0).abs() < 0.05, "k = {exponent}: the first took {first} of what it should");
        assert!((second - 1.0).abs() < 0.05, "k = {exponent}: the second took {second} of what it should");
    }
}

/// With k = 30 five flows end in the order of their sizes, on the mean within a tenth of when they would one behind the other;
/// with k = 0 on the mean within a tenth of when they would under processor sharing.
#[test]
fn from_processor_sharing_to_shortest_remaining_processing_time() {
    let sizes = [20_000_000, 5_000_000, 80_000_000, 10_000_000, 40_000_000];
    let mean = |ends: &[f64]| ends.iter().sum::<f64>() / 5.0;
    let ordered = [5e6, 10e6, 20e6, 40e6, 80e6];
    // The five smallest ends: one behind the other, and each with an equal share of what is left.
    let alone: Vec<f64> = (0..5).map(|place| on_wire(ordered[..=place].iter().sum())).collect();
    let shared: Vec<f64> =
        (0..5).map(|place| on_wire(ordered.iter().map(|size| ordered[place].min(*size)).sum())).collect();
    for (exponent, expected) in [(30.0, alone), (0.0, shared)] {
        let run = rack(&sizes, exponent);
        let fcts: Vec<f64> = run.flows("fct_ps").into_iter().map(|fct| fct as f64).collect();
        let mut order: Vec<usize> = (0..5).collect();
        order.sort_by(|&a, &b| fcts[a].total_cmp(&fcts[b]));
        assert_eq!(order, [1, 3, 0, 4, 2]);
        let ratio = mean(&fcts) / mean(&expected);
        assert!((ratio - 1.0).abs() < 0.1, "k = {exponent}: {ratio}");
    }
}

/// Of two flows of equal weight one comes by a tenth of the link's rate. Half would be its share; the other gets what it
/// leaves.
#[test]
fn what_a_flow_cannot_use_others_get() {
    let run = run(r#"
        transport = "racs"
        [topology.explicit]
        hosts = ["0", "1", "2"]
        switches = [{ name = "s" }]
        cables = [{ ends = ["0", "s"] }, { ends = ["1", "s"], rate = "1Gbps" }, { ends = ["2", "s"] }]
        rate = "10Gbps"
        delay = "75us"
        [[traffic]]
        name = "slow"
        arrivals.at-once = {}
        matrix.pairs = [[1, 0]]
        sizes = "endless"
        background = true
        [[traffic]]
        name = "fast"
        arrivals.at-once = {}
        matrix.pairs = [[2, 0]]
        sizes.fixed = "200MB"
        [agent.racs]
        exponent = 0
        "#);
    let share = on_wire(200e6) / run.flow_of("fast", "fct_ps") as f64;
    assert!((0.85..0.91).contains(&share), "{share}");
}

/// Five hundred flows on 10 Gbps and 22 us would ask for 500 x 320 bit / 22 us = 7.3 Gbps if each asked every round trip. They
/// take a twentieth of the link, and two each besides: the SYN, and the request that follows on an answer of when few had come.
/// What is not data is a request, and each packet has its answer; for 10 ms no flow ends.
#[test]
fn requests_leave_the_link_to_data() {
    let text = r#"
        transport = "racs"
        queue = "infinite"
        [topology.single-switch]
        hosts = 101
        rate = "10Gbps"
        delay = "5us"
        [[traffic]]
        name = "flows"
        arrivals.at-once = {}
        matrix.incast = { senders = 100 }
        sizes.fixed = "600KB"
        flows = 500
        "#;
    let requests = |share: &str| {
        let run = run_with(text, &[("agent.racs.request_share", share), ("run.until", "10ms")]);
        let data: u64 = run.flows("packets_sent").iter().sum();
        let requests = run.counters().packets / 2 - data;
        assert_eq!(run.counters().unfinished_flows, 500, "nobody has sent a FIN");
        requests as f64 / (run.end() as f64 / 1e12 * 10e9 / 320.0 * 0.05 + 2.0 * 500.0)
    };
    let (told, not_told) = (requests("0.05"), requests("1000"));
    assert!(told <= 1.0, "{told} of what they may be");
    assert!(not_told > 2.0, "{not_told} of what they may be");
}

/// One packet in thirty is lost on each link: all flows end, and the audit finds none on a port that should have left it.
#[test]
fn losses_leave_no_flow_behind() {
    for seed in ["1", "2", "3"] {
        let run = run_with(
            r#"
            transport.racs.pacing = { rto_min = "1ms" }
            [topology.fat-tree]
            k = 4
            rate = "1Gbps"
            [faults]
            events = [{ at = "0s", target.random-cables = { share = 1.0 }, change = { loss = 0.03 } }]
            [[traffic]]
            name = "flows"
            arrivals.poisson = { rate = 8000.0 }
            matrix = "uniform"
            sizes.uniform = { min = "1KB", max = "100KB" }
            flows = 100
            "#,
            &[("run.seed", seed)],
        );
        assert_eq!((run.status(), run.counters().unfinished_flows), (Status::Complete, 0));
        assert!(run.counters().lost > 200);
    }
}
