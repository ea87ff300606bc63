//! Weighted fair queueing by start times (STFQ): flows share the link in proportion to the weights that their packets carry.
//!
//! Source: Goyal, Vin and Cheng, "Start-time Fair Queueing: A Scheduling Algorithm for Integrated Services Packet Switching
//! Networks", SIGCOMM 1996; as the switch of NUMFabric (Nagaraj et al., "NUMFabric: Fast and Flexible Bandwidth Allocation in
//! Datacenters", SIGCOMM 2016) and the authors' code for ns-3 (`PrioQueue`) have it: a packet carries its length over its
//! weight, its virtual length, so that a port holds no weights.
//!
//! The virtual length of a data packet is [`Header::ack`](crate::engine::contract::packet::Header::ack), in any unit that
//! all flows share. A packet starts, in virtual time, when its flow's one before ends, and not before the packet that was
//! served last: S = max(V, F), F = S + virtual length. The lowest S is served first. Control packets go before all data: the
//! authors give them a virtual time of their own, which never moves.
//!
//! Two readings. A busy period begins at V = 0 with no flow known (Goyal et al.), where the authors' code keeps F for ever.
//! And a full port drops the packet of the highest S, where the authors' code compares virtual lengths; a packet that is
//! dropped on arrival leaves its flow's F as it was.

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ranked::{Data, Ranked};
use super::waiting::Waiting;
use super::{Build, Feature, Limit, Settings};
use crate::engine::contract::discipline::{Discipline, DropReason, PortContext, Queued};
use crate::engine::contract::packet::flag;
use crate::engine::contract::rules::{BufferLimit, Rules};
use crate::ids::PacketId;
use crate::units::Bytes;

/// Serves flows in proportion to the weights that their packets carry (start-time fair queueing), control packets first;
/// drops the packet that it would serve last when it is full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Wfq {
    /// Limit of what waits; the packet on the wire does not count (NUMFabric: 1 MB, from memory of the paper; the authors'
    /// code has no limit that its runs reach).
    pub limit: Limit,
}

impl Default for Wfq {
    fn default() -> Self {
        Wfq { limit: Limit::Bytes(Bytes(1_000_000)) }
    }
}

impl Settings for Wfq {
    fn offers(&self) -> &'static [Feature] {
        &[Feature::Weights]
    }

    fn most_packets(&self, full_packet: u64) -> Option<u64> {
        self.limit.room(full_packet).most_packets(full_packet)
    }
}

impl Build for Wfq {
    type Model = Model;

    fn model(&self, full_packet: u64) -> Model {
        let limit = self.limit.room(full_packet);
        Model(Box::new(State {
            rules: Rules { limit, counts_wire: false, ..Rules::UNLIMITED },
            whole: limit,
            control: Waiting::default(),
            data: Ranked::default(),
            clock: Clock::default(),
        }))
    }
}

/// The virtual time of a port and the flows that are ahead of it.
#[derive(Clone, Debug, Default)]
struct Clock {
    /// V: the start of the packet that was served last in this busy period.
    now: u64,
    /// By a flow's key its F, the end of its last packet. Flows that are not ahead of V are forgotten from time to time: for
    /// them max(V, F) is V.
    ends: FxHashMap<u64, u64>,
    /// The number of flows at which those are forgotten next.
    most: usize,
}

/// Flows that a port knows before it forgets any.
const FLOWS_LEAST: usize = 32;

impl Clock {
    /// A busy period begins.
    #[inline]
    fn restart(&mut self) {
        self.now = 0;
        // Clearing costs the table's size.
        if !self.ends.is_empty() {
            self.ends.clear();
        }
    }

    /// When a packet of that flow would start.
    #[inline]
    fn start_of(&self, flow: u64) -> u64 {
        self.ends.get(&flow).map_or(self.now, |&end| end.max(self.now))
    }

    /// Its packet starts then, and is kept.
    #[inline]
    fn note(&mut self, flow: u64, start: u64, length: u64) {
        if self.ends.len() >= self.most {
            let now = self.now;
            self.ends.retain(|_, end| *end > now);
            // Twice as many as are left: packets pay for the search in turn.
            self.most = FLOWS_LEAST.max(2 * self.ends.len());
        }
        self.ends.insert(flow, start.saturating_add(length));
    }
}

