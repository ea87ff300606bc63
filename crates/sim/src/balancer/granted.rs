//! Granted paths: the controller that lets a packet go says by which links.
//!
//! Source: section II-A of Sviridov, Bianco and Giaccone, "To sync or not to sync", Globecom 2018: the controller computes the
//! path of each packet of a slot. The packet's label is the path: its first byte is the number of the next hop at
//! the first switch, its second byte that at the second, and so on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use crate::engine::path::{Hop, Stateless};
use crate::topology::Fabric;

/// Each packet goes as the controller says that lets it go. Only under a controller that chooses paths.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Granted {}

impl Settings for Granted {
    fn follows_controller(&self) -> bool {
        true
    }
}

/// Nothing to keep: packets carry their paths.
#[derive(Clone, Debug)]
pub struct Model;

impl Model {
    pub(super) fn new(_config: &Granted, _fabric: &Fabric, _seed: u64, _replica: u64) -> Model {
        Model
    }
}

impl Stateless for Model {
    #[inline(always)]
    fn pick(&self, hop: Hop) -> u32 {
        // A host's own port is no choice of the controller: packets have crossed no link there.
        let place = u32::from(hop.hops.saturating_sub(1)).min(3);
        (hop.label >> (8 * place) & 0xff) % hop.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;

    #[test]
    fn each_switch_reads_its_byte() {
        let hop = |hops| Hop { at: NodeId(9), label: 0x04_03_02_01, hops, ticket: 0, count: 8 };
        let picks: Vec<u32> = (1..=4).map(|hops| Model.pick(hop(hops))).collect();
        assert_eq!(picks, [1, 2, 3, 4]);
    }
}
