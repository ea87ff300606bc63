//! HyStart++ (RFC 9406): a risen delay leads to conservative slow start, in which the window grows by a quarter.
//!
//! Section 4.2. If the delay falls again, slow start goes on; after five rounds congestion avoidance begins. The bound L of
//! the growth by one acknowledgement is left to the field `growth`.

use super::{SAMPLES, rise};
use crate::transport::tcp::congestion::{Ack, Window};
use crate::units::Time;

/// CSS_GROWTH_DIVISOR.
const DIVISOR: u64 = 4;
/// CSS_ROUNDS.
const ROUNDS: u32 = 5;

/// Round trips of this round and the one before, and the stage.
#[derive(Clone, Copy, Debug)]
pub struct PlusPlus {
    /// Whether it acts no longer.
    over: bool,
    /// windowEnd.
    end: u64,
    last_least: Time,
    least: Time,
    samples: u32,
    /// Rounds of conservative slow start, and the round trip at its start (cssBaselineMinRtt).
    css: Option<(u32, Time)>,
}

impl Default for PlusPlus {
    fn default() -> Self {
        PlusPlus { over: false, end: 0, last_least: Time::NEVER, least: Time::NEVER, samples: 0, css: None }
    }
}

impl PlusPlus {
    /// It acts no longer.
    pub fn give_up(&mut self) {
        self.over = true;
    }

    /// An acknowledgement in slow start: the divisor of the growth by it.
    pub fn on_ack(&mut self, ack: &Ack, window: &mut Window) -> u64 {
        if self.over {
            return 1;
        }
        if ack.una > self.end {
            self.end_round(ack.next, window);
        }
        self.least = self.least.min(ack.rtt);
        self.samples += 1;
        let known = self.samples >= SAMPLES && self.least != Time::NEVER && self.last_least != Time::NEVER;
        match self.css {
            None if known && self.least >= self.last_least + rise(self.last_least) => {
                self.css = Some((0, self.least));
            }
            Some((_, baseline)) if self.samples >= SAMPLES && self.least < baseline => self.css = None,
            _ => {}
        }
        if self.css.is_some() { DIVISOR } else { 1 }
    }

    fn end_round(&mut self, next: u64, window: &mut Window) {
        self.end = next;
        (self.last_least, self.least) = (self.least, Time::NEVER);
        self.samples = 0;
        if let Some((rounds, _)) = &mut self.css {
            *rounds += 1;
            if *rounds >= ROUNDS {
                window.ssthresh = window.cwnd;
                self.over = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::ack;
    use crate::transport::tcp::congestion::fixtures::{MSS, window};

    /// A round of ten acknowledgements with that round trip: the divisors.
    fn round(hystart: &mut PlusPlus, window: &mut Window, round: u64, rtt_us: u64) -> Vec<u64> {
        let (una, rtt) = (10 * round, Time::from_us(rtt_us));
        let common = |at| ack::Ack { acked: MSS, rtt, una: una + at, next: una + 10, ..ack::Ack::default() };
        (1..=10).map(|at| hystart.on_ack(&Ack { common: common(at), ..Ack::default() }, window)).collect()
    }

    /// RFC 9406, 4.2, by hand: from 20 to 24 ms is a rise by MIN_RTT_THRESH. The eighth sample of the round begins
    /// conservative slow start, and the fifth round of it that ends ends slow start.
    #[test]
    fn five_rounds_of_conservative_slow_start() {
        let (mut hystart, mut window) = (PlusPlus::default(), window(20));
        assert_eq!(round(&mut hystart, &mut window, 0, 20_000), [1; 10]);
        assert_eq!(round(&mut hystart, &mut window, 1, 24_000), [1, 1, 1, 1, 1, 1, 1, 4, 4, 4]);
        for later in 2..6 {
            assert_eq!(round(&mut hystart, &mut window, later, 24_000), [4; 10]);
            assert_eq!(window.ssthresh, u64::MAX);
        }
        round(&mut hystart, &mut window, 6, 24_000);
        assert_eq!(window.ssthresh, 20 * MSS);
    }

    /// A delay that falls below that at the start of conservative slow start resumes slow start.
    #[test]
    fn a_jitter_of_the_delay_is_forgiven() {
        let (mut hystart, mut window) = (PlusPlus::default(), window(20));
        for (at, rtt_us) in [(0, 20_000), (1, 24_000), (2, 23_000)] {
            round(&mut hystart, &mut window, at, rtt_us);
        }
        assert_eq!(round(&mut hystart, &mut window, 3, 23_000), [1; 10]);
        assert_eq!(window.ssthresh, u64::MAX);
    }
}
