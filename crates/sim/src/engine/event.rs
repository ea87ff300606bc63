//! Events and their total order.
//!
//! An event's key is (time, phase, rank, counter): nothing depends on insertion order, addresses or hashes.

use super::host::Owner;
use crate::ids::{ConnId, LinkId};
use crate::units::Time;

/// Order of events at one instant: an event's phase is the top of its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// Links or routes change: see `engine/fault.rs`.
    Fault = 0,
    /// A port has finished a transmission: it is free for an arrival at the same instant.
    Departure = 1,
    /// A packet arrives at the end of a link.
    Arrival = 2,
    /// A flow starts.
    Start = 3,
    /// A timer of a host fires.
    Timer = 4,
    /// A packet would have arrived, but was lost on the link.
    Lost = 5,
    /// A pause frame arrives: packets that a port starts at the same instant have begun.
    Pause = 6,
    /// The timer of a port's queue fires, or its agent's tick: all else of the instant has happened.
    Port = 7,
    /// A message of central control arrives, or the controller acts: see `engine/controller.rs`.
    Control = 8,
}

/// A scheduled event. The meaning of `a` and `b` depends on the phase:
///
/// | phase | `a` | `b` |
/// |---|---|---|
/// | `Fault` | 0 | links or routes: see `engine/fault.rs` |
/// | `Departure` | 0 | the link |
/// | `Arrival`, `Lost` | the packet | the link |
/// | `Start` | flow, trigger or source | which of them: see `engine/starts.rs` |
/// | `Timer` | connection or link | see [`timer`] |
/// | `Pause` | the classes that are paused | the link that the frame crosses |
/// | `Port` | 0 for the queue's timer, 1 for the agent's tick | the link |
/// | `Control` | the message, or that the controller acts: see `engine/controller.rs` | 0 |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub time: Time,
    /// Phase (4 bits), rank of the source (28), the source's own counter (32): see [`order`].
    pub order: u64,
    /// See above.
    pub a: u32,
    /// See above.
    pub b: u32,
}

/// The order of events at one instant.
#[inline]
pub fn order(phase: Phase, rank: u32, counter: u32) -> u64 {
    (phase as u64) << 60 | u64::from(rank) << 32 | u64::from(counter)
}

/// The words `a` and `b` of a timer: its owner's number; its kind (8 bits), the kind of owner (2), the transport (8).
#[inline]
pub fn timer(transport: u8, owner: Owner, kind: u8) -> (u32, u32) {
    let (a, whose) = match owner {
        Owner::Sender(id) => (id.0, 0),
        Owner::Receiver(id) => (id.0, 1),
        Owner::Interface(link) => (link.0, 2),
    };
    (a, u32::from(transport) << 10 | whose << 8 | u32::from(kind))
}

impl Event {
    /// Of a timer: the end that it belongs to.
    #[inline]
    pub fn owner(&self) -> Owner {
        match self.b >> 8 & 3 {
            0 => Owner::Sender(ConnId(self.a)),
            1 => Owner::Receiver(ConnId(self.a)),
            _ => Owner::Interface(LinkId(self.a)),
        }
    }

    /// Of a timer: its kind, by which its transport distinguishes its timers.
    #[inline]
    pub fn timer_kind(&self) -> u8 {
        self.b as u8
    }

    /// Of a timer: its transport.
    #[inline]
    pub fn transport(&self) -> u8 {
        (self.b >> 10) as u8
    }

    /// The sort key of events.
    #[inline]
    pub fn key(&self) -> u128 {
        u128::from(self.time.0) << 64 | u128::from(self.order)
    }

    /// The phase bits.
    #[inline]
    pub fn phase(&self) -> u8 {
        (self.order >> 60) as u8
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Event) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}
