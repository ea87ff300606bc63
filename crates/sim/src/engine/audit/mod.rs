//! The audit: counters against structures, again and again during a run.
//!
//! The counters of arriving and departing packets are compared with the contents of the queues, the calendar
//! and the arena: no counter is trusted because another one agrees with it.
//!
//! A run in several parts is audited between two windows, as one: a port's counters are those of the part of its link's
//! head, what has come out of the link is known to the part of its end, and each part has the packets that are on their
//! way to it.

mod credits;
mod defects;
mod part;

use self::credits::audit_credits;
use crate::engine::contract::agent::PortAgent;
use crate::engine::contract::discipline::Discipline;
use crate::engine::contract::members::Members;
use crate::engine::data::conn::Conn;
use crate::engine::data::port::{Amount, Port};
use crate::engine::network::Network;
use crate::engine::network::egress::{Egress, PortQueue};
use crate::engine::run::Engine;
use crate::ids::{ConnId, FlowId, NodeId};
use crate::topology::Fabric;
use crate::units::Time;
use rustc_hash::FxHashSet;

/// More findings than this add nothing new.
pub const FINDINGS_MAX: usize = 20;

/// The parts of a run, or the only one, at one time.
pub(super) struct Auditor<'e, 'a, 'o, M: Members> {
    pub parts: Vec<&'e Engine<'a, 'o, M>>,
    /// Connections with both their ends.
    pub conns: &'e [Conn],
    pub now: Time,
}

/// Results of the walks.
pub(super) struct Found {
    /// By port: the queued packets.
    pub(super) resident: Vec<Amount>,
    /// By link: packets between its ends, or committed to be.
    pub(super) on_wire: Vec<u64>,
    /// By port: end-of-transmission events.
    pub(super) departures: Vec<u32>,
    /// By port: timers of its queue, and ticks of its agent.
    pub(super) port_timers: Vec<u32>,
    pub(super) ticks: Vec<u32>,
    /// By connection: packets and timer events.
    pub(super) conn_packets: Vec<u32>,
    pub(super) conn_timers: Vec<u32>,
}

impl<M: Members> Auditor<'_, '_, '_, M> {
    /// The differences between counters and contents.
    pub(super) fn audit(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let found = self.walk(&mut wrong);
        self.audit_ports(&found, &mut wrong);
        let nets: Vec<&Network<'_, M>> = self.parts.iter().map(|part| &part.net).collect();
        audit_credits(&nets, |link| self.heads(link), |link| self.ends(link), &mut wrong);
        self.audit_conns(&found, &mut wrong);
        self.audit_agents(&found, &mut wrong);
        for part in &self.parts {
            part.audit_pauses(&mut wrong);
            part.audit_memory(&mut wrong);
            part.audit_starts(&mut wrong);
        }
        wrong
    }

    /// The part in which a link begins.
    fn heads(&self, link: usize) -> usize {
        self.part_of(|fabric| fabric.links[link].from)
    }

    /// The part in which it ends.
    fn ends(&self, link: usize) -> usize {
        self.part_of(|fabric| fabric.links[link].to)
    }

    fn part_of(&self, node: impl Fn(&Fabric) -> NodeId) -> usize {
        let first = self.parts[0];
        first.net.remote.partition.as_ref().map_or(0, |partition| partition.of(node(first.plan.parts.fabric)))
    }

    fn walk(&self, wrong: &mut Vec<String>) -> Found {
        let (links, conns) = (self.parts[0].net.egress.len(), self.conns.len());
        let mut found = Found {
            resident: vec![Amount::default(); links],
            on_wire: vec![0; links],
            departures: vec![0; links],
            port_timers: vec![0; links],
            ticks: vec![0; links],
            conn_packets: vec![0; conns],
            conn_timers: vec![0; conns],
        };
        self.parts.iter().for_each(|part| part.walk(&mut found, wrong));
        // A connection that stands for others counts those.
        let parts = self.conns.iter().filter(|conn| conn.open && conn.parent != ConnId::NONE);
        for conn in parts.filter(|conn| conn.flow != FlowId::NONE) {
            found.conn_packets[conn.parent.index()] += 1;
        }
        found
    }
}

