//! pFabric: senders start at line rate and put the remaining bytes of their flow into each packet; ports do
//! the rest.
//!
//! Source: Alizadeh et al., "pFabric: Minimal Near-Optimal Datacenter Transport", SIGCOMM 2013, section 4.2
//! (rate control); numbers and points that the paper leaves open after a public simulator of it
//! (NetSys/simulator) and ns-2 (PIAS-NS2), each named where it applies. The port is `queue/pfabric.rs`,
//! `sender` the sending end; the receiving end is in this file. In which order a host's link serves its
//! connections is up to its port (`Host::ready_by`).

pub mod sender;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::sender::{RETRANSMIT, Sender};
use super::delivery::Delivery;
use super::{Needs, Profile, Settings, audit_ends};
use crate::advice::{self, Advice};
use crate::balancer::per_packet::PerPacket;
use crate::derived::{Derived, Environment, Longest, Values};
use crate::engine::contract::conn::Conn;
use crate::engine::contract::endpoint::{Configs, Endpoint, Ends};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start};
use crate::engine::contract::packet::{Header, Packet};
use crate::ids::ConnId;
use crate::problem::Problem;
use crate::queue::Feature;
use crate::queue::pfabric::PfabricPort;
use crate::units::{Bytes, Time};

/// pFabric. Windows and timeout have to fit the network, from which they follow unless they are given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pfabric {
    /// Payload of a full packet.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "65000B"))]
    pub mss: Bytes,
    /// Header of every packet; an acknowledgement or a probe has no further bytes.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub header_bytes: Bytes,
    /// Packets in flight at the start (NetSys/simulator: 12, PIAS-NS2: 70). "bdp": the bandwidth-delay
    /// product (paper), of the longest path between hosts, and at least 12.
    #[schemars(extend("minimum" = 1, "maximum" = 1_000_000))]
    pub initial_window: Derived<u32>,
    /// Packets in flight at most (NetSys/simulator: 15). "bdp": a quarter more than the initial window, as
    /// there.
    #[schemars(extend("minimum" = 1, "maximum" = 1_000_000))]
    pub max_window: Derived<u32>,
    /// Retransmission timeout; it is fixed (NetSys/simulator: 45 us; PIAS-NS2: 250 us). "derived": three round trips
    /// (paper) of the longest path, and at least 45 us.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "100s"))]
    pub rto: Derived<Time>,
    /// Timeouts in a row after which a sender only probes (paper: 5).
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub probe_after: u32,
    /// The priority that packets carry.
    pub remaining: Remaining,
    /// Order in which a host's link serves its connections; that of all flows of a host.
    pub host_order: HostOrder,
}

/// The priority that a packet carries when it is sent: its rank at ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Remaining {
    /// Bytes that are not acknowledged (NetSys/simulator).
    Unacknowledged,
    /// Bytes that have not been sent before, and those of the packet.
    Unsent,
}

/// Order in which a host's link serves its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostOrder {
    /// The one with the fewest remaining bytes; packets are made when the link is free.
    Shortest,
    /// Round robin; packets are made when the link is free.
    Turns,
    /// That of a port of a switch, with its rules and its limit: a host hands packets over as soon as the window lets
    /// it, and the port drops those that find no room (ns-2 and NetSys/simulator).
    Port,
}

impl Default for Pfabric {
    fn default() -> Self {
        Pfabric {
            mss: Bytes(1460),
            header_bytes: Bytes(40),
            initial_window: Derived::FromNetwork,
            max_window: Derived::FromNetwork,
            rto: Derived::FromNetwork,
            probe_after: 5,
            remaining: Remaining::Unacknowledged,
            host_order: HostOrder::Shortest,
        }
    }
}

/// Lower bound of derived values: NetSys/simulator's values for 10 Gbps.
const WINDOW_LEAST: u32 = 12;
const WINDOW_MOST_LEAST: u32 = 15;
const RTO_LEAST: Time = Time::from_us(45);

impl Pfabric {
    /// Bytes of a full packet on the wire.
    fn full_packet(&self) -> u64 {
        self.mss.0 + self.header_bytes.0
    }

    /// Packets in flight at the start.
    pub fn initial_window(&self) -> u32 {
        self.initial_window.or(WINDOW_LEAST)
    }

    /// Packets in flight at most.
    pub fn max_window(&self) -> u32 {
        self.max_window.or(WINDOW_MOST_LEAST)
    }

