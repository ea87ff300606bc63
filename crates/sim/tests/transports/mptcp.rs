//! MPTCP against RFC 6356 in exact arithmetic, against TCP, and against the throughput of several paths.

use crate::common::{MS, PACKET, Run, US, cells, run, run_with};
use flowyard_sim::records::digest;
use flowyard_sim::transport::session::lia::{Path, Terms, increase};
use flowyard_sim::units::Time;
use proptest::prelude::*;

/// Subflows with their windows and round-trip times: of n, products of all times fit into 32 bits.
fn subflows() -> impl Strategy<Value = Vec<(u64, u64)>> {
    (1u32..=8).prop_flat_map(|n| prop::collection::vec((1u64..1 << 16, 1..=1u64 << (32 / n)), n as usize))
}

proptest! {
    /// RFC 6356, section 3, word by word, as a quotient of whole numbers.
    #[test]
    fn increase_is_that_of_rfc_6356(paths in subflows(), own in 0usize..8, acked in 1u64..1 << 12, mss in 1u64..1 << 11) {
        let own = own % paths.len();
        let product: u128 = paths.iter().map(|&(_, rtt)| u128::from(rtt)).product();
        let per = |rtt: u64| product / u128::from(rtt);
        let total: u128 = paths.iter().map(|&(cwnd, _)| u128::from(cwnd)).sum();
        // Over product^2: the largest cwnd / rtt^2; over product: the sum of cwnd / rtt.
        let best = paths.iter().map(|&(cwnd, rtt)| u128::from(cwnd) * per(rtt) * per(rtt)).max().unwrap();
        let rate: u128 = paths.iter().map(|&(cwnd, rtt)| u128::from(cwnd) * per(rtt)).sum();
        let alpha = (total * best, rate * rate);
        let bytes = u128::from(acked * mss);
        let coupled = (alpha.0 * bytes) as f64 / (alpha.1 as f64 * total as f64);
        let alone = bytes as f64 / paths[own].0 as f64;
        let path = |(window, rtt)| Path { window, round_trip: Some(Time::from_us(rtt)) };
        let given: Vec<Terms> = paths.iter().map(|&of| path(of).into()).collect();
        let found = increase(&given, paths[own].0, acked, mss);
        let expected = coupled.min(alone);
        prop_assert!((found - expected).abs() <= 1e-12 * expected, "{found} is not {expected}");
    }
}

/// All but the name of the transport.
fn columns(run: &Run) -> (Vec<flowyard_sim::records::Column>, String) {
    let flows = run.0.flows.columns.iter().filter(|column| column.definition.name != "transport");
    (flows.cloned().collect(), digest(&[&run.0.links]))
}

/// One subflow is TCP to the picosecond: the same flows, the same links.
#[test]
fn one_subflow_is_tcp() {
    let networks = [
        "topology.single-switch = { hosts = 9 }\nqueue.drop-tail = { limit = { packets = 20 } }\n\
         [[traffic]]\nname = \"incast\"\narrivals.at-once = {}\nmatrix.incast = { senders = 8 }",
        "topology.fat-tree = { k = 4 }\nqueue.drop-tail = { limit = { packets = 12 } }\n\
         [[traffic]]\nname = \"permutation\"\narrivals.at-once = {}\nmatrix = \"permutation\"",
        "topology.bcube = { n = 3, k = 1 }\nqueue.ecn = { limit = { packets = 30 }, threshold = { packets = 5 } }\n\
         [[traffic]]\nname = \"uniform\"\narrivals.poisson = { load = 0.8 }\nmatrix = \"uniform\"\nflows = 60",
    ];
    let timers = "rto_min = \"1ms\", rto_initial = \"2ms\", delayed_ack_timeout = \"200us\"";
    let settings = [
        "receive_window = \"30KB\"",
        "handshake = false, initial_window = 3, limited_transmit = true",
        "congestion = \"reno\", delayed_ack = 1, timestamps = true",
        "congestion = \"dctcp\", delayed_ack = 3",
        "ecn = true, ack_last_segment = false, loss_halves = \"window\"",
    ];
    for network in networks {
        for tcp in settings {
            if (tcp.contains("dctcp") || tcp.contains("ecn")) && !network.contains("queue.ecn") {
                continue;
            }
            for size in ["1B", "40KB", "301KB"] {
                let sized =
                    |transport: String| run(&format!("{transport}\n{network}\nsizes.fixed = \"{size}\""));
                let plain = sized(format!("transport.tcp = {{ {tcp}, {timers} }}"));
                let single = sized(format!(
                    "transport.mptcp = {{ subflows = 1, coupling = \"uncoupled\", tcp = {{ {tcp}, {timers} }} }}"
                ));
                assert_eq!(columns(&single), columns(&plain), "{tcp}, {size}, {network}");
            }
        }
    }
}

