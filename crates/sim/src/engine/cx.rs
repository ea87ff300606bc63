//! What a transport sees: its host, its connections, the time; it cannot reach the network.

use super::conn::{Conn, Counts};
use super::event::Phase;
use super::network::Network;
use super::packet::{Header, Packet, flag, reverse_label};
use crate::balancer::{Choose, Trip};
use crate::ids::{ConnId, FlowId, LinkId, NodeId};
use crate::random::{Purpose, Stream};
use crate::traffic::dependencies::Milestone;
use crate::units::{Rate, Time};

/// The side of a connection to which a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toward {
    /// From the sender to the receiver.
    Receiver,
    /// From the receiver to the sender.
    Sender,
}

/// A timer of which at most one event is pending. Setting it later costs nothing: the event is put off
/// when it comes too early.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    due: Time,
    event: Time,
}

impl Default for Timer {
    fn default() -> Self {
        Timer { due: Time::NEVER, event: Time::NEVER }
    }
}

impl Timer {
    /// Whether it is set.
    pub fn is_set(&self) -> bool {
        self.due != Time::NEVER
    }

    /// When it is due; [`Time::NEVER`] if it is not set.
    pub fn due(&self) -> Time {
        self.due
    }

    /// Switches it off.
    pub fn clear(&mut self) {
        self.due = Time::NEVER;
    }
}

/// Who a timer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A connection's sender or receiver; the kind tells them apart.
    Conn(ConnId),
    /// What a host has for each of its interfaces: the link that ends there.
    Link(LinkId),
}

/// What a transport can do at the moment of an event. It must touch only the host of that event.
pub struct Cx<'a, 'n> {
    pub(super) net: &'a mut Network<'n>,
    pub(super) transport: u8,
}

impl Cx<'_, '_> {
    /// The present.
    #[inline]
    pub fn now(&self) -> Time {
        self.net.now
    }

    /// A connection's place and counters.
    #[inline]
    pub fn conn(&self, id: ConnId) -> &Conn {
        &self.net.conns[id.index()]
    }

    /// What is counted for a connection's flow.
    #[inline]
    pub fn counts(&mut self, id: ConnId) -> &mut Counts {
        &mut self.net.conns[id.index()].counts
    }

    /// A host's own chance.
    pub fn chance(&mut self, host: NodeId) -> &mut Stream {
        &mut self.net.host_chance[host.index()]
    }

    /// While a flow starts: when it is due; [`Time::NEVER`] without a deadline.
    pub fn due(&self) -> Time {
        self.net.due
    }

    /// Chance of a flow's own, by the key that it started with.
    pub fn flow_chance(&self, purpose: Purpose, key: u64) -> Stream {
        Stream::new(self.net.seed, self.net.replica, purpose, key)
    }

    /// At the start of a connection: the class of its data. Each packet says its own in its header as well.
    pub fn set_class(&mut self, id: ConnId, class: u8) {
        self.net.conns[id.index()].class = class;
    }

    /// Time that so many bytes take on the wire of a port.
    #[inline]
    pub fn transmission(&self, port: LinkId, bytes: u32) -> Time {
        self.net.egress[port.index()].port.transmission(bytes)
    }

    /// What the wire of a port can do at present.
    #[inline]
    pub fn rate(&self, port: LinkId) -> Rate {
        self.net.egress[port.index()].port.rate
    }

    /// Opens a further connection of the flow that `parent` stands for, between the same hosts, with a 5-tuple of its own.
    ///
    /// From then on `parent` carries no packets. It counts what the flow delivers, and says when the flow has completed
    /// and finished; packets are counted by the subflows, and the flow's row has their sums.
    pub fn open_subflow(&mut self, parent: ConnId, number: u8, label: u32) -> ConnId {
        let whole = &mut self.net.conns[parent.index()];
        // One that is kept counts no parts: they stay as long as it does.
        whole.packets += u32::from(whole.flow != FlowId::NONE);
        let whole = *whole;
        let (src_port, dst_port) = self.net.ports_of(whole.src, whole.dst, label, whole.balancer);
        let (packets, counts, via) = (0, Counts::UNFINISHED, ConnId::NONE);
        let own = Conn { subflow: number, parent, via, src_port, dst_port, label, packets, counts, ..whole };
        self.net.open(own)
    }

