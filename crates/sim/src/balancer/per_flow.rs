//! Per-flow ECMP: a hash of the 5-tuple, salted for each switch, chooses the next hop (RFC 2992).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use crate::engine::contract::path::{Hop, Stateless};
use crate::random::{mix, salts, share};
use crate::topology::Fabric;

/// Per-flow ECMP: all packets of a flow take one path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PerFlow {}

impl Settings for PerFlow {
    fn hashes(&self) -> bool {
        true
    }

    fn one_path(&self) -> bool {
        true
    }
}

/// The salt of each node's hash: without it, all tiers would make the same choice, and only a few of
/// the paths would ever be used.
#[derive(Clone, Debug)]
pub struct Model {
    salts: Vec<u64>,
}

impl Model {
    pub(super) fn new(_config: &PerFlow, fabric: &Fabric, seed: u64, replica: u64) -> Model {
        Model { salts: salts(fabric.nodes.len(), seed, replica) }
    }
}

impl Stateless for Model {
    #[inline]
    fn pick(&self, hop: Hop) -> u32 {
        share(mix(u64::from(hop.label) ^ self.salts[hop.at.index()]), hop.count())
    }
}
