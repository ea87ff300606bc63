//! The contract between the starts of flows and the network that carries them: a clock, a calendar, and the idle network's
//! delays. Triggers, chains and blocks need nothing else, so that they serve any level at which a network is simulated.

pub use crate::engine::data::start::{Pending, StartKind};
use crate::ids::NodeId;
use crate::units::Time;

/// The present and the future of a run, as starts of flows see them.
pub trait Schedule {
    /// The present.
    fn now(&self) -> Time;

    /// Schedules a start. Returns its place among the events of that time, which is not before the present event: by it flows
    /// that several parts of a run draw are numbered.
    fn at(&mut self, time: Time, start: Pending) -> u64;

    /// Time that a packet of so many bytes takes between two hosts through the idle network without faults.
    fn idle_delay(&self, from: NodeId, to: NodeId, bytes: u64) -> Time;
}