/// The queue at one port.
#[derive(Clone, Debug)]
pub struct Model(Box<State>);

#[derive(Clone, Debug)]
struct State {
    rules: Rules,
    /// The limit without faults.
    whole: BufferLimit,
    control: Waiting,
    data: Ranked,
    clock: Clock,
}

impl State {
    fn admits(&self, size: u32, cx: &PortContext) -> bool {
        self.rules.admits(cx.port, cx.port.wire_bytes, size)
    }

    /// Drops data that starts later until the arriving packet fits, the latest first. Whether it fits at last; control packets
    /// have no start, and go before all data.
    #[cold]
    fn make_room(&mut self, start: Option<u64>, size: u32, cx: &mut PortContext) -> bool {
        while !self.admits(size, cx) {
            let Some(last) = self.data.pop_behind(start) else { return false };
            cx.drop_waiting(last, DropReason::Displaced);
        }
        true
    }
}

/// The flow that a packet belongs to: the same in all parts of a run.
#[inline]
fn flow_of(id: PacketId, cx: &PortContext) -> u64 {
    let conn = &cx.conns[cx.arena[id].conn.index()];
    conn.key ^ u64::from(conn.subflow) << 56
}

impl Discipline for Model {
    fn scale(&mut self, share: f64) {
        self.0.rules.limit = self.0.whole.scaled(share);
    }

