//! DCQCN: RDMA's congestion control by rates, over a fabric that loses nothing.
//!
//! Source: Zhu et al., "Congestion control for large-scale RDMA deployments", SIGCOMM 2015, section 3; where
//! it leaves a point open, the HPCC simulator of Alibaba. Switches mark (`queue/lossless.rs`), the receiver
//! replies to marks by congestion notification packets (`receiver`), for which the sender lowers its rate
//! (`rate`); packets are sent one by one at this rate, without a window (`sender`). The transport below is
//! RoCEv2's: go-back-N by packet numbers (InfiniBand architecture specification, volume 1, section 9.7).

pub mod rate;
mod receiver;
mod sender;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::receiver::Receiver;
use self::sender::{PACE, RETRANSMIT, Sender};
use super::{Framing, Settings, audit_ranges};
use crate::advice::Advice;
use crate::balancer::Balancer;
use crate::balancer::per_flow::PerFlow;
use crate::derived::Longest;
use crate::engine::contract::conn::Conn;
use crate::engine::contract::endpoint::{Configs, Endpoint, Ends};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start};
use crate::engine::contract::packet::Packet;
use crate::ids::ConnId;
use crate::queue::lossless::Lossless;
use crate::queue::{Feature, Queue};
use crate::topology::Fabric;
use crate::units::{Bytes, Rate, Time};

/// DCQCN over RoCEv2. Where the paper is silent, defaults are those of the HPCC simulator's configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dcqcn {
    /// Payload of a full packet. The HPCC simulator: 1000 B; InfiniBand allows 256 B to 4096 B.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "65000B"))]
    pub payload: Bytes,
    /// Bytes of a data packet besides its payload: Ethernet with its check sequence 18, IPv4 20, UDP 8, the base
    /// transport header 12, the invariant check 4.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub header_bytes: Bytes,
    /// Bytes of an acknowledgement: the same, and an extended header of 4.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub ack_bytes: Bytes,
    /// Bytes of a congestion notification packet: the same, and 16 that are reserved (RoCEv2, annex A17).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub cnp_bytes: Bytes,
    /// One acknowledgement for so many packets, and one for the last; 0: only for the last.
    #[schemars(range(max = 1_000_000))]
    pub ack_every: u32,
    /// Weight of the newest notification in alpha.
    #[schemars(range(min = 0.000001, max = 1.0))]
    pub g: f64,
    /// Alpha before the first notification.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub initial_alpha: f64,
    /// Alpha shrinks by its share g whenever no notification has arrived for so long.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub alpha_timer: Time,
    /// The rate rises whenever so much time has passed since the last cut or the last rise by time. HPCC simulator:
    /// 1500 us, configured to 900 us.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub rate_timer: Time,
    /// The rate rises whenever so many bytes have been sent since the last cut or the last rise by bytes.
    #[schemars(extend("x-minimum" = "1B"))]
    pub byte_counter: Bytes,
    /// F: so many rises, by time or by bytes, before the target rises too.
    #[schemars(range(min = 1, max = 1000))]
    pub fast_recovery: u32,
    /// Step of additive increase of the target rate. The HPCC simulator by default: 5 Mbps; a model on htsim:
    /// 1/20 of the line's rate.
    #[schemars(extend("x-minimum" = "1bps"))]
    pub rate_ai: Rate,
    /// Step of hyper increase of the target rate. The HPCC simulator by default: 50 Mbps; a model on htsim:
    /// 1/10 of the line's rate.
    #[schemars(extend("x-minimum" = "1bps"))]
    pub rate_hai: Rate,
    /// The rate does not go below this.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    pub min_rate: Rate,
    /// The receiver sends at most one notification in this time for each flow.
    pub cnp_interval: Time,
    /// Class of data packets.
    #[schemars(range(max = 7))]
    pub data_class: u32,
    /// Class of acknowledgements and notifications; 0 goes first.
    #[schemars(range(max = 7))]
    pub control_class: u32,
    /// Without an acknowledgement of new data for so long, all packets from the first unacknowledged one are
    /// retransmitted: 4.096 us times 2 to the power of 14.
    #[schemars(extend("x-minimum" = "1us"))]
    pub timeout: Time,
    /// Whether it requires ports that do not drop; else any ports that mark are accepted.
    pub lossless: bool,
}

impl Default for Dcqcn {
    fn default() -> Self {
        Dcqcn {
            payload: Bytes(1000),
            header_bytes: Bytes(62),
            ack_bytes: Bytes(66),
            cnp_bytes: Bytes(78),
            ack_every: 1,
            g: 1.0 / 256.0,
            initial_alpha: 1.0,
            alpha_timer: Time::from_us(55),
            rate_timer: Time::from_us(55),
            byte_counter: Bytes(10_000_000),
            fast_recovery: 5,
            rate_ai: Rate(50_000_000),
            rate_hai: Rate(100_000_000),
            min_rate: Rate(100_000_000),
            cnp_interval: Time::from_us(50),
            data_class: 1,
            control_class: 0,
            timeout: Time(67_108_864_000),
            lossless: true,
        }
    }
}

