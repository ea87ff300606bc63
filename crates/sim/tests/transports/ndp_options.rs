//! NDP's options: priorities of pulls, headers that return to their senders, paths left out.
//!
//! Links of 1 Gbps with a delay of d = 1 us: a full data packet takes T = 12 us, a header or an answer C = 0.512 us.

use crate::common::scenarios::{self, TOGETHER, flow, flow_over_a_line, flows};
use crate::common::{HEADER, PACKET, Run, US, read, run, run_with};
use proptest::prelude::*;

const T: u64 = PACKET;
const C: u64 = HEADER;
/// Payload of a full data packet.
const PAYLOAD: u64 = 1436;

/// `senders` hosts with so many full packets each to host 0, all on one switch at 1 Gbps.
fn incast(senders: u64, packets: u64, settings: &str) -> Run {
    run(&format!("{settings}\n{}", scenarios::incast(senders, "1Gbps", packets * PAYLOAD)))
}

/// Three long flows to host 0, and after a millisecond a short one of n packets, which is more urgent.
fn short_among_long(packets: u64, order: &str) -> Run {
    run(&format!(
        r#"
        transport.ndp = {{ pull_order = "{order}" }}
        topology.single-switch = {{ hosts = 5, rate = "1Gbps" }}
        [[traffic]]
        name = "long"
        priority = 3
        arrivals.at-once = {{ jitter = "0s" }}
        matrix.pairs = [[1, 0], [2, 0], [3, 0]]
        sizes.fixed = "1MB"
        [[traffic]]
        name = "short"
        arrivals.at-once = {{ at = "1ms", jitter = "0s" }}
        matrix.pairs = [[4, 0]]
        sizes.fixed = "{}B"
        "#,
        packets * PAYLOAD
    ))
}

/// NDP-P5. Alone, n packets end after (n + 1) T + 2 d. Among long flows and with strict priority, each pull is the
/// short flow's as long as one of its own waits: what comes on top are the packets of the others that wait at the
/// port (8) or have been pulled already (a round trip, less than 3 T), and the 30 headers of its first window, less
/// than 2 T. With fair turns it has a fourth of the link. The receiver's link is as full either way.
#[test]
fn strict_priority_lets_a_short_flow_pass() {
    let packets = 100;
    let alone = (packets + 1) * T + 2 * US;
    let fct = |run: &Run| run.flows("fct_ps")[3];
    let last = |run: &Run| run.most("fct_ps") as f64;
    let [strict, fair, fifo] = ["strict", "fair", "fifo"].map(|order| short_among_long(packets, order));
    assert!(fct(&strict) <= alone + 14 * T, "{} T", fct(&strict) / T);
    assert!(fct(&fair) >= 2 * alone, "{} T", fct(&fair) / T);
    assert!(fct(&fifo) >= 2 * alone, "{} T", fct(&fifo) / T);
    assert!((last(&strict) / last(&fair) - 1.0).abs() < 0.02);
    assert!((last(&strict) / last(&fifo) - 1.0).abs() < 0.02);
}

/// Two flows that both last share the pulls as their weights say, and so the packets beyond their first windows of
/// ten.
#[test]
fn weights_are_shares_of_the_pulls() {
    for (weights, ratio) in [("[3, 1]", 3), ("[1, 1]", 1), ("[1, 5]", 5), ("[]", 1), ("[7]", 7)] {
        let run = run(&format!(
            r#"
            transport.ndp = {{ pull_order = "weighted", pull_weights = {weights}, initial_window = 10 }}
            topology.single-switch = {{ hosts = 3, rate = "1Gbps" }}
            run.until = "20ms"
            {}
            {}
            priority = 1
            "#,
            flows("first", &[[1, 0]], 10_000_000),
            flows("second", &[[2, 0]], 10_000_000)
        ));
        let delivered: Vec<u64> = run.flows("delivered_bytes").iter().map(|bytes| bytes / PAYLOAD).collect();
        let (more, less) = (*delivered.iter().max().unwrap(), *delivered.iter().min().unwrap());
        assert!(more + less > 1600, "the link is full for 20 ms / T = 1666 packets: {delivered:?}");
        assert!(more.abs_diff(ratio * less) <= 10 * (ratio + 1), "{weights}: {delivered:?}");
        assert!((weights == "[1, 5]") == (delivered[1] > 2 * delivered[0]), "{weights}: {delivered:?}");
    }
}

