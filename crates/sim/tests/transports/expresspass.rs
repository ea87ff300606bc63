//! ExpressPass against times and queues worked out by hand: flows alone, flows that share, incasts, lost packets.
//!
//! Unless a test differs: one switch, links of 10 Gbps with a delay of 1 us, credits without jitter; a full data packet is
//! 1538 B on the wire, of which 1460 B are payload, and takes T; a packet without payload is 84 B and takes A. Credits at the
//! largest rate are S apart.

use crate::common::scenarios::timed_flows;
use crate::common::{MS, Run, US, run, run_with, same, scenario};
use flowyard_sim::engine::data::plan::Agenda;

/// 1538 B, 84 B and both at 10 Gbps.
const T: u64 = 1_230_400;
const A: u64 = 67_200;
const S: u64 = T + A;
const D: u64 = 1_000_000;
const PAYLOAD: u64 = 1460;
/// A full packet, and one without payload, from end to end.
const TD: u64 = 2 * T + 2 * D;
const TA: u64 = 2 * A + 2 * D;

/// Flows over one switch: name, source, destination, start, bytes.
fn flows(settings: &str, flows: &[(&str, u32, u32, u64, u64)]) -> String {
    let network = "[topology.single-switch]\nhosts = 66\nrate = \"10Gbps\"\ndelay = \"1us\"\n";
    format!("{settings}\n{network}{}", timed_flows(flows))
}

fn steady(settings: &str) -> String {
    format!("transport.expresspass = {{ jitter = 0.0, {settings} }}")
}

fn incast(settings: &str, senders: u32, bytes: u64) -> Run {
    let names: Vec<_> = (1..=senders).map(|sender| format!("f{sender}")).collect();
    let all: Vec<_> = (1..).zip(&names).map(|(sender, name)| (name.as_str(), sender, 0, 0, bytes)).collect();
    run(&flows(settings, &all))
}

/// When the credit of each of so many packets is sent, counted from the first one. Without losses the rate goes half of the
/// way to the largest whenever a round trip has passed: LIT-XPASS-2, counted in gaps.
fn credits(packets: u64, mut rate: f64) -> Vec<u64> {
    let (mut at, mut changed) = (0, 0);
    let mut all = vec![0];
    while (all.len() as u64) < packets {
        if at - changed >= TA + TD {
            (rate, changed) = ((1.0 + rate) / 2.0, at);
        }
        at += (S as f64 / rate).round() as u64;
        all.push(at);
    }
    all
}

/// The completion of a flow alone whose last packet takes that time on a wire: it follows its credit or, if it is short, waits
/// in the switch for the end of the packet before it.
fn alone(packets: u64, wire: u64) -> u64 {
    let mut all = credits(packets, 0.5 * (packets as f64 / 40.0).min(1.0));
    let last = all.pop().expect("a packet") + 2 * wire;
    let behind = all.pop().map_or(0, |before| before + 2 * T + wire);
    2 * TA + last.max(behind) + 2 * D
}

/// A flow alone: its request, credits at their rate, and the last packet, to the picosecond. A packet of one byte is 84 B.
#[test]
fn a_flow_alone() {
    for (packets, last) in
        [(1, 1), (1, 6), (1, 7), (1, PAYLOAD), (2, PAYLOAD), (10, 700), (40, PAYLOAD), (100, 1), (2000, 30)]
    {
        let run = run(&flows(&steady(""), &[("f", 0, 1, 0, (packets - 1) * PAYLOAD + last)]));
        let wire = (last + 78).max(84) * 800;
        assert_eq!(run.flow("fct_ps"), alone(packets, wire), "{packets} packets, the last of {last} B");
        assert_eq!((run.flow("packets_sent"), run.flow("retransmissions")), (packets, 0));
        assert_eq!((run.flow("timeouts"), run.counters().drops), (0, 0));
    }
    // Of the first credits of 40 packets: every 2 S until a round trip, of 5.08 S, has passed, then 4 / 3 S.
    let (round_trip, first) = (TA + TD, credits(40, 0.5));
    assert!(4 * S < round_trip && round_trip < 6 * S);
    assert_eq!(first[..5], [0, 2 * S, 4 * S, 6 * S, 6 * S + 1_730_133]);
}