impl Settings for Dcqcn {
    fn needs(&self) -> &'static [Feature] {
        if self.lossless { &[Feature::Ecn, Feature::Lossless] } else { &[Feature::Ecn] }
    }

    fn classifies_by(&self) -> Option<&'static str> {
        Some("data_class")
    }

    fn recommended_queue(&self) -> Queue {
        Lossless::default().into()
    }

    fn recommended_balancer(&self) -> Balancer {
        PerFlow {}.into()
    }

    fn full_packet(&self) -> u64 {
        self.payload.0 + self.header_bytes.0
    }

    fn answer_bytes(&self) -> u64 {
        self.ack_bytes.0
    }

    fn framing(&self) -> Option<Framing> {
        Some(Framing { payload: self.payload.0, header: self.header_bytes.0, pad_last: false })
    }

    fn longest_timeout(&self) -> Time {
        self.timeout
    }

    /// Acknowledgements that queue behind data: where data fills a port in both directions, they starve, and
    /// all packets are retransmitted.
    fn advice(&self, path: &str, _longest: &Longest) -> Vec<Advice> {
        let advice = || Advice {
            path: format!("{path}.control_class"),
            message: format!(
                "acknowledgements and notifications are of class {}, behind data of class {}: a port that is full of data \
                 never lets them through",
                self.control_class, self.data_class
            ),
            write: format!("{path}.control_class = 0"),
        };
        (self.control_class > self.data_class).then(advice).into_iter().collect()
    }

    fn answers(&self) -> f64 {
        if self.ack_every == 0 { 0.0 } else { 1.0 / f64::from(self.ack_every) }
    }
}

/// Values of `Header::kind`. Data: `number` and `seq` are the packet's place in its connection, in packets
/// and bytes. The others: `number` is the packet that the receiver expects next.
mod kind {
    pub const DATA: u8 = 0;
    /// Data with which the flow ends.
    pub const LAST: u8 = 1;
    pub const ACK: u8 = 2;
    /// A packet was missing.
    pub const NAK: u8 = 3;
    /// Congestion notification.
    pub const CNP: u8 = 4;
}

/// All DCQCN connections of a run.
pub struct Model {
    configs: Configs<Dcqcn>,
    senders: Ends<Sender>,
    receivers: Ends<Receiver>,
}

impl Model {
    pub(super) fn new(configs: Vec<Dcqcn>, _fabric: &Fabric) -> Model {
        Model { configs: Configs(configs), senders: Ends::default(), receivers: Ends::default() }
    }
}

