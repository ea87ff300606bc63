//! The moving parts that packets meet between hosts: ports, queues, wires, and the way at each node.

use super::calendar::{Agenda, Calendar, Event, Phase, order};
use super::conn::{Conn, ReadyList};
use super::packet::{Arena, Packet};
use super::port::{Departures, Port};
use crate::balancer;
use crate::ids::{ConnId, LinkId, NodeId, PacketId};
use crate::queue::fifo::Rules;
use crate::queue::{self, Discipline, QueueCx};
use crate::random::{Purpose, Stream};
use crate::routing::Routes;
use crate::topology::{Fabric, Link};
use crate::units::Time;

/// Everything between the hosts, and what the hosts' transports reach it by.
pub struct Network<'a> {
    /// The present.
    pub now: Time,
    /// The future.
    pub calendar: Calendar,
    /// The packets.
    pub arena: Arena,
    /// The transmitter of each directed link.
    pub ports: Vec<Port>,
    /// What waits at each port.
    pub queues: Vec<PortQueue>,
    /// Where each directed link ends: apart from the ports, because every hop reads it.
    pub ends: Vec<NodeId>,
    /// Packets that have come out of each link.
    pub received: Vec<u64>,
    /// Live connections, by slot.
    pub conns: Vec<Conn>,
    /// Those that have something to send, by port.
    pub ready: Vec<ReadyList>,
    /// Ports whose wire is free and that somebody has just become ready for.
    pub kicks: Vec<LinkId>,
    /// Connections whose last packet may just have gone.
    pub gone: Vec<ConnId>,
    /// Place among simultaneous timers and starts, and their counter, by host.
    pub host_ranks: Vec<u32>,
    /// See `host_ranks`.
    pub host_events: Vec<u32>,
    /// The host's own chance, for transports.
    pub host_chance: Vec<Stream>,
    /// Links crossed by packets.
    pub packet_hops: u64,
    /// Packets put on a wire by the host that made them.
    pub packets_made: u64,
    /// When payload last arrived anywhere.
    pub moved_at: Time,
    /// What all chance of the run comes from.
    pub seed: u64,
    /// Number of the repetition.
    pub replica: u64,
    chance: Vec<Stream>,
    balancers: Vec<balancer::Model>,
    routes: &'a Routes,
}

/// What waits at a port: computed departures, or packets.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one a port, indexed in the hot loop: no indirection")]
pub enum PortQueue {
    /// Nothing waits: each packet's departure was computed when it came.
    Committed(Departures, Rules),
    /// Packets wait until the wire is free.
    Serviced(queue::Model),
}

/// What a network is made of.
pub struct Parts<'a> {
    /// Nodes and links.
    pub fabric: &'a Fabric,
    /// The ways through it.
    pub routes: &'a Routes,
    /// What ports do with packets that wait; hosts' own ports never drop.
    pub queue: &'a queue::Queue,
    /// Bytes of the largest full data packet on the wire, for limits that count in it.
    pub full_packet: u64,
    /// The balancers of the run.
    pub balancers: &'a [balancer::Balancer],
    /// What all chance comes from.
    pub seed: u64,
    /// Number of the repetition.
    pub replica: u64,
    /// Whether no port may commit to departures.
    pub serviced_only: bool,
    /// What holds the future.
    pub agenda: Agenda,
}

