//! SIRD against times, queues and credit worked out by hand: messages alone, the order of two, incasts, hosts that hold credit
//! of many receivers, marks of ports, lost packets.
//!
//! Unless a test differs: one switch, links of 10 Gbps with a delay of 1 us; a full data packet is 1538 B on the wire, of
//! which 1458 B are payload, and takes T; a packet without payload is 84 B and takes A. A round trip of both is 8244 B, or
//! 5.4 packets: six packets go without credit and are a sender's budget, nine an interface's, and a sender marks above three.

use crate::common::scenarios::timed_flows;
use crate::common::{Run, US, in_parts, run, run_with, same, scenario};
use flowyard_sim::engine::data::plan::Agenda;
use flowyard_sim::engine::parted::executor::InTurn;
use proptest::prelude::*;

/// 1538 B and 84 B at 10 Gbps.
const T: u64 = 1_230_400;
const A: u64 = 67_200;
const WIRE: u64 = 1538;
const PAYLOAD: u64 = 1458;
/// A full packet from end to end, and one without payload.
const TD: u64 = 2 * T + 2 * US;
const TG: u64 = 2 * A + 2 * US;
/// Packets that go without credit and that a sender has credit for, and packets that an interface has credit for.
const ONE: u64 = 6;
const ALL: u64 = 9;

fn sird(settings: &str) -> String {
    format!("transport.sird = {{ {settings} }}")
}

/// Messages over one switch: name, source, destination, start, bytes.
fn messages(settings: &str, messages: &[(&str, u32, u32, u64, u64)]) -> String {
    let network = "[topology.single-switch]\nhosts = 66\nrate = \"10Gbps\"\ndelay = \"1us\"\n";
    format!("{}\n{network}{}", sird(settings), timed_flows(messages))
}

fn incast(settings: &str, senders: u32, bytes: u64) -> Run {
    let names: Vec<_> = (1..=senders).map(|sender| format!("m{sender}")).collect();
    let all: Vec<_> = (1..).zip(&names).map(|(sender, name)| (name.as_str(), sender, 0, 0, bytes)).collect();
    run(&messages(settings, &all))
}

fn last(run: &Run) -> u64 {
    run.flows("fct_ps").into_iter().max().expect("a flow")
}

/// LIT-SIRD-1: the time of a message of n packets, the last of which has `last` bytes of payload. One of more than six packets
/// on the wire is announced, and its first credit comes back, before its first packet goes. Its last one follows the one before.
fn alone(n: u64, last: u64) -> u64 {
    let wire = (last + WIRE - PAYLOAD).max(84);
    let announced = if (n - 1) * WIRE + wire > ONE * WIRE { 2 * TG } else { 0 };
    let shorter = T - wire * 800;
    announced + TD + (n - 1) * T - if n == 1 { 2 * shorter } else { shorter }
}

/// Up to six packets as fast as any; beyond, a control packet there and one back.
#[test]
fn a_message_alone() {
    for (n, ps) in [(1, 4_460_800), (6, TD + 5 * T), (7, 2 * TG + TD + 6 * T), (100, 2 * TG + TD + 99 * T)] {
        let run = run(&messages("", &[("m", 0, 1, 0, n * PAYLOAD)]));
        assert_eq!((run.flow("fct_ps"), alone(n, PAYLOAD)), (ps, ps), "{n} packets");
        // Acknowledged one control packet later.
        assert_eq!(run.flow("fct_acked_ps"), ps + TG);
        assert_eq!((run.flow("packets_sent"), run.flow("retransmissions")), (n, 0));
        // A request and a credit for each packet, if it has credit.
        let credited = if n > ONE { n + 1 } else { 0 };
        assert_eq!(run.counters().packets, n + credited + 1);
        assert_eq!(run.counters().marks, 0);
    }
    // A byte is padded to 84 B.
    assert_eq!(run(&messages("", &[("m", 0, 1, 0, 1)])).flow("fct_ps"), 2 * A + 2 * US);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// LIT-SIRD-1 at any length.
    #[test]
    fn a_message_of_any_length(n in 1u64..60, last in 1u64..=PAYLOAD) {
        let run = run(&messages("", &[("m", 0, 1, 0, (n - 1) * PAYLOAD + last)]));
        prop_assert_eq!(run.flow("fct_ps"), alone(n, last));
    }
}

