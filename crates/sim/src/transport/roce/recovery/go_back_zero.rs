//! Go-back-0: all packets from the start of the chunk on that the missing one is in, as early RDMA NICs do it.
//!
//! Source: the HPCC simulator (`rdma-hw`, L2_BACK_TO_ZERO); Guo et al., "RDMA over commodity Ethernet at scale", SIGCOMM
//! 2016, section 4.1, describe the livelock of messages that begin anew. In the simulator a flow whose size is no multiple
//! of the chunk never completes; here the end of a flow ends a chunk.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use crate::problem::Problem;
use crate::units::{Bytes, Time};

/// Go-back-0: as go-back-N, from the start of the chunk on that the missing packet is in. Acknowledgements count whole chunks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GoBackZero {
    /// Payload of a chunk, a multiple of that of a packet. The HPCC simulator: 4000 B.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub chunk: Bytes,
    /// The receiver reports the same missing packet again when a packet arrives so long after the last report. The HPCC
    /// simulator: 500 us. Absent: once.
    #[schemars(extend("x-minimum" = "1ns"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nak_interval: Option<Time>,
}

impl Default for GoBackZero {
    fn default() -> Self {
        GoBackZero { chunk: Bytes(4000), nak_interval: None }
    }
}

impl Settings for GoBackZero {
    fn nak_interval(&self) -> Option<Time> {
        self.nak_interval
    }

    fn chunk(&self, payload: Bytes) -> u32 {
        (self.chunk.0 / payload.0).max(1) as u32
    }

    fn problems(&self, payload: Bytes) -> Vec<Problem> {
        let is_whole = self.chunk.0.is_multiple_of(payload.0);
        let message = || format!("{} is no multiple of the payload of a packet, {payload}", self.chunk);
        (!is_whole).then(|| Problem::new("chunk", message())).into_iter().collect()
    }
}
