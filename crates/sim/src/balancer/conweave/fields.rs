//! The fields that ConWeave's switches write into packets.

use crate::engine::contract::path::Tag;
use crate::units::Time;

/// Epochs before their numbers begin anew.
pub const EPOCHS: u8 = 64;

/// Bits of a time in ns, of a clock that begins anew after 8 ms.
const TIME_BITS: u32 = 23;
const TIME_MASK: u32 = (1 << TIME_BITS) - 1;

/// The kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Data that requests nothing.
    Data = 1,
    /// The first of an epoch, which requests a reply.
    Init = 2,
    /// The last of an epoch on the old path, which requests a reply, too.
    Tail = 3,
    /// Replies of the receiver's switch to these.
    ReplyInit = 4,
    ReplyTail = 5,
    /// Its notice that a packet came marked.
    Notify = 6,
}

/// All fields of a packet. Replies have kind and epoch, notices the path: its leaf and uplink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    pub kind: Kind,
    pub moved: bool,
    pub epoch: u8,
    pub uplink: u8,
    /// When it left the sender's switch; of a notice the leaf from which it comes.
    pub sent: u32,
    pub tail: u32,
}

impl Fields {
    /// Those of a packet of a switch.
    pub fn of_switch(kind: Kind, epoch: u8, uplink: u8, leaf: u32) -> Fields {
        Fields { kind, moved: false, epoch, uplink, sent: leaf, tail: 0 }
    }

    /// The fields as the bits of a tag.
    pub fn pack(self) -> Tag {
        let low = self.kind as u64 | u64::from(self.moved) << 3 | u64::from(self.epoch) << 4;
        let times = u64::from(self.sent & TIME_MASK) << 18 | u64::from(self.tail & TIME_MASK) << 41;
        Tag(low | u64::from(self.uplink) << 10 | times)
    }

    /// None of a packet that no switch has written into.
    pub fn of(Tag(word): Tag) -> Option<Fields> {
        let kind = match word & 7 {
            1 => Kind::Data,
            2 => Kind::Init,
            3 => Kind::Tail,
            4 => Kind::ReplyInit,
            5 => Kind::ReplyTail,
            6 => Kind::Notify,
            _ => return None,
        };
        Some(Fields {
            kind,
            moved: word >> 3 & 1 == 1,
            epoch: (word >> 4) as u8 % EPOCHS,
            uplink: (word >> 10) as u8,
            sent: (word >> 18) as u32 & TIME_MASK,
            tail: (word >> 41) as u32 & TIME_MASK,
        })
    }
}

/// A time as the fields have it.
pub fn clock(time: Time) -> u32 {
    (time.0 / 1000) as u32 & TIME_MASK
}

/// From one such time to a later one.
pub fn ns_between(earlier: u32, later: u32) -> Time {
    Time::from_ns(u64::from(later.wrapping_sub(earlier) & TIME_MASK))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All fields at their largest and at different values come back; the clock goes round.
    #[test]
    fn fields_fit_a_tag() {
        for kind in [Kind::Data, Kind::Init, Kind::Tail, Kind::ReplyInit, Kind::ReplyTail, Kind::Notify] {
            for (moved, epoch, uplink, sent, tail) in
                [(true, 63, 254, TIME_MASK, 0), (false, 5, 3, 77, TIME_MASK)]
            {
                let fields = Fields { kind, moved, epoch, uplink, sent, tail };
                assert_eq!(Fields::of(fields.pack()), Some(fields));
            }
        }
        assert_eq!(Fields::of(Tag::default()), None);
        let (before, after) = (clock(Time::from_us(8388)), clock(Time::from_us(8389)));
        assert!(after < before);
        assert_eq!(ns_between(before, after), Time::from_us(1));
    }
}