impl Endpoint for Model {
    fn start(&mut self, id: ConnId, start: Start, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(id));
        cx.set_class(id, config.data_class as u8);
        *self.senders.open(id, cx) = Sender::new(id, start.size, config, cx);
        cx.ready(id);
    }

    fn accept(&mut self, id: ConnId, cx: &mut impl Host) {
        *self.receivers.open(id, cx) = Receiver::default();
    }

    #[inline]
    fn at_receiver(&mut self, packet: &Packet, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(packet.conn));
        self.receivers.at(packet.conn, cx).on_packet(packet, config, cx);
    }

    #[inline]
    fn at_sender(&mut self, packet: &Packet, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(packet.conn));
        self.senders.at(packet.conn, cx).on_packet(packet, config, cx);
    }

    #[inline]
    fn next_packet(&mut self, id: ConnId, cx: &mut impl Host) -> (Option<Packet>, bool) {
        let config = self.configs.of(cx.conn(id));
        self.senders.at(id, cx).next_packet(id, config, cx)
    }

    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut impl Host) {
        match (owner, kind) {
            (Owner::Sender(id), PACE) => self.senders.at(id, cx).on_pace(id, cx),
            (Owner::Sender(id), RETRANSMIT) => {
                let config = self.configs.of(cx.conn(id));
                self.senders.at(id, cx).on_timeout(id, config, cx);
            }
            _ => unreachable!("DCQCN has no other timers"),
        }
    }

    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        for (id, conn) in conns.iter().filter(|(_, conn)| conn.accepted()) {
            audit_ranges(*id, conn, self.receivers.get(*id).received, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::tests::FABRIC;
    use crate::engine::contract::fake::FakeHost;
    use crate::engine::contract::packet::flag;

    const FLOW: ConnId = ConnId(0);

    fn started(packets: u64) -> (FakeHost, Model) {
        let mut host = FakeHost::pair(packets * 1000);
        let mut model = Model::new(vec![Dcqcn::default()], &host.fabric());
        host.start(&mut model, FLOW);
        (host, model)
    }

    /// Kind of each answer, and the packet that the receiver expects next.
    fn says(answers: &[Packet]) -> Vec<(u8, u32)> {
        answers.iter().map(|answer| (answer.header.kind, answer.header.number)).collect()
    }

    #[test]
    fn answers_behind_data_are_advised_against() {
        let behind = Dcqcn { data_class: 0, control_class: 2, ..Dcqcn::default() };
        let advice = behind.advice("transport.dcqcn", &FABRIC);
        assert_eq!(advice[0].path, "transport.dcqcn.control_class");
        assert!(advice[0].message.contains("class 2, behind data of class 0"), "{}", advice[0].message);
        for equal in [0, 3] {
            let fine = Dcqcn { data_class: 3, control_class: equal, ..Dcqcn::default() };
            assert_eq!(fine.advice("transport.dcqcn", &FABRIC), []);
        }
    }

    /// Packet 1 of five is lost. The receiver reports it once; the sender goes back to it once, and
    /// retransmits all packets from there.
    #[test]
    fn a_missing_packet_makes_the_sender_go_back_to_it_once() {
        let (mut host, mut model) = started(5);
        let packets = host.sends(&mut model, FLOW, 9);
        assert_eq!(packets.len(), 5);
        let mut answers = Vec::new();
        for number in [0, 2, 3, 4] {
            answers.extend(host.receives(&mut model, &packets[number]));
        }
        assert_eq!(says(&answers), [(kind::ACK, 1), (kind::NAK, 1)]);
        answers.iter().for_each(|answer| host.answers(&mut model, answer));
        let again = host.sends(&mut model, FLOW, 9);
        assert_eq!(again.iter().map(|packet| packet.header.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(host.sender(FLOW).retransmissions, 4);
        for (packet, next) in again.iter().zip(2..) {
            let answers = host.receives(&mut model, packet);
            assert_eq!(says(&answers), [(kind::ACK, next)]);
            host.answers(&mut model, &answers[0]);
            assert!(host.sends(&mut model, FLOW, 9).is_empty());
        }
        assert_eq!((&host.completed[..], &host.finished[..]), (&[FLOW][..], &[FLOW][..]));
    }

    /// Marks at 0, 10, 49.999 and 50 us and an interval of 50 us: the first and the last make a notification.
    #[test]
    fn there_is_one_notification_in_an_interval() {
        let (mut host, mut model) = started(6);
        let packets = host.sends(&mut model, FLOW, 9);
        let mut notified = Vec::new();
        let marked = [(0, true), (10_000, true), (49_999, true), (50_000, true), (200_000, false)];
        for (packet, (ns, marked)) in packets.iter().zip(marked) {
            host.now = Time::from_ns(ns);
            let flags = if marked { packet.flags | flag::CE } else { packet.flags };
            let answers = host.receives(&mut model, &Packet { flags, ..*packet });
            let is_notification = |answer: &&Packet| answer.header.kind == kind::CNP;
            notified.push(answers.iter().filter(is_notification).count());
        }
        assert_eq!(notified, [1, 0, 0, 1, 0]);
    }

    /// The first notification finds alpha at 1 and halves 10 Gbps: a packet of 1062 B is followed by the next one after
    /// 1062 * 8 / 5 Gbps = 1699.2 ns.
    #[test]
    fn the_first_notification_halves_the_rate() {
        let (mut host, mut model) = started(6);
        let packet = host.sends(&mut model, FLOW, 1)[0];
        let answers = host.receives(&mut model, &Packet { flags: packet.flags | flag::CE, ..packet });
        assert_eq!(says(&answers), [(kind::CNP, 0), (kind::ACK, 1)]);
        answers.iter().for_each(|answer| host.answers(&mut model, answer));
        assert_eq!(host.sends(&mut model, FLOW, 9).len(), 1);
        assert!(host.sends(&mut model, FLOW, 9).is_empty());
        host.expires(&mut model);
        assert_eq!(host.now, Time(1_699_200));
        assert_eq!(host.sends(&mut model, FLOW, 9).len(), 1);
    }

    /// The timeout makes the sender go back to packet 0. Before its turn comes, an acknowledgement of the first three does:
    /// the fourth is the next one.
    #[test]
    fn what_is_acknowledged_meanwhile_is_not_sent_again() {
        let (mut host, mut model) = started(5);
        let packets = host.sends(&mut model, FLOW, 9);
        let acks: Vec<Packet> =
            packets[..3].iter().flat_map(|packet| host.receives(&mut model, packet)).collect();
        host.times_out(&mut model, FLOW);
        host.answers(&mut model, &acks[2]);
        let again = host.sends(&mut model, FLOW, 9);
        assert_eq!(again.iter().map(|packet| packet.header.number).collect::<Vec<_>>(), [3, 4]);
    }

    /// Each gap is reported, once: that before packet 2, and when it is filled, that before packet 4.
    #[test]
    fn each_gap_is_reported_once() {
        let (mut host, mut model) = started(6);
        let packets = host.sends(&mut model, FLOW, 9);
        let arrive = [0, 1, 3, 4, 2, 3, 5, 5];
        let answers = arrive.map(|number: usize| says(&host.receives(&mut model, &packets[number])));
        let (ack, nak) = (|next| vec![(kind::ACK, next)], |next| vec![(kind::NAK, next)]);
        assert_eq!(answers, [ack(1), ack(2), nak(2), vec![], ack(3), ack(4), nak(4), vec![]]);
    }
}
