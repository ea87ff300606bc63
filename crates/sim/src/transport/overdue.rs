//! Treatment of flows that can no longer end in time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Treatment of a flow that can no longer end in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LateFlow {
    /// Its sender goes on.
    Keep,
    /// Its sender gives it up, and notifies switches and the receiver.
    GiveUp,
}
