//! VL2: a folded Clos of aggregation and intermediate switches over top-of-rack switches with two uplinks each.
//!
//! Greenberg et al., "VL2: a scalable and flexible data center network", SIGCOMM 2009, section 4.1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::capacity::{self, Tier};
use super::{Bisection, Cable, Counts, Fabric, Generator, oversized};
use crate::ids::NodeId;
use crate::problem::Problem;
use crate::units::{Rate, Time};

/// With aggregation switches of D_A ports and intermediate switches of D_I ports: D_A/2 intermediate, D_I aggregation, D_A D_I / 4 top-of-rack switches.
///
/// Every aggregation switch has a cable to every intermediate switch. Aggregation switches are in pairs, and
/// each top-of-rack switch has a cable to both of a pair. Hosts are numbered by rack, then port. In the paper
/// hosts have 1 Gbps and switches 10 Gbps: `host = { rate = "1Gbps" }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Vl2 {
    /// Ports of an aggregation switch, D_A; an even number.
    #[schemars(range(min = 2, max = 1024), extend("multipleOf" = 2))]
    pub aggregation_ports: u32,
    /// Ports of an intermediate switch, D_I; an even number.
    #[schemars(range(min = 2, max = 1024), extend("multipleOf" = 2))]
    pub intermediate_ports: u32,
    /// Number of hosts on each top-of-rack switch.
    #[schemars(range(min = 1, max = 65536))]
    pub hosts: u32,
    /// Rate of every cable, unless its tier has its own.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    pub rate: Rate,
    /// Propagation delay of every cable, unless its tier has its own.
    #[schemars(extend("x-maximum" = "10s"))]
    pub delay: Time,
    /// Cables between hosts and top-of-rack switches, where they differ from the rest.
    pub host: Cable,
    /// Cables between top-of-rack and aggregation switches, where they differ from the rest.
    pub aggregation: Cable,
    /// Cables between aggregation and intermediate switches, where they differ from the rest.
    pub intermediate: Cable,
}

impl Default for Vl2 {
    fn default() -> Self {
        Vl2 {
            aggregation_ports: 4,
            intermediate_ports: 4,
            hosts: 20,
            rate: Rate(10_000_000_000),
            delay: Time::from_us(1),
            host: Cable::default(),
            aggregation: Cable::default(),
            intermediate: Cable::default(),
        }
    }
}

impl Vl2 {
    fn racks(&self) -> u32 {
        self.aggregation_ports * self.intermediate_ports / 4
    }

    fn tiers(&self) -> [Tier; 3] {
        let tier = |parts: u32, cables: u32, cable: Cable| {
            let (rate, _) = cable.or(self.rate, self.delay);
            Tier { parts: parts.into(), cables: cables.into(), rate }
        };
        [
            tier(self.racks() * self.hosts, 1, self.host),
            tier(self.racks(), 2, self.aggregation),
            tier(self.intermediate_ports / 2, self.aggregation_ports, self.intermediate),
        ]
    }
}

impl Generator for Vl2 {
    fn problems(&self) -> Vec<Problem> {
        let ports =
            [("aggregation_ports", self.aggregation_ports), ("intermediate_ports", self.intermediate_ports)];
        let odd = ports.into_iter().filter(|(_, ports)| !ports.is_multiple_of(2));
        let odd = odd.map(|(name, ports)| Problem::new(name, format!("{ports} is odd; use an even number")));
        let mut problems: Vec<_> = odd.collect();
        if problems.is_empty() && self.counts().hosts < 2 {
            problems.push(Problem::new("hosts", "1 host in 1 rack has no other host to send to; use 2"));
        }
        if problems.is_empty() {
            problems = oversized(self.counts());
        }
        problems
    }

    fn counts(&self) -> Counts {
        let racks = u128::from(self.racks());
        let hosts = racks * u128::from(self.hosts);
        let switches = u128::from(self.aggregation_ports / 2 + self.intermediate_ports) + racks;
        Counts { hosts, switches, cables: hosts + 4 * racks }
    }

    fn build(&self) -> Fabric {
        let mut fabric = Fabric::default();
        let hosts = self.racks() * self.hosts;
        fabric.add_hosts(hosts);
        let mut switches = |tier: &'static str, count: u32| -> Vec<NodeId> {
            (0..count).map(|number| fabric.add_node(format!("{tier} {number}"), tier)).collect()
        };
        let racks = switches("top-of-rack", self.racks());
        let aggregations = switches("aggregation", self.intermediate_ports);
        let intermediates = switches("intermediate", self.aggregation_ports / 2);
        let (rate, delay) = self.host.or(self.rate, self.delay);
        for host in 0..hosts {
            fabric.add_cable(NodeId(host), racks[(host / self.hosts) as usize], rate, delay);
        }
        let (rate, delay) = self.aggregation.or(self.rate, self.delay);
        let racks_a_pair = (self.aggregation_ports / 2) as usize;
        for (racks, pair) in racks.chunks(racks_a_pair).zip(aggregations.chunks(2)) {
            for &rack in racks {
                pair.iter().for_each(|&aggregation| {
                    fabric.add_cable(rack, aggregation, rate, delay);
                });
            }
        }
        let (rate, delay) = self.intermediate.or(self.rate, self.delay);
        for &aggregation in &aggregations {
            for &intermediate in &intermediates {
                fabric.add_cable(aggregation, intermediate, rate, delay);
            }
        }
        fabric
    }

    fn oversubscription(&self) -> Option<f64> {
        capacity::oversubscription(&self.tiers())
    }

    fn bisection(&self) -> Option<Bisection> {
        capacity::half_of_the_narrowest(&self.tiers())
    }
}
