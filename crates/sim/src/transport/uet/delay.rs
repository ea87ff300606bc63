//! The delays of a flow's path: the least round trip, and the average queueing delay.

use super::scale::Scale;
use crate::units::Time;

/// Measurements of a sender.
#[derive(Clone, Copy, Debug)]
pub struct Delays {
    /// The least round trip so far, and at most that of the network.
    pub base_rtt: Time,
    /// Average queueing delay.
    pub average: Time,
    /// The largest window: it falls with the base round trip.
    pub max_window: u64,
    /// Weight of a sample in the average.
    gain: f64,
    scale: Scale,
}

impl Delays {
    /// Of a flow that starts.
    pub fn new(scale: Scale, gain: f64) -> Delays {
        let (base_rtt, max_window) = (scale.base_rtt, scale.max_window());
        Delays { base_rtt, average: Time::ZERO, max_window, gain, scale }
    }

    /// The network's round trip.
    pub fn network_rtt(&self) -> Time {
        self.scale.rtt
    }

    /// The target of the queueing delay.
    pub fn target(&self) -> Time {
        self.scale.target
    }

    /// A round trip lowers the base, and the largest window with it.
    #[inline]
    pub fn lower_base(&mut self, rtt: Time) {
        if rtt >= self.base_rtt {
            return;
        }
        self.base_rtt = rtt;
        if self.scale.max_window.is_none() {
            self.max_window = self.scale.window_of(rtt);
        }
    }

    /// A packet of that round trip: its queueing delay, which the average takes in; none if it is shorter than the base.
    #[inline]
    pub fn sample(&mut self, rtt: Time, marked: bool) -> Option<Time> {
        let delay = Time(rtt.0.checked_sub(self.base_rtt.0)?);
        self.take_in(delay, marked);
        Some(delay)
    }

    /// A sample of the queueing delay. One above the target without a mark pulls the average down: the queue is about to fall.
    pub fn take_in(&mut self, delay: Time, marked: bool) {
        let value = match !marked && delay > self.scale.target {
            true => self.base_rtt.0 as f64 * 0.25,
            false => delay.0 as f64,
        };
        self.average = Time((self.gain * value + (1.0 - self.gain) * self.average.0 as f64) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bytes, Rate};

    /// A base round trip of 10 us, a target of 6 us, and half of the weight for each sample.
    fn delays(max_window: Option<Bytes>) -> Delays {
        let base_rtt = Time::from_us(10);
        let scale = Scale {
            mtu: 4160,
            payload: 4096,
            line: Rate(8_000_000_000),
            rtt: base_rtt,
            base_rtt,
            first_window: None,
            max_window,
            min_window: 4160,
            target: Time::from_us(6),
        };
        Delays::new(scale, 0.5)
    }

    /// A delay of 6 us, the target, counts as it is: the average is 3 us. One of 6 us and 1 ps without a mark counts as a
    /// quarter of the base, 2.5 us, and with a mark as itself. A round trip of the base is a delay of none, and a shorter one
    /// is no sample.
    #[test]
    fn a_delay_above_the_target_without_a_mark_counts_as_a_quarter_of_the_base() {
        let after = |rtt: u64, marked| {
            let mut delays = delays(None);
            (delays.sample(Time(rtt), marked), delays.average)
        };
        let (target, more) = (Time::from_us(6), Time(6_000_001));
        assert_eq!(after(16_000_000, false), (Some(target), Time::from_us(3)));
        assert_eq!(after(16_000_001, false), (Some(more), Time(1_250_000)));
        assert_eq!(after(16_000_001, true), (Some(more), Time(3_000_000)));
        assert_eq!(after(10_000_000, false), (Some(Time::ZERO), Time::ZERO));
        assert_eq!(after(9_999_999, false), (None, Time::ZERO));
    }

    /// 8 Gbps and 10 us are 10 KB, and one and a half of that the largest window; a round trip of 5 us halves it, a longer one
    /// does not raise it. A window that the scenario gives stays.
    #[test]
    fn a_shorter_round_trip_lowers_the_largest_window() {
        for (given, windows) in [(None, [15_000, 7_500, 7_500]), (Some(Bytes(20_000)), [20_000; 3])] {
            let mut delays = delays(given);
            let found = [10, 5, 7].map(|us| {
                delays.lower_base(Time::from_us(us));
                delays.max_window
            });
            assert_eq!((found, delays.base_rtt), (windows, Time::from_us(5)));
        }
    }
}
