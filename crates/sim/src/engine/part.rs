//! A part of a run: the nodes that one engine simulates, and what it has for the other parts.
//!
//! Each part has a network of its own, of which only the ports at the heads of its links are ever used. A packet that
//! starts on a link to another part leaves this one at once, with the event of its arrival; so does word to a trigger,
//! and a connection that opens. A run that is not parted has one part, and nothing abroad.

use std::sync::Arc;

use super::Engine;
use super::agent::Numbers;
use super::conn::Conn;
use super::credit::Frame;
use super::discipline::Discipline;
use super::egress::{Egress, PortQueue};
use super::event::Event;
use super::members::Members;
use super::network::Network;
use super::observer::Observer;
use super::packet::{Packet, Record, flag};
use crate::ids::{ConnId, LinkId, NodeId, PathId};
use crate::topology::parts::parts;
use crate::topology::{Fabric, Link};
use crate::traffic::Flow;
use crate::units::Time;

/// Who simulates what.
#[derive(Clone, Debug)]
pub struct Cut {
    /// The part of each node.
    pub part: Vec<u32>,
    /// How many parts.
    pub count: u32,
    /// What happens in a part is known to no other one before so long.
    pub lookahead: Time,
}

impl Cut {
    /// The network in at most so many parts.
    pub fn new(fabric: &Fabric, count: u32) -> Cut {
        let part = parts(fabric, count);
        let count = part.iter().max().map_or(1, |last| last + 1);
        let apart = fabric.links.iter().filter(|link| part[link.from.index()] != part[link.to.index()]);
        let lookahead = apart.map(|link| link.delay).min().unwrap_or(Time::NEVER);
        Cut { part, count, lookahead }
    }

    /// The part of a node.
    #[inline]
    pub fn of(&self, node: NodeId) -> usize {
        self.part[node.index()] as usize
    }

    /// The parts of a link's head, where its port is, and of its end, where packets that a fault loses are counted.
    pub fn ends(&self, link: &Link) -> (usize, usize) {
        (self.of(link.from), self.of(link.to))
    }
}

/// A packet that arrives in another part; or one that has arrived in this part and is to be shown to observers.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    /// Its arrival; the packet's number is that of the part from which it comes.
    pub event: Event,
    /// The packet.
    pub packet: Packet,
}

/// What a part has for another.
#[derive(Debug, Default)]
pub struct Parcel {
    /// Packets.
    pub packets: Vec<Crossing>,
    /// What these carry; as many, where packets have records.
    pub records: Vec<Record>,
    /// Whole paths that packets of it take and that the other part has not been told of: see [`Paths::tell`](super::paths::Paths::tell).
    pub paths: Vec<u32>,
    /// Packets whose paths have been told.
    pub told: usize,
    /// Pause frames.
    pub pauses: Vec<Event>,
    /// Frames with credit, and the links that they cross.
    pub credits: Vec<(LinkId, Frame)>,
    /// When the first packet or pause frame arrives.
    pub first: Option<Time>,
}

impl Parcel {
    /// A packet more.
    pub fn push(&mut self, event: Event, packet: Packet) {
        self.packets.push(Crossing { event, packet });
        self.arrives(event.time);
    }

    /// A pause frame more.
    pub fn push_pause(&mut self, event: Event) {
        self.pauses.push(event);
        self.arrives(event.time);
    }

    fn arrives(&mut self, time: Time) {
        self.first = Some(self.first.map_or(time, |first| first.min(time)));
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.pauses.is_empty() && self.credits.is_empty()
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.records.clear();
        self.paths.clear();
        self.told = 0;
        self.pauses.clear();
        self.first = None;
    }
}

/// What a part has for the others.
#[derive(Debug, Default)]
pub struct Abroad {
    /// This part, of so many; 0 of 1 in a run that is not parted.
    pub me: u32,
    /// See `me`.
    pub of: u32,
    /// By part, what has come from there and is not taken in yet.
    pub inbox: Vec<Parcel>,
    /// Starts and words to triggers at hosts of other parts.
    pub starts: Vec<(NodeId, Event)>,
    /// Connections that have opened.
    pub opened: Vec<ConnId>,
    /// Slots that have been given to connections of this part.
    pub slots: u32,
    /// Who simulates what; none in a run that is not parted.
    pub cut: Option<Arc<Cut>>,
}

