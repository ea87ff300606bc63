//! A run: the loop that takes the first event and lets packets, ports, hosts and timers act on it.

mod control;
pub mod deadlock;
mod ending;
mod faults;
mod finish;
mod flow_control;
pub mod kept;
mod lifetime;
pub mod limits;
pub mod memory;
mod messages;
mod observing;
pub mod starts;
pub mod state;

use self::kept::Kept;
use self::limits::Limits;
use self::starts::Starts;
use crate::engine::calendar::UNSEEN;
use crate::engine::contract::endpoint::Endpoint;
use crate::engine::contract::members::Members;
use crate::engine::contract::observer::Observer;
use crate::engine::data::boundary::Partition;
use crate::engine::data::conn::{Conn, Counts, Subflow};
use crate::engine::data::event::{Event, Owner, Phase};
use crate::engine::data::finished::{Finished, Limit, Status};
use crate::engine::data::plan::Plan;
use crate::engine::data::port::Tally;
use crate::engine::data::progress::Progress;
use crate::engine::network::Network;
use crate::engine::network::ahead::{Ahead, HERE};
use crate::engine::network::context::Cx;
use crate::engine::network::control_plane::ControlPlane;
use crate::ids::{ConnId, FlowId, LinkId, PacketId};
use crate::units::Time;
use std::sync::Arc;

/// Events between two looks at the world outside.
pub(super) const WATCH_EVERY: u64 = 1 << 14;
/// Events between two audits, at least; a divisor of `WATCH_EVERY`. An audit looks at all that there is: where that is more,
/// so many events pass before the next one, and audits take time in proportion to the run.
pub(super) const AUDIT_EVERY: u64 = 1 << 12;

/// A run in progress.
pub struct Engine<'a, 'o, M: Members> {
    pub(super) net: Network<'a, M>,
    pub(super) transports: Vec<M::Endpoint>,
    pub(super) plan: &'a Plan<'a, M>,
    pub(super) counts: Vec<Counts>,
    pub(super) subflows: Vec<Subflow>,
    pub(super) starts: Starts<'a>,
    pub(super) kept: Kept,
    /// Flows that are to end, started and ended; none of the three counts background.
    pub(super) goal: u64,
    pub(super) begun: u64,
    /// When the last flow started.
    pub(super) started_at: Time,
    pub(super) flows_done: u64,
    /// When the last of them ended.
    pub(super) ended_at: Time,
    /// Whether the goal grows with the run.
    pub(super) unbounded: bool,
    /// How the run has ended.
    pub(super) status: Option<Status>,
    pub(super) limit: Option<Limit>,
    /// When it is compared with its limits. Not among what each event needs.
    pub(super) limits: Box<Limits>,
    /// When it ends because all flows that it waits for have ended.
    pub(super) stop_at: Time,
    pub(super) events: u64,
    /// Events before the next audit.
    pub(super) next_audit: u64,
    /// Timers that have fired, of hosts, queues and agents.
    pub(super) timers: u64,
    pub(super) violations: Vec<String>,
    /// When to look for a cycle of paused ports next, and what was found.
    pub(super) deadlock_look: Time,
    pub(super) deadlock: Vec<LinkId>,
    /// The next change of links, and of routes.
    pub(super) next_fault: usize,
    pub(super) next_epoch: usize,
    /// Connections that are to close when their packets are gone in all parts of the run; none if it has one part.
    pub(super) closing: Vec<ConnId>,
    /// Of a part of the run, the key of the event that ended its last open flow: see `parted/ending.rs`.
    pub(super) last_end: Option<u128>,
    /// Links to other parts whose ports decide in retrospect.
    pub(super) boundary_links: Vec<LinkId>,
    /// When the first of these ports at which something waits has a free wire.
    pub(super) undecided: Option<Time>,
    pub(super) observers: Vec<&'o mut dyn Observer>,
    /// Until this time neither the end of the run nor an observer is due.
    pub(super) horizon: Time,
}

impl<'a, 'o, M: Members> Engine<'a, 'o, M> {
    /// The run at time zero.
    pub fn new(plan: &'a Plan<'a, M>) -> Engine<'a, 'o, M> {
        Engine::begin(plan, None)
    }

