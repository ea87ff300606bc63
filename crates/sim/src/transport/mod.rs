//! What hosts do: on flow start, on a packet, on a timer, and when the wire asks for the next packet.
//!
//! A member has a configuration, which is part of the scenario, and a `Model`, which holds the senders
//! and receivers of all its connections. Adding one is its file and its line in the list below; the
//! datagram transport is the shortest example.

pub mod frame;
pub mod reassembly;
pub mod rtt;
pub mod source;
pub mod tagging;

use serde_json::Value;

use self::frame::{Frame, udp_frame};
use crate::balancer::Balancer;
use crate::derived::{Longest, Values};
use crate::engine::conn::Conn;
use crate::engine::cx::{Cx, Owner};
use crate::engine::packet::Packet;
use crate::ids::ConnId;
use crate::queue::{Feature, Queue};
use crate::register::register;
use crate::topology::Fabric;
use crate::units::Time;

/// One list: configuration and model of each transport, and the way from one to the other.
macro_rules! transports {
    ($($module:ident :: $config:ident = $name:literal),* $(,)?) => {
        register! {
            /// What hosts do to move a flow's bytes.
            pub enum Transport: Settings { $($module::$config = $name),* }
        }

        /// All connections of one transport in a run.
        #[allow(missing_docs, reason = "the configuration structs have the documentation")]
        pub enum Model {
            $($config($module::Model),)*
        }

        impl Transport {
            /// The transport at the hosts of a network, without a connection.
            pub fn model(&self, fabric: &Fabric) -> Model {
                match self {
                    $(Transport::$config(config) => Model::$config($module::Model::new(config, fabric)),)*
                }
            }
        }

        impl HostSide for Model {
            fn start(&mut self, id: ConnId, size: u64, key: u64, cx: &mut Cx) {
                match self { $(Model::$config(model) => model.start(id, size, key, cx),)* }
            }

            fn connect(&mut self, id: ConnId, key: u64, cx: &mut Cx) {
                match self { $(Model::$config(model) => model.connect(id, key, cx),)* }
            }

            fn message(&mut self, id: ConnId, size: u64, cx: &mut Cx) {
                match self { $(Model::$config(model) => model.message(id, size, cx),)* }
            }

            #[inline]
            fn at_receiver(&mut self, packet: &Packet, cx: &mut Cx) {
                match self { $(Model::$config(model) => model.at_receiver(packet, cx),)* }
            }

            #[inline]
            fn at_sender(&mut self, packet: &Packet, cx: &mut Cx) {
                match self { $(Model::$config(model) => model.at_sender(packet, cx),)* }
            }

            #[inline]
            fn next_packet(&mut self, id: ConnId, cx: &mut Cx) -> (Option<Packet>, bool) {
                match self { $(Model::$config(model) => model.next_packet(id, cx),)* }
            }

            fn timer(&mut self, owner: Owner, kind: u8, cx: &mut Cx) {
                match self { $(Model::$config(model) => model.timer(owner, kind, cx),)* }
            }

            fn window(&self, id: ConnId) -> Option<u64> {
                match self { $(Model::$config(model) => model.window(id),)* }
            }

            fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
                match self { $(Model::$config(model) => model.audit(conns, found),)* }
            }
        }
    };
}

transports! {
    datagram::Datagram = "datagram",
    tcp::Tcp = "tcp",
    ndp::Ndp = "ndp",
    pfabric::Pfabric = "pfabric",
    mptcp::Mptcp = "mptcp",
    dcqcn::Dcqcn = "dcqcn",
}

impl Model {
    /// The number of another configuration that this model carries beside its own, if what belongs to a host, such as a
    /// receiver's pull queue, is one thing for both.
    pub fn join(&mut self, other: &Transport) -> Option<u8> {
        match (self, other) {
            (Model::Ndp(model), Transport::Ndp(config)) => Some(model.join(config)),
            _ => None,
        }
    }
}

/// What the hosts of a run do: what a researcher writes.
///
/// Each call is an event at one host, and must touch only what that host knows: what the other end is
/// to learn has to cross in packets.
pub trait HostSide {
    /// At the sender: a flow of `size` bytes starts. `key` is the flow's own key for chance.
    fn start(&mut self, id: ConnId, size: u64, key: u64, cx: &mut Cx);

    /// At the sender: a connection begins that outlives its flows, which follow by [`HostSide::message`]. Only of
    /// transports whose [`Settings::keeps`] says so. `key` is that of the first of them.
    fn connect(&mut self, id: ConnId, key: u64, cx: &mut Cx) {
        let _ = (id, key, cx);
        unreachable!("the check refuses kept connections under this transport");
    }

    /// At the sender: a flow of `size` bytes starts on the connection that `cx.conn(id).via` names, behind those that it
    /// still carries. Its packets belong to `id`; timers, turns at the port and whatever the ends know to the other.
    fn message(&mut self, id: ConnId, size: u64, cx: &mut Cx) {
        let _ = (id, size, cx);
        unreachable!("the check refuses kept connections under this transport");
    }

