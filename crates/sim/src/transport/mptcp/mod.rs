//! Multipath TCP: a flow carried by several TCP connections, its subflows, each on a path of its own.
//!
//! Sources: RFC 8684 (the protocol), RFC 6356 (coupled windows), Raiciu et al., "Improving Datacenter Performance and
//! Robustness with Multipath TCP", SIGCOMM 2011 (how many subflows). A subflow is TCP's sender and receiver as they are,
//! with its own sequence numbers, window and timers; `session` says which data it carries, `lia` how windows are coupled.
//!
//! A connection that carries nothing stands for the flow, or for the flows that share a kept one, each of which has then a
//! part at every subflow: a slot to which its packets there belong. New data goes to whichever subflow is asked by its host's wire
//! and has room in its window: acknowledgements, which make that room, come at the pace of each path. Data counts as
//! acknowledged when a segment that carried it is: RFC 8684, 3.3.2, has data acknowledged apart, so that a receiver may
//! drop what a subflow has acknowledged, which none does here.

pub mod lia;
pub mod session;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::session::{Incoming, Outgoing};
use super::frame::Frame;
use super::tcp::Tcp;
use super::tcp::connection::{DELAYED_ACK, RETRANSMIT, Receiver, Sender};
use super::{Ends, Framing, HostSide, Settings, audit_ranges};
use crate::balancer::Balancer;
use crate::derived::{Longest, Values};
use crate::engine::conn::Conn;
use crate::engine::cx::{Cx, Owner};
use crate::engine::packet::Packet;
use crate::ids::{ConnId, FlowId};
use crate::queue::{Feature, Queue};
use crate::random::Purpose;
use crate::topology::Fabric;
use crate::units::Time;

/// Multipath TCP: a flow over several TCP connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mptcp {
    /// TCP connections that carry a flow (Raiciu et al. 2011: 8 for a large fat-tree), each with a 5-tuple of its own.
    #[schemars(range(min = 1, max = 64))]
    pub subflows: u32,
    /// How windows grow in congestion avoidance.
    pub coupling: Coupling,
    /// When the second subflow and all further ones start.
    pub join: Join,
    /// What `tcp.receive_window` is for.
    pub receive_window: Covers,
    /// Whether data that a subflow gives up, because its retransmission timer has expired, also goes to the others, as
    /// Linux does; RFC 8684, 3.3.6, leaves it to the sender.
    pub reinject: bool,
    /// What each subflow does as TCP.
    pub tcp: Tcp,
}

/// How windows of subflows grow in congestion avoidance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Coupling {
    /// Together as the window of one TCP on the best path: the linked increases algorithm (RFC 6356).
    #[default]
    Lia,
    /// Each as the window of a TCP on its own.
    Uncoupled,
}

/// When the second subflow and all further ones start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Join {
    /// When the first one has its SYN/ACK, which has the key that their SYNs need (RFC 8684, 3.2).
    Established,
    /// With the first one (htsim).
    AtOnce,
}

/// What a receive window is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Covers {
    /// The data of the whole flow, from the first byte on that is missing (RFC 8684, 3.3.4): one slow subflow may stop
    /// the others.
    Flow,
    /// Each subflow for itself (htsim).
    Subflow,
}

impl Default for Mptcp {
    fn default() -> Self {
        Mptcp {
            subflows: 8,
            coupling: Coupling::Lia,
            join: Join::Established,
            receive_window: Covers::Flow,
            reinject: true,
            tcp: Tcp::default(),
        }
    }
}

/// Values of TCP's fields, as those of the field `tcp`.
fn below_tcp(values: Values) -> Values {
    values.into_iter().map(|(field, value)| (format!("tcp.{field}"), value)).collect()
}

impl Settings for Mptcp {
    fn problems(&self) -> Vec<(String, String)> {
        let below = self.tcp.problems().into_iter();
        below.map(|(path, why)| (format!("tcp.{path}"), why)).collect()
    }

