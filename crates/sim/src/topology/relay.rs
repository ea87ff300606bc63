//! Three hosts in a chain: the smallest network in which a host forwards.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bisection, Counts, Fabric, Generator, capacity};
use crate::units::{Rate, Time};

/// Hosts 0, 1 and 2 in a row; host 1 has two ports and relays between the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Relay {
    /// Rate of both cables.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    pub rate: Rate,
    /// Propagation delay of both cables.
    #[schemars(extend("x-maximum" = "10s"))]
    pub delay: Time,
}

impl Default for Relay {
    fn default() -> Self {
        Relay { rate: Rate(10_000_000_000), delay: Time::from_us(1) }
    }
}

impl Generator for Relay {
    fn counts(&self) -> Counts {
        Counts { hosts: 3, switches: 0, cables: 2 }
    }

    fn build(&self) -> Fabric {
        let mut fabric = Fabric::default();
        let hosts: Vec<_> = (0..3).map(|i| fabric.add_node(format!("host {i}"), "host")).collect();
        for ends in hosts.windows(2) {
            fabric.add_cable(ends[0], ends[1], self.rate, self.delay);
        }
        fabric
    }

    fn bisection(&self) -> Option<Bisection> {
        capacity::cut(1, self.rate, "the cable of a host at an end")
    }
}
