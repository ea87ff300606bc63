//! A run in several parts: windows in which each part goes on by itself, and what happens between them.
//!
//! What a part sends to another arrives at least the shortest delay between two parts later. From the first event that
//! any part has to come, all parts may therefore go on for that long without hearing of each other: a window. Between
//! two windows they hand over what they have for each other, connections close whose packets are gone everywhere, and
//! observers look. Events have a total order that does not depend on who simulates what, so that the results are those
//! of a run in one part, to the last bit.
//!
//! Two things need care. A port decides up to a link's delay later what it sent in retrospect: at the end of a window,
//! ports at the head of a link to another part decide all that was to be decided by then. And a run ends with the last
//! byte that somebody waits for, within a window: where that could happen, parts take turns event by event, in the order
//! of their events, until it has. It could not as long as flows are to start, or one misses more than a window brings.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::conn::{Conn, Counts};
use super::ending::{State, limit};
use super::endpoint::Endpoint;
use super::executor::Executor;
use super::finished::{Finished, Limit, Status, Totals};
use super::lanes::{Lanes, PartCounts};
use super::members::Members;
use super::observer::{Inside, Observer, PortState, look_by, next_look};
use super::part::Cut;
use super::plan::Plan;
use super::progress::Progress;
use super::{Engine, WATCH_EVERY};
use crate::ids::{ConnId, FlowId, LinkId, NodeId};
use crate::traffic::Flow;
use crate::units::{SECOND, Time};

/// A window with fewer events is over before another thread has begun with it.
const FEW: u64 = 256;

/// A run in several parts.
pub struct Parted<'a, 'o, M: Members> {
    plan: &'a Plan<'a, M>,
    cut: Arc<Cut>,
    parts: Boxes<'a, 'o, M>,
    lanes: Lanes,
    observers: Vec<&'o mut dyn Observer>,
    /// Flows that are to end; background does not count.
    goal: u64,
    /// The present; between two windows, their border.
    now: Time,
    /// All events before this time have happened, and ports at the cut have decided what they sent by then.
    border: Time,
    stop_at: Time,
    limit: Option<Limit>,
    /// A flow that misses more bytes than a window brings.
    witness: Option<ConnId>,
    /// Connections of all parts, each with both its ends; made for a look.
    joined: Vec<Conn>,
    counts: PartCounts,
}

/// Parts. They go into lanes and come back each window, which moves a pointer for each.
#[allow(clippy::vec_box, reason = "a part is kilobytes")]
type Boxes<'a, 'o, M> = Vec<Box<Engine<'a, 'o, M>>>;

/// What goes on in a lane during a window: where the parts are meanwhile, and until when they run.
struct Road<'a, 'o, M: Members> {
    lanes: Vec<Lane<'a, 'o, M>>,
    end: AtomicU64,
}

/// The parts that one thread runs, on cache lines of their own.
#[repr(align(128))]
struct Lane<'a, 'o, M: Members>(Mutex<Boxes<'a, 'o, M>>);

impl<'a, 'o, M: Members> Parted<'a, 'o, M> {
    /// The run at time zero.
    pub fn new(plan: &'a Plan<'a, M>, cut: &Arc<Cut>) -> Parted<'a, 'o, M> {
        let mut parts: Vec<_> =
            (0..cut.count).map(|me| Box::new(Engine::begin(plan, Some((cut, me))))).collect();
        let goal = parts[0].goal;
        // No part knows when all have ended.
        parts.iter_mut().for_each(|part| part.goal = u64::MAX);
        Parted {
            plan,
            cut: Arc::clone(cut),
            lanes: Lanes::new(parts.len()),
            parts,
            observers: Vec::new(),
            goal,
            now: Time::ZERO,
            border: Time::ZERO,
            stop_at: Time::NEVER,
            limit: None,
            witness: None,
            joined: Vec::new(),
            counts: PartCounts { parts: cut.count, ..PartCounts::default() },
        }
    }

    /// Lets somebody watch who looks at the network; to be called before the run.
    pub fn observe(&mut self, observer: &'o mut dyn Observer) {
        assert!(!observer.watches_packets(), "who watches packets sees them in one part");
        self.observers.push(observer);
    }

