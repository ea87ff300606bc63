//! The engine's [`Host`]: the host of an event, with its connections and ports.

use super::Network;
use crate::engine::contract::controller::Report;
use crate::engine::contract::host::{Host, Toward};
use crate::engine::contract::members::Members;
use crate::engine::contract::path::{Choose, News, Path, Trip};
use crate::engine::data::conn::{Conn, ReceiverEnd, SenderEnd};
use crate::engine::data::credit::Word;
use crate::engine::data::event::Owner;
use crate::engine::data::packet::{Header, Packet, Record, flag};
use crate::engine::data::telemetry::Telemetry;
use crate::ids::{ConnId, FlowId, LinkId, NodeId};
use crate::random::{Purpose, Stream};
use crate::routing::dag::Dag;
use crate::traffic::dependencies::Milestone;
use crate::units::{Rate, Time};

/// The host of an event, for the transport that handles it.
pub struct Cx<'a, 'n, M: Members> {
    pub(in crate::engine) net: &'a mut Network<'n, M>,
    pub(in crate::engine) transport: u8,
    pub(in crate::engine) host: NodeId,
}

impl<M: Members> Host for Cx<'_, '_, M> {
    #[inline]
    fn now(&self) -> Time {
        self.net.now
    }

    #[inline]
    fn host(&self) -> NodeId {
        self.host
    }

    #[inline]
    fn conn(&self, id: ConnId) -> &Conn {
        &self.net.conns[id.index()]
    }

    #[inline]
    fn sender(&mut self, id: ConnId) -> &mut SenderEnd {
        let conn = &mut self.net.conns[id.index()];
        debug_assert_eq!(conn.src, self.host, "connection {id} sends from another host");
        &mut conn.sender
    }

    #[inline]
    fn receiver(&mut self, id: ConnId) -> &mut ReceiverEnd {
        let conn = &mut self.net.conns[id.index()];
        debug_assert_eq!(conn.dst, self.host, "connection {id} ends at another host");
        &mut conn.receiver
    }

    #[inline]
    fn port(&self, id: ConnId) -> LinkId {
        self.net.conns[id.index()].port_at(self.host)
    }

    fn flow_stream(&self, purpose: Purpose, key: u64) -> Stream {
        Stream::new(self.net.seed, self.net.replica, purpose, key)
    }

    fn set_class(&mut self, id: ConnId, class: u8) {
        let least = self.conn(id).class;
        self.sender(id).class = class.max(least);
    }

    #[inline]
    fn transmission(&self, port: LinkId, bytes: u32) -> Time {
        self.net.egress[port.index()].port.transmission(bytes)
    }

    #[inline]
    fn in_unit(&self, port: LinkId, time: Time) -> Time {
        self.net.egress[port.index()].port.in_unit(time)
    }

    #[inline]
    fn rate(&self, port: LinkId) -> Rate {
        self.net.egress[port.index()].port.rate
    }

    #[cold]
    fn shortest_paths(&self, id: ConnId) -> u64 {
        let Network { conns, routes, ends, .. } = &*self.net;
        let Conn { src, dst, .. } = conns[id.index()];
        Dag::new(routes, ends, src, dst).map_or(1, |paths| paths.count())
    }

    #[cold]
    fn path_delay(&self, id: ConnId) -> Time {
        let Network { conns, whole, fabric, .. } = &*self.net;
        let Conn { src, dst, .. } = conns[id.index()];
        let (mut at, mut delay) = (src, Time::ZERO);
        while at != dst {
            let [link, ..] = whole.next_hops(at, dst) else { break };
            for link in [*link, link.reverse()] {
                delay = delay.saturating_add(fabric.links[link.index()].delay);
            }
            at = fabric.links[link.index()].to;
        }
        delay
    }

    fn open_subflow(&mut self, parent: ConnId, number: u8, label: u32) -> ConnId {
        let whole = &mut self.net.conns[parent.index()];
        // One that is kept counts no parts: they stay as long as it does.
        if whole.flow != FlowId::NONE {
            whole.network.begin();
        }
        let whole = *whole;
        let ports = self.net.ports_of(whole.src, whole.dst, label, whole.balancer);
        let own = Conn { subflow: number, parent, via: ConnId::NONE, label, ..whole };
        self.net.open(own.fresh(ports))
    }

