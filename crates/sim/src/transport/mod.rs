//! Transport protocols of hosts: on flow start, on a packet, on a timer, and when the link is ready for the
//! next packet.
//!
//! A member has a configuration, which is part of the scenario, and a `Model`, which holds the senders
//! and receivers of all its connections. Adding one is its file and its line in the list below; the
//! datagram transport is the shortest example.

pub mod ack;
pub mod backoff;
pub mod delivery;
pub mod entropy;
pub mod frame;
pub mod granted;
pub mod overdue;
pub mod paced;
pub mod priorities;
pub mod profile;
pub mod reassembly;
pub mod repath;
pub mod rtt;
pub mod sent;
pub mod session;
pub mod source;
pub mod tagging;
pub mod tokened;

use self::frame::{Frame, udp_frame};
pub use self::profile::{Framing, Needs, Profile, Signal};
use crate::advice::{Advice, Unread};
use crate::derived::{Environment, Longest, Values};
use crate::engine::contract::conn::Conn;
use crate::engine::contract::controller::Order;
use crate::engine::contract::credit::CLASSES;
use crate::engine::contract::endpoint::{Configs, Endpoint, Ends};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start};
use crate::engine::contract::packet::Packet;
use crate::ids::{ConnId, NodeId};
use crate::problem::Problem;
use crate::prototype::Named;
use crate::queue::Queue;
use crate::random::Stream;
use crate::register::{dispatch, register};
use crate::topology::Fabric;
use crate::units::Rate;

/// One list: configuration and model of each transport, and the way from one to the other.
macro_rules! transports {
    ($($module:ident :: $config:ident = $name:literal),* $(,)?) => {
        register! {
            /// Transport protocol of the hosts.
            pub enum Transport: Settings { $($module::$config = $name),* }
        }

        /// All connections of one transport in a run.
        pub enum Model {
            $($config($module::Model),)*
        }

        impl Transport {
            /// The models of a run, none of which has a connection yet: one for each kind of transport, in the order of
            /// the list, made of all configurations of that kind.
            pub fn models(all: &[Transport], fabric: &Fabric) -> Vec<Model> {
                let mut models = Vec::new();
                $(
                    let configs = all.iter().filter_map(|transport| match transport {
                        Transport::$config(config) => Some(config.clone()),
                        _ => None,
                    });
                    let configs: Vec<_> = configs.collect();
                    if !configs.is_empty() {
                        models.push(Model::$config($module::Model::new(Configs::new(configs, fabric))));
                    }
                )*
                models
            }
        }

        dispatch! {
            impl Endpoint for Model [$($config)*] {
                fn start(&mut self, id: ConnId, start: Start, cx: &mut impl Host);
                fn connect(&mut self, id: ConnId, key: u64, cx: &mut impl Host);
                fn message(&mut self, id: ConnId, start: Start, cx: &mut impl Host);
                fn accept(&mut self, id: ConnId, cx: &mut impl Host);
                #[inline]
                fn at_receiver(&mut self, packet: &Packet, cx: &mut impl Host);
                #[inline]
                fn at_sender(&mut self, packet: &Packet, cx: &mut impl Host);
                // Whatever its members weigh: a call for each packet costs 0.3 % of a run's instructions.
                #[inline(always)]
                fn next_packet(&mut self, id: ConnId, cx: &mut impl Host) -> (Option<Packet>, bool);
                fn timer(&mut self, owner: Owner, kind: u8, cx: &mut impl Host);
                fn ordered(&mut self, orders: &[Order], cx: &mut impl Host);
                fn waiting(&self, host: NodeId) -> Option<u64>;
                fn window(&self, id: ConnId, conn: &Conn) -> Option<u64>;
                fn rate(&self, id: ConnId, conn: &Conn) -> Option<Rate>;
                fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String));
            }
        }
    };
}

transports! {
    datagram::Datagram = "datagram",
    tcp::Tcp = "tcp",
    ndp::Ndp = "ndp",
    pfabric::Pfabric = "pfabric",
    homa::Homa = "homa",
    phost::Phost = "phost",
    expresspass::ExpressPass = "expresspass",
    sird::Sird = "sird",
    dcpim::Dcpim = "dcpim",
    mptcp::Mptcp = "mptcp",
    parallel_tcp::ParallelTcp = "parallel-tcp",
    repflow::RepFlow = "repflow",
    dcqcn::Dcqcn = "dcqcn",
    roce::Roce = "roce",
    uet::Uet = "uet",
    rcp::Rcp = "rcp",
    numfabric::Numfabric = "numfabric",
    daq::Daq = "daq",
    d3::D3 = "d3",
    pdq::Pdq = "pdq",
    racs::Racs = "racs",
    central::Central = "central",
    python::PythonTransport = "python",
}

