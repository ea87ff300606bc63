//! The sending end of pHost: a request, the first packets of a short flow, then a packet for each token that has not expired.

use std::collections::VecDeque;

use super::tokens::slots;
use super::{Plan, kind};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Toward};
use crate::engine::contract::packet::{Header, Packet};
use crate::ids::ConnId;
use crate::transport::backoff::Backoff;
use crate::transport::reassembly::{Arrival, Reassembly, Record};
use crate::units::Time;

/// The sender's timer.
pub const REQUEST: u8 = 0;

/// A token that has come.
#[derive(Clone, Copy, Debug)]
struct Token {
    packet: u32,
    /// Its number, which the packet carries.
    number: u32,
    expires: Time,
}

/// The sending end of a flow.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    size: u64,
    packets: u32,
    /// Packets that go with the tokens that a flow begins with, and those of them that have been sent.
    free: u32,
    free_sent: u32,
    /// When free tokens that have not been used expire.
    free_expires: Time,
    tokens: VecDeque<Token>,
    /// Packets that have been sent, and how many.
    sent: Reassembly,
    packets_sent: u32,
    /// For requests.
    backoff: Backoff,
}

impl Sender {
    /// Starts over for another flow, with the memory of the one before.
    pub fn reset(&mut self, id: ConnId, plan: &Plan, size: u64, cx: &mut impl Host) {
        let (mut tokens, mut sent) = (std::mem::take(&mut self.tokens), std::mem::take(&mut self.sent));
        tokens.clear();
        sent.clear();
        let packets = plan.packets(size);
        let (free, slot) = (plan.free(packets), cx.transmission(cx.port(id), plan.full));
        let free_expires = cx.now().saturating_add(slots(slot, f64::from(free) + plan.token_expiry));
        *self = Sender { size, packets, free, free_expires, tokens, sent, ..Sender::default() };
    }

    /// The request that opens a flow, and asks again if nothing comes.
    pub fn request(&mut self, id: ConnId, plan: &Plan, cx: &mut impl Host) {
        cx.send_to_receiver(
            id,
            plan.control,
            Header { kind: kind::RTS, seq: self.size, ..Header::default() },
        );
        self.restart_timer(id, plan, cx);
    }

    fn restart_timer(&mut self, id: ConnId, plan: &Plan, cx: &mut impl Host) {
        self.backoff.restart(plan.request_interval, Owner::Sender(id), REQUEST, cx);
    }

    /// Nothing has come from the receiver for an interval.
    pub fn on_timer(&mut self, id: ConnId, plan: &Plan, cx: &mut impl Host) {
        if self.backoff.is_due(Owner::Sender(id), REQUEST, cx) {
            self.backoff.double();
            self.request(id, plan, cx);
        }
    }

    /// Whether a packet may be sent, unless tokens expire before.
    pub fn may_send(&self) -> bool {
        self.free_sent < self.free || !self.tokens.is_empty()
    }

    /// Packets that have not been sent: the flow with the fewest goes first.
    pub fn left(&self) -> u64 {
        u64::from(self.packets - self.packets_sent)
    }

    /// A token.
    pub fn on_token(&mut self, id: ConnId, header: &Header, plan: &Plan, cx: &mut impl Host) {
        let slot = cx.transmission(cx.port(id), plan.full);
        let expires = cx.now().saturating_add(slots(slot, plan.token_expiry));
        self.tokens.push_back(Token { packet: header.number, number: header.seq as u32, expires });
        self.backoff.reset();
        self.restart_timer(id, plan, cx);
    }

    /// The next packet, if no token for it has expired: first those that need none.
    pub fn next_packet(&mut self, id: ConnId, plan: &Plan, cx: &mut impl Host) -> Option<Packet> {
        let now = cx.now();
        if self.free_expires < now {
            self.free_sent = self.free;
        }
        let (packet, token) = if self.free_sent < self.free {
            self.free_sent += 1;
            (self.free_sent - 1, self.free_sent)
        } else {
            while self.tokens.front().is_some_and(|token| token.expires < now) {
                self.tokens.pop_front();
            }
            let token = self.tokens.pop_front()?;
            (token.packet, token.number)
        };
        let offset = u64::from(packet) * plan.payload;
        let len = plan.payload.min(self.size - offset) as u16;
        let again = self.sent.receive(packet, len) == Arrival::Duplicate;
        self.packets_sent += u32::from(!again);
        let counts = cx.sender(id);
        counts.packets_sent += 1;
        counts.retransmissions += u32::from(again);
        let header = Header {
            kind: if packet + 1 == self.packets { kind::LAST } else { kind::DATA },
            class: plan.class(self.packets),
            len,
            number: packet,
            seq: self.size,
            ack: u64::from(token),
        };
        Some(cx.packet(id, Toward::Receiver, u32::from(len) + plan.control, 0, header))
    }

    /// All bytes have arrived.
    pub fn on_ack(&mut self, id: ConnId, cx: &mut impl Host) {
        self.backoff.clear();
        self.tokens.clear();
        self.free_sent = self.free;
        cx.acknowledged(id);
        cx.finish(id);
    }

    /// Inconsistencies of the sender's own counters, if there are any.
    pub fn audit(&self) -> Option<String> {
        let wrong = self.free_sent > self.free || self.packets_sent > self.packets;
        wrong.then(|| {
            format!(
                "{} of {} packets sent, {} of {} free",
                self.packets_sent, self.packets, self.free_sent, self.free
            )
        })
    }
}
