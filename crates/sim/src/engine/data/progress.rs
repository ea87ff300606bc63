//! How far a run has come.

use super::plan::Plan;
use crate::units::Time;

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Where the measuring window begins.
    pub from: Time,
    /// Where it will stop at the latest.
    pub until: Option<Time>,
    /// Measured flows that have ended.
    pub flows_done: u64,
    /// Measured flows, as far as they are known.
    pub flows: u64,
    /// Links crossed by packets.
    pub packet_hops: u64,
    pub events: u64,
}

impl Progress {
    /// Without the end of the measuring window, which counts as one of the flows that a run waits for.
    pub(in crate::engine) fn without_window<M>(self, plan: &Plan<M>) -> Progress {
        let window = &plan.traffic.window;
        let (waits, over) = (u64::from(window.ends()), u64::from(window.ends() && self.now >= window.until));
        Progress { flows_done: self.flows_done.saturating_sub(over), flows: self.flows - waits, ..self }
    }
}
