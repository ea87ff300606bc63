//! The sending end of ExpressPass: a request, a packet for each credit, and a stop behind the last one.

use std::collections::VecDeque;

use super::{Plan, kind};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Toward};
use crate::engine::contract::packet::{Header, Packet, flag};
use crate::ids::ConnId;
use crate::transport::backoff::Backoff;

/// The sender's timer.
pub const ASK: u8 = 0;

/// A credit that has come.
#[derive(Clone, Copy, Debug)]
struct Credit {
    /// Its number and the time at which it was sent, which the packet carries.
    number: u32,
    sent_at: u64,
}

/// The sending end of a flow.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    size: u64,
    packets: u32,
    /// The next packet, and the first one that has never been sent.
    next: u32,
    unsent: u32,
    /// How often the receiver has had it go back.
    round: u32,
    credits: VecDeque<Credit>,
    /// Credits that have come.
    came: u64,
    /// Whether a stop is to follow the last packet.
    stop_due: bool,
    /// For requests and stops.
    backoff: Backoff,
}

impl Sender {
    /// Starts over for another flow, with the memory of the one before.
    pub fn reset(&mut self, plan: &Plan, size: u64) {
        let mut credits = std::mem::take(&mut self.credits);
        credits.clear();
        *self = Sender { size, packets: plan.packets(size), credits, ..Sender::default() };
    }

    /// Asks for credits, or has the receiver stop them; and asks again if nothing comes.
    pub fn ask(&mut self, id: ConnId, plan: &Plan, cx: &mut impl Host) {
        let header = if self.next < self.packets {
            Header { kind: kind::REQUEST, seq: self.size, ..Header::default() }
        } else {
            self.stop()
        };
        cx.send_to_receiver(id, plan.credit_bytes, header);
        self.restart_timer(id, plan, cx);
    }

    fn stop(&self) -> Header {
        Header { kind: kind::STOP, seq: u64::from(self.round), ..Header::default() }
    }

    fn restart_timer(&mut self, id: ConnId, plan: &Plan, cx: &mut impl Host) {
        self.backoff.restart(plan.request_interval, Owner::Sender(id), ASK, cx);
    }

    /// Nothing has come from the receiver for an interval.
    pub fn on_timer(&mut self, id: ConnId, plan: &Plan, cx: &mut impl Host) {
        if self.backoff.is_due(Owner::Sender(id), ASK, cx) {
            cx.sender(id).timeouts += 1;
            self.backoff.double();
            self.ask(id, plan, cx);
        }
    }

    /// Whether it has something to send now.
    #[inline]
    pub fn may_send(&self) -> bool {
        self.stop_due || !self.credits.is_empty()
    }

    /// A credit. It is wasted if those before it are enough for the remaining packets. Behind the last packet credits say
    /// nothing of the stop, which may be lost: it is repeated however many still come.
    #[inline]
    pub fn on_credit(&mut self, id: ConnId, header: &Header, plan: &Plan, cx: &mut impl Host) {
        self.came += 1;
        if self.next == self.packets {
            return;
        }
        if (self.credits.len() as u32) < self.packets - self.next {
            self.credits.push_back(Credit { number: header.number, sent_at: header.ack });
        }
        self.backoff.reset();
        self.restart_timer(id, plan, cx);
    }

    /// Data is missing from that packet on: goes back, unless it has done so.
    pub fn on_nack(&mut self, id: ConnId, header: &Header, plan: &Plan, cx: &mut impl Host) {
        if header.seq as u32 > self.round {
            self.round = header.seq as u32;
            self.next = header.number;
            self.stop_due = false;
        }
        self.backoff.reset();
        self.restart_timer(id, plan, cx);
    }

    /// The next packet: one for the first credit, or the stop.
    #[inline]
    pub fn next_packet(&mut self, id: ConnId, plan: &Plan, cx: &mut impl Host) -> Option<Packet> {
        let Some(credit) = self.credits.pop_front() else {
            if !std::mem::take(&mut self.stop_due) {
                return None;
            }
            let header = self.stop();
            return Some(cx.packet(id, Toward::Receiver, plan.credit_bytes, flag::CONTROL, header));
        };
        let packet = self.next;
        self.next += 1;
        let again = packet < self.unsent;
        self.unsent = self.unsent.max(self.next);
        let is_last = self.next == self.packets;
        if is_last {
            self.stop_due = true;
            self.credits.clear();
        }
        let counts = cx.sender(id);
        counts.packets_sent += 1;
        counts.retransmissions += u32::from(again);
        let len = plan.payload.min(self.size - u64::from(packet) * plan.payload) as u16;
        let header = Header {
            kind: if is_last { kind::LAST } else { kind::DATA },
            len,
            number: packet,
            seq: kind::answer(credit.number, self.round),
            ack: credit.sent_at,
            ..Header::default()
        };
        Some(cx.packet(id, Toward::Receiver, plan.wire_bytes(len), 0, header))
    }

    /// All bytes have arrived.
    pub fn on_ack(&mut self, id: ConnId, cx: &mut impl Host) {
        self.backoff.clear();
        self.credits.clear();
        self.stop_due = false;
        cx.acknowledged(id);
        cx.finish(id);
    }

    /// A packet has come after the end: perhaps a credit.
    pub fn late(&mut self, is_credit: bool) {
        self.came += u64::from(is_credit);
    }

    /// Credits that have come.
    pub fn came(&self) -> u64 {
        self.came
    }

    /// Inconsistencies of the sender's own counters, if there are any.
    pub fn audit(&self) -> Option<String> {
        let left = self.packets - self.next;
        let wrong = self.unsent > self.packets || self.credits.len() as u32 > left;
        wrong.then(|| {
            format!(
                "{} credits for {left} packets, {} of {} sent",
                self.credits.len(),
                self.unsent,
                self.packets
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::fake::{FakeHost, RECEIVER};
    use crate::transport::expresspass::{ExpressPass, Model};

    /// Two credits let two packets go, behind which a stop is due. Before its turn the receiver asks for the first
    /// packet again: the stop waits until the last packet has gone again.
    #[test]
    fn a_stop_follows_the_last_packet_and_no_other() {
        const FLOW: ConnId = ConnId(0);
        let mut host = FakeHost::pair(2 * 1460);
        let mut model = Model::new(host.configs(vec![ExpressPass::default()]));
        host.start(&mut model, FLOW);
        let request = std::mem::take(&mut host.sent);
        let mut credits = host.receives(&mut model, &request[0]);
        while credits.len() < 4 {
            credits.extend(host.expires(&mut model).into_iter().filter(|packet| packet.dst != RECEIVER));
        }
        credits[..2].iter().for_each(|credit| host.answers(&mut model, credit));
        assert_eq!(host.sends(&mut model, FLOW, 2).len(), 2);
        let nack = Header { kind: kind::NACK, number: 0, seq: 1, ..Header::default() };
        host.answers(&mut model, &Packet { header: nack, ..credits[0] });
        assert!(host.sends(&mut model, FLOW, 9).is_empty());
        credits[2..].iter().for_each(|credit| host.answers(&mut model, credit));
        let kinds: Vec<u8> =
            host.sends(&mut model, FLOW, 9).iter().map(|packet| packet.header.kind).collect();
        assert_eq!(kinds, [kind::DATA, kind::LAST, kind::STOP]);
    }
}
