//! Memory of the engine's structures, as the benchmarks measure it (docs/benchmarks.md, "Memory"): for limits
//! and estimates.

use crate::routing::Routes;
use crate::topology::{Counts, Fabric};

/// A directed link with its port, which has a single queue.
const LINK_BYTES: u64 = 576;
/// A host.
const HOST_BYTES: u64 = 104;
/// A flow with its row of the results.
pub const FLOW_BYTES: u64 = 289;
/// A connection with both its ends: between that of NDP, 518 bytes, and of TCP without SACK, 730.
pub const CONN_BYTES: u64 = 560;
/// A packet with its events and its places in queues.
pub const PACKET_BYTES: u64 = 168;
/// A packet's record beyond its header, where packets have one.
pub const RECORD_BYTES: u64 = 64;

/// Structures of a network of so many nodes and cables that are there whatever its routes and queues.
pub fn least_network_bytes(counts: Counts) -> u64 {
    let bytes = counts
        .cables
        .saturating_mul(2 * u128::from(LINK_BYTES))
        .saturating_add(counts.hosts.saturating_mul(HOST_BYTES.into()));
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Fixed structures: links with their queues, each of which takes `port_bytes` beyond a single queue; hosts;
/// routes.
pub fn network_bytes(fabric: &Fabric, routes: &Routes, port_bytes: usize) -> u64 {
    fabric.links.len() as u64 * (LINK_BYTES + port_bytes as u64)
        + u64::from(fabric.hosts) * HOST_BYTES
        + routes.bytes()
}
