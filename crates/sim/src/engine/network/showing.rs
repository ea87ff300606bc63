//! Packets that pass, shown to the agents at ports, to the audit and to observers.

use super::Network;
use super::agents::AtPort;
use super::egress::{Egress, PortQueue};
use crate::engine::contract::agent::{AgentContext, PortAgent, PortBytes};
use crate::engine::contract::members::Members;
use crate::engine::data::packet::{Arena, Packet};
use crate::engine::data::port::Tally;
use crate::ids::{FlowId, LinkId, PacketId};

impl<M: Members> Network<'_, M> {
    /// A packet has come to a port: for the port's agent and for an audit. To be said before [`Network::offer`].
    #[inline(always)]
    pub fn note_offer(&mut self, link: LinkId, id: PacketId) {
        if self.shows {
            let shown = self.shown_flow(id).filter(|&(_, to_receiver)| to_receiver);
            self.show_offer(link, id, shown.map(|(flow, _)| flow));
        }
    }

    /// The same, of a packet of that flow if the agent is to be shown it.
    #[inline(always)]
    pub(in crate::engine) fn show_offer(&mut self, link: LinkId, id: PacketId, flow: Option<FlowId>) {
        if let Some(flow) = flow {
            self.show_packet(link, id, flow);
        }
        if !self.tallies.is_empty() {
            self.count_offer(link, id);
        }
    }

    #[inline(never)]
    pub(in crate::engine) fn count_offer(&mut self, link: LinkId, id: PacketId) {
        self.tallies[link.index()].offered.add(self.arena[id].size);
    }

    /// Shows packets from here on.
    pub(in crate::engine) fn watch_packets(&mut self) {
        if self.tallies.is_empty() {
            self.tallies = vec![Tally::default(); self.egress.len()];
            self.shows = true;
        }
    }

    /// The flow of a packet that agents are shown, one of their transport, and whether it goes to the flow's receiver.
    #[inline(always)]
    pub(in crate::engine) fn shown_flow(&self, id: PacketId) -> Option<(FlowId, bool)> {
        let Packet { transport, conn, dst, .. } = self.arena[id];
        if self.agents.is_empty() || transport != self.agents.serves {
            return None;
        }
        let conn = &self.conns[conn.index()];
        Some((conn.flow, dst == conn.dst))
    }

    /// A packet to its receiver comes to a port: shows it to the port's agent.
    #[inline(never)]
    pub(in crate::engine) fn show_packet(&mut self, link: LinkId, id: PacketId, flow: FlowId) {
        let AtPort { agent, ticking, .. } = &self.agents.ports[link.index()];
        let bytes = if !ticking && agent.reads_bytes() { Some(self.port_bytes(link)) } else { None };
        let (agent, arena, mut cx) = self.at_agent(link, flow, bytes);
        let (packet, record) = arena.with_record(id);
        agent.on_packet(packet, record, &mut cx);
    }

    /// A packet to its sender has come out of a link: shows it to the agent at the other direction.
    #[inline(never)]
    pub(in crate::engine) fn show_answer(&mut self, link: LinkId, id: PacketId, flow: FlowId) {
        let (agent, arena, mut cx) = self.at_agent(link.reverse(), flow, None);
        let (packet, record) = arena.with_record(id);
        agent.on_answer(packet, record, &mut cx);
    }

    /// The tick of a port's agent comes.
    #[inline(never)]
    pub(in crate::engine) fn tick(&mut self, link: LinkId) {
        self.agents.ports[link.index()].ticking = false;
        let bytes = self.port_bytes(link);
        let (agent, _, mut cx) = self.at_agent(link, FlowId::NONE, Some(bytes));
        agent.tick(&mut cx);
    }

    /// Brings a port up to date, and counts its bytes.
    #[inline(never)]
    fn port_bytes(&mut self, link: LinkId) -> PortBytes {
        self.settle(link, self.now);
        let Egress { port, queue, losses, .. } = &self.egress[link.index()];
        let (waiting, sent) = match queue {
            // What waits counts as sent.
            PortQueue::Committed(departures, _) => {
                let waiting = port.bytes - u64::from(departures.wire_bytes());
                (waiting, port.sent.bytes - waiting)
            }
            PortQueue::Serviced(_) => (port.bytes - u64::from(port.wire_bytes), port.sent.bytes),
        };
        PortBytes { waiting, sent, lost: losses.dropped.bytes + losses.trimmed_bytes }
    }

    /// An agent and its port.
    #[inline(always)]
    fn at_agent(
        &mut self,
        link: LinkId,
        flow: FlowId,
        bytes: Option<PortBytes>,
    ) -> (&mut M::Agent, &mut Arena, AgentContext<'_>) {
        let AtPort { agent, chance, ticking } = &mut self.agents.ports[link.index()];
        let port = &self.egress[link.index()].port;
        let calendar = &mut self.calendar;
        let cx = AgentContext { now: self.now, link, flow, chance, port, bytes, ticking, calendar };
        (agent, &mut self.arena, cx)
    }
}
