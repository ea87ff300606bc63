//! NDP against times and counts worked out by hand, to the picosecond.
//!
//! Unless a test differs: one switch, links of 1 Gbps with a delay of d; a full data packet is 1500 B on the
//! wire, 64 B of it header, and takes T = 12 us; a header or control packet takes C = 0.512 us.

use crate::common::scenarios::{self, flow, flow_into_a_slower_link, flow_over_a_line, flows};
use crate::common::{HEADER, MS, PACKET, Run, US, run, run_with, words};
use proptest::prelude::*;

const T: u64 = PACKET;
const C: u64 = HEADER;
/// Payload of a full data packet.
const PAYLOAD: u64 = 1436;

/// A flow of that many bytes alone, over `switches` switches with links of that delay, in microseconds.
fn alone(size: u64, switches: u64, delay: u64, settings: &str) -> Run {
    run(&format!("transport.ndp = {{ {settings} }}\n{}", flow_over_a_line(switches, delay, size)))
}

/// From the start of a packet to the arrival of the pull that it brings, over h hops.
fn round_trip(packet: u64, hops: u64, delay: u64) -> u64 {
    hops * (packet + delay * US) + hops * (C + delay * US)
}

/// NDP-F8a.d and the form behind it. With pulls on ACKs: while the window w is below RTT0 / T, the k-th round of
/// w packets begins k RTT0 after the first, as each packet's ACK pulls the next: n packets, n = q w + m, end at
/// q RTT0 + m T + (h - 1) T + h d. From RTT0 / T on, the wire of the source never rests.
#[test]
fn a_flow_alone_at_any_window() {
    let (hops, delay) = (6, 9);
    for (accounting, packet, payload) in [("", T, PAYLOAD), ("mtu_includes_header = false", 12_512_000, 1500)]
    {
        let rtt = round_trip(packet, hops, delay);
        let knee = rtt.div_ceil(packet);
        for window in [1, 2, 8, knee - 1, knee, knee + 1, 30] {
            for n in [1, window, window + 1, 3 * window, 100] {
                let run =
                    alone(n * payload, hops - 1, delay, &format!("initial_window = {window}, {accounting}"));
                let (rounds, rest) = ((n - 1) / window, (n - 1) % window + 1);
                let sent = if window * packet < rtt { rounds * rtt + rest * packet } else { n * packet };
                let expected = sent + (hops - 1) * packet + hops * delay * US;
                assert_eq!(run.flow("fct_ps"), expected, "{n} packets, window {window}, {accounting}");
                assert_eq!(run.counters().retransmissions + run.counters().timeouts, 0);
            }
        }
    }
}

/// NDP-F8a.d: goodput is min(1, IW T / RTT0) of the link, within 3 %, with pulls on ACKs or apart.
#[test]
fn goodput_grows_with_the_window() {
    let (hops, delay) = (6, 9);
    let rtt = round_trip(T, hops, delay);
    for pull_ack in [true, false] {
        for window in [1, 2, 4, 8, 12, 15, 16, 20, 30, 40] {
            let n = 3000;
            let run = alone(
                n * PAYLOAD,
                hops - 1,
                delay,
                &format!("initial_window = {window}, pull_ack = {pull_ack}"),
            );
            let goodput = (n * T) as f64 / run.flow("fct_ps") as f64;
            let expected = (window as f64 * T as f64 / rtt as f64).min(1.0);
            assert!((goodput / expected - 1.0).abs() < 0.03, "window {window}: {goodput}, not {expected}");
        }
    }
    // The knee of NDP-F8a: ceil(RTT0 / 12 us) is 16 with 9.5 us a link, as the claims have it.
    assert_eq!((6 * (2 * 9_500_000 + T + C)).div_ceil(T), 16);
}

/// Pulls apart from ACKs: the first pull leaves with its ACK's turn, so behind it on the wire: C later at
/// the first hop, and, ACK and pull following each other at the same pace, C later at the sender.
#[test]
fn separate_pulls() {
    let (hops, delay) = (3, 50);
    for n in [1, 2, 5] {
        let run = alone(n * PAYLOAD, hops - 1, delay, "initial_window = 1, pull_ack = false");
        let rtt = round_trip(T, hops, delay) + C;
        let way = hops * (T + delay * US);
        assert_eq!(run.flow("fct_ps"), (n - 1) * rtt + way, "{n} packets");
        // Each of n packets has an ACK; the last one completes the flow and is not pulled for.
        assert_eq!(run.link("host 1", "switch 1", "packets"), n + n - 1);
    }
}

