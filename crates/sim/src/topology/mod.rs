//! Networks: a generator turns its parameters into a plain graph of nodes and directed links.

pub mod cut;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{LinkId, NodeId};
use crate::register::register;
use crate::units::{Rate, Time};

register! {
    /// The network to simulate.
    pub enum Topology: Generator {
        fat_tree::FatTree = "fat-tree",
        single_switch::SingleSwitch = "single-switch",
        line::Line = "line",
        dumbbell::Dumbbell = "dumbbell",
        relay::Relay = "relay",
    }
}

/// What a topology does: parameters in, graph out.
pub trait Generator {
    /// All that is wrong with the parameters beyond what the schema says: (path below the topology, what is wrong).
    fn problems(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The graph. Called only if there are no [`Generator::problems`].
    fn build(&self) -> Fabric;
}

/// A network: nodes and directed links. Nobody changes it once built.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fabric {
    /// Hosts first, then switches.
    pub nodes: Vec<Node>,
    /// Links `i` and `i ^ 1` are the two directions of one cable; parallel cables are ordinary.
    pub links: Vec<Link>,
    /// Number of hosts.
    pub hosts: u32,
}

/// A host or a switch. Any node may forward.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Such as "host 3" or "pod 0 edge 1".
    pub name: String,
    /// Such as "host", "edge", "aggregation", "core": what links and reports group by.
    pub tier: &'static str,
}

/// One direction of a cable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The node that sends.
    pub from: NodeId,
    /// The node that receives.
    pub to: NodeId,
    /// Bits a second.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Time,
}

/// The cables of one tier, where they differ from the topology's `rate` and `delay`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cable {
    /// Rate; by default the topology's.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation delay; by default the topology's.
    #[schemars(extend("x-maximum" = "10s"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
}

impl Cable {
    /// Rate and delay, with the topology's where the tier says nothing.
    pub fn or(self, rate: Rate, delay: Time) -> (Rate, Time) {
        (self.rate.unwrap_or(rate), self.delay.unwrap_or(delay))
    }
}

impl Fabric {
    /// Adds a node; hosts must all be added before the first switch.
    pub fn add_node(&mut self, name: String, tier: &'static str) -> NodeId {
        if tier == "host" {
            assert_eq!(self.nodes.len(), self.hosts as usize, "hosts come before switches");
            self.hosts += 1;
        }
        self.nodes.push(Node { name, tier });
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Adds a cable: two directed links. Returns the one from `a` to `b`.
    pub fn add_cable(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Time) -> LinkId {
        self.links.push(Link { from: a, to: b, rate, delay });
        self.links.push(Link { from: b, to: a, rate, delay });
        LinkId(self.links.len() as u32 - 2)
    }

    /// The tiers of both ends of a link, as in "edge-aggregation".
    pub fn tier_of(&self, link: &Link) -> String {
        format!("{}-{}", self.nodes[link.from.index()].tier, self.nodes[link.to.index()].tier)
    }

    /// Whether the node has an endpoint.
    pub fn is_host(&self, node: NodeId) -> bool {
        node.0 < self.hosts
    }
}
