//! The sending end of Ultra Ethernet: what may be sent, and what answers change.
//!
//! A packet needs room in the window, credit, or both, as the control says. Numbers are those of packets. The records of sent
//! packets are in `records`, losses without an answer in `timeouts` and `sleek`.

use super::Config;
use super::control::{Acked, Nacked, React, Window};
use super::delay::Delays;
use super::records::{Records, State};
use super::scale::Scale;
use super::sleek::Sleek;
use super::timeouts::Timeouts;
use super::wire::{answer, data, kind, unpack};
use crate::engine::contract::host::{Host, Toward};
use crate::engine::contract::packet::{Header, Packet, flag};
use crate::ids::ConnId;
use crate::random::Stream;
use crate::transport::entropy::{self, Feedback, Select};
use crate::transport::source::{Messages, Next, Source};
use crate::units::Time;

/// The sending end of a connection.
#[derive(Clone, Debug)]
pub struct Sender {
    source: Messages,
    /// Bytes on the wire of data that has not been sent, and of packets that wait to be sent again.
    backlog: i64,
    pub(super) records: Records,
    /// Bytes on the wire that have been sent and not been reported as received, trimmed or lost.
    pub(super) in_flight: i64,
    /// Bytes that the receiver has reported as received.
    received: u64,
    pub(super) window: Window,
    pub(super) credit: Option<Credit>,
    /// Whether the first window is being sent, for which credit is not needed: until the first answer.
    pub(super) speculating: bool,
    /// The count of quanta that the last packet of data requested.
    pub(super) requested: i64,
    pub(super) delays: Delays,
    pub(super) entropy: entropy::Model,
    pub(super) timeouts: Timeouts,
    pub(super) sleek: Option<Sleek>,
    /// Whether it waits for its turn at the port.
    queued: bool,
    /// Whether further flows may follow on its connection.
    kept: bool,
    done: bool,
}

/// Credit of the receiver.
#[derive(Clone, Copy, Debug)]
pub struct Credit {
    /// Bytes that may be sent; negative after a packet that was larger than what was left.
    pub bytes: i64,
    /// The highest count of quanta that a pull has brought.
    pub pulled: i64,
    /// No credit is kept above this.
    limit: i64,
    quantum: i64,
}

/// Senders at one port that wait for their turn, the one being served included.
pub type Waiting = u32;

impl Sender {
    /// Of a connection without a flow so far, with these measures.
    pub fn new(scale: Scale, stream: Stream, kept: bool, config: &Config) -> Sender {
        let limit = scale.max_window() as i64;
        let values = config.entropy_values as u16;
        let credit = config.credit().map(|terms| Credit {
            bytes: limit,
            pulled: 0,
            limit,
            quantum: terms.quantum as i64,
        });
        Sender {
            source: Messages::default(),
            backlog: 0,
            records: Records::default(),
            in_flight: 0,
            received: 0,
            window: config.control.window(&scale),
            credit,
            speculating: true,
            requested: 0,
            delays: Delays::new(scale, config.delay_gain()),
            entropy: entropy::Model::new(&config.entropy, values, stream),
            timeouts: Timeouts::default(),
            sleek: config.sleek.map(|_| Sleek::default()),
            queued: false,
            kept,
            done: false,
        }
    }

    /// The window, for samples.
    pub fn window_bytes(&self) -> Option<u64> {
        match self.window {
            Window::Unlimited(_) => None,
            ref window => Some(window.bytes() as u64),
        }
    }

    /// Bytes on the wire of the next packet; none if nothing waits.
    pub(super) fn next_size(&self, config: &Config) -> Option<u32> {
        if let Some(number) = self.records.first_lost() {
            return Some(self.records.size_of(number));
        }
        let len = self.source.peek(config.payload());
        (len > 0).then_some((len + config.header_bytes.0) as u32)
    }

