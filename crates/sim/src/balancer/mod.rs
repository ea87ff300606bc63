//! Which of the equal next hops a packet takes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{ConnId, LinkId, NodeId};
use crate::register::register;
use crate::routing::Routes;
use crate::units::Time;

/// One list: configuration and model of each balancer.
macro_rules! balancers {
    ($($module:ident :: $config:ident = $name:literal),* $(,)?) => {
        register! {
            /// Which of the equal next hops a packet takes.
            pub enum Balancer: Settings { $($module::$config = $name),* }
        }

        /// The state of a balancer at all nodes.
        #[derive(Clone, Debug)]
        #[allow(missing_docs, reason = "the configuration structs have the documentation")]
        pub enum Model {
            $($config($module::Model),)*
        }

        impl Balancer {
            /// The balancer at `nodes` nodes.
            pub fn model(&self, nodes: usize, seed: u64, replica: u64) -> Model {
                match self {
                    $(Balancer::$config(config) => Model::$config($module::Model::new(config, nodes, seed, replica)),)*
                }
            }
        }

        impl Choose for Model {
            #[inline(always)]
            fn choose(&mut self, hop: Hop, now: Time) -> u32 {
                match self {
                    $(Model::$config(model) => model.choose(hop, now),)*
                }
            }

            #[inline(always)]
            fn foresee(&self, hop: Hop) -> Option<u32> {
                match self {
                    $(Model::$config(model) => model.foresee(hop),)*
                }
            }

            fn open(&mut self, id: ConnId, label: u32) {
                match self {
                    $(Model::$config(model) => model.open(id, label),)*
                }
            }

            #[inline(always)]
            fn next_path(&mut self, trip: Trip) -> Option<Path> {
                match self {
                    $(Model::$config(model) => model.next_path(trip),)*
                }
            }

            fn path(&self, id: ConnId, forward: bool) -> Option<u32> {
                match self {
                    $(Model::$config(model) => model.path(id, forward),)*
                }
            }
        }
    };
}

balancers! {
    single::Single = "single",
    per_flow::PerFlow = "per-flow",
    per_packet::PerPacket = "per-packet",
    permuted::Permuted = "permuted",
}

/// What a balancer's configuration tells the check.
pub trait Settings {
    /// Whether it leaves the path to the source.
    fn leaves_paths(&self) -> bool {
        false
    }
}

/// How packets find their way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Routing {
    /// Which of the equal next hops a packet takes. Absent: what the transport recommends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balancer: Option<Balancer>,
}

/// A packet that has a choice.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// The node.
    pub at: NodeId,
    /// Stands for the packet's 5-tuple; or says the source's choices, if the balancer leaves them to it.
    pub label: u32,
    /// Links that the packet has crossed.
    pub hops: u8,
    /// A number that no other hop of any packet has: what to draw chance by, in whatever order hops come.
    pub ticket: u64,
    /// How many next hops there are.
    pub count: u32,
}

/// What a source knows when it chooses the path of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Trip<'a> {
    /// The packet's connection.
    pub conn: ConnId,
    /// Whether it goes to the connection's receiver.
    pub forward: bool,
    /// The port by which it leaves.
    pub port: LinkId,
    /// The host that it is for.
    pub to: NodeId,
    /// All shortest paths as they are now.
    pub routes: &'a Routes,
    /// Where each link ends.
    pub ends: &'a [NodeId],
}

/// The path that a source has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Its number among the paths of this end of the connection, from 0.
    pub number: u32,
    /// What [`Choose::choose`] finds it by.
    pub label: u32,
}

/// The state of a balancer at all nodes: what a researcher writes.
pub trait Choose {
    /// Which of `hop.count` next hops the packet takes, now that it is there.
    fn choose(&mut self, hop: Hop, now: Time) -> u32;

    /// What [`Choose::choose`] is going to say, if that is known before the packet is there. It spares the
    /// engine a wait for memory.
    #[inline]
    fn foresee(&self, hop: Hop) -> Option<u32> {
        let _ = hop;
        None
    }

    /// A connection begins, whose packets to its receiver have that label.
    fn open(&mut self, id: ConnId, label: u32) {
        let _ = (id, label);
    }

    /// At the host that makes a packet: the path that is next, if the source chooses it.
    #[inline]
    fn next_path(&mut self, trip: Trip) -> Option<Path> {
        let _ = trip;
        None
    }

    /// The number of the path that [`Choose::next_path`] has said last for that end of the connection.
    fn path(&self, id: ConnId, forward: bool) -> Option<u32> {
        let _ = (id, forward);
        None
    }
}

/// A balancer whose choice depends on nothing but the packet.
pub trait Stateless {
    /// Which of `hop.count` next hops the packet takes.
    fn pick(&self, hop: Hop) -> u32;
}

impl<T: Stateless> Choose for T {
    #[inline(always)]
    fn choose(&mut self, hop: Hop, _now: Time) -> u32 {
        self.pick(hop)
    }

    #[inline(always)]
    fn foresee(&self, hop: Hop) -> Option<u32> {
        Some(self.pick(hop))
    }
}
