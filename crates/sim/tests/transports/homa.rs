//! Homa against times and queues worked out by hand: a message alone with its stalls, the order of two, incasts, the bound of
//! granted bytes, and what becomes of lost packets.
//!
//! Unless a test differs: one switch, links of 10 Gbps with a delay of 1 us; a full data packet is 1538 B on the wire, of
//! which 1440 B are payload, and takes T; a packet without payload is 84 B and takes A.

use crate::common::scenarios::timed_flows;
use crate::common::{Run, US, run, run_with, scenario};
use flowyard_sim::outlook;
use proptest::prelude::*;

/// 1538 B and 84 B at 10 Gbps.
const T: u64 = 1_230_400;
const A: u64 = 67_200;
const D: u64 = US;
const WIRE: u64 = 1538;
const PAYLOAD: u64 = 1440;
/// A full packet from end to end, and a grant.
const TD: u64 = 2 * T + 2 * D;
const TG: u64 = 2 * A + 2 * D;

/// Frames of Ethernet, and a window of so many packets, which are also those without a grant.
fn framed(window: u64, more: &str) -> String {
    format!(
        "[transport.homa]\nframe_overhead = \"38B\"\nleast_frame = \"84B\"\nrtt_bytes = \"{}B\"\n{more}\n",
        window * WIRE
    )
}

/// Messages over one switch: name, source, destination, start, bytes.
fn messages(settings: &str, messages: &[(&str, u32, u32, u64, u64)]) -> String {
    let network = "[topology.single-switch]\nhosts = 70\nrate = \"10Gbps\"\ndelay = \"1us\"\n";
    format!("{settings}\n{network}{}", timed_flows(messages))
}

fn alone(bytes: u64, window: u64, more: &str) -> Run {
    run(&messages(&framed(window, more), &[("m", 0, 1, 0, bytes)]))
}

/// LIT-HOMA-2: the time of a message of n packets, the last of which has `last` bytes of payload, with a window of u.
fn closed_form(n: u64, u: u64, last: u64) -> u64 {
    let stall = (TD + TG).saturating_sub(u * T);
    let stalls = (n - 1) / u;
    let transmission = (last + WIRE - PAYLOAD).max(84) * 800;
    let full = TD + (n - 1) * T + stalls * stall;
    // The last packet follows back to back, unless it comes behind a stall or is the only one: then it is shorter on both links.
    let apart = n == 1 || stall > 0 && (n - 1).is_multiple_of(u);
    if !apart {
        full - (T - transmission)
    } else {
        full - (T - transmission) - (T - transmission).min(if n == 1 { T } else { stall })
    }
}

/// LIT-HOMA-1: 4460.8 and 11,843.2 ns for one and seven packets without a grant.
#[test]
fn a_message_without_grants() {
    for (n, ps) in [(1, 4_460_800), (7, 11_843_200)] {
        let run = alone(n * PAYLOAD, 7, "");
        assert_eq!(run.flow("fct_ps"), ps);
        assert_eq!(run.flow("ideal_fct_ps"), ps);
        assert_eq!(run.flow("packets_sent"), n);
        // Acknowledged one control packet later.
        assert_eq!(run.flow("fct_acked_ps"), ps + TG);
    }
}

