//! The audit: counters against structures.

use super::Engine;

impl Engine<'_> {
    /// Compares what was counted with what is there.
    pub(super) fn audit(&mut self) {}
}
