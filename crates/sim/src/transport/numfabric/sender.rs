//! The sending end of NUMFabric: a window by the rate at which packets arrive, a weight by the price of the path.

use std::collections::VecDeque;

use super::utility::{Estimate, MEGA, virtual_length};
use super::{Numfabric, Weights, kind};
use crate::agent::numfabric::word;
use crate::derived::bytes_in;
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start, Toward};
use crate::engine::contract::packet::{Header, Packet, Record};
use crate::ids::ConnId;
use crate::transport::backoff::Backoff;
use crate::transport::sent::{Sent, SentList, State};
use crate::transport::source::{Next, PlainFlow, Source};
use crate::units::{Rate, Time};

/// Something has not been answered.
pub const RETRANSMIT: u8 = 0;

/// The sending end of a connection.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    source: PlainFlow,
    stage: Stage,
    /// Packets that have been sent and are not acknowledged.
    sent: SentList<Note>,
    /// Transmissions that may be in flight, in their order: number of the transmission, and of the packet.
    flight: VecDeque<(u32, u32)>,
    transmissions: u32,
    /// The last transmission that was acknowledged, and one more.
    heard: u32,
    /// Bytes on the wire of the packets in flight.
    in_flight: u64,
    /// Bytes on the wire that may be in flight.
    window: u64,
    /// The least round trip of data, at most the one that the scenario gives.
    base_rtt: Time,
    rate: Estimate,
    /// Of the path, by the last answer: the sum of its prices, and its links; none before the first.
    price: f64,
    links: u64,
    /// See `Numfabric::weight_at`.
    weight: f64,
    /// When the next packet starts at the host's port, in its virtual time, and whether it waits for its turn there.
    start: u64,
    waits: bool,
    timer: Backoff,
}

/// A sender's note on a packet.
#[derive(Clone, Copy, Debug, Default)]
struct Note {
    /// The number of its last transmission.
    transmission: u32,
    /// Whether the flow ends with it.
    last: bool,
}

/// How far a flow is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Its SYN is not answered.
    Opening,
    Open,
    /// All is acknowledged.
    #[default]
    Over,
}

impl Sender {
    /// A flow starts, with the memory of the one before: a SYN goes out. The first window is that of the whole link.
    pub fn start(&mut self, id: ConnId, start: Start, config: &Numfabric, cx: &mut impl Host) {
        let mut flight = std::mem::take(&mut self.flight);
        flight.clear();
        *self = Sender {
            source: PlainFlow::new(start.size),
            stage: Stage::Opening,
            sent: std::mem::take(&mut self.sent).restart(),
            flight,
            base_rtt: config.base_rtt(),
            weight: config.weight_at(0.0, line(id, cx)),
            ..Sender::default()
        };
        let Rate(rate) = cx.rate(cx.port(id));
        self.window = self.window_at(rate, config);
        self.open(id, config, cx);
    }

    /// Bytes on the wire that may be in flight.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// The window at that rate in bit/s: that times the least round trip and the slack, in whole packets.
    fn window_at(&self, rate: u64, config: &Numfabric) -> u64 {
        let bytes = bytes_in(Rate(rate), self.base_rtt.saturating_add(config.slack));
        bytes.div_ceil(config.full()).max(1) * config.full()
    }

    /// Sends the SYN.
    fn open(&mut self, id: ConnId, config: &Numfabric, cx: &mut impl Host) {
        *cx.record() = record(f64::INFINITY);
        let header = Header { kind: kind::SYN, ..Header::default() };
        cx.send_to_receiver(id, config.control_bytes.0 as u32, header);
        self.start_timer(id, config, cx);
    }

    fn start_timer(&mut self, id: ConnId, config: &Numfabric, cx: &mut impl Host) {
        self.timer.restart(config.timeout(), Owner::Sender(id), RETRANSMIT, cx);
    }

    fn size(&self, len: u16, config: &Numfabric) -> u64 {
        u64::from(len) + config.header_bytes.0
    }

    /// Whether the window has room for a packet that is to be sent. A flow without packets in flight has room for one.
    fn may_send(&self, config: &Numfabric) -> bool {
        if self.stage != Stage::Open || (self.sent.lost() == 0 && self.source.left() == 0) {
            return false;
        }
        let len = match self.sent.lost() {
            0 => self.source.left().min(config.mss.0) as u16,
            _ => self.sent.get(self.sent.first_lost()).map_or(0, |sent| sent.len),
        };
        self.in_flight == 0 || self.in_flight + self.size(len, config) <= self.window
    }