/// The stop follows the last packet, and the acknowledgement the stop.
#[test]
fn a_stop_is_acknowledged() {
    let run = run(&flows(&steady(""), &[("f", 0, 1, 0, PAYLOAD)]));
    assert_eq!(run.flow("fct_acked_ps"), run.flow("fct_ps") + A + TA);
    // A request, a packet and a stop; a credit and an acknowledgement.
    assert_eq!(run.link("host 0", "switch", "packets"), 3);
    assert_eq!(run.link("host 1", "switch", "packets"), 2);
    assert_eq!(run.link("host 1", "switch", "bytes"), 2 * 84);
}

/// The rate at which credits begin is a field; 40 packets at the largest one have their credits S apart.
#[test]
fn credits_begin_at_a_rate() {
    let fct = |settings: &str| {
        run(&flows(&steady(settings), &[("f", 0, 1, 0, 40 * PAYLOAD)])).flow("fct_ps") - 2 * TA - TD
    };
    assert_eq!(fct("initial_rate = 1.0"), 39 * S);
    assert_eq!(fct("initial_rate = 1.0, small_packets = 1"), 39 * S);
    assert_eq!(fct("small_packets = 80"), credits(40, 0.25)[39]);
}

/// A path of four links: each packet is stored and forwarded at three switches.
#[test]
fn a_flow_alone_between_racks() {
    let run = run(&format!(
        "{}\n[topology.leaf-spine]\nleaves = 2\nspines = 2\nhosts = 2\nrate = \"10Gbps\"\ndelay = \"1us\"\n\
         [[traffic]]\nname = \"f\"\narrivals.at-once = {{ jitter = \"0s\" }}\nmatrix.pairs = [[0, 3]]\n\
         sizes.fixed = \"1460B\"",
        steady("")
    ));
    assert_eq!(run.flow("fct_ps"), 3 * 4 * D + 4 * (2 * A + T));
}

/// LIT-XPASS-4: two flows to one host are within 5 % of a fair share from early on (Jain's index), and the link has a full
/// packet for each credit of the metered rate.
#[test]
fn two_flows_share_evenly() {
    let packets = 3000;
    let two = [("a", 1, 0, 0, packets * PAYLOAD), ("b", 2, 0, 0, packets * PAYLOAD)];
    for settings in [steady(""), "[transport.expresspass]".to_string()] {
        let run = run(&flows(&settings, &two));
        let mut ends = run.flows("fct_ps");
        ends.sort_unstable();
        // What the later flow had sent when the other one ended, of its bytes.
        let share = 1.0 - (ends[1] - ends[0]) as f64 / (packets * S) as f64;
        let jain = (1.0 + share).powi(2) / (2.0 * (1.0 + share.powi(2)));
        assert!(jain > 0.95, "{settings}: {share}");
        let full = (2 * packets * S) as f64;
        let ratio = ends[1] as f64 / full;
        assert!((1.0..1.01).contains(&ratio), "{settings}: {ratio}");
        assert_eq!(run.counters().retransmissions, 0);
    }
}

/// LIT-XPASS-3: however many flows begin at once, no data is dropped, and with evenly spaced credits the port to the receiver
/// has a packet that arrives while another is sent. Credits that find no room are dropped by the receiver's own port, and
/// counted there and in the flows.
#[test]
fn an_incast_drops_credits_and_no_data() {
    for senders in [2, 8, 64] {
        let spaced = format!("queue.credit.burst = 1\n{}", steady(""));
        let run = incast(&spaced, senders, 100 * PAYLOAD);
        let dropped: u64 = run.flows("credit_drops").iter().sum();
        assert_eq!(run.link("host 0", "switch", "credit_drops"), dropped, "{senders} senders");
        assert_eq!(run.counters().credit_drops, dropped);
        assert_eq!((run.counters().drops, run.counters().retransmissions), (0, 0));
        assert!(run.flows("drops").iter().all(|&drops| drops == 0));
        assert!(senders < 8 || dropped > 0, "{senders} senders");
        assert!(run.flows("packets_sent").iter().all(|&packets| packets == 100));
        // Requests, which come together, wait for data or its credits; then 2 packets.
        let requests = u64::from(senders) * 84;
        assert!(
            run.link("switch", "host 0", "queue_max_bytes") <= (2 * 1538).max(requests),
            "{senders} senders"
        );
        let last = run.flows("fct_ps").into_iter().max().expect("a flow");
        let least = u64::from(senders) * 100 * S;
        assert!(last > least, "{senders} senders: {last}");
    }
    // A bucket of ten tokens lets ten credits go at once, and as many packets come together.
    let run = incast(&steady(""), 64, 100 * PAYLOAD);
    let most = run.link("switch", "host 0", "queue_max_bytes");
    assert!((8 * 1538..12 * 1538).contains(&most), "{most}");
    assert_eq!(run.counters().credit_drops, run.link("host 0", "switch", "credit_drops"));
}

