//! A part of a run: the nodes that one engine simulates, and what it has for the other parts.
//!
//! Each part has a network of its own, of which only the ports at the heads of its links are ever used. A packet that
//! starts on a link to another part leaves this one at once, with the event of its arrival, unless its queue may write into it
//! until its transmission has ended; so does word to a trigger, and a connection that opens. A run that is not parted has one part, and nothing abroad.

use super::stretch::Stretch;
use crate::engine::contract::discipline::to_other_part;
use crate::engine::contract::members::Members;
use crate::engine::data::boundary::{Outboxes, Partition};
use crate::engine::data::conn::Conn;
use crate::engine::data::numbers::Numbers;
use crate::engine::network::Network;
use crate::engine::network::egress::{Egress, PortQueue};
use crate::engine::run::Engine;
use crate::ids::{ConnId, LinkId};
use crate::topology::Link;
use crate::traffic::Flow;
use crate::units::Time;
use std::sync::Arc;

impl<'a, 'o, M: Members> Engine<'a, 'o, M> {
    /// Becomes a part of a run.
    pub(in crate::engine) fn join(&mut self, partition: &Arc<Partition>, me: u32) {
        let remote = &mut self.net.remote;
        (remote.me, remote.of) = (me, partition.count);
        (remote.inbox, self.net.after.out) = (Outboxes::new(partition.count), Outboxes::new(partition.count));
        remote.partition = Some(Arc::clone(partition));
        for (link, egress) in self.plan.parts.fabric.links.iter().zip(&mut self.net.egress) {
            let (from, to) = (partition.of(link.from), partition.of(link.to));
            if from == me as usize && to != from {
                egress.port.remote = to as u8 + 1;
            }
        }
        let begins = |link: &Link| partition.of(link.from) != me as usize;
        self.net.paths.join(self.plan.parts.fabric.links.iter().map(begins).collect());
        let decides_late = |egress: &Egress<M::Queue>| matches!(egress.queue, PortQueue::Serviced(..));
        let late = self.net.egress.iter().map(|egress| egress.port.remote > 0 && decides_late(egress));
        self.boundary_links =
            (0..).map(LinkId).zip(late).filter(|(_, late)| *late).map(|(link, _)| link).collect();
        if self.plan.parts.members.acts_after_departure() {
            self.net.after.leaving.keep(self.net.egress.len());
            let ends = self.net.egress.iter().map(|egress| egress.port.remote > 0);
            self.boundary_links =
                (0..).map(LinkId).zip(ends).filter(|(_, end)| *end).map(|(link, _)| link).collect();
        }
        self.starts.keep(partition, me);
    }

    /// When something happens next.
    pub(in crate::engine) fn next_time(&self) -> Option<Time> {
        let event = self.net.calendar.first().map(|event| event.time);
        let leaving = &self.net.after.leaving;
        let links = if leaving.keeps() { &self.boundary_links[..] } else { &[] };
        let arrivals = links.iter().filter_map(|&link| Some(leaving.on(link)?.event.time));
        event.into_iter().chain(self.net.remote.first()).chain(arrivals).min()
    }

    /// Takes in what has come from other parts.
    pub(in crate::engine) fn take_in(&mut self) {
        for from in self.net.remote.inbox.filled() {
            let mut outbox = self.net.remote.inbox.take(from);
            self.net.take_in(from, &mut outbox);
            self.net.remote.inbox.give_back(from, outbox);
        }
    }

    /// Goes so far, with what has come from other parts.
    pub(in crate::engine) fn go(&mut self, stretch: Stretch) {
        self.take_in();
        if self.net.after.watch.is_on() { self.go_as::<true>(stretch) } else { self.go_as::<false>(stretch) }
    }

    fn go_as<const WATCHED: bool>(&mut self, stretch: Stretch) {
        match stretch {
            Stretch::Until(end) => self.run_until::<WATCHED>(end),
            Stretch::ToLastEnd(end) => self.run_to_last_end::<WATCHED>(end),
            Stretch::Before(key) => self.run_before::<WATCHED>(key),
        }
    }

    /// Handles all events before that time.
    fn run_until<const WATCHED: bool>(&mut self, end: Time) {
        while self.handle_next::<WATCHED>(end) {}
        self.settle_boundary(end);
        self.net.announce_paths();
    }