/// Four links: messages of up to the derived threshold of that network go at once, longer ones are announced.
#[test]
fn a_message_between_racks() {
    let fct = |packets: u64| {
        run(&format!(
            "{}\n[topology.leaf-spine]\nleaves = 2\nspines = 2\nhosts = 2\nrate = \"10Gbps\"\ndelay = \"1us\"\n\
             [[traffic]]\nname = \"m\"\narrivals.at-once = {{ jitter = \"0s\" }}\nmatrix.pairs = [[0, 3]]\n\
             sizes.fixed = \"{}B\"",
            sird(""),
            packets * PAYLOAD
        ))
        .flow("fct_ps")
    };
    let (data, control) = (4 * (T + US), 4 * (A + US));
    let round_trip = (data + control).div_ceil(T);
    assert_eq!(round_trip, 11);
    assert_eq!(fct(round_trip), data + (round_trip - 1) * T);
    assert_eq!(fct(round_trip + 1), 2 * control + data + round_trip * T);
    assert_eq!(fct(100), 2 * control + data + 99 * T);
}

/// A budget of five packets does not fill a round trip of 5.4: five packets in each of them.
#[test]
fn a_small_budget_stalls_a_message() {
    let of = |settings: &str| run(&messages(settings, &[("m", 0, 1, 0, 101 * PAYLOAD)])).flow("fct_ps");
    for field in ["sender_budget", "credit_budget"] {
        let fct = of(&format!("{field} = \"{}B\"", 5 * WIRE));
        let expected = 2 * TG + TD + 20 * (TD + TG);
        assert!(fct.abs_diff(expected) <= T, "{field}: {fct}, not {expected}");
        // Less than a packet more does not help.
        assert_eq!(fct, of(&format!("{field} = \"{}B\"", 6 * WIRE - 1)));
    }
}

/// LIT-SIRD-3: long messages of N hosts to one have its link full, and what queues before it is the part of the budget beyond a
/// round trip.
#[test]
fn an_incast_of_long_messages() {
    for senders in [2, 8, 64] {
        // Far away: senders that wait for credit ask whether any is lost, which takes the time of their questions.
        let run = incast("resend_interval = \"10ms\"", senders, 100 * PAYLOAD);
        let full = 2 * TG + TD + (u64::from(senders) * 100 - 1) * T;
        let end = last(&run);
        assert!((full..full + 2 * T).contains(&end), "{senders} senders: {end}, {full}");
        let queue = run.link("switch", "host 0", "queue_max_bytes");
        let most = ALL * WIRE - 8244 + u64::from(senders) * 84 + 2 * WIRE;
        assert!(queue <= most, "{senders} senders: {queue} B of {most} B");
        assert_eq!((run.counters().drops, run.counters().retransmissions), (0, 0));
    }
}

/// Short messages go without credit: all of them queue before the receiver's link. They take the room of credit, so that a long
/// message has none until they have come.
#[test]
fn short_messages_take_room() {
    let run = incast("", 16, ONE * PAYLOAD);
    assert_eq!(last(&run), TD + (16 * ONE - 1) * T);
    let queue = run.link("switch", "host 0", "queue_max_bytes");
    assert!((15 * ONE * WIRE..=(15 * ONE + 2) * WIRE).contains(&queue), "{queue}");
    // Packets of sixteen short messages begin to come with the request of a long one.
    let names: Vec<_> = (1..=16).map(|sender| format!("m{sender}")).collect();
    let mut all: Vec<_> =
        (1..).zip(&names).map(|(sender, name)| (name.as_str(), sender, 0, 0, ONE * PAYLOAD)).collect();
    all.push(("long", 20, 0, US, 20 * PAYLOAD));
    let run = self::run(&messages("", &all));
    // Its first credit leaves as the budget has room, eight packets before the last short one has come: its packets follow
    // these without a gap, and wait for none.
    assert_eq!(run.flow_of("long", "fct_ps"), TD + (16 * ONE + 20 - 1) * T - US);
}

