//! Disciplines: who is served in a slot.
//!
//! One file a discipline: its configuration struct with `Settings`, its state with [`Discipline`]; and its line in
//! the list below.

use std::fmt::Debug;

use crate::register::register;
use crate::slotted::Flow;

/// What a discipline sees at the beginning of a slot.
#[derive(Clone, Copy, Debug)]
pub struct Slot<'a> {
    /// The slot.
    pub now: u64,
    /// All flows that are present, in order of arrival.
    pub flows: &'a [Flow],
    /// Whether a flow came or left since the discipline was last asked.
    pub changed: bool,
}

/// Who is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Nobody.
    Nobody,
    /// That flow alone, by its place in the slot's list.
    One(usize),
    /// Each flow by its share, which the discipline has written.
    Shares,
}

/// Which flows leave before their deadline has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyTermination {
    /// None: a flow stays until it is done or its deadline is there.
    Expired,
    /// Those that could not be done in time even if they alone were served.
    Hopeless,
    /// The same, but for the flow that was served in the slot before.
    HopelessWaiting,
}

/// How a link shares its slots among flows.
pub trait Discipline {
    /// Whom to serve in this slot. `shares` has a place for each flow, all 0: for `Service::Shares` fill in
    /// packets that sum up to at most 1.
    fn serve(&mut self, slot: &Slot, shares: &mut [f64]) -> Service;

    /// Which flows leave early.
    fn early_termination(&self) -> EarlyTermination {
        EarlyTermination::Expired
    }

    /// For how many slots, this one included, the answer just given stays the same, as long as no flow comes or
    /// leaves. 1 is always right; more lets the link skip slots.
    fn steady(&self) -> u64 {
        1
    }
}

/// What a discipline's configuration gives.
pub trait Settings: Debug {
    /// Its state for a run.
    fn build(&self, seed: u64, replica: u64) -> Box<dyn Discipline>;

    /// Whether it needs all flows to be there from the beginning.
    fn needs_one_release(&self) -> bool {
        false
    }
}

register! {
    /// Who is served.
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

/// The flow that comes first by a key, which is asked for each; ties go to the earlier arrival.
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
