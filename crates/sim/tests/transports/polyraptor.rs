//! NDP with an erasure code over a network.

use crate::common::run;

/// LIT-POLY-1: an incast of twelve flows of 200 packets. Each packet sent arrives whole, or as a header, or not at all: those that arrive whole are
/// k, or k + 2 of a flow that lost one, and not one more.
#[test]
fn a_flow_costs_two_packets_more() {
    let run = run(r#"
        topology.single-switch = { hosts = 13 }
        transport.ndp = { code = {}, initial_window = 30 }
        [[traffic]]
        name = "incast"
        arrivals.at-once = {}
        matrix.incast = { senders = 12, receiver = 0 }
        sizes.fixed = "287200B"
        "#);
    // 1500 B less the header of 64 B.
    assert_eq!(287_200 / 1436, 200);
    let (sent, trims) = (run.flows("packets_sent"), run.flows("trims"));
    assert!(trims.iter().sum::<u64>() > 100, "{trims:?}");
    for (sent, trims) in sent.into_iter().zip(trims) {
        let extra = if trims > 0 { 2 } else { 0 };
        assert_eq!(sent, 200 + extra + trims);
    }
}

/// On a path without contention nothing changes: the flow ends when NDP's does.
#[test]
fn a_lone_flow_takes_as_long_as_ndp() {
    let fct = |code: &str| {
        let text = format!(
            r#"
            topology.fat-tree.k = 4
            transport.ndp = {{ {code} }}
            [[traffic]]
            name = "one"
            arrivals.at-once = {{}}
            matrix.pairs = [[0, 15]]
            sizes.fixed = "1MB"
            "#
        );
        run(&text).flow("fct_ps")
    };
    assert_eq!(fct("code = {}"), fct(""));
}