/// Two senders to one receiver: by the order of messages the shorter one has all credit until its budget is full, or half.
#[test]
fn receivers_credit_their_shortest_message() {
    let (a, b) = (60, 200);
    let two = [("short", 1, 0, 0, a * PAYLOAD), ("long", 2, 0, 0, b * PAYLOAD)];
    for (order, packets) in [("shortest", a), ("in-turn", 2 * a)] {
        let run = run(&messages(&format!("receiver_order = \"{order}\""), &two));
        let (short, expected) = (run.flow_of("short", "fct_ps"), 2 * TG + TD + (packets - 1) * T);
        assert!(short.abs_diff(expected) <= 3 * T, "{order}: {short}, not {expected}");
        let (long, expected) = (run.flow_of("long", "fct_ps"), 2 * TG + TD + (a + b - 1) * T);
        assert!(long.abs_diff(expected) <= 2 * T, "{order}: {long}, not {expected}");
    }
}

/// One sender with messages to two receivers, both with credit: the shorter has half of the uplink and half of the rest, all of
/// it, or half.
#[test]
fn senders_share_their_uplink() {
    let (a, b) = (60, 200);
    let two = [("short", 0, 1, 0, a * PAYLOAD), ("long", 0, 2, 0, b * PAYLOAD)];
    for (share, packets) in [("0.5", a * 4 / 3), ("1.0", a), ("0.0", 2 * a)] {
        let settings = format!("shortest_share = {share}, sender_threshold = \"1MB\"");
        let run = run(&messages(&settings, &two));
        let (short, expected) = (run.flow_of("short", "fct_ps"), 2 * TG + TD + (packets - 1) * T);
        assert!(short.abs_diff(expected) <= 4 * T, "share {share}: {short}, not {expected}");
        let (long, expected) = (run.flow_of("long", "fct_ps"), 2 * TG + TD + (a + b - 1) * T);
        assert!(long.abs_diff(expected) <= 2 * T, "share {share}: {long}, not {expected}");
    }
}

/// Long messages of host 0 to so many receivers, 20 us away: its unused credit in packets, in samples after fifty round trips.
fn held(settings: &str, receivers: u32) -> Vec<f64> {
    let names: Vec<_> = (1..=receivers).map(|receiver| format!("m{receiver}")).collect();
    let all: Vec<_> =
        (1..).zip(&names).map(|(to, name)| (name.as_str(), 0, to, 0, 20_000 * PAYLOAD)).collect();
    let text = messages(settings, &all).replace("1us", "20us")
        + "\n[observe.samples]\nevery = \"7us\"\nlinks = [\"host 0 -> *\"]\n[run]\nuntil = \"12ms\"\n";
    let samples = run(&text).samples("backlog_bytes");
    let settled = samples.into_iter().filter(|(time, _)| *time >= 50 * FAR);
    settled.map(|(_, bytes)| bytes / WIRE as f64).collect()
}

/// A full packet there and a credit back, 20 us a link: 67.1 packets.
const FAR: u64 = 2 * (T + 20 * US) + 2 * (A + 20 * US);

/// LIT-SIRD-4: a sender with credit of four receivers holds a round trip of each, of which one is in flight; with its marks it
/// holds no more than the threshold of half a round trip and a packet of each, and its uplink stays full.
#[test]
fn senders_report_unused_credit() {
    assert_eq!(FAR.div_ceil(T), 68);
    let most = |packets: &[f64]| packets.iter().copied().fold(0.0, f64::max);
    let least = |packets: &[f64]| packets.iter().copied().fold(f64::MAX, f64::min);
    let unmarked = held("sender_threshold = \"1MB\"", 4);
    assert!(least(&unmarked) >= 203.0 && most(&unmarked) <= 206.0, "4 x 68 less 67.1: {}", least(&unmarked));
    let marked = held("", 4);
    let mean = marked.iter().sum::<f64>() / marked.len() as f64;
    assert!(marked.len() > 1000 && least(&marked) > 0.0, "the uplink is always full");
    // And the one that goes next, without which the sender compares.
    assert!(most(&marked) <= 34.0 + 4.0 + 1.0, "{}", most(&marked));
    assert!((mean - 34.0).abs() < 4.0, "{mean}");
}

