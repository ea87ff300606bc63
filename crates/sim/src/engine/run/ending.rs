//! When a run is over: its flows have ended, its limit has come, or nothing moves any more.
//!
//! Flows of background entries count for none of this; with them, the run goes on for one smallest
//! host-to-host delay after the last other flow has ended, so that no host acts on information that cannot
//! have reached it.

use super::Engine;
use super::deadlock::deadlock;
use crate::engine::contract::members::Members;
use crate::engine::data::conn::Conn;
use crate::engine::data::event::{Owner, Phase};
use crate::engine::data::finished::{Limit, Status};
use crate::engine::data::plan::{Carrier, Plan};
use crate::engine::run::deadlock::LOOK_EVERY;
use crate::engine::run::limits::Used;
use crate::ids::{ConnId, FlowId};
use crate::traffic::{Flow, Waits};
use crate::units::Time;
use rustc_hash::FxHashMap;

impl<M: Members> Engine<'_, '_, M> {
    /// By traffic entry, what its flows wait for that pass the test; nothing of those that have all ended and of
    /// background.
    pub(in crate::engine) fn waits_where(&self, test: impl Fn(&Flow) -> bool) -> Vec<Option<Waits>> {
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
        let still = |(waits, carrier): (Waits, &Carrier)| {
            Some(waits).filter(|waits| !carrier.background && waits.open + waits.not_started > 0)
        };
        waits.into_iter().zip(carriers).map(still).collect()
    }

    /// Counts the flows whose end the run waits for, as far as they are known.
    pub(in crate::engine) fn set_goal(&mut self) {
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

    /// All flows that the run waits for may have ended: the run is complete, with background traffic once a
    /// notification could have reached all hosts.
    #[cold]
    pub(in crate::engine) fn complete_soon(&mut self) {
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
    pub(in crate::engine) fn out_of_events(&mut self) -> Status {
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

    /// Whether the run ends before the next event, at `time`: by its limit, or because it has stalled.
    /// Observers whose looks are due until then are called.
    #[inline(never)]
    pub(in crate::engine) fn over_before(&mut self, time: Time) -> Option<Status> {
        let state = super::state::State {
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
        // An observer looks at an instant after all of its events.
        let quiet = end.min(Time(time.0 - 1));
        if self.limits.next <= quiet {
            // The memory of observers counts, and nothing is observed after the end.
            let at = self.limits.next;
            self.look_until(at);
            self.show_until(at);
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

    /// Resource use of the run, or of its part: that of all parts is the sum, but for flows, which each part counts all
    /// of.
    pub(in crate::engine) fn used(&self) -> Used {
        let net = &self.net;
        let coming: usize = net.remote.inbox.iter().map(|outbox| outbox.packets.len()).sum();
        let control_plane = net.control_plane.as_ref().map_or(0, |control_plane| control_plane.bytes());
        let mailbox = net.mailbox.as_ref().map_or(0, |mailbox| mailbox.bytes());
        Used {
            flows: self.counts.len() as u64,
            conns: u64::from(net.remote.slots) - net.free_conns.len() as u64,
            packets: (net.arena.live() + coming) as u64,
            other: self.agent_bytes() + control_plane + mailbox + net.paths.bytes() + self.observed(),
            packet_hops: net.packet_hops,
            timers: self.timers + net.control_plane.as_ref().map_or(0, |control_plane| control_plane.acts()),
        }
    }

    /// Bytes of the agents at this part's ports.
    pub(in crate::engine) fn agent_bytes(&self) -> u64 {
        let links = &self.plan.parts.fabric.links;
        self.net.agents.bytes(|link| !self.net.remote.is_remote(links[link].from))
    }

    /// The limit that the run has come to by the time of the look; the next event is at `next`.
    #[cold]
    pub(in crate::engine) fn look_at_limits(&mut self, next: Time) -> Option<Limit> {
        let used = self.used();
        self.limits.look(&used, self.plan, next)
    }

    /// The next event is at `time`, after the time of a look: whether there is a deadlock, for which the run ends.
    #[cold]
    pub(in crate::engine) fn is_deadlocked(&mut self, time: Time) -> bool {
        let at = self.deadlock_look;
        self.deadlock = deadlock(&[&self.net], self.plan.parts.fabric, Time(at.0 - LOOK_EVERY.0));
        if self.deadlock.is_empty() {
            self.deadlock_look = time + LOOK_EVERY;
            return false;
        }
        self.net.now = at;
        true
    }
}
