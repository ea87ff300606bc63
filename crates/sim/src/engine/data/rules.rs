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