/// The last packet is as short as its payload: 100 + 64 B take 1.312 us; it follows a full one. Padded, it
/// is full.
#[test]
fn short_last_packet() {
    let (hops, delay) = (2, 1);
    let n = 3;
    for (settings, last) in [("", 1_312_000), ("pad_last = true", T)] {
        let run = alone(n * PAYLOAD + 100, hops - 1, delay, settings);
        assert_eq!(run.flow("fct_ps"), (n + hops - 1) * T + last + hops * delay * US, "{settings}");
        assert_eq!(run.flow("fct_ps"), run.flow("ideal_fct_ps"));
    }
}

/// `senders` hosts with so many full packets each to host 0, all on one switch at 1 Gbps.
fn incast(senders: u64, packets: u64, settings: &str) -> String {
    format!("{settings}\n{}", scenarios::incast(senders, "1Gbps", packets * PAYLOAD))
}

/// NDP-F4.a: pulls leave the receiver one packet time apart. A window of one, pulled for once a round of
/// 3 T, would let the pacer rest; 40 packets of the first window bring 40 pulls at once, one flow of 200
/// packets: from the first pull on, one each T until the last packet.
#[test]
fn pulls_are_a_packet_time_apart() {
    // The packets pulled for come T apart to the picosecond: no queue grows anywhere but at the source,
    // and the last of n packets arrives n T after the start and what the way takes.
    let run = alone(200 * PAYLOAD, 1, 1, "initial_window = 40");
    assert_eq!(run.flow("fct_ps"), 201 * T + 2 * US);
    assert_eq!(run.link("switch 0", "host 1", "queue_max_packets"), 1);
    // At half the rate, the pulls of the packets from 41 on come 2 T apart: the first with the first ACK, at
    // T + d + T + d; the 159th 158 * 2 T later.
    let run = alone(199 * PAYLOAD, 1, 1, "initial_window = 40, pull_rate = 0.5");
    assert_eq!(run.flow("fct_ps"), 2 * T + 2 * US + 158 * 2 * T + 2 * (C + US) + 2 * T + 2 * US);
}

/// NDP-F4.c: whatever the number of connections, the pulls of a host leave at most one each T. Answers
/// and pulls all are 64 B on the host's link: their number is known, so what is left are pulls.
#[test]
fn connections_share_the_pull_rate() {
    for senders in [1, 2, 8, 32] {
        let settings = "transport.ndp = { pull_ack = false, initial_window = 10 }\n\
                        queue.ndp = { header_limit = { packets = 10000 } }";
        let run = run(&incast(senders, 60, settings));
        let answers = run.link("switch", "host 0", "packets");
        let pulls = run.link("host 0", "switch", "packets") - answers;
        let fct = run.most("fct_ps");
        assert!((pulls - 1) * T <= fct, "{pulls} pulls in {fct} ps");
        // And the pacer is never idle: it is what keeps the link full.
        assert!(pulls * T * 100 > fct * 90, "{pulls} pulls in {fct} ps");
    }
}

/// NDP-F4.b: what is sent is delivered or comes as a header, if no header is lost. NDP-F4.d: an ACK for each
/// data packet, a NACK for each header; pulls for both, all sent but those void at the end.
#[test]
fn every_packet_is_answered() {
    for pull_ack in [true, false] {
        for senders in [2, 9, 20] {
            let settings = format!(
                "transport.ndp = {{ pull_ack = {pull_ack} }}\nqueue.ndp = {{ header_limit = {{ packets = 10000 }} }}"
            );
            let run = run(&incast(senders, 50, &settings));
            let (sent, trims) = (run.total("packets_sent"), run.total("trims"));
            assert_eq!(run.counters().drops + run.counters().timeouts, 0);
            assert_eq!(sent, senders * 50 + trims, "sent = delivered + trimmed");
            assert_eq!(trims, run.counters().retransmissions);
            assert_eq!(trims, run.counters().trims);
            let arrived = run.link("switch", "host 0", "packets");
            assert_eq!(arrived, sent);
            // On the way back: an answer each, and pulls: at most one each, none for the last of each flow.
            let back = run.link("host 0", "switch", "packets");
            assert!(back <= 2 * arrived - senders);
            if pull_ack {
                assert!(back < 2 * arrived - senders);
            }
            assert!(back >= arrived);
        }
    }
}

