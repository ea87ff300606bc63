//! The pFabric port: a short queue that sends the packet of the smallest flow first and drops the largest's.
//!
//! Source: Alizadeh et al., "pFabric: Minimal Near-Optimal Datacenter Transport", SIGCOMM 2013, section 4.1
//! (switch); ties and the bytes that count towards the limit after a public simulator of it
//! (NetSys/simulator).
//!
//! The sort key of a data packet is [`Header::ack`](crate::engine::contract::packet::Header::ack), smallest first,
//! whatever its transport means by it; control packets go before all data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::ranked::{Data, Ranked};
use super::waiting::Waiting;
use super::{Build, Feature, Limit, Settings};
use crate::derived::{Derived, Environment, Values};
use crate::engine::contract::discipline::{Discipline, DropReason, PortContext, Queued};
use crate::engine::contract::packet::flag;
use crate::engine::contract::rules::Rules;
use crate::ids::PacketId;
use crate::problem::Problem;
use crate::units::Bytes;

/// Smallest remaining flow first, and the largest dropped when it is full. Its queues are short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PfabricPort {
    /// Limit of the queue, at most 1000 packets or 1.5 MB (NetSys/simulator: 36,864 B; PIAS-NS2: 140 packets
    /// on its longer round trips). "derived": twice the bandwidth-delay product (paper) of the longest path
    /// between hosts, and at least 36,864 B.
    pub limit: Derived<Limit>,
    /// Whether the packet on the wire counts towards the limit (ns-2 and NetSys/simulator: no).
    pub limit_counts_wire: bool,
}

impl Default for PfabricPort {
    fn default() -> Self {
        PfabricPort { limit: Derived::FromNetwork, limit_counts_wire: false }
    }
}

/// A limit that is derived is at least so large.
const LIMIT_LEAST: Bytes = Bytes(36_864);
/// Most packets and full packets of a limit: the paper's queues are of two bandwidth-delay products.
const PACKETS_MAX: u32 = 1000;
/// Most bytes of a limit: as many full packets of Ethernet.
const BYTES_MAX: Bytes = Bytes(1_500_000);

impl PfabricPort {
    fn limit(&self) -> Limit {
        self.limit.or(Limit::Bytes(LIMIT_LEAST))
    }

    fn rules(&self, full_packet: u64) -> Rules {
        let limit = self.limit().room(full_packet);
        Rules { limit, counts_wire: self.limit_counts_wire, ..Rules::UNLIMITED }
    }
}

impl Settings for PfabricPort {
    fn offers(&self) -> &'static [Feature] {
        &[Feature::Scheduling]
    }

    fn most_packets(&self, full_packet: u64) -> Option<u64> {
        self.limit().room(full_packet).most_packets(full_packet)
    }

    fn derived(&self, environment: &Environment, _full_packet: u64) -> Values {
        let limit = Bytes(environment.longest.bdp.saturating_mul(2)).clamp(LIMIT_LEAST, BYTES_MAX);
        match self.limit {
            Derived::FromNetwork => vec![("limit".into(), json!(Limit::Bytes(limit)))],
            Derived::Given(_) => Vec::new(),
        }
    }

    fn problems(&self) -> Vec<Problem> {
        let (key, asked, most) = match self.limit() {
            Limit::Packets(packets) if packets > PACKETS_MAX => {
                ("packets", packets.to_string(), PACKETS_MAX.to_string())
            }
            Limit::FullPackets(packets) if packets > PACKETS_MAX => {
                ("full-packets", packets.to_string(), PACKETS_MAX.to_string())
            }
            Limit::Bytes(bytes) if bytes > BYTES_MAX => ("bytes", bytes.to_string(), BYTES_MAX.to_string()),
            _ => return Vec::new(),
        };
        let why = format!("{asked} is too large; at most {most}: pFabric's queues are short");
        vec![Problem::new(format!("limit.{key}"), why)]
    }
}

impl Build for PfabricPort {
    type Model = Model;

    fn model(&self, full_packet: u64) -> Model {
        Model { rules: self.rules(full_packet), control: Waiting::default(), data: Ranked::default() }
    }
}

/// The queue at one port.
#[derive(Clone, Debug)]
pub struct Model {
    rules: Rules,
    control: Waiting,
    data: Ranked,
}

impl Model {
    fn admits(&self, size: u32, cx: &PortContext) -> bool {
        self.rules.admits(cx.port, cx.port.wire_bytes, size)
    }

    /// Drops data of a higher rank until the arriving packet fits, the highest first and the latest among equals, to
    /// which the arriving one belongs. Whether it fits at last; a control packet has no rank, and goes before all data.
    #[cold]
    fn make_room(&mut self, rank: Option<u64>, size: u32, cx: &mut PortContext) -> bool {
        while !self.admits(size, cx) {
            let Some(worst) = self.data.pop_behind(rank) else { return false };
            cx.drop_waiting(worst, DropReason::Displaced);
        }
        true
    }
}

