//! Flows: their start times, endpoints and sizes.
//!
//! A scenario has entries; each is a [`Demand`] with a [`Workload`], which writes its flows and their dependencies to a
//! [`writer::Writer`]. Today's is [`workload::product::Product`]: arrivals (start times), a matrix (endpoints) and sizes
//! (bytes), drawn from three streams of its own, keyed by the entry's name: an entry that comes or goes moves no flow
//! of another. All flows are drawn here, before the run and independently of the transport, so that the same
//! traffic under two transports is the same flows, as its digest shows. When a flow starts may depend on
//! others ([`dependencies`]); sources that start one flow after the other draw them during the run, each from
//! a stream of its own ([`chains`]).

pub mod arrivals;
mod build;
pub mod chains;
mod checks;
pub mod deadlines;
pub mod dependencies;
pub mod ends;
pub mod hosts;
pub mod matrix;
mod ports;
pub mod references;
pub mod sizes;
pub mod sources;
pub mod window;
pub mod workload;
pub mod writer;

use std::sync::Arc;

use serde::Serialize;

use self::chains::Chains;
use self::deadlines::Deadlines;
use self::dependencies::Dependencies;
use self::sources::Sources;
use self::window::Window;
use self::workload::Workload;
use self::workload::product::Product;
use crate::ids::NodeId;
use crate::random::Stream;
use crate::units::Time;

pub use self::checks::{cannot_go_on, endless, flows_at_most, flows_drawn, problems};
pub use self::ports::HostPorts;

/// Most flows of a scenario: a bound that keeps a typing error from using up the memory.
pub const FLOWS_MAX: u64 = 10_000_000;

/// The last start that can be given; [`Time::NEVER`] means that a flow waits for others.
const LAST: Time = Time(Time::NEVER.0 - 1);

/// A set of flows that belong together: the traffic of one entry of a scenario, whatever its transport.
#[derive(Clone, Debug)]
pub struct Demand {
    /// Name of the entry, which keys its random draws.
    pub name: String,
    pub workload: Arc<dyn Workload>,
    /// Which hosts take part, for a workload in which every host does; `None` for all.
    pub sources: Option<Sources>,
    /// Whether the run ends without them.
    pub background: bool,
    /// Whether flows between the same hosts share a connection, so that no packet belongs to one flow alone.
    pub kept: bool,
    /// When a flow is due, counted from its start; `None` for never.
    pub deadline: Option<Time>,
    /// In place of `deadline`: when flows are due, each drawn by itself.
    pub deadlines: Option<Deadlines>,
}

/// A flow: so many bytes from one host to another, handed to the transport at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// When it starts; [`Time::NEVER`] if it waits for others.
    pub start: Time,
    pub src: NodeId,
    pub dst: NodeId,
    /// Bytes of payload, at least 1.
    pub size: u64,
    /// Index of its traffic entry.
    pub entry: u32,
    /// Its number in the entry, by start, or as drawn if flows of the entry wait for others.
    pub number: u32,
    /// Keys its random draws: of the entry and the number; of one that is drawn during the run by its source's stream.
    pub key: u64,
    /// When it is due, counted from its start.
    pub deadline: Option<Time>,
}

/// All flows of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// By start, then entry, then the order in which they were drawn; those that wait for others come last.
    pub flows: Vec<Flow>,
    /// How many of them have a start that is known: the first ones.
    pub timed: usize,
    /// The dependencies of the others.
    pub dependencies: Dependencies,
    /// Sources that draw their flows during the run.
    pub chains: Chains,
    /// SHA-256 over all flows and their dependencies: equal for two runs that carry the same traffic.
    pub digest: String,
    pub entries: Vec<EntrySummary>,
    /// For each entry the hosts whose links its load is a share of.
    pub loaded: Vec<Vec<u32>>,
    /// The flows that are measured.
    pub window: Window,
}

/// Outcome of a traffic entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EntrySummary {
    pub name: String,
    pub flows: u64,
    /// Whether the run ends without them.
    pub background: bool,
    /// Mean of the distribution of sizes, not of the sizes drawn; none if they have no end.
    pub mean_size_bytes: Option<f64>,
    /// Payload offered a second over the capacity of the hosts that the matrix loads; only for Poisson arrivals.
    pub offered_load: Option<f64>,
    /// The same in bits per second.
    #[serde(skip)]
    pub offered_bps: Option<f64>,
    /// The load of the flows drawn: the bytes of those that start in the measuring window over its length; where the whole run
    /// is measured, the bytes of all but the last, from the first start to the last.
    pub realised_load: Option<f64>,
    /// The payload delivered a second in the measuring window over the same capacity.
    pub carried_load: Option<f64>,
    /// Half the width of the 95 % confidence interval of that, by batch means over spans of the window.
    pub carried_ci95: Option<f64>,
    /// The capacity that these loads are shares of.
    #[serde(skip)]
    pub capacity_bps: f64,
    /// The variance of the bits that arrive in a second, and by which that of a longer time grows; only for Poisson arrivals.
    #[serde(skip)]
    pub variance: f64,
    /// If the run has stalled: the conditions for which the entry's flows wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
}

/// Conditions for which the unfinished flows of a traffic entry wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Waits {
    pub open: u64,
    /// When the first timer of their senders is due; `None` if no sender has one, so that none sends again.
    pub next_timer_ps: Option<u64>,
    /// Flows that have not started.
    pub not_started: u64,
    /// When the first of these starts; `None` if all wait for flows that have not ended.
    pub next_start_ps: Option<u64>,
}

impl Waits {
    /// The sum of both.
    pub fn and(self, other: Waits) -> Waits {
        let first = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        Waits {
            open: self.open + other.open,
            next_timer_ps: first(self.next_timer_ps, other.next_timer_ps),
            not_started: self.not_started + other.not_started,
            next_start_ps: first(self.next_start_ps, other.next_start_ps),
        }
    }
}

impl Demand {
    /// When a flow of the entry is due, counted from its start.
    fn due(&self, stream: &mut Stream) -> Option<Time> {
        deadlines::due(self.deadline, self.deadlines.as_ref(), stream)
    }

    /// Whether its flows are ever due.
    pub fn has_deadlines(&self) -> bool {
        self.deadline.is_some() || self.deadlines.is_some()
    }

    /// The arrivals, matrix and sizes by which it offers a load, if it does.
    pub fn offers(&self) -> Option<&Product> {
        self.workload.offers()
    }

    /// Whether its arrivals can go on for as long as a run needs them.
    pub fn goes_on(&self) -> bool {
        self.offers().is_some_and(|product| product.arrivals.goes_on())
    }

    /// The entry, whose arrivals go on until that time if it is background and has neither a number of flows nor an end.
    pub fn until_the_end(mut self, until: Option<Time>) -> Demand {
        if let Some(until) = until.filter(|_| self.background) {
            self.change_offer(|Product { arrivals, flows, .. }| {
                if flows.is_none() && arrivals.ends().is_none() {
                    arrivals.end_at(until);
                }
            });
        }
        self
    }

    /// The entry, whose arrivals end as they begin if it is background and has neither a number of flows nor an end.
    pub fn begun(self) -> Demand {
        let begins = self.offers().map(|product| product.arrivals.begins());
        self.until_the_end(begins.map(|begins| begins.saturating_add(Time(1))))
    }

    /// Changes what it offers, if it offers a load.
    pub fn change_offer(&mut self, change: impl FnOnce(&mut Product)) {
        if let Some(mut offer) = self.offers().cloned() {
            change(&mut offer);
            self.workload = self.workload.offering(offer).unwrap_or_else(|| Arc::clone(&self.workload));
        }
    }
}
