//! The sending end of a message: unscheduled packets at once, then a packet for each that is granted.

use std::collections::VecDeque;

use super::{Plan, kind};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Toward};
use crate::engine::contract::packet::{Header, Packet};
use crate::ids::ConnId;
use crate::transport::backoff::Backoff;
use crate::units::Time;

/// The sender's timer.
pub const PROBE: u8 = 0;

/// The level of retransmissions (ours): the highest.
const RETRANSMISSION: u8 = 0;

/// The sending end of a message.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    size: u64,
    unscheduled: u64,
    /// Number of packets in all, and of the next one that has not been sent.
    packets: u32,
    next: u32,
    /// Packets that may be sent: unscheduled and granted ones.
    granted: u32,
    /// Grants that are not used up: packets before that number have that level.
    grants: VecDeque<(u32, u8)>,
    /// Ranges of packets to retransmit.
    again: VecDeque<(u32, u32)>,
    /// For probes.
    backoff: Backoff,
}

impl Sender {
    /// Starts over for another message, with the memory of the one before.
    pub fn reset(&mut self, plan: &Plan, size: u64) {
        let (mut grants, mut again) = (std::mem::take(&mut self.grants), std::mem::take(&mut self.again));
        grants.clear();
        again.clear();
        let unscheduled = plan.cut.unscheduled_of(size);
        let (packets, granted) =
            (plan.cut.packets(size, unscheduled), plan.cut.packets_unscheduled(unscheduled));
        *self = Sender { size, unscheduled, packets, granted, grants, again, ..Sender::default() };
    }

    /// Whether a packet may be sent.
    #[inline]
    pub fn may_send(&self) -> bool {
        self.next < self.granted || !self.again.is_empty()
    }

    /// Bytes that are left to send: the message with the fewest goes first.
    #[inline]
    pub fn left(&self, plan: &Plan) -> u64 {
        if self.next == self.packets {
            return 0;
        }
        self.size - plan.cut.piece(self.size, self.unscheduled, self.next).offset
    }

    /// A grant: packets before that number may be sent at a level. One that was overtaken by a later one says nothing new.
    pub fn on_grant(&mut self, header: &Header) {
        let (end, level) = (header.number, header.len as u8);
        self.backoff.reset();
        if end > self.granted {
            self.granted = end;
            self.grants.push_back((end, level));
        }
    }

    /// A request for packets: those that have been sent are retransmitted; for those that have not, the sender is busy with
    /// shorter messages, or their grant was lost, and this is one.
    #[cold]
    pub fn on_resend(&mut self, id: ConnId, header: &Header, plan: &Plan, cx: &mut impl Host) {
        let (first, end) = (header.number, header.seq as u32);
        self.backoff.reset();
        if end > self.granted {
            self.granted = end;
            self.grants.push_back((end, RETRANSMISSION));
        }
        let sent = (first, end.min(self.next));
        if sent.0 >= sent.1 {
            return cx.send_to_receiver(id, plan.control, self.control(kind::BUSY));
        }
        if !self.again.iter().any(|(_, end)| *end > first) {
            cx.sender(id).timeouts += 1;
            self.again.push_back(sent);
        }
    }

    fn control(&self, kind: u8) -> Header {
        Header { kind, seq: self.size, ack: self.unscheduled, ..Header::default() }
    }

    /// The next packet, which may be sent: retransmissions first.
    #[inline]
    pub fn next_packet(&mut self, id: ConnId, plan: &Plan, cx: &mut impl Host) -> Packet {
        let (number, is_new) = match self.again.front_mut() {
            Some((first, end)) => {
                let number = *first;
                *first += 1;
                if *first == *end {
                    self.again.pop_front();
                }
                (number, false)
            }
            None => {
                self.next += 1;
                (self.next - 1, true)
            }
        };
        let piece = plan.cut.piece(self.size, self.unscheduled, number);
        let counts = cx.sender(id);
        counts.packets_sent += 1;
        counts.retransmissions += u32::from(!is_new);
        let header = Header {
            kind: if number + 1 == self.packets { kind::LAST } else { kind::DATA },
            class: if is_new { self.level(number, piece.offset, plan) } else { RETRANSMISSION },
            len: piece.len as u16,
            number,
            seq: self.size,
            ack: self.unscheduled,
        };
        let packet = cx.packet(id, Toward::Receiver, piece.wire as u32, 0, header);
        if !self.may_send() {
            self.rest(id, plan, cx);
        }
        packet
    }

    /// The level of a new packet.
    fn level(&mut self, number: u32, offset: u64, plan: &Plan) -> u8 {
        if offset < self.unscheduled {
            return plan.unscheduled_level(self.size, offset);
        }
        while self.grants.front().is_some_and(|(end, _)| *end <= number) {
            self.grants.pop_front();
        }
        self.grants.front().expect("it has been granted").1
    }

    /// Nothing may be sent: the message ends, if nothing acknowledges it, or waits.
    fn rest(&mut self, id: ConnId, plan: &Plan, cx: &mut impl Host) {
        if plan.acknowledge {
            self.restart_timer(id, plan, cx);
        } else if self.next == self.packets {
            cx.finish(id);
        }
    }

    fn restart_timer(&mut self, id: ConnId, plan: &Plan, cx: &mut impl Host) {
        self.backoff.restart(Time(2 * plan.resend_interval.0), Owner::Sender(id), PROBE, cx);
    }

    /// Nothing has come from the receiver for two intervals: the message may be unknown to it, or its acknowledgement was
    /// lost.
    pub fn on_timer(&mut self, id: ConnId, plan: &Plan, cx: &mut impl Host) {
        if !self.backoff.is_due(Owner::Sender(id), PROBE, cx) || self.may_send() {
            return;
        }
        self.backoff.double();
        cx.send_to_receiver(id, plan.control, self.control(kind::PROBE));
        self.restart_timer(id, plan, cx);
    }

    /// All bytes have arrived.
    pub fn on_ack(&mut self, id: ConnId, cx: &mut impl Host) {
        self.backoff.clear();
        self.next = self.packets;
        self.granted = self.packets;
        self.again.clear();
        cx.acknowledged(id);
        cx.finish(id);
    }

    /// Inconsistencies of the sender's own counters, if there are any.
    pub fn audit(&self) -> Option<String> {
        let wrong = self.next > self.granted || self.granted > self.packets;
        wrong.then(|| format!("{} packets sent, {} granted of {}", self.next, self.granted, self.packets))
    }
}
