//! The receiving end: packets in their order, acknowledgements, and notifications of marks (the paper's notification
//! point).

use super::{Dcqcn, kind};
use crate::engine::contract::host::{Host, Toward};
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
}

impl Receiver {
    /// A packet of data.
    pub fn on_packet(&mut self, packet: &Packet, config: &Dcqcn, cx: &mut impl Host) {
        let Header { kind, number, len, .. } = packet.header;
        let now = cx.now();
        cx.note_arrival(packet);
        if packet.has(flag::CE) && now >= self.notify_at {
            self.notify_at = now.saturating_add(config.cnp_interval);
            self.answer(packet, kind::CNP, config.cnp_bytes.0, config, cx);
        }
        if number > self.expected {
            // Out-of-order packets are discarded; one report is enough.
            if !self.told {
                self.told = true;
                self.answer(packet, kind::NAK, config.ack_bytes.0, config, cx);
            }
            return;
        }
        if number < self.expected {
            // The sender has gone back further than it had to: the acknowledgement may be lost.
            return self.answer(packet, kind::ACK, config.ack_bytes.0, config, cx);
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
            self.answer(packet, kind::ACK, config.ack_bytes.0, config, cx);
        }
    }

    fn answer(&self, packet: &Packet, kind: u8, size: u64, config: &Dcqcn, cx: &mut impl Host) {
        let header =
            Header { kind, class: config.control_class as u8, number: self.expected, ..Header::default() };
        cx.send_control(packet.conn, Toward::Sender, size as u32, header);
    }
}
