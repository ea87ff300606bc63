//! Priority flow control (IEEE 802.1Qbb): per-ingress, per-class byte counts and pause state.
//!
//! A switch counts, for each link that comes in and each class of traffic, the bytes that wait in it; the
//! lossless queue (`queue/lossless.rs`) does so. `pause` turns them into pause frames.

use super::credit::Credits;
use crate::units::Time;

/// Classes that a frame tells of.
pub const CLASSES: usize = 8;

/// Bytes of a pause frame: the smallest of Ethernet (IEEE 802.3, annex 31B).
pub const FRAME_BYTES: u32 = 64;

/// The class of a packet as ports and frames know it.
#[inline(always)]
pub fn class_of(class: u8) -> usize {
    usize::from(class) % CLASSES
}

/// What nodes tell each other across links, so that buffers do not overflow: under one queue pauses, under another credits.
#[derive(Debug, Default)]
pub struct FlowControl {
    /// Who is told to stop for what waits; empty unless the queue is lossless.
    pub pauses: Pauses,
    /// What may be sent to whom; empty unless the queue gives credits.
    pub credits: Credits,
}

/// What the end of each link counts and tells its head.
#[derive(Debug, Default)]
pub struct Pauses {
    /// By link; empty unless the run's queue is lossless.
    pub gates: Vec<Gate>,
    /// By link: how often and how long its head was stopped; as long as `gates`.
    pub stops: Vec<Stops>,
}

/// What came in by one link and waits where it ends. One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Gate {
    /// Bytes, by class.
    pub waiting: [u32; CLASSES],
    /// When who sends by the link is told to stop and to go on.
    pub thresholds: Thresholds,
    /// Classes that should stand still, a bit each.
    pub wanted: u8,
    /// What the last frame said.
    pub told: u8,
    /// Frames sent.
    pub frames: u32,
}

/// How often and how long a port was stopped.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stops {
    /// Times that a class was stopped.
    pub pauses: u64,
    /// Time in which at least one class was.
    pub paused: Time,
    /// When it was last told something.
    pub since: Time,
    /// Since when each class is stopped, or goes on.
    pub since_by_class: [Time; CLASSES],
}

impl Gate {
    /// Nothing has come yet.
    pub fn new(thresholds: Thresholds) -> Gate {
        Gate { waiting: [0; CLASSES], thresholds, wanted: 0, told: 0, frames: 0 }
    }
}

/// When who sends by a link is told to stop, in bytes of one class that came by the link and wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// Above this, stop.
    pub xoff: u32,
    /// From this on down, go on.
    pub xon: u32,
    /// XOFF and headroom: more is dropped.
    pub limit: u32,
}

impl Thresholds {
    /// Nobody is ever told to stop.
    pub const NONE: Thresholds = Thresholds { xoff: u32::MAX, xon: 0, limit: u32::MAX };
}
