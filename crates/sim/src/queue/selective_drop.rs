//! Selective dropping of Aeolus: strict priority, where packets that no receiver has scheduled find little room.
//!
//! Source: Hu, Bai et al., "Aeolus: A Building Block for Proactive Transport in Datacenters", SIGCOMM 2020; the threshold of
//! 6 kB at 10 Gbps is from memory of the paper. Senders mark the packets that they send before their receiver has
//! scheduled any. A port drops such a packet when more than the threshold is there as it comes, and a scheduled one only when its
//! buffer is full. Switches have it as RED with one threshold, at which ECN-capable packets, the scheduled ones, are marked
//! and others dropped.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ecn::MarkOn;
use super::strict_priority::{self, MarkBy, StrictPriority};
use super::{Build, Feature, Limit, Settings};
use crate::advice::Unread;
use crate::engine::contract::discipline::{Discipline, DropReason, PortContext, Queued};
use crate::engine::contract::rules::BufferLimit;
use crate::ids::PacketId;
use crate::problem::Problem;
use crate::units::Bytes;

/// A queue for each class, served in the order of their numbers; packets that are sent before their receiver schedules any are
/// dropped above a low threshold, and all packets that arrive at a full shared buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SelectiveDrop {
    /// An arriving unscheduled packet is dropped if more than this is there, itself not included (Aeolus: 6 kB at 10 Gbps,
    /// from memory).
    pub drop_above: Limit,
    /// The bytes that are compared with `drop_above`.
    pub drop_by: DropBy,
    /// Number of classes. Class 0 goes first; packets of a class beyond the last one go with the last.
    #[schemars(range(min = 1, max = 8))]
    pub classes: u32,
    /// Limit of all classes together, for packets of both kinds.
    pub limit: Limit,
    /// The bytes that are compared with `threshold`, at which ECN-capable packets are marked.
    pub mark: MarkBy,
    /// Mark above this much.
    pub threshold: Limit,
    /// The time of marking: when a packet arrives, itself included, or when its transmission starts, itself included if the
    /// packet on the wire counts.
    pub mark_on: MarkOn,
    /// Whether the packet on the wire counts towards `drop_above`, the limit and the threshold.
    pub limit_counts_wire: bool,
}

/// The bytes of a port by which it drops an unscheduled packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DropBy {
    /// The bytes of the packet's own class in the port.
    Class,
    /// All bytes in the port: unscheduled packets give way to scheduled ones of lower classes, too.
    Port,
}

impl Default for SelectiveDrop {
    fn default() -> Self {
        SelectiveDrop {
            drop_above: Limit::Bytes(Bytes(6000)),
            drop_by: DropBy::Class,
            classes: 8,
            limit: Limit::FullPackets(240),
            mark: MarkBy::None,
            threshold: Limit::FullPackets(65),
            mark_on: MarkOn::Enqueue,
            limit_counts_wire: true,
        }
    }
}

impl SelectiveDrop {
    /// The same without selective dropping.
    fn plain(&self) -> StrictPriority {
        StrictPriority {
            classes: self.classes,
            limit: self.limit,
            mark: self.mark,
            threshold: self.threshold,
            mark_on: self.mark_on,
            limit_counts_wire: self.limit_counts_wire,
        }
    }
}

impl Settings for SelectiveDrop {
    fn drops_unscheduled(&self) -> bool {
        true
    }

    fn joins_buffer(&self) -> bool {
        true
    }

    fn offers(&self) -> &'static [Feature] {
        self.plain().offers()
    }

    fn for_marks(&self) -> &'static [&'static str] {
        self.plain().for_marks()
    }

    fn classes(&self) -> u32 {
        self.classes
    }

    fn unread(&self) -> Vec<Unread> {
        self.plain().unread()
    }

    fn begins_at(&self, feature: Feature) -> Option<&'static str> {
        self.plain().begins_at(feature)
    }

    fn marks_above(&self) -> Option<(Limit, bool)> {
        self.plain().marks_above()
    }

    fn port_bytes(&self) -> usize {
        self.plain().port_bytes()
    }

    fn most_packets(&self, full_packet: u64) -> Option<u64> {
        self.plain().most_packets(full_packet)
    }

    fn problems(&self) -> Vec<Problem> {
        let bytes = |limit: Limit| limit.room_in_bytes(1).bytes;
        let alike = std::mem::discriminant(&self.drop_above) == std::mem::discriminant(&self.limit);
        if alike && bytes(self.drop_above) >= bytes(self.limit) {
            let why =
                "is not below limit: a full port drops packets of both kinds, and no port would drop others";
            return vec![Problem::new("drop_above", why)];
        }
        Vec::new()
    }
}

