//! TCP's fields, their defaults, and the values that the check, records and captures take from them.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;

use super::congestion::{Congestion, Window};
use super::ecn::Echo;
use super::{advice, kind};
use crate::advice::{Advice, Unread};
use crate::derived::{Derived, Environment, Longest, Values};
use crate::engine::contract::packet::Packet;
use crate::problem::{Problem, within};
use crate::queue::Feature;
use crate::queue::drop_tail::DropTail;
use crate::queue::ecn::Ecn;
use crate::queue::strict_priority::StrictPriority;
use crate::transport::frame::{Frame, TcpFrame};
use crate::transport::tagging::Tagging;
use crate::transport::{Needs, Profile, Prototypes, Settings, Signal};
use crate::units::{Bytes, Time};

/// TCP. Every difference to RFCs and other simulators is a field; the preset sets the timers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tcp {
    /// Preset of the timers that are not given: `rto_min`, `rto_initial` and `delayed_ack_timeout`.
    pub preset: Preset,
    /// Reaction of the window to acknowledgements and losses.
    pub congestion: Congestion,
    /// Payload of a full segment.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "65000B"))]
    pub mss: Bytes,
    /// IP and TCP header of every segment with payload. htsim has 0: its packets are as long as their payload.
    #[schemars(extend("x-maximum" = "1000B"))]
    pub header_bytes: Bytes,
    /// Bytes of a segment without payload, such as an acknowledgement. Absent: `header_bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub ack_bytes: Option<Bytes>,
    /// Link-layer bytes on top of every packet (Ethernet: 18, with preamble and gap 38).
    #[schemars(extend("x-maximum" = "1000B"))]
    pub link_bytes: Bytes,
    /// Whether a flow starts with SYN and SYN/ACK: one round trip before the first data.
    pub handshake: bool,
    /// Initial congestion window in segments (RFC 6928: 10; ns-3.14: 1). "bdp": as many as fill the longest
    /// path between hosts, and at least 10: no slow start.
    #[schemars(extend("minimum" = 1, "maximum" = 1_000_000))]
    pub initial_window: Derived<u32>,
    /// Slow-start threshold at the start. Absent: unlimited (RFC 5681's "arbitrarily high").
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1B"))]
    pub initial_ssthresh: Option<Bytes>,
    /// The receiver's buffer: caps the bytes in flight.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GiB"))]
    pub receive_window: Bytes,
    /// Duplicate acknowledgements that start a fast retransmit.
    #[schemars(range(min = 1, max = 1000))]
    pub dupack_threshold: u32,
    /// Send a new segment on each of the first two duplicate acknowledgements (RFC 3042).
    pub limited_transmit: bool,
    /// Largest number of full segments per acknowledgement: 2 is RFC 5681's delayed ACK, 1 switches it off. Under swift it is 1 in
    /// any case.
    #[schemars(range(min = 1, max = 1000))]
    pub delayed_ack: u32,
    /// Longest delay of an acknowledgement. Absent: 40 ms (Linux) under the preset "internet", 500 us under
    /// "datacentre".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub delayed_ack_timeout: Option<Time>,
    /// Acknowledge the first data segment of a connection at once.
    pub ack_first_segment: bool,
    /// Acknowledge the last data segment of a flow at once, as a receiver does that finds FIN on it.
    pub ack_last_segment: bool,
    /// Shortest retransmission timeout (RFC 6298: 1 s). Absent: 200 ms (Linux and ns-3) under the preset "internet", 5 ms
    /// under "datacentre".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "100s"))]
    pub rto_min: Option<Time>,
    /// Retransmission timeout before the first round-trip sample. Absent: 1 s (RFC 6298) under the preset "internet", 5 ms
    /// under "datacentre".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "100s"))]
    pub rto_initial: Option<Time>,
    /// Longest retransmission timeout.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1000s"))]
    pub rto_max: Time,
    /// Clock granularity G of RFC 6298.
    #[schemars(extend("x-maximum" = "10s"))]
    pub rto_granularity: Time,
    /// Take a round-trip sample from every acknowledgement (RFC 7323) rather than from one segment per round trip.
    pub timestamps: bool,
    /// The quantity that a loss halves.
    pub loss_halves: Halves,
    /// Meaning of a duplicate acknowledgement in a recovery, and under `limited_transmit` before it.
    pub duplicates: Duplicates,
    /// Lower bound of the slow-start threshold after a loss, in segments (RFC 5681: 2; htsim's MPTCP: 1).
    #[schemars(range(min = 1, max = 1000))]
    pub min_ssthresh: u32,
    /// The unit by which acknowledgements let the window grow.
    pub growth: Growth,
    /// Let the window grow only while the window limits the flow (Linux, after RFC 7661), and not the host's
    /// link or the receive window. By default each acknowledgement lets it grow (RFC 5681, htsim).
    pub window_validation: bool,
    /// The window after an idle time longer than the retransmission timeout: by default it is kept. A truth
    /// value is read as well: true is "initial-window", false "none".
    #[serde(deserialize_with = "word_or_truth_value")]
    #[schemars(transform = or_truth_value)]
    pub idle_restart: IdleRestart,
    /// Send ECN-capable packets, and take a mark for a loss (RFC 3168). Under dctcp and d2tcp, whose packets
    /// are ECN-capable in any case, this has no further effect.
    pub ecn: bool,
    /// Whether ports may also mark retransmissions, as Linux lets them under DCTCP; RFC 3168, 6.1.5, forbids
    /// it.
    pub ecn_retransmissions: bool,
    /// Gives each segment a class of traffic by the bytes that its flow has sent before (PIAS). Absent: all
    /// of them have class 0, as acknowledgements and SYNs have in any case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tagging: Option<Tagging>,
}

