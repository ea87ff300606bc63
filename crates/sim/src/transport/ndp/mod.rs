//! NDP: the receiver requests each packet after the first window, and full ports trim instead of dropping.
//!
//! Source: Handley et al., "Re-architecting datacenter networks and stacks for low latency and high
//! performance", SIGCOMM 2017; details that the paper leaves open after its public simulator (htsim),
//! each named where it matters. `sender` and `receiver` are the two ends, `pacer` is the pull queue
//! that all connections of a receiving interface share, `coded` a flow with an erasure code.

pub mod coded;
pub mod pacer;
pub mod paths;
pub mod receiver;
pub mod scores;
pub mod sender;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

pub use self::coded::Code;
use self::coded::Coded;
use self::pacer::Pacer;
use self::receiver::Receiver;
use self::scores::PathPenalty;
use self::sender::{BACKSTOP, Sender};
use super::{Framing, Needs, Profile, Settings, audit_received};
use crate::advice::{self, Advice, Unread};
use crate::balancer::entropy::Entropy;
use crate::balancer::per_packet::PerPacket;
use crate::derived::{Derived, Environment, Longest, Values};
use crate::engine::contract::conn::Conn;
use crate::engine::contract::endpoint::{Configs, Endpoint, Ends};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start};
use crate::engine::contract::packet::Packet;
use crate::ids::{ConnId, LinkId};
use crate::problem::Problem;
use crate::queue::Feature;
use crate::queue::ndp::NdpPort;
use crate::random::Purpose;
use crate::transport::entropy::{self, PathSelector};
use crate::units::{Bytes, Time};

/// NDP. Every point in which paper, htsim and the OMNeT++ model differ is a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ndp {
    /// Packets that a sender pushes at line rate before the first pull (paper: 30; htsim: 15; knee of the
    /// OMNeT++ paper's figure 8a: 16). "bdp": as many as fill the longest path between hosts, and at least
    /// the paper's 30.
    #[schemars(extend("minimum" = 1, "maximum" = 1_000_000))]
    pub initial_window: Derived<u32>,
    /// Size of a full data packet, with or without its header by the next field but one.
    #[schemars(extend("x-minimum" = "65B", "x-maximum" = "65535B"))]
    pub mtu: Bytes,
    /// Header of a data packet.
    #[schemars(extend("x-maximum" = "1000B"))]
    pub header_bytes: Bytes,
    /// Whether the header is part of the mtu (paper: 9 KB take 7.2 us) or comes on top (htsim).
    pub mtu_includes_header: bool,
    /// Size of an ACK, NACK or PULL on the wire.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1500B"))]
    pub control_bytes: Bytes,
    /// Let an ACK or NACK be the pull as well when no other pull is queued (htsim: yes; the paper's text
    /// draws two packets).
    pub pull_ack: bool,
    /// Order of the connections' pulls.
    pub pull_order: PullOrder,
    /// Order of connections that take turns.
    pub pull_turns: PullTurns,
    /// Pulls leave at this share of the rate at which full packets fit the receiver's link.
    #[schemars(range(max = 10.0), extend("exclusiveMinimum" = 0.0))]
    pub pull_rate: f64,
    /// Pulls that a connection sends in its turn under the pull order "weighted", by its priority, from 0 on. A priority
    /// that the list does not reach has 1.
    #[schemars(length(max = 8), inner(range(min = 1, max = 1000)))]
    pub pull_weights: Vec<u32>,
    /// Instead of `pull_rate`: the time from one pull to the next (OMNeT++ model: 12 us on any link).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
    pub pull_spacing: Option<Time>,
    /// The retransmission that goes first.
    pub repeat_order: RepeatOrder,
    /// An erasure code: a new packet of code, in place of a retransmission, for each that is trimmed or lost. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// Whether ports may trim data packets. Without, a port drops one that finds no room, and its sender learns of that by the
    /// backstop timer alone: for ports that drop packets of the first window before others ("selective-drop").
    pub trimming: bool,
    /// Whether packets of the first window go with the headers, and are never trimmed (the OMNeT++ model, where they
    /// carry SYN; its header queue has no limit). By default, as in the paper, they are data as any other.
    pub first_window_as_headers: bool,
    /// Whether paths on which many packets are trimmed or lost are left out for a while (paper, section 3.2.3). Absent:
    /// no. Needs the balancer "permuted".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_penalty: Option<PathPenalty>,
    /// Choice of each packet's entropy value, as under Ultra Ethernet; the balancer is "entropy" then. Absent: packets have none,
    /// and each switch sprays them. NDP has no such values; a trim at the receiver's own port blames none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entropy: Option<PathSelector>,
    /// Entropy values of a flow, a power of two; 1: one path.
    #[schemars(range(min = 1, max = 32_768))]
    pub entropy_values: u32,
    /// Send the last packet at full size even if its payload is short (htsim's shortcut).
    pub pad_last: bool,
    /// Whether a timer retransmits packets that neither ACK, NACK nor pull has reported (paper: yes; htsim:
    /// compiled out).
    pub backstop: bool,
    /// The way in which timed-out packets are retransmitted.
    pub backstop_repeats: BackstopRepeats,
    /// Shortest backstop timeout (paper: 1 ms is safe; htsim: 5 ms). "derived": three of the longest round trips, and at
    /// least 1 ms.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "100s"))]
    pub rto_min: Derived<Time>,
    /// Backstop timeout before the first round-trip sample, and the least one after which a pull is taken for lost.
    /// "derived": ten of the longest round trips, and at least 20 ms.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "100s"))]
    pub rto_initial: Derived<Time>,
    /// A timeout without any packet received since the one before doubles the next, up to this. One that is
    /// already longer is not shortened.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1000s"))]
    pub rto_max: Time,
    /// Each timeout is longer by a random share of itself, up to this one, so that senders whose packets were
    /// lost together do not retransmit together (htsim: 0.75 to 1.25 of it). 0: no randomisation.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub rto_spread: f64,
}

