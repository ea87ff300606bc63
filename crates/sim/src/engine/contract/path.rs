//! Choice of path: the contract between the network and the load balancer that chooses among equal next hops.
//!
//! A balancer chooses at each node as the packet is there, or leaves that to the source: as a label from which each switch
//! reads its choice, or as a whole path (`paths.rs`), on any topology, longer than the shortest too. The balancers
//! themselves are in `balancer/`.

use crate::engine::data::paths::Paths;
use crate::ids::{ConnId, LinkId, NodeId};
use crate::routing::Routes;
use crate::units::Time;

/// A packet that has a choice.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// The node.
    pub at: NodeId,
    /// Stands for the packet's 5-tuple; or says the source's choices, if the balancer leaves them to it.
    pub label: u32,
    /// Links that the packet has crossed.
    pub hops: u8,
    /// A number that no other hop of any packet has: the index of its random number, in whatever order hops come.
    pub ticket: u64,
    /// How many next hops there are.
    pub count: u32,
}

/// Input of a source's choice of the path of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Trip<'a> {
    /// The packet's connection.
    pub conn: ConnId,
    /// Whether it goes to the connection's receiver.
    pub forward: bool,
    /// The port by which it leaves.
    pub port: LinkId,
    /// The host that it is for.
    pub to: NodeId,
    /// All shortest paths as they are now.
    pub routes: &'a Routes,
    /// Where each link ends.
    pub ends: &'a [NodeId],
}

/// The path that a source has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Its number among the paths of this end of the connection, from 0.
    pub number: u32,
    /// Label from which [`Choose::choose`] finds it; or the number of a whole path.
    pub label: u32,
    /// Of a whole path [`flag::ROUTED`](crate::engine::data::packet::flag::ROUTED), and
    /// [`flag::BACKWARDS`](crate::engine::data::packet::flag::BACKWARDS) if its packets go it backwards; else 0.
    pub flags: u8,
}

/// A connection that opens, or one of its subflows.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// The connection, or the subflow.
    pub id: ConnId,
    /// The host of its sender.
    pub src: NodeId,
    /// The host of its receiver.
    pub dst: NodeId,
    /// The label of packets to its receiver.
    pub label: u32,
    /// The label of the whole flow, which all its subflows share; without subflows, `label`.
    pub flow_label: u32,
    /// The subflow's number, from 0.
    pub subflow: u8,
    /// The flow's key, see [`flow_key`](crate::random::flow_key).
    pub key: u64,
    /// The ports by which its sender and its receiver send unless the balancer decides otherwise.
    pub ports: (LinkId, LinkId),
    /// All shortest paths as they are now.
    pub routes: &'a Routes,
}

/// The state of a balancer at all nodes: what a researcher writes.
pub trait Choose {
    /// Which of `hop.count` next hops the packet takes, now that it is there.
    fn choose(&mut self, hop: Hop, now: Time) -> u32;

    /// Result of [`Choose::choose`], if it is known before the packet is there. It spares the engine a wait for memory.
    #[inline]
    fn foresee(&self, hop: Hop) -> Option<u32> {
        let _ = hop;
        None
    }

    /// A connection opens, or one of its subflows. Says the ports by which its sender and its receiver send: the first
    /// links of their whole paths, if they have any.
    fn open(&mut self, opening: Opening, paths: &mut Paths) -> (LinkId, LinkId) {
        let _ = paths;
        opening.ports
    }

    /// Of a connection that has opened: the path of all packets of that end, if its source has one for it.
    fn whole_path(&self, id: ConnId, forward: bool) -> Option<Path> {
        let _ = (id, forward);
        None
    }

    /// Whether sources choose a path for each packet: only then [`Choose::next_path`] is asked.
    fn at_source(&self) -> bool {
        false
    }

    /// At the host that makes a packet: the path that is next, if the source chooses it.
    fn next_path(&mut self, trip: Trip) -> Option<Path> {
        let _ = trip;
        None
    }

    /// The number of the path that [`Choose::next_path`] has said last for that end of the connection, or of its whole path.
    fn path(&self, id: ConnId, forward: bool) -> Option<u32> {
        let _ = (id, forward);
        None
    }
}

/// A balancer whose choice depends on nothing but the packet.
pub trait Stateless {
    /// Which of `hop.count` next hops the packet takes.
    fn pick(&self, hop: Hop) -> u32;
}

impl<T: Stateless> Choose for T {
    #[inline(always)]
    fn choose(&mut self, hop: Hop, _now: Time) -> u32 {
        self.pick(hop)
    }

    #[inline(always)]
    fn foresee(&self, hop: Hop) -> Option<u32> {
        Some(self.pick(hop))
    }
}
