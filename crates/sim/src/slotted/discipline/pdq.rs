//! PDQ as the thesis has it (section 1.4; Hong et al., SIGCOMM 2012): earliest deadline first, with early termination.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kept::{Known, insert};
use super::{Discipline, EarlyTermination, Service, Settings, Slot, first_by};
use crate::slotted::Flow;

/// The flow that is due first; ties go to the smaller one, then to the earlier one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pdq {
    /// When a flow gives up.
    pub early_termination: EarlyTermination,
    /// The search for the first flow. The schedule is the same, its cost is not.
    pub order: Order,
}

impl Default for Pdq {
    fn default() -> Pdq {
        Pdq { early_termination: EarlyTermination::Strict, order: Order::Search }
    }
}

/// How the first flow is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// By a search through all flows in each slot.
    #[default]
    Search,
    /// It heads an ordered list, as PDQ's switches keep one, into which flows are inserted from its end as they come.
    List,
}

impl Settings for Pdq {
    fn build(&self, _seed: u64, _replica: u64) -> Box<dyn Discipline> {
        let early_termination = self.early_termination;
        match self.order {
            Order::Search => Box::new(Search { early_termination, operations: 0 }),
            Order::List => Box::new(Listed {
                early_termination,
                known: Known::default(),
                list: Vec::new(),
                operations: 0,
            }),
        }
    }
}

/// The sort key of flows.
fn key(flow: &Flow) -> (u64, f64) {
    (flow.due(), flow.left)
}

struct Search {
    early_termination: EarlyTermination,
    operations: u64,
}

impl Discipline for Search {
    fn serve(&mut self, slot: &Slot, _shares: &mut [f64]) -> Service {
        self.operations += slot.flows.len() as u64;
        first_by(slot.flows, key)
    }

    fn early_termination(&self) -> EarlyTermination {
        self.early_termination
    }

    fn steady(&self) -> u64 {
        u64::MAX
    }

    fn operations(&self) -> Option<u64> {
        Some(self.operations)
    }
}

struct Listed {
    early_termination: EarlyTermination,
    known: Known,
    /// Places of the flows, the first to be served first. It stays in order: of the flows in it only the first one is
    /// served, which leaves it the first.
    list: Vec<u32>,
    operations: u64,
}

impl Discipline for Listed {
    fn serve(&mut self, slot: &Slot, _shares: &mut [f64]) -> Service {
        if slot.changed {
            self.update(slot.flows);
        }
        self.operations += 1;
        self.list.first().map_or(Service::Nobody, |&place| Service::One(place as usize))
    }

    fn early_termination(&self) -> EarlyTermination {
        self.early_termination
    }

    fn steady(&self) -> u64 {
        u64::MAX
    }

    fn operations(&self) -> Option<u64> {
        Some(self.operations)
    }
}

impl Listed {
    /// Takes the flows out that have left, and inserts the new ones.
    fn update(&mut self, flows: &[Flow]) {
        self.operations += self.list.len() as u64;
        let kept = self.known.update(flows, &mut self.list, |place| place, |place| place);
        let key = |place: &u32| key(&flows[*place as usize]);
        for from in kept..self.list.len() {
            // The entries that it passes, and the one that it stops at.
            let passed = insert(&mut self.list, from, |own, other| key(own) < key(other));
            self.operations += 1 + passed as u64;
        }
    }
}
