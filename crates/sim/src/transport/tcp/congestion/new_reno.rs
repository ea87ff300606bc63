//! NewReno (RFC 6582): recovery lasts until all that was under way at the loss is acknowledged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;

/// NewReno: a partial acknowledgement repairs the next hole without leaving recovery (RFC 6582).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewReno {
    /// Restart the retransmission timer on the first partial acknowledgement only ("impatient",
    /// RFC 6582 step 5) rather than on each of them ("slow but steady").
    pub impatient: bool,
}

impl Default for NewReno {
    fn default() -> Self {
        NewReno { impatient: true }
    }
}

impl Settings for NewReno {}
