//! Needless retransmissions (RFC 3522, the Eifel detection algorithm; RFC 3708; RFC 4015, the response).
//!
//! An acknowledgement of new data in a recovery, or after a timeout, that echoes a time before the first retransmission was
//! caused by the original segment: it was late, and not lost. Or all retransmissions since the reduction are reported as
//! duplicates (DSACK), be the recovery over or not, so that none of them was needed. Window and threshold return to their
//! values before the reduction, as in Linux. A timeout in a recovery, or again for the same segment, belongs to the
//! reduction before it.

use super::Sender;
use crate::transport::tcp::congestion::Window;
use crate::units::Time;

/// The window before the latest reduction, and retransmissions since then.
#[derive(Clone, Copy, Debug, Default)]
pub struct Undo {
    before: Option<(u64, u64)>,
    /// When the first one was sent.
    first: Option<Time>,
    /// Those that are not reported as duplicates.
    needed: u32,
    /// The first unacknowledged segment at the reduction: duplicates before it are of earlier ones.
    since: u32,
}

impl Undo {
    /// The window is about to be reduced for a loss, with that segment the first unacknowledged one.
    pub fn note(&mut self, window: &Window, una: u32) {
        *self = Undo { before: Some((window.cwnd, window.ssthresh)), since: una, ..Undo::default() };
    }

    /// A segment is retransmitted.
    #[inline]
    pub fn note_retransmission(&mut self, now: Time) {
        self.first.get_or_insert(now);
        self.needed += 1;
    }

    /// A segment is reported as a duplicate. Whether all retransmissions are, of which there is one at least.
    fn note_duplicate(&mut self, number: u32) -> bool {
        if number < self.since || self.needed == 0 {
            return false;
        }
        self.needed -= 1;
        self.needed == 0
    }

    /// There is no reduction to be taken back.
    pub fn forget(&mut self) {
        *self = Undo::default();
    }
}

impl Sender {
    /// An acknowledgement: of new data, by a segment that was sent then, or with the report of a duplicate.
    pub(super) fn undo_if_needless(&mut self, sent: Option<Time>, duplicate: Option<u32>) {
        let repairs = self.recovering || self.repairs;
        let undo = &mut self.own().undo;
        let Some(before) = undo.before else { return };
        let original = repairs && undo.first.zip(sent).is_some_and(|(first, sent)| sent < first);
        let all = duplicate.is_some_and(|number| undo.note_duplicate(number));
        if original || all {
            self.take_back(before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::tcp::congestion::fixtures::window;

    /// A reduction with 5 the first unacknowledged segment, and two retransmissions: the duplicate of 4 is of an earlier one, that
    /// of 5 is one of two, and that of 9 is the last. Without retransmissions none is.
    #[test]
    fn duplicates_of_retransmissions_are_counted() {
        let mut undo = Undo::default();
        undo.note(&window(10), 5);
        assert!(!undo.note_duplicate(5));
        undo.note_retransmission(Time::from_us(1));
        undo.note_retransmission(Time::from_us(2));
        assert_eq!([4, 5, 9, 9].map(|number| undo.note_duplicate(number)), [false, false, true, false]);
    }
}
