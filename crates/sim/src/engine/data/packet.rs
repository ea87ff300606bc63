//! Packets: one cache line each, in one arena (`arena.rs`), named by a 32-bit index.

use crate::ids::{ConnId, LinkId, NodeId};
use crate::units::Time;

/// A packet in flight. The header belongs to the transport; ports read its `class`, and queues that sort read `ack`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Packet {
    /// When the sending transport made it.
    pub created_at: Time,
    /// When its transmission began at the source's own port.
    pub wire_at: Time,
    /// Bytes on the wire.
    pub size: u32,
    /// The connection that it belongs to.
    pub conn: ConnId,
    /// The host that it is for.
    pub dst: NodeId,
    /// The link by which it came to where it is; [`LinkId::NONE`] at its source.
    pub ingress: LinkId,
    /// The key that per-flow balancers hash: stands for the 5-tuple. Of a packet with [`flag::ROUTED`]: its
    /// path.
    pub label: u32,
    /// Which of the run's transports reads the header.
    pub transport: u8,
    /// Which of the run's balancers chooses among its next hops.
    pub balancer: u8,
    /// The [`flag`]s.
    pub flags: u8,
    /// Links that it has crossed.
    pub hops: u8,
    /// The header, for the other end.
    pub header: Header,
}

/// A packet's record beyond its header, where a transport of the run uses one: another cache line.
///
/// It belongs to the transport and, if it has one, to its agent (`engine/contract/agent.rs`): both define the words. Or
/// ports write their state into it (`engine/data/telemetry.rs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Record(pub [u64; 8]);

/// Fields of a packet that switches write and read, where a load balancer of the run uses them: it defines the bits. Zero as the
/// packet comes to its first node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag(pub u64);

/// The header, from one end to the other; each transport defines the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The kind of packet.
    pub kind: u8,
    /// The class of traffic (DSCP or 802.1p priority), which ports with several classes read: 0 goes first.
    pub class: u8,
    /// Payload bytes.
    pub len: u16,
    /// Number of the packet in its connection.
    pub number: u32,
    pub seq: u64,
    /// Second of two words. Of data, the sort key of ports with a queue "pfabric": the smallest goes first; and the virtual
    /// length at those with "wfq".
    pub ack: u64,
}

/// Bits of [`Packet::flags`].
pub mod flag {
    /// A full port may cut the payload off.
    pub const TRIMMABLE: u8 = 1;
    /// The payload has been cut off.
    pub const TRIMMED: u8 = 2;
    /// An acknowledgement, a pull or another packet without payload: goes with the headers where there are two queues.
    pub const CONTROL: u8 = 16;
    /// A port may mark it instead of dropping it.
    pub const ECN_CAPABLE: u8 = 4;
    /// Congestion experienced: a port has marked it.
    pub const CE: u8 = 8;
    /// Its header found the queue full, and is being returned to its sender. Of trimmed packets alone.
    pub const BOUNCED: u8 = 32;
    /// Of a packet with its payload, in the same bit: its sender has sent it before its receiver has scheduled any, and ports may
    /// drop it before others.
    pub const DROPPABLE: u8 = BOUNCED;
    /// Its source has chosen the whole path, which the label names: see [`crate::engine::data::paths`].
    pub const ROUTED: u8 = 64;
    /// It goes that path backwards.
    pub const BACKWARDS: u8 = 128;
}

/// Bit of [`Header::class`] of a trimmed packet: the port to its host has trimmed it, so that no other port reads its class.
pub const TRIMMED_LAST: u8 = 0x80;

/// Bit of [`Header::class`] of a control packet: a credit, which ports with metering limit. Classes of traffic are below it.
pub const CREDIT: u8 = 0x40;

impl Packet {
    /// Whether the flag is set.
    #[inline]
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Whether ports may drop it before others.
    #[inline]
    pub fn is_droppable(&self) -> bool {
        self.flags & (flag::DROPPABLE | flag::TRIMMED) == flag::DROPPABLE
    }

    /// Lets ports mark it instead of dropping it, if so.
    #[inline]
    pub fn set_ecn_capable(&mut self, capable: bool) {
        if capable {
            self.flags |= flag::ECN_CAPABLE;
        }
    }
}

/// The key that stands for the 5-tuple of a connection's packets to its sender.
#[inline]
pub fn reverse_label(label: u32) -> u32 {
    label ^ 0x5bd1_e995
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_one_cache_line() {
        assert_eq!(std::mem::size_of::<Packet>(), 64);
        assert_eq!(std::mem::align_of::<Packet>(), 64);
    }
}
