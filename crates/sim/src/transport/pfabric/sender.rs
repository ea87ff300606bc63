//! The sending end of pFabric: a window that opens at line rate, a fixed timeout, and probes when nothing gets through.

use std::collections::VecDeque;

use super::{Pfabric, Remaining, kind};
use crate::engine::host::{Host, Owner, Timer, Toward};
use crate::engine::packet::{Header, Packet};
use crate::ids::ConnId;
use crate::transport::source::{Next, PlainFlow, Source};

/// The sender's timer; even, by the convention of `Endpoint::timer`.
pub const RETRANSMIT: u8 = 0;

/// The sending end of a connection.
///
/// The timer runs for the first packet that is not acknowledged, and what is under way when it comes is taken for lost.
/// Packets that were acknowledged out of order are not sent again.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    source: PlainFlow,
    /// Bytes of the flow that are not acknowledged.
    unacknowledged: u64,
    /// Packets from the first unacknowledged one on; `base` is its number.
    sent: VecDeque<Sent>,
    base: u32,
    under_way: u32,
    lost: u32,
    /// No packet before it is lost.
    repair: u32,
    cwnd: u32,
    ssthresh: u32,
    /// Packets acknowledged since the window last grew, beyond slow start.
    growth: u32,
    /// Timeouts since the last answer.
    silent: u32,
    probing: bool,
    timer: Timer,
    /// Whether the host has it among those that may send: the model's.
    pub(super) eager: bool,
}

/// A packet that has been sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    len: u16,
    last: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    UnderWay,
    Lost,
    Acknowledged,
}

impl Sender {
    /// Starts over for another flow, with the memory of the one before.
    pub fn reset(&mut self, config: &Pfabric, size: u64) {
        let mut sent = std::mem::take(&mut self.sent);
        sent.clear();
        *self = Sender {
            source: PlainFlow::new(size),
            unacknowledged: size,
            sent,
            cwnd: config.initial_window(),
            ssthresh: u32::MAX,
            ..Sender::default()
        };
    }

    /// The congestion window in packets.
    pub fn cwnd(&self) -> u32 {
        self.cwnd
    }

    /// Bytes that are not acknowledged.
    pub fn left(&self) -> u64 {
        self.unacknowledged
    }

    /// Whether everything is acknowledged.
    pub fn is_done(&self) -> bool {
        self.unacknowledged == 0
    }

    /// Whether the window has room for something that is there to be sent.
    pub fn may_send(&self) -> bool {
        !self.probing && self.under_way < self.cwnd && (self.lost > 0 || self.source.left() > 0)
    }

    /// The next packet, which may be sent: what was lost goes first.
    pub fn next_packet(&mut self, id: ConnId, config: &Pfabric, cx: &mut impl Host) -> Packet {
        let number = if self.lost > 0 { self.first_lost() } else { self.cut(config) };
        let sent = &mut self.sent[(number - self.base) as usize];
        let counts = cx.sender(id);
        counts.packets_sent += 1;
        if sent.state == State::Lost {
            counts.retransmissions += 1;
            self.lost -= 1;
            self.repair = number + 1;
        }
        sent.state = State::UnderWay;
        let Sent { len, last, .. } = *sent;
        self.under_way += 1;
        if !self.timer.is_set() {
            self.start_timer(id, config, cx);
        }
        let header = Header {
            kind: if last { kind::LAST } else { kind::DATA },
            len,
            number,
            ack: self.rank(self.source.left() + u64::from(len), config),
            ..Header::default()
        };
        cx.packet(id, Toward::Receiver, u32::from(len) + config.header_bytes.0 as u32, 0, header)
    }

    fn first_lost(&self) -> u32 {
        let mut number = self.repair.max(self.base);
        while self.sent[(number - self.base) as usize].state != State::Lost {
            number += 1;
        }
        number
    }

    /// Cuts a new packet off the source.
    fn cut(&mut self, config: &Pfabric) -> u32 {
        let Next::Range { len, last, .. } = self.source.next(config.mss.0 as u32) else {
            unreachable!("who may send has something to send");
        };
        self.sent.push_back(Sent { len: len as u16, last, state: State::UnderWay });
        self.base + self.sent.len() as u32 - 1
    }

    /// What ports sort a packet by; `unsent` has the packet's own bytes.
    fn rank(&self, unsent: u64, config: &Pfabric) -> u64 {
        match config.remaining {
            Remaining::Unacknowledged => self.unacknowledged,
            Remaining::Unsent => unsent,
        }
    }

    fn start_timer(&mut self, id: ConnId, config: &Pfabric, cx: &mut impl Host) {
        cx.set_timer(&mut self.timer, cx.now() + config.rto(), Owner::Sender(id), RETRANSMIT);
    }

