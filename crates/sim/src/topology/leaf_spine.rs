//! The leaf-spine: two levels of switches, each leaf joined to each spine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::capacity::{self, Tier};
use super::{Bisection, Cable, Counts, Fabric, Generator, oversized};
use crate::ids::NodeId;
use crate::problem::Problem;
use crate::units::{Rate, Time};

/// `leaves` leaf switches with `hosts` hosts each, and `spines` spine switches, to each of which every leaf has a cable.
///
/// The oversubscription follows from counts and rates: the rate of a leaf's hosts over the rate of its cables
/// to the spines. Hosts are numbered by leaf, then port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LeafSpine {
    /// Number of leaf switches.
    #[schemars(range(min = 1, max = 65536))]
    pub leaves: u32,
    /// Number of spine switches.
    #[schemars(range(min = 1, max = 65536))]
    pub spines: u32,
    /// Number of hosts on each leaf.
    #[schemars(range(min = 1, max = 65536))]
    pub hosts: u32,
    /// Number of cables between each leaf and each spine.
    #[schemars(range(min = 1, max = 1024))]
    pub parallel: u32,
    /// Replace spines that are f times as fast as the hosts' cables by f times as many, all at the hosts' rate.
    ///
    /// The paths have the same capacity, and no link is faster than another: 3 spines at 10 Gbps over hosts at 1 Gbps
    /// become 30 at 1 Gbps. Schedulers of packet slots assume it.
    pub equal_rate: bool,
    /// Rate of every cable, unless its tier has its own.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    pub rate: Rate,
    /// Propagation delay of every cable, unless its tier has its own.
    #[schemars(extend("x-maximum" = "10s"))]
    pub delay: Time,
    /// Cables between hosts and leaves, where they differ from the rest.
    pub host: Cable,
    /// Cables between leaves and spines, where they differ from the rest.
    pub spine: Cable,
}

impl Default for LeafSpine {
    fn default() -> Self {
        LeafSpine {
            leaves: 4,
            spines: 4,
            hosts: 4,
            parallel: 1,
            equal_rate: false,
            rate: Rate(10_000_000_000),
            delay: Time::from_us(1),
            host: Cable::default(),
            spine: Cable::default(),
        }
    }
}

impl LeafSpine {
    fn host_rate(&self) -> Rate {
        self.host.or(self.rate, self.delay).0
    }

    /// How often each spine is there: once, or once for each multiple of the hosts' rate.
    fn copies(&self) -> u64 {
        let (spine, _) = self.spine.or(self.rate, self.delay);
        if self.equal_rate { spine.0 / self.host_rate().0 } else { 1 }
    }

    fn spine_rate(&self) -> Rate {
        let (spine, _) = self.spine.or(self.rate, self.delay);
        if self.equal_rate { self.host_rate() } else { spine }
    }

    /// Cables between a leaf and all spines.
    fn uplinks(&self) -> u64 {
        u64::from(self.spines) * self.copies() * u64::from(self.parallel)
    }
}

impl Generator for LeafSpine {
    fn problems(&self) -> Vec<Problem> {
        let (host, (spine, _)) = (self.host_rate(), self.spine.or(self.rate, self.delay));
        if self.equal_rate && (spine < host || !spine.0.is_multiple_of(host.0)) {
            let message = format!(
                "needs cables to the spines that are a whole number of times as fast as those of the hosts; \
                 {spine} is not a multiple of {host}"
            );
            return vec![Problem::new("equal_rate", message)];
        }
        if (self.leaves, self.hosts) == (1, 1) {
            return vec![Problem::new("hosts", "1 host on 1 leaf has no other host to send to; use 2")];
        }
        oversized(self.counts())
    }

    fn counts(&self) -> Counts {
        let [leaves, hosts] = [self.leaves, self.hosts].map(u128::from);
        let spines = u128::from(self.spines) * u128::from(self.copies());
        let cables = leaves * (hosts + spines * u128::from(self.parallel));
        Counts { hosts: leaves * hosts, switches: leaves + spines, cables }
    }

    fn build(&self) -> Fabric {
        let mut fabric = Fabric::default();
        let hosts = self.leaves * self.hosts;
        fabric.add_hosts(hosts);
        let mut switches = |tier: &'static str, count: u32| -> Vec<NodeId> {
            (0..count).map(|number| fabric.add_node(format!("{tier} {number}"), tier)).collect()
        };
        let leaves = switches("leaf", self.leaves);
        let spines = switches("spine", self.spines * self.copies() as u32);
        let (rate, delay) = self.host.or(self.rate, self.delay);
        for host in 0..hosts {
            fabric.add_cable(NodeId(host), leaves[(host / self.hosts) as usize], rate, delay);
        }
        let (_, delay) = self.spine.or(self.rate, self.delay);
        for &leaf in &leaves {
            for &spine in &spines {
                for _ in 0..self.parallel {
                    fabric.add_cable(leaf, spine, self.spine_rate(), delay);
                }
            }
        }
        fabric
    }

    fn oversubscription(&self) -> Option<f64> {
        let leaves = self.leaves.into();
        let hosts = Tier { parts: leaves, cables: self.hosts.into(), rate: self.host_rate() };
        let uplinks = Tier { parts: leaves, cables: self.uplinks(), rate: self.spine_rate() };
        capacity::oversubscription(&[hosts, uplinks])
    }

    /// With the spines on one side, a leaf with all of its hosts on the other is cut off at the cheaper of its two
    /// tiers. The cost is concave in a leaf's number of hosts over there, and in that of spines: the least has all
    /// spines on one side, and no more than one leaf divided, at its hosts' cables.
    fn bisection(&self) -> Option<Bisection> {
        let of = |cables: u64, rate: Rate| u128::from(cables) * u128::from(rate.0);
        let hosts = of(self.hosts.into(), self.host_rate());
        let whole = u128::from(self.leaves / 2) * hosts.min(of(self.uplinks(), self.spine_rate()));
        let divided = of(u64::from(self.leaves % 2) * u64::from(self.hosts / 2), self.host_rate());
        let formula = "half of the leaves, each cut off at its hosts or its cables to the spines";
        Some(Bisection { bps: whole + divided, formula })
    }
}
