//! DRB: a source sends each packet by the next path of a fixed list.
//!
//! Source: Cao et al., "Per-packet load-balanced, low-latency routing for Clos-based data center networks", CoNEXT 2013. The
//! list and its order: `cells.rs`. A reordering buffer at the receiver: `reordering.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use super::cells::{Cut, Order, Weights};
use crate::units::Time;

pub use super::cells::Cells as Model;

/// DRB: each packet of a sender takes the next of all paths, in an order that is the same in each round.
///
/// Both ends of a connection do so. The choices of the first four switches are the source's, each among at most 256 next hops;
/// where there are more, and until a source has a list for new routes, a packet takes a random one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Drb {
    /// The order of the paths.
    pub order: Order,
    /// How often a path is in the list.
    pub weights: Weights,
    /// A receiving host gives data to its transport in the order in which it was sent, and holds a packet behind a gap
    /// for at most this time. Absent: as it arrives.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub reorder_timeout: Option<Time>,
}

impl Settings for Drb {
    fn leaves_paths(&self) -> bool {
        true
    }

    fn spreads(&self) -> bool {
        true
    }

    fn weighs(&self) -> bool {
        self.weights == Weights::Capacity
    }
}

impl Cut for Drb {
    fn cell(&self) -> u64 {
        0
    }

    fn list(&self) -> (Order, Weights) {
        (self.order, self.weights)
    }

    fn reorder_timeout(&self) -> Option<Time> {
        self.reorder_timeout
    }
}
