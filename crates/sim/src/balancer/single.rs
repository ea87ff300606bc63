//! Normal routing: always the first of the equal next hops.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use crate::ids::NodeId;

/// One shortest path: always the next hop with the lowest link number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Single {}

impl Settings for Single {}

/// Nothing to remember.
#[derive(Clone, Debug)]
pub struct Model;

impl Model {
    pub(super) fn new(_nodes: usize, _seed: u64, _replica: u64) -> Model {
        Model
    }

    #[inline]
    pub(super) fn choose(&mut self, _at: NodeId, _label: u32, _count: u32) -> u32 {
        0
    }
}