impl<'a> Network<'a> {
    /// The empty network at time zero.
    pub fn new(parts: &Parts<'a>) -> Network<'a> {
        let Parts { fabric, seed, replica, .. } = *parts;
        let stream = |purpose, entity: usize| Stream::new(seed, replica, purpose, entity as u64);
        let links = fabric.links.len();
        let hosts = fabric.hosts as usize;
        let ranks = |count: usize, entity| {
            let mut ranks: Vec<u32> = (0..count as u32).collect();
            stream(Purpose::Ties, entity).shuffle(&mut ranks);
            ranks
        };
        let link_ranks = ranks(links, 0);
        let committed = if parts.serviced_only { None } else { parts.queue.committed(parts.full_packet) };
        let port_of = |(link, rank): (&Link, u32)| {
            let mut port = Port::new(link, rank);
            if !parts.serviced_only && !fabric.is_host(link.from) {
                port.lookahead = link.delay;
            }
            port
        };
        let queue_of = |link: &Link| match committed {
            // A host's port is asked packet by packet: it must be serviced.
            _ if fabric.is_host(link.from) => {
                PortQueue::Serviced(queue::Queue::from(queue::infinite::Infinite {}).model(0))
            }
            Some(rules) => PortQueue::Committed(Departures::default(), rules),
            None => PortQueue::Serviced(parts.queue.model(parts.full_packet)),
        };
        Network {
            now: Time::ZERO,
            calendar: Calendar::new(parts.agenda),
            arena: Arena::default(),
            ports: fabric.links.iter().zip(link_ranks).map(port_of).collect(),
            queues: fabric.links.iter().map(queue_of).collect(),
            ends: fabric.links.iter().map(|link| link.to).collect(),
            received: vec![0; links],
            conns: Vec::new(),
            ready: vec![ReadyList::default(); links],
            kicks: Vec::new(),
            gone: Vec::new(),
            host_ranks: ranks(hosts, 1),
            host_events: vec![0; hosts],
            host_chance: (0..hosts).map(|host| stream(Purpose::Host, host)).collect(),
            packet_hops: 0,
            packets_made: 0,
            moved_at: Time::ZERO,
            seed,
            replica,
            chance: (0..links).map(|link| stream(Purpose::Queue, link)).collect(),
            balancers: parts.balancers.iter().map(|b| b.model(fabric.nodes.len(), seed, replica)).collect(),
            routes: parts.routes,
        }
    }

    /// The link by which a packet leaves a node that is not its destination.
    #[inline]
    pub fn next_link(&mut self, at: NodeId, packet: &Packet) -> LinkId {
        let hops = self.routes.next_hops(at, packet.dst);
        if let [only] = hops {
            return *only;
        }
        let choice = self.balancers[packet.balancer as usize].choose(at, packet.label, hops.len() as u32);
        hops[choice as usize]
    }

    /// A packet asks a port to pass: it is sent, kept, trimmed or dropped.
    #[inline]
    pub fn offer(&mut self, link: LinkId, id: PacketId) {
        let at = link.index();
        let port = &mut self.ports[at];
        let size = self.arena[id].size;
        port.offered.add(size);
        match &mut self.queues[at] {
            PortQueue::Committed(departures, rules) => {
                departures.settle(port, self.now);
                let wire = departures.wire_bytes();
                if !rules.admits(port, wire, size) {
                    return self.queue_cx(link).drop(id);
                }
                port.join(size);
                let marks = rules.marks(port, wire);
                let (departure, arrival) = port.transmit(self.now, size);
                departures.push(port, self.now, departure, size);
                self.calendar.push(Event {
                    time: arrival,
                    order: order(Phase::Arrival, port.rank, port.sent.packets as u32),
                    a: id.0,
                    b: link.0,
                });
                if marks {
                    self.queue_cx(link).mark(id);
                }
            }
            PortQueue::Serviced(_) => {
                self.catch_up(link);
                let (queue, mut cx) = self.serviced(link);
                queue.enqueue(id, &mut cx);
                if !queue.is_empty() {
                    self.wake(link);
                }
            }
        }
    }

    /// Something waits at a port: serve it now, or when its wire is free.
    #[inline]
    pub fn wake(&mut self, link: LinkId) {
        let port = &self.ports[link.index()];
        if port.free_at > self.now {
            if !port.serving {
                self.schedule_departure(link);
            }
        } else if !self.transmit_waiting(link) && !self.ready[link.index()].is_empty() {
            self.kicks.push(link);
        }
    }

    /// Serviced: starts every transmission that was due by now, and brings the occupancy up to date.
    #[inline]
    pub fn catch_up(&mut self, link: LinkId) {
        let now = self.now;
        let (queue, cx) = self.serviced(link);
        if cx.port.lookahead == Time::ZERO || queue.is_empty() || cx.port.free_at > now {
            return cx.port.settle(now);
        }
        while self.ports[link.index()].free_at <= now {
            let (queue, mut cx) = self.serviced(link);
            let at = cx.port.free_at;
            cx.port.settle(at);
            let Some(id) = queue.dequeue(&mut cx) else {
                break;
            };
            self.transmit(link, id, at);
        }
        self.ports[link.index()].settle(now);
    }

    /// The wire is free: sends the first packet that waits; false if none does.
    #[inline]
    pub fn transmit_waiting(&mut self, link: LinkId) -> bool {
        let (queue, mut cx) = self.serviced(link);
        let Some(id) = queue.dequeue(&mut cx) else {
            return false;
        };
        let more = !queue.is_empty();
        self.transmit(link, id, self.now);
        if (more || !self.ready[link.index()].is_empty()) && !self.ports[link.index()].serving {
            self.schedule_departure(link);
        }
        true
    }

    /// Serviced: puts a packet that is counted in the port on its wire, which is free since `at` at least.
    #[inline]
    pub fn transmit(&mut self, link: LinkId, id: PacketId, at: Time) {
        let port = &mut self.ports[link.index()];
        let packet = &mut self.arena[id];
        if packet.ingress == LinkId::NONE {
            packet.wire_at = at;
        }
        port.wire_bytes = packet.size;
        let (_, arrival) = port.transmit(at, packet.size);
        self.calendar.push(Event {
            time: arrival,
            order: order(Phase::Arrival, port.rank, port.sent.packets as u32),
            a: id.0,
            b: link.0,
        });
    }

    /// Asks for an event when what waits must be served at the latest.
    #[inline]
    pub fn schedule_departure(&mut self, link: LinkId) {
        let port = &mut self.ports[link.index()];
        debug_assert!(!port.serving, "one departure event at a time");
        port.serving = true;
        self.calendar.push(Event {
            time: port.free_at + port.lookahead,
            order: order(Phase::Departure, port.rank, 0),
            a: 0,
            b: link.0,
        });
    }

    /// A departure event has come: serves what waits. False if the port is a host's and nothing waits there,
    /// so that transports are to be asked.
    #[inline]
    pub fn depart(&mut self, link: LinkId) -> bool {
        self.ports[link.index()].serving = false;
        self.catch_up(link);
        let (queue, cx) = self.serviced(link);
        if cx.port.lookahead == Time::ZERO {
            return self.transmit_waiting(link);
        }
        if !queue.is_empty() {
            self.schedule_departure(link);
        }
        true
    }

    /// The queue of a serviced port, and what it sees.
    #[inline]
    fn serviced(&mut self, link: LinkId) -> (&mut queue::Model, QueueCx<'_>) {
        let at = link.index();
        let PortQueue::Serviced(queue) = &mut self.queues[at] else {
            unreachable!("a committed port has no packets waiting");
        };
        let cx = QueueCx {
            arena: &mut self.arena,
            port: &mut self.ports[at],
            chance: &mut self.chance[at],
            conns: &mut self.conns,
            gone: &mut self.gone,
        };
        (queue, cx)
    }

    /// What the queue of a port sees.
    pub fn queue_cx(&mut self, link: LinkId) -> QueueCx<'_> {
        QueueCx {
            arena: &mut self.arena,
            port: &mut self.ports[link.index()],
            chance: &mut self.chance[link.index()],
            conns: &mut self.conns,
            gone: &mut self.gone,
        }
    }

    /// An event of a host: a timer or a start.
    pub fn push_host_event(&mut self, time: Time, phase: Phase, host: NodeId, a: u32, b: u32) {
        let counter = &mut self.host_events[host.index()];
        *counter = counter.wrapping_add(1);
        let order = order(phase, self.host_ranks[host.index()], *counter);
        self.calendar.push(Event { time, order, a, b });
    }

    /// The run ends: brings all ports up to date, and takes back what was computed for later.
    pub fn stop(&mut self, end: Time) {
        self.now = end;
        for at in 0..self.ports.len() {
            match &mut self.queues[at] {
                PortQueue::Committed(departures, _) => departures.stop(&mut self.ports[at], end),
                PortQueue::Serviced(_) => self.catch_up(LinkId(at as u32)),
            }
        }
    }
}