/// Two racks with one link between them, which the flows of two hosts to two others share: its credits are dropped where they
/// leave the other rack, and its data fits.
#[test]
fn credits_are_metered_between_switches() {
    let run = run(&format!(
        "{}\n[topology.leaf-spine]\nleaves = 2\nspines = 1\nhosts = 2\nrate = \"10Gbps\"\ndelay = \"1us\"\n\
         [[traffic]]\nname = \"f\"\narrivals.at-once = {{ jitter = \"0s\" }}\nmatrix.pairs = [[0, 2], [1, 3]]\n\
         sizes.fixed = \"2920000B\"",
        "[transport.expresspass]"
    ));
    let last = run.flows("fct_ps").into_iter().max().expect("a flow") as f64;
    let ratio = last / (4000 * S) as f64;
    assert!((1.0..1.02).contains(&ratio), "{ratio}");
    assert!(run.link("leaf 1", "spine 0", "credit_drops") > 0);
    assert_eq!(run.link("leaf 1", "spine 0", "credit_drops"), run.counters().credit_drops);
    assert_eq!((run.link("leaf 0", "spine 0", "credit_drops"), run.counters().retransmissions), (0, 0));
    assert_eq!(run.link("leaf 1", "spine 0", "drops"), 0);
}

/// Each credit of a receiver is used, wasted at the sender, or dropped on the way: here, those of eight flows that arrive at
/// their senders, which send all packets that they can.
#[test]
fn credits_are_accounted_for() {
    let run = incast(&steady(""), 8, 100 * PAYLOAD);
    let sent = run.link("host 0", "switch", "packets");
    let arrived: u64 = (1..9).map(|host| run.link("switch", &format!("host {host}"), "packets")).sum();
    assert_eq!(sent, arrived, "credits and acknowledgements behind the port of the receiver");
    // Eight acknowledgements; at least a credit for each packet.
    assert!((8 + 800..8 + 1000).contains(&arrived), "{arrived}");
}

fn faulty(faults: &str, packets: u64) -> Run {
    run(&format!(
        "{faults}\n{}",
        flows(&steady("request_interval = \"1ms\""), &[("f", 0, 1, 0, packets * PAYLOAD)])
    ))
}

/// Of 100 packets the sixth is lost: the seventh has the sender go back, a round trip later, and all packets that it has sent
/// behind it come again.
#[test]
fn a_sender_goes_back_to_lost_data() {
    let run = faulty("faults.packets = [{ traffic = \"f\", numbers = [6] }]", 100);
    let again = run.flow("retransmissions");
    let (first, round_trip) = (credits(100, 0.5), TA + TD);
    // The negative acknowledgement leaves when the seventh packet has come, and packets of credits sent until a round trip after
    // the credit of the seventh have gone before it arrives.
    let until = first[6] + round_trip;
    let gone = first.iter().filter(|&&at| at < until).count() as u64;
    assert!(again.abs_diff(gone - 5) <= 1, "{again}, {gone}");
    assert_eq!((run.flow("delivered_bytes"), run.flow("packets_sent")), (100 * PAYLOAD, 100 + again));
    assert_eq!(run.flow("timeouts"), 0);
    // The lost packet counts as a lost credit, too, and lowers the rate once.
    let late = run.flow("fct_ps") - alone(100, T);
    assert!((again * S..again * S + 2 * round_trip).contains(&late), "{late}");
}

/// Lost last packets are missing when the stop comes; a packet that is lost twice is asked for twice.
#[test]
fn the_last_packets_are_repeated_too() {
    for (numbers, least) in [("100", 1), ("99, 100", 2), ("1", 1), ("100, 101, 102", 3), ("6, 20, 21, 22", 1)]
    {
        let run = faulty(&format!("faults.packets = [{{ traffic = \"f\", numbers = [{numbers}] }}]"), 100);
        assert_eq!(run.flow("delivered_bytes"), 100 * PAYLOAD, "{numbers}");
        assert!(run.flow("retransmissions") >= least, "{numbers}");
        assert_eq!(run.flow("timeouts"), 0, "{numbers}");
        assert!(run.flow("fct_acked_ps") < MS, "{numbers}");
    }
}

