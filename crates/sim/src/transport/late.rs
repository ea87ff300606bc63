//! What senders do with flows that cannot end in time any more: a field of several transports.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a sender does whose deadline has passed, or cannot be met any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Late {
    /// It goes on.
    Keep,
    /// It gives the flow up and says so to the receiver.
    GiveUp,
}
