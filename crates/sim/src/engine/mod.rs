//! The event loop: takes the first event, lets packets, ports, hosts and timers act on it, and again.

pub mod after;
mod ahead;
pub mod audit;
mod buckets;
pub mod calendar;
pub mod conn;
pub mod cx;
mod deadlock;
pub mod egress;
mod ending;
pub mod event;
pub mod fault;
pub mod gate;
mod kept;
pub mod memory;
pub mod network;
pub mod observer;
pub mod packet;
pub mod pause;
pub mod port;
mod prefetch;
pub mod ring;
mod starts;

use self::ahead::{Ahead, HERE};
use self::calendar::UNSEEN;
use self::conn::{Conn, Counts, Subflow};
use self::cx::{Cx, Owner};
use self::event::{Event, Phase};
use self::kept::Kept;
use self::network::{Network, Parts, Tally};
use self::observer::Observer;
use self::starts::Starts;
use crate::ids::{ConnId, FlowId, LinkId, PacketId};
use crate::random::{Purpose, Stream, name_key};
use crate::topology::Fabric;
use crate::traffic::{Flow, Traffic, Waits};
use crate::transport::{self, HostSide};
use crate::units::Time;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Every flow has ended that is not background.
    Complete,
    /// Somebody stopped it.
    Interrupted,
    /// Flows are open, but no event is left, or no payload has arrived for `run.stall` and twice the longest timeout.
    Stalled,
    /// `run.until` came before the last flow ended, or sources drew more flows than a run may have.
    Limit,
}

/// Which limit ended a run with status "limit".
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// `run.until`, or the longest time that there is.
    Until,
    /// The number of flows that a run may have.
    Flows,
    /// `run.memory_limit`.
    Memory,
    /// `run.work_limit`.
    Work,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Where it will stop at the latest.
    pub until: Option<Time>,
    /// Flows that have ended, without background.
    pub flows_done: u64,
    /// Flows that are to end before the run does, as far as they are known; without background.
    pub flows: u64,
    /// Links crossed by packets.
    pub packet_hops: u64,
    /// Events handled.
    pub events: u64,
}

/// Which transport and balancer each traffic entry's flows use, the entry's name, and whether anybody waits for them.
#[derive(Clone, Debug)]
pub struct Carrier {
    /// Name of the traffic entry.
    pub name: String,
    /// Index among the run's transports.
    pub transport: u8,
    /// Index among the run's balancers.
    pub balancer: u8,
    /// Whether nobody waits for them.
    pub background: bool,
    /// Their priority; the lowest number goes first.
    pub priority: u8,
    /// Whether those between the same two hosts share a connection.
    pub kept: bool,
}

/// All that a run needs to know besides the network.
pub struct Plan<'a> {
    /// What the network is made of.
    pub parts: Parts<'a>,
    /// The transports of the run.
    pub transports: &'a [transport::Transport],
    /// For each traffic entry, who carries its flows.
    pub carriers: &'a [Carrier],
    /// The flows, and what starts them.
    pub traffic: &'a Traffic,
    /// More flows than this end the run.
    pub flows_max: u64,
    /// With background traffic: from the end of the last other flow to that of the run.
    pub stop_delay: Time,
    /// Stop at this time at the latest.
    pub until: Option<Time>,
    /// Give up when nothing has moved for so long.
    pub stall: Time,
    /// The longest time for which a sender that somebody waits for may be silent before it tries again.
    pub longest_timeout: Time,
    /// Stop when about so many bytes of memory are in use.
    pub memory_limit: u64,
    /// Stop when packets have crossed so many links.
    pub work_limit: u64,
    /// Whether to audit.
    pub audit: bool,
}

