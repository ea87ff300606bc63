//! Receivers slow down for the network's sake: where its tiers are oversubscribed, the links of hosts are not the narrowest.
//!
//! Source: the public simulator (uet-htsim, `-oversubscribed_cc`). At random intervals of about 1.5 round trips a receiving host
//! looks at the packets that came: those that were trimmed on their way take their share from its rate, and marks above a target
//! reduce it; without both it grows, ever faster while there are no marks at all.

use super::control::rccc::Rccc;
use crate::random::Stream;
use crate::units::Time;

/// The share of its rate at which a receiving host gives credit.
#[derive(Clone, Debug)]
pub struct Slowdown {
    share: f64,
    least: f64,
    /// Average share of marked packets.
    congestion: f64,
    /// Intervals without a decrease, one after the other.
    increases: i32,
    /// Packets of this interval.
    packets: u32,
    marked: u32,
    trimmed: u32,
    trimmed_last: u32,
    /// Its end.
    ends: Time,
    interval: Time,
    stream: Stream,
}

/// Intervals without any packets change nothing more after so many.
const EMPTY_INTERVALS: u32 = 1000;

impl Slowdown {
    /// Of a host in a network of that round trip and oversubscription. Its intervals begin with the simulation, as in the
    /// simulator: the first one ends about a round trip and a half later, however early or late data comes.
    pub fn new(config: &Rccc, rtt: Time, ratio: f64, stream: Stream) -> Slowdown {
        let mut slowdown = Slowdown {
            share: 1.0,
            least: (config.min_rate / ratio).clamp(0.01, 1.0),
            congestion: 0.0,
            increases: 0,
            packets: 0,
            marked: 0,
            trimmed: 0,
            trimmed_last: 0,
            ends: Time::ZERO,
            interval: Time(rtt.0 + rtt.0 / 2),
            stream,
        };
        slowdown.draw_end();
        slowdown
    }

    fn draw_end(&mut self) {
        let length = self.interval.0 as f64 * (0.75 + 0.5 * self.stream.unit());
        self.ends = self.ends + Time((length as u64).max(1));
    }

    /// The share of the rate now.
    pub fn share(&mut self, now: Time, config: &Rccc) -> f64 {
        let mut empty = 0;
        while self.ends <= now && empty < EMPTY_INTERVALS {
            empty = if self.packets == 0 { empty + 1 } else { 0 };
            self.end_interval(config);
            self.draw_end();
        }
        self.ends = self.ends.max(now);
        self.share
    }

    fn end_interval(&mut self, config: &Rccc) {
        let full = self.packets - self.trimmed - self.trimmed_last;
        let marked = if full > 0 { f64::from(self.marked) / f64::from(full) } else { 0.0 };
        let mut decreases = false;
        if self.trimmed > 0 {
            self.share -= f64::from(self.trimmed) / f64::from(self.packets);
            decreases = true;
        }
        self.congestion = self.congestion * (1.0 - config.gain) + config.gain * marked;
        if self.congestion > config.target && config.decrease > 0.0 {
            self.share *= 1.0 - (self.congestion - config.target) * config.decrease;
            decreases = true;
        }
        if decreases {
            self.increases = 0;
        } else {
            let doublings = if self.marked == 0 { self.increases.min(60) } else { 0 };
            self.share += config.increase * f64::from(1u32 << doublings.min(30));
            self.increases += 1;
        }
        self.share = self.share.clamp(self.least, 1.0);
        (self.packets, self.marked, self.trimmed, self.trimmed_last) = (0, 0, 0, 0);
    }

    /// A packet has arrived in full, or is a request.
    pub fn arrived(&mut self, now: Time, marked: bool, config: &Rccc) {
        self.share(now, config);
        self.packets += 1;
        self.marked += u32::from(marked);
    }

    /// A trimmed packet has arrived.
    pub fn trimmed(&mut self, now: Time, last_hop: bool, config: &Rccc) {
        self.share(now, config);
        self.packets += 1;
        self.trimmed += u32::from(!last_hop);
        self.trimmed_last += u32::from(last_hop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host whose intervals end one after the other.
    fn slowdown(ratio: f64) -> Slowdown {
        Slowdown::new(&Rccc::default(), Time::from_us(10), ratio, Stream::default())
    }

    /// Two of ten packets trimmed on their way take a fifth; those at the last port nothing. Then it grows by 0.01, 0.02, 0.04.
    #[test]
    fn trims_on_the_way_take_their_share() {
        let config = Rccc::default();
        let mut one = slowdown(4.0);
        (one.packets, one.trimmed, one.trimmed_last) = (10, 2, 3);
        one.end_interval(&config);
        assert!((one.share - 0.8).abs() < 1e-12);
        for share in [0.81, 0.83, 0.87] {
            one.packets = 10;
            one.end_interval(&config);
            assert!((one.share - share).abs() < 1e-12, "{}", one.share);
        }
        // A mark keeps the gain small.
        (one.packets, one.marked) = (10, 1);
        one.end_interval(&config);
        assert!((one.share - 0.88).abs() < 1e-12, "{}", one.share);
    }

    /// All packets marked: the average is 0.5, then 0.75; the rate falls by half of what is above 0.3, down to 0.9 / ratio.
    #[test]
    fn marks_reduce_down_to_the_least_rate() {
        let config = Rccc::default();
        let mut one = slowdown(4.0);
        for share in [0.9, 0.9 * 0.775] {
            (one.packets, one.marked) = (10, 10);
            one.end_interval(&config);
            assert!((one.share - share).abs() < 1e-12, "{}", one.share);
        }
        for _ in 0..100 {
            (one.packets, one.marked) = (10, 10);
            one.end_interval(&config);
        }
        assert_eq!(one.share, 0.9 / 4.0);
    }

    /// The share of marks is of the packets that came whole: of ten, five were trimmed at the last port and the others
    /// marked. The average is 0.5, as if all ten were, and the rate falls by half of what is above 0.3.
    #[test]
    fn trimmed_packets_carry_no_marks() {
        let config = Rccc::default();
        let mut one = slowdown(4.0);
        (one.packets, one.trimmed_last, one.marked) = (10, 5, 5);
        one.end_interval(&config);
        assert!((one.share - 0.9).abs() < 1e-12, "{}", one.share);
    }

    /// Intervals are 11.25 to 18.75 us long, and a silence of a second ends.
    #[test]
    fn intervals_follow_the_round_trip() {
        let config = Rccc::default();
        let mut one = slowdown(2.0);
        assert!(one.ends >= Time(11_250_000) && one.ends <= Time(18_750_000));
        assert_eq!(one.share(Time(1_000_000_000_000), &config), 1.0);
        assert_eq!(one.ends, Time(1_000_000_000_000));
    }
}
