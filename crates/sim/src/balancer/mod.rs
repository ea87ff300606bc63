//! Which of the equal next hops a packet takes.

use crate::ids::NodeId;
use crate::register::register;

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
                    $(Balancer::$config(_) => Model::$config($module::Model::new(nodes, seed, replica)),)*
                }
            }
        }

        impl Model {
            /// Which of `count` next hops a packet with that label takes at that node.
            #[inline]
            pub fn choose(&mut self, at: NodeId, label: u32, count: u32) -> u32 {
                match self {
                    $(Model::$config(model) => model.choose(at, label, count),)*
                }
            }
        }
    };
}

balancers! {
    single::Single = "single",
    per_flow::PerFlow = "per-flow",
    per_packet::PerPacket = "per-packet",
}

/// What a balancer's configuration tells the check: nothing so far.
pub trait Settings {}
