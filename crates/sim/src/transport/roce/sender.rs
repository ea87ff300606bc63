//! The sending end: packets one by one at the flow's rate while its window is open, and again from where one was missing.

use super::congestion::{Ack, Begin, Control, Loss, gap};
use super::recovery::irn::Selective;
use super::{Config, kind};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start, Timer, Toward};
use crate::engine::contract::packet::{Header, Packet, Record, flag};
use crate::engine::contract::telemetry::Telemetry;
use crate::ids::ConnId;
use crate::transport::entropy::{self, Feedback, Select};
use crate::units::{Rate, Time};

/// Timer: the next packet may go.
pub const PACE: u8 = 0;
/// Timer: nothing has been acknowledged for too long.
pub const RETRANSMIT: u8 = 2;

/// The sender of one flow. Packets are numbered from 0.
#[derive(Debug)]
pub struct Sender<C> {
    /// Its number among the flows of its port.
    number: u32,
    /// Whether it has come to be ready since it was last looked at.
    is_ready: bool,
    size: u64,
    /// Payload of a full packet.
    payload: u64,
    /// The next one to send.
    next: u32,
    /// The first one that has not been acknowledged.
    una: u32,
    /// One more than the last one sent so far.
    sent: u32,
    end: u32,
    /// None before the flow starts.
    pub(super) control: Option<C>,
    /// The port's rate as its control knows it.
    line: Rate,
    /// The next one goes no earlier.
    next_at: Time,
    /// The last one: when it was sent, and its bytes on the wire.
    last_at: Time,
    last_bytes: u32,
    /// Whether the window keeps the next one back.
    held: bool,
    pace: Timer,
    retransmit: Timer,
    /// Under IRN, the packets that the receiver has beyond a missing one.
    selective: Option<Box<Selective>>,
    /// The choice of entropy values, if packets have them.
    entropy: Option<Box<entropy::Model>>,
}

impl<C> Default for Sender<C> {
    fn default() -> Self {
        Sender {
            number: 0,
            is_ready: false,
            size: 0,
            payload: 1,
            next: 0,
            una: 0,
            sent: 0,
            end: 0,
            control: None,
            line: Rate(0),
            next_at: Time::ZERO,
            last_at: Time::ZERO,
            last_bytes: 0,
            held: false,
            pace: Timer::default(),
            retransmit: Timer::default(),
            selective: None,
            entropy: None,
        }
    }
}

impl<C: Begin> Sender<C> {
    /// The sender of a flow that starts, the one of that number at its port: it may send at once.
    pub fn new(id: ConnId, number: u32, start: &Start, config: &Config, cx: &mut impl Host) -> Sender<C> {
        let line = cx.rate(cx.port(id));
        let (size, payload) = (start.size, config.payload.0);
        // Only an endless flow has more packets than numbers, and no run comes to their end.
        let end = u32::try_from(size.div_ceil(payload)).unwrap_or(u32::MAX);
        let control = Some(C::begin(&config.congestion, line));
        let selective = config.irn.is_some().then(Box::default);
        let selector = config.entropy.as_ref();
        let entropy = entropy::chosen(selector, config.entropy_values, || start.packet_stream(cx));
        let own = Sender { number, is_ready: true, size, payload, end, line, ..Sender::default() };
        Sender { control, selective, entropy, ..own }
    }

    /// Its number among the flows of its port.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Whether it has come to be ready since this was last asked.
    pub fn take_ready(&mut self) -> bool {
        std::mem::take(&mut self.is_ready)
    }

    #[inline]
    fn control(&mut self) -> &mut C {
        self.control.as_mut().expect("a flow that has started")
    }

    /// The control's window, if it has one: for samples.
    pub fn window(&self) -> Option<u64> {
        self.control.as_ref().and_then(Control::window)
    }

    /// The control's rate, unless the port alone limits it: for observers.
    pub fn rate(&self) -> Option<Rate> {
        let rate = self.control.as_ref().map(Control::rate).filter(|rate| rate.is_finite());
        rate.map(|rate| Rate(rate.round() as u64))
    }

    /// The bytes before a packet.
    #[inline]
    fn offset(&self, number: u32) -> u64 {
        (u64::from(number) * self.payload).min(self.size)
    }

    /// Bytes sent and not acknowledged.
    #[inline]
    fn in_flight(&self) -> u64 {
        self.offset(self.next).saturating_sub(self.offset(self.una))
    }

    /// Whether the window lets a packet pass. It is never so small that the receiver owes no acknowledgement.
    #[inline]
    fn is_open(&self, config: &Config) -> bool {
        let least = u64::from(config.ack_every.max(config.chunk)) * self.payload;
        self.window().is_none_or(|window| self.in_flight() < window.max(least)) && self.is_below_cap(config)
    }

    /// Whether IRN lets a new packet pass.
    #[inline]
    fn is_below_cap(&self, config: &Config) -> bool {
        config.irn.as_ref().is_none_or(|irn| self.in_flight() < irn.cap())
    }

