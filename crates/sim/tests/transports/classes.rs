//! The class of a traffic entry, which all packets of its flows have: orders of service worked out by hand.

use crate::common::{PACKET, US, read, run};
use crate::two_flows::{self, places};
use flowyard_sim::Checked;
use flowyard_sim::scenario::{Format, no_files};

/// Transports that send ten packets at once, full ones of 1500 B with 1460 B of payload.
const TRANSPORTS: [&str; 4] = [
    "tcp = { initial_window = 10, handshake = false }",
    "mptcp = { subflows = 1, tcp = { initial_window = 10, handshake = false } }",
    "parallel-tcp = { paths.count = 1, tcp = { initial_window = 10, handshake = false } }",
    "datagram = { header_bytes = \"40B\" }",
];

fn scenario(transport: &str, queue: &str, classes: [&str; 2]) -> String {
    two_flows::scenario(&format!("transport.{transport}\nqueue.{queue}"), classes)
}

#[test]
fn the_class_of_lower_number_goes_first() {
    for transport in TRANSPORTS {
        let served = |queue: &str, classes: [&str; 2]| places(&run(&scenario(transport, queue, classes)));
        for queue in ["strict-priority = {}", "lossless = {}"] {
            // First in, first out: five of the early flow, one late, one early, one late, four early.
            assert_eq!(served(queue, ["", ""]), [12, 8], "{transport}, {queue}");
            // Behind the packet on the wire the late flow's two; or, with classes the other way round, behind all of the early.
            assert_eq!(served(queue, ["class = 7", "class = 0"]), [12, 3], "{transport}, {queue}");
            assert_eq!(served(queue, ["class = 1", ""]), [12, 3], "{transport}, {queue}");
            assert_eq!(served(queue, ["", "class = 4"]), [10, 12], "{transport}, {queue}");
        }
        // Two classes beyond the last one are one, and a queue without classes reads none.
        assert_eq!(served("strict-priority.classes = 2", ["class = 7", "class = 1"]), [12, 8], "{transport}");
        assert_eq!(served("drop-tail = {}", ["class = 7", "class = 0"]), [12, 8], "{transport}");
    }
}

/// A flow of TCP from host 0 to host 2, two segments, whose replies meet datagrams of class 1 that fill the port to host 0:
/// behind them they come late, before them each waits for a packet on the wire at most, there and at its host.
#[test]
fn replies_have_it_too() {
    let time = |class: &str, datagrams: &str| {
        let text = format!(
            r#"
            topology.single-switch = {{ hosts = 3, rate = "1Gbps" }}
            transport.tcp = {{ initial_window = 2 }}
            queue.strict-priority = {{}}
            [[traffic]]
            name = "tcp"
            arrivals.at-once = {{ at = "1ms", jitter = "0s" }}
            matrix.pairs = [[0, 2]]
            sizes.fixed = "2920B"
            {class}
            [[traffic]]
            name = "datagrams"
            arrivals.at-once = {{ jitter = "0s" }}
            matrix.pairs = [[1, 0], [2, 0]]
            sizes.fixed = "{datagrams}"
            class = 1
            transport = "datagram"
            "#
        );
        run(&text).flow_of("tcp", "fct_acked_ps")
    };
    let alone = time("class = 0", "1B");
    assert_eq!(time("class = 7", "1B"), alone);
    // The reply to the SYN, and one to the data.
    let before = time("class = 0", "300KB");
    assert!(before > alone && before <= alone + 4 * PACKET, "{before} {alone}");
    // 600 KB, with headers 4.9 ms at least, of which the first 1 ms is over.
    let behind = time("class = 2", "300KB");
    assert!(behind > alone + 3_700 * US, "{behind} {alone}");
}

/// A connection that carries many flows has the class of their entry.
#[test]
fn kept_connections_have_it() {
    let kept = "connection = \"kept\"";
    let early = format!("class = 7\n{kept}");
    assert_eq!(places(&run(&scenario(TRANSPORTS[0], "strict-priority = {}", [&early, kept]))), [12, 3]);
}

fn advice(text: &str) -> Vec<(String, String)> {
    let checked = Checked::read(text, Format::Toml, &[], &no_files).expect("a scenario");
    let advice = checked.outlook().expect("a small run").advice;
    advice.into_iter().map(|advice| (advice.path, advice.write)).collect()
}

#[test]
fn classes_and_priorities_without_effect_get_advice() {
    let told = |queue: &str, classes: [&str; 2]| advice(&scenario(TRANSPORTS[3], queue, classes));
    let one = |path: &str, write: &str| vec![(path.to_string(), write.to_string())];
    assert_eq!(told("strict-priority = {}", ["class = 1", ""]), []);
    assert_eq!(
        told("strict-priority = {}", ["", ""]),
        one("queue.strict-priority.classes", "traffic.late.class = 1")
    );
    assert_eq!(
        told("strict-priority = {}", ["class = 3", "class = 3"]),
        one("traffic.early.class", "traffic.late.class = 0")
    );
    assert_eq!(
        told("strict-priority.classes = 2", ["class = 3", "class = 0"]),
        one("traffic.early.class", "queue.strict-priority.classes = 4")
    );
    assert_eq!(
        told("drop-tail = {}", ["class = 3", ""]),
        one("traffic.early.class", "queue = \"strict-priority\"")
    );
    assert_eq!(
        told("drop-tail = {}", ["", "priority = 7"]),
        one("traffic.late.priority", "traffic.late.class = 7, with queue = \"strict-priority\"")
    );
}

#[test]
fn a_packet_has_one_class() {
    let dcqcn = scenario("dcqcn = {}", "lossless = {}", ["class = 1", ""]);
    let tagged = scenario("tcp.tagging = {}", "strict-priority = {}", ["class = 1", ""]);
    let daq = scenario("tcp = {}", "daq = {}", ["class = 1", ""]);
    for (text, what) in [
        (dcqcn, "transport.dcqcn.data_class gives packets their classes"),
        (tagged, "transport.tcp.tagging gives packets their classes"),
        (daq, "the queue \"daq\" places packets by the deadlines of their flows"),
    ] {
        let problems = read(&text).expect_err("two classes for one packet").to_string();
        assert!(problems.contains("traffic.early.class") && problems.contains(what), "{problems}");
    }
}
