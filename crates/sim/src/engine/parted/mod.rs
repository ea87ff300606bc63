//! A run in several parts: windows in which each part is simulated independently, and the exchange between them.
//!
//! A packet or frame from one part to another arrives at least the shortest delay between two parts later. From the
//! first pending event of any part, all parts can therefore be simulated for that long independently: a window. Between
//! two windows parts exchange packets and frames, connections without packets in any part close, and observers look.
//! Events have a total order that does not depend on the parts, so that the results are those of a run in one part, to
//! the last bit.
//!
//! Two cases need care. A port schedules its transmissions in retrospect, up to a link's delay late: at the end of a
//! window, ports at the head of a link to another part schedule all transmissions before that time. And a run ends with
//! the last byte of the last flow without `background`, within a window: in a window that may contain it, parts take
//! turns event by event, in the order of their events. A window cannot contain it while flows are to start, or while a
//! flow lacks more bytes than a window delivers.

mod control;
mod ending;
mod exchange;
pub mod executor;
pub mod lanes;
mod merged;
mod numbering;
mod part;

use self::control::Center;
use self::ending::{brings, shortest_flow};
use self::executor::Executor;
use self::lanes::Lanes;
use crate::engine::calendar::Calendar;
use crate::engine::contract::members::Members;
use crate::engine::contract::observer::Observer;
use crate::engine::data::boundary::Partition;
use crate::engine::data::conn::Conn;
use crate::engine::data::finished::{Finished, Limit, PartCounts, Status};
use crate::engine::data::plan::Plan;
use crate::engine::data::points::Seen;
use crate::engine::data::progress::Progress;
use crate::engine::run::limits::{Limits, Used};
use crate::engine::run::state::State;
use crate::engine::run::{AUDIT_EVERY, Engine, WATCH_EVERY};
use crate::ids::{ConnId, LinkId};
use crate::units::Time;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A window with fewer events is over before another thread has begun with it.
const FEW: u64 = 256;

/// A run in several parts.
pub struct Parted<'a, 'o, M: Members> {
    plan: &'a Plan<'a, M>,
    partition: Arc<Partition>,
    parts: Boxes<'a, 'o, M>,
    /// The controller, if there is one.
    center: Option<Center<M::Controller>>,
    lanes: Lanes,
    observers: Vec<&'o mut dyn Observer>,
    /// Points that they are to be shown when all parts have come to their time.
    seen: Vec<Seen>,
    /// Flows that are to end, without those of sources that go on for ever; background does not count.
    goal: u64,
    /// Whether there are such sources.
    unbounded: bool,
    /// The present; between two windows, their border.
    now: Time,
    /// All events before this time have happened, and ports at the boundary have decided what they sent by then.
    border: Time,
    stop_at: Time,
    limit: Option<Limit>,
    limits: Limits,
    /// When to look for a cycle of paused ports next, and what was found.
    deadlock_look: Time,
    deadlock: Vec<LinkId>,
    /// By host, how many links lead there, and how much they ever bring in a second, in bits.
    brings: Vec<(u64, u64)>,
    /// No flow ends sooner after its start.
    shortest_flow: Time,
    /// A flow that misses more bytes than a window brings.
    witness: Option<ConnId>,
    /// Connections of all parts, each with both its ends; made for a look.
    joined: Vec<Conn>,
    /// Events before the next audit.
    next_audit: u64,
    violations: Vec<String>,
    counts: PartCounts,
}

/// Parts. They go into lanes and come back each window, which moves a pointer for each.
#[allow(clippy::vec_box, reason = "a part is kilobytes")]
type Boxes<'a, 'o, M> = Vec<Box<Engine<'a, 'o, M>>>;

/// State of the lanes during a window: where the parts are meanwhile, and until when they run.
struct Road<'a, 'o, M: Members> {
    lanes: Vec<Lane<'a, 'o, M>>,
    end: AtomicU64,
}

