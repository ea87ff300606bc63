//! The configuration of Ultra Ethernet, and its values that follow from the network.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::control::Terms;
use super::control::nscc::Nscc;
use super::control::{Network, UetControl};
use super::scale::{Scale, bytes_within, one_and_a_half};
use super::sleek::SleekRule;
use super::wire::BITMAP_BITS;
use crate::advice::{self, Advice, Unread};
use crate::balancer;
use crate::derived::{Derived, Environment, Longest, Values};
use crate::problem::{Problem, within};
use crate::queue::Feature;
use crate::queue::trimming::{Trimming, TrimmingRule};
use crate::transport::entropy::{self, PathSelector};
use crate::transport::{Needs, Profile, Settings};
use crate::units::{Bytes, Rate, Time};

/// The Ultra Ethernet transport. Each parameter of its public simulator is a field, with the flag that it has there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Uet {
    /// Congestion control: "nscc" (-sender_cc_only), "rccc" (-receiver_cc_only), "both" (-sender_cc -receiver_cc), "dctcp" and
    /// "constant" (-sender_cc_algo).
    pub control: UetControl,
    /// Bytes of a full data packet on the wire, with its header (-mtu).
    #[schemars(extend("x-minimum" = "65B", "x-maximum" = "65535B"))]
    pub mtu: Bytes,
    /// Header of a data packet.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub header_bytes: Bytes,
    /// Bytes of an ACK, NACK, PULL, request or probe on the wire.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1500B"))]
    pub control_bytes: Bytes,
    /// First window of senders that have one. Absent: the largest one (-cwnd). It changes no credit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000GB"))]
    pub initial_window: Option<Bytes>,
    /// Largest window, and most credit that a sender keeps. Absent: 1.5 bandwidth-delay products of the host's link; the largest
    /// window then falls with the flow's own round trip.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000GB"))]
    pub max_window: Option<Bytes>,
    /// Smallest window. Absent: a full packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000GB"))]
    pub min_window: Option<Bytes>,
    /// Round trip from which windows and increases follow. "derived": that of a full packet and its ACK over the longest path,
    /// with nothing in the way.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub network_rtt: Derived<Time>,
    /// The first base round trip of each flow, from which its first and largest window and the limit of its credit follow.
    /// "pair": `network_rtt` with the delays of the cables between both hosts in place of `network_delay`
    /// (-enable_accurate_base_rtt), so that flows within a rack begin with less.
    pub base_rtt: BaseRtt,
    /// Delays of the cables of the longest path, there and back; read with base_rtt = "pair". "derived": from the topology.
    #[schemars(extend("x-maximum" = "1s"))]
    pub network_delay: Derived<Time>,
    /// Whether the report of a trimmed packet lowers the base round trip, too (-disable_base_rtt_update_on_nack: no).
    pub base_rtt_from_nacks: bool,
    /// Received bytes after which an ACK is due (-sack_threshold); 1 B: an ACK for each packet. "derived": the simulator's 16,384 B,
    /// or as many packets as the largest window has beyond the bandwidth-delay product within a rack, and one, if that is less:
    /// a window of few packets, as at 10 Gbps, would else wait for its ACKs.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub ack_bytes: Derived<Bytes>,
    /// Packets of the bitmap of an ACK.
    #[schemars(range(min = 1, max = 64))]
    pub bitmap_bits: u32,
    /// Whether ports trim packets; it then requires such ports. Without, ports drop (-disable_trim).
    pub trimming: bool,
    /// Recovery of losses where ports do not trim (-sleek). Absent: by timeouts alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sleek: Option<SleekRule>,
    /// Time after which an unanswered packet counts as lost. "derived": 15 us and the time in which six ports of the network
    /// send their whole queues.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "10s"))]
    pub rto_min: Derived<Time>,
    /// Least time between two requests of a sender (RTS). Absent: the network's round trip (uet-htsim with RCCC alone: 0).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "10s"))]
    pub request_interval: Option<Time>,
    /// Choice of each packet's entropy value (-load_balancing_algo). Read under the balancer "entropy".
    pub entropy: PathSelector,
    /// Entropy values of a flow, a power of two (-paths); 1: one path.
    #[schemars(range(min = 1, max = 32_768))]
    pub entropy_values: u32,
}