    /// The packet that a recovery retransmits next, if IRN does so.
    #[inline]
    fn missing(&mut self, config: &Config) -> Option<u32> {
        if self.una == self.end {
            return None;
        }
        let resend = config.irn.as_ref()?.resend;
        self.selective.as_mut()?.lost(resend)
    }

    /// Lets the control know of the present and of its port.
    #[inline]
    fn advance(&mut self, id: ConnId, cx: &impl Host) {
        let line = cx.rate(cx.port(id));
        if line != self.line {
            self.line = line;
            self.control().on_line(line);
        }
        self.control().advance(cx.now());
    }

    /// Takes the flow's turn if its next packet may go, else when it may.
    fn wait_for_turn(&mut self, id: ConnId, cx: &mut impl Host) {
        if self.next_at <= cx.now() {
            self.is_ready = true;
        } else {
            cx.set_timer(&mut self.pace, self.next_at, Owner::Sender(id), PACE);
        }
    }

    /// The wire is free.
    pub fn next_packet(&mut self, id: ConnId, config: &Config, cx: &mut impl Host) -> (Option<Packet>, bool) {
        // Packets acknowledged meanwhile need not be retransmitted.
        self.next = self.next.max(self.una);
        let missing = self.missing(config);
        if missing.is_none() && self.next == self.end {
            return (None, false);
        }
        self.advance(id, cx);
        self.held = missing.is_none() && !self.is_open(config);
        if self.held {
            return (None, false);
        }
        let now = cx.now();
        if self.next_at > now {
            // A lower rate has put it off since its turn was taken.
            self.wait_for_turn(id, cx);
            return (None, false);
        }
        let number = missing.unwrap_or(self.next);
        let last = number + 1 == self.end;
        let packet = self.packet(id, number, config, cx);
        let counts = cx.sender(id);
        counts.packets_sent += 1;
        counts.retransmissions += u32::from(number < self.sent);
        match (&mut self.selective, missing) {
            (Some(selective), Some(_)) => selective.sent(number),
            _ => self.next += 1,
        }
        self.sent = self.sent.max(self.next);
        self.control().on_sent(packet.size, now);
        let gap = cx.in_unit(cx.port(id), gap(self.control().rate(), packet.size));
        self.next_at = now.saturating_add(gap);
        (self.last_at, self.last_bytes) = (now, packet.size);
        if (!self.retransmit.is_set() || config.restarts_always()) && self.is_owed(config) {
            self.start_timer(id, config, cx);
        }
        if last {
            return (Some(packet), false);
        }
        // The port calls again when the packet has been transmitted.
        let more = gap <= cx.transmission(cx.port(id), packet.size);
        if !more {
            self.wait_for_turn(id, cx);
        }
        (Some(packet), more)
    }

    /// A packet of data, for ports to write into its record if the control wants that. Its `ack` is its entropy value, which
    /// answers return.
    fn packet(&mut self, id: ConnId, number: u32, config: &Config, cx: &mut impl Host) -> Packet {
        let seq = self.offset(number);
        let len = (self.size - seq).min(self.payload);
        let window = self.window().map_or(0, |bytes| bytes / self.payload);
        let value = self.entropy.as_mut().map(|entropy| entropy.next(u64::from(self.sent), window));
        let header = Header {
            kind: if number + 1 == self.end { kind::LAST } else { kind::DATA },
            class: config.data_class as u8,
            len: len as u16,
            number,
            seq,
            ack: value.map_or(0, u64::from),
        };
        if config.signals.telemetry {
            *cx.record() = Record::default();
        }
        let flags = if config.signals.needs_marks() { flag::ECN_CAPABLE } else { 0 };
        let mut packet = cx.packet(id, Toward::Receiver, (len + config.header_bytes.0) as u32, flags, header);
        if let Some(value) = value {
            cx.set_entropy(&mut packet, value);
        }
        packet
    }

