//! A host without a network, for unit tests of transports: it notes what a transport does and moves nothing.
//!
//! A test makes the connections, calls the transport as the engine would, and looks at the packets sent, the
//! pending timers and the completed flows.

#![cfg(test)]

use super::controller::Report;
use super::endpoint::{Configs, Endpoint};
use super::host::{Host, Start, Toward};
use super::path::News;
use crate::engine::data::conn;
use crate::engine::data::conn::{Conn, ReceiverEnd, SenderEnd};
use crate::engine::data::credit::Word;
use crate::engine::data::event::Owner;
use crate::engine::data::packet::{Header, Packet, Record, flag};
use crate::engine::data::ranks::Ranks;
use crate::engine::data::telemetry::{Stamps, Telemetry};
use crate::ids::{ConnId, FlowId, LinkId, NodeId};
use crate::random::{Purpose, Stream};
use crate::topology::{Fabric, Link, Node};
use crate::units::{Rate, Time};

/// The host at which an event of a test happens, and the transports' actions at it.
pub struct FakeHost {
    pub now: Time,
    /// The host of the event; a test moves it from one end to the other.
    pub host: NodeId,
    pub rate: Rate,
    /// Shortest paths between the two hosts, for transports that need them.
    pub paths: u64,
    /// Delays of the cables between them, there and back.
    pub path_delay: Time,
    pub conns: Vec<Conn>,
    /// Packets sent at once, in order: acknowledgements and the like.
    pub sent: Vec<Packet>,
    /// Connections that requested a turn at their port, in order.
    pub ready: Vec<ConnId>,
    /// Those of them that are ready by rank; both hosts have one port.
    pub ranks: Ranks,
    /// Timer events that are pending.
    pub timers: Vec<(Time, Owner, u8)>,
    /// Connections whose receiver has every byte.
    pub completed: Vec<ConnId>,
    /// Connections whose sender is done.
    pub finished: Vec<ConnId>,
    /// The record of the packet that has just arrived or is sent next.
    pub record: Record,
    /// The transports whose packets ports write into: see [`Host::telemetry`].
    pub stamps: Stamps,
    pub reports: Vec<Report>,
    /// News of paths, in order.
    pub news: Vec<News>,
    /// Connections whose receiver has been notified that they were given up.
    pub given_up: Vec<ConnId>,
}

/// The host that sends in [`FakeHost::pair`].
pub const SENDER: NodeId = NodeId(0);
/// The host that receives in [`FakeHost::pair`].
pub const RECEIVER: NodeId = NodeId(1);

impl FakeHost {
    /// Two hosts with one connection for a flow of so many bytes, at the sender, at time zero; ports of 10 Gbps.
    pub fn pair(size: u64) -> FakeHost {
        let mut host = FakeHost {
            now: Time::ZERO,
            host: SENDER,
            rate: Rate(10_000_000_000),
            paths: 1,
            path_delay: Time::ZERO,
            conns: Vec::new(),
            sent: Vec::new(),
            ready: Vec::new(),
            ranks: Ranks::default(),
            timers: Vec::new(),
            completed: Vec::new(),
            finished: Vec::new(),
            record: Record::default(),
            stamps: Stamps::default(),
            reports: Vec::new(),
            news: Vec::new(),
            given_up: Vec::new(),
        };
        host.connection(size);
        host
    }

    /// A further connection between the two, for a flow of so many bytes.
    pub fn connection(&mut self, size: u64) -> ConnId {
        let number = self.conns.len() as u32;
        let (flow, via) = (FlowId(number), ConnId(number));
        let conn = Conn { flow, size, via, ..Conn::between(SENDER, RECEIVER) };
        self.conns.push(conn.fresh((LinkId(0), LinkId(1))));
        via
    }

    /// The two hosts and the cable between them.
    pub fn fabric(&self) -> Fabric {
        let node = |name: &str| Node { name: name.into(), tier: "host".into() };
        let link = |from, to| Link { from, to, rate: self.rate, delay: Time::ZERO };
        Fabric {
            nodes: vec![node("host 0"), node("host 1")],
            links: vec![link(SENDER, RECEIVER), link(RECEIVER, SENDER)],
            hosts: 2,
        }
    }

    /// Configurations of a transport on that network.
    pub fn configs<T>(&self, all: Vec<T>) -> Configs<T> {
        Configs::new(all, &self.fabric())
    }

