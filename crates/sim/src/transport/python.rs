//! A transport that is written in Python, as a prototype: the way from the verbs of endpoints to the objects of hosts.
//!
//! Each host has an object, which receives the verbs of all endpoints there. Its decisions come back as a list of
//! [`Act`]s, which are carried out here.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Needs, Profile, Prototypes, Settings, audit_received};
use crate::engine::contract::conn::Conn;
use crate::engine::contract::endpoint::{Configs, Endpoint, Ends};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start, Timer, Toward};
use crate::engine::contract::packet::{Header, Packet, flag};
use crate::ids::{ConnId, FlowId, LinkId, NodeId};
use crate::prototype::{Bound, Factory};
use crate::queue::drop_tail::DropTail;
use crate::queue::ecn::Ecn;
use crate::queue::ndp::NdpPort;
use crate::queue::{Feature, Queue};
use crate::random::{Purpose, Stream};
use crate::units::{Bytes, Rate, Time};

/// A transport written in Python, a prototype: `flowyard run --prototype FILE`, or `transports` of flowyard.run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PythonTransport {
    /// Name of its class, as given to flowyard.run; from a file (--prototype), the name in the file.
    pub name: String,
    /// Arguments of the class, by their names, with which each host's object is made.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub settings: Map<String, Value>,
    /// Payload of a full packet. Absent: the class's attribute.
    #[serde(default = "usual_payload")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "65000B"))]
    pub payload: Bytes,
    /// Bytes of each packet that are not payload. Absent: the class's attribute.
    #[serde(default = "usual_header")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "500B"))]
    pub header_bytes: Bytes,
    /// Whether it needs ports that mark; its data packets are then ECN-capable. Absent: the class's attribute.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_marks: bool,
    /// Whether it needs ports that trim; its data packets may then be trimmed. Absent: the class's attribute.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_trimming: bool,
    /// Whether it retransmits lost packets. Absent: the class's attribute.
    #[serde(default = "yes")]
    pub retransmits: bool,
    #[serde(skip)]
    prototype: Bound<dyn Prototype>,
}

fn usual_payload() -> Bytes {
    Bytes(1436)
}

fn usual_header() -> Bytes {
    Bytes(64)
}

fn yes() -> bool {
    true
}

impl Settings for PythonTransport {
    fn profile(&self) -> Profile {
        Profile {
            answer_bytes: self.header_bytes.0,
            ecn_capable: self.needs_marks,
            retransmits: self.retransmits,
            queue: match (self.needs_marks, self.needs_trimming) {
                (_, true) => NdpPort::default().into(),
                (true, false) => Ecn::default().into(),
                (false, false) => DropTail::default().into(),
            },
            ..Profile::new(self.payload.0, self.header_bytes.0)
        }
    }

    fn needs(&self) -> Needs {
        let features = [(Feature::Ecn, self.needs_marks), (Feature::Trimming, self.needs_trimming)];
        let needed = features.into_iter().filter(|(_, needed)| *needed);
        Needs { features: needed.map(|(feature, _)| feature).collect(), priority: true, ..Needs::default() }
    }

    /// Packets for which its code names no class have 0, which counts where ports read classes.
    fn sets_class(&self, queue: &Queue) -> bool {
        queue.classes() > 1
    }

    fn bind(&mut self, prototypes: &Prototypes) -> bool {
        self.prototype.bind(&self.name, &prototypes.transports);
        true
    }
}

/// Timers of an endpoint, by their kinds.
pub const TIMERS: usize = 8;

/// A class that was given.
pub trait Prototype: Factory {
    /// Its objects: one for each host, made at the host's first event.
    fn start(&self, config: &PythonTransport) -> Box<dyn Objects>;
}

/// An endpoint of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The connection's slot.
    pub id: ConnId,
    /// The flow, by which a connection is distinguished from an earlier one of that slot.
    pub flow: FlowId,
    /// Whether it is the sender.
    pub sends: bool,
}

/// The flow of an endpoint that begins.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    pub src: NodeId,
    pub dst: NodeId,
    pub size: u64,
    pub priority: u8,
    pub start: Time,
    /// The deadline, for the sender; [`Time::NEVER`] without one.
    pub due: Time,
    /// The host's port.
    pub port: LinkId,
    /// The rate of that port.
    pub rate: Rate,
    /// A random stream of the endpoint's own.
    pub stream: Stream,
}

/// A data packet to send.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// Its sender, at the host of the event.
    pub at: At,
    pub header: Header,
    /// Whether it has been sent before.
    pub again: bool,
}

/// A decision of an endpoint's object.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// The sender requests its turn.
    Ready,
    /// A control packet of that size for the other endpoint.
    Send(Header, u32),
    /// The timer of that kind is due after that time.
    SetTimer(u8, Time),
    /// The timer of that kind is switched off.
    ClearTimer(u8),
    /// So many bytes have arrived for the first time; whether they complete the flow.
    Deliver(u64, bool),
    /// A timeout for the flow's row.
    CountTimeout,
    /// The sender is done; whether all bytes are acknowledged.
    Finish(bool),
}

