//! Reno (RFC 5681): recovery ends with the first acknowledgement of new data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;

/// Reno: slow start, congestion avoidance, fast retransmit, fast recovery (RFC 5681).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Reno {}

impl Settings for Reno {}
