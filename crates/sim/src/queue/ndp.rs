//! The NDP port: a short data queue that trims what does not fit, and a queue for headers.
//!
//! Source: Handley et al., "Re-architecting datacenter networks and stacks for low latency and high
//! performance", SIGCOMM 2017, section 3; edge cases after its public simulator (htsim).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Feature, Limit, Settings};
use crate::units::Bytes;

/// Two queues, data and headers, with trimming and weighted round robin between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NdpPort {
    /// How much the data queue holds. The paper has 8 full packets, counted in bytes.
    pub data_limit: Limit,
    /// How much the header queue holds. Absent: as many bytes as the data queue (paper); htsim has twice that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header_limit: Option<Limit>,
    /// Headers served for each data packet while both queues wait: 10 in the paper; 0 means headers
    /// always go first (htsim: as good as strict).
    #[schemars(range(max = 1_000_000))]
    pub headers_per_data: u32,
    /// What is trimmed when the data queue is full.
    pub trim: Trim,
    /// Bytes that stay of a trimmed packet.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1500B"))]
    pub trimmed_bytes: Bytes,
    /// Whether the packet on the wire counts towards the limits (htsim and the paper's nine-packet example: yes).
    pub limit_counts_wire: bool,
}

/// Which packet loses its payload when the data queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Trim {
    /// A fair coin decides between the arriving packet and the one at the tail (paper: avoids phase effects).
    Coin,
    /// Always the arriving packet (the OMNeT++ model, NetFPGA).
    Arriving,
}

impl Default for NdpPort {
    fn default() -> Self {
        NdpPort {
            data_limit: Limit::FullPackets(8),
            header_limit: None,
            headers_per_data: 10,
            trim: Trim::Coin,
            trimmed_bytes: Bytes(64),
            limit_counts_wire: true,
        }
    }
}

impl Settings for NdpPort {
    fn offers(&self) -> &'static [Feature] {
        &[Feature::Trimming]
    }
}
