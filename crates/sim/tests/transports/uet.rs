//! Ultra Ethernet against closed forms, and against the digits that its public simulator prints where nothing is random.
//!
//! Links of 100 Gbps and 1 us; a full packet is 4150 B on the wire, 64 B of it header, and takes 332 ns; an ACK takes 5.12 ns.

use flowyard_sim::engine::data::finished::Status;

use crate::common::scenarios::flows;
use crate::common::{Run, US, run};

const FULL: u64 = 332_000;
const ACK: u64 = 5_120;
const PAYLOAD: u64 = 4086;

/// Pairs of hosts with a flow of that many bytes each, on a fat-tree of that k.
fn on_a_fat_tree(k: u32, settings: &str, pairs: &[[u32; 2]], bytes: u64) -> Run {
    run(&format!(
        "transport.uet = {{ {settings} }}\n[topology.fat-tree]\nk = {k}\nrate = \"100Gbps\"\ndelay = \"1us\"\n{}",
        flows("flows", pairs, bytes)
    ))
}

/// When the last byte is acknowledged of a flow alone over so many links, which nothing holds back: n packets, the last of
/// which may be short, store-and-forward, and the ACK of the last.
fn alone(bytes: u64, links: u64) -> u64 {
    let packets = bytes.div_ceil(PAYLOAD);
    let last = (bytes - (packets - 1) * PAYLOAD + 64) * 80;
    let ack = links * (ACK + US);
    if packets == 1 {
        return links * (last + US) + ack;
    }
    // The short last packet catches up with the full one before it at each hop.
    (packets - 1) * FULL + (links - 1) * (FULL + US) + last + US + ack
}

/// 2 MB over six links take 176.19952 us (the simulator prints 176.2), 408,600 B 46.89072 us, 40,860 B 17.01072 us; over two
/// links of one rack the window of the longest path is more than enough.
#[test]
fn a_flow_alone_has_its_closed_form() {
    assert_eq!(alone(2_000_000, 6), 176_199_520);
    for bytes in [1, 4086, 40_860, 100_000, 408_600, 2_000_000] {
        for (to, links) in [(13, 6), (2, 4), (1, 2)] {
            let run = on_a_fat_tree(4, "", &[[0, to]], bytes);
            assert_eq!(run.flow("fct_acked_ps"), alone(bytes, links), "{bytes} B over {links} links");
            assert_eq!(run.flow("packets_sent"), bytes.div_ceil(PAYLOAD));
        }
    }
}

/// On slow links a window holds few packets, and a flow alone still has its link to itself, within a rack, too: acknowledgements
/// come often enough.
#[test]
fn a_flow_alone_fills_a_slow_link() {
    for (rate, delay) in [("10Gbps", "1us"), ("10Gbps", "500ns"), ("25Gbps", "500ns"), ("40Gbps", "500ns")] {
        for to in [1, 2, 13] {
            let run = run(&format!(
                "transport.uet = {{}}\n[topology.fat-tree]\nk = 4\nrate = \"{rate}\"\ndelay = \"{delay}\"\n{}",
                flows("flows", &[[0, to]], 1_000_000)
            ));
            let (time, ideal) = (run.flow("fct_ps"), run.flow("ideal_fct_ps"));
            // Between racks the last packet, which is short, may take another path than the full one before it.
            assert!(
                time >= ideal && time as f64 <= 1.004 * ideal as f64,
                "{rate}, {delay}, to host {to}: {time}"
            );
            assert!(to > 1 || time == ideal, "{rate}, {delay}: {time}");
        }
    }
}

/// The first 43 packets need no credit: up to those, credit changes nothing. The rest comes at 0.99 of the rate: 2 MB end at
/// 177.368 us in the simulator, under RCCC and both.
#[test]
fn credit_paces_a_flow_behind_its_first_window() {
    for control in ["rccc", "both", "eqds"] {
        let settings = format!("control = \"{control}\"");
        let short = on_a_fat_tree(4, &settings, &[[0, 13]], 43 * PAYLOAD);
        assert_eq!(short.flow("fct_acked_ps"), alone(43 * PAYLOAD, 6));
        let long = on_a_fat_tree(4, &settings, &[[0, 13]], 2_000_000).flow("fct_acked_ps");
        // EQDS gives the same rate in pulls of 4,096 B: a larger pull, of 16,384 B in 1.324 us, is all that may differ.
        let apart = if control == "eqds" { 1324 } else { 0 };
        assert!(((long + 500) / 1000).abs_diff(177_368) <= apart, "{control}: {long}");
    }
}

