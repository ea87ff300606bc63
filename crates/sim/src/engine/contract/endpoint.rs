//! Transports: the contract between the engine and the hosts' ends of connections.
//!
//! The engine calls an [`Endpoint`] at the events of a host. The endpoint acts through a [`Host`]. The transports
//! themselves are in `transport/`.

use super::controller::Order;
use super::host::{Host, Start};
use crate::engine::data::conn::Conn;
use crate::engine::data::event::Owner;
use crate::engine::data::packet::Packet;
use crate::ids::{ConnId, LinkId, NodeId};
use crate::topology::Fabric;
use crate::units::Rate;

/// The ends of a transport's connections at all hosts of a run. A new transport implements it.
///
/// Each call is an event at one host and touches only the state of that host. Information reaches the other end only in
/// packets.
pub trait Endpoint {
    /// At the sender: a flow starts.
    fn start(&mut self, id: ConnId, start: Start, cx: &mut impl Host);

    /// At the sender: a kept connection begins. Its flows follow by [`Endpoint::message`]; `key` is that of the first. Only
    /// transports that can keep connections implement it.
    fn connect(&mut self, id: ConnId, key: u64, cx: &mut impl Host) {
        let _ = (id, key, cx);
        unreachable!("the check refuses kept connections under this transport");
    }

    /// At the sender: a flow starts on the kept connection `cx.conn(id).via`, behind the flows that it still carries. The
    /// flow's packets belong to `id`. Timers, turns at the port and the state of the ends belong to the connection.
    fn message(&mut self, id: ConnId, start: Start, cx: &mut impl Host) {
        let _ = (id, start, cx);
        unreachable!("the check refuses kept connections under this transport");
    }

    /// At the receiver: the first packet of a connection has arrived; [`Endpoint::at_receiver`] gets it next. For the first
    /// packet of a subflow, the connection that stands for the flow is accepted before the subflow.
    fn accept(&mut self, id: ConnId, cx: &mut impl Host) {
        let _ = (id, cx);
    }

    /// At the receiver: a packet has arrived.
    fn at_receiver(&mut self, packet: &Packet, cx: &mut impl Host);

    /// At the sender: an acknowledgement or the like has arrived.
    fn at_sender(&mut self, packet: &Packet, cx: &mut impl Host);

    /// At the sender: the wire is free and it is this connection's turn, requested by [`Host::ready`]. Returns the packet
    /// to send now, if there is one, and whether the connection wants another turn.
    fn next_packet(&mut self, id: ConnId, cx: &mut impl Host) -> (Option<Packet>, bool);

    /// A timer event has come. Call [`Host::timer_is_due`] first.
    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut impl Host);

    /// At a host: orders of the controller on its queues have arrived. Only under central control: see
    /// `engine/contract/controller.rs`.
    fn ordered(&mut self, orders: &[Order], cx: &mut impl Host) {
        let _ = (orders, cx);
        unreachable!("the check gives a controller to no other transport than its own");
    }

    /// Payload that waits at a host in queues that the transport has there, if it has such queues; for samples.
    fn waiting(&self, host: NodeId) -> Option<u64> {
        let _ = host;
        None
    }

    /// The congestion window of a connection in bytes, if it has one; for samples.
    fn window(&self, id: ConnId, conn: &Conn) -> Option<u64> {
        let _ = (id, conn);
        None
    }

    /// The rate at which the sender of a connection paces its packets, if it does; for observers.
    fn rate(&self, id: ConnId, conn: &Conn) -> Option<Rate> {
        let _ = (id, conn);
        None
    }

    /// For the audit: reports inconsistencies in the transport's own counters, given its open connections.
    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        let _ = (conns, found);
    }
}

/// The configurations of one transport in a run, each connection having one of them, and the hosts' ports.
#[derive(Clone, Debug)]
pub struct Configs<T> {
    all: Vec<T>,
    ports: HostPorts,
}

