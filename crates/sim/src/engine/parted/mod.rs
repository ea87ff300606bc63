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
//! the last byte of the last flow without `background`, within a window (`ending.rs`). A window cannot contain it while
//! flows are to start, or while a flow lacks more bytes than a window delivers.

mod bounds;
mod central;
mod control;
mod ending;
mod exchange;
pub mod executor;
pub mod lanes;
mod merged;
mod numbering;
mod part;
mod stretch;

use self::bounds::{Witness, brings, shortest_flow};
use self::central::CentralControl;
use self::executor::Executor;
use self::lanes::Lanes;
use self::stretch::Stretch;
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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A window with fewer events is over before another thread has begun with it.
const FEW: u64 = 256;

/// A run in several parts.
pub struct Parted<'a, 'o, M: Members> {
    plan: &'a Plan<'a, M>,
    partition: Arc<Partition>,
    parts: Boxes<'a, 'o, M>,
    /// The controller, if there is one.
    central: Option<CentralControl<M::Controller>>,
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
    /// Whether a part knows that a flow has ended when it has: no flow ends only with its last packet, which may be anywhere.
    ends_at_senders: bool,
    witness: Witness,
    /// Connections of all parts, each with both its ends; made for a look.
    joined: Vec<Conn>,
    events: u64,
    /// Events before the next audit.
    next_audit: u64,
    violations: Vec<String>,
    counts: PartCounts,
}

/// Parts. They go into lanes and come back each window, which moves a pointer for each.
#[allow(clippy::vec_box, reason = "a part is kilobytes")]
type Boxes<'a, 'o, M> = Vec<Box<Engine<'a, 'o, M>>>;

/// State of the lanes during a window: where the parts are meanwhile, and how far they go.
struct Road<'a, 'o, M: Members> {
    lanes: Vec<Lane<'a, 'o, M>>,
    stretch: Mutex<Stretch>,
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
        let central = parts[0].net.control_plane.take().map(|mut control_plane| {
            parts.iter_mut().for_each(|part| part.net.mailbox = Some(Box::new(control_plane.mailbox())));
            CentralControl::new(control_plane, parts.len(), plan.parts.agenda)
        });
        // No part knows when all have ended.
        parts.iter_mut().for_each(|part| part.unbounded = true);
        Parted {
            plan,
            partition: Arc::clone(partition),
            lanes: Lanes::new(parts.len()),
            deadlock_look: parts[0].deadlock_look,
            parts,
            central,
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
            ends_at_senders: plan.carriers.iter().all(|carrier| carrier.background || carrier.delivers),
            witness: Witness::default(),
            joined: Vec::new(),
            events: 0,
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
        let road = Road { lanes, stretch: Mutex::new(Stretch::Until(Time::ZERO)) };
        let task = |lane: usize| {
            let stretch = *road.stretch();
            road.lanes[lane].parts().iter_mut().for_each(|part| part.go(stretch));
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
            if self.events - watched >= WATCH_EVERY {
                watched = self.events;
                if !watch(&self.progress()) {
                    self.now = self.border;
                    return Status::Interrupted;
                }
            }
        }
    }

    /// All parts go on until then.
    fn window(&mut self, end: Time, road: &Road<'a, 'o, M>, all: &dyn Fn()) {
        self.stretch(Stretch::Until(end), end, road, all);
        self.border = end;
        let before = self.events;
        let most = self.lanes.longest(self.parts.iter().map(|part| part.events));
        self.events = self.lanes.events();
        self.counts.add_window(self.events - before, most);
    }

    /// All parts go on within the window that ends then: on the threads, if that is worth it.
    fn stretch(&mut self, stretch: Stretch, end: Time, road: &Road<'a, 'o, M>, all: &dyn Fn()) {
        let next = self.parts.iter().map(|part| part.next_time());
        let is_alone = next.filter(|next| next.is_some_and(|time| time < end)).nth(1).is_none();
        if road.lanes.len() == 1 || self.counts.last_events < FEW || is_alone {
            self.parts.iter_mut().for_each(|part| part.go(stretch));
            return;
        }
        self.lanes.share_out(self.parts.iter().map(|part| part.events), road.lanes.len());
        for part in self.parts.drain(..) {
            let lane = self.lanes.of[part.net.remote.me as usize];
            road.lanes[lane].parts().push(part);
        }
        *road.stretch() = stretch;
        all();
        road.lanes.iter().for_each(|lane| self.parts.append(&mut lane.parts()));
        self.parts.sort_unstable_by_key(|part| part.net.remote.me);
        self.counts.shared += 1;
    }

