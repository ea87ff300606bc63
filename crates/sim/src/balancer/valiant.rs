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

    fn among_shortest(&self) -> bool {
        false
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::Routes;
    use crate::topology::Generator;
    use crate::topology::camcube::CamCube;
    use crate::topology::fat_tree::FatTree;

    /// How often connections from host 1 to host 14 get each node as their number, of 200 for each that may be drawn, and
    /// whether it is on the path.
    fn drawn(fabric: &Fabric, via: Via, may: u32) -> Vec<(u32, u32)> {
        let scheme = Scheme::new(&Valiant { via, ..Valiant::default() }, fabric, 1, 0);
        let routes = Routes::build(fabric).expect("a connected network");
        let ends: Vec<NodeId> = fabric.links.iter().map(|link| link.to).collect();
        let mut seen = vec![(0, 0); fabric.nodes.len()];
        for label in 0..200 * may {
            let way = Way {
                from: NodeId(1),
                to: NodeId(14),
                label: label.wrapping_mul(2_654_435_761),
                flow_label: label,
                subflow: 0,
                key: u64::from(label),
                routes: &routes,
                ends: &ends,
            };
            let mut path = Vec::new();
            let half = scheme.assign(way, &mut path).expect("there is a path");
            assert_eq!(path.last().map(|link| ends[link.index()]), Some(NodeId(14)));
            let passes = path.iter().any(|link| ends[link.index()] == NodeId(half));
            let (count, passed) = &mut seen[half as usize];
            (*count, *passed) = (*count + 1, *passed + u32::from(passes));
        }
        seen
    }

    /// Whether 200 expected each are even: chi-square at four deviations of its normal limit.
    fn even(seen: &[(u32, u32)]) -> bool {
        let freedom = seen.len() as f64 - 1.0;
        let chi_square: f64 = seen.iter().map(|(count, _)| (f64::from(*count) - 200.0).powi(2) / 200.0).sum();
        chi_square < freedom + 4.0 * (2.0 * freedom).sqrt()
    }

    /// FT(4, 3) has 16 hosts and 20 switches, from the first to the last of which each is as likely. The path goes by it unless
    /// that would lead back to where it has been, as by edge switches of other hosts.
    #[test]
    fn any_switch_is_as_likely() {
        let fabric = FatTree { k: 4, ..FatTree::default() }.build();
        let seen = drawn(&fabric, Via::Any, 20);
        assert!(seen[..16].iter().all(|(count, _)| *count == 0));
        assert!(even(&seen[16..]), "{seen:?}");
        let cores = fabric.nodes.iter().zip(&seen).filter(|(node, _)| node.tier == "core");
        assert!(cores.clone().count() == 4 && cores.clone().all(|(_, (count, passed))| count == passed));
        let turning = drawn(&fabric, Via::Turning, 4);
        let turned: Vec<_> = turning.into_iter().filter(|(count, _)| *count > 0).collect();
        assert!(turned.len() == 4 && even(&turned), "{turned:?}");
        assert!(turned.iter().all(|(count, passed)| count == passed));
    }

    /// Of hosts alone, any host.
    #[test]
    fn without_switches_any_host_is_as_likely() {
        let fabric = CamCube::default().build();
        assert_eq!((fabric.hosts, fabric.nodes.len()), (27, 27));
        let seen = drawn(&fabric, Via::Any, 27);
        assert!(even(&seen), "{seen:?}");
    }
}