    fn needs(&self) -> &'static [Feature] {
        self.tcp.needs()
    }

    fn recommended_queue(&self) -> Queue {
        self.tcp.recommended_queue()
    }

    fn recommended_balancer(&self) -> Balancer {
        self.tcp.recommended_balancer()
    }

    fn full_packet(&self) -> u64 {
        self.tcp.full_packet()
    }

    fn answer_bytes(&self) -> u64 {
        self.tcp.answer_bytes()
    }

    fn derived(&self, longest: &Longest) -> Values {
        below_tcp(self.tcp.derived(longest))
    }

    fn preset(&self) -> Values {
        below_tcp(self.tcp.preset())
    }

    fn framing(&self) -> Option<Framing> {
        self.tcp.framing()
    }

    fn keeps(&self) -> bool {
        true
    }

    fn longest_timeout(&self) -> Time {
        self.tcp.longest_timeout()
    }

    fn most_under_way(&self) -> Option<u64> {
        let windows = if self.receive_window == Covers::Flow { 1 } else { u64::from(self.subflows) };
        self.tcp.most_under_way().map(|packets| windows * packets)
    }

    fn subflows(&self) -> u64 {
        u64::from(self.subflows)
    }

    fn answers(&self) -> f64 {
        self.tcp.answers()
    }

    fn link_bytes(&self) -> u64 {
        self.tcp.link_bytes()
    }

    fn frame(&self, packet: &Packet) -> Frame {
        self.tcp.frame(packet)
    }
}

/// Of a data segment's `Header::ack`, which TCP leaves free: the number of its data in the flow, and above it whether
/// that is the last.
const LAST_DATA: u64 = 1 << 32;

/// All connections of a run, and their subflows.
pub struct Model {
    config: Mptcp,
    /// Of whole connections: that of a flow by itself is the one that stands for it.
    outgoing: Ends<Outgoing>,
    incoming: Ends<Incoming>,
    subflows: Ends<Vec<ConnId>>,
    /// Of subflows.
    senders: Ends<Sender>,
    receivers: Ends<Receiver>,
    /// Parts of which a segment has just been acknowledged.
    left: Vec<ConnId>,
}

impl Model {
    pub(super) fn new(config: &Mptcp, _fabric: &Fabric) -> Model {
        Model {
            config: config.clone(),
            outgoing: Ends::default(),
            incoming: Ends::default(),
            subflows: Ends::default(),
            senders: Ends::default(),
            receivers: Ends::default(),
            left: Vec::new(),
        }
    }

    /// A flow goes behind those that its connection carries; `parts` are its slots at the subflows.
    fn carry(&mut self, flow: ConnId, parts: &[ConnId], size: u64, cx: &mut Cx) {
        let id = cx.conn(flow).via;
        let outgoing = &mut self.outgoing[id];
        let opens = outgoing.is_fresh();
        outgoing.push(flow, parts.iter().copied(), size, cx.due());
        if !opens {
            return self.wake(id, cx);
        }
        let first = self.subflows[id][0];
        self.open(first, cx);
        if self.config.join == Join::AtOnce || self.senders[first].is_established() {
            self.join(id, cx);
        }
    }

    /// On a kept connection: flows may be over, and parts of them of which nothing is under way any more.
    #[cold]
    fn settle(&mut self, id: ConnId, own: u8, cx: &mut Cx) {
        let outgoing = &mut self.outgoing[id];
        while let Some(flow) = outgoing.first_over() {
            outgoing.take_first(|part| cx.finish_subflow(part));
            cx.acknowledged(flow);
            cx.finish(flow);
        }
        for &part in &self.left {
            // It is there as long as it is not done, and so is its flow.
            let conn = cx.conn(part);
            if !conn.done && cx.conn(conn.parent).done && !outgoing.carries(own, part) {
                cx.finish_subflow(part);
            }
        }
    }