/// What a run leaves in memory.
pub struct Ended<'a> {
    /// How it ended.
    pub status: Status,
    /// Which limit ended it.
    pub limit: Option<Limit>,
    /// When it ended.
    pub end: Time,
    /// Ports and links with what they have counted.
    pub net: Network<'a>,
    /// Flows that waited for others, with their start if they have started; then those drawn during the run, by start.
    pub late: Vec<Flow>,
    /// By flow: first those whose start was known, then `late`.
    pub counts: Vec<Counts>,
    /// Subflows that have started, by flow and number.
    pub subflows: Vec<Subflow>,
    /// Events handled.
    pub events: u64,
    /// The links of a cycle of paused ports, if the run ended for that.
    pub deadlock: Vec<LinkId>,
    /// What the audit found wrong; empty without an audit.
    pub violations: Vec<String>,
    /// If it has stalled, by traffic entry what flows wait for that somebody waits for.
    pub waits: Vec<Option<Waits>>,
}

/// Events between two looks at the world outside.
const WATCH_EVERY: u64 = 1 << 14;
/// Events between two audits; a divisor of `WATCH_EVERY`.
const AUDIT_EVERY: u64 = 1 << 12;

/// A run under way.
pub struct Engine<'a, 'o> {
    net: Network<'a>,
    transports: Vec<transport::Model>,
    /// For each transport of the plan, whose model carries it, and under which number.
    carried: Vec<(u8, u8)>,
    plan: &'a Plan<'a>,
    counts: Vec<Counts>,
    subflows: Vec<Subflow>,
    starts: Starts<'a>,
    kept: Kept,
    /// Flows that are to end, started and ended; none of the three counts background.
    goal: u64,
    begun: u64,
    flows_done: u64,
    /// Whether the goal grows with the run.
    unbounded: bool,
    /// How the run has ended.
    status: Option<Status>,
    limit: Option<Limit>,
    /// When it ends because all flows have that somebody waits for.
    stop_at: Time,
    events: u64,
    violations: Vec<String>,
    /// When to look for a cycle of paused ports next, and what was found.
    deadlock_look: Time,
    deadlock: Vec<LinkId>,
    /// The next change of links, and of routes.
    next_fault: usize,
    next_epoch: usize,
    /// Those who watch.
    observers: Vec<&'o mut dyn Observer>,
    /// No need to ask before this time whether the run is over or somebody wants to look.
    horizon: Time,
}

/// A model for each transport, and for each whose model carries it: an earlier one's, if that can, under a number.
fn models(transports: &[transport::Transport], fabric: &Fabric) -> (Vec<transport::Model>, Vec<(u8, u8)>) {
    let mut models: Vec<transport::Model> = Vec::new();
    let mut carried = Vec::new();
    for (own, transport) in transports.iter().enumerate() {
        let joined =
            models.iter_mut().zip(0..).find_map(|(model, index)| Some((index, model.join(transport)?)));
        carried.push(joined.unwrap_or((own as u8, 0)));
        models.push(transport.model(fabric));
    }
    (models, carried)
}

/// Who a timer's event belongs to.
#[inline(always)]
fn owner_of(event: &Event) -> Owner {
    if event.b & 1 << 8 != 0 { Owner::Link(LinkId(event.a)) } else { Owner::Conn(ConnId(event.a)) }
}

impl<'a, 'o> Engine<'a, 'o> {
    /// The run at time zero.
    pub fn new(plan: &'a Plan<'a>) -> Engine<'a, 'o> {
        let (transports, carried) = models(plan.transports, plan.parts.fabric);
        let mut engine = Engine {
            net: Network::new(&plan.parts),
            transports,
            carried,
            plan,
            counts: vec![Counts::UNFINISHED; plan.traffic.flows.len()],
            subflows: Vec::new(),
            starts: Starts::new(plan.traffic),
            kept: Kept::default(),
            goal: 0,
            begun: 0,
            flows_done: 0,
            unbounded: false,
            status: None,
            limit: None,
            stop_at: Time::NEVER,
            events: 0,
            violations: Vec::new(),
            deadlock_look: Time::NEVER,
            deadlock: Vec::new(),
            next_fault: 0,
            next_epoch: 0,
            observers: Vec::new(),
            horizon: Time::ZERO,
        };
        engine.set_goal();
        if plan.audit {
            engine.net.tallies = vec![Tally::default(); plan.parts.fabric.links.len()];
        }
        engine.deadlock_look = Engine::first_deadlock_look(&engine.net);
        engine.schedule_faults();
        engine.net.reacts = engine.starts.react();
        engine.starts.begin(&mut engine.net);
        engine
    }

