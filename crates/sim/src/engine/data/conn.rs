//! Connections: the place of each flow in flight, and the state of its two ends.

use super::gate::class_of;
use super::packet::reverse_label;
use crate::ids::{ConnId, FlowId, LinkId, NodeId};
use crate::units::Time;

/// The place of a connection that is not ready by rank.
pub const NOWHERE: u32 = u32::MAX;

/// A connection: its place in the network, which both hosts share, and the state of its two ends, each of
/// which belongs to the events of one host.
#[derive(Clone, Copy, Debug)]
pub struct Conn {
    /// The flow that it carries.
    pub flow: FlowId,
    pub src: NodeId,
    pub dst: NodeId,
    /// Stands for the 5-tuple of packets to the receiver; those to the sender have another.
    pub label: u32,
    /// The run's transport that moves it.
    pub transport: u8,
    /// The configuration of that transport that it goes by.
    pub config: u8,
    /// The run's balancer that spreads its packets.
    pub balancer: u8,
    /// Whether a path is chosen for each packet where it is made.
    pub(in crate::engine) paths_at_source: bool,
    /// Whether switches hash the entropy value of each of its packets: see
    /// [`Host::set_entropy`](crate::engine::contract::host::Host::set_entropy).
    pub(crate) by_entropy: bool,
    /// Whether its balancer learns from its sender: see [`Host::tell_path`](crate::engine::contract::host::Host::tell_path).
    pub(crate) learns: bool,
    /// Whether its flow need not end before the run does.
    pub background: bool,
    /// Priority, for transports that have priorities; the lowest number goes first.
    pub priority: u8,
    /// Class of its traffic entry; packets to which the transport gives a higher number have that.
    pub class: u8,
    /// Its number among the subflows of its flow.
    pub subflow: u8,
    /// Whether it is over: its sender is done, its packets are gone. Only timers and turns keep the slot.
    pub closed: bool,
    /// The flow that it carried, if it is over: for observers.
    pub(in crate::engine) carried: FlowId,
    /// Whether the slot is in use.
    pub open: bool,
    /// Of a subflow, the connection that stands for its whole flow: see [`Host::open_subflow`](crate::engine::contract::host::Host::open_subflow).
    pub parent: ConnId,
    /// The connection whose state at the hosts moves it: itself, or the one that is kept for it and other flows.
    pub via: ConnId,
    /// Bytes of the flow; of a connection that is kept, those of its first flow.
    pub size: u64,
    /// Key of the flow's own random streams.
    pub key: u64,
    pub start: Time,
    pub(in crate::engine) sender: SenderEnd,
    pub(in crate::engine) receiver: ReceiverEnd,
    pub(in crate::engine) network: InNetwork,
    /// Whether its flow counts as ended.
    pub(in crate::engine) counted: bool,
    /// Whether it is to close when its packets are gone in all parts of the run.
    pub(in crate::engine) closing: bool,
}

/// The end of a connection at the host that sends.
#[derive(Clone, Copy, Debug)]
pub struct SenderEnd {
    /// Data packets put on the wire.
    pub packets_sent: u64,
    /// Data packets sent again.
    pub retransmissions: u32,
    /// Timeouts that made the sender act.
    pub timeouts: u32,
    /// Those of them that came after the loss of a whole window.
    pub timeouts_whole_window: u32,
    /// Pieces of a flow's data that a subflow has sent, each in one direction without a gap.
    pub pieces: u32,
    /// Time at which the sender knew that the receiver has every byte; [`Time::NEVER`] before.
    pub acked_at: Time,
    /// Whether the sender has nothing left to do.
    pub done: bool,
    /// Whether it has given the flow up.
    pub(in crate::engine) gave_up: bool,
    /// The class of its data, by which its host's port may be paused.
    pub(in crate::engine) class: u8,
    /// Whether it is in its port's list of connections that have something to send.
    pub(in crate::engine) ready: bool,
    /// The next one in that list.
    pub(in crate::engine) next_ready: ConnId,
    /// Its place among those that are ready by rank: see `engine/data/ranks.rs`.
    pub(in crate::engine) rank_at: u32,
    pub(in crate::engine) port: LinkId,
    /// The label of its packets, and their flags for a whole path.
    pub(in crate::engine) label: u32,
    pub(in crate::engine) path_flags: u8,
    /// Timer events that are pending.
    pub(in crate::engine) timers: u32,
}