    /// The timeout.
    pub fn rto(&self) -> Time {
        self.rto.or(RTO_LEAST)
    }
}

impl Settings for Pfabric {
    fn profile(&self) -> Profile {
        Profile {
            answer_bytes: self.header_bytes.0,
            timeout_max: self.rto(),
            initial_burst: Some(u64::from(self.initial_window())),
            in_flight_max: Some(u64::from(self.max_window())),
            host_fields: vec![("host_order", json!(self.host_order))],
            queue: PfabricPort::default().into(),
            // Order does not matter to a sender without fast retransmit.
            balancer: PerPacket {}.into(),
            ..Profile::new(self.mss.0, self.header_bytes.0)
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            features: vec![Feature::Scheduling],
            host_queues: (self.host_order == HostOrder::Port).then_some("host_order"),
            ..Needs::default()
        }
    }

    fn problems(&self) -> Vec<Problem> {
        if let (Some(most), Some(initial)) = (self.max_window.given(), self.initial_window.given())
            && most < initial
        {
            let why = format!("{most} is below initial_window, which is {initial}");
            return vec![Problem::new("max_window", why)];
        }
        Vec::new()
    }

    fn derived(&self, environment: &Environment) -> Values {
        let mut values = Vec::new();
        let most = self.max_window.given().unwrap_or(1_000_000);
        let window = environment.longest.packets(self.full_packet()).max(WINDOW_LEAST).min(most);
        let initial = self.initial_window.or(window);
        if self.initial_window == Derived::FromNetwork {
            values.push(("initial_window".into(), json!(initial)));
        }
        if self.max_window == Derived::FromNetwork {
            let most = (u64::from(initial) * 5).div_ceil(4).clamp(u64::from(WINDOW_MOST_LEAST), 1_000_000);
            values.push(("max_window".into(), json!(most)));
        }
        if self.rto == Derived::FromNetwork {
            values.push(("rto".into(), json!(environment.longest.round_trips(3).max(RTO_LEAST))));
        }
        values
    }

    fn advice(&self, path: &str, longest: &Longest) -> Vec<Advice> {
        let packets = (u64::from(self.max_window()), self.full_packet());
        let window = advice::window(path, "max_window", packets, longest, "\"bdp\"".into());
        window.into_iter().chain(timeout(path, self, longest)).collect()
    }
}

/// A timeout that a packet which only waits outlasts (paper, section 5: about three round trips).
fn timeout(path: &str, pfabric: &Pfabric, longest: &Longest) -> Option<Advice> {
    let rto = pfabric.rto();
    (rto.0 < 3 * longest.round_trip.0).then(|| Advice {
        path: format!("{path}.rto"),
        message: format!(
            "{} is below three round trips of the longest path, {}: packets that only wait are sent again",
            advice::span(rto),
            advice::span(Time(3 * longest.round_trip.0))
        ),
        write: format!("{path}.rto = \"derived\""),
    })
}

/// Values of `Header::kind`. Data: `number` is the packet's place in its connection, `ack` its sort key at
/// ports, as in a probe. Answers: `seq` is the first number that is missing, `number` the packet that an
/// acknowledgement answers.
mod kind {
    pub const DATA: u8 = 0;
    pub const LAST: u8 = 1;
    pub const ACK: u8 = 2;
    pub const PROBE: u8 = 3;
    pub const PROBE_ACK: u8 = 4;
}

/// The receiving end of a connection: it acknowledges each packet by itself.
#[derive(Clone, Debug, Default)]
struct Receiver(Delivery);

impl Receiver {
    fn on_packet(&mut self, packet: &Packet, config: &Pfabric, cx: &mut impl Host) {
        let id = packet.conn;
        let Header { kind, number, len, .. } = packet.header;
        let mut answer = kind::PROBE_ACK;
        if kind != kind::PROBE {
            answer = kind::ACK;
            cx.note_arrival(packet);
            self.0.receive(id, number, len, kind == kind::LAST, cx);
        }
        let header = Header { kind: answer, number, seq: u64::from(self.0.next()), ..Header::default() };
        cx.send_to_sender(id, config.header_bytes.0 as u32, header);
    }
}

/// All pFabric connections of a run.
pub struct Model {
    configs: Configs<Pfabric>,
    senders: Ends<Sender>,
    receivers: Ends<Receiver>,
}

impl Model {
    pub(super) fn new(configs: Configs<Pfabric>) -> Model {
        Model { configs, senders: Ends::default(), receivers: Ends::default() }
    }