/// A sender with messages to four receivers holds credit of the first that another sender to that receiver could use. Without
/// marks it keeps six of nine packets, and the other has three in each round trip of 5.4; with marks the other has all that the
/// first sender cannot use.
#[test]
fn informed_receivers_credit_another_sender() {
    let n = 300;
    let all = [
        ("a", 1, 0, 0, n * PAYLOAD),
        ("b", 1, 3, 0, n * PAYLOAD),
        ("c", 1, 4, 0, n * PAYLOAD),
        ("d", 1, 5, 0, n * PAYLOAD),
        ("other", 2, 0, 0, 400 * PAYLOAD),
    ];
    let of = |settings: &str| {
        let settings = format!("shortest_share = 0.0, receiver_order = \"in-turn\", {settings}");
        run(&messages(&settings, &all)).flow_of("other", "fct_ps")
    };
    let round_trip = (TD + TG) as f64 / T as f64;
    let (blind, informed) = (of("sender_threshold = \"1MB\""), of(""));
    let alone = 2 * TG + TD + 399 * T;
    let expected = alone as f64 * round_trip / 3.0;
    assert!((blind as f64 / expected - 1.0).abs() < 0.1, "{blind}, not {expected}");
    // The first sender has a quarter of its uplink for the shared receiver, and the other the rest of the downlink.
    let ratio = informed as f64 / (alone as f64 * 4.0 / 3.0);
    assert!((0.95..1.1).contains(&ratio), "{informed} {ratio}");
}

/// Two racks with one link between them, which two senders and their receivers share: each receiver has credit for all of the
/// link out, and the packets of both queue before it. With marks of ports the queue stays near the threshold.
#[test]
fn marks_of_ports_lower_the_credit() {
    let queue = |threshold: u32| {
        let run = run(&format!(
            "{}\n[queue.strict-priority]\nthreshold = {{ full-packets = {threshold} }}\n\
             [topology.leaf-spine]\nleaves = 2\nspines = 1\nhosts = 2\nrate = \"10Gbps\"\ndelay = \"1us\"\n\
             [[traffic]]\nname = \"m\"\narrivals.at-once = {{ jitter = \"0s\" }}\nmatrix.pairs = [[0, 2], [1, 3]]\n\
             sizes.fixed = \"2916000B\"",
            sird("sender_threshold = \"1MB\"")
        ));
        let full = (8 * (T + US) + 4000 * T) as f64;
        let ratio = last(&run) as f64 / full;
        assert!((0.99..1.02).contains(&ratio), "{ratio}");
        (run.queue_mean("leaf 0", "spine 0") / WIRE as f64, run.counters().marks)
    };
    // Eleven packets fill a round trip; each of two receivers has credit for as many: one of these rounds waits.
    let (unmarked, marked) = (queue(1000), queue(3));
    assert!((10.0..12.5).contains(&unmarked.0) && unmarked.1 == 0, "{unmarked:?}");
    assert!(marked.0 < 5.0 && marked.1 > 100, "{marked:?}");
}

/// Lost packets, by number: without credit, with it, the last. Only these are sent again, an interval later.
#[test]
fn lost_packets_are_requested() {
    for (n, list, again) in
        [(6, "1", 1), (6, "6", 1), (6, "1, 2, 3", 3), (20, "9", 1), (20, "20", 1), (20, "3, 4", 2)]
    {
        let faults = format!("faults.packets = [{{ traffic = \"m\", numbers = [{list}] }}]\n");
        let one = [("m", 0, 1, 0, n * PAYLOAD)];
        let run = run(&(faults + &messages("resend_interval = \"1ms\"", &one)));
        let counts = (run.flow("delivered_bytes"), run.flow("retransmissions"), run.flow("timeouts"));
        assert_eq!(counts, (n * PAYLOAD, again, 1), "{list} of {n}");
        let late = run.flow("fct_ps") - alone(n, PAYLOAD);
        assert!((900 * US..1100 * US).contains(&late), "{list} of {n}: {late}");
    }
    // All packets of a short message: its receiver knows of none until the sender asks, after two intervals.
    let faults = "faults.packets = [{ traffic = \"m\", numbers = [1, 2, 3] }]\n".to_string();
    let run = run(&(faults + &messages("resend_interval = \"1ms\"", &[("m", 0, 1, 0, 3 * PAYLOAD)])));
    assert_eq!((run.flow("delivered_bytes"), run.flow("retransmissions")), (3 * PAYLOAD, 3));
    let late = run.flow("fct_ps") - alone(3, PAYLOAD);
    assert!((2000 * US..2100 * US).contains(&late), "{late}");
}

