//! RCP against processor sharing, max-min fairness and the fluid equation of its rate; and the pacer that it shares with
//! other schemes against times by hand.
//!
//! Dukkipati and McKeown, "Why flow-completion time is the right metric for congestion control", CCR 2006.

use flowyard_sim::engine::data::finished::Status;

use crate::common::{MS, PACKET, Run, US, run, run_with};
use crate::racks;

/// Four links of 75 us: 300 us there and back, besides transmissions.
const RTT: u64 = 300 * US;

/// A rack at 10 Gbps whose routers have alpha = 0.4, with what flows there are, and samples of their rates every 3 ms.
fn rack(hosts: u32, traffic: &str, until_ms: u64) -> Run {
    let rack = racks::rack(hosts, "10Gbps", "75us");
    run(&format!(
        r#"
        {rack}
        [transport.rcp]
        [agent.rcp]
        alpha = 0.4
        beta = 0.4
        {traffic}
        [observe]
        samples = {{ every = "3ms", links = [], flows = ["*"] }}
        [run]
        until = "{until_ms}ms"
        "#
    ))
}

/// An entry in the background whose flows to host 0 start at that time.
fn entry(name: &str, senders: &[u32], start_ms: u64, size: &str) -> String {
    racks::entry(name, senders, start_ms * 1000, &format!("sizes = {size}\nbackground = true"))
}

/// Rates of flows at a sample, in ascending order, in shares of what the line carries: 1460 of 1500 B are payload.
fn shares(run: &Run, at: u64, line: f64) -> Vec<f64> {
    let samples = run.samples("rate_bps").into_iter().filter(|(time, _)| *time == at);
    let mut shares: Vec<f64> = samples.map(|(_, rate)| rate / (line * 1460.0 / 1500.0)).collect();
    shares.sort_by(f64::total_cmp);
    shares
}

/// From ten round trips after a fifth flow has joined four that share the link, all have a fifth on the mean of the next ten;
/// likewise after one has left, all have
/// a fourth: within 10 %.
#[test]
fn flows_share_as_processors_ten_round_trips_after_a_change() {
    let traffic =
        entry("long", &[1, 2, 3, 4], 0, "\"endless\"") + &entry("joins", &[5], 150, "{ fixed = \"40MB\" }");
    let run = rack(6, &traffic, 600);
    let before = shares(&run, 150 * MS, 1e10);
    assert_eq!(before.len(), 4);
    assert!(before.iter().all(|share| (share / 0.25 - 1.0).abs() < 0.1), "{before:?}");
    let joined = shares(&run, 156 * MS, 1e10);
    assert_eq!(joined.len(), 5);
    assert!(joined.iter().all(|share| (share / 0.2 - 1.0).abs() < 0.1), "{joined:?}");
    let left_at = 150 * MS + run.flow_of("joins", "fct_ps");
    let settled = left_at + 10 * RTT + RTT;
    // The first sample whose whole interval lies behind that.
    let at = settled.div_ceil(3 * MS) * 3 * MS + 3 * MS;
    let after = shares(&run, at, 1e10);
    assert_eq!(after.len(), 4);
    assert!(after.iter().all(|share| (share / 0.25 - 1.0).abs() < 0.1), "{after:?} at {at}");
}