    /// Whether window and credit let the next packet go.
    pub(super) fn may_send(&self, config: &Config) -> bool {
        let Some(size) = self.next_size(config) else { return false };
        if self.credit.is_some_and(|credit| credit.bytes <= 0) {
            return false;
        }
        let recovers = self.sleek.as_ref().is_some_and(|sleek| sleek.recovers && self.records.any_lost());
        recovers || self.window.bytes() >= self.in_flight + i64::from(size)
    }

    /// Asks for a turn at the port, if it may send.
    pub(super) fn request(&mut self, id: ConnId, config: &Config, waiting: &mut Waiting, cx: &mut impl Host) {
        if !self.queued && self.may_send(config) {
            self.queued = true;
            *waiting += 1;
            cx.ready(id);
        }
    }

    /// A flow of so many bytes starts, behind those that the connection still carries.
    pub fn add(
        &mut self,
        (id, flow): (ConnId, ConnId),
        (size, due): (u64, Time),
        config: &Config,
        waiting: &mut Waiting,
        cx: &mut impl Host,
    ) {
        let packets = size.div_ceil(config.payload());
        self.source.push(flow, size, due);
        self.backlog += (size + packets * config.header_bytes.0) as i64;
        self.request(id, config, waiting, cx);
    }

    /// The wire is free: retransmissions first, the lowest number first.
    #[inline]
    pub fn next_packet(
        &mut self,
        id: ConnId,
        config: &Config,
        waiting: &mut Waiting,
        cx: &mut impl Host,
    ) -> (Option<Packet>, bool) {
        let packet = self.may_send(config).then(|| self.make(id, config, *waiting, cx));
        let more = packet.is_some() && self.may_send(config);
        if !more {
            self.queued = false;
            *waiting -= 1;
        }
        (packet, more)
    }

    /// The next packet, which may go.
    fn make(&mut self, id: ConnId, config: &Config, waiting: Waiting, cx: &mut impl Host) -> Packet {
        let size = self.next_size(config).expect("a packet waits");
        let bytes = i64::from(size);
        let again = self.records.take_lost();
        if let Some(credit) = &mut self.credit {
            credit.bytes -= bytes;
        }
        let number = again.unwrap_or_else(|| {
            self.backlog -= bytes;
            let next = self.source.next(config.payload() as u32);
            let Next::Range { len, last, offset } = next else { unreachable!("a packet waits") };
            let flow = self.source.flow_at(self.records.next(), offset, id).flow;
            self.records.push(size, (flow, len as u16, last))
        });
        self.in_flight += bytes;
        self.requested = self.pull_target(config, waiting);
        let window = self.window.bytes() / config.payload() as i64;
        let before = self.records.next() - u32::from(again.is_none());
        let value = self.entropy.next(u64::from(before), window as u64);
        let mut kind = kind::DATA;
        if again.is_some() {
            kind |= data::REPEATED | data::ACK_NOW;
        } else if self.wants_ack(bytes) {
            kind |= data::ACK_NOW;
        }
        let sent = self.records.sent(number, cx.now());
        let (len, flow) = (sent.len, sent.flow);
        if sent.last {
            kind |= data::LAST;
        }
        let header =
            Header { kind, class: 0, len, number, seq: u64::from(value), ack: self.requested as u64 };
        let flags = flag::ECN_CAPABLE | if config.trimming { flag::TRIMMABLE } else { 0 };
        let counts = cx.sender(flow);
        counts.packets_sent += 1;
        counts.retransmissions += u32::from(again.is_some());
        self.timeouts.arm(&self.records, id, config, cx);
        let mut packet = cx.packet(flow, Toward::Receiver, size, flags, header);
        cx.set_entropy(&mut packet, value);
        packet
    }

    /// Whether the receiver is to acknowledge a new packet of so many bytes at once: nothing may be sent behind it.
    fn wants_ack(&self, bytes: i64) -> bool {
        self.backlog == 0
            || self.credit.is_some_and(|credit| credit.bytes <= 0)
            || self.in_flight + bytes >= self.window.bytes()
    }

