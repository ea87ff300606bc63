//! Networks: a generator turns its parameters into a plain graph of nodes and directed links.

mod capacity;
pub mod cut;
pub mod heights;
pub mod names;
pub mod parts;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::capacity::Bisection;
use crate::ids::{LinkId, NodeId};
use crate::problem::Problem;
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
        leaf_spine::LeafSpine = "leaf-spine",
        three_tier::ThreeTier = "three-tier",
        vl2::Vl2 = "vl2",
        bcube::BCube = "bcube",
        dcell::DCell = "dcell",
        camcube::CamCube = "camcube",
        explicit::Explicit = "explicit",
    }
}

/// A topology: parameters in, graph out.
pub trait Generator {
    /// All problems of the parameters beyond those that the schema finds; paths are below the topology.
    fn problems(&self) -> Vec<Problem> {
        Vec::new()
    }

    /// Its hosts, switches and cables, by their formula: a network that is too large is refused before it is built. Means
    /// nothing if there are other [`Generator::problems`].
    fn counts(&self) -> Counts;

    /// The graph. Called only if there are no [`Generator::problems`].
    fn build(&self) -> Fabric;

    /// The rate that the hosts can send over the capacity of the narrowest tier above them, where there are
    /// tiers: 1 is full bandwidth, 4 is "4:1".
    fn oversubscription(&self) -> Option<f64> {
        None
    }

    /// The bisection bandwidth, where a formula gives it exactly.
    fn bisection(&self) -> Option<Bisection> {
        None
    }
}

/// Sizes of a network. They saturate: a number too large for them is too large anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    pub hosts: u128,
    pub switches: u128,
    /// Cables, each of which is two links.
    pub cables: u128,
}

/// Hosts of the largest network.
const MOST_HOSTS: u128 = 1_000_000;
/// Switches of the largest network.
const MOST_SWITCHES: u128 = 200_000;
/// Cables of the largest network.
const MOST_CABLES: u128 = 2_000_000;

/// Refuses a network that a slip has made too large, before any of it is built.
fn oversized(Counts { hosts, switches, cables }: Counts) -> Vec<Problem> {
    let counts = [
        (hosts, MOST_HOSTS, "hosts"),
        (switches, MOST_SWITCHES, "switches"),
        (cables, MOST_CABLES, "cables"),
    ];
    let too_many = counts.into_iter().find(|(count, most, _)| count > most);
    let message = |(count, most, what): (u128, u128, &str)| {
        let shown = if count < 1 << 60 { count.to_string() } else { "over 10^18".into() };
        Problem::new("", format!("has {shown} {what}; at most {most} are allowed"))
    };
    too_many.map(message).into_iter().collect()
}

/// A network: nodes and directed links, constant once built.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fabric {
    pub nodes: Vec<Node>,
    /// Links `i` and `i ^ 1` are the two directions of one cable; parallel cables are ordinary.
    pub links: Vec<Link>,
    pub hosts: u32,
}

/// A host or a switch. Any node may forward.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Such as "host 3" or "pod 0 edge 1".
    pub name: String,
    /// Such as "host", "edge", "aggregation", "core": the group in link tables and reports. "host" is for
    /// hosts alone.
    pub tier: Cow<'static, str>,
}

/// One direction of a cable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    pub from: NodeId,
    pub to: NodeId,
    /// Bits per second.
    pub rate: Rate,
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
    /// Rate and delay, with the topology's where the tier has none.
    pub fn or(self, rate: Rate, delay: Time) -> (Rate, Time) {
        (self.rate.unwrap_or(rate), self.delay.unwrap_or(delay))
    }
}

impl Fabric {
    /// Adds a node; hosts must all be added before the first switch.
    pub fn add_node(&mut self, name: String, tier: impl Into<Cow<'static, str>>) -> NodeId {
        let tier = tier.into();
        if tier == "host" {
            assert_eq!(self.nodes.len(), self.hosts as usize, "hosts come before switches");
            self.hosts += 1;
        }
        self.nodes.push(Node { name, tier });
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Adds so many hosts, "host 0" and so on.
    fn add_hosts(&mut self, count: u32) {
        for host in 0..count {
            self.add_node(format!("host {host}"), "host");
        }
    }

    /// Adds a cable: two directed links. Returns the one from `a` to `b`.
    pub fn add_cable(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Time) -> LinkId {
        self.links.push(Link { from: a, to: b, rate, delay });
        self.links.push(Link { from: b, to: a, rate, delay });
        LinkId(self.links.len() as u32 - 2)
    }

    /// Its hosts, switches and cables.
    pub fn counts(&self) -> Counts {
        let (nodes, hosts) = (self.nodes.len() as u128, u128::from(self.hosts));
        Counts { hosts, switches: nodes - hosts, cables: self.links.len() as u128 / 2 }
    }

    /// The tiers of both ends of a link, as in "edge-aggregation".
    pub fn tier_of(&self, link: &Link) -> String {
        format!("{}-{}", self.nodes[link.from.index()].tier, self.nodes[link.to.index()].tier)
    }

    /// Problems of the network for schemes that need hosts with one port each.
    pub fn several_ports(&self) -> Option<Problem> {
        let mut ports = vec![0; self.hosts as usize];
        let senders = self.links.iter().map(|link| link.from).filter(|node| self.is_host(*node));
        senders.for_each(|host| ports[host.index()] += 1);
        let host = ports.iter().position(|&ports| ports > 1)?;
        let message =
            format!("is for hosts with one port each, and \"{}\" has {}", self.nodes[host].name, ports[host]);
        Some(Problem::new("", message))
    }

    /// The rate of the hosts' links: the slowest of them, where they differ.
    pub fn host_rate(&self) -> Rate {
        let rates = self.links.iter().filter(|link| self.is_host(link.from)).map(|link| link.rate);
        rates.min().expect("a network has hosts")
    }

    /// Whether the node has an endpoint.
    pub fn is_host(&self, node: NodeId) -> bool {
        node.0 < self.hosts
    }
}
