//! Explicit congestion notification in TCP: how the receiver echoes marks, and when the sender answers an echo.
//!
//! RFC 3168, section 6.1, and RFC 8257, sections 3.2 and 3.3. Both ends are taken to have agreed on it: there
//! is no other kind of host in a run. The reaction to an echo is in `congestion`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The way in which acknowledgements echo marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Echo {
    /// From a mark on, all of them, until the sender signals that it has reduced its window (RFC 3168,
    /// 6.1.3).
    UntilReduced,
    /// Each echoes the marks of its own segments: a delayed one is sent as soon as the mark of an arriving
    /// segment differs from those before it (DCTCP's paper, figure 10).
    Exact,
    /// The same, and the segment that differs is also acknowledged at once (RFC 8257, 3.2, with two acknowledgements, as
    /// it allows; Linux).
    ExactAtOnce,
    /// Every segment is acknowledged at once, with its own mark (htsim).
    EachSegment,
}

/// A receiver's memory of marks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    echo: Option<Echo>,
    /// Whether acknowledgements now carry the echo.
    pub echoes: bool,
}

/// The change that a segment causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Whether an acknowledgement that is held back must go first, as it would have without this segment.
    pub changes: bool,
    /// The echo that acknowledgements carry from then on.
    pub echoes: bool,
    /// Whether this segment is acknowledged at once.
    pub at_once: bool,
}

impl Marks {
    /// Nothing has arrived.
    pub fn new(echo: Option<Echo>) -> Marks {
        Marks { echo, echoes: false }
    }

    /// A segment arrives, with a mark or without, and with a notice that the window has been reduced (CWR) or without.
    #[inline]
    pub fn on_segment(&self, marked: bool, reduced: bool) -> Change {
        let differs = marked != self.echoes;
        match self.echo {
            None => Change { changes: false, echoes: false, at_once: false },
            Some(Echo::UntilReduced) => {
                Change { changes: false, echoes: marked || self.echoes && !reduced, at_once: false }
            }
            Some(Echo::Exact) => Change { changes: differs, echoes: marked, at_once: false },
            Some(Echo::ExactAtOnce) => Change { changes: differs, echoes: marked, at_once: differs },
            Some(Echo::EachSegment) => Change { changes: differs, echoes: marked, at_once: true },
        }
    }
}

/// A sender's memory of echoes: it reduces its window once a window of data, whatever the sign (RFC 3168, 6.1.2).
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    /// Whether the connection uses ECN.
    pub listens: bool,
    /// The end of the data sent at the last reduction: marks on it have no further effect.
    until: u64,
    /// Whether the next new segment signals a reduction (CWR).
    cwr: bool,
}

impl Heard {
    /// Nothing has been sent.
    pub fn new(listens: bool) -> Heard {
        Heard { listens, until: 0, cwr: false }
    }

    /// Whether an echo is about data sent since the last reduction, given the data acknowledged with it.
    #[inline]
    pub fn is_news(&self, una: u64) -> bool {
        una > self.until
    }

    /// The window is reduced, when so much has been sent: for an echo, a loss or a timeout.
    pub fn reduced(&mut self, sent: u64) {
        self.until = sent;
        self.cwr = true;
    }

    /// Whether this new segment is to signal a reduction (CWR); the next one is not.
    #[inline]
    pub fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.cwr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The echo after each of these segments, marked and with CWR as they are, whether one that is held back goes first, and
    /// whether this one is acknowledged at once.
    fn echoes(echo: Option<Echo>, segments: &[(bool, bool)]) -> Vec<(bool, bool, bool)> {
        let mut marks = Marks::new(echo);
        let mut on_segment = |&(marked, reduced): &(bool, bool)| {
            let Change { changes, echoes, at_once } = marks.on_segment(marked, reduced);
            marks.echoes = echoes;
            (echoes, changes, at_once)
        };
        segments.iter().map(&mut on_segment).collect()
    }

    /// Plain, marked, plain, with CWR, marked with CWR, plain. RFC 3168: the echo goes on until CWR, and one that is marked
    /// itself begins it again. DCTCP: each segment has its own; a change sends the acknowledgement that is held back, and at
    /// Linux that of the segment, too.
    #[test]
    fn echoes_by_hand() {
        let segments =
            [(false, false), (true, false), (false, false), (false, true), (true, true), (false, false)];
        let column = |of: fn(&(bool, bool, bool)) -> bool, echo| -> Vec<u8> {
            echoes(echo, &segments).iter().map(|change| u8::from(of(change))).collect()
        };
        let (none, own, differs) = ([0; 6], [0, 1, 0, 0, 1, 0], [0, 1, 1, 0, 1, 1]);
        for (echo, expected) in [
            (None, [none, none, none]),
            (Some(Echo::UntilReduced), [[0, 1, 1, 0, 1, 1], none, none]),
            (Some(Echo::Exact), [own, differs, none]),
            (Some(Echo::ExactAtOnce), [own, differs, differs]),
            (Some(Echo::EachSegment), [own, differs, [1; 6]]),
        ] {
            let found = [
                column(|change| change.0, echo),
                column(|change| change.1, echo),
                column(|change| change.2, echo),
            ];
            assert_eq!(found, expected, "{echo:?}");
        }
    }

    /// When 5000 bytes have been sent the window is reduced: an echo that acknowledges these is of segments before that, one
    /// that acknowledges a byte more is news. The next new segment has the notice, and that behind it has not.
    #[test]
    fn a_reduction_answers_the_echoes_of_a_window() {
        let mut heard = Heard::new(true);
        assert!(heard.is_news(1) && !heard.take_cwr());
        heard.reduced(5_000);
        assert_eq!([4_999, 5_000, 5_001].map(|una| heard.is_news(una)), [false, false, true]);
        assert_eq!([heard.take_cwr(), heard.take_cwr()], [true, false]);
    }
}
