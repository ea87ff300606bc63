//! Packets that come out of links at the same instant, against losses worked out by hand.
//!
//! Hosts at one switch, 1 Gbps, cables of 1 us; datagrams of 1500 B, which take T = 12 us. The port to host 0 holds one or
//! two packets, that on its wire included.

use flowyard_sim::engine::data::plan::Agenda;
use flowyard_sim::engine::parted::executor::InTurn;
use flowyard_sim::results::Partition;
use flowyard_sim::threads::Threads;

use crate::common::scenarios::{flows, incast};
use crate::common::{self, Run, run_scenario, run_with, same, scenario};

const PAYLOAD: u64 = 1472;

/// A switch with three hosts beside host 0, whose port holds so many packets.
fn switch(packets: u32, traffic: &str) -> String {
    format!(
        r#"
        transport = "datagram"
        queue.drop-tail.limit.packets = {packets}
        topology.single-switch = {{ hosts = 4, rate = "1Gbps", delay = "1us" }}
        {traffic}
        "#
    )
}

fn with_ties(text: &str, ties: &str, seed: u64) -> Run {
    run_with(text, &[("run.ties", ties), ("run.seed", &seed.to_string())])
}

/// Two hosts send 400 packets each, back to back. From the second slot on a packet leaves the port, the first to come takes
/// its place, and the other is lost. By arrival the two of the second slot find both places taken: the transmission of the
/// first slot's packet began after theirs, and ends after they come.
#[test]
fn two_links_that_always_tie() {
    let text = switch(2, &flows("both", &[[1, 0], [2, 0]], 400 * PAYLOAD));
    let drops = |ties, seed| with_ties(&text, ties, seed).flows("drops");
    let by_link: Vec<_> = (1..9).map(|seed| drops("link", seed)).collect();
    assert!(by_link.iter().all(|drops| *drops == [0, 399] || *drops == [399, 0]), "{by_link:?}");
    assert!(by_link.contains(&vec![0, 399]) && by_link.contains(&vec![399, 0]), "the seed ranks links");
    for seed in 1..4 {
        assert_eq!(drops("arrival", seed), [1, 399]);
        let drawn = drops("drawn", seed);
        assert_eq!(drawn.iter().sum::<u64>(), 399);
        // Half of them each; a standard deviation is 10.
        assert!(drawn[0].abs_diff(199) < 50, "{drawn:?}");
    }
}

/// Three hosts send a packet each at 300 instants to a port that holds one.
#[test]
fn three_links_that_always_tie() {
    let at: Vec<_> = (0..900).map(|flow| format!("{}us", 100 * (flow / 3))).collect();
    let text = switch(
        1,
        &format!(
            r#"
            [[traffic]]
            name = "all"
            arrivals.times = {{ at = {at:?}, jitter = "0s" }}
            matrix.pairs = [[1, 0], [2, 0], [3, 0]]
            sizes.fixed = "{PAYLOAD}B"
            "#
        ),
    );
    let wins = |ties| {
        let run = with_ties(&text, ties, 1);
        let mut wins = [0_u64; 3];
        for (src, drops) in run.flows("src").into_iter().zip(run.flows("drops")) {
            wins[src as usize - 1] += 1 - drops;
        }
        assert_eq!(wins.iter().sum::<u64>(), 300);
        wins
    };
    // Flows that start together start in the order of the pairs.
    assert_eq!(wins("arrival"), [300, 0, 0]);
    assert!(wins("link").contains(&300));
    // A third of them each; a standard deviation is 8.2.
    let drawn = wins("drawn");
    assert!(drawn.iter().all(|wins| wins.abs_diff(100) < 41), "{drawn:?}");
}

/// A packet of 1500 B starts at time zero, one of 750 B 6 us later: both are there at T + 1 us, and the long one began first.
#[test]
fn by_arrival_the_longer_of_two_packets_goes_first() {
    let text = |long: u32, short: u32| {
        let short = format!(
            r#"
            [[traffic]]
            name = "short"
            arrivals.times = {{ at = ["6us"], jitter = "0s" }}
            matrix.pairs = [[{short}, 0]]
            sizes.fixed = "722B"
            "#
        );
        switch(1, &(flows("long", &[[long, 0]], PAYLOAD) + &short))
    };
    let long_passes = |ties, seed, long, short| {
        let run = with_ties(&text(long, short), ties, seed);
        assert_eq!(run.total("drops"), 1);
        run.flow_of("long", "drops") == 0
    };
    let mut passes = 0;
    for seed in 1..41 {
        assert!(long_passes("arrival", seed, 1, 2) && long_passes("arrival", seed, 2, 1));
        assert_ne!(long_passes("link", seed, 1, 2), long_passes("link", seed, 2, 1), "one link wins");
        passes += u64::from(long_passes("drawn", seed, 1, 2));
    }
    // Half of 40; a standard deviation is 3.2.
    assert!(passes.abs_diff(20) < 16, "{passes}");
}