/// By default a priority has twice the pulls of the next one: four of them have 8, 4, 2 and 1 of 15.
#[test]
fn weights_halve_from_one_priority_to_the_next() {
    let of_priority = |priority: u32| {
        format!(
            "{}\npriority = {priority}\n",
            flows(&format!("flow-{priority}"), &[[priority + 1, 0]], 10_000_000)
        )
    };
    let run = run(&format!(
        "transport.ndp = {{ pull_order = \"weighted\", initial_window = 10 }}\n\
         topology.single-switch = {{ hosts = 5, rate = \"1Gbps\" }}\nrun.until = \"20ms\"\n{}",
        [0, 1, 2, 3].map(of_priority).concat()
    ));
    let pulled: Vec<u64> = run.flows("delivered_bytes").iter().map(|bytes| bytes / PAYLOAD - 10).collect();
    let share = pulled.iter().sum::<u64>() / 15;
    for (packets, weight) in pulled.iter().zip([8, 4, 2, 1]) {
        assert!(packets.abs_diff(weight * share) <= 20, "{pulled:?}: {weight} of 15 are {}", weight * share);
    }
}

/// Three packets of three hosts reach a port at once that holds one packet and one header. The first passes:
/// 2 T + 2 d. The third's header is sent back at T + d and is there C + d later; nothing else is in flight,
/// so it is retransmitted at once, and is at the receiver 2 T + 2 d after that. The second's header waits
/// behind the first packet; its NACK pulls it at 2 T + 3 C + 4 d, and it arrives 2 T + 2 d after that.
#[test]
fn a_lone_header_comes_back_and_its_packet_goes_again() {
    let settings = r#"
        transport.ndp = {}
        queue.ndp = { data_limit = { packets = 1 }, header_limit = { packets = 1 }, trim = "arriving", return_to_sender = true }
        topology.single-switch = { hosts = 4, rate = "1Gbps", delay = "1us" }
    "#;
    let run = run(&format!("{settings}{}", flows("flows", &[[1, 0], [2, 0], [3, 0]], PAYLOAD)));
    let mut fcts = run.flows("fct_ps");
    fcts.sort_unstable();
    let d = US;
    let back = T + d + C + d;
    assert_eq!(fcts, [2 * T + 2 * d, back + 2 * T + 2 * d, 2 * T + 3 * C + 4 * d + 2 * T + 2 * d]);
    let counters = run.counters();
    assert_eq!((counters.bounces, counters.drops, counters.timeouts), (1, 0, 0));
    assert_eq!((counters.trims, run.total("trims"), counters.retransmissions), (2, 1, 2));
}

/// Pulls that are far apart are no sign of loss: with 200 senders each has one in 2.4 ms, which is longer
/// than the backstop's least timeout. Only a lost pull is to be made good by a packet without a pull.
#[test]
fn those_who_wait_for_their_turn_wait() {
    let trims = |senders: u64| {
        let run = incast(senders, 40, "transport.ndp = {}\nqueue.ndp.return_to_sender = true");
        let counters = run.counters();
        assert_eq!((counters.timeouts, counters.drops, counters.unfinished_flows), (0, 0, 0));
        (counters.trims + counters.bounces) as f64 / senders as f64
    };
    // Each has a first window of 30 packets, of which hardly one fits, and may be trimmed a second time.
    assert!(trims(200) < 1.5 * trims(60), "{} and {}", trims(200), trims(60));
}

/// Entries with windows of their own still share the one pull queue of their receiver: together they get what its link
/// carries, and nothing is trimmed but of the first windows.
#[test]
fn configurations_share_the_pull_queue() {
    let text = |other: &str| {
        format!(
            r#"
            [topology.single-switch]
            hosts = 5
            rate = "1Gbps"
            [transport.ndp]
            initial_window = 8
            {}
            {}
            transport.ndp = {{ {other} }}
            "#,
            flows("short", &[[1, 0], [2, 0]], 500 * PAYLOAD),
            flows("long", &[[3, 0], [4, 0]], 500 * PAYLOAD)
        )
    };
    let run = run(&text("initial_window = 5"));
    let counters = run.counters();
    assert_eq!((counters.timeouts, counters.drops), (0, 0));
    assert!(counters.trims <= 2 * 8 + 2 * 5, "{} trims", counters.trims);
    let (all, last) = (2000 * T, run.most("fct_ps"));
    assert!((last as f64) < 1.02 * all as f64, "{last} ps for {all} ps of packets");
    // What is the queue's own cannot differ.
    let problem = read(&text("pull_order = \"strict\"")).unwrap_err().to_string();
    assert!(problem.contains("traffic.long.transport.ndp.pull_order"), "{problem}");
    assert!(problem.contains("\"strict\" is not \"fair\", as transport has"), "{problem}");
}

