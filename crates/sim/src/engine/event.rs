//! Events and their total order.
//!
//! An event's key is (time, phase, rank, counter): nothing depends on insertion order, addresses or hashes.

use crate::units::Time;

/// What happens first at one instant: an event's phase is the top of its order.
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
    /// A pause frame arrives: what a port starts at the same instant has gone.
    Pause = 6,
}

/// Something that will happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub time: Time,
    /// Phase (4 bits), rank of the source (28), the source's own counter (32): see [`order`].
    pub order: u64,
    /// The packet, connection or host that it is about.
    pub a: u32,
    /// The link or timer that it is about.
    pub b: u32,
}

/// The order of events at one instant.
#[inline]
pub fn order(phase: Phase, rank: u32, counter: u32) -> u64 {
    (phase as u64) << 60 | u64::from(rank) << 32 | u64::from(counter)
}

impl Event {
    /// What events are ordered by.
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
