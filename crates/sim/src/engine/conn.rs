//! Connections: what the engine keeps for each flow that is under way.

use super::gate::class_of;
use crate::ids::{ConnId, FlowId, LinkId, NodeId};
use crate::units::Time;

/// A connection's place in the network and what is counted for its flow's record.
#[derive(Clone, Copy, Debug)]
pub struct Conn {
    /// The flow that it carries.
    pub flow: FlowId,
    /// The host that sends.
    pub src: NodeId,
    /// The host that receives.
    pub dst: NodeId,
    /// The sender's port for this connection.
    pub src_port: LinkId,
    /// The receiver's port for this connection.
    pub dst_port: LinkId,
    /// Stands for the 5-tuple of packets to the receiver; those to the sender have another.
    pub label: u32,
    /// Which of the run's transports moves it.
    pub transport: u8,
    /// Which of the configurations that its transport carries it goes by.
    pub variant: u8,
    /// Which of the run's balancers spreads its packets.
    pub balancer: u8,
    /// Whether nobody waits for its flow.
    pub background: bool,
    /// What transports that know priorities go by; the lowest number goes first.
    pub priority: u8,
    /// The class of its data, by which its host's port may be told to stop.
    pub class: u8,
    /// Whether the slot is in use.
    pub open: bool,
    /// Whether the sender has nothing left to do.
    pub done: bool,
    /// Whether its flow counts as ended.
    pub counted: bool,
    /// Whether it stands in its port's list of those that have something to send.
    pub ready: bool,
    /// Its number among the subflows of its flow.
    pub subflow: u8,
    /// Of a subflow, the connection that stands for its whole flow: see [`Cx::open_subflow`](super::cx::Cx::open_subflow).
    pub parent: ConnId,
    /// The connection whose state at the hosts moves it: itself, or the one that is kept for it and other flows.
    pub via: ConnId,
    /// The next one in that list.
    pub next_ready: ConnId,
    /// Packets of it that exist; if it has subflows, how many of these are not over.
    pub packets: u32,
    /// Timer events of it that are pending.
    pub timers: u32,
    /// When the flow started.
    pub start: Time,
    /// Latest creation time among the data packets that arrived.
    pub newest: Time,
    /// What its row of the flows table will say.
    pub counts: Counts,
}

/// What is counted for a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the columns of the flows table have the same names")]
pub struct Counts {
    pub delivered_bytes: u64,
    pub packets_sent: u64,
    pub retransmissions: u32,
    pub timeouts: u32,
    pub trims: u32,
    pub drops: u32,
    pub lost: u32,
    pub reordered: u32,
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
        trims: 0,
        drops: 0,
        lost: 0,
        reordered: 0,
        completed_at: Time::NEVER,
        acked_at: Time::NEVER,
    };
}

impl Counts {
    /// Adds what one of the flow's subflows has counted of its packets. What it delivered and what came out of order in
    /// it does not say what did in the whole flow, which counts these itself.
    pub fn add_packets(&mut self, subflow: &Counts) {
        self.packets_sent += subflow.packets_sent;
        self.retransmissions += subflow.retransmissions;
        self.timeouts += subflow.timeouts;
        self.trims += subflow.trims;
        self.drops += subflow.drops;
        self.lost += subflow.lost;
    }
}

/// What a subflow leaves: its row of the connections table.
#[derive(Clone, Copy, Debug)]
pub struct Subflow {
    /// The flow that it helped to carry.
    pub flow: FlowId,
    /// Its number in the flow.
    pub number: u8,
    /// The port by which its sender sent at the end.
    pub src_port: LinkId,
    /// What it has counted; it does not know of completion.
    pub counts: Counts,
}

impl From<&Conn> for Subflow {
    fn from(conn: &Conn) -> Subflow {
        Subflow { flow: conn.flow, number: conn.subflow, src_port: conn.src_port, counts: conn.counts }
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
    /// Whether nobody waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == ConnId::NONE
    }

    /// Puts a connection at the end unless it waits already.
    #[inline]
    pub fn push(&mut self, conns: &mut [Conn], id: ConnId) {
        let conn = &mut conns[id.index()];
        if conn.ready {
            return;
        }
        conn.ready = true;
        conn.next_ready = ConnId::NONE;
        match self.tail {
            ConnId::NONE => self.head = id,
            tail => conns[tail.index()].next_ready = id,
        }
        self.tail = id;
    }

    /// Takes the first one whose class of traffic is not stopped; those before it go behind the others.
    #[inline]
    pub fn pop_unless(&mut self, conns: &mut [Conn], stopped: u8) -> Option<ConnId> {
        if stopped == 0 { self.pop(conns) } else { self.pop_past(conns, stopped) }
    }

    #[cold]
    fn pop_past(&mut self, conns: &mut [Conn], stopped: u8) -> Option<ConnId> {
        let first = self.head;
        while let Some(id) = self.pop(conns) {
            if stopped & 1 << class_of(conns[id.index()].class) == 0 {
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
        conn.ready = false;
        self.head = conn.next_ready;
        if self.head == ConnId::NONE {
            self.tail = ConnId::NONE;
        }
        Some(id)
    }
}
