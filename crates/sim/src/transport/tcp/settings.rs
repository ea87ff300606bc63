//! TCP's fields, their defaults, and the values that the check, records and captures take from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::choices::{
    Duplicates, Floor, Growth, Halves, IdleRestart, Paced, Repair, or_truth_value, word_or_truth_value,
};
use super::congestion::{Congestion, Pace};
use super::ecn::Echo;
use super::ictcp::Ictcp;
use super::nic_pacer::NicPacer;
use super::preset::Preset;
use super::slow_start::SlowStart;
use super::{advice, kind, receiver, sender};
use crate::advice::{Advice, Unread};
use crate::derived::{Derived, Environment, Longest, Values};
use crate::engine::contract::packet::Packet;
use crate::problem::{Problem, within};
use crate::queue::Feature;
use crate::queue::drop_tail::DropTail;
use crate::queue::ecn::Ecn;
use crate::queue::strict_priority::StrictPriority;
use crate::transport::frame::{Frame, TcpFrame};
use crate::transport::repath::Repath;
use crate::transport::tagging::Tagging;
use crate::transport::{Needs, Profile, Prototypes, Settings, Signal};
use crate::units::{Bytes, Time};

/// TCP. Every difference to RFCs and other simulators is a field; the preset sets the timers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tcp {
    /// Preset of the fields that are not given: of timers or, as "linux", of all in which a Linux kernel differs.
    pub preset: Preset,
    /// Reaction of the window to acknowledgements and losses. Absent: NewReno; under the preset "linux" CUBIC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<Congestion>,
    /// The end of slow start before a loss. Absent: "standard"; under the preset "linux" with CUBIC "hystart".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_start: Option<SlowStart>,
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
    /// Longest delay of an acknowledgement. Absent: 40 ms (Linux), 500 us under the preset "datacentre".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub delayed_ack_timeout: Option<Time>,
    /// Acknowledge the first data segment of a connection at once.
    pub ack_first_segment: bool,
    /// Acknowledge the last data segment of a flow at once, as a receiver does that finds FIN on it. Absent: true; under
    /// the preset "linux" false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_last_segment: Option<bool>,
    /// Segments that the receiver acknowledges one by one, without delay, at the start, after a pause longer than
    /// `rto_min`, and after a duplicate; two after a mark (Linux). Absent: 0; under the preset "linux" 16.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1000))]
    pub quick_acks: Option<u32>,
    /// Shortest retransmission timeout (RFC 6298: 1 s). Absent: 200 ms (Linux and ns-3), 5 ms under the preset
    /// "datacentre".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "100s"))]
    pub rto_min: Option<Time>,
    /// Retransmission timeout before the first round-trip sample. Absent: 1 s (RFC 6298), 5 ms under the preset
    /// "datacentre".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "100s"))]
    pub rto_initial: Option<Time>,
    /// The quantity that `rto_min` bounds. Absent: "timeout"; under the preset "linux" "variation".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rto_floor: Option<Floor>,
    /// Longest retransmission timeout.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1000s"))]
    pub rto_max: Time,
    /// Clock granularity G of RFC 6298.
    #[schemars(extend("x-maximum" = "10s"))]
    pub rto_granularity: Time,
    /// Take a round-trip sample from every acknowledgement (RFC 7323) rather than from one segment per round trip. Absent:
    /// false; under the preset "linux" true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<bool>,
    /// Selective acknowledgements (RFC 2018): the sender keeps a scoreboard, counts the bytes in flight, and retransmits
    /// only missing segments (RFC 6675). Absent: false; under the preset "linux" true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sack: Option<bool>,
    /// Report of segments that arrive twice, in the first SACK block (RFC 2883). It needs `sack`. Absent: false; under the
    /// preset "linux" true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dsack: Option<bool>,
    /// Detection of losses by time (RACK, RFC 8985): a segment is lost when one sent sufficiently later has arrived, also
    /// a retransmitted one. It needs `sack`; false: by the number of SACKed segments behind it (RFC 6675). Absent: false;
    /// under the preset "linux" true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rack: Option<bool>,
    /// A probe, two round trips after the last acknowledgement, for losses at the end of the data (TLP, RFC 8985). It
    /// needs `sack`. Absent: false; under the preset "linux" true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail_loss_probe: Option<bool>,
    /// A reduction whose retransmissions prove to be needless, by the echoed time of the original segment (RFC 3522, RFC
    /// 4015; Linux) or as all of them are reported as duplicates (RFC 3708; with `dsack`), is taken back. It needs `sack`.
    /// Absent: false; under the preset "linux" true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<bool>,
    /// Detection of needless timeouts (F-RTO, RFC 5682): the first acknowledgement after a timeout lets two new segments go,
    /// and if the next one is of a segment sent before the timeout and once, the reduction is taken back. With and without
    /// `sack`. Absent: false; under the preset "linux" true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub f_rto: Option<bool>,
    /// The way in which the window comes down to the threshold. Absent: "at-once"; under the preset "linux"
    /// "proportional". Under dctcp and d2tcp their `proportional_reduction` is for marks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<Repair>,
    /// Growth of the window after a timeout, until all data sent before it is acknowledged, also by acknowledgements that
    /// echo a mark (Linux): the echo goes on because retransmissions carry no CWR. Absent: false; under the preset "linux"
    /// true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth_in_repair: Option<bool>,
    /// The quantity that a loss halves. Absent: "flight"; under the preset "linux" "window".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_halves: Option<Halves>,
    /// Meaning of a duplicate acknowledgement in a recovery, and under `limited_transmit` before it.
    pub duplicates: Duplicates,
    /// Lower bound of the slow-start threshold after a loss, in segments (RFC 5681: 2; htsim's MPTCP: 1).
    #[schemars(range(min = 1, max = 1000))]
    pub min_ssthresh: u32,
    /// The unit by which acknowledgements let the window grow. Absent: "acks"; under the preset "linux" "segments".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<Growth>,
    /// Let the window grow only while the window limits the flow (Linux, after RFC 7661), and not the host's
    /// link or the receive window. Absent: false, each acknowledgement lets it grow (RFC 5681, htsim); under the preset
    /// "linux" true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_validation: Option<bool>,
    /// The window after an idle time longer than the retransmission timeout. A truth value is read as well: true is
    /// "initial-window", false "none". Absent: "none", it is kept; under the preset "linux" "halve-to-initial".
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "word_or_truth_value")]
    #[schemars(transform = or_truth_value)]
    pub idle_restart: Option<IdleRestart>,
    /// Spacing of segments, for controls that do not pace by themselves, as bbr and swift do.
    pub pacing: Paced,
    /// Segments at the start of a connection that are not paced (Linux: 10), by `pacing` or bbr.
    #[schemars(range(max = 1_000_000))]
    pub pacing_burst: u32,
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
    /// Gives a connection another path while its packets are marked, and after a timeout: by a label that switches hash. Absent: it
    /// keeps its path. Needs marks, and a balancer that hashes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repath: Option<Repath>,
    /// Lets the receiver set the windows of its connections by the throughput of its interface (ICTCP), up to `receive_window`.
    /// Absent: each has all of `receive_window`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ictcp: Option<Ictcp>,
    /// Spaces the segments of flows whose packets are marked by a token bucket in the host's interface (HULL). Absent: they go
    /// as window and `pacing` let them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nic_pacer: Option<NicPacer>,
}