/// The parts that one thread runs, on cache lines of their own.
#[repr(align(128))]
struct Lane<'a, 'o, M: Members>(Mutex<Boxes<'a, 'o, M>>);

impl<'a, 'o, M: Members> Parted<'a, 'o, M> {
    /// The run at time zero.
    pub fn new(plan: &'a Plan<'a, M>, partition: &Arc<Partition>) -> Parted<'a, 'o, M> {
        let mut parts: Vec<_> =
            (0..partition.count).map(|me| Box::new(Engine::begin(plan, Some((partition, me))))).collect();
        let Engine { goal, unbounded, .. } = *parts[0];
        let center = parts[0].net.control_plane.take().map(|mut control_plane| {
            parts.iter_mut().for_each(|part| part.net.mailbox = Some(Box::new(control_plane.mailbox())));
            Center::new(control_plane, parts.len(), plan.parts.agenda)
        });
        // No part knows when all have ended.
        parts.iter_mut().for_each(|part| part.unbounded = true);
        Parted {
            plan,
            partition: Arc::clone(partition),
            lanes: Lanes::new(parts.len()),
            deadlock_look: parts[0].deadlock_look,
            parts,
            center,
            observers: Vec::new(),
            seen: Vec::new(),
            goal,
            unbounded,
            now: Time::ZERO,
            border: Time::ZERO,
            stop_at: Time::NEVER,
            limit: None,
            limits: Limits::new(plan),
            deadlock: Vec::new(),
            brings: brings(plan.parts.fabric, plan.parts.faults),
            shortest_flow: shortest_flow(plan),
            witness: None,
            joined: Vec::new(),
            next_audit: AUDIT_EVERY,
            violations: Vec::new(),
            counts: PartCounts { parts: partition.count, ..PartCounts::default() },
        }
    }