    /// The run at time zero, or one part of it.
    pub(super) fn begin(plan: &'a Plan<'a, M>, part: Option<(&Arc<Partition>, u32)>) -> Engine<'a, 'o, M> {
        let mut engine = Engine {
            net: Network::new(&plan.parts),
            transports: plan.parts.members.endpoints(plan.parts.fabric),
            plan,
            counts: vec![Counts::UNFINISHED; plan.traffic.flows.len()],
            subflows: Vec::new(),
            starts: Starts::new(plan.traffic),
            kept: Kept::default(),
            goal: 0,
            begun: 0,
            started_at: Time::ZERO,
            flows_done: 0,
            ended_at: Time::ZERO,
            unbounded: false,
            status: None,
            limit: None,
            limits: Box::new(Limits::new(plan)),
            stop_at: Time::NEVER,
            events: 0,
            next_audit: 0,
            timers: 0,
            violations: Vec::new(),
            deadlock_look: Time::NEVER,
            deadlock: Vec::new(),
            next_fault: 0,
            next_epoch: 0,
            closing: Vec::new(),
            last_end: None,
            boundary_links: Vec::new(),
            undecided: None,
            observers: Vec::new(),
            horizon: Time::ZERO,
        };
        engine.set_goal();
        // The first part makes the controller of the run.
        if part.is_none_or(|(_, me)| me == 0) {
            engine.net.control_plane = ControlPlane::of(&plan.parts);
        }
        if let Some((partition, me)) = part {
            engine.join(partition, me);
        }
        if plan.audit {
            engine.net.tallies = vec![Tally::default(); plan.parts.fabric.links.len()];
            engine.net.shows = true;
            if let Some(control_plane) = &mut engine.net.control_plane {
                control_plane.audit_decisions();
            }
        }
        if let Some(control_plane) = &mut engine.net.control_plane
            && !engine.net.remote.is_parted()
        {
            control_plane.begin(&mut engine.net.calendar);
        }
        engine.deadlock_look = self::deadlock::first_look(&engine.net);
        engine.net.show_routes();
        engine.schedule_faults();
        engine.net.reacts = engine.starts.react();
        engine.starts.begin(&mut engine.net);
        engine
    }

    /// Runs to the end; `watch` is shown the progress now and then, and says whether to go on.
    ///
    /// Where observers ask for points, the whole loop is another one, `WATCHED`: it alone notes points, so that no other run
    /// tests whether to.
    pub fn run(self, watch: &mut dyn FnMut(&Progress) -> bool) -> Finished {
        if self.net.after.watch.is_on() { self.run_as::<true>(watch) } else { self.run_as::<false>(watch) }
    }

    #[inline(never)]
    fn run_as<const WATCHED: bool>(mut self, watch: &mut dyn FnMut(&Progress) -> bool) -> Finished {
        let status = loop {
            if let Some(status) = self.step::<WATCHED>() {
                break status;
            }
            if self.events.is_multiple_of(AUDIT_EVERY) {
                if WATCHED {
                    self.show_until(Time(self.net.now.0.saturating_sub(1)));
                }
                if self.events.is_multiple_of(WATCH_EVERY) && !watch(&self.progress()) {
                    break Status::Interrupted;
                }
                if self.plan.audit && self.events >= self.next_audit {
                    self.audit();
                    self.next_audit = self.events + self.audited_items();
                }
            }
        };
        self.finish(status)
    }

    /// Handles the next event, or says how the run has ended.
    #[inline(always)]
    pub(super) fn step<const WATCHED: bool>(&mut self) -> Option<Status> {
        if self.status.is_some() {
            return self.status;
        }
        let Some((event, hint)) = self.next_event::<false, WATCHED>(Time::NEVER) else {
            return Some(self.out_of_events());
        };
        if event.time > self.horizon
            && let Some(status) = self.over_before(event.time)
        {
            // It has not happened: the audit is to find its packet on the wire.
            self.net.calendar.push(event);
            return Some(status);
        }
        self.net.now = event.time;
        if WATCHED {
            self.net.calendar.follow(&event);
        }
        self.events += 1;
        self.handle::<WATCHED>(event, hint);
        None
    }

    /// Takes the next event, `BEFORE` an end or any at all, and what has been found out about it.
    ///
    /// `BEFORE` is a parameter of the type, not an argument: closures that two callers share are not inlined, 2 to
    /// 3 % of a run's instructions. `WATCHED` is one for the same reason.
    #[inline(always)]
    pub(super) fn next_event<const BEFORE: bool, const WATCHED: bool>(
        &mut self,
        end: Time,
    ) -> Option<(Event, u32)> {
        let Network { calendar, arena, egress, links, ends, conns, balancers, routes, paths, .. } =
            &mut self.net;
        let ahead: Ahead<'_, M> = Ahead { arena, egress, links, ends, conns, balancers, routes, paths };
        let (soon, now) =
            (|event: &Event| ahead.fetch_packet(event), |event: &Event| ahead.fetch_rest(event));
        if BEFORE { calendar.pop_before(end, soon, now) } else { calendar.pop(soon, now) }
    }

