//! Packets that wait in order: the common ground of all queues.

use crate::engine::ring::Ring;
use crate::ids::PacketId;

/// A packet in a queue. Its size is kept beside its number: whoever serves it need not fetch the packet,
/// which has long left the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The packet.
    pub id: PacketId,
    /// Its bytes on the wire.
    pub size: u32,
}

/// Packets that wait, first to last.
#[derive(Clone, Debug, Default)]
pub struct Waiting {
    packets: Ring<Queued>,
    bytes: u64,
}

impl Waiting {
    /// How many packets.
    #[inline]
    pub fn len(&self) -> u32 {
        self.packets.len()
    }

    /// Their bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Puts a packet behind the others.
    #[inline(always)]
    pub fn push(&mut self, packet: Queued) {
        self.bytes += u64::from(packet.size);
        self.packets.push(packet);
    }

    /// Takes the first packet.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Queued> {
        let packet = self.packets.pop()?;
        self.bytes -= u64::from(packet.size);
        Some(packet)
    }

    /// The last packet.
    #[inline]
    pub fn last(&self) -> Option<Queued> {
        self.packets.last()
    }

    /// Takes the last packet.
    #[inline]
    pub fn pop_last(&mut self) -> Option<Queued> {
        let packet = self.packets.pop_last()?;
        self.bytes -= u64::from(packet.size);
        Some(packet)
    }

    /// First to last.
    pub fn iter(&self) -> impl Iterator<Item = PacketId> + '_ {
        self.packets.iter().map(|packet| packet.id)
    }
}
