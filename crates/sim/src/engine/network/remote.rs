//! Connections, paths and packets that come from other parts of a run.

use super::Network;
use crate::engine::contract::members::Members;
use crate::engine::data::boundary::Outbox;
use crate::engine::data::conn::Conn;
use crate::engine::data::event::Event;
use crate::engine::data::packet::flag;
use crate::ids::{ConnId, PathId};

impl<M: Members> Network<'_, M> {
    /// A connection has opened in another part.
    pub(in crate::engine) fn admit(&mut self, id: ConnId, conn: Conn) {
        let mut copy = Conn { closing: false, counted: false, ..conn.fresh(conn.ports()) };
        // No other part has packets of it that are not on their way.
        let has_end = !(self.remote.is_remote(conn.src) && self.remote.is_remote(conn.dst));
        if conn.via == id && has_end {
            self.open_paths(id, &conn);
        }
        if has_end {
            self.note_paths(&mut copy);
        }
        self.put(id, copy);
    }

    /// Adds to the data for other parts the whole paths of packets that those parts do not have yet.
    pub(in crate::engine) fn announce_paths(&mut self) {
        if self.paths.is_empty() {
            return;
        }
        for part in self.after.out.filled() {
            let outbox = self.after.out.fill(part);
            for crossing in outbox.packets[outbox.announced..].iter().filter(|it| it.packet.has(flag::ROUTED))
            {
                self.paths.announce(PathId(crossing.packet.label), part, &mut outbox.paths);
            }
            outbox.announced = outbox.packets.len();
        }
    }

    /// Packets and pause frames come from that part.
    pub(in crate::engine) fn take_in(&mut self, from: usize, outbox: &mut Outbox) {
        self.paths.receive(from, &outbox.paths);
        for (at, crossing) in outbox.packets.iter().enumerate() {
            let mut packet = crossing.packet;
            let node = self.ends[self.links.of(&crossing.event).index()];
            assert!(!self.remote.is_remote(node), "a packet for {node} has come to another part of the run");
            if packet.has(flag::ROUTED) {
                packet.label = self.paths.own(from, PathId(packet.label)).0;
            }
            let id = self.arena.insert(packet);
            if let Some(record) = outbox.records.get(at) {
                *self.arena.record(id) = *record;
            }
            if let Some(tag) = outbox.tags.get(at) {
                *self.arena.tag(id) = *tag;
            }
            self.calendar.push(Event { a: id.0, ..crossing.event });
        }
        outbox.pauses.iter().for_each(|&frame| self.calendar.push(frame));
        outbox.clear();
    }
}
