//! The k-ary fat-tree, in any number of levels: FT(m, n), the m-port n-tree.
//!
//! Al-Fares, Loukissas and Vahdat, "A scalable, commodity data center network architecture",
//! SIGCOMM 2008, have three levels. Lin, Chung and Huang, "A multiple LID routing scheme for fat-tree-based
//! InfiniBand networks", IPDPS 2004, have n: 2 (m/2)^n hosts and (2n - 1) (m/2)^(n-1) switches with m = k
//! ports. Nodes are labelled and wired by the digits of that definition: a switch at level l and one
//! at level l + 1 (the core is level 0) are joined if their labels agree in every digit but the l-th.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::capacity::Tier;
use super::{Bisection, Cable, Counts, Fabric, Generator, capacity, oversized};
use crate::ids::NodeId;
use crate::problem::Problem;
use crate::units::{Rate, Time};

/// A fat-tree of switches with `k` ports. With three levels: `k` pods of `k/2` edge and `k/2` aggregation
/// switches, `k^2/4` core switches, `k^3/4` hosts.
///
/// Hosts are numbered by pod, then edge switch, then port. The levels are "edge" at the bottom, "core" at the
/// top, "aggregation" between them; where several are between, "aggregation 1" is below the core, "aggregation 2"
/// below that. A single level is one core switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FatTree {
    /// Ports of a switch; an even number.
    #[schemars(range(min = 2, max = 128), extend("multipleOf" = 2))]
    pub k: u32,
    /// Levels of switches: FT(k, levels), with 2 (k/2)^levels hosts.
    #[schemars(range(min = 1, max = 16))]
    pub levels: u32,
    /// Hosts for each uplink of an edge switch: 1 is full bandwidth; 4 is "4:1", with 4 k/2 hosts on an edge switch.
    #[schemars(range(min = 1, max = 64))]
    pub oversubscription: u32,
    /// Rate of every cable, unless its tier has its own.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    pub rate: Rate,
    /// Propagation delay of every cable, unless its tier has its own.
    #[schemars(extend("x-maximum" = "10s"))]
    pub delay: Time,
    /// Cables between hosts and switches, where they differ from the rest.
    pub host: Cable,
    /// Cables between switches below the core, where they differ from the rest.
    pub aggregation: Cable,
    /// Cables to core switches, where they differ from the rest.
    pub core: Cable,
}

impl Default for FatTree {
    fn default() -> Self {
        FatTree {
            k: 8,
            levels: 3,
            oversubscription: 1,
            rate: Rate(10_000_000_000),
            delay: Time::from_us(1),
            host: Cable::default(),
            aggregation: Cable::default(),
            core: Cable::default(),
        }
    }
}

impl FatTree {
    /// Switches that differ in the last `digits` digits of their labels.
    fn power(&self, digits: u32) -> u32 {
        (self.k / 2).pow(digits)
    }

    /// Switches at a level; the core is level 0.
    fn switches(&self, level: u32) -> u32 {
        self.power(self.levels - 1) * if level == 0 { 1 } else { 2 }
    }

    /// Hosts on a switch of the lowest level. It needs no port upwards if it is the only one.
    fn hosts_a_switch(&self) -> u32 {
        if self.levels == 1 { self.k } else { self.k / 2 * self.oversubscription }
    }

    fn tier(&self, level: u32) -> Cow<'static, str> {
        match level {
            0 => "core".into(),
            edge if edge == self.levels - 1 => "edge".into(),
            _ if self.levels == 3 => "aggregation".into(),
            _ => format!("aggregation {level}").into(),
        }
    }

    fn name(&self, level: u32, number: u32) -> String {
        let tier = self.tier(level);
        if level == 0 {
            return format!("{tier} {number}");
        }
        let pod = self.power(self.levels - 2);
        let (pod, number) = (number / pod, number % pod);
        let word = if tier.contains(' ') { " switch" } else { "" };
        format!("pod {pod} {tier}{word} {number}")
    }

    /// Rate and delay of the cables upwards from a level.
    fn uplink(&self, level: u32) -> (Rate, Time) {
        let cable = if level == 1 { self.core } else { self.aggregation };
        cable.or(self.rate, self.delay)
    }

    fn tiers(&self) -> Vec<Tier> {
        let lowest = self.levels - 1;
        let hosts = self.switches(lowest) * self.hosts_a_switch();
        let (rate, _) = self.host.or(self.rate, self.delay);
        let mut tiers = vec![Tier { parts: hosts.into(), cables: 1, rate }];
        for level in (1..=lowest).rev() {
            // The parts below are the sub-trees whose labels differ in the first `level` digits.
            let (parts, (rate, _)) = (self.k * self.power(level - 1), self.uplink(level));
            tiers.push(Tier { parts: parts.into(), cables: self.power(self.levels - level).into(), rate });
        }
        tiers
    }
}

