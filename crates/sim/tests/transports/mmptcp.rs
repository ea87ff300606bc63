//! MMPTCP (Kheirkhah, Wakeman and Parisis, INFOCOM 2016): the spread of packet scatter by its closed form, the switch, and
//! timeouts of short flows. EW-MPTCP under an incast.

use crate::common::{Run, US, cells, run};

/// One flow of 2,000 segments between two leaves with four spines.
fn alone(scatter: &str) -> Run {
    run(&format!(
        r#"
        topology.leaf-spine = {{ leaves = 2, spines = 4, hosts = 1, rate = "10Gbps", spine.rate = "10Gbps" }}
        queue = "infinite"
        [transport.mptcp]
        subflows = 4
        scatter = {scatter}
        tcp = {{ preset = "datacentre", receive_window = "10MB" }}
        [[traffic]]
        name = "flow"
        arrivals.at-once = {{}}
        matrix.pairs = [[0, 1]]
        sizes.fixed = "2920KB"
        "#
    ))
}

/// Packets of the flow by spine, and those that each of its subflows has sent.
fn spread(run: &Run) -> ([u64; 4], Vec<u64>) {
    let spines = [0, 1, 2, 3].map(|spine| run.link("leaf 0", &format!("spine {spine}"), "packets"));
    let sent = cells(run.0.connections.as_ref().expect("connections"), "packets_sent");
    (spines, sent.into_iter().flatten().collect())
}

/// Before its switch the flow has one subflow, whose packets choose among four spines at random: 500 of 2,000 each, with a
/// standard deviation of sqrt(2000 x 1/4 x 3/4) = 19.4, and the subflow's SYN. Four deviations.
#[test]
fn packets_of_one_subflow_spread_over_all_paths() {
    let run = alone(r#"{ switch.data = "1GB", dupack_threshold = 1000 }"#);
    let (spines, sent) = spread(&run);
    assert_eq!(sent, [2000, 0, 0, 0]);
    assert_eq!(spines.iter().sum::<u64>(), 2001);
    assert!(spines.iter().all(|&packets| packets.abs_diff(500) < 78), "{spines:?}");
    assert_eq!(run.flow("delivered_bytes"), 2_920_000);
}

/// After 100 KB, 69 segments, the others open, and until one of them is established, a round trip later, the first one goes on:
/// with at most 10 Gbps, a segment of 1500 B each 1.2 us.
#[test]
fn the_first_subflow_ends_a_round_trip_after_the_switch() {
    let run = alone(r#"{ switch.data = "100KB", dupack_threshold = 1000 }"#);
    let (_, sent) = spread(&run);
    let round_trip_us = run.flow("ideal_fct_ps") as f64 / US as f64 - 2000.0 * 1.2;
    assert!(sent[0] >= 69 && (sent[0] as f64) < 69.0 + 4.0 * round_trip_us / 1.2 + 20.0, "{sent:?}");
    assert!(sent[1..].iter().all(|&packets| packets > 0), "{sent:?}");
    assert_eq!(sent.iter().sum::<u64>(), 2000);
}

/// Timeouts of 300 short flows of 70 KB in a network of 64 hosts with a quarter of their rate between leaves, where a third of
/// the hosts send without an end.
fn beside_long_flows(transport: &str) -> u64 {
    let pairs: Vec<String> =
        (0..63).step_by(3).map(|host| format!("[{host}, {}]", (host + 17) % 64)).collect();
    let run = run(&format!(
        r#"
        topology.leaf-spine = {{ leaves = 4, spines = 4, hosts = 16, rate = "100Mbps", delay = "20us" }}
        queue.drop-tail.limit.packets = 100
        transport.mptcp = {{ subflows = 8, {transport} tcp = {{ initial_window = 1, receive_window = "1MB" }} }}
        [[traffic]]
        name = "long"
        background = true
        arrivals.at-once = {{}}
        matrix.pairs = [{}]
        sizes.fixed = "1GB"
        [[traffic]]
        name = "short"
        arrivals.poisson.rate = 256.0
        matrix = "uniform"
        sizes.fixed = "70KB"
        flows = 300
        "#,
        pairs.join(", ")
    ));
    run.flows_of("short", "timeouts").iter().sum()
}

/// The reason that the paper gives for packet scatter: eight windows of a segment or two have no three duplicates, so that short
/// flows of MPTCP wait for timers; one window has. The threshold is three and the number of paths.
#[test]
fn short_flows_have_fewer_timeouts_than_under_mptcp() {
    let (mptcp, scattered) =
        (beside_long_flows(""), beside_long_flows("scatter = { dupack_threshold = 7 },"));
    assert!(scattered < mptcp, "timeouts: MPTCP {mptcp}, MMPTCP {scattered}");
}

/// Timeouts of 16 servers that answer one receiver with 1 MB each by two subflows, and the time until all have, over eight
/// seeds.
fn incasts(coupling: &str) -> (u64, u64) {
    let runs: Vec<Run> = (1..=8).map(|seed| incast(coupling, seed)).collect();
    (runs.iter().map(|run| run.total("timeouts")).sum(), runs.iter().map(Run::end).sum())
}

fn incast(coupling: &str, seed: u32) -> Run {
    run(&format!(
        r#"
        topology.leaf-spine = {{ leaves = 5, spines = 2, hosts = 4, rate = "1Gbps", delay = "10us" }}
        queue.drop-tail.limit.packets = 64
        transport.mptcp = {{ subflows = 2, coupling = {coupling}, tcp = {{ initial_window = 2, receive_window = "64KB" }} }}
        [[traffic]]
        name = "answers"
        arrivals.at-once = {{}}
        matrix.incast = {{ senders = 16, receiver = 0 }}
        sizes.fixed = "1MB"
        [run]
        seed = {seed}
        "#
    ))
}

/// LIT-EWMPTCP-1 (sign): fewer timeouts, and no less goodput.
#[test]
fn weighted_windows_under_an_incast() {
    let (lia, weighted) = (incasts("\"lia\""), incasts("{ ew = { servers = 16 } }"));
    assert!(weighted.0 < lia.0 && weighted.1 < lia.1, "timeouts and ps: LIA {lia:?}, EW-MPTCP {weighted:?}");
}
