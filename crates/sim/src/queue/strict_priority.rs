//! Strict priority among classes of traffic: one first-in first-out queue a class, one buffer for all of them.
//!
//! As PIAS has it (Bai et al., "Information-Agnostic Flow Scheduling for Commodity Data Centers", NSDI 2015);
//! limits, thresholds and the order of the steps on arrival are those of the authors' simulation (PIAS-NS2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ecn::MarkOn;
use super::waiting::Waiting;
use super::{Build, Feature, Limit, Settings};
use crate::advice::Unread;
use crate::engine::contract::discipline::{Discipline, DropReason, PortContext, Queued};
use crate::engine::contract::rules::BufferLimit;
use crate::ids::PacketId;

/// A queue for each class, served in the order of their numbers; packets that arrive at a full shared buffer
/// are dropped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StrictPriority {
    /// Number of classes. Class 0 goes first; packets of a class beyond the last one go with the last.
    #[schemars(range(min = 1, max = 8))]
    pub classes: u32,
    /// Limit of all classes together. PIAS-NS2 has 240 full packets.
    pub limit: Limit,
    /// The bytes that are compared with the threshold.
    pub mark: MarkBy,
    /// Mark above this much. PIAS-NS2 has 65 full packets.
    pub threshold: Limit,
    /// The time of marking: when a packet arrives (PIAS), itself included, or when its transmission starts,
    /// itself included if the packet on the wire counts.
    pub mark_on: MarkOn,
    /// Whether the packet on the wire counts towards the limit and the threshold (PIAS-NS2: no).
    pub limit_counts_wire: bool,
}

/// The bytes of a port that a packet's mark depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkBy {
    /// All bytes in the port (PIAS): bursts of a high class slow lower ones down.
    Port,
    /// The bytes of the packet's own class in the port.
    Class,
    /// Nothing: no packet is marked.
    None,
}

impl Default for StrictPriority {
    fn default() -> Self {
        StrictPriority {
            classes: 8,
            limit: Limit::FullPackets(240),
            mark: MarkBy::Port,
            threshold: Limit::FullPackets(65),
            mark_on: MarkOn::Enqueue,
            limit_counts_wire: true,
        }
    }
}

impl Settings for StrictPriority {
    fn joins_buffer(&self) -> bool {
        true
    }

    fn offers(&self) -> &'static [Feature] {
        match self.mark {
            MarkBy::None => &[Feature::Classes],
            MarkBy::Port | MarkBy::Class => &[Feature::Classes, Feature::Ecn],
        }
    }

    fn for_marks(&self) -> &'static [&'static str] {
        match self.mark {
            MarkBy::None => &[],
            MarkBy::Port | MarkBy::Class => &["mark", "threshold", "mark_on"],
        }
    }

    fn classes(&self) -> u32 {
        self.classes
    }

    fn unread(&self) -> Vec<Unread> {
        let marks = self.mark != MarkBy::None;
        Unread::among([("threshold", marks, "mark = \"port\""), ("mark_on", marks, "mark = \"port\"")])
    }

    fn begins_at(&self, feature: Feature) -> Option<&'static str> {
        (feature == Feature::Ecn).then_some("threshold")
    }

    fn marks_above(&self) -> Option<(Limit, bool)> {
        Some((self.threshold, false))
    }

    fn port_bytes(&self) -> usize {
        self.classes as usize * size_of::<Waiting>()
    }

    fn most_packets(&self, full_packet: u64) -> Option<u64> {
        self.limit.room(full_packet).most_packets(full_packet)
    }
}

impl Build for StrictPriority {
    type Model = Model;

    fn model(&self, full_packet: u64) -> Model {
        Model {
            classes: vec![Waiting::default(); self.classes as usize].into(),
            waiting: 0,
            limit: self.limit.room(full_packet),
            threshold: match self.mark {
                MarkBy::None => BufferLimit::UNLIMITED,
                MarkBy::Port | MarkBy::Class => self.threshold.room(full_packet),
            },
            by_class: self.mark == MarkBy::Class,
            on_dequeue: self.mark_on == MarkOn::Dequeue,
            counts_wire: self.limit_counts_wire,
            wire_class: 0,
        }
    }
}

/// The queues at one port.
#[derive(Clone, Debug)]
pub struct Model {
    classes: Box<[Waiting]>,
    /// A bit for each class in which something waits.
    waiting: u8,
    limit: BufferLimit,
    threshold: BufferLimit,
    by_class: bool,
    on_dequeue: bool,
    counts_wire: bool,
    /// Which class the packet on the wire came from.
    wire_class: u8,
}

impl Model {
    /// Size and class of a packet; those of too low a class belong to the last.
    #[inline]
    fn sorted(&self, id: PacketId, cx: &PortContext) -> (u32, u8) {
        let (packet, last) = (&cx.arena[id], self.classes.len() as u8 - 1);
        (packet.size, packet.header.class.min(last))
    }

    /// The part of the port's occupancy that counts towards limit and threshold, given the packet on the
    /// wire.
    #[inline]
    fn in_port(&self, wire: u32, cx: &PortContext) -> (u32, u64) {
        let port = &cx.port;
        if self.counts_wire || wire == 0 {
            return (port.packets, port.bytes);
        }
        (port.packets - 1, port.bytes - u64::from(wire))
    }

