//! Hosts: the interface through which a transport acts at the event of a host.
//!
//! A transport is written against the trait [`Host`], which gives no access to the network. In unit tests a fake host
//! takes its place.

use super::controller::Report;
use super::path::News;
use crate::engine::data::conn::{Conn, ReceiverEnd, SenderEnd};
use crate::engine::data::credit::Word;
use crate::engine::data::event::Owner;
use crate::engine::data::packet::{Header, Packet, Record, flag};
use crate::engine::data::telemetry::Telemetry;
use crate::ids::{ConnId, LinkId, NodeId};
use crate::random::{Purpose, Stream, mix};
use crate::units::{Rate, Time};

/// The side of a connection to which a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toward {
    /// From the sender to the receiver.
    Receiver,
    /// From the receiver to the sender.
    Sender,
}

/// A timer. Setting it to a later time adds no event: the pending event is put off when it comes.
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

    /// Sets it to a time without an event for that: for an owner that will act before then, or else call
    /// [`Host::set_timer`] with the same time.
    pub fn plan(&mut self, due: Time) {
        self.due = due;
    }

    /// Switches it off.
    pub fn clear(&mut self) {
        self.due = Time::NEVER;
    }
}

/// A flow that starts, as its sender sees it.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Bytes.
    pub size: u64,
    /// Key of the flow's own random streams: see [`Host::flow_stream`].
    pub key: u64,
    /// Its deadline; [`Time::NEVER`] without one.
    pub due: Time,
}

impl Start {
    /// The flow's random stream for its packets.
    pub fn packet_stream(&self, cx: &impl Host) -> Stream {
        cx.flow_stream(Purpose::Packets, self.key)
    }
}

/// The key that balancers hash for a packet of that label with an entropy value: another flow's for another value.
#[inline]
fn entropy_label(label: u32, value: u16) -> u32 {
    (mix(u64::from(label) << 16 | u64::from(value)) >> 32) as u32
}

/// The actions of a transport at an event. All of them concern the host of that event only.
pub trait Host {
    /// The present.
    fn now(&self) -> Time;

    /// The host of the event.
    fn host(&self) -> NodeId;

    /// A connection's place in the network.
    fn conn(&self, id: ConnId) -> &Conn;

    /// The sending end of a connection, at this host, and its counters.
    fn sender(&mut self, id: ConnId) -> &mut SenderEnd;

    /// The receiving end of a connection, at this host, and its counters.
    fn receiver(&mut self, id: ConnId) -> &mut ReceiverEnd;

    /// The port by which this host sends for a connection.
    fn port(&self, id: ConnId) -> LinkId;

    /// A random stream of a flow's own, by the key that it started with.
    fn flow_stream(&self, purpose: Purpose, key: u64) -> Stream;

    /// At the start of a connection: sets the class of its data. Each packet also carries its class in its header.
    fn set_class(&mut self, id: ConnId, class: u8);

    /// The transmission time of so many bytes at a port.
    fn transmission(&self, port: LinkId, bytes: u32) -> Time;

    /// A time in the unit of a port's transmissions: see `run.time_unit`.
    #[inline]
    fn in_unit(&self, port: LinkId, time: Time) -> Time {
        let _ = port;
        time
    }

    /// The present rate of a port.
    fn rate(&self, port: LinkId) -> Rate;

    /// Content of the last credit frame for a class at a port: see `engine/network/credit.rs`. Only where the queue
    /// gives credits.
    fn word(&mut self, port: LinkId, class: usize) -> Word;

    /// The number of shortest paths between the hosts of a connection, as routes are now; for its sender.
    fn shortest_paths(&self, id: ConnId) -> u64;

    /// Delays of the cables of a shortest path between both ends of a connection, there and back, in the network without
    /// faults. Asked at the start of a flow, not for packets.
    fn path_delay(&self, id: ConnId) -> Time;

