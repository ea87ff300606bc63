//! Nodes by their names, and messages for unknown names and missing cables.

use std::cell::Cell;
use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::Fabric;
use crate::ids::{LinkId, NodeId};
use crate::nearest;

/// So many ends of a node's cables are named.
const NEIGHBOURS: usize = 4;

/// The nodes and cables of a network, for references by name.
#[derive(Clone, Debug)]
pub struct Names<'a> {
    fabric: &'a Fabric,
    nodes: FxHashMap<&'a str, NodeId>,
    links: FxHashMap<(NodeId, NodeId), LinkId>,
    /// Number of further wrong names that get a suggestion of the one probably meant: finding it takes a
    /// while.
    guesses: Cell<u32>,
}

impl<'a> Names<'a> {
    /// Those of that network.
    pub fn new(fabric: &'a Fabric) -> Names<'a> {
        let nodes = fabric.nodes.iter().zip(0..).map(|(node, at)| (node.name.as_str(), NodeId(at))).collect();
        // Of parallel cables the first stays.
        let links = fabric.links.iter().enumerate().rev();
        let links = links.map(|(at, link)| ((link.from, link.to), LinkId(at as u32))).collect();
        Names { fabric, nodes, links, guesses: Cell::new(20) }
    }

    /// The node of that name; or the message if none has it.
    pub fn find(&self, name: &str) -> Result<NodeId, String> {
        self.nodes.get(name).copied().ok_or_else(|| {
            let left = self.guesses.get();
            self.guesses.set(left.saturating_sub(1));
            unknown(self.fabric, name, left > 0)
        })
    }

    /// The number of the host of that name; or the message if none has it.
    pub fn host(&self, name: &str) -> Result<u32, String> {
        match self.nodes.get(name) {
            Some(&node) if self.fabric.is_host(node) => Ok(node.0),
            Some(_) => Err(format!("\"{name}\" is a switch; flows are between hosts")),
            None => Err(self.no_host(name)),
        }
    }

    fn no_host(&self, name: &str) -> String {
        let hosts = &self.fabric.nodes[..self.fabric.hosts as usize];
        let left = self.guesses.get();
        self.guesses.set(left.saturating_sub(1));
        let names = hosts.iter().map(|node| node.name.as_str());
        let number = name.parse().ok().filter(|&number: &u32| number < self.fabric.hosts);
        let near = (left > 0).then(|| nearest::closest(name, names)).flatten().map(nearest::did_you_mean);
        let hint = number.map(|number| format!("write {number}, without quotes")).or(near);
        let all = || format!("hosts are 0 to {}, or \"{}\" and so on", hosts.len() - 1, hosts[0].name);
        format!("\"{name}\" is no host of this network; {}", hint.unwrap_or_else(all))
    }

    /// The first link from one node to another.
    pub fn link(&self, from: NodeId, to: NodeId) -> Option<LinkId> {
        self.links.get(&(from, to)).copied()
    }
}

/// The message for a missing cable: the neighbours of its first end.
pub fn no_cable(fabric: &Fabric, from: NodeId, to: &str) -> String {
    let name = |node: NodeId| format!("\"{}\"", fabric.nodes[node.index()].name);
    let ends: BTreeSet<String> =
        fabric.links.iter().filter(|link| link.from == from).map(|link| name(link.to)).collect();
    let more = if ends.len() > NEIGHBOURS { " and others" } else { "" };
    let ends = ends.into_iter().take(NEIGHBOURS).collect::<Vec<_>>().join(", ");
    format!("there is no cable from {} to \"{to}\"; its cables lead to {ends}{more}", name(from))
}

/// The message for an unknown name; with `guess` it has the one that was probably meant, which takes a while.
pub fn unknown(fabric: &Fabric, name: &str, guess: bool) -> String {
    let names = fabric.nodes.iter().map(|node| node.name.as_str());
    let near = guess.then(|| nearest::closest(name, names)).flatten();
    let hint = near.map_or_else(|| format!("nodes are such as {}", examples(fabric)), nearest::did_you_mean);
    format!("\"{name}\" is no node of this network; {hint}")
}

/// A node of each tier.
fn examples(fabric: &Fabric) -> String {
    let mut tiers = BTreeSet::new();
    let first = fabric.nodes.iter().filter(|node| tiers.insert(node.tier.to_string()));
    first.map(|node| format!("\"{}\"", node.name)).collect::<Vec<_>>().join(", ")
}
