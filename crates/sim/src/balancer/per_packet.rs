//! Per-packet ECMP: each packet takes a uniformly random one of the equal next hops.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;

/// Per-packet ECMP, also called packet spraying.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PerPacket {}

impl Settings for PerPacket {}
