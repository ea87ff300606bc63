//! Acknowledgements as congestion controls of all transports see them.

use crate::units::Time;

/// An acknowledgement, and what its connection has in flight: of new data, or a duplicate. Bytes are payload.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Bytes that it acknowledges; 0: a duplicate.
    pub acked: u64,
    pub now: Time,
    /// Time since the transmission of the packet that it acknowledges; of several packets, which one is the transport's
    /// choice.
    pub rtt: Time,
    /// Bytes sent and not acknowledged before this acknowledgement.
    pub in_flight: u64,
    /// Whether it echoes a mark.
    pub marked: bool,
    /// Everything before this byte is acknowledged, with it.
    pub una: u64,
    /// Everything before this byte has been sent.
    pub next: u64,
    /// Hops that the acknowledgement has taken.
    pub hops: u8,
}
