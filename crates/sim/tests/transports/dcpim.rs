//! dcPIM against times worked out by hand: flows alone, with and without prompt channels, flows that share a receiver, incasts,
//! lost packets, and what idle hosts cost.
//!
//! Unless a test differs: one switch, links of 100 Gbps with a delay of 650 ns; a full data packet is 1500 B on the wire, of
//! which 1460 B are payload, and takes T; a packet without payload is 40 B and takes A.

use crate::common::scenarios::timed_flows;
use crate::common::{MS, Run, US, run};

/// 1500 B and 40 B at 100 Gbps.
const T: u64 = 120_000;
const A: u64 = 3_200;
const D: u64 = 650_000;
const PAYLOAD: u64 = 1460;
/// A packet without payload from end to end, and a round: 1.3 times its round trip.
const ONE_WAY: u64 = 2 * A + 2 * D;
const ROUND: u64 = 26 * ONE_WAY / 10;
/// A data phase: of each of four channels 28 packets.
const PHASE: u64 = 4 * ROUND;

/// Flows over one switch: name, source, destination, start, bytes.
fn flows(settings: &str, flows: &[(&str, u32, u32, u64, u64)]) -> String {
    let network = "[topology.single-switch]\nhosts = 18\nrate = \"100Gbps\"\ndelay = \"650ns\"\n";
    format!("{settings}\n{network}{}", timed_flows(flows))
}

fn dcpim(settings: &str) -> String {
    format!("transport.dcpim = {{ {settings} }}")
}

fn late(run: &Run, name: &str) -> u64 {
    run.flow_of(name, "fct_ps") - run.flow_of(name, "ideal_fct_ps")
}

/// LIT-DCPIM-2: a short flow goes behind its request, and nothing is matched; here up to 26 packets, those of a round trip.
#[test]
fn a_short_flow_alone() {
    for (packets, last) in [(1, 1), (1, PAYLOAD), (3, 700), (26, PAYLOAD)] {
        for settings in ["", "pad_last = true"] {
            let bytes = (packets - 1) * PAYLOAD + last;
            let run = run(&flows(&dcpim(settings), &[("f", 0, 1, 0, bytes)]));
            assert_eq!(late(&run, "f"), A, "{packets} packets, the last of {last} B");
            assert_eq!((run.flow("packets_sent"), run.flow("retransmissions")), (packets, 0));
            assert_eq!(run.flow("fct_acked_ps"), run.flow("fct_ps") + ONE_WAY);
            assert_eq!(run.counters().packets, packets + 2);
        }
    }
}

/// LIT-DCPIM-3 on the network of the authors' simulator, 144 hosts in racks of 16 with 100 and 400 Gbps: a long flow between racks
/// waits for its request, the next round, that round and its first token; of four channels it has as many as it needs for 56
/// packets each. These lengths end where a phase has as many channels as the one before; others end with a thinner phase.
#[test]
fn a_long_flow_alone() {
    let (one_way, round) = (2_608_000, 6_780_800);
    for start in [0, 4 * US, 23 * US, 50 * US] {
        for packets in [50, 56, 57, 112, 113, 168, 169, 224, 225, 300, 1000] {
            let flow = timed_flows(&[("f", 0, 143, start, packets * PAYLOAD)]);
            let run = run(&format!(
                "transport = \"dcpim\"\n[topology.leaf-spine]\nleaves = 9\nspines = 4\nhosts = 16\nrate = \"100Gbps\"\n\
                 delay = \"650ns\"\nspine.rate = \"400Gbps\"\n{flow}"
            ));
            let channels = packets.div_ceil(56).min(4);
            let wait = (start + one_way).next_multiple_of(round) - start - one_way;
            let thin = (packets - 1) * T * (4 - channels) / channels;
            let expected = one_way + wait + round + one_way + thin;
            let late = late(&run, "f");
            assert!(late.abs_diff(expected) <= 400_000, "{packets} from {start}: {late}, {expected}");
            assert_eq!((run.flow("packets_sent"), run.counters().drops), (packets, 0));
        }
    }
}

/// Without prompt channels it waits for the first data phase: all tokens of 28 packets for each channel go there.
#[test]
fn without_prompt_channels_data_waits_for_its_phase() {
    let run = run(&flows(&dcpim("prompt = false"), &[("f", 0, 1, 0, 112 * PAYLOAD)]));
    assert_eq!(late(&run, "f"), PHASE + ONE_WAY);
}

/// A longer flow has all channels but in its last phases, which have those that its rest needs; with data phases of
/// three matchings, too.
#[test]
fn a_longer_flow_ends_a_phase_later_at_most() {
    let settings = [("", PHASE), ("alpha = 3.0", 3 * PHASE), ("channels = 1", PHASE)];
    for ((settings, phase), packets) in
        settings.iter().flat_map(|of| [400, 3000].map(|packets| (*of, packets)))
    {
        let run = run(&flows(&dcpim(settings), &[("f", 0, 1, 0, packets * PAYLOAD)]));
        let least = ONE_WAY + ROUND + ONE_WAY;
        assert!((least..least + ROUND + 6 * phase / 5).contains(&late(&run, "f")), "{settings}, {packets}");
        assert_eq!(run.flow("packets_sent"), packets);
    }
}

