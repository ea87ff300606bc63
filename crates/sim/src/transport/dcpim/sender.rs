//! The sending end of dcPIM: a request, the packets of a short flow, then a packet for each token that has not expired.

use std::collections::VecDeque;

use super::kind;
use super::matching::FIRST_RANK;
use super::settings::Plan;
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Toward};
use crate::engine::contract::packet::{Header, Packet};
use crate::ids::ConnId;
use crate::transport::backoff::Backoff;
use crate::transport::reassembly::{Arrival, Reassembly, Record};
use crate::units::Time;

/// The sender's timer.
pub const REQUEST: u8 = 0;

/// Bits of a rank below that of the token: when it came.
const RANK_AT: u32 = 56;

/// A token that has come.
#[derive(Clone, Copy, Debug)]
struct Token {
    packet: u32,
    /// Its number, which the packet carries.
    number: u32,
    expires: Time,
    rank: u64,
}

/// The sending end of a flow.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    size: u64,
    packets: u32,
    class: u8,
    began: Time,
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

/// The rank of a packet at its host: by that of its token, then by the time at which that came.
fn rank(of_token: u8, came: Time) -> u64 {
    u64::from(of_token) << RANK_AT | came.0.min((1 << RANK_AT) - 1)
}

impl Sender {
    /// Starts over for another flow, with the memory of the one before.
    pub fn reset(&mut self, plan: &Plan, size: u64, now: Time) {
        let (mut tokens, mut sent) = (std::mem::take(&mut self.tokens), std::mem::take(&mut self.sent));
        tokens.clear();
        sent.clear();
        let packets = plan.packets(size);
        *self = Sender {
            size,
            packets,
            class: plan.class(packets),
            began: now,
            free: plan.free(packets),
            tokens,
            sent,
            ..Sender::default()
        };
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

    /// The rank of its next packet, if it may send one: the lowest goes first. A short flow's own go before those of tokens.
    pub fn rank(&self) -> Option<u64> {
        if self.free_sent < self.free {
            return Some(rank(FIRST_RANK - 1, self.began));
        }
        self.tokens.front().map(|token| token.rank)
    }

    /// A token, of that rank.
    pub fn on_token(&mut self, id: ConnId, header: &Header, of_token: u8, plan: &Plan, cx: &mut impl Host) {
        let (number, expires) = (header.ack as u32, Time(header.seq));
        let token = Token { packet: header.number, number, expires, rank: rank(of_token, cx.now()) };
        self.tokens.push_back(token);
        self.backoff.reset();
        self.restart_timer(id, plan, cx);
    }

    /// The next packet, if no token for it has expired: first those that need none.
    pub fn next_packet(&mut self, id: ConnId, plan: &Plan, cx: &mut impl Host) -> Option<Packet> {
        let (packet, token) = if self.free_sent < self.free {
            self.free_sent += 1;
            (self.free_sent - 1, self.free_sent)
        } else {
            let now = cx.now();
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
            class: self.class,
            len,
            number: packet,
            seq: self.size,
            ack: u64::from(token),
        };
        Some(cx.packet(id, Toward::Receiver, plan.wire(len), 0, header))
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