impl Default for Uet {
    fn default() -> Self {
        Uet {
            control: UetControl::default(),
            mtu: Bytes(4150),
            header_bytes: Bytes(64),
            control_bytes: Bytes(64),
            initial_window: None,
            max_window: None,
            min_window: None,
            network_rtt: Derived::FromNetwork,
            base_rtt: BaseRtt::default(),
            network_delay: Derived::FromNetwork,
            base_rtt_from_nacks: true,
            ack_bytes: Derived::FromNetwork,
            bitmap_bits: BITMAP_BITS,
            trimming: true,
            sleek: None,
            rto_min: Derived::FromNetwork,
            request_interval: None,
            entropy: PathSelector::default(),
            entropy_values: 64,
        }
    }
}

/// The round trip that a flow takes for that of its path until it has measured one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BaseRtt {
    /// That of the network's longest path.
    #[default]
    Network,
    /// That of the shortest path between both hosts.
    Pair,
}

/// Values of a network that has not been looked at.
const RTT_LEAST: Time = Time(12_000_000);
const RTO_LEAST: Time = Time(100_000_000);

/// Bytes after which the simulator's receivers acknowledge.
const ACK_BYTES: Bytes = Bytes(16_384);

/// The part of a timeout that does not depend on queues, and the queues that a packet meets.
const RTO_BASE: Time = Time(15_000_000);
const RTO_QUEUES: u64 = 6;

impl Uet {
    /// Payload of a full packet.
    #[inline]
    pub fn payload(&self) -> u64 {
        self.mtu.0 - self.header_bytes.0
    }

    /// Round trip of the network.
    pub fn network_rtt(&self) -> Time {
        self.network_rtt.or(RTT_LEAST)
    }

    /// Timeout of a packet.
    pub fn rto_min(&self) -> Time {
        self.rto_min.or(RTO_LEAST)
    }

    /// Received bytes after which an ACK is due.
    #[inline]
    pub fn ack_bytes(&self) -> u64 {
        self.ack_bytes.or(ACK_BYTES).0
    }

    /// The credit of receivers, if the control has any.
    #[inline]
    pub fn credit(&self) -> Option<Terms<'_>> {
        self.control.credit()
    }

    /// Weight of a sample in the average queueing delay.
    pub fn delay_gain(&self) -> f64 {
        self.control.nscc().map_or_else(|| Nscc::default().delay_gain, |nscc| nscc.delay_gain)
    }

    /// The first base round trip of a flow between hosts with cables of that delay, there and back.
    pub fn first_base_rtt(&self, path_delay: Time) -> Time {
        let rtt = self.network_rtt();
        match self.base_rtt {
            BaseRtt::Network => rtt,
            BaseRtt::Pair => rtt.saturating_sub(self.network_delay.or(path_delay).saturating_sub(path_delay)),
        }
    }

    /// The measures of a flow from a host whose link has that rate, with that first base round trip.
    pub fn scale(&self, line: Rate, base_rtt: Time) -> Scale {
        let rtt = self.network_rtt();
        Scale {
            mtu: self.mtu.0 as u32,
            payload: self.payload() as u32,
            line,
            rtt,
            base_rtt,
            first_window: self.initial_window,
            max_window: self.max_window,
            min_window: self.min_window.map_or(self.mtu.0, |bytes| bytes.0),
            target: self.control.nscc().map_or(rtt, |nscc| nscc.target_delay.or(rtt)),
        }
    }
}

impl Settings for Uet {
    fn profile(&self) -> Profile {
        let header = self.header_bytes.0;
        // Total, because the check asks for it where it reports `header_bytes`, too.
        let payload = self.mtu.0.saturating_sub(header).max(1);
        let trim = if self.trimming { TrimmingRule::Coin } else { TrimmingRule::None };
        Profile {
            answer_bytes: self.control_bytes.0,
            answers_per_packet: (self.mtu.0 as f64 / self.ack_bytes() as f64).min(1.0),
            ecn_capable: true,
            marks_last_hop: self.credit().is_none(),
            timeout_max: self.rto_min(),
            keeps: true,
            host_fields: vec![("control", json!(self.control)), ("mtu", json!(self.mtu))],
            queue: Trimming { trim, ..Trimming::default() }.into(),
            balancer: balancer::entropy::Entropy {}.into(),
            ..Profile::new(payload, header)
        }
    }

