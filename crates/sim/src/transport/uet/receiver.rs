//! The receiving end of Ultra Ethernet: acknowledgements with a bitmap, reports of trimmed packets, requests for credit.

use super::bitmap::Arrivals;
use super::control::Terms;
use super::pacer::{Account, Pacer, Place};
use super::wire::{answer, bitmap_base, data, kind, pack};
use super::{Config, Uet};
use crate::engine::contract::host::{Host, Toward};
use crate::engine::contract::packet::{Header, Packet, TRIMMED_LAST, flag};
use crate::ids::ConnId;
use crate::transport::delivery::FlowEnds;
use crate::units::Time;

/// The receiving end of a connection.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    arrivals: Arrivals,
    /// Bytes on the wire of all packets that have arrived, each once, and their payload.
    received: u64,
    payload: u64,
    /// Bytes that have arrived since the last ACK.
    accepted: u64,
    /// The first base round trip of its sender, from which the limit of credit follows.
    pub base_rtt: Time,
    /// Whether an ACK was requested while packets are missing: another follows when none is.
    ack_owed: bool,
    /// Where flows end.
    ends: FlowEnds,
    /// Whether it has all data of its connection: no further flow can come.
    done: bool,
    pub account: Account,
    /// The entropy value of the last pull.
    pull_value: u16,
}

/// Entropy values of pulls.
const PULL_VALUES: u16 = 128;

impl Receiver {
    /// Starts over for another flow, with the memory of the one before.
    pub fn reset(&mut self, base_rtt: Time) {
        self.arrivals.clear();
        self.ends.clear();
        let arrivals = std::mem::take(&mut self.arrivals);
        let ends = std::mem::take(&mut self.ends);
        *self = Receiver { arrivals, ends, base_rtt, ..Receiver::default() };
    }

    /// Payload that has arrived.
    pub fn payload(&self) -> u64 {
        self.payload
    }

    /// A packet of the sender. Returns whether all data of the connection is there.
    pub fn on_packet(
        &mut self,
        id: ConnId,
        packet: &Packet,
        config: &Config,
        pacer: &mut Pacer,
        cx: &mut impl Host,
    ) -> bool {
        let marked = packet.has(flag::CE);
        match packet.header.kind & kind::MASK {
            kind::PROBE => {
                self.acknowledge(packet, false, answer::TO_PROBE, config, cx);
                return false;
            }
            kind::RTS => {
                if let Some(credit) = config.credit() {
                    note_arrival(pacer, marked, credit, cx);
                    self.lacks(id, packet, &credit, config, pacer);
                }
                self.acknowledge(packet, true, answer::TO_RTS, config, cx);
                return false;
            }
            _ => {}
        }
        if packet.has(flag::TRIMMED) {
            self.on_trimmed(id, packet, config, pacer, cx);
            return false;
        }
        cx.note_arrival(packet);
        if let Some(credit) = config.credit() {
            note_arrival(pacer, marked, credit, cx);
            self.request(id, packet, false, pacer);
        }
        self.on_data(packet, config, cx);
        let expected = self.arrivals.expected();
        while let Some(flow) = self.ends.take_complete(expected) {
            // Another may follow where the connection is kept.
            self.done = flow == id;
            cx.completed(flow);
        }
        self.done
    }

    /// A packet with its payload. It is acknowledged at once if it is the first, marked, there already or if its sender wants
    /// that, else with so many bytes.
    fn on_data(&mut self, packet: &Packet, config: &Config, cx: &mut impl Host) {
        let Header { number, len, kind, .. } = packet.header;
        let marked = packet.has(flag::CE);
        self.accepted += u64::from(packet.size);
        if self.arrivals.has(number) {
            self.accepted = 0;
            return self.acknowledge(packet, marked, 0, config, cx);
        }
        let mut now = marked || self.received == 0;
        self.received += u64::from(packet.size);
        self.payload += u64::from(len);
        cx.delivered(packet.conn, u64::from(len));
        if kind & data::LAST != 0 {
            self.ends.note(number + 1, packet.conn);
        }
        let prompt = kind & data::ACK_NOW != 0;
        if prompt {
            now = true;
            self.ack_owed = true;
        }
        let in_order = number == self.arrivals.expected();
        self.arrivals.insert(number);
        if in_order && self.arrivals.stored() == 0 && self.ack_owed {
            now = true;
            self.ack_owed = false;
        }
        if now || self.accepted >= config.ack_bytes() {
            self.accepted = 0;
            self.acknowledge(packet, marked || prompt, 0, config, cx);
        }
    }

