//! RoCEv2: RDMA over Ethernet, at the rate of a congestion control of one's choice.
//!
//! Reliability is by packet numbers (InfiniBand architecture specification, volume 1, section 9.7): the receiver
//! (`receiver`) reports a missing packet, the sender (`sender`) retransmits. Which packets, and whether the receiver keeps
//! those that arrive out of order, is up to `recovery`: go-back-N, go-back-0, IRN.
//! Packets are sent one by one at the rate of the flow's control, as long as its window, if it has one, is open; flows of a
//! host take turns (`turns`). The controls, such as DCQCN, are in `congestion`.

pub mod congestion;
mod receiver;
pub mod recovery;
mod sender;
mod turns;

use std::ops::Deref;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::congestion::{Begin, RateControl, Signals};
use self::receiver::Receiver;
use self::recovery::Recovery;
use self::recovery::irn::Irn;
use self::sender::{PACE, RETRANSMIT, Sender};
use self::turns::Turns;
use super::{Needs, Profile, Settings, Signal, audit_received};
use crate::advice::{Advice, Unread};
use crate::agent::qcn::QcnPort;
use crate::balancer::entropy::Entropy;
use crate::derived::{Environment, Longest, Values};
use crate::engine::contract::conn::Conn;
use crate::engine::contract::endpoint::{Configs, Endpoint, Ends};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start};
use crate::engine::contract::packet::Packet;
use crate::ids::ConnId;
use crate::problem::{Problem, within};
use crate::queue::Feature;
use crate::queue::lossless::Lossless;
use crate::transport::entropy::{self, PathSelector};
use crate::units::{Bytes, Rate, Time};

/// RoCEv2 with a congestion control and a recovery of one's choice: packets sent one by one at a rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Roce {
    /// Reaction of the rate to congestion.
    pub congestion: RateControl,
    /// The packets that are retransmitted when one is missing.
    pub recovery: Recovery,
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
    /// The receiver sends at most one notification in this time for each flow.
    pub cnp_interval: Time,
    /// Class of data packets.
    #[schemars(range(max = 7))]
    pub data_class: u32,
    /// Class of acknowledgements and notifications; 0 goes first.
    #[schemars(range(max = 7))]
    pub control_class: u32,
    /// Without an acknowledgement of new data for so long, all packets from the first unacknowledged one are
    /// retransmitted: 4.096 us times 2 to the power of 14. IRN has timeouts of its own.
    #[schemars(extend("x-minimum" = "1us"))]
    pub timeout: Time,
    /// Whether it requires ports that do not drop; else, and under IRN, any ports that mark are accepted.
    pub lossless: bool,
    /// Choice of each packet's entropy value (the UDP source port), as under Ultra Ethernet; the balancer is "entropy" then. Absent:
    /// all packets of a flow have one. Packets then arrive out of order, which IRN repairs and go-back-N takes for losses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entropy: Option<PathSelector>,
    /// Entropy values of a flow, a power of two; 1: one path.
    #[schemars(range(min = 1, max = 32_768))]
    pub entropy_values: u32,
}

impl Default for Roce {
    fn default() -> Self {
        Roce {
            congestion: RateControl::default(),
            recovery: Recovery::default(),
            payload: Bytes(1000),
            header_bytes: Bytes(62),
            ack_bytes: Bytes(66),
            cnp_bytes: Bytes(78),
            ack_every: 1,
            cnp_interval: Time::from_us(50),
            data_class: 1,
            control_class: 0,
            timeout: Time(67_108_864_000),
            lossless: true,
            entropy: None,
            entropy_values: 64,
        }
    }
}