    /// One event.
    #[inline(always)]
    pub(super) fn handle<const WATCHED: bool>(&mut self, event: Event, hint: u32) {
        match event.phase() {
            phase if phase == Phase::Arrival as u8 => self.arrive::<WATCHED>(&event, hint),
            phase if phase == Phase::Departure as u8 => self.depart::<WATCHED>(self.net.links.of(&event)),
            phase if phase == Phase::Timer as u8 => self.timer::<WATCHED>(event),
            _ => self.handle_rare(event),
        }
        while let Some(link) = self.net.kicks.pop() {
            self.serve::<WATCHED>(link);
        }
        while self.net.after.take() {
            self.finish_event();
        }
    }

    /// Deferred work of an event, which may defer more.
    #[inline(never)]
    pub(super) fn finish_event(&mut self) {
        if !self.net.after.received.is_empty() {
            self.receive_held();
        }
        while let Some(id) = self.net.after.gone.pop() {
            self.close_if_over(id);
        }
        while let Some(ended) = self.net.after.ended.pop() {
            self.starts.note(ended, &mut self.net);
        }
        self.net.send_back();
        self.net.send_pauses();
    }

    /// Events that happen once a flow, or less often.
    #[cold]
    #[inline(never)]
    fn handle_rare(&mut self, event: Event) {
        match event.phase() {
            phase if phase == Phase::Start as u8 => self.start(event),
            phase if phase == Phase::Lost as u8 => {
                self.lose_on_link(self.net.links.of(&event), PacketId(event.a))
            }
            phase if phase == Phase::Pause as u8 => self.obey(event),
            phase if phase == Phase::Port as u8 => {
                self.timers += 1;
                let link = self.net.links.of(&event);
                if self.net.port_timer(link, event.a) {
                    self.resume(link);
                }
            }
            phase if phase == Phase::Control as u8 => self.control(event),
            _ => self.fault(event.rank()),
        }
    }

    /// A packet comes out of a link: its host receives it, or its next port gets it.
    #[inline(always)]
    fn arrive<const WATCHED: bool>(&mut self, event: &Event, hint: u32) {
        if WATCHED || self.net.shows {
            self.arrive_shown::<WATCHED>(event, hint);
        } else {
            self.arrive_as::<false, false>(event, hint);
        }
    }

    /// The same where packets are shown: apart, so that no other run pays for it.
    #[inline(never)]
    fn arrive_shown<const WATCHED: bool>(&mut self, event: &Event, hint: u32) {
        self.arrive_as::<true, WATCHED>(event, hint);
    }

    #[inline(always)]
    fn arrive_as<const SHOWN: bool, const WATCHED: bool>(&mut self, event: &Event, hint: u32) {
        let (link, id) = (self.net.links.of(event), PacketId(event.a));
        if WATCHED {
            self.net.see_arrival(link, id);
        }
        let shown = if SHOWN { self.show_arrival(event, hint) } else { None };
        self.net.packet_hops += 1;
        let packet = &mut self.net.arena[id];
        packet.hops = packet.hops.wrapping_add(1);
        packet.ingress = link;
        match hint {
            HERE => self.take::<SHOWN, WATCHED>(id),
            UNSEEN => {
                let at = self.net.ends[link.index()];
                if packet.dst == at {
                    return self.take::<SHOWN, WATCHED>(id);
                }
                match self.net.next_link(at, id, event.order) {
                    LinkId::NONE => self.lose_without_way(id),
                    next => self.pass_on::<SHOWN, WATCHED>(next, id, shown),
                }
            }
            next => self.pass_on::<SHOWN, WATCHED>(LinkId(next), id, shown),
        }
    }

    #[inline(always)]
    fn pass_on<const SHOWN: bool, const WATCHED: bool>(
        &mut self,
        mut next: LinkId,
        id: PacketId,
        shown: Option<FlowId>,
    ) {
        if SHOWN {
            if self.net.arena.has_tags() {
                next = self.net.show_passage(next, id);
                if next == LinkId::NONE {
                    return;
                }
            }
            self.net.show_offer::<WATCHED>(next, id, shown);
        }
        self.net.offer::<WATCHED>(next, id);
    }

    /// Shows a packet that comes out of a link to the audit and the agent that sees answers there. Its flow
    /// if it goes to the receiver: then the agent of its next port is shown it.
    #[inline(always)]
    fn show_arrival(&mut self, event: &Event, hint: u32) -> Option<FlowId> {
        let (link, id) = (self.net.links.of(event), PacketId(event.a));
        if !self.net.tallies.is_empty() {
            self.net.tallies[link.index()].received += 1;
        }
        let read_answers = self.net.agents.read_answers();
        if !read_answers && hint == HERE {
            return None;
        }
        let (flow, to_receiver) = self.net.shown_flow(id)?;
        if read_answers && !to_receiver {
            self.net.show_answer(link, id, flow);
        }
        to_receiver.then_some(flow)
    }

