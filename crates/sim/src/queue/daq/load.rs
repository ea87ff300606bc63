//! The load of a port: the arrivals of the last complete round trip.

use crate::derived::bytes_in;
use crate::engine::contract::credit::FULL_LOAD;
use crate::units::{Rate, Time};

/// Bytes that come to a port, counted over round trips one behind the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Load {
    rtt: Time,
    /// When the present round trip ends, and its bytes so far.
    until: Time,
    come: u64,
    /// Bytes of the one before, and as a share of the link's capacity in one, in millionths.
    came: u64,
    share: u32,
    /// The rate of the link, and the bytes that it carries in a round trip.
    rate: Rate,
    full: u64,
}

impl Load {
    /// An idle port.
    pub fn new(rtt: Time) -> Load {
        Load { rtt, ..Load::default() }
    }

    /// Counts a packet that arrives at the port.
    #[inline]
    pub fn count(&mut self, now: Time, size: u32) {
        self.pass_time(now);
        self.come += u64::from(size);
    }

    /// The arrivals of the last complete round trip, as a share of the link's capacity in one, in millionths.
    #[inline]
    pub fn share(&mut self, now: Time, rate: Rate) -> u32 {
        self.pass_time(now);
        if rate != self.rate {
            (self.rate, self.full) = (rate, bytes_in(rate, self.rtt).max(1));
            self.divide();
        }
        self.share
    }

    /// Goes on to the round trip of that time.
    #[inline]
    fn pass_time(&mut self, now: Time) {
        if now >= self.until {
            self.begin(now);
        }
    }

    #[inline(never)]
    fn begin(&mut self, now: Time) {
        let span = self.rtt.0.max(1);
        let over = (now.0 - self.until.0) / span;
        self.came = if over == 0 { self.come } else { 0 };
        self.until = Time(self.until.0.saturating_add((over + 1).saturating_mul(span)));
        self.come = 0;
        self.divide();
    }

    fn divide(&mut self) {
        let share = self.came.saturating_mul(u64::from(FULL_LOAD)) / self.full.max(1);
        self.share = u32::try_from(share).unwrap_or(u32::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 Gbps carries 125 B in 1 us. A round trip of 10 us with 1000 B shows in the next one, and not in the
    /// one after that.
    #[test]
    fn the_load_is_that_of_the_last_round_trip() {
        let mut load = Load::new(Time::from_us(10));
        let rate = Rate(1_000_000_000);
        load.count(Time::from_us(21), 600);
        load.count(Time::from_us(29), 400);
        assert_eq!(load.share(Time::from_us(29), rate), 0);
        assert_eq!(load.share(Time::from_us(30), rate), 800_000);
        assert_eq!(load.share(Time::from_us(39), rate), 800_000);
        assert_eq!(load.share(Time::from_us(39), Rate(2_000_000_000)), 400_000);
        assert_eq!(load.share(Time::from_us(40), rate), 0);
        load.count(Time::from_us(49), 1250);
        assert_eq!(load.share(Time::from_us(57), rate), FULL_LOAD);
        assert_eq!(load.share(Time::from_us(67), rate), 0);
    }

    /// Nor does it show when nothing has come or gone for several round trips.
    #[test]
    fn a_load_of_long_ago_is_none() {
        let (mut load, rate) = (Load::new(Time::from_us(10)), Rate(1_000_000_000));
        load.count(Time::from_us(5), 1000);
        assert_eq!(load.share(Time::from_us(35), rate), 0);
    }
}