    /// The part of a message that one subflow of its kept connection carries: a slot of its own, to which the packets
    /// belong, as [`Cx::open_subflow`] makes one for a flow that has the subflow for itself.
    pub fn open_part(&mut self, message: ConnId, via: ConnId) -> ConnId {
        let whole = &mut self.net.conns[message.index()];
        whole.packets += 1;
        let whole = *whole;
        let Conn { subflow, src_port, dst_port, label, .. } = self.net.conns[via.index()];
        let (packets, counts) = (0, Counts::UNFINISHED);
        let own = Conn { subflow, parent: message, via, src_port, dst_port, label, packets, counts, ..whole };
        self.net.open(own)
    }

    /// A subflow's sender has nothing left to do: it closes once its last packet is gone.
    pub fn finish_subflow(&mut self, id: ConnId) {
        self.net.conns[id.index()].done = true;
        self.net.after.gone(id);
    }

    /// Makes a packet of `size` bytes on the wire. The transport then sends it, or hands it to the wire that asked.
    #[inline]
    pub fn packet(&mut self, id: ConnId, toward: Toward, size: u32, flags: u8, header: Header) -> Packet {
        let now = self.net.now;
        let Network { conns, balancers, routes, ends, .. } = &mut *self.net;
        let conn = &conns[id.index()];
        let forward = toward == Toward::Receiver;
        let (dst, port, label) = match toward {
            Toward::Receiver => (conn.dst, conn.src_port, conn.label),
            Toward::Sender => (conn.src, conn.dst_port, reverse_label(conn.label)),
        };
        let trip = Trip { conn: conn.via, forward, port, to: dst, routes, ends };
        let path = balancers[conn.balancer as usize].next_path(trip);
        let label = path.map_or(label, |path| path.label);
        Packet {
            created_at: now,
            wire_at: Time::NEVER,
            size,
            conn: id,
            dst,
            ingress: LinkId::NONE,
            label,
            transport: conn.transport,
            balancer: conn.balancer,
            flags,
            hops: 0,
            header,
        }
    }

    /// The number of the path that a packet takes, which must be the last one made in its direction of its connection;
    /// none unless the balancer leaves the path to the source.
    pub fn path(&self, packet: &Packet) -> Option<u32> {
        let conn = &self.net.conns[packet.conn.index()];
        self.net.balancers[conn.balancer as usize].path(conn.via, packet.dst == conn.dst)
    }

    /// Puts a packet that has just been made on the path that is next, if the balancer leaves that to the source.
    pub fn next_path(&mut self, packet: &mut Packet) {
        let Network { conns, balancers, routes, ends, .. } = &mut *self.net;
        let conn = &conns[packet.conn.index()];
        let forward = packet.dst == conn.dst;
        let port = if forward { conn.src_port } else { conn.dst_port };
        let trip = Trip { conn: conn.via, forward, port, to: packet.dst, routes, ends };
        if let Some(path) = balancers[conn.balancer as usize].next_path(trip) {
            packet.label = path.label;
        }
    }

    /// Sends a packet at once, ahead of data that waits for its turn: acknowledgements, pulls and the like.
    #[inline]
    pub fn send(&mut self, packet: Packet) {
        let conn = &mut self.net.conns[packet.conn.index()];
        conn.packets += 1;
        let port = if packet.dst == conn.dst { conn.src_port } else { conn.dst_port };
        self.net.packets_made += 1;
        let id = self.net.arena.insert(packet);
        self.net.offer(port, id);
    }

    /// Sends a control packet without payload: see [`Cx::packet`] and [`Cx::send`].
    #[inline]
    pub fn send_control(&mut self, id: ConnId, toward: Toward, size: u32, header: Header) {
        let packet = self.packet(id, toward, size, flag::CONTROL, header);
        self.send(packet);
    }

