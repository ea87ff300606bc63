//! Losses without an answer: one timer for the oldest packet, and requests (RTS) where the packet may not go at once.
//!
//! The timeout is constant, without an estimate and without backoff; one packet counts as lost at each expiry. In the simulator
//! a request takes a number of the data; here it is a kind of its own, with the same timer.

use super::Config;
use super::control::React;
use super::records::Records;
use super::sender::{Sender, Waiting};
use super::wire::kind;
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Timer, Toward};
use crate::engine::contract::packet::{Header, flag};
use crate::ids::ConnId;
use crate::transport::entropy::{Feedback, Select};
use crate::units::Time;

/// The sender's timer for the oldest packet.
pub const RETRANSMIT: u8 = 0;

/// The timer of one flow, and its requests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timeouts {
    timer: Timer,
    /// When a request was sent that has not been answered.
    requested_at: Option<Time>,
    /// When the last one was sent.
    last_request: Option<Time>,
}

impl Timeouts {
    /// Starts the timer, if it is not running, for the oldest packet or request.
    pub fn arm(&mut self, records: &Records, id: ConnId, config: &Config, cx: &mut impl Host) {
        if !self.timer.is_set() && !records.is_empty() {
            self.set(cx.now() + config.rto_min(), id, cx);
        }
    }

    fn set(&mut self, due: Time, id: ConnId, cx: &mut impl Host) {
        let due = due.max(cx.now());
        cx.set_timer(&mut self.timer, due, Owner::Sender(id), RETRANSMIT);
    }

    /// Starts the timer again for the oldest packet or request.
    fn rearm(&mut self, records: &mut Records, id: ConnId, config: &Config, cx: &mut impl Host) {
        let oldest = records.oldest().map(|(at, _)| at);
        let first = oldest.into_iter().chain(self.requested_at).min();
        if let Some(at) = first {
            self.set(at + config.rto_min(), id, cx);
        }
    }

    /// A request has been answered: when it was sent.
    pub fn request_answered(&mut self) -> Option<Time> {
        self.requested_at.take()
    }

    /// Nothing is left to wait for.
    pub fn clear(&mut self) {
        self.timer.clear();
    }
}

impl Sender {
    /// The timer of the oldest packet has come, unless that has been answered.
    pub fn on_timeout(&mut self, id: ConnId, config: &Config, waiting: &mut Waiting, cx: &mut impl Host) {
        if !cx.timer_is_due(&mut self.timeouts.timer, Owner::Sender(id), RETRANSMIT) {
            return;
        }
        let due = |at: Time| at + config.rto_min() <= cx.now();
        if let Some((_, number)) = self.records.oldest().filter(|(at, _)| due(*at)) {
            self.expire(id, number, config, waiting, cx);
        } else if self.timeouts.requested_at.is_some_and(due) {
            self.timeouts.requested_at = None;
            self.send_request(id, config, cx);
        }
        self.timeouts.rearm(&mut self.records, id, config, cx);
    }

    /// A packet counts as lost.
    fn expire(
        &mut self,
        id: ConnId,
        number: u32,
        config: &Config,
        waiting: &mut Waiting,
        cx: &mut impl Host,
    ) {
        // The packet's value is not kept: the first one takes the blame (uet-htsim).
        self.entropy.feedback(0, Feedback::TimedOut, cx.now());
        let sent = self.records.in_flight(number).expect("the oldest packet in flight");
        cx.sender(sent.flow).timeouts += 1;
        if self.sleek_keeps(number, sent.times) {
            return;
        }
        let bytes = i64::from(sent.size);
        let others_wait = self.records.any_lost();
        self.in_flight -= bytes;
        self.window.on_timeout(sent.size);
        self.records.lose(number);
        if others_wait {
            self.stop_speculating();
            self.request_again(id, config, waiting, cx);
            if self.credit.is_some() {
                self.send_request(id, config, cx);
            }
            return;
        }
        self.request_again(id, config, waiting, cx);
        // At an idle port the packet is as good as sent.
        let goes = self.may_send(config) && cx.is_next(id);
        let in_flight = self.in_flight + if goes { bytes } else { 0 };
        let no_credit = self.credit.is_some_and(|credit| credit.bytes - if goes { bytes } else { 0 } <= 0);
        // In the first window of a paced flow the packet waits for credit, which nothing else would bring.
        let stands = self.speculating && self.credit.is_some() && self.records.oldest().is_none();
        if self.window.bytes() < in_flight + bytes || no_credit || stands {
            self.send_request(id, config, cx);
        }
    }

    /// Asks the receiver to answer, and for a turn at its pacer: once in a round trip. It requests as much credit as the last
    /// packet of data did, not what is lacking by now (uet-htsim).
    fn send_request(&mut self, id: ConnId, config: &Config, cx: &mut impl Host) {
        let interval = config.request_interval.unwrap_or_else(|| self.delays.network_rtt());
        let soon = |last: Time| cx.now() - last < interval;
        if self.timeouts.last_request.is_some_and(soon) {
            return;
        }
        let window = self.window.bytes() / config.payload() as i64;
        let value = self.entropy.next(u64::from(self.records.next()), window as u64);
        let header = Header {
            kind: kind::RTS,
            seq: u64::from(value),
            ack: self.requested as u64,
            ..Header::default()
        };
        let flow = self.records.first_flow().unwrap_or(id);
        let mut packet =
            cx.packet(flow, Toward::Receiver, config.control_bytes.0 as u32, flag::CONTROL, header);
        cx.set_entropy(&mut packet, value);
        cx.send(packet);
        self.timeouts.last_request = Some(cx.now());
        self.timeouts.requested_at = Some(cx.now());
    }
}