    /// The flow of a connection starts.
    pub fn start(&mut self, model: &mut impl Endpoint, id: ConnId) {
        self.host = self.conns[id.index()].src;
        let Conn { size, key, .. } = self.conns[id.index()];
        model.start(id, Start { size, key, due: Time::NEVER }, self);
    }

    /// If a connection has requested its turn, the packets that it sends now, at most so many; if it is ready by rank, those
    /// that its port calls in its turns. Time stands still.
    pub fn sends(&mut self, model: &mut impl Endpoint, id: ConnId, most: usize) -> Vec<Packet> {
        let mut packets = Vec::new();
        let mut more = self.ready.contains(&id);
        self.ready.retain(|other| *other != id);
        self.host = self.conns[id.index()].src;
        while more && packets.len() < most {
            let is_ranked = self.conns[id.index()].sender.rank_at != conn::NOWHERE;
            let called = if is_ranked { self.ranks.choose(&self.conns, id).unwrap_or(id) } else { id };
            let (packet, goes_on) = model.next_packet(called, self);
            assert!(
                packet.is_some() || !goes_on,
                "turns without a packet would follow one another at one instant"
            );
            packets.extend(packet);
            if !goes_on {
                self.ranks.leave(&mut self.conns, called);
            }
            more = goes_on || called != id;
        }
        if more {
            self.ready.push(id);
        }
        packets
    }

    /// A packet arrives at the receiver: the answers that are sent at once.
    pub fn receives(&mut self, model: &mut impl Endpoint, packet: &Packet) -> Vec<Packet> {
        self.host = packet.dst;
        for id in [self.conns[packet.conn.index()].parent, packet.conn] {
            if id != ConnId::NONE && !self.conns[id.index()].accepted() {
                self.receiver(id).accepted = true;
                model.accept(id, self);
            }
        }
        self.sent.clear();
        model.at_receiver(&Packet { ingress: LinkId(0), hops: 1, ..*packet }, self);
        std::mem::take(&mut self.sent)
    }

    /// An answer arrives at the sender.
    pub fn answers(&mut self, model: &mut impl Endpoint, packet: &Packet) {
        self.host = packet.dst;
        model.at_sender(&Packet { ingress: LinkId(1), hops: 1, ..*packet }, self);
    }

    /// The earliest timer event comes: the packets that are sent at once.
    pub fn expires(&mut self, model: &mut impl Endpoint) -> Vec<Packet> {
        let (owner, kind) = self.next_timer().expect("a timer is pending");
        self.host = match owner {
            Owner::Sender(id) => self.conns[id.index()].src,
            Owner::Receiver(id) => self.conns[id.index()].dst,
            Owner::Interface(_) => RECEIVER,
        };
        self.sent.clear();
        model.timer(owner, kind, self);
        std::mem::take(&mut self.sent)
    }

    /// Goes on to the next timeout that makes the sender of a connection act.
    pub fn times_out(&mut self, model: &mut impl Endpoint, id: ConnId) {
        let before = self.conns[id.index()].sender.timeouts;
        while self.conns[id.index()].sender.timeouts == before {
            self.expires(model);
        }
    }

    /// Goes on to the earliest timer event: its owner and kind, to be handed to the transport.
    pub fn next_timer(&mut self) -> Option<(Owner, u8)> {
        let at = (0..self.timers.len()).min_by_key(|&at| self.timers[at].0)?;
        let (due, owner, kind) = self.timers.remove(at);
        self.now = due;
        Some((owner, kind))
    }
}

impl Host for FakeHost {
    fn now(&self) -> Time {
        self.now
    }

    fn host(&self) -> NodeId {
        self.host
    }

    fn conn(&self, id: ConnId) -> &Conn {
        &self.conns[id.index()]
    }

    fn sender(&mut self, id: ConnId) -> &mut SenderEnd {
        let conn = &mut self.conns[id.index()];
        assert_eq!(conn.src, self.host, "connection {id} sends from another host");
        &mut conn.sender
    }

    fn receiver(&mut self, id: ConnId) -> &mut ReceiverEnd {
        let conn = &mut self.conns[id.index()];
        assert_eq!(conn.dst, self.host, "connection {id} ends at another host");
        &mut conn.receiver
    }

    fn port(&self, id: ConnId) -> LinkId {
        self.conns[id.index()].port_at(self.host)
    }

