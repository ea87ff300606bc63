//! Memory of the engine's structures, as the benchmarks measure it (docs/benchmarks.md, "Memory"): for limits
//! and estimates.

use crate::routing::Routes;
use crate::topology::Fabric;

/// A directed link with its port, which has a single queue.
const LINK_BYTES: u64 = 576;
/// A host.
const HOST_BYTES: u64 = 104;
/// A flow with its row of the results.
pub const FLOW_BYTES: u64 = 289;
/// A connection with both its ends.
pub const CONN_BYTES: u64 = 403;
/// A packet with its events and its places in queues.
pub const PACKET_BYTES: u64 = 168;
/// A packet's record beyond its header, where packets have one.
pub const RECORD_BYTES: u64 = 64;

/// Fixed structures: links with their queues, each of which takes `port_bytes` beyond a single queue; hosts;
/// routes.
pub fn network_bytes(fabric: &Fabric, routes: &Routes, port_bytes: usize) -> u64 {
    fabric.links.len() as u64 * (LINK_BYTES + port_bytes as u64)
        + u64::from(fabric.hosts) * HOST_BYTES
        + routes.bytes()
}
