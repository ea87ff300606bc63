//! The model of the path: bottleneck bandwidth, round trip without a queue, rounds, and whether the pipe is full.

use super::Bbr;
use super::filter::WindowedMax;
use crate::transport::tcp::congestion::sample::Sample;
use crate::units::Time;

/// Estimates of the path (draft-cardwell-iccrg-bbr-congestion-control-00, section 4.1).
#[derive(Clone, Debug)]
pub struct Path {
    /// BBR.BtlBw, in bytes per second.
    bandwidth: WindowedMax,
    /// Round trips, counted by packets: a round ends when a segment is delivered that was sent after it began.
    rounds: u64,
    /// Delivered bytes at the beginning of the round.
    round_from: u64,
    /// Whether the latest sample began a round.
    pub round_starts: bool,
    /// BBR.RTprop, and when it was measured.
    pub round_trip: Option<Time>,
    measured: Time,
    /// The bandwidth that three rounds have to exceed by a quarter, and rounds that have not.
    full_bandwidth: f64,
    full_rounds: u32,
    /// Whether the pipe has been full (BBR.filled_pipe).
    pub is_full: bool,
}

impl Path {
    /// Nothing is known.
    pub fn new() -> Path {
        Path {
            bandwidth: WindowedMax::default(),
            rounds: 0,
            round_from: 0,
            round_starts: false,
            round_trip: None,
            measured: Time::ZERO,
            full_bandwidth: 0.0,
            full_rounds: 0,
            is_full: false,
        }
    }

    /// Bottleneck bandwidth in bytes per second; 0 before the first sample.
    pub fn bandwidth(&self) -> f64 {
        self.bandwidth.max()
    }

    /// The bandwidth-delay product in bytes; none before the first round trip.
    pub fn bdp(&self) -> Option<f64> {
        self.round_trip.map(|time| self.bandwidth() * time.seconds())
    }

    /// A round begins now.
    pub fn begin_round(&mut self, delivered: u64) {
        self.round_from = delivered;
    }

    /// Counts rounds, and takes the rate of delivery into the filter: one that the data at hand limited only if it is larger.
    pub fn take_rate(&mut self, sample: &Sample, config: &Bbr) {
        self.round_starts = false;
        let Some(rate) = sample.rate else { return };
        if rate.before >= self.round_from {
            self.round_from = sample.delivered;
            self.rounds += 1;
            self.round_starts = true;
        }
        let bandwidth = rate.bytes as f64 / rate.interval.seconds();
        if !rate.app_limited || bandwidth >= self.bandwidth() {
            self.bandwidth.add(bandwidth, self.rounds, u64::from(config.bandwidth_window));
        }
    }

