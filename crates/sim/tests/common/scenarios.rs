//! Networks and traffic that several tests begin with, as the end of a scenario's text: the fields at its
//! top, such as the transport, come before them.

use super::read;

/// An entry of that name with a flow of that many bytes for each pair of hosts; they start together at time zero. Other
/// fields of the entry may follow.
pub fn flows(name: &str, pairs: &[[u32; 2]], bytes: u64) -> String {
    format!(
        r#"
        [[traffic]]
        name = "{name}"
        arrivals.at-once.jitter = "0s"
        matrix.pairs = {pairs:?}
        sizes.fixed = "{bytes}B"
        "#
    )
}

/// One flow of that many bytes from host 0 to host 1.
pub fn flow(bytes: u64) -> String {
    flows("flow", &[[0, 1]], bytes)
}

/// One flow over so many switches in a line, with links of 1 Gbps and so many microseconds.
pub fn flow_over_a_line(switches: u64, delay: u64, bytes: u64) -> String {
    format!(
        "[topology.line]\nswitches = {switches}\nrate = \"1Gbps\"\ndelay = \"{delay}us\"\n{}",
        flow(bytes)
    )
}

/// One flow at 10 Gbps to a switch that sends on at 1 Gbps, with links of so many microseconds.
pub fn flow_into_a_slower_link(delay: u64, bytes: u64) -> String {
    format!("[topology.line]\nrates = [\"10Gbps\", \"1Gbps\"]\ndelay = \"{delay}us\"\n{}", flow(bytes))
}

/// One flow from the first to the last host of a k-ary fat-tree.
pub fn flow_across_a_fat_tree(k: u32, bytes: u64) -> String {
    format!("[topology.fat-tree]\nk = {k}\n{}", flows("flow", &[[0, k * k * k / 4 - 1]], bytes))
}

/// Lets the flows of [`incast`] start at the same instant, as an override.
pub const TOGETHER: (&str, &str) = ("traffic.incast.arrivals.at-once.jitter", "0s");

/// So many hosts with a flow each to host 0 of their switch, by links of that rate and 1 us.
pub fn incast(senders: u64, rate: &str, bytes: u64) -> String {
    format!(
        r#"
        [topology.single-switch]
        hosts = {}
        rate = "{rate}"
        [[traffic]]
        name = "incast"
        arrivals.at-once = {{}}
        matrix.incast = {{ senders = {senders} }}
        sizes.fixed = "{bytes}B"
        "#,
        senders + 1
    )
}

/// So many hosts with a flow each to host 0 of their switch that has no end and keeps no run from its end.
pub fn endless_incast(senders: u64, rate: &str, delay: &str) -> String {
    format!(
        r#"
        [topology.single-switch]
        hosts = {}
        rate = "{rate}"
        delay = "{delay}"
        [[traffic]]
        name = "long"
        background = true
        arrivals.at-once.jitter = "100us"
        matrix.incast = {{ senders = {senders} }}
        sizes = "endless"
        "#,
        senders + 1
    )
}

/// The queue that ports have under TCP with these fields, or what is wrong with them.
pub fn queue_under_tcp(fields: &str, queue: &str) -> String {
    let network = "[topology.single-switch]\nhosts = 2\n";
    let text = format!("transport.tcp = {{ {fields} }}\n{queue}\n{network}{}", flow(1000));
    match read(&text) {
        Ok(scenario) => scenario.queue().name().to_string(),
        Err(problems) => problems.to_string(),
    }
}

/// A traffic entry for each flow: name, source, destination, start in picoseconds, bytes.
pub fn timed_flows(flows: &[(&str, u32, u32, u64, u64)]) -> String {
    let entry = |(name, from, to, start, bytes): &(&str, u32, u32, u64, u64)| {
        format!(
            "[[traffic]]\nname = \"{name}\"\narrivals.at-once = {{ at = \"{start}ps\", jitter = \"0s\" }}\n\
             matrix.pairs = [[{from}, {to}]]\nsizes.fixed = \"{bytes}B\"\n"
        )
    };
    flows.iter().map(entry).collect()
}
