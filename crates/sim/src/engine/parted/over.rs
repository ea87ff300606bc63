//! When a run in several parts is over, and whether that may be within a window.

use super::*;
use crate::ids::FlowId;
use crate::units::SECOND;

impl<'a, 'o, M: Members> Parted<'a, 'o, M> {
    /// Without an open flow the run has less patience, and with background traffic it ends a little after the last flow.
    pub(super) fn lookahead(&self) -> Time {
        let stop = if self.plan.stop_delay == Time::ZERO { Time::NEVER } else { self.plan.stop_delay };
        self.cut.lookahead.min(self.plan.stall).min(stop)
    }

    /// Whether all flows have ended that somebody waits for; with background, the run goes on for a little.
    pub(super) fn complete(&mut self) -> Option<Status> {
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

    pub(super) fn moved_at(&self) -> Time {
        self.parts.iter().map(|part| part.net.moved_at).max().unwrap_or(Time::ZERO)
    }

    pub(super) fn out_of_events(&mut self) -> Status {
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
    pub(super) fn may_complete(&mut self, state: &State) -> bool {
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
}
