//! First-in first-out: the common ground of the infinite, the drop-tail and the ECN queue.

use super::waiting::Waiting;
use crate::engine::contract::discipline::{Discipline, PortContext, Queued};
use crate::engine::contract::rules::{BufferLimit, Rules};
use crate::ids::PacketId;

/// A first-in first-out queue at a serviced port.
#[derive(Clone, Debug)]
pub struct Fifo {
    rules: Rules,
    /// Limit and threshold without faults.
    whole: [BufferLimit; 2],
    waiting: Waiting,
}

impl Fifo {
    /// An empty queue.
    pub fn new(rules: Rules) -> Fifo {
        Fifo { rules, whole: [rules.limit, rules.threshold], waiting: Waiting::default() }
    }

    /// Counts an arriving packet in the port, unless it is dropped.
    #[inline(always)]
    fn admit(&self, id: PacketId, cx: &mut PortContext) -> Option<Queued> {
        let wire = cx.port.wire_bytes;
        let mut size = cx.arena[id].size;
        if !self.rules.admits(cx.port, wire, size) {
            size = cx.refuse(id, &self.rules)?;
        }
        cx.keep(size);
        if !self.rules.mark_on_dequeue && self.rules.marks(cx.port, wire) {
            cx.mark(id);
        }
        Some(Queued { id, size })
    }

    /// Marks a departing packet if the rules say so.
    #[inline(always)]
    fn leave(&self, packet: Queued, cx: &mut PortContext) -> Queued {
        if self.rules.mark_on_dequeue && self.rules.marks(cx.port, packet.size) {
            cx.mark(packet.id);
        }
        packet
    }
}

impl Discipline for Fifo {
    fn scale(&mut self, share: f64) {
        [self.rules.limit, self.rules.threshold] = self.whole.map(|whole| whole.scaled(share));
    }

    #[inline]
    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext) {
        if let Some(packet) = self.admit(id, cx) {
            self.waiting.push(packet);
        }
    }

    #[inline]
    fn pass(&mut self, id: PacketId, cx: &mut PortContext) -> Option<Queued> {
        if !self.waiting.is_empty() {
            self.enqueue(id, cx);
            return self.dequeue(cx);
        }
        let packet = self.admit(id, cx)?;
        Some(self.leave(packet, cx))
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut PortContext) -> Option<Queued> {
        let packet = self.waiting.pop()?;
        Some(self.leave(packet, cx))
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        self.waiting.iter().for_each(found);
    }
}
