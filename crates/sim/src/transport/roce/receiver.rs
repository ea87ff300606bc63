//! The receiving end: packets in their order, acknowledgements, and notifications of marks (the notification point of
//! DCQCN's paper).

use super::{Config, kind};
use crate::engine::contract::host::Host;
use crate::engine::contract::packet::{Header, Packet, flag};
use crate::units::Time;

/// The receiver of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Receiver {
    /// The packet that is next.
    expected: u32,
    /// Bytes of those before it.
    pub received: u64,
    /// Whether the sender has been notified that it is missing.
    told: bool,
    /// No notification before this time.
    notify_at: Time,
    /// Whether data has been marked since the last acknowledgement.
    marked: bool,
}

impl Receiver {
    /// A packet of data.
    pub fn on_packet(&mut self, packet: &Packet, config: &Config, cx: &mut impl Host) {
        let Header { kind, number, len, .. } = packet.header;
        let now = cx.now();
        cx.note_arrival(packet);
        if packet.has(flag::CE) {
            self.marked = true;
            if config.signals.notifications && now >= self.notify_at {
                self.notify_at = now.saturating_add(config.cnp_interval);
                self.answer(packet, kind::CNP, config.cnp_bytes.0, config, cx);
            }
        }
        if number > self.expected {
            // Out-of-order packets are discarded; one report is enough.
            if !self.told {
                self.told = true;
                self.acknowledge(packet, kind::NAK, config, cx);
            }
            return;
        }
        if number < self.expected {
            // The sender has gone back further than it had to: the acknowledgement may be lost.
            return self.acknowledge(packet, kind::ACK, config, cx);
        }
        self.expected += 1;
        self.told = false;
        self.received += u64::from(len);
        cx.delivered(packet.conn, u64::from(len));
        let last = kind == kind::LAST;
        if last {
            cx.completed(packet.conn);
        }
        if last || config.ack_every != 0 && self.expected.is_multiple_of(config.ack_every) {
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
        let header =
            Header { kind, class, number: self.expected, seq: packet.created_at.0, ..Header::default() };
        cx.send_to_sender(packet.conn, size as u32, header);
    }
}
