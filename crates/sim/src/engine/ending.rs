//! When a run is over: its flows have ended, its limit has come, or nothing moves any more.
//!
//! Flows of background entries count for none of this; with them, the run goes on for one smallest
//! host-to-host delay after the last other flow has ended, so that no host acts on information that cannot
//! have reached it.

use rustc_hash::FxHashMap;

use super::Engine;
use super::conn::Conn;
use super::deadlock::deadlock;
use super::event::Phase;
use super::finished::{Limit, Status};
use super::host::Owner;
use super::members::Members;
use super::plan::{Carrier, Plan};
use crate::ids::{ConnId, FlowId};
use crate::traffic::{Flow, Waits};
use crate::units::{SECOND, Time};

/// No run lasts longer: 1,000,000 s. From here to the end of the range of times is room for what events schedule.
const LAST: Time = Time(1_000_000 * SECOND);

impl<M: Members> Engine<'_, '_, M> {
    /// By traffic entry, what its flows wait for that pass the test; nothing of those that have all ended and of
    /// background.
    pub(super) fn waits_where(&self, test: impl Fn(&Flow) -> bool) -> Vec<Option<Waits>> {
        let carriers = self.plan.carriers;
        let mut waits = vec![Waits::default(); carriers.len()];
        let entry = |flow: FlowId| self.starts.flow(flow).map(|flow| flow.entry as usize);
        let of = |conn: &Conn| entry(conn.flow).filter(|_| conn.open && !conn.counted && !conn.background);
        // A kept connection has no flow, but timers, for those that share it.
        let mut shared = FxHashMap::default();
        for conn in &self.net.conns {
            let Some(entry) = of(conn) else { continue };
            waits[entry].open += u64::from(conn.parent == ConnId::NONE);
            shared.insert(conn.via, entry);
        }
        let first = |known: &mut Option<u64>, time: Time| {
            *known = Some(known.map_or(time.0, |known| known.min(time.0)));
        };
        for event in self.net.calendar.iter().filter(|event| event.phase() == Phase::Timer as u8) {
            if let Owner::Sender(id) = event.owner()
                && let Some(&entry) = shared.get(&id)
            {
                first(&mut waits[entry].next_timer_ps, event.time);
            }
        }
        let awaited = |flow: &&Flow| flow.start == Time::NEVER || self.plan.awaits(flow);
        for flow in self.starts.to_start().filter(|flow| test(flow)).filter(awaited) {
            let waits = &mut waits[flow.entry as usize];
            waits.not_started += 1;
            if flow.start != Time::NEVER {
                first(&mut waits.next_start_ps, flow.start);
            }
        }
        let told = |(waits, carrier): (Waits, &Carrier)| {
            Some(waits).filter(|waits| !carrier.background && waits.open + waits.not_started > 0)
        };
        waits.into_iter().zip(carriers).map(told).collect()
    }

    /// Counts the flows whose end the run waits for, as far as they are known.
    pub(super) fn set_goal(&mut self) {
        let Plan { traffic, carriers, .. } = self.plan;
        let awaited = |entry: u32| !carriers[entry as usize].background;
        if traffic.window.ends() {
            let timed = traffic.flows[..traffic.timed].iter();
            // And the end of the window itself.
            self.goal = timed.filter(|flow| self.plan.awaits(flow)).count() as u64 + 1;
            return;
        }
        self.goal = traffic.flows.iter().filter(|flow| awaited(flow.entry)).count() as u64;
        let chains = (0..traffic.chains.len() as u32).filter(|&chain| awaited(traffic.chains.entry(chain)));
        for most in chains.map(|chain| traffic.chains.flows_max(chain)) {
            self.goal += most.unwrap_or(0);
            self.unbounded |= most.is_none();
        }
        if self.goal == 0 && !carriers.iter().any(|carrier| carrier.background) && !self.unbounded {
            self.status = Some(Status::Complete);
        }
    }

