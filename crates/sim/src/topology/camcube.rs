//! CamCube: a three-dimensional torus of servers without switches.
//!
//! Abu-Libdeh et al., "Symbiotic routing in future data centers", SIGCOMM 2010. Servers forward for others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bisection, Counts, Fabric, Generator, capacity, oversized};
use crate::ids::NodeId;
use crate::problem::Problem;
use crate::units::{Rate, Time};

/// A torus of `x` by `y` by `z` hosts, each with a cable to both neighbours in each dimension. Hosts relay.
///
/// Host (a, b, c) has the number (a y + b) z + c. A side of 2 has one cable between its two hosts, not two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CamCube {
    /// Hosts along the first dimension.
    #[schemars(range(min = 2, max = 1024))]
    pub x: u32,
    /// Hosts along the second dimension.
    #[schemars(range(min = 2, max = 1024))]
    pub y: u32,
    /// Hosts along the third dimension.
    #[schemars(range(min = 2, max = 1024))]
    pub z: u32,
    /// Rate of every cable.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    pub rate: Rate,
    /// Propagation delay of every cable.
    #[schemars(extend("x-maximum" = "10s"))]
    pub delay: Time,
}

impl Default for CamCube {
    fn default() -> Self {
        CamCube { x: 3, y: 3, z: 3, rate: Rate(10_000_000_000), delay: Time::from_us(1) }
    }
}

impl Generator for CamCube {
    fn problems(&self) -> Vec<Problem> {
        oversized(self.counts())
    }

    fn counts(&self) -> Counts {
        let sides = [self.x, self.y, self.z].map(u128::from);
        let hosts = sides.iter().product();
        // Of a ring of two hosts the second cable is left out.
        let cables = sides.map(|side| if side == 2 { hosts / 2 } else { hosts }).iter().sum();
        Counts { hosts, switches: 0, cables }
    }

    fn build(&self) -> Fabric {
        let mut fabric = Fabric::default();
        let hosts = self.x * self.y * self.z;
        fabric.add_hosts(hosts);
        for host in 0..hosts {
            for (side, weight) in [(self.x, self.y * self.z), (self.y, self.z), (self.z, 1)] {
                let place = host / weight % side;
                if side == 2 && place == 1 {
                    continue; // its neighbour on both sides has the cable already
                }
                let next = host - place * weight + (place + 1) % side * weight;
                fabric.add_cable(NodeId(host), NodeId(next), self.rate, self.delay);
            }
        }
        fabric
    }

    /// Halving the longest side cuts each of its rings twice. No split is narrower: if every host sends to every
    /// other, by dimensions and both ways round alike, a link of a ring of a hosts carries N a / 8 pairs if a is
    /// even, less if it is odd, one of a side of 2 as much as one of a ring of 4; and N^2 / 4 pairs cross a split.
    fn bisection(&self) -> Option<Bisection> {
        let sides = [self.x, self.y, self.z].map(u64::from);
        let longest = sides.into_iter().filter(|side| side.is_multiple_of(2)).max()?.max(4);
        let hosts: u64 = sides.iter().product();
        let decides = sides.into_iter().all(|side| side <= longest);
        let formula = "2 N over the longest side, the bisection width of a torus";
        decides.then(|| capacity::cut(2 * hosts / longest, self.rate, formula))?
    }
}
