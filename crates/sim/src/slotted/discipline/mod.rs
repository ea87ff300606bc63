//! Disciplines: the choice of the flow that is served in a slot.
//!
//! One file a discipline: its configuration struct with `Settings`, its state with [`Discipline`]; and its line in
//! the list below.

use std::fmt::Debug;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::register::register;
use crate::slotted::Flow;

mod kept;

/// A discipline's view at the beginning of a slot.
#[derive(Clone, Copy, Debug)]
pub struct Slot<'a> {
    pub now: u64,
    /// All flows that are present, in order of arrival.
    pub flows: &'a [Flow],
    /// Whether a flow arrived or left since the discipline was last called.
    pub changed: bool,
}

/// The flow or flows that are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    Nobody,
    /// That flow alone, by its place in the slot's list.
    One(usize),
    /// Each flow by its share, which the discipline has written.
    Shares,
}

/// When a flow gives up: the rule decides the result where larger flows are due earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EarlyTermination {
    /// At the start of a slot in which it has more packets left than slots.
    Strict,
    /// The same, but only while it waits. The flow that the discipline serves, the head of its list, stays and is served
    /// even if it cannot be in time.
    Waiting,
    /// When its deadline has come: time is spent on flows that cannot make it.
    Expired,
}

/// How a link shares its slots among flows.
pub trait Discipline {
    /// The flows to serve in this slot. `shares` has a place for each flow, all 0: for `Service::Shares` fill
    /// in packets that sum up to at most 1.
    fn serve(&mut self, slot: &Slot, shares: &mut [f64]) -> Service;

    /// Which flows leave early.
    fn early_termination(&self) -> EarlyTermination {
        EarlyTermination::Expired
    }

    /// Takes the ids, ascending, of the flows that the answer just given discards: they leave before the slot. Only for
    /// disciplines that serve one flow, which is none of them.
    fn take_discarded(&mut self) -> Vec<u32> {
        Vec::new()
    }

    /// For how many slots, this one included, the answer just given stays the same, as long as no flow comes or
    /// leaves. 1 is always right; more lets the link skip slots.
    fn steady(&self) -> u64 {
        1
    }

    /// Operations so far: flows and entries of lists that it went through to compare, move or update them. None if it
    /// does not count.
    fn operations(&self) -> Option<u64> {
        None
    }
}

/// Properties of a discipline's configuration.
pub trait Settings: Debug {
    /// Its state for a run.
    fn build(&self, seed: u64, replica: u64) -> Box<dyn Discipline>;

    /// Whether it needs all flows to be there from the beginning.
    fn needs_one_release(&self) -> bool {
        false
    }
}

register! {
    /// The disciplines.
    pub enum DisciplineConfig: Settings {
        fcfs::Fcfs = "fcfs",
        edf::Edf = "edf",
        sjf::Sjf = "sjf",
        processor_sharing::ProcessorSharing = "processor-sharing",
        pdq::Pdq = "pdq",
        peq::Peq = "peq",
        d3::D3 = "d3",
        stateful_d3::StatefulD3 = "stateful-d3",
        racs::Racs = "racs",
        optimal::Optimal = "optimal",
    }
}

/// The flow that is first by a key, which is computed for each; ties go to the earlier arrival.
pub(crate) fn first_by<K: PartialOrd>(flows: &[Flow], key: impl Fn(&Flow) -> K) -> Service {
    let mut best: Option<(K, usize)> = None;
    for (place, flow) in flows.iter().enumerate() {
        let own = key(flow);
        if best.as_ref().is_none_or(|(key, _)| own < *key) {
            best = Some((own, place));
        }
    }
    best.map_or(Service::Nobody, |(_, place)| Service::One(place))
}