    /// Runs to the end; `watch` is shown the progress now and then, and says whether to go on.
    pub fn run(mut self, watch: &mut dyn FnMut(&Progress) -> bool) -> Ended<'a> {
        let status = loop {
            if let Some(status) = self.step() {
                break status;
            }
            if self.events.is_multiple_of(AUDIT_EVERY) {
                if self.events.is_multiple_of(WATCH_EVERY) {
                    if !watch(&self.progress()) {
                        break Status::Interrupted;
                    }
                    self.limit = self.beyond();
                    if self.limit.is_some() {
                        break Status::Limit;
                    }
                }
                if self.plan.audit {
                    self.audit();
                }
            }
        };
        self.end(status)
    }

    /// Handles the next event, or says how the run has ended.
    #[inline(always)]
    fn step(&mut self) -> Option<Status> {
        if self.status.is_some() {
            return self.status;
        }
        let Network { calendar, arena, egress, ends, conns, balancers, routes, .. } = &mut self.net;
        let ahead = Ahead { arena, egress, ends, conns, balancers, routes };
        let next = calendar.pop(|event| ahead.fetch_packet(event), |event| ahead.fetch_rest(event));
        let Some((event, hint)) = next else {
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
        self.events += 1;
        self.handle(event, hint);
        None
    }

    /// One event.
    #[inline(always)]
    fn handle(&mut self, event: Event, hint: u32) {
        match event.phase() {
            phase if phase == Phase::Arrival as u8 => self.arrive(&event, hint),
            phase if phase == Phase::Departure as u8 => self.depart(LinkId(event.b)),
            phase if phase == Phase::Timer as u8 => self.timer(event),
            _ => self.handle_rare(event),
        }
        while let Some(link) = self.net.kicks.pop() {
            self.serve(link);
        }
        while self.net.after.take() {
            self.finish_event();
        }
    }

    /// What an event has left to do; that may leave more.
    #[inline(never)]
    fn finish_event(&mut self) {
        while let Some(id) = self.net.after.gone.pop() {
            self.close_if_over(id);
        }
        while let Some((flow, at)) = self.net.after.ended.pop() {
            self.starts.note(flow, at, &self.plan.parts, &mut self.net);
        }
        self.net.send_back();
        self.net.send_pauses();
    }

    /// What happens once a flow, or less often.
    #[cold]
    #[inline(never)]
    fn handle_rare(&mut self, event: Event) {
        match event.phase() {
            phase if phase == Phase::Start as u8 => self.start(event),
            phase if phase == Phase::Lost as u8 => self.lose_on_link(LinkId(event.b), PacketId(event.a)),
            phase if phase == Phase::Pause as u8 => self.obey(event),
            _ => self.fault(event.b),
        }
    }

    /// A packet comes out of a link: its host receives it, or its next port gets it.
    #[inline(always)]
    fn arrive(&mut self, event: &Event, hint: u32) {
        let (link, id) = (LinkId(event.b), PacketId(event.a));
        if let Some(tally) = self.net.tallies.get_mut(link.index()) {
            tally.received += 1;
            if !self.observers.is_empty() {
                self.show(link, self.net.arena[id]);
            }
        }
        self.net.packet_hops += 1;
        let packet = &mut self.net.arena[id];
        packet.hops = packet.hops.wrapping_add(1);
        packet.ingress = link;
        match hint {
            HERE => self.receive(id),
            UNSEEN => {
                let at = self.net.ends[link.index()];
                if packet.dst == at {
                    return self.receive(id);
                }
                match self.net.next_link(at, id, event.order) {
                    LinkId::NONE => self.lose_without_way(id),
                    next => self.net.offer(next, id),
                }
            }
            next => self.net.offer(LinkId(next), id),
        }
    }

    #[inline(always)]
    fn receive(&mut self, id: PacketId) {
        let packet = self.net.arena.remove(id);
        let conn = &mut self.net.conns[packet.conn.index()];
        let at_receiver = conn.dst == packet.dst;
        conn.packets -= 1;
        let mut cx = Cx { net: &mut self.net, transport: packet.transport };
        let transport = &mut self.transports[packet.transport as usize];
        if at_receiver {
            transport.at_receiver(&packet, &mut cx);
        } else {
            transport.at_sender(&packet, &mut cx);
        }
        if self.net.conns[packet.conn.index()].packets == 0 {
            self.net.after.gone(packet.conn);
        }
    }

    /// The time has come to serve what waits at a port.
    #[inline(always)]
    fn depart(&mut self, link: LinkId) {
        if !self.net.depart(link) {
            self.serve(link);
        }
    }

    /// The wire of a host's port is free and no packet waits: asks the connections in their turn.
    fn serve(&mut self, link: LinkId) {
        let port = &self.net.egress[link.index()].port;
        if port.serving || port.free_at > self.net.now {
            return;
        }
        let paused = port.paused;
        while let Some(id) = self.net.ready[link.index()].pop_unless(&mut self.net.conns, paused) {
            let index = self.net.conns[id.index()].transport;
            let mut cx = Cx { net: &mut self.net, transport: index };
            let (packet, more) = self.transports[index as usize].next_packet(id, &mut cx);
            if more {
                self.net.ready[link.index()].push(&mut self.net.conns, id);
            }
            if let Some(packet) = packet {
                self.net.put_on_wire(link, packet);
                return;
            }
            // It may have ended since it asked for its turn, and its slot waited for that.
            self.net.after.gone(id);
        }
    }

    fn timer(&mut self, event: Event) {
        let transport = (event.b >> 9) as u8;
        let kind = event.b as u8;
        let owner = owner_of(&event);
        if let Owner::Conn(id) = owner {
            self.net.conns[id.index()].timers -= 1;
            self.net.after.gone(id);
        }
        let mut cx = Cx { net: &mut self.net, transport };
        self.transports[transport as usize].timer(owner, kind, &mut cx);
    }

    /// A flow starts, or a trigger is fired that may start some.
    #[cold]
    fn start(&mut self, event: Event) {
        let (parts, drawn) = (&self.plan.parts, event.b == starts::kind::DRAWN);
        if drawn && self.counts.len() as u64 >= self.plan.flows_max {
            // It has not happened.
            self.net.calendar.push(event);
            (self.status, self.limit) = (Some(Status::Limit), Some(Limit::Flows));
            return;
        }
        let Some((id, own_key)) = self.starts.take((event.a, event.b), parts, &mut self.net) else {
            return;
        };
        let flow = *self.starts.flow(id).expect("it has just been taken");
        if drawn {
            self.counts.push(Counts::UNFINISHED);
        }
        let carrier = &self.plan.carriers[flow.entry as usize];
        if !carrier.background {
            self.net.moved_at = self.net.now;
            self.begun += 1;
            self.goal += u64::from(drawn && self.plan.traffic.chains.flows_max(event.a).is_none());
        }
        // The 5-tuple is the entry's and the flow's number in it: flows of other entries do not move it.
        let key = own_key.unwrap_or_else(|| name_key(&carrier.name).wrapping_add(u64::from(flow.number)));
        let Parts { seed, replica, .. } = *parts;
        let label = Stream::new(seed, replica, Purpose::FiveTuple, key).bits() as u32;
        let (src_port, dst_port) = self.net.ports_of(flow.src, flow.dst, label, carrier.balancer);
        let (transport, variant) = self.carried[usize::from(carrier.transport)];
        let conn = Conn {
            flow: id,
            src: flow.src,
            dst: flow.dst,
            src_port,
            dst_port,
            label,
            transport,
            variant,
            balancer: carrier.balancer,
            background: carrier.background,
            priority: carrier.priority,
            class: 0,
            open: true,
            done: false,
            counted: false,
            ready: false,
            subflow: 0,
            parent: ConnId::NONE,
            via: ConnId::NONE,
            next_ready: ConnId::NONE,
            packets: 0,
            timers: 0,
            start: flow.start,
            newest: Time::ZERO,
            counts: Counts::UNFINISHED,
        };
        self.net.due = flow.deadline.map_or(Time::NEVER, |after| self.net.now.saturating_add(after));
        if carrier.kept {
            return self.start_message(flow.entry, flow.size, key, conn);
        }
        let id = self.net.open(conn);
        let mut cx = Cx { net: &mut self.net, transport };
        self.transports[usize::from(transport)].start(id, flow.size, key, &mut cx);
    }

    /// Counts a flow as ended whose sender is done, once its packets are gone or all that it sent is acknowledged; with
    /// its last packet and timer the connection's slot is free.
    fn close_if_over(&mut self, id: ConnId) {
        let conn = &mut self.net.conns[id.index()];
        if !conn.open || !conn.done {
            return;
        }
        let gone = conn.packets == 0;
        // Once all is acknowledged nobody waits for what is still on its way.
        if (gone || conn.counts.acked_at != Time::NEVER) && conn.parent == ConnId::NONE && !conn.counted {
            conn.counted = true;
            self.flows_done += u64::from(!conn.background);
            if self.flows_done == self.goal && self.status.is_none() {
                self.complete_soon();
            }
        }
        if gone {
            self.close(id);
        }
    }

    /// Closes a connection whose sender is done and whose packets are gone.
    fn close(&mut self, id: ConnId) {
        let conn = &mut self.net.conns[id.index()];
        if conn.flow != FlowId::NONE {
            let (flow, parent) = (conn.flow, conn.parent);
            if parent == ConnId::NONE {
                self.counts[flow.index()] = conn.counts;
                conn.flow = FlowId::NONE;
            } else {
                self.close_subflow(id, parent);
            }
        }
        let conn = &mut self.net.conns[id.index()];
        if conn.timers == 0 && !conn.ready {
            conn.open = false;
            self.net.free_conns.push(id);
        }
    }

    /// Ends a subflow, whose packets its flow counts; with the last one, the flow may be over.
    #[cold]
    #[inline(never)]
    fn close_subflow(&mut self, id: ConnId, parent: ConnId) {
        let conn = &mut self.net.conns[id.index()];
        let subflow = Subflow::from(&*conn);
        conn.flow = FlowId::NONE;
        self.subflows.push(subflow);
        let whole = &mut self.net.conns[parent.index()];
        whole.counts.add_packets(&subflow.counts);
        whole.packets -= 1;
        self.net.after.gone(parent);
    }

    fn progress(&self) -> Progress {
        Progress {
            now: self.net.now,
            until: self.plan.until,
            flows_done: self.flows_done,
            flows: self.goal,
            packet_hops: self.net.packet_hops,
            events: self.events,
        }
    }

    fn end(mut self, status: Status) -> Ended<'a> {
        let waits = if status == Status::Stalled { self.waits() } else { Vec::new() };
        if self.plan.audit {
            self.audit();
        }
        let end = self.net.now;
        self.look_until(end);
        self.net.stop(end);
        let open = |conn: &&Conn| conn.open && conn.flow != FlowId::NONE;
        let (whole, parts): (Vec<&Conn>, Vec<&Conn>) =
            self.net.conns.iter().filter(open).partition(|conn| conn.parent == ConnId::NONE);
        for conn in whole {
            self.counts[conn.flow.index()] = conn.counts;
        }
        for conn in parts {
            self.counts[conn.flow.index()].add_packets(&conn.counts);
            self.subflows.push(Subflow::from(conn));
        }
        self.subflows.sort_unstable_by_key(|subflow| (subflow.flow, subflow.number));
        Ended {
            status,
            limit: self.limit,
            end,
            net: self.net,
            late: self.starts.into_late(),
            counts: self.counts,
            subflows: self.subflows,
            events: self.events,
            deadlock: self.deadlock,
            violations: self.violations,
            waits,
        }
    }
}
