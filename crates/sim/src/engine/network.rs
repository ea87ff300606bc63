//! The moving parts that packets meet between hosts: ports, queues, wires, and the way at each node.

use rustc_hash::FxHashMap;

use super::after::Aftermath;
use super::agent::{Agents, TICK};
use super::calendar::{Agenda, Calendar};
use super::conn::{Conn, ReadyList};
use super::credit::charged;
use super::discipline::{Discipline, PortContext, Queued};
use super::egress::{
    Egress, PortQueue, arrival_event, catch_up, schedule_departure, start, wait, wait_for_end,
};
use super::event::{Event, Links, Phase, order, timer};
use super::finished::LinkCounts;
use super::gate::{FlowControl, Gate, Pauses, Stops, Thresholds};
use super::host::Owner;
use super::mailbox::Mailbox;
use super::members::Members;
use super::packet::{Arena, Packet, Record, flag, reverse_label};
use super::part::Abroad;
use super::path::{Choose, Hop, Opening};
use super::paths::Paths;
use super::port::{Amount, Departures, Losses, Port};
use super::room::Room;
use super::telemetry::{self, Stamps};
use super::ties::{Rule, Ties};
use crate::faults::link::LinkFault;
use crate::faults::packets::Picked;
use crate::faults::timeline::{LinkState, Timeline, nominal};
use crate::ids::{ConnId, FlowId, LinkId, NodeId, PacketId};
use crate::random::{Purpose, Stream};
use crate::routing::Routes;
use crate::topology::{Fabric, Link};
use crate::units::Time;

/// Everything between the hosts, and what the hosts' transports reach it by.
pub struct Network<'a, M: Members> {
    /// The present.
    pub now: Time,
    /// The future.
    pub calendar: Calendar,
    /// The packets.
    pub arena: Arena,
    /// The head of each directed link.
    pub egress: Vec<Egress<M::Queue>>,
    /// Where each directed link ends: apart from the ports, because every hop reads it.
    pub ends: Vec<NodeId>,
    /// The link of an event.
    pub links: Links,
    /// Packets and bytes offered to each port and received from each link, for the audit; empty without one.
    pub tallies: Vec<Tally>,
    /// Agents, by port.
    pub agents: Agents<M::Agent>,
    /// The controller, if there is one and the run has one part.
    pub(super) room: Option<Box<Room<M::Controller>>>,
    /// If there is one and the run has several parts: its end in this part.
    pub(super) mailbox: Option<Box<Mailbox>>,
    /// Whether the audit or agents inspect packets.
    pub shows: bool,
    /// Record of the packet just received, and of the next one sent: see [`Host::record`](super::host::Host::record).
    pub record: Record,
    /// Live connections, by slot.
    pub conns: Vec<Conn>,
    /// Slots without one.
    pub free_conns: Vec<ConnId>,
    /// Connections with something to send, by port.
    pub ready: Vec<ReadyList>,
    /// Ports to serve after this event: the link is free and a connection has become ready.
    pub kicks: Vec<LinkId>,
    /// Work left for the end of the event.
    pub after: Aftermath,
    /// Packets, frames and notices for other parts of the run.
    pub abroad: Abroad,
    /// Flow control of links: pause frames and credit.
    pub control: FlowControl,
    /// Whether anything depends on the end of a flow.
    pub reacts: bool,
    /// By host, the place among simultaneous timers and starts.
    pub host_ranks: Vec<u32>,
    /// By host, how many timers have been set.
    pub host_timers: Vec<u32>,
    /// Links crossed by packets.
    pub packet_hops: u64,
    /// Packets put on a wire by the host that made them.
    pub packets_made: u64,
    /// Packets lost at a node from which no way was left.
    pub unroutable: u64,
    /// Flows whose packets are lost by number.
    pub picked: Vec<Picked>,
    /// When payload last arrived anywhere, or a flow started or ended, that is not background.
    pub moved_at: Time,
    /// Seed of every random stream in the run.
    pub seed: u64,
    /// Number of the repetition.
    pub replica: u64,
    pub(super) balancers: Vec<M::Balancer>,
    pub(super) routes: &'a Routes,
    /// Whole paths that sources have chosen.
    pub(super) paths: Paths,
    /// The routes without faults.
    whole: &'a Routes,
}

