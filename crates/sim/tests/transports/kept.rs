//! Kept connections: messages of two hosts go in turn over one, against times worked out by hand.
//!
//! As in `tcp.rs`, segments carry 1460 B in 1500 B, T = 12 us at 1 Gbps, and packets without payload are 40
//! B; the cable's delay is so long that a round of the window has been sent before the first of its
//! acknowledgements comes.

use std::collections::BTreeSet;

use crate::common::{MS, PACKET, Run, US, cells, read, run, run_with};
use flowyard_sim::ids::FlowId;
use flowyard_sim::transport::frame::Frame;

const T: u64 = PACKET;
const MSS: u64 = 1460;
/// An acknowledgement at 1 Gbps.
const A: u64 = 320_000;
const D: u64 = MS;
const HANDSHAKE: u64 = 2 * (A + D);
const ROUND: u64 = T + D + A + D;

/// Messages of ten segments over one cable, with starts and settings of TCP such as these.
fn cable(starts: &str, settings: &str) -> Run {
    cable_under(&format!("tcp = {{ {settings} }}"), starts)
}

/// The same under any transport.
fn cable_under(transport: &str, starts: &str) -> Run {
    run(&format!(
        r#"
        transport.{transport}
        [topology.line]
        switches = 0
        rate = "1Gbps"
        delay = "1ms"
        [[traffic]]
        name = "messages"
        connection = "kept"
        arrivals.times = {{ at = [{starts}], jitter = "0s" }}
        matrix.pairs = [[0, 1]]
        sizes.fixed = "{}B"
        "#,
        10 * MSS
    ))
}

