//! The k-ary fat-tree: three levels of switches with k ports each, non-blocking.
//!
//! Al-Fares, Loukissas and Vahdat, "A scalable, commodity data center network architecture",
//! SIGCOMM 2008. It is FT(m, n) of Lin, Chung and Huang (2004) with m = k ports and n = 3 levels,
//! and nodes are labelled and wired by the digits of that definition: a switch at level l and one
//! at level l + 1 (the core is level 0) are joined if their labels agree in every digit but the l-th.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cable, Fabric, Generator};
use crate::ids::NodeId;
use crate::units::{Rate, Time};

/// `k` pods of `k/2` edge and `k/2` aggregation switches, `k^2/4` core switches, `k^3/4` hosts.
///
/// Hosts are numbered by pod, then edge switch, then port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FatTree {
    /// Ports of a switch; an even number.
    #[schemars(range(min = 2, max = 64), extend("multipleOf" = 2))]
    pub k: u32,
    /// Rate of every cable, unless its tier says otherwise.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    pub rate: Rate,
    /// Propagation delay of every cable, unless its tier says otherwise.
    #[schemars(extend("x-maximum" = "10s"))]
    pub delay: Time,
    /// Cables between hosts and edge switches, where they differ from the rest.
    pub host: Cable,
    /// Cables between edge and aggregation switches, where they differ from the rest.
    pub aggregation: Cable,
    /// Cables between aggregation and core switches, where they differ from the rest.
    pub core: Cable,
}

impl Default for FatTree {
    fn default() -> Self {
        FatTree {
            k: 8,
            rate: Rate(10_000_000_000),
            delay: Time::from_us(1),
            host: Cable::default(),
            aggregation: Cable::default(),
            core: Cable::default(),
        }
    }
}

impl Generator for FatTree {
    fn problems(&self) -> Vec<(String, String)> {
        if self.k.is_multiple_of(2) {
            return Vec::new();
        }
        let nearest = match self.k {
            1 => "2".to_string(),
            k => format!("{} or {}", k - 1, k.saturating_add(1)),
        };
        vec![("k".into(), format!("{} is odd; use an even number such as {nearest}", self.k))]
    }

    fn build(&self) -> Fabric {
        let (pods, half) = (self.k, self.k / 2);
        let mut fabric = Fabric::default();
        for host in 0..pods * half * half {
            fabric.add_node(format!("host {host}"), "host");
        }
        let edges = fabric.nodes.len() as u32;
        for (pod, edge) in digits(pods, half) {
            fabric.add_node(format!("pod {pod} edge {edge}"), "edge");
        }
        let aggregations = fabric.nodes.len() as u32;
        for (pod, aggregation) in digits(pods, half) {
            fabric.add_node(format!("pod {pod} aggregation {aggregation}"), "aggregation");
        }
        let cores = fabric.nodes.len() as u32;
        for core in 0..half * half {
            fabric.add_node(format!("core {core}"), "core");
        }

        // Cables tier by tier, in the order of the lower end's ports: so that the ports of every
        // node have ascending links, and up ports come in the order of the digit that they choose.
        let number = |high: u32, low: u32| high * half + low;
        let (rate, delay) = self.host.or(self.rate, self.delay);
        for host in 0..edges {
            fabric.add_cable(NodeId(host), NodeId(edges + host / half), rate, delay);
        }
        let (rate, delay) = self.aggregation.or(self.rate, self.delay);
        for (pod, edge) in digits(pods, half) {
            for aggregation in 0..half {
                let lower = NodeId(edges + number(pod, edge));
                let upper = NodeId(aggregations + number(pod, aggregation));
                fabric.add_cable(lower, upper, rate, delay);
            }
        }
        let (rate, delay) = self.core.or(self.rate, self.delay);
        for (pod, aggregation) in digits(pods, half) {
            for digit in 0..half {
                let lower = NodeId(aggregations + number(pod, aggregation));
                let upper = NodeId(cores + number(digit, aggregation));
                fabric.add_cable(lower, upper, rate, delay);
            }
        }
        fabric
    }
}

/// The labels (w0, w1) of a level of switches: w0 below `high`, w1 below `low`, in order.
fn digits(high: u32, low: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..high).flat_map(move |first| (0..low).map(move |second| (first, second)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_k_is_refused_with_its_neighbours() {
        let message = |k| FatTree { k, ..FatTree::default() }.problems().pop().map(|(_, message)| message);
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
            let tiers = [link.from, link.to].map(|node| fabric.nodes[node.index()].tier);
            assert_eq!(link.rate, if tiers.contains(&"core") { slow } else { tree.rate });
            assert_eq!(link.delay, if tiers.contains(&"host") { far } else { tree.delay });
        }
    }
}
