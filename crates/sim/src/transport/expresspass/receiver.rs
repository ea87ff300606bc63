//! The receiving end of ExpressPass: credits at a rate of its own, from a request to the last byte.

use super::feedback::Feedback;
use super::{Plan, kind};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Timer};
use crate::engine::contract::packet::{CREDIT, Header, Packet};
use crate::ids::ConnId;
use crate::random::{Purpose, Stream};
use crate::transport::delivery::Delivery;
use crate::units::Time;

/// The receiver's timer.
pub const CREDITS: u8 = 1;

/// The receiving end of a flow.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    pub delivery: Delivery,
    feedback: Feedback,
    /// Credits that have been sent; the next one has this number.
    sent: u32,
    /// Whether a request has come.
    begun: bool,
    /// How often the sender was to go back.
    round: u32,
    stream: Stream,
    timer: Timer,
}

impl Receiver {
    /// Starts over for another flow, with the memory of the one before.
    pub fn reset(&mut self) {
        let mut delivery = std::mem::take(&mut self.delivery);
        delivery.clear();
        *self = Receiver { delivery, ..Receiver::default() };
    }

    /// A request: the first one begins the credits.
    pub fn on_request(&mut self, id: ConnId, size: u64, plan: &Plan, cx: &mut impl Host) {
        if self.delivery.is_complete() {
            return self.answer(id, kind::ACK, plan, cx);
        }
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        self.stream = cx.flow_stream(Purpose::Packets, cx.conn(id).key);
        self.feedback = Feedback::new(plan.first_rate(size), cx.now(), &plan.rules);
        self.send_credit(id, plan, cx);
    }

    /// Sends a credit, and sets the timer to the next one.
    fn send_credit(&mut self, id: ConnId, plan: &Plan, cx: &mut impl Host) {
        let (now, slot) = (cx.now(), cx.transmission(cx.port(id), plan.credit_bytes + plan.full));
        self.feedback.change(now, slot, &plan.rules);
        let header =
            Header { kind: kind::CREDIT, class: CREDIT, number: self.sent, ack: now.0, ..Header::default() };
        self.sent += 1;
        cx.send_to_sender(id, plan.credit_bytes, header);
        let gap = self.feedback.gap(slot);
        let gap = match plan.jitter {
            0.0 => gap,
            jitter => gap * (1.0 + jitter * (2.0 * self.stream.unit() - 1.0)),
        };
        let due = now + Time(gap.round().max(1.0) as u64);
        cx.set_timer(&mut self.timer, due, Owner::Receiver(id), CREDITS);
    }

    /// The next credit may be due.
    pub fn on_timer(&mut self, id: ConnId, plan: &Plan, cx: &mut impl Host) {
        if cx.timer_is_due(&mut self.timer, Owner::Receiver(id), CREDITS) {
            self.send_credit(id, plan, cx);
        }
    }

    /// A data packet.
    #[inline]
    pub fn on_data(&mut self, packet: &Packet, plan: &Plan, cx: &mut impl Host) {
        let Packet { conn: id, header: Header { kind, number, len, seq, ack, .. }, .. } = *packet;
        cx.note_arrival(packet);
        let (credit, round) = kind::answered(seq);
        self.feedback.answered(credit, Time(ack), cx.now());
        let delivered = self.delivery.receive(id, number, len, kind == kind::LAST, cx);
        if delivered.completes {
            self.timer.clear();
        }
        if self.delivery.is_complete() {
            // A sender that has gone back may go on to send what is here already. Otherwise its stop follows.
            if self.round > 0 {
                self.answer(id, kind::ACK, plan, cx);
            }
        } else if number > self.delivery.next() && round == self.round {
            self.go_back(id, plan, cx);
        }
    }

    /// The sender has nothing left to send.
    pub fn on_stop(&mut self, id: ConnId, round: u32, plan: &Plan, cx: &mut impl Host) {
        if self.delivery.is_complete() {
            self.answer(id, kind::ACK, plan, cx);
        } else if round == self.round {
            self.go_back(id, plan, cx);
        } else {
            // The last request to go back may be lost.
            self.answer(id, kind::NACK, plan, cx);
        }
    }

    /// The sender is to go back to the first packet that is missing.
    fn go_back(&mut self, id: ConnId, plan: &Plan, cx: &mut impl Host) {
        self.round += 1;
        self.answer(id, kind::NACK, plan, cx);
    }

    fn answer(&mut self, id: ConnId, kind: u8, plan: &Plan, cx: &mut impl Host) {
        let (number, seq) = (self.delivery.next(), u64::from(self.round));
        cx.send_to_sender(id, plan.credit_bytes, Header { kind, number, seq, ..Header::default() });
    }

    /// Credits that have been sent.
    pub fn sent(&self) -> u64 {
        u64::from(self.sent)
    }
}
