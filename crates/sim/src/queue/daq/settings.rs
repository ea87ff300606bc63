//! Fields of DAQ's ports in a scenario, and values derived from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::load::Load;
use super::round_robin::RoundRobin;
use super::windows::{self, Share};
use super::{Model, State, Urgent, within};
use crate::derived::{Derived, Environment, Values};
use crate::engine::contract::credit::{CLASSES, Credit, Credits, SHORT};
use crate::problem::Problem;
use crate::queue::{Build, Feature, Settings};
use crate::topology::Fabric;
use crate::units::{Bytes, Time};

/// Three queues for data: Q1.1 (urgent) and Q1.2 of flows with a deadline, Q2 of flows without. Control
/// packets have a queue of their own, which goes first. Each sender to a switch has credit for its share of
/// the buffers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DaqPort {
    /// A packet is urgent if its flow is due within so many round trips (paper: best between 20 and 60). From
    /// 1e9 on there is no threshold, and all flows with a deadline wait in one queue, as with 0. Absent: 30.
    #[schemars(range(min = 0.0, max = 1e9))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The round trip that `ratio` counts in, and over which the load of a port is taken (paper: 300 us).
    /// "derived": that of a full packet and its answer over the longest path, in an idle network.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub rtt: Derived<Time>,
    /// The round trip that `ratio` counts in.
    pub threshold: Threshold,
    /// The queue that a credit frame reports to a sender, which windows follow.
    pub reported: Reported,
    /// Share of the link for flows with a deadline while both classes have packets (paper: w_s / w_l = 0.01, in bytes).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub short_weight: u32,
    /// Share of the link for flows without a deadline.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub long_weight: u32,
    /// Memory of a switch for flows with a deadline, divided among the hosts and switches that send to it
    /// (paper: 2 MB).
    #[schemars(extend("x-minimum" = "64B", "x-maximum" = "1GB"))]
    pub short_buffer: Bytes,
    /// Memory of a switch for flows without a deadline (paper: 2 MB).
    #[schemars(extend("x-minimum" = "64B", "x-maximum" = "1GB"))]
    pub long_buffer: Bytes,
    /// N_w: into so many parts `short_buffer` is divided. Absent: for each switch, the links by which packets
    /// of flows with a deadline may arrive: those from hosts that send such flows or relay, and those from
    /// switches.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_senders: Option<u32>,
    /// The same for `long_buffer` and flows without a deadline.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_senders: Option<u32>,
    /// Bytes of a credit frame.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1500B"))]
    pub frame_bytes: Bytes,
}

/// The round trip that the threshold of urgency counts in; the paper does not specify it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Threshold {
    /// The queue's `rtt`: one threshold for all.
    Fixed,
    /// The sender's last measurement, carried by its packet: it grows with the queues.
    Measured,
}

/// The queue that windows follow. The paper has "the queue length being experienced at the switch" and a "queue for
/// short flows" that is two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reported {
    /// All that waits of the class: for flows with a deadline Q1.1 and Q1.2.
    #[default]
    Class,
    /// The queue that a packet like the one that leaves would meet: Q1.1 alone if that one was urgent.
    Experienced,
}

/// The paper's optimum.
const RATIO: f64 = 30.0;
/// From this ratio on there is no threshold.
const NO_THRESHOLD: f64 = 1e9;

impl Default for DaqPort {
    fn default() -> Self {
        DaqPort {
            ratio: None,
            rtt: Derived::FromNetwork,
            threshold: Threshold::Fixed,
            reported: Reported::Class,
            short_weight: 1,
            long_weight: 100,
            short_buffer: Bytes(2_000_000),
            long_buffer: Bytes(2_000_000),
            short_senders: None,
            long_senders: None,
            frame_bytes: Bytes(64),
        }
    }
}

impl DaqPort {
    fn shares(&self) -> [Share; CLASSES] {
        [
            Share {
                buffer: ("short_buffer", self.short_buffer),
                senders: ("short_senders", self.short_senders),
                flows: "flows with a deadline",
            },
            Share {
                buffer: ("long_buffer", self.long_buffer),
                senders: ("long_senders", self.long_senders),
                flows: "flows without a deadline",
            },
        ]
    }

    fn ratio(&self) -> f64 {
        self.ratio.unwrap_or(RATIO)
    }

    fn rtt(&self) -> Time {
        self.rtt.or(Time::from_us(300))
    }
}

impl Settings for DaqPort {
    fn offers(&self) -> &'static [Feature] {
        &[Feature::Credits]
    }

    fn derived(&self, environment: &Environment, _full_packet: u64) -> Values {
        match self.rtt {
            Derived::Given(_) => Vec::new(),
            Derived::FromNetwork => {
                vec![("rtt".into(), json!(environment.longest.round_trip.max(Time::from_ns(1))))]
            }
        }
    }

    /// A departing packet gives credit, which is an act of its instant.
    fn acts_on_departure(&self) -> bool {
        true
    }

    fn port_bytes(&self) -> usize {
        size_of::<State>() + size_of::<Credit>()
    }

    fn most_packets(&self, full_packet: u64) -> Option<u64> {
        Some((self.short_buffer.0 + self.long_buffer.0) / full_packet.max(1))
    }

    fn credits(&self, fabric: &Fabric, sends: &[[bool; CLASSES]], longest_packet: u64) -> Credits {
        let windows = windows::divide(&self.shares(), fabric, sends, longest_packet);
        Credits::new(windows, longest_packet as u32, self.frame_bytes.0 as u32)
    }

    fn problems_with(&self, fabric: &Fabric, sends: &[[bool; CLASSES]], longest_packet: u64) -> Vec<Problem> {
        let mut problems = windows::problems(&self.shares(), fabric, sends, longest_packet);
        if let Some(ratio) = self.ratio
            && !sends.iter().any(|sends| sends[SHORT])
        {
            let message = format!(
                "{ratio} is a threshold for the time left to flows with a deadline, and no flow has one; leave it out or \
                 give traffic a deadline"
            );
            problems.push(Problem::new("ratio", message));
        }
        problems
    }
}

impl Build for DaqPort {
    type Model = Model;

    fn model(&self, full_packet: u64) -> Model {
        let (short, long) = (u64::from(self.short_weight), u64::from(self.long_weight));
        let least = short.min(long);
        let full = full_packet.max(1);
        let rtt = self.rtt();
        let fixed = if self.ratio() >= NO_THRESHOLD { u64::MAX } else { within(self.ratio(), rtt.0) };
        let measured = self.threshold == Threshold::Measured && fixed != u64::MAX;
        Model::new(State {
            // The smaller weight is a full packet in each round.
            robin: RoundRobin::new([full * short / least, full * long / least]),
            threshold: if measured { Urgent::Measured(self.ratio()) } else { Urgent::Within(fixed) },
            reported: self.reported,
            load: Load::new(rtt),
            buffers: [self.short_buffer.0, self.long_buffer.0],
            ..State::default()
        })
    }

    /// Its queue holds the host's own data and, if it relays, that of other hosts.
    fn at_host(&self, _full_packet: u64) -> Option<Model> {
        Some(Model::new(State {
            robin: RoundRobin::new([1 << 17; CLASSES]),
            buffers: [u64::MAX; CLASSES],
            ..State::default()
        }))
    }
}
