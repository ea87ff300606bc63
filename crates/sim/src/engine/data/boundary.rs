//! Boundaries between the parts of a run: the part of each node, and the messages from one part to another.

use super::credit::Frame;
use super::event::Event;
use super::packet::{Packet, Record, Tag};
use crate::ids::{ConnId, LinkId, NodeId};
use crate::topology::parts::parts;
use crate::topology::{Fabric, Link};
use crate::units::Time;
use std::sync::Arc;

/// The part of each node.
#[derive(Clone, Debug)]
pub struct Partition {
    /// The part of each node.
    pub part: Vec<u32>,
    pub count: u32,
    /// Lower bound on the time after which an event of a part can affect another part.
    pub lookahead: Time,
}

impl Partition {
    /// The network in at most so many parts.
    pub fn new(fabric: &Fabric, count: u32) -> Partition {
        let part = parts(fabric, count);
        let count = part.iter().max().map_or(1, |last| last + 1);
        let apart = fabric.links.iter().filter(|link| part[link.from.index()] != part[link.to.index()]);
        let lookahead = apart.map(|link| link.delay).min().unwrap_or(Time::NEVER);
        Partition { part, count, lookahead }
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
pub struct BoundaryPacket {
    /// Its arrival; the packet's number is that of the part from which it comes.
    pub event: Event,
    /// The packet.
    pub packet: Packet,
}

/// Data of a part for another.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Packets.
    pub packets: Vec<BoundaryPacket>,
    /// Records of these packets; as many, where packets have records.
    pub records: Vec<Record>,
    /// Their tags, likewise.
    pub tags: Vec<Tag>,
    /// Whole paths of these packets that the other part does not have yet: see
    /// [`Paths::announce`](crate::engine::data::paths::Paths::announce).
    pub paths: Vec<u32>,
    /// Number of packets, from the first, whose paths have been announced.
    pub announced: usize,
    pub pauses: Vec<Event>,
    /// Frames with credit, and the links that they cross.
    pub credits: Vec<(LinkId, Frame)>,
    /// When the first packet or pause frame arrives.
    pub first: Option<Time>,
}

impl Outbox {
    /// A packet more.
    pub fn push(&mut self, event: Event, packet: Packet) {
        self.packets.push(BoundaryPacket { event, packet });
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
        self.tags.clear();
        self.paths.clear();
        self.announced = 0;
        self.pauses.clear();
        self.first = None;
    }
}

/// One outbox for each part of the run, and which of them have something: a window's end passes over the others.
#[derive(Debug, Default)]
pub struct Outboxes {
    all: Vec<Outbox>,
    /// A bit for each part.
    filled: u64,
}

impl Outboxes {
    /// Empty ones for so many parts.
    pub fn new(parts: u32) -> Outboxes {
        assert!(parts <= u64::BITS, "a bit for each part");
        Outboxes { all: (0..parts).map(|_| Outbox::default()).collect(), filled: 0 }
    }

    /// The outbox of a part, to put something in.
    pub fn fill(&mut self, part: usize) -> &mut Outbox {
        self.filled |= 1 << part;
        &mut self.all[part]
    }

    /// Puts another one in its place, which has something, and returns it.
    pub fn replace(&mut self, part: usize, with: Outbox) -> Outbox {
        self.filled |= 1 << part;
        std::mem::replace(&mut self.all[part], with)
    }

    /// Takes one out that has something; its place stays empty.
    pub fn take(&mut self, part: usize) -> Outbox {
        self.filled &= !(1 << part);
        std::mem::take(&mut self.all[part])
    }

    /// Puts an emptied one back, whose memory serves again.
    pub fn give_back(&mut self, part: usize, emptied: Outbox) {
        self.all[part] = emptied;
    }

    /// The parts whose outboxes have something.
    pub fn filled(&self) -> impl Iterator<Item = usize> + use<> {
        let mut left = self.filled;
        std::iter::from_fn(move || {
            let part = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (part < u64::BITS).then_some(part as usize)
        })
    }

    /// Whether none has anything.
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// Those that have something.
    pub fn iter(&self) -> impl Iterator<Item = &Outbox> {
        self.filled().map(|part| &self.all[part])
    }
}

/// Packets on their wires to other parts whose queues may still write into them: each is handed over when its transmission has
/// ended.
#[derive(Debug, Default)]
pub struct Leaving {
    /// By link; empty if packets are handed over as their transmissions begin.
    by_link: Vec<Option<OnWire>>,
}

/// A packet on a wire to another part.
#[derive(Clone, Copy, Debug)]
pub struct OnWire {
    /// Its arrival.
    pub event: Event,
    /// The end of its transmission.
    pub ends: Time,
}

impl Leaving {
    /// From now on packets of so many links stay until their transmissions have ended.
    pub fn keep(&mut self, links: usize) {
        self.by_link = vec![None; links];
    }

    /// Whether packets stay so long.
    #[inline]
    pub fn keeps(&self) -> bool {
        !self.by_link.is_empty()
    }

    /// A transmission begins on that link: the packet before it, if that is still here.
    pub fn begin(&mut self, link: LinkId, packet: OnWire) -> Option<OnWire> {
        self.by_link[link.index()].replace(packet)
    }

    /// The packet on that wire.
    pub fn on(&self, link: LinkId) -> Option<OnWire> {
        *self.by_link.get(link.index())?
    }

    /// Takes the packet of that wire if its transmission has ended by then.
    pub fn take(&mut self, link: LinkId, by: Time) -> Option<OnWire> {
        self.by_link.get_mut(link.index())?.take_if(|packet| packet.ends <= by)
    }

    /// All of them, with their links.
    pub fn iter(&self) -> impl Iterator<Item = (LinkId, OnWire)> {
        (0..).map(LinkId).zip(&self.by_link).filter_map(|(link, packet)| Some((link, (*packet)?)))
    }
}

/// Data that a part exchanges with the others.
#[derive(Debug, Default)]
pub struct Remote {
    /// This part, of so many; 0 of 1 in a run that is not parted.
    pub me: u32,
    /// See `me`.
    pub of: u32,
    /// By part, what has come from there and is not taken in yet.
    pub inbox: Outboxes,
    /// Starts and words to triggers at hosts of other parts.
    pub starts: Vec<(NodeId, Event)>,
    pub opened: Vec<ConnId>,
    /// Slots that have been given to connections of this part.
    pub slots: u32,
    /// The part of each node; none in a run of one part.
    pub partition: Option<Arc<Partition>>,
}

impl Remote {
    /// Whether the run has other parts.
    #[inline]
    pub fn is_parted(&self) -> bool {
        self.of > 1
    }

    /// Whether another part simulates that node.
    #[inline]
    pub fn is_remote(&self, node: NodeId) -> bool {
        self.partition.as_ref().is_some_and(|partition| partition.part[node.index()] != self.me)
    }

    /// When the first packet arrives that is not taken in yet.
    pub fn first(&self) -> Option<Time> {
        self.inbox.iter().filter_map(|outbox| outbox.first).min()
    }

    /// A slot that no connection of any part has had.
    pub fn new_slot(&mut self) -> ConnId {
        let slot = ConnId(self.slots * self.of + self.me);
        self.slots += 1;
        slot
    }
}