/// A limit in packets is one of as many full ones, for headers, too.
#[test]
fn as_many_bytes_of_headers() {
    let flows = |limit: &str| {
        let run = incast(30, 20, &format!("transport.ndp = {{}}\nqueue.ndp.data_limit.{limit}"));
        assert!(run.counters().trims > 0);
        run.flows("fct_ps")
    };
    assert_eq!(flows("packets = 8"), flows("full-packets = 8"));
    assert_eq!(flows("bytes = \"12000B\""), flows("full-packets = 8"));
}

/// A port that has not even room for one packet trims it, idle or not: each goes as a header, and no flow ever ends.
#[test]
fn a_port_without_room_trims() {
    let run = run(&format!(
        r#"
        transport.ndp = {{}}
        queue.ndp = {{ data_limit.bytes = "1000B", header_limit.bytes = "12000B" }}
        topology = "line"
        run.until = "1ms"
        {}
        "#,
        flow(PAYLOAD)
    ));
    assert!(run.flow("trims") > 10 && run.flow("drops") == 0);
    assert_eq!(run.flow("trims"), run.counters().trims);
}

/// A flow of so many packets through one switch, beside a fault.
fn beside_a_fault(rate: &str, fault: &str, packets: u64) -> Run {
    run(&format!(
        r#"
        transport = "ndp"
        topology.line = {{ switches = 1, rate = "{rate}" }}
        faults.events = [{{ at = "0s", {fault}, change.rate = "100Mbps" }}]
        {}
        "#,
        flow(packets * PAYLOAD)
    ))
}

