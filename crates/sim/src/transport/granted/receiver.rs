//! The receiving end of a message: its arrived packets, and requests for those that are missing.

use super::{Terms, kind};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::Host;
use crate::engine::contract::packet::{Header, Packet};
use crate::ids::ConnId;
use crate::transport::backoff::Backoff;
use crate::transport::delivery::Delivery;
use crate::transport::reassembly::{Arrival, Reassembly};

/// The receiver's timer.
pub const RESEND: u8 = 1;

/// The receiving end of a message.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    delivery: Delivery<Reassembly>,
    /// Bytes of the message, and those of them that come without a grant; 0 before its first packet.
    pub size: u64,
    pub unscheduled: u64,
    /// Number of packets, and of those that may be sent: unscheduled and granted ones.
    packets: u32,
    pub granted: u32,
    /// The interface that grants it, that of its first packet, by the number of its link.
    pub link: u32,
    /// For requests.
    backoff: Backoff,
}

/// Effect of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Whether it is the first packet of its message.
    pub begins: bool,
    /// Whether its payload is new.
    pub is_new: bool,
}

impl Receiver {
    /// Starts over for another message, with the memory of the one before.
    pub fn reset(&mut self) {
        self.delivery.clear();
        let delivery = std::mem::take(&mut self.delivery);
        *self = Receiver { delivery, ..Receiver::default() };
    }

    /// Reads the message's size and its unscheduled bytes from its first packet, whichever that is.
    fn begin(&mut self, packet: &Packet, terms: &Terms) -> bool {
        if self.size > 0 {
            return false;
        }
        (self.size, self.unscheduled) = (packet.header.seq, packet.header.ack);
        self.packets = terms.cut.packets(self.size, self.unscheduled);
        self.granted = terms.cut.packets_unscheduled(self.unscheduled);
        self.link = packet.ingress.0;
        true
    }

    /// Whether all bytes have arrived.
    pub fn is_complete(&self) -> bool {
        self.delivery.is_complete()
    }

    /// Whether all packets are unscheduled or granted.
    pub fn is_granted(&self) -> bool {
        self.granted >= self.packets
    }

    /// A data packet.
    pub fn on_data(&mut self, packet: &Packet, terms: &Terms, cx: &mut impl Host) -> Received {
        let Packet { conn: id, header: Header { kind, number, len, .. }, .. } = *packet;
        let begins = self.begin(packet, terms);
        cx.note_arrival(packet);
        let arrival = self.delivery.receive(id, number, len, kind == kind::LAST, cx).arrival;
        if terms.acknowledge {
            if self.is_complete() {
                self.backoff.clear();
                self.acknowledge(id, terms, cx);
            } else {
                self.backoff.reset();
                self.restart_timer(id, terms, cx);
            }
        }
        Received { begins, is_new: arrival != Arrival::Duplicate }
    }

    /// The sender asks whether anything is missing: the acknowledgement was lost, or all packets before it were. Returns whether
    /// it is the first packet of its message.
    #[cold]
    pub fn on_probe(&mut self, packet: &Packet, terms: &Terms, cx: &mut impl Host) -> bool {
        let begins = self.begin(packet, terms);
        if self.is_complete() {
            self.acknowledge(packet.conn, terms, cx);
        } else if begins {
            self.request(packet.conn, terms, cx);
        }
        begins
    }

    /// The sender sends shorter messages: nothing is lost.
    #[cold]
    pub fn on_busy(&mut self, id: ConnId, terms: &Terms, cx: &mut impl Host) {
        if !self.is_complete() {
            self.backoff.reset();
            self.restart_timer(id, terms, cx);
        }
    }

    fn acknowledge(&self, id: ConnId, terms: &Terms, cx: &mut impl Host) {
        cx.send_to_sender(id, terms.control, Header { kind: kind::ACK, ..Header::default() });
    }

    fn restart_timer(&mut self, id: ConnId, terms: &Terms, cx: &mut impl Host) {
        self.backoff.restart(terms.resend_interval, Owner::Receiver(id), RESEND, cx);
    }

    /// Nothing has arrived for an interval: asks for the first missing packets, if any may have been sent.
    pub fn on_timer(&mut self, id: ConnId, terms: &Terms, cx: &mut impl Host) {
        if self.backoff.is_due(Owner::Receiver(id), RESEND, cx) && !self.is_complete() {
            self.request(id, terms, cx);
        }
    }

    fn request(&mut self, id: ConnId, terms: &Terms, cx: &mut impl Host) {
        let first = self.delivery.next();
        let end = (first..self.granted).find(|number| self.delivery.has(*number)).unwrap_or(self.granted);
        if first < end {
            let header =
                Header { kind: kind::RESEND, number: first, seq: u64::from(end), ..Header::default() };
            cx.send_to_sender(id, terms.control, header);
            self.backoff.double();
        }
        self.restart_timer(id, terms, cx);
    }

    /// Bytes of the packets that have arrived.
    pub fn received(&self) -> u64 {
        self.delivery.received()
    }
}
