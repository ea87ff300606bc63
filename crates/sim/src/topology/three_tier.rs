//! The three-tier network, and with a single uplink the traditional tree.
//!
//! Cisco, "Data Center Infrastructure 2.5 Design Guide", 2007: access, aggregation and core switches, each
//! with two uplinks to the layer above.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::capacity::{self, Tier};
use super::{Cable, Counts, Fabric, Generator, oversized};
use crate::ids::NodeId;
use crate::problem::Problem;
use crate::units::{Rate, Time};

/// `hosts` hosts on each of `accesses` access switches, which have `uplinks` cables to aggregation switches, which have as many to core switches.
///
/// Aggregation switches are in groups of `uplinks`; the access switches are shared out among the groups, in
/// order, and each has one cable to each switch of its group. Aggregation switches take the core switches in
/// turn. With `uplinks = 1` and one core switch it is a tree with a single path between any two hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ThreeTier {
    /// Number of core switches; at least `uplinks`.
    #[schemars(range(min = 1, max = 65536))]
    pub cores: u32,
    /// Number of aggregation switches; a multiple of `uplinks`.
    #[schemars(range(min = 1, max = 65536))]
    pub aggregations: u32,
    /// Number of access switches.
    #[schemars(range(min = 1, max = 65536))]
    pub accesses: u32,
    /// Number of hosts on each access switch.
    #[schemars(range(min = 1, max = 65536))]
    pub hosts: u32,
    /// Number of cables from each access and each aggregation switch to different switches of the layer above.
    #[schemars(range(min = 1, max = 1024))]
    pub uplinks: u32,
    /// Rate of every cable, unless its tier has its own.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    pub rate: Rate,
    /// Propagation delay of every cable, unless its tier has its own.
    #[schemars(extend("x-maximum" = "10s"))]
    pub delay: Time,
    /// Cables between hosts and access switches, where they differ from the rest.
    pub host: Cable,
    /// Cables between access and aggregation switches, where they differ from the rest.
    pub aggregation: Cable,
    /// Cables between aggregation and core switches, where they differ from the rest.
    pub core: Cable,
}

impl Default for ThreeTier {
    fn default() -> Self {
        ThreeTier {
            cores: 2,
            aggregations: 4,
            accesses: 8,
            hosts: 4,
            uplinks: 2,
            rate: Rate(10_000_000_000),
            delay: Time::from_us(1),
            host: Cable::default(),
            aggregation: Cable::default(),
            core: Cable::default(),
        }
    }
}

impl Generator for ThreeTier {
    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.cores < self.uplinks {
            let message = format!("{} is fewer than uplinks, which is {}", self.cores, self.uplinks);
            problems.push(Problem::new("cores", message));
        }
        if !self.aggregations.is_multiple_of(self.uplinks) {
            let message =
                format!("{} is not a multiple of uplinks, which is {}", self.aggregations, self.uplinks);
            problems.push(Problem::new("aggregations", message));
        }
        if u64::from(self.accesses) * u64::from(self.hosts) < 2 {
            problems
                .push(Problem::new("hosts", "1 host on 1 access switch has no other host to send to; use 2"));
        }
        if problems.is_empty() {
            problems = oversized(self.counts());
        }
        problems
    }

    fn counts(&self) -> Counts {
        let [cores, aggregations, accesses, hosts, uplinks] =
            [self.cores, self.aggregations, self.accesses, self.hosts, self.uplinks].map(u128::from);
        Counts {
            hosts: accesses * hosts,
            switches: accesses + aggregations + cores,
            cables: accesses * (hosts + uplinks) + aggregations * uplinks,
        }
    }

    fn build(&self) -> Fabric {
        let mut fabric = Fabric::default();
        let hosts = self.accesses * self.hosts;
        fabric.add_hosts(hosts);
        let mut switches = |tier: &'static str, count: u32| -> Vec<NodeId> {
            (0..count).map(|number| fabric.add_node(format!("{tier} {number}"), tier)).collect()
        };
        let accesses = switches("access", self.accesses);
        let aggregations = switches("aggregation", self.aggregations);
        let cores = switches("core", self.cores);
        let (rate, delay) = self.host.or(self.rate, self.delay);
        for host in 0..hosts {
            fabric.add_cable(NodeId(host), accesses[(host / self.hosts) as usize], rate, delay);
        }
        let (rate, delay) = self.aggregation.or(self.rate, self.delay);
        let groups: Vec<&[NodeId]> = aggregations.chunks(self.uplinks as usize).collect();
        for (index, &access) in accesses.iter().enumerate() {
            for &aggregation in groups[index * groups.len() / accesses.len()] {
                fabric.add_cable(access, aggregation, rate, delay);
            }
        }
        let (rate, delay) = self.core.or(self.rate, self.delay);
        let mut in_turn = cores.iter().cycle();
        for &aggregation in &aggregations {
            for &core in in_turn.by_ref().take(self.uplinks as usize) {
                fabric.add_cable(aggregation, core, rate, delay);
            }
        }
        fabric
    }

    fn oversubscription(&self) -> Option<f64> {
        let tier = |parts: u32, cables: u32, cable: Cable| {
            let (rate, _) = cable.or(self.rate, self.delay);
            Tier { parts: parts.into(), cables: cables.into(), rate }
        };
        // Of the largest group, where access switches do not divide evenly among the groups.
        let groups = self.aggregations / self.uplinks;
        let accesses = self.accesses.div_ceil(groups);
        capacity::oversubscription(&[
            tier(accesses, self.hosts, self.host),
            tier(accesses, self.uplinks, self.aggregation),
            tier(self.uplinks, self.uplinks, self.core),
        ])
    }
}