    /// Adds an observer; to be called before the run.
    pub fn observe(&mut self, observer: &'o mut dyn Observer) {
        self.parts.iter_mut().for_each(|part| part.watch(observer));
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
                let lane = self.lanes.of[part.net.remote.me as usize];
                road.lanes[lane].parts().push(part);
            }
            road.end.store(end.0, SeqCst);
            all();
            road.lanes.iter().for_each(|lane| self.parts.append(&mut lane.parts()));
            self.parts.sort_unstable_by_key(|part| part.net.remote.me);
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
        self.control_until(self.border);
        if !self.observers.is_empty() {
            self.show_until(Time(self.border.0.saturating_sub(1)));
        }
        if self.plan.audit && self.sum(|part| part.events) >= self.next_audit {
            self.audit();
        }
        if let Some(status) = self.complete() {
            return Some(status);
        }
        let in_parts = self.parts.iter().filter_map(|part| part.next_time());
        let of_control = self.center.as_ref().and_then(|center| center.first()).map(|event| event.time);
        let Some(next) = in_parts.chain(of_control).min() else {
            return Some(self.out_of_events());
        };
        let state = State {
            goal: self.goal(),
            unbounded: self.unbounded,
            begun: self.sum(|part| part.begun),
            ended: self.sum(|part| part.flows_done),
            to_come: self.parts.iter().any(|part| part.starts.to_come()),
            started_at: self.parts.iter().map(|part| part.started_at).max().unwrap_or(Time::ZERO),
            moved_at: self.moved_at(),
            stop_at: self.stop_at,
        };
        let (end, (limit, status)) = state.end(self.plan, next);
        let quiet = end.min(Time(next.0.saturating_sub(1)));
        if self.next_look() <= quiet.min(self.limits.next) {
            // Who looks at a port makes it decide: the others are to hear of it before they go on.
            self.look_until(quiet.min(self.limits.next));
            return None;
        }
        if self.limits.next <= quiet {
            // What is observed counts.
            self.show_until(self.limits.next);
            return self.look_at_limits(next);
        }
        if self.is_deadlocked(next, end) {
            return Some(Status::Stalled);
        }
        if next > end {
            self.now = end;
            self.limit = limit;
            return Some(status);
        }
        // Ports that have not decided yet send when their wire is free, from the border on.
        let undecided = self.parts.iter().filter_map(|part| part.boundary_sends()).min();
        let from = undecided.map_or(next, |free_at| free_at.max(self.border).min(next));
        let most = from.saturating_add(self.lookahead());
        let last = end.min(self.next_look()).min(self.deadlock_look).min(self.limits.next);
        // A connection that opens has the same paths in all parts only if routes are the same.
        let window = most.min(Time(last.0.saturating_add(1))).min(self.parts[0].next_routes(next));
        if window > next && self.may_complete(&state, next, window) {
            self.turn(window);
            return None;
        }
        self.window(window, road, all);
        None
    }

    /// Until then, or until a flow has ended, the part with the next event of all handles it, again and again. A port that
    /// decides in retrospect does so before its packet arrives anywhere: event by event nothing comes too late.
    fn turn(&mut self, end: Time) {
        let ended = self.sum(|part| part.flows_done);
        self.parts.iter_mut().for_each(|part| part.take_in());
        loop {
            let calendars = self.parts.iter().map(|part| &part.net.calendar).enumerate();
            let first = |(at, calendar): (usize, &Calendar)| {
                let event = calendar.first()?;
                Some((calendar.ties.key_of(&event), at, event))
            };
            let next = calendars.filter_map(first).min();
            let key = next.map_or(u128::MAX, |(key, ..)| key);
            if self.controls_before(key, end) {
                continue;
            }
            let Some((_, at, event)) = next.filter(|(.., event)| event.time < end) else { return };
            self.counts.turns += 1;
            let end = Time(event.time.0 + 1);
            match self.parts[at].net.after.watch.is_on() {
                true => self.parts[at].handle_next::<true>(end),
                false => self.parts[at].handle_next::<false>(end),
            };
            if self.parts[at].has_news() {
                self.meet();
                self.parts.iter_mut().for_each(|part| part.take_in());
            } else if self.parts.iter().any(|part| part.closes()) {
                // Its last packet may end anywhere.
                self.close();
            }
            if self.sum(|part| part.flows_done) != ended {
                return;
            }
        }
    }

    /// Flows that are to end, of all parts: each adds to its own goal the flows of sources that go on for ever.
    fn goal(&self) -> u64 {
        self.goal + self.sum(|part| part.goal - self.goal)
    }

    fn progress(&self) -> Progress {
        let progress = Progress {
            now: self.border,
            from: self.plan.traffic.window.from,
            until: self.plan.until,
            flows_done: self.sum(|part| part.flows_done),
            flows: self.goal(),
            packet_hops: self.sum(|part| part.net.packet_hops),
            events: self.sum(|part| part.events),
        };
        progress.without_window(self.plan)
    }

    /// Compares the run with its limits; the next event is at `next`. How it ends, if it has come to one.
    fn look_at_limits(&mut self, next: Time) -> Option<Status> {
        let all: Vec<Used> = self.parts.iter().map(|part| part.used()).collect();
        let sum = |of: fn(&Used) -> u64| all.iter().map(of).sum::<u64>();
        let observed: u64 = self.observers.iter().map(|observer| observer.memory()).sum();
        let control = self.center.as_ref().map_or(0, |center| center.control_plane.bytes());
        let used = Used {
            flows: all[0].flows,
            conns: sum(|used| used.conns),
            packets: sum(|used| used.packets),
            other: observed + control + sum(|used| used.other),
            packet_hops: sum(|used| used.packet_hops),
            timers: sum(|used| used.timers)
                + self.center.as_ref().map_or(0, |center| center.control_plane.acts()),
        };
        let at = self.limits.next;
        self.limit = self.limits.look(&used, self.plan, next);
        self.limit?;
        self.now = at;
        Some(Status::Limit)
    }
}

impl<'a, 'o, M: Members> Lane<'a, 'o, M> {
    fn parts(&self) -> MutexGuard<'_, Boxes<'a, 'o, M>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