/// Counts at a port and its link that the audit compares with their counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Packets offered to the port.
    pub offered: Amount,
    /// Packets that have come out of the link.
    pub received: u64,
}

/// Input of a network.
pub struct Parts<'a, M> {
    /// Nodes and links.
    pub fabric: &'a Fabric,
    /// The ways through it while nothing is down.
    pub routes: &'a Routes,
    /// Its faults.
    pub faults: &'a Timeline,
    /// The run's transports, queue and load balancers.
    pub members: &'a M,
    /// Seed of every random stream.
    pub seed: u64,
    /// Number of the repetition.
    pub replica: u64,
    /// Whether no port may commit to departures.
    pub serviced_only: bool,
    /// Which of several packets that arrive at one instant goes first. By arrival, transmissions are to begin in their order:
    /// `serviced_only`.
    pub ties: Rule,
    /// The event queue.
    pub agenda: Agenda,
}

impl<'a, M: Members> Network<'a, M> {
    /// The empty network at time zero.
    pub fn new(parts: &Parts<'a, M>) -> Network<'a, M> {
        let Parts { fabric, seed, replica, .. } = *parts;
        let stream = |purpose, entity: usize| Stream::new(seed, replica, purpose, entity as u64);
        let links = fabric.links.len();
        let hosts = fabric.hosts as usize;
        let ranks = |count: usize, entity| {
            let mut ranks: Vec<u32> = (0..count as u32).collect();
            stream(Purpose::Ties, entity).shuffle(&mut ranks);
            ranks
        };
        let link_ranks = ranks(links, 0);
        let lossless = parts.members.pauses();
        let in_retrospect = !parts.serviced_only && !lossless && !parts.members.acts_on_departure();
        let mut pauses = Pauses::default();
        if lossless {
            // While it is fastest most comes by a link before its head stops, and most again while the way back is
            // slowest.
            let (mut fastest, mut slowest) = (fabric.links.clone(), fabric.links.clone());
            for step in &parts.faults.steps {
                let (link, rate) = (step.link.index(), step.state.rate);
                fastest[link].rate = fastest[link].rate.max(rate);
                slowest[link].rate = slowest[link].rate.min(rate);
            }
            let gate = |(at, link): (usize, &Link)| {
                let back = &slowest[LinkId(at as u32).reverse().index()];
                // Hosts hold whatever comes.
                Gate::new(match fabric.is_host(link.to) {
                    true => Thresholds::NONE,
                    false => parts.members.thresholds(link, back),
                })
            };
            pauses.gates = fastest.iter().enumerate().map(gate).collect();
            pauses.stops = vec![Stops::default(); links];
        }
        let committed = if parts.serviced_only { None } else { parts.members.committed() };
        let mut fault_of: FxHashMap<LinkId, LinkState> = parts.faults.links.iter().copied().collect();
        for (at, link) in fabric.links.iter().enumerate() {
            if parts.faults.picked.iter().any(|picked| picked.host == link.from) {
                fault_of.entry(LinkId(at as u32)).or_insert_with(|| nominal(link, Time::NEVER));
            }
        }
        let queue_of = |id: LinkId, link: &Link| match committed {
            // A host's port is asked packet by packet: it must be serviced.
            _ if fabric.is_host(link.from) => PortQueue::Serviced(parts.members.host_queue()),
            // A packet's fate on a faulty link is decided when it is sent.
            Some(rules) if !fault_of.contains_key(&id) => PortQueue::Committed(Departures::default(), rules),
            _ => PortQueue::Serviced(parts.members.queue()),
        };
        let credits = parts.members.credits();
        let asks = parts.members.telemetry();
        let port_of = |id: LinkId, link: &Link, rank| {
            let mut port = Port::new(link, rank);
            // A packet that is dropped, or a port that is told to go on, is an act of its instant.
            if in_retrospect && !fabric.is_host(link.from) {
                port.lookahead = link.delay;
            }
            let chance = || stream(Purpose::Loss, id.index());
            let fault = |&state: &LinkState| {
                Box::new(LinkFault {
                    state,
                    chance: chance(),
                    named: false,
                    lost: 0,
                    bytes: 0,
                    busy: Time::ZERO,
                })
            };
            port.fault = fault_of.get(&id).map(fault);
            port.paused = credits.paused_at_first(id);
            port.stamps = asks != 0;
            port
        };
        let egress_of = |(at, (link, rank)): (usize, (&Link, u32))| Egress {
            port: port_of(LinkId(at as u32), link, rank),
            queue: queue_of(LinkId(at as u32), link),
            chance: stream(Purpose::Queue, at),
            losses: Losses::default(),
        };
        Network {
            now: Time::ZERO,
            calendar: Calendar::new(parts.agenda, Ties::new(parts.ties, seed, replica)),
            arena: Arena::new(
                parts.members.has_records(),
                Stamps::new(asks, telemetry::rates(fabric, parts.faults)),
            ),
            links: Links::new(&link_ranks),
            egress: fabric.links.iter().zip(link_ranks).enumerate().map(egress_of).collect(),
            ends: fabric.links.iter().map(|link| link.to).collect(),
            tallies: Vec::new(),
            shows: parts.members.agents_serve().is_some(),
            agents: match parts.members.agents_serve() {
                Some(serves) => {
                    let agent = |(at, link)| (parts.members.agent(link), stream(Purpose::Agent, at));
                    Agents::new(serves, fabric.links.iter().enumerate().map(agent))
                }
                None => Agents::none(),
            },
            room: None,
            mailbox: None,
            record: Record::default(),
            conns: Vec::new(),
            free_conns: Vec::new(),
            ready: vec![ReadyList::default(); links],
            kicks: Vec::new(),
            after: Aftermath::default(),
            abroad: Abroad { of: 1, ..Abroad::default() },
            control: FlowControl { pauses, credits },
            reacts: false,
            host_ranks: ranks(hosts, 1),
            host_timers: vec![0; hosts],
            packet_hops: 0,
            packets_made: 0,
            unroutable: 0,
            picked: parts.faults.picked.clone(),
            moved_at: Time::ZERO,
            seed,
            replica,
            balancers: parts.members.balancers(fabric, seed, replica),
            paths: Paths::default(),
            routes: parts.routes,
            whole: parts.routes,
        }
    }

    /// Puts a connection into a slot, or a message that goes by another.
    pub fn open(&mut self, mut conn: Conn) -> ConnId {
        let id = self.free_conns.pop().unwrap_or_else(|| self.abroad.new_slot());
        conn.paths_at_source = self.balancers[conn.balancer as usize].at_source();
        if conn.via == ConnId::NONE {
            conn.via = id;
            (conn.sender.port, conn.receiver.port) = self.open_paths(id, &conn);
        }
        self.note_paths(&mut conn);
        self.put(id, conn);
        if self.abroad.is_parted() {
            self.abroad.opened.push(id);
        }
        id
    }

    /// Lets a connection's balancer choose its paths: the ports by which its ends send.
    pub(super) fn open_paths(&mut self, id: ConnId, conn: &Conn) -> (LinkId, LinkId) {
        let flow_label = self.conns.get(conn.parent.index()).map_or(conn.label, |flow| flow.label);
        let Conn { src, dst, label, subflow, key, .. } = *conn;
        let ports = conn.ports();
        let opening = Opening { id, src, dst, label, flow_label, subflow, key, ports, routes: self.routes };
        self.balancers[conn.balancer as usize].open(opening, &mut self.paths)
    }

    /// Notes at a connection's ends the whole paths of their packets, if there are any.
    pub(super) fn note_paths(&self, conn: &mut Conn) {
        let balancer = &self.balancers[conn.balancer as usize];
        if let Some(path) = balancer.whole_path(conn.via, true) {
            (conn.sender.label, conn.sender.path_flags) = (path.label, path.flags);
        }
        if let Some(path) = balancer.whole_path(conn.via, false) {
            (conn.receiver.label, conn.receiver.path_flags) = (path.label, path.flags);
        }
    }

    /// Puts a connection into that slot.
    pub(super) fn put(&mut self, id: ConnId, conn: Conn) {
        if id.index() >= self.conns.len() {
            // Slots between are those of other parts.
            let none = Conn { open: false, ..Conn::between(NodeId(0), NodeId(0)) };
            self.conns.resize(id.index() + 1, none);
        }
        self.conns[id.index()] = conn;
    }

    /// The ports by which two hosts send to each other for a connection: as the balancer chooses, where there are
    /// several; where faults left no way, the ones that it would be without them.
    pub fn ports_of(&mut self, src: NodeId, dst: NodeId, label: u32, balancer: u8) -> (LinkId, LinkId) {
        let (routes, whole) = (self.routes, self.whole);
        let mut choose = |at, to, label: u32| {
            let hops = match routes.next_hops(at, to) {
                [] => whole.next_hops(at, to),
                hops => hops,
            };
            let hop = Hop { at, label, hops: 0, ticket: u64::from(label), count: hops.len() as u32 };
            if let [only] = hops {
                return *only;
            }
            hops[self.balancers[balancer as usize].choose(hop, self.now) as usize]
        };
        (choose(src, dst, label), choose(dst, src, reverse_label(label)))
    }

    /// The link by which a packet leaves a node that is not its destination; none if faults left no way.
    #[inline(always)]
    pub fn next_link(&mut self, at: NodeId, id: PacketId, ticket: u64) -> LinkId {
        let packet = &self.arena[id];
        if packet.has(flag::ROUTED) {
            return self.paths.next_at(at, packet, packet.hops, &self.ends);
        }
        let Packet { dst, label, hops, balancer, .. } = *packet;
        let next_hops = self.routes.next_hops(at, dst);
        match next_hops {
            [only] => return *only,
            [] => return LinkId::NONE,
            _ => {}
        }
        let hop = Hop { at, label, hops, ticket, count: next_hops.len() as u32 };
        next_hops[self.balancers[balancer as usize].choose(hop, self.now) as usize]
    }

    /// Puts a packet that a host has made into the arena, with what it carries.
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        let id = self.arena.insert(packet);
        if self.arena.has_records() {
            *self.arena.record(id) = self.record;
        }
        id
    }

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
    pub(super) fn show_offer(&mut self, link: LinkId, id: PacketId, flow: Option<FlowId>) {
        if let Some(flow) = flow {
            self.show_packet(link, id, flow);
        }
        if !self.tallies.is_empty() {
            self.count_offer(link, id);
        }
    }

