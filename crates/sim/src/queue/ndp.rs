//! The NDP port: a short data queue that trims packets when it is full, and a queue for headers.
//!
//! Source: Handley et al., "Re-architecting datacenter networks and stacks for low latency and high
//! performance", SIGCOMM 2017, section 3; edge cases after its public simulator (htsim).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::waiting::Waiting;
use super::{Build, Feature, Limit, Settings};
use crate::engine::contract::discipline::{Discipline, DropReason, PortContext, Queued};
use crate::engine::contract::packet::{TRIMMED_LAST, flag};
use crate::engine::contract::rules::BufferLimit;
use crate::ids::PacketId;
use crate::units::Bytes;

/// Two queues, data and headers, with trimming and weighted round robin between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NdpPort {
    /// Limit of the data queue. The paper has 8 full packets, counted in bytes.
    pub data_limit: Limit,
    /// Limit of the header queue. Absent: as many bytes as full packets have in the data queue (paper); htsim
    /// has twice that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header_limit: Option<Limit>,
    /// Headers served for each data packet while both queues have packets: 10 in the paper; 0 means headers
    /// always go first (htsim: as good as strict).
    #[schemars(range(max = 1_000_000))]
    pub headers_per_data: u32,
    /// The packet that is trimmed when the data queue is full.
    pub trim: Trim,
    /// Size of a trimmed packet.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1500B"))]
    pub trimmed_bytes: Bytes,
    /// Whether a header that finds the header queue full is returned to its sender, once (paper, section
    /// 3.2.4); else it is dropped.
    pub return_to_sender: bool,
    /// Whether the packet on the wire counts towards the limits (htsim and the paper's nine-packet example: yes).
    pub limit_counts_wire: bool,
}

/// Which packet loses its payload when the data queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Trim {
    /// A fair coin decides between the arriving packet and the one at the tail (paper: avoids phase effects).
    Coin,
    /// Always the arriving packet (the OMNeT++ model, NetFPGA).
    Arriving,
}

impl Default for NdpPort {
    fn default() -> Self {
        NdpPort {
            data_limit: Limit::FullPackets(8),
            header_limit: None,
            headers_per_data: 10,
            trim: Trim::Coin,
            trimmed_bytes: Bytes(64),
            return_to_sender: true,
            limit_counts_wire: true,
        }
    }
}

impl Settings for NdpPort {
    fn most_packets(&self, full_packet: u64) -> Option<u64> {
        self.data_limit.room(full_packet).most_packets(full_packet)
    }

    fn offers(&self) -> &'static [Feature] {
        &[Feature::Trimming]
    }

    fn begins_at(&self, feature: Feature) -> Option<&'static str> {
        (feature == Feature::Trimming).then_some("data_limit")
    }
}

impl Build for NdpPort {
    type Model = Model;

    fn model(&self, full_packet: u64) -> Model {
        let data_room = self.data_limit.room(full_packet);
        Model {
            data: Half::new(data_room),
            headers: Half::new(match self.header_limit {
                Some(limit) => limit.room(full_packet),
                None => self.data_limit.room_in_bytes(full_packet),
            }),
            headers_per_data: self.headers_per_data,
            turn: 0,
            coin: self.trim == Trim::Coin,
            trimmed_bytes: self.trimmed_bytes.0 as u32,
            cuts: true,
            at_last_hop: false,
            returns: self.return_to_sender,
            counts_wire: self.limit_counts_wire,
            wire_is_data: false,
        }
    }
}

/// The two queues at one port.
#[derive(Clone, Debug)]
pub struct Model {
    data: Half,
    headers: Half,
    headers_per_data: u32,
    /// Counts decisions taken while both queues wait.
    turn: u32,
    coin: bool,
    trimmed_bytes: u32,
    /// Whether the packet that finds no room is trimmed; else it is dropped.
    pub(super) cuts: bool,
    /// Whether the link ends at a host: packets carry that if they are trimmed here.
    pub(super) at_last_hop: bool,
    returns: bool,
    counts_wire: bool,
    /// Which half the packet on the wire came from.
    wire_is_data: bool,
}