    fn sum(&self, count: impl Fn(&Engine<'a, 'o, M>) -> u64) -> u64 {
        self.parts.iter().map(|part| count(part)).sum()
    }

    /// State of all parts, and when the first of them has an event.
    fn state(&self) -> (State, Option<Time>) {
        let mut state = State {
            goal: self.goal,
            unbounded: self.unbounded,
            begun: 0,
            ended: 0,
            to_come: false,
            started_at: Time::ZERO,
            moved_at: Time::ZERO,
            stop_at: self.stop_at,
        };
        let mut next: Option<Time> = None;
        for part in &self.parts {
            state.goal += part.goal - self.goal;
            state.begun += part.begun;
            state.ended += part.flows_done;
            state.to_come |= part.starts.to_come();
            state.started_at = state.started_at.max(part.started_at);
            state.moved_at = state.moved_at.max(part.net.moved_at);
            next = next.into_iter().chain(part.next_time()).min();
        }
        (state, next)
    }

    /// A window, or turns within it; or says how the run has ended.
    fn go_on(&mut self, road: &Road<'a, 'o, M>, all: &dyn Fn()) -> Option<Status> {
        if let Some(status) = self.parts[0].status {
            return Some(status);
        }
        self.exchange();
        self.control_until(self.border);
        if !self.observers.is_empty() {
            self.show_until(Time(self.border.0.saturating_sub(1)));
        }
        if self.plan.audit && self.events >= self.next_audit {
            self.audit();
        }
        let (mut state, in_parts) = self.state();
        if let Some(status) = self.complete(&state) {
            return Some(status);
        }
        state.stop_at = self.stop_at;
        let of_control = self.central.as_ref().and_then(|central| central.first()).map(|event| event.time);
        let Some(next) = in_parts.into_iter().chain(of_control).min() else {
            return Some(self.out_of_events());
        };
        let (end, (limit, status)) = state.end(self.plan, next);
        let quiet = end.min(Time(next.0.saturating_sub(1)));
        if self.next_look() <= quiet.min(self.limits.next) {
            // An observation makes a port decide: the other parts get that before they go on.
            self.look_until(quiet.min(self.limits.next));
            return None;
        }
        if self.limits.next <= quiet {
            // The memory of observers counts. Ports decide until then, with what has come from other parts.
            self.parts.iter_mut().for_each(|part| part.take_in());
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
        let window = self.next_border(next, end);
        match window > next && self.may_complete(&state, next, window) {
            true if self.ends_at_senders && state.begun == state.goal => self.last_window(window, road, all),
            true => self.turn(window, state.goal),
            false => self.window(window, road, all),
        }
        None
    }

    /// The end of the window in which the next event is.
    fn next_border(&self, next: Time, end: Time) -> Time {
        // Ports that have not decided yet send when their wire is free, from the border on.
        let undecided = self.parts.iter().filter_map(|part| part.undecided).min();
        let from = undecided.map_or(next, |free_at| free_at.max(self.border).min(next));
        let most = from.saturating_add(self.lookahead());
        let last = end.min(self.next_look()).min(self.deadlock_look).min(self.limits.next);
        // A connection that opens has the same paths in all parts only if routes are the same.
        most.min(Time(last.0.saturating_add(1))).min(self.parts[0].next_routes(next))
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
            events: self.events,
        };
        progress.without_window(self.plan)
    }

    /// Compares the run with its limits; the next event is at `next`. How it ends, if it has come to one.
    fn look_at_limits(&mut self, next: Time) -> Option<Status> {
        let all: Vec<Used> = self.parts.iter().map(|part| part.used()).collect();
        let sum = |of: fn(&Used) -> u64| all.iter().map(of).sum::<u64>();
        let observed: u64 = self.observers.iter().map(|observer| observer.memory()).sum();
        let control = self.central.as_ref().map_or(0, |central| central.control_plane.bytes());
        let used = Used {
            flows: all[0].flows,
            conns: sum(|used| used.conns),
            packets: sum(|used| used.packets),
            other: observed + control + sum(|used| used.other),
            packet_hops: sum(|used| used.packet_hops),
            timers: sum(|used| used.timers)
                + self.central.as_ref().map_or(0, |central| central.control_plane.acts()),
        };
        let at = self.limits.next;
        self.limit = self.limits.look(&used, self.plan, next);
        self.limit?;
        self.now = at;
        Some(Status::Limit)
    }
}

impl<'a, 'o, M: Members> Road<'a, 'o, M> {
    fn stretch(&self) -> MutexGuard<'_, Stretch> {
        self.stretch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a, 'o, M: Members> Lane<'a, 'o, M> {
    fn parts(&self) -> MutexGuard<'_, Boxes<'a, 'o, M>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
