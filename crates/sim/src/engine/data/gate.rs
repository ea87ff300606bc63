//! Priority flow control (IEEE 802.1Qbb): per-ingress, per-class byte counts and pause state.
//!
//! A switch counts, for each link that comes in and each class of traffic, the bytes that wait in it; the
//! lossless queue (`queue/lossless.rs`) does so. `pause` turns them into pause frames.

use crate::units::Time;

/// Classes that a frame covers.
pub const CLASSES: usize = 8;

/// Bytes of a pause frame: the smallest of Ethernet (IEEE 802.3, annex 31B).
pub const FRAME_BYTES: u32 = 64;

/// The class of a packet at ports and in frames.
#[inline(always)]
pub fn class_of(class: u8) -> usize {
    usize::from(class) % CLASSES
}

/// Counters of each link's end, and the frames to its head.
#[derive(Debug, Default)]
pub struct Pauses {
    /// By link; empty unless the run's queue is lossless.
    pub gates: Vec<Gate>,
    /// By link: how often and how long its head was stopped; as long as `gates`.
    pub stops: Vec<Stops>,
    /// Bytes of a frame on the wire.
    pub frame_bytes: u32,
}

/// Bytes that arrived on one link and are queued at its end. One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Gate {
    /// Bytes, by class.
    pub waiting: [u32; CLASSES],
    /// XOFF and XON thresholds for the upstream port.
    pub thresholds: Thresholds,
    /// Classes that should stand still, a bit each.
    pub wanted: u8,
    /// The content of the last frame.
    pub announced: u8,
    pub frames: u32,
}

/// How often and how long a port was stopped.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stops {
    /// Times that a class was stopped.
    pub pauses: u64,
    /// Time in which at least one class was.
    pub paused: Time,
    /// Time of the last frame received.
    pub since: Time,
    /// Since when each class is stopped, or goes on.
    pub since_by_class: [Time; CLASSES],
}

impl Gate {
    /// Nothing has come yet.
    pub fn new(thresholds: Thresholds) -> Gate {
        Gate { waiting: [0; CLASSES], thresholds, wanted: 0, announced: 0, frames: 0 }
    }
}

/// Thresholds for the upstream port, in queued bytes of one class that arrived on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    pub xoff: u32,
    /// From this on down, go on.
    pub xon: u32,
    /// XOFF and headroom: more is dropped.
    pub limit: u32,
}

impl Thresholds {
    /// No port is ever paused.
    pub const NONE: Thresholds = Thresholds { xoff: u32::MAX, xon: 0, limit: u32::MAX };
}