    fn open_part(&mut self, message: ConnId, via: ConnId) -> ConnId {
        let whole = &mut self.net.conns[message.index()];
        whole.network.begin();
        let whole = *whole;
        let kept = self.net.conns[via.index()];
        let own = Conn { subflow: kept.subflow, parent: message, via, label: kept.label, ..whole };
        self.net.open(own.fresh(kept.ports()))
    }

    fn finish_subflow(&mut self, id: ConnId) {
        self.sender(id).done = true;
        self.net.end_ranked(id);
        self.net.after.gone(id);
    }

    #[inline]
    fn packet(&mut self, id: ConnId, toward: Toward, size: u32, flags: u8, header: Header) -> Packet {
        let conn = &self.net.conns[id.index()];
        let (dst, label, path_flags) = match toward {
            Toward::Receiver => (conn.dst, conn.sender.label, conn.sender.path_flags),
            Toward::Sender => (conn.src, conn.receiver.label, conn.receiver.path_flags),
        };
        let Conn { transport, balancer, paths_at_source, class, .. } = *conn;
        let header = Header { class: header.class.max(class), ..header };
        let chosen = if paths_at_source { self.choose_path(id, toward, size) } else { None };
        let (label, path_flags) = chosen.map_or((label, path_flags), |path| (path.label, path.flags));
        Packet {
            created_at: self.net.now,
            wire_at: Time::NEVER,
            size,
            conn: id,
            dst,
            ingress: LinkId::NONE,
            label,
            transport,
            balancer,
            flags: flags | path_flags,
            hops: 0,
            header,
        }
    }

    fn path(&self, packet: &Packet) -> Option<u32> {
        let conn = &self.net.conns[packet.conn.index()];
        self.net.balancers[conn.balancer as usize].path(conn.via, packet.dst == conn.dst)
    }

    #[inline(never)]
    fn next_path(&mut self, packet: &mut Packet) {
        let forward = packet.dst == self.net.conns[packet.conn.index()].dst;
        let toward = if forward { Toward::Receiver } else { Toward::Sender };
        if let Some(path) = self.choose_path(packet.conn, toward, packet.size) {
            packet.label = path.label;
            packet.flags = packet.flags & !(flag::ROUTED | flag::BACKWARDS) | path.flags;
        }
    }

    #[inline(never)]
    fn tell_path(&mut self, id: ConnId, news: News) {
        let Network { conns, balancers, now, .. } = &mut *self.net;
        let conn = &conns[id.index()];
        balancers[conn.balancer as usize].learn(conn.via, news, *now);
    }

    fn report(&mut self, report: Report) {
        let Network { control_plane, mailbox, calendar, now, .. } = &mut *self.net;
        if let Some(control_plane) = control_plane {
            return control_plane.report(report, *now, calendar);
        }
        let mailbox = mailbox.as_mut().expect("the check gives each transport that reports a controller");
        mailbox.report(report, calendar.ties.key(*now, calendar.place()));
    }

    #[inline]
    fn word(&mut self, port: LinkId, class: usize) -> Word {
        self.net.control.credits.word(port, class, self.net.now)
    }

    #[inline]
    fn record(&mut self) -> &mut Record {
        &mut self.net.record
    }

    fn telemetry(&self, created_at: Time) -> Telemetry {
        self.net.arena.stamps.read(&self.net.record, created_at)
    }

    #[inline]
    fn send(&mut self, packet: Packet) {
        let conn = &mut self.net.conns[packet.conn.index()];
        conn.network.begin();
        let port = conn.port_at(self.host);
        self.net.packets_made += 1;
        let id = self.net.insert(packet);
        if self.net.shows {
            return self.net.offer_shown(port, id);
        }
        self.net.offer::<false>(port, id);
    }

    #[inline]
    fn ready(&mut self, id: ConnId) {
        let conn = &self.net.conns[id.index()];
        debug_assert_eq!(conn.src, self.host, "connection {id} sends from another host");
        let link = conn.sender.port;
        self.net.ready[link.index()].push(&mut self.net.conns, id);
        self.net.wake(link);
    }

