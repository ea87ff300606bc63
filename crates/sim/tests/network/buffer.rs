//! Memory that ports of a switch share: limits of queues, and pauses, by hand; no drop with headroom; the same results in
//! parts.

use crate::common::{Run, US, in_parts, read, run, same, scenario, scenarios};
use flowyard_sim::engine::data::finished::Status;
use flowyard_sim::engine::parted::executor::InTurn;

/// A flow of seven packets of 1500 B over a cable of 10 Gbps and one of 1 Gbps, 1 us each.
fn line(buffer: &str) -> Run {
    run(&format!(
        r#"
        transport = "datagram"
        queue = "lossless"
        topology.line = {{ switches = 1, rates = ["10Gbps", "1Gbps"] }}
        buffer.hpcc = {{ {buffer} }}
        [[traffic]]
        name = "flow"
        arrivals.at-once = {{ jitter = "0s" }}
        matrix.pairs = [[0, 1]]
        sizes.fixed = "{}B"
        "#,
        7 * 1472
    ))
}

/// A packet takes T = 1.2 us and L = 12 us, a frame of 64 B 51.2 ns and one of 43 B 34.4 ns, a cable d = 1 us. 29,000 B
/// are 20,000 B of headroom and 9000 B that the only link in use shares with none: with alpha 1 its threshold is 9000 B
/// less its own bytes, so that it pauses at 4500 B, the third packet that waits, and with an offset of 6000 B resumes at
/// 1500 B. The second packet waits from 2 T + d on, the fourth comes at 4 T + d; the fifth leaves at T + d + 4 L.
#[test]
fn a_link_pauses_at_its_dynamic_threshold() {
    let (t, l, d) = (1_200_000, 12 * US, US);
    for (bytes, frame) in [(64, 51_200), (43, 34_400)] {
        let run = line(&format!(
            "size = \"29000B\", alpha = 1.0, reserve = \"0B\", headroom = \"10000B\", xon_offset = \"6000B\", \
             frame_bytes = \"{bytes}B\""
        ));
        let (stop, go) = (4 * t + d + frame + d, t + d + 4 * l + frame + d);
        assert_eq!((run.links("pauses")[0], run.links("paused_ps")[0]), (1, go - stop));
        assert_eq!(run.links("queue_max_bytes")[2], 6 * 1500);
        assert_eq!((run.counters().drops, run.flow("fct_ps")), (0, t + d + 7 * l + d));
    }
}

/// The same without headroom: the packets that come before the pause takes effect are dropped. The fifth and the sixth find
/// 4500 B and a threshold of 4500 B; the seventh is not sent before the resume.
#[test]
fn without_headroom_packets_are_dropped() {
    let run =
        line("size = \"9000B\", alpha = 1.0, reserve = \"0B\", headroom = \"0B\", xon_offset = \"6000B\"");
    assert_eq!(run.links("queue_max_bytes")[2], 4 * 1500);
    assert_eq!(run.counters().drops, 2);
}

/// Pairs of hosts at 10 Gbps each send to one more host: so many ports of the switch fill alike.
fn full(ports: u32, more: &str) -> Run {
    let hosts = 3 * ports;
    let pairs: Vec<_> = (0..2 * ports).map(|sender| [sender, 2 * ports + sender / 2]).collect();
    let text = format!(
        "{more}\n[topology.single-switch]\nhosts = {hosts}\n{}",
        scenarios::flows("full", &pairs, 2_000_000)
    );
    run(&text)
}

/// Longest queues at the ports to the receivers, with the packet on the wire.
fn longest(run: &Run, ports: u32) -> Vec<u64> {
    let of = |port: u32| run.link("switch", &format!("host {}", 2 * ports + port), "queue_max_bytes");
    (0..ports).map(of).collect()
}

/// Choudhury and Hahne: N full queues have alpha B / (1 + N alpha) each; here with alpha 0.5 and B = 393,216 B: 131,072 B,
/// 65,536 B, 39,321 B. Active buffer management gives one class alpha B / (1 + alpha) at all ports together.
#[test]
fn full_queues_have_their_shares() {
    for (member, ports, share) in [
        ("dynamic", 1, 131_072),
        ("dynamic", 4, 65_536),
        ("dynamic", 8, 39_321),
        ("abm", 1, 131_072),
        ("abm", 4, 32_768),
        ("abm", 5, 26_214),
    ] {
        let run = full(
            ports,
            &format!(
                "transport = \"datagram\"\nqueue.drop-tail.limit.bytes = \"10MB\"\n\
                 buffer.{member} = {{ size = \"393216B\", alpha = 0.5 }}"
            ),
        );
        // A packet is on the wire, and when all ports begin one at once, half of so many bytes are added to each limit.
        let most = share + 1500 + u64::from(ports) * 750;
        for queue in longest(&run, ports) {
            assert!((share - 1500..=most).contains(&queue), "{member}, {ports} ports: {queue} B");
        }
    }
}

/// A share of its own alone, or all of the memory for a single port: a queue with that limit, packet for packet.
#[test]
fn a_reserve_is_a_limit() {
    let limited = |limit: &str| {
        run(&format!("transport.datagram = {{}}\n{limit}\n{}", scenarios::incast(5, "10Gbps", 200_000)))
    };
    let expected = limited(
        "queue.drop-tail = { limit.bytes = \"30000B\", limit_counts_wire = false }\nrun.port_mode = \"serviced\"",
    );
    assert!(expected.counters().drops > 0);
    let infinite = "queue.drop-tail.limit.bytes = \"10MB\"\n";
    for buffer in [
        "buffer.dynamic = { alpha = 0, reserve = \"30000B\" }",
        "buffer.dynamic = { alpha = 1000000, size = \"30000B\" }",
        "buffer.dynamic = { alpha = 1000000, size = \"33000B\", reserve = \"500B\" }",
    ] {
        let run = limited(&format!("{infinite}{buffer}"));
        assert_eq!(run.counters().drops, expected.counters().drops, "{buffer}");
        assert_eq!(run.flows("delivered_bytes"), expected.flows("delivered_bytes"), "{buffer}");
    }
}