/// While the cable is down, requests, credits or stops are lost. The sender asks again after 1 ms, 2 ms later and so on.
#[test]
fn requests_and_stops_are_repeated() {
    let down = |at: u64, until: u64| {
        let (at, lasts) = (at / 1000, (until - at) / 1000);
        faulty(
            &format!(
                "faults.events = [{{ at = \"{at}ns\", target.cable = [\"switch\", \"host 1\"], change = \"down\", \
                 lasts = \"{lasts}ns\" }}]"
            ),
            1,
        )
    };
    // The first request is lost, and the second one, 1 ms later, too.
    let (fct, run) = (alone(1, T), down(0, 1500 * US));
    assert_eq!((run.flow("fct_ps"), run.flow("timeouts")), (3 * MS + fct, 2));
    // The acknowledgement of the stop: the flow has completed, and its sender asks again 1 ms after the credit.
    let run = down(fct + 1000, fct + 20 * US);
    assert_eq!((run.flow("fct_ps"), run.flow("timeouts")), (fct, 1));
    assert_eq!(run.flow("fct_acked_ps"), 2 * TA + MS + 2 * TA);
}

/// The last packet and the stop behind it are lost. The receiver, which lacks a packet, goes on sending credits, of which none is
/// of use to a sender that has sent all: these do not keep it from repeating its stop, 1 ms after the last credit before.
#[test]
fn a_stop_is_repeated_though_credits_come() {
    let end = (alone(100, T) - US / 20) / 1000;
    let run = faulty(
        &format!(
            "faults.packets = [{{ traffic = \"f\", numbers = [100] }}]\nfaults.events = [{{ at = \"{end}ns\", target.cable = \
             [\"switch\", \"host 1\"], change = \"down\", lasts = \"1us\" }}]"
        ),
        100,
    );
    assert_eq!((run.flow("delivered_bytes"), run.flow("timeouts")), (100 * PAYLOAD, 1));
    assert!((MS..2 * MS).contains(&run.flow("fct_ps")), "{}", run.flow("fct_ps"));
}

/// Random losses of any packets: all data arrives.
#[test]
fn flows_survive_random_losses() {
    let text = format!(
        "faults.events = [{{ at = \"0s\", target.cable = [\"switch\", \"host 0\"], change = {{ loss = 0.02 }} }}]\n{}",
        flows(
            "transport.expresspass = { request_interval = \"200us\" }",
            &[("a", 1, 0, 0, 200 * PAYLOAD), ("b", 2, 0, 0, 50 * PAYLOAD), ("c", 0, 3, 0, 120 * PAYLOAD)]
        )
    );
    for seed in 1..9 {
        let run = run_with(&text, &[("run.seed", &seed.to_string())]);
        let delivered = run.flows("delivered_bytes");
        assert_eq!(delivered, [200 * PAYLOAD, 50 * PAYLOAD, 120 * PAYLOAD], "seed {seed}");
        assert!(run.counters().lost > 0);
    }
}

/// Both directions of a cable carry data and the credits of the other: each has the metered share.
#[test]
fn both_directions_carry_credits_and_data() {
    let packets = 2000;
    let run = run(&flows(
        "[transport.expresspass]",
        &[("there", 0, 1, 0, packets * PAYLOAD), ("back", 1, 0, 0, packets * PAYLOAD)],
    ));
    for fct in run.flows("fct_ps") {
        let ratio = fct as f64 / (packets * S) as f64;
        assert!((1.0..1.05).contains(&ratio), "{ratio}");
    }
    assert_eq!(run.counters().retransmissions, 0);
}

/// Ports of either implementation, and either calendar, give the same bytes.
#[test]
fn the_same_with_either_kind_of_port() {
    let names: Vec<_> = (1..=12).map(|sender| format!("f{sender}")).collect();
    let all: Vec<_> =
        (1..).zip(&names).map(|(sender, name)| (name.as_str(), sender, 0, 0, 60 * PAYLOAD)).collect();
    let text = flows("[transport.expresspass]", &all);
    let expected = run(&text);
    same(&expected, &run_with(&text, &[("run.port_mode", "\"serviced\"")]));
    same(&expected, &crate::common::run_scenario(&scenario(&text, &[]), Agenda::Heap));
}