/// While the cable is down, the request is lost, or credit. The sender asks again after two intervals.
#[test]
fn requests_are_repeated() {
    let faults = "faults.events = [{ at = \"0s\", target.cable = [\"switch\", \"host 1\"], change = \"down\", lasts = \"1ms\" }]\n";
    let one = [("m", 0, 1, 0, 20 * PAYLOAD)];
    let run = run(&(faults.to_string() + &messages("resend_interval = \"1ms\"", &one)));
    assert_eq!(run.flow("fct_ps"), 2000 * US + alone(20, PAYLOAD));
    assert_eq!((run.flow("retransmissions"), run.flow("timeouts")), (0, 0));
}

/// Random losses of any packets, and ports that drop: all data arrives.
#[test]
fn messages_survive_losses() {
    let three = [("a", 1, 0, 0, 200 * PAYLOAD), ("b", 2, 0, 0, 5 * PAYLOAD), ("c", 0, 3, 0, 120 * PAYLOAD)];
    let faults = "faults.events = [{ at = \"0s\", target.cable = [\"switch\", \"host 0\"], change = { loss = 0.02 } }]\n";
    let text = faults.to_string() + &messages("resend_interval = \"200us\"", &three);
    for seed in 1..9 {
        let run = run_with(&text, &[("run.seed", &seed.to_string())]);
        let delivered = run.flows("delivered_bytes");
        assert_eq!(delivered, [200 * PAYLOAD, 5 * PAYLOAD, 120 * PAYLOAD], "seed {seed}");
        assert!(run.counters().lost > 0);
    }
    let small = "queue.strict-priority.limit.full-packets = 20\n".to_string();
    let names: Vec<_> = (1..=16).map(|sender| format!("m{sender}")).collect();
    let all: Vec<_> =
        (1..).zip(&names).map(|(sender, name)| (name.as_str(), sender, 0, 0, ONE * PAYLOAD)).collect();
    let run = run(&(small + &messages("", &all)));
    assert!(run.counters().drops > 0 && run.counters().unfinished_flows == 0);
}

/// Ports of either implementation, either calendar and several parts give the same bytes.
#[test]
fn the_same_in_all_ways() {
    let names: Vec<_> = (1..=12).map(|sender| format!("m{sender}")).collect();
    let mut all: Vec<_> =
        (1..).zip(&names).map(|(sender, name)| (name.as_str(), sender, 0, 0, 60 * PAYLOAD)).collect();
    all.extend([
        ("x", 1, 20, US, 90 * PAYLOAD),
        ("y", 1, 21, US, 3 * PAYLOAD),
        ("z", 20, 1, 0, 50 * PAYLOAD),
    ]);
    // A queue that is first-in first-out, whose departures may be computed ahead of time, and the default one.
    for queue in ["queue.ecn.threshold.packets = 4\n", ""] {
        let text = queue.to_string() + &messages("", &all);
        let expected = run(&text);
        let serviced = run_with(&text, &[("run.port_mode", "\"serviced\"")]);
        assert_eq!((expected.digest(), &expected.0.flows), (serviced.digest(), &serviced.0.flows));
        same(&expected, &crate::common::run_scenario(&scenario(&text, &[]), Agenda::Heap));
        for parts in [2, 5] {
            same(&expected, &in_parts(&scenario(&text, &[]), parts, &InTurn));
        }
    }
}
