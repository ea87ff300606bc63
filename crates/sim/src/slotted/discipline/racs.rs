//! RACS, router-assisted capacity sharing (Munir, Qazi and Qaisar, ICC 2013): bandwidth in proportion to weights.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Discipline, Service, Settings, Slot};

/// Each flow gets a share in proportion to 1 over its packets left, which emulates SRPT.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Racs {}

impl Settings for Racs {
    fn build(&self, _seed: u64, _replica: u64) -> Box<dyn Discipline> {
        Box::new(Model)
    }
}

struct Model;

impl Discipline for Model {
    fn serve(&mut self, slot: &Slot, shares: &mut [f64]) -> Service {
        let weights = || slot.flows.iter().map(|flow| 1.0 / flow.left);
        let sum: f64 = weights().sum();
        for (share, weight) in shares.iter_mut().zip(weights()) {
            *share = weight / sum;
        }
        Service::Shares
    }
}
