//! pHost against times and queues worked out by hand: flows alone, with and without free tokens, incasts, silent senders, lost
//! packets.
//!
//! Unless a test differs: one switch, links of 10 Gbps with a delay of 200 ns; a full data packet is 1500 B on the wire, of
//! which 1460 B are payload, and takes T; a packet without payload is 40 B and takes A.

use crate::common::scenarios::timed_flows;
use crate::common::{MS, Run, US, run};

/// 1500 B and 40 B at 10 Gbps.
const T: u64 = 1_200_000;
const A: u64 = 32_000;
const D: u64 = 200_000;
const PAYLOAD: u64 = 1460;
/// A packet without payload from end to end.
const TA: u64 = 2 * A + 2 * D;

/// Flows over one switch: name, source, destination, start, bytes.
fn flows(settings: &str, flows: &[(&str, u32, u32, u64, u64)]) -> String {
    let network = "[topology.single-switch]\nhosts = 18\nrate = \"10Gbps\"\ndelay = \"200ns\"\n";
    format!("{settings}\n{network}{}", timed_flows(flows))
}

fn alone(bytes: u64, settings: &str) -> Run {
    run(&flows(&format!("transport.phost = {{ {settings} }}"), &[("f", 0, 1, 0, bytes)]))
}

/// LIT-PHOST-1: up to eight packets go behind their request; more wait for the first token, which the request brings. Any length.
#[test]
fn a_flow_alone() {
    for (packets, last) in
        [(1, 1), (1, PAYLOAD), (3, 700), (8, PAYLOAD), (9, PAYLOAD), (9, 1), (100, PAYLOAD), (1000, 30)]
    {
        let run = alone((packets - 1) * PAYLOAD + last, "");
        let (fct, ideal) = (run.flow("fct_ps"), run.flow("ideal_fct_ps"));
        assert_eq!(
            fct - ideal,
            if packets <= 8 { A } else { 2 * TA },
            "{packets} packets, the last of {last} B"
        );
        assert_eq!((run.flow("packets_sent"), run.flow("retransmissions")), (packets, 0));
        assert_eq!(run.flow("fct_acked_ps"), fct + TA);
    }
}

/// With free tokens for all flows the first eight packets of a longer one go at once, and as many slots are left out: alone it gains
/// nothing, and its ninth packet leaves when it would have.
#[test]
fn free_tokens_for_all() {
    let run = alone(100 * PAYLOAD, "free_for = \"all\"");
    assert_eq!(run.flow("fct_ps") - run.flow("ideal_fct_ps"), 2 * TA);
}

/// LIT-PHOST-2: the downlink is full whatever the number of senders, and the port has no more than the tokens in flight.
#[test]
fn tokens_fill_the_downlink() {
    for senders in [2, 4, 16] {
        let (n, names) = (20, (1..=senders).map(|sender| format!("f{sender}")).collect::<Vec<_>>());
        let all: Vec<_> =
            (1..).zip(&names).map(|(sender, name)| (name.as_str(), sender, 0, 0, n * PAYLOAD)).collect();
        let run = run(&flows("[transport.phost]", &all));
        let last = run.flows("fct_ps").into_iter().max().expect("a flow");
        let least = 2 * TA + 2 * D + T + senders as u64 * n * T;
        assert!((least - T..least + 4 * US).contains(&last), "{senders} senders: {last}, {least}");
        assert_eq!(run.counters().drops, 0);
        // Requests, which come together, take hardly any of it.
        assert!(run.link("switch", "host 0", "queue_max_bytes") <= 8 * 1500);
    }
}

/// The shorter of two flows to a receiver has all tokens first.
#[test]
fn the_shorter_flow_goes_first() {
    let two = [("long", 2, 0, 0, 100 * PAYLOAD), ("short", 1, 0, 0, 20 * PAYLOAD)];
    let run = run(&flows("[transport.phost]", &two));
    // The long one may have the first token.
    let alone = 2 * TA + 2 * D + T + 20 * T;
    assert!(run.flow_of("short", "fct_ps") <= alone + T);
    assert!(run.flow_of("long", "fct_ps").abs_diff(alone + 100 * T) <= 2 * T);
}

/// LIT-PHOST-3: the sender of the shorter flow sends another one elsewhere: it lets its tokens expire, and gets one more after
/// each 25 slots. The other flow loses just these slots.
#[test]
fn a_silent_sender_blocks_a_window() {
    let three = [
        ("elsewhere", 1, 3, 0, 8 * PAYLOAD),
        ("silent", 1, 0, 0, 90 * PAYLOAD),
        ("other", 2, 0, 0, 120 * PAYLOAD),
    ];
    let run = run(&flows("transport.phost = { free_tokens = 8 }", &three));
    assert_eq!(run.flow_of("elsewhere", "fct_ps") - run.flow_of("elsewhere", "ideal_fct_ps"), 2 * A);
    let last = run.flow_of("silent", "fct_ps").max(run.flow_of("other", "fct_ps"));
    let full = 2 * TA + 2 * D + T + 210 * T;
    assert!((full..full + 20 * T).contains(&last), "{last} of {full}");
}

