//! A start to come: what an event of phase `Start` is about.

use super::event::{Event, Phase, order};
use crate::ids::NodeId;

/// Kinds of starts, in their order at one host and one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum StartKind {
    /// The next flow whose start is known.
    Timed = 0,
    /// A flow that has waited for others.
    Waited = 1,
    /// A notification reaches a trigger.
    Fired = 2,
    /// A source draws its next flow.
    Drawn = 3,
    Window = 4,
}

impl StartKind {
    const ALL: [StartKind; 5] =
        [StartKind::Timed, StartKind::Waited, StartKind::Fired, StartKind::Drawn, StartKind::Window];
}

/// Bits of a start's word below its kind.
const NUMBER_BITS: u32 = 29;

/// A start to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    pub kind: StartKind,
    /// Where: the source of the flow, or the host of the trigger; [`NodeId::NONE`] for the end of the window.
    pub host: NodeId,
    /// The flow that has waited, the trigger, or the source; else 0.
    pub number: u32,
}

impl Pending {
    /// The order of its event, given the rank of a host among simultaneous starts.
    ///
    /// Flows with a given start come before all others of an instant: only the next one of a list has an event, in a run of
    /// several parts the next one of each part, and whether it is before a drawn flow of its host must not depend on the other
    /// hosts in the list.
    pub fn order(self, rank_of: impl Fn(NodeId) -> u32) -> u64 {
        debug_assert!(self.number < 1 << NUMBER_BITS, "a number beside which a kind finds room");
        let rank = match self.kind {
            StartKind::Timed | StartKind::Window => 0,
            StartKind::Waited | StartKind::Fired | StartKind::Drawn => rank_of(self.host) + 1,
        };
        order(Phase::Start, rank, (self.kind as u32) << NUMBER_BITS | self.number)
    }
}

/// The kind and the number of the start that an event of phase `Start` is about.
pub fn start_of(event: &Event) -> (StartKind, u32) {
    (StartKind::ALL[(event.word() >> NUMBER_BITS) as usize], event.a)
}
