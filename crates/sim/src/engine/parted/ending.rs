//! When a run in several parts is over, and whether that may be within a window.

use super::*;
use crate::engine::contract::members::Members;
use crate::engine::network::Network;
use crate::engine::run::deadlock::{LOOK_EVERY, deadlock};
use crate::faults::timeline::Timeline;
use crate::ids::FlowId;
use crate::topology::Fabric;
use crate::units::SECOND;

impl<'a, 'o, M: Members> Parted<'a, 'o, M> {
    /// Without an open flow the run has less patience, and with background traffic it ends a little after the last flow.
    pub(in crate::engine) fn lookahead(&self) -> Time {
        let stop = if self.plan.stop_delay == Time::ZERO { Time::NEVER } else { self.plan.stop_delay };
        self.partition.lookahead.min(self.plan.stall).min(stop)
    }

    /// Whether all flows without `background` have ended; with background flows, the run continues for `stop_delay`.
    pub(in crate::engine) fn complete(&mut self) -> Option<Status> {
        let waits = self.unbounded || self.sum(|part| part.flows_done) < self.goal();
        if self.goal == 0 || self.stop_at != Time::NEVER || waits {
            return None;
        }
        let ended_at = self.parts.iter().map(|part| part.ended_at).max().unwrap_or(Time::ZERO);
        if self.plan.has_background() {
            self.stop_at = ended_at.saturating_add(self.plan.stop_delay);
            return None;
        }
        self.now = ended_at;
        Some(Status::Complete)
    }

    pub(in crate::engine) fn moved_at(&self) -> Time {
        self.parts.iter().map(|part| part.net.moved_at).max().unwrap_or(Time::ZERO)
    }

    pub(in crate::engine) fn out_of_events(&mut self) -> Status {
        let control = self.center.as_ref().map_or(Time::ZERO, |center| center.now);
        self.now = self.parts.iter().map(|part| part.net.now).max().unwrap_or(Time::ZERO).max(control);
        if self.stop_at != Time::NEVER {
            self.now = self.stop_at.min(self.plan.until.unwrap_or(Time::NEVER));
            return Status::Complete;
        }
        let open = |conn: &Conn| conn.open && conn.flow != FlowId::NONE && !conn.counted;
        let ended = self.sum(|part| part.flows_done) == self.goal();
        let all = self
            .parts
            .iter()
            .enumerate()
            .all(|(at, part)| !part.own_conns(at, self.partition.count).any(|(_, conn)| open(conn)));
        if ended && all {
            return Status::Complete;
        }
        self.deadlock = self.find_deadlock(self.now);
        Status::Stalled
    }

    /// The next event is at `next`, the run ends at `end`: whether there is a deadlock at the time of a look between, for
    /// which it ends.
    pub(in crate::engine) fn is_deadlocked(&mut self, next: Time, end: Time) -> bool {
        let at = self.deadlock_look;
        if next <= at || at >= end {
            return false;
        }
        self.deadlock = self.find_deadlock(Time(at.0 - LOOK_EVERY.0));
        if self.deadlock.is_empty() {
            self.deadlock_look = next + LOOK_EVERY;
            return false;
        }
        self.now = at;
        true
    }

    fn find_deadlock(&self, since: Time) -> Vec<LinkId> {
        let nets: Vec<&Network<'_, M>> = self.parts.iter().map(|part| &part.net).collect();
        deadlock(&nets, self.plan.parts.fabric, since)
    }

    /// Whether the last flow without `background` may end within the window from `next` to `end`.
    pub(in crate::engine) fn may_complete(&mut self, state: &State, next: Time, end: Time) -> bool {
        if self.plan.has_background() || self.goal == 0 || self.unbounded {
            return false;
        }
        let traffic = self.plan.traffic;
        let last = traffic.flows[..traffic.timed].last().map_or(Time::ZERO, |flow| flow.start);
        if last >= end || (state.begun < self.goal && end <= next.saturating_add(self.shortest_flow)) {
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
                .own_conns(home, self.partition.count)
                .filter(|(_, conn)| conn.open && conn.flow != FlowId::NONE)
                .map(|(id, _)| id)
        });
        let found = ids.collect::<Vec<_>>().into_iter().find(|&id| self.misses_much(id));
        self.witness = found;
        found.is_none()
    }

    /// Whether a flow misses more bytes than its receiver's links bring in a window.
    fn misses_much(&self, id: ConnId) -> bool {
        let home = (id.0 % self.partition.count) as usize;
        let conn = &self.parts[home].net.conns[id.index()];
        let whole = conn.open && conn.flow != FlowId::NONE && conn.parent == ConnId::NONE && !conn.counted;
        let Some(flow) = self.parts[home].starts.flow(conn.flow).filter(|_| whole) else { return false };
        if !self.plan.carriers[flow.entry as usize].delivers {
            return false;
        }
        let at = self.partition.of(conn.dst);
        let there = &self.parts[at].net;
        let got = there.conns[id.index()].receiver.delivered_bytes;
        let (links, rate) = self.brings[conn.dst.index()];
        let brings = u128::from(rate) * u128::from(self.lookahead().0) / (8 * u128::from(SECOND));
        // Of each link, one packet more may have begun before the window and end in it, and one may be on the wire.
        u128::from(flow.size - got) > brings + u128::from(2 * links * self.plan.full_packet)
    }
}

/// By host, how many links lead there, and how much they ever bring in a second, in bits.
pub(in crate::engine) fn brings(fabric: &Fabric, faults: &Timeline) -> Vec<(u64, u64)> {
    let mut rates: Vec<u64> = fabric.links.iter().map(|link| link.rate.0).collect();
    for step in &faults.steps {
        let rate = &mut rates[step.link.index()];
        *rate = step.state.rate.0.max(*rate);
    }
    let mut brings = vec![(0, 0); fabric.hosts as usize];
    for (link, rate) in fabric.links.iter().zip(rates).filter(|(link, _)| fabric.is_host(link.to)) {
        let (links, all) = &mut brings[link.to.index()];
        *links += 1;
        *all += rate;
    }
    brings
}

/// No flow ends sooner after its start. One whose sender need not wait for its receiver may end at once.
pub(in crate::engine) fn shortest_flow<M>(plan: &Plan<M>) -> Time {
    let fabric = plan.parts.fabric;
    if plan.carriers.iter().any(|carrier| !carrier.delivers) {
        return Time::ZERO;
    }
    let into = fabric.links.iter().filter(|link| fabric.is_host(link.to));
    let last = into.map(|link| link.delay).min().unwrap_or(Time::ZERO);
    let from = fabric.links.iter().filter(|link| fabric.is_host(link.from));
    let all = from.map(|link| if fabric.is_host(link.to) { link.delay } else { link.delay + last });
    all.min().unwrap_or(Time::ZERO)
}
