//! The receiving end of NDP: an ACK for each packet, a NACK for each header, and a pull for either.

use super::coded::Coded;
use super::pacer::Pacer;
use super::{DECODED, Ndp, kind, pack};
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
    /// In place of `delivery`, if the flow has a code.
    coded: Option<Box<Coded>>,
}

impl Receiver {
    /// Starts over for another flow, with the memory of the one before.
    pub fn reset(&mut self, place: u64, coded: Option<Coded>) {
        self.delivery.clear();
        let delivery = std::mem::take(&mut self.delivery);
        *self = Receiver { delivery, place, coded: coded.map(Box::new), ..Receiver::default() };
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
        let was_lossy = self.coded.as_ref().is_some_and(|coded| coded.is_lossy());
        if packet.has(flag::TRIMMED) {
            cx.receiver(id).trims += 1;
            if packet.header.class & TRIMMED_LAST != 0 {
                answer |= kind::LAST_HOP;
            }
        } else {
            answer = kind::ACK;
            cx.note_arrival(packet);
            completes = self.receive(packet, cx);
        }
        // Once everything is here there is nothing to pull.
        if !self.is_complete() {
            let mut pulls = self.pulls_for(packet, was_lossy);
            if pulls > 0 && config.pull_ack && pacer.may_pull_at_once(cx.now()) {
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

    /// A packet of data, or of its code. Returns whether it is the one that completes a flow.
    #[inline]
    fn receive(&mut self, packet: &Packet, cx: &mut impl Host) -> bool {
        let (id, Header { number, len, kind, .. }) = (packet.conn, packet.header);
        let Some(coded) = &mut self.coded else {
            return self.delivery.receive(id, number, len, kind == kind::LAST, cx).completes;
        };
        let more = coded.receive(number, len);
        if more == 0 {
            return false;
        }
        cx.delivered(id, more);
        let completes = coded.is_complete();
        if completes {
            cx.completed(id);
        }
        completes
    }

    /// Whether all has arrived.
    #[inline]
    fn is_complete(&self) -> bool {
        self.coded.as_ref().map_or_else(|| self.delivery.is_complete(), |coded| coded.is_complete())
    }

    /// Pulls for a packet or header: one, and one for each that the sender asks for; under a code no more than are needed.
    #[inline]
    fn pulls_for(&mut self, packet: &Packet, was_lossy: bool) -> u32 {
        let asked = (packet.header.ack as u32).saturating_sub(self.granted);
        self.granted += asked;
        match &mut self.coded {
            None => 1 + asked,
            Some(coded) => {
                coded.note_missing(asked + u32::from(packet.has(flag::TRIMMED)));
                coded.pulls(1 + asked, was_lossy)
            }
        }
    }

    /// The pacer lets a pull of this connection go.
    pub fn send_pull(&mut self, id: ConnId, config: &Ndp, cx: &mut impl Host) {
        self.pulls += 1;
        self.send(id, kind::PULL | kind::PULLS, 0, 0, config, cx);
    }

    fn send(&self, id: ConnId, kind: u8, echo: u64, number: u32, config: &Ndp, cx: &mut impl Host) {
        let in_order = match &self.coded {
            None => self.delivery.next(),
            Some(coded) => {
                if coded.is_complete() {
                    DECODED
                } else {
                    0
                }
            }
        };
        let ack = pack(in_order, self.pulls);
        let header = Header { kind, number, seq: echo, ack, ..Header::default() };
        cx.send_to_sender(id, config.control_bytes.0 as u32, header);
    }

    /// Bytes of the ranges that have arrived.
    pub fn received(&self) -> u64 {
        self.coded.as_ref().map_or_else(|| self.delivery.received(), |coded| coded.delivered())
    }
}
