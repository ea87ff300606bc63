//! The rules of a first-in first-out queue whose decisions are all made on arrival: a port with such rules
//! computes each packet's departure when the packet arrives.

use super::port::Port;

/// A limit as the engine compares with it: at most so many packets and so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferLimit {
    /// Most packets.
    pub packets: u32,
    /// Most bytes.
    pub bytes: u64,
}

impl BufferLimit {
    /// Room without end.
    pub const UNLIMITED: BufferLimit = BufferLimit { packets: u32::MAX, bytes: u64::MAX };

    /// Most packets of that size within the limit; `None` without one.
    pub fn most_packets(&self, size: u64) -> Option<u64> {
        (*self != BufferLimit::UNLIMITED).then(|| u64::from(self.packets).min(self.bytes / size.max(1)))
    }

    /// That share of the limit, cut to whole bytes and packets, of these at least one.
    pub fn scaled(&self, share: f64) -> BufferLimit {
        let BufferLimit { packets, bytes } = *self;
        BufferLimit {
            packets: if packets == u32::MAX { packets } else { ((f64::from(packets) * share) as u32).max(1) },
            bytes: if bytes == u64::MAX { bytes } else { (bytes as f64 * share) as u64 },
        }
    }

    /// Whether so much is within the limit.
    #[inline]
    pub fn holds(&self, packets: u32, bytes: u64) -> bool {
        packets <= self.packets && bytes <= self.bytes
    }
}

/// Actions of a first-in first-out queue on arrival and departure.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub limit: BufferLimit,
    pub threshold: BufferLimit,
    /// Whether the packet on the wire counts towards both.
    pub counts_wire: bool,
    /// Whether marking looks at the queue on departure rather than on arrival.
    pub mark_on_dequeue: bool,
    /// Whether packets without payload pass above the limit, and packets that may be trimmed lose their
    /// payload rather than being dropped.
    pub keep_headers: bool,
}

impl Rules {
    /// Neither limit nor threshold.
    pub const UNLIMITED: Rules = Rules {
        limit: BufferLimit::UNLIMITED,
        threshold: BufferLimit::UNLIMITED,
        counts_wire: true,
        mark_on_dequeue: false,
        keep_headers: false,
    };

    /// The part of the port's occupancy that counts, given the packet on the wire.
    #[inline]
    pub fn counted(&self, port: &Port, wire_bytes: u32) -> (u32, u64) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;
    use crate::topology::Link;
    use crate::units::{Rate, Time};

    /// A port that holds so many packets of 1000 B each, the one on the wire included.
    fn holding(packets: u32) -> Port {
        let link = Link { from: NodeId(0), to: NodeId(1), rate: Rate(1_000_000_000), delay: Time::ZERO };
        let mut port = Port::new(&link, 0);
        (port.packets, port.bytes) = (packets, 1000 * u64::from(packets));
        port
    }

    /// At most three packets and 3500 B, marked above two. With the packet on the wire three of 1000 B are there when two wait,
    /// and a fourth does not fit. Where that one does not count it does, if it is no longer than 1500 B.
    #[test]
    fn limits_and_thresholds_with_and_without_the_wire() {
        let rules = |counts_wire| Rules {
            limit: BufferLimit { packets: 3, bytes: 3500 },
            threshold: BufferLimit { packets: 2, bytes: u64::MAX },
            counts_wire,
            ..Rules::UNLIMITED
        };
        let admits =
            |counts_wire, packets, wire, size| rules(counts_wire).admits(&holding(packets), wire, size);
        assert_eq!(
            [(2, 1000), (2, 1500), (2, 1501), (3, 1)].map(|(held, size)| admits(true, held, 1000, size)),
            [true, true, false, false]
        );
        assert_eq!(
            [(3, 1500), (3, 1501), (4, 1)].map(|(held, size)| admits(false, held, 1000, size)),
            [true, false, false]
        );
        // With a free wire all packets wait.
        assert_eq!([2, 3].map(|held| admits(false, held, 0, 100)), [true, false]);
        let marks = |counts_wire| [2, 3, 4].map(|held| rules(counts_wire).marks(&holding(held), 1000));
        assert_eq!((marks(true), marks(false)), ([false, true, true], [false, false, true]));
    }

    /// Half of a limit is cut to whole packets and bytes, of packets to one at least; without a limit there is none.
    #[test]
    fn shares_of_limits() {
        let limit = |packets, bytes| BufferLimit { packets, bytes };
        assert_eq!(limit(5, 1001).scaled(0.5), limit(2, 500));
        assert_eq!(limit(1, 1).scaled(0.5), limit(1, 0));
        assert_eq!(limit(5, u64::MAX).scaled(0.5), limit(2, u64::MAX));
        assert_eq!(BufferLimit::UNLIMITED.scaled(0.5), BufferLimit::UNLIMITED);
        let most = |limit: BufferLimit| [1000, 1001, 0].map(|size| limit.most_packets(size));
        assert_eq!(most(limit(9, 3000)), [Some(3), Some(2), Some(9)]);
        assert_eq!(most(limit(2, u64::MAX)), [Some(2); 3]);
        assert_eq!(most(BufferLimit::UNLIMITED), [None; 3]);
    }
}