    /// Waits for its turn at the host's port if it may send and does not wait yet. `clock` is the virtual time there.
    pub fn take_turn(&mut self, id: ConnId, config: &Numfabric, clock: u64, cx: &mut impl Host) {
        if !self.waits && self.may_send(config) {
            self.waits = true;
            self.start = self.start.max(clock);
            cx.ready_by(id, self.start);
        }
    }

    /// The link is free, and no other flow of the host has a packet that starts before: lost packets go first.
    pub fn next_packet(
        &mut self,
        id: ConnId,
        config: &Numfabric,
        clock: &mut u64,
        cx: &mut impl Host,
    ) -> (Option<Packet>, bool) {
        self.waits = false;
        if !self.may_send(config) {
            return (None, false);
        }
        let again = self.sent.lost() > 0;
        let number = if again { self.sent.send_first_lost() } else { self.cut(config) };
        let (sent, _) = self.sent.send(number);
        sent.note.transmission = self.transmissions;
        let Sent { len, note, .. } = *sent;
        self.flight.push_back((self.transmissions, number));
        self.transmissions += 1;
        let counts = cx.sender(id);
        counts.packets_sent += 1;
        counts.retransmissions += u32::from(again);
        if self.in_flight == 0 {
            self.start_timer(id, config, cx);
        }
        let size = self.size(len, config);
        self.in_flight += size;
        let length = virtual_length(size as u32, self.weight);
        *clock = self.start;
        self.start = self.start.saturating_add(length);
        *cx.record() = record(self.residual(config));
        let kind = if note.last { kind::LAST } else { kind::DATA };
        let header = Header { kind, len, number, ack: length, ..Header::default() };
        let packet = cx.packet(id, Toward::Receiver, size as u32, 0, header);
        self.waits = self.may_send(config);
        if self.waits {
            cx.change_rank(id, self.start);
        }
        (Some(packet), self.waits)
    }

    /// Cuts a new packet off the source.
    fn cut(&mut self, config: &Numfabric) -> u32 {
        let Next::Range { len, last, .. } = self.source.next(config.mss.0 as u32) else {
            unreachable!("a sender that may send has something to send");
        };
        self.sent.push(len as u16, Note { transmission: 0, last })
    }

    /// By how much a further Mb/s is worth more to the flow than it costs, for each link of its path; infinite while it does not
    /// know its rate, or if it has no use for prices.
    fn residual(&self, config: &Numfabric) -> f64 {
        match self.rate.rate().filter(|_| config.weights == Weights::Prices && self.links > 0) {
            Some(rate) => (config.utility().derivative(rate) - self.price) / self.links as f64,
            None => f64::INFINITY,
        }
    }

    /// An answer: the price of the path, and of data the rate at which it arrives.
    pub fn on_answer(&mut self, packet: &Packet, config: &Numfabric, cx: &mut impl Host) {
        let (id, header) = (packet.conn, &packet.header);
        match (self.stage, header.kind) {
            (Stage::Opening, kind::SYN_ACK) => {
                self.learn(id, config, cx);
                self.stage = Stage::Open;
                self.timer.reset();
                self.timer.clear();
            }
            (Stage::Open, kind::ACK) => {
                self.learn(id, config, cx);
                self.timer.reset();
                self.base_rtt = self.base_rtt.min(cx.now() - Time(header.seq));
                self.acknowledge(header, config);
                self.find_lost(config);
                self.go_on(id, config, cx);
            }
            _ => {}
        }
    }

    /// The price of the path and its links.
    fn learn(&mut self, id: ConnId, config: &Numfabric, cx: &mut impl Host) {
        let Record(words) = *cx.record();
        (self.price, self.links) = (f64::from_bits(words[word::PRICE]), words[word::LINKS]);
        self.weight = config.weight_at(self.price, line(id, cx));
    }

    /// A packet has arrived, perhaps not for the first time.
    fn acknowledge(&mut self, header: &Header, config: &Numfabric) {
        let Some(sent) = self.sent.get(header.number) else { return };
        self.heard = self.heard.max(sent.note.transmission + 1);
        let size = self.size(sent.len, config);
        if header.ack > 0 {
            self.rate.sample(size, header.ack, config.rate_time.0);
            let rate = self.rate.rate().map_or(0, |rate| (rate * MEGA) as u64);
            self.window = self.window_at(rate, config);
        }
        if self.sent.acknowledge(header.number).is_some_and(|sent| sent.state == State::InFlight) {
            self.in_flight -= size;
        }
    }

