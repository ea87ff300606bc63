//! A drop-tail queue that marks packets above a threshold on the instantaneous queue (RFC 8257, DCTCP).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Feature, Limit, Settings};

/// Drop-tail with a marking threshold: ECN-capable packets get CE while the queue is above it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ecn {
    /// How much the queue holds.
    pub limit: Limit,
    /// Mark above this much; on enqueue the arriving packet counts (as in HKUST's PIAS-NS2 scripts).
    /// The DCTCP paper has 20 packets at 1 Gbps and 65 at 10 Gbps.
    pub threshold: Limit,
    /// When the queue is looked at: DCTCP's paper marks on arrival, htsim on departure.
    pub mark: MarkOn,
    /// Whether the packet on the wire counts towards the limit and the threshold.
    pub limit_counts_wire: bool,
}

/// When a packet meets the marking threshold.
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
            threshold: Limit::Packets(65),
            mark: MarkOn::Enqueue,
            limit_counts_wire: true,
        }
    }
}

impl Settings for Ecn {
    fn offers(&self) -> &'static [Feature] {
        &[Feature::Ecn]
    }
}
