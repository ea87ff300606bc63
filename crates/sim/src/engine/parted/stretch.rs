//! How far the parts of a run go until they meet.

use crate::units::Time;

/// How far a part goes by itself.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) enum Stretch {
    /// All events before a time.
    Until(Time),
    /// The same, but not beyond the event that ends the last open flow of the part.
    ToLastEnd(Time),
    /// All events before the one with that key.
    Before(u128),
}