/// Order of the connections' pulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PullOrder {
    /// Round robin over the connections with queued pulls (paper's default).
    Fair,
    /// In the order of arrival.
    Fifo,
    /// Connections of the lowest priority number first, in turns among equals (htsim).
    Strict,
    /// Round robin; each turn has the number of pulls of `pull_weights`.
    Weighted,
}

/// Order of the connections that take turns to pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PullTurns {
    /// In a random order, in which each connection has its place for good.
    Random,
    /// By the numbers of flows (htsim): where these follow the network, neighbours have their turns together.
    Number,
    /// Order of their first pulls: connections whose packets arrived together have their turns together,
    /// round after round.
    Arrival,
}

/// The way in which timed-out packets are retransmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BackstopRepeats {
    /// One goes without a pull, and its header requests one pull for each of the others.
    Pulled,
    /// All go without a pull, at the rate of the host's link (paper; htsim where it is compiled in).
    AtOnce,
}

/// The retransmission that goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RepeatOrder {
    /// The lowest packet number (htsim).
    Lowest,
    /// The one that was requested first (paper).
    Fifo,
    /// The one that was requested last (the OMNeT++ model puts each in front).
    Lifo,
}

impl Default for Ndp {
    fn default() -> Self {
        Ndp {
            initial_window: Derived::FromNetwork,
            mtu: Bytes(1500),
            header_bytes: Bytes(64),
            mtu_includes_header: true,
            control_bytes: Bytes(64),
            pull_ack: true,
            pull_order: PullOrder::Fair,
            pull_turns: PullTurns::Random,
            pull_rate: 1.0,
            pull_weights: vec![8, 4, 2, 1],
            pull_spacing: None,
            repeat_order: RepeatOrder::Lowest,
            code: None,
            trimming: true,
            first_window_as_headers: false,
            path_penalty: None,
            entropy: None,
            entropy_values: 64,
            pad_last: false,
            backstop: true,
            backstop_repeats: BackstopRepeats::Pulled,
            rto_min: Derived::FromNetwork,
            rto_initial: Derived::FromNetwork,
            rto_max: Time(100_000_000_000),
            rto_spread: 0.5,
        }
    }
}

/// Lower bound of derived values: the paper's value for 10 Gbps.
const WINDOW_LEAST: u32 = 30;
const RTO_MIN_LEAST: Time = Time(1_000_000_000);
const RTO_INITIAL_LEAST: Time = Time(20_000_000_000);

