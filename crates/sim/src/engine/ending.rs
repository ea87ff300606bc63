//! When a run is over: its flows have ended, its limit has come, or nothing moves any more.
//!
//! Flows of background entries count for none of this; with them, the run goes on for one smallest host-to-host
//! delay after the last other flow has ended, so that no host acts on what it cannot have heard of.

use super::conn::Conn;
use super::memory::{CONN_BYTES, FLOW_BYTES, PACKET_BYTES, network_bytes};
use super::{Engine, Limit, Plan, Status};
use crate::ids::FlowId;
use crate::units::{SECOND, Time};

/// No run lasts longer: 1,000,000 s. From here to the end of the range of times is room for what events schedule.
const LAST: Time = Time(1_000_000 * SECOND);

impl Engine<'_, '_> {
    /// Counts the flows that somebody waits for.
    pub(super) fn set_goal(&mut self) {
        let Plan { traffic, carriers, .. } = self.plan;
        let awaited = |entry: u32| !carriers[entry as usize].background;
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
        if self.plan.carriers.iter().any(|carrier| carrier.background) {
            self.stop_at = self.net.now.saturating_add(self.plan.stop_delay);
            self.horizon = Time::ZERO;
        } else {
            self.status = Some(Status::Complete);
        }
    }

    /// The limit that the run has come to, of memory or of work.
    pub(super) fn beyond(&self) -> Option<Limit> {
        let flows = self.counts.len() as u64 * FLOW_BYTES;
        let conns = self.net.conns.len() as u64 * CONN_BYTES;
        let packets = self.net.arena.slots() as u64 * PACKET_BYTES;
        let parts = &self.plan.parts;
        let network = network_bytes(parts.fabric, parts.routes, parts.queue);
        match () {
            () if network + flows + conns + packets + self.observed() > self.plan.memory_limit => {
                Some(Limit::Memory)
            }
            () if self.net.packet_hops > self.plan.work_limit => Some(Limit::Work),
            () => None,
        }
    }

    /// How the run ends if nothing is left to happen.
    #[cold]
    pub(super) fn out_of_events(&mut self) -> Status {
        if self.stop_at != Time::NEVER {
            self.net.now = self.stop_at.min(self.plan.until.unwrap_or(Time::NEVER));
            return Status::Complete;
        }
        let open = |conn: &Conn| conn.open && conn.flow != FlowId::NONE;
        let ended = self.flows_done == self.goal && !self.net.conns.iter().any(open);
        if ended {
            return Status::Complete;
        }
        // Nothing is on its way any more: what is stuck now is stuck for ever.
        self.deadlock = self.net.deadlock(self.net.now);
        Status::Stalled
    }

    /// Whether the run ends before the next event, at `time`: by its limit, or because it has stalled. Until then,
    /// those look who want to.
    pub(super) fn over_before(&mut self, time: Time) -> Option<Status> {
        let until = self.plan.until.unwrap_or(LAST).min(LAST).min(self.stop_at);
        // Something should move while a flow is open, or if flows are missing that nothing pending starts.
        let (open, missing) = (self.begun > self.flows_done, self.goal > self.flows_done);
        let late = open || (missing && !self.starts.to_come());
        let stalled_at = if late { self.net.moved_at } else { time }.saturating_add(self.plan.stall);
        let end = until.min(stalled_at);
        // What happens at an instant has happened before somebody looks at it.
        self.look_until(end.min(Time(time.0 - 1)));
        if time > self.deadlock_look && self.deadlock_look < end && self.is_deadlocked(time) {
            return Some(Status::Stalled);
        }
        self.horizon = end.min(self.next_look()).min(self.deadlock_look);
        if time <= end {
            return None;
        }
        self.net.now = end;
        Some(match () {
            () if self.stop_at != Time::NEVER => Status::Complete,
            // Nobody waits for anything: the limit is how such a run is to end.
            () if until <= stalled_at && self.goal == 0 && !self.unbounded => Status::Complete,
            () if until <= stalled_at => {
                self.limit = Some(Limit::Until);
                Status::Limit
            }
            () => Status::Stalled,
        })
    }
}
