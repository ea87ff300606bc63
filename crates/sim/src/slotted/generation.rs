//! Arrivals of flows on the slotted link: fields of a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When flows arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Generation {
    /// Each server that has no flow starts one in a slot with a probability.
    Random {
        /// Number of servers.
        #[schemars(range(min = 1, max = 100_000))]
        servers: u32,
        /// In each slot, for each idle server.
        #[schemars(range(min = 0.000_000_001, max = 1))]
        probability: f64,
    },
    /// Sets of flows that arrive together, each set when the link is empty: independent experiments.
    Sets {
        /// Flows of a set, each of a server of its own.
        #[schemars(range(min = 1, max = 100_000))]
        flows: u32,
        /// Number of sets.
        #[serde(default = "one")]
        #[schemars(range(min = 1, max = 1_000_000))]
        sets: u32,
    },
    /// In every so many slots, each server starts a flow.
    Interval {
        /// Number of servers.
        #[schemars(range(min = 1, max = 100_000))]
        servers: u32,
        /// Slots from one set to the next.
        #[schemars(range(min = 1, max = 1_000_000_000))]
        slots: u64,
        /// Number of sets.
        #[schemars(range(min = 1, max = 1_000_000))]
        sets: u32,
        /// Action of a server whose flow is still active: it passes its turn, or starts another one beside
        /// it.
        #[serde(default)]
        busy: Busy,
    },
    /// These flows.
    List(#[schemars(length(min = 1, max = 1_000_000))] Vec<Listed>),
}

/// Action of a server with an active flow when its turn comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Busy {
    /// It starts none.
    #[default]
    Skip,
    /// It starts another one.
    Add,
}

/// A flow of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Listed {
    /// Slot in which it arrives.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub arrival: u64,
    /// Packets.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub size: u32,
    /// Slots from its arrival in which it is to be done.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub deadline: u64,
}

fn one() -> u32 {
    1
}