/// NDP-F5.a: what was NACKed goes before new data. Six packets at 10 Gbps into a port of three: 4, 5 and 6 are
/// trimmed. Packet 1 is at the receiver at a = T/10 + d + T + d, its pull at the sender before the NACKs,
/// and lets 7 go; the next pulls let go 4, 5 and 6 again, then 8 to 12, the last of which is short.
///
/// Pulls leave every 2 T, so that each packet finds the port idle: the ninth, at a + 16 T, brings the last packet.
/// Were new data first, that would be a full one.
#[test]
fn repeats_go_before_new_data() {
    let window = |packets: u64, pull_rate: &str| {
        let run = run(&format!(
            r#"
            transport.ndp = {{ initial_window = 6, pull_rate = {pull_rate} }}
            queue.ndp = {{ trim = "arriving", data_limit = {{ packets = 3 }} }}
            {}
            "#,
            flow_into_a_slower_link(1, (packets - 1) * PAYLOAD + 1)
        ));
        assert_eq!((run.flow("trims"), run.flow("retransmissions")), (3, 3));
        run.flow("fct_ps")
    };
    // 65 B take 0.52 us at 1 Gbps.
    let short = 520_000;
    let first = T / 10 + US + T + US;
    let pull = C + US + C / 10 + US;
    assert_eq!(window(12, "0.5"), first + 16 * T + pull + short / 10 + US + short + US);
    // A flow of just the window has nothing new: the first pull waits for the NACK of 4, the second brings
    // 5, the third 6, the short one.
    assert_eq!(window(6, "0.5"), first + 4 * T + pull + short / 10 + US + short + US);
    // At the full rate the port is never idle: it sends eleven full packets, three headers and the short one.
    assert_eq!(window(12, "1.0"), T / 10 + US + 11 * T + 3 * C + short + US);
}

/// N:1 with 270 kB each, as the paper has it: the last flow ends within a few percent of the time that all the
/// data takes on the receiver's link; headers may be lost, flows never.
#[test]
fn incasts_end_close_to_the_ideal() {
    for (senders, tolerance) in [(1, 0.001), (2, 0.01), (8, 0.02), (20, 0.02), (50, 0.05), (100, 0.05)] {
        let packets = 188;
        let run = run(&incast(senders, packets, "transport = \"ndp\""));
        let last = run.most("fct_ps") as f64;
        let ideal = (senders * packets * T + T + 2 * US) as f64;
        assert!(last / ideal < 1.0 + tolerance, "{senders} senders: {}", last / ideal);
        assert_eq!(run.counters().unfinished_flows, 0);
    }
}

/// Two first windows of 30 packets leave 25 pulls waiting after 25 T. Then a flow of four packets comes, which
/// are trimmed, once or more: first in first out, each round of its repeats waits behind those pulls, 25 T
/// and more; with fair turns it has every third pull.
#[test]
fn pull_orders() {
    let fct = |order: &str| {
        let run = run(&format!(
            r#"
            transport.ndp = {{ pull_order = "{order}" }}
            [topology.single-switch]
            hosts = 4
            rate = "1Gbps"
            delay = "1us"
            {}
            [[traffic]]
            name = "short"
            arrivals.at-once = {{ at = "300us", jitter = "0s" }}
            matrix.pairs = [[3, 0]]
            sizes.fixed = "{}B"
            "#,
            flows("long", &[[1, 0], [2, 0]], 300_000),
            4 * PAYLOAD
        ));
        assert!(run.flows("trims")[2] >= 2);
        run.flows("fct_ps")[2]
    };
    let (fair, fifo) = (fct("fair"), fct("fifo"));
    assert!(fair < 50 * T, "{fair}");
    assert!(fifo > fair + 25 * T, "{fifo}, {fair}");
}