    /// Opens a further connection of the flow that `parent` stands for, between the same hosts, with a 5-tuple of its own.
    ///
    /// From then on `parent` carries no packets. Delivered bytes, completion and the end of the flow are reported for it;
    /// packets are counted by the subflows, and the flow's row has their sums.
    fn open_subflow(&mut self, parent: ConnId, number: u8, label: u32) -> ConnId;

    /// The part of a message that one subflow of its kept connection carries: a slot of its own, to which the packets
    /// belong, as [`Host::open_subflow`] makes one for a flow that has the subflow for itself.
    fn open_part(&mut self, message: ConnId, via: ConnId) -> ConnId;

    /// A subflow's sender has nothing left to do: it closes once its last packet is gone.
    fn finish_subflow(&mut self, id: ConnId);

    /// Makes a packet of `size` bytes on the wire. The transport then sends it or returns it from
    /// [`next_packet`](crate::engine::contract::endpoint::Endpoint::next_packet).
    fn packet(&mut self, id: ConnId, toward: Toward, size: u32, flags: u8, header: Header) -> Packet;

    /// The number of the path that a packet takes, which must be the last one made in its direction of its connection;
    /// none unless the balancer leaves the path to the source.
    fn path(&self, packet: &Packet) -> Option<u32>;

    /// Reports a queue at this host to the run's controller.
    fn report(&mut self, report: Report);

    /// Puts a packet that has just been made on the path that is next, if the balancer leaves that to the source.
    fn next_path(&mut self, packet: &mut Packet);

    /// The connection's sender has news of the path of its data, for a balancer that learns from senders: only where the
    /// connection's `learns` is set.
    fn tell_path(&mut self, id: ConnId, news: News);

    /// Gives a packet that has just been made an entropy value, by which switches choose its path, if its balancer hashes such
    /// values.
    #[inline]
    fn set_entropy(&self, packet: &mut Packet, value: u16) {
        if self.conn(packet.conn).by_entropy {
            packet.label = entropy_label(packet.label, value);
        }
    }

    /// The record that packets carry beyond their headers, if the transport uses one: that of the packet
    /// which has just arrived, until it is written anew; every packet sent takes the values of that moment. A
    /// reply so carries the record of the packet that it replies to.
    fn record(&mut self) -> &mut Record;

    /// The state of the ports on the way of a data packet that was made then and that the packet that has just arrived
    /// answers; empty unless the transport asks ports for it.
    fn telemetry(&self, created_at: Time) -> Telemetry;

    /// Sends a packet at once, ahead of data that waits for its turn: for acknowledgements, pulls and other control packets.
    fn send(&mut self, packet: Packet);

    /// Leaves a data packet to the port at once, where it waits in the queue or is dropped: for transports whose hosts have
    /// the queue of switches.
    #[inline(never)]
    fn hand_over(&mut self, packet: Packet) {
        self.send(packet);
    }

    /// Makes a data packet of `size` bytes on the wire, of which `len` are payload, with that number: see [`Host::packet`].
    #[inline]
    fn data_packet(&mut self, id: ConnId, size: u32, len: u16, number: u32) -> Packet {
        self.packet(id, Toward::Receiver, size, 0, Header { len, number, ..Header::default() })
    }

    /// Sends a control packet without payload from the sender to the receiver: see [`Host::packet`] and [`Host::send`].
    #[inline]
    fn send_to_receiver(&mut self, id: ConnId, size: u32, header: Header) {
        let packet = self.packet(id, Toward::Receiver, size, flag::CONTROL, header);
        self.send(packet);
    }

    /// The same from the receiver to the sender: an acknowledgement, for instance.
    #[inline]
    fn send_to_sender(&mut self, id: ConnId, size: u32, header: Header) {
        let packet = self.packet(id, Toward::Sender, size, flag::CONTROL, header);
        self.send(packet);
    }

    /// The sender of a connection has packets to send: its port calls it in its turn.
    fn ready(&mut self, id: ConnId);

