//! A drop-tail queue that marks packets above a threshold on the instantaneous queue (RFC 8257, DCTCP).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fifo::{Fifo, Rules};
use super::{Build, Feature, Limit, Settings};

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

impl Ecn {
    fn rules(&self, full_packet: u64) -> Rules {
        Rules {
            limit: self.limit.room(full_packet),
            threshold: self.threshold.room(full_packet),
            counts_wire: self.limit_counts_wire,
            mark_on_dequeue: self.mark == MarkOn::Dequeue,
        }
    }
}

impl Settings for Ecn {
    fn offers(&self) -> &'static [Feature] {
        &[Feature::Ecn]
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
