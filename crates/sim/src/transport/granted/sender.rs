//! The sending end of a message: unscheduled packets at once, then a packet for each that is granted.

use std::collections::VecDeque;

use super::cut::Cut;
use super::{Terms, kind};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Toward};
use crate::engine::contract::packet::{Header, Packet, flag};
use crate::ids::ConnId;
use crate::transport::backoff::Backoff;
use crate::units::Time;

/// The sender's timer.
pub const PROBE: u8 = 0;

/// The class of retransmissions (ours): the highest.
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
    /// Grants that are not used up: packets before that number have that class.
    grants: VecDeque<(u32, u8)>,
    /// Ranges of packets to retransmit.
    again: VecDeque<(u32, u32)>,
    /// For probes.
    backoff: Backoff,
}

impl Sender {
    /// Starts over for another message, so much of which goes without a grant, with the memory of the one before.
    pub fn reset(&mut self, terms: &Terms, size: u64, unscheduled: u64) {
        let (mut grants, mut again) = (std::mem::take(&mut self.grants), std::mem::take(&mut self.again));
        grants.clear();
        again.clear();
        let (packets, granted) =
            (terms.cut.packets(size, unscheduled), terms.cut.packets_unscheduled(unscheduled));
        *self = Sender { size, unscheduled, packets, granted, grants, again, ..Sender::default() };
    }

    /// Whether a packet may be sent.
    #[inline]
    pub fn may_send(&self) -> bool {
        self.next < self.granted || !self.again.is_empty()
    }

    /// Bytes that are left to send: the message with the fewest goes first.
    #[inline]
    pub fn left(&self, cut: &Cut) -> u64 {
        self.size - self.offset(self.next, cut)
    }

    /// Bytes of the message before the packet of that number.
    fn offset(&self, number: u32, cut: &Cut) -> u64 {
        if number == self.packets { self.size } else { cut.piece(self.size, self.unscheduled, number).offset }
    }

    /// Bytes on the wire of the packets that are granted and have not been sent.
    pub fn held(&self, cut: &Cut) -> u64 {
        let first = self.next.max(cut.packets_unscheduled(self.unscheduled));
        if first >= self.granted {
            return 0;
        }
        cut.scheduled_wire(self.offset(self.granted, cut) - self.offset(first, cut))
    }

    /// Whether packets are left that have never been sent.
    pub fn is_open(&self) -> bool {
        self.next < self.packets
    }

    /// A grant: packets before that number may be sent at a class. One that was overtaken by a later one says nothing new.
    pub fn on_grant(&mut self, header: &Header) {
        let (end, class) = (header.number, header.len as u8);
        self.backoff.reset();
        if end > self.granted {
            self.granted = end;
            self.grants.push_back((end, class));
        }
    }

    /// A request for packets: those that have been sent are retransmitted; for those that have not, the sender is busy with
    /// shorter messages, or their grant was lost, and this is one.
    #[cold]
    pub fn on_resend(&mut self, id: ConnId, header: &Header, terms: &Terms, cx: &mut impl Host) {
        let (first, end) = (header.number, header.seq as u32);
        self.backoff.reset();
        if end > self.granted {
            self.granted = end;
            self.grants.push_back((end, RETRANSMISSION));
        }
        let sent = (first, end.min(self.next));
        if sent.0 >= sent.1 {
            return cx.send_to_receiver(id, terms.control, self.control(kind::BUSY));
        }
        if !self.again.iter().any(|(_, end)| *end > first) {
            cx.sender(id).timeouts += 1;
            self.again.push_back(sent);
        }
    }

    fn control(&self, kind: u8) -> Header {
        Header { kind, seq: self.size, ack: self.unscheduled, ..Header::default() }
    }

    /// The next packet, which may be sent: retransmissions first. `unscheduled` is the class of packets without a grant, by the
    /// size of the message and the bytes before the packet.
    #[inline]
    pub fn next_packet(
        &mut self,
        id: ConnId,
        terms: &Terms,
        unscheduled: impl FnOnce(u64, u64) -> u8,
        cx: &mut impl Host,
    ) -> Packet {
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
        let piece = terms.cut.piece(self.size, self.unscheduled, number);
        let counts = cx.sender(id);
        counts.packets_sent += 1;
        counts.retransmissions += u32::from(!is_new);
        let header = Header {
            kind: if number + 1 == self.packets { kind::LAST } else { kind::DATA },
            class: self.class((number, is_new), piece.offset, unscheduled),
            len: piece.len as u16,
            number,
            seq: self.size,
            ack: self.unscheduled,
        };
        let is_unscheduled = is_new && piece.offset < self.unscheduled;
        let flags = if is_unscheduled { flag::DROPPABLE } else { 0 };
        let packet = cx.packet(id, Toward::Receiver, piece.wire as u32, flags, header);
        if !self.may_send() {
            self.rest(id, terms, cx);
        }
        packet
    }

    /// The class of a packet.
    fn class(
        &mut self,
        (number, is_new): (u32, bool),
        offset: u64,
        unscheduled: impl FnOnce(u64, u64) -> u8,
    ) -> u8 {
        if !is_new {
            return RETRANSMISSION;
        }
        if offset < self.unscheduled {
            return unscheduled(self.size, offset);
        }
        while self.grants.front().is_some_and(|(end, _)| *end <= number) {
            self.grants.pop_front();
        }
        self.grants.front().expect("it has been granted").1
    }

    /// Nothing may be sent: the message ends, if nothing acknowledges it, or waits.
    fn rest(&mut self, id: ConnId, terms: &Terms, cx: &mut impl Host) {
        if terms.acknowledge {
            self.restart_timer(id, terms, cx);
        } else if self.next == self.packets {
            cx.finish(id);
        }
    }

    fn restart_timer(&mut self, id: ConnId, terms: &Terms, cx: &mut impl Host) {
        self.backoff.restart(Time(2 * terms.resend_interval.0), Owner::Sender(id), PROBE, cx);
    }

    /// Nothing has come from the receiver for two intervals: the message may be unknown to it, or its acknowledgement was
    /// lost.
    pub fn on_timer(&mut self, id: ConnId, terms: &Terms, cx: &mut impl Host) {
        if !self.backoff.is_due(Owner::Sender(id), PROBE, cx) || self.may_send() {
            return;
        }
        self.backoff.double();
        self.probe(id, terms, cx);
    }

    /// Announces the message to its receiver, and asks whether anything is missing of it.
    pub fn probe(&mut self, id: ConnId, terms: &Terms, cx: &mut impl Host) {
        cx.send_to_receiver(id, terms.control, self.control(kind::PROBE));
        self.restart_timer(id, terms, cx);
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
