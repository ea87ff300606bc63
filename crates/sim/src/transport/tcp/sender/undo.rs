//! Needless retransmissions (RFC 3522, the Eifel detection algorithm; RFC 4015, the response).
//!
//! An acknowledgement of new data that echoes a time before the first retransmission was caused by the original segment: it
//! was late, and not lost. Window and threshold return to their values before the reduction, as in Linux.

use super::Sender;
use crate::transport::tcp::congestion::Window;
use crate::units::Time;

/// The window before the latest reduction, and the first retransmission after it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Undo {
    before: Option<(u64, u64)>,
    retransmitted: Option<Time>,
}

impl Undo {
    /// The window is about to be reduced for a loss.
    pub fn note(&mut self, window: &Window) {
        *self = Undo { before: Some((window.cwnd, window.ssthresh)), retransmitted: None };
    }

    /// A segment is retransmitted.
    #[inline]
    pub fn note_retransmission(&mut self, now: Time) {
        self.retransmitted.get_or_insert(now);
    }

    /// The reduction was right.
    pub fn forget(&mut self) {
        *self = Undo::default();
    }
}

impl Sender {
    /// New data is acknowledged, by a segment that was sent then.
    pub(super) fn undo_if_needless(&mut self, sent: Time) {
        let own = self.own();
        let Undo { before: Some((cwnd, ssthresh)), retransmitted: Some(first) } = own.undo else { return };
        own.undo.forget();
        if sent >= first {
            // The retransmission was needed.
            return;
        }
        own.board.unlose();
        self.reduction = None;
        self.window.cwnd = self.window.cwnd.max(cwnd);
        self.window.ssthresh = self.window.ssthresh.max(ssthresh);
        self.recovering = false;
        self.repairs = false;
    }
}
