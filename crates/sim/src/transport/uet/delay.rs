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