/// Committed ports, serviced ones, service in retrospect, parts and threads: one order of ties.
#[test]
fn drawn_and_fixed_ties_are_the_same_in_every_mode_and_in_parts() {
    let text = format!(
        r#"
        topology.fat-tree = {{ k = 4, rate = "1Gbps", delay = "2us" }}
        {}
        "#,
        flows("all", &[[4, 0], [8, 0], [12, 0], [5, 1], [9, 1], [13, 1], [2, 15], [6, 15]], 300_000)
    );
    let members = [
        "transport = \"tcp\"\nqueue.drop-tail.limit.packets = 8",
        "transport.tcp.congestion = \"dctcp\"\nqueue.ecn = { limit.packets = 12, threshold.packets = 4 }",
        "transport = \"tcp\"\nqueue.strict-priority.limit.packets = 8",
    ];
    for members in members {
        let mut digests = Vec::new();
        for ties in ["drawn", "link"] {
            let with = |mode| {
                scenario(&format!("{members}\n{text}"), &[("run.ties", ties), ("run.port_mode", mode)])
            };
            let auto = with("auto");
            let expected = run_scenario(&auto, Agenda::Calendar);
            assert!(expected.total("drops") > 0, "{members}");
            assert_eq!(expected.digest(), run_scenario(&with("serviced"), Agenda::Calendar).digest());
            same(&expected, &run_scenario(&auto, Agenda::Heap));
            same(&expected, &common::in_parts(&auto, 2, &InTurn));
            same(&expected, &common::in_parts(&auto, 4, &Threads(3)));
            digests.push(expected.digest().to_owned());
        }
        assert_ne!(digests[0], digests[1], "{members} has ties");
    }
}

/// The order is that of all transmissions: such a run has one part, and says why.
#[test]
fn by_arrival_a_run_has_one_part() {
    let text =
        format!("transport = \"tcp\"\nqueue.drop-tail.limit.packets = 4\n{}", incast(3, "1Gbps", 100_000));
    let with = |mode| scenario(&text, &[("run.ties", "arrival"), ("run.port_mode", mode)]);
    let expected = run_scenario(&with("auto"), Agenda::Calendar);
    assert!(expected.total("drops") > 0);
    same(&expected, &run_scenario(&with("serviced"), Agenda::Calendar));
    same(&expected, &run_scenario(&with("auto"), Agenda::Heap));
    let parted = common::in_parts(&with("auto"), 4, &InTurn);
    assert_eq!(expected.digest(), parted.digest());
    let how = parted.0.summary.partition.expect("a run that was to have parts says how it went");
    assert!(matches!(how, Partition::Whole(reason) if reason.contains("run.ties")), "{how:?}");
}

/// Table 5.4 of Song's thesis (Iowa 2017), made with ns-3.14: four flows of 5 MB from the first pod to the second, over one
/// path each through ports of 30 packets, take 0.53, 0.87, 0.53 and 0.61 s, and 0, 26, 0 and 1 of their packets are lost.
#[test]
fn by_arrival_four_flows_lose_what_they_lose_in_ns_3() {
    let text = format!(
        r#"
        topology.fat-tree = {{ k = 4, rate = "1Gbps", delay = "500us" }}
        routing.balancer = "single"
        queue.drop-tail = {{ limit.packets = 30, limit_counts_wire = false }}
        [transport.tcp]
        congestion = "reno"
        mss = "1452B"
        header_bytes = "40B"
        link_bytes = "2B"
        receive_window = "65535B"
        initial_window = 1
        initial_ssthresh = "65535B"
        delayed_ack = 2
        delayed_ack_timeout = "200ms"
        ack_first_segment = true
        rto_min = "200ms"
        growth = "whole-acks"
        {}
        "#,
        flows("data", &[[0, 4], [1, 5], [2, 6], [3, 7]], 5_000_000)
    );
    let run = with_ties(&text, "arrival", 1);
    assert_eq!(run.flows("drops"), [0, 26, 0, 1]);
    let hundredth = 10 * common::MS;
    let hundredths: Vec<_> =
        run.flows("fct_ps").iter().map(|time| (time + hundredth / 2) / hundredth).collect();
    assert_eq!(hundredths, [53, 87, 53, 61]);
}

/// Two long DCTCP flows whose acknowledgements are delayed share a port evenly; ns-3 has 49 to 51.
#[test]
fn two_dctcp_flows_with_delayed_acknowledgements_share_a_port() {
    let long = |from: u32, at: u32| {
        format!(
            r#"
            [[traffic]]
            name = "from-{from}"
            background = true
            arrivals.times = {{ at = ["{at}us"], jitter = "0s" }}
            matrix.pairs = [[{from}, 0]]
            sizes = "endless"
            "#
        )
    };
    let text = format!(
        r#"
        run.until = "400ms"
        transport.tcp = {{ congestion = "dctcp", delayed_ack = 2 }}
        queue.ecn = {{ limit.packets = 1002, threshold.packets = 22 }}
        topology.single-switch = {{ hosts = 3, rate = "1Gbps", delay = "25us" }}
        {}{}
        "#,
        long(1, 0),
        long(2, 37)
    );
    for ties in ["drawn", "arrival"] {
        let shares = with_ties(&text, ties, 1).flows("delivered_bytes");
        let (sum, squares): (u64, u64) =
            (shares.iter().sum(), shares.iter().map(|share| share * share).sum());
        let jain = (sum as f64).powi(2) / (2.0 * squares as f64);
        assert!(jain > 0.98, "{ties}: {shares:?}");
    }
}