    /// An acknowledgement, or the answer to a probe: either ends probing (PIAS-NS2: so does any packet that comes).
    pub fn on_answer(&mut self, packet: &Packet, config: &Pfabric, cx: &mut impl Host) {
        if self.is_done() {
            return;
        }
        let (id, header) = (packet.conn, &packet.header);
        let (base, left) = (self.base, self.unacknowledged);
        self.silent = 0;
        self.probing = false;
        if header.kind == kind::ACK {
            self.acknowledge(header.number);
        }
        // Acknowledgements that were lost are made good for.
        while u64::from(self.base) < header.seq {
            self.acknowledge(self.base);
        }
        if self.unacknowledged < left {
            self.grow(config);
        }
        if self.under_way == 0 {
            self.timer.clear();
        } else if self.base > base {
            self.start_timer(id, config, cx);
        }
        if self.is_done() {
            cx.acknowledged(id);
            cx.finish(id);
        }
    }

    /// A packet has arrived, as the sender now hears, perhaps not for the first time.
    fn acknowledge(&mut self, number: u32) {
        let Some(place) = number.checked_sub(self.base) else { return };
        let sent = &mut self.sent[place as usize];
        match std::mem::replace(&mut sent.state, State::Acknowledged) {
            State::UnderWay => self.under_way -= 1,
            State::Lost => self.lost -= 1,
            State::Acknowledged => return,
        }
        self.unacknowledged -= u64::from(sent.len);
        while self.sent.front().is_some_and(|sent| sent.state == State::Acknowledged) {
            self.sent.pop_front();
            self.base += 1;
        }
    }

    /// Slow start up to the threshold, then a packet a window, for each answer that acknowledges something.
    fn grow(&mut self, config: &Pfabric) {
        self.growth += 1;
        if self.cwnd < self.ssthresh || self.growth >= self.cwnd {
            self.growth = 0;
            self.cwnd = (self.cwnd + 1).min(config.max_window());
        }
    }

    /// Nothing new was acknowledged in order for a timeout: slow start from one packet, or, if it has been so for long,
    /// a probe.
    pub fn on_timer(&mut self, id: ConnId, config: &Pfabric, cx: &mut impl Host) {
        if !cx.timer_is_due(&mut self.timer, Owner::Sender(id), RETRANSMIT) {
            return;
        }
        cx.sender(id).timeouts += 1;
        self.silent += 1;
        self.ssthresh = (self.cwnd / 2).max(2);
        self.cwnd = 1;
        self.growth = 0;
        for sent in self.sent.iter_mut().filter(|sent| sent.state == State::UnderWay) {
            sent.state = State::Lost;
        }
        self.lost += std::mem::take(&mut self.under_way);
        self.repair = self.base;
        self.probing = self.silent >= config.probe_after;
        if self.probing {
            self.send_probe(id, config, cx);
        }
    }

    /// A packet without payload, at the flow's own rank: if it gets through, so may data. The paper has a byte of
    /// payload in it (section 4.2).
    fn send_probe(&mut self, id: ConnId, config: &Pfabric, cx: &mut impl Host) {
        let header = Header {
            kind: kind::PROBE,
            number: self.base,
            ack: self.rank(self.source.left(), config),
            ..Header::default()
        };
        let probe = cx.packet(id, Toward::Receiver, config.header_bytes.0 as u32, 0, header);
        cx.send(probe);
        self.start_timer(id, config, cx);
    }

    /// What is wrong in the sender's own books, if anything is.
    pub fn audit(&self) -> Option<String> {
        let count = |state| self.sent.iter().filter(|sent| sent.state == state).count() as u32;
        let (under_way, lost) = (count(State::UnderWay), count(State::Lost));
        if (under_way, lost) != (self.under_way, self.lost) {
            let counted = (self.under_way, self.lost);
            return Some(format!("{under_way} packets under way and {lost} lost, counted {counted:?}"));
        }
        let first_repair = self.repair.max(self.base) - self.base;
        if self.sent.iter().take(first_repair as usize).any(|sent| sent.state == State::Lost) {
            return Some(format!("a packet before number {} is lost", self.repair));
        }
        let waits = (under_way > 0 || self.probing) && !self.timer.is_set();
        waits.then(|| "something is under way and no timer is set".to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: slow start from 1 to 4, then a packet for each window, up to 6.
    #[test]
    fn the_window_grows() {
        let config = Pfabric { max_window: crate::derived::Derived::Given(6), ..Pfabric::default() };
        let mut sender = Sender { cwnd: 1, ssthresh: 4, ..Sender::default() };
        let mut windows = Vec::new();
        for _ in 0..20 {
            sender.grow(&config);
            windows.push(sender.cwnd());
        }
        assert_eq!(windows, [2, 3, 4, 4, 4, 4, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 6, 6]);
    }
}