    fn needs(&self) -> Needs {
        let trimming = self.trimming.then_some(Feature::Trimming);
        Needs { features: trimming.into_iter().chain([Feature::Ecn]).collect(), ..Needs::default() }
    }

    fn problems(&self) -> Vec<Problem> {
        let mut problems: Vec<_> =
            within(format!("control.{}", self.control.name()), self.control.problems()).collect();
        if self.header_bytes >= self.mtu {
            let why = format!("{} leaves no payload in an mtu of {}", self.header_bytes, self.mtu);
            problems.push(Problem::new("header_bytes", why));
        }
        problems.extend(entropy::problem(self.entropy_values));
        if self.sleek.is_some() && self.trimming {
            let why = "recovers losses of ports that drop, and these ports trim";
            problems.push(Problem::new("sleek", why).with_hint(Some("add trimming = false".into())));
        }
        if self.sleek.is_some() && self.control.nscc().is_none() {
            let why =
                format!("goes with a window of NSCC, which the control \"{}\" has not", self.control.name());
            problems.push(Problem::new("sleek", why));
        }
        problems
    }

    fn unread(&self) -> Vec<Unread> {
        Unread::among([
            ("initial_window", self.control.has_window(), "a control with a window"),
            ("min_window", self.control.nscc().is_some(), "control = \"nscc\" or \"both\""),
            ("network_delay", self.base_rtt == BaseRtt::Pair, "base_rtt = \"pair\""),
        ])
    }

    fn derived(&self, environment: &Environment) -> Values {
        let mut values = Values::new();
        let rtt = self.network_rtt.or(environment.longest.round_trip);
        if self.network_rtt == Derived::FromNetwork {
            values.push(("network_rtt".into(), json!(rtt)));
        }
        if self.base_rtt == BaseRtt::Pair && self.network_delay == Derived::FromNetwork {
            values.push(("network_delay".into(), json!(environment.longest.delay)));
        }
        if self.rto_min == Derived::FromNetwork {
            let longest = &environment.longest;
            let room = environment.port_bytes.unwrap_or(longest.bdp);
            let empty = longest.rate.transmission(room.saturating_mul(RTO_QUEUES));
            values.push(("rto_min".into(), json!(RTO_BASE.saturating_add(empty))));
        }
        if self.ack_bytes == Derived::FromNetwork {
            let rate = environment.longest.rate;
            let sent = rate.transmission(self.mtu.0).saturating_add(rate.transmission(self.control_bytes.0));
            let rtt = environment.nearest_delay.saturating_add(sent).saturating_add(sent);
            // Whole packets of the window beyond those that fill the path may wait, and one more is acknowledged at once.
            let product = bytes_within(rate, rtt);
            let window = one_and_a_half(product) / self.mtu.0 * self.mtu.0;
            let packets = (window.saturating_sub(product) / self.mtu.0 + 1) * self.mtu.0;
            values.push(("ack_bytes".into(), json!(Bytes(packets.min(ACK_BYTES.0)))));
        }
        let network = Network { rtt, trimming: self.trimming, ratio: environment.oversubscription };
        let own = self.control.derived(&network).into_iter();
        values.extend(own.map(|(field, value)| (format!("control.{}.{field}", self.control.name()), value)));
        values
    }

    fn advice(&self, path: &str, longest: &Longest) -> Vec<Advice> {
        let first = self.initial_window.or(self.max_window);
        let field = if self.initial_window.is_some() { "initial_window" } else { "max_window" };
        let window = first.and_then(|bytes| {
            let instead = format!("\"{}\"", Bytes(longest.bdp + longest.bdp / 2));
            advice::window(path, field, (1, bytes.0), longest, instead)
        });
        window.into_iter().collect()
    }
}