    /// The pipe is full when the bandwidth has not grown by a quarter in three rounds (section 4.3.2.2).
    pub fn check_full(&mut self, sample: &Sample, config: &Bbr) {
        if self.is_full || !self.round_starts || sample.rate.is_some_and(|rate| rate.app_limited) {
            return;
        }
        if self.bandwidth() >= self.full_bandwidth * config.full_pipe_growth {
            self.full_bandwidth = self.bandwidth();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.is_full = self.full_rounds >= config.full_pipe_rounds;
    }

    /// The bandwidth has to grow anew: after a timeout.
    pub fn forget_growth(&mut self) {
        self.full_bandwidth = 0.0;
    }

    /// Whether the estimate of the round trip is older than its window.
    pub fn is_round_trip_old(&self, now: Time, window: Time) -> bool {
        self.round_trip.is_some() && now > self.measured + window
    }

    /// A round trip: it counts if it is shorter, or if the estimate is old.
    pub fn take_round_trip(&mut self, sample: Time, now: Time, old: bool) {
        if old || self.round_trip.is_none_or(|least| sample < least) {
            self.round_trip = Some(sample);
            self.measured = now;
        }
    }

    /// The estimate holds for another window.
    pub fn confirm_round_trip(&mut self, now: Time) {
        self.measured = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::tcp::congestion::sample::DeliveryRate;

    /// So many bytes delivered in 10 ms by a segment that was sent before so many were.
    fn sample(before: u64, bytes: u64, app_limited: bool) -> Sample {
        let rate = DeliveryRate { before, bytes, interval: Time::from_us(10_000), app_limited };
        Sample { delivered: before + bytes, rate: Some(rate), ..Sample::default() }
    }

    /// 1,000 B in 10 ms are 100 KB/s. A limited sample counts if it is as large, and not if it is smaller. It counts for
    /// ten rounds after its own.
    #[test]
    fn samples_that_the_data_limits() {
        let (mut path, config) = (Path::new(), Bbr::default());
        for (bytes, limited, expected) in
            [(1_000, true, 1e5), (500, true, 1e5), (3_000, true, 3e5), (2_000, false, 3e5)]
        {
            path.take_rate(&sample(0, bytes, limited), &config);
            assert!((path.bandwidth() - expected).abs() < 1e-3, "{bytes}: {}", path.bandwidth());
        }
        let mut delivered = 10_000;
        for round in 1..=11 {
            path.take_rate(&sample(delivered, 2_000, false), &config);
            assert!(path.round_starts);
            let expected = if round <= 10 { 3e5 } else { 2e5 };
            assert!((path.bandwidth() - expected).abs() < 1e-3, "round {round}: {}", path.bandwidth());
            delivered += 2_000;
        }
    }

    /// A round ends by the first segment that was sent after it began.
    #[test]
    fn a_round_is_a_round_trip() {
        let (mut path, config) = (Path::new(), Bbr::default());
        let starts = [(0, 1_000), (0, 2_000), (0, 10_000), (1_000, 9_000), (9_999, 5_000), (10_000, 9_000)]
            .map(|(before, bytes)| {
                path.take_rate(&sample(before, bytes, false), &config);
                path.round_starts
            });
        assert_eq!(starts, [true, false, false, true, false, true]);
    }

    /// Doubling, 1.25 times and 1.2 times the bandwidth: the last three rounds fill the pipe. A limited one does not count.
    #[test]
    fn three_rounds_without_growth_fill_the_pipe() {
        let (mut path, config) = (Path::new(), Bbr::default());
        let mut delivered = 0;
        let full =
            [(100, false), (200, false), (250, false), (300, false), (300, true), (305, false), (310, false)]
                .map(|(bytes, limited)| {
                    let sample = sample(delivered, bytes, limited);
                    delivered += bytes;
                    path.take_rate(&sample, &config);
                    path.check_full(&sample, &config);
                    path.is_full
                });
        assert_eq!(full, [false, false, false, false, false, false, true]);
    }

    /// The three rounds follow each other: after 240 and 245, below 1.25 times 200, 310 is growth once more, and the
    /// count begins anew (draft, 4.3.2.2: `filled_pipe`).
    #[test]
    fn growth_begins_the_count_of_rounds_anew() {
        let (mut path, config) = (Path::new(), Bbr::default());
        let mut delivered = 0;
        let full = [100, 200, 240, 245, 310, 312, 314, 316].map(|bytes| {
            let sample = sample(delivered, bytes, false);
            delivered += bytes;
            path.take_rate(&sample, &config);
            path.check_full(&sample, &config);
            path.is_full
        });
        assert_eq!(full, [false, false, false, false, false, false, false, true]);
    }

    /// A longer round trip counts only when the shorter one is older than the window.
    #[test]
    fn the_least_round_trip_of_a_window() {
        let (mut path, window) = (Path::new(), Time::from_us(1_000));
        for (at, round_trip, expected) in [(0, 30, 30), (500, 20, 20), (1_400, 40, 20), (1_501, 40, 40)] {
            let now = Time::from_us(at);
            let old = path.is_round_trip_old(now, window);
            path.take_round_trip(Time::from_us(round_trip), now, old);
            assert_eq!(path.round_trip, Some(Time::from_us(expected)), "at {at} us");
        }
    }
}