/// The end of a connection at the host that receives.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverEnd {
    /// Payload bytes that have arrived, each counted once.
    pub delivered_bytes: u64,
    /// Data packets that arrived after one that was sent later.
    pub reordered: u32,
    /// Headers of trimmed packets that arrived.
    pub trims: u32,
    /// Time at which the last byte arrived; [`Time::NEVER`] before.
    pub completed_at: Time,
    /// Whether a packet has arrived.
    pub(in crate::engine) accepted: bool,
    /// Whether it has notified flows that wait for its end: completed, or given up.
    pub(in crate::engine) ended: bool,
    /// Latest creation time among the data packets that arrived.
    pub(in crate::engine) newest: Time,
    pub(in crate::engine) port: LinkId,
    pub(in crate::engine) label: u32,
    pub(in crate::engine) path_flags: u8,
    /// Timer events that are pending.
    pub(in crate::engine) timers: u32,
}

/// The packets of a connection anywhere in the network. In a run of several parts each part counts those that
/// it has made and those that have ended in it; the number in existence is the sum, modulo 2^32.
#[derive(Clone, Copy, Debug)]
pub struct InNetwork {
    /// Packets of it that exist; if it has subflows, the number of these that are not over.
    pub packets: u32,
    /// Packets that queues dropped, and those of them that were credits.
    pub drops: u32,
    pub credit_drops: u32,
    /// Packets lost to faults.
    pub lost: u32,
    /// When the last packet ended.
    pub ended_at: Time,
}

impl InNetwork {
    /// There has been no packet.
    pub const NONE: InNetwork =
        InNetwork { packets: 0, drops: 0, credit_drops: 0, lost: 0, ended_at: Time::ZERO };

    /// A packet more.
    #[inline]
    pub fn begin(&mut self) {
        self.packets = self.packets.wrapping_add(1);
    }

    /// A packet less. Returns whether it was the last one here.
    #[inline]
    pub fn end(&mut self, now: Time) -> bool {
        self.packets = self.packets.wrapping_sub(1);
        self.ended_at = now;
        self.packets == 0
    }

    /// The sum of two parts' counts.
    pub fn and(self, other: InNetwork) -> InNetwork {
        InNetwork {
            packets: self.packets.wrapping_add(other.packets),
            drops: self.drops + other.drops,
            credit_drops: self.credit_drops + other.credit_drops,
            lost: self.lost + other.lost,
            ended_at: self.ended_at.max(other.ended_at),
        }
    }
}

impl Conn {
    /// It is over: its slot is no longer that of its flow.
    pub(in crate::engine) fn close(&mut self) {
        (self.carried, self.flow, self.closed) = (self.flow, FlowId::NONE, true);
    }

    /// A connection from one host to another of which nothing is known yet.
    pub fn between(src: NodeId, dst: NodeId) -> Conn {
        Conn {
            flow: FlowId::NONE,
            src,
            dst,
            label: 0,
            transport: 0,
            config: 0,
            balancer: 0,
            paths_at_source: false,
            by_entropy: false,
            learns: false,
            background: false,
            priority: 0,
            class: 0,
            subflow: 0,
            closed: false,
            carried: FlowId::NONE,
            open: true,
            parent: ConnId::NONE,
            via: ConnId::NONE,
            size: 0,
            key: 0,
            start: Time::ZERO,
            sender: SenderEnd::new(LinkId::NONE, 0),
            receiver: ReceiverEnd::new(LinkId::NONE, 0),
            network: InNetwork::NONE,
            counted: false,
            closing: false,
        }
    }

    /// With packets of that label, for tests.
    #[cfg(test)]
    pub fn with_label(mut self, label: u32) -> Conn {
        self.sender.label = label;
        self
    }

    /// With so many packets that exist, for tests that make and drop them.
    #[cfg(test)]
    pub fn with_packets(mut self, packets: u32) -> Conn {
        self.network.packets = packets;
        self
    }

    /// The same connection from its beginning, with these ports at its ends.
    pub(in crate::engine) fn fresh(self, (src_port, dst_port): (LinkId, LinkId)) -> Conn {
        Conn {
            sender: SenderEnd {
                class: self.sender.class.max(self.class),
                ..SenderEnd::new(src_port, self.label)
            },
            receiver: ReceiverEnd::new(dst_port, reverse_label(self.label)),
            network: InNetwork::NONE,
            ..self
        }
    }