    /// The part of one class that counts.
    #[inline]
    fn in_class(&self, class: u8, wire: u32) -> (u32, u64) {
        let queue = &self.classes[usize::from(class)];
        let wire = if self.counts_wire && self.wire_class == class { wire } else { 0 };
        (queue.len() + u32::from(wire > 0), queue.bytes() + u64::from(wire))
    }

    /// The packets and bytes that count as an arriving packet finds them: those of its own class, or all of the port.
    #[inline]
    pub(super) fn found_by(&self, id: PacketId, by_class: bool, cx: &PortContext) -> (u32, u64) {
        let wire = cx.port.wire_bytes;
        if by_class { self.in_class(self.sorted(id, cx).1, wire) } else { self.in_port(wire, cx) }
    }

    /// Whether a packet of that class is to be marked, given the packet on the wire.
    #[inline]
    fn marks(&self, class: u8, wire: u32, cx: &PortContext) -> bool {
        let (packets, bytes) =
            if self.by_class { self.in_class(class, wire) } else { self.in_port(wire, cx) };
        !self.threshold.holds(packets, bytes)
    }
}

impl Discipline for Model {
    #[inline]
    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext) {
        let (size, class) = self.sorted(id, cx);
        let wire = cx.port.wire_bytes;
        let (packets, bytes) = self.in_port(wire, cx);
        if !self.limit.holds(packets + 1, bytes + u64::from(size)) {
            return cx.drop(id, DropReason::Full);
        }
        cx.keep(size);
        self.classes[usize::from(class)].push(Queued { id, size });
        self.waiting |= 1 << class;
        if !self.on_dequeue && self.marks(class, wire, cx) {
            cx.mark(id);
        }
    }

    /// A packet that need not wait is alone in the port, and leaves the classes unchanged.
    #[inline]
    fn pass(&mut self, id: PacketId, cx: &mut PortContext) -> Option<Queued> {
        let (size, class) = self.sorted(id, cx);
        if !self.limit.holds(1, u64::from(size)) {
            cx.drop(id, DropReason::Full);
            return None;
        }
        cx.keep(size);
        let counts = self.counts_wire || !self.on_dequeue;
        if counts && !self.threshold.holds(1, u64::from(size)) {
            cx.mark(id);
        }
        self.wire_class = class;
        Some(Queued { id, size })
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut PortContext) -> Option<Queued> {
        if self.waiting == 0 {
            return None;
        }
        let class = self.waiting.trailing_zeros();
        let queue = &mut self.classes[class as usize];
        let packet = queue.pop()?;
        if queue.is_empty() {
            self.waiting &= !(1 << class);
        }
        self.wire_class = class as u8;
        if self.on_dequeue && self.marks(self.wire_class, packet.size, cx) {
            cx.mark(packet.id);
        }
        Some(packet)
    }

    fn ahead(&self, class: u8) -> Option<u64> {
        let last = usize::from(class).min(self.classes.len() - 1);
        Some(self.classes[..=last].iter().map(Waiting::bytes).sum())
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        self.classes.iter().flat_map(Waiting::iter).for_each(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::discipline::tests::FakePort;
    use crate::engine::contract::packet::flag;
    use crate::units::Rate;

    /// Packets of class 0 at a port that marks more than one packet of a class: the one on the wire counts if it is of their
    /// class, too, whether it found the port idle or waited before.
    #[test]
    fn the_wire_counts_for_its_class() {
        let queue =
            StrictPriority { mark: MarkBy::Class, threshold: Limit::Packets(1), ..StrictPriority::default() };
        let port = || FakePort::new(Rate(1_000_000_000));
        let (mut model, mut at) = (queue.model(1500), port());
        model.wire_class = 2;
        at.passes(&mut model, flag::ECN_CAPABLE);
        at.comes(&mut model, flag::ECN_CAPABLE);
        assert_eq!(at.losses.marks, 1, "behind a packet that found the port idle");
        for (class, marks) in [(0, 1), (2, 0)] {
            let (mut model, mut at) = (queue.model(1500), port());
            (model.wire_class, at.port.wire_bytes) = (class, 1500);
            at.comes(&mut model, flag::ECN_CAPABLE);
            assert_eq!(at.losses.marks, marks, "behind a packet of class {class}");
        }
        let (mut model, mut at) = (queue.model(1500), port());
        model.wire_class = 2;
        at.comes(&mut model, 0);
        assert_eq!(at.leaves(&mut model), Some(0));
        assert_eq!(model.wire_class, 0, "a packet that waited");
    }

    /// Packets of 100 B in class 0, 200 B in class 1 and 400 B in class 3, the last: a packet of a class waits for those of its own
    /// class and of lower ones, one of too high a class as one of the last.
    #[test]
    fn bytes_that_leave_before_a_packet_of_a_class() {
        let mut model = StrictPriority { classes: 4, ..StrictPriority::default() }.model(1500);
        for (class, size) in [(0, 100), (1, 200), (3, 400)] {
            model.classes[class].push(Queued { id: PacketId(0), size });
        }
        assert_eq!([0, 1, 2, 3, 7].map(|class| model.ahead(class)), [100, 300, 300, 700, 700].map(Some));
    }
}