    /// Handles events before that time as long as flows are open.
    fn run_to_last_end<const WATCHED: bool>(&mut self, end: Time) {
        self.last_end = None;
        while self.has_open_flows() {
            let Some(next) = self.net.calendar.first().filter(|event| event.time < end) else { return };
            self.last_end = Some(self.net.calendar.ties.key_of(&next));
            self.handle_next::<WATCHED>(end);
        }
    }

    /// Handles all events before the one with that key.
    fn run_before<const WATCHED: bool>(&mut self, key: u128) {
        while let Some(next) = self.net.calendar.first() {
            if self.net.calendar.ties.key_of(&next) >= key {
                return;
            }
            self.handle_next::<WATCHED>(Time(next.time.0 + 1));
        }
    }

    /// Whether a flow is active here, of those that the run waits for.
    pub(in crate::engine) fn has_open_flows(&self) -> bool {
        self.flows_done < self.begun
    }

    /// Handles the next event if it comes before that time.
    #[inline(always)]
    pub(in crate::engine) fn handle_next<const WATCHED: bool>(&mut self, end: Time) -> bool {
        let Some((event, hint)) = self.next_event::<true, WATCHED>(end) else { return false };
        self.net.now = event.time;
        self.net.calendar.follow(&event);
        self.events += 1;
        self.handle::<WATCHED>(event, hint);
        true
    }

    /// Whether there is data for other parts.
    pub(in crate::engine) fn has_news(&self) -> bool {
        let remote = &self.net.remote;
        !(self.closing.is_empty()
            && remote.opened.is_empty()
            && remote.starts.is_empty()
            && self.net.after.out.is_empty())
    }

    /// Flows that this part has drawn get their numbers; `all` has those of all parts, in the order of their numbers.
    pub(in crate::engine) fn number(&mut self, numbers: &Numbers, all: impl Iterator<Item = Flow>) {
        for &id in &self.net.remote.opened {
            let flow = &mut self.net.conns[id.index()].flow;
            numbers.give(flow);
            self.net.after.watch.opens(id, *flow);
            self.kept.number(id, numbers);
        }
        self.net.agents.number(numbers);
        self.net.after.watch.number(numbers);
        if let Some(mailbox) = &mut self.net.mailbox {
            mailbox.number(numbers);
        }
        self.starts.number(all);
        self.counts.truncate(numbers.first.index());
    }

    /// Whether connections are to close when their packets are gone in all parts.
    pub(in crate::engine) fn closes(&self) -> bool {
        !self.closing.is_empty()
    }

    /// Ports at the boundary decide what they sent before that time.
    pub(super) fn settle_boundary(&mut self, end: Time) {
        let before = Time(end.0.saturating_sub(1));
        if self.net.after.watch.is_on() {
            // Observers are shown the decisions of all ports.
            self.net.settle_all(before);
        } else {
            for at in 0..self.boundary_links.len() {
                let link = self.boundary_links[at];
                if self.net.waits(link) {
                    self.net.settle(link, before);
                }
            }
        }
        if self.net.after.leaving.keeps() {
            self.let_go(before);
        }
        self.note_undecided();
    }

    /// Packets whose transmissions to other parts have ended by then are handed over: nothing writes into them any more.
    fn let_go(&mut self, by: Time) {
        let Network { arena, after, egress, .. } = &mut self.net;
        for &link in &self.boundary_links {
            if let Some(packet) = after.leaving.take(link, by) {
                to_other_part(arena, after, egress[link.index()].port.remote, packet.event);
            }
        }
    }

    /// Finds when the first port at the boundary at which something waits, or whose packet is still here, has a free wire.
    pub(in crate::engine) fn note_undecided(&mut self) {
        let leaves = |link| self.net.after.leaving.on(link).is_some();
        let waiting = self.boundary_links.iter().filter(|&&link| self.net.waits(link) || leaves(link));
        self.undecided = waiting.map(|link| self.net.egress[link.index()].port.free_at).min();
    }

    /// The slots of this part's connections.
    pub(in crate::engine) fn own_conns(&self, me: usize, of: u32) -> impl Iterator<Item = (ConnId, &Conn)> {
        let all = self.net.conns.iter().enumerate().skip(me).step_by(of as usize);
        all.map(|(slot, conn)| (ConnId(slot as u32), conn))
    }

    /// Does what closing has left to do.
    pub(in crate::engine) fn tidy(&mut self) {
        while self.net.after.take() {
            self.finish_event();
        }
    }
}
