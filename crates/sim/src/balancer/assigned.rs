//! Connections that are given a whole path when they open: shared parts of the schemes that do so.
//!
//! A scheme gives a path from one host to another (`Assign`); all packets of that end of the connection go by
//! it, whatever the routes become meanwhile. Without a path a packet goes as under "per-flow".

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::per_flow::{self, PerFlow};
use crate::engine::contract::packet::{flag, reverse_label};
use crate::engine::contract::path::{Choose, Hop, Opening, Path, Stateless};
use crate::engine::contract::paths::{LINKS_MAX, Paths};
use crate::ids::{ConnId, LinkId, NodeId, PathId};
use crate::routing::Routes;
use crate::topology::Fabric;
use crate::units::Time;

/// The path of packets that a receiver sends: acknowledgements, pulls and the like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Answers {
    /// One of its own, chosen as if it were the sender.
    #[default]
    Own,
    /// That of the data, backwards.
    Backwards,
}

/// One end of a connection that opens.
#[derive(Clone, Copy, Debug)]
pub struct Way<'a> {
    pub from: NodeId,
    pub to: NodeId,
    /// The label of the packets of this end.
    pub label: u32,
    /// That of the flow, which its subflows share; of the receiver's end its reverse.
    pub flow_label: u32,
    /// The number of the subflow, from 0.
    pub subflow: u8,
    /// The flow's key, see [`flow_key`](crate::random::flow_key).
    pub key: u64,
    /// All shortest paths as they are now.
    pub routes: &'a Routes,
    /// Where each link ends.
    pub ends: &'a [NodeId],
}

impl Way<'_> {
    /// Goes along shortest paths; `choose` says which of so many next hops to take at a node that has more than one.
    /// Whether that leads to the end.
    pub fn walk(&self, path: &mut Vec<LinkId>, mut choose: impl FnMut(NodeId, usize) -> usize) -> bool {
        let mut at = self.from;
        while at != self.to {
            let hops = self.routes.next_hops(at, self.to);
            let link = match hops {
                [] => return false,
                [only] => *only,
                _ => hops[choose(at, hops.len())],
            };
            path.push(link);
            at = self.ends[link.index()];
        }
        true
    }
}

/// A scheme that gives each end of a connection a path: what a researcher writes.
pub trait Assign: fmt::Debug + Send + Sync {
    /// Writes the links of the path and says its number, for what tells paths apart by number; none if there is none.
    fn assign(&self, way: Way, path: &mut Vec<LinkId>) -> Option<u32>;
}

/// The paths of all connections.
#[derive(Clone, Debug)]
pub struct Assigned {
    scheme: Arc<dyn Assign>,
    answers: Answers,
    ends: Vec<NodeId>,
    /// By connection: of the packets to its sender, and to its receiver.
    paths: Vec<[Option<Path>; 2]>,
    otherwise: per_flow::Model,
}

impl Assigned {
    pub(super) fn by(
        scheme: Arc<dyn Assign>,
        answers: Answers,
        fabric: &Fabric,
        seed: u64,
        replica: u64,
    ) -> Assigned {
        Assigned {
            scheme,
            answers,
            ends: fabric.links.iter().map(|link| link.to).collect(),
            paths: Vec::new(),
            otherwise: per_flow::Model::new(&PerFlow {}, fabric, seed, replica),
        }
    }

    /// The path of one end, and the link by which it begins.
    fn path(&self, way: Way, paths: &mut Paths) -> Option<(Path, LinkId)> {
        let mut links = Vec::new();
        let number = self.scheme.assign(way, &mut links)?;
        if links.is_empty() || links.len() > LINKS_MAX {
            return None;
        }
        debug_assert!(self.connects(way, &links), "{links:?} does not lead from {} to {}", way.from, way.to);
        let path = Path { number, label: paths.intern(&links).0, flags: flag::ROUTED };
        Some((path, links[0]))
    }

    fn connects(&self, way: Way, links: &[LinkId]) -> bool {
        let mut at = way.from;
        links.iter().all(|link| {
            let begins = self.ends[link.reverse().index()] == at;
            at = self.ends[link.index()];
            begins
        }) && at == way.to
    }
}

impl Choose for Assigned {
    /// Of a packet without a path. That is rare, and is not to take room where packets of other balancers pass.
    #[inline(never)]
    fn choose(&mut self, hop: Hop, _now: Time) -> u32 {
        self.otherwise.pick(hop)
    }

    #[cold]
    fn open(&mut self, opening: Opening, paths: &mut Paths) -> (LinkId, LinkId) {
        let Opening { id, src, dst, label, flow_label, subflow, key, ports, routes } = opening;
        let ends = &self.ends[..];
        let out = Way { from: src, to: dst, label, flow_label, subflow, key, routes, ends };
        let forward = self.path(out, paths);
        let back = match (self.answers, forward) {
            (Answers::Backwards, Some((path, _))) => {
                let links = paths.links(PathId(path.label));
                let path = Path { flags: path.flags | flag::BACKWARDS, ..path };
                Some((path, links[links.len() - 1].reverse()))
            }
            _ => {
                let [label, flow_label] = [label, flow_label].map(reverse_label);
                let back = Way { from: dst, to: src, label, flow_label, ..out };
                self.path(back, paths)
            }
        };
        if id.index() >= self.paths.len() {
            self.paths.resize(id.index() + 1, [None; 2]);
        }
        self.paths[id.index()] = [back, forward].map(|end| end.map(|(path, _)| path));
        let port = |end: Option<(Path, LinkId)>, port| end.map_or(port, |(_, first)| first);
        (port(forward, ports.0), port(back, ports.1))
    }

    fn whole_path(&self, id: ConnId, forward: bool) -> Option<Path> {
        self.paths[id.index()][usize::from(forward)]
    }

    fn path(&self, id: ConnId, forward: bool) -> Option<u32> {
        self.paths[id.index()][usize::from(forward)].map(|path| path.number)
    }
}