    /// The header of a packet whose payload was trimmed off.
    fn on_trimmed(
        &mut self,
        id: ConnId,
        packet: &Packet,
        config: &Config,
        pacer: &mut Pacer,
        cx: &mut impl Host,
    ) {
        let number = packet.header.number;
        let last_hop = packet.header.class & TRIMMED_LAST != 0;
        cx.receiver(packet.conn).trims += 1;
        let credit = config.credit();
        if let Some(rccc) = credit.and_then(|credit| credit.slowdown)
            && let Some(slowdown) = &mut pacer.slowdown
        {
            slowdown.trimmed(cx.now(), last_hop, rccc);
        }
        if self.arrivals.has(number) {
            return self.acknowledge(packet, false, 0, config, cx);
        }
        let mut flags = if packet.has(flag::CE) { answer::MARKED } else { 0 };
        flags |= if last_hop { answer::LAST_HOP } else { 0 };
        let header =
            Header { kind: kind::NACK | flags, number, len: packet.header.seq as u16, ..Header::default() };
        send(packet.conn, header, packet.header.seq as u16, config, cx);
        if let Some(credit) = credit {
            self.lacks(id, packet, &credit, config, pacer);
        }
    }

    /// A sender needs credit to send a packet again: one that was trimmed, or that it asks for.
    fn lacks(&mut self, id: ConnId, packet: &Packet, credit: &Terms, config: &Config, pacer: &mut Pacer) {
        self.request(id, packet, !credit.repairs_first, pacer);
        if credit.repairs_first && !self.done {
            let quanta = config.mtu.0.div_ceil(credit.quantum);
            pacer.repair(id, &mut self.account, quanta as i64);
        }
    }

    /// The target of a packet may be higher than those before; a flow with a trimmed packet or a request lacks credit in any
    /// case.
    fn request(&mut self, id: ConnId, packet: &Packet, lacks: bool, pacer: &mut Pacer) {
        let target = packet.header.ack as i64;
        let higher = target > self.account.target;
        self.account.target = self.account.target.max(target);
        // What comes when all data is there has been sent twice.
        if (higher || lacks) && !self.done && self.account.place != Place::Active {
            pacer.request(id, &mut self.account);
        }
    }

    /// Sends an ACK for a packet; `own`: with a bitmap that begins at it.
    fn acknowledge(&self, packet: &Packet, own: bool, flags: u8, config: &Config, cx: &mut impl Host) {
        let Header { number, seq, .. } = packet.header;
        let expected = self.arrivals.expected();
        let mut flags = flags | if own { answer::OWN_BASE } else { 0 };
        if packet.has(flag::CE) && !packet.has(flag::TRIMMED) {
            flags |= answer::MARKED;
        }
        if packet.header.kind & kind::MASK == kind::DATA && packet.header.kind & data::REPEATED != 0 {
            flags |= answer::REPEATED;
        }
        let bits = config.bitmap_bits;
        let bitmap = self.arrivals.bits(bitmap_base(number, expected, own, bits)) & (u64::MAX >> (64 - bits));
        let header = Header {
            kind: kind::ACK | flags,
            class: 0,
            len: seq as u16,
            number,
            seq: bitmap,
            ack: pack(expected, self.received),
        };
        send(packet.conn, header, seq as u16, config, cx);
    }

    /// The pacer has given credit.
    pub fn send_pull(&mut self, id: ConnId, config: &Config, cx: &mut impl Host) {
        self.pull_value = (self.pull_value + 1) % PULL_VALUES;
        let header = Header { kind: kind::PULL, ack: self.account.granted as u64, ..Header::default() };
        send(id, header, self.pull_value, config, cx);
    }
}

/// A packet has arrived in full.
fn note_arrival(pacer: &mut Pacer, marked: bool, credit: Terms, cx: &impl Host) {
    if let (Some(slowdown), Some(rccc)) = (&mut pacer.slowdown, credit.slowdown) {
        slowdown.arrived(cx.now(), marked, rccc);
    }
}

fn send(id: ConnId, header: Header, value: u16, config: &Uet, cx: &mut impl Host) {
    let mut packet = cx.packet(id, Toward::Sender, config.control_bytes.0 as u32, flag::CONTROL, header);
    cx.set_entropy(&mut packet, value);
    cx.send(packet);
}