    /// Packets are lost if enough that were sent after them have arrived.
    fn find_lost(&mut self, config: &Numfabric) {
        while let Some(&(transmission, number)) = self.flight.front() {
            if let Some(sent) = self.sent.get(number)
                && sent.state == State::InFlight
                && sent.note.transmission == transmission
            {
                if transmission + config.reordering >= self.heard {
                    break;
                }
                self.sent.lose(number);
                self.in_flight -= self.size(sent.len, config);
            }
            self.flight.pop_front();
        }
    }

    /// After an acknowledgement.
    fn go_on(&mut self, id: ConnId, config: &Numfabric, cx: &mut impl Host) {
        if self.sent.is_empty() && self.source.left() == 0 {
            self.stage = Stage::Over;
            self.timer.clear();
            cx.acknowledged(id);
            cx.finish(id);
        } else if self.in_flight == 0 {
            self.timer.clear();
        } else {
            self.start_timer(id, config, cx);
        }
    }

    /// Nothing has been answered for too long.
    pub fn on_timer(&mut self, id: ConnId, config: &Numfabric, cx: &mut impl Host) {
        if !self.timer.is_due(Owner::Sender(id), RETRANSMIT, cx) {
            return;
        }
        cx.sender(id).timeouts += 1;
        self.timer.double();
        match self.stage {
            Stage::Opening => self.open(id, config, cx),
            Stage::Open => {
                self.sent.lose_all();
                self.flight.clear();
                self.in_flight = 0;
            }
            Stage::Over => unreachable!("a flow that has ended has no timer"),
        }
    }

    /// Inconsistencies of the sender's own counters, if there are any.
    pub fn audit(&self) -> Option<String> {
        let packets = self.sent.those(State::InFlight).count();
        if (packets == 0) != (self.in_flight == 0) {
            return Some(format!("{packets} packets are in flight, of {} bytes", self.in_flight));
        }
        self.sent.audit()
    }
}

/// The rate of the host's link, in Mb/s.
fn line(id: ConnId, cx: &impl Host) -> f64 {
    cx.rate(cx.port(id)).0 as f64 / MEGA
}