    /// Runs to the end: see [`Engine::run`].
    pub fn run(mut self, executor: &dyn Executor, watch: &mut dyn FnMut(&Progress) -> bool) -> Finished {
        let lanes = (0..executor.lanes()).map(|_| Lane(Mutex::default())).collect();
        let road = Road { lanes, end: AtomicU64::new(0) };
        let task = |lane: usize| {
            let end = Time(road.end.load(SeqCst));
            road.lanes[lane].parts().iter_mut().for_each(|part| part.run_until(end));
        };
        let mut status = Status::Interrupted;
        executor.lead(&task, &mut |all| status = self.go(&road, all, watch));
        self.finish(status)
    }

    fn go(
        &mut self,
        road: &Road<'a, 'o, M>,
        all: &dyn Fn(),
        watch: &mut dyn FnMut(&Progress) -> bool,
    ) -> Status {
        let mut watched = 0;
        loop {
            if let Some(status) = self.go_on(road, all) {
                return status;
            }
            let events = self.sum(|part| part.events);
            if events - watched >= WATCH_EVERY {
                watched = events;
                if !watch(&self.progress()) {
                    self.now = self.border;
                    return Status::Interrupted;
                }
                self.limit = self.beyond();
                if self.limit.is_some() {
                    self.now = self.border;
                    return Status::Limit;
                }
            }
        }
    }

    /// All parts go on until then.
    fn window(&mut self, end: Time, road: &Road<'a, 'o, M>, all: &dyn Fn()) {
        let before: u64 = self.sum(|part| part.events);
        let busy = self.parts.iter().filter(|part| part.next_time().is_some_and(|time| time < end)).count();
        if road.lanes.len() == 1 || busy < 2 || self.counts.last_events < FEW {
            self.parts.iter_mut().for_each(|part| part.run_until(end));
        } else {
            self.lanes.share_out(self.parts.iter().map(|part| part.events), road.lanes.len());
            for part in self.parts.drain(..) {
                let lane = self.lanes.of[part.net.abroad.me as usize];
                road.lanes[lane].parts().push(part);
            }
            road.end.store(end.0, SeqCst);
            all();
            road.lanes.iter().for_each(|lane| self.parts.append(&mut lane.parts()));
            self.parts.sort_unstable_by_key(|part| part.net.abroad.me);
            self.counts.shared += 1;
        }
        self.border = end;
        let most = self.lanes.longest(self.parts.iter().map(|part| part.events));
        self.counts.add_window(self.sum(|part| part.events) - before, most);
    }

    fn sum(&self, count: impl Fn(&Engine<'a, 'o, M>) -> u64) -> u64 {
        self.parts.iter().map(|part| count(part)).sum()
    }

    /// A window, or turns within it; or says how the run has ended.
    fn go_on(&mut self, road: &Road<'a, 'o, M>, all: &dyn Fn()) -> Option<Status> {
        if let Some(status) = self.parts[0].status {
            return Some(status);
        }
        self.meet();
        if let Some(status) = self.complete() {
            return Some(status);
        }
        let Some(next) = self.parts.iter().filter_map(|part| part.next_time()).min() else {
            return Some(self.out_of_events());
        };
        let state = State {
            goal: self.goal,
            unbounded: false,
            begun: self.sum(|part| part.begun),
            ended: self.sum(|part| part.flows_done),
            to_come: self.parts.iter().any(|part| part.starts.to_come()),
            moved_at: self.moved_at(),
            stop_at: self.stop_at,
        };
        let (end, (limit, status)) = state.end(self.plan, next);
        let quiet = end.min(Time(next.0.saturating_sub(1)));
        if self.next_look() <= quiet {
            // Who looks at a port makes it decide: the others are to hear of it before they go on.
            self.look_until(quiet);
            return None;
        }
        if next > end {
            self.now = end;
            self.limit = limit;
            return Some(status);
        }
        // Ports that have not decided yet send when their wire is free, from the border on.
        let undecided = self.parts.iter().filter_map(|part| part.cut_sends()).min();
        let from = undecided.map_or(next, |free_at| free_at.max(self.border).min(next));
        let most = from.saturating_add(self.lookahead());
        let window = most.min(Time(end.0 + 1)).min(Time(self.next_look().0.saturating_add(1)));
        if window > next && self.may_complete(&state) {
            self.turn(window);
            return None;
        }
        self.window(window, road, all);
        None
    }

    /// Without an open flow the run has less patience, and with background traffic it ends a little after the last flow.
    fn lookahead(&self) -> Time {
        let stop = if self.plan.stop_delay == Time::ZERO { Time::NEVER } else { self.plan.stop_delay };
        self.cut.lookahead.min(self.plan.stall).min(stop)
    }

