//! Presto: a source sends each 64 KB of a flow by the next path of a fixed list.
//!
//! Source: He et al., "Presto: edge-based load balancing for fast datacenter networks", SIGCOMM 2015: a virtual switch at the
//! host cuts flows into cells of the largest TCP segment that it gets, and labels each with a path. The list: `cells.rs`. The
//! receiving host's half, which restores the order before TCP: `reordering.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use super::cells::{Cut, Order, Weights};
use crate::units::{Bytes, Time};

pub use super::cells::Cells as Model;

/// Presto: each flowcell of a sender takes the next of all paths, in an order that is the same in each round.
///
/// Both ends of a connection do so. The choices of the first four switches are the source's, each among at most 256 next hops;
/// where there are more, and until a source has a list for new routes, a packet takes a random one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Presto {
    /// Bytes on the wire after which a flow takes the next path; a packet that would exceed them is on the next path.
    #[schemars(extend("x-minimum" = "1B"))]
    pub cell: Bytes,
    /// The order of the paths.
    pub order: Order,
    /// How often a path is in the list.
    pub weights: Weights,
    /// A receiving host gives data to its transport in the order in which it was sent, and holds a packet behind a gap between
    /// two cells for at most this time. Absent: as it arrives.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub reorder_timeout: Option<Time>,
}

impl Default for Presto {
    fn default() -> Self {
        Presto { cell: Bytes(64_000), order: Order::Plain, weights: Weights::Equal, reorder_timeout: None }
    }
}

impl Settings for Presto {
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

impl Cut for Presto {
    fn cell(&self) -> u64 {
        self.cell.0
    }

    fn list(&self) -> (Order, Weights) {
        (self.order, self.weights)
    }

    fn reorder_timeout(&self) -> Option<Time> {
        self.reorder_timeout
    }
}
