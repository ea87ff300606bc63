//! The ends of a flow whose packets go with tokens of its receiver: for pHost and dcPIM.
//!
//! A sender requests to send, and asks again until something comes. The first packets of a flow may need no token; then one goes
//! for each token that has not expired. A receiver gives tokens for the packets that have not arrived.

use std::collections::VecDeque;

use super::backoff::Backoff;
use super::delivery::Delivery;
use super::reassembly::{Arrival, Reassembly, Record};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Toward};
use crate::engine::contract::packet::{Header, Packet, flag};
use crate::ids::ConnId;
use crate::units::Time;

/// The sender's timer.
pub const REQUEST: u8 = 0;

/// Values of `Header::kind`; those of a transport's own follow from 5 on. Data: `seq` is the size of the flow, as in a request to
/// send, `ack` the number of the token that it answers.
pub mod kind {
    pub const DATA: u8 = 0;
    pub const LAST: u8 = 1;
    pub const RTS: u8 = 2;
    pub const TOKEN: u8 = 3;
    pub const ACK: u8 = 4;
}

/// The packets of a transport.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Bytes of a full packet.
    pub payload: u64,
    /// Bytes on the wire of a full packet, and of one without payload.
    pub full: u32,
    pub control: u32,
    /// Whether the last packet of a flow is as long as a full one.
    pub pad_last: bool,
    /// From a request to the next, before doubling.
    pub request_interval: Time,
}

impl Format {
    /// Number of packets of a flow.
    pub fn packets(&self, size: u64) -> u32 {
        u32::try_from(size.div_ceil(self.payload)).unwrap_or(u32::MAX)
    }

    /// Bytes on the wire of a packet with so much payload.
    fn wire(&self, len: u16) -> u32 {
        if self.pad_last { self.full } else { u32::from(len) + self.control }
    }
}

/// A token that has come.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    pub packet: u32,
    /// Its number, which the packet carries.
    pub number: u32,
    pub expires: Time,
    /// That of its packet at the host.
    pub rank: u64,
}

/// The packets and tokens of a sender.
#[derive(Clone, Debug, Default)]
pub struct Tokened {
    size: u64,
    packets: u32,
    /// Packets that need no token, and those of them that have been sent.
    free: u32,
    free_sent: u32,
    tokens: VecDeque<Token>,
    /// Packets that have been sent, and how many.
    sent: Reassembly,
    packets_sent: u32,
    /// For requests.
    backoff: Backoff,
}

impl Tokened {
    /// Starts over for a flow of which so many packets need no token, with the memory of the one before.
    pub fn reset(&mut self, size: u64, packets: u32, free: u32) {
        let (mut tokens, mut sent) = (std::mem::take(&mut self.tokens), std::mem::take(&mut self.sent));
        tokens.clear();
        sent.clear();
        *self = Tokened { size, packets, free, tokens, sent, ..Tokened::default() };
    }

    /// Packets of the flow.
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// Packets that have not been sent.
    pub fn left(&self) -> u32 {
        self.packets - self.packets_sent
    }

    /// Whether the next packet needs no token.
    pub fn is_free(&self) -> bool {
        self.free_sent < self.free
    }

    /// From now on every packet needs a token.
    pub fn end_free(&mut self) {
        self.free_sent = self.free;
    }

    /// The token of the next packet that needs one, unless it expires before.
    pub fn token(&self) -> Option<&Token> {
        self.tokens.front()
    }

    /// The request that opens a flow, and asks again if nothing comes.
    pub fn request(&mut self, id: ConnId, format: &Format, cx: &mut impl Host) {
        let header = Header { kind: kind::RTS, seq: self.size, ..Header::default() };
        cx.send_to_receiver(id, format.control, header);
        self.restart_timer(id, format, cx);
    }

    fn restart_timer(&mut self, id: ConnId, format: &Format, cx: &mut impl Host) {
        self.backoff.restart(format.request_interval, Owner::Sender(id), REQUEST, cx);
    }

    /// Nothing has come from the receiver for an interval.
    pub fn on_timer(&mut self, id: ConnId, format: &Format, cx: &mut impl Host) {
        if self.backoff.is_due(Owner::Sender(id), REQUEST, cx) {
            self.backoff.double();
            self.request(id, format, cx);
        }
    }

    /// A token has come.
    pub fn on_token(&mut self, id: ConnId, token: Token, format: &Format, cx: &mut impl Host) {
        self.tokens.push_back(token);
        self.backoff.reset();
        self.restart_timer(id, format, cx);
    }

    /// The next packet, if no token for it has expired: first those that need none.
    pub fn next_packet(
        &mut self,
        id: ConnId,
        class: u8,
        format: &Format,
        cx: &mut impl Host,
    ) -> Option<Packet> {
        let (packet, token, flags) = if self.is_free() {
            self.free_sent += 1;
            (self.free_sent - 1, self.free_sent, flag::DROPPABLE)
        } else {
            let now = cx.now();
            while self.tokens.front().is_some_and(|token| token.expires < now) {
                self.tokens.pop_front();
            }
            let token = self.tokens.pop_front()?;
            (token.packet, token.number, 0)
        };
        let offset = u64::from(packet) * format.payload;
        let len = format.payload.min(self.size - offset) as u16;
        let again = self.sent.receive(packet, len) == Arrival::Duplicate;
        self.packets_sent += u32::from(!again);
        let counts = cx.sender(id);
        counts.packets_sent += 1;
        counts.retransmissions += u32::from(again);
        let header = Header {
            kind: if packet + 1 == self.packets { kind::LAST } else { kind::DATA },
            class,
            len,
            number: packet,
            seq: self.size,
            ack: u64::from(token),
        };
        Some(cx.packet(id, Toward::Receiver, format.wire(len), flags, header))
    }

    /// All bytes have arrived.
    pub fn on_ack(&mut self, id: ConnId, cx: &mut impl Host) {
        self.backoff.clear();
        self.tokens.clear();
        self.end_free();
        cx.acknowledged(id);
        cx.finish(id);
    }

    /// Inconsistencies of the sender's own counters, if there are any.
    pub fn audit(&self) -> Option<String> {
        let Tokened { packets, packets_sent, free, free_sent, .. } = self;
        let wrong = free_sent > free || packets_sent > packets;
        wrong.then(|| format!("{packets_sent} of {packets} packets sent, {free_sent} of {free} free"))
    }
}

/// The receiving end of a flow.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    pub delivery: Delivery,
    /// Number of packets; 0 before the first one has come.
    pub packets: u32,
    /// The interface that sends its tokens, that of its first packet, by the number of its link.
    pub link: u32,
}

impl Receiver {
    /// Starts over for another flow.
    pub fn clear(&mut self) {
        self.delivery.clear();
        self.packets = 0;
    }

    /// The first packet from `number` on that has not arrived; from the first of the flow on where there is none.
    pub fn missing(&self, number: u32) -> u32 {
        let found = self.missing_from(number).or_else(|| self.missing_from(0));
        found.expect("a complete flow gets no tokens")
    }

    /// The first packet from `number` on that has not arrived, if there is one.
    pub fn missing_from(&self, number: u32) -> Option<u32> {
        (number.max(self.delivery.next())..self.packets).find(|number| !self.delivery.has(*number))
    }
}
