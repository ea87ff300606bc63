//! Two flows that meet at a slow port, and the order in which it serves their packets: shared by tests of classes.

use crate::common::{PACKET, Run, US};

pub const MSS: u64 = 1460;

/// Ten packets from host 0, and 5 us later two from host 1, all at 10 Gbps, to a port of 1 Gbps; cables of 1 us. The first
/// comes to the port after 2.2 us and is on its wire until 14.2 us; meanwhile come all others, 1.2 us apart: of the first
/// flow at 3.4, 4.6, 5.8, 7.0, 8.2, ..., 13.0 us, of the second at 7.2 and 8.4 us.
///
/// Parts: transport and queue, as TOML; and what else each of the two entries has.
pub fn scenario(parts: &str, [early, late]: [&str; 2]) -> String {
    format!(
        r#"
        {parts}
        [topology.explicit]
        hosts = ["early", "late", "receiver"]
        switches = [{{ name = "switch" }}]
        rate = "10Gbps"
        delay = "1us"
        cables = [
            {{ ends = ["early", "switch"] }},
            {{ ends = ["late", "switch"] }},
            {{ ends = ["switch", "receiver"], rate = "1Gbps" }},
        ]
        [[traffic]]
        name = "early"
        arrivals.at-once = {{ jitter = "0s" }}
        matrix.pairs = [[0, 2]]
        sizes.fixed = "{}B"
        {early}
        [[traffic]]
        name = "late"
        arrivals.at-once = {{ at = "5us", jitter = "0s" }}
        matrix.pairs = [[1, 2]]
        sizes.fixed = "{}B"
        {late}
        "#,
        10 * MSS,
        2 * MSS
    )
}

/// After how many packets of the port each flow was complete.
pub fn places(run: &Run) -> [u64; 2] {
    let fct = run.flows("fct_ps");
    // The first packet begins 2.2 us after the first flow has, and the last one takes another 1 us behind the port.
    [fct[0], fct[1] + 5 * US].map(|end| {
        let behind = end - (2 * US + US / 5) - US;
        assert_eq!(behind % PACKET, 0);
        behind / PACKET
    })
}
