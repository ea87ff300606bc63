//! The moving parts that packets meet between hosts: ports, queues, wires, and the way at each node.

pub mod agents;
pub mod ahead;
mod build;
mod connections;
pub mod context;
pub mod control_plane;
mod credit;
pub mod egress;
mod looking;
pub mod mailbox;
mod pause;
mod ranking;
mod remote;
mod schedule;
mod showing;
mod switching;
pub mod transit;

use self::agents::Agents;
use self::control_plane::ControlPlane;
use self::egress::{
    Egress, PortQueue, arrival_event, catch_up, pass, schedule_departure, start, wait, wait_for_end,
};
use self::mailbox::Mailbox;
use crate::engine::calendar::Calendar;
use crate::engine::contract::agent::TICK;
use crate::engine::contract::discipline::{Discipline, PortContext, Queued};
use crate::engine::contract::members::Members;
use crate::engine::contract::path::{Choose, Hop, PortLoad};
use crate::engine::data::arena::Arena;
use crate::engine::data::boundary::Remote;
use crate::engine::data::conn::{Conn, ReadyList};
use crate::engine::data::deferred::Deferred;
use crate::engine::data::event::{Event, Links, Owner, Phase, WAKE, is_wake, order, timer};
use crate::engine::data::finished::LinkCounts;
use crate::engine::data::flow_control::FlowControl;
use crate::engine::data::packet::{Packet, Record, flag};
use crate::engine::data::paths::Paths;
use crate::engine::data::points::{DropReason, Step};
use crate::engine::data::port::Tally;
use crate::engine::data::ranks::Ranks;
use crate::faults::packets::Picked;
use crate::faults::timeline::LinkState;
use crate::ids::{ConnId, LinkId, NodeId, PacketId};
use crate::routing::Routes;
use crate::topology::Fabric;
use crate::units::Time;

/// Everything between the hosts, and what the hosts' transports reach it by.
pub struct Network<'a, M: Members> {
    pub now: Time,
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
    pub agents: Agents<M::Agent>,
    /// The controller, if there is one and the run has one part.
    pub(super) control_plane: Option<Box<ControlPlane<M::Controller>>>,
    /// If there is one and the run has several parts: its end in this part.
    pub(super) mailbox: Option<Box<Mailbox>>,
    /// Whether the audit, agents or observers inspect packets.
    pub shows: bool,
    /// Record of the packet just received, and of the next one sent: see [`Host::record`](crate::engine::contract::host::Host::record).
    pub record: Record,
    pub conns: Vec<Conn>,
    pub free_conns: Vec<ConnId>,
    /// Connections with something to send, by port.
    pub ready: Vec<ReadyList>,
    /// Those of them that are ready by rank, by port; empty until one is.
    pub ranks: Vec<Ranks>,
    /// Ports to serve after this event: the link is free and a connection has become ready.
    pub kicks: Vec<LinkId>,
    /// Work left for the end of the event.
    pub after: Deferred,
    /// Packets, frames and notices for other parts of the run.
    pub remote: Remote,
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
    pub replica: u64,
    pub(in crate::engine) balancers: Vec<M::Balancer>,
    /// Memory for what a balancer that looks at ports is shown.
    loads: Vec<PortLoad>,
    pub(super) routes: &'a Routes,
    /// Whole paths that sources have chosen.
    pub(super) paths: Paths,
    whole: &'a Routes,
    /// The network as it was built.
    pub(super) fabric: &'a Fabric,
}

impl<'a, M: Members> Network<'a, M> {
    /// The link by which a packet leaves a node that is not its destination; none if faults left no way.
    #[inline(always)]
    pub fn next_link(&mut self, at: NodeId, id: PacketId, ticket: u64) -> LinkId {
        let packet = &self.arena[id];
        if packet.has(flag::ROUTED) {
            return self.paths.next_at(at, packet, packet.hops, &self.ends);
        }
        let Packet { dst, label, hops, balancer, .. } = *packet;
        let routes = self.routes;
        let next_hops = routes.next_hops(at, dst);
        match next_hops {
            [only] => return *only,
            [] => return LinkId::NONE,
            _ => {}
        }
        let hop = Hop { at, to: dst, label, hops, ticket, next_hops };
        let choice = self.balancers[balancer as usize].choose(hop, self.now);
        // The test of the bounds is also that for one that looks at ports.
        match next_hops.get(choice as usize) {
            Some(&next) => next,
            None => self.choose_by_load(hop, id, next_hops),
        }
    }

