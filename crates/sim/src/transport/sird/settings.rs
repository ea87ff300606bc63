//! The configuration of SIRD, and its properties for the check and the records.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Plan;
use super::downlink;
use super::limits;
use crate::advice::{self, Advice};
use crate::balancer::per_packet::PerPacket;
use crate::derived::{Derived, Environment, Longest, Values};
use crate::problem::Problem;
use crate::queue::strict_priority::{MarkBy, StrictPriority};
use crate::queue::{Feature, Limit};
use crate::transport::backoff::{DOUBLINGS_MOST, INTERVAL_LEAST, derived_interval};
use crate::transport::granted::Terms;
use crate::transport::granted::cut::Cut;
use crate::transport::{Needs, Profile, Settings};
use crate::units::{Bytes, Time};

/// SIRD. Credit, thresholds and budgets are bytes on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sird {
    /// Payload of a full packet (nwsim: 1458 B).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "65000B"))]
    pub mss: Bytes,
    /// Bytes on the wire of a data packet beside its payload (nwsim: 60 B, and 20 B of preamble and gap).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub header_bytes: Bytes,
    /// Bytes on the wire of a request, a credit and other packets without payload, and of the shortest data packet (nwsim:
    /// 84 B).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000B"))]
    pub least_frame: Bytes,
    /// B, credit of a receiving interface that is outstanding at most (nwsim: 150,000 B at 100 Gbps). "derived": one and a half
    /// times the bytes that fill the longest path between hosts, in full packets.
    #[schemars(extend("x-minimum" = "64B", "x-maximum" = "1GB"))]
    pub credit_budget: Derived<Bytes>,
    /// Credit that one sender holds of an interface at most (nwsim: 100,000 B). "derived": the bytes that fill the longest
    /// path, in full packets.
    #[schemars(extend("x-minimum" = "64B", "x-maximum" = "1GB"))]
    pub sender_budget: Derived<Bytes>,
    /// UnschT: messages of at most as many bytes are sent at once, without credit (nwsim: 100,000 B). "derived": the bytes that
    /// fill the longest path, in full packets.
    #[schemars(extend("x-maximum" = "1GB"))]
    pub unscheduled: Derived<Bytes>,
    /// SThr: a sender marks its data while it holds more unused credit than this, and sends more than one message (nwsim: 33 full
    /// packets). "derived": half of the bytes that fill the longest path, in full packets.
    #[schemars(extend("x-maximum" = "1GB"))]
    pub sender_threshold: Derived<Bytes>,
    /// g, the weight of the last window in the share of marked packets (nwsim: 0.08).
    #[schemars(range(min = 0.0001, max = 1.0))]
    pub gain: f64,
    /// Least limit by marks of senders, as a share of `sender_budget` (nwsim: 0.1).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub sender_floor: f64,
    /// Least limit by marks of ports, as a share of `sender_budget` (nwsim: 0.03).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub network_floor: f64,
    /// Packets that raise the limits.
    pub raised_by: RaisedBy,
    /// Share of an uplink for the shortest message; the rest is shared by the receivers in equal parts (nwsim: 0.5).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub shortest_share: f64,
    /// Order in which messages get credit.
    pub receiver_order: ReceiverOrder,
    /// Class at ports of messages without credit; packets without payload have class 0.
    #[schemars(range(max = 7))]
    pub unscheduled_class: u8,
    /// Class at ports of data with credit.
    #[schemars(range(max = 7))]
    pub scheduled_class: u8,
    /// Time without a packet of an incomplete message after which its receiver asks for the missing ones, as under Homa (ours);
    /// after twice the time without a packet from the receiver a sender asks whether any are missing. Doubled while nothing
    /// arrives, up to 64 times. "derived": ten of the longest round trips, and at least 1 ms.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub resend_interval: Derived<Time>,
}

/// Packets that raise the limits of a sender's credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RaisedBy {
    /// Those without a mark (paper).
    Unmarked,
    /// All (nwsim, whose test comes behind the change that it is to see).
    Every,
}

/// Order in which messages get credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReceiverOrder {
    /// The message with the fewest bytes left goes first.
    Shortest,
    /// Messages take turns.
    InTurn,
}

impl Default for Sird {
    fn default() -> Self {
        Sird {
            mss: Bytes(1458),
            header_bytes: Bytes(80),
            least_frame: Bytes(84),
            credit_budget: Derived::FromNetwork,
            sender_budget: Derived::FromNetwork,
            unscheduled: Derived::FromNetwork,
            sender_threshold: Derived::FromNetwork,
            gain: 0.08,
            sender_floor: 0.1,
            network_floor: 0.03,
            raised_by: RaisedBy::Unmarked,
            shortest_share: 0.5,
            receiver_order: ReceiverOrder::Shortest,
            unscheduled_class: 0,
            scheduled_class: 1,
            resend_interval: Derived::FromNetwork,
        }
    }
}

/// The values of nwsim, if no network gives others: multiples of its bandwidth-delay product of 100,000 B.
const BUDGET: Bytes = Bytes(150_000);
const BDP: Bytes = Bytes(100_000);
const THRESHOLD: Bytes = Bytes(50_000);