    /// The same, by rank: whichever connection that is ready by rank has its turn at a port, the one with the lowest rank
    /// there is called; among equals the one that was called last, then the one that has its turn. It stays ready until
    /// [`next_packet`](crate::engine::contract::endpoint::Endpoint::next_packet) returns that it wants no further turn, or
    /// [`Host::not_ready`]. A further call gives it another rank.
    fn ready_by(&mut self, id: ConnId, rank: u64);

    /// A connection that is ready by rank gets another one: for
    /// [`next_packet`](crate::engine::contract::endpoint::Endpoint::next_packet), when the connection wants a further turn.
    fn change_rank(&mut self, id: ConnId, rank: u64);

    /// A connection that may be ready by rank has nothing to send.
    fn not_ready(&mut self, id: ConnId);

    /// Whether the port calls a connection that has just become ready within this event: its wire is free, and no other
    /// connection comes before.
    fn is_next(&self, id: ConnId) -> bool;

    /// Sets a timer; `kind` distinguishes the transport's timers.
    fn set_timer(&mut self, timer: &mut Timer, due: Time, owner: Owner, kind: u8) {
        timer.due = due;
        // A pending event that comes no later will put itself off.
        if timer.event > due {
            timer.event = due;
            self.push_timer(due, owner, kind);
        }
    }

    /// Whether the timer is due; to be called first when a timer event comes. If the timer has been set to a later time, the
    /// event is put off to it. An event that an earlier one has replaced is ignored.
    fn timer_is_due(&mut self, timer: &mut Timer, owner: Owner, kind: u8) -> bool {
        if timer.event != self.now() {
            return false;
        }
        timer.event = Time::NEVER;
        if timer.due == Time::NEVER {
            return false;
        }
        if timer.due > self.now() {
            timer.event = timer.due;
            self.push_timer(timer.due, owner, kind);
            return false;
        }
        timer.due = Time::NEVER;
        self.timer_fires();
        true
    }

    /// The timer of this event was due. Transports call [`Host::timer_is_due`] instead.
    #[inline]
    fn timer_fires(&mut self) {}

    /// Schedules a timer event. Transports call [`Host::set_timer`] instead.
    fn push_timer(&mut self, due: Time, owner: Owner, kind: u8);

    /// Payload has reached the receiver for the first time.
    fn delivered(&mut self, id: ConnId, bytes: u64);

    /// A data packet has arrived, of a transport that sends each byte once: counts its payload, and completes the flow with
    /// the last byte. Packets behind it may be all padding.
    #[inline]
    fn deliver_once(&mut self, packet: &Packet) {
        let (id, payload) = (packet.conn, u64::from(packet.header.len));
        self.note_arrival(packet);
        self.delivered(id, payload);
        if self.receiver(id).delivered_bytes == self.conn(id).size && payload > 0 {
            self.completed(id);
        }
    }

    /// A data packet has arrived at the receiver: counts it as reordered if a packet that was sent later has overtaken it.
    #[inline]
    fn note_arrival(&mut self, packet: &Packet) {
        self.note_arrival_in(packet.conn, packet);
    }

    /// The same among the data packets of that connection, which stands for a flow with subflows.
    fn note_arrival_in(&mut self, id: ConnId, packet: &Packet);

    /// The receiver has every byte.
    fn completed(&mut self, id: ConnId);

    /// All bytes of the flow are acknowledged at the sender.
    fn acknowledged(&mut self, id: ConnId);

    /// The sender gives the flow up. Unless every byte arrives nevertheless, the flow counts as abandoned: it ends with
    /// [`Host::finish`] like any other and does not complete.
    fn give_up(&mut self, id: ConnId);

    /// The receiver is notified, perhaps once more, that the sender gave the flow up: flows at this host that wait for the
    /// flow's end wait no longer.
    fn given_up(&mut self, id: ConnId);

    /// The sender has nothing left to do: the connection closes once its last packet is gone.
    fn finish(&mut self, id: ConnId);
}
