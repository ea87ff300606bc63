//! The agents at the ports of a network: what they are shown, and their ticks.

use super::Network;
use super::egress::{Egress, PortQueue};
use crate::engine::contract::agent::{AgentContext, PortAgent, PortBytes};
use crate::engine::contract::members::Members;
use crate::engine::data::numbers::Numbers;
use crate::engine::data::packet::{Arena, Packet};
use crate::ids::{FlowId, LinkId, PacketId};
use crate::random::Stream;

/// The agents of a run.
pub struct Agents<A> {
    /// The model of the transport that they serve.
    serves: u8,
    /// Whether they are shown packets to senders.
    read_answers: bool,
    /// By link; none without agents.
    ports: Vec<AtPort<A>>,
}

/// An agent at its port.
struct AtPort<A> {
    agent: A,
    chance: Stream,
    ticking: bool,
}

impl<A: PortAgent> Agents<A> {
    /// An agent for each link, with a stream of its own; they serve that model.
    pub fn new(serves: u8, agents: impl Iterator<Item = (A, Stream)>) -> Agents<A> {
        let ports: Vec<AtPort<A>> =
            agents.map(|(agent, chance)| AtPort { agent, chance, ticking: false }).collect();
        Agents { serves, read_answers: ports.iter().any(|port| port.agent.reads_answers()), ports }
    }

    /// No agents.
    pub fn none() -> Agents<A> {
        Agents { serves: 0, read_answers: false, ports: Vec::new() }
    }

    /// Whether they are shown packets to senders.
    #[inline(always)]
    pub fn read_answers(&self) -> bool {
        self.read_answers
    }

    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }

    /// The agent at a link, and whether it waits for a tick.
    pub fn get(&self, link: usize) -> (&A, bool) {
        (&self.ports[link].agent, self.ports[link].ticking)
    }

    /// The agents, by link.
    pub fn iter(&self) -> impl Iterator<Item = (&A, bool)> {
        self.ports.iter().map(|port| (&port.agent, port.ticking))
    }

    /// Flows get their numbers.
    pub fn number(&mut self, numbers: &Numbers) {
        self.ports.iter_mut().for_each(|port| port.agent.number(numbers));
    }

    /// The agent at a link: for tests of the audit.
    #[cfg(test)]
    pub fn at(&mut self, link: LinkId) -> &mut A {
        &mut self.ports[link.index()].agent
    }

    /// Bytes of those at links that pass the test.
    pub fn bytes(&self, is_own: impl Fn(usize) -> bool) -> u64 {
        let own = self.ports.iter().enumerate().filter(|&(link, _)| is_own(link));
        own.map(|(_, port)| size_of::<AtPort<A>>() + port.agent.heap_bytes()).sum::<usize>() as u64
    }
}

impl<M: Members> Network<'_, M> {
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
