//! Shared parts of tests of transports on a rack: its hosts and their flows, as text.

/// So many hosts around a switch.
pub fn rack(hosts: u32, rate: &str, delay: &str) -> String {
    format!("topology.single-switch = {{ hosts = {hosts}, rate = \"{rate}\", delay = \"{delay}\" }}\n")
}

/// An entry with a flow to host 0 from each of these hosts, which starts at that time, and what else it says.
pub fn entry(name: &str, senders: &[u32], start_us: u64, rest: &str) -> String {
    let pairs: Vec<[u32; 2]> = senders.iter().map(|&sender| [sender, 0]).collect();
    format!(
        "[[traffic]]\nname = \"{name}\"\narrivals.at-once = {{ at = \"{start_us}us\" }}\nmatrix.pairs = {pairs:?}\n{rest}\n"
    )
}