/// Bytes that an MPTCP flow of two subflows and a TCP flow bring in ten seconds over a link that loses one packet in
/// 2,000, as a quotient. Nothing else slows them, so that no phase of packets at a full port favours one.
fn share_beside_tcp(coupling: &str) -> f64 {
    let text = r#"
        transport = "tcp"
        topology.single-switch = { hosts = 3, rate = "10Gbps", delay = "250us" }
        queue = "infinite"
        [[traffic]]
        name = "two"
        transport.mptcp.subflows = 2
        transport.mptcp.tcp = { delayed_ack = 1, rto_min = "10ms", rto_initial = "20ms", receive_window = "100MB" }
        arrivals.at-once = {}
        matrix.pairs = [[0, 2]]
        sizes.fixed = "100GB"
        [[traffic]]
        name = "one"
        transport.tcp = { delayed_ack = 1, rto_min = "10ms", rto_initial = "20ms", receive_window = "100MB" }
        arrivals.at-once = {}
        matrix.pairs = [[1, 2]]
        sizes.fixed = "100GB"
        [faults]
        events = [{ at = "0s", target.link = ["switch", "host 2"], change = { loss = 0.0005 } }]
        [run]
        until = "10s"
    "#;
    let run = run_with(text, &[("traffic.two.transport.mptcp.coupling", coupling)]);
    let of = |tag| run.flow_of(tag, "delivered_bytes") as f64;
    of("two") / of("one")
}

/// At a loss of p a TCP's window is sqrt(2 / p) segments. Alpha of two equal subflows is 1/2: each grows by 1 / (4 w) of
/// a segment an acknowledgement, so that w = sqrt(1 / (2 p)), and both together are as large as one TCP; uncoupled,
/// twice as large. Under EW-MPTCP with two servers they grow by a quarter of that: half as large, as one of two that are one
/// TCP together. Some 600 losses a flow: 15 %.
#[test]
fn two_subflows_on_one_path() {
    for (coupling, expected) in [("lia", 1.0), ("uncoupled", 2.0), ("{ ew = { servers = 2 } }", 0.5)] {
        let share = share_beside_tcp(coupling);
        assert!((share / expected - 1.0).abs() < 0.15, "{coupling}: {share}");
    }
}

/// On a fat-tree, one path for each flow leaves links idle that eight find.
#[test]
fn more_subflows_use_more_of_a_fat_tree() {
    let goodput = |subflows: &str| {
        let text = r#"
            topology.fat-tree = { k = 4, rate = "1Gbps" }
            queue.drop-tail = { limit = { packets = 50 } }
            transport.mptcp.tcp = { rto_min = "10ms", rto_initial = "20ms", receive_window = "10MB" }
            [[traffic]]
            name = "permutation"
            arrivals.at-once = {}
            matrix = "permutation"
            sizes.fixed = "100MB"
            run.until = "200ms"
        "#
        .replace("run.until", "[run]\nuntil");
        let run = run_with(&text, &[("transport.mptcp.subflows", subflows)]);
        run.flows("delivered_bytes").iter().sum::<u64>() as f64 / (16.0 * 0.2 * 125e6)
    };
    let (one, eight) = (goodput("1"), goodput("8"));
    assert!(eight > 0.75 && eight > 1.3 * one, "1 subflow {one:.2}, 8 subflows {eight:.2}");
}

/// Two leaves, two spines: the link to one of them is down from 1 ms to 501 ms, and no route avoids it.
fn broken(settings: &str, overrides: &[(&str, &str)]) -> Run {
    let text = format!(
        r#"
        topology.leaf-spine = {{ leaves = 2, spines = 2, hosts = 1, rate = "1Gbps" }}
        transport.mptcp = {{ subflows = 4, {settings}, tcp = {{ rto_min = "10ms", rto_initial = "20ms" }} }}
        [[traffic]]
        name = "flow"
        arrivals.at-once = {{ jitter = "0s" }}
        matrix.pairs = [[0, 1]]
        sizes.fixed = "1MB"
        [faults]
        detection_delay = "1s"
        events = [{{ at = "1ms", target.link = ["leaf 0", "spine 0"], change = "down", lasts = "500ms" }}]
        "#
    );
    run_with(&text, overrides)
}

/// Data lost on a dead path comes by another one after a timeout; without reinjection, when the path is back.
#[test]
fn reinjection() {
    let (with, without) = (broken("reinject = true", &[]), broken("reinject = false", &[]));
    for run in [&with, &without] {
        assert_eq!(run.flow("delivered_bytes"), 1_000_000);
        assert!(run.link("leaf 0", "spine 0", "packets") > 0 && run.link("leaf 0", "spine 1", "packets") > 0);
    }
    assert!(with.flow("fct_ps") < 50 * MS, "{}", with.flow("fct_ps"));
    assert!(without.flow("fct_ps") > 501 * MS, "{}", without.flow("fct_ps"));
}