impl Generator for FatTree {
    fn problems(&self) -> Vec<Problem> {
        if !self.k.is_multiple_of(2) {
            let nearest = match self.k {
                1 => "2".to_string(),
                k => format!("{} or {}", k - 1, k.saturating_add(1)),
            };
            return vec![Problem::new(
                "k",
                format!("{} is odd; use an even number such as {nearest}", self.k),
            )];
        }
        if self.levels == 1 && self.oversubscription != 1 {
            let message = format!("{} needs uplinks; a single level has none", self.oversubscription);
            return vec![Problem::new("oversubscription", message)];
        }
        oversized(self.counts())
    }

    fn counts(&self) -> Counts {
        let (half, levels) = (u128::from(self.k / 2), self.levels);
        let hosts = half.saturating_pow(levels).saturating_mul(2 * u128::from(self.oversubscription));
        let switches = half.saturating_pow(levels - 1).saturating_mul(2 * u128::from(levels) - 1);
        let uplinks = half.saturating_pow(levels).saturating_mul(2 * u128::from(levels - 1));
        Counts { hosts, switches, cables: hosts.saturating_add(uplinks) }
    }

    fn build(&self) -> Fabric {
        let (half, lowest) = (self.k / 2, self.levels - 1);
        let mut fabric = Fabric::default();
        let hosts = self.switches(lowest) * self.hosts_a_switch();
        fabric.add_hosts(hosts);
        let mut first = vec![0; self.levels as usize]; // the first switch of each level
        for level in (0..=lowest).rev() {
            first[level as usize] = fabric.nodes.len() as u32;
            for number in 0..self.switches(level) {
                fabric.add_node(self.name(level, number), self.tier(level));
            }
        }

        // Cables tier by tier, in the order of the lower end's ports: so that the ports of every
        // node have ascending links, and up ports come in the order of the digit that they choose.
        let switch = |level: u32, number: u32| NodeId(first[level as usize] + number);
        let (rate, delay) = self.host.or(self.rate, self.delay);
        for host in 0..hosts {
            fabric.add_cable(NodeId(host), switch(lowest, host / self.hosts_a_switch()), rate, delay);
        }
        for level in (1..=lowest).rev() {
            let (rate, delay) = self.uplink(level);
            // The weight of the digit that is free on the way up; the first one has k values, others k/2.
            let weight = self.power(lowest - level);
            let values = if level == 1 { self.k } else { half };
            for lower in 0..self.switches(level) {
                let others = lower - lower / weight % values * weight;
                for digit in 0..half {
                    let upper = switch(level - 1, others + digit * weight);
                    fabric.add_cable(switch(level, lower), upper, rate, delay);
                }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_k_is_refused_with_its_neighbours() {
        let message = |k| FatTree { k, ..FatTree::default() }.problems().pop().map(|problem| problem.message);
        assert_eq!(message(8), None);
        assert_eq!(message(7).as_deref(), Some("7 is odd; use an even number such as 6 or 8"));
        assert_eq!(message(1).as_deref(), Some("1 is odd; use an even number such as 2"));
    }

    #[test]
    fn a_tier_may_differ() {
        let slow = Rate(1_000_000_000);
        let far = Time::from_us(9);
        let tree = FatTree {
            k: 4,
            core: Cable { rate: Some(slow), delay: None },
            host: Cable { rate: None, delay: Some(far) },
            ..FatTree::default()
        };
        let fabric = tree.build();
        for link in &fabric.links {
            let tiers = [link.from, link.to].map(|node| fabric.nodes[node.index()].tier.as_ref());
            assert_eq!(link.rate, if tiers.contains(&"core") { slow } else { tree.rate });
            assert_eq!(link.delay, if tiers.contains(&"host") { far } else { tree.delay });
        }
    }
}
