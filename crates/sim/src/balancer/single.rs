//! Normal routing: always the first of the equal next hops.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use crate::engine::contract::path::{Hop, Stateless};
use crate::topology::Fabric;

/// One shortest path: always the next hop with the lowest link number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Single {}

impl Settings for Single {
    fn one_path(&self) -> bool {
        true
    }
}

/// No state.
#[derive(Clone, Debug)]
pub struct Model;

impl Model {
    pub(super) fn new(_config: &Single, _fabric: &Fabric, _seed: u64, _replica: u64) -> Model {
        Model
    }
}

impl Stateless for Model {
    #[inline]
    fn pick(&self, _hop: Hop) -> u32 {
        0
    }
}
