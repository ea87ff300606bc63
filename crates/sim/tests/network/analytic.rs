//! Packets, ports and queues against times and counts worked out by hand, to the picosecond.
//!
//! Unless a test differs: datagrams of 1500 B, of which 28 B are header, so that a packet carries 1472 B of
//! payload and takes T = 12 us at 1 Gbps; each link has a delay of d = 1 us.

use crate::common::scenarios::{TOGETHER, flow_into_a_slower_link, flows, incast};
use crate::common::{HEADER, PACKET, Run, US, run, run_with};

const T: u64 = PACKET;
const D: u64 = US;
/// Payload of a full datagram.
const PAYLOAD: u64 = 1472;

/// One flow of datagrams of that size, handed to host 0 at time zero, for host `to`.
fn datagrams(topology: &str, queue: &str, to: u32, size: u64) -> Run {
    run(&format!(
        r#"
        transport = "datagram"
        {queue}
        [topology.{topology}
        {}
        "#,
        flows("flow", &[[0, to]], size)
    ))
}

fn line(switches: usize) -> String {
    format!("line]\nswitches = {switches}\nrate = \"1Gbps\"\ndelay = \"1us\"")
}

/// One switch; host 0 sends at the first rate, and the switch sends on at the second.
fn two_rates(first: &str, second: &str) -> String {
    format!("line]\nswitches = 1\nrates = [\"{first}\", \"{second}\"]\ndelay = \"1us\"")
}

/// A flow that completes at the instant of its deadline has met it; a picosecond less is missed.
#[test]
fn a_deadline_is_met_at_its_instant() {
    for (less, met) in [(0, true), (1, false)] {
        let deadline = 2 * (T + D) - less;
        let flow = flows("flow", &[[0, 1]], PAYLOAD);
        let text =
            format!("transport = \"datagram\"\n[topology.{}\n{flow}\ndeadline = \"{deadline}ps\"", line(1));
        let run = run(&text);
        assert_eq!(run.flow("fct_ps"), 2 * (T + D));
        assert_eq!(run.bools("met_deadline"), [met]);
    }
}

/// Store-and-forward: each hop takes T and d.
#[test]
fn one_packet_over_a_line() {
    for hops in [1, 2, 4, 6] {
        let run = datagrams(&line(hops - 1), "", 1, PAYLOAD);
        assert_eq!(run.flow("fct_ps"), hops as u64 * (T + D), "{hops} hops");
        assert_eq!(run.counters().packet_hops, hops as u64);
        assert_eq!(run.end(), run.flow("fct_ps"));
    }
}

/// In a 4-ary fat-tree a pod has 4 hosts and an edge switch 2: hosts 1, 2 and 4 are 2, 4 and 6 hops from host 0.
#[test]
fn one_packet_through_a_fat_tree() {
    let tree = "fat-tree]\nk = 4\nrate = \"1Gbps\"\ndelay = \"1us\"";
    for (to, hops) in [(1, 2), (2, 4), (4, 6)] {
        let run = datagrams(tree, "", to, PAYLOAD);
        assert_eq!(run.flow("fct_ps"), hops * (T + D), "to host {to}");
        assert_eq!(run.counters().packet_hops, hops);
    }
}

/// The last of n packets leaves the source at nT and is never held up: then T for each further hop.
#[test]
fn packets_back_to_back() {
    for (hops, n) in [(1, 7), (2, 2), (4, 10), (6, 100)] {
        let run = datagrams(&line(hops - 1), "", 1, n * PAYLOAD);
        let hops = hops as u64;
        assert_eq!(run.flow("fct_ps"), (n + hops - 1) * T + hops * D, "{n} packets over {hops} hops");
        assert_eq!(run.flow("packets_sent"), n);
        assert_eq!(run.flow("reordered"), 0);
    }
}

/// A last packet of 472 + 28 = 500 B takes 4 us. At every hop it waits for the end of the full one before it,
/// which is there at (n - 1 + h - 1) T + (h - 1) d; alone, it does not wait.
#[test]
fn short_last_packet() {
    let short = 4 * US;
    for (hops, full) in [(1, 3), (2, 1), (5, 9)] {
        let run = datagrams(&line(hops - 1), "", 1, full * PAYLOAD + 472);
        let hops = hops as u64;
        assert_eq!(
            run.flow("fct_ps"),
            (full + hops - 1) * T + short + hops * D,
            "after {full} over {hops} hops"
        );
    }
    let run = datagrams(&line(2), "", 1, 472);
    assert_eq!(run.flow("fct_ps"), 3 * (short + D));
}

/// 1500 B at 7 Gbps take 1,714,285.71 ps: rounded up for each packet by itself, never accumulated.
#[test]
fn rates_that_do_not_divide() {
    let packet = 1_714_286;
    for n in [1, 2, 1000] {
        let seven = "line]\nswitches = 0\nrate = \"7Gbps\"\ndelay = \"0s\"";
        assert_eq!(datagrams(seven, "", 1, n * PAYLOAD).flow("fct_ps"), n * packet);
    }
    // 3 Gbps: 4 us for 1500 B exactly; 1001 B of payload and header take 2,669,333.3 ps.
    let three = "line]\nswitches = 1\nrate = \"3Gbps\"\ndelay = \"0s\"";
    assert_eq!(datagrams(three, "", 1, PAYLOAD).flow("fct_ps"), 2 * 4 * US);
    assert_eq!(datagrams(three, "", 1, 973).flow("fct_ps"), 2 * 2_669_334);
}

/// Ten packets at 10 Gbps arrive every 1.2 us at a port that needs 12 us for each. The first finds it
/// idle at a = 1.2 us + d, the last leaves at a + 10 T. All ten are there when the last one arrives,
/// 10.8 us after the first. Packet i stays from 1.2 (i - 1) to 12 i: together 12 * 55 - 1.2 * 45 = 606 us.
#[test]
fn burst_through_a_slower_link() {
    let run = datagrams(&two_rates("10Gbps", "1Gbps"), "", 1, 10 * PAYLOAD);
    let end = T / 10 + D + 10 * T + D;
    assert_eq!(run.flow("fct_ps"), end);
    assert_eq!(run.link("switch 0", "host 1", "queue_max_packets"), 10);
    assert_eq!(run.link("switch 0", "host 1", "queue_max_bytes"), 15_000);
    let mean = 1500.0 * (606 * US) as f64 / end as f64;
    assert!((run.queue_mean("switch 0", "host 1") / mean - 1.0).abs() < 1e-12);
    // The host's own port holds one packet at a time, for 12 us of the run: packets are made when sent.
    assert_eq!(run.link("host 0", "switch 0", "queue_max_packets"), 1);
    let mean = 1500.0 * (12 * US) as f64 / end as f64;
    assert!((run.queue_mean("host 0", "switch 0") / mean - 1.0).abs() < 1e-12);
    assert_eq!(run.link("switch 0", "host 1", "bytes"), 15_000);
}

/// An eleventh packet arrives 12 us after the first, at the instant at which that one has left: a port
/// that finishes at t is free for an arrival at t.
#[test]
fn departures_come_before_arrivals() {
    let run = datagrams(&two_rates("10Gbps", "1Gbps"), "", 1, 11 * PAYLOAD);
    assert_eq!(run.link("switch 0", "host 1", "queue_max_packets"), 10);
}

/// Two hosts send n packets each to a third: from T + d on, two arrive every T and one leaves. The last
/// of 2n leaves at T + d + 2n T, the other flow's last one T earlier; with the k-th pair there, k - 1
/// have left and k + 1 are in the port.
#[test]
fn two_flows_meet_at_a_port() {
    let n = 20;
    let run = run(&format!(
        r#"
        transport = "datagram"
        topology.single-switch = {{ hosts = 3, rate = "1Gbps" }}
        {}
        "#,
        flows("both", &[[0, 2], [1, 2]], n * PAYLOAD)
    ));
    let mut fcts = run.flows("fct_ps");
    fcts.sort_unstable();
    assert_eq!(fcts, [2 * n * T + 2 * D, (2 * n + 1) * T + 2 * D]);
    assert_eq!(run.link("switch", "host 2", "queue_max_packets"), n + 1);
    assert_eq!(run.flows("ideal_fct_ps"), [(n + 1) * T + 2 * D; 2]);
}

/// Over the host in the middle: as over a switch.
#[test]
fn a_host_relays() {
    let run = datagrams("relay]\nrate = \"1Gbps\"\ndelay = \"1us\"", "", 2, 5 * PAYLOAD);
    assert_eq!(run.flow("fct_ps"), 6 * T + 2 * D);
    assert_eq!(run.link("host 1", "host 2", "packets"), 5);
}

/// The middle host sends five packets of its own as well. Its wire carries own, own, relayed, relayed,
/// relayed, own, own, own: the first relayed one comes at T + d, during the second own one, and packets
/// that wait in a port go before data that still waits in its host.
#[test]
fn a_relaying_host_sends_too() {
    let run = run(&format!(
        r#"
        transport = "datagram"
        topology.relay = {{ rate = "1Gbps", delay = "1us" }}
        {}
        {}
        "#,
        flows("relayed", &[[0, 2]], 3 * PAYLOAD),
        flows("own", &[[1, 2]], 5 * PAYLOAD)
    ));
    assert_eq!(run.flows("fct_ps"), [5 * T + D, 8 * T + D]);
    assert_eq!(run.flows("reordered"), [0, 0]);
}

/// Topologies, and a host that host 0 sends to.
const TOPOLOGIES: [(&str, u32); 9] = [
    ("single-switch]\nhosts = 2", 1),
    ("line]\nswitches = 0\nrate = \"3Gbps\"", 1),
    ("line]\nswitches = 3\ndelay = \"17ns\"", 1),
    ("line]\nswitches = 2\nrates = [\"10Gbps\", \"1Gbps\", \"7Gbps\"]", 1),
    ("line]\nswitches = 2\nrates = [\"1Gbps\", \"7Gbps\", \"10Gbps\"]", 1),
    ("line]\nswitches = 3\nrates = [\"4Gbps\", \"10Gbps\", \"3Gbps\", \"9Gbps\"]", 1),
    ("dumbbell]\nhosts = 2\nbottleneck = { rate = \"2Gbps\", delay = \"5us\" }", 3),
    ("relay]\nrate = \"40Gbps\"", 2),
    ("fat-tree]\nk = 4\nhost = { rate = \"7Gbps\" }", 15),
];

/// Here many paths together are faster than the one that the ideal goes by: what sprays packets over
/// them would beat it.
const MANY_SLOW_PATHS: [(&str, u32); 2] = [
    ("fat-tree]\nk = 4\ncore = { rate = \"3Gbps\" }", 5),
    ("fat-tree]\nk = 4\naggregation = { rate = \"3Gbps\", delay = \"3us\" }", 2),
];

/// A datagram flow alone is the definition of the ideal: the formula and the engine must agree on every
/// topology, for one packet, many, and a short last one.
#[test]
fn a_flow_of_datagrams_alone_is_ideal() {
    for (topology, to) in TOPOLOGIES.into_iter().chain(MANY_SLOW_PATHS) {
        for size in [1, 700, PAYLOAD, PAYLOAD + 1, 10 * PAYLOAD, 100_000, 1_000_000] {
            let run = datagrams(topology, "", to, size);
            assert_eq!(run.flow("fct_ps"), run.flow("ideal_fct_ps"), "{size} bytes over {topology}");
        }
    }
}

/// TCP with a first window that covers the flow and nothing before it: this too is the ideal.
const NO_HANDSHAKE: &str =
    "queue = \"infinite\"\ntransport.tcp = { handshake = false, initial_window = 1000 }";

/// No transport completes a flow before its own data packets could have crossed the empty network.
#[test]
fn no_transport_beats_the_ideal() {
    for (topology, to) in TOPOLOGIES {
        for transport in [
            "transport = \"ndp\"",
            "transport = \"tcp\"",
            NO_HANDSHAKE,
            "transport.ndp = { pad_last = true }",
        ] {
            for size in [1, 1436, 1460, 1461, 100_000, 1_000_000] {
                let run = run(&format!(
                    r#"
                    {transport}
                    [topology.{topology}
                    [[traffic]]
                    name = "flow"
                    arrivals.at-once = {{ at = "3us" }}
                    matrix.pairs = [[0, {to}]]
                    sizes.fixed = "{size}B"
                    "#
                ));
                let (fct, ideal) = (run.flow("fct_ps"), run.flow("ideal_fct_ps"));
                assert!(fct >= ideal, "{size} bytes by {transport} over {topology}: {fct} < {ideal}");
                assert!(run.flow("fct_acked_ps") > fct);
                if transport == NO_HANDSHAKE {
                    assert_eq!(fct, ideal, "{size} bytes by {transport} over {topology}");
                }
            }
        }
    }
}

/// Packets arrive every 1.2 us at a port of 5 that sends one every 12 us. With the one on the wire
/// counted: 1 to 5 enter, 6 to 10 are dropped, 11 comes as the first has left and enters, 12 to 20 are
/// dropped before the next departure at 24 us. If it is not counted there is room for one more at first.
#[test]
fn drop_tail_counts() {
    for limit in ["packets = 5", "bytes = \"7500B\"", "full-packets = 5", "bytes = \"8999B\""] {
        for (counts_wire, delivered) in [(true, 6), (false, 7)] {
            let queue =
                format!("queue.drop-tail = {{ limit = {{ {limit} }}, limit_counts_wire = {counts_wire} }}");
            let run = datagrams(&two_rates("10Gbps", "1Gbps"), &queue, 1, 20 * PAYLOAD);
            assert_eq!(run.flow("drops"), 20 - delivered, "{queue}");
            assert_eq!(run.flow("delivered_bytes"), delivered * PAYLOAD);
            assert_eq!(run.link("switch 0", "host 1", "drops"), 20 - delivered);
            assert_eq!(run.link("switch 0", "host 1", "packets"), delivered);
            assert_eq!(run.link("switch 0", "host 1", "queue_max_packets"), delivered - 1);
            assert_eq!(run.flow_cells("fct_ps"), [None]);
            assert_eq!(run.counters().unfinished_flows, 1);
        }
    }
}

/// Twenty packets, one every 1.2 us, at a port that sends one every 12 us and marks above 5 packets.
///
/// On enqueue: from the sixth on there are always more than 5, so 15; without the one on the wire 14.
/// On dequeue: as packet j is taken at 12 (j - 1) us, 10 have come before j = 2 and all 20 before j = 3,
/// and j - 1 have left: 1, 9, 18, 17 ... 6 at j = 15, so 14; without the one taken 13.
#[test]
fn ecn_marks() {
    for (mark, counts_wire, marks) in
        [("enqueue", true, 15), ("enqueue", false, 14), ("dequeue", true, 14), ("dequeue", false, 13)]
    {
        for (threshold, capable) in
            [("packets = 5", true), ("bytes = \"7500B\"", true), ("packets = 5", false)]
        {
            let queue = format!(
                "transport.datagram = {{ ecn_capable = {capable} }}\n\
                 queue.ecn = {{ threshold = {{ {threshold} }}, mark = \"{mark}\", limit_counts_wire = {counts_wire} }}"
            );
            let run = run(&format!("{queue}\n{}", flow_into_a_slower_link(1, 20 * PAYLOAD)));
            let expected = if capable { marks } else { 0 };
            assert_eq!(run.link("switch 0", "host 1", "marks"), expected, "{queue}");
            assert_eq!(run.counters().marks, expected);
            assert_eq!(run.counters().drops, 0);
        }
    }
}

/// `senders` hosts, each with one flow to the last host, started 1 ps after the other: so that the order
/// in which their packets come to the last host's port is known.
fn one_by_one(senders: u32, header: &str, size: u64) -> String {
    let starts: Vec<String> = (0..senders).map(|sender| format!("\"{sender}ps\"")).collect();
    let pairs: Vec<String> = (0..senders).map(|sender| format!("[{sender}, {senders}]")).collect();
    format!(
        r#"
        {header}
        [topology.single-switch]
        hosts = {}
        rate = "1Gbps"
        delay = "1us"
        [[traffic]]
        name = "burst"
        arrivals.times = {{ at = [{}], jitter = "0s" }}
        matrix.pairs = [{}]
        sizes.fixed = "{size}B"
        "#,
        senders + 1,
        starts.join(", "),
        pairs.join(", ")
    )
}

/// Sixteen packets at the same instant, a port of eight: whichever of them a coin trims, eight wait whole and eight as
/// headers of 64 B, from T + d = 13 us on. In the first 20 us nothing leaves.
#[test]
fn the_mean_queue_where_waiting_packets_are_trimmed() {
    let settings = "transport = \"ndp\"\nqueue.ndp.trim = \"coin\"\nrun.until = \"20us\"";
    let text = format!("{settings}\n{}", incast(16, "1Gbps", 1436));
    for seed in 1..=5 {
        let overrides = [TOGETHER, ("run.seed", &seed.to_string())];
        let run = run_with(&text, &overrides);
        assert_eq!(run.link("switch", "host 0", "trims"), 8);
        assert_eq!(run.queue_mean("switch", "host 0"), (8.0 * 1500.0 + 8.0 * 64.0) * 7.0 / 20.0);
    }
}

/// A pFabric port for two packets. Host 0 sends four packets from 0 us on, which come at 13, 25 us and so on; hosts 1
/// and 2 one each, which come at 18 and 30 us and go before the longer flow's. At 30 us the first short one is on the
/// wire, and the long flow's second, there since 25 us, makes room for the other short one. Until 36 us they stay for
/// 12, 18, 5 and 6 us.
#[test]
fn the_mean_queue_where_a_waiting_packet_is_dropped() {
    let run = run(r#"
        transport = "pfabric"
        queue.pfabric.limit.packets = 2
        queue.pfabric.limit_counts_wire = true
        topology.single-switch = { hosts = 4, rate = "1Gbps", delay = "1us" }
        run.until = "36us"
        [[traffic]]
        name = "long"
        arrivals.at-once = { jitter = "0s" }
        matrix.pairs = [[0, 3]]
        sizes.fixed = "5840B"
        [[traffic]]
        name = "short"
        arrivals.times = { at = ["5us", "17us"], jitter = "0s" }
        matrix.pairs = [[1, 3], [2, 3]]
        sizes.fixed = "1460B"
        "#);
    assert_eq!(run.link("switch", "host 3", "drops"), 1);
    assert_eq!(run.flows("drops"), [1, 0, 0]);
    assert_eq!(run.queue_mean("switch", "host 3"), 1500.0 * 41.0 / 36.0);
}

/// Nine packets at the same instant, a port of eight: exactly one is trimmed, and its repeat is there
/// before the port has drained (the NDP paper's figure 3). From T + d on the port sends nine packets and
/// one header without a break.
#[test]
fn nine_packets_into_a_port_of_eight() {
    let text = format!("transport = \"ndp\"\n{}", incast(9, "1Gbps", 1436));
    let run = run_with(&text, &[TOGETHER]);
    assert_eq!(run.link("switch", "host 0", "trims"), 1);
    assert_eq!((run.counters().trims, run.counters().drops, run.counters().timeouts), (1, 0, 0));
    assert_eq!(run.counters().retransmissions, 1);
    assert_eq!(run.flows("fct_ps").into_iter().max(), Some(T + D + 9 * T + HEADER + D));
    assert_eq!(run.link("switch", "host 0", "packets"), 10);
}

/// The coin: the packet at the tail, which is the eighth, or the arriving ninth; each with probability
/// 1/2. Of 400 seeds, 200 +- 33 is within 3.3 standard deviations of 10.
#[test]
fn the_coin_is_fair() {
    let text = one_by_one(9, "transport = \"ndp\"", 1436);
    let mut tail = 0;
    for seed in 1..=400 {
        let trims = run_with(&text, &[("run.seed", &seed.to_string())]).flows("trims");
        assert_eq!(trims[..7], [0; 7]);
        assert_eq!(trims[7] + trims[8], 1);
        tail += trims[7];
    }
    assert!(tail.abs_diff(200) <= 33, "{tail} of 400 tails were trimmed");
}

/// Without the coin it is always the arriving packet.
#[test]
fn arriving_packets_are_trimmed() {
    let text = one_by_one(9, "transport = \"ndp\"\nqueue.ndp = { trim = \"arriving\" }", 1436);
    for seed in 1..=20 {
        let trims = run_with(&text, &[("run.seed", &seed.to_string())]).flows("trims");
        assert_eq!(trims, [0, 0, 0, 0, 0, 0, 0, 0, 1]);
    }
}

/// Twenty packets at once: eight fill the data queue, twelve are trimmed; the header queue takes four,
/// while the first packet is on the wire, and eight headers are lost. Each is repeated by the timer.
#[test]
fn a_full_header_queue_drops() {
    let queue =
        "queue.ndp = { trim = \"arriving\", header_limit = { packets = 4 }, return_to_sender = false }";
    let text = one_by_one(20, &format!("transport.ndp = {{ rto_initial = \"1ms\" }}\n{queue}"), 1436);
    let run = run(&text);
    assert_eq!(run.link("switch", "host 20", "trims"), 12);
    assert_eq!(run.link("switch", "host 20", "drops"), 8);
    assert_eq!(run.flows("trims"), [[0; 8].as_slice(), &[1; 4], &[0; 8]].concat());
    assert_eq!(run.flows("drops"), [[0; 12].as_slice(), &[1; 8]].concat());
    assert_eq!(run.flows("timeouts"), [[0; 12].as_slice(), &[1; 8]].concat());
    assert_eq!(run.counters().unfinished_flows, 0);
}

/// A packet that may not be trimmed is dropped, and the coin never takes it from the tail.
#[test]
fn a_full_trimming_port_drops_datagrams() {
    for seed in ["1", "2", "3", "4", "5", "6", "7", "8"] {
        let text = one_by_one(10, "transport = \"datagram\"\nqueue = \"ndp\"", PAYLOAD);
        let run = run_with(&text, &[("run.seed", seed)]);
        assert_eq!(run.flows("drops"), [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(run.counters().trims, 0);
    }
}

/// Packets and bytes of the wire give headers h and data packets n: h + n packets, 64 h + 1500 n bytes.
fn headers_and_data(run: &Run, to: &str) -> (u64, u64) {
    let (packets, bytes) = (run.link("switch", to, "packets"), run.link("switch", to, "bytes"));
    let data = (bytes - 64 * packets) / (1500 - 64);
    assert_eq!(64 * packets + (1500 - 64) * data, bytes, "only full packets and headers");
    (packets - data, data)
}

/// Forty hosts push long first windows at one port until 20 ms: both queues are always backlogged.
fn overload(headers_per_data: u32) -> Run {
    let queue =
        format!("{{ headers_per_data = {headers_per_data}, header_limit = {{ packets = 1000000 }} }}");
    let settings = "transport.ndp.initial_window = 100000\nrun.until = \"20ms\"";
    run(&format!("{settings}\nqueue.ndp = {queue}\n{}", incast(40, "1Gbps", 100_000_000)))
}

/// NDP-F5.b: ten headers for each data packet, within 2 %. 20 ms are some 1168 rounds of 12 + 5.12 us.
#[test]
fn ten_headers_for_each_data_packet() {
    let (headers, data) = headers_and_data(&overload(10), "host 0");
    assert!(data > 1100);
    assert!((headers as f64 / data as f64 / 10.0 - 1.0).abs() < 0.02, "{headers} headers, {data} data");
    let (headers, data) = headers_and_data(&overload(3), "host 0");
    assert!((headers as f64 / data as f64 / 3.0 - 1.0).abs() < 0.02, "{headers} headers, {data} data");
}

/// Strict: the first packet finds an idle port; from then on headers wait, 32 or more every 12 us, of
/// which 23 leave: no second data packet is ever sent.
#[test]
fn headers_first() {
    let (headers, data) = headers_and_data(&overload(0), "host 0");
    assert_eq!(data, 1);
    assert!(headers > 38_000);
}
