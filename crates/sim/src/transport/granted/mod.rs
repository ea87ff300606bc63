//! Messages that receivers grant: the first packets go without a grant, each other one when its receiver allows it.
//!
//! For transports whose receivers schedule their links by message, such as Homa and SIRD. `cut` divides messages into packets;
//! `sender` and `receiver` are the two ends, which also request and retransmit lost packets (after Homa's paper, section 3.7;
//! details ours). The choice of the message that is granted next is the transport's own.

pub mod cut;
pub mod receiver;
pub mod sender;

use self::cut::Cut;
use crate::units::Time;

/// Values of `Header::kind`. Data, a probe and BUSY: `seq` is the size of the message, `ack` its unscheduled bytes. A grant:
/// packets before `number` may be sent, at the class in `len`. RESEND: packets from `number` on and before `seq` are missing.
pub mod kind {
    pub const DATA: u8 = 0;
    pub const LAST: u8 = 1;
    pub const GRANT: u8 = 2;
    pub const RESEND: u8 = 3;
    pub const BUSY: u8 = 4;
    pub const PROBE: u8 = 5;
    pub const ACK: u8 = 6;
}

/// The part of a configuration that both ends read.
#[derive(Clone, Debug)]
pub struct Terms {
    pub cut: Cut,
    /// Bytes on the wire of a packet without payload.
    pub control: u32,
    /// Whether a complete message is acknowledged, and lost packets are requested.
    pub acknowledge: bool,
    /// Time without a packet after which a receiver requests what is missing; after twice the time its sender asks.
    pub resend_interval: Time,
}