    /// Puts a packet that a host has made into the arena, with what it carries.
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        let id = self.arena.insert(packet);
        if self.arena.has_records() {
            *self.arena.record(id) = self.record;
        }
        if self.arena.has_tags() {
            self.begin_tag(id);
        }
        id
    }

    /// A packet asks a port to pass: it is sent, kept, trimmed or dropped.
    #[inline(always)]
    pub fn offer<const WATCHED: bool>(&mut self, link: LinkId, id: PacketId) {
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
                cx.port.join(now, size);
                if rules.marks(cx.port, wire) {
                    cx.mark(id);
                }
                if WATCHED {
                    cx.see_committed(id);
                }
                let (departure, arrival) = cx.port.transmit(now, size);
                departures.push(departure, size);
                cx.arrives(arrival_event(cx.port, arrival, id));
            }
            PortQueue::Serviced(queue) => {
                if cx.port.free_at == now && cx.calendar.ends_later(cx.port.turn) {
                    return wait_for_end::<WATCHED>(queue, id, &mut cx);
                }
                catch_up::<WATCHED>(queue, &mut cx, now);
                if cx.port.free_at > now {
                    return wait::<WATCHED>(queue, id, &mut cx);
                }
                if WATCHED {
                    cx.after.watch.offered = Some(id);
                }
                let passed = pass(queue, id, &mut cx);
                if WATCHED {
                    cx.see_offered();
                }
                let Some(packet) = passed else {
                    return;
                };
                start::<WATCHED>(&mut cx, packet, now);
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

    /// The wire of a host's port takes a packet that has just been made; the wire is free and nothing that waits may go.
    #[inline]
    pub fn put_on_wire<const WATCHED: bool>(&mut self, link: LinkId, packet: Packet) {
        let now = self.now;
        let more = !self.ready[link.index()].is_empty();
        if !self.picked.is_empty() {
            self.count_picked(link, &packet);
        }
        self.conns[packet.conn.index()].network.begin();
        self.packets_made += 1;
        let id = self.insert(packet);
        self.note_offer::<WATCHED>(link, id);
        let (_, mut cx) = self.at_port(link);
        cx.port.settle(now);
        // A host's port shares no memory.
        cx.port.join(now, packet.size);
        if WATCHED {
            cx.see(Step::Made, id);
            cx.see(Step::Enqueued, id);
        }
        if !cx.control.credits.links.is_empty()
            && let Some((class, size)) = cx.control.credits.charged(&packet)
        {
            cx.spend(class, size);
        }
        start::<WATCHED>(&mut cx, Queued { id, size: packet.size }, now);
        if more {
            schedule_departure(cx.port, cx.calendar);
        }
    }

    /// Counts a packet that a host puts on its wire; marks it at the port as lost if the scenario lists it.
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
                self.offer_again(ingress.reverse(), id);
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
            self.offer_again(ingress.reverse(), id);
        }
    }

    /// The time has come to serve what waits. False if the port is a host's and no packet waits there, so
    /// that transports are to be asked.
    #[inline(always)]
    pub fn depart<const WATCHED: bool>(&mut self, link: LinkId) -> bool {
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
        catch_up::<WATCHED>(queue, &mut cx, now);
        if cx.port.lookahead == Time::ZERO {
            let Some(packet) = queue.dequeue(&mut cx) else {
                return false;
            };
            start::<WATCHED>(&mut cx, packet, now);
        }
        if more || !queue.is_empty() {
            schedule_departure(cx.port, cx.calendar);
        }
        true
    }

    /// The timer of a port's queue fires, or the tick of its agent. Returns whether packets wait that the queue may have held
    /// back until now.
    #[cold]
    pub fn port_timer(&mut self, link: LinkId, which: u32) -> bool {
        if which == TICK {
            self.tick(link);
            return false;
        }
        if is_wake(which) {
            self.wake_balancer(link, (which - WAKE) as u8);
            return false;
        }
        self.egress[link.index()].port.timer_set = false;
        self.settle(link, self.now);
        let (queue, mut cx) = self.at_port(link);
        let PortQueue::Serviced(queue) = queue else {
            unreachable!("a committed port has no queue");
        };
        queue.timer(&mut cx);
        !queue.is_empty()
    }

    /// Sends the pending pause or credit frame, if it is still due. Only switches send frames: packets of this port
    /// come from its queue alone.
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
        let Egress { port, queue, stream, losses } = &mut self.egress[link.index()];
        let cx = PortContext {
            now: self.now,
            arena: &mut self.arena,
            port,
            stream,
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
        self.settle(link, before);
        let port = &mut self.egress[link.index()].port;
        port.set_rate(state.rate);
        let fault = port.fault.as_mut().expect("a link that changes is known to");
        let room = std::mem::replace(&mut fault.state, state).room;
        if room != state.room
            && let PortQueue::Serviced(queue) = &mut self.egress[link.index()].queue
        {
            queue.scale(state.room);
        }
    }

    /// A packet that came or was to come by a link is gone, and no queue dropped it.
    pub fn lose(&mut self, link: LinkId, id: PacketId, why: DropReason) {
        let packet = self.arena.remove(id);
        if self.after.watch.is_on() {
            self.see_packet(Step::Dropped(why), link, &packet);
        }
        self.conns[packet.conn.index()].network.lost += 1;
        self.leaves(packet.conn);
    }

    /// A packet of the connection has left the network, and its host has not received it.
    pub(super) fn leaves(&mut self, id: ConnId) {
        if self.conns[id.index()].network.end(self.now) {
            self.after.gone(id);
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

    /// Counters of a link until that time.
    pub fn counts(&mut self, link: LinkId, at: Time) -> LinkCounts {
        self.settle(link, at);
        self.egress[link.index()].counts(self.control.pauses.stops.get(link.index()), at)
    }

    /// Packets lost to faults on a link whose end is here.
    pub fn lost(&self, link: LinkId) -> u64 {
        self.egress[link.index()].port.fault.as_ref().map_or(0, |fault| fault.lost)
    }

    /// Counters until that time, by link.
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

    /// Brings a port up to date. It would have come to the same at its next event.
    pub(super) fn settle(&mut self, link: LinkId, at: Time) {
        if self.after.watch.is_on() {
            self.settle_as::<true>(link, at)
        } else {
            self.settle_as::<false>(link, at)
        }
    }

    pub(super) fn settle_as<const WATCHED: bool>(&mut self, link: LinkId, at: Time) {
        let (queue, mut cx) = self.at_port(link);
        match queue {
            PortQueue::Committed(departures, _) => departures.settle(cx.port, at),
            PortQueue::Serviced(queue) => catch_up::<WATCHED>(queue, &mut cx, at),
        }
    }
}