impl Discipline for Model {
    #[inline]
    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext) {
        let packet = &cx.arena[id];
        let (size, conn, dst) = (packet.size, packet.conn, packet.dst);
        let rank = (!packet.has(flag::CONTROL)).then_some(packet.header.ack);
        if !self.admits(size, cx) && !self.make_room(rank, size, cx) {
            return cx.drop(id, DropReason::Full);
        }
        cx.keep(size);
        match rank {
            None => self.control.push(Queued { id, size }),
            Some(rank) => self.data.push(Data { rank, queued: Queued { id, size }, conn, dst }),
        }
    }

    /// Nothing to compare with.
    #[inline]
    fn pass(&mut self, id: PacketId, cx: &mut PortContext) -> Option<Queued> {
        let size = cx.arena[id].size;
        if !self.admits(size, cx) {
            cx.drop(id, DropReason::Full);
            return None;
        }
        cx.keep(size);
        Some(Queued { id, size })
    }

    /// The flow that has the packet of the lowest rank sends its earliest one: packets that a flow sent first
    /// rank behind those that it sent last, and would starve and arrive out of order (section 4.1).
    #[inline]
    fn dequeue(&mut self, _cx: &mut PortContext) -> Option<Queued> {
        self.control.pop().or_else(|| Some(self.data.pop()?.queued))
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.control.is_empty() && self.data.is_empty()
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        self.control.iter().chain(self.data.iter().map(|packet| packet.id)).for_each(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::agent::tests::packet;
    use crate::engine::contract::conn::Conn;
    use crate::engine::contract::discipline::tests::FakePort;
    use crate::engine::contract::packet::{Header, Packet};
    use crate::ids::{ConnId, NodeId};
    use crate::units::Rate;

    /// Arrivals at a port whose link is always busy: (connection, destination, rank), rank none for control.
    type Coming = (u32, u32, Option<u64>);

    /// The numbers of those that come which are sent, in that order, if each is 1500 B long and all come before the
    /// first is sent; and of those which are dropped.
    fn outcome(limit: u32, coming: &[Coming]) -> (Vec<u32>, Vec<u32>) {
        let conn = Conn::between(NodeId(0), NodeId(1)).with_packets(coming.len() as u32);
        let config = PfabricPort { limit: Derived::Given(Limit::Packets(limit)), ..PfabricPort::default() };
        let mut model = config.model(1500);
        let mut port = FakePort::new(Rate(1_000_000_000));
        let mut cx = PortContext { conns: &mut [conn; 4], ..port.cx() };
        for (number, &(conn, dst, rank)) in coming.iter().enumerate() {
            let flags = if rank.is_none() { flag::CONTROL } else { 0 };
            let header = Header { number: number as u32, ack: rank.unwrap_or(0), ..Header::default() };
            let (conn, dst) = (ConnId(conn), NodeId(dst));
            let id = cx.arena.insert(Packet { conn, dst, flags, header, ..packet(0, 1500) });
            model.enqueue(id, &mut cx);
        }
        let mut sent = Vec::new();
        while let Some(packet) = model.dequeue(&mut cx) {
            sent.push(cx.arena[packet.id].header.number);
        }
        assert!(model.is_empty());
        let dropped: Vec<_> = (0..coming.len() as u32).filter(|number| !sent.contains(number)).collect();
        assert_eq!(cx.losses.dropped.packets as usize, dropped.len());
        (sent, dropped)
    }

    #[test]
    fn the_flow_with_the_lowest_rank_sends_its_earliest() {
        let (sent, _) = outcome(9, &[(0, 1, Some(5)), (1, 1, Some(4)), (0, 1, Some(3)), (2, 1, Some(3))]);
        // Of the equal ones that of connection 0 came first; its first packet goes, then the one of rank 3.
        assert_eq!(sent, [0, 2, 3, 1]);
    }

    #[test]
    fn the_other_direction_is_another_flow() {
        assert_eq!(outcome(9, &[(0, 1, Some(5)), (0, 0, Some(3))]).0, [1, 0]);
        assert_eq!(outcome(9, &[(0, 1, Some(5)), (0, 1, Some(3))]).0, [0, 1]);
    }

    #[test]
    fn of_the_highest_rank_the_latest_is_dropped() {
        let full = [(0, 1, Some(7)), (1, 1, Some(7)), (2, 1, Some(5))];
        let with = |last: Coming| outcome(3, &[&full[..], &[last]].concat()).1;
        assert_eq!(with((3, 1, Some(6))), [1]);
        assert_eq!(with((3, 1, Some(7))), [3]);
        assert_eq!(with((3, 1, Some(8))), [3]);
        assert_eq!(with((3, 1, None)), [1]);
    }

    #[test]
    fn control_goes_first_and_gives_way_to_nobody() {
        let (sent, dropped) =
            outcome(2, &[(0, 1, Some(0)), (1, 1, None), (2, 1, None), (3, 1, None), (0, 1, Some(0))]);
        assert_eq!((sent, dropped), (vec![1, 2], vec![0, 3, 4]));
    }
}
