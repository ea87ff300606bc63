//! The sending end of pFabric: a window that opens at line rate, a fixed timeout, and probes when nothing gets through.

use super::{Pfabric, Remaining, kind};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Timer, Toward};
use crate::engine::contract::packet::{Header, Packet};
use crate::ids::ConnId;
use crate::transport::sent::{Sent, SentList, State};
use crate::transport::source::{Next, PlainFlow, Source};

/// The sender's timer; even, by the convention of `Endpoint::timer`.
pub const RETRANSMIT: u8 = 0;

/// The sending end of a connection.
///
/// The timer runs for the first packet that is not acknowledged, and packets in flight when it expires are
/// taken for lost. Packets that were acknowledged out of order are not retransmitted.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    source: PlainFlow,
    /// Bytes of the flow that are not acknowledged.
    unacknowledged: u64,
    /// Packets that have been sent; of each, whether it is the last one.
    sent: SentList<bool>,
    in_flight: u32,
    cwnd: u32,
    ssthresh: u32,
    /// Packets acknowledged since the window last grew, beyond slow start.
    growth: u32,
    /// Timeouts since the last answer.
    silent: u32,
    probing: bool,
    timer: Timer,
}

impl Sender {
    /// Starts over for another flow, with the memory of the one before.
    pub fn reset(&mut self, config: &Pfabric, size: u64) {
        *self = Sender {
            source: PlainFlow::new(size),
            unacknowledged: size,
            sent: std::mem::take(&mut self.sent).restart(),
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
        !self.probing && self.in_flight < self.cwnd && (self.sent.lost() > 0 || self.source.left() > 0)
    }

    /// The next packet, which may be sent: lost packets go first.
    pub fn next_packet(&mut self, id: ConnId, config: &Pfabric, cx: &mut impl Host) -> Packet {
        let again = self.sent.lost() > 0;
        let number = if again { self.sent.send_first_lost() } else { self.cut(config) };
        let Sent { len, note: last, .. } = self.sent.get(number).expect("it has just been sent");
        let counts = cx.sender(id);
        counts.packets_sent += 1;
        counts.retransmissions += u32::from(again);
        self.in_flight += 1;
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

    /// Cuts a new packet off the source.
    fn cut(&mut self, config: &Pfabric) -> u32 {
        let Next::Range { len, last, .. } = self.source.next(config.mss.0 as u32) else {
            unreachable!("who may send has something to send");
        };
        self.sent.push(len as u16, last)
    }

    /// A packet's sort key at ports; `unsent` has the packet's own bytes.
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
        let (base, left) = (self.sent.base(), self.unacknowledged);
        self.silent = 0;
        self.probing = false;
        if header.kind == kind::ACK {
            self.acknowledge(header.number);
        }
        // Acknowledgements that were lost are made good for.
        while u64::from(self.sent.base()) < header.seq {
            self.acknowledge(self.sent.base());
        }
        if self.unacknowledged < left {
            self.grow(config);
        }
        if self.in_flight == 0 {
            self.timer.clear();
        } else if self.sent.base() > base {
            self.start_timer(id, config, cx);
        }
        if self.is_done() {
            cx.acknowledged(id);
            cx.finish(id);
        }
    }

    /// An acknowledgement has arrived for a packet, perhaps not the first one.
    fn acknowledge(&mut self, number: u32) {
        let Some(sent) = self.sent.acknowledge(number) else { return };
        self.in_flight -= u32::from(sent.state == State::InFlight);
        self.unacknowledged -= u64::from(sent.len);
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
        self.sent.lose_all();
        self.in_flight = 0;
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
            number: self.sent.base(),
            ack: self.rank(self.source.left(), config),
            ..Header::default()
        };
        let probe = cx.packet(id, Toward::Receiver, config.header_bytes.0 as u32, 0, header);
        cx.send(probe);
        self.start_timer(id, config, cx);
    }

    /// Inconsistencies of the sender's own counters, if there are any.
    pub fn audit(&self) -> Option<String> {
        let in_flight = self.sent.those(State::InFlight).count() as u32;
        if in_flight != self.in_flight {
            return Some(format!("{in_flight} packets in flight, counted {}", self.in_flight));
        }
        if let Some(wrong) = self.sent.audit() {
            return Some(wrong);
        }
        let waits = (in_flight > 0 || self.probing) && !self.timer.is_set();
        waits.then(|| "packets are in flight and no timer is set".to_string())
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