    /// The count of quanta up to which the sender requests credit; flows at the same port share the request.
    fn pull_target(&self, config: &Config, waiting: Waiting) -> i64 {
        let Some(credit) = self.credit else { return 0 };
        let mtu = config.mtu.0 as i64;
        let wants = self.backlog + self.records.lost_bytes();
        let mut bytes = wants.min(self.window.bytes() + mtu).min(credit.limit) - credit.bytes;
        if self.speculating && bytes < mtu && self.backlog > 0 {
            bytes = mtu;
        }
        if waiting > 1 && config.credit().is_some_and(|terms| terms.share_requests) {
            bytes /= i64::from(waiting);
        }
        let total = bytes + credit.pulled * credit.quantum;
        total.div_euclid(credit.quantum) + i64::from(total.rem_euclid(credit.quantum) > 0)
    }

    /// The first answer ends the time in which credit was not needed: what is left of it is void.
    pub(super) fn stop_speculating(&mut self) {
        if std::mem::take(&mut self.speculating)
            && let Some(credit) = &mut self.credit
        {
            credit.bytes = credit.bytes.min(0);
        }
    }

    /// A packet waits to be sent again; unless it is still the first window of a paced flow, it may go at once.
    pub(super) fn request_again(
        &mut self,
        id: ConnId,
        config: &Config,
        waiting: &mut Waiting,
        cx: &mut impl Host,
    ) {
        if !self.speculating || self.credit.is_none() {
            self.request(id, config, waiting, cx);
        }
    }

    /// An answer of the receiver.
    #[inline]
    pub fn on_packet(&mut self, packet: &Packet, config: &Config, waiting: &mut Waiting, cx: &mut impl Host) {
        let id = cx.conn(packet.conn).via;
        if self.done {
            return;
        }
        match packet.header.kind & kind::MASK {
            kind::ACK => self.on_ack(id, &packet.header, config, waiting, cx),
            kind::NACK => self.on_nack(id, &packet.header, config, waiting, cx),
            _ => {
                self.stop_speculating();
                self.on_pull(packet.header.ack as i64);
                self.request(id, config, waiting, cx);
            }
        }
    }

    fn on_pull(&mut self, pulled: i64) {
        if let Some(credit) = self.credit.as_mut().filter(|credit| pulled > credit.pulled) {
            let more = (pulled - credit.pulled) * credit.quantum;
            credit.bytes = (credit.bytes + more).min(credit.limit);
            credit.pulled = pulled;
        }
    }

    fn on_ack(
        &mut self,
        id: ConnId,
        header: &Header,
        config: &Config,
        waiting: &mut Waiting,
        cx: &mut impl Host,
    ) {
        let (expected, new) = unpack(header, self.received);
        let marked = header.kind & answer::MARKED != 0;
        self.received += new;
        self.in_flight -= new as i64;
        let delay = self.delay_of(header, cx.now());
        self.in_flight += self.records.acknowledge_before(expected);
        self.acknowledge_bits(header, expected, config.bitmap_bits);
        let feedback = if marked { Feedback::Marked } else { Feedback::Good };
        self.entropy.feedback(header.len, feedback, cx.now());
        let acked = Acked { now: cx.now(), marked, delay, received: new, in_flight: self.in_flight };
        self.window.on_ack(&acked, &self.delays);
        if self.sleek.is_some() {
            self.run_sleek(id, header, delay, config, waiting, cx);
        }
        self.stop_speculating();
        while let Some(flow) = self.source.take_acknowledged(self.records.acknowledged()) {
            cx.acknowledged(flow);
            cx.finish(flow);
        }
        if self.source.left() == 0 && self.records.is_empty() {
            self.rest();
        } else {
            self.request(id, config, waiting, cx);
        }
    }

