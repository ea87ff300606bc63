//! The receiving end: packets in their order, or under IRN in any; acknowledgements, and notifications of marks (the
//! notification point of DCQCN's paper).

use super::{Config, kind};
use crate::engine::contract::host::Host;
use crate::engine::contract::packet::{Header, Packet, flag};
use crate::transport::reassembly::{Arrival, Reassembly, Record};
use crate::units::Time;

/// The receiver of one flow.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    /// The packet that is next.
    expected: u32,
    /// One more than the last packet that has arrived in order: above `expected` where go-back-0 has gone back.
    reached: u32,
    /// Bytes that have arrived, each counted once.
    pub received: u64,
    /// Whether the sender has been notified that it is missing.
    reported: bool,
    /// Whether data has been marked since the last acknowledgement.
    marked: bool,
    /// A missing packet that has been reported is reported again from this time on.
    nak_at: Time,
    /// No notification before this time.
    notify_at: Time,
    /// Under IRN, the packets beyond a missing one.
    kept: Option<Box<Kept>>,
}

/// Packets that have arrived, in any order.
#[derive(Clone, Debug)]
struct Kept {
    packets: Reassembly,
    /// One more than the flow's last packet, once that has arrived.
    end: u32,
}

impl Receiver {
    /// The receiver of a flow.
    pub fn new(config: &Config) -> Receiver {
        let kept = config.irn.is_some().then(|| Kept { packets: Reassembly::default(), end: u32::MAX });
        Receiver { kept: kept.map(Box::new), ..Receiver::default() }
    }

    /// A packet of data.
    pub fn on_packet(&mut self, packet: &Packet, config: &Config, cx: &mut impl Host) {
        let now = cx.now();
        cx.note_arrival(packet);
        if packet.has(flag::CE) {
            self.marked = true;
            if config.signals.notifications && now >= self.notify_at {
                self.notify_at = now.saturating_add(config.cnp_interval);
                self.answer(packet, kind::CNP, config.cnp_bytes.0, config, cx);
            }
        }
        let number = packet.header.number;
        if self.kept.is_some() {
            self.keep(packet, config, cx);
        } else if number > self.expected {
            self.report(packet, config, cx);
        } else if number < self.expected {
            // The sender has gone back further than it had to: the acknowledgement may be lost.
            self.acknowledge(packet, kind::ACK, config, cx);
        } else {
            self.accept(packet, config, cx);
        }
    }

    /// The next packet.
    fn accept(&mut self, packet: &Packet, config: &Config, cx: &mut impl Host) {
        let Header { kind, len, .. } = packet.header;
        self.expected += 1;
        self.reported = false;
        let last = kind == kind::LAST;
        if self.expected > self.reached {
            self.reached = self.expected;
            self.received += u64::from(len);
            cx.delivered(packet.conn, u64::from(len));
            if last {
                cx.completed(packet.conn);
            }
        }
        if last || config.ack_every != 0 && self.expected.is_multiple_of(config.ack_every) {
            self.acknowledge(packet, kind::ACK, config, cx);
        }
    }

    /// A packet is missing, and the one that has arrived is discarded; one report is enough, for some time.
    fn report(&mut self, packet: &Packet, config: &Config, cx: &mut impl Host) {
        if self.reported && (config.nak_interval.is_none() || cx.now() < self.nak_at) {
            return;
        }
        self.reported = true;
        self.nak_at = config.nak_interval.map_or(Time::NEVER, |interval| cx.now().saturating_add(interval));
        self.expected -= self.expected % config.chunk;
        self.acknowledge(packet, kind::NAK, config, cx);
    }

    /// A packet under IRN, which is kept whatever its place: a report says which one that was.
    fn keep(&mut self, packet: &Packet, config: &Config, cx: &mut impl Host) {
        let Some(kept) = &mut self.kept else { return };
        let Header { kind, len, number, .. } = packet.header;
        let before = self.expected;
        let is_new = kept.packets.receive(number, len) != Arrival::Duplicate;
        self.expected = kept.packets.next();
        if kind == kind::LAST {
            kept.end = number + 1;
        }
        let completed = is_new && self.expected == kept.end;
        if is_new {
            self.received += u64::from(len);
            cx.delivered(packet.conn, u64::from(len));
        }
        if completed {
            cx.completed(packet.conn);
        }
        if number > self.expected {
            return self.acknowledge(packet, kind::NAK, config, cx);
        }
        let every = u64::from(config.ack_every).max(1);
        let is_due = config.ack_every != 0 && u64::from(self.expected) / every > u64::from(before) / every;
        if completed || !is_new || is_due {
            self.acknowledge(packet, kind::ACK, config, cx);
        }
    }

    /// Sends an ACK or a NAK, which echoes marks.
    fn acknowledge(&mut self, packet: &Packet, kind: u8, config: &Config, cx: &mut impl Host) {
        let echo = if std::mem::take(&mut self.marked) { kind::MARKED } else { 0 };
        self.answer(packet, kind | echo, config.ack_bytes.0, config, cx);
    }

    fn answer(&self, packet: &Packet, kind: u8, size: u64, config: &Config, cx: &mut impl Host) {
        let class = config.control_class as u8;
        let header = Header {
            kind,
            class,
            number: self.expected,
            seq: packet.created_at.0,
            len: packet.header.ack as u16,
            ack: if self.kept.is_some() { u64::from(packet.header.number) + 1 } else { 0 },
            ..Header::default()
        };
        cx.send_to_sender(packet.conn, size as u32, header);
    }
}