impl Settings for Roce {
    fn profile(&self) -> Profile {
        let plain = Profile::new(self.payload.0, self.header_bytes.0);
        Profile {
            answer_bytes: self.ack_bytes.0,
            answers_per_packet: if self.ack_every == 0 { 0.0 } else { 1.0 / f64::from(self.ack_every) },
            ecn_capable: self.congestion.signals().needs_marks(),
            window_signal: self.congestion.signals().marks.then_some(Signal::Marks),
            class_field: Some("data_class"),
            timeout_max: self.recovery.selective().map_or(self.timeout, |irn| irn.rto_low.max(irn.rto_high)),
            queue: Lossless::default().into(),
            balancer: if self.entropy.is_some() { Entropy {}.into() } else { plain.balancer.clone() },
            ..plain
        }
    }

    fn needs(&self) -> Needs {
        let signals = self.congestion.signals();
        let features = [
            (Feature::Ecn, signals.needs_marks()),
            (Feature::Lossless, self.lossless && self.recovery.selective().is_none()),
            (Feature::Telemetry, signals.telemetry),
        ];
        let needed = features.into_iter().filter(|(_, needed)| *needed);
        Needs {
            features: needed.map(|(feature, _)| feature).collect(),
            unless: Some((Feature::Lossless, "recovery = \"irn\"")),
            records: signals.telemetry || signals.feedback,
            agent: signals.feedback.then(|| QcnPort::default().into()),
            entropy: self.entropy.is_some().then_some("entropy"),
            ..Needs::default()
        }
    }

    fn problems(&self) -> Vec<Problem> {
        let own = within(format!("congestion.{}", self.congestion.name()), self.congestion.problems());
        let unanswered = (self.ack_every == 0 && self.congestion.signals().acks).then(|| {
            let message = format!(
                "0 acknowledges the last packet only, and the control \"{}\" acts on acknowledgements",
                self.congestion.name()
            );
            Problem::new("ack_every", message).with_hint(Some("use 1 or more".into()))
        });
        let recovery =
            within(format!("recovery.{}", self.recovery.name()), self.recovery.problems(self.payload));
        own.chain(unanswered).chain(recovery).chain(entropy::problem(self.entropy_values)).collect()
    }

    fn unread(&self) -> Vec<Unread> {
        let control = format!("congestion.{}", self.congestion.name());
        let of_control = |unread: Unread| Unread { field: format!("{control}.{}", unread.field), ..unread };
        let own = Unread::among([("entropy_values", self.entropy.is_some(), "entropy, such as \"mixed\"")]);
        own.into_iter().chain(self.congestion.unread().into_iter().map(of_control)).collect()
    }

    fn derived(&self, environment: &Environment) -> Values {
        let at = |part: &str, values: Values| {
            let place = |(field, value): (String, Value)| (format!("{part}.{field}"), value);
            values.into_iter().map(place).collect::<Vec<_>>()
        };
        let control = self.congestion.derived(&environment.longest);
        let recovery = self.recovery.derived(&environment.longest);
        let mut values = at(&format!("congestion.{}", self.congestion.name()), control);
        values.extend(at(&format!("recovery.{}", self.recovery.name()), recovery));
        values
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
}

/// Values of `Header::kind`. Data: `number` and `seq` are the packet's place in its connection, in packets
/// and bytes. The others: `number` is the packet that the receiver expects next, `seq` the time at which the data packet
/// was made that they answer, `len` its entropy value; of a NAK under IRN, `ack` is one more than the packet that the receiver has kept.
mod kind {
    pub const DATA: u8 = 0;
    /// Data with which the flow ends.
    pub const LAST: u8 = 1;
    pub const ACK: u8 = 2;
    /// A packet was missing.
    pub const NAK: u8 = 3;
    /// Congestion notification.
    pub const CNP: u8 = 4;
    /// The message of a switch, under QCN.
    pub const FEEDBACK: u8 = crate::agent::qcn::MESSAGE;
    /// Bit of an ACK or NAK: data has been marked since the one before.
    pub const MARKED: u8 = 16;
}

/// A configuration, and properties of its control.
#[derive(Clone, Debug)]
struct Config {
    roce: Roce,
    signals: Signals,
    repaces: bool,
    /// Packets of a chunk of go-back-0, else 1.
    chunk: u32,
    nak_interval: Option<Time>,
    irn: Option<Irn>,
}

impl Config {
    /// Whether each packet and acknowledgement restarts the timeout.
    #[inline]
    fn restarts_always(&self) -> bool {
        self.irn.as_ref().is_some_and(|irn| irn.restart_always)
    }

