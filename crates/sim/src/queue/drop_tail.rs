//! A first-in first-out queue that drops arriving packets when it is full.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fifo::Fifo;
use super::{Build, Feature, Limit, Settings};
use crate::engine::contract::rules::Rules;

/// First-in first-out; a packet that arrives at a full queue is dropped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DropTail {
    /// Limit of the queue.
    pub limit: Limit,
    /// Whether the packet on the wire counts towards the limit (htsim: yes; ns-3: no).
    pub limit_counts_wire: bool,
    /// Whether a full queue still takes packets without payload, above its limit, and cuts the payload off
    /// packets that carry a rate request for switches, rather than dropping them: no request is lost (after a
    /// public model of D3, SymbioticLab's Aequitas, in which requests are never dropped).
    pub keep_headers: bool,
}

impl Default for DropTail {
    fn default() -> Self {
        DropTail { limit: Limit::Packets(100), limit_counts_wire: true, keep_headers: false }
    }
}

impl DropTail {
    fn rules(&self, full_packet: u64) -> Rules {
        let limit = self.limit.room(full_packet);
        Rules {
            limit,
            counts_wire: self.limit_counts_wire,
            keep_headers: self.keep_headers,
            ..Rules::UNLIMITED
        }
    }
}

impl Settings for DropTail {
    fn joins_buffer(&self) -> bool {
        !self.keep_headers
    }

    fn offers(&self) -> &'static [Feature] {
        if self.keep_headers { &[Feature::Headers] } else { &[] }
    }

    fn begins_at(&self, feature: Feature) -> Option<&'static str> {
        (feature == Feature::Headers).then_some("limit")
    }

    fn committed(&self, full_packet: u64) -> Option<Rules> {
        Some(self.rules(full_packet))
    }
}

impl Build for DropTail {
    type Model = Fifo;

    fn model(&self, full_packet: u64) -> Fifo {
        Fifo::new(self.rules(full_packet))
    }
}
