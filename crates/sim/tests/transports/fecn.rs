//! FECN over a network: flows get equal shares of the port that they meet at.

use crate::common::run;

/// LIT-FECN-1: eight flows of RCP's senders over one port of 10 Gbps under FECN's switches. From 20 to 40 ms each has an eighth of the
/// payload that the link carries, to 2 %.
#[test]
fn flows_share_the_port() {
    let until = |end: &str| {
        run(&format!(
            r#"
            topology.single-switch = {{ hosts = 9, rate = "10Gbps", delay = "1us" }}
            transport.rcp = {{}}
            queue = "infinite"
            agent.fecn = {{}}
            [[traffic]]
            name = "incast"
            background = true
            arrivals.at-once = {{}}
            matrix.incast = {{ senders = 8, receiver = 0 }}
            sizes = "endless"
            [run]
            until = "{end}"
            "#
        ))
        .flows("delivered_bytes")
    };
    let share = 10e9 / 8.0 / 8.0 * 0.02 * 1460.0 / 1500.0;
    for (early, late) in until("20ms").into_iter().zip(until("40ms")) {
        let bytes = (late - early) as f64;
        assert!((bytes / share - 1.0).abs() < 0.02, "{bytes} of {share}");
    }
}
