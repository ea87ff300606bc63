//! Priority flow control: when a port stops and goes on, to the picosecond; no drop with the headroom of the formula; a
//! deadlock that is one.
//!
//! Unless a test differs: datagrams of 1500 B over cables of 10 Gbps and 1 us to a last one of 1 Gbps. A
//! packet takes T = 1.2 us, on the last cable L = 12 us, a pause frame F = 51.2 ns, a cable d = 1 us.

use crate::common::{Run, US, in_parts, read, run, run_with, same, scenario, scenarios};
use flowyard_sim::engine::data::finished::Status;
use flowyard_sim::engine::parted::executor::InTurn;
use proptest::prelude::*;

const T: u64 = 1_200_000;
const L: u64 = 12 * US;
const F: u64 = 51_200;
const D: u64 = US;
/// Payload of a packet.
const PAYLOAD: u64 = 1472;

/// A flow of n packets over that many switches to the slow cable, and one packet the other way if it says when to
/// start.
fn line(switches: u32, packets: u64, start: u64, back: bool) -> Run {
    let rates = [r#""10Gbps", "#].repeat(switches as usize).concat() + r#""1Gbps""#;
    let back = match back {
        true => {
            "[[traffic]]\nname = \"back\"\narrivals.at-once = { jitter = \"0s\" }\nmatrix.pairs = [[1, 0]]\n\
             sizes.fixed = \"1472B\""
        }
        false => "",
    };
    run(&format!(
        r#"
        transport = "datagram"
        queue.lossless = {{ xoff = "3000B", xon = "1500B" }}
        topology.line = {{ switches = {switches}, rates = [{rates}] }}
        [[traffic]]
        name = "flow"
        arrivals.at-once = {{ at = "{start}ps", jitter = "0s" }}
        matrix.pairs = [[0, 1]]
        sizes.fixed = "{}B"
        {back}
        "#,
        packets * PAYLOAD
    ))
}

/// The only link whose port was paused: its number, how often and for how long.
fn paused(run: &Run) -> (usize, u64, u64) {
    let (pauses, times) = (run.links("pauses"), run.links("paused_ps"));
    let links: Vec<_> = (0..pauses.len()).filter(|&link| pauses[link] > 0).collect();
    assert_eq!(links.len(), 1, "one port paused, of {pauses:?}");
    assert_eq!(run.counters().pauses, pauses[links[0]]);
    (links[0], pauses[links[0]], times[links[0]])
}

/// Packet k starts at the host at (k - 1) T and comes to the last switch at k T + d. The first goes on at once; the
/// second to the fourth wait and are 4500 B, above XOFF: the frame is at the host at 4 T + d + F + d = 6.8512 us, when
/// the sixth packet is on the wire. The third last but one of those that wait, the fifth packet, leaves the switch at
/// T + d + 4 L, and no more than XON is left. The frame that says so takes as long as the other.
#[test]
fn a_host_is_stopped_and_goes_on() {
    let run = line(1, 7, 0, false);
    let (stop, go) = (4 * T + D + F + D, T + D + 4 * L + F + D);
    assert_eq!(paused(&run), (0, 1, go - stop));
    assert_eq!(run.links("queue_max_bytes")[2], 6 * 1500);
    assert_eq!(run.counters().drops, 0);
    assert_eq!(run.flow("fct_ps"), T + D + 7 * L + D);
}

/// The same one cable further on: the switch before the last one is paused, and no other node, because no
/// more than one packet waits in it.
#[test]
fn a_switch_is_stopped_and_goes_on() {
    let run = line(2, 7, 0, false);
    let (stop, go) = (5 * T + 2 * D + F + D, 2 * T + 2 * D + 4 * L + F + D);
    assert_eq!(paused(&run), (2, 1, go - stop));
    assert_eq!(run.flow("fct_ps"), 2 * T + 2 * D + 7 * L + D);
}

/// A packet the other way is on the wire from L + d on for T, and the fourth packet comes in between: the frame waits
/// for it, so that a seventh packet passes, and XON is passed one packet later.
#[test]
fn a_frame_waits_for_the_packet_on_the_wire_only() {
    let start = 5_500_000;
    let run = line(2, 8, start, true);
    let stop = L + D + T + F + D;
    assert!(stop - start - (F + D) - (5 * T + 2 * D) < T, "it waits");
    let go = start + 2 * T + 2 * D + 5 * L + F + D;
    assert_eq!(paused(&run), (2, 1, go - stop));
}

/// All that is sent to one port, from hosts that send as fast as they can.
fn incast(senders: u64, queue: &str, overrides: &[(&str, &str)]) -> Run {
    let settings = format!("transport = \"datagram\"\nqueue.lossless = {{ {queue} }}");
    let text = format!("{settings}\n{}", scenarios::incast(senders, "10Gbps", 200_000));
    run_with(&text, overrides)
}

#[test]
fn nothing_is_dropped_with_headroom_and_something_without() {
    for senders in [2, 5, 30] {
        let whole = incast(senders, r#"xoff = "5KB""#, &[]);
        assert!(whole.counters().pauses > 0);
        assert_eq!((whole.status(), whole.counters().drops), (Status::Complete, 0));
        // The switch holds no more than all have above their thresholds: 2 us and five packets at the most.
        let most = senders * (5_000 + 2_500 + 3 * 1_500 + 64) + 1_500;
        assert!(*whole.links("queue_max_bytes").iter().max().unwrap() <= most);
        let cut = incast(senders, r#"xoff = "5KB", headroom = "1KB""#, &[]);
        assert!(cut.counters().drops > 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever rates, delays and thresholds: the headroom is enough, with packets of any size on the way back.
    #[test]
    fn the_formula_is_enough(
        rate in 1u64..100, delay in 0u64..20_000, xoff in 0u64..40_000, senders in 2u32..6, seed in any::<u32>(),
    ) {
        let run = run(&format!(
            r#"
            transport.datagram.lengths.uniform = {{ min = "64B", max = "1500B" }}
            queue.lossless = {{ xoff = "{xoff}B" }}
            topology.leaf-spine = {{ leaves = 2, spines = 1, hosts = 6, rate = "{rate}Gbps", delay = "{delay}ns" }}
            run.seed = {seed}
            [[traffic]]
            name = "incast"
            arrivals.at-once = {{}}
            matrix.incast = {{ senders = {senders}, receiver = 0 }}
            sizes.fixed = "200KB"
            [[traffic]]
            name = "back"
            arrivals.at-once = {{}}
            matrix.pairs = [[0, 11], [1, 10], [11, 2]]
            sizes.fixed = "100KB"
            "#
        ));
        prop_assert_eq!((run.status(), run.counters().drops), (Status::Complete, 0));
    }
}

#[test]
fn without_congestion_nobody_is_stopped() {
    let run = run(r#"
        transport = "datagram"
        queue.lossless = { xoff = "1500B" }
        topology.single-switch = { hosts = 8 }
        [[traffic]]
        name = "ring"
        arrivals.at-once = { jitter = "0s" }
        matrix.stride = { by = [1] }
        sizes.fixed = "1MB"
        "#);
    assert_eq!((run.counters().pauses, run.counters().drops), (0, 0));
    assert!(run.links("paused_ps").iter().all(|&time| time == 0));
}

/// Five switches in a ring, a host at each, and flows two switches on: the only shortest way is clockwise, so that each
/// cable of the ring carries what its switch's host sends and what comes from the switch before.
fn ring(flows: &str, size: &str, more: &str) -> Run {
    let name = |what: &str, index: usize| format!("\"{what}{}\"", index % 5);
    let hosts: Vec<_> = (0..5).map(|index| name("h", index)).collect();
    let switches: Vec<_> = (0..5).map(|index| format!("{{ name = {} }}", name("s", index))).collect();
    let cables = (0..5).map(|index| {
        let (host, here, next) = (name("h", index), name("s", index), name("s", index + 1));
        format!("{{ ends = [{host}, {here}] }}, {{ ends = [{here}, {next}] }}")
    });
    let text = format!(
        r#"
        transport = "datagram"
        queue.lossless = {{ xoff = "6KB", kmin = "100MB", kmax = "100MB" }}
        [topology.explicit]
        hosts = [{}]
        switches = [{}]
        cables = [{}]
        [[traffic]]
        name = "round"
        arrivals.at-once = {{ jitter = "0s" }}
        matrix.pairs = {flows}
        sizes.fixed = "{size}"
        {more}
        "#,
        hosts.join(", "),
        switches.join(", "),
        cables.collect::<Vec<_>>().join(", ")
    );
    let run = run(&text);
    // In parts, each with some of the ring's ports, the same.
    same(&run, &in_parts(&scenario(&text, &[]), 3, &InTurn));
    run
}

#[test]
fn a_ring_that_waits_for_itself_is_a_deadlock() {
    let run = ring("[[0, 2], [1, 3], [2, 4], [3, 0], [4, 1]]", "1MB", "");
    assert_eq!((run.status(), run.counters().drops), (Status::Stalled, 0));
    let mut deadlock = run.0.summary.deadlock.clone();
    deadlock.sort();
    assert_eq!(deadlock, ["s0 -> s1", "s1 -> s2", "s2 -> s3", "s3 -> s4", "s4 -> s0"]);
    assert!(run.end() < 5_000 * US, "seen within milliseconds, not after run.stall");
    let told = run.0.summary.advice.iter().find(|advice| advice.path == "queue.lossless");
    assert!(
        told.is_some_and(|advice| advice.message.contains("a cycle of 5 links")),
        "the check says so beforehand"
    );
    assert!(run.flows("delivered_bytes").iter().all(|&bytes| bytes < 1_000_000));
}

/// That another class moves on the same cables, stopped and let go many times a millisecond, hides nothing.
#[test]
fn a_deadlock_of_one_class_is_seen_while_another_moves() {
    let others = r#"
        [[traffic]]
        name = "others"
        transport.dcqcn = { data_class = 1, control_class = 2 }
        arrivals.at-once = { jitter = "0s" }
        matrix.pairs = [[0, 1], [4, 1]]
        sizes.fixed = "10MB"
        "#;
    let run = ring("[[0, 2], [1, 3], [2, 4], [3, 0], [4, 1]]", "1MB", others);
    assert_eq!((run.status(), run.0.summary.deadlock.len()), (Status::Stalled, 5));
    assert!(run.end() < 5_000 * US);
    let pauses = run.link("s4", "s0", "pauses");
    assert!(pauses > 50, "{pauses}");
}

/// Without one of the five flows the others wait for each other only until the last of them has gone on.
#[test]
fn a_ring_with_a_gap_is_none() {
    let run = ring("[[0, 2], [1, 3], [2, 4], [3, 0]]", "1MB", "");
    assert_eq!((run.status(), run.counters().drops), (Status::Complete, 0));
    assert!(run.counters().pauses > 0);
    assert_eq!(run.0.summary.deadlock, Vec::<String>::new());
}

/// A pause frame meets a packet of any drawn length on the wire, up to the longest of IP.
#[test]
fn headroom_is_for_the_longest_packet_that_may_be_drawn() {
    let run = run(
        "topology.single-switch.hosts = 4\nqueue.lossless = {}\ntransport.datagram.lengths.exponential.mean = \"4000B\"\n\
         [[traffic]]\nname = \"a\"\narrivals.at-once = {}\nmatrix.incast.senders = 3\nsizes.fixed = \"3MB\"",
    );
    assert!(run.counters().pauses > 0);
    assert_eq!((run.status(), run.counters().drops), (Status::Complete, 0));
}

#[test]
fn thresholds_that_contradict_each_other_are_refused() {
    let problems = |queue: &str| {
        let text = format!(
            "[topology.single-switch]\n[queue.lossless]\n{queue}\n[transport.datagram]\n[[traffic]]\nname = \"a\"\n\
             arrivals.at-once = {{}}\nmatrix = \"permutation\"\nsizes.fixed = \"1KB\""
        );
        read(&text).unwrap_err().to_string()
    };
    assert!(problems("kmin = \"10KB\"\nkmax = \"5KB\"").contains("queue.lossless.kmax"));
    assert!(problems("xoff = \"10KB\"\nxon = \"11KB\"").contains("queue.lossless.xon"));
    assert!(problems("pmax = 1.5").contains("queue.lossless.pmax"));
}
