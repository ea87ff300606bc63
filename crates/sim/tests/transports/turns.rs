//! Turns of RoCE flows at a host's port, by hand: the one behind that served last, whichever may send when a transmission ends.

use crate::common::run;

/// Of host 0, at 100 Gbps: flow A at 0, B at 10 ns, C at 100 ns, of 3, 1 and 2 packets of 1062 B, 84.96 ns each. B starts
/// while A's first packet is sent, C while B's is: the order is A B C A C A. Each arrives 2 us and 84.96 ns later.
#[test]
fn the_flow_behind_the_one_served_last_is_next() {
    let entry = |name: &str, to: u32, at: &str, packets: u32| {
        format!(
            r#"
            [[traffic]]
            name = "{name}"
            arrivals.at-once = {{ at = "{at}", jitter = "0s" }}
            matrix.pairs = [[0, {to}]]
            sizes.fixed = "{packets}KB"
            "#
        )
    };
    let run = run(&format!(
        r#"
        topology.single-switch = {{ hosts = 4, rate = "100Gbps", delay = "1us" }}
        transport.roce.congestion.line-rate = {{}}
        {} {} {}
        "#,
        entry("a", 1, "0s", 3),
        entry("b", 2, "10ns", 1),
        entry("c", 3, "100ns", 2)
    ));
    let sent = |places: u64| places * 84_960 + 2_000_000 + 84_960;
    let expected = [("a", sent(6)), ("b", sent(2) - 10_000), ("c", sent(5) - 100_000)];
    for (name, fct) in expected {
        assert_eq!(run.flow_of(name, "fct_ps"), fct, "flow {name}");
    }
}