    /// At the receiver: a packet has arrived.
    fn at_receiver(&mut self, packet: &Packet, cx: &mut Cx);

    /// At the sender: an acknowledgement or the like has arrived.
    fn at_sender(&mut self, packet: &Packet, cx: &mut Cx);

    /// At the sender: the wire is free and it is this connection's turn, which it had asked for by
    /// [`Cx::ready`]. The packet to send now, if there is one, and whether it wants another turn.
    fn next_packet(&mut self, id: ConnId, cx: &mut Cx) -> (Option<Packet>, bool);

    /// A timer event has come; ask [`Cx::timer_is_due`]. A connection's even kinds are its sender's, its
    /// odd ones its receiver's.
    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut Cx);

    /// The congestion window of a connection in bytes, if it has one: for samples. Of a kept one, that of the connection.
    fn window(&self, id: ConnId) -> Option<u64> {
        let _ = id;
        None
    }

    /// Reports what is wrong in the transport's own books, given its open connections: see the audit.
    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        let _ = (conns, found);
    }
}

/// Reports a connection whose counted deliveries are not the bytes of the ranges that its receiver holds.
fn audit_ranges(id: ConnId, conn: &Conn, received: u64, found: &mut dyn FnMut(String)) {
    let counted = conn.counts.delivered_bytes;
    if counted != received {
        found(format!(
            "connection {id}: {counted} bytes counted as delivered, {received} in received ranges"
        ));
    }
}

/// One end of each connection, by the connection's slot.
#[derive(Clone, Debug, Default)]
pub struct Ends<T>(Vec<T>);

impl<T: Default> Ends<T> {
    /// The end for a connection that starts: a fresh slot or one that another connection has left.
    pub fn open(&mut self, id: ConnId) -> &mut T {
        if id.index() >= self.0.len() {
            self.0.resize_with(id.index() + 1, T::default);
        }
        &mut self.0[id.index()]
    }
}

impl<T> std::ops::Index<ConnId> for Ends<T> {
    type Output = T;
    #[inline]
    fn index(&self, id: ConnId) -> &T {
        &self.0[id.index()]
    }
}

impl<T> std::ops::IndexMut<ConnId> for Ends<T> {
    #[inline]
    fn index_mut(&mut self, id: ConnId) -> &mut T {
        &mut self.0[id.index()]
    }
}

/// What a transport's configuration tells the check and the records.
pub trait Settings {
    /// All that is wrong beyond what the schema says: (path below the transport, what is wrong).
    fn problems(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// What it needs from the ports on its way.
    fn needs(&self) -> &'static [Feature] {
        &[]
    }

    /// The queue that ports get if the scenario names none.
    fn recommended_queue(&self) -> Queue;

    /// Whether its connections can be kept: see [`HostSide::connect`].
    fn keeps(&self) -> bool {
        false
    }

    /// The field by which it is to choose paths itself, if it is: only some balancers leave that to it.
    fn chooses_paths(&self) -> Option<&'static str> {
        None
    }

    /// The balancer that its flows get if the scenario names none.
    fn recommended_balancer(&self) -> Balancer;

    /// Bytes of a full data packet on the wire.
    fn full_packet(&self) -> u64;

    /// Bytes of a packet on the wire that answers data; 0: nothing answers.
    fn answer_bytes(&self) -> u64 {
        0
    }

    /// Fields that the scenario leaves to the network, with what follows from it.
    fn derived(&self, longest: &Longest) -> Values {
        let _ = longest;
        Vec::new()
    }

    /// Fields whose defaults come with another field, a preset, with the values that are used.
    fn preset(&self) -> Values {
        Vec::new()
    }

    /// How a flow is cut into packets, to compute its ideal completion time; `None` if that is random.
    fn framing(&self) -> Option<Framing>;

    /// Fields that say what a host does for all its connections: all of a run's transports of one kind agree in them.
    fn of_host(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// Full packets that a flow may have under way; `None` if nothing but its host's wire limits them. For estimates.
    fn most_under_way(&self) -> Option<u64> {
        None
    }

    /// The longest time that its timers let pass before a sender tries again what nothing has answered.
    fn longest_timeout(&self) -> Time {
        Time::ZERO
    }

    /// Connections that carry a flow besides the one that stands for it; 0: it has no other.
    fn subflows(&self) -> u64 {
        0
    }

    /// Packets without payload for each data packet. For estimates.
    fn answers(&self) -> f64 {
        1.0
    }

    /// Bytes of each packet below the IP header. For captures.
    fn link_bytes(&self) -> u64 {
        0
    }

    /// What a packet has behind its IP header. For captures.
    fn frame(&self, packet: &Packet) -> Frame {
        udp_frame(packet)
    }
}

/// How a flow is cut into packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Payload of a full packet.
    pub payload: u64,
    /// Bytes on the wire on top of the payload.
    pub header: u64,
    /// Whether the last packet is sent at full size even if its payload is short.
    pub pad_last: bool,
}