impl Default for Tcp {
    fn default() -> Self {
        Tcp {
            preset: Preset::Internet,
            congestion: None,
            slow_start: None,
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
            ack_last_segment: None,
            quick_acks: None,
            rto_min: None,
            rto_initial: None,
            rto_floor: None,
            rto_max: Time(60_000_000_000_000),
            rto_granularity: Time::ZERO,
            timestamps: None,
            sack: None,
            dsack: None,
            rack: None,
            tail_loss_probe: None,
            undo: None,
            f_rto: None,
            repair: None,
            growth_in_repair: None,
            loss_halves: None,
            duplicates: Duplicates::Inflate,
            min_ssthresh: 2,
            growth: None,
            window_validation: None,
            idle_restart: None,
            pacing: Paced::None,
            pacing_burst: 10,
            ecn: false,
            ecn_retransmissions: false,
            tagging: None,
            repath: None,
            ictcp: None,
            nic_pacer: None,
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
            connection_bytes: if self.sack() { SACK_BYTES } else { 0 },
            keeps: true,
            tells_paths: true,
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
        let features = marks.into_iter().chain(classes).collect();
        let labels = self.repath.as_ref().map(|_| "repath");
        Needs { features, records: self.sack() || self.ictcp.is_some(), labels, ..Needs::default() }
    }

    fn bind(&mut self, prototypes: &Prototypes) -> bool {
        let Some(Congestion::PythonControl(own)) = &mut self.congestion else { return false };
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
        let least = self.ictcp.as_ref().map_or(0, |rules| u64::from(rules.least) * self.mss.0);
        if self.receive_window.0 < least {
            let why =
                format!("{} is below the smallest window of ictcp, {}", self.receive_window, Bytes(least));
            problems.push(Problem::new("receive_window", why));
        }
        problems.extend(within("tagging", self.tagging.iter().flat_map(Tagging::problems)));
        problems.extend(within("repath", self.repath.iter().flat_map(Repath::problems)));
        if self.repath.is_some() && self.echo().is_none() {
            let why = "needs marks: set ecn = true, or a congestion control that reads them, such as dctcp";
            problems.push(Problem::new("repath", why));
        }
        if self.nic_pacer.is_some() && self.echo().is_none() {
            let why = "needs marks: set ecn = true, or a congestion control that reads them, such as dctcp";
            problems.push(Problem::new("nic_pacer", why));
        }
        if self.congestion().models_path() && !self.sack() {
            let why = format!(
                "{} counts delivered segments: set sack = true, or preset = \"linux\"",
                self.congestion().name()
            );
            problems.push(Problem::new("congestion", why));
        }
        let control = format!("congestion.{}", self.congestion().name());
        problems.extend(within(control, self.congestion().problems()));
        problems
    }

    fn unread(&self) -> Vec<Unread> {
        let own_marks = self.congestion().echo().is_some();
        let (sack, own) = (self.sack(), self.congestion());
        let (models, paces) = (own.models_path(), own.pace());
        let by_window = "a congestion control that the window rules, such as cubic";
        Unread::among([
            ("delayed_ack_timeout", self.delayed_ack > 1, "delayed_ack = 2"),
            ("ecn", !own_marks, "a congestion control that hears no marks by itself"),
            ("ecn_retransmissions", self.echo().is_some(), "ecn = true"),
            ("dsack", sack, "sack = true"),
            ("rack", sack, "sack = true"),
            ("tail_loss_probe", sack, "sack = true"),
            ("undo", sack, "sack = true"),
            ("duplicates", !sack, "sack = false"),
            ("limited_transmit", !sack, "sack = false"),
            ("slow_start", !models, by_window),
            ("repair", !models, by_window),
            ("loss_halves", !models, by_window),
            ("min_ssthresh", !models, by_window),
            ("initial_ssthresh", !models, by_window),
            ("growth", !models, by_window),
            ("growth_in_repair", !models, by_window),
            ("window_validation", !models, by_window),
            ("idle_restart", !models, by_window),
            (
                "pacing",
                paces == Pace::None,
                "a congestion control that does not pace by itself, such as cubic",
            ),
            (
                "pacing_burst",
                paces == Pace::Smooth || paces == Pace::None && self.pacing == Paced::Internal,
                "pacing = \"internal\"",
            ),
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
        self.preset_values()
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

/// State of SACK at both ends of a connection.
const SACK_BYTES: u64 = (sender::SELECTIVE_BYTES + receiver::EXTENSIONS_BYTES) as u64;

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

    /// Full segments to an acknowledgement at most.
    #[inline]
    pub fn segments_per_ack(&self) -> u32 {
        if self.congestion().acknowledges_each_segment() { 1 } else { self.delayed_ack }
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
        self.congestion().echo().or(self.ecn.then_some(Echo::UntilReduced))
    }
}