/// The receive window is the whole flow's: what is missing on one path stops the others, unless each has its own.
#[test]
fn a_shared_receive_window_blocks() {
    let blocked = |covers: &str| {
        let settings = format!("reinject = false, receive_window = \"{covers}\"");
        let text = [("transport.mptcp.tcp.receive_window", "60KB"), ("run.until", "400ms")];
        let run = broken(&settings, &text);
        run.flow("delivered_bytes")
    };
    let (flow, subflow) = (blocked("flow"), blocked("subflow"));
    assert!(flow < 600_000, "{flow}");
    assert!(subflow > 900_000 && subflow < 1_000_000, "{subflow}");
}

/// Packets get lost at random on every cable, and all bytes arrive, each counted once; the audit looks on.
#[test]
fn every_byte_arrives_once() {
    for (subflows, size) in [(2, 1), (3, 1460), (8, 14_601), (64, 300_000), (8, 3_000_000)] {
        let text = format!(
            r#"
            topology.fat-tree = {{ k = 4 }}
            transport.mptcp = {{ subflows = {subflows}, tcp = {{ rto_min = "1ms", rto_initial = "2ms" }} }}
            [[traffic]]
            name = "permutation"
            arrivals.at-once = {{}}
            matrix = "permutation"
            sizes.fixed = "{size}B"
            [faults]
            events = [{{ at = "0s", target.random-cables = {{ share = 1.0 }}, change = {{ loss = 0.02 }} }}]
            "#
        );
        let run = run(&text);
        assert!(run.flows("delivered_bytes").iter().all(|&bytes| bytes == size));
        assert!(run.counters().lost > 0 || size < 2000);
        assert_eq!(run.counters().unfinished_flows, 0);
        // Of the same packets, what links lost is what flows lost, and a flow's packets are those of its subflows.
        assert_eq!(run.flows("lost").iter().sum::<u64>(), run.counters().lost);
        let connections = run.0.connections.as_ref().expect("a table");
        for column in
            ["packets_sent", "retransmissions", "timeouts", "timeouts_whole_window", "drops", "lost"]
        {
            let of = |table| cells(table, column).into_iter().flatten().collect::<Vec<u64>>();
            let sums: Vec<u64> = of(connections).chunks(subflows).map(|own| own.iter().sum()).collect();
            assert_eq!(sums, of(&run.0.flows), "{column}");
        }
        let brought: u64 = cells(connections, "delivered_bytes").into_iter().flatten().sum();
        assert!(brought >= 16 * size);
        if subflows == 8 && size == 3_000_000 {
            // Some data was given up, and then came twice.
            assert!(brought > 16 * size);
        }
    }
}

/// Flows follow each other over one cable, so that slots are used again while subflows of the flow before still wait for
/// a turn that they no longer need.
#[test]
fn slots_are_used_again() {
    let run = run(r#"
        routing.balancer = "single"
        topology.relay = { rate = "1Gbps", delay = "300ns" }
        queue = "infinite"
        [transport.mptcp]
        subflows = 3
        reinject = false
        tcp = { receive_window = "2920B", delayed_ack_timeout = "100us", rto_min = "1ms", rto_initial = "2ms" }
        [[traffic]]
        name = "flows"
        priority = 5
        matrix = "permutation"
        sizes.fixed = "2998B"
        arrivals.at-once = {}
        flows = 13
        [[traffic]]
        name = "followers"
        arrivals.on-off = { probability = 0.5, slot = "5us", flows_each = 3 }
        matrix = "uniform"
        sizes.fixed = "4KB"
        [run]
        seed = 509981
        "#);
    assert_eq!(run.counters().unfinished_flows, 0);
}

/// Two cables between two hosts, each of which carries half of the packets at best: 5 of 10, and of 11 no fewer than 5
/// full ones and the short last one, 100 B in 140 B. One subflow, or one cable, has them all.
#[test]
fn the_ideal_has_several_ports() {
    let ideal = |cables: u32, subflows: u32, size: u64| {
        let text = format!(
            r#"
            transport.mptcp = {{ subflows = {subflows} }}
            [topology.explicit]
            hosts = ["a", "b"]
            rate = "1Gbps"
            delay = "1us"
            cables = [{{ ends = ["a", "b"], count = {cables} }}]
            [[traffic]]
            name = "flow"
            arrivals.at-once = {{}}
            matrix.pairs = [[0, 1]]
            sizes.fixed = "{size}B"
            "#
        );
        run(&text).flow("ideal_fct_ps")
    };
    let short = 1_120_000;
    assert_eq!(ideal(2, 8, 14_600), 5 * PACKET + US);
    assert_eq!(ideal(2, 8, 14_700), 5 * PACKET + short + US);
    assert_eq!(ideal(2, 1, 14_700), 10 * PACKET + short + US);
    assert_eq!(ideal(1, 8, 14_700), 10 * PACKET + short + US);
    assert_eq!(ideal(3, 2, 14_600), 5 * PACKET + US);
    assert_eq!(ideal(2, 2, 1), 328_000 + US);
}
