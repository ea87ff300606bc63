//! RepFlow and RepSYN over a network: two copies by two paths, of which the faster one counts.

use crate::common::{US, run, run_with};

const TCP: &str = "rto_min = \"1s\", rto_initial = \"3s\"";

/// A lone flow of seven packets over a switch: both copies take turns at the host's port, so that the faster one has all but its
/// own last packet among those of the other. It is later than TCP's by at most seven packets of 12 us.
#[test]
fn a_lone_flow_pays_for_its_copy_at_its_own_port() {
    let of = |transport: &str| {
        let text = format!(
            r#"
            topology.single-switch = {{ hosts = 2, rate = "1Gbps" }}
            {transport}
            [[traffic]]
            name = "one"
            arrivals.at-once = {{}}
            matrix.pairs = [[0, 1]]
            sizes.fixed = "10KB"
            "#
        );
        let run = run(&text);
        (run.total("packets_sent"), run.flow("fct_ps"))
    };
    let (packets, alone) = of(&format!("transport.tcp = {{ {TCP} }}"));
    let (copied, fct) = of(&format!("transport.repflow.tcp = {{ {TCP} }}"));
    assert_eq!((packets, copied), (7, 14));
    assert!((alone..=alone + 7 * 12 * US).contains(&fct), "{fct} {alone}");
}

/// LIT-REPFLOW-1, extra load: of flows of at most `below` the bytes are sent twice, of others once.
#[test]
fn short_flows_cost_twice_their_bytes() {
    let sent = |size: &str| {
        let text = format!(
            r#"
            topology.single-switch.hosts = 8
            transport.repflow = {{ below = "100KB", tcp.mss = "1000B" }}
            queue = "infinite"
            [[traffic]]
            name = "all"
            arrivals.at-once = {{}}
            matrix = "permutation"
            sizes.fixed = "{size}"
            "#
        );
        run(&text).total("packets_sent")
    };
    assert_eq!((sent("100KB"), sent("101KB")), (8 * 2 * 100, 8 * 101));
}

/// Of eight seeds, single flows and replicated ones beside a busy path: a replicated flow is slow only if both of its copies are hashed to
/// that path, 1/4 of the time, and a single one half of the time. RepSYN, too, finds the free path by its handshake.
#[test]
fn a_copy_by_a_free_path_is_enough() {
    let slow = |transport: &str| {
        let seeds = ["1", "2", "3", "4", "5", "6", "7", "8"];
        let all: Vec<u64> = seeds
            .iter()
            .flat_map(|seed| {
                let text = format!(
                    r#"
                    topology.leaf-spine = {{ leaves = 2, spines = 2, hosts = 9, rate = "1Gbps", host.rate = "10Gbps", spine.rate = "1Gbps" }}
                    queue.drop-tail.limit.packets = 1000
                    {transport}
                    [[traffic]]
                    name = "busy"
                    background = true
                    transport.datagram = {{}}
                    routing.balancer = "single"
                    arrivals.at-once = {{}}
                    matrix.pairs = [[8, 17]]
                    sizes.fixed = "100MB"
                    [[traffic]]
                    name = "short"
                    arrivals.at-once = {{ at = "5ms", jitter = "0s" }}
                    matrix.pairs = [[0, 9], [1, 10], [2, 11], [3, 12], [4, 13], [5, 14], [6, 15], [7, 16]]
                    sizes.fixed = "5KB"
                    [run]
                    until = "40ms"
                    "#
                );
                // The first row is the busy one; a flow that has not ended is slow.
                let cells = run_with(&text, &[("run.seed", seed)]).flow_cells("fct_ps");
                cells[1..].iter().map(|cell| cell.unwrap_or(u64::MAX)).collect::<Vec<u64>>()
            })
            .collect();
        all.iter().filter(|fct| **fct > 3_000_000_000).count() as f64 / all.len() as f64
    };
    let tcp = slow(&format!("transport.tcp = {{ {TCP} }}"));
    let flow = slow(&format!("transport.repflow.tcp = {{ {TCP} }}"));
    let syn = slow(&format!("transport.repflow = {{ replicate = \"syn\", tcp = {{ {TCP} }} }}"));
    // 64 draws: 0.5 and 0.25 with three standard errors.
    assert!((tcp - 0.5).abs() < 0.19, "{tcp}");
    assert!((flow - 0.25).abs() < 0.17, "{flow}");
    assert!((syn - 0.25).abs() < 0.17, "{syn}");
}
