//! Entropy values: each switch hashes a packet's flow with the value that its source has given it.
//!
//! The source sprays its packets over paths, and learns from answers which values are good, without a notion of the network:
//! the values fall on the paths at random. Source: Hopps, RFC 2992, for the hash; the Ultra Ethernet transport for the value.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Settings, per_flow};
use crate::engine::contract::path::{Choose, Hop, Stateless};
use crate::topology::Fabric;
use crate::units::Time;

/// A hash of the flow and of the packet's entropy value, salted for each switch, chooses the next hop. Packets of transports
/// without such values take the path of their flow, as under "per-flow".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Entropy {}

impl Settings for Entropy {
    fn hashes_entropy(&self) -> bool {
        true
    }

    fn spreads(&self) -> bool {
        true
    }
}

/// The salts of all switches.
#[derive(Clone, Debug)]
pub struct Model {
    hash: per_flow::Model,
}

impl Model {
    pub(super) fn new(_config: &Entropy, fabric: &Fabric, seed: u64, replica: u64) -> Model {
        Model { hash: per_flow::Model::new(&per_flow::PerFlow {}, fabric, seed, replica) }
    }
}

impl Choose for Model {
    #[inline(always)]
    fn choose(&mut self, hop: Hop, _now: Time) -> u32 {
        self.hash.pick(hop)
    }

    #[inline(always)]
    fn foresee(&self, hop: Hop) -> Option<u32> {
        Some(self.hash.pick(hop))
    }

    fn by_entropy(&self) -> bool {
        true
    }
}