    /// Gives the packets that it sends from now on another label.
    pub(in crate::engine) fn relabel(&mut self, label: u32) {
        self.label = label;
        (self.sender.label, self.receiver.label) = (label, reverse_label(label));
    }

    /// The ports by which its sender and its receiver send.
    pub(in crate::engine) fn ports(&self) -> (LinkId, LinkId) {
        (self.sender.port, self.receiver.port)
    }

    /// The port by which that host of the two sends.
    #[inline]
    pub(in crate::engine) fn port_at(&self, host: NodeId) -> LinkId {
        if host == self.src { self.sender.port } else { self.receiver.port }
    }

    /// Whether its sender has nothing left to do.
    pub fn sender_done(&self) -> bool {
        self.sender.done
    }

    /// For the audit: whether its sender is in this part of the run.
    pub fn sends_here(&self) -> bool {
        self.sender.port != LinkId::NONE
    }

    /// Whether a packet of it has arrived at its receiver.
    pub fn accepted(&self) -> bool {
        self.receiver.accepted
    }

    /// The counters of its ends and of the network, added up: its row of the flows table.
    pub fn counts(&self) -> Counts {
        Counts {
            delivered_bytes: self.receiver.delivered_bytes,
            packets_sent: self.sender.packets_sent,
            retransmissions: self.sender.retransmissions,
            timeouts: self.sender.timeouts,
            timeouts_whole_window: self.sender.timeouts_whole_window,
            trims: self.receiver.trims,
            drops: self.network.drops - self.network.credit_drops,
            credit_drops: self.network.credit_drops,
            lost: self.network.lost,
            reordered: self.receiver.reordered,
            abandoned: self.sender.gave_up && self.receiver.completed_at == Time::NEVER,
            completed_at: self.receiver.completed_at,
            acked_at: self.sender.acked_at,
        }
    }

    /// The counters of a flow's packets whose subflows have counted them.
    pub(in crate::engine) fn add_packets(&mut self, subflow: &Counts) {
        self.sender.packets_sent += subflow.packets_sent;
        self.sender.retransmissions += subflow.retransmissions;
        self.sender.timeouts += subflow.timeouts;
        self.sender.timeouts_whole_window += subflow.timeouts_whole_window;
        self.receiver.trims += subflow.trims;
        self.network.drops += subflow.drops + subflow.credit_drops;
        self.network.credit_drops += subflow.credit_drops;
        self.network.lost += subflow.lost;
    }
}

impl SenderEnd {
    /// One that has sent nothing.
    pub fn new(port: LinkId, label: u32) -> SenderEnd {
        SenderEnd {
            packets_sent: 0,
            retransmissions: 0,
            timeouts: 0,
            timeouts_whole_window: 0,
            pieces: 0,
            acked_at: Time::NEVER,
            done: false,
            gave_up: false,
            class: 0,
            ready: false,
            next_ready: ConnId::NONE,
            rank_at: NOWHERE,
            port,
            label,
            path_flags: 0,
            timers: 0,
        }
    }
}

impl ReceiverEnd {
    /// One at which nothing has arrived.
    pub fn new(port: LinkId, label: u32) -> ReceiverEnd {
        ReceiverEnd {
            delivered_bytes: 0,
            reordered: 0,
            trims: 0,
            completed_at: Time::NEVER,
            accepted: false,
            ended: false,
            newest: Time::ZERO,
            port,
            label,
            path_flags: 0,
            timers: 0,
        }
    }
}

/// Counters of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    pub delivered_bytes: u64,
    pub packets_sent: u64,
    pub retransmissions: u32,
    pub timeouts: u32,
    pub timeouts_whole_window: u32,
    pub trims: u32,
    /// Dropped packets but credits, and dropped credits.
    pub drops: u32,
    pub credit_drops: u32,
    pub lost: u32,
    pub reordered: u32,
    /// Whether the sender gave it up before every byte had arrived.
    pub abandoned: bool,
    /// Completion at the receiver; [`Time::NEVER`] while unfinished.
    pub completed_at: Time,
    /// Completion at the sender; [`Time::NEVER`] while unfinished.
    pub acked_at: Time,
}