    #[inline(never)]
    fn count_offer(&mut self, link: LinkId, id: PacketId) {
        self.tallies[link.index()].offered.add(self.arena[id].size);
    }

    /// A packet asks a port to pass: it is sent, kept, trimmed or dropped.
    #[inline(always)]
    pub fn offer(&mut self, link: LinkId, id: PacketId) {
        let (now, at) = (self.now, link.index());
        let (queue, mut cx) = self.at_port(link);
        let mut size = cx.arena[id].size;
        match queue {
            PortQueue::Committed(departures, rules) => {
                departures.settle(cx.port, now);
                let wire = departures.wire_bytes();
                if !rules.admits(cx.port, wire, size) {
                    let Some(kept) = cx.refuse(id, rules) else { return };
                    size = kept;
                }
                cx.keep(size);
                if rules.marks(cx.port, wire) {
                    cx.mark(id);
                }
                let (departure, arrival) = cx.port.transmit(now, size);
                departures.push(departure, size);
                cx.arrives(arrival_event(cx.port, arrival, id));
            }
            PortQueue::Serviced(queue) => {
                if cx.port.free_at == now && cx.calendar.ends_later(cx.port.turn) {
                    return wait_for_end(queue, id, &mut cx);
                }
                catch_up(queue, &mut cx, now);
                if cx.port.free_at > now {
                    return wait(queue, id, &mut cx);
                }
                let Some(packet) = queue.pass(id, &mut cx) else {
                    return;
                };
                start(&mut cx, packet, now);
                if !self.ready[at].is_empty() && !self.egress[at].port.serving {
                    schedule_departure(&mut self.egress[at].port, &mut self.calendar);
                }
            }
        }
    }