    fn ready_by(&mut self, id: ConnId, rank: u64) {
        self.net.rank(id, rank);
        self.ready(id);
    }

    fn change_rank(&mut self, id: ConnId, rank: u64) {
        self.net.rank(id, rank);
    }

    fn not_ready(&mut self, id: ConnId) {
        self.net.unrank(id);
    }

    #[inline]
    fn is_next(&self, id: ConnId) -> bool {
        let link = self.net.conns[id.index()].sender.port;
        let port = &self.net.egress[link.index()].port;
        let is_free = !port.serving && port.paused == 0 && port.free_at <= self.net.now;
        is_free && self.net.ready[link.index()].is_first(id)
    }

    #[inline]
    fn timer_fires(&mut self) {
        self.net.after.watch.fired = true;
    }

    fn push_timer(&mut self, due: Time, owner: Owner, kind: u8) {
        let host = match owner {
            Owner::Sender(id) => {
                let conn = &mut self.net.conns[id.index()];
                conn.sender.timers += 1;
                conn.src
            }
            Owner::Receiver(id) => {
                let conn = &mut self.net.conns[id.index()];
                conn.receiver.timers += 1;
                conn.dst
            }
            Owner::Interface(link) => self.net.ends[link.index()],
        };
        debug_assert_eq!(host, self.host, "{owner:?} belongs to another host");
        self.net.push_timer(due, host, self.transport, owner, kind);
    }

    #[inline]
    fn delivered(&mut self, id: ConnId, bytes: u64) {
        self.receiver(id).delivered_bytes += bytes;
        let Conn { via, background, .. } = self.net.conns[id.index()];
        if !background {
            self.net.moved_at = self.net.now;
        }
        if via != id {
            // The bytes that a kept connection has delivered in all are compared with its receiver's.
            self.receiver(via).delivered_bytes += bytes;
        }
    }

    #[inline]
    fn note_arrival_in(&mut self, id: ConnId, packet: &Packet) {
        let end = self.receiver(id);
        if packet.created_at < end.newest {
            end.reordered += 1;
        } else {
            end.newest = packet.created_at;
        }
    }

    fn completed(&mut self, id: ConnId) {
        self.receiver(id).completed_at = self.net.now;
        self.note_received(id);
    }

    fn acknowledged(&mut self, id: ConnId) {
        self.sender(id).acked_at = self.net.now;
    }

    fn give_up(&mut self, id: ConnId) {
        self.sender(id).gave_up = true;
    }

    fn given_up(&mut self, id: ConnId) {
        self.note_received(id);
    }

    fn finish(&mut self, id: ConnId) {
        self.sender(id).done = true;
        self.net.end_ranked(id);
        self.net.after.gone(id);
        self.note_end(id, Milestone::Acked);
    }
}

impl<M: Members> Cx<'_, '_, M> {
    /// The path of the next packet of one end of a connection, if its source chooses one for each.
    #[inline(never)]
    fn choose_path(&mut self, id: ConnId, toward: Toward, size: u32) -> Option<Path> {
        let Network { conns, balancers, routes, ends, now, .. } = &mut *self.net;
        let conn = &conns[id.index()];
        let forward = toward == Toward::Receiver;
        let (port, to) = if forward { (conn.sender.port, conn.dst) } else { (conn.receiver.port, conn.src) };
        let trip = Trip { conn: conn.via, forward, port, to, size, now: *now, routes, ends };
        balancers[conn.balancer as usize].next_path(trip)
    }

    /// A flow that was given up may complete later, and its sender may say so twice: its end is one.
    fn note_received(&mut self, id: ConnId) {
        if !std::mem::replace(&mut self.receiver(id).ended, true) {
            self.note_end(id, Milestone::Received);
        }
    }

    /// For flows that depend on the end of this one.
    #[cold]
    #[inline(never)]
    fn note_end(&mut self, id: ConnId, at: Milestone) {
        if self.net.reacts {
            self.net.after.ended(self.net.conns[id.index()].flow, at);
        }
    }
}
