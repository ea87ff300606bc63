//! The dumbbell: hosts on either side of one bottleneck cable.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bisection, Cable, Counts, Fabric, Generator, capacity};
use crate::units::{Rate, Time};

/// `hosts` hosts on a left switch, as many on a right one, and one cable between the switches.
///
/// Hosts 0 to `hosts - 1` are on the left, the others on the right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dumbbell {
    /// Number of hosts on each side.
    #[schemars(range(min = 1, max = 32768))]
    pub hosts: u32,
    /// Rate of the hosts' cables.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    pub rate: Rate,
    /// Propagation delay of the hosts' cables.
    #[schemars(extend("x-maximum" = "10s"))]
    pub delay: Time,
    /// The cable between the switches, where it differs from the hosts' cables.
    pub bottleneck: Cable,
}

impl Default for Dumbbell {
    fn default() -> Self {
        Dumbbell {
            hosts: 4,
            rate: Rate(10_000_000_000),
            delay: Time::from_us(1),
            bottleneck: Cable::default(),
        }
    }
}

impl Generator for Dumbbell {
    fn counts(&self) -> Counts {
        Counts { hosts: 2 * u128::from(self.hosts), switches: 2, cables: 2 * u128::from(self.hosts) + 1 }
    }

    fn build(&self) -> Fabric {
        let mut fabric = Fabric::default();
        let hosts: Vec<_> =
            (0..2 * self.hosts).map(|i| fabric.add_node(format!("host {i}"), "host")).collect();
        let sides = ["left switch", "right switch"].map(|name| fabric.add_node(name.into(), "switch"));
        for host in hosts {
            let side = sides[(host.0 / self.hosts) as usize];
            fabric.add_cable(host, side, self.rate, self.delay);
        }
        let (rate, delay) = self.bottleneck.or(self.rate, self.delay);
        fabric.add_cable(sides[0], sides[1], rate, delay);
        fabric
    }

    fn bisection(&self) -> Option<Bisection> {
        // Either the switches are apart, or one side's hosts are cut off from both.
        let (bottleneck, _) = self.bottleneck.or(self.rate, self.delay);
        let apart = capacity::cut(1, bottleneck, "the bottleneck");
        let together = capacity::cut(self.hosts.into(), self.rate, "half of the hosts' cables");
        [apart, together].into_iter().flatten().min_by_key(|cut| cut.bps)
    }
}