    /// A connection has become ready at a host's port: ask it now, or when the wire is free.
    #[inline]
    pub fn wake(&mut self, link: LinkId) {
        let port = &mut self.egress[link.index()].port;
        if port.serving {
            return;
        }
        let ends_now = port.free_at == self.now && self.calendar.ends_later(port.turn);
        if port.free_at > self.now || ends_now {
            schedule_departure(port, &mut self.calendar);
        } else {
            self.kicks.push(link);
        }
    }

    /// The wire of a host's port takes a packet that has just been made; the wire is free and nothing waits.
    #[inline]
    pub fn put_on_wire(&mut self, link: LinkId, packet: Packet) {
        let now = self.now;
        let more = !self.ready[link.index()].is_empty();
        if !self.picked.is_empty() {
            self.count_picked(link, &packet);
        }
        self.conns[packet.conn.index()].network.begin();
        self.packets_made += 1;
        let id = self.insert(packet);
        self.note_offer(link, id);
        let (_, mut cx) = self.at_port(link);
        cx.port.settle(now);
        cx.keep(packet.size);
        if !cx.control.credits.links.is_empty()
            && let Some((class, size)) = charged(&packet)
        {
            cx.spend(class, size);
        }
        start(&mut cx, Queued { id, size: packet.size }, now);
        if more {
            schedule_departure(cx.port, cx.calendar);
        }
    }