/// The hosts of a network and the links to them: for models that keep a state for each.
#[derive(Clone, Debug)]
pub struct HostPorts {
    pub hosts: usize,
    /// Number of links of the network.
    pub links: usize,
    /// Links that end at a host, with that host.
    pub incoming: Vec<(NodeId, LinkId)>,
}

impl HostPorts {
    fn new(fabric: &Fabric) -> HostPorts {
        let all = (0..).map(LinkId).zip(&fabric.links).map(|(link, ends)| (ends.to, link));
        HostPorts {
            hosts: fabric.hosts as usize,
            links: fabric.links.len(),
            incoming: all.filter(|(host, _)| fabric.is_host(*host)).collect(),
        }
    }
}

impl<T> Configs<T> {
    /// Of a run on that network.
    pub fn new(all: Vec<T>, fabric: &Fabric) -> Configs<T> {
        Configs { all, ports: HostPorts::new(fabric) }
    }

    /// The configuration of a connection.
    #[inline]
    pub fn of(&self, conn: &Conn) -> &T {
        &self.all[usize::from(conn.config)]
    }

    /// A configuration from which to read the fields that concern a host as a whole: in these all agree.
    pub fn of_host(&self) -> &T {
        &self.all[0]
    }

    /// The hosts' ports.
    pub fn ports(&self) -> &HostPorts {
        &self.ports
    }

    /// Whether one of them has a property.
    pub fn any(&self, has: impl FnMut(&T) -> bool) -> bool {
        self.all.iter().any(has)
    }

    /// All of them, each with a function applied: a form in which events read it faster.
    pub fn map<U>(self, each: impl FnMut(T) -> U) -> Configs<U> {
        Configs { all: self.all.into_iter().map(each).collect(), ports: self.ports }
    }

    /// All of them, in the order of their numbers.
    pub fn into_all(self) -> Vec<T> {
        self.all
    }
}

/// One end of each connection, by the connection's slot. In debug builds each access is checked to be at the end's host.
#[derive(Clone, Debug, Default)]
pub struct Ends<T> {
    ends: Vec<T>,
    #[cfg(debug_assertions)]
    hosts: Vec<NodeId>,
}

impl<T: Default> Ends<T> {
    /// The end, at this host, of a connection that begins. Its slot is new or has the state of an earlier connection.
    pub fn open(&mut self, id: ConnId, cx: &impl Host) -> &mut T {
        if id.index() >= self.ends.len() {
            self.ends.resize_with(id.index() + 1, T::default);
        }
        #[cfg(debug_assertions)]
        {
            self.hosts.resize(self.ends.len(), NodeId(u32::MAX));
            self.hosts[id.index()] = cx.host();
        }
        let _ = cx;
        &mut self.ends[id.index()]
    }
}

impl<T> Ends<T> {
    /// The end of a connection, at the host of this event.
    #[inline]
    pub fn at(&mut self, id: ConnId, cx: &impl Host) -> &mut T {
        #[cfg(debug_assertions)]
        assert_eq!(self.hosts[id.index()], cx.host(), "this end of connection {id} is at another host");
        let _ = cx;
        &mut self.ends[id.index()]
    }

    /// The end of a connection, read from outside the run: for samples and the audit.
    pub fn get(&self, id: ConnId) -> &T {
        &self.ends[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::fake::{FakeHost, RECEIVER};

    #[test]
    fn an_end_is_open_at_its_host() {
        let mut host = FakeHost::pair(1);
        let mut ends: Ends<u32> = Ends::default();
        *ends.open(ConnId(0), &host) = 7;
        assert_eq!(*ends.at(ConnId(0), &host), 7);
        // The slot passes on to a connection from the other host.
        host.host = RECEIVER;
        *ends.open(ConnId(0), &host) = 8;
        assert_eq!(*ends.at(ConnId(0), &host), 8);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "at another host")]
    fn an_end_is_not_touched_at_an_event_of_the_other_host() {
        let mut host = FakeHost::pair(1);
        let mut senders: Ends<u32> = Ends::default();
        senders.open(ConnId(0), &host);
        assert_ne!(host.host, RECEIVER);
        host.host = RECEIVER;
        senders.at(ConnId(0), &host);
    }
}