/// Either order of repeats repairs everything once.
#[test]
fn repeat_orders() {
    for order in ["lowest", "fifo"] {
        let settings = format!("transport.ndp = {{ repeat_order = \"{order}\" }}");
        for seed in ["1", "2", "3"] {
            let run = run_with(&incast(10, 60, &settings), &[("run.seed", seed)]);
            assert_eq!((run.counters().unfinished_flows, run.counters().timeouts), (0, 0));
            assert_eq!(run.counters().trims, run.counters().retransmissions);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// No flow is lost under any pattern of drops: header queues of one to three packets lose headers, ACKs,
    /// NACKs and pulls alike in both directions; the backstop timer makes good for all of them.
    #[test]
    fn no_flow_is_lost(
        senders in 2u32..16,
        headers in 1u32..4,
        data in 1u32..9,
        window in 1u32..40,
        size in 1u64..80_000,
        seed in any::<u32>(),
        ratio in 1u32..12,
        both_ways in any::<bool>(),
        flags in any::<[bool; 6]>(),
    ) {
        let [pull_ack, coin, fifo, wire, at_once, random] = flags;
        let repeats = if at_once { "at-once" } else { "pulled" };
        let turns = if random { "random" } else { "arrival" };
        let trim = if coin { "coin" } else { "arriving" };
        let order = if fifo { "fifo" } else { "lowest" };
        let back: Vec<[u32; 2]> = (1..=senders).map(|host| [0, host]).collect();
        let back = if both_ways { flows("back", &back, size) } else { String::new() };
        let text = format!(
            r#"
            transport.ndp = {{ initial_window = {window}, pull_ack = {pull_ack}, pull_turns = "{turns}", repeat_order = "{order}", backstop_repeats = "{repeats}", rto_initial = "2ms" }}
            queue.ndp = {{ data_limit = {{ full-packets = {data} }}, header_limit = {{ packets = {headers} }}, headers_per_data = {ratio}, trim = "{trim}", limit_counts_wire = {wire}, return_to_sender = false }}
            run.seed = {seed}
            {}
            {back}
            "#,
            scenarios::incast(u64::from(senders), "1Gbps", size)
        );
        let run = run(&text);
        prop_assert_eq!(run.counters().unfinished_flows, 0);
        prop_assert!(words(&run.0.flows, "tag").len() as u32 >= senders);
    }
}

/// Lost headers of the first window are found one timeout after the first ACK, by when there is an estimate, and
/// not after the long timeout that holds before it. 30 packets at 10 Gbps into a port of eight, and room for
/// one header: the repeats need a few rounds of rto_min = 1 ms.
#[test]
fn the_backstop_follows_the_estimate() {
    let run = run(&format!(
        r#"
        transport.ndp = {{ rto_initial = "1s" }}
        queue.ndp = {{ header_limit = {{ packets = 1 }}, return_to_sender = false }}
        {}
        "#,
        flow_into_a_slower_link(1, 30 * PAYLOAD)
    ));
    assert!(run.counters().drops > 10, "{} headers lost", run.counters().drops);
    assert!(run.counters().timeouts > 0);
    assert!(run.flow("fct_ps") < 10 * MS, "{} ps", run.flow("fct_ps"));
}

/// Headers overtake data at every switch, not only at the one that trims. A window of 16 packets comes at 10 Gbps to a
/// port of 8 that sends at 5 Gbps: the sixteenth comes at 16 x 1.2 + 1 us, finds eight there, and is trimmed. Its header
/// goes behind the packet on the wire, at 21.4 us, and is at the second switch at 22.5024 us, which sends at 4 Gbps: of
/// the eight packets that have come there from 5.6 us on, the sixth is on the wire until 23.6 us and two wait. The header
/// goes before them.
#[test]
fn headers_overtake_at_the_second_switch() {
    let run = run(&format!(
        r#"
        transport.ndp.initial_window = 16
        queue.ndp.trim = "arriving"
        topology.line = {{ switches = 2, rates = ["10Gbps", "5Gbps", "4Gbps"], delay = "1us" }}
        observe.capture.links = ["switch 1 -> host 1"]
        {}
        "#,
        flow(16 * PAYLOAD)
    ));
    assert_eq!(run.link("switch 0", "switch 1", "trims"), 1);
    assert_eq!(run.link("switch 1", "host 1", "trims"), 0);
    let [cable] = &run.0.observed.cables[..] else { panic!("one cable") };
    let come: Vec<(u64, u32)> = cable
        .packets
        .iter()
        .filter(|packet| packet.forward)
        .map(|packet| (packet.at.0, packet.ip_bytes))
        .collect();
    let header = come.iter().position(|(_, bytes)| *bytes == 64).expect("a header");
    // 64 bytes at 4 Gbps, and the delay; six packets came before it.
    assert_eq!((come[header].0, header), (23_600_000 + 128_000 + US, 6));
}
