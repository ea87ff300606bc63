//! The arena: all live packets of a run or of its part, with their records and tags.

use super::packet::{Packet, Record, Tag};
use super::port::Port;
use super::telemetry::Stamps;
use crate::ids::{LinkId, PacketId};
use crate::units::Time;

/// All live packets. A slot is used again as soon as its packet is gone, most recent first.
#[derive(Debug, Default)]
pub struct Arena {
    slots: Vec<Packet>,
    free: Vec<PacketId>,
    /// By slot; none unless packets have records.
    records: Vec<Record>,
    has_records: bool,
    /// By slot; none unless packets have tags.
    tags: Vec<Tag>,
    has_tags: bool,
    /// The packets into whose records ports write.
    pub stamps: Stamps,
}

impl Arena {
    /// One in which each packet has a record, or none, and a tag, or none; ports write into some.
    pub fn new(has_records: bool, has_tags: bool, stamps: Stamps) -> Arena {
        Arena { has_records, has_tags, stamps, ..Arena::default() }
    }

    /// Whether packets have tags.
    #[inline]
    pub fn has_tags(&self) -> bool {
        self.has_tags
    }

    /// The tag of a packet, where packets have them.
    #[inline]
    pub fn tag(&mut self, id: PacketId) -> &mut Tag {
        &mut self.tags[id.index()]
    }

    /// Whether packets have records.
    #[inline(always)]
    pub fn has_records(&self) -> bool {
        self.has_records
    }

    /// The record of a packet, where packets have them.
    #[inline]
    pub fn record(&mut self, id: PacketId) -> &mut Record {
        &mut self.records[id.index()]
    }

    /// A packet leaves the port of a link then, which writes its state into the packet's record if that is to have it.
    #[inline(never)]
    pub fn stamp(&mut self, id: PacketId, port: (LinkId, &Port), at: Time) {
        let packet = &self.slots[id.index()];
        if self.stamps.is_due(packet) {
            self.stamps.write(&mut self.records[id.index()], packet, port, at);
        }
    }

    /// A packet and its record.
    #[inline]
    pub fn with_record(&mut self, id: PacketId) -> (&mut Packet, &mut Record) {
        (&mut self.slots[id.index()], &mut self.records[id.index()])
    }

    /// Puts a packet into a slot.
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        if let Some(id) = self.free.pop() {
            self.slots[id.index()] = packet;
            return id;
        }
        self.slots.push(packet);
        if self.has_records {
            self.records.push(Record::default());
        }
        if self.has_tags {
            self.tags.push(Tag::default());
        }
        PacketId(self.slots.len() as u32 - 1)
    }

    /// Exchanges two packets: each takes the other's place, in lists too.
    pub fn swap(&mut self, a: PacketId, b: PacketId) {
        self.slots.swap(a.index(), b.index());
        if self.has_records {
            self.records.swap(a.index(), b.index());
        }
        if self.has_tags {
            self.tags.swap(a.index(), b.index());
        }
    }

    /// Takes the packet out of its slot.
    #[inline]
    pub fn remove(&mut self, id: PacketId) -> Packet {
        self.free.push(id);
        self.slots[id.index()]
    }

    /// Number of live packets.
    pub fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Number of slots ever used: all packet numbers are below it.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }
}

impl std::ops::Index<PacketId> for Arena {
    type Output = Packet;
    #[inline]
    fn index(&self, id: PacketId) -> &Packet {
        &self.slots[id.index()]
    }
}

impl std::ops::IndexMut<PacketId> for Arena {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.slots[id.index()]
    }
}
