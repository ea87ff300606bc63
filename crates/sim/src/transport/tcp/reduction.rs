//! Proportional rate reduction: a window that has to shrink does so over a round trip (RFC 9937, before it RFC 6937).
//!
//! A window that shrinks at once is silent until enough is acknowledged, and then sends one segment for each
//! acknowledgement again: behind the gap its segments stand side by side. Here each acknowledgement lets go the share of
//! it that the smaller window has of the larger one, so that segments of several flows stay mixed. Linux reduces windows
//! so for marks as for losses, and ns-3 after it.

/// A reduction in progress.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    /// The window at its end.
    goal: u64,
    /// Bytes in flight at its start (RFC 9937: `RecoverFS`).
    flight: u64,
    /// Bytes acknowledged since (`prr_delivered`).
    delivered: u64,
    /// Bytes sent since (`prr_out`).
    sent: u64,
    /// It is over when everything before this byte is acknowledged (`RecoveryPoint`).
    until: u64,
    /// Whether a share of a segment lets all of it go.
    whole: bool,
}

impl Reduction {
    /// From `flight` bytes, of which none is acknowledged yet, to a window of `goal` bytes, while data sent
    /// before byte `until` is acknowledged.
    pub fn new(flight: u64, goal: u64, until: u64) -> Reduction {
        Reduction { goal, flight, delivered: 0, sent: 0, until, whole: false }
    }

    /// The same from a window of `before` bytes, whatever is in flight, and with shares of a segment that let all of it go:
    /// Linux counts segments and rounds their number up.
    pub fn by_segments(before: u64, goal: u64, until: u64) -> Reduction {
        Reduction { whole: true, ..Reduction::new(before, goal, until) }
    }

    /// The window at its end.
    pub fn goal(&self) -> u64 {
        self.goal
    }

    /// Whether it is over when everything before byte `una` is acknowledged.
    pub fn is_over(&self, una: u64) -> bool {
        una >= self.until
    }

    /// It goes on while data sent before byte `until` is acknowledged: a loss is found.
    pub fn extend(&mut self, until: u64) {
        self.until = until;
    }

    /// The window after an acknowledgement of `acked` bytes that leaves `flight` in flight. Segments have `mss` bytes; one
    /// more may go to make up for losses, if this acknowledgement shows that the repair gets on (`safe`: new data is
    /// acknowledged, and no further loss is found).
    pub fn on_ack(&mut self, acked: u64, flight: u64, mss: u64, safe: bool) -> u64 {
        self.delivered += acked;
        let room = if flight > self.goal {
            let share = (self.delivered * self.goal).div_ceil(self.flight.max(1));
            let share = if self.whole { share.next_multiple_of(mss) } else { share };
            share.saturating_sub(self.sent)
        } else {
            // More data has left the network than intended: up to a segment beyond the acknowledged bytes
            // makes up for it (RFC 9937: slow-start or conservative reduction bound).
            let behind = self.delivered.saturating_sub(self.sent).max(acked) + if safe { mss } else { 0 };
            behind.min(self.goal - flight)
        };
        // The first acknowledgement lets a whole segment go, as in Linux and ns-3.
        flight + if self.sent == 0 { room.max(mss) } else { room }
    }

    /// So many bytes are sent.
    pub fn on_send(&mut self, len: u64) {
        self.sent += len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window after each acknowledgement of a segment, and how many are sent by it, from so many in flight.
    fn sent_by(make: fn(u64, u64, u64) -> Reduction, flight: u64, goal: u64, acks: u64) -> Vec<u64> {
        let mss = 1000;
        let mut reduction = make(flight * mss, goal, flight * mss);
        let (mut una, mut next) = (0, flight * mss);
        let mut sends = |_| {
            una += mss;
            let window = reduction.on_ack(mss, next - una, mss, true);
            let mut sent = 0;
            while next + mss <= una + window {
                next += mss;
                reduction.on_send(mss);
                sent += 1;
            }
            sent
        };
        (1..=acks).map(&mut sends).collect()
    }

    /// RFC 9937 by hand. From ten segments to eight: after n acknowledgements 0.8 n may have gone, in whole segments, but
    /// the first at once. The third leaves eight in flight, which is the goal and no longer above it: nothing goes, and
    /// from then on one goes for each. From ten to five the eighth leaves five in flight.
    #[test]
    fn the_share_of_each_acknowledgement() {
        assert_eq!(sent_by(Reduction::new, 10, 8_000, 10), [1, 0, 0, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(sent_by(Reduction::new, 10, 5_000, 10), [1, 0, 0, 1, 0, 1, 0, 0, 1, 1]);
        // The second leaves nine, below 9.3, and less than a segment is missing.
        assert_eq!(sent_by(Reduction::new, 10, 9_300, 10), [1, 0, 1, 1, 1, 1, 1, 1, 1, 1]);
    }

    /// In whole segments: of ten to eight the first shares, 0.8, 1.6 and 2.4, let one, two and three go in all. To five: 0.5
    /// lets one go, 1.5 two, 2.5 three.
    #[test]
    fn whole_segments() {
        assert_eq!(sent_by(Reduction::by_segments, 10, 8_000, 10)[..3], [1, 1, 1]);
        assert_eq!(sent_by(Reduction::by_segments, 10, 5_000, 7), [1, 0, 1, 0, 1, 0, 1]);
    }

    /// Below the goal a segment more than the acknowledged bytes makes up for the missing ones, and no more
    /// than are missing.
    #[test]
    fn what_is_in_flight_comes_up_to_the_goal() {
        let mut reduction = Reduction::new(10_000, 8_000, 10_000);
        assert_eq!(reduction.on_ack(6_000, 4_000, 1_000, true), 8_000);
        let mut reduction = Reduction::new(10_000, 8_000, 10_000);
        assert_eq!(reduction.on_ack(1_000, 3_000, 1_000, true), 5_000);
        reduction.on_send(2_000);
        assert_eq!(reduction.on_ack(1_000, 4_000, 1_000, true), 6_000);
        assert!(!reduction.is_over(9_999) && reduction.is_over(10_000));
    }
}