impl Abroad {
    /// Whether the run has other parts.
    #[inline]
    pub fn is_parted(&self) -> bool {
        self.of > 1
    }

    /// Whether another part simulates that node.
    #[inline]
    pub fn is_abroad(&self, node: NodeId) -> bool {
        self.cut.as_ref().is_some_and(|cut| cut.part[node.index()] != self.me)
    }

    /// When the first packet arrives that is not taken in yet.
    pub fn first(&self) -> Option<Time> {
        self.inbox.iter().filter_map(|parcel| parcel.first).min()
    }

    /// A slot that no connection of any part has had.
    pub fn new_slot(&mut self) -> ConnId {
        let slot = ConnId(self.slots * self.of + self.me);
        self.slots += 1;
        slot
    }
}

impl<'a, 'o, M: Members> Engine<'a, 'o, M> {
    /// Becomes a part of a run.
    pub(super) fn join(&mut self, cut: &Arc<Cut>, me: u32) {
        let abroad = &mut self.net.abroad;
        (abroad.me, abroad.of) = (me, cut.count);
        abroad.inbox.resize_with(cut.count as usize, Default::default);
        self.net.after.out.resize_with(cut.count as usize, Default::default);
        abroad.cut = Some(Arc::clone(cut));
        for (link, egress) in self.plan.parts.fabric.links.iter().zip(&mut self.net.egress) {
            let (from, to) = (cut.of(link.from), cut.of(link.to));
            if from == me as usize && to != from {
                egress.port.abroad = to as u8 + 1;
            }
        }
        let begins = |link: &Link| cut.of(link.from) != me as usize;
        self.watched = vec![false; self.net.egress.len()];
        self.net.paths.join(self.plan.parts.fabric.links.iter().map(begins).collect());
        let links = 0..self.net.egress.len() as u32;
        self.cut_links =
            links.map(LinkId).filter(|link| self.net.egress[link.index()].port.abroad > 0).collect();
        self.starts.keep(|host| cut.of(host) == me as usize);
    }

    /// Keeps the packets that an observer is to be shown.
    pub(super) fn watch(&mut self, observer: &dyn Observer) {
        self.net.watch_packets();
        for (link, watched) in self.watched.iter_mut().enumerate() {
            *watched |= observer.watches_link(LinkId(link as u32));
        }
    }

    /// When something happens next.
    pub(super) fn next_time(&self) -> Option<Time> {
        let event = self.net.calendar.first().map(|event| event.time);
        event.into_iter().chain(self.net.abroad.first()).min()
    }

    /// Takes in what has come from other parts.
    pub(super) fn take_in(&mut self) {
        for from in 0..self.net.abroad.inbox.len() {
            let mut parcel = std::mem::take(&mut self.net.abroad.inbox[from]);
            self.net.take_in(from, &mut parcel);
            self.net.abroad.inbox[from] = parcel;
        }
    }

    /// Handles all events before that time.
    pub(super) fn run_until(&mut self, end: Time) {
        self.take_in();
        while self.handle_next(end) {}
        self.settle_cut(end);
        self.net.tell_paths();
    }

    /// Handles the next event if it comes before that time.
    #[inline(always)]
    pub(super) fn handle_next(&mut self, end: Time) -> bool {
        let Some((event, hint)) = self.next_event::<true>(end) else { return false };
        self.net.now = event.time;
        self.events += 1;
        self.handle(event, hint);
        true
    }

    /// Whether other parts have something to hear.
    pub(super) fn has_news(&self) -> bool {
        let abroad = &self.net.abroad;
        !(self.closing.is_empty()
            && abroad.opened.is_empty()
            && abroad.starts.is_empty()
            && self.net.after.out.iter().all(|parcel| parcel.is_empty()))
    }

