//! Active buffer management (ABM): dynamic thresholds that shrink with the number of congested queues of a class, and with
//! the share of its port's rate that a queue drains at.
//!
//! Source: Addanki, Apostolaki, Ghobadi, Schmid, Vanbever, "ABM: Active buffer management in datacenters", SIGCOMM 2022;
//! where the paper leaves a point open, the code of its authors (inet-tub/ns3-datacenter). Not modelled: an alpha of its
//! own for packets of a flow's first round trip.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Settings, switches};
use crate::engine::contract::memory::{Abm, Memory, QueueRules};
use crate::problem::Problem;
use crate::topology::Fabric;
use crate::units::{Bytes, Time};

/// Active buffer management (ABM, SIGCOMM 2022): a queue may be as long as `alpha` times the free bytes of its switch, over
/// the number of congested queues of its class, times its drain rate as a share of its port's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ActiveBuffer {
    /// Memory of each switch. The authors' code: 9.6 KiB for each port and Gbps.
    #[schemars(extend("x-minimum" = "64B", "x-maximum" = "1000GB"))]
    pub size: Bytes,
    /// Share of the free bytes, as of dynamic thresholds.
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub alpha: f64,
    /// A queue of so many bytes is congested; a shorter one counts in proportion. The authors' code: 20 KiB.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub congested_at: Bytes,
    /// The drain rate of a queue is that of the last interval of this length. The authors' code: 25 us.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub update: Time,
    /// Of a queue that sent no more than this in the interval, the drain rate counts as the port's. The authors' code: 2 KiB.
    #[schemars(extend("x-maximum" = "1GB"))]
    pub least_sent: Bytes,
}

impl Default for ActiveBuffer {
    fn default() -> Self {
        ActiveBuffer {
            size: Bytes(4_000_000),
            alpha: 0.5,
            congested_at: Bytes(20_480),
            update: Time::from_us(25),
            least_sent: Bytes(2048),
        }
    }
}

impl Settings for ActiveBuffer {
    fn memory(&self, fabric: &Fabric, by_class: bool) -> Memory {
        let abm =
            Abm { congested_at: self.congested_at.0, update: self.update, least_sent: self.least_sent.0 };
        Memory {
            switches: switches::shared(fabric, self.size, |_| 0),
            queues: switches::queues(fabric),
            rules: QueueRules { alpha: self.alpha, reserve: 0, by_class, abm: Some(abm) },
            ..Memory::default()
        }
    }

    fn problems_on(&self, _fabric: &Fabric, _by_class: bool) -> Vec<Problem> {
        Vec::new()
    }
}
