//! Connections that outlive their flows: for each pair of hosts of an entry one is kept, and flows go over it in turn.
//!
//! A flow of a kept connection is called its message. The connection has a slot of its own, without a flow,
//! to which timers, turns at the port and the transport's state belong, and which never closes. Each message
//! has a slot, too, as long as it is active: packets belong to it, and so do the counts of its row.
//! `Conn::via` leads from it to the connection, which for any other flow is its own slot.

use rustc_hash::FxHashMap;

use super::Engine;
use super::agent::Numbers;
use super::conn::Conn;
use super::cx::Cx;
use super::endpoint::Endpoint;
use super::host::Start;
use super::members::Members;
use crate::ids::{ConnId, FlowId, NodeId};

/// The kept connections of a run. Each is known to the host that sends.
#[derive(Debug, Default)]
pub struct Kept {
    /// By traffic entry, sender and receiver.
    open: FxHashMap<(u32, NodeId, NodeId), ConnId>,
    /// The first message of each.
    first: FxHashMap<ConnId, FlowId>,
}

impl Kept {
    /// The first flow of a kept connection gets its number.
    pub fn number(&mut self, id: ConnId, numbers: &Numbers) {
        if let Some(first) = self.first.get_mut(&id) {
            numbers.give(first);
        }
    }
}

impl<M: Members> Engine<'_, '_, M> {
    /// A message starts on the connection of its pair, which opens with the first one. `conn` is the
    /// connection that it would start on if it had one of its own.
    #[cold]
    pub(super) fn start_message(&mut self, entry: u32, start: Start, conn: Conn) {
        let pair = (entry, conn.src, conn.dst);
        let transport = &mut self.transports[usize::from(conn.transport)];
        let via = match self.kept.open.get(&pair) {
            Some(&via) => via,
            None => {
                let via = self.net.open(Conn { flow: FlowId::NONE, ..conn });
                self.kept.open.insert(pair, via);
                self.kept.first.insert(via, conn.flow);
                transport.connect(
                    via,
                    start.key,
                    &mut Cx { net: &mut self.net, transport: conn.transport, host: conn.src },
                );
                via
            }
        };
        let kept = self.net.conns[via.index()];
        let mut message = Conn { via, label: kept.label, ..conn }.fresh(kept.ports());
        message.sender.class = kept.sender.class;
        let id = self.net.open(message);
        transport.message(
            id,
            start,
            &mut Cx { net: &mut self.net, transport: conn.transport, host: conn.src },
        );
    }

    /// The flow that names a connection in captures: its own, or the first of those that share it.
    pub(super) fn first_flow(&self, id: ConnId) -> FlowId {
        let conns = &self.net.conns;
        let conn = &conns[id.index()];
        let via = match conns[conn.via.index()].parent {
            ConnId::NONE => conn.via,
            whole => whole,
        };
        self.kept.first.get(&via).copied().unwrap_or(conn.flow)
    }
}
