//! DAQ: senders start at once with a share of the path, adapt to the queue length at the switch, and put the
//! remaining time of their flow into each packet; ports (`queue/daq`) and credits (`engine/network/credit.rs`) do the
//! rest.
//!
//! Source: Ding and Rojas-Cessa, "DAQ: Deadline-Aware Queue Scheme for Scheduling Service Flows in Data
//! Centers", section II-B; where it is silent or contradicts itself, the choice is documented at the field or
//! where it is made. `sender` is the sending end; the receiving end is in this file.

mod sender;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::sender::{LATE, RETRANSMIT, Sender};
use super::delivery::Delivery;
use super::overdue::LateFlow;
use super::{Needs, Profile, Settings, audit_ends};
use crate::derived::{Derived, Environment, Values};
use crate::engine::contract::conn::Conn;
use crate::engine::contract::credit::{CLASSES, FULL_LOAD, LONG, SHORT};
use crate::engine::contract::endpoint::{Configs, Endpoint, Ends};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start};
use crate::engine::contract::packet::{Header, Packet};
use crate::ids::ConnId;
use crate::queue::daq::DaqPort;
use crate::queue::{Feature, Queue};
use crate::units::{Bytes, Time};

/// DAQ. Windows follow from the network unless they are given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Daq {
    /// Payload of a full packet.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "65000B"))]
    pub mss: Bytes,
    /// Bytes of a data packet besides its payload.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub header_bytes: Bytes,
    /// Bytes of a packet without payload: SYN, SYN/ACK, ACK, FIN.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub control_bytes: Bytes,
    /// flow_win at the start: bytes that a flow may have in flight without an acknowledgement. "derived"
    /// (paper): rate x round trip to the switch / 2, where that is half of the round trip to the receiver: a
    /// quarter of the bandwidth-delay product; at least a packet.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub initial_window: Derived<Bytes>,
    /// Q: flow_win grows while no more than this is queued of its class at the port (the paper has a delay
    /// and no number). "derived": four bandwidth-delay products, so that a window that is quartered still
    /// fills the path.
    #[schemars(extend("x-minimum" = "0B", "x-maximum" = "1GB"))]
    pub target_queue: Derived<Bytes>,
    /// Above this load of the port flow_win is divided by 4 and not by 2 (paper: 80 % of the link).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub load_limit: f64,
    /// The time at which a flow sends the packets that its window allows; the paper's text sends a window for
    /// each acknowledgement, which would grow without bound.
    pub send: Send,
    /// Action of a sender whose deadline has passed.
    pub late: LateFlow,
    /// Without an acknowledgement for so long, all packets in flight are retransmitted. Only faults lose
    /// packets; the default is above the wait of a packet at a port of 1 Gbps whose 2 MB have one part in 101
    /// of it, 1.6 s.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1000s"))]
    pub timeout: Time,
    /// A SYN, or the FIN of a flow that is given up, is retransmitted after so long without a reply.
    /// "derived": ten round trips of the longest path, and at least 1 ms.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1000s"))]
    pub control_timeout: Derived<Time>,
}

/// The time at which a flow sends the packets that its window allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Send {
    /// As soon as there is room in it: each acknowledgement makes some.
    Sliding,
    /// A whole window, and the next one when all of it is acknowledged.
    Rounds,
}

impl Default for Daq {
    fn default() -> Self {
        Daq {
            mss: Bytes(1460),
            header_bytes: Bytes(40),
            control_bytes: Bytes(40),
            initial_window: Derived::FromNetwork,
            target_queue: Derived::FromNetwork,
            load_limit: 0.8,
            send: Send::Sliding,
            late: LateFlow::Keep,
            timeout: Time::from_us(2_000_000),
            control_timeout: Derived::FromNetwork,
        }
    }
}

/// The least that is derived for `control_timeout`.
const CONTROL_TIMEOUT_LEAST: Time = Time::from_us(1000);

impl Daq {
    /// Bytes of a full packet on the wire.
    fn full(&self) -> u64 {
        self.mss.0 + self.header_bytes.0
    }

    /// flow_win at the start, in bytes on the wire.
    fn initial_window(&self) -> u64 {
        self.initial_window.or(Bytes(self.full())).0
    }

    /// Q, in bytes.
    fn target_queue(&self) -> u64 {
        self.target_queue.or(Bytes(0)).0
    }

    /// Whether flow_win is to be quartered at that load, in millionths.
    fn is_loaded(&self, load: u32) -> bool {
        f64::from(load) > self.load_limit * f64::from(FULL_LOAD)
    }

    fn control_timeout(&self) -> Time {
        self.control_timeout.or(CONTROL_TIMEOUT_LEAST)
    }
}

impl Settings for Daq {
    fn profile(&self) -> Profile {
        Profile {
            answer_bytes: self.control_bytes.0,
            gives_up: self.late == LateFlow::GiveUp,
            timeout_max: self.timeout.max(self.control_timeout()),
            queue: DaqPort::default().into(),
            ..Profile::new(self.mss.0, self.header_bytes.0)
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            features: vec![Feature::Credits],
            deadlines: (self.late == LateFlow::GiveUp).then_some("late"),
            ..Needs::default()
        }
    }

