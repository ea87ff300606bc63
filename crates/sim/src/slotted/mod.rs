//! The slotted link: one link that sends one packet a slot, and flows with deadlines that share it.
//!
//! The model of the PEQ thesis (GopalaKrishna, NJIT 2017, section 3.1): workers answer one aggregator, the only
//! bottleneck is its link, a round trip is a slot, nothing is lost. In each slot
//!
//! 1. flows arrive,
//! 2. flows that cannot finish in time any more leave, if the discipline has such early termination,
//! 3. the discipline chooses the flow to serve (where only waiting flows leave, before they do), and one packet is sent,
//! 4. flows that are done leave, and so do those whose deadline has come.
//!
//! ```text
//! config, generation, draws (what a file says) -> source (who arrives when) -> link (the loop) -> outcome, tables
//!                                                                            discipline
//! ```
//!
//! It shares nothing with the packet engine but the random streams.

pub mod config;
pub mod discipline;
pub mod draws;
pub mod generation;
pub mod link;
pub mod outcome;
pub mod source;
pub mod tables;

pub use config::{Slotted, read, schema};
pub use discipline::{Discipline, EarlyTermination, Service, Slot};
pub use outcome::{Outcome, Record, Segment};

/// Runs a configuration that has been checked with its own discipline. `watch` gets the slot from time to
/// time and returns whether to go on.
pub fn run(config: &Slotted, watch: &mut dyn FnMut(u64) -> bool) -> Outcome {
    let mut discipline = config.discipline.build(config.run.seed, config.run.replica);
    run_with(config, &mut *discipline, watch)
}

/// Runs a configuration with another discipline than its own: how one of yours is tried.
pub fn run_with(
    config: &Slotted,
    discipline: &mut dyn Discipline,
    watch: &mut dyn FnMut(u64) -> bool,
) -> Outcome {
    let mut source = source::Source::new(config);
    let mut outcome = Outcome::default();
    let mut work = 0;
    while link::Link::new(config, &mut source, discipline, &mut outcome).run(watch, &mut work)
        && source.next_set()
    {}
    outcome.operations = discipline.operations();
    outcome
}

/// A flow on the link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Number within the run, in order of arrival.
    pub id: u32,
    pub server: u32,
    /// Slot in which it arrived.
    pub arrival: u64,
    /// Packets.
    pub size: u32,
    /// Slots from its arrival in which it is to be done; `NO_DEADLINE` if it has none.
    pub deadline: u64,
    /// Packets that have not been served.
    pub left: f64,
}

/// A flow is done when no more than this is left of it, in packets: sums of shares are not exact.
pub(crate) const NOTHING: f64 = 1e-9;

/// A deadline that never comes.
pub const NO_DEADLINE: u64 = u64::MAX / 4;

impl Flow {
    /// The end of the last slot in which it may be served.
    pub fn due(&self) -> u64 {
        self.arrival + self.deadline
    }

    /// Slots until it is due, at the beginning of slot `now`.
    pub fn time_left(&self, now: u64) -> u64 {
        self.due().saturating_sub(now)
    }

    /// Whether it can still be done in time if it is served from now on.
    pub fn is_feasible(&self, now: u64) -> bool {
        self.left <= self.time_left(now) as f64 + NOTHING
    }
}