    /// Flows that this part has drawn get their numbers; `all` has those of all parts, in the order of their numbers.
    pub(super) fn number(&mut self, numbers: &Numbers, all: impl Iterator<Item = Flow>) {
        for &id in &self.net.abroad.opened {
            numbers.give(&mut self.net.conns[id.index()].flow);
            self.kept.number(id, numbers);
        }
        self.net.agents.number(numbers);
        if let Some(mailbox) = &mut self.net.mailbox {
            mailbox.number(numbers);
        }
        self.starts.number(all);
        self.counts.truncate(numbers.first.index());
    }

    /// Whether connections are to close when their packets are gone in all parts.
    pub(super) fn closes(&self) -> bool {
        !self.closing.is_empty()
    }

    /// Ports at the cut decide what they sent before that time.
    fn settle_cut(&mut self, end: Time) {
        let before = Time(end.0.saturating_sub(1));
        for at in 0..self.cut_links.len() {
            let link = self.cut_links[at];
            if waits(&self.net, link) {
                self.net.settle(link, before);
            }
        }
    }

    /// When a port at the cut at which something waits has a free wire.
    pub(super) fn cut_sends(&self) -> Option<Time> {
        let waiting = self.cut_links.iter().filter(|&&link| waits(&self.net, link));
        waiting.map(|link| self.net.egress[link.index()].port.free_at).min()
    }

    /// The slots of this part's connections.
    pub(super) fn own_conns(&self, me: usize, of: u32) -> impl Iterator<Item = (ConnId, &Conn)> {
        let all = self.net.conns.iter().enumerate().skip(me).step_by(of as usize);
        all.map(|(slot, conn)| (ConnId(slot as u32), conn))
    }

    /// Does what closing has left to do.
    pub(super) fn tidy(&mut self) {
        while self.net.after.take() {
            self.finish_event();
        }
    }
}

/// Whether packets wait at a port that decides in retrospect.
fn waits<M: Members>(net: &Network<'_, M>, link: LinkId) -> bool {
    let Egress { port, queue, .. } = &net.egress[link.index()];
    match queue {
        PortQueue::Serviced(queue) => port.lookahead > Time::ZERO && !queue.is_empty(),
        PortQueue::Committed(..) => false,
    }
}

impl<M: Members> Network<'_, M> {
    /// A connection has opened in another part.
    pub(super) fn admit(&mut self, id: ConnId, conn: Conn) {
        let mut copy = Conn { closing: false, counted: false, ..conn.fresh(conn.ports()) };
        // Nobody else has packets of it that are not on their way.
        let has_end = !(self.abroad.is_abroad(conn.src) && self.abroad.is_abroad(conn.dst));
        if conn.via == id && has_end {
            self.open_paths(id, &conn);
        }
        if has_end {
            self.note_paths(&mut copy);
        }
        self.put(id, copy);
    }

    /// Adds to what goes to other parts the whole paths of packets that these have not been told of.
    pub(super) fn tell_paths(&mut self) {
        if self.paths.is_empty() {
            return;
        }
        for (part, parcel) in self.after.out.iter_mut().enumerate() {
            for crossing in parcel.packets[parcel.told..].iter().filter(|it| it.packet.has(flag::ROUTED)) {
                self.paths.tell(PathId(crossing.packet.label), part, &mut parcel.paths);
            }
            parcel.told = parcel.packets.len();
        }
    }

    /// Packets and pause frames come from that part.
    fn take_in(&mut self, from: usize, parcel: &mut Parcel) {
        self.paths.hear(from, &parcel.paths);
        for (at, crossing) in parcel.packets.iter().enumerate() {
            let mut packet = crossing.packet;
            let node = self.ends[self.links.of(&crossing.event).index()];
            assert!(!self.abroad.is_abroad(node), "a packet for {node} has come to another part of the run");
            if packet.has(flag::ROUTED) {
                packet.label = self.paths.own(from, PathId(packet.label)).0;
            }
            let id = self.arena.insert(packet);
            if let Some(record) = parcel.records.get(at) {
                *self.arena.record(id) = *record;
            }
            self.calendar.push(Event { a: id.0, ..crossing.event });
        }
        parcel.pauses.iter().for_each(|&frame| self.calendar.push(frame));
        parcel.clear();
    }
}
