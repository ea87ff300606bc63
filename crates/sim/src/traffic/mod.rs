//! Which flows start when, between whom, of what size.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub mod sizes;

use self::sizes::Sizes;
use crate::scenario::Routing;
use crate::transport::Transport;

/// Stand-in until the traffic module lands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The entry's name: the flows' tag, and its key in overrides.
    pub name: String,
    /// Flow sizes.
    pub sizes: Sizes,
    /// Number of flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<u64>,
    /// What hosts do for these flows. Absent: as the scenario says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// How packets of these flows find their way. Absent: as the scenario says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<Routing>,
}