impl Counts {
    /// Nothing has happened yet.
    pub const UNFINISHED: Counts = Counts {
        delivered_bytes: 0,
        packets_sent: 0,
        retransmissions: 0,
        timeouts: 0,
        timeouts_whole_window: 0,
        trims: 0,
        drops: 0,
        credit_drops: 0,
        lost: 0,
        reordered: 0,
        abandoned: false,
        completed_at: Time::NEVER,
        acked_at: Time::NEVER,
    };
}

impl Counts {
    /// Adds what one of the flow's subflows has counted of its packets. Delivered and reordered packets of a
    /// subflow do not determine those of the whole flow, which counts these itself.
    pub fn add_packets(&mut self, subflow: &Counts) {
        self.packets_sent += subflow.packets_sent;
        self.retransmissions += subflow.retransmissions;
        self.timeouts += subflow.timeouts;
        self.timeouts_whole_window += subflow.timeouts_whole_window;
        self.trims += subflow.trims;
        self.drops += subflow.drops;
        self.credit_drops += subflow.credit_drops;
        self.lost += subflow.lost;
    }
}

/// The record of a subflow: its row of the connections table.
#[derive(Clone, Copy, Debug)]
pub struct Subflow {
    /// The flow that it helped to carry.
    pub flow: FlowId,
    /// Its number in the flow.
    pub number: u8,
    /// The port by which its sender sent at the end.
    pub src_port: LinkId,
    /// Pieces of the flow's data that it has sent.
    pub pieces: u32,
    /// Its counters; completion is not among them.
    pub counts: Counts,
}

impl From<&Conn> for Subflow {
    fn from(conn: &Conn) -> Subflow {
        let SenderEnd { port, pieces, .. } = conn.sender;
        Subflow { flow: conn.flow, number: conn.subflow, src_port: port, pieces, counts: conn.counts() }
    }
}

/// The connections that have something to send by one port, in the order in which they take turns.
#[derive(Clone, Copy, Debug)]
pub struct ReadyList {
    head: ConnId,
    tail: ConnId,
}

impl Default for ReadyList {
    fn default() -> Self {
        ReadyList { head: ConnId::NONE, tail: ConnId::NONE }
    }
}

impl ReadyList {
    /// Whether no connection waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == ConnId::NONE
    }

    /// Whether that connection is the next one.
    #[inline]
    pub fn is_first(&self, id: ConnId) -> bool {
        self.head == id
    }

    /// Puts a connection at the end unless it waits already.
    #[inline]
    pub fn push(&mut self, conns: &mut [Conn], id: ConnId) {
        let conn = &mut conns[id.index()];
        if conn.sender.ready {
            return;
        }
        conn.sender.ready = true;
        conn.sender.next_ready = ConnId::NONE;
        match self.tail {
            ConnId::NONE => self.head = id,
            tail => conns[tail.index()].sender.next_ready = id,
        }
        self.tail = id;
    }

    /// Takes the first one whose class of traffic is not paused; those before it go behind the others.
    #[inline]
    pub fn pop_unless(&mut self, conns: &mut [Conn], stopped: u8) -> Option<ConnId> {
        if stopped == 0 { self.pop(conns) } else { self.pop_past(conns, stopped) }
    }

    #[cold]
    fn pop_past(&mut self, conns: &mut [Conn], stopped: u8) -> Option<ConnId> {
        let first = self.head;
        while let Some(id) = self.pop(conns) {
            if stopped & 1 << class_of(conns[id.index()].sender.class) == 0 {
                return Some(id);
            }
            self.push(conns, id);
            if self.head == first {
                break;
            }
        }
        None
    }

    /// Takes the first one.
    #[inline]
    pub fn pop(&mut self, conns: &mut [Conn]) -> Option<ConnId> {
        let id = self.head;
        if id == ConnId::NONE {
            return None;
        }
        let conn = &mut conns[id.index()];
        conn.sender.ready = false;
        self.head = conn.sender.next_ready;
        if self.head == ConnId::NONE {
            self.tail = ConnId::NONE;
        }
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last byte may have been in flight when the sender gave up: then the flow is complete.
    #[test]
    fn a_flow_that_was_given_up_is_abandoned_unless_it_completes() {
        let mut conn = Conn::between(NodeId(0), NodeId(1));
        assert!(!conn.counts().abandoned);
        conn.sender.gave_up = true;
        assert!(conn.counts().abandoned);
        conn.receiver.completed_at = Time::from_us(3);
        assert!(!conn.counts().abandoned);
    }
}
