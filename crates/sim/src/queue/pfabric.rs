//! The pFabric port: a short queue that sends the packet of the smallest flow first and drops the largest's.
//!
//! Source: Alizadeh et al., "pFabric: Minimal Near-Optimal Datacenter Transport", SIGCOMM 2013, section 4.1 (switch);
//! ties and what counts towards the limit after a public simulator of it (NetSys/simulator).
//!
//! What a data packet is sorted by is [`Header::ack`](crate::engine::packet::Header::ack), smallest first, whatever its
//! transport means by it; control packets go before all data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fifo::Rules;
use super::waiting::{Queued, Waiting};
use super::{Build, Discipline, Feature, Limit, QueueCx, Settings};
use crate::engine::packet::flag;
use crate::ids::{ConnId, NodeId, PacketId};
use crate::units::Bytes;

/// Smallest remaining flow first, and the largest dropped when it is full. Only short queues: each decision looks at all
/// that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PfabricPort {
    /// How much the queue holds, at most 1000 packets or 1.5 MB. The paper asks for twice the bandwidth-delay product:
    /// NetSys/simulator has 36,864 B, PIAS-NS2 140 packets on its longer round trips.
    pub limit: Limit,
    /// Whether the packet on the wire counts towards the limit (ns-2 and NetSys/simulator: no).
    pub limit_counts_wire: bool,
}

impl Default for PfabricPort {
    fn default() -> Self {
        PfabricPort { limit: Limit::Bytes(Bytes(36_864)), limit_counts_wire: false }
    }
}

/// Most packets and full packets of a limit: about what a scan for each packet can bear.
const PACKETS_MAX: u32 = 1000;
/// Most bytes of a limit: as many full packets of Ethernet.
const BYTES_MAX: Bytes = Bytes(1_500_000);

impl PfabricPort {
    fn rules(&self, full_packet: u64) -> Rules {
        let limit = self.limit.room(full_packet);
        Rules { limit, counts_wire: self.limit_counts_wire, ..Rules::UNLIMITED }
    }
}

impl Settings for PfabricPort {
    fn offers(&self) -> &'static [Feature] {
        &[Feature::Scheduling]
    }

    fn most_packets(&self, full_packet: u64) -> Option<u64> {
        self.limit.room(full_packet).most_packets(full_packet)
    }

    fn problems(&self) -> Vec<(String, String)> {
        let (key, most) = match self.limit {
            Limit::Packets(packets) if packets > PACKETS_MAX => ("packets", PACKETS_MAX.to_string()),
            Limit::FullPackets(packets) if packets > PACKETS_MAX => ("full-packets", PACKETS_MAX.to_string()),
            Limit::Bytes(bytes) if bytes > BYTES_MAX => ("bytes", BYTES_MAX.to_string()),
            _ => return Vec::new(),
        };
        let why = format!("is too large; at most {most}: for each packet the port looks at all that waits");
        vec![(format!("limit.{key}"), why)]
    }
}

impl Build for PfabricPort {
    type Model = Model;

    fn model(&self, full_packet: u64) -> Model {
        Model { rules: self.rules(full_packet), control: Waiting::default(), data: Vec::new() }
    }
}

/// The queue at one port.
#[derive(Clone, Debug)]
pub struct Model {
    rules: Rules,
    control: Waiting,
    /// In the order of arrival.
    data: Vec<Data>,
}

/// A data packet that waits.
#[derive(Clone, Copy, Debug)]
struct Data {
    /// What it is sorted by.
    rank: u64,
    id: PacketId,
    size: u32,
    /// Its flow: a connection in one of its directions.
    conn: ConnId,
    dst: NodeId,
}

impl Model {
    fn admits(&self, size: u32, cx: &QueueCx) -> bool {
        self.rules.admits(cx.port, cx.port.wire_bytes, size)
    }

    /// Drops data of a higher rank until the arriving packet fits, the highest first and the latest among equals, to
    /// which the arriving one belongs. Whether it fits at last; a control packet has no rank, and goes before all data.
    #[cold]
    fn make_room(&mut self, rank: Option<u64>, size: u32, cx: &mut QueueCx) -> bool {
        while !self.admits(size, cx) {
            // The last one among equals.
            let worst = (0..self.data.len()).max_by_key(|&at| self.data[at].rank);
            let Some(worst) = worst.filter(|&at| Some(self.data[at].rank) > rank) else { return false };
            let loser = self.data.remove(worst);
            cx.port.quit(cx.now, loser.size);
            cx.drop(loser.id);
        }
        true
    }
}

impl Discipline for Model {
    #[inline]
    fn enqueue(&mut self, id: PacketId, cx: &mut QueueCx) {
        let packet = &cx.arena[id];
        let (size, conn, dst) = (packet.size, packet.conn, packet.dst);
        let rank = (!packet.has(flag::CONTROL)).then_some(packet.header.ack);
        if !self.admits(size, cx) && !self.make_room(rank, size, cx) {
            return cx.drop(id);
        }
        cx.keep(size);
        match rank {
            None => self.control.push(Queued { id, size }),
            Some(rank) => self.data.push(Data { rank, id, size, conn, dst }),
        }
    }

    /// Nothing to compare with.
    #[inline]
    fn pass(&mut self, id: PacketId, cx: &mut QueueCx) -> Option<Queued> {
        let size = cx.arena[id].size;
        if !self.admits(size, cx) {
            cx.drop(id);
            return None;
        }
        cx.keep(size);
        Some(Queued { id, size })
    }

    /// The flow that has the packet of the lowest rank sends its earliest one: what a flow sent first ranks behind what
    /// it sent last, and would starve and arrive out of order (section 4.1).
    #[inline]
    fn dequeue(&mut self, _cx: &mut QueueCx) -> Option<Queued> {
        if let Some(control) = self.control.pop() {
            return Some(control);
        }
        // The first one among equals.
        let Data { conn, dst, .. } = *self.data.iter().min_by_key(|packet| packet.rank)?;
        let first = self.data.iter().position(|packet| packet.conn == conn && packet.dst == dst)?;
        let Data { id, size, .. } = self.data.remove(first);
        Some(Queued { id, size })
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.control.is_empty() && self.data.is_empty()
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        self.control.iter().chain(self.data.iter().map(|packet| packet.id)).for_each(found);
    }
}