impl Ndp {
    /// Bytes of a full packet on the wire.
    fn full_packet(&self) -> u64 {
        self.payload() + self.header_bytes.0
    }

    /// Packets of the first window.
    pub fn initial_window(&self) -> u32 {
        self.initial_window.or(WINDOW_LEAST)
    }

    /// Shortest backstop timeout.
    pub fn rto_min(&self) -> Time {
        self.rto_min.or(RTO_MIN_LEAST)
    }

    /// Backstop timeout before the first round-trip sample.
    pub fn rto_initial(&self) -> Time {
        self.rto_initial.or(RTO_INITIAL_LEAST)
    }

    /// Whether the sender chooses the path of each packet.
    #[inline]
    fn chooses_paths(&self) -> bool {
        self.path_penalty.is_some() || self.entropy.is_some()
    }

    /// Payload of a full data packet.
    fn payload(&self) -> u64 {
        self.mtu.0 - if self.mtu_includes_header { self.header_bytes.0 } else { 0 }
    }

    /// Time from a pull to the next: the transmission time of the pulled packet on the link by which it will
    /// arrive, as the one before did. Computed each time, because faults change rates.
    fn spacing(&self, link: LinkId, cx: &impl Host) -> Time {
        if let Some(fixed) = self.pull_spacing {
            return fixed;
        }
        let full = cx.transmission(link, self.full_packet() as u32);
        if self.pull_rate == 1.0 { full } else { Time((full.0 as f64 / self.pull_rate).round() as u64) }
    }
}

impl Settings for Ndp {
    fn profile(&self) -> Profile {
        let header = self.header_bytes.0;
        let inside = if self.mtu_includes_header { header } else { 0 };
        // Total, because the check asks for it where it reports `header_bytes`, too.
        let payload = self.mtu.0.saturating_sub(inside);
        let longest = self.rto_max.max(self.rto_initial()).max(self.rto_min());
        Profile {
            framing: Some(Framing { payload, header, pad_last: self.pad_last }),
            answer_bytes: self.control_bytes.0,
            answers_per_packet: if self.pull_ack { 1.0 } else { 2.0 },
            timeout_max: Time((longest.0 as f64 * (1.0 + self.rto_spread)) as u64),
            marks_unscheduled: !self.first_window_as_headers,
            in_flight_max: Some(u64::from(self.initial_window())),
            host_fields: vec![
                ("pull_order", json!(self.pull_order)),
                ("pull_turns", json!(self.pull_turns)),
                ("pull_weights", json!(self.pull_weights)),
            ],
            queue: NdpPort::default().into(),
            balancer: if self.entropy.is_some() { Entropy {}.into() } else { PerPacket {}.into() },
            ..Profile::new(payload, header)
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            features: if self.trimming { vec![Feature::Trimming] } else { Vec::new() },
            priority: matches!(self.pull_order, PullOrder::Strict | PullOrder::Weighted),
            paths: self.path_penalty.is_some().then_some("path_penalty"),
            entropy: self.entropy.is_some().then_some("entropy"),
            ..Needs::default()
        }
    }

    fn problems(&self) -> Vec<Problem> {
        let mut problems: Vec<_> = entropy::problem(self.entropy_values).into_iter().collect();
        if self.mtu_includes_header && self.header_bytes >= self.mtu {
            let why = format!("{} leaves no payload in an mtu of {}", self.header_bytes, self.mtu);
            problems.push(Problem::new("header_bytes", why));
        }
        if !self.trimming && !self.backstop {
            let why = "false, and without trimming nothing else reports a lost packet to its sender";
            problems.push(Problem::new("backstop", why));
        }
        problems
    }

    fn unread(&self) -> Vec<Unread> {
        Unread::among([
            ("pull_weights", self.pull_order == PullOrder::Weighted, "pull_order = \"weighted\""),
            ("pull_turns", self.pull_order != PullOrder::Fifo, "pull_order = \"fair\""),
            ("pull_rate", self.pull_spacing.is_none(), "no pull_spacing"),
            ("backstop_repeats", self.backstop, "backstop = true"),
            ("rto_min", self.backstop, "backstop = true"),
            ("rto_max", self.backstop, "backstop = true"),
            ("rto_spread", self.backstop, "backstop = true"),
            ("entropy_values", self.entropy.is_some(), "entropy, such as \"mixed\""),
            ("repeat_order", self.code.is_none(), "no code"),
        ])
    }

