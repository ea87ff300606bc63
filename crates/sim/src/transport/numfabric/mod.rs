//! NUMFabric: flows share links by weights that follow from the prices of their paths, so that their utilities are together as
//! large as they can be.
//!
//! Source: Nagaraj, Bharadia, Mao, Chinchali, Alizadeh and Katti, "NUMFabric: Fast and Flexible Bandwidth Allocation in
//! Datacenters", SIGCOMM 2016; rules and numbers after the authors' code for ns-3 (jiaqing-phd/numfabric). Ports are
//! `queue/wfq.rs`, which serves by weight (with the window here the paper's Swift), and `agent/numfabric.rs`, which computes
//! prices (the paper's xWI). `sender` is the sending end, `utility` its arithmetic; the receiving end is in this file.
//!
//! A SYN learns the price of the path before the first data, as in the authors' code, which is a TCP. Hosts serve their flows
//! by weight as ports of switches do, where the authors' hosts have the queue of switches.

mod sender;
mod utility;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::sender::{RETRANSMIT, Sender};
use self::utility::Utility;
use super::backoff::{DOUBLINGS_MOST, INTERVAL_LEAST, derived_interval};
use super::delivery::Delivery;
use super::{Needs, Profile, Settings, audit_ends};
use crate::advice::Unread;
use crate::agent::numfabric::NumfabricPort;
use crate::derived::{Derived, Environment, Values};
use crate::engine::contract::conn::Conn;
use crate::engine::contract::endpoint::{Configs, Endpoint, Ends};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start};
use crate::engine::contract::packet::{Header, Packet};
use crate::ids::ConnId;
use crate::queue::Feature;
use crate::queue::wfq::Wfq;
use crate::units::{Bytes, Time};

/// NUMFabric: shares of links by utility.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Numfabric {
    /// Payload of a full packet.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "65000B"))]
    pub mss: Bytes,
    /// Bytes of a data packet besides its payload.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub header_bytes: Bytes,
    /// Bytes of a SYN and of an acknowledgement.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub control_bytes: Bytes,
    /// The utility of a rate x, of which a flow's rate follows: its derivative is x^-alpha. 1 is proportional fairness, and much
    /// above it max-min fairness.
    #[schemars(range(min = 0.1, max = 16.0))]
    pub alpha: f64,
    /// Flows that a flow counts as: of two flows over the same links it gets so many times the rate of one with 1.
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub weight: f64,
    /// Whether the weights of flows follow from prices.
    pub weights: Weights,
    /// Time that a flow's packets are to wait on their path (paper's dt: 6 us): a window is the rate times the least round trip
    /// and this.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub slack: Time,
    /// Time constant of the mean of a flow's rate (authors' runs: 20 us).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub rate_time: Time,
    /// The round trip of a flow until it has measured a lower one. "derived": that of the network's longest path without queues
    /// (authors' code: 16 us, that of theirs).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub base_rtt: Derived<Time>,
    /// A packet counts as lost when so many packets sent after it have been acknowledged (RFC 5681 has three duplicates).
    #[schemars(range(min = 1, max = 1000))]
    pub reordering: u32,
    /// Time without an acknowledgement after which all packets in flight count as lost, doubled each time, up to 64 times.
    /// "derived": ten of the longest round trips, and at least 1 ms (ours).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub timeout: Derived<Time>,
}

/// Source of a flow's weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// The price of its path, by its utility.
    Prices,
    /// `weight` alone: flows share each link in proportion.
    Fixed,
}

/// The weight of a flow whose fixed weight is 1, in Mb/s: of any value, as ports compare.
const FIXED_WEIGHT: f64 = 1000.0;
/// Least value that is derived for `base_rtt`: of a network without paths.
const BASE_RTT_LEAST: Time = Time::from_us(1);

impl Default for Numfabric {
    fn default() -> Self {
        Numfabric {
            mss: Bytes(1460),
            header_bytes: Bytes(40),
            control_bytes: Bytes(40),
            alpha: 1.0,
            weight: 1.0,
            weights: Weights::Prices,
            slack: Time::from_us(6),
            rate_time: Time::from_us(20),
            base_rtt: Derived::FromNetwork,
            reordering: 3,
            timeout: Derived::FromNetwork,
        }
    }
}

impl Numfabric {
    /// Bytes of a full packet on the wire.
    fn full(&self) -> u64 {
        self.mss.0 + self.header_bytes.0
    }

    fn base_rtt(&self) -> Time {
        self.base_rtt.or(BASE_RTT_LEAST)
    }

    fn timeout(&self) -> Time {
        self.timeout.or(INTERVAL_LEAST)
    }

    fn utility(&self) -> Utility {
        Utility { alpha: self.alpha, count: self.weight }
    }

    /// The weight of a flow at that price of its path, from a host whose link has that rate in Mb/s.
    fn weight_at(&self, price: f64, line: f64) -> f64 {
        match self.weights {
            Weights::Prices => self.utility().weight(price, line),
            Weights::Fixed => self.weight * FIXED_WEIGHT,
        }
    }
}

