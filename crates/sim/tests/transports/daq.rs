//! DAQ against times worked out by hand, the claims of its paper, and the guarantee of credits: nothing is
//! ever dropped.

use crate::common::random::small_topology;
use crate::common::{HEADER, MS, PACKET, Run, US, in_parts, run, run_with, same, scenario, scenarios};
use crate::racks;
use flowyard_sim::Checked;
use flowyard_sim::engine::data::finished::Status;
use flowyard_sim::engine::parted::executor::InTurn;
use flowyard_sim::scenario::{Format, no_files};
use proptest::prelude::*;

/// At 1 Gbps: 1500 B of data, 40 B of a control packet, a frame of 64 B; and a cable.
const T: u64 = PACKET;
const A: u64 = 320_000;
const F: u64 = HEADER;
const D: u64 = US;
const PAYLOAD: u64 = 1460;
/// SYN and SYN/ACK over one switch.
const HANDSHAKE: u64 = 4 * (A + D);
/// From sending a packet to its acknowledgement.
const ROUND_TRIP: u64 = 2 * (T + D) + 2 * (A + D);

/// A flow of so many full packets over one switch.
fn alone(settings: &str, packets: u64) -> Run {
    run(&format!(
        r#"
        {settings}
        topology.single-switch = {{ hosts = 2, rate = "1Gbps", delay = "1us" }}
        [[traffic]]
        name = "flow"
        arrivals.at-once.jitter = "0s"
        matrix.pairs = [[1, 0]]
        sizes.fixed = "{}B"
        "#,
        packets * PAYLOAD
    ))
}

