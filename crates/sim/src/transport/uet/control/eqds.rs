//! EQDS, the ancestor of Ultra Ethernet's receiver control: whole pulls, and repairs before everything else.
//!
//! Source: Olteanu et al., "An edge-queued datagram service for all datacenter traffic", NSDI 2022, by its public simulator
//! (`eqds.cpp` of uet-htsim; the paper's abstract alone was read). It differs from RCCC in this: the unit of credit has 512 B;
//! each pull gives eight of them, also to a flow that has requested less; and a receiver serves flows whose packets were trimmed
//! before all others, a full packet of credit for each of these packets. The simulator pauses for 0.99 of the time of an MTU after
//! each pull of 4,096 B, which with packets of 4,160 B is 0.9946 of the link; here it is `pull_rate`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Settings, Terms};
use crate::units::Bytes;

/// EQDS: the receiver paces its senders by whole pulls, those that have packets to repeat first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Eqds {
    /// Credit is given at this share of the rate of the receiver's link.
    #[schemars(range(max = 10.0), extend("exclusiveMinimum" = 0.0))]
    pub pull_rate: f64,
    /// Unit of credit.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "65535B"))]
    pub pull_quantum: Bytes,
    /// Credit of one pull, cut to whole units.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "10MB"))]
    pub pull_bytes: Bytes,
    /// Whether a receiver without requests for credit gives some to its idle flows.
    pub slow_pulls: bool,
}

impl Default for Eqds {
    fn default() -> Self {
        Eqds { pull_rate: 0.99, pull_quantum: Bytes(512), pull_bytes: Bytes(4096), slow_pulls: true }
    }
}

impl Settings for Eqds {
    fn has_window(&self) -> bool {
        false
    }

    fn credit(&self) -> Option<Terms<'_>> {
        Some(Terms {
            pull_rate: self.pull_rate,
            quantum: self.pull_quantum.0,
            pull_bytes: self.pull_bytes.0,
            slow_pulls: self.slow_pulls,
            whole_pulls: true,
            repairs_first: true,
            share_requests: true,
            slowdown: None,
        })
    }
}