impl Transport {
    /// For each transport of a run, the place of its model among [`Transport::models`], and its place among the
    /// configurations of that model.
    pub fn places(all: &[Transport]) -> Vec<(u8, u8)> {
        let names: Vec<&str> = all.iter().map(Transport::name).collect();
        let kinds: Vec<&str> = Transport::NAMES.iter().copied().filter(|name| names.contains(name)).collect();
        let place = |(at, name): (usize, &&str)| {
            let model = kinds.iter().position(|kind| kind == name).expect("its kind is among them");
            (model as u8, names[..at].iter().filter(|other| *other == name).count() as u8)
        };
        names.iter().enumerate().map(place).collect()
    }
}

/// Reports a connection whose counted deliveries are not the bytes of the ranges that its receiver holds.
fn audit_ranges(id: ConnId, conn: &Conn, received: u64, found: &mut dyn FnMut(String)) {
    let counted = conn.counts().delivered_bytes;
    if counted != received {
        found(format!(
            "connection {id}: {counted} bytes counted as delivered, {received} in received ranges"
        ));
    }
}

/// The same for all connections whose receivers have begun, given the bytes that each holds.
fn audit_received(
    conns: &[(ConnId, Conn)],
    received: impl Fn(ConnId, &Conn) -> u64,
    found: &mut dyn FnMut(String),
) {
    for (id, conn) in conns.iter().filter(|(_, conn)| conn.accepted()) {
        audit_ranges(*id, conn, received(*id, conn), found);
    }
}

/// The same for all connections of a transport, given a receiver's count of received bytes; and
/// inconsistencies of senders' counters.
fn audit_ends<S, R>(
    conns: &[(ConnId, Conn)],
    senders: (&Ends<S>, impl Fn(&S) -> Option<String>),
    receivers: (&Ends<R>, impl Fn(&R) -> u64),
    found: &mut dyn FnMut(String),
) {
    let ((senders, wrong), (receivers, received)) = (senders, receivers);
    audit_received(conns, |id, _| received(receivers.get(id)), found);
    for (id, conn) in conns {
        if conn.sends_here()
            && let Some(wrong) = wrong(senders.get(*id))
        {
            found(format!("connection {id}: {wrong}"));
        }
    }
}

/// Properties of a transport's configuration for the check and the records.
pub trait Settings {
    /// All problems beyond those that the schema finds; paths are below the transport.
    fn problems(&self) -> Vec<Problem> {
        Vec::new()
    }

    /// Its problems on that network; paths are below the transport.
    fn problems_on(&self, fabric: &Fabric) -> Vec<Problem> {
        let _ = fabric;
        Vec::new()
    }

    /// Properties of its packets, senders and connections. Of a configuration with problems, too: the check reads it with
    /// them, so that its arithmetic must not overflow.
    fn profile(&self) -> Profile;

    /// Its requirements on ports, traffic and the rest of the scenario.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Of flows with a deadline, or without one: whether their data is of the class of the short ones, and of the long
    /// ones. For ports that give credit to each (`engine/network/credit.rs`).
    fn classes(&self, deadline: bool) -> [bool; CLASSES] {
        let _ = deadline;
        [true; CLASSES]
    }

    /// Whether it gives its packets classes of its own, at ports with that queue.
    fn sets_class(&self, queue: &Queue) -> bool {
        let _ = queue;
        self.profile().class_field.is_some()
    }

    /// Fields that the scenario leaves to the network, with their values.
    fn derived(&self, environment: &Environment) -> Values {
        let _ = environment;
        Vec::new()
    }

    /// Fields whose defaults come with another field, a preset, with the values that are used.
    fn preset(&self) -> Values {
        Vec::new()
    }

    /// Allowed settings of its fields that are probably not meant; the fields are at that path.
    fn advice(&self, path: &str, longest: &Longest) -> Vec<Advice> {
        let _ = (path, longest);
        Vec::new()
    }

    /// Fields that the others leave unread: advice names those that a scenario sets.
    fn unread(&self) -> Vec<Unread> {
        Vec::new()
    }

    /// Where packets have random lengths: their bytes on the wire, one after the other, for a flow of that size with that
    /// stream for its packets; to compute its ideal completion time.
    fn packets(&self, size: u64, stream: Stream) -> Option<Box<dyn Iterator<Item = u64> + '_>> {
        let _ = (size, stream);
        None
    }

    /// A packet's bytes behind its IP header. For captures.
    fn frame(&self, packet: &Packet) -> Frame {
        udp_frame(packet)
    }

    /// Finds the prototype that it names, of itself or of a part; whether it names one.
    fn bind(&mut self, prototypes: &Prototypes) -> bool {
        let _ = prototypes;
        false
    }
}

/// Members that may be written in Python for transports: see `prototype.rs`.
#[derive(Clone, Debug, Default)]
pub struct Prototypes {
    pub transports: Named<dyn python::Prototype>,
    pub controls: Named<dyn tcp::congestion::python::Prototype>,
}
