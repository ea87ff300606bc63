//! When a run in several parts is over, and how the window goes in which that may be.
//!
//! A run ends with the event that ends its last flow, and none behind that event happens. Where senders know the ends of
//! their flows, each part goes on up to the end of its own last flow. If one of them comes to the end of the window with
//! open flows, the run does not end in it, and the others follow; else the run ends with the last of their events, up to
//! which the others go on. A flow whose sender gets no acknowledgement ends with its last packet, wherever that is: then
//! parts take turns event by event, in the order of all events.

use super::bounds::Witness;
use super::*;
use crate::engine::contract::members::Members;
use crate::engine::network::Network;
use crate::engine::run::deadlock::{LOOK_EVERY, deadlock};
use crate::ids::FlowId;
use crate::units::SECOND;

impl<'a, 'o, M: Members> Parted<'a, 'o, M> {
    /// Without an open flow the run stalls sooner, and with background traffic it ends a little after the last flow.
    pub(in crate::engine) fn lookahead(&self) -> Time {
        let stop = if self.plan.stop_delay == Time::ZERO { Time::NEVER } else { self.plan.stop_delay };
        self.partition.lookahead.min(self.plan.stall).min(stop)
    }

    /// Whether all flows without `background` have ended; with background flows, the run continues for `stop_delay`.
    pub(in crate::engine) fn complete(&mut self, state: &State) -> Option<Status> {
        let waits = self.unbounded || state.ended < state.goal;
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

    pub(in crate::engine) fn out_of_events(&mut self) -> Status {
        let control = self.central.as_ref().map_or(Time::ZERO, |central| central.now);
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
        !self.finds_witness(state.begun)
    }

    /// Whether there is a flow that misses more than a window brings. One that once misses less always will, so that each
    /// is looked at once, unless flows have begun since.
    fn finds_witness(&mut self, begun: u64) -> bool {
        if self.witness.begun != begun {
            self.witness = Witness { begun, ..Witness::default() };
        }
        while let Some(part) = self.parts.get(self.witness.part) {
            let id = ConnId(self.witness.slot * self.partition.count + part.net.remote.me);
            if id.index() >= part.net.conns.len() {
                (self.witness.part, self.witness.slot) = (self.witness.part + 1, 0);
            } else if self.misses_much(id) {
                return true;
            } else {
                self.witness.slot += 1;
            }
        }
        false
    }

    /// A window in which the run may end, with flows whose senders know their ends.
    pub(super) fn last_window(&mut self, end: Time, road: &Road<'a, 'o, M>, all: &dyn Fn()) {
        self.stretch(Stretch::ToLastEnd(end), end, road, all);
        if self.parts.iter().any(|part| part.has_open_flows()) {
            return self.window(end, road, all);
        }
        let last = self.parts.iter().filter_map(|part| part.last_end).max();
        let last = last.expect("a run that is not complete has an open flow");
        self.stretch(Stretch::Before(last), end, road, all);
        while self.controls_before(last, end) {}
        self.events = self.sum(|part| part.events);
    }

    /// Until then, or until so many flows have ended, the part with the next event of all handles it, again and again. A
    /// port that decides in retrospect does so before its packet arrives anywhere: event by event nothing comes too late.
    pub(in crate::engine) fn turn(&mut self, end: Time, goal: u64) {
        self.take_turns(end, goal);
        self.events = self.sum(|part| part.events);
        let goes_on = self.sum(|part| part.flows_done) != goal;
        for part in &mut self.parts {
            // A packet that is still on its wire would be handed over too late after the next window, and so would one that a
            // port sends when observers are shown the points until its end.
            if goes_on && (part.net.after.leaving.keeps() || part.net.after.watch.is_on()) {
                part.settle_boundary(end);
            }
            part.note_undecided();
        }
    }

    fn take_turns(&mut self, end: Time, goal: u64) {
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
                self.exchange();
                self.parts.iter_mut().for_each(|part| part.take_in());
            } else if self.parts.iter().any(|part| part.closes()) {
                // Its last packet may end anywhere.
                self.close();
            }
            if self.sum(|part| part.flows_done) == goal {
                return;
            }
        }
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