/// 2 MB each way: ACKs go ahead of data and delay it; 176.804 us in the simulator under NSCC.
#[test]
fn acknowledgements_go_ahead_of_data() {
    let run = on_a_fat_tree(4, "", &[[0, 13], [13, 0]], 2_000_000);
    for time in run.flows("fct_acked_ps") {
        assert_eq!((time + 500) / 1000, 176_804);
    }
}

/// Ten messages of ten packets on one connection take as long as one of a hundred, under each control: 46.89072 us.
#[test]
fn messages_of_a_kept_connection_go_back_to_back() {
    for control in ["nscc", "rccc", "both", "constant", "eqds"] {
        let pairs = format!("[{}]", ["[0, 1]"; 10].join(", "));
        let run = run(&format!(
            r#"
            transport.uet = {{ control = "{control}" }}
            [topology.fat-tree]
            k = 2
            rate = "100Gbps"
            [[traffic]]
            name = "messages"
            connection = "kept"
            arrivals.at-once.jitter = "0s"
            matrix.pairs = {pairs}
            sizes.fixed = "40860B"
            "#
        ));
        assert_eq!(run.most("fct_acked_ps"), alone(408_600, 6), "{control}");
        assert_eq!(run.total("delivered_bytes"), 408_600);
    }
}

/// A link with a quarter of its capacity alone in the way: full packets take four times as long there, 1.328 us. Its port
/// holds a quarter of 43 packets, so that it trims most of a window.
#[test]
fn a_link_may_lose_a_share_of_its_capacity() {
    let degraded = |share: f64, bytes: u64| {
        run(&format!(
            r#"
            transport.uet = {{}}
            [topology.single-switch]
            hosts = 2
            rate = "100Gbps"
            delay = "1us"
            [[faults.events]]
            at = "0s"
            target.link = ["switch", "host 1"]
            change.capacity = {share}
            {}
            "#,
            flows("flow", &[[0, 1]], bytes)
        ))
    };
    let n = 3;
    let slow = degraded(0.25, n * PAYLOAD);
    assert_eq!(slow.flow("fct_acked_ps"), FULL + US + n * 4 * FULL + US + 2 * (ACK + US));
    let (whole, quarter) = (degraded(1.0, 100 * PAYLOAD), degraded(0.25, 100 * PAYLOAD));
    assert_eq!((whole.flow("trims"), whole.flow("retransmissions")), (0, 0));
    assert!(quarter.flow("trims") > 0 && quarter.flow("delivered_bytes") == 100 * PAYLOAD);
}

/// Of 15 senders at once to one host each byte arrives once, whether ports trim, and whichever way losses are recovered. The
/// receiver's link bounds the end from below.
#[test]
fn an_incast_loses_nothing() {
    let pairs: Vec<[u32; 2]> = (0..15).map(|host| [host, 15]).collect();
    let bound = 15 * (200_000 + 49 * 64) * 80;
    for settings in [
        "",
        "control = \"rccc\"",
        "control = \"both\"",
        "control = \"dctcp\"",
        "trimming = false",
        "trimming = false, sleek = {}",
        "trimming = false, control = \"rccc\"",
    ] {
        let run = on_a_fat_tree(4, settings, &pairs, 200_000);
        assert_eq!(run.total("delivered_bytes"), 15 * 200_000, "{settings}");
        assert!(run.most("fct_acked_ps") > bound, "{settings}");
        let trims = settings.contains("trimming = false");
        assert_eq!(run.total("trims") == 0, trims, "{settings}");
    }
}

/// Behind a link at a fifth of its rate one and a half bandwidth-delay products are less than a packet: the flow still begins,
/// and leaves packet by packet.
#[test]
fn a_window_below_a_packet_stalls_no_flow() {
    for control in ["nscc", "both", "constant", "dctcp"] {
        let run = run(&format!(
            "transport.uet = {{ control = \"{control}\" }}
            [topology.single-switch]
            hosts = 2
            rate = \"1Gbps\"
            delay = \"1us\"
            [[faults.events]]
            at = \"0s\"
            target.cable = [\"host 0\", \"switch\"]
            change.rate = \"200Mbps\"
            {}",
            flows("flows", &[[0, 1]], 50_000)
        ));
        let sent = 13 * 64 + 50_000;
        assert!(run.flow_cells("fct_ps")[0].unwrap() >= sent * 40_000, "{control}");
        assert_eq!(run.status(), Status::Complete, "{control}");
    }
}