/// Preset of a TCP's timers that are not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Hosts of the Internet: 200 ms, 1 s before the first sample, acknowledgements delayed by at most 40 ms (RFC 6298, Linux).
    Internet,
    /// Hosts of a data centre, with round trips far below a millisecond: 5 ms, before the first sample, too,
    /// and acknowledgements delayed by at most 500 us. Between the 10 ms of DCTCP's paper (section 4) and the
    /// 1 ms and less of Vasudevan et al., SIGCOMM 2009, who also recommend a delayed ACK well below the
    /// timeout.
    Datacentre,
}

/// The quantity that a loss halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Halves {
    /// The bytes sent and not yet acknowledged (RFC 5681's FlightSize). Bytes that wait for the host's link
    /// have not been sent.
    Flight,
    /// The bytes that the window has released, sent or not: FlightSize of a host whose TCP hands them to a
    /// queue below it (Linux).
    Queued,
    /// The same less a segment, whose arrival the last duplicate acknowledgement has reported (ns-3).
    Pipe,
    /// The congestion window (htsim, ns-2).
    Window,
}

/// Meanings of a duplicate acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// A segment that has left the network: the window is larger by one until the recovery ends (RFC 5681, RFC 6582).
    Inflate,
    /// A SACK of the first segment behind the missing one that has none yet: it is not in flight, also after the recovery.
    /// If it turns out to be missing, it goes again, and the guess passes on to the next one (ns-3 without SACK). Where
    /// packets overtake each other, far more than the window stays in flight.
    Sacks,
}

/// The window after an idle time longer than the retransmission timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdleRestart {
    /// It is kept.
    #[default]
    None,
    /// It is no larger than the initial window (RFC 5681 and RFC 9293 by reference to it, section 4.1).
    InitialWindow,
    /// It is halved for each timeout that has passed, down to a segment, and the slow-start threshold is at
    /// least three quarters of the earlier window (RFC 2861, section 3.2).
    Halve,
}

impl IdleRestart {
    /// The window after so many timeouts of silence; `initial` is that of a new connection.
    pub(super) fn apply(self, window: &mut Window, initial: u64, timeouts: u64) {
        match self {
            IdleRestart::None => {}
            IdleRestart::InitialWindow => window.cwnd = window.cwnd.min(initial),
            IdleRestart::Halve => {
                window.ssthresh = window.ssthresh.max(window.cwnd / 4 * 3 + window.cwnd % 4 * 3 / 4);
                for _ in 0..timeouts.min(64) {
                    window.cwnd = (window.usable() / 2).max(window.mss);
                }
            }
        }
    }
}

/// Reads the field's earlier form, before it had more than two values.
fn word_or_truth_value<'de, D: Deserializer<'de>>(source: D) -> Result<IdleRestart, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Said {
        Truth(bool),
        Word(IdleRestart),
    }
    Ok(match Said::deserialize(source)? {
        Said::Truth(true) => IdleRestart::InitialWindow,
        Said::Truth(false) => IdleRestart::None,
        Said::Word(word) => word,
    })
}

/// The schema of such a field: its own, or a truth value.
fn or_truth_value(schema: &mut Schema) {
    if let Some(word) = schema.remove("$ref") {
        schema.insert("anyOf".into(), json!([{ "$ref": word }, { "type": "boolean" }]));
    }
}