/// One of the two queues.
#[derive(Clone, Debug)]
struct Half {
    waiting: Waiting,
    room: BufferLimit,
    /// Its room without faults.
    whole: BufferLimit,
}

impl Half {
    fn new(room: BufferLimit) -> Half {
        Half { waiting: Waiting::default(), room, whole: room }
    }

    /// Whether a packet fits beside the queued bytes and this half's part of the wire.
    #[inline(always)]
    fn admits(&self, size: u32, wire_bytes: u32) -> bool {
        let packets = self.waiting.len() + u32::from(wire_bytes > 0) + 1;
        self.room.holds(packets, self.waiting.bytes() + u64::from(wire_bytes) + u64::from(size))
    }

    #[inline(always)]
    fn push(&mut self, packet: Queued, cx: &mut PortContext) {
        cx.keep(packet.size);
        self.waiting.push(packet);
    }
}

impl Model {
    /// Bytes of data that wait, without the packet on the wire.
    #[inline]
    pub(super) fn data_waiting(&self) -> u64 {
        self.data.waiting.bytes()
    }

    /// Whether the last packet that left came from the data queue.
    #[inline]
    pub(super) fn sends_data(&self) -> bool {
        self.wire_is_data
    }

    /// Bytes of the packet on the wire, if it counts and came from that half.
    #[inline]
    fn wire(&self, data: bool, cx: &PortContext) -> u32 {
        if self.counts_wire && self.wire_is_data == data { cx.port.wire_bytes } else { 0 }
    }

    /// The queue is full: the header of a data packet may be returned to its sender.
    #[cold]
    fn refuse(&self, id: PacketId, cx: &mut PortContext) {
        let packet = &cx.arena[id];
        if self.returns && packet.has(flag::TRIMMED) && !packet.has(flag::BOUNCED) {
            cx.bounce(id);
        } else {
            cx.drop(id, DropReason::Full);
        }
    }

    /// A header, a control packet or a trimmed packet: queued while there is room.
    #[inline(always)]
    fn enqueue_header(&mut self, packet: Queued, cx: &mut PortContext) {
        if self.headers.admits(packet.size, self.wire(false, cx)) {
            self.headers.push(packet, cx);
        } else {
            self.refuse(packet.id, cx);
        }
    }

    /// The data queue is full: the arriving packet or the one at the tail loses its payload. A packet that
    /// may not be trimmed is spared by the coin, and dropped if it is the arriving one.
    #[cold]
    fn overflow(&mut self, arriving: Queued, cx: &mut PortContext) {
        let tail_loses = self.coin && cx.stream.coin();
        let tail = self
            .data
            .waiting
            .last()
            .filter(|tail| tail_loses && (!self.cuts || cx.arena[tail.id].has(flag::TRIMMABLE)));
        let loser = match tail {
            Some(tail) => {
                self.data.waiting.pop_last();
                cx.port.quit(cx.now, tail.size);
                self.data.push(arriving, cx);
                tail.id
            }
            None => arriving.id,
        };
        if self.cuts && cx.arena[loser].has(flag::TRIMMABLE) {
            let size = cx.trim(loser, self.trimmed_bytes);
            if self.at_last_hop {
                cx.arena[loser].header.class |= TRIMMED_LAST;
            }
            self.enqueue_header(Queued { id: loser, size }, cx);
        } else {
            cx.drop(loser, DropReason::Full);
        }
    }
}

