//! Results of a run on the slotted link.

use super::Flow;

/// A flow that has come and gone, or was there at the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record {
    /// Number of the independent set.
    pub set: u32,
    /// The flow as it left.
    pub flow: Flow,
    /// The slot at whose end, or as whose beginning, it left; none if it was active at the end of the run.
    pub ended: Option<u64>,
    /// Whether it was done, which is always in time.
    pub done: bool,
}

/// A flow on the link for some slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Number of the independent set.
    pub set: u32,
    pub flow: u32,
    pub start: u64,
    /// The slot after the last one.
    pub end: u64,
    /// Packets per slot.
    pub share: f64,
}

/// Results of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Flows in order of their end, then those that were there at the end of the run.
    pub flows: Vec<Record>,
    pub schedule: Vec<Segment>,
    /// Slots that passed, of all sets together.
    pub slots: u64,
    /// Packets that were sent.
    pub sent: f64,
    /// Packets that were sent for flows that were not done in time.
    pub wasted: f64,
    /// Sum over all slots of the flows present.
    pub present: u64,
    pub decisions: u64,
    /// Operations of the discipline, if it counts them.
    pub operations: Option<u64>,
    /// Whether the watch ended the run.
    pub interrupted: bool,
}
