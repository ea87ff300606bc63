//! The scenario: the only definition of what can be run, with defaults, documentation and bounds.
//!
//! The JSON Schema, the Python classes and the reference pages are generated from these structs and
//! those of the lists that they name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::balancer::Balancer;
use crate::queue::Queue;
use crate::topology::Topology;
use crate::transport::Transport;
use crate::units::Time;

/// One run: a network, its traffic, and how long to look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of the run in reports. Absent: the name of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The network.
    pub topology: Topology,
    /// How packets find their way, unless a traffic entry says otherwise.
    #[serde(default)]
    pub routing: Routing,
    /// What hosts do, unless a traffic entry says otherwise.
    pub transport: Transport,
    /// What ports do with packets that wait. Absent: what the transport recommends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Who sends what to whom, and when.
    #[schemars(length(min = 1, max = 1000))]
    pub traffic: Vec<crate::traffic::Entry>,
    /// How to run it.
    #[serde(default)]
    pub run: Run,
}

/// How packets find their way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Routing {
    /// Which of the equal next hops a packet takes. Absent: what the transport recommends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balancer: Option<Balancer>,
}

/// How to run a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Run {
    /// What all chance in the run comes from.
    pub seed: u64,
    /// Number of the repetition: another replica of the same seed is independent of this one.
    pub replica: u64,
    /// Stop at this simulated time at the latest. Absent: run until every flow has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ps"))]
    pub until: Option<Time>,
    /// Flows that start earlier are simulated and recorded, but left out of summaries and reports.
    pub warm_up: Time,
    /// Give up, with status "stalled", when no payload arrived anywhere for this long although flows are open.
    #[schemars(extend("x-minimum" = "1us"))]
    pub stall: Time,
    /// Check conservation of packets, bytes and credits against the structures, again and again during the run.
    pub audit: bool,
    /// How ports work inside; results are the same.
    pub port_mode: PortMode,
}

/// How ports work inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PortMode {
    /// First-in first-out ports compute a packet's departure on its arrival: one event a packet-hop.
    Auto,
    /// Every port is served packet by packet: slower, there to be compared.
    Serviced,
}

impl Default for Run {
    fn default() -> Self {
        Run {
            seed: 1,
            replica: 0,
            until: None,
            warm_up: Time::ZERO,
            stall: Time(10_000_000_000_000),
            audit: false,
            port_mode: PortMode::Auto,
        }
    }
}
