//! Fields of D3's ports in a scenario.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LINKS;
use crate::advice::Unread;
use crate::agent::gains::Gains;
use crate::agent::{Settings, interval};
use crate::derived::{Derived, Environment, Values};
use crate::units::{Rate, Time};

/// Fields of D3's routers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct D3Port {
    /// Share of the unused capacity by which the allocatable capacity grows in an interval.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub alpha: f64,
    /// Share of the queue that is to be drained in an interval: the allocatable capacity is so much less.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub beta: f64,
    /// The capacity is computed anew after this time. "derived": the round trip of the network's longest path.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub interval: Derived<Time>,
    /// The share of the remaining capacity that a flow gets.
    pub allocation: Allocation,
    /// The least allocation. The paper's lets a flow send a header in each round trip; with headers that need no allocation,
    /// as a public model (SymbioticLab/Aequitas) and this one have them, it is 0.
    pub base_rate: Rate,
    /// The state that a port keeps.
    pub state: PortState,
    /// With per-flow state: a flow without a request for so many intervals is removed, as one whose path a
    /// fault has moved. Requests are at most two round trips apart, and half of one is needed for the reply;
    /// as much again allows for queueing. A flow that was only slow is recorded again at its next request.
    #[schemars(range(min = 1.0, max = 1000000.0))]
    pub silent_intervals: f64,
}

/// The share of the remaining capacity that a flow gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Allocation {
    /// The paper's: the requested rate plus a fair share of the unrequested capacity, if the requested rate is available. Other
    /// flows may hold part of that share, so that the sum of the allocations may exceed the capacity.
    Greedy,
    /// The same, limited to the remaining capacity.
    Capped,
}

/// The state that a port keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PortState {
    /// Three sums (paper). A lost request would leave them wrong for good, so no queue may drop one.
    Counters,
    /// Allocation and request of each flow: a lost or retransmitted request changes nothing for other flows.
    Flows,
}

impl Default for D3Port {
    fn default() -> Self {
        D3Port {
            alpha: 0.1,
            beta: 1.0,
            interval: Derived::FromNetwork,
            allocation: Allocation::Greedy,
            base_rate: Rate(0),
            state: PortState::Counters,
            silent_intervals: 4.0,
        }
    }
}

impl Settings for D3Port {
    fn serves(&self) -> &'static str {
        "d3"
    }

    fn unread(&self) -> Vec<Unread> {
        Unread::among([("silent_intervals", self.state == PortState::Flows, "state = \"flows\"")])
    }

    fn gains(&self) -> Option<Gains> {
        Some(Gains { alpha: self.alpha, beta: self.beta, interval: self.interval.given() })
    }

    fn derived(&self, environment: &Environment) -> Values {
        interval::derived(&[("interval", self.interval)], &environment.longest)
    }

    fn needs_answers(&self) -> bool {
        true
    }

    fn links_most(&self) -> usize {
        LINKS
    }

    fn needs_all(&self) -> Option<&'static str> {
        (self.state == PortState::Counters).then_some("state = \"flows\"")
    }
}