impl Build for SelectiveDrop {
    type Model = Model;

    fn model(&self, full_packet: u64) -> Model {
        Model {
            queues: self.plain().model(full_packet),
            drop_above: self.drop_above.room(full_packet),
            by_class: self.drop_by == DropBy::Class,
        }
    }
}

/// The queues at one port.
#[derive(Clone, Debug)]
pub struct Model {
    queues: strict_priority::Model,
    drop_above: BufferLimit,
    by_class: bool,
}

impl Discipline for Model {
    #[inline]
    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext) {
        if cx.arena[id].is_droppable() {
            let (packets, bytes) = self.queues.found_by(id, self.by_class, cx);
            if !self.drop_above.holds(packets, bytes) {
                return cx.drop(id, DropReason::Managed);
            }
        }
        self.queues.enqueue(id, cx);
    }

    /// A packet that need not wait finds nothing in the port.
    #[inline]
    fn pass(&mut self, id: PacketId, cx: &mut PortContext) -> Option<Queued> {
        self.queues.pass(id, cx)
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut PortContext) -> Option<Queued> {
        self.queues.dequeue(cx)
    }

    fn ahead(&self, class: u8) -> Option<u64> {
        self.queues.ahead(class)
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        self.queues.resident(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::agent::tests::packet;
    use crate::engine::contract::discipline::tests::FakePort;
    use crate::engine::contract::packet::{Header, Packet, flag};
    use crate::units::Rate;

    /// A port with the packets that tests offer to it.
    struct Offered {
        model: Model,
        at: FakePort,
    }

    impl Offered {
        fn to(queue: &SelectiveDrop) -> Offered {
            Offered { model: queue.model(1500), at: FakePort::new(Rate(10_000_000_000)) }
        }

        /// Whether the port keeps a packet of that class and size.
        fn keeps(&mut self, flags: u8, class: u8, size: u32) -> bool {
            let before = self.at.losses.dropped.packets;
            let header = Header { class, ..Header::default() };
            let mut cx = self.at.cx();
            let id = cx.arena.insert(Packet { flags, header, ..packet(0, size) });
            self.model.enqueue(id, &mut cx);
            self.at.losses.dropped.packets == before
        }

        fn holds(&self) -> (u32, u64) {
            (self.at.port.packets, self.at.port.bytes)
        }
    }

    const OPEN: u8 = flag::DROPPABLE;

    /// With a threshold of 6000 B an unscheduled packet that finds 6000 B is kept, and one that finds a byte more is dropped; a
    /// scheduled packet is kept either way.
    #[test]
    fn the_threshold_is_exact_to_the_byte() {
        for (last, kept) in [(1500, true), (1501, false)] {
            let mut port = Offered::to(&SelectiveDrop::default());
            (0..3).for_each(|_| assert!(port.keeps(OPEN, 0, 1500)));
            assert!(port.keeps(0, 0, last));
            assert_eq!(port.keeps(OPEN, 0, 64), kept, "behind {} B", 4500 + last);
            assert!(port.keeps(0, 0, 64));
        }
    }

    /// Unscheduled packets alone never fill a port beyond the threshold and one packet; the dropped ones and those that are kept
    /// are all that came.
    #[test]
    fn unscheduled_packets_stop_a_packet_behind_the_threshold() {
        for (threshold, most) in [(0, 1), (1499, 1), (1500, 2), (6000, 5), (6001, 5)] {
            let drop_above = Limit::Bytes(Bytes(threshold));
            let mut port = Offered::to(&SelectiveDrop { drop_above, ..SelectiveDrop::default() });
            let kept = (0..50).filter(|_| port.keeps(OPEN, 0, 1500)).count() as u32;
            assert_eq!((kept, port.holds()), (most, (most, u64::from(most) * 1500)), "{threshold} B");
            assert!(port.holds().1 <= threshold + 1500);
            let dropped = port.at.losses.dropped;
            assert_eq!((dropped.packets, dropped.bytes), (u64::from(50 - most), u64::from(50 - most) * 1500));
            let mut waiting = 0;
            port.model.resident(&mut |_| waiting += 1);
            assert_eq!(waiting, most);
            // Scheduled packets find the rest of the buffer.
            assert_eq!((0..500).filter(|_| port.keeps(0, 0, 1500)).count() as u32, 240 - most);
            assert!(!port.keeps(OPEN, 0, 1500) && !port.keeps(0, 0, 64));
        }
    }

    /// By class a packet counts those of its own class alone; by port those of all classes. A class beyond the last one is the
    /// last.
    #[test]
    fn classes_count_apart_or_together() {
        for (drop_by, kept) in [(DropBy::Class, [true, false, false]), (DropBy::Port, [false; 3])] {
            let queue = SelectiveDrop { drop_by, classes: 3, ..SelectiveDrop::default() };
            let mut port = Offered::to(&queue);
            (0..5).for_each(|_| assert!(port.keeps(0, 2, 1500)));
            assert_eq!([1, 2, 7].map(|class| port.keeps(OPEN, class, 1500)), kept, "{drop_by:?}");
        }
    }

    /// The packet on the wire counts for its class, unless the settings say otherwise.
    #[test]
    fn the_wire_counts_or_does_not() {
        for (limit_counts_wire, kept) in [(true, false), (false, true)] {
            let drop_above = Limit::Packets(1);
            let queue = SelectiveDrop { drop_above, limit_counts_wire, ..SelectiveDrop::default() };
            let (mut model, mut at) = (queue.model(1500), FakePort::new(Rate(10_000_000_000)));
            at.passes(&mut model, OPEN);
            at.comes(&mut model, OPEN);
            at.comes(&mut model, OPEN);
            assert_eq!(at.losses.dropped.packets == 0, kept);
        }
    }

    /// A full buffer drops packets of both kinds, whatever the threshold is.
    #[test]
    fn a_full_buffer_drops_both_kinds() {
        let queue = SelectiveDrop { limit: Limit::Packets(2), ..SelectiveDrop::default() };
        for flags in [0, OPEN] {
            let mut port = Offered::to(&queue);
            assert_eq!([(); 3].map(|()| port.keeps(flags, 0, 100)), [true, true, false]);
        }
    }

    /// Marks are those of strict priority; an unscheduled packet that is dropped is not marked.
    #[test]
    fn scheduled_packets_are_marked() {
        let queue = SelectiveDrop {
            mark: MarkBy::Port,
            threshold: Limit::Packets(2),
            drop_above: Limit::Packets(2),
            ..SelectiveDrop::default()
        };
        let mut port = Offered::to(&queue);
        let kept = [(); 4].map(|()| port.keeps(OPEN | flag::ECN_CAPABLE, 0, 1500));
        assert_eq!((kept, port.at.losses.marks), ([true, true, true, false], 1));
        assert!(port.keeps(flag::ECN_CAPABLE, 0, 1500));
        assert_eq!(port.at.losses.marks, 2);
    }

    /// A header is no packet that a port may drop first: its payload is gone.
    #[test]
    fn a_trimmed_packet_is_not_droppable() {
        let mut at = FakePort::new(Rate(10_000_000_000));
        let mut cx = at.cx();
        let id = cx.arena.insert(Packet { flags: OPEN | flag::TRIMMABLE, ..packet(0, 1500) });
        assert!(cx.arena[id].is_droppable());
        cx.trim(id, 64);
        assert!(!cx.arena[id].is_droppable() && !cx.arena[id].has(flag::BOUNCED));
    }

    /// A threshold that packets of both kinds reach together is refused, if both are given in the same unit.
    #[test]
    fn a_threshold_at_the_limit_is_refused() {
        let problems = |drop_above, limit| {
            let queue = SelectiveDrop { drop_above, limit, ..SelectiveDrop::default() };
            queue.problems().len()
        };
        assert_eq!(problems(Limit::Packets(4), Limit::Packets(5)), 0);
        assert_eq!(problems(Limit::Packets(5), Limit::Packets(5)), 1);
        assert_eq!(problems(Limit::Packets(5), Limit::Bytes(Bytes(100))), 0);
        assert_eq!(problems(Limit::Bytes(Bytes(101)), Limit::Bytes(Bytes(100))), 1);
    }
}