/// Two flows to one receiver keep its link full, whichever has the channels; the shorter one has them first, where the first round
/// prefers it.
#[test]
fn two_flows_share_a_receiver() {
    for (settings, first) in [("", true), ("srpt_rounds = 0", false)] {
        let two = [("a", 1, 0, 0, 1200 * PAYLOAD), ("b", 2, 0, 0, 1000 * PAYLOAD)];
        let run = run(&flows(&dcpim(settings), &two));
        let (a, b) = (run.flow_of("a", "fct_ps"), run.flow_of("b", "fct_ps"));
        let all = 3 * ONE_WAY + 2 * ROUND + 2200 * T;
        assert!((2200 * T..all + 6 * PHASE / 5).contains(&a.max(b)), "{a} and {b} of {all}");
        assert!(!first || b < 1000 * T + 3 * PHASE, "{b}");
        assert_eq!(run.counters().drops, 0);
    }
}

/// Sixteen hosts send to one: but for channels that the ends of flows leave empty its link is full, and its port has no more than
/// tokens of one phase that meet those of the next.
#[test]
fn an_incast_is_matched() {
    let names: Vec<_> = (1..=16).map(|sender| format!("f{sender}")).collect();
    let all: Vec<_> =
        (1..).zip(&names).map(|(sender, name)| (name.as_str(), sender, 0, 0, 300 * PAYLOAD)).collect();
    let run = run(&flows(&dcpim(""), &all));
    let last = run.most("fct_ps");
    assert!((4800 * T..4800 * T * 6 / 5).contains(&last), "{last}");
    assert_eq!((run.counters().drops, run.total("packets_sent")), (0, 4800));
    assert!(run.link("switch", "host 0", "queue_max_bytes") <= 32 * 1500);
}

/// Hosts that all send to each other: every byte arrives once.
#[test]
fn all_to_all_is_complete() {
    let text = format!(
        "{}\n[topology.leaf-spine]\nleaves = 2\nspines = 2\nhosts = 4\nrate = \"100Gbps\"\n[[traffic]]\nname = \"a\"\n\
         arrivals.at-once.jitter = \"20us\"\nmatrix = \"all-to-all\"\nsizes.uniform = {{ min = \"1B\", max = \"900KB\" }}",
        dcpim("")
    );
    let run = run(&text);
    assert_eq!(run.flows("delivered_bytes"), run.flows("size_bytes"));
    assert_eq!((run.counters().unfinished_flows, run.counters().drops), (0, 0));
}

/// Lost data has tokens again, that of a short flow after a matching; lost requests are repeated.
#[test]
fn lost_packets_get_tokens_again() {
    for (lost, packets) in
        [("5", 20), ("1, 2, 3", 20), ("20", 20), ("5", 300), ("300", 300), ("40, 41, 42, 90", 300)]
    {
        let text = format!(
            "faults.packets = [{{ traffic = \"f\", numbers = [{lost}] }}]\n{}",
            flows(&dcpim(""), &[("f", 0, 1, 0, packets * PAYLOAD)])
        );
        let run = run(&text);
        let again = lost.split(',').count() as u64;
        assert_eq!(
            (run.flow("retransmissions"), run.flow("delivered_bytes")),
            (again, packets * PAYLOAD),
            "{lost}"
        );
        assert!(late(&run, "f") < 3 * PHASE, "{lost} of {packets}: {}", late(&run, "f"));
    }
    // The cable is down for the first request and the first packets.
    for packets in [20, 300] {
        let text = format!(
            "faults.events = [{{ at = \"0s\", target.cable = [\"switch\", \"host 1\"], change = \"down\", lasts = \"100us\" }}]\n{}",
            flows(&dcpim(""), &[("f", 0, 1, 0, packets * PAYLOAD)])
        );
        let run = run(&text);
        assert_eq!(run.flow("delivered_bytes"), packets * PAYLOAD);
        assert!((MS..MS + 5 * PHASE).contains(&run.flow("fct_ps")), "{}", run.flow("fct_ps"));
    }
}

/// Between two flows seconds apart nothing happens: as many events as if the second one came after some rounds.
#[test]
fn idle_hosts_cost_nothing() {
    let events = |gap: u64| {
        let two = [("a", 0, 1, 0, 300 * PAYLOAD), ("b", 0, 1, gap, 300 * PAYLOAD)];
        run(&flows(&dcpim(""), &two)).counters().events
    };
    let (near, far) = (events(200 * PHASE), events(200_000 * PHASE));
    assert_eq!(near, far);
}

/// Data has a class by the size of its flow, so that a short flow passes the data of long ones.
#[test]
fn short_flows_pass_long_ones() {
    let fct = |settings: &str| {
        let all = [("a", 1, 0, 0, 20 * PAYLOAD), ("b", 2, 0, 0, 20 * PAYLOAD), ("c", 3, 0, 5 * T, PAYLOAD)];
        late(&run(&flows(&dcpim(settings), &all)), "c")
    };
    assert!(fct("data_classes = 1") > 2 * T);
    assert!(fct("") <= A + T);
}