/// A decision.
#[derive(Clone, Copy, Debug)]
pub enum Decision {
    On(At, Act),
    /// The host's own timer is due after that time; none: it is switched off.
    HostTimer(Option<Time>),
}

/// The objects of all hosts. Each verb is an event at one host, at that time; decisions are appended to the list.
pub trait Objects: fmt::Debug + Send {
    /// [`Endpoint::start`] or [`Endpoint::accept`]: the endpoint begins.
    fn open(&mut self, at: At, opening: Opening, now: Time, decisions: &mut Vec<Decision>);
    /// [`Endpoint::at_receiver`] or [`Endpoint::at_sender`].
    fn packet(&mut self, at: At, packet: &Packet, now: Time, decisions: &mut Vec<Decision>);
    /// [`Endpoint::next_packet`].
    fn next_packet(&mut self, at: At, now: Time, decisions: &mut Vec<Decision>) -> Option<Data>;
    /// The timer of that kind is due.
    fn timer(&mut self, at: At, kind: u8, now: Time, decisions: &mut Vec<Decision>);
    /// The host's own timer is due.
    fn host_timer(&mut self, host: NodeId, now: Time, decisions: &mut Vec<Decision>);
    /// Bytes that the receiver of a connection holds.
    fn received(&self, id: ConnId) -> u64;
}

/// The timers of an endpoint.
type Timers = [Timer; TIMERS];

/// The objects of each configuration, and the timers of all endpoints and hosts.
pub struct Model {
    own: Vec<(PythonTransport, Box<dyn Objects>)>,
    senders: Ends<Timers>,
    receivers: Ends<Timers>,
    /// By configuration and host.
    host_timers: Vec<Vec<Timer>>,
    /// By host, a link that ends there: the owner of the host's timers.
    incoming: Vec<LinkId>,
    decisions: Vec<Decision>,
}

impl Model {
    pub(super) fn new(configs: Configs<PythonTransport>) -> Model {
        let ports = configs.ports().clone();
        let mut incoming = vec![LinkId::NONE; ports.hosts];
        for (host, link) in ports.incoming {
            incoming[host.index()] = link;
        }
        let configs = configs.into_all();
        let started = |config: PythonTransport| {
            let own = config.prototype.get().start(&config);
            (config, own)
        };
        Model {
            host_timers: vec![vec![Timer::default(); ports.hosts]; configs.len()],
            own: configs.into_iter().map(started).collect(),
            senders: Ends::default(),
            receivers: Ends::default(),
            incoming,
            decisions: Vec::new(),
        }
    }

    /// Calls the objects of a configuration, and carries out their decisions.
    fn call<T>(
        &mut self,
        config: usize,
        cx: &mut impl Host,
        verb: impl FnOnce(&mut dyn Objects, &mut Vec<Decision>) -> T,
    ) -> T {
        let mut decisions = std::mem::take(&mut self.decisions);
        let answer = verb(&mut *self.own[config].1, &mut decisions);
        for decision in decisions.drain(..) {
            match decision {
                Decision::On(at, act) => self.act(at, act, cx),
                Decision::HostTimer(after) => self.set_host_timer(config, after, cx),
            }
        }
        self.decisions = decisions;
        answer
    }

    fn set_host_timer(&mut self, config: usize, after: Option<Time>, cx: &mut impl Host) {
        let host = cx.host().index();
        let timer = &mut self.host_timers[config][host];
        match after {
            Some(after) => {
                let due = cx.now().saturating_add(after);
                cx.set_timer(timer, due, Owner::Interface(self.incoming[host]), config as u8);
            }
            None => timer.clear(),
        }
    }

    fn act(&mut self, at: At, act: Act, cx: &mut impl Host) {
        let id = at.id;
        // A host may decide on a connection that has closed without its notice: nothing is left to act on.
        if cx.conn(id).flow != at.flow {
            return;
        }
        let (ends, owner) = if at.sends {
            (&mut self.senders, Owner::Sender(id))
        } else {
            (&mut self.receivers, Owner::Receiver(id))
        };
        match act {
            Act::Ready => cx.ready(id),
            Act::Send(header, size) if at.sends => cx.send_to_receiver(id, size, header),
            Act::Send(header, size) => cx.send_to_sender(id, size, header),
            Act::SetTimer(kind, after) => {
                let due = cx.now().saturating_add(after);
                cx.set_timer(&mut ends.at(id, cx)[usize::from(kind)], due, owner, kind);
            }
            Act::ClearTimer(kind) => ends.at(id, cx)[usize::from(kind)].clear(),
            Act::Deliver(bytes, completes) => {
                cx.delivered(id, bytes);
                if completes {
                    cx.completed(id);
                }
            }
            Act::CountTimeout => cx.sender(id).timeouts += 1,
            Act::Finish(acknowledged) => {
                ends.at(id, cx).iter_mut().for_each(Timer::clear);
                if acknowledged {
                    cx.acknowledged(id);
                }
                cx.finish(id);
            }
        }
    }

