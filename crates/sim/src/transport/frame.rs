//! The bytes that a packet would have behind its IP header on a real link: for captures.

use crate::engine::contract::packet::Packet;

/// The bytes behind the IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A TCP header (RFC 9293).
    Tcp(TcpFrame),
    /// A UDP header, and the first bytes of its payload: [`Header`](crate::engine::contract::packet::Header),
    /// big-endian, in the order of its fields, after a byte with the packet's flags.
    Udp {
        /// The first bytes behind the header.
        payload: [u8; UDP_PAYLOAD],
    },
}

/// Bytes behind a UDP header that are kept.
pub const UDP_PAYLOAD: usize = 24;

/// The fields of a TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFrame {
    pub seq: u32,
    pub ack: u32,
    pub syn: bool,
    pub is_ack: bool,
    pub psh: bool,
    pub ece: bool,
    pub cwr: bool,
    pub window: u16,
}

/// The receiver's port of UDP packets: the first one that cannot be registered (RFC 6335).
pub const UDP_PORT: u16 = 49_152;

/// The protocol header of a packet as the first bytes behind a UDP header.
pub fn udp_frame(packet: &Packet) -> Frame {
    let header = &packet.header;
    let mut payload = [0; UDP_PAYLOAD];
    payload[0] = packet.flags;
    payload[1] = header.kind;
    payload[2..4].copy_from_slice(&header.len.to_be_bytes());
    payload[4..8].copy_from_slice(&header.number.to_be_bytes());
    payload[8..16].copy_from_slice(&header.seq.to_be_bytes());
    payload[16..24].copy_from_slice(&header.ack.to_be_bytes());
    Frame::Udp { payload }
}