    fn flow_stream(&self, purpose: Purpose, key: u64) -> Stream {
        Stream::new(1, 0, purpose, key)
    }

    fn set_class(&mut self, id: ConnId, class: u8) {
        self.sender(id).class = class;
    }

    fn transmission(&self, _port: LinkId, bytes: u32) -> Time {
        self.rate.transmission(u64::from(bytes))
    }

    fn rate(&self, _port: LinkId) -> Rate {
        self.rate
    }

    fn shortest_paths(&self, _id: ConnId) -> u64 {
        self.paths
    }

    fn path_delay(&self, _id: ConnId) -> Time {
        self.path_delay
    }

    fn open_subflow(&mut self, parent: ConnId, number: u8, label: u32) -> ConnId {
        let id = ConnId(self.conns.len() as u32);
        let whole = self.conns[parent.index()];
        self.conns.push(Conn { subflow: number, parent, via: id, label, ..whole }.fresh(whole.ports()));
        id
    }

    fn open_part(&mut self, message: ConnId, via: ConnId) -> ConnId {
        let id = ConnId(self.conns.len() as u32);
        let (whole, kept) = (self.conns[message.index()], self.conns[via.index()]);
        let own = Conn { subflow: kept.subflow, parent: message, via, ..whole };
        self.conns.push(own.fresh(kept.ports()));
        id
    }

    fn finish_subflow(&mut self, id: ConnId) {
        self.sender(id).done = true;
    }

    fn packet(&mut self, id: ConnId, toward: Toward, size: u32, flags: u8, header: Header) -> Packet {
        let Conn { src, dst, label, transport, balancer, .. } = self.conns[id.index()];
        Packet {
            created_at: self.now,
            wire_at: Time::NEVER,
            size,
            conn: id,
            dst: if toward == Toward::Receiver { dst } else { src },
            ingress: LinkId::NONE,
            label,
            transport,
            balancer,
            flags,
            hops: 0,
            header,
        }
    }

    fn path(&self, _packet: &Packet) -> Option<u32> {
        None
    }

    fn next_path(&mut self, _packet: &mut Packet) {}

    fn tell_path(&mut self, _id: ConnId, news: News) {
        self.news.push(news);
    }

    fn word(&mut self, _port: LinkId, _class: usize) -> Word {
        Word::default()
    }

    fn report(&mut self, report: Report) {
        self.reports.push(report);
    }

    fn record(&mut self) -> &mut Record {
        &mut self.record
    }

    fn telemetry(&self, created_at: Time) -> Telemetry {
        self.stamps.read(&self.record, created_at)
    }

    fn send(&mut self, packet: Packet) {
        debug_assert!(packet.has(flag::CONTROL), "data waits for its turn");
        self.sent.push(packet);
    }

    fn hand_over(&mut self, packet: Packet) {
        self.sent.push(packet);
    }

    fn ready(&mut self, id: ConnId) {
        self.ready.push(id);
    }

    fn ready_by(&mut self, id: ConnId, rank: u64) {
        self.ranks.set(&mut self.conns, id, rank);
        self.ready.push(id);
    }

    fn change_rank(&mut self, id: ConnId, rank: u64) {
        self.ranks.set(&mut self.conns, id, rank);
    }

    fn not_ready(&mut self, id: ConnId) {
        self.ranks.leave(&mut self.conns, id);
    }

    fn is_next(&self, _id: ConnId) -> bool {
        false
    }

    fn push_timer(&mut self, due: Time, owner: Owner, kind: u8) {
        self.timers.push((due, owner, kind));
    }

    fn delivered(&mut self, id: ConnId, bytes: u64) {
        self.receiver(id).delivered_bytes += bytes;
    }

    fn note_arrival_in(&mut self, _id: ConnId, _packet: &Packet) {}

    fn completed(&mut self, id: ConnId) {
        self.completed.push(id);
    }

    fn acknowledged(&mut self, id: ConnId) {
        self.sender(id).acked_at = self.now;
    }

    fn give_up(&mut self, id: ConnId) {
        self.sender(id).gave_up = true;
    }

    fn given_up(&mut self, id: ConnId) {
        self.given_up.push(id);
    }

    fn finish(&mut self, id: ConnId) {
        self.sender(id).done = true;
        self.ranks.end(&mut self.conns, id);
        self.finished.push(id);
    }
}
