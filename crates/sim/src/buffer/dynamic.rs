//! Dynamic thresholds: a queue may be as long as a multiple of the free memory of its switch.
//!
//! Source: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", IEEE/ACM Transactions
//! on Networking 1998. With alpha 0 queues have their reserve and nothing else (complete partitioning), with a large one
//! any queue may take all (complete sharing).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Settings, switches};
use crate::engine::contract::gate::CLASSES;
use crate::engine::contract::memory::{Memory, QueueRules};
use crate::problem::Problem;
use crate::topology::Fabric;
use crate::units::Bytes;

/// Dynamic thresholds (Choudhury and Hahne 1998): a queue that would be longer than `alpha` times the free bytes of its
/// switch drops the packet. The limit of `queue` stays in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dynamic {
    /// Memory of each switch. DAQ's paper: 4 MB.
    #[schemars(extend("x-minimum" = "64B", "x-maximum" = "1000GB"))]
    pub size: Bytes,
    /// A queue may be so many times as long as the bytes that are free. 0: each has its reserve alone; 1000000: it may
    /// have all.
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub alpha: f64,
    /// Bytes that belong to each queue and are not shared.
    #[schemars(extend("x-maximum" = "1GB"))]
    pub reserve: Bytes,
}

impl Default for Dynamic {
    fn default() -> Self {
        Dynamic { size: Bytes(4_000_000), alpha: 1.0, reserve: Bytes(0) }
    }
}

impl Dynamic {
    /// Bytes that belong to the queues of a port.
    fn own(&self, by_class: bool) -> u64 {
        self.reserve.0 * if by_class { CLASSES as u64 } else { 1 }
    }
}

impl Settings for Dynamic {
    fn memory(&self, fabric: &Fabric, by_class: bool) -> Memory {
        Memory {
            switches: switches::shared(fabric, self.size, |_| self.own(by_class)),
            queues: switches::queues(fabric),
            rules: QueueRules { alpha: self.alpha, reserve: self.reserve.0, by_class, abm: None },
            ..Memory::default()
        }
    }

    fn problems_on(&self, fabric: &Fabric, by_class: bool) -> Vec<Problem> {
        switches::too_small(fabric, self.size, |_| self.own(by_class)).into_iter().collect()
    }
}