/// The first message has the handshake and rounds of 2, 4 and 4 segments, after which the window is 12: the second,
/// much later, goes at once and at line rate.
#[test]
fn a_second_message_skips_handshake_and_slow_start() {
    let run = cable(r#""0s", "50ms""#, "initial_window = 2, delayed_ack = 1");
    assert_eq!(run.flows("fct_ps"), [HANDSHAKE + 2 * ROUND + 4 * T + D, 10 * T + D]);
    assert_eq!(run.flows("fct_acked_ps"), [HANDSHAKE + 3 * ROUND + 3 * T, 9 * T + ROUND]);
    assert_eq!(run.flows("packets_sent"), [10, 10]);
    // 20 segments, as many acknowledgements, SYN and SYN/ACK.
    assert_eq!(run.counters().packets, 42);
}

/// Each entry keeps connections of its own: a message of another entry between the same hosts, while that of the first
/// is in flight, has a handshake of its own, and takes as long.
#[test]
fn entries_do_not_share_their_connections() {
    let entry = |name: &str, at: &str| {
        format!(
            r#"
            [[traffic]]
            name = "{name}"
            connection = "kept"
            arrivals.times = {{ at = ["{at}"], jitter = "0s" }}
            matrix.pairs = [[0, 1]]
            sizes.fixed = "{MSS}B"
            "#
        )
    };
    let run = run(&format!(
        r#"
        transport = "tcp"
        topology.line = {{ switches = 0, rate = "1Gbps", delay = "1ms" }}
        {}
        {}
        "#,
        entry("a", "0s"),
        entry("b", "1ms")
    ));
    assert_eq!(run.flows("fct_ps"), [HANDSHAKE + T + D; 2]);
}

/// Three messages that start together go one behind the other, as one flow of all their bytes would: after 2, 4 and 8
/// segments, the fourth round has the rest.
#[test]
fn messages_that_start_together_wait_for_each_other() {
    let run = cable(r#""0s", "0s", "100us""#, "initial_window = 2, delayed_ack = 1");
    let (first, second) = (2 * ROUND + 4 * T + D, 3 * ROUND + 6 * T + D);
    let third = 3 * ROUND + 16 * T + D;
    assert_eq!(run.flows("fct_ps"), [first, second, third - 100 * US].map(|fct| HANDSHAKE + fct));
}

/// A window of 12 after a silence of 25 timeouts of 1/10 each: kept; or back to the first two segments; or halved twice.
#[test]
fn a_silent_connection_restarts_by_the_rule_that_is_named() {
    let second = |rule: &str, start: &str| {
        let settings = format!("initial_window = 2, delayed_ack = 1, rto_min = \"10ms\", {rule}");
        cable(&format!(r#""0s", "{start}""#), &settings).flows("fct_ps")[1]
    };
    // The last segment left at 6.06 ms: 25 ms later two timeouts of 10 ms have passed, and 9 ms later none.
    let (late, soon) = ("31.1ms", "15ms");
    let kept = 10 * T + D;
    assert_eq!(second("idle_restart = \"none\"", late), kept);
    assert_eq!(second("idle_restart = \"initial-window\"", late), 2 * ROUND + 4 * T + D);
    // 12 segments, 6, 3: rounds of 3, 6 and 1.
    assert_eq!(second("idle_restart = \"halve\"", late), 2 * ROUND + T + D);
    for rule in ["initial-window", "halve"] {
        assert_eq!(second(&format!("idle_restart = \"{rule}\""), soon), kept);
    }
    // What the field was before.
    assert_eq!(second("idle_restart = true", late), 2 * ROUND + 4 * T + D);
    assert_eq!(second("idle_restart = false", late), kept);
}

/// Reads of 64 KiB from five servers through a small buffer, again and again.
fn incast(connection: &str, transport: &str, queue: &str) -> String {
    format!(
        r#"
        topology.single-switch = {{ hosts = 6, rate = "1Gbps", delay = "25us" }}
        transport.{transport}
        queue.{queue}
        [[traffic]]
        name = "reads"
        connection = "{connection}"
        arrivals.blocks = {{ blocks = 12, jitter = "20us" }}
        matrix.incast = {{ senders = 5 }}
        sizes.fixed = "64KiB"
        "#
    )
}

/// Each message has its own packets: all of its segments are sent, and what is beyond them has been sent again. Drops of
/// all rows are the run's, and so are timeouts.
#[test]
fn counts_are_those_of_the_message() {
    for control in ["newreno", "reno", "dctcp", "d2tcp"] {
        let queue = if control.starts_with('d') {
            "ecn = { limit.packets = 16, threshold.packets = 8 }"
        } else {
            "drop-tail.limit.packets = 16"
        };
        let transport = format!("tcp = {{ congestion = \"{control}\", rto_min = \"2ms\" }}");
        let run = run(&incast("kept", &transport, queue));
        let segments = (64 * 1024u64).div_ceil(MSS);
        let (sent, again) = (run.flows("packets_sent"), run.flows("retransmissions"));
        assert!(again.iter().any(|&again| again > 0), "{control}: nothing was lost");
        assert!(sent.iter().zip(&again).all(|(sent, again)| sent - again == segments), "{control}");
        assert_eq!(run.flows("drops").iter().sum::<u64>(), run.counters().drops, "{control}");
        assert_eq!(run.flows("timeouts").iter().sum::<u64>(), run.counters().timeouts, "{control}");
        assert!(run.flows("delivered_bytes").iter().all(|&bytes| bytes == 64 * 1024));
    }
}

/// One subflow is TCP: the second message skips handshake and slow start there, too. With two, each opens with the first
/// message and has its share of the second at once: five segments of ten by either, over one cable in turns.
#[test]
fn mptcp_keeps_all_subflows() {
    let run_of = |subflows: u32| {
        let tcp = "{ initial_window = 2, delayed_ack = 1 }";
        cable_under(&format!("mptcp = {{ subflows = {subflows}, tcp = {tcp} }}"), r#""0s", "50ms""#)
    };
    let one = run_of(1);
    assert_eq!(one.flows("fct_ps"), [HANDSHAKE + 2 * ROUND + 4 * T + D, 10 * T + D]);
    // Each message is acknowledged as a whole, not only the connection.
    assert_eq!(one.flows("fct_acked_ps"), [HANDSHAKE + 3 * ROUND + 3 * T, 9 * T + ROUND]);
    let two = run_of(2);
    assert_eq!(two.flows("fct_ps")[1], 10 * T + D);
    assert_eq!(two.flows("packets_sent"), [10, 10]);
    // SYNs and answers of either subflow, and an acknowledgement for each segment.
    assert_eq!(two.counters().packets, 44);
    let by_subflow = cells(two.0.connections.as_ref().expect("subflows"), "packets_sent");
    assert_eq!(by_subflow.len(), 4, "a row for each message and subflow");
    assert_eq!(by_subflow.iter().flatten().sum::<u64>(), 20);
    assert_eq!(by_subflow[2..], [Some(5), Some(5)]);
}

/// Messages over several paths that lose packets, with what a subflow gives up sent by the others as well.
#[test]
fn mptcp_loses_nothing_of_a_message() {
    let run = run(r#"
        topology.leaf-spine = { leaves = 2, spines = 2, hosts = 4, rate = "1Gbps" }
        transport.mptcp = { subflows = 3, tcp = { rto_min = "2ms", initial_window = 4 } }
        queue.drop-tail.limit.packets = 10
        [[traffic]]
        name = "reads"
        connection = "kept"
        arrivals.blocks = { blocks = 8, barrier = "receiver" }
        matrix.pairs = [[0, 4], [1, 4], [2, 4], [3, 4], [5, 1], [6, 1], [0, 4]]
        sizes.uniform = { min = "1B", max = "200KB" }
        [[traffic]]
        name = "others"
        connection = "kept"
        arrivals.poisson.load = 0.3
        matrix = "uniform"
        flows = 150
        sizes.uniform = { min = "1B", max = "60KB" }
        "#);
    assert_eq!(run.counters().unfinished_flows, 0);
    assert_eq!(run.flows("delivered_bytes"), run.flows("size_bytes"));
    assert!(run.counters().timeouts > 0 && run.counters().drops > 0);
    assert_eq!(run.flows("drops").iter().sum::<u64>(), run.counters().drops);
}

/// With connections of their own all five servers begin each block in slow start, which the buffer has no room for.
#[test]
fn kept_windows_overshoot_in_the_first_blocks_only() {
    let transport = "tcp = { initial_window = 2, delayed_ack = 1 }";
    let queue = "drop-tail.limit.packets = 40";
    // By block, of which each has five flows.
    let drops = |connection: &str| -> Vec<u64> {
        let run = run(&incast(connection, transport, queue));
        run.flows("drops").chunks(5).map(|block| block.iter().sum()).collect()
    };
    let (kept, new) = (drops("kept"), drops("new"));
    assert_eq!(kept[0], new[0]);
    assert!(new[1..].iter().all(|&drops| drops > 0), "{new:?}");
    assert!(2 * kept[1..].iter().sum::<u64>() < new[1..].iter().sum(), "{kept:?} of {new:?}");
}

/// Every way in which flows may start, on kept connections, under an audit.
#[test]
fn goes_with_all_arrivals() {
    let arrivals = [
        r#"arrivals.at-once = {}
           matrix.pairs = [[0, 1], [0, 1], [2, 1], [1, 0]]"#,
        r#"arrivals.poisson.load = 0.5
           matrix = "uniform"
           flows = 200"#,
        r#"arrivals.on-off = { probability = 1.0, flows_each = 9 }
           matrix = "uniform""#,
        r#"arrivals.blocks = { blocks = 5 }
           matrix = "all-to-all""#,
        r#"arrivals.after = { entry = "asked" }
           matrix.reply.to = "asked""#,
    ];
    for arrivals in arrivals {
        let run = run(&format!(
            r#"
            topology.single-switch = {{ hosts = 5, rate = "1Gbps" }}
            transport.tcp = {{ rto_min = "2ms" }}
            queue.drop-tail.limit.packets = 20
            [[traffic]]
            name = "asked"
            connection = "kept"
            arrivals.times.at = ["0s", "10us", "20us"]
            matrix.incast.senders = 3
            sizes.fixed = "100KB"
            [[traffic]]
            name = "flows"
            connection = "kept"
            {arrivals}
            sizes.uniform = {{ min = "1B", max = "100KB" }}
            "#
        ));
        assert_eq!(run.counters().unfinished_flows, 0, "{arrivals}");
        assert_eq!(run.flows("delivered_bytes"), run.flows("size_bytes"), "{arrivals}");
    }
}

/// Behind a cable that is cut, a message waits for its connection's timer, and the others for their barrier.
#[test]
fn a_stalled_message_is_told_with_its_timer() {
    let text =
        incast("kept", "tcp = { rto_min = \"2ms\", rto_max = \"50ms\" }", "drop-tail.limit.packets = 16")
            + r#"[faults]
             events = [{ at = "3ms", target.link = ["host 1", "switch"], change = "down", lasts = "100s" }]"#;
    let run = run_with(&text, &[("run.stall", "1s")]);
    let waits = run.0.summary.traffic[0].waits.expect("it has stalled");
    assert_eq!(waits.open, 1, "{waits:?}");
    assert!(waits.not_started >= 5, "{waits:?}");
    assert!(waits.next_timer_ps.is_some_and(|timer| timer > run.end()), "{waits:?}");
}

#[test]
fn is_refused_where_no_connection_outlives_a_flow() {
    for (transport, queue) in
        [("datagram", "drop-tail"), ("ndp", "ndp"), ("pfabric", "pfabric"), ("dcqcn", "lossless")]
    {
        let text = incast("kept", &format!("{transport} = {{}}"), &format!("{queue} = {{}}"));
        let refused = read(&text).unwrap_err().to_string();
        let said = format!(
            "traffic.reads.connection: \"kept\" is not for {transport}, which opens a connection for each flow"
        );
        assert!(refused.contains(&said), "{refused}");
        assert_eq!(refused.matches("kept").count(), 1, "{refused}");
    }
}

/// On the wire there is one connection: a SYN, and sequence numbers that go on from message to message.
#[test]
fn captures_show_one_connection() {
    let captured = |transport: &str| {
        let run = run(&format!(
            r#"
            transport.{transport} = {{}}
            topology.line = {{ switches = 0, rate = "1Gbps" }}
            observe.capture.links = ["*"]
            [[traffic]]
            name = "messages"
            connection = "kept"
            arrivals.times = {{ at = ["0s", "50ms"], jitter = "0s" }}
            matrix.pairs = [[0, 1]]
            sizes.fixed = "3000B"
            "#
        ));
        let [cable] = &run.0.observed.cables[..] else { panic!("one cable") };
        cable.packets.clone()
    };
    let packets = captured("tcp");
    assert!(packets.iter().all(|packet| packet.flow == FlowId(0)));
    let seqs: Vec<_> = packets
        .iter()
        .filter(|packet| packet.forward)
        .map(|packet| match packet.frame {
            Frame::Tcp(tcp) => (tcp.syn, tcp.psh, tcp.seq),
            _ => panic!("TCP"),
        })
        .collect();
    let data = [(1, false), (1461, false), (2921, true), (3001, false), (4461, false), (5921, true)];
    let expected: Vec<_> =
        [(true, false, 0)].into_iter().chain(data.map(|(seq, last)| (false, last, seq))).collect();
    assert_eq!(seqs, expected);
    let subflows: BTreeSet<_> =
        captured("mptcp").iter().map(|packet| (packet.flow, packet.subflow)).collect();
    assert_eq!(subflows, (0..8).map(|subflow| (FlowId(0), subflow)).collect());
}
