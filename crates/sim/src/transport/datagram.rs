//! Datagrams: open loop, no acknowledgement, no repeat. What is lost stays lost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Framing, Settings};
use crate::balancer::Balancer;
use crate::balancer::per_flow::PerFlow;
use crate::queue::Queue;
use crate::queue::infinite::Infinite;
use crate::traffic::sizes::Sizes;
use crate::traffic::sizes::fixed::Fixed;
use crate::units::{Bytes, Rate};

/// Open-loop packets, as UDP would carry them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Datagram {
    /// Packet lengths on the wire, headers included; the last packet of a flow is cut to the rest.
    pub lengths: Sizes,
    /// Bytes of each packet that are not payload: 28 for IPv4 and UDP.
    #[schemars(extend("x-maximum" = "1000B"))]
    pub header_bytes: Bytes,
    /// When packets leave.
    pub pace: Pace,
    /// Whether queues may mark the packets instead of dropping them.
    pub ecn_capable: bool,
}

/// When the packets of an open-loop flow leave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// Back to back, as fast as the host's wire takes them.
    LineRate,
    /// Evenly spaced: this many bits a second on the wire.
    Rate(#[schemars(extend("x-minimum" = "1bps"))] Rate),
    /// A Poisson process of packets with this mean rate on the wire.
    Poisson(#[schemars(extend("x-minimum" = "1bps"))] Rate),
}

impl Default for Datagram {
    fn default() -> Self {
        Datagram {
            lengths: Fixed(Bytes(1500)).into(),
            header_bytes: Bytes(28),
            pace: Pace::LineRate,
            ecn_capable: false,
        }
    }
}

impl Settings for Datagram {
    fn recommended_queue(&self) -> Queue {
        Infinite {}.into()
    }

    fn recommended_balancer(&self) -> Balancer {
        PerFlow {}.into()
    }

    fn full_packet(&self) -> u64 {
        match &self.lengths {
            Sizes::Fixed(fixed) => fixed.0.0,
            _ => 1500,
        }
    }

    fn framing(&self) -> Option<Framing> {
        match &self.lengths {
            Sizes::Fixed(fixed) => Some(Framing {
                payload: fixed.0.0.saturating_sub(self.header_bytes.0).max(1),
                header: self.header_bytes.0,
                pad_last: false,
            }),
            _ => None,
        }
    }

    fn problems(&self) -> Vec<(String, String)> {
        let header = self.header_bytes;
        match &self.lengths {
            Sizes::Fixed(fixed) if fixed.0 <= header => {
                vec![("lengths.fixed".into(), format!("{} leaves no payload after a header of {header}", fixed.0))]
            }
            _ => Vec::new(),
        }
    }
}
