//! HyStart as Linux has it in CUBIC: from 16 segments on, slow start ends by a train of acknowledgements or by delay.
//!
//! A round begins when all data sent at the start of the one before is acknowledged. Train: acknowledgements no more than
//! 2 ms apart, from the start of the round on, for longer than half of the least round trip and 0.5 ms, which allows for
//! the gaps between bursts of a sender. Delay: the least of the round's first eight round trips exceeds the least of all by
//! an eighth of it, within 4 and 16 ms.

use super::{SAMPLES, rise};
use crate::transport::tcp::congestion::{Ack, Window};
use crate::units::Time;

/// Segments below which it does not act.
const LOW_WINDOW: u64 = 16;
/// Acknowledgements of a train are at most so far apart.
const SPACING: Time = Time::from_us(2_000);
/// Allowance of a train for bursts.
const BURSTS: Time = Time::from_us(1_000);

/// The round, and the least round trips of it and of the connection.
#[derive(Clone, Copy, Debug)]
pub struct Hystart {
    found: bool,
    least: Time,
    /// The round is over when this byte is acknowledged.
    end: u64,
    began: Time,
    /// The latest acknowledgement of the train.
    last: Time,
    round_least: Time,
    samples: u32,
}

impl Default for Hystart {
    fn default() -> Self {
        Hystart {
            found: false,
            least: Time::NEVER,
            end: 0,
            began: Time::ZERO,
            last: Time::ZERO,
            round_least: Time::NEVER,
            samples: 0,
        }
    }
}

impl Hystart {
    /// An acknowledgement in slow start: the divisor of the growth by it.
    pub fn on_ack(&mut self, ack: &Ack, window: &mut Window) -> u64 {
        self.least = self.least.min(ack.rtt);
        if self.found {
            return 1;
        }
        if ack.una > self.end {
            self.end = ack.next;
            (self.began, self.last) = (ack.now, ack.now);
            (self.round_least, self.samples) = (Time::NEVER, 0);
        }
        if window.cwnd < LOW_WINDOW * window.mss {
            return 1;
        }
        if ack.now - self.last <= SPACING {
            self.last = ack.now;
            self.found = ack.now - self.began > Time((self.least.0 + BURSTS.0) / 2);
        }
        self.round_least = self.round_least.min(ack.rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else if self.round_least > self.least + rise(self.least) {
            self.found = true;
        }
        if self.found {
            window.ssthresh = window.cwnd;
        }
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::ack;
    use crate::transport::tcp::congestion::fixtures::{MSS, window};

    fn ack(us: u64, rtt_us: u64, una: u64, next: u64) -> Ack {
        let (now, rtt) = (Time::from_us(us), Time::from_us(rtt_us));
        Ack { common: ack::Ack { acked: MSS, now, rtt, una, next, ..ack::Ack::default() }, ..Ack::default() }
    }

    /// A round trip of 20 ms: a train is long enough after 10.5 ms. With an acknowledgement each millisecond it is the
    /// eleventh after the first of the round that ends slow start.
    #[test]
    fn a_train_of_half_a_round_trip() {
        let (mut hystart, mut window) = (Hystart::default(), window(20));
        for ms in 0..=10 {
            hystart.on_ack(&ack(20_000 + 1_000 * ms, 20_000, 1 + ms, 100), &mut window);
            assert_eq!(window.ssthresh, u64::MAX, "{ms}");
        }
        hystart.on_ack(&ack(31_000, 20_000, 12, 100), &mut window);
        assert_eq!(window.ssthresh, 20 * MSS);
    }

    /// Sixteen segments are enough (Linux: `hystart_low_window`).
    #[test]
    fn a_train_of_the_least_window() {
        let (mut hystart, mut window) = (Hystart::default(), window(16));
        (0..30)
            .for_each(|at| _ = hystart.on_ack(&ack(20_000 + 1_000 * at, 20_000, 1 + at, 100), &mut window));
        assert_eq!(window.ssthresh, 16 * MSS);
    }

    /// Gaps of 3 ms break the train, and a window below 16 segments is left alone.
    #[test]
    fn no_train_with_gaps_or_few_segments() {
        for (segments, gap) in [(20, 3_000), (15, 1_000)] {
            let (mut hystart, mut window) = (Hystart::default(), window(segments));
            for at in 0..30 {
                hystart.on_ack(&ack(20_000 + gap * at, 20_000, 1 + at, 100), &mut window);
            }
            assert_eq!(window.ssthresh, u64::MAX);
        }
    }

    /// The least of all is 20 ms: an eighth is 2.5 ms, of which 4 ms are taken. With the least of a round at 24 ms nothing
    /// happens; above it the ninth sample ends slow start.
    #[test]
    fn a_risen_delay() {
        for (rtt_us, ends) in [(24_000, false), (24_001, true)] {
            let (mut hystart, mut window) = (Hystart::default(), window(20));
            hystart.on_ack(&ack(20_000, 20_000, 1, 10), &mut window);
            for at in 0..9 {
                assert_eq!(window.ssthresh, u64::MAX);
                hystart.on_ack(&ack(50_000 + 3_000 * at, rtt_us, 11 + at, 100), &mut window);
            }
            assert_eq!(window.ssthresh == 20 * MSS, ends, "{rtt_us} us");
        }
    }
}