    /// Until then, or until a flow has ended, the part with the next event of all handles it, again and again. A port that
    /// decides in retrospect does so before its packet arrives anywhere: event by event nothing comes too late.
    fn turn(&mut self, end: Time) {
        let ended = self.sum(|part| part.flows_done);
        self.parts.iter_mut().for_each(|part| part.take_in());
        loop {
            let parts = self.parts.iter().enumerate();
            let next = parts.filter_map(|(at, part)| Some((part.net.calendar.first()?, at))).min();
            let Some((event, at)) = next.filter(|(event, _)| event.time < end) else { return };
            self.counts.turns += 1;
            self.parts[at].handle_next(Time(event.time.0 + 1));
            if self.parts[at].has_news() {
                self.meet();
                self.parts.iter_mut().for_each(|part| part.take_in());
            }
            if self.sum(|part| part.flows_done) != ended {
                return;
            }
        }
    }

    /// Parts hand over what they have for each other.
    fn meet(&mut self) {
        for from in 0..self.parts.len() {
            for id in std::mem::take(&mut self.parts[from].net.abroad.opened) {
                let conn = self.parts[from].net.conns[id.index()];
                for to in (0..self.parts.len()).filter(|&to| to != from) {
                    self.parts[to].net.admit(id, conn);
                }
            }
            for (host, event) in std::mem::take(&mut self.parts[from].net.abroad.starts) {
                let part = &mut self.parts[self.cut.of(host)];
                part.starts.admit(event, &mut part.net);
            }
            for to in (0..self.parts.len()).filter(|&to| to != from) {
                if self.parts[from].net.after.out[to].is_empty() {
                    continue;
                }
                // What came before has been taken in: both are empty or hold this window's packets.
                let parcel = std::mem::take(&mut self.parts[from].net.after.out[to]);
                self.counts.crossings += parcel.packets.len() as u64;
                let empty = std::mem::replace(&mut self.parts[to].net.abroad.inbox[from], parcel);
                debug_assert!(empty.is_empty(), "a parcel is taken in before the next one comes");
                self.parts[from].net.after.out[to] = empty;
            }
        }
        self.close();
    }

    /// Closes the connections whose packets are gone in all parts.
    fn close(&mut self) {
        for home in 0..self.parts.len() {
            let mut closing = std::mem::take(&mut self.parts[home].closing);
            while !closing.is_empty() {
                closing.retain(|&id| !self.close_one(home, id));
                // The last subflow that closes may close its flow.
                let more = std::mem::take(&mut self.parts[home].closing);
                if more.is_empty() {
                    break;
                }
                closing.extend(more);
            }
            self.parts[home].closing = closing;
        }
    }

    /// Closes a connection of that part if its packets are gone; says whether its slot is free.
    fn close_one(&mut self, home: usize, id: ConnId) -> bool {
        let conn = self.join(home, id);
        if conn.network.packets != 0 {
            return false;
        }
        for (at, part) in self.parts.iter_mut().enumerate() {
            let own = &mut part.net.conns[id.index()];
            if at == home {
                *own = conn;
            } else {
                // Counted at home from here on.
                own.network = super::conn::InNetwork::NONE;
                (own.flow, own.closed) = (FlowId::NONE, true);
            }
        }
        let part = &mut self.parts[home];
        part.count_ended(id, conn.network.ended_at);
        part.close(id);
        part.tidy();
        let free = !part.net.conns[id.index()].open;
        if free {
            self.parts.iter_mut().for_each(|part| part.net.conns[id.index()].open = false);
        }
        free
    }

    /// A connection with the ends and the counters of all parts.
    fn join(&self, home: usize, id: ConnId) -> Conn {
        let own = self.parts[home].net.conns[id.index()];
        let mut conn = own;
        let at_receiver = self.cut.of(own.dst);
        for (at, part) in self.parts.iter().enumerate().filter(|(at, _)| *at != home) {
            let there = &part.net.conns[id.index()];
            conn.network = conn.network.and(there.network);
            if at == at_receiver {
                conn.receiver = there.receiver;
            }
        }
        conn
    }

    /// Whether all flows have ended that somebody waits for; with background, the run goes on for a little.
    fn complete(&mut self) -> Option<Status> {
        if self.goal == 0 || self.stop_at != Time::NEVER || self.sum(|part| part.flows_done) < self.goal {
            return None;
        }
        if self.plan.has_background() {
            self.stop_at = self.moved_at().saturating_add(self.plan.stop_delay);
            return None;
        }
        self.now = self.moved_at();
        Some(Status::Complete)
    }

