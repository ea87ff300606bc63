//! Valiant load balancing: each connection goes by a random switch.
//!
//! Source: Valiant, "A scheme for fast parallel communication", SIAM J. Comput. 1982; in data centres VL2
//! (Greenberg et al., SIGCOMM 2009). In a fat-tree the switch at which a path turns is random, as under
//! per-flow ECMP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use super::assigned::{Answers, Assign, Way};
use crate::ids::{LinkId, NodeId};
use crate::random::{Purpose, Stream};
use crate::routing::Ports;
use crate::topology::Fabric;

/// Each connection goes by a switch drawn at random, and on shortest paths to it and from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Valiant {
    /// The switches from which it is drawn.
    pub via: Via,
    /// The path of acknowledgements and other answers.
    pub answers: Answers,
}

/// The switches that a connection may go by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// Those half-way on shortest paths: where a path up and down turns.
    #[default]
    Turning,
    /// Any switch: paths may be up to twice as long as the longest shortest one. On a network of hosts alone, any host.
    Any,
}

impl Settings for Valiant {
    fn one_path(&self) -> bool {
        true
    }

    fn answers_backwards(&self) -> bool {
        self.answers == Answers::Backwards
    }

    fn links_most(&self, longest: u32) -> u32 {
        if self.via == Via::Any { 2 * longest } else { longest }
    }
}

/// Where connections may go.
#[derive(Clone, Debug)]
pub struct Scheme {
    via: Via,
    ports: Ports,
    nodes: u32,
    hosts: u32,
    seed: u64,
    replica: u64,
}

impl Scheme {
    pub(super) fn new(config: &Valiant, fabric: &Fabric, seed: u64, replica: u64) -> Scheme {
        let (nodes, hosts, ports) = (fabric.nodes.len() as u32, fabric.hosts, Ports::all(fabric));
        Scheme { via: config.via, ports, nodes, hosts, seed, replica }
    }
}

impl Assign for Scheme {
    fn assign(&self, way: Way, path: &mut Vec<LinkId>) -> Option<u32> {
        let mut stream = Stream::new(self.seed, self.replica, Purpose::Paths, u64::from(way.label));
        let half = match self.via {
            Via::Turning => Via::half_way(&way, &mut stream)?,
            Via::Any => {
                let first = if self.nodes > self.hosts { self.hosts } else { 0 };
                NodeId(first + stream.below(u64::from(self.nodes - first)) as u32)
            }
        };
        let mut at = way.from;
        for to in [half, way.to] {
            self.step(at, to, &mut stream, path)?;
            at = to;
        }
        self.straighten(way.from, path);
        Some(half.0)
    }
}

impl Via {
    /// A node half-way on a shortest path, each as likely.
    fn half_way(way: &Way, stream: &mut Stream) -> Option<NodeId> {
        let dag = crate::routing::dag::Dag::new(way.routes, way.ends, way.from, way.to)?;
        let level = dag.level(dag.links() / 2);
        let place = stream.below(level.len() as u64) as usize;
        dag.level(dag.links() / 2).nth(place)
    }
}

impl Scheme {
    /// Appends a shortest path from one node to another, at each node a random one of the links that begin one.
    fn step(&self, from: NodeId, to: NodeId, stream: &mut Stream, path: &mut Vec<LinkId>) -> Option<()> {
        let distance = self.ports.distances(to);
        let mut at = from;
        while at != to {
            let left = distance[at.index()].checked_sub(1).filter(|&left| left < u32::MAX - 1)?;
            let (out, ends) = (self.ports.out(at), self.ports.ends(at));
            let nearer: Vec<usize> =
                (0..out.len()).filter(|&port| distance[ends[port].index()] == left).collect();
            let port = nearer[stream.below(nearer.len() as u64) as usize];
            path.push(out[port]);
            at = ends[port];
        }
        Some(())
    }

    /// Leaves out next hops back to a node where the path has been, such as the own edge switch.
    fn straighten(&self, from: NodeId, path: &mut Vec<LinkId>) {
        let mut nodes = vec![from];
        let mut kept: Vec<LinkId> = Vec::new();
        for &link in &*path {
            let at = nodes[nodes.len() - 1];
            let port =
                self.ports.out(at).iter().position(|out| *out == link).expect("a link out of the node");
            let end = self.ports.ends(at)[port];
            match nodes.iter().position(|node| *node == end) {
                Some(place) => {
                    nodes.truncate(place + 1);
                    kept.truncate(place);
                }
                None => {
                    nodes.push(end);
                    kept.push(link);
                }
            }
        }
        *path = kept;
    }
}
