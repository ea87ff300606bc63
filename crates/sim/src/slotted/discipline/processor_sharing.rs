//! Processor sharing, which RCP emulates (Dukkipati and McKeown, CCR 2006).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Discipline, Service, Settings, Slot};

/// Each flow gets the same share of the slot. The unused part of a flow's share in its last slot is not given
/// to others: rates are those of the beginning of the slot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessorSharing {}

impl Settings for ProcessorSharing {
    fn build(&self, _seed: u64, _replica: u64) -> Box<dyn Discipline> {
        Box::new(Model)
    }
}

struct Model;

impl Discipline for Model {
    fn serve(&mut self, slot: &Slot, shares: &mut [f64]) -> Service {
        shares.fill(1.0 / slot.flows.len() as f64);
        Service::Shares
    }
}
