//! The packets of a message: unscheduled ones first, then scheduled ones, whose headers may differ in length.
//!
//! Source of the sizes: PlatformLab/HomaSimulation (`HomaPkt`), in which both kinds fill a frame of Ethernet and the
//! unscheduled one has the longer header, so that the first bytes of a message are cut otherwise than the rest.

/// How messages are cut under one configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Payload of a full packet, unscheduled and scheduled.
    pub payload: [u64; 2],
    /// Bytes on the wire beside the payload, unscheduled and scheduled.
    pub overhead: [u64; 2],
    /// Bytes on the wire that no packet falls below.
    pub least: u64,
    /// Payload that a message sends without a grant, at most.
    pub unscheduled: u64,
}

/// The payload that packets carry which take at most `wire` bytes together: full ones and a last one that is cut.
pub fn payload_in(wire: u64, payload: u64, overhead: u64) -> u64 {
    let full = payload + overhead;
    wire / full * payload + (wire % full).saturating_sub(overhead)
}

/// A packet's place in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Bytes of the message before it.
    pub offset: u64,
    /// Its payload.
    pub len: u64,
    /// Bytes on the wire.
    pub wire: u64,
}

impl Cut {
    /// The unscheduled bytes of a message.
    #[inline]
    pub fn unscheduled_of(&self, size: u64) -> u64 {
        size.min(self.unscheduled)
    }

    /// Number of packets that carry the unscheduled bytes of a message.
    #[inline]
    pub fn packets_unscheduled(&self, unscheduled: u64) -> u32 {
        packets(unscheduled, self.payload[0])
    }

    /// Number of packets of a message of that many bytes, of which so many are unscheduled.
    #[inline]
    pub fn packets(&self, size: u64, unscheduled: u64) -> u32 {
        self.packets_unscheduled(unscheduled).saturating_add(packets(size - unscheduled, self.payload[1]))
    }

    /// The packet of that number.
    #[inline]
    pub fn piece(&self, size: u64, unscheduled: u64, number: u32) -> Piece {
        let before = self.packets_unscheduled(unscheduled);
        let (kind, offset, end) = match number.checked_sub(before) {
            None => (0, u64::from(number) * self.payload[0], unscheduled),
            Some(behind) => (1, unscheduled + u64::from(behind) * self.payload[1], size),
        };
        let len = self.payload[kind].min(end - offset);
        Piece { offset, len, wire: self.wire(kind, len) }
    }

    /// Bytes on the wire of a packet of that kind: 0 unscheduled, 1 scheduled.
    #[inline]
    pub fn wire(&self, kind: usize, len: u64) -> u64 {
        (len + self.overhead[kind]).max(self.least)
    }

    /// Bytes on the wire of so many unscheduled bytes of a message.
    pub fn unscheduled_wire(&self, unscheduled: u64) -> u64 {
        let before = unscheduled.saturating_sub(1) / self.payload[0];
        before * self.wire(0, self.payload[0]) + self.wire(0, unscheduled - before * self.payload[0])
    }

    /// Bytes on the wire of scheduled packets that carry so many bytes of a message.
    pub fn scheduled_wire(&self, bytes: u64) -> u64 {
        let (full, rest) = (bytes / self.payload[1], bytes % self.payload[1]);
        full * self.wire(1, self.payload[1]) + if rest > 0 { self.wire(1, rest) } else { 0 }
    }

    /// Bytes on the wire of all packets, one after the other.
    pub fn wires(self, size: u64) -> impl Iterator<Item = u64> {
        let unscheduled = self.unscheduled_of(size);
        (0..self.packets(size, unscheduled)).map(move |number| self.piece(size, unscheduled, number).wire)
    }

    /// Whether all messages are cut into equal packets and a last one, with headers of one length and no padding.
    pub fn is_even(&self) -> bool {
        let padded = self.payload[0] + self.overhead[0] < self.least;
        self.payload[0] == self.payload[1] && self.unscheduled.is_multiple_of(self.payload[0]) && !padded
    }
}

fn packets(bytes: u64, payload: u64) -> u32 {
    u32::try_from(bytes.div_ceil(payload)).unwrap_or(u32::MAX)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// As in PlatformLab/HomaSimulation: 1538 B on the wire have 1442 B of payload without a grant and 1456 B with one.
    pub const SIMULATOR: Cut =
        Cut { payload: [1442, 1456], overhead: [96, 82], least: 84, unscheduled: 6 * 1442 + 676 };

    /// 10,000 B on the wire: six full packets and one of 772 B.
    #[test]
    fn the_first_bytes_of_the_simulator() {
        assert_eq!(payload_in(10_000, 1442, 96), 9328);
        assert_eq!(payload_in(1537, 1442, 96), 1441);
        assert_eq!(payload_in(96, 1442, 96), 0);
        assert_eq!(SIMULATOR.unscheduled, 9328);
        assert_eq!(SIMULATOR.wires(9328).sum::<u64>(), 10_000);
        assert_eq!(
            [1, 1442, 1443, 9328].map(|bytes| SIMULATOR.unscheduled_wire(bytes)),
            [97, 1538, 1635, 10_000]
        );
        assert_eq!(SIMULATOR.wires(1).collect::<Vec<_>>(), [97]);
        assert!(!SIMULATOR.is_even());
    }

    /// Packets of 64 B are padded to 125 B: 4 B of payload each, and a last one of 2 B.
    #[test]
    fn full_packets_are_padded_too() {
        let padded = Cut { payload: [4, 4], overhead: [60, 60], least: 125, unscheduled: 8 };
        assert_eq!(padded.wires(14).collect::<Vec<_>>(), [125; 4]);
        assert_eq!((padded.unscheduled_wire(8), padded.scheduled_wire(6)), (250, 250));
        assert!(!padded.is_even() && Cut { least: 64, ..padded }.is_even());
    }

    /// Of 9328 + 1456 + 10 B the eighth packet is the first scheduled one and full, the ninth has 10 B.
    #[test]
    fn pieces_follow_one_another() {
        let (size, unscheduled) = (9328 + 1456 + 10, 9328);
        assert_eq!(SIMULATOR.packets(size, unscheduled), 9);
        assert_eq!(SIMULATOR.piece(size, unscheduled, 6), Piece { offset: 8652, len: 676, wire: 772 });
        assert_eq!(SIMULATOR.piece(size, unscheduled, 7), Piece { offset: 9328, len: 1456, wire: 1538 });
        assert_eq!(SIMULATOR.piece(size, unscheduled, 8), Piece { offset: 10_784, len: 10, wire: 92 });
        let mut end = 0;
        for number in 0..9 {
            let piece = SIMULATOR.piece(size, unscheduled, number);
            assert_eq!(piece.offset, end);
            end += piece.len;
        }
        assert_eq!(end, size);
        assert_eq!(SIMULATOR.scheduled_wire(1466), 1466 + 2 * 82);
    }

    #[test]
    fn one_header_cuts_evenly() {
        let cut = Cut { payload: [1440; 2], overhead: [60; 2], least: 64, unscheduled: 7 * 1440 };
        assert!(cut.is_even());
        assert_eq!(cut.wires(20 * 1440).collect::<Vec<_>>(), [1500; 20]);
        assert_eq!(cut.wires(1).collect::<Vec<_>>(), [64]);
        assert!(!Cut { unscheduled: 1000, ..cut }.is_even());
    }
}
