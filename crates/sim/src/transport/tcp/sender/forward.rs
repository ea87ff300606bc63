//! Forward recovery from timeouts (F-RTO, RFC 5682): whether a timeout was needless.
//!
//! The first acknowledgement of new data after the retransmission may be that of the original, which was late. It lets two
//! new segments go in place of lost ones. If the next one reports a segment that was sent before the timeout and once only,
//! the timeout was needless: window and threshold return to their values before it (RFC 4015; Linux). If it is a duplicate,
//! or has a SACK of new data alone, the timeout was right, and lost segments go, in the window that the timeout has left (a
//! segment, and one for the first acknowledgement: less than the three that step 3a allows).
//!
//! With SACK (section 3.1) duplicates before the new data decide nothing, and, as in Linux, a report of a segment that was
//! sent once is enough also before new data has gone. Without SACK (section 2.1) it is not: the receiver may have had it
//! for long. A timeout in a recovery is not looked at, unless it comes again for the same segment (Linux, 3.2).

use super::Sender;
use super::delivered::Delivered;
use crate::transport::source::Source;
use crate::transport::tcp::Tcp;

/// New segments that the first acknowledgement lets go.
const NEW: u8 = 2;

/// State of the decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    /// Nothing to decide.
    #[default]
    Idle,
    /// The first segment goes again.
    Retransmits,
    /// So many new segments may still go.
    Probes(u8),
}

/// The decision on the latest timeout.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forward {
    step: Step,
    /// Segments before that number were sent before the timeout.
    until: u32,
    /// Window and threshold before it.
    before: (u64, u64),
}

impl Forward {
    /// New segments that may go in place of lost ones; none if there is nothing to decide.
    #[inline]
    pub fn probes(&self) -> Option<u8> {
        match self.step {
            Step::Probes(left) => Some(left),
            Step::Idle | Step::Retransmits => None,
        }
    }

    /// A new segment goes.
    pub fn sent(&mut self) {
        if let Step::Probes(left) = &mut self.step {
            *left = left.saturating_sub(1);
        }
    }
}

impl Sender {
    /// New segments that may go in place of lost ones; none if no timeout is being decided on.
    #[inline]
    pub(super) fn forward_probes(&self) -> Option<u8> {
        if !self.repairs {
            return None;
        }
        self.forward.as_ref().and_then(|forward| forward.probes())
    }

    /// A new segment goes.
    #[inline]
    pub(super) fn note_forward(&mut self) {
        if self.repairs
            && let Some(forward) = &mut self.forward
        {
            forward.sent();
        }
    }

    /// Whether a new segment of so many bytes may go to decide on a timeout, whatever the congestion window is.
    #[inline]
    pub(super) fn probe_fits(&self, left: u8, len: u64, config: &Tcp) -> bool {
        left > 0 && len > 0 && self.end_seq + len <= self.una_seq + self.receive_window(config)
    }

    /// A timeout, before anything changes (step 1).
    pub(super) fn begin_forward(&mut self) {
        let again = self.expired == Some(self.una);
        let eligible = again || !(self.recovering || self.repairs);
        let (until, window) = (self.end, (self.steady_window(), self.window.ssthresh));
        let Some(forward) = &mut self.forward else { return };
        let before = if again { forward.before } else { window };
        let step = if eligible { Step::Retransmits } else { Step::Idle };
        **forward = Forward { step, until, before };
    }

    /// New segments may go, if there are any for which the receiver has room (step 2b); else lost ones do.
    fn forward_step(&self, config: &Tcp, source: &impl Source) -> Step {
        let len = source.peek(self.window.mss);
        if self.probe_fits(NEW, len, config) { Step::Probes(NEW) } else { Step::Idle }
    }

    /// The timeout was needless: its reduction is taken back (step 3b).
    fn was_needless(&mut self, before: (u64, u64)) -> Step {
        self.take_back(before);
        // RFC 5682, 2.1: losses of new data may be found by duplicates at once.
        self.recover = self.una_seq;
        Step::Idle
    }

    /// With SACK: an acknowledgement after a timeout, which has been noted: of new data, or with the report of a duplicate, by
    /// which nothing is decided.
    pub(super) fn go_forward(
        &mut self,
        delivered: &Delivered,
        (advances, duplicate): (bool, bool),
        config: &Tcp,
        source: &impl Source,
    ) {
        let Some(Forward { step, until, before }) = self.forward.as_deref().copied() else { return };
        let original = delivered.first_original.is_some_and(|number| number < until);
        let next = match step {
            Step::Idle => return,
            Step::Retransmits | Step::Probes(_) if original => self.was_needless(before),
            _ if self.una_seq >= self.recover => Step::Idle,
            Step::Retransmits if advances => self.forward_step(config, source),
            Step::Probes(_) if delivered.sacks || !(advances || duplicate) => Step::Idle,
            Step::Retransmits | Step::Probes(_) => return,
        };
        self.set_forward(next);
    }

    /// Without SACK: an acknowledgement of new data after a timeout, which has been noted.
    pub(super) fn go_forward_without_sack(&mut self, config: &Tcp, source: &impl Source) {
        let Some(Forward { step, before, .. }) = self.forward.as_deref().copied() else { return };
        let next = match step {
            Step::Idle => return,
            _ if self.una_seq >= self.recover => Step::Idle,
            Step::Retransmits => {
                let next = self.forward_step(config, source);
                if next != Step::Idle {
                    (self.next, self.next_seq) = (self.end, self.end_seq);
                }
                next
            }
            Step::Probes(_) => self.was_needless(before),
        };
        self.set_forward(next);
    }

    /// Without SACK: a duplicate after a timeout, which was right then (steps 2a and 3a).
    pub(super) fn forward_duplicate(&mut self) {
        if self.forward_probes().is_some() {
            (self.next, self.next_seq) = (self.una, self.una_seq);
        }
        self.set_forward(Step::Idle);
    }

    fn set_forward(&mut self, step: Step) {
        if let Some(forward) = &mut self.forward {
            forward.step = step;
        }
    }

    /// A reduction is taken back to the window and the threshold before it; lost segments are in flight.
    pub(super) fn take_back(&mut self, before: (u64, u64)) {
        if let Some(own) = &mut self.selective {
            own.undo.forget();
            own.board.unlose();
        }
        self.reduction = None;
        self.window.cwnd = self.window.cwnd.max(before.0);
        self.window.ssthresh = self.window.ssthresh.max(before.1);
        self.window.after_timeout = false;
        self.recovering = false;
        self.repairs = false;
        self.repair = false;
    }
}
