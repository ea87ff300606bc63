//! One entry of a scenario's traffic: its flows, and their transport where that is not the scenario's.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::balancer::Routing;
use crate::traffic::Demand;
use crate::traffic::arrivals::Arrivals;
use crate::traffic::deadlines::Deadlines;
use crate::traffic::matrix::Matrix;
use crate::traffic::sizes::Sizes;
use crate::traffic::sources::Sources;
use crate::traffic::workload::product::Product;
use crate::transport::Transport;
use crate::units::Time;

/// A set of flows that belong together: one entry of a scenario's traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Names the entry in results (column `tag`) and keys its random draws; letters, digits, "-" and "_".
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    /// When flows start.
    pub arrivals: Arrivals,
    /// Senders and receivers of the flows.
    pub matrix: Matrix,
    /// How many bytes of payload a flow carries.
    pub sizes: Sizes,
    /// The hosts that send, for a matrix in which every host does; by default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<Sources>,
    /// Whether only the sources receive too: the matrix is drawn as if there were no other hosts. By default any host
    /// may receive.
    #[serde(default)]
    pub among_sources: bool,
    /// Number of flows; by default one round of the matrix, one for each given time, or one for each flow that the
    /// entry waits for. Of Poisson arrivals, which need it unless they have an end, the number of measured flows: more
    /// precede them and follow (see `run.measure`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub flows: Option<u64>,
    /// Whether the run ends without waiting for these flows: they never count as unfinished, and the run ends just after
    /// the last other flow, by the smallest delay between two hosts.
    /// Poisson or periodic arrivals in the background with neither a number of flows nor an end go on until `run.until`, or until
    /// the last flow of a measuring window has ended.
    #[serde(default)]
    pub background: bool,
    /// Priority of the flows, for transports that have priorities: the lowest number goes first.
    #[serde(default)]
    #[schemars(range(max = 7))]
    pub priority: u32,
    /// Class of the flows' packets at ports (DSCP), replies included: 0 goes first. By default the classes that the
    /// transport gives its packets, mostly 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 7))]
    pub class: Option<u32>,
    /// Whether each flow opens a connection of its own, or flows from one host to another share one that is kept.
    #[serde(default)]
    pub connection: Connection,
    /// When a flow is due, counted from its start; by default never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ps"))]
    pub deadline: Option<Time>,
    /// In place of `deadline`: when flows are due, each drawn by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadlines: Option<Deadlines>,
    /// Transport of these flows; by default the scenario's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Load balancing of these flows' packets; by default the scenario's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<Routing>,
}

/// The connections that carry the flows of an entry from one host to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connection {
    /// A connection for each: handshake, slow start and round-trip estimate begin anew.
    #[default]
    New,
    /// One connection, which opens with the first flow and keeps its window. Flows are messages that follow
    /// each other on it: one that starts before another has been sent waits for it. Each has a row of its
    /// own.
    Kept,
}

impl From<Entry> for Demand {
    fn from(entry: Entry) -> Demand {
        Demand {
            name: entry.name,
            workload: Arc::new(Product {
                arrivals: entry.arrivals,
                matrix: entry.matrix,
                sizes: entry.sizes,
                among_sources: entry.among_sources,
                flows: entry.flows,
            }),
            sources: entry.sources,
            background: entry.background,
            kept: entry.connection == Connection::Kept,
            deadline: entry.deadline,
            deadlines: entry.deadlines,
        }
    }
}
