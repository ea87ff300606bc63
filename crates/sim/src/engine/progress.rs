//! How far a run has come.

use super::Engine;
use super::members::Members;
use crate::units::Time;

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Where it will stop at the latest.
    pub until: Option<Time>,
    /// Flows that have ended, without background.
    pub flows_done: u64,
    /// Flows that are to end before the run does, as far as they are known; without background.
    pub flows: u64,
    /// Links crossed by packets.
    pub packet_hops: u64,
    /// Events handled.
    pub events: u64,
}

impl<M: Members> Engine<'_, '_, M> {
    pub(super) fn progress(&self) -> Progress {
        Progress {
            now: self.net.now,
            until: self.plan.until,
            flows_done: self.flows_done,
            flows: self.goal,
            packet_hops: self.net.packet_hops,
            events: self.events,
        }
    }
}
