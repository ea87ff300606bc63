//! Packets that wait in order: the common ground of all queues.

use crate::engine::contract::discipline::Queued;
use crate::engine::contract::ring::Ring;
use crate::ids::PacketId;

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

    /// The first packet.
    #[inline]
    pub fn first(&self) -> Option<Queued> {
        self.packets.first()
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