/// The unit by which acknowledgements let the window grow: by a segment for each in slow start and by a
/// segment for a window of them afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// Each acknowledgement, whatever it acknowledges (RFC 5681, equations 2 and 3; ns-3): half as fast with delayed ones.
    Acks,
    /// The same, but in slow start by a whole segment even if it acknowledges less, as one of a short last segment does (RFC
    /// 2001; ns-3 up to 3.14 at least).
    WholeAcks,
    /// The bytes that it acknowledges, in slow start at most two segments of them (RFC 3465; htsim and Linux count, too).
    Bytes,
    /// The bytes that it acknowledges, in slow start all of them up to the threshold; afterwards by a whole segment for the
    /// whole segments of a window, counted since the last reduction (Linux, and ns-3's TcpLinuxReno, of which its TcpDctcp
    /// is made; RFC 5681, 3.1, recommends to count so in congestion avoidance).
    Segments,
}

impl Default for Tcp {
    fn default() -> Self {
        Tcp {
            preset: Preset::Internet,
            congestion: Congestion::NewReno(Default::default()),
            mss: Bytes(1460),
            header_bytes: Bytes(40),
            ack_bytes: None,
            link_bytes: Bytes(0),
            handshake: true,
            initial_window: Derived::Given(WINDOW_LEAST),
            initial_ssthresh: None,
            receive_window: Bytes(1_000_000),
            dupack_threshold: 3,
            limited_transmit: false,
            delayed_ack: 2,
            delayed_ack_timeout: None,
            ack_first_segment: true,
            ack_last_segment: true,
            rto_min: None,
            rto_initial: None,
            rto_max: Time(60_000_000_000_000),
            rto_granularity: Time::ZERO,
            timestamps: false,
            loss_halves: Halves::Flight,
            duplicates: Duplicates::Inflate,
            min_ssthresh: 2,
            growth: Growth::Acks,
            window_validation: false,
            idle_restart: IdleRestart::None,
            ecn: false,
            ecn_retransmissions: false,
            tagging: None,
        }
    }
}

impl Settings for Tcp {
    fn profile(&self) -> Profile {
        let (marks, tags) = (self.echo().is_some(), self.tagging.is_some());
        Profile {
            answer_bytes: u64::from(self.ack_bytes()),
            answers_per_packet: 1.0 / f64::from(self.segments_per_ack()),
            link_bytes: self.link_bytes.0,
            ecn_capable: marks,
            class_field: tags.then_some("tagging"),
            keeps: true,
            timeout_max: self.rto_max,
            initial_burst: Some(u64::from(self.initial_window())),
            in_flight_max: Some(self.receive_window.0.div_ceil(self.mss.0)),
            window_signal: Some(if marks { Signal::Marks } else { Signal::Losses }),
            queue: match (marks, tags) {
                (_, true) => StrictPriority::default().into(),
                (true, false) => Ecn::default().into(),
                (false, false) => DropTail::default().into(),
            },
            ..Profile::new(self.mss.0, u64::from(self.data_header_bytes()))
        }
    }

    fn needs(&self) -> Needs {
        let marks = self.echo().map(|_| Feature::Ecn);
        let classes = self.tagging.as_ref().map(|_| Feature::Classes);
        Needs { features: marks.into_iter().chain(classes).collect(), ..Needs::default() }
    }

