//! Packets of Ultra Ethernet as they fit into a packet's header.
//!
//! | kind | `number` | `len` | `seq` | `ack` |
//! |---|---|---|---|---|
//! | data | its number | payload | entropy value | pull target |
//! | request (RTS) | 0 | 0 | entropy value | pull target |
//! | probe | its own number | 0 | entropy value | 0 |
//! | ACK | the packet that caused it | entropy value | bitmap | next expected packet, received bytes |
//! | NACK | the trimmed packet | entropy value | 0 | 0 |
//! | PULL | 0 | 0 | 0 | credit so far |
//!
//! Credit and its targets are counted in quanta from the start of the flow; a target may be negative at first.

use crate::engine::contract::packet::Header;

/// Values of the lower bits of [`Header::kind`].
pub mod kind {
    pub const DATA: u8 = 0;
    pub const RTS: u8 = 1;
    pub const PROBE: u8 = 2;
    pub const ACK: u8 = 3;
    pub const NACK: u8 = 4;
    pub const PULL: u8 = 5;
    pub const MASK: u8 = 7;
}

/// Bits of [`Header::kind`] of data.
pub mod data {
    /// The last packet of the flow.
    pub const LAST: u8 = 0x10;
    /// The receiver is to acknowledge it at once.
    pub const ACK_NOW: u8 = 0x20;
    /// It has been sent before.
    pub const REPEATED: u8 = 0x40;
}

/// Bits of [`Header::kind`] of ACKs and NACKs.
pub mod answer {
    /// The packet that caused it was marked.
    pub const MARKED: u8 = 0x08;
    /// Of an ACK: the bitmap begins at the packet that caused it.
    pub const OWN_BASE: u8 = 0x10;
    /// Of a NACK: the port to the receiver has trimmed the packet.
    pub const LAST_HOP: u8 = 0x10;
    /// The packet that caused it had been sent before.
    pub const REPEATED: u8 = 0x20;
    /// It answers a request.
    pub const TO_RTS: u8 = 0x40;
    /// It answers a probe.
    pub const TO_PROBE: u8 = 0x80;
}

/// Bits of a bitmap.
pub const BITMAP_BITS: u32 = 64;

/// The first packet of the bitmap of an ACK for a packet: of a prompt one the packet itself, else as far before it as the
/// bitmap reaches, behind the next expected packet.
#[inline]
pub fn bitmap_base(number: u32, expected: u32, own: bool, bits: u32) -> u32 {
    if own { number } else { (number + 1).saturating_sub(bits).max(expected + 1) }
}

/// The last word of an ACK: the next expected packet, and the lower half of the count of received bytes.
#[inline]
pub fn pack(expected: u32, received: u64) -> u64 {
    u64::from(expected) << 32 | received & u64::from(u32::MAX)
}

/// The same the other way round, given the bytes that have been reported before: those that are new. Of two ACKs one may
/// overtake the other.
#[inline]
pub fn unpack(header: &Header, before: u64) -> (u32, u64) {
    let ahead = (header.ack as u32).wrapping_sub(before as u32) as i32;
    ((header.ack >> 32) as u32, u64::try_from(ahead).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The count wraps after 4 GiB; an ACK that another has overtaken brings nothing.
    #[test]
    fn received_bytes_wrap() {
        let wraps = u64::from(u32::MAX) - 99;
        for (before, now, new) in [(0, 4150, 4150), (wraps, wraps + 4150, 4150), (8300, 4150, 0), (7, 7, 0)] {
            let header = Header { ack: pack(12, now), ..Header::default() };
            assert_eq!(unpack(&header, before), (12, new), "{before} to {now}");
        }
    }

    #[test]
    fn bitmaps_begin_behind_the_expected_packet() {
        assert_eq!(bitmap_base(100, 20, true, 64), 100);
        assert_eq!(bitmap_base(100, 20, false, 64), 37);
        assert_eq!(bitmap_base(50, 20, false, 64), 21);
        assert_eq!(bitmap_base(10, 20, false, 64), 21);
    }
}