    /// Something has happened to a sender: if it may send, it waits for the wire or fills its host's port. Among those of a
    /// port that wait the one that lacks least goes first; among equals the one that sent last, as a port goes on with the
    /// flow that came first.
    fn settle(&mut self, id: ConnId, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(id));
        let sender = self.senders.at(id, cx);
        match config.host_order {
            HostOrder::Port => {
                while sender.may_send() {
                    let packet = sender.next_packet(id, config, cx);
                    cx.hand_over(packet);
                }
            }
            HostOrder::Shortest if sender.may_send() => cx.ready_by(id, sender.left()),
            HostOrder::Shortest => cx.not_ready(id),
            HostOrder::Turns if sender.may_send() => cx.ready(id),
            HostOrder::Turns => {}
        }
    }
}

impl Endpoint for Model {
    fn start(&mut self, id: ConnId, start: Start, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(id));
        self.senders.open(id, cx).reset(config, start.size);
        self.settle(id, cx);
    }

    fn accept(&mut self, id: ConnId, cx: &mut impl Host) {
        self.receivers.open(id, cx).0.clear();
    }

    #[inline]
    fn at_receiver(&mut self, packet: &Packet, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(packet.conn));
        self.receivers.at(packet.conn, cx).on_packet(packet, config, cx);
    }

    #[inline]
    fn at_sender(&mut self, packet: &Packet, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(packet.conn));
        self.senders.at(packet.conn, cx).on_answer(packet, config, cx);
        self.settle(packet.conn, cx);
    }

    #[inline]
    fn next_packet(&mut self, id: ConnId, cx: &mut impl Host) -> (Option<Packet>, bool) {
        let config = self.configs.of(cx.conn(id));
        let sender = self.senders.at(id, cx);
        if !sender.may_send() {
            return (None, false);
        }
        let packet = sender.next_packet(id, config, cx);
        (Some(packet), sender.may_send())
    }

    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut impl Host) {
        let (Owner::Sender(id), RETRANSMIT) = (owner, kind) else {
            unreachable!("pFabric has no other timers")
        };
        self.senders.at(id, cx).on_timer(id, self.configs.of(cx.conn(id)), cx);
        self.settle(id, cx);
    }

    fn window(&self, id: ConnId, conn: &Conn) -> Option<u64> {
        let config = self.configs.of(conn);
        Some(u64::from(self.senders.get(id).cwnd()) * config.mss.0)
    }

    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        let received = |receiver: &Receiver| receiver.0.received();
        audit_ends(conns, (&self.senders, Sender::audit), (&self.receivers, received), found);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::advice::tests::FABRIC;
    use crate::engine::contract::fake::FakeHost;

    #[test]
    fn a_timeout_waits_for_three_round_trips() {
        let pfabric = |rto: &str| Pfabric::deserialize(&json!({ "rto": rto })).expect("a time");
        // 3 x 12.32 us = 36.96 us.
        assert!(timeout("t", &pfabric("36us"), &FABRIC).is_some());
        assert_eq!(timeout("t", &pfabric("37us"), &FABRIC), None);
    }

    const FLOW: ConnId = ConnId(0);

    fn model(host: &FakeHost, host_order: HostOrder) -> Model {
        let config = Pfabric {
            mss: Bytes(1000),
            initial_window: Derived::Given(3),
            rto: Derived::Given(Time::from_us(45)),
            host_order,
            ..Pfabric::default()
        };
        Model::new(host.configs(vec![config]))
    }

    /// Number of each packet, and the bytes that its flow lacks.
    fn ranks(packets: &[Packet]) -> Vec<(u32, u64)> {
        packets.iter().map(|packet| (packet.header.number, packet.header.ack)).collect()
    }

    /// Of 5000 B in packets of 1000 B three go at once and lack all. Acknowledgements of 1, then of 0 leave 4000 and
    /// 3000 B; the first opens the window to four packets, of which two are on their way.
    #[test]
    fn packets_say_how_much_is_not_acknowledged() {
        let mut host = FakeHost::pair(5000);
        let mut model = model(&host, HostOrder::Shortest);
        host.start(&mut model, FLOW);
        let packets = host.sends(&mut model, FLOW, 9);
        assert_eq!(ranks(&packets), [(0, 5000), (1, 5000), (2, 5000)]);
        let mut acks = Vec::new();
        for number in [1, 0] {
            let answers = host.receives(&mut model, &packets[number]);
            assert_eq!(answers.len(), 1, "each packet is acknowledged by itself");
            assert_eq!(answers[0].header.number as usize, number);
            acks.push(answers[0]);
        }
        // The first packet that is missing: 0, then 2.
        assert_eq!([acks[0].header.seq, acks[1].header.seq], [0, 2]);
        host.answers(&mut model, &acks[0]);
        assert_eq!(ranks(&host.sends(&mut model, FLOW, 9)), [(3, 4000), (4, 4000)]);
        host.answers(&mut model, &acks[1]);
        // All three in flight are lost: the timeout leaves a window of one.
        host.times_out(&mut model, FLOW);
        assert_eq!(host.now, Time::from_us(45));
        assert_eq!(ranks(&host.sends(&mut model, FLOW, 9)), [(2, 3000)]);
    }

    /// 2000 B are more urgent than 5000 B, whosever turn it is, as long as they may be sent.
    #[test]
    fn the_most_urgent_flow_of_a_host_goes_first() {
        let order_of = |host_order| {
            let mut host = FakeHost::pair(5000);
            let short = host.connection(2000);
            let mut model = model(&host, host_order);
            host.start(&mut model, FLOW);
            host.start(&mut model, short);
            let packets = host.sends(&mut model, FLOW, 3);
            packets.iter().map(|packet| packet.conn.0).collect::<Vec<_>>()
        };
        assert_eq!(order_of(HostOrder::Shortest), [1, 1, 0]);
        assert_eq!(order_of(HostOrder::Turns), [0, 0, 0]);
    }

    /// Of two equal flows the one whose turn comes first has the link for its whole window.
    #[test]
    fn among_equals_the_flow_that_sent_last_goes_on() {
        let mut host = FakeHost::pair(5000);
        let equal = host.connection(5000);
        let mut model = model(&host, HostOrder::Shortest);
        host.start(&mut model, FLOW);
        host.start(&mut model, equal);
        let mut order = Vec::new();
        // The port gives each its turn as long as it may send.
        for turn in [FLOW, equal, FLOW, equal, equal, equal] {
            order.extend(host.sends(&mut model, turn, 1).iter().map(|packet| packet.conn));
        }
        assert_eq!(order, [FLOW, FLOW, FLOW, equal, equal, equal]);
    }

    /// The port gets a window of three at once, each with the flow's 5000 B as its rank, and the timer runs from then on,
    /// whenever the wire takes them.
    #[test]
    fn a_port_is_handed_whole_windows() {
        let mut host = FakeHost::pair(5000);
        let mut model = model(&host, HostOrder::Port);
        host.start(&mut model, FLOW);
        assert_eq!(ranks(&std::mem::take(&mut host.sent)), [(0, 5000), (1, 5000), (2, 5000)]);
        assert!(host.ready.is_empty());
        let again = host.expires(&mut model);
        assert_eq!(host.now, Time::from_us(45));
        assert_eq!(ranks(&again), [(0, 5000)]);
    }

    /// By bytes unsent, a packet counts itself and those behind it.
    #[test]
    fn packets_may_say_how_much_is_not_sent() {
        let mut host = FakeHost::pair(5000);
        let config = Pfabric {
            mss: Bytes(1000),
            initial_window: Derived::Given(3),
            remaining: Remaining::Unsent,
            ..Pfabric::default()
        };
        let mut model = Model::new(host.configs(vec![config]));
        host.start(&mut model, FLOW);
        assert_eq!(ranks(&host.sends(&mut model, FLOW, 9)), [(0, 5000), (1, 4000), (2, 3000)]);
    }

    /// The timer is that of the first packet that is missing: acknowledgements of later ones, at 10 us, leave it; that of
    /// the first one itself starts it anew.
    #[test]
    fn the_timer_is_of_the_first_packet_that_is_missing() {
        for (arrive, due) in [(&[1, 2][..], 45), (&[0][..], 55)] {
            let mut host = FakeHost::pair(5000);
            let mut model = model(&host, HostOrder::Shortest);
            host.start(&mut model, FLOW);
            let packets = host.sends(&mut model, FLOW, 9);
            host.now = Time::from_us(10);
            for &number in arrive {
                let ack = host.receives(&mut model, &packets[number])[0];
                host.answers(&mut model, &ack);
            }
            host.times_out(&mut model, FLOW);
            assert_eq!(host.now, Time::from_us(due), "after packets {arrive:?}");
        }
    }
}
