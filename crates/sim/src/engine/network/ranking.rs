//! Connections that are ready by rank: which of them a host's port calls.

use super::Network;
use crate::engine::contract::members::Members;
use crate::engine::data::conn;
use crate::engine::data::gate::class_of;
use crate::engine::data::ranks::Ranks;
use crate::ids::{ConnId, LinkId};

impl<M: Members> Network<'_, M> {
    /// A connection is ready by that rank.
    pub(in crate::engine) fn rank(&mut self, id: ConnId, rank: u64) {
        let port = self.conns[id.index()].sender.port.index();
        if self.ranks.len() <= port {
            self.ranks.resize(port + 1, Ranks::default());
        }
        self.ranks[port].set(&mut self.conns, id, rank);
    }

    /// Whether a connection is ready by rank.
    #[inline]
    pub(in crate::engine) fn is_ranked(&self, id: ConnId) -> bool {
        self.conns[id.index()].sender.rank_at != conn::NOWHERE
    }

    /// A connection is no longer ready by rank.
    pub(in crate::engine) fn unrank(&mut self, id: ConnId) {
        if self.is_ranked(id) {
            let port = self.conns[id.index()].sender.port;
            self.ranks[port.index()].leave(&mut self.conns, id);
        }
    }

    /// The sender of a connection is done.
    pub(in crate::engine) fn end_ranked(&mut self, id: ConnId) {
        if let Some(ranks) = self.ranks.get_mut(self.conns[id.index()].sender.port.index()) {
            ranks.end(&mut self.conns, id);
        }
    }

    /// The connection that a port calls when one that is ready by rank has its turn, unless that one's class stands still.
    pub(in crate::engine) fn most_urgent(&mut self, link: LinkId, turn: ConnId, stopped: u8) -> ConnId {
        let chosen = self.ranks[link.index()].choose(&self.conns, turn).unwrap_or(turn);
        let class = class_of(self.conns[chosen.index()].sender.class);
        if stopped & 1 << class == 0 { chosen } else { turn }
    }

    /// Hosts send by other ports from now on.
    pub(in crate::engine) fn move_ranked(&mut self) {
        for port in 0..self.ranks.len() {
            for (id, rank) in self.ranks[port].take(&mut self.conns) {
                self.rank(id, rank);
            }
        }
    }
}
