//! A first-in first-out queue that never drops.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Feature, Settings};

/// First-in first-out without a limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Infinite {}

impl Settings for Infinite {
    fn offers(&self) -> &'static [Feature] {
        &[]
    }
}
