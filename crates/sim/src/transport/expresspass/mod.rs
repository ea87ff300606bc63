//! ExpressPass: receivers send credits, which switches meter; each credit that arrives lets its sender send one packet.
//!
//! Source: Cho, Jang and Han, "Credit-Scheduled Delay-Bounded Congestion Control for Datacenters", SIGCOMM 2017; rules and
//! numbers after the authors' simulator, kaist-ina/ns2-xpass (`xpass`). `feedback` has the rate of credits, `sender` and
//! `receiver` the ends of a flow; the meter is the queue "credit". Ours: the acknowledgement that ends a flow, and the
//! numbers of rounds, which distinguish repeated packets from those before; ns2-xpass reports losses of data only.

pub mod feedback;
pub mod receiver;
pub mod sender;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::feedback::Rules;
use self::receiver::{CREDITS, Receiver};
use self::sender::{ASK, Sender};
use super::backoff::{DOUBLINGS_MOST, INTERVAL_LEAST, derived_interval};
use super::{Needs, Profile, Settings, audit_ends};
use crate::balancer::assigned::Answers;
use crate::balancer::nix::Nix;
use crate::derived::{Derived, Environment, Values};
use crate::engine::contract::conn::Conn;
use crate::engine::contract::endpoint::{Configs, Endpoint, Ends};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start};
use crate::engine::contract::packet::Packet;
use crate::ids::ConnId;
use crate::problem::Problem;
use crate::queue::Feature;
use crate::queue::credit::CreditPort;
use crate::units::{Bytes, Time};

/// ExpressPass. The largest rate of credits is one in the time of a credit and its full packet on the link of the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExpressPass {
    /// Payload of a full packet (ns2-xpass: 1460 B).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "9000B"))]
    pub mss: Bytes,
    /// Bytes of a data packet on the wire beside its payload, Ethernet with preamble and gap included (ns2-xpass: 78 B).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub header_bytes: Bytes,
    /// Bytes on the wire of a credit, of another packet without payload, and of the shortest data packet (ns2-xpass: 84 B).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub credit_bytes: Bytes,
    /// alpha, the share of the largest rate at which credits begin (ns2-xpass: 0.5; paper, to be checked: 1/16).
    #[schemars(range(min = 0.0001, max = 1.0))]
    pub initial_rate: f64,
    /// Flows of fewer packets begin with a share of `initial_rate`: their packets over this number; 1: none does (ns2-xpass: 40).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub small_packets: u32,
    /// w, the weight of the largest rate in an increase, at first (ns2-xpass: 0.5; paper, to be checked: 1/16).
    #[schemars(range(min = 0.0001, max = 0.5))]
    pub w_initial: f64,
    /// Least weight, which is halved with each decrease (ns2-xpass: 0.01).
    #[schemars(range(min = 0.0001, max = 0.5))]
    pub w_min: f64,
    /// Share of lost credits that does not lower the rate of a flow near zero; that of others is less in proportion to their
    /// rate (ns2-xpass: 0.125).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub target_loss: f64,
    /// Each gap between credits is longer or shorter by up to this share of it, at random (ns2-xpass: 0.1).
    #[schemars(range(min = 0.0, max = 0.9))]
    pub jitter: f64,
    /// Time without a packet from the receiver after which a sender repeats its request, or its stop, doubled each time, up to 64
    /// times (ns2-xpass: 100 ms, in large networks 0.1 ms). "derived": ten of the longest round trips, and at least 1 ms.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub request_interval: Derived<Time>,
}

impl Default for ExpressPass {
    fn default() -> Self {
        ExpressPass {
            mss: Bytes(1460),
            header_bytes: Bytes(78),
            credit_bytes: Bytes(84),
            initial_rate: 0.5,
            small_packets: 40,
            w_initial: 0.5,
            w_min: 0.01,
            target_loss: 0.125,
            jitter: 0.1,
            request_interval: Derived::FromNetwork,
        }
    }
}

/// Bytes of Ethernet, its preamble and the gap between frames: for captures.
const ETHERNET: u64 = 38;

impl Settings for ExpressPass {
    /// A last packet is padded to `credit_bytes`, which its ideal time leaves out: 5 B at most, by default.
    fn profile(&self) -> Profile {
        let interval = self.request_interval.or(INTERVAL_LEAST);
        let (mss, header, credit) = (self.mss.0, self.header_bytes.0, self.credit_bytes.0);
        Profile {
            packet_max: (mss + header).max(credit),
            answer_bytes: credit,
            link_bytes: ETHERNET.min(header),
            timeout_max: Time(interval.0 << DOUBLINGS_MOST),
            queue: CreditPort::default().into(),
            balancer: Nix { answers: Answers::Backwards, ..Nix::default() }.into(),
            ..Profile::new(mss, header)
        }
    }

    fn needs(&self) -> Needs {
        Needs { features: vec![Feature::Metering], backwards: true, ..Needs::default() }
    }

    fn problems(&self) -> Vec<Problem> {
        if self.w_initial >= self.w_min {
            return Vec::new();
        }
        vec![Problem::new("w_initial", format!("{} is below w_min, {}", self.w_initial, self.w_min))]
    }

    fn derived(&self, environment: &Environment) -> Values {
        derived_interval("request_interval", self.request_interval, environment)
    }
}

