//! Two hosts with cables between them and one flow, with times that are worked out by hand: shared by tests of flows over
//! several connections.

use crate::common::{Run, run};

pub const MSS: u64 = 1460;
pub const PACKET_BITS: u64 = 12_000;
pub const CONTROL_BITS: u64 = 320;

/// Picoseconds of so many bits at so many Mbps.
pub fn bits(number: u64, mbps: u64) -> u64 {
    number * 1_000_000 / mbps
}

/// A flow of so many segments between two hosts with a cable of 1 ms for each of these rates in Mbps. Windows never limit.
/// `TCP` in the transport stands for the fields of TCP by which that is so.
pub fn cables(rates: &[u64], transport: &str, segments: u64) -> Run {
    let tcp = r#"tcp = { initial_window = 100000, receive_window = "1GB", delayed_ack = 1 }"#;
    let cable = |rate: &u64| format!(r#"{{ ends = ["a", "b"], rate = "{rate}Mbps", delay = "1ms" }}"#);
    let cables: Vec<String> = rates.iter().map(cable).collect();
    run(&format!(
        r#"
        # Acknowledgements of both paths come at the same instants, and data goes by their order.
        run.ties = "link"
        transport = {{ {} }}
        routing.balancer.nix.search = "first"
        queue = "infinite"
        [topology.explicit]
        hosts = ["a", "b"]
        cables = [{}]
        [[traffic]]
        name = "block"
        arrivals.at-once = {{}}
        matrix.pairs = [[0, 1]]
        sizes.fixed = "{}B"
        "#,
        transport.replace("TCP", tcp),
        cables.join(", "),
        segments * MSS
    ))
}
