//! Segments that one acknowledgement reports: the scoreboard finds them, RACK reads them.

use crate::units::Time;

/// The latest sent of the segments that an acknowledgement reports as delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latest {
    pub number: u32,
    pub sent: Time,
    /// Whether it was retransmitted.
    pub again: bool,
}

/// Segments that an acknowledgement reports as delivered and that were not known to be.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivered {
    pub bytes: u64,
    pub latest: Option<Latest>,
    /// The first one by number that was sent once.
    pub first_original: Option<u32>,
    /// Whether any is reported by a block.
    pub sacks: bool,
}