    /// A connection's endpoint, and the configuration of the connection.
    fn place(id: ConnId, sends: bool, cx: &impl Host) -> (At, usize) {
        let conn = cx.conn(id);
        (At { id, flow: conn.flow, sends }, usize::from(conn.config))
    }

    fn open(&mut self, id: ConnId, sends: bool, due: Time, stream: Stream, cx: &mut impl Host) {
        let ends = if sends { &mut self.senders } else { &mut self.receivers };
        *ends.open(id, cx) = Timers::default();
        let Conn { src, dst, size, priority, start, .. } = *cx.conn(id);
        let (port, now) = (cx.port(id), cx.now());
        let opening = Opening { src, dst, size, priority, start, due, port, rate: cx.rate(port), stream };
        let (at, config) = Model::place(id, sends, cx);
        self.call(config, cx, |own, decisions| own.open(at, opening, now, decisions));
    }
}

impl Endpoint for Model {
    #[inline(never)]
    fn start(&mut self, id: ConnId, start: Start, cx: &mut impl Host) {
        let stream = start.packet_stream(cx);
        self.open(id, true, start.due, stream, cx);
    }

    #[inline(never)]
    fn accept(&mut self, id: ConnId, cx: &mut impl Host) {
        let stream = cx.flow_stream(Purpose::PullTurns, cx.conn(id).key);
        self.open(id, false, Time::NEVER, stream, cx);
    }

    #[inline(never)]
    fn at_receiver(&mut self, packet: &Packet, cx: &mut impl Host) {
        if packet.has(flag::TRIMMED) {
            cx.receiver(packet.conn).trims += 1;
        } else if !packet.has(flag::CONTROL) {
            cx.note_arrival(packet);
        }
        let (at, config) = Model::place(packet.conn, false, cx);
        let now = cx.now();
        self.call(config, cx, |own, decisions| own.packet(at, packet, now, decisions));
    }

    #[inline(never)]
    fn at_sender(&mut self, packet: &Packet, cx: &mut impl Host) {
        if cx.conn(packet.conn).sender_done() {
            return;
        }
        let (at, config) = Model::place(packet.conn, true, cx);
        let now = cx.now();
        self.call(config, cx, |own, decisions| own.packet(at, packet, now, decisions));
    }

    #[inline(never)]
    fn next_packet(&mut self, id: ConnId, cx: &mut impl Host) -> (Option<Packet>, bool) {
        if cx.conn(id).sender_done() {
            return (None, false);
        }
        let (at, config) = Model::place(id, true, cx);
        let now = cx.now();
        let data = self.call(config, cx, |own, decisions| own.next_packet(at, now, decisions));
        let Some(Data { at: sender, header, again }) = data else { return (None, false) };
        if cx.conn(sender.id).flow != sender.flow {
            return (None, false);
        }
        let config = &self.own[config].0;
        let mut flags = if config.needs_marks { flag::ECN_CAPABLE } else { 0 };
        flags |= if config.needs_trimming { flag::TRIMMABLE } else { 0 };
        let size = u32::from(header.len) + config.header_bytes.0 as u32;
        cx.set_class(sender.id, header.class);
        let counts = cx.sender(sender.id);
        counts.packets_sent += 1;
        counts.retransmissions += u32::from(again);
        let packet = cx.packet(sender.id, Toward::Receiver, size, flags, header);
        (Some(packet), !cx.conn(id).sender_done())
    }

    #[inline(never)]
    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut impl Host) {
        let now = cx.now();
        let (id, sends) = match owner {
            Owner::Sender(id) => (id, true),
            Owner::Receiver(id) => (id, false),
            Owner::Interface(_) => {
                let (config, host) = (usize::from(kind), cx.host());
                if cx.timer_is_due(&mut self.host_timers[config][host.index()], owner, kind) {
                    self.call(config, cx, |own, decisions| own.host_timer(host, now, decisions));
                }
                return;
            }
        };
        let ends = if sends { &mut self.senders } else { &mut self.receivers };
        let is_due = cx.timer_is_due(&mut ends.at(id, cx)[usize::from(kind)], owner, kind);
        if is_due && !cx.conn(id).closed {
            let (at, config) = Model::place(id, sends, cx);
            self.call(config, cx, |own, decisions| own.timer(at, kind, now, decisions));
        }
    }

    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        let received = |id, conn: &Conn| self.own[usize::from(conn.config)].1.received(id);
        audit_received(conns, received, found);
    }
}