    /// Whether a control takes a report of a missing packet for a mark.
    #[inline]
    fn cuts_on_nak(&self) -> bool {
        self.irn.as_ref().is_some_and(|irn| irn.cnp_on_nak)
    }
}

impl Deref for Config {
    type Target = Roce;

    #[inline]
    fn deref(&self) -> &Roce {
        &self.roce
    }
}

/// All connections of a run, with controls of a kind: those of the list, or that of a test.
pub struct Connections<C> {
    configs: Configs<Config>,
    senders: Ends<Sender<C>>,
    receivers: Ends<Receiver>,
    turns: Turns,
}

/// All connections of a run.
pub type Model = Connections<congestion::Model>;

impl<C> Connections<C> {
    pub(super) fn new(configs: Configs<impl Into<Roce>>) -> Connections<C> {
        let config = |roce: Roce| Config {
            signals: roce.congestion.signals(),
            repaces: roce.congestion.repaces(),
            chunk: roce.recovery.chunk(roce.payload),
            nak_interval: roce.recovery.nak_interval(),
            irn: roce.recovery.selective().cloned(),
            roce,
        };
        let configs = configs.map(|configured| config(configured.into()));
        Connections { configs, senders: Ends::default(), receivers: Ends::default(), turns: Turns::default() }
    }
}

impl<C: Begin> Connections<C> {
    /// A sender that may send is ready, by its turn.
    #[inline]
    fn settle(&mut self, id: ConnId, cx: &mut impl Host) {
        let sender = self.senders.at(id, cx);
        if sender.take_ready() {
            cx.ready_by(id, self.turns.at(cx.port(id)).rank(sender.number()));
        }
    }
}

impl<C: Begin> Endpoint for Connections<C> {
    fn start(&mut self, id: ConnId, start: Start, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(id));
        cx.set_class(id, config.data_class as u8);
        let number = self.turns.at(cx.port(id)).join();
        *self.senders.open(id, cx) = Sender::new(id, number, &start, config, cx);
        self.settle(id, cx);
    }

    fn accept(&mut self, id: ConnId, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(id));
        *self.receivers.open(id, cx) = Receiver::new(config);
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
        self.settle(packet.conn, cx);
    }

    #[inline]
    fn next_packet(&mut self, id: ConnId, cx: &mut impl Host) -> (Option<Packet>, bool) {
        let config = self.configs.of(cx.conn(id));
        let sender = self.senders.at(id, cx);
        let (packet, more) = sender.next_packet(id, config, cx);
        if packet.is_some() {
            let turn = self.turns.at(cx.port(id));
            turn.served(sender.number());
            if more {
                cx.change_rank(id, turn.rank(sender.number()));
            }
        }
        (packet, more)
    }

    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut impl Host) {
        match (owner, kind) {
            (Owner::Sender(id), PACE) => self.senders.at(id, cx).on_pace(id, cx),
            (Owner::Sender(id), RETRANSMIT) => {
                let config = self.configs.of(cx.conn(id));
                self.senders.at(id, cx).on_timeout(id, config, cx);
            }
            _ => unreachable!("RoCE has no other timers"),
        }
        if let Owner::Sender(id) = owner {
            self.settle(id, cx);
        }
    }

    fn window(&self, id: ConnId, _conn: &Conn) -> Option<u64> {
        self.senders.get(id).window()
    }

    fn rate(&self, id: ConnId, _conn: &Conn) -> Option<Rate> {
        self.senders.get(id).rate()
    }

    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        audit_received(conns, |id, _| self.receivers.get(id).received, found);
    }
}

mod tests;
