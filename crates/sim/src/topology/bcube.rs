//! BCube: servers with several ports, joined by switches, each of which forwards by one digit of the address.
//!
//! Guo et al., "BCube: a high performance, server-centric network architecture for modular data centers",
//! SIGCOMM 2009, section 3.1. Servers forward for others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bisection, Counts, Fabric, Generator, capacity, oversized};
use crate::ids::NodeId;
use crate::problem::Problem;
use crate::units::{Rate, Time};

/// BCube_k of `n`-port switches: `n^(k+1)` hosts with `k + 1` ports, `n^k` switches on each of `k + 1` levels. Hosts relay.
///
/// A host's number has `k + 1` digits to the base `n`; hosts that differ in nothing but digit l, the last digit
/// being digit 0, share a switch of level l. The tier of these switches is "level l".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BCube {
    /// Ports of a switch.
    #[schemars(range(min = 2, max = 1024))]
    pub n: u32,
    /// Level of the construction; with 0 all hosts are on one switch.
    #[schemars(range(max = 16))]
    pub k: u32,
    /// Rate of every cable.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    pub rate: Rate,
    /// Propagation delay of every cable.
    #[schemars(extend("x-maximum" = "10s"))]
    pub delay: Time,
}

impl Default for BCube {
    fn default() -> Self {
        BCube { n: 4, k: 1, rate: Rate(10_000_000_000), delay: Time::from_us(1) }
    }
}

impl Generator for BCube {
    fn problems(&self) -> Vec<Problem> {
        oversized(self.counts())
    }

    fn counts(&self) -> Counts {
        let (n, levels) = (u128::from(self.n), u128::from(self.k) + 1);
        let hosts = n.saturating_pow(self.k + 1);
        let switches = n.saturating_pow(self.k).saturating_mul(levels);
        Counts { hosts, switches, cables: hosts.saturating_mul(levels) }
    }

    fn build(&self) -> Fabric {
        let (hosts, a_level) = (self.n.pow(self.k + 1), self.n.pow(self.k));
        let mut fabric = Fabric::default();
        fabric.add_hosts(hosts);
        for level in 0..=self.k {
            for switch in 0..a_level {
                fabric.add_node(format!("level {level} switch {switch}"), format!("level {level}"));
            }
        }
        for level in 0..=self.k {
            // The switch is numbered by the host's digits without that of the level.
            let weight = self.n.pow(level);
            let first = hosts + level * a_level;
            for host in 0..hosts {
                let switch = host / weight / self.n * weight + host % weight;
                fabric.add_cable(NodeId(host), NodeId(first + switch), self.rate, self.delay);
            }
        }
        fabric
    }

    /// Known for the star and for the hypercube. Halving one digit cuts n^(k+1)/2 cables, but from 8 ports on there
    /// are narrower splits, such as all hosts with both digits below 0.7 n.
    fn bisection(&self) -> Option<Bisection> {
        match (self.n, self.k) {
            (n, 0) => capacity::star(n.into(), self.rate),
            (2, k) => capacity::cut(1 << k, self.rate, "2^k, the bisection width of a hypercube"),
            _ => None,
        }
    }
}