/// Two links in a row: one flow crosses both, one the first, two the second. Max-min: a third each on the second, and what is
/// left of the first, two thirds, to the flow that has it for itself. With alpha = beta a link's share that is left free is
/// q / (C d). Of three flows that are paced at most two packets wait, and of two one: of 2500 B a packet time in d, at least
/// six cables of 50 us, 8 % and 4 %. The first is what flows on the second link lack at most; the other is 6 % of two
/// thirds, and what the flow over both lacks, 4 % of two thirds, goes to it: within 8 %, on means of 20 ms.
#[test]
fn a_parking_lot_is_shared_max_min() {
    let run = run(r#"
        [topology.explicit]
        hosts = ["0", "1", "2", "3", "4"]
        switches = [{ name = "a" }, { name = "b" }, { name = "c" }]
        cables = [
            { ends = ["0", "a"] }, { ends = ["1", "a"] }, { ends = ["a", "b"] }, { ends = ["2", "b"] },
            { ends = ["3", "b"] }, { ends = ["b", "c"] }, { ends = ["4", "c"] },
        ]
        rate = "1Gbps"
        delay = "50us"
        [transport.rcp]
        [agent.rcp]
        alpha = 0.4
        beta = 0.4
        [[traffic]]
        name = "long"
        arrivals.at-once = {}
        matrix.pairs = [[0, 4], [1, 2], [2, 4], [3, 4]]
        sizes = "endless"
        background = true
        [observe]
        samples = { every = "20ms", links = [], flows = ["*"] }
        [run]
        until = "300ms"
        "#);
    let found = shares(&run, 300 * MS, 1e9);
    for (share, expected) in found.iter().zip([1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0]) {
        assert!((share / expected - 1.0).abs() < 0.08, "{found:?}");
    }
}

/// The authors' constants: five flows begin at half of the link, and u' = (alpha / d) u (1 - u) = 2 u (1 - u) a second from
/// there: u(t) = 1 / (1 + e^(-2t)). Within 5 points, on means of 200 ms.
#[test]
fn a_cold_start_follows_the_fluid_equation() {
    let run = run(&format!(
        r#"
        [topology.single-switch]
        hosts = 6
        rate = "1Gbps"
        delay = "75us"
        [transport.rcp]
        [agent.rcp]
        alpha = 0.4
        beta = 0.4
        initial_rate = 0.1
        initial_rtt = "200ms"
        timeslot = "10ms"
        {}
        [observe]
        samples = {{ every = "200ms", links = ["switch -> host 0"], flows = [] }}
        [run]
        until = "2s"
        "#,
        entry("long", &[1, 2, 3, 4, 5], 0, "\"endless\"")
    ));
    let found = run.samples("utilisation");
    assert_eq!(found.len(), 10);
    // The integral of u is ln(1 + e^(2t)) / 2.
    let integral = |t: f64| (2.0 * t).exp().ln_1p() / 2.0;
    for (at, share) in found {
        let end = at as f64 / 1e12;
        let expected = (integral(end) - integral(end - 0.2)) / 0.2;
        assert!((share - expected).abs() < 0.05, "at {end} s: {share}, expected {expected}");
    }
}

/// Alone on an idle link whose rate is the line's: SYN there, answer back, then packets back to back. Over two cables of 75 us
/// at 1 Gbps, n packets of 1500 B: handshake 4 (75 us + 320 ns), data n + 1 packet times and 150 us.
#[test]
fn a_lone_flow_takes_a_handshake_and_its_packets() {
    let scenario = |packets: u64| {
        format!(
            r#"
            [topology.single-switch]
            hosts = 2
            rate = "1Gbps"
            delay = "75us"
            [transport.rcp]
            [agent.rcp]
            initial_rate = 1.0
            [[traffic]]
            name = "flow"
            arrivals.at-once.jitter = "0s"
            matrix.pairs = [[1, 0]]
            sizes.fixed = "{}B"
            "#,
            1460 * packets
        )
    };
    for packets in [1, 10] {
        let run = run(&scenario(packets));
        let expected = 4 * (75 * US + 320_000) + (packets + 1) * PACKET + 150 * US;
        assert_eq!(run.flow("fct_ps"), expected);
        assert_eq!(run.flow("ideal_fct_ps"), (packets + 1) * PACKET + 150 * US);
        // The last acknowledgement: two more links.
        assert_eq!(run.flow("fct_acked_ps"), expected + 2 * (75 * US + 320_000));
    }
}

/// Hosts at a switch whose ports give each flow of RCP half of the line, to go behind a scenario's transport and before its traffic.
const HALF_OF_THE_LINE: &str = r#"
    [topology.single-switch]
    hosts = 4
    rate = "1Gbps"
    delay = "75us"
    [agent.rcp]
    alpha = 0.0
    beta = 0.0
    initial_rate = 0.5
"#;
const FLOW: &str = r#"
    [[traffic]]
    name = "flow"
    transport = "rcp"
    arrivals.at-once.jitter = "0s"
    matrix.pairs = [[1, 0]]
    sizes.fixed = "14600B"
"#;
const FLOW_TAKES: u64 = 4 * (75 * US + 320_000) + 9 * 2 * PACKET + 2 * PACKET + 150 * US;

/// Half of the line: packets are 24 us apart.
#[test]
fn packets_are_as_far_apart_as_the_rate_says() {
    let run = run(&format!("transport = \"rcp\"\n{HALF_OF_THE_LINE}{FLOW}"));
    assert_eq!(run.flow("fct_ps"), FLOW_TAKES);
}

/// The same where TCP's flow, on other links, comes before it in the scenario: ports serve RCP's flows and no others.
#[test]
fn agents_serve_their_transport_among_others() {
    let other = r#"
        [[traffic]]
        name = "other"
        arrivals.at-once.jitter = "0s"
        matrix.pairs = [[2, 3]]
        sizes.fixed = "14600B"
    "#;
    let run = run(&format!("transport = \"tcp\"\n{HALF_OF_THE_LINE}{other}{FLOW}"));
    assert_eq!(run.flow_of("flow", "fct_ps"), FLOW_TAKES);
}

/// A hundredth of the line: packets are 1.2 ms apart. The answer to each, after 4 * 75 us + 2 (12 us + 320 ns), and that to the
/// request which follows at once, 301.28 us later, find that the next packet is more than a round trip away; the third answer
/// finds it nearer. So there are three requests a packet, and a SYN.
#[test]
fn a_slow_flow_asks_each_round_trip() {
    let run = run(r#"
        [topology.single-switch]
        hosts = 2
        rate = "1Gbps"
        delay = "75us"
        [transport.rcp]
        [agent.rcp]
        alpha = 0.0
        beta = 0.0
        initial_rate = 0.01
        [[traffic]]
        name = "flow"
        arrivals.at-once.jitter = "0s"
        matrix.pairs = [[1, 0]]
        sizes.fixed = "146KB"
        [run]
        until = "12300us"
        "#);
    assert_eq!(run.flow("packets_sent"), 10);
    assert_eq!(run.link("host 1", "switch", "packets"), 1 + 10 * 3);
}

/// Whatever is lost, SYN, data or FIN, every flow completes, and nothing is given up.
#[test]
fn flows_survive_lossy_links() {
    let text = r#"
        [topology.single-switch]
        hosts = 9
        rate = "1Gbps"
        delay = "5us"
        [transport.rcp]
        [[traffic]]
        name = "incast"
        arrivals.at-once = {}
        matrix.incast = { senders = 8 }
        sizes.fixed = "60KB"
        [[faults.events]]
        at = "0s"
        target.cable = ["switch", "host 0"]
        change.loss = 0.05
    "#;
    for seed in ["1", "2", "3"] {
        let run = run_with(text, &[("run.seed", seed)]);
        assert_eq!((run.counters().unfinished_flows, run.counters().abandoned_flows), (0, 0));
        assert!(run.counters().lost > 0 && run.counters().retransmissions > 0);
    }
}

/// Two hosts at the ends of a cable with a round trip of four requests: those of nine flows fill it. Control packets leave a
/// host ahead of data, so that data waits until its flow has sent no request for it for a timeout, 1 ms; then all data that
/// waits has its turn. Six flows of three packets and their replies, of three, wait at most once for each packet.
#[test]
fn requests_that_fill_a_link_do_not_keep_data_from_it() {
    let run = run(r#"
        [topology.relay]
        rate = "1Gbps"
        delay = "300ns"
        [transport.rcp]
        pacing.rto_min = "1ms"
        [agent.rcp]
        alpha = 0.7
        beta = 1.8
        initial_rate = 0.8
        [queue.infinite]
        [routing]
        balancer.nix.answers = "backwards"
        [[traffic]]
        name = "flows"
        matrix.pairs = [[0, 1], [1, 0], [0, 1]]
        sizes.fixed = "2921B"
        arrivals.at-once.jitter = "0s"
        flows = 10
        [[traffic]]
        name = "replies"
        arrivals.after = { entry = "flows", event = "acked" }
        matrix.reply.to = "flows"
        sizes.fixed = "4KB"
        [run]
        work_limit = 10000000
        "#);
    assert_eq!(run.status(), Status::Complete);
    assert!(run.end() < 12 * MS, "{} ps", run.end());
}
