//! First-in first-out: the common ground of the infinite, the drop-tail and the ECN queue.

use super::waiting::{Queued, Waiting};
use super::{Discipline, QueueCx, Room};
use crate::engine::port::Port;
use crate::ids::PacketId;

/// What a first-in first-out queue does on arrival and departure.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// What it holds.
    pub limit: Room,
    /// Above this it marks.
    pub threshold: Room,
    /// Whether the packet on the wire counts towards both.
    pub counts_wire: bool,
    /// Whether marking looks at the queue on departure rather than on arrival.
    pub mark_on_dequeue: bool,
}

impl Rules {
    /// Neither limit nor threshold.
    pub const UNLIMITED: Rules = Rules {
        limit: Room::UNLIMITED,
        threshold: Room::UNLIMITED,
        counts_wire: true,
        mark_on_dequeue: false,
    };

    /// What of the port's occupancy counts, given the packet on the wire.
    #[inline]
    fn counted(&self, port: &Port, wire_bytes: u32) -> (u32, u64) {
        if self.counts_wire || wire_bytes == 0 {
            return (port.packets, port.bytes);
        }
        (port.packets - 1, port.bytes - u64::from(wire_bytes))
    }

    /// Whether an arriving packet fits.
    #[inline]
    pub fn admits(&self, port: &Port, wire_bytes: u32, size: u32) -> bool {
        let (packets, bytes) = self.counted(port, wire_bytes);
        self.limit.holds(packets + 1, bytes + u64::from(size))
    }

    /// Whether a packet that has just joined is to be marked.
    #[inline]
    pub fn marks(&self, port: &Port, wire_bytes: u32) -> bool {
        let (packets, bytes) = self.counted(port, wire_bytes);
        !self.threshold.holds(packets, bytes)
    }
}

/// A first-in first-out queue at a serviced port.
#[derive(Clone, Debug)]
pub struct Fifo {
    rules: Rules,
    waiting: Waiting,
}

impl Fifo {
    /// An empty queue.
    pub fn new(rules: Rules) -> Fifo {
        Fifo { rules, waiting: Waiting::default() }
    }
}

impl Discipline for Fifo {
    #[inline]
    fn enqueue(&mut self, id: PacketId, cx: &mut QueueCx) {
        let wire = cx.port.wire_bytes;
        let size = cx.arena[id].size;
        if !self.rules.admits(cx.port, wire, size) {
            return cx.drop(id);
        }
        cx.keep(size);
        if !self.rules.mark_on_dequeue && self.rules.marks(cx.port, wire) {
            cx.mark(id);
        }
        self.waiting.push(Queued { id, size });
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut QueueCx) -> Option<Queued> {
        let packet = self.waiting.pop()?;
        if self.rules.mark_on_dequeue && self.rules.marks(cx.port, packet.size) {
            cx.mark(packet.id);
        }
        Some(packet)
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        self.waiting.iter().for_each(found);
    }
}