/// Values of `Header::kind`.
///
/// Data: `number` is that of the packet, `seq` the credit that it answers and its sender's round, `ack` the time at which the
/// credit was sent. A credit: `number` is its own, `ack` the time. A request: `seq` is the size of the flow. A stop: `seq` is the
/// sender's round. A negative acknowledgement: `number` is the first packet that is missing, `seq` the receiver's round.
mod kind {
    pub const DATA: u8 = 0;
    pub const LAST: u8 = 1;
    pub const REQUEST: u8 = 2;
    pub const CREDIT: u8 = 3;
    pub const STOP: u8 = 4;
    pub const NACK: u8 = 5;
    pub const ACK: u8 = 6;

    /// `seq` of data.
    #[inline]
    pub fn answer(credit: u32, round: u32) -> u64 {
        u64::from(round) << 32 | u64::from(credit)
    }

    /// Credit and round of data.
    #[inline]
    pub fn answered(seq: u64) -> (u32, u32) {
        (seq as u32, (seq >> 32) as u32)
    }
}

/// A configuration in the form in which events read it.
#[derive(Clone, Debug)]
pub struct Plan {
    payload: u64,
    header: u32,
    /// Bytes on the wire of a full packet, and of one without payload.
    full: u32,
    credit_bytes: u32,
    initial_rate: f64,
    small_packets: f64,
    rules: Rules,
    jitter: f64,
    request_interval: Time,
}

impl Plan {
    fn new(config: ExpressPass) -> Plan {
        let ExpressPass { w_initial, w_min, target_loss, .. } = config;
        Plan {
            payload: config.mss.0,
            header: config.header_bytes.0 as u32,
            full: (config.mss.0 + config.header_bytes.0) as u32,
            credit_bytes: config.credit_bytes.0 as u32,
            initial_rate: config.initial_rate,
            small_packets: f64::from(config.small_packets),
            rules: Rules { w_initial, w_min, target_loss },
            jitter: config.jitter,
            request_interval: config.request_interval.or(INTERVAL_LEAST),
        }
    }

    /// Number of packets of a flow.
    fn packets(&self, size: u64) -> u32 {
        u32::try_from(size.div_ceil(self.payload)).unwrap_or(u32::MAX)
    }

    /// Bytes on the wire of a packet with so much payload.
    fn wire_bytes(&self, len: u16) -> u32 {
        (u32::from(len) + self.header).max(self.credit_bytes)
    }

    /// The share of the largest rate at which the credits of a flow of that size begin.
    fn first_rate(&self, size: u64) -> f64 {
        self.initial_rate * (f64::from(self.packets(size)) / self.small_packets).min(1.0)
    }
}

/// All ExpressPass flows of a run.
pub struct Model {
    plans: Configs<Plan>,
    senders: Ends<Sender>,
    receivers: Ends<Receiver>,
}

impl Model {
    pub(super) fn new(configs: Configs<ExpressPass>) -> Model {
        Model { plans: configs.map(Plan::new), senders: Ends::default(), receivers: Ends::default() }
    }
}

impl Endpoint for Model {
    fn start(&mut self, id: ConnId, start: Start, cx: &mut impl Host) {
        let plan = self.plans.of(cx.conn(id));
        let sender = self.senders.open(id, cx);
        sender.reset(plan, start.size);
        sender.ask(id, plan, cx);
    }

    fn accept(&mut self, id: ConnId, cx: &mut impl Host) {
        self.receivers.open(id, cx).reset();
    }

    #[inline]
    fn at_receiver(&mut self, packet: &Packet, cx: &mut impl Host) {
        let (id, header) = (packet.conn, packet.header);
        let plan = self.plans.of(cx.conn(id));
        let receiver = self.receivers.at(id, cx);
        match header.kind {
            kind::DATA | kind::LAST => receiver.on_data(packet, plan, cx),
            kind::REQUEST => receiver.on_request(id, header.seq, plan, cx),
            _ => receiver.on_stop(id, header.seq as u32, plan, cx),
        }
    }

    #[inline]
    fn at_sender(&mut self, packet: &Packet, cx: &mut impl Host) {
        let (id, header) = (packet.conn, packet.header);
        let plan = self.plans.of(cx.conn(id));
        let sender = self.senders.at(id, cx);
        if cx.sender(id).acked_at != Time::NEVER {
            return sender.late(header.kind == kind::CREDIT);
        }
        match header.kind {
            kind::CREDIT => sender.on_credit(id, &header, plan, cx),
            kind::NACK => sender.on_nack(id, &header, plan, cx),
            _ => return sender.on_ack(id, cx),
        }
        if sender.may_send() {
            cx.ready(id);
        }
    }

    #[inline]
    fn next_packet(&mut self, id: ConnId, cx: &mut impl Host) -> (Option<Packet>, bool) {
        let plan = self.plans.of(cx.conn(id));
        let sender = self.senders.at(id, cx);
        let packet = sender.next_packet(id, plan, cx);
        (packet, sender.may_send())
    }

    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut impl Host) {
        match (owner, kind) {
            (Owner::Sender(id), ASK) => {
                self.senders.at(id, cx).on_timer(id, self.plans.of(cx.conn(id)), cx);
            }
            (Owner::Receiver(id), CREDITS) => {
                self.receivers.at(id, cx).on_timer(id, self.plans.of(cx.conn(id)), cx);
            }
            _ => unreachable!("ExpressPass has no other timers"),
        }
    }

    /// No more credits have come than were sent.
    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        let received = |receiver: &Receiver| receiver.delivery.received();
        audit_ends(conns, (&self.senders, Sender::audit), (&self.receivers, received), found);
        for (id, _) in conns.iter().filter(|(_, conn)| conn.accepted() && conn.sends_here()) {
            let (came, sent) = (self.senders.get(*id).came(), self.receivers.get(*id).sent());
            if came > sent {
                found(format!("connection {id}: {came} credits have come of {sent} that were sent"));
            }
        }
    }
}