    /// A packet comes to the host that it is for, which may hold it until those before it have come.
    #[inline(always)]
    fn take<const SHOWN: bool, const WATCHED: bool>(&mut self, id: PacketId) {
        if SHOWN && self.net.arena.has_tags() && self.net.is_held(id) {
            return;
        }
        self.receive::<WATCHED>(id);
    }

    /// The transports get the packets that their hosts held.
    #[cold]
    #[inline(never)]
    fn receive_held(&mut self) {
        let is_watched = self.net.after.watch.is_on();
        while let Some(id) = self.net.after.received.pop_front() {
            if is_watched { self.receive::<true>(id) } else { self.receive::<false>(id) }
        }
        while let Some(link) = self.net.kicks.pop() {
            if is_watched { self.serve::<true>(link) } else { self.serve::<false>(link) }
        }
    }

    #[inline(always)]
    fn receive<const WATCHED: bool>(&mut self, id: PacketId) {
        let packet = self.net.arena.remove(id);
        if self.net.arena.has_records() {
            self.net.record = *self.net.arena.record(id);
        }
        let conn = &mut self.net.conns[packet.conn.index()];
        let at_receiver = conn.dst == packet.dst;
        conn.network.end(self.net.now);
        let via = conn.via;
        if at_receiver && !self.net.conns[via.index()].receiver.accepted {
            self.accept(via);
        }
        let mut cx = Cx { net: &mut self.net, transport: packet.transport, host: packet.dst };
        let transport = &mut self.transports[packet.transport as usize];
        if at_receiver {
            transport.at_receiver(&packet, &mut cx);
        } else {
            transport.at_sender(&packet, &mut cx);
            if WATCHED {
                self.see_pace(packet.conn);
            }
        }
        if self.net.conns[packet.conn.index()].network.packets == 0 {
            self.gone(packet.conn);
        }
    }

    /// The time has come to serve what waits at a port.
    #[inline(always)]
    pub(super) fn depart<const WATCHED: bool>(&mut self, link: LinkId) {
        if !self.net.depart::<WATCHED>(link) {
            self.serve::<WATCHED>(link);
        }
    }

    /// The wire of a host's port is free and no packet waits: asks the connections in their turn.
    fn serve<const WATCHED: bool>(&mut self, link: LinkId) {
        let port = &self.net.egress[link.index()].port;
        if port.serving || port.free_at > self.net.now {
            return;
        }
        let paused = port.paused;
        while let Some(turn) = self.net.ready[link.index()].pop_unless(&mut self.net.conns, paused) {
            let is_ranked = self.net.is_ranked(turn);
            let id = if is_ranked { self.net.most_urgent(link, turn, paused) } else { turn };
            let Conn { transport: index, src, .. } = self.net.conns[id.index()];
            let mut cx = Cx { net: &mut self.net, transport: index, host: src };
            let (packet, more) = self.transports[index as usize].next_packet(id, &mut cx);
            if is_ranked && !more {
                self.net.unrank(id);
            }
            if more || id != turn {
                self.net.ready[link.index()].push(&mut self.net.conns, turn);
            }
            if WATCHED {
                self.see_pace(id);
            }
            if let Some(packet) = packet {
                self.net.put_on_wire::<WATCHED>(link, packet);
                return;
            }
            // It may have ended since it asked for its turn, and its slot waited for that.
            self.gone(id);
        }
    }

    fn timer<const WATCHED: bool>(&mut self, event: Event) {
        self.timers += 1;
        let (transport, owner) = (event.transport(), event.owner());
        let host = match owner {
            Owner::Sender(id) => {
                let conn = &mut self.net.conns[id.index()];
                conn.sender.timers -= 1;
                if conn.sender.done {
                    self.net.after.gone(id);
                }
                conn.src
            }
            Owner::Receiver(id) => {
                let conn = &mut self.net.conns[id.index()];
                conn.receiver.timers -= 1;
                if conn.sender.done {
                    self.net.after.gone(id);
                }
                conn.dst
            }
            Owner::Interface(link) => self.net.ends[link.index()],
        };
        let before = self.net.after.watch.count();
        let paced = if WATCHED { self.paced_by(owner) } else { None };
        let mut cx = Cx { net: &mut self.net, transport, host };
        self.transports[transport as usize].timer(owner, event.timer_kind(), &mut cx);
        if WATCHED {
            self.see_timer(before, host, owner, event.timer_kind());
            if let Some(id) = paced {
                self.see_pace(id);
            }
        }
    }
}