#[test]
fn a_flow_alone_takes_its_handshake_and_its_packets() {
    let run = alone(r#"transport = "daq""#, 1);
    assert_eq!(run.flow("fct_ps"), HANDSHAKE + 2 * (T + D));
    assert_eq!(run.flow("fct_acked_ps"), HANDSHAKE + ROUND_TRIP);
    let run = alone(r#"transport.daq.initial_window = "9000B""#, 6);
    assert_eq!(run.flow("fct_ps"), HANDSHAKE + 7 * T + 2 * D);
}

/// Of four packets two may be in flight. The third goes when the first is acknowledged and the fourth behind
/// it; or, in rounds, when the second is, a packet later.
#[test]
fn a_window_slides_or_goes_by_rounds() {
    let fct = |send: &str| {
        // A round trip passes between the first acknowledgement and a wider window.
        let daq = format!(
            r#"transport.daq = {{ initial_window = "3000B", target_queue = "0B", send = "{send}" }}"#
        );
        alone(&daq, 4).flow("fct_ps")
    };
    assert_eq!(fct("sliding"), HANDSHAKE + ROUND_TRIP + T + 2 * (T + D));
    assert_eq!(fct("rounds"), HANDSHAKE + ROUND_TRIP + T + T + 2 * (T + D));
}

/// The link has credit for one packet. The first one leaves the switch at T + D, and the frame is at the host after F + D.
/// The second's frame finds the acknowledgement of the first on its wire, which began when the second had left the host
/// for T + D + A - F, and waits until it is through.
#[test]
fn a_host_waits_for_credit_and_a_frame_for_the_packet_on_its_wire() {
    let queue = r#"queue.daq.long_buffer = "1500B""#;
    let daq = r#"transport.daq.initial_window = "9000B""#;
    let run = alone(&format!("{daq}\n{queue}"), 3);
    let second = T + D + F + D;
    let acknowledged = 2 * (T + D) + A + D;
    assert!(acknowledged < second + T + D && second + T + D < acknowledged + A);
    let third = acknowledged + A + F + D;
    assert_eq!(run.flow("fct_ps"), HANDSHAKE + third + 2 * (T + D));
    // Frames as long as a packet hold the acknowledgement up, and not the other way round.
    let long = alone(&format!("{daq}\n{queue}\nqueue.daq.frame_bytes = \"1500B\""), 2);
    assert_eq!(long.flow("fct_ps"), HANDSHAKE + (T + D + T + D) + 2 * (T + D));
}

/// A rack with the paper's round trip of 300 us: 2 (T + A) and four cables.
fn rack(senders: u32, rest: &str) -> String {
    racks::rack(senders + 1, "1Gbps", "68.84us") + rest
}

/// So many hosts that answer one: sizes as F5 to F8 have them, deadlines with the floor.
fn incast(senders: u32, settings: &str) -> String {
    let traffic = format!(
        r#"
        {settings}
        [[traffic]]
        name = "short"
        arrivals.at-once.jitter = "50us"
        matrix.incast.senders = {senders}
        sizes.uniform = {{ min = "2KB", max = "58KB" }}
        deadlines.exponential = {{ mean = "20ms", min = "3ms" }}
        "#
    );
    rack(senders, &traffic)
}

/// Nothing is said of a rack, nor of a ring under a queue that drops.
#[test]
fn only_cycles_that_may_wait_are_told_of() {
    assert_eq!(cycles(&run(&incast(10, "transport = \"daq\""))), Vec::<&str>::new());
    let drops = ring("[[0, 2]]", "transport = \"tcp\"");
    assert!(drops.0.summary.advice.iter().all(|advice| !advice.message.contains("cycle")));
}

/// DAQ-F3.e: with no threshold, or a threshold that nothing is below, there is one queue. Flows miss their deadlines, so
/// that expired packets are among them; with 30 round trips the order is another.
#[test]
fn without_a_threshold_there_is_one_queue() {
    let run = |ratio: &str| run(&incast(60, &format!("transport = \"daq\"\nqueue.daq.ratio = {ratio}")));
    let (zero, infinite, thirty) = (run("0"), run("1e9"), run("30"));
    let late = |run: &Run| run.flows("met_deadline").into_iter().filter(|met| *met == 0).count();
    assert!(late(&zero) > 0);
    assert_eq!(zero.digest(), infinite.digest());
    assert_ne!(zero.digest(), thirty.digest());
    assert!(late(&thirty) < late(&zero));
}

/// DAQ-F4.a: five long flows keep the link busy in every 10 ms but the first.
#[test]
fn long_flows_fill_the_link() {
    let run = run(&rack(
        5,
        r#"
        transport = "daq"
        [[traffic]]
        name = "long"
        arrivals.at-once = {}
        matrix.incast.senders = 5
        sizes.fixed = "100MB"
        [observe.samples]
        every = "10ms"
        links = ["switch -> host 0"]
        [run]
        until = "300ms"
        "#,
    ));
    let windows = run.samples("utilisation");
    assert!(windows.len() >= 29);
    for (at, used) in windows.into_iter().filter(|(at, _)| *at > 10 * MS) {
        assert!(used >= 0.97, "{used} in the 10 ms up to {at} ps");
    }
    assert_eq!((run.counters().drops, run.counters().retransmissions), (0, 0));
}

/// DAQ-P8: in its first round trip a flow sends its window of a quarter of the bandwidth-delay product, 9375 B; TCP's slow
/// start sends three segments (RFC 5681, for segments of this size).
#[test]
fn a_flow_starts_faster_than_by_slow_start() {
    let sent = |transport: &str| {
        let text = rack(
            1,
            &format!(
                r#"
                {transport}
                [[traffic]]
                name = "flow"
                arrivals.at-once.jitter = "0s"
                matrix.pairs = [[1, 0]]
                sizes.fixed = "1MB"
                "#
            ),
        );
        // A handshake of 276.64 us, and a round trip but a picosecond.
        run_with(&text, &[("run.until", "576639999ps")]).flow("packets_sent")
    };
    let daq = sent("transport = \"daq\"");
    assert_eq!(daq, 9375 / 1500);
    let tcp = sent("transport.tcp = { handshake = true, initial_window = 3 }");
    assert_eq!(tcp, 3);
    assert!(daq > tcp);
}

/// DAQ-F8b.b: short flows without end on one side, long ones on the other: each class has its share of the link.
#[test]
fn both_classes_have_their_share_of_the_link() {
    for (short, long) in [(1, 100), (100, 1), (1, 1)] {
        let run = run(&rack(
            4,
            &format!(
                r#"
                transport = "daq"
                queue.daq = {{ short_weight = {short}, long_weight = {long} }}
                [[traffic]]
                name = "short"
                arrivals.at-once = {{}}
                matrix.pairs = [[1, 0], [2, 0]]
                sizes.fixed = "100MB"
                deadline = "20ms"
                [[traffic]]
                name = "long"
                arrivals.at-once = {{}}
                matrix.pairs = [[3, 0], [4, 0]]
                sizes.fixed = "100MB"
                [run]
                until = "500ms"
                "#
            ),
        ));
        let bytes = |tag: &str| run.flows_of(tag, "delivered_bytes").into_iter().sum::<u64>() as f64;
        let all = bytes("short") + bytes("long");
        assert!(all * 8.0 / 0.5 > 0.95e9, "the link is busy: {all}");
        let least = |weight: u32| 0.95 * f64::from(weight) / f64::from(short + long);
        assert!(bytes("short") / all > least(short), "{short} : {long} gave {}", bytes("short") / all);
        assert!(bytes("long") / all > least(long), "{short} : {long} gave {}", bytes("long") / all);
    }
}

/// An urgent flow waits for the packet that it finds on the wire, once for its SYN and once for its data, and one that is
/// not urgent for all that came before.
#[test]
fn an_urgent_flow_overtakes() {
    let fct = |ratio: u32| {
        let run = run(&format!(
            r#"
            transport.daq.initial_window = "60KB"
            queue.daq = {{ ratio = {ratio}, rtt = "30us" }}
            topology.single-switch = {{ hosts = 4, rate = "1Gbps", delay = "1us" }}
            [[traffic]]
            name = "others"
            arrivals.at-once.jitter = "0s"
            matrix.pairs = [[1, 0], [2, 0]]
            sizes.fixed = "58400B"
            deadline = "1s"
            [[traffic]]
            name = "urgent"
            arrivals.at-once = {{ at = "200us", jitter = "0s" }}
            matrix.pairs = [[3, 0]]
            sizes.fixed = "1460B"
            deadline = "900us"
            "#
        ));
        run.flow_of("urgent", "fct_ps")
    };
    assert!(fct(30) <= HANDSHAKE + 2 * (T + D) + 2 * T);
    assert!(fct(29) > HANDSHAKE + 2 * (T + D) + 10 * T);
}

/// Ten senders of 146 kB to one receiver: 100 packets each take 12 ms in all, and the deadline is after 3 ms.
/// A flow that is kept completes late; one that is given up ends soon after, is abandoned, and the flows that
/// wait for it start.
#[test]
fn a_late_flow_goes_on_or_is_given_up() {
    let run = |late: &str| {
        run(&rack(
            10,
            &format!(
                r#"
                transport.daq.late = "{late}"
                [[traffic]]
                name = "short"
                arrivals.at-once.jitter = "0s"
                matrix.incast.senders = 10
                sizes.fixed = "146000B"
                deadline = "3ms"
                [[traffic]]
                name = "next"
                arrivals.after = {{ entry = "short", event = "received", each = "all" }}
                matrix.pairs = [[1, 0]]
                sizes.fixed = "1460B"
                "#
            ),
        ))
    };
    let kept = run("keep");
    assert_eq!((kept.status(), kept.counters().abandoned_flows), (Status::Complete, 0));
    assert!(kept.flows_of("short", "met_deadline").contains(&0));
    assert!(kept.end() > 12 * MS);
    let quit = run("give-up");
    assert_eq!(quit.status(), Status::Complete);
    assert_eq!(quit.counters().unfinished_flows, 0);
    let abandoned = quit.flows_of("short", "abandoned");
    assert!(abandoned.iter().sum::<u64>() >= 8, "{abandoned:?}");
    for (abandoned, completed) in abandoned.iter().zip(quit.flows_of("short", "completed")) {
        assert_eq!(abandoned + completed, 1);
    }
    assert_eq!(quit.flow_of("next", "completed"), 1);
    assert!(quit.end() < kept.end());
}

/// The deadline is the instant of the last acknowledgement, or a picosecond or two before it. Events at the instant at
/// which a sender gives up, a picosecond after the deadline, come first: only the third sender gives up. It sends a
/// QUIT, which is answered, in place of the FIN, and never learns that all has arrived; as it has, the flow is not
/// abandoned.
#[test]
fn a_flow_is_given_up_that_is_two_picoseconds_late() {
    let acknowledged = HANDSHAKE + ROUND_TRIP;
    for (late, acked, packets) in [(0, Some(acknowledged), 5), (1, Some(acknowledged), 5), (2, None, 6)] {
        let run = run(&format!(
            r#"
            transport.daq.late = "give-up"
            topology.single-switch = {{ hosts = 2, rate = "1Gbps", delay = "1us" }}
            [[traffic]]
            name = "flow"
            arrivals.at-once.jitter = "0s"
            matrix.pairs = [[1, 0]]
            sizes.fixed = "{PAYLOAD}B"
            deadline = "{}ps"
            "#,
            acknowledged - late
        ));
        assert_eq!((run.flow("completed"), run.flow("abandoned")), (1, 0), "{late} ps");
        assert_eq!(
            (run.flow_cells("fct_acked_ps")[0], run.counters().packets),
            (acked, packets),
            "{late} ps"
        );
    }
}

/// Links that lose packets of both directions, or go down for a while: each loss gives its credit back, what was lost is
/// sent again, and every flow ends. With so few packets of credit a single leak would stop the run.
#[test]
fn flows_survive_faults_and_no_credit_leaks() {
    for fault in [
        r#"{ at = "0s", target.random-cables.share = 1.0, change = { loss = 0.02 } }"#,
        r#"{ at = "300us", target.cable = ["host 0", "switch"], change = "down", lasts = "2ms" }"#,
    ] {
        for late in ["keep", "give-up"] {
            let run = run(&format!(
                r#"
                transport.daq = {{ late = "{late}", timeout = "2ms" }}
                queue.daq = {{ short_buffer = "12KB", long_buffer = "9KB" }}
                topology.single-switch = {{ hosts = 5, rate = "1Gbps", delay = "1us" }}
                [[traffic]]
                name = "short"
                arrivals.at-once = {{}}
                matrix.incast.senders = 4
                sizes.fixed = "100KB"
                deadline = "6ms"
                [[traffic]]
                name = "long"
                arrivals.at-once = {{}}
                matrix = "permutation"
                sizes.fixed = "200KB"
                [faults]
                detection_delay = "100us"
                events = [{fault}]
                "#
            ));
            assert_eq!((run.status(), run.counters().unfinished_flows), (Status::Complete, 0));
            assert!(run.counters().lost > 0 && run.counters().retransmissions > 0);
            assert_eq!(run.counters().drops, 0);
            assert_eq!(run.counters().abandoned_flows > 0, late == "give-up");
        }
    }
}

/// Credits are independent of the transport: TCP has a window of the class of its packets.
#[test]
fn other_transports_live_by_credits() {
    for transport in ["tcp", "datagram"] {
        let text = format!(
            "transport = \"{transport}\"\nqueue.daq = {{ short_buffer = \"30KB\", long_buffer = \"30KB\" }}\n{}",
            scenarios::incast(8, "1Gbps", 200_000)
        );
        let run = run(&text);
        assert_eq!(
            (run.status(), run.counters().drops, run.counters().retransmissions),
            (Status::Complete, 0, 0)
        );
        let port = run.links("queue_max_bytes").into_iter().max().expect("links");
        assert!(port <= 30_000 + 10_000, "{port}");
    }
}

/// Windows for all that a flow has, and so large a buffer for flows without a deadline.
fn credits(buffer: &str) -> String {
    format!("transport.daq.initial_window = \"300KB\"\nqueue.daq.long_buffer = \"{buffer}\"")
}

/// Five switches in a ring, a host at each, and flows without a deadline to the host two switches on, so that each cable of
/// the ring carries what its switch's host sends and what comes from the switch before.
fn ring(flows: &str, settings: &str) -> Run {
    let name = |what: &str, index: usize| format!("\"{what}{}\"", index % 5);
    let hosts: Vec<_> = (0..5).map(|index| name("h", index)).collect();
    let switches: Vec<_> = (0..5).map(|index| format!("{{ name = {} }}", name("s", index))).collect();
    let cables = (0..5).map(|index| {
        let (host, here, next) = (name("h", index), name("s", index), name("s", index + 1));
        format!("{{ ends = [{host}, {here}] }}, {{ ends = [{here}, {next}] }}")
    });
    let text = format!(
        r#"
        {settings}
        [topology.explicit]
        hosts = [{}]
        switches = [{}]
        cables = [{}]
        [[traffic]]
        name = "round"
        arrivals.at-once = {{ jitter = "0s" }}
        matrix.pairs = {flows}
        sizes.fixed = "300KB"
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

/// Each link to a switch has credit for a packet. All five flows start at once: after two hops each cable of the ring has
/// spent its credit on a packet that wants the next cable of the ring.
#[test]
fn a_ring_whose_credits_wait_for_each_other_is_a_deadlock() {
    let run = ring("[[0, 2], [1, 3], [2, 4], [3, 0], [4, 1]]", &credits("4500B"));
    assert_eq!((run.status(), run.counters().drops), (Status::Stalled, 0));
    let mut deadlock = run.0.summary.deadlock.clone();
    deadlock.sort();
    assert_eq!(deadlock, ["s0 -> s1", "s1 -> s2", "s2 -> s3", "s3 -> s4", "s4 -> s0"]);
    assert!(run.end() < 5 * MS, "seen within milliseconds, not after run.stall");
    assert_eq!(
        cycles(&run),
        [
            "shortest paths lead around a cycle of 5 links, s0 -> s1, s1 -> s2, s2 -> s3, s3 -> s4, s4 -> s0: if all are \
             full, each waits for the next for ever, and the run ends as stalled"
        ]
    );
}

/// Advice of the check on cycles of links.
fn cycles(run: &Run) -> Vec<&str> {
    let advice = run.0.summary.advice.iter().filter(|advice| advice.path == "queue.daq");
    advice.map(|advice| &*advice.message).collect()
}

/// Without one of the five flows the others wait for each other only until the last of them has gone on; nor
/// do credits for all bytes in flight make any port wait.
#[test]
fn a_ring_with_a_gap_or_with_room_is_none() {
    for (flows, buffer) in
        [("[[0, 2], [1, 3], [2, 4], [3, 0]]", "4500B"), ("[[0, 2], [1, 3], [2, 4], [3, 0], [4, 1]]", "2MB")]
    {
        let run = ring(flows, &credits(buffer));
        assert_eq!((run.status(), run.counters().drops), (Status::Complete, 0));
        assert_eq!(run.0.summary.deadlock, Vec::<String>::new());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// DAQ-A2.a: on any network, with any load and buffers that hold a packet for each sender, nothing is dropped, sent
    /// twice or left behind; the audit compares credits all the while.
    #[test]
    fn nothing_is_ever_dropped(
        topology in small_topology(Just("1Gbps")), packets in 12u64..60, weights in (1u32..20, 1u32..20),
        sizes in 1u64..120_000, window in 1u64..40_000, target in 0u64..100_000, seed in any::<u32>(),
        rounds in any::<bool>(), measured in any::<bool>(),
    ) {
        let send = if rounds { "rounds" } else { "sliding" };
        let threshold = if measured { "measured" } else { "fixed" };
        let run = run(&format!(
            r#"
            {topology}
            [transport.daq]
            initial_window = "{window}B"
            target_queue = "{target}B"
            send = "{send}"
            [queue.daq]
            threshold = "{threshold}"
            short_weight = {}
            long_weight = {}
            short_buffer = "{}B"
            long_buffer = "{}B"
            [[traffic]]
            name = "short"
            arrivals.at-once = {{}}
            matrix = "uniform"
            sizes.uniform = {{ min = "1B", max = "{sizes}B" }}
            deadlines.exponential.mean = "1ms"
            flows = 20
            [[traffic]]
            name = "long"
            arrivals.at-once = {{}}
            matrix = "permutation"
            sizes.fixed = "{sizes}B"
            [run]
            seed = {seed}
            "#,
            weights.0, weights.1, 1500 * packets, 1500 * (packets + 3)
        ));
        prop_assert_eq!(run.status(), Status::Complete);
        prop_assert_eq!(run.counters().drops + run.counters().retransmissions, 0);
        prop_assert!(run.flows("completed").iter().all(|completed| *completed == 1));
    }
}

/// A link with a window of two packets of 1500 B might be given one of IP's longest.
#[test]
fn windows_hold_the_longest_packet_that_may_be_drawn() {
    let problems = |lengths: &str| {
        let text = format!(
            "topology.single-switch.hosts = 3\nqueue.daq.short_buffer = \"6KB\"\n{lengths}\n[[traffic]]\nname = \"a\"\n\
             arrivals.at-once = {{}}\nmatrix.incast.senders = 2\nsizes.fixed = \"20KB\"\ndeadline = \"1ms\""
        );
        let checked = Checked::read(&text, Format::Toml, &[], &no_files).expect("a scenario");
        checked.outlook().err().map(|problems| problems.to_string())
    };
    assert_eq!(problems("transport.datagram.lengths.fixed = \"1500B\""), None);
    let drawn = problems("transport.datagram.lengths.exponential.mean = \"400B\"").expect("a refusal");
    assert!(drawn.contains("6KB is below 131070B, a packet of 65535 B for each of the 2 links"), "{drawn}");
}
