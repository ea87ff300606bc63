//! One entry of a scenario's traffic: the flows asked for, and whoever carries them where that is not the scenario's choice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::balancer::Routing;
use crate::traffic::Demand;
use crate::traffic::arrivals::Arrivals;
use crate::traffic::deadlines::Deadlines;
use crate::traffic::matrix::Matrix;
use crate::traffic::sizes::Sizes;
use crate::traffic::sources::Sources;
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
    /// Who sends to whom.
    pub matrix: Matrix,
    /// How many bytes of payload a flow carries.
    pub sizes: Sizes,
    /// Which hosts send, for a matrix in which every host does; by default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<Sources>,
    /// Whether only the sources receive too: the matrix is drawn as if there were no other hosts. By default any host
    /// may receive.
    #[serde(default)]
    pub among_sources: bool,
    /// Number of flows; by default one round of the matrix, one for each given time, or one for each that is waited
    /// for. Poisson arrivals need it unless they have an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub flows: Option<u64>,
    /// Whether nobody waits for these flows: they never count as unfinished, and the run ends without them, one
    /// smallest delay between two hosts after the last other flow.
    #[serde(default)]
    pub background: bool,
    /// Which flows go first, where the transport knows priorities: those with the lowest number.
    #[serde(default)]
    #[schemars(range(max = 7))]
    pub priority: u32,
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
    /// What hosts do for these flows; by default what the scenario says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// How packets of these flows find their way; by default as the scenario says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<Routing>,
}

/// What carries the flows of an entry that go from one host to the same other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connection {
    /// A connection for each: handshake, slow start and round-trip estimate begin anew.
    #[default]
    New,
    /// One connection, which opens with the first flow and keeps its window. Flows are messages that go over it one
    /// behind the other: one that starts before another has been sent waits for it. Each has a row of its own.
    Kept,
}

impl From<Entry> for Demand {
    fn from(entry: Entry) -> Demand {
        Demand {
            name: entry.name,
            arrivals: entry.arrivals,
            matrix: entry.matrix,
            sizes: entry.sizes,
            sources: entry.sources,
            among_sources: entry.among_sources,
            flows: entry.flows,
            background: entry.background,
            kept: entry.connection == Connection::Kept,
            deadline: entry.deadline,
            deadlines: entry.deadlines,
        }
    }
}