    #[inline]
    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext) {
        let (state, packet) = (&mut *self.0, &cx.arena[id]);
        let (size, conn, dst, length) = (packet.size, packet.conn, packet.dst, packet.header.ack);
        let flow = (!packet.has(flag::CONTROL)).then(|| flow_of(id, cx));
        let start = flow.map(|flow| state.clock.start_of(flow));
        if !state.admits(size, cx) && !state.make_room(start, size, cx) {
            return cx.drop(id, DropReason::Full);
        }
        cx.keep(size);
        let queued = Queued { id, size };
        match flow.zip(start) {
            None => state.control.push(queued),
            Some((flow, start)) => {
                state.clock.note(flow, start, length);
                state.data.push(Data { rank: start, queued, conn, dst });
            }
        }
    }

    /// A busy period begins with this packet.
    #[inline]
    fn pass(&mut self, id: PacketId, cx: &mut PortContext) -> Option<Queued> {
        let (state, packet) = (&mut *self.0, &cx.arena[id]);
        let (size, length) = (packet.size, packet.header.ack);
        let is_data = !packet.has(flag::CONTROL);
        state.clock.restart();
        if !state.admits(size, cx) {
            cx.drop(id, DropReason::Full);
            return None;
        }
        cx.keep(size);
        if is_data {
            state.clock.note(flow_of(id, cx), 0, length);
        }
        Some(Queued { id, size })
    }

    #[inline]
    fn dequeue(&mut self, _cx: &mut PortContext) -> Option<Queued> {
        let state = &mut *self.0;
        if let Some(packet) = state.control.pop() {
            return Some(packet);
        }
        let first = state.data.pop()?;
        state.clock.now = first.rank;
        Some(first.queued)
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.0.control.is_empty() && self.0.data.is_empty()
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        self.0.control.iter().chain(self.0.data.iter().map(|packet| packet.id)).for_each(found);
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

    /// A port of four flows whose wire is taken.
    struct Bench {
        model: Model,
        port: FakePort,
        conns: [Conn; 4],
        came: u32,
    }

    impl Bench {
        fn new(limit: u32) -> Bench {
            let conn = |key| {
                let mut conn = Conn::between(NodeId(0), NodeId(1)).with_packets(u32::MAX);
                conn.key = key;
                conn
            };
            Bench {
                model: Wfq { limit: Limit::Packets(limit) }.model(1500),
                port: FakePort::new(Rate(1_000_000_000)),
                conns: [0, 1, 2, 3].map(conn),
                came: 0,
            }
        }

        fn packet(&mut self, flow: u32, length: Option<u64>) -> PacketId {
            let flags = if length.is_none() { flag::CONTROL } else { 0 };
            let header = Header { number: self.came, ack: length.unwrap_or(0), ..Header::default() };
            self.came += 1;
            let conn = ConnId(flow);
            self.port.cx().arena.insert(Packet { conn, flags, header, ..packet(0, 1500) })
        }

        /// Packets of flows come, in this order: their virtual lengths, none for control.
        fn come(&mut self, packets: &[(u32, Option<u64>)]) {
            for &(flow, length) in packets {
                let id = self.packet(flow, length);
                self.model.enqueue(id, &mut PortContext { conns: &mut self.conns, ..self.port.cx() });
            }
        }

        /// One finds the port idle, and leaves at once.
        fn passes(&mut self, flow: u32, length: u64) {
            let id = self.packet(flow, Some(length));
            let mut cx = PortContext { conns: &mut self.conns, ..self.port.cx() };
            assert!(self.model.pass(id, &mut cx).is_some());
            cx.port.quit(cx.now, 1500);
        }

        /// So many leave: their numbers in the order of arrival.
        fn leave(&mut self, most: usize) -> Vec<u32> {
            let mut numbers = Vec::new();
            while numbers.len() < most
                && let Some(number) = self.port.leaves(&mut self.model)
            {
                numbers.push(number);
            }
            numbers
        }
    }

    /// Weights 1 and 3, virtual lengths 3 and 1: packets 0 to 2 of the first flow start at 0, 3 and 6, packets 3 to 8 of the
    /// second at 0 to 5. Equal ones go in the order of arrival.
    #[test]
    fn packets_go_by_their_starts() {
        let mut bench = Bench::new(99);
        bench.come(&[(0, Some(3)); 3]);
        bench.come(&[(1, Some(1)); 6]);
        assert_eq!(bench.leave(99), [0, 3, 4, 5, 1, 6, 7, 8, 2]);
        assert!(bench.model.is_empty());
    }

    /// The flow of weight 1 has one packet at a time at the port: its next one starts at 3 all the same, when three packets of
    /// the other flow have been served, and 3 is virtual time then.
    #[test]
    fn a_flow_is_known_while_it_is_ahead() {
        let mut bench = Bench::new(99);
        bench.come(&[(0, Some(3)), (1, Some(1)), (1, Some(1)), (1, Some(1)), (1, Some(1)), (1, Some(1))]);
        assert_eq!(bench.leave(1), [0]);
        bench.come(&[(0, Some(3))]);
        assert_eq!(bench.leave(4), [1, 2, 3, 4]);
        assert_eq!(bench.model.0.clock.now, 3);
        assert_eq!(bench.leave(1), [6], "it came after packet 5, which starts at 4");
        // A flow that comes now has the start of the packet that was served last, 3.
        bench.come(&[(2, Some(1))]);
        assert_eq!(bench.leave(9), [7, 5]);
    }

    /// Whatever a flow has sent, it is as any other when the port has been idle.
    #[test]
    fn a_busy_period_begins_without_a_past() {
        let mut bench = Bench::new(99);
        bench.come(&[(0, Some(30)), (0, Some(30))]);
        assert_eq!(bench.leave(9), [0, 1]);
        bench.passes(1, 2);
        bench.come(&[(1, Some(2)), (0, Some(30))]);
        assert_eq!(bench.leave(9), [4, 3], "starts of 0 and 2");
    }

    /// Room for three, with packets 0 and 1 of the first flow, which start at 0 and 5, and packet 2 of the second, at 0: packet
    /// 3 starts at 2 and displaces the one at 5, packets 4 and 5 start at 4 and 10, behind all that wait, and are dropped, as
    /// if they had not come. A control packet displaces, and goes first.
    #[test]
    fn a_full_port_drops_what_starts_last() {
        let mut bench = Bench::new(3);
        bench.come(&[(0, Some(5)), (0, Some(5)), (1, Some(2)), (1, Some(2)), (1, Some(2)), (0, Some(5))]);
        assert_eq!(bench.port.losses.dropped.packets, 3);
        assert_eq!([0, 1].map(|flow| bench.model.0.clock.start_of(flow)), [10, 4]);
        bench.come(&[(2, None)]);
        assert_eq!(bench.leave(9), [6, 0, 2]);
    }

    #[test]
    fn flows_behind_virtual_time_are_forgotten() {
        let mut clock = Clock::default();
        for flow in 0..100_000 {
            clock.note(flow, flow, 5);
            clock.now = flow;
        }
        assert!(clock.ends.len() <= FLOWS_LEAST, "{}", clock.ends.len());
        assert_eq!(clock.start_of(99_998), 100_003);
        assert_eq!(clock.start_of(7), 99_999);
    }
}