/// Pulls leave at the rate that the link has then: one that was slow at first does not stay so.
#[test]
fn pulls_follow_the_rate_of_the_link() {
    let run = beside_a_fault("10Gbps", r#"lasts = "1ms", target.cable = ["switch 0", "host 1"]"#, 4000);
    // 4000 packets take 4.8 ms at 10 Gbps, and 480 ms at 100 Mbps.
    assert!(run.flow("fct_ps") < 7_000 * US, "{}", run.flow("fct_ps"));
}

/// One direction of the receiver's cable is slow. Data: pulls come at its pace, so that no more is trimmed than of the
/// first window. Answers: they fit, one of 64 B or two for each packet, and data is not held up.
#[test]
fn pulls_follow_the_rate_of_data_not_of_answers() {
    let data = beside_a_fault("1Gbps", r#"target.link = ["switch 0", "host 1"]"#, 1000);
    assert!(data.flow("fct_ps") < 1050 * 10 * T, "{} for data", data.flow("fct_ps"));
    assert!(data.flow("trims") < 30, "{} trims", data.flow("trims"));
    let answers = beside_a_fault("1Gbps", r#"target.link = ["host 1", "switch 0"]"#, 1000);
    assert!(answers.flow("fct_ps") < 1050 * T, "{} for answers", answers.flow("fct_ps"));
    assert_eq!(answers.flow("trims"), 0);
}

/// Two flows to a host with two interfaces: each has its own if they come by both, half of one if by the same.
#[test]
fn each_interface_has_its_pull_queue() {
    for (sources, share) in [([1u32, 4], 1), ([1, 2], 2)] {
        let run = run(&format!(
            "transport.ndp.initial_window = 23\ntopology.bcube = {{ n = 4, k = 1, rate = \"1Gbps\" }}\n{}",
            flows("flows", &sources.map(|source| [source, 0]), 1000 * PAYLOAD)
        ));
        let fcts = run.flows("fct_ps");
        let (needed, last) = (share * 1000 * T, fcts.iter().copied().max().unwrap());
        assert!((needed..needed + 50 * T).contains(&last), "{last} from {sources:?}");
        // Which packets of the first windows are trimmed is drawn: one flow may be ahead by a window of 23 packets.
        let ahead = needed - 23 * T;
        assert!(fcts.iter().all(|&fct| fct >= ahead), "{fcts:?} from {sources:?}");
    }
}

/// An incast whose headers do not fit: dropped, they are missed until the backstop's timeout. Sent back,
/// nothing is lost: what is sent arrives, arrives as a header, or comes back, and each of the latter two is
/// retransmitted once.
#[test]
fn nothing_is_lost_if_headers_return() {
    let ended = |returns: bool| {
        let (senders, packets) = (60, 40);
        let queue =
            format!("queue.ndp = {{ header_limit = {{ packets = 50 }}, return_to_sender = {returns} }}");
        let run = incast(senders, packets, &format!("transport.ndp = {{}}\n{queue}"));
        let (sent, headers) = (run.total("packets_sent"), run.total("trims"));
        let counters = run.counters();
        assert_eq!(counters.unfinished_flows, 0);
        let last = run.most("fct_ps");
        (sent - senders * packets - headers, counters, last as f64 / (senders * packets * T) as f64)
    };
    let (again, counters, last) = ended(true);
    assert!(counters.bounces > 100);
    assert_eq!((counters.drops, counters.timeouts), (0, 0));
    assert_eq!(again, counters.bounces);
    // The paper has an incast end within 2 % of the ideal; headers take some of the link here.
    assert!(last < 1.05, "{last}");
    let (_, counters, _) = ended(false);
    assert!(counters.drops > 100 && counters.timeouts > 0 && counters.bounces == 0, "{counters:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Headers that return are conserved anywhere in a fabric, by the audit, and end no flow early or never.
    #[test]
    fn returned_headers_are_conserved(
        headers in 1u32..6,
        data in 1u32..4,
        window in 1u32..40,
        size in 1u32..80_000,
        penalty in any::<bool>(),
        balancer in 0usize..3,
        seed in any::<u32>(),
    ) {
        let balancer = if penalty { "permuted" } else { ["permuted", "per-packet", "per-flow"][balancer] };
        let penalty = if penalty { ", path_penalty = { answers = 5 }" } else { "" };
        let text = format!(
            r#"
            transport.ndp = {{ initial_window = {window}, rto_initial = "2ms"{penalty} }}
            queue.ndp = {{ data_limit = {{ full-packets = {data} }}, header_limit = {{ packets = {headers} }}, return_to_sender = true }}
            topology.fat-tree = {{ k = 4, oversubscription = 2 }}
            routing.balancer = "{balancer}"
            run.seed = {seed}
            [[traffic]]
            name = "incast"
            arrivals.at-once = {{}}
            matrix.incast = {{ senders = 20 }}
            sizes.fixed = "{size}B"
            [[traffic]]
            name = "others"
            priority = 5
            arrivals.at-once = {{}}
            matrix = "permutation"
            sizes.fixed = "{size}B"
            "#
        );
        let run = run(&text);
        prop_assert_eq!(run.counters().unfinished_flows, 0);
        prop_assert_eq!(run.total("drops"), run.counters().drops);
    }
}

/// Two paths of the host's rate, of which one falls to a tenth: of the packets sprayed on both, that one delivers a
/// fifth, so 0.6 of what is pulled for arrives whole. With that path left out, all of it does. (Eight packets wait
/// 0.96 ms at that rate: too long for a backstop of 1 ms.)
#[test]
fn a_slow_path_is_left_out() {
    let network = r#"
        transport.ndp = { rto_min = "10ms" }
        routing.balancer = "permuted"
        topology.leaf-spine = { leaves = 2, spines = 2, hosts = 1, rate = "1Gbps" }
        [faults]
        events = [{ at = "0s", target.link = ["leaf 0", "spine 0"], change = { rate = "100Mbps" } }]
    "#;
    let text = format!("{network}{}", flow(10_000_000));
    let goodput = |penalty: &[(&str, &str)]| {
        let run = run_with(&text, penalty);
        assert_eq!(run.counters().timeouts, 0);
        (10_000_000.0 / PAYLOAD as f64).ceil() * T as f64 / run.flow("fct_ps") as f64
    };
    let (with, without) = (goodput(&[("transport.ndp.path_penalty", "{}")]), goodput(&[]));
    println!("goodput: {with} with penalties, {without} without");
    assert!((0.55..0.65).contains(&without), "{without}");
    assert!(with > 0.9, "{with}");
}

/// Pulls 2 T apart, given as a time: 40 packets of the first window, then the pulls of the 159 others, the first with
/// the first ACK, at T + d + T + d.
#[test]
fn the_time_between_pulls_can_be_given() {
    let run = run(&format!(
        r#"
        transport.ndp = {{ initial_window = 40, pull_spacing = "24us", pull_rate = 3 }}
        {}
        "#,
        flow_over_a_line(1, 1, 199 * PAYLOAD)
    ));
    assert_eq!(run.flow("fct_ps"), 2 * T + 2 * US + 158 * 2 * T + 2 * (C + US) + 2 * T + 2 * US);
}

/// A first window that goes with the headers is never trimmed, so that an incast of nothing else repeats nothing.
#[test]
fn a_first_window_can_be_spared() {
    for (spared, trims) in [(true, false), (false, true)] {
        let transport = format!("transport.ndp = {{ first_window_as_headers = {spared} }}");
        let run = incast(10, 30, &format!("{transport}\nqueue.ndp.header_limit = {{ packets = 1000 }}"));
        assert_eq!(run.counters().trims > 0, trims);
        assert_eq!(run.counters().retransmissions, run.counters().trims);
    }
}

/// The example of NDP's page runs, to its end and without a timeout.
#[test]
fn the_example_of_the_documentation_runs() {
    let page = include_str!("../../../../docs/transports/ndp.md");
    let (_, rest) = page.split_once("```toml\n").expect("an example");
    let run = run(rest.split_once("```").expect("its end").0);
    assert_eq!((run.counters().unfinished_flows, run.counters().timeouts), (0, 0));
}

#[test]
fn penalties_need_a_balancer_that_leaves_paths_to_the_sender() {
    let message = |routing: &str, own: &str| {
        let text = format!(
            r#"
            transport.ndp.path_penalty = {{}}
            topology.fat-tree = {{}}
            {routing}
            [[traffic]]
            name = "flows"
            arrivals.at-once = {{}}
            matrix = "permutation"
            sizes.fixed = "1KB"
            {own}
            "#
        );
        read(&text).err().map(|problems| problems.to_string())
    };
    let expected = |balancer: &str| {
        Some(format!(
            "transport.ndp.path_penalty: needs a balancer that leaves paths to the sender, not \"{balancer}\"; \
             use routing.balancer = \"permuted\""
        ))
    };
    assert_eq!(message("", ""), expected("per-packet"));
    assert_eq!(message("routing.balancer = \"per-flow\"", ""), expected("per-flow"));
    assert_eq!(
        message("routing.balancer = \"permuted\"", "routing.balancer = \"single\""),
        expected("single")
    );
    assert_eq!(message("routing.balancer = \"permuted\"", ""), None);
    assert_eq!(message("routing.balancer = \"permuted\"", "routing = {}"), None);
    assert_eq!(message("", "routing.balancer = \"permuted\""), None);
}

/// htsim compares `-q N` times the payload with packets and their headers: of 8 x 4000 B of room seven packets of 4064 B
/// take 28,448 B, and eight 32,512 B, which is 512 B too much. So of n packets of n hosts that reach an idle port at once
/// it trims all but seven, where eight full packets of room trim all but eight, as many bytes as 8 x 4064.
#[test]
fn htsims_room_for_n_packets_is_for_one_less() {
    let transport = r#"transport.ndp = { mtu = "4000B", mtu_includes_header = false, initial_window = 50, pad_last = true }"#;
    let at_once = |packets: u64, limit: &str| {
        let text = format!(
            r#"
            {transport}
            queue.ndp = {{ data_limit.{limit}, header_limit.bytes = "64000B", trim = "arriving" }}
            {}
            "#,
            scenarios::incast(packets, "100Gbps", 4000)
        );
        let run = run_with(&text, &[TOGETHER]);
        // None of those that are repeated finds the port full again.
        run.counters().trims
    };
    for (limit, room) in [("bytes = \"32000B\"", 7), ("full-packets = 8", 8), ("bytes = \"32512B\"", 8)] {
        for packets in 6..=10 {
            assert_eq!(at_once(packets, limit), packets.saturating_sub(room), "{packets}, {limit}");
        }
    }
    // What that packet is worth: a permutation of 128 hosts, 500 packets each.
    let permutation = |limit: &str| {
        let run = run(&format!(
            r#"
            {transport}
            queue.ndp = {{ data_limit.{limit}, header_limit.bytes = "64000B", headers_per_data = 0 }}
            routing.balancer = "permuted"
            topology.fat-tree = {{ k = 8, rate = "100Gbps", delay = "1us" }}
            [[traffic]]
            name = "permutation"
            arrivals = "at-once"
            matrix = "permutation"
            sizes.fixed = "2MB"
            "#
        ));
        run.counters().trims
    };
    let (htsim, full) = (permutation("bytes = \"32000B\""), permutation("full-packets = 8"));
    println!("{htsim} and {full} trims");
    assert!(htsim > 3 * full, "{htsim} and {full} trims");
}
