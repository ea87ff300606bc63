//! Connections that outlive their flows: for each pair of hosts of an entry one is kept, and flows go over it in turn.
//!
//! A flow of a kept connection is called its message. The connection has a slot of its own, without a flow,
//! to which timers, turns at the port and the transport's state belong, and which never closes. Each message
//! has a slot, too, as long as it is active: packets belong to it, and so do the counts of its row.
//! `Conn::via` leads from it to the connection, which for any other flow is its own slot.

use crate::engine::data::numbers::Numbers;
use crate::ids::{ConnId, FlowId, NodeId};
use rustc_hash::FxHashMap;

/// A traffic entry, the sender and the receiver.
pub type Pair = (u32, NodeId, NodeId);

/// The kept connections of a run. Each is known to the host that sends.
#[derive(Debug, Default)]
pub struct Kept {
    open: FxHashMap<Pair, ConnId>,
    /// The first message of each.
    first: FxHashMap<ConnId, FlowId>,
}

impl Kept {
    /// The connection of a traffic entry's sender and receiver, if it has opened.
    pub fn connection(&self, pair: Pair) -> Option<ConnId> {
        self.open.get(&pair).copied()
    }

    /// A connection opens with its first message.
    pub fn keep(&mut self, pair: Pair, id: ConnId, first: FlowId) {
        self.open.insert(pair, id);
        self.first.insert(id, first);
    }

    /// The first flow of a connection, if it is kept.
    pub fn first(&self, id: ConnId) -> Option<FlowId> {
        self.first.get(&id).copied()
    }

    /// The first flow of a kept connection gets its number.
    pub fn number(&mut self, id: ConnId, numbers: &Numbers) {
        if let Some(first) = self.first.get_mut(&id) {
            numbers.give(first);
        }
    }
}
