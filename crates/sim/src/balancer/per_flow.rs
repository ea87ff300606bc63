//! Per-flow ECMP: a hash of the 5-tuple, salted for each switch, chooses the next hop (RFC 2992).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;

/// Per-flow ECMP: all packets of a flow take one path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PerFlow {}

impl Settings for PerFlow {}
