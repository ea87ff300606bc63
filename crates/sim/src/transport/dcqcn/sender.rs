//! The sending end: packets one by one at the flow's rate, and again from where one was missing.

use super::rate::Reaction;
use super::{Dcqcn, kind};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Timer, Toward};
use crate::engine::contract::packet::{Header, Packet, flag};
use crate::ids::ConnId;
use crate::units::Time;

/// Timer: the next packet may go.
pub const PACE: u8 = 0;
/// Timer: nothing has been acknowledged for too long.
pub const RETRANSMIT: u8 = 2;

/// The sender of one flow. Packets are numbered from 0.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    size: u64,
    /// The next one to send.
    next: u32,
    /// The first one that has not been acknowledged.
    una: u32,
    /// One more than the last one sent so far.
    sent: u32,
    /// How many there are.
    end: u32,
    rate: Reaction,
    /// The next one goes no earlier.
    next_at: Time,
    pace: Timer,
    retransmit: Timer,
}

impl Sender {
    /// The sender of a flow of so many bytes.
    pub fn new(id: ConnId, size: u64, config: &Dcqcn, cx: &mut impl Host) -> Sender {
        let line = cx.rate(cx.port(id));
        // Only an endless flow has more packets than numbers, and no run comes to their end.
        let end = u32::try_from(size.div_ceil(config.payload.0)).unwrap_or(u32::MAX);
        Sender { size, end, rate: Reaction::new(line, config), ..Sender::default() }
    }

    /// Takes the flow's turn if its next packet may go, else when it may.
    fn wait_for_turn(&mut self, id: ConnId, cx: &mut impl Host) {
        if self.next_at <= cx.now() {
            cx.ready(id);
        } else {
            cx.set_timer(&mut self.pace, self.next_at, Owner::Sender(id), PACE);
        }
    }

    /// The wire is free.
    pub fn next_packet(&mut self, id: ConnId, config: &Dcqcn, cx: &mut impl Host) -> (Option<Packet>, bool) {
        // Packets acknowledged meanwhile need not be retransmitted.
        self.next = self.next.max(self.una);
        if self.next == self.end {
            return (None, false);
        }
        let now = cx.now();
        self.rate.set_line(cx.rate(cx.port(id)));
        self.rate.catch_up(now, config);
        let seq = u64::from(self.next) * config.payload.0;
        let len = (self.size - seq).min(config.payload.0);
        let last = self.next + 1 == self.end;
        let header = Header {
            kind: if last { kind::LAST } else { kind::DATA },
            class: config.data_class as u8,
            len: len as u16,
            number: self.next,
            seq,
            ack: 0,
        };
        let size = (len + config.header_bytes.0) as u32;
        let packet = cx.packet(id, Toward::Receiver, size, flag::ECN_CAPABLE, header);
        let counts = cx.sender(id);
        counts.packets_sent += 1;
        counts.retransmissions += u32::from(self.next < self.sent);
        self.next += 1;
        self.sent = self.sent.max(self.next);
        self.rate.on_sent(size, config);
        let gap = self.rate.gap(size);
        self.next_at = now.saturating_add(gap);
        if !self.retransmit.is_set() && self.is_owed(config) {
            cx.set_timer(
                &mut self.retransmit,
                now.saturating_add(config.timeout),
                Owner::Sender(id),
                RETRANSMIT,
            );
        }
        if last {
            return (Some(packet), false);
        }
        // The port calls again when the packet has been transmitted.
        let more = gap <= cx.transmission(cx.port(id), size);
        if !more {
            self.wait_for_turn(id, cx);
        }
        (Some(packet), more)
    }

    /// An acknowledgement, a request to go back, or a notification.
    pub fn on_packet(&mut self, packet: &Packet, config: &Dcqcn, cx: &mut impl Host) {
        let (id, number) = (packet.conn, packet.header.number);
        if self.una == self.end {
            return;
        }
        if packet.header.kind == kind::CNP {
            self.rate.set_line(cx.rate(cx.port(id)));
            self.rate.on_notification(cx.now(), config);
            return;
        }
        if number > self.una {
            self.una = number;
            if self.is_owed(config) {
                cx.set_timer(
                    &mut self.retransmit,
                    cx.now().saturating_add(config.timeout),
                    Owner::Sender(id),
                    RETRANSMIT,
                );
            } else {
                self.retransmit.clear();
            }
        }
        if self.una == self.end {
            self.retransmit.clear();
            self.pace.clear();
            cx.acknowledged(id);
            cx.finish(id);
        } else if packet.header.kind == kind::NAK && number == self.una {
            self.go_back(id, cx);
        }
    }

    /// Whether an acknowledgement is to come: for a last packet of `ack_every`, or of the flow.
    #[inline]
    fn is_owed(&self, config: &Dcqcn) -> bool {
        if config.ack_every == 1 {
            return self.sent > self.una;
        }
        let last = self.sent - self.sent.checked_rem(config.ack_every).unwrap_or(self.sent);
        self.sent == self.end || last > self.una
    }

    fn go_back(&mut self, id: ConnId, cx: &mut impl Host) {
        self.next = self.una;
        self.wait_for_turn(id, cx);
    }

    /// The next packet may go.
    pub fn on_pace(&mut self, id: ConnId, cx: &mut impl Host) {
        if cx.timer_is_due(&mut self.pace, Owner::Sender(id), PACE) {
            cx.ready(id);
        }
    }

    /// Nothing has been acknowledged for too long.
    pub fn on_timeout(&mut self, id: ConnId, config: &Dcqcn, cx: &mut impl Host) {
        if cx.timer_is_due(&mut self.retransmit, Owner::Sender(id), RETRANSMIT) {
            cx.sender(id).timeouts += 1;
            cx.set_timer(
                &mut self.retransmit,
                cx.now().saturating_add(config.timeout),
                Owner::Sender(id),
                RETRANSMIT,
            );
            self.go_back(id, cx);
        }
    }
}
