//! Events and their total order.
//!
//! An event's key is (time, phase, rank, counter): nothing depends on insertion order, addresses or hashes. Of packets that
//! arrive at one instant the rank is that of a rule: see `engine/calendar/ties.rs`.

use crate::ids::{ConnId, LinkId};
use crate::units::Time;

/// Order of events at one instant: an event's phase is the top of its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// Links or routes change: see `engine/run/faults.rs`.
    Fault = 0,
    /// A port has finished a transmission: it is free for an arrival at the same instant.
    Departure = 1,
    /// A packet arrives at the end of a link.
    Arrival = 2,
    Start = 3,
    /// A timer of a host fires.
    Timer = 4,
    /// A packet would have arrived, but was lost on the link.
    Lost = 5,
    /// A pause frame arrives: packets that a port starts at the same instant have begun.
    Pause = 6,
    /// The timer of a port's queue fires, or its agent's tick: all else of the instant has happened.
    Port = 7,
    /// A message of central control arrives, or the controller acts: see `engine/contract/controller.rs`.
    Control = 8,
}

/// A scheduled event. Its phase says what its rank, its word and `a` are:
///
/// | phase | rank | word | `a` |
/// |---|---|---|---|
/// | `Fault` | links or routes: see `engine/run/faults.rs` | 0 | 0 |
/// | `Departure` | of the link | 0; with ties by arrival, as of the packet that was sent | 0 |
/// | `Arrival`, `Lost` | of the link | packets that its port has sent; with ties by arrival, all ports | the packet |
/// | `Start` | of the host | which of them: see `engine/data/start.rs` | flow, trigger or source |
/// | `Timer` | of the host | see [`timer`] | connection or link |
/// | `Pause` | of the link that the frame crosses | frames that its port has sent | the classes that are paused |
/// | `Port` | of the link | as `a` | 0 for the queue's timer, 1 for the agent's tick, from [`WAKE`] on for a balancer |
/// | `Control` | see `engine/contract/controller.rs` | messages of the controller | the message, or that the controller acts |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub time: Time,
    /// Phase (4 bits), rank of the source (28), the source's own count or whatever distinguishes its events (32): see
    /// [`order`].
    pub order: u64,
    pub a: u32,
}

/// The `a` of a port's event for the first of the run's balancers.
pub const WAKE: u32 = 2;

/// Whether the event of a port with that `a` is for a balancer.
pub fn is_wake(a: u32) -> bool {
    a >= WAKE
}

/// Bits of a rank, which stand below the phase.
pub const RANK_BITS: u32 = 28;
/// The largest rank.
pub const RANKS: u32 = (1 << RANK_BITS) - 1;

/// The order of events at one instant.
#[inline]
pub fn order(phase: Phase, rank: u32, word: u32) -> u64 {
    (phase as u64) << 60 | u64::from(rank) << 32 | u64::from(word)
}

/// The sort key of an event at that time with that order.
#[inline]
pub fn key(time: Time, order: u64) -> u128 {
    u128::from(time.0) << 64 | u128::from(order)
}

/// Bits of a timer's word below the count.
const COUNT_AT: u32 = 18;

/// The word and `a` of a timer: the timers that its host has set (the last 14 bits of their number), the transport
/// (8 bits), the kind of owner (2), its kind (8); the owner's number. Timers of a host at one instant fire in the order
/// in which they were set, unless 16,384 others were set in between.
#[inline]
pub fn timer(count: u32, transport: u8, owner: Owner, kind: u8) -> (u32, u32) {
    let (a, whose) = match owner {
        Owner::Sender(id) => (id.0, 0),
        Owner::Receiver(id) => (id.0, 1),
        Owner::Interface(link) => (link.0, 2),
    };
    (count << COUNT_AT | u32::from(transport) << 10 | whose << 8 | u32::from(kind), a)
}

impl Event {
    /// Of a timer: the end that it belongs to.
    #[inline]
    pub fn owner(&self) -> Owner {
        match self.order >> 8 & 3 {
            0 => Owner::Sender(ConnId(self.a)),
            1 => Owner::Receiver(ConnId(self.a)),
            _ => Owner::Interface(LinkId(self.a)),
        }
    }

    /// Of a timer: its kind, by which its transport distinguishes its timers.
    #[inline]
    pub fn timer_kind(&self) -> u8 {
        self.order as u8
    }

    /// Of a timer: its transport.
    #[inline]
    pub fn transport(&self) -> u8 {
        (self.order >> 10) as u8
    }

    /// The sort key of events.
    #[inline]
    pub fn key(&self) -> u128 {
        key(self.time, self.order)
    }

    /// The phase bits.
    #[inline]
    pub fn phase(&self) -> u8 {
        (self.order >> 60) as u8
    }

    /// The rank of its source.
    #[inline]
    pub fn rank(&self) -> u32 {
        (self.order >> 32) as u32 & RANKS
    }

    /// The last 32 bits of its order.
    #[inline]
    pub fn word(&self) -> u32 {
        self.order as u32
    }
}

/// By rank, the links.
#[derive(Debug, Default)]
pub struct Links(Vec<LinkId>);

impl Links {
    /// Of links with those ranks.
    pub fn new(ranks: &[u32]) -> Links {
        let mut links = vec![LinkId(0); ranks.len()];
        for (link, &rank) in (0..).zip(ranks) {
            links[rank as usize] = LinkId(link);
        }
        Links(links)
    }

    /// The link of an event that has one.
    #[inline(always)]
    pub fn of(&self, event: &Event) -> LinkId {
        self.0[event.rank() as usize]
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

/// The end that a timer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The sender of a connection.
    Sender(ConnId),
    /// The receiver of a connection.
    Receiver(ConnId),
    /// An interface of a host: the link that ends there.
    Interface(LinkId),
}