    fn sets_class(&self, _queue: &Queue) -> bool {
        true
    }

    fn classes(&self, deadline: bool) -> [bool; CLASSES] {
        std::array::from_fn(|class| (class == SHORT) == deadline)
    }

    fn derived(&self, environment: &Environment) -> Values {
        const MOST: u64 = 1_000_000_000;
        let mut values = Vec::new();
        if self.initial_window == Derived::FromNetwork {
            let window = Bytes((environment.longest.bdp / 4).clamp(self.full(), MOST));
            values.push(("initial_window".into(), json!(window)));
        }
        if self.target_queue == Derived::FromNetwork {
            values.push((
                "target_queue".into(),
                json!(Bytes(environment.longest.bdp.saturating_mul(4).min(MOST))),
            ));
        }
        if self.control_timeout == Derived::FromNetwork {
            let timeout = environment.longest.round_trips(10).max(CONTROL_TIMEOUT_LEAST);
            values.push(("control_timeout".into(), json!(timeout)));
        }
        values
    }
}

/// Values of `Header::kind`.
///
/// | kind | `number` | `seq` | `ack` |
/// |---|---|---|---|
/// | `SYN` | 0 | bytes of the flow | time left, as in data |
/// | `DATA`, `LAST` | the packet's place in its flow | the round trip that the sender last measured, in ps | time left: what ports sort by |
/// | `SYN_ACK`, `ACK` | of the packet that it answers | when that packet was made, in ps | 0 |
/// | `FIN` | packets of the flow | 0 | 0 |
/// | `QUIT`, `QUIT_ACK` | packets sent until then | 0 | 0 |
///
/// Time left, in ps: [`NO_DEADLINE`](crate::queue::daq::NO_DEADLINE) and
/// [`EXPIRED`](crate::queue::daq::EXPIRED) have their special meanings. `class` of data is [`SHORT`] or
/// [`LONG`]. Data is charged to credit, the others are control packets.
mod kind {
    pub const DATA: u8 = 0;
    /// Data with which the flow ends.
    pub const LAST: u8 = 1;
    pub const ACK: u8 = 2;
    pub const SYN: u8 = 3;
    pub const SYN_ACK: u8 = 4;
    /// All is acknowledged.
    pub const FIN: u8 = 5;
    /// The sender has given the flow up.
    pub const QUIT: u8 = 6;
    pub const QUIT_ACK: u8 = 7;
}

/// The receiving end of a connection: it acknowledges each packet by itself and takes them in any order.
#[derive(Clone, Debug, Default)]
struct Receiver {
    delivery: Delivery,
}

impl Receiver {
    fn on_packet(&mut self, packet: &Packet, config: &Daq, cx: &mut impl Host) {
        let id = packet.conn;
        let Header { kind, number, len, .. } = packet.header;
        let answer = match kind {
            kind::SYN => kind::SYN_ACK,
            kind::QUIT => {
                cx.given_up(id);
                kind::QUIT_ACK
            }
            kind::FIN => return,
            _ => {
                cx.note_arrival(packet);
                self.delivery.receive(id, number, len, kind == kind::LAST, cx);
                kind::ACK
            }
        };
        let header = Header { kind: answer, number, seq: packet.created_at.0, ..Header::default() };
        cx.send_to_sender(id, config.control_bytes.0 as u32, header);
    }
}

/// All DAQ connections of a run.
pub struct Model {
    configs: Configs<Daq>,
    senders: Ends<Sender>,
    receivers: Ends<Receiver>,
}

impl Model {
    pub(super) fn new(configs: Configs<Daq>) -> Model {
        Model { configs, senders: Ends::default(), receivers: Ends::default() }
    }
}

impl Endpoint for Model {
    fn start(&mut self, id: ConnId, start: Start, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(id));
        cx.set_class(id, if start.due == Time::NEVER { LONG } else { SHORT } as u8);
        self.senders.open(id, cx).start(id, start, config, cx);
    }

    fn accept(&mut self, id: ConnId, cx: &mut impl Host) {
        let receiver = self.receivers.open(id, cx);
        receiver.delivery.clear();
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
        self.senders.at(id, cx).on_packet(packet, config, cx);
    }

    #[inline]
    fn next_packet(&mut self, id: ConnId, cx: &mut impl Host) -> (Option<Packet>, bool) {
        let config = self.configs.of(cx.conn(id));
        self.senders.at(id, cx).next_packet(id, config, cx)
    }

    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut impl Host) {
        let Owner::Sender(id) = owner else { unreachable!("DAQ has timers at senders only") };
        let config = self.configs.of(cx.conn(id));
        match kind {
            RETRANSMIT => self.senders.at(id, cx).on_timeout(id, config, cx),
            LATE => self.senders.at(id, cx).on_deadline(id, config, cx),
            _ => unreachable!("DAQ has no other timers"),
        }
    }

    fn window(&self, id: ConnId, _conn: &Conn) -> Option<u64> {
        Some(self.senders.get(id).window())
    }

    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        let received = |receiver: &Receiver| receiver.delivery.received();
        audit_ends(conns, (&self.senders, Sender::audit), (&self.receivers, received), found);
    }
}
