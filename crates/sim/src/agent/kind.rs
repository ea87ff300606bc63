//! Kinds of packets of transports with a given rate (`transport/paced`), as agents see them: `Header::kind`.
//!
//! Packets to the receiver: `ack` is when they were made, in ps; data: `number` is its place in the
//! flow in packets; SYN: `seq` is the flow's size. Answers: `number` and `ack` are those of the packet that they answer, `seq`
//! is the number of the first packet that is missing.

/// Data without a request.
pub const DATA: u8 = 0;
/// Data with a request.
pub const DATA_ASKS: u8 = 1;
/// A request without payload.
pub const ASK: u8 = 2;
/// The flow begins.
pub const SYN: u8 = 3;
/// The flow is over.
pub const FIN: u8 = 4;
/// The flow is over: its sender has given it up.
pub const TERM: u8 = 5;
/// Acknowledges data without a request.
pub const ACK: u8 = 6;
/// Replies to data with a request, and acknowledges it.
pub const DATA_ANSWER: u8 = 7;
/// Replies to a request without payload.
pub const ANSWER: u8 = 8;
/// Answers FIN or TERM.
pub const FIN_ANSWER: u8 = 9;
/// Answers a SYN.
pub const SYN_ANSWER: u8 = 10;
/// Replies to data with a request that a full port has trimmed to its header.
pub const CUT_ANSWER: u8 = 11;

/// Whether a packet to a receiver carries a request, and so is for agents.
#[inline]
pub fn asks(kind: u8) -> bool {
    kind != DATA
}