    /// The second subflow and all further ones start.
    #[cold]
    fn join(&mut self, flow: ConnId, cx: &mut Cx) {
        for own in 1..self.subflows[flow].len() {
            self.open(self.subflows[flow][own], cx);
        }
    }

    fn open(&mut self, id: ConnId, cx: &mut Cx) {
        let Conn { parent: flow, subflow: own, .. } = *cx.conn(id);
        self.senders[id].open(id, &self.config.tcp, &self.outgoing[flow].share(own), cx);
    }

    /// All subflows that have something to send ask for their turn.
    fn wake(&mut self, flow: ConnId, cx: &mut Cx) {
        let outgoing = &mut self.outgoing[flow];
        for (own, &id) in self.subflows[flow].iter().enumerate() {
            if self.senders[id].may_send(&self.config.tcp, &outgoing.share(own as u8)) {
                cx.ready(id);
            }
        }
    }

    /// The sender knows that all has arrived.
    #[cold]
    fn finish(&mut self, flow: ConnId, cx: &mut Cx) {
        for &id in &self.subflows[flow] {
            self.senders[id].stop();
            cx.finish_subflow(id);
        }
        cx.acknowledged(flow);
        cx.finish(flow);
    }

    fn on_retransmission_timer(&mut self, id: ConnId, cx: &mut Cx) {
        let Conn { parent: flow, subflow: own, .. } = *cx.conn(id);
        let (outgoing, sender) = (&mut self.outgoing[flow], &mut self.senders[id]);
        let gave_up = sender.on_timer(id, &self.config.tcp, &outgoing.share(own), cx);
        outgoing.note(own, sender);
        if gave_up && self.config.reinject && self.config.subflows > 1 && self.outgoing[flow].give_up(own) {
            self.wake(flow, cx);
        }
    }
}

impl HostSide for Model {
    fn start(&mut self, flow: ConnId, size: u64, key: u64, cx: &mut Cx) {
        self.connect(flow, key, cx);
        let parts = std::mem::take(&mut self.subflows[flow]);
        self.subflows[flow].extend(&parts);
        self.carry(flow, &parts, size, cx);
    }

    fn connect(&mut self, id: ConnId, key: u64, cx: &mut Cx) {
        let Mptcp { subflows, coupling, receive_window, ref tcp, .. } = self.config;
        let window = if receive_window == Covers::Flow { tcp.receive_window.0 } else { u64::MAX };
        self.outgoing.open(id).reset(tcp.mss.0, window, subflows as usize, coupling);
        self.incoming.open(id).reset();
        self.subflows.open(id).clear();
        // The first one has the connection's own 5-tuple, those of the others are drawn on from there.
        let mut labels = cx.flow_chance(Purpose::FiveTuple, key);
        for own in 0..subflows as u8 {
            let subflow = cx.open_subflow(id, own, labels.bits() as u32);
            self.subflows[id].push(subflow);
            self.senders.open(subflow).reset(tcp);
            self.receivers.open(subflow).reset(tcp);
        }
    }

    fn message(&mut self, flow: ConnId, size: u64, cx: &mut Cx) {
        let subflows = &self.subflows[cx.conn(flow).via];
        let parts: Vec<ConnId> = subflows.iter().map(|&via| cx.open_part(flow, via)).collect();
        self.carry(flow, &parts, size, cx);
    }

