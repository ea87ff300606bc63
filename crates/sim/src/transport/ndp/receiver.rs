//! The receiving end of NDP: an ACK for each packet, a NACK for each header, and a pull for either.

use super::pacer::Pacer;
use super::{Ndp, kind, pack};
use crate::engine::contract::host::Host;
use crate::engine::contract::packet::{Header, Packet, TRIMMED_LAST, flag};
use crate::ids::ConnId;
use crate::transport::delivery::Delivery;

/// The receiving end of a connection.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    delivery: Delivery,
    /// Pulls sent: the number of the last one.
    pulls: u32,
    /// Its place in the cycle of turns to pull.
    place: u64,
    /// Pulls for packets that never arrived, which the sender has requested and been sent.
    granted: u32,
}

impl Receiver {
    /// Starts over for another flow, with the memory of the one before.
    pub fn reset(&mut self, place: u64) {
        self.delivery.clear();
        let delivery = std::mem::take(&mut self.delivery);
        *self = Receiver { delivery, place, ..Receiver::default() };
    }

    /// A data packet or its header. The pull goes with the answer if no other is queued and the link's turn
    /// has come (htsim), else into the queue that all connections of the interface share. Returns whether
    /// everything has arrived now, so that queued pulls are void.
    #[inline]
    pub fn on_packet(
        &mut self,
        packet: &Packet,
        config: &Ndp,
        pacer: &mut Pacer,
        cx: &mut impl Host,
    ) -> bool {
        let id = packet.conn;
        let number = packet.header.number;
        let (mut answer, mut completes) = (kind::NACK, false);
        if packet.has(flag::TRIMMED) {
            cx.receiver(id).trims += 1;
            if packet.header.class & TRIMMED_LAST != 0 {
                answer |= kind::LAST_HOP;
            }
        } else {
            answer = kind::ACK;
            cx.note_arrival(packet);
            let last = packet.header.kind == kind::LAST;
            completes = self.delivery.receive(id, number, packet.header.len, last, cx).completes;
        }
        // Once everything is here there is nothing to pull.
        if !self.delivery.is_complete() {
            let asked = packet.header.ack as u32;
            let mut pulls = 1 + asked.saturating_sub(self.granted);
            self.granted = self.granted.max(asked);
            if config.pull_ack && pacer.may_pull_at_once(cx.now()) {
                pacer.pull_at_once(cx.now() + config.spacing(packet.ingress, cx));
                answer |= kind::PULLS;
                self.pulls += 1;
                pulls -= 1;
            }
            if pulls > 0 {
                pacer.push(id, self.place, cx.conn(id).priority, pulls, config);
            }
        }
        self.send(id, answer, packet.created_at.0, number, config, cx);
        completes
    }

    /// The pacer lets a pull of this connection go.
    pub fn send_pull(&mut self, id: ConnId, config: &Ndp, cx: &mut impl Host) {
        self.pulls += 1;
        self.send(id, kind::PULL | kind::PULLS, 0, 0, config, cx);
    }

    fn send(&self, id: ConnId, kind: u8, echo: u64, number: u32, config: &Ndp, cx: &mut impl Host) {
        let ack = pack(self.delivery.next(), self.pulls);
        let header = Header { kind, number, seq: echo, ack, ..Header::default() };
        cx.send_to_sender(id, config.control_bytes.0 as u32, header);
    }

    /// Bytes of the ranges that have arrived.
    pub fn received(&self) -> u64 {
        self.delivery.received()
    }
}