    /// The sender of a connection has something to send: its port will ask for it in its turn.
    #[inline]
    pub fn ready(&mut self, id: ConnId) {
        let link = self.net.conns[id.index()].src_port;
        self.net.ready[link.index()].push(&mut self.net.conns, id);
        self.net.wake(link);
    }

    /// Sets a timer; `kind` tells the transport's timers apart.
    pub fn set_timer(&mut self, timer: &mut Timer, due: Time, owner: Owner, kind: u8) {
        timer.due = due;
        // A pending event that comes no later will put itself off.
        if timer.event > due {
            timer.event = due;
            self.push_timer(due, owner, kind);
        }
    }

    /// To be asked first when a timer event comes: whether the timer is due. If it has been put off
    /// meanwhile, the event is, too; if the event has been replaced by an earlier one, it is nothing.
    pub fn timer_is_due(&mut self, timer: &mut Timer, owner: Owner, kind: u8) -> bool {
        if timer.event != self.net.now {
            return false;
        }
        timer.event = Time::NEVER;
        if timer.due == Time::NEVER {
            return false;
        }
        if timer.due > self.net.now {
            timer.event = timer.due;
            self.push_timer(timer.due, owner, kind);
            return false;
        }
        timer.due = Time::NEVER;
        true
    }

    fn push_timer(&mut self, due: Time, owner: Owner, kind: u8) {
        let b = u32::from(self.transport) << 9 | u32::from(kind);
        match owner {
            Owner::Conn(id) => {
                let conn = &mut self.net.conns[id.index()];
                conn.timers += 1;
                // By convention of `HostSide::timer`, odd kinds are the receiver's.
                let host = if kind & 1 == 0 { conn.src } else { conn.dst };
                self.net.push_host_event(due, Phase::Timer, host, id.0, b);
            }
            Owner::Link(link) => {
                let host = self.net.ends[link.index()];
                self.net.push_host_event(due, Phase::Timer, host, link.0, b | 1 << 8);
            }
        }
    }

    /// Payload has reached the receiver for the first time.
    #[inline]
    pub fn delivered(&mut self, id: ConnId, bytes: u64) {
        let conn = &mut self.net.conns[id.index()];
        conn.counts.delivered_bytes += bytes;
        let via = conn.via;
        if !conn.background {
            self.net.moved_at = self.net.now;
        }
        if via != id {
            // What a kept connection has delivered in all is compared with what its receiver holds.
            self.net.conns[via.index()].counts.delivered_bytes += bytes;
        }
    }

    /// A data packet has arrived at the receiver: notes whether it was overtaken on its way.
    #[inline]
    pub fn note_arrival(&mut self, packet: &Packet) {
        self.note_arrival_in(packet.conn, packet);
    }

    /// The same, among the data packets of that connection: of one that stands for a flow with subflows.
    #[inline]
    pub fn note_arrival_in(&mut self, id: ConnId, packet: &Packet) {
        let conn = &mut self.net.conns[id.index()];
        if packet.created_at < conn.newest {
            conn.counts.reordered += 1;
        } else {
            conn.newest = packet.created_at;
        }
    }

    /// The receiver has every byte.
    pub fn completed(&mut self, id: ConnId) {
        self.net.conns[id.index()].counts.completed_at = self.net.now;
        self.note_end(id, Milestone::Received);
    }

    /// The sender knows that the receiver has every byte.
    pub fn acknowledged(&mut self, id: ConnId) {
        self.net.conns[id.index()].counts.acked_at = self.net.now;
    }

    /// The sender has nothing left to do: the connection closes once its last packet is gone.
    pub fn finish(&mut self, id: ConnId) {
        self.net.conns[id.index()].done = true;
        self.net.after.gone(id);
        self.note_end(id, Milestone::Acked);
    }

    /// For those who wait for the flow.
    #[cold]
    #[inline(never)]
    fn note_end(&mut self, id: ConnId, at: Milestone) {
        if self.net.reacts {
            self.net.after.ended(self.net.conns[id.index()].flow, at);
        }
    }
}