impl<M: Members> Auditor<'_, '_, '_, M> {
    fn audit_ports(&self, found: &Found, wrong: &mut Vec<String>) {
        for link in 0..found.on_wire.len() {
            let (head, end) = (self.heads(link), self.ends(link));
            let (from, to) = (&self.parts[head].net, &self.parts[end].net);
            let Egress { port, queue, losses, .. } = &from.egress[link];
            let resident = found.resident[link];
            let (offered, received) = (from.tallies[link].offered, to.tallies[link].received);
            let refused = losses.dropped.packets + losses.bounced.packets;
            let packets = port.sent.packets + resident.packets + refused;
            if offered.packets != packets {
                let offered = offered.packets;
                wrong.push(format!(
                    "port {link}: {offered} packets offered, {packets} sent, waiting, dropped or sent back"
                ));
            }
            let refused = losses.dropped.bytes + losses.bounced.bytes;
            let bytes = port.sent.bytes + resident.bytes + refused + losses.trimmed_bytes;
            if offered.bytes != bytes {
                let offered = offered.bytes;
                wrong.push(format!(
                    "port {link}: {offered} bytes offered, {bytes} sent, waiting, dropped, sent back or trimmed off"
                ));
            }
            let occupied = match queue {
                PortQueue::Committed(departures, _) => departures.bytes(),
                PortQueue::Serviced(_) => resident.bytes + u64::from(port.wire_bytes),
            };
            if port.bytes != occupied {
                wrong.push(format!("port {link}: counts {} bytes, holds {occupied}", port.bytes));
            }
            let lost = |port: &Port| port.fault.as_ref().map_or(0, |fault| fault.lost);
            // Packets that a fault loses are counted where the link ends.
            let lost = lost(port) + if head == end { 0 } else { lost(&to.egress[link].port) };
            let passed = received + found.on_wire[link] + lost;
            if port.sent.packets != passed {
                let sent = port.sent.packets;
                wrong.push(format!(
                    "link {link}: {sent} packets sent, {passed} received, on the wire or lost"
                ));
            }
            if u32::from(port.serving) != found.departures[link] {
                let events = found.departures[link];
                wrong.push(format!(
                    "port {link}: serving is {}, with {events} departures pending",
                    port.serving
                ));
            }
            if u32::from(port.timer_set) != found.port_timers[link] {
                let (set, events) = (port.timer_set, found.port_timers[link]);
                wrong.push(format!("port {link}: its timer is set is {set}, with {events} of them pending"));
            }
            // A paused class waits for a frame of the other end.
            let held = port.timer_set
                && matches!(&from.egress[link].queue, PortQueue::Serviced(queue) if queue.holds_back());
            let waits = resident.packets > 0 && !held || !from.ready[link].is_empty();
            if !port.serving && port.paused == 0 && waits {
                wrong.push(format!("port {link}: something waits and nothing will serve it"));
            }
        }
    }

    /// Each agent has the tick that it waits for, and nothing of flows that are over.
    fn audit_agents(&self, found: &Found, wrong: &mut Vec<String>) {
        if self.parts[0].net.agents.is_empty() {
            return;
        }
        let open: FxHashSet<FlowId> =
            self.conns.iter().filter(|conn| conn.open).map(|conn| conn.flow).collect();
        for link in 0..found.ticks.len() {
            let (agent, ticking) = self.parts[self.heads(link)].net.agents.get(link);
            let ticks = found.ticks[link];
            if u32::from(ticking) != ticks {
                wrong.push(format!(
                    "agent {link}: waits for a tick is {ticking}, with {ticks} of them pending"
                ));
            }
            let is_open = |flow: FlowId| open.contains(&flow);
            let mut found = |what| wrong.push(format!("agent {link}: {what}"));
            agent.audit(self.now, &is_open, &mut found);
            if open.is_empty() {
                agent.audit_idle(&mut found);
            }
        }
    }

    /// Whether bytes are missing of a message before this one: their connection hands them over in order.
    fn waits_for_another(&self, message: &Conn) -> bool {
        self.conns.iter().any(|other| {
            let before = other.via == message.via && other.start <= message.start;
            let size = self.parts[0].starts.flow(other.flow).map_or(0, |flow| flow.size);
            other.open && before && other.receiver.delivered_bytes < size
        })
    }

    fn audit_conns(&self, found: &Found, wrong: &mut Vec<String>) {
        for (slot, conn) in self.conns.iter().enumerate().filter(|(_, conn)| conn.open) {
            if conn.network.packets != found.conn_packets[slot] {
                let there = found.conn_packets[slot];
                wrong.push(format!(
                    "connection {slot}: counts {} packets, {there} found",
                    conn.network.packets
                ));
            }
            let timers = conn.sender.timers + conn.receiver.timers;
            if timers != found.conn_timers[slot] {
                let there = found.conn_timers[slot];
                wrong.push(format!("connection {slot}: counts {timers} timers, {there} found"));
            }
            if conn.parent != ConnId::NONE {
                continue;
            }
            if let Some(flow) = self.parts[0].starts.flow(conn.flow) {
                let complete = conn.receiver.completed_at != Time::NEVER;
                let arrived = conn.receiver.delivered_bytes == flow.size;
                if complete != arrived && !(arrived && self.waits_for_another(conn)) {
                    let (delivered, size) = (conn.receiver.delivered_bytes, flow.size);
                    wrong.push(format!(
                        "flow {}: completed is {complete} with {delivered} of {size} bytes",
                        conn.flow
                    ));
                }
            }
        }
        for part in &self.parts {
            part.audit_transports(self.conns, wrong);
        }
    }
}
