//! Stateful D3 (thesis, section 1.4): flows served in the slot before come first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::d3::{Grants, grant, quenching};
use super::{Discipline, EarlyTermination, Service, Settings, Slot};

/// D3 whose switch keeps the flows that it serves: they come first, in their previous order, and others get
/// the remaining capacity, in order of arrival.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StatefulD3 {
    /// The grants.
    pub grants: Grants,
    /// Whether flows leave that cannot be done in time any more (quenching), as under D3.
    pub quench: bool,
}

impl Settings for StatefulD3 {
    fn build(&self, _seed: u64, _replica: u64) -> Box<dyn Discipline> {
        Box::new(Model { config: self.clone(), served: Vec::new(), order: Vec::new(), is_served: Vec::new() })
    }
}

struct Model {
    config: StatefulD3,
    /// Ids of the flows that were served in the slot before, in their order.
    served: Vec<u32>,
    order: Vec<usize>,
    is_served: Vec<bool>,
}

impl Discipline for Model {
    fn serve(&mut self, slot: &Slot, shares: &mut [f64]) -> Service {
        self.order.clear();
        // Flows stand in order of their ids.
        let place = |id: &u32| slot.flows.binary_search_by_key(id, |flow| flow.id).ok();
        self.order.extend(self.served.iter().filter_map(place));
        self.is_served.clear();
        self.is_served.resize(slot.flows.len(), false);
        self.order.iter().for_each(|&place| self.is_served[place] = true);
        self.order.extend((0..slot.flows.len()).filter(|&place| !self.is_served[place]));

        let service = grant(slot, &self.order, self.config.grants, shares);
        let got = |&&place: &&usize| match service {
            Service::One(one) => place == one,
            _ => shares[place] > 0.0,
        };
        self.served.clear();
        self.served.extend(self.order.iter().filter(got).map(|&place| slot.flows[place].id));
        service
    }

    fn early_termination(&self) -> EarlyTermination {
        quenching(self.config.quench)
    }
}