/// LIT-HOMA-2 and -3: with a window of seven packets, or of six, there is no stall; with five one of TD + TG - 5 T for each five
/// packets.
#[test]
fn a_message_with_its_stalls() {
    assert_eq!(alone(100 * PAYLOAD, 7, "").flow("fct_ps"), 126_270_400);
    assert_eq!(alone(100 * PAYLOAD, 6, "").flow("fct_ps"), 126_270_400);
    assert_eq!(alone(100 * PAYLOAD, 5, "").flow("fct_ps"), 134_691_200);
    // Neither pacing nor the order of levels makes a difference to one message.
    for more in [
        "grant_pacing = false",
        "scheduled_levels = \"highest\"",
        "overcommitment = 1",
        "tail_boost = \"0B\"",
    ] {
        assert_eq!(alone(100 * PAYLOAD, 5, more).flow("fct_ps"), 134_691_200, "{more}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// LIT-HOMA-2 at any length and window.
    #[test]
    fn a_message_of_any_length(n in 1u64..60, u in 1u64..9, last in 1u64..=PAYLOAD) {
        let run = alone((n - 1) * PAYLOAD + last, u, "");
        prop_assert_eq!(run.flow("fct_ps"), closed_form(n, u, last));
    }
}

/// The window that follows from the network is the least that has no stall: six packets.
#[test]
fn the_derived_window() {
    let settings = "transport.homa = { frame_overhead = \"38B\", least_frame = \"84B\" }";
    let run = run(&messages(settings, &[("m", 0, 1, 0, 100 * PAYLOAD)]));
    assert_eq!(run.flow("fct_ps"), 126_270_400);
}

/// Eight levels are shared in proportion to unscheduled bytes, unless their number is given. A message of 1000 B is all
/// unscheduled; of 14 packets and a window of seven, 7 x 1538 B are, and 7 x (1538 + 84) B of data and grants are not: 3.9 of
/// eight; of 10 MB hardly a thousandth is.
#[test]
fn levels_follow_the_traffic() {
    let levels = |bytes, more| {
        let text = messages(&framed(7, more), &[("m", 0, 1, 0, bytes)]);
        let outlook = outlook(&scenario(&text, &[])).expect("a scenario that can be run");
        outlook.derived.get("transport.homa.unscheduled_levels").and_then(|levels| levels.as_u64())
    };
    assert_eq!([1000, 14 * PAYLOAD, 10_000_000].map(|bytes| levels(bytes, "")), [7, 4, 1].map(Some));
    assert_eq!(levels(1000, "unscheduled_levels = 2"), None);
}

/// LIT-HOMA-4: two senders with a < b packets, both more than the window: the short one ends behind the long one's unscheduled
/// packets, the long one last of all, whatever the overcommitment and the order of levels.
#[test]
fn the_shorter_of_two_goes_first() {
    for (a, b) in [(20, 100), (50, 100)] {
        for (k, order) in [(1, "lowest"), (2, "lowest"), (7, "lowest"), (7, "highest")] {
            let more = format!(
                "unscheduled_levels = 1\ncutoffs = []\novercommitment = {k}\nscheduled_levels = \"{order}\""
            );
            let two = [("short", 1, 0, 0, a * PAYLOAD), ("long", 2, 0, 0, b * PAYLOAD)];
            let run = run(&messages(&framed(7, &more), &two));
            let near = |name: &str, packets: u64| {
                let (fct, expected) = (run.flow_of(name, "fct_ps"), TD + (packets - 1) * T);
                assert!(
                    fct.abs_diff(expected) <= T,
                    "{name} of {a} and {b}: {fct}, not {expected}, {k} {order}"
                );
            };
            near("short", a + 7);
            near("long", a + b);
        }
    }
}

/// LIT-HOMA-5: two senders without grants. On one level the short one may end behind as many packets of the long one as it has;
/// on a higher one it does not wait but for the packet on the wire.
#[test]
fn levels_of_unscheduled_packets() {
    let (a, b) = (3, 7);
    let two = [("long", 2, 0, 0, b * PAYLOAD), ("short", 1, 0, 0, a * PAYLOAD)];
    let one = run(&messages(&framed(7, "unscheduled_levels = 1\ncutoffs = []"), &two));
    assert!(one.flow_of("short", "fct_ps") <= TD + (2 * a - 1) * T);
    let more = format!("unscheduled_levels = 2\nunscheduled_by = \"size\"\ncutoffs = [\"{}B\"]", a * PAYLOAD);
    let apart = run(&messages(&framed(7, &more), &two));
    assert!(apart.flow_of("short", "fct_ps") <= TD + a * T);
    for run in [one, apart] {
        assert_eq!(run.flow_of("long", "fct_ps").max(run.flow_of("short", "fct_ps")), TD + (a + b - 1) * T);
    }
}

/// By remaining bytes the last packets of a long message go as those of a short one. The long one's fourth packet is on the
/// wire until 5 T as the short one's first arrives, at 4.5 T; its fifth, at 5 T, comes before the second of the short one,
/// or, on the lower level, behind the third.
#[test]
fn unscheduled_levels_by_remaining_bytes() {
    let more = |by: &str| {
        format!("unscheduled_levels = 2\nunscheduled_by = \"{by}\"\ncutoffs = [\"{}B\"]", 3 * PAYLOAD)
    };
    let two = [("long", 2, 0, 0, 5 * PAYLOAD), ("short", 1, 0, 7 * T / 2, 3 * PAYLOAD)];
    let fct = |by| run(&messages(&framed(7, &more(by)), &two)).flow_of("short", "fct_ps");
    assert_eq!(fct("size"), TD + 5 * T / 2);
    assert_eq!(fct("remaining"), TD + 7 * T / 2);
}

/// LIT-HOMA-6: two messages of one host: the shorter one goes as if alone but for a packet on the wire.
#[test]
fn a_host_sends_its_shortest_message() {
    for (a, b) in [(5, 50), (20, 50)] {
        let two = [("long", 0, 2, 0, b * PAYLOAD), ("short", 0, 1, 0, a * PAYLOAD)];
        let run = run(&messages(&framed(7, ""), &two));
        let (short, long) = (run.flow_of("short", "fct_ps"), run.flow_of("long", "fct_ps"));
        assert!(short.abs_diff(TD + (a - 1) * T) <= T, "{short}");
        assert!(long.abs_diff(TD + (a + b - 1) * T) <= T, "{long}");
    }
}

/// The long message has been sent but for two packets as the short one of three begins: it ends first.
#[test]
fn the_bytes_that_are_left_count() {
    let two = [("long", 0, 2, 0, 7 * PAYLOAD), ("short", 0, 1, 4 * T + T / 2, 3 * PAYLOAD)];
    let run = run(&messages(&framed(7, ""), &two));
    assert_eq!(run.flow_of("long", "fct_ps"), TD + 6 * T);
    assert_eq!(run.flow_of("short", "fct_ps"), TD + 5 * T - T / 2);
}

fn incast(senders: u64, packets: u64, window: u64, more: &str) -> Run {
    let names: Vec<String> = (1..=senders).map(|sender| format!("m{sender}")).collect();
    let all: Vec<_> =
        (1..).zip(&names).map(|(sender, name)| (name.as_str(), sender, 0, 0, packets * PAYLOAD)).collect();
    // Far away: senders that wait for grants ask whether any are lost, which takes the time of their questions.
    run(&messages(&framed(window, &format!("{more}\nresend_interval = \"10ms\"")), &all))
}

/// The port of the switch to host 0: most bytes that it had.
fn last_port_bytes(run: &Run) -> u64 {
    run.links("queue_max_bytes").into_iter().max().expect("a link")
}

/// LIT-HOMA-7 and -8: the last of N messages of n packets ends as all N n have arrived; what is sent without grants queues up
/// at the last port, and grants add no more than three packets.
#[test]
fn incasts() {
    for (senders, packets, window, more) in
        [(4, 5, 7, ""), (16, 5, 7, ""), (64, 5, 7, ""), (64, 40, 7, "overcommitment = 1"), (64, 40, 7, "")]
    {
        let run = incast(senders, packets, window, more);
        let last = run.flows("fct_ps").into_iter().max().expect("a flow");
        assert_eq!(last, TD + (senders * packets - 1) * T, "{senders} messages of {packets} packets");
        let queue = last_port_bytes(&run);
        let least = (senders - 1) * packets.min(window) * WIRE;
        assert!((least..=least + 3 * WIRE).contains(&queue), "{} packets queue", queue as f64 / WIRE as f64);
        assert_eq!(run.counters().drops, 0);
    }
}

/// Most packets in the last port as so many long messages begin one after another, each longer than what is left of those
/// before, of which so many are granted at a time.
fn queue_of(messages_begun: u32, granted: u64) -> u64 {
    let names: Vec<String> = (1..=messages_begun).map(|sender| format!("m{sender}")).collect();
    let message = |(sender, name): (u32, &'static str)| {
        let (start, packets) = (u64::from(sender - 1) * 100 * US, 400 + 20 * u64::from(sender));
        (name, sender, 0, start, packets * PAYLOAD)
    };
    let names: Vec<&'static str> = names.into_iter().map(|name| &*name.leak()).collect();
    let all: Vec<_> = (1..).zip(names).map(message).collect();
    // Messages wait for milliseconds in the port: none is requested.
    let more = format!("unscheduled_levels = 1\novercommitment = {granted}\nresend_interval = \"10ms\"");
    last_port_bytes(&run(&messages(&framed(7, &more), &all))).div_ceil(WIRE)
}

/// LIT-HOMA-9 and -10: with a window of 7 packets the port has at most as many windows as messages are granted at a time, and
/// two packets: 9, 16, 30 and 51. A further message adds what it sends without grants.
#[test]
fn overcommitted_windows_bound_the_queue() {
    for (k, most) in [(1, 9), (2, 16), (4, 30), (7, 51)] {
        let queue = queue_of(k, u64::from(k));
        assert!(queue <= most, "{queue} packets, {k} messages");
        let queue = queue_of(8, u64::from(k));
        assert!(queue <= most + 7, "{queue} packets, {k} of 8 messages at a time");
    }
}

/// LIT-HOMA-13: of two granted senders one is silent, since it sends a shorter message elsewhere: with an overcommitment of two the
/// downlink stays full, with one it does not.
#[test]
fn overcommitment_hides_a_silent_sender() {
    let all = [
        ("silent", 1, 0, 0, 200 * PAYLOAD),
        ("elsewhere", 1, 3, 20 * T, 150 * PAYLOAD),
        ("other", 2, 0, 0, 400 * PAYLOAD),
    ];
    let ends = |k: u32| {
        let more = format!("unscheduled_levels = 1\novercommitment = {k}");
        let run = run(&messages(&framed(7, &more), &all));
        run.flow_of("other", "fct_ps").max(run.flow_of("silent", "fct_ps"))
    };
    let full = TD + 599 * T;
    assert!(ends(2) * 95 < full * 100, "{} of {full}", ends(2));
    assert!(ends(1) > full + 100 * T, "{} of {full}", ends(1));
}

/// Lost packets, by number: one in the middle, the first, the last, all without a grant, a grant, an acknowledgement. All bytes
/// arrive, and only what was lost is sent again.
#[test]
fn lost_packets_are_requested() {
    let n = 20;
    let lost = |list: &str| {
        let faults = format!("\nfaults.packets = [{{ traffic = \"m\", numbers = [{list}] }}]\n");
        run(&(faults + &messages(&framed(7, "resend_interval = \"1ms\""), &[("m", 0, 1, 0, n * PAYLOAD)])))
    };
    let whole = closed_form(n, 7, PAYLOAD);
    // One packet without a grant or with one, and the last: the receiver asks an interval after the last one that arrives.
    for (list, again) in [("9", 1), ("1", 1), ("20", 1), ("3, 4, 5", 3)] {
        let run = lost(list);
        assert_eq!(
            (run.flow("delivered_bytes"), run.flow("retransmissions")),
            (n * PAYLOAD, again),
            "{list}"
        );
        assert_eq!(run.flow("timeouts"), 1, "{list}");
        let late = run.flow("fct_ps") - whole;
        assert!((900 * US..1100 * US).contains(&late), "{list}: {late}");
    }
    // All packets before the first grant: the receiver knows of no message until its sender asks, after two intervals.
    let run = lost("1, 2, 3, 4, 5, 6, 7");
    assert_eq!((run.flow("delivered_bytes"), run.flow("retransmissions")), (n * PAYLOAD, 7));
    let late = run.flow("fct_ps") - whole;
    assert!((2000 * US..2100 * US).contains(&late), "{late}");
    // A retransmission that is lost, too: the next request comes after twice the time.
    let run = lost("9, 21");
    let late = run.flow("fct_ps") - whole;
    assert!((2900 * US..3100 * US).contains(&late), "{late}");
}

/// Without acknowledgements messages end as they are sent.
#[test]
fn nothing_is_acknowledged_in_the_simulator() {
    let run = alone(20 * PAYLOAD, 7, "acknowledge = false");
    assert_eq!(run.flow("fct_ps"), closed_form(20, 7, PAYLOAD));
    assert_eq!(run.counters().packets, 20 + 13);
}

/// Headers and frames of HomaSimulation: 9328 B go without a grant, 10,000 B on the wire.
#[test]
fn sizes_of_the_simulator() {
    let settings = "[transport.homa]\nunscheduled_header = \"30B\"\nscheduled_header = \"16B\"\nframe_overhead = \"38B\"\n\
                    least_frame = \"84B\"\nrtt_bytes = \"10000B\"\nacknowledge = false";
    for (bytes, packets, grants, wire) in [
        (1, 1, 0, 97),
        (1442, 1, 0, 1538),
        (1443, 2, 0, 1538 + 97),
        (9328, 7, 0, 10_000),
        (9329, 8, 1, 10_084),
        (12_000, 9, 2, 10_000 + 2672 + 164),
    ] {
        let run = run(&messages(settings, &[("m", 0, 1, 0, bytes)]));
        assert_eq!(run.flow("packets_sent"), packets);
        assert_eq!(run.counters().packets, packets + grants);
        assert_eq!(run.flow("fct_ps"), run.flow("ideal_fct_ps"), "{bytes} B");
        let own = run.row("host 0", "switch");
        assert_eq!(run.links("bytes")[own], wire, "{bytes} B");
    }
}

/// A port with too little room for an incast drops; every message arrives all the same, and in serviced ports as well.
#[test]
fn drops_cost_time_and_no_bytes() {
    let small = "[queue.strict-priority]\nmark = \"none\"\nlimit.full-packets = 20\n";
    let names: Vec<String> = (1..=16).map(|sender| format!("m{sender}")).collect();
    let all: Vec<_> =
        (1..).zip(&names).map(|(sender, name)| (name.as_str(), sender, 0, 0, 30 * PAYLOAD)).collect();
    let text = messages(&(framed(7, "") + small), &all);
    for mode in ["auto", "serviced"] {
        let run = run_with(&text, &[("run.port_mode", mode)]);
        assert!(run.counters().drops > 0);
        assert_eq!(run.counters().unfinished_flows, 0);
        assert!(run.flows("delivered_bytes").into_iter().all(|bytes| bytes == 30 * PAYLOAD));
    }
}