    fn bind(&mut self, prototypes: &Prototypes) -> bool {
        let Congestion::PythonControl(own) = &mut self.congestion else { return false };
        own.bind(&prototypes.controls);
        true
    }

    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.rto_max < self.rto_min() {
            problems.push(Problem::new(
                "rto_max",
                format!("{} is below rto_min, which is {}", self.rto_max, self.rto_min()),
            ));
        }
        if self.ack_bytes.is_none() && self.header_bytes.0 == 0 {
            let why =
                "header_bytes is 0, so that an acknowledgement has no bytes; give ack_bytes, 40B as in htsim";
            problems.push(Problem::new("ack_bytes", why));
        }
        if self.receive_window < self.mss {
            let why =
                format!("{} is below mss, which is {}: nothing could be sent", self.receive_window, self.mss);
            problems.push(Problem::new("receive_window", why));
        }
        problems.extend(within("tagging", self.tagging.iter().flat_map(Tagging::problems)));
        let control = format!("congestion.{}", self.congestion.name());
        problems.extend(within(control, self.congestion.problems()));
        problems
    }

    fn unread(&self) -> Vec<Unread> {
        let own_marks = self.congestion.echo().is_some();
        Unread::among([
            ("delayed_ack_timeout", self.delayed_ack > 1, "delayed_ack = 2"),
            ("ecn", !own_marks, "a congestion control that hears no marks by itself"),
            ("ecn_retransmissions", self.echo().is_some(), "ecn = true"),
        ])
    }

    fn derived(&self, environment: &Environment) -> Values {
        if self.initial_window != Derived::FromNetwork {
            return Vec::new();
        }
        vec![(
            "initial_window".into(),
            json!(environment.longest.packets(self.full_packet()).clamp(WINDOW_LEAST, 1_000_000)),
        )]
    }

    fn advice(&self, path: &str, longest: &Longest) -> Vec<Advice> {
        advice::advice(path, self, longest)
    }

    fn preset(&self) -> Values {
        vec![
            ("delayed_ack_timeout".into(), json!(self.delayed_ack_timeout())),
            ("rto_min".into(), json!(self.rto_min())),
            ("rto_initial".into(), json!(self.rto_initial())),
        ]
    }

    /// A connection's first sequence number is 0, its SYN takes one; the window has the largest value of the
    /// field. SYN and SYN/ACK agree on ECN (RFC 3168, 6.1.1), which ends that are configured alike need not
    /// look at.
    fn frame(&self, packet: &Packet) -> Frame {
        let (kind, header) = (kind::plain(packet.header.kind), &packet.header);
        let says = |bit: u8| packet.header.kind & bit != 0;
        let agrees = self.echo().is_some();
        let (seq, ack) = match kind {
            kind::DATA | kind::LAST => (1 + header.seq, 1),
            kind::ACK => (1, 1 + header.ack),
            _ => (0, u64::from(kind == kind::SYN_ACK)),
        };
        Frame::Tcp(TcpFrame {
            seq: seq as u32,
            ack: ack as u32,
            syn: matches!(kind, kind::SYN | kind::SYN_ACK),
            is_ack: kind != kind::SYN,
            psh: kind == kind::LAST,
            ece: says(kind::ECE) || agrees && matches!(kind, kind::SYN | kind::SYN_ACK),
            cwr: says(kind::CWR) || agrees && kind == kind::SYN,
            window: u16::MAX,
        })
    }
}

/// RFC 6928. An initial window that is derived is at least so large.
const WINDOW_LEAST: u32 = 10;

impl Tcp {
    /// Bytes of a full segment on the wire.
    fn full_packet(&self) -> u64 {
        self.mss.0 + u64::from(self.data_header_bytes())
    }

    /// Initial congestion window in segments.
    pub fn initial_window(&self) -> u32 {
        self.initial_window.or(WINDOW_LEAST)
    }

    /// The value, or that of the preset in microseconds.
    fn or_preset(&self, value: Option<Time>, internet: u64, datacentre: u64) -> Time {
        value.unwrap_or_else(|| {
            Time::from_us(match self.preset {
                Preset::Internet => internet,
                Preset::Datacentre => datacentre,
            })
        })
    }

    /// How long an acknowledgement is held back at most.
    pub fn delayed_ack_timeout(&self) -> Time {
        self.or_preset(self.delayed_ack_timeout, 40_000, 500)
    }

    /// Full segments to an acknowledgement at most.
    #[inline]
    pub fn segments_per_ack(&self) -> u32 {
        if self.congestion.acknowledges_each_segment() { 1 } else { self.delayed_ack }
    }

    /// Shortest retransmission timeout.
    pub fn rto_min(&self) -> Time {
        self.or_preset(self.rto_min, 200_000, 5_000)
    }

    /// Retransmission timeout before the first round-trip sample.
    pub fn rto_initial(&self) -> Time {
        self.or_preset(self.rto_initial, 1_000_000, 5_000)
    }

    /// Bytes of a segment with payload on the wire besides that.
    pub(super) fn data_header_bytes(&self) -> u32 {
        (self.header_bytes.0 + self.link_bytes.0) as u32
    }

    /// Bytes of a segment without payload on the wire.
    pub(super) fn ack_bytes(&self) -> u32 {
        (self.ack_bytes.unwrap_or(self.header_bytes).0 + self.link_bytes.0) as u32
    }

    /// The way in which the receiver echoes marks, if data is ECN-capable.
    pub(super) fn echo(&self) -> Option<Echo> {
        self.congestion.echo().or(self.ecn.then_some(Echo::UntilReduced))
    }
}