    /// Counts a packet that a host puts on its wire; its port is told if the scenario wants it lost.
    #[cold]
    fn count_picked(&mut self, link: LinkId, packet: &Packet) {
        let flow = self.conns[packet.conn.index()].flow;
        let picked = self.picked.iter_mut().find(|picked| picked.flow == flow && !packet.has(flag::CONTROL));
        if picked.is_some_and(Picked::loses_next) {
            let fault = self.egress[link.index()].port.fault.as_mut();
            fault.expect("ports of hosts with such flows are faulty").named = true;
        }
    }

    /// Headers that found no room go back by the links that they came by.
    #[cold]
    pub fn send_back(&mut self) {
        while let Some(id) = self.after.bounced.pop() {
            let Packet { conn, ingress, .. } = self.arena[id];
            if self.arena[id].has(flag::ROUTED) {
                self.paths.turn(&mut self.arena[id]);
                self.note_offer(ingress.reverse(), id);
                self.offer(ingress.reverse(), id);
                continue;
            }
            // As if it had come from the receiver: where the source has chosen the path of a fat-tree, a switch as far
            // from the receiver as another from the sender then makes the same choice, and the way is the same.
            let (mut at, receiver, mut hops) = (self.ends[ingress.index()], self.conns[conn.index()].dst, 0);
            while at != receiver {
                let Some(&next) = self.routes.next_hops(at, receiver).first() else { break };
                at = self.ends[next.index()];
                hops += 1;
            }
            self.arena[id].hops = hops;
            self.note_offer(ingress.reverse(), id);
            self.offer(ingress.reverse(), id);
        }
    }

    /// The time has come to serve what waits. False if the port is a host's and no packet waits there, so
    /// that transports are to be asked.
    #[inline(always)]
    pub fn depart(&mut self, link: LinkId) -> bool {
        if self.egress[link.index()].port.frame_waits && self.send_frame_first(link) {
            return true;
        }
        let now = self.now;
        let more = !self.ready[link.index()].is_empty();
        let (queue, mut cx) = self.at_port(link);
        let PortQueue::Serviced(queue) = queue else {
            unreachable!("a committed port has no packets waiting");
        };
        cx.port.serving = false;
        catch_up(queue, &mut cx, now);
        if cx.port.lookahead == Time::ZERO {
            let Some(packet) = queue.dequeue(&mut cx) else {
                return false;
            };
            start(&mut cx, packet, now);
        }
        if more || !queue.is_empty() {
            schedule_departure(cx.port, cx.calendar);
        }
        true
    }