    fn derived(&self, environment: &Environment) -> Values {
        let mut values = Vec::new();
        if self.initial_window == Derived::FromNetwork {
            let window = environment.longest.packets(self.full_packet()).clamp(WINDOW_LEAST, 1_000_000);
            values.push(("initial_window".into(), json!(window)));
        }
        if self.rto_min == Derived::FromNetwork {
            values.push(("rto_min".into(), json!(environment.longest.round_trips(3).max(RTO_MIN_LEAST))));
        }
        if self.rto_initial == Derived::FromNetwork {
            let least = RTO_INITIAL_LEAST.max(self.rto_min.given().unwrap_or_default());
            values.push(("rto_initial".into(), json!(environment.longest.round_trips(10).max(least))));
        }
        values
    }

    fn advice(&self, path: &str, longest: &Longest) -> Vec<Advice> {
        let packets = (u64::from(self.initial_window()), self.full_packet());
        advice::window(path, "initial_window", packets, longest, "\"bdp\"".into()).into_iter().collect()
    }
}

/// Values of `Header::kind`. Data: `number` is the packet's place in its connection; so it is when a header
/// is returned to the sender; `ack` is the number of pulls that the sender has requested because packets
/// never arrived. Answers: `number` is the packet that they answer, `seq` echoes when it was sent, `ack`
/// holds two words, see [`pack`].
mod kind {
    pub const DATA: u8 = 0;
    pub const LAST: u8 = 1;
    pub const ACK: u8 = 2;
    pub const NACK: u8 = 3;
    pub const PULL: u8 = 4;
    /// Added to an answer that pulls as well.
    pub const PULLS: u8 = 8;
    /// Added to a NACK for a packet that the port to the receiver trimmed.
    pub const LAST_HOP: u8 = 16;
    /// The bits that are neither.
    pub const WHAT: u8 = 7;
}

/// The first packet that has not arrived, and the number of the last pull: both cumulative, so that a
/// lost answer is covered by the next one.
fn pack(in_order: u32, pull: u32) -> u64 {
    u64::from(in_order) << 32 | u64::from(pull)
}

/// In place of the first of both, from a receiver that has decoded a flow with a code.
const DECODED: u32 = u32::MAX;

fn unpack(ack: u64) -> (u32, u32) {
    ((ack >> 32) as u32, ack as u32)
}

/// All NDP connections of a run, whatever their configurations, since those of an interface share its pull queue.
pub struct Model {
    configs: Configs<Ndp>,
    senders: Ends<Sender>,
    receivers: Ends<Receiver>,
    /// By link; those that end at switches have none to pull for.
    pacers: Vec<Pacer>,
    /// By host, the links that end there.
    incoming: Vec<Vec<LinkId>>,
}

/// The timer of a pacer.
const PULL_TURN: u8 = 0;

impl Model {
    pub(super) fn new(configs: Configs<Ndp>) -> Model {
        let ports = configs.ports();
        let mut incoming = vec![Vec::new(); ports.hosts];
        for (host, link) in &ports.incoming {
            incoming[host.index()].push(*link);
        }
        Model {
            pacers: vec![Pacer::default(); ports.links],
            configs,
            senders: Ends::default(),
            receivers: Ends::default(),
            incoming,
        }
    }

    /// Sets the timer for the next pull if one waits and none is set.
    fn arm(pacer: &mut Pacer, link: LinkId, cx: &mut impl Host) {
        if !pacer.is_empty() && !pacer.timer.is_set() {
            let due = pacer.next_at.max(cx.now());
            cx.set_timer(&mut pacer.timer, due, Owner::Interface(link), PULL_TURN);
        }
    }
}

#[cfg(test)]
impl Model {
    /// Loses a pull that waits without counting it: how a test of the audit injects that defect.
    pub fn lose_a_pull(&mut self) -> bool {
        self.pacers.iter_mut().any(Pacer::lose_one)
    }
}