/// The record of a packet that leaves its host, with that residual.
fn record(residual: f64) -> Record {
    let mut record = Record::default();
    record.0[word::PRICE] = 0.0_f64.to_bits();
    record.0[word::RESIDUAL] = residual.to_bits();
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derived::Derived;
    use crate::engine::contract::endpoint::Endpoint;
    use crate::engine::contract::fake::FakeHost;
    use crate::transport::numfabric::Model;

    const FLOW: ConnId = ConnId(0);

    fn config() -> Numfabric {
        Numfabric {
            base_rtt: Derived::Given(Time::from_us(10)),
            timeout: Derived::Given(Time::from_us(1000)),
            ..Numfabric::default()
        }
    }

    /// Ports have given their prices to the packet that comes next.
    fn priced(host: &mut FakeHost, price: f64, links: u64) {
        host.record.0[word::PRICE] = price.to_bits();
        host.record.0[word::LINKS] = links;
    }

    /// A flow of so many packets at a host of 10 Gbps, whose SYN came back with a price of 0.0005.
    fn opened(packets: u64, config: Numfabric) -> (FakeHost, Model) {
        let mut host = FakeHost::pair(1460 * packets);
        let mut model = Model::new(host.configs(vec![config]));
        host.start(&mut model, FLOW);
        let syn = host.sent[0];
        let answer = host.receives(&mut model, &syn)[0];
        priced(&mut host, 0.0005, 2);
        host.answers(&mut model, &answer);
        (host, model)
    }

    /// A packet of data arrives at that time, and its acknowledgement, with that price of three links, is back at once.
    fn arrives(host: &mut FakeHost, model: &mut Model, packet: &Packet, us: u64, price: f64) {
        host.now = Time::from_us(us);
        let ack = host.receives(model, packet)[0];
        priced(host, price, 3);
        host.answers(model, &ack);
    }

    fn numbers(packets: &[Packet]) -> Vec<u32> {
        packets.iter().map(|packet| packet.header.number).collect()
    }

    /// At a price of 0.0005 a flow with alpha = 1 weighs 2000 Mb/s, at which 1500 B take 6 us; with a fixed weight of 3 they take
    /// 4 us, whatever the price. The rate is not known yet: no packet has the least residual.
    #[test]
    fn packets_carry_their_virtual_length() {
        let fixed = Numfabric { weights: Weights::Fixed, weight: 3.0, ..config() };
        for (config, length) in [(config(), 6_000_000), (fixed, 4_000_000)] {
            let (mut host, mut model) = opened(9, config);
            let packets = host.sends(&mut model, FLOW, 99);
            assert!(packets.iter().all(|packet| packet.header.ack == length), "{packets:?}");
            assert_eq!(packets.len(), 9);
            assert_eq!(host.record, record(f64::INFINITY));
        }
    }

    /// The first window is that of 10 Gbps and 10 + 6 us, 20,000 B, in whole packets: 14. Packets that come 6 us apart are
    /// 2 Gbps and a window of 4000 B, three packets. At a price of 0.0001 over three links the residual then is
    /// (1 / 2000 - 0.0001) / 3; a flow with a fixed weight has none.
    #[test]
    fn window_and_residual_follow_the_rate_of_arrivals() {
        let fixed = Numfabric { weights: Weights::Fixed, ..config() };
        for (config, residual) in [(config(), 0.0004 / 3.0), (fixed, f64::INFINITY)] {
            let (mut host, mut model) = opened(99, config);
            let packets = host.sends(&mut model, FLOW, 99);
            let window = |model: &Model, host: &FakeHost| model.window(FLOW, &host.conns[0]);
            assert_eq!((packets.len(), window(&model, &host)), (14, Some(21_000)));
            arrives(&mut host, &mut model, &packets[0], 20, 0.0001);
            assert_eq!(window(&model, &host), Some(21_000), "one packet has no rate");
            for packet in &packets[1..] {
                arrives(&mut host, &mut model, packet, 26, 0.0001);
            }
            assert_eq!(window(&model, &host), Some(4500));
            host.record = Record::default();
            let more = host.sends(&mut model, FLOW, 99);
            assert_eq!(more.len(), 3);
            let found = f64::from_bits(host.record.0[word::RESIDUAL]);
            assert!(found == residual || (found / residual - 1.0).abs() < 1e-9, "{found}");
        }
    }

    /// A round trip below that of the scenario takes its place: 4 us and 6 us of slack at 10 Gbps, 12,500 B, are nine packets.
    #[test]
    fn the_least_round_trip_counts() {
        let (mut host, mut model) = opened(99, config());
        let packets = host.sends(&mut model, FLOW, 2);
        arrives(&mut host, &mut model, &packets[0], 4, 0.0001);
        host.now = Time::from_ns(5200);
        let ack = host.receives(&mut model, &packets[1])[0];
        host.answers(&mut model, &ack);
        assert_eq!(model.window(FLOW, &host.conns[0]), Some(9 * 1500));
    }

    /// Three later packets have arrived: the first is lost, and goes before new ones. It is not lost again while it is in flight.
    #[test]
    fn a_gap_of_three_is_a_loss() {
        let (mut host, mut model) = opened(20, config());
        let packets = host.sends(&mut model, FLOW, 6);
        for (packet, next) in [(1, vec![6]), (2, vec![7]), (3, vec![0]), (4, vec![8])] {
            arrives(&mut host, &mut model, &packets[packet], 10, 0.0001);
            assert_eq!(numbers(&host.sends(&mut model, FLOW, 1)), next, "after packet {packet}");
        }
        assert_eq!((host.sender(FLOW).retransmissions, host.sender(FLOW).timeouts), (1, 0));
    }

    /// A SYN without an answer goes again after 1 ms, then after 2 ms more; a window that is lost after 1 ms.
    #[test]
    fn what_is_not_answered_goes_again() {
        let mut host = FakeHost::pair(2 * 1460);
        let mut model = Model::new(host.configs(vec![config()]));
        host.start(&mut model, FLOW);
        let mut syn = host.sent[0];
        for due in [1000, 3000] {
            syn = host.expires(&mut model)[0];
            assert_eq!(host.now, Time::from_us(due));
        }
        let answer = host.receives(&mut model, &syn)[0];
        host.answers(&mut model, &answer);
        assert_eq!(numbers(&host.sends(&mut model, FLOW, 9)), [0, 1]);
        host.times_out(&mut model, FLOW);
        assert_eq!(host.now, Time::from_us(4000));
        let again = host.sends(&mut model, FLOW, 9);
        assert_eq!(numbers(&again), [0, 1]);
        for packet in &again {
            arrives(&mut host, &mut model, packet, 4010, 0.0);
        }
        assert_eq!((&host.completed[..], &host.finished[..]), (&[FLOW][..], &[FLOW][..]));
    }
}
