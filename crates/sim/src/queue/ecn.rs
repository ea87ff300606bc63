//! A drop-tail queue that marks packets above a threshold on the instantaneous queue (RFC 8257, DCTCP).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::fifo::Fifo;
use super::{Build, Feature, Limit, Settings};
use crate::derived::{Derived, Environment, Longest, Values};
use crate::engine::contract::rules::Rules;
use crate::units::Rate;

/// Drop-tail with a marking threshold: ECN-capable packets get CE while the queue is above it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ecn {
    /// Limit of the queue.
    pub limit: Limit,
    /// Mark above this much, DCTCP's K; on enqueue the arriving packet counts (as in HKUST's PIAS-NS2
    /// scripts). "derived": a seventh of the bandwidth-delay product of the longest path between hosts (DCTCP
    /// paper, section 3.4), and at least the paper's values for bursts: 20 packets up to 1 Gbps, 65 from 10
    /// Gbps on, in between in proportion.
    pub threshold: Derived<Limit>,
    /// The time of marking: DCTCP's paper marks on arrival, htsim on departure.
    pub mark: MarkOn,
    /// Whether the packet on the wire counts towards the limit and the threshold.
    pub limit_counts_wire: bool,
}

/// The time at which a packet is compared with the marking threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkOn {
    /// As it joins the queue.
    Enqueue,
    /// As its transmission starts.
    Dequeue,
}

impl Default for Ecn {
    fn default() -> Self {
        Ecn {
            limit: Limit::Packets(200),
            threshold: Derived::FromNetwork,
            mark: MarkOn::Enqueue,
            limit_counts_wire: true,
        }
    }
}

/// Packets above which DCTCP's paper marks, against bursts, at rates in Gbps.
const PAPER: [(f64, f64); 2] = [(1.0, 20.0), (10.0, 65.0)];

/// The allowance for bursts of DCTCP's paper, in packets, at that rate.
pub fn threshold_least(rate: Rate) -> u32 {
    let [(low, few), (high, many)] = PAPER;
    let gbps = (rate.0 as f64 / 1e9).clamp(low, high);
    (few + (many - few) * (gbps - low) / (high - low)).ceil() as u32
}

/// The least threshold at which a link stays busy, in packets: a seventh of the bandwidth-delay product (DCTCP paper,
/// section 3.4, equation 13).
pub fn threshold_busy(longest: &Longest, full_packet: u64) -> u32 {
    u32::try_from(longest.bdp.div_ceil(7 * full_packet.max(1))).unwrap_or(u32::MAX)
}

impl Ecn {
    fn rules(&self, full_packet: u64) -> Rules {
        Rules {
            limit: self.limit.room(full_packet),
            threshold: self.threshold.or(Limit::Packets(65)).room(full_packet),
            counts_wire: self.limit_counts_wire,
            mark_on_dequeue: self.mark == MarkOn::Dequeue,
            keep_headers: false,
        }
    }
}

impl Settings for Ecn {
    fn joins_buffer(&self) -> bool {
        true
    }

    fn offers(&self) -> &'static [Feature] {
        &[Feature::Ecn]
    }

    fn for_marks(&self) -> &'static [&'static str] {
        &["threshold", "mark"]
    }

    fn begins_at(&self, feature: Feature) -> Option<&'static str> {
        (feature == Feature::Ecn).then_some("threshold")
    }

    fn derived(&self, environment: &Environment, full_packet: u64) -> Values {
        let packets = threshold_busy(&environment.longest, full_packet)
            .max(threshold_least(environment.longest.rate))
            .min(1_000_000_000);
        match self.threshold {
            Derived::FromNetwork => vec![("threshold".into(), json!(Limit::Packets(packets)))],
            Derived::Given(_) => Vec::new(),
        }
    }

    fn marks_above(&self) -> Option<(Limit, bool)> {
        Some((self.threshold.given()?, true))
    }

    fn committed(&self, full_packet: u64) -> Option<Rules> {
        (self.mark == MarkOn::Enqueue).then(|| self.rules(full_packet))
    }
}

impl Build for Ecn {
    type Model = Fifo;

    fn model(&self, full_packet: u64) -> Fifo {
        Fifo::new(self.rules(full_packet))
    }
}