impl Endpoint for Model {
    fn start(&mut self, id: ConnId, start: Start, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(id));
        let sender = self.senders.open(id, cx);
        sender.reset(config, &start, cx);
        sender.open(id, config, cx);
    }

    fn accept(&mut self, id: ConnId, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(id));
        let Conn { flow, key, .. } = *cx.conn(id);
        let flow = u64::from(flow.0);
        let place = match config.pull_turns {
            PullTurns::Random => cx.flow_stream(Purpose::PullTurns, key).bits() << 32 | flow,
            PullTurns::Number | PullTurns::Arrival => flow,
        };
        let coded = config.code.map(|code| Coded::new(code, cx.conn(id).size, config));
        self.receivers.open(id, cx).reset(place, coded);
    }

    #[inline]
    fn at_receiver(&mut self, packet: &Packet, cx: &mut impl Host) {
        let pacer = &mut self.pacers[packet.ingress.index()];
        let receiver = self.receivers.at(packet.conn, cx);
        let config = self.configs.of(cx.conn(packet.conn));
        let completed = receiver.on_packet(packet, config, pacer, cx);
        Model::arm(pacer, packet.ingress, cx);
        if completed {
            for link in &self.incoming[packet.dst.index()] {
                self.pacers[link.index()].flush(packet.conn);
            }
        }
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
            (Owner::Sender(id), BACKSTOP) => {
                let config = self.configs.of(cx.conn(id));
                self.senders.at(id, cx).on_timer(id, config, cx);
            }
            (Owner::Interface(link), PULL_TURN) => {
                let pacer = &mut self.pacers[link.index()];
                if cx.timer_is_due(&mut pacer.timer, owner, kind)
                    && let Some(id) = pacer.pop(self.configs.of_host())
                {
                    let receiver = self.receivers.at(id, cx);
                    let config = self.configs.of(cx.conn(id));
                    pacer.next_at = cx.now() + config.spacing(link, cx);
                    receiver.send_pull(id, config, cx);
                    Model::arm(pacer, link, cx);
                }
            }
            _ => unreachable!("NDP has no other timers"),
        }
    }

    /// Every pull that was queued was sent, voided, or is queued; the bytes counted as delivered are those
    /// received.
    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        for (link, pacer) in self.pacers.iter().enumerate() {
            let accounted = pacer.sent + pacer.flushed + pacer.len();
            if pacer.queued != accounted {
                found(format!(
                    "link {link}: {} pulls queued, {accounted} sent, flushed or waiting",
                    pacer.queued
                ));
            }
            if !pacer.is_empty() && !pacer.timer.is_set() {
                found(format!("link {link}: pulls wait and no timer is set"));
            }
        }
        audit_received(conns, |id, _| self.receivers.get(id).received(), found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::fake::FakeHost;
    use crate::engine::contract::packet::{Header, flag};

    const FLOW: ConnId = ConnId(0);

    /// A flow of ten full packets, and the first window of four.
    fn started() -> (FakeHost, Model, Vec<Packet>) {
        let config = Ndp { initial_window: Derived::Given(4), ..Ndp::default() };
        let mut host = FakeHost::pair(10 * config.payload());
        let mut model = Model::new(host.configs(vec![config]));
        host.start(&mut model, FLOW);
        let packets = host.sends(&mut model, FLOW, 9);
        assert_eq!(numbers(&packets), [0, 1, 2, 3]);
        (host, model, packets)
    }

    fn numbers(packets: &[Packet]) -> Vec<u32> {
        packets.iter().map(|packet| packet.header.number).collect()
    }

    fn trimmed(packet: &Packet) -> Packet {
        Packet { size: 64, flags: packet.flags | flag::TRIMMED, ..*packet }
    }

    /// The headers of 2 and 1 arrive, in this order, and the NACKs of both before a pull. Each pull lets one go, the lowest
    /// number first; the third pull is for new data. Pulls are as far apart as 1500 B at 10 Gbps: 1.2 us.
    #[test]
    fn a_nack_makes_one_repetition_in_the_order_of_numbers() {
        let (mut host, mut model, packets) = started();
        let pulls = host.receives(&mut model, &trimmed(&packets[2]));
        let waits = host.receives(&mut model, &trimmed(&packets[1]));
        assert_eq!((pulls[0].header.kind, waits[0].header.kind), (kind::NACK | kind::PULLS, kind::NACK));
        let ack = host.receives(&mut model, &packets[0]);
        assert_eq!(ack[0].header.kind, kind::ACK);
        host.answers(&mut model, &waits[0]);
        host.answers(&mut model, &ack[0]);
        assert!(host.sends(&mut model, FLOW, 9).is_empty(), "no pull has come");
        host.answers(&mut model, &pulls[0]);
        assert_eq!(numbers(&host.sends(&mut model, FLOW, 9)), [1]);
        for (next, ns) in [(2, 1_200), (4, 2_400)] {
            let pull = host.expires(&mut model);
            assert_eq!((pull.len(), host.now), (1, Time::from_ns(ns)));
            host.answers(&mut model, &pull[0]);
            assert_eq!(numbers(&host.sends(&mut model, FLOW, 9)), [next]);
        }
        assert_eq!((host.sender(FLOW).retransmissions, host.sender(FLOW).packets_sent), (2, 7));
    }

    /// Four packets bring four pulls. The second and the third are lost: the fourth lets three packets go;
    /// late arrivals let none.
    #[test]
    fn a_lost_pull_is_covered_by_the_next() {
        let (mut host, mut model, packets) = started();
        host.now = Time::from_us(10);
        let answers: Vec<_> = packets.iter().flat_map(|packet| host.receives(&mut model, packet)).collect();
        let pulls: Vec<_> = (0..3).flat_map(|_| host.expires(&mut model)).collect();
        assert_eq!((answers.len(), pulls.len()), (4, 3));
        answers.iter().for_each(|answer| host.answers(&mut model, answer));
        assert_eq!(numbers(&host.sends(&mut model, FLOW, 9)), [4]);
        host.answers(&mut model, &pulls[2]);
        assert_eq!(numbers(&host.sends(&mut model, FLOW, 9)), [5, 6, 7]);
        host.answers(&mut model, &pulls[1]);
        assert!(host.sends(&mut model, FLOW, 9).is_empty());
    }

    /// Timeouts of 20 ms. The first doubles the next one: the packet that it retransmits has until 60 ms. Its header arrives, and
    /// ends the doubling, so that the one after is at 100 ms; with nothing received in between, the next is at 180 ms.
    #[test]
    fn an_answer_ends_the_back_off() {
        let ms = |ms: u64| Time::from_us(1000 * ms);
        let config = Ndp {
            initial_window: Derived::Given(1),
            rto_initial: Derived::Given(ms(20)),
            rto_spread: 0.0,
            ..Ndp::default()
        };
        let mut host = FakeHost::pair(config.payload());
        let mut model = Model::new(host.configs(vec![config]));
        host.start(&mut model, FLOW);
        host.sends(&mut model, FLOW, 1);
        let mut at = Vec::new();
        for timeout in 1..=4 {
            host.times_out(&mut model, FLOW);
            at.push(host.now);
            let again = host.sends(&mut model, FLOW, 9);
            assert_eq!(numbers(&again), [0]);
            if timeout == 1 {
                let nack = host.receives(&mut model, &trimmed(&again[0]));
                host.answers(&mut model, &nack[0]);
                assert_eq!(numbers(&host.sends(&mut model, FLOW, 9)), [0]);
            }
        }
        assert_eq!(at, [20, 60, 100, 180].map(ms));
    }

    /// A sender counts the pulls that it requests over its connection: two packets with a count of 3 bring three pulls
    /// beside one for each, and one with 5 brings two more.
    #[test]
    fn requested_pulls_are_granted_once() {
        let config = Ndp { initial_window: Derived::Given(4), pull_ack: false, ..Ndp::default() };
        let mut host = FakeHost::pair(10 * config.payload());
        let mut model = Model::new(host.configs(vec![config]));
        host.start(&mut model, FLOW);
        let packets = host.sends(&mut model, FLOW, 9);
        let mut queued = Vec::new();
        for (packet, asked) in packets.iter().zip([3, 3, 5]) {
            let header = Header { ack: asked, ..packet.header };
            host.receives(&mut model, &Packet { header, ..*packet });
            queued.push(model.pacers[0].queued);
        }
        assert_eq!(queued, [1 + 3, 2 + 3, 3 + 5]);
    }
}