/// Limit of the queue by default (ours): nwsim's ports drop nothing.
const QUEUE: Limit = Limit::FullPackets(1000);
/// Queue above which ports mark (nwsim: 82 full packets, one and a quarter bandwidth-delay products).
const MARK: Limit = Limit::FullPackets(82);

impl Sird {
    fn full(&self) -> u64 {
        (self.mss.0 + self.header_bytes.0).max(self.least_frame.0)
    }

    fn cut(&self) -> Cut {
        Cut {
            payload: [self.mss.0; 2],
            overhead: [self.header_bytes.0; 2],
            least: self.least_frame.0,
            // Messages go without credit wholly or not at all: see `Plan::unscheduled_of`.
            unscheduled: 0,
        }
    }

    fn resend_interval(&self) -> Time {
        self.resend_interval.or(INTERVAL_LEAST)
    }

    pub(super) fn plan(&self) -> Plan {
        let most = self.sender_budget.or(BDP).0;
        let least = |share: f64| ((most as f64 * share) as u64).max(1);
        let limits = limits::Rules {
            most,
            least: [least(self.network_floor), least(self.sender_floor)],
            full: self.full(),
            gain: self.gain,
            every: self.raised_by == RaisedBy::Every,
        };
        Plan {
            terms: Terms {
                cut: self.cut(),
                control: self.least_frame.0 as u32,
                acknowledge: true,
                resend_interval: self.resend_interval(),
            },
            full: self.full() as u32,
            unscheduled: self.unscheduled.or(BDP).0,
            threshold: self.sender_threshold.or(THRESHOLD).0,
            shortest_share: self.shortest_share,
            classes: [self.unscheduled_class, self.scheduled_class],
            rules: downlink::Rules {
                budget: self.credit_budget.or(BUDGET).0,
                in_turn: self.receiver_order == ReceiverOrder::InTurn,
                limits,
            },
        }
    }
}

impl Settings for Sird {
    /// A last packet is padded to `least_frame`, which its ideal time leaves out: 3 B at most, by default.
    fn profile(&self) -> Profile {
        let (payload, header, full) = (self.mss.0, self.header_bytes.0, self.full());
        Profile {
            packet_max: full,
            answer_bytes: self.least_frame.0,
            link_bytes: ETHERNET.min(header),
            ecn_capable: true,
            marks_unscheduled: self.unscheduled != Derived::Given(Bytes(0)),
            class_field: Some("scheduled_class"),
            // Shorter messages go first: one without an end would never go.
            endless: false,
            timeout_max: Time(self.resend_interval().0 << (DOUBLINGS_MOST + 1)),
            initial_burst: Some(self.unscheduled.or(BDP).0 / full),
            in_flight_max: Some(self.credit_budget.or(BUDGET).0.div_ceil(full)),
            host_fields: vec![
                ("credit_budget", json!(self.credit_budget)),
                ("sender_budget", json!(self.sender_budget)),
                ("gain", json!(self.gain)),
                ("sender_floor", json!(self.sender_floor)),
                ("network_floor", json!(self.network_floor)),
                ("raised_by", json!(self.raised_by)),
                ("shortest_share", json!(self.shortest_share)),
                ("receiver_order", json!(self.receiver_order)),
            ],
            queue: StrictPriority {
                mark: MarkBy::Port,
                limit: QUEUE,
                threshold: MARK,
                ..StrictPriority::default()
            }
            .into(),
            balancer: PerPacket {}.into(),
            ..Profile::new(payload, header)
        }
    }

    fn needs(&self) -> Needs {
        Needs { features: vec![Feature::Ecn], ..Needs::default() }
    }

    fn problems(&self) -> Vec<Problem> {
        let full = Bytes(self.full());
        let budgets = [("credit_budget", self.credit_budget), ("sender_budget", self.sender_budget)];
        let given = budgets.into_iter().filter_map(|(field, own)| Some((field, own.given()?)));
        let small = given.filter(|(_, own)| *own < full);
        small
            .map(|(field, own)| {
                Problem::new(field, format!("{own} is less than a full packet on the wire, {full}"))
            })
            .collect()
    }

    fn derived(&self, environment: &Environment) -> Values {
        let full = self.full();
        let packets = |product: u64| Bytes((product.div_ceil(full).max(1) * full).min(1_000_000_000));
        let bdp = environment.longest.bdp;
        let all = [
            ("credit_budget", self.credit_budget, bdp.saturating_mul(3).div_ceil(2)),
            ("sender_budget", self.sender_budget, bdp),
            ("unscheduled", self.unscheduled, bdp),
            ("sender_threshold", self.sender_threshold, bdp.div_ceil(2)),
        ];
        let derived = all.into_iter().filter(|(_, own, _)| *own == Derived::FromNetwork);
        let mut values: Values =
            derived.map(|(field, _, bytes)| (field.into(), json!(packets(bytes)))).collect();
        values.extend(derived_interval("resend_interval", self.resend_interval, environment));
        values
    }

    fn advice(&self, path: &str, longest: &Longest) -> Vec<Advice> {
        let full = self.full();
        let window = (self.credit_budget.or(BUDGET).0.div_ceil(full), full);
        advice::window(path, "credit_budget", window, longest, "\"derived\"".into()).into_iter().collect()
    }
}

/// Bytes of Ethernet, its preamble and the gap between frames: for captures.
const ETHERNET: u64 = 38;