    fn moved_at(&self) -> Time {
        self.parts.iter().map(|part| part.net.moved_at).max().unwrap_or(Time::ZERO)
    }

    fn out_of_events(&mut self) -> Status {
        self.now = self.parts.iter().map(|part| part.net.now).max().unwrap_or(Time::ZERO);
        if self.stop_at != Time::NEVER {
            self.now = self.stop_at.min(self.plan.until.unwrap_or(Time::NEVER));
            return Status::Complete;
        }
        let open = |conn: &Conn| conn.open && conn.flow != FlowId::NONE && !conn.counted;
        let ended = self.sum(|part| part.flows_done) == self.goal;
        let all = self
            .parts
            .iter()
            .enumerate()
            .all(|(at, part)| !part.own_conns(at, self.cut.count).any(|(_, conn)| open(conn)));
        if ended && all { Status::Complete } else { Status::Stalled }
    }

    /// Whether the last flow that somebody waits for may end within a window.
    fn may_complete(&mut self, state: &State) -> bool {
        // A flow that has not begun crosses two links at least before it ends.
        if self.plan.has_background() || state.begun < self.goal || self.goal == 0 {
            return false;
        }
        if let Some(id) = self.witness
            && self.misses_much(id)
        {
            return false;
        }
        let homes = 0..self.parts.len();
        let ids = homes.flat_map(|home| {
            self.parts[home]
                .own_conns(home, self.cut.count)
                .filter(|(_, conn)| conn.open && conn.flow != FlowId::NONE)
                .map(|(id, _)| id)
        });
        let found = ids.collect::<Vec<_>>().into_iter().find(|&id| self.misses_much(id));
        self.witness = found;
        found.is_none()
    }

    /// Whether a flow misses more bytes than its receiver's links bring in a window.
    fn misses_much(&self, id: ConnId) -> bool {
        let home = (id.0 % self.cut.count) as usize;
        let conn = &self.parts[home].net.conns[id.index()];
        let whole = conn.open && conn.flow != FlowId::NONE && conn.parent == ConnId::NONE && !conn.counted;
        let Some(flow) = self.parts[home].starts.flow(conn.flow).filter(|_| whole) else { return false };
        if !self.plan.carriers[flow.entry as usize].delivers {
            return false;
        }
        let at = self.cut.of(conn.dst);
        let there = &self.parts[at].net;
        let got = there.conns[id.index()].receiver.delivered_bytes;
        let link = conn.receiver.port.reverse();
        let steps = self.plan.parts.faults.steps.iter().filter(|step| step.link == link);
        let built = self.plan.parts.fabric.links[link.index()].rate;
        let rate = steps.map(|step| step.state.rate).fold(built, Ord::max).0;
        let window = self.lookahead().0;
        let brings = u128::from(rate) * u128::from(window) / (8 * u128::from(SECOND));
        // One packet more may have begun before the window and end in it, and one may be on the wire.
        u128::from(flow.size - got) > brings + u128::from(2 * self.plan.full_packet)
    }

    fn progress(&self) -> Progress {
        Progress {
            now: self.border,
            until: self.plan.until,
            flows_done: self.sum(|part| part.flows_done),
            flows: self.goal,
            packet_hops: self.sum(|part| part.net.packet_hops),
            events: self.sum(|part| part.events),
        }
    }

    fn beyond(&self) -> Option<Limit> {
        let observed: u64 = self.observers.iter().map(|observer| observer.memory()).sum();
        let bytes = observed + self.sum(|part| part.bytes());
        limit(self.plan, bytes, self.sum(|part| part.net.packet_hops))
    }

    fn next_look(&self) -> Time {
        next_look(&self.observers)
    }

    fn look_until(&mut self, end: Time) {
        if self.next_look() > end {
            return;
        }
        self.parts.iter_mut().for_each(|part| part.take_in());
        self.join_all();
        let mut observers = std::mem::take(&mut self.observers);
        look_by(&mut observers, end, self);
        self.observers = observers;
    }

    fn join_all(&mut self) {
        let slots = self.parts.iter().map(|part| part.net.conns.len()).max().unwrap_or(0);
        self.joined = (0..slots as u32)
            .map(|slot| {
                let home = (slot % self.cut.count) as usize;
                match self.parts[home].net.conns.get(slot as usize) {
                    Some(conn) if conn.open => self.join(home, ConnId(slot)),
                    _ => Conn { open: false, ..Conn::between(NodeId(0), NodeId(0)) },
                }
            })
            .collect();
    }