    fn at_receiver(&mut self, packet: &Packet, cx: &mut Cx) {
        let Conn { parent: flow, via: subflow, .. } = *cx.conn(packet.conn);
        let whole = cx.conn(subflow).parent;
        self.receivers[subflow].on_packet(subflow, packet, &self.config.tcp, cx);
        let header = &packet.header;
        if header.len == 0 {
            return;
        }
        cx.note_arrival_in(flow, packet);
        let incoming = &mut self.incoming[whole];
        let last_of = (header.ack & LAST_DATA != 0).then_some(flow);
        if incoming.receive(header.ack as u32, last_of, header.len) {
            cx.delivered(flow, u64::from(header.len));
        }
        let mut completes = false;
        while let Some(complete) = incoming.take_complete() {
            completes = true;
            cx.completed(complete);
        }
        // With the last byte all subflows acknowledge what they have, as TCP does, and what comes later at once.
        if incoming.is_complete() && (self.config.tcp.ack_last_segment || !completes) {
            let kept = cx.conn(whole).flow == FlowId::NONE;
            for &id in &self.subflows[whole] {
                // One that has closed may have left its slot to another flow's.
                let conn = cx.conn(id);
                if kept || conn.parent == whole && conn.flow != FlowId::NONE {
                    self.receivers[id].flush(&self.config.tcp, cx);
                }
            }
        }
    }

    fn at_sender(&mut self, packet: &Packet, cx: &mut Cx) {
        let id = cx.conn(packet.conn).via;
        let Conn { parent: whole, subflow: own, done, .. } = *cx.conn(id);
        if done {
            return;
        }
        let (outgoing, sender) = (&mut self.outgoing[whole], &mut self.senders[id]);
        let (was_blocked, was_established) = (outgoing.is_blocked(), sender.is_established());
        let kept = cx.conn(whole).flow == FlowId::NONE;
        self.left.clear();
        outgoing.acknowledged(own, packet.header.number, |part| {
            if kept && self.left.last() != Some(&part) {
                self.left.push(part);
            }
        });
        sender.on_packet(id, packet, &self.config.tcp, &mut outgoing.share(own), cx);
        outgoing.note(own, sender);
        if kept {
            self.settle(whole, own, cx);
        } else if outgoing.is_over() {
            return self.finish(whole, cx);
        }
        let joins = own == 0 && !was_established && self.senders[id].is_established();
        if joins && self.config.join == Join::Established {
            self.join(whole, cx);
        }
        if was_blocked && !self.outgoing[whole].is_blocked() {
            self.wake(whole, cx);
        }
    }

    fn next_packet(&mut self, id: ConnId, cx: &mut Cx) -> (Option<Packet>, bool) {
        let Conn { parent: flow, subflow: own, done, .. } = *cx.conn(id);
        if done {
            // It had asked for its turn before the flow was over, and another flow may stand in that one's slot.
            return (None, false);
        }
        let outgoing = &mut self.outgoing[flow];
        let share = &mut outgoing.share(own);
        let (mut packet, more) = self.senders[id].next_packet(id, &self.config.tcp, share, cx);
        if let Some(packet) = &mut packet {
            let (data, last) = outgoing.mapped(own, packet.header.number);
            packet.header.ack = u64::from(data) | if last { LAST_DATA } else { 0 };
        }
        (packet, more)
    }

    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut Cx) {
        let Owner::Conn(id) = owner else { unreachable!("no timer belongs to a host") };
        let conn = cx.conn(id);
        if conn.done && conn.flow == FlowId::NONE {
            // The subflow has closed, and its flow may have; only its slot has waited for this.
            return;
        }
        match kind {
            RETRANSMIT => self.on_retransmission_timer(id, cx),
            DELAYED_ACK => self.receivers[id].on_timer(id, &self.config.tcp, cx),
            _ => unreachable!("TCP has no other timers"),
        }
    }

    /// Of a flow, what its subflows have together; none any more once these may have closed.
    fn window(&self, id: ConnId) -> Option<u64> {
        (!self.outgoing[id].is_over())
            .then(|| self.subflows[id].iter().map(|&id| self.senders[id].cwnd()).sum())
    }

    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        for (id, conn) in conns.iter().filter(|(id, conn)| conn.via == *id) {
            let received = match conn.parent {
                ConnId::NONE => self.incoming[*id].received(),
                _ => self.receivers[*id].received(),
            };
            audit_ranges(*id, conn, received, found);
        }
    }
}