/// An incast of 16 windows of HPCC is 850 KB, 53 KB of each link: with 32 MiB, of which a link may have 1.37 MB while all
/// 16 fill, no port is paused; with 1 MiB, of which it may have 18 KB, all are, and none drops.
#[test]
fn an_incast_pauses_where_memory_is_short() {
    let incast = |size: &str| {
        run(&format!(
            r#"
            transport.roce = {{ header_bytes = "90B", ack_bytes = "88B", congestion.hpcc = {{}} }}
            queue.lossless = {{ kmin = "100MB", kmax = "100MB" }}
            buffer.hpcc.size = "{size}"
            {}
            "#,
            scenarios::incast(16, "100Gbps", 200_000)
        ))
    };
    let (large, small) = (incast("32MiB"), incast("1MiB"));
    assert_eq!((large.status(), large.counters().pauses, large.counters().drops), (Status::Complete, 0, 0));
    assert_eq!((small.status(), small.counters().drops), (Status::Complete, 0));
    for host in 1..17 {
        assert!(small.link(&format!("host {host}"), "switch", "pauses") > 0);
    }
}

/// Memory stands at a switch, whose ports are all in one part of a run.
#[test]
fn parts_give_the_same_results() {
    for buffer in [
        "queue.drop-tail.limit.bytes = \"1MB\"\nbuffer.abm.size = \"60KB\"",
        "queue.lossless = {}\nbuffer.hpcc = { size = \"100KB\", headroom = \"9KB\", reserve = \"1KB\" }",
    ] {
        let text = format!(
            r#"
            transport = "datagram"
            {buffer}
            [topology.fat-tree]
            k = 4
            [[traffic]]
            name = "incast"
            arrivals.at-once = {{}}
            matrix.incast = {{ senders = 12, receiver = 3 }}
            sizes.fixed = "50KB"
            [[traffic]]
            name = "permutation"
            arrivals.at-once = {{}}
            matrix = "permutation"
            sizes.fixed = "50KB"
            "#
        );
        let run = run(&text);
        assert!(run.counters().drops + run.counters().pauses > 0, "{buffer}");
        same(&run, &in_parts(&scenario(&text, &[]), 3, &InTurn));
    }
}

#[test]
fn buffers_that_do_not_fit_are_refused() {
    let problems = |text: &str| {
        let text = format!(
            "topology.single-switch.hosts = 9\n{text}\n[transport.datagram]\n[[traffic]]\nname = \"a\"\n\
             arrivals.at-once = {{}}\nmatrix = \"permutation\"\nsizes.fixed = \"1KB\""
        );
        read(&text).unwrap_err().to_string()
    };
    assert!(
        problems("queue = \"lossless\"\nbuffer = \"dynamic\"").contains("the queue \"lossless\" does not")
    );
    let hint = problems("queue = \"drop-tail\"\nbuffer = \"hpcc\"");
    assert!(hint.contains("use the queue \"lossless\""), "{hint}");
    assert!(problems("queue = \"ndp\"\nbuffer = \"dynamic\"").contains("use the queue \"drop-tail\""));
    let small = problems("queue = \"lossless\"\nbuffer.hpcc.size = \"40KB\"");
    assert!(small.contains("buffer.hpcc.size") && small.contains("9 ports"), "{small}");
    let reserve = problems("queue = \"drop-tail\"\nbuffer.dynamic = { size = \"40KB\", reserve = \"5KB\" }");
    assert!(reserve.contains("buffer.dynamic.size"), "{reserve}");
}

/// Two hosts at 20 Gbps send to one at 10 Gbps, and two others to one at 20 Gbps: ports of 10 Gbps mark nothing, those of
/// 20 Gbps, which have thresholds of their own, each packet that waits.
#[test]
fn thresholds_of_marks_may_go_by_rate() {
    let marks = |by_rate: &str| {
        let run = run(&format!(
            r#"
            transport.roce = {{ congestion.dctcp = {{}} }}
            queue.lossless = {{ kmin = "1GB", kmax = "1GB", xoff = "1MB", by_rate = [{by_rate}] }}
            [topology.explicit]
            hosts = ["a", "b", "slow", "fast"]
            switches = [{{ name = "s" }}]
            rate = "20Gbps"
            delay = "1us"
            cables = [
                {{ ends = ["a", "s"] }}, {{ ends = ["b", "s"] }}, {{ ends = ["slow", "s"], rate = "10Gbps" }},
                {{ ends = ["fast", "s"] }},
            ]
            {}
            "#,
            scenarios::flows("all", &[[0, 2], [0, 3], [1, 2], [1, 3]], 300_000)
        ));
        (run.link("s", "slow", "marks"), run.link("s", "fast", "marks"))
    };
    assert_eq!(marks(""), (0, 0));
    let (slow, fast) = marks(r#"{ rate = "20Gbps", kmin = "0B", kmax = "0B", pmax = 1.0 }"#);
    assert!(slow == 0 && fast > 0, "{slow} {fast}");
    let (slow, fast) = marks(r#"{ rate = "10Gbps", kmin = "0B", kmax = "0B", pmax = 1.0 }"#);
    assert!(slow > 0 && fast == 0, "{slow} {fast}");
}
