//! Packets that pass, shown to the agents at ports, to the audit and to observers.

use super::Network;
use super::agents::AtPort;
use super::egress::{Egress, PortQueue};
use crate::engine::contract::agent::{AgentContext, PortAgent, PortBytes};
use crate::engine::contract::discipline::Discipline;
use crate::engine::contract::members::Members;
use crate::engine::data::arena::Arena;
use crate::engine::data::packet::Packet;
use crate::engine::data::points::{ConnAt, PacketAt, Step};
use crate::ids::{FlowId, LinkId, PacketId};
use crate::units::Time;

impl<M: Members> Network<'_, M> {
    /// A packet has come to a port: for the port's agent and for an audit. To be said before [`Network::offer`].
    #[inline(always)]
    pub fn note_offer<const WATCHED: bool>(&mut self, link: LinkId, id: PacketId) {
        if self.shows {
            let shown = self.shown_flow(id).filter(|&(_, to_receiver)| to_receiver);
            self.show_offer::<WATCHED>(link, id, shown.map(|(flow, _)| flow));
        }
    }

    /// A packet that is sent back comes to a port.
    #[cold]
    pub fn offer_again(&mut self, link: LinkId, id: PacketId) {
        if self.after.watch.is_on() {
            self.note_offer::<true>(link, id);
            self.offer::<true>(link, id);
        } else {
            self.note_offer::<false>(link, id);
            self.offer::<false>(link, id);
        }
    }

    /// [`Network::offer`] of a packet that its host has just sent, where packets are inspected.
    #[inline(never)]
    pub fn offer_shown(&mut self, link: LinkId, id: PacketId) {
        if !self.after.watch.is_on() {
            self.note_offer::<false>(link, id);
            return self.offer::<false>(link, id);
        }
        self.note_offer::<true>(link, id);
        let (_, mut cx) = self.at_port(link);
        cx.see(Step::Made, id);
        self.offer::<true>(link, id);
    }

    /// The place of the present event among all events.
    pub(in crate::engine) fn event_place(&self) -> u128 {
        self.calendar.ties.key(self.now, self.calendar.place())
    }

    /// A packet takes a step at a link, for observers.
    #[inline(never)]
    pub(in crate::engine) fn see_packet(&mut self, step: Step, link: LinkId, packet: &Packet) {
        if !self.after.watch.asks(step, link, packet.conn) {
            return;
        }
        let conn = ConnAt::of(&self.conns, packet.conn);
        let at = PacketAt { link, packet: *packet, conn, queue: None, is_last: false };
        let place = self.event_place();
        self.after.watch.step(place, step, at);
    }

    /// A packet comes out of a link, for observers.
    #[inline]
    pub(in crate::engine) fn see_arrival(&mut self, link: LinkId, id: PacketId) {
        if self.after.watch.asks(Step::Arrived, link, self.arena[id].conn) {
            self.show_arrived(link, id);
        }
    }

    /// Notes the arrival of a packet, for which an observer asks.
    #[cold]
    fn show_arrived(&mut self, link: LinkId, id: PacketId) {
        let mut packet = self.arena[id];
        packet.hops = packet.hops.wrapping_add(1);
        let is_last = packet.dst == self.ends[link.index()];
        let conn = ConnAt::of(&self.conns, packet.conn);
        let place = self.event_place();
        self.after.watch.step(place, Step::Arrived, PacketAt { link, packet, conn, queue: None, is_last });
    }

    /// All ports that decide in retrospect come to that time.
    pub(in crate::engine) fn settle_all(&mut self, at: Time) {
        for link in (0..self.egress.len() as u32).map(LinkId) {
            if self.waits(link) {
                self.settle(link, at);
            }
        }
    }

    /// Whether packets wait at a port that decides in retrospect.
    pub(in crate::engine) fn waits(&self, link: LinkId) -> bool {
        let Egress { port, queue, .. } = &self.egress[link.index()];
        match queue {
            PortQueue::Serviced(queue) => port.lookahead > Time::ZERO && !queue.is_empty(),
            PortQueue::Committed(..) => false,
        }
    }

    /// A packet comes to a port: for the port's agent, if it is of that flow, and for an audit.
    #[inline(always)]
    pub(in crate::engine) fn show_offer<const WATCHED: bool>(
        &mut self,
        link: LinkId,
        id: PacketId,
        flow: Option<FlowId>,
    ) {
        if let Some(flow) = flow {
            self.show_packet::<WATCHED>(link, id, flow);
        }
        if !self.tallies.is_empty() {
            self.count_offer(link, id);
        }
    }

    #[inline(never)]
    pub(in crate::engine) fn count_offer(&mut self, link: LinkId, id: PacketId) {
        self.tallies[link.index()].offered.add(self.arena[id].size);
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
    pub(in crate::engine) fn show_packet<const WATCHED: bool>(
        &mut self,
        link: LinkId,
        id: PacketId,
        flow: FlowId,
    ) {
        let AtPort { agent, ticking, .. } = &self.agents.ports[link.index()];
        let bytes =
            if !ticking && agent.reads_bytes() { Some(self.port_bytes::<WATCHED>(link)) } else { None };
        let (agent, arena, mut cx) = self.at_agent(link, flow, bytes);
        let (packet, record) = arena.with_record(id);
        agent.on_packet(packet, record, &mut cx);
        if let Some((size, header)) = cx.reply.take() {
            self.reply_of_agent(id, size, header);
        }
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
        let bytes = if self.after.watch.is_on() {
            self.port_bytes::<true>(link)
        } else {
            self.port_bytes::<false>(link)
        };
        let (agent, _, mut cx) = self.at_agent(link, FlowId::NONE, Some(bytes));
        agent.tick(&mut cx);
    }

    /// Brings a port up to date, and counts its bytes.
    #[inline(never)]
    fn port_bytes<const WATCHED: bool>(&mut self, link: LinkId) -> PortBytes {
        self.settle_as::<WATCHED>(link, self.now);
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
        let AtPort { agent, stream, ticking } = &mut self.agents.ports[link.index()];
        let port = &self.egress[link.index()].port;
        let calendar = &mut self.calendar;
        let now = self.now;
        let cx = AgentContext { now, link, flow, stream, port, bytes, ticking, calendar, reply: None };
        (agent, &mut self.arena, cx)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::engine::contract::path::Hop;
    use crate::engine::contract::path::{Choose, Passage};
    use crate::engine::data::packet::Tag;
    use crate::ids::NodeId;
    use crate::setup::replaced;

    /// The passages that the balancer is shown, each with the tag that it finds.
    static SHOWN: Mutex<Vec<(Time, Passage, u64)>> = Mutex::new(Vec::new());

    /// Adds a digit to the tag at each node.
    struct Counting;

    impl Choose for Counting {
        fn choose(&mut self, _hop: Hop, _now: Time) -> u32 {
            1
        }

        fn tags(&self) -> bool {
            true
        }

        fn passes(&mut self, passage: Passage, now: Time, tag: &mut Tag) {
            SHOWN.lock().unwrap().push((now, passage, tag.0));
            tag.0 = 10 * tag.0 + 1;
        }
    }

    /// By hand: two datagrams of 1500 B, 20 us apart, from host 0 by leaf 0, spine 1 and leaf 1 to host 1. A packet takes 1.2 us and
    /// 1 us on each link. Each switch finds the tag that the one before it has left, the first of them none, although the second
    /// packet has the slot of the first; the hosts are shown none. The same with events for departures.
    #[test]
    fn a_tag_goes_with_its_packet() {
        for mode in ["auto", "serviced"] {
            SHOWN.lock().unwrap().clear();
            let text = format!(
                r#"
                transport.datagram = {{ pace.rate = "600Mbps" }}
                run.port_mode = "{mode}"
                topology.leaf-spine = {{ leaves = 2, spines = 2, hosts = 1, rate = "10Gbps", delay = "1us" }}
                [[traffic]]
                name = "flow"
                arrivals.at-once.jitter = "0s"
                matrix.pairs = [[0, 1]]
                sizes.fixed = "2944B"
                "#
            );
            replaced::run_with_balancer(&text, || Counting);
            let shown = std::mem::take(&mut *SHOWN.lock().unwrap());
            // Hosts are nodes 0 and 1, leaves 2 and 3, spines 4 and 5.
            let at = |passage: &Passage| passage.at.0;
            let found: Vec<_> =
                shown.iter().map(|(now, passage, tag)| (now.0 / 1000, at(passage), *tag)).collect();
            let expected = [
                (2_200, 2, 0),
                (4_400, 5, 1),
                (6_600, 3, 11),
                (22_200, 2, 0),
                (24_400, 5, 1),
                (26_600, 3, 11),
            ];
            assert_eq!(found, expected, "{mode}");
            assert!(shown.iter().all(|(_, passage, _)| (passage.to, passage.size) == (NodeId(1), 1500)));
        }
    }
}