    /// An acknowledgement, a request to go back, or a notification.
    pub fn on_packet(&mut self, packet: &Packet, config: &Config, cx: &mut impl Host) {
        let (id, number) = (packet.conn, self.in_chunks(packet.header.number, config));
        if self.una == self.end {
            return;
        }
        self.advance(id, cx);
        match packet.header.kind {
            kind::CNP => return self.control().on_cnp(cx.now()),
            kind::FEEDBACK => return self.control().on_feedback(cx.now(), packet.header.ack),
            _ => {}
        }
        let (una, in_flight) = (self.offset(self.una), self.in_flight());
        if number > self.una || config.restarts_always() {
            self.una = self.una.max(number);
            if self.is_owed(config) {
                self.start_timer(id, config, cx);
            } else {
                self.retransmit.clear();
            }
        }
        if self.una == self.end {
            self.retransmit.clear();
            self.pace.clear();
            cx.acknowledged(id);
            cx.finish(id);
            return;
        }
        let is_nak = packet.header.kind & !kind::MARKED == kind::NAK;
        let marked = packet.header.kind & kind::MARKED != 0;
        if let Some(entropy) = &mut self.entropy {
            // An answer to a packet out of order, too, is to one that has arrived.
            let feedback = if marked { Feedback::Marked } else { Feedback::Good };
            entropy.feedback(packet.header.len, feedback, cx.now());
        }
        if self.selective.is_some() {
            self.select(packet, is_nak, config, cx);
        } else if is_nak && number == self.una {
            self.go_back(Loss::Nak, id, cx);
        }
        let sent_at = Time(packet.header.seq);
        let ack = Ack {
            acked: self.offset(self.una) - una,
            now: cx.now(),
            rtt: cx.now() - sent_at,
            in_flight,
            marked: marked || (is_nak && config.cuts_on_nak()),
            una: self.offset(self.una),
            next: self.offset(self.next.max(self.una)),
            hops: packet.hops,
        };
        let telemetry = if config.signals.telemetry { &cx.telemetry(sent_at) } else { &Telemetry::NONE };
        self.control().on_ack(&ack, telemetry);
        if config.repaces {
            self.repace(id, cx);
        }
        if self.held && self.is_open(config) {
            self.held = false;
            self.wait_for_turn(id, cx);
        }
    }

    /// Under go-back-0 whole chunks are acknowledged, and the end of the flow.
    #[inline]
    fn in_chunks(&self, number: u32, config: &Config) -> u32 {
        if config.chunk == 1 || number == self.end { number } else { number - number % config.chunk }
    }

    /// Under IRN an answer names the packet that it is for, too; a report begins a recovery if none runs.
    fn select(&mut self, packet: &Packet, is_nak: bool, config: &Config, cx: &mut impl Host) {
        let (Some(irn), Some(selective)) = (&config.irn, &mut self.selective) else { return };
        selective.advance(self.una);
        if !is_nak {
            return;
        }
        selective.acknowledge(packet.header.ack as u32 - 1);
        if !selective.is_recovering() {
            selective.recover(self.sent);
            self.control().on_loss(cx.now(), Loss::Nak);
        }
        if irn.cnp_on_nak && config.signals.notifications {
            self.control().on_cnp(cx.now());
        }
        self.held = false;
        self.wait_for_turn(packet.conn, cx);
    }

    /// The rate may have changed: the pause after the last packet is that of the new rate.
    fn repace(&mut self, id: ConnId, cx: &mut impl Host) {
        let gap = cx.in_unit(cx.port(id), gap(self.control().rate(), self.last_bytes));
        self.next_at = self.last_at.saturating_add(gap);
        if self.pace.is_set() {
            self.pace.clear();
            self.wait_for_turn(id, cx);
        }
    }

    /// Whether an acknowledgement is to come: for a last packet of `ack_every`, or of the flow.
    #[inline]
    fn is_owed(&self, config: &Config) -> bool {
        if config.ack_every == 1 {
            return self.sent > self.una;
        }
        let last = self.sent - self.sent.checked_rem(config.ack_every).unwrap_or(self.sent);
        self.sent == self.end || last > self.una
    }

    fn start_timer(&mut self, id: ConnId, config: &Config, cx: &mut impl Host) {
        let in_flight = self.next.saturating_sub(self.una);
        let timeout = config.irn.as_ref().map_or(config.timeout, |irn| irn.timeout(in_flight));
        let due = cx.now().saturating_add(timeout);
        cx.set_timer(&mut self.retransmit, due, Owner::Sender(id), RETRANSMIT);
    }

    fn go_back(&mut self, loss: Loss, id: ConnId, cx: &mut impl Host) {
        self.control().on_loss(cx.now(), loss);
        match &mut self.selective {
            Some(selective) => selective.recover(self.sent),
            None => self.next = self.una,
        }
        self.held = false;
        self.wait_for_turn(id, cx);
    }

    /// The next packet may go.
    pub fn on_pace(&mut self, id: ConnId, cx: &mut impl Host) {
        self.is_ready |= cx.timer_is_due(&mut self.pace, Owner::Sender(id), PACE);
    }

    /// Nothing has been acknowledged for too long.
    pub fn on_timeout(&mut self, id: ConnId, config: &Config, cx: &mut impl Host) {
        if cx.timer_is_due(&mut self.retransmit, Owner::Sender(id), RETRANSMIT) {
            cx.sender(id).timeouts += 1;
            if let Some(entropy) = &mut self.entropy {
                // The values of lost packets are not kept: the first one takes the blame, as under Ultra Ethernet.
                entropy.feedback(0, Feedback::TimedOut, cx.now());
            }
            self.start_timer(id, config, cx);
            self.advance(id, cx);
            self.go_back(Loss::Timeout, id, cx);
        }
    }
}
