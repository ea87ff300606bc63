//! RACK (RFC 8985, section 6): losses by time, and the reordering window.
//!
//! A segment is lost when one that was sent after it has arrived and it has had a round trip and the reordering window to
//! do so. The window is none while no reordering has been seen and three segments are SACKed or the sender repairs losses,
//! else a quarter of the least round trip, more after needless retransmissions (DSACK), at most a smoothed round trip.

use super::delivered::{Delivered, Latest};
use crate::units::Time;

/// Recoveries for which the window stays larger (RFC 8985, 6.2, step 4: RACK.reo_wnd_persist).
const PERSISTS: u32 = 16;

/// The latest sent of the segments that have arrived, and what is known of reordering.
#[derive(Clone, Copy, Debug)]
pub struct Rack {
    /// RACK.xmit_ts and its segment.
    sent: Time,
    number: u32,
    /// RACK.rtt.
    round_trip: Time,
    /// RACK.min_RTT.
    least: Time,
    /// RACK.fack: the number behind the highest segment that has arrived.
    highest: u32,
    reordered: bool,
    /// RACK.reo_wnd_mult, and recoveries for which it lasts.
    quarters: u32,
    persists: u32,
    /// Everything before this number was sent before the window grew last.
    grew: u32,
}

impl Default for Rack {
    fn default() -> Self {
        Rack {
            sent: Time::ZERO,
            number: 0,
            round_trip: Time::ZERO,
            least: Time::NEVER,
            highest: 0,
            reordered: false,
            quarters: 1,
            persists: 0,
            grew: 0,
        }
    }
}

impl Rack {
    /// RACK.rtt: the round trip of the segment sent last of those that have arrived.
    pub fn round_trip(&self) -> Time {
        self.round_trip
    }

    /// RACK.min_RTT; [`Time::NEVER`] before the first one.
    pub fn least(&self) -> Time {
        self.least
    }

    /// A segment has arrived (steps 1 and 2). A retransmitted one that is acknowledged within less than the least round trip
    /// is the original.
    pub fn deliver(&mut self, latest: Latest, now: Time) {
        let round_trip = now - latest.sent;
        if latest.again && round_trip < self.least {
            return;
        }
        self.least = self.least.min(round_trip);
        if (latest.sent, latest.number) > (self.sent, self.number) || self.round_trip == Time::ZERO {
            (self.sent, self.number, self.round_trip) = (latest.sent, latest.number, round_trip);
        }
    }

    /// Whether originals arrive behind later ones (step 3).
    pub fn note_order(&mut self, delivered: &Delivered) {
        if delivered.first_original.is_some_and(|first| first < self.highest) {
            self.reordered = true;
        }
        if let Some(latest) = delivered.latest {
            self.highest = self.highest.max(latest.number + 1);
        }
    }

    /// A duplicate is reported: at most once a round trip the window grows by a quarter of the least one. `end` is the
    /// number of the next new segment.
    pub fn on_duplicate(&mut self, una: u32, end: u32) {
        if una >= self.grew {
            self.grew = end;
            self.quarters += 1;
            self.persists = PERSISTS;
        }
    }

    /// A recovery is over.
    pub fn on_recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.quarters = 1;
        }
    }

    /// The reordering window (step 4); `repairs`: the sender is in a recovery, or after a timeout.
    pub fn window(&self, repairs: bool, enough_sacked: bool, smoothed: Option<Time>) -> Time {
        if !self.reordered && (repairs || enough_sacked) || self.least == Time::NEVER {
            return Time::ZERO;
        }
        let window = Time(self.least.0 / 4 * u64::from(self.quarters));
        window.min(smoothed.unwrap_or(self.round_trip))
    }

    /// When a segment sent at that time will be lost, if one that was sent after it has arrived.
    #[inline]
    pub fn due(&self, sent: Time, number: u32, window: Time) -> Option<Time> {
        ((sent, number) < (self.sent, self.number)).then(|| sent + self.round_trip + window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000;

    fn latest(number: u32, sent_us: u64, again: bool) -> Latest {
        Latest { number, sent: Time::from_us(sent_us), again }
    }

    /// RFC 8985, 6.2, step 4: a round trip of 20 ms. No window without reordering once three are SACKed or in a recovery;
    /// else 5 ms, after each DSACK 5 ms more, up to the smoothed round trip; sixteen recoveries later it is 5 ms again.
    #[test]
    fn the_reordering_window() {
        let mut rack = Rack::default();
        rack.deliver(latest(0, 0, false), Time::from_us(20 * MS));
        let smoothed = Some(Time::from_us(12 * MS));
        assert_eq!(rack.window(false, false, smoothed), Time::from_us(5 * MS));
        assert_eq!(rack.window(true, false, smoothed), Time::ZERO);
        assert_eq!(rack.window(false, true, smoothed), Time::ZERO);
        rack.note_order(&Delivered { latest: Some(latest(4, 1, false)), ..Delivered::default() });
        rack.note_order(&Delivered { first_original: Some(2), ..Delivered::default() });
        assert_eq!(rack.window(true, true, smoothed), Time::from_us(5 * MS));
        rack.on_duplicate(3, 9);
        rack.on_duplicate(8, 12);
        assert_eq!(rack.window(true, true, smoothed), Time::from_us(10 * MS));
        rack.on_duplicate(9, 15);
        assert_eq!(rack.window(true, true, smoothed), Time::from_us(12 * MS));
        for _ in 0..16 {
            assert_eq!(rack.window(true, true, smoothed), Time::from_us(12 * MS));
            rack.on_recovered();
        }
        assert_eq!(rack.window(true, true, smoothed), Time::from_us(5 * MS));
    }

    /// Step 2: an acknowledgement 1 ms after the retransmission is the original's, and moves nothing.
    #[test]
    fn an_acknowledgement_of_the_original() {
        let mut rack = Rack::default();
        rack.deliver(latest(3, 0, false), Time::from_us(20 * MS));
        rack.deliver(latest(1, 25 * MS, true), Time::from_us(26 * MS));
        assert_eq!(rack.due(Time::from_us(1), 5, Time::ZERO), None);
        rack.deliver(latest(2, 25 * MS, true), Time::from_us(45 * MS));
        assert_eq!(rack.due(Time::from_us(1), 5, Time::ZERO), Some(Time::from_us(20 * MS + 1)));
    }
}