impl Settings for Numfabric {
    fn profile(&self) -> Profile {
        Profile {
            answer_bytes: self.control_bytes.0,
            timeout_max: Time(self.timeout().0 << DOUBLINGS_MOST),
            queue: Wfq::default().into(),
            ..Profile::new(self.mss.0, self.header_bytes.0)
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            features: vec![Feature::Weights],
            agent: Some(NumfabricPort::default().into()),
            records: true,
            ..Needs::default()
        }
    }

    fn derived(&self, environment: &Environment) -> Values {
        let mut values = derived_interval("timeout", self.timeout, environment);
        if self.base_rtt == Derived::FromNetwork {
            values.push(("base_rtt".into(), json!(environment.longest.round_trip.max(BASE_RTT_LEAST))));
        }
        values
    }

    fn unread(&self) -> Vec<Unread> {
        Unread::among([("alpha", self.weights == Weights::Prices, "weights = \"prices\"")])
    }
}

/// Values of `Header::kind`.
///
/// | kind | `number` | `seq` | `ack` |
/// |---|---|---|---|
/// | `DATA`, `LAST` | the packet's place in its flow | 0 | virtual length, which ports with weighted fair queueing read |
/// | `SYN`, `SYN_ACK` | 0 | 0 | 0 |
/// | `ACK` | of the packet that it answers | when that packet was made, in ps | time since the packet of data before it came, in ps; 0: it was the first |
///
/// The record is that of `agent/numfabric.rs`; answers bring it back.
mod kind {
    pub const DATA: u8 = 0;
    /// Data with which the flow ends.
    pub const LAST: u8 = 1;
    pub const ACK: u8 = 2;
    pub const SYN: u8 = 3;
    pub const SYN_ACK: u8 = 4;
}

/// The receiving end of a connection: it acknowledges each packet by itself.
#[derive(Clone, Debug, Default)]
struct Receiver {
    delivery: Delivery,
    /// When a packet of data came last.
    came: Option<Time>,
}

impl Receiver {
    fn clear(&mut self) {
        self.delivery.clear();
        self.came = None;
    }

    fn on_packet(&mut self, packet: &Packet, config: &Numfabric, cx: &mut impl Host) {
        let id = packet.conn;
        let Header { kind, number, len, .. } = packet.header;
        let mut header = Header { kind: kind::SYN_ACK, ..Header::default() };
        if kind != kind::SYN {
            cx.note_arrival(packet);
            self.delivery.receive(id, number, len, kind == kind::LAST, cx);
            let gap = self.came.replace(cx.now()).map_or(0, |before| (cx.now() - before).0);
            header = Header { kind: kind::ACK, number, seq: packet.created_at.0, ack: gap, ..header };
        }
        cx.send_to_sender(id, config.control_bytes.0 as u32, header);
    }
}

/// All NUMFabric connections of a run.
pub struct Model {
    configs: Configs<Numfabric>,
    senders: Ends<Sender>,
    receivers: Ends<Receiver>,
    /// Virtual times of hosts' ports, by link: the start of the packet that each sent last.
    clocks: Vec<u64>,
}

impl Model {
    pub(super) fn new(configs: Configs<Numfabric>) -> Model {
        let clocks = vec![0; configs.ports().links];
        Model { configs, senders: Ends::default(), receivers: Ends::default(), clocks }
    }
}

impl Endpoint for Model {
    fn start(&mut self, id: ConnId, start: Start, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(id));
        self.senders.open(id, cx).start(id, start, config, cx);
    }

    fn accept(&mut self, id: ConnId, cx: &mut impl Host) {
        self.receivers.open(id, cx).clear();
    }

    #[inline]
    fn at_receiver(&mut self, packet: &Packet, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(packet.conn));
        self.receivers.at(packet.conn, cx).on_packet(packet, config, cx);
    }

    #[inline]
    fn at_sender(&mut self, packet: &Packet, cx: &mut impl Host) {
        let id = packet.conn;
        let config = self.configs.of(cx.conn(id));
        let sender = self.senders.at(id, cx);
        sender.on_answer(packet, config, cx);
        sender.take_turn(id, config, self.clocks[cx.port(id).index()], cx);
    }

    #[inline]
    fn next_packet(&mut self, id: ConnId, cx: &mut impl Host) -> (Option<Packet>, bool) {
        let config = self.configs.of(cx.conn(id));
        let clock = &mut self.clocks[cx.port(id).index()];
        self.senders.at(id, cx).next_packet(id, config, clock, cx)
    }

    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut impl Host) {
        let (Owner::Sender(id), RETRANSMIT) = (owner, kind) else {
            unreachable!("NUMFabric has no other timers")
        };
        let config = self.configs.of(cx.conn(id));
        let sender = self.senders.at(id, cx);
        sender.on_timer(id, config, cx);
        sender.take_turn(id, config, self.clocks[cx.port(id).index()], cx);
    }

    fn window(&self, id: ConnId, _conn: &Conn) -> Option<u64> {
        Some(self.senders.get(id).window())
    }

    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        let received = |receiver: &Receiver| receiver.delivery.received();
        audit_ends(conns, (&self.senders, Sender::audit), (&self.receivers, received), found);
    }
}
