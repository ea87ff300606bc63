//! A network whose nodes and cables the scenario lists.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Counts, Fabric, Generator, oversized};
use crate::ids::NodeId;
use crate::nearest::{closest, did_you_mean};
use crate::problem::{PROBLEMS_MAX, Problem};
use crate::units::{Rate, Time};

/// Hosts, switches and cables by name. A host may have several cables, and relays then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{ "hosts": ["a", "b"], "cables": [{ "ends": ["a", "b"] }] }]))]
pub struct Explicit {
    /// Names of the hosts; host 0 of the traffic is the first.
    #[schemars(length(min = 2, max = 200_000))]
    pub hosts: Vec<String>,
    /// The switches.
    #[serde(default)]
    #[schemars(length(max = 200_000))]
    pub switches: Vec<ExplicitSwitch>,
    /// Rate of every cable that does not have its own.
    #[serde(default = "default_rate")]
    #[schemars(extend("x-minimum" = "1Kbps"))]
    pub rate: Rate,
    /// Propagation delay of every cable that does not have its own.
    #[serde(default = "default_delay")]
    #[schemars(extend("x-maximum" = "10s"))]
    pub delay: Time,
    /// The cables.
    #[schemars(length(min = 1, max = 2_000_000))]
    pub cables: Vec<ExplicitCable>,
}

/// A switch of an explicit network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplicitSwitch {
    /// The name, which no other node has.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Group of the links in link tables and reports, such as "leaf".
    #[serde(default = "default_tier")]
    #[schemars(length(min = 1))]
    pub tier: String,
}

/// One or more parallel cables of an explicit network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplicitCable {
    /// Names of the two nodes.
    pub ends: (String, String),
    /// Rate; by default the topology's.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation delay; by default the topology's.
    #[schemars(extend("x-maximum" = "10s"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// Number of such cables side by side.
    #[serde(default = "default_count")]
    #[schemars(range(min = 1, max = 1024))]
    pub count: u32,
}

fn default_rate() -> Rate {
    Rate(10_000_000_000)
}

fn default_delay() -> Time {
    Time::from_us(1)
}

fn default_tier() -> String {
    "switch".into()
}

fn default_count() -> u32 {
    1
}

/// So many unknown names are compared with the known ones for a suggestion: in a long list, only the first
/// mistakes get one.
const COMPARISONS: usize = 50_000;

impl Explicit {
    /// The names of all nodes in the fabric's order, each with its path.
    fn names(&self) -> impl Iterator<Item = (&str, String)> {
        let hosts = self.hosts.iter().enumerate().map(|(i, name)| (name.as_str(), format!("hosts.{i}")));
        let switches = self.switches.iter().enumerate();
        hosts.chain(switches.map(|(i, switch)| (switch.name.as_str(), format!("switches.{i}.name"))))
    }

    /// Each name's node.
    fn nodes(&self) -> BTreeMap<&str, NodeId> {
        self.names().zip(0..).map(|((name, _), node)| (name, NodeId(node))).collect()
    }
}

impl Generator for Explicit {
    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut places = BTreeMap::new();
        for (name, place) in self.names() {
            if problems.len() >= PROBLEMS_MAX {
                break;
            }
            if name.is_empty() {
                problems.push(Problem::new(place, "is empty; each node has a name"));
            } else if let Some(other) = places.get(name) {
                problems.push(Problem::new(
                    place,
                    format!("\"{name}\" is the name of {other} already; each node needs its own"),
                ));
            } else {
                places.insert(name, place);
            }
        }
        let called_host = self.switches.iter().enumerate().filter(|(_, switch)| switch.tier == "host");
        for (index, _) in called_host.take(PROBLEMS_MAX) {
            let message = "\"host\" is the tier of hosts; list a host under hosts, or name another tier";
            problems.push(Problem::new(format!("switches.{index}.tier"), message));
        }
        let mut guesses = COMPARISONS / places.len().max(1);
        let mut unused = places.clone();
        for (index, cable) in self.cables.iter().enumerate() {
            if problems.len() >= PROBLEMS_MAX {
                break;
            }
            let (a, b) = (cable.ends.0.as_str(), cable.ends.1.as_str());
            for (end, name) in [a, b].into_iter().enumerate() {
                unused.remove(name);
                if places.contains_key(name) {
                    continue;
                }
                let near = (guesses > 0).then(|| closest(name, places.keys().copied())).flatten();
                guesses = guesses.saturating_sub(1);
                let hint = near.map_or("list it under hosts or switches".to_string(), did_you_mean);
                problems.push(Problem::new(
                    format!("cables.{index}.ends.{end}"),
                    format!("\"{name}\" is no node; {hint}"),
                ));
            }
            if a == b {
                let message = format!("both are \"{a}\"; a cable joins two nodes");
                problems.push(Problem::new(format!("cables.{index}.ends"), message));
            }
        }
        // A cable to a misspelt name is one mistake, not two.
        if problems.is_empty() {
            let alone =
                |(name, place): (&str, String)| Problem::new(place, format!("no cable ends at \"{name}\""));
            problems.extend(unused.into_iter().take(PROBLEMS_MAX).map(alone));
        }
        if problems.is_empty() {
            problems = oversized(self.counts());
        }
        problems
    }

    fn counts(&self) -> Counts {
        Counts {
            hosts: self.hosts.len() as u128,
            switches: self.switches.len() as u128,
            cables: self.cables.iter().map(|cable| u128::from(cable.count)).sum(),
        }
    }

    fn build(&self) -> Fabric {
        let mut fabric = Fabric::default();
        for name in &self.hosts {
            fabric.add_node(name.clone(), "host");
        }
        for switch in &self.switches {
            fabric.add_node(switch.name.clone(), switch.tier.clone());
        }
        let nodes = self.nodes();
        for cable in &self.cables {
            let (a, b) = (nodes[cable.ends.0.as_str()], nodes[cable.ends.1.as_str()]);
            let (rate, delay) = (cable.rate.unwrap_or(self.rate), cable.delay.unwrap_or(self.delay));
            for _ in 0..cable.count {
                fabric.add_cable(a, b, rate, delay);
            }
        }
        fabric
    }
}
