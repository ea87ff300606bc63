//! The most flows that can be done in time, for flows that are all there from the beginning.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Discipline, Service, Settings, Slot, first_by};
use crate::slotted::Flow;

/// Chooses the flows by the rule of Moore and Hodgson (Moore, Management Science 1968) and serves them in order of their
/// deadlines: no schedule has more of them done in time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Optimal {}

impl Settings for Optimal {
    fn build(&self, _seed: u64, _replica: u64) -> Box<dyn Discipline> {
        Box::new(Model { chosen: Vec::new() })
    }

    fn needs_one_release(&self) -> bool {
        true
    }
}

struct Model {
    /// Ids of the flows to serve, ascending.
    chosen: Vec<u32>,
}

impl Discipline for Model {
    fn serve(&mut self, slot: &Slot, _shares: &mut [f64]) -> Service {
        // A release: no flow has been served yet.
        if slot.changed && slot.flows.iter().all(|flow| flow.arrival == slot.now) {
            self.chosen = choose(slot.flows);
        }
        let is_chosen = |flow: &Flow| self.chosen.binary_search(&flow.id).is_ok();
        match first_by(slot.flows, |flow| (!is_chosen(flow), flow.due(), flow.left)) {
            Service::One(place) if is_chosen(&slot.flows[place]) => Service::One(place),
            _ => Service::Nobody,
        }
    }

    fn steady(&self) -> u64 {
        u64::MAX
    }
}

/// The ids of a largest set of flows that can all be done in time, ascending: in order of deadlines take one flow after
/// the other, and whenever one would be late give up the largest of those taken.
pub fn choose(flows: &[Flow]) -> Vec<u32> {
    let mut order: Vec<&Flow> = flows.iter().collect();
    order.sort_by_key(|flow| (flow.due(), flow.size, flow.id));
    let (mut taken, mut busy): (Vec<&Flow>, u64) = (Vec::new(), 0);
    for flow in order {
        taken.push(flow);
        busy += u64::from(flow.size);
        if busy > flow.deadline {
            let largest = (0..taken.len()).max_by_key(|&i| (taken[i].size, taken[i].id)).expect("not empty");
            busy -= u64::from(taken.swap_remove(largest).size);
        }
    }
    let mut ids: Vec<u32> = taken.iter().map(|flow| flow.id).collect();
    ids.sort_unstable();
    ids
}