    /// Everything is acknowledged.
    fn rest(&mut self) {
        self.done = !self.kept;
        self.timeouts.clear();
        if let Some(sleek) = &mut self.sleek {
            sleek.clear();
        }
    }

    /// The queueing delay of the packet that caused an ACK, if that was sent at one time only; else the average.
    fn delay_of(&mut self, header: &Header, now: Time) -> Time {
        let marked = header.kind & answer::MARKED != 0;
        if header.kind & answer::TO_PROBE != 0 {
            return self.delay_of_probe(header.number, marked, now);
        }
        let sent = if header.kind & answer::TO_RTS != 0 {
            self.timeouts.request_answered()
        } else {
            let again = header.kind & answer::REPEATED != 0;
            self.records
                .in_flight(header.number)
                .filter(|sent| sent.times == 1 + u8::from(again))
                .map(|sent| sent.at)
        };
        let sample = sent.and_then(|at| {
            let rtt = now - at;
            if header.kind & answer::TO_RTS == 0 {
                self.delays.lower_base(rtt);
            }
            self.delays.sample(rtt, marked)
        });
        sample.unwrap_or(self.delays.average)
    }

    /// Packets of the bitmap have arrived.
    fn acknowledge_bits(&mut self, header: &Header, expected: u32, bits: u32) {
        let own = header.kind & answer::OWN_BASE != 0;
        let base = super::wire::bitmap_base(header.number, expected, own, bits);
        let mut left = header.seq;
        while left != 0 {
            let number = base + left.trailing_zeros();
            self.in_flight += self.records.acknowledge(number);
            left &= left - 1;
        }
    }

    fn on_nack(
        &mut self,
        id: ConnId,
        header: &Header,
        config: &Config,
        waiting: &mut Waiting,
        cx: &mut impl Host,
    ) {
        let number = header.number;
        let Some(sent) = self.records.in_flight(number) else { return };
        let last_hop = header.kind & answer::LAST_HOP != 0;
        if config.base_rtt_from_nacks {
            self.delays.lower_base(cx.now() - sent.at);
        }
        if matches!(self.window, Window::Nscc(_)) {
            let rtt = self.delays.network_rtt();
            self.delays.take_in(rtt, true);
        }
        let nacked = Nacked { now: cx.now(), bytes: sent.size, in_flight: self.in_flight, last_hop };
        self.window.on_nack(&nacked, &self.delays);
        self.in_flight -= i64::from(sent.size);
        self.records.lose(number);
        self.stop_speculating();
        let feedback = match (last_hop, header.kind & answer::MARKED != 0) {
            (true, false) => Feedback::Good,
            (true, true) => Feedback::Marked,
            (false, _) => Feedback::Trimmed,
        };
        self.entropy.feedback(header.len, feedback, cx.now());
        self.request(id, config, waiting, cx);
    }

    /// Whether data waits that has never been sent.
    pub(super) fn has_unsent(&self) -> bool {
        self.backlog > 0
    }

    /// Packets that had arrived when the receiver sent an ACK, by its count of bytes: all but the last of a flow are full.
    pub(super) fn received_packets(&self, header: &Header, config: &Config) -> u32 {
        let behind = (self.received as u32).wrapping_sub(header.ack as u32);
        ((self.received - u64::from(behind)).div_ceil(config.mtu.0)) as u32
    }

    /// For the audit: an inconsistency of its counts.
    pub fn wrong(&self) -> Option<String> {
        let found = self.records.sum_in_flight();
        let sends = self.source.left() > 0 || !self.records.is_empty();
        // Bytes that have arrived and are in no bitmap yet are neither in flight nor acknowledged.
        (sends && self.in_flight > found)
            .then(|| format!("{} bytes in flight, {found} in records", self.in_flight))
    }
}

impl State {
    /// Whether the packet may still arrive.
    pub fn is_in_flight(self) -> bool {
        self == State::InFlight
    }
}
