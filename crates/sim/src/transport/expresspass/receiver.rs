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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::fake::{FakeHost, RECEIVER};
    use crate::transport::expresspass::{ExpressPass, Model};

    const FLOW: ConnId = ConnId(0);

    /// A flow of three packets: its request, these, and the stop behind them, of which the request has arrived.
    fn sent() -> (FakeHost, Model, Packet, [Packet; 4]) {
        let mut host = FakeHost::pair(3 * 1460);
        let mut model = Model::new(host.configs(vec![ExpressPass::default()]));
        host.start(&mut model, FLOW);
        let request = host.sent[0];
        let mut credits = host.receives(&mut model, &request);
        assert_eq!(credits.len(), 1);
        while credits.len() < 3 {
            credits.extend(host.expires(&mut model).into_iter().filter(|packet| packet.dst != RECEIVER));
        }
        credits.iter().for_each(|credit| host.answers(&mut model, credit));
        let packets = host.sends(&mut model, FLOW, 9).try_into().expect("three packets and a stop");
        (host, model, request, packets)
    }

    /// Kind, number and round of what the receiver answers.
    fn answers(host: &mut FakeHost, model: &mut Model, packet: &Packet) -> Vec<(u8, u32, u64)> {
        let answers = host.receives(model, packet);
        answers.iter().map(|Packet { header, .. }| (header.kind, header.number, header.seq)).collect()
    }

    /// Packets in order need no answer but one to the stop. A request that comes twice begins the credits once, and behind the
    /// end of the flow it is answered as a stop is.
    #[test]
    fn a_stop_is_acknowledged() {
        let (mut host, mut model, request, [packets @ .., stop]) = sent();
        assert_eq!(answers(&mut host, &mut model, &request), []);
        for packet in &packets {
            assert_eq!(answers(&mut host, &mut model, packet), []);
        }
        assert_eq!(host.completed, [FLOW]);
        let end = [(kind::ACK, 3, 0)];
        assert_eq!(answers(&mut host, &mut model, &stop), end);
        assert_eq!(answers(&mut host, &mut model, &request), end);
    }

    /// Packet 1 is missing when 2 comes: the sender is to go back, once in its round. A stop of the old round may mean that
    /// the answer is lost, which goes again; that of the new round shows that packets are missing once more. Then 1 comes, and
    /// as the sender may be behind, the receiver acknowledges all at once.
    #[test]
    fn a_gap_sends_the_sender_back_once_a_round() {
        let (mut host, mut model, _, [first, second, third, stop]) = sent();
        let round = |packet: &Packet, round: u32| {
            let credit = kind::answered(packet.header.seq).0;
            let seq =
                if packet.header.kind == kind::STOP { u64::from(round) } else { kind::answer(credit, round) };
            Packet { header: Header { seq, ..packet.header }, ..*packet }
        };
        let mut answers = |packet: &Packet| answers(&mut host, &mut model, packet);
        assert_eq!(answers(&first), []);
        assert_eq!(answers(&third), [(kind::NACK, 1, 1)]);
        assert_eq!(answers(&third), []);
        assert_eq!(answers(&stop), [(kind::NACK, 1, 1)]);
        assert_eq!(answers(&round(&stop, 1)), [(kind::NACK, 1, 2)]);
        assert_eq!(answers(&round(&third, 1)), []);
        assert_eq!(answers(&round(&second, 2)), [(kind::ACK, 3, 2)]);
        assert_eq!(answers(&round(&third, 2)), [(kind::ACK, 3, 2)]);
    }
}
