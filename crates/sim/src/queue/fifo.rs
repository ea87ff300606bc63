//! First-in first-out: the common ground of the infinite, the drop-tail and the ECN queue.

use super::waiting::Waiting;
use crate::engine::discipline::{Discipline, PortContext, Queued};
use crate::engine::rules::Rules;
use crate::ids::PacketId;

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
    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext) {
        let wire = cx.port.wire_bytes;
        let mut size = cx.arena[id].size;
        if !self.rules.admits(cx.port, wire, size) {
            let Some(kept) = cx.refuse(id, &self.rules) else { return };
            size = kept;
        }
        cx.keep(size);
        if !self.rules.mark_on_dequeue && self.rules.marks(cx.port, wire) {
            cx.mark(id);
        }
        self.waiting.push(Queued { id, size });
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut PortContext) -> Option<Queued> {
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
