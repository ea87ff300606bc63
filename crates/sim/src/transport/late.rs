//! What senders do with flows that cannot end in time any more.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of a flow that cannot end in time any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LateFlow {
    /// Its sender goes on.
    Keep,
    /// Its sender gives it up, and says so to switches and to the receiver.
    GiveUp,
}
