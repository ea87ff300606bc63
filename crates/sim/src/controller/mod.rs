//! Central controllers, which decide for all hosts at once when, how fast or by which paths they send.
//!
//! A member has a configuration, which is part of the scenario, and a `Model`, which is its state in a run. Adding one is its
//! file and its line in the list below; `max_min` is the shortest example. The contract is in `engine/contract/controller.rs`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::advice::Unread;
use crate::balancer::Balancer;
use crate::derived::Values;
use crate::engine::contract::controller::{Channel, ControlContext, Controller as Contract, Report};
use crate::problem::Problem;
use crate::register::{dispatch, register};
use crate::routing::Routes;
use crate::topology::Fabric;
use crate::units::{Bytes, Time};

pub mod cuts;
pub mod queue_rates;
pub mod rates;

/// One list: configuration and model of each controller, and the way from one to the other.
macro_rules! controllers {
    ($($module:ident :: $config:ident = $name:literal),* $(,)?) => {
        register! {
            /// Central controller, which decides for all hosts when, or how fast, they send.
            pub enum Controller: Settings { $($module::$config = $name),* }
        }

        /// The state of a controller.
        pub enum Model {
            $($config(<$module::$config as Build>::Model),)*
        }

        impl Controller {
            /// The controller of a network, before anything has happened.
            pub fn model(&self, fabric: &Arc<Fabric>, routes: &Arc<Routes>) -> Model {
                match self {
                    $(Controller::$config(config) => Model::$config(config.model(fabric, routes)),)*
                }
            }
        }

        dispatch! {
            impl Contract for Model [$($config)*] {
                fn is_urgent(&self, report: &Report) -> bool;
                fn counts_packets(&self) -> bool;
                fn begins(&self) -> Time;
                fn act(&mut self, reports: &[Report], cx: &mut ControlContext);
                fn audit(&self, found: &mut dyn FnMut(String));
                fn heap_bytes(&self) -> usize;
            }
        }
    };
}

controllers! {
    asy::Asy = "asy",
    flowtune::FlowtuneRates = "flowtune",
    hedera::HederaPaths = "hedera",
    max_min::MaxMinRates = "max-min",
    syn::Syn = "syn",
    dard::DardPaths = "dard",
}

/// Properties of a controller's configuration for the check and the engine.
pub trait Settings {
    /// The name of the transport that it serves.
    fn serves(&self) -> &'static str {
        "central"
    }

    /// All problems beyond those that the schema finds; paths are below the controller.
    fn problems(&self) -> Vec<Problem> {
        Vec::new()
    }

    /// Its problems on that network, with full packets of so many bytes on the wire; paths are below the controller.
    fn problems_on(&self, fabric: &Fabric, full_packet: Bytes) -> Vec<Problem> {
        let _ = (fabric, full_packet);
        Vec::new()
    }

    /// Fields that the scenario leaves to the network, with their values.
    fn derived(&self, fabric: &Fabric, full_packet: Bytes) -> Values {
        let _ = (fabric, full_packet);
        Vec::new()
    }

    /// Bytes of a link's time that it gives to a packet of so many bytes on the wire.
    fn takes(&self, wire_bytes: u64) -> u64 {
        wire_bytes
    }

    /// Fields that the others leave unread: advice names those that a scenario sets.
    fn unread(&self) -> Vec<Unread> {
        Vec::new()
    }

    /// How its reports and orders travel.
    fn channel(&self) -> Channel;

    /// Whether it reads the counters of connections: see [`ControlContext::flows`].
    fn reads_connections(&self) -> bool {
        false
    }

    /// Why it has no use for a network in which something goes wrong, if it has none.
    fn refuses_faults(&self) -> Option<&'static str> {
        None
    }

    /// The field with the weights of flows by their priorities, and the weights, if it has such a field.
    fn weights(&self) -> Option<(&'static str, &[f64])> {
        None
    }

    /// The balancer that the flows need that it serves; none: any does.
    fn balancer(&self) -> Option<Balancer> {
        None
    }
}

/// The channel between hosts and controller, apart from the network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ControlChannel {
    /// Delay from a host to the controller, and back.
    pub delay: Time,
    /// Probability that a message is lost.
    #[schemars(range(min = 0.0, max = 0.9))]
    pub loss: f64,
    /// After this time a lost report or rate is retransmitted, and a lost grant is detected.
    #[schemars(extend("x-minimum" = "1us"))]
    pub timeout: Time,
}

impl Default for ControlChannel {
    fn default() -> Self {
        // Fastpass waits 200 us before it retransmits a request (its public code).
        ControlChannel { delay: Time::ZERO, loss: 0.0, timeout: Time::from_us(200) }
    }
}

impl ControlChannel {
    /// With servers whose clocks are late by up to so much.
    fn channel(self, clock_error: Time) -> Channel {
        let ControlChannel { delay, loss, timeout } = self;
        Channel { delay, loss, timeout, clock_error }
    }
}

/// From the configuration to the state in a run.
pub trait Build {
    /// The state in a run.
    type Model: Contract;

    /// The controller of a network, before anything has happened.
    fn model(&self, fabric: &Arc<Fabric>, routes: &Arc<Routes>) -> Self::Model;
}