impl Discipline for Model {
    #[inline(always)]
    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext) {
        let packet = Queued { id, size: cx.arena[id].size };
        if cx.arena[id].has(flag::CONTROL | flag::TRIMMED) {
            self.enqueue_header(packet, cx);
        } else if self.data.admits(packet.size, self.wire(true, cx)) {
            self.data.push(packet, cx);
        } else {
            self.overflow(packet, cx);
        }
    }

    /// Without its turn in the weighted round robin, which counts only decisions between two.
    #[inline(always)]
    fn pass(&mut self, id: PacketId, cx: &mut PortContext) -> Option<Queued> {
        self.wire_is_data = !cx.arena[id].has(flag::CONTROL | flag::TRIMMED);
        let half = if self.wire_is_data { &self.data } else { &self.headers };
        let size = cx.arena[id].size;
        if !half.admits(size, 0) {
            // The limit is less than one packet.
            self.enqueue(id, cx);
            return self.dequeue(cx);
        }
        cx.keep(size);
        Some(Queued { id, size })
    }

    /// Weighted round robin: of `headers_per_data + 1` decisions taken while both wait, one is for data.
    #[inline(always)]
    fn dequeue(&mut self, _cx: &mut PortContext) -> Option<Queued> {
        let mut data_turn = self.headers.waiting.is_empty();
        if !data_turn && !self.data.waiting.is_empty() && self.headers_per_data > 0 {
            self.turn = if self.turn >= self.headers_per_data { 0 } else { self.turn + 1 };
            data_turn = self.turn == self.headers_per_data;
        }
        self.wire_is_data = data_turn;
        if data_turn { self.data.waiting.pop() } else { self.headers.waiting.pop() }
    }

    fn scale(&mut self, share: f64) {
        for half in [&mut self.data, &mut self.headers] {
            half.room = half.whole.scaled(share);
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.data.waiting.is_empty() && self.headers.waiting.is_empty()
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        self.data.waiting.iter().chain(self.headers.waiting.iter()).for_each(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::agent::tests::packet;
    use crate::engine::contract::discipline::tests::FakePort;
    use crate::engine::contract::packet::{Header, Packet};
    use crate::units::Rate;

    /// The numbers of the packets, in the order in which they leave a port with room for two full packets, if all come
    /// before the first leaves; and how many it trims and drops. Each that comes is given by size and flags.
    fn outcome(coming: &[(u32, u8)]) -> (Vec<u32>, u64, u64) {
        let config =
            NdpPort { data_limit: Limit::FullPackets(2), trim: Trim::Arriving, ..NdpPort::default() };
        let mut model = config.model(1500);
        let mut port = FakePort::new(Rate(1_000_000_000));
        let mut cx = port.cx();
        for (number, &(size, flags)) in (0..).zip(coming) {
            let header = Header { number, ..Header::default() };
            let id = cx.arena.insert(Packet { flags, header, ..packet(0, size) });
            model.enqueue(id, &mut cx);
        }
        let mut sent = Vec::new();
        while let Some(packet) = model.dequeue(&mut cx) {
            sent.push(cx.arena[packet.id].header.number);
        }
        (sent, cx.losses.trims, cx.losses.dropped.packets)
    }

    const FULL: (u32, u8) = (1500, flag::TRIMMABLE);
    const TRIMMED: (u32, u8) = (64, flag::TRIMMABLE | flag::TRIMMED);
    const ACK: (u32, u8) = (64, flag::CONTROL);

    /// A header that another switch has trimmed goes ahead of data that came before it, behind the headers and control
    /// packets that did.
    #[test]
    fn what_was_trimmed_before_goes_with_the_headers() {
        assert_eq!(outcome(&[FULL, TRIMMED]), (vec![1, 0], 0, 0));
        assert_eq!(outcome(&[FULL, ACK, TRIMMED, ACK]), (vec![1, 2, 3, 0], 0, 0));
        // A full data queue is nothing to it: the third full packet is the only one that is trimmed.
        assert_eq!(outcome(&[FULL, FULL, TRIMMED, FULL]), (vec![2, 3, 0, 1], 1, 0));
    }

    /// Paper, section 3.1: of eleven decisions while both queues wait, one is for data.
    #[test]
    fn ten_headers_go_between_two_data_packets() {
        let (sent, ..) = outcome(&[&[FULL, FULL][..], &[TRIMMED; 24]].concat());
        let place = |number| sent.iter().position(|&other| other == number).expect("it is sent");
        assert_eq!(place(1) - place(0), 11);
    }
}