/// A host with two flows, of which the second begins 0.23 us later, shorter: times to the last acknowledgement, as
/// NetSys/simulator gives them between the same hosts. With 20 packets the second one has the link until 27.962 us; the
/// other's eight tokens expire meanwhile, of which the last but one, sent at 8.864 us, is followed by its window's last; 25 slots
/// later another one finds the host free. With eight free packets the last two of the first window are used in time, but an
/// idle receiver looks at their answers no sooner than at the end of its wait. One that heeds answers goes on at once.
#[test]
fn a_busy_sender_waits_out_its_window() {
    let ends = |settings: &str, long: u64, short: u64| {
        let two = [("long", 0, 1, 0, long * PAYLOAD), ("short", 0, 2, 230_000, short * PAYLOAD)];
        let run = run(&flows(&format!("transport.phost = {{ {settings} }}"), &two));
        [run.flow_of("long", "fct_acked_ps"), run.flow_of("short", "fct_acked_ps")]
    };
    assert_eq!(ends("", 100, 20), [199_792_000, 27_962_000]);
    assert_eq!(ends("", 20, 8), [72_592_000, 11_696_000]);
    let [long, _] = ends("idle_wait = \"until-answer\"", 20, 8);
    assert!(long < 50 * US, "{long}");
}

/// The tokens that a flow begins with expire: of three flows of 8, 8 and 3 packets from one host the second one's do so unused, so
/// that it waits for 25 slots, twice, for a token that finds it ready.
#[test]
fn free_tokens_expire() {
    let three = [
        ("first", 0, 1, 0, 8 * PAYLOAD),
        ("second", 0, 2, 230_000, 8 * PAYLOAD),
        ("third", 0, 3, 460_000, 3 * PAYLOAD),
    ];
    let run = run(&flows("[transport.phost]", &three));
    let [first, second, third] = ["first", "second", "third"].map(|name| run.flow_of(name, "fct_acked_ps"));
    // NetSys/simulator: 23.392, 70.928 and 6.5 us.
    assert_eq!((first, third), (23_392_000, 6_500_000));
    assert!((60 * US..75 * US).contains(&second), "{second}");
    assert!(run.flow_of("second", "packets_sent") <= 9);
}

/// Lost data has tokens again nine slots after the last one; lost requests are repeated.
#[test]
fn lost_packets_get_tokens_again() {
    for (lost, settings) in
        [("5", ""), ("20", ""), ("3", "free_tokens = 20"), ("1, 2, 3", "free_tokens = 20")]
    {
        let text = format!(
            "faults.packets = [{{ traffic = \"f\", numbers = [{lost}] }}]\ntransport.phost = {{ {settings} }}\n{}",
            flows("", &[("f", 0, 1, 0, 20 * PAYLOAD)])
        );
        let run = run(&text);
        let again = lost.split(',').count() as u64;
        assert_eq!(
            (run.flow("retransmissions"), run.flow("delivered_bytes")),
            (again, 20 * PAYLOAD),
            "{lost}"
        );
        let late = run.flow("fct_ps") - run.flow("ideal_fct_ps");
        assert!(late < 60 * T, "{lost}: {late}");
    }
    // The cable is down for the first request and the first packets.
    let text = format!(
        "faults.events = [{{ at = \"0s\", target.cable = [\"switch\", \"host 1\"], change = \"down\", lasts = \"100us\" }}]\n\
         [transport.phost]\n{}",
        flows("", &[("f", 0, 1, 0, 20 * PAYLOAD)])
    );
    let run = run(&text);
    assert_eq!(run.flow("delivered_bytes"), 20 * PAYLOAD);
    assert!(run.flow("fct_ps") > MS && run.flow("fct_ps") < 2 * MS);
}

/// Data has class 2, that of flows of some packets class 1, which goes first.
#[test]
fn short_flows_have_a_class_of_their_own() {
    let fct = |settings: &str| {
        let all = [("b", 2, 0, 0, 8 * PAYLOAD), ("c", 3, 0, 0, 8 * PAYLOAD), ("a", 1, 0, 5 * T, PAYLOAD)];
        let run = run(&flows(&format!("transport.phost = {{ {settings} }}"), &all));
        run.flow_of("a", "fct_ps")
    };
    let alone = A + 2 * T + 2 * D;
    assert!(fct("") > alone + 3 * T);
    assert!(fct("short_packets = 1") <= alone + T);
}