    /// The timer of a port's queue fires, or the tick of its agent.
    #[cold]
    pub fn port_timer(&mut self, link: LinkId, which: u32) {
        if which == TICK {
            return self.tick(link);
        }
        let now = self.now;
        let (queue, mut cx) = self.at_port(link);
        let PortQueue::Serviced(queue) = queue else {
            unreachable!("a committed port has no queue");
        };
        cx.port.timer_set = false;
        catch_up(queue, &mut cx, now);
        queue.timer(&mut cx);
    }

    /// Sends the pause frame that waits, if there still is something to tell. Only switches send frames: nobody but the
    /// queue has something for this port.
    #[cold]
    fn send_frame_first(&mut self, link: LinkId) -> bool {
        let now = self.now;
        let port = &mut self.egress[link.index()].port;
        port.serving = false;
        port.settle(now);
        if !self.send_frame(link) {
            return false;
        }
        if let (PortQueue::Serviced(queue), cx) = self.at_port(link)
            && !queue.is_empty()
        {
            schedule_departure(cx.port, cx.calendar);
        }
        true
    }

    /// A port's queue, with the context for its decisions.
    #[inline(always)]
    pub(super) fn at_port(&mut self, link: LinkId) -> (&mut PortQueue<M::Queue>, PortContext<'_>) {
        let Egress { port, queue, chance, losses } = &mut self.egress[link.index()];
        let cx = PortContext {
            now: self.now,
            arena: &mut self.arena,
            port,
            chance,
            link,
            calendar: &mut self.calendar,
            losses,
            conns: &mut self.conns,
            after: &mut self.after,
            control: &mut self.control,
        };
        (queue, cx)
    }

    /// A link becomes so. What was to be sent before this instant is sent as the link was.
    pub fn change_link(&mut self, link: LinkId, state: LinkState) {
        let before = Time(self.now.0.saturating_sub(1));
        let (queue, mut cx) = self.at_port(link);
        if let PortQueue::Serviced(queue) = queue {
            catch_up(queue, &mut cx, before);
        }
        cx.port.set_rate(state.rate);
        let fault = cx.port.fault.as_mut().expect("a link that changes is known to");
        fault.state = state;
    }

    /// A packet is gone, and no queue dropped it.
    pub fn lose(&mut self, id: PacketId) {
        let packet = self.arena.remove(id);
        let conn = &mut self.conns[packet.conn.index()];
        conn.network.lost += 1;
        if conn.network.end(self.now) {
            self.after.gone(packet.conn);
        }
    }

    /// A timer of a host.
    pub fn push_timer(&mut self, time: Time, host: NodeId, transport: u8, owner: Owner, kind: u8) {
        let counter = &mut self.host_timers[host.index()];
        *counter = counter.wrapping_add(1);
        let (word, a) = timer(*counter, transport, owner, kind);
        let order = order(Phase::Timer, self.host_ranks[host.index()], word);
        self.calendar.push(Event { time, order, a });
    }

    /// What has been counted at a link until that time.
    pub fn counts(&mut self, link: LinkId, at: Time) -> LinkCounts {
        self.settle(link, at);
        LinkCounts::new(&self.egress[link.index()], self.control.pauses.stops.get(link.index()), at)
    }

    /// Packets lost to faults on a link whose end is here.
    pub fn lost(&self, link: LinkId) -> u64 {
        self.egress[link.index()].port.fault.as_ref().map_or(0, |fault| fault.lost)
    }

    /// What has been counted until that time, by link.
    pub fn all_counts(&mut self, at: Time) -> Vec<LinkCounts> {
        (0..self.egress.len()).map(|link| self.counts(LinkId(link as u32), at)).collect()
    }

    /// Takes the next packet out of a port's queue without counting it: how a test of the audit loses one.
    #[cfg(test)]
    pub fn steal(&mut self, link: LinkId) {
        let (PortQueue::Serviced(queue), mut cx) = self.at_port(link) else {
            panic!("a committed port has no packets waiting");
        };
        let id = queue.dequeue(&mut cx).expect("something waits").id;
        let packet = cx.arena.remove(id);
        cx.conns[packet.conn.index()].network.end(cx.now);
    }
}