    /// All flows may have ended that somebody waits for: the run is complete, with background traffic once all
    /// hosts could have heard of it.
    #[cold]
    pub(super) fn complete_soon(&mut self) {
        if self.unbounded || self.goal == 0 || self.stop_at != Time::NEVER {
            return;
        }
        if self.plan.has_background() {
            self.stop_at = self.net.now.saturating_add(self.plan.stop_delay);
            self.horizon = Time::ZERO;
        } else {
            self.status = Some(Status::Complete);
        }
    }

    /// How the run ends if nothing is left to happen.
    #[cold]
    pub(super) fn out_of_events(&mut self) -> Status {
        if self.stop_at != Time::NEVER {
            self.net.now = self.stop_at.min(self.plan.until.unwrap_or(Time::NEVER));
            return Status::Complete;
        }
        let open = |conn: &Conn| conn.open && conn.flow != FlowId::NONE && !conn.counted;
        let ended = self.flows_done == self.goal && !self.net.conns.iter().any(open);
        if ended {
            return Status::Complete;
        }
        // Nothing is on its way any more: what is stuck now is stuck for ever.
        self.deadlock = deadlock(&[&self.net], self.plan.parts.fabric, self.net.now);
        Status::Stalled
    }

    /// Whether the run ends before the next event, at `time`: by its limit, or because it has stalled. Until then,
    /// those look who want to.
    #[inline(never)]
    pub(super) fn over_before(&mut self, time: Time) -> Option<Status> {
        let state = State {
            goal: self.goal,
            unbounded: self.unbounded,
            begun: self.begun,
            ended: self.flows_done,
            to_come: self.starts.to_come(),
            started_at: self.started_at,
            moved_at: self.net.moved_at,
            stop_at: self.stop_at,
        };
        let (end, why) = state.end(self.plan, time);
        // What happens at an instant has happened before somebody looks at it.
        let quiet = end.min(Time(time.0 - 1));
        if self.limits.next <= quiet {
            // What is observed counts, and nothing is observed after the end.
            let at = self.limits.next;
            self.look_until(at);
            self.limit = self.look_at_limits(time);
            if self.limit.is_some() {
                self.net.now = at;
                return Some(Status::Limit);
            }
        }
        self.look_until(quiet);
        if time > self.deadlock_look && self.deadlock_look < end && self.is_deadlocked(time) {
            return Some(Status::Stalled);
        }
        self.horizon = end.min(self.next_look()).min(self.deadlock_look).min(self.limits.next);
        if time <= end {
            return None;
        }
        self.net.now = end;
        let (limit, status) = why;
        self.limit = limit.or(self.limit);
        Some(status)
    }
}

/// What the end of a run depends on, but for its flows: of all parts of a run.
pub(super) struct State {
    pub goal: u64,
    pub unbounded: bool,
    pub begun: u64,
    pub ended: u64,
    pub to_come: bool,
    /// When the last flow started, in the background or not.
    pub started_at: Time,
    pub moved_at: Time,
    pub stop_at: Time,
}

impl State {
    /// When the run ends if nothing happens but at `next`, and how.
    pub(super) fn end<M>(&self, plan: &Plan<M>, next: Time) -> (Time, (Option<Limit>, Status)) {
        let until = plan.until.unwrap_or(LAST).min(LAST).min(self.stop_at);
        // Something should move while a flow is open, or if flows are missing that nothing pending starts.
        let (open, missing) = (self.begun > self.ended, self.goal > self.ended);
        let late = open || (missing && !self.to_come);
        // A sender in back-off has not given up: all open flows have had time to try again.
        let retries = if open { Time(plan.longest_timeout.0.saturating_mul(2)) } else { Time::ZERO };
        let patience = plan.stall.max(retries);
        // Flows that are missing might have started with the last one.
        let since = match late {
            true if open => self.moved_at,
            true => self.moved_at.max(self.started_at),
            false => next,
        };
        let stalled_at = since.saturating_add(patience);
        let how = match () {
            () if self.stop_at != Time::NEVER => (None, Status::Complete),
            // Nobody waits for anything: the limit is how such a run is to end.
            () if until <= stalled_at && self.goal == 0 && !self.unbounded => (None, Status::Complete),
            () if until <= stalled_at => (Some(Limit::Until), Status::Limit),
            () => (None, Status::Stalled),
        };
        (until.min(stalled_at), how)
    }
}
