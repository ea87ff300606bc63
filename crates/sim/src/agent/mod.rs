//! Agents, the computation at each port for passing packets: the rates that switches give to flows.
//!
//! A member has a configuration, which is part of the scenario, and a `Model`, which is its state at one port. Adding one
//! is its file and its line in the list below; `rcp` is the shortest example. The contract is in `engine/contract/agent.rs`.

mod flows;
pub mod gains;
pub mod interval;
pub mod kind;

use self::gains::Gains;
use crate::advice::Unread;
use crate::derived::{Environment, Values};
use crate::engine::contract::agent::{AgentContext, PortAgent};
use crate::engine::contract::numbers::Numbers;
use crate::engine::contract::packet::{Packet, Record};
use crate::ids::FlowId;
use crate::problem::Problem;
use crate::register::{dispatch, register};
use crate::topology::Link;
use crate::units::Time;

/// One list: configuration and model of each agent, and the way from one to the other.
macro_rules! agents {
    ($($module:ident :: $config:ident = $name:literal),* $(,)?) => {
        register! {
            /// The computation at each port for passing packets.
            pub enum Agent: Settings { $($module::$config = $name),* }
        }

        /// The state of an agent at one port.
        #[derive(Clone, Debug)]
        pub enum Model {
            $($config(<$module::$config as Build>::Model),)*
        }

        impl Agent {
            /// The agent at the port of a link.
            pub fn model(&self, link: &Link) -> Model {
                match self {
                    $(Agent::$config(config) => Model::$config(config.model(link)),)*
                }
            }
        }

        dispatch! {
            impl PortAgent for Model [$($config)*] {
                #[inline]
                fn reads_bytes(&self) -> bool;
                fn reads_answers(&self) -> bool;
                #[inline]
                fn on_packet(&mut self, packet: &mut Packet, record: &mut Record, cx: &mut AgentContext);
                #[inline]
                fn on_answer(&mut self, packet: &mut Packet, record: &mut Record, cx: &mut AgentContext);
                fn tick(&mut self, cx: &mut AgentContext);
                fn number(&mut self, numbers: &Numbers);
                fn audit(&self, now: Time, is_open: &dyn Fn(FlowId) -> bool, found: &mut dyn FnMut(String));
                fn audit_idle(&self, found: &mut dyn FnMut(String));
                fn heap_bytes(&self) -> usize;
            }
        }
    };
}

agents! {
    rcp::RcpPort = "rcp",
    d3::D3Port = "d3",
    pdq::PdqPort = "pdq",
    racs::RacsPort = "racs",
    fecn::FecnPort = "fecn",
    qcn::QcnPort = "qcn",
    numfabric::NumfabricPort = "numfabric",
}

/// Properties of an agent's configuration for the check and the engine.
pub trait Settings {
    /// The name of the transport that it serves.
    fn serves(&self) -> &'static str;

    /// All problems beyond those that the schema finds; paths are below the agent.
    fn problems(&self) -> Vec<Problem> {
        Vec::new()
    }

    /// Fields that the scenario leaves to the network, with their values.
    fn derived(&self, environment: &Environment) -> Values {
        let _ = environment;
        Vec::new()
    }

    /// Fields that the others leave unread: advice names those that a scenario sets.
    fn unread(&self) -> Vec<Unread> {
        Vec::new()
    }

    /// The gains of the rule that adapts its rates to spare capacity and queue, if it has one.
    fn gains(&self) -> Option<Gains> {
        None
    }

    /// Whether it gives each flow one rate, so that the flow's packets take one path.
    fn gives_rates(&self) -> bool {
        true
    }

    /// Whether answers must go the data's links backwards, so that the agents that the data met see them.
    fn needs_answers(&self) -> bool {
        false
    }

    /// If a lost request leaves its state wrong for good: the field to set in it where packets may be lost.
    fn needs_all(&self) -> Option<&'static str> {
        None
    }

    /// Most links of a path for which the headers of packets have room.
    fn links_most(&self) -> usize {
        usize::MAX
    }
}

/// From the configuration to the state at one port.
pub trait Build {
    /// The state at one port.
    type Model: PortAgent;

    /// The agent at the port of a link, before any packet.
    fn model(&self, link: &Link) -> Self::Model;
}
