//! Hosts on one switch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bisection, Counts, Fabric, Generator, capacity};
use crate::units::{Rate, Time};

/// `hosts` hosts, each with one cable to a single switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SingleSwitch {
    /// Number of hosts.
    #[schemars(range(min = 2, max = 65536))]
    pub hosts: u32,
    /// Rate of every cable.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    pub rate: Rate,
    /// Propagation delay of every cable.
    #[schemars(extend("x-maximum" = "10s"))]
    pub delay: Time,
}

impl Default for SingleSwitch {
    fn default() -> Self {
        SingleSwitch { hosts: 8, rate: Rate(10_000_000_000), delay: Time::from_us(1) }
    }
}

impl Generator for SingleSwitch {
    fn counts(&self) -> Counts {
        Counts { hosts: self.hosts.into(), switches: 1, cables: self.hosts.into() }
    }

    fn build(&self) -> Fabric {
        let mut fabric = Fabric::default();
        let hosts: Vec<_> = (0..self.hosts).map(|i| fabric.add_node(format!("host {i}"), "host")).collect();
        let switch = fabric.add_node("switch".into(), "switch");
        for host in hosts {
            fabric.add_cable(host, switch, self.rate, self.delay);
        }
        fabric
    }

    fn bisection(&self) -> Option<Bisection> {
        capacity::star(self.hosts.into(), self.rate)
    }
}