    fn finish(mut self, status: Status) -> Finished {
        let end = self.now;
        self.look_until(end);
        let count = self.cut.count;
        for home in 0..self.parts.len() {
            let ids: Vec<_> = self.parts[home]
                .own_conns(home, count)
                .filter(|(_, conn)| conn.open)
                .map(|(id, _)| id)
                .collect();
            for id in ids {
                let conn = self.join(home, id);
                self.parts[home].net.conns[id.index()] = conn;
            }
        }
        for (home, part) in self.parts.iter_mut().enumerate() {
            // Those of others are counted there.
            for (slot, conn) in part.net.conns.iter_mut().enumerate() {
                conn.open &= slot % count as usize == home;
            }
            part.net.now = end;
        }
        let waits = if status == Status::Stalled { self.waits() } else { Vec::new() };
        let cut = Arc::clone(&self.cut);
        let fabric = self.plan.parts.fabric;
        let (limit, traffic, counts) = (self.limit, self.plan.traffic, self.counts);
        let parts: Vec<Finished> = self.parts.into_iter().map(|part| part.leave(status)).collect();
        let source = |flow: &Flow| cut.of(flow.src);
        let flows =
            traffic.flows.iter().enumerate().map(|(id, flow)| parts[source(flow)].flows[id]).collect();
        let waited = &traffic.flows[traffic.timed..];
        let late = waited.iter().enumerate().map(|(id, flow)| parts[source(flow)].late[id]).collect();
        let links = fabric.links.iter().enumerate();
        let links = links.map(|(id, link)| parts[cut.of(link.from)].links[id]).collect();
        let mut subflows: Vec<_> = parts.iter().flat_map(|part| part.subflows.iter().copied()).collect();
        subflows.sort_unstable_by_key(|subflow| (subflow.flow, subflow.number));
        let sum = |count: fn(&Totals) -> u64| parts.iter().map(|part| count(&part.totals)).sum::<u64>();
        Finished {
            status,
            limit,
            end,
            totals: Totals {
                events: sum(|totals| totals.events),
                packet_hops: sum(|totals| totals.packet_hops),
                packets: sum(|totals| totals.packets),
                unroutable: sum(|totals| totals.unroutable),
                control: None,
                buckets_opened: sum(|totals| totals.buckets_opened),
                words_scanned: sum(|totals| totals.words_scanned),
            },
            flows,
            late,
            subflows,
            links,
            deadlock: Vec::new(),
            violations: parts.iter().flat_map(|part| part.violations.clone()).collect(),
            waits,
            agent_bytes: parts.iter().map(|part| part.agent_bytes).sum(),
            parts: Some(counts),
        }
    }

    /// What flows of each traffic entry wait for, over all parts.
    fn waits(&self) -> Vec<Option<crate::traffic::Waits>> {
        let mut all: Vec<Option<crate::traffic::Waits>> = vec![None; self.plan.carriers.len()];
        for (home, part) in self.parts.iter().enumerate() {
            let own = part.waits_where(|flow| self.cut.of(flow.src) == home);
            for (all, own) in all.iter_mut().zip(own) {
                *all = match (*all, own) {
                    (Some(one), Some(other)) => Some(one.and(other)),
                    (one, other) => one.or(other),
                };
            }
        }
        all
    }
}

impl<'a, 'o, M: Members> Lane<'a, 'o, M> {
    fn parts(&self) -> MutexGuard<'_, Boxes<'a, 'o, M>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Members> Inside for Parted<'_, '_, M> {
    fn port(&mut self, link: LinkId, at: Time) -> PortState {
        let part = self.cut.of(self.plan.parts.fabric.links[link.index()].from);
        self.parts[part].port(link, at)
    }

    fn packets(&self) -> usize {
        self.parts.iter().map(|part| part.packets()).sum()
    }

    fn conns(&self) -> &[Conn] {
        &self.joined
    }

    fn entry(&self, flow: FlowId) -> u32 {
        self.parts[0].entry(flow)
    }

    fn ended(&self, flow: FlowId) -> Counts {
        let src = self.parts[0].starts.flow(flow).expect("it has started").src;
        self.parts[self.cut.of(src)].ended(flow)
    }

    fn window(&self, id: ConnId) -> Option<u64> {
        let Conn { transport, via, .. } = self.joined[id.index()];
        let home = (id.0 % self.cut.count) as usize;
        self.parts[home].transports[transport as usize].window(via, &self.joined[via.index()])
    }

    fn backlog(&self, host: NodeId) -> Option<u64> {
        self.parts[self.cut.of(host)].backlog(host)
    }
}
