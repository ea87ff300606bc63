//! QCN's reaction point: how the rate of a flow falls by the feedback of switches, and rises.
//!
//! Source: IEEE 802.1Qau-2010, as in the pseudo-code by Rong Pan that went with the proposal; constants are those of its
//! baseline (from memory). A message takes a share of the rate, and the rate before is the target, to which it returns by halves:
//! five cycles of bytes and of time each, then the target rises too. `agent.qcn` has the congestion points. Acknowledgements and
//! recovery are RoCE's: QCN itself, on layer 2, has none. Its timers need no events: see [`Control::advance`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Control, Settings, Signals};
use crate::units::{Bytes, Rate, Time};

/// QCN: the rate falls by the feedback of switches (IEEE 802.1Qau).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QcnControl {
    /// Gd: the share of the rate that a unit of feedback takes; the largest, 63, takes 49.2 % by default.
    #[schemars(range(min = 0.000001, max = 0.015))]
    pub gain: f64,
    /// Bytes of a cycle in fast recovery; half of them once a flow is beyond it.
    #[schemars(extend("x-minimum" = "1B"))]
    pub byte_counter: Bytes,
    /// Time of a cycle in fast recovery; half of it once a flow is beyond it.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub rate_timer: Time,
    /// Cycles of fast recovery, of bytes or of time.
    #[schemars(range(min = 1, max = 1000))]
    pub fast_recovery: u32,
    /// Step of the target rate once either counter is beyond fast recovery.
    #[schemars(extend("x-minimum" = "1bps"))]
    pub rate_ai: Rate,
    /// Step of the target rate once both are, times the cycles since then.
    #[schemars(extend("x-minimum" = "1bps"))]
    pub rate_hai: Rate,
    /// The rate does not go below this.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    pub min_rate: Rate,
}

impl Default for QcnControl {
    fn default() -> Self {
        QcnControl {
            gain: 1.0 / 128.0,
            byte_counter: Bytes(150_000),
            rate_timer: Time::from_us(15_000),
            fast_recovery: 5,
            rate_ai: Rate(5_000_000),
            rate_hai: Rate(50_000_000),
            min_rate: Rate(10_000_000),
        }
    }
}

impl Settings for QcnControl {
    fn signals(&self) -> Signals {
        Signals { acks: false, feedback: true, ..Signals::default() }
    }
}

/// The rate of one flow.
#[derive(Clone, Debug)]
pub struct Model {
    config: QcnControl,
    /// The port's rate, in bits per second.
    line: f64,
    current: f64,
    target: f64,
    /// Whether there has been a message; before it, nothing is limited and nothing rises.
    limited: bool,
    /// Bytes sent in this cycle.
    bytes: u64,
    /// When the cycle of time ends.
    rise_at: Time,
    /// Cycles since the last message, of bytes and of time.
    byte_cycles: u32,
    timer_cycles: u32,
}

impl Model {
    /// A flow starts at the rate of its line.
    pub fn new(config: &QcnControl, line: Rate) -> Model {
        let line = line.0 as f64;
        Model {
            config: config.clone(),
            line,
            current: line,
            target: line,
            limited: false,
            bytes: 0,
            rise_at: Time::ZERO,
            byte_cycles: 0,
            timer_cycles: 0,
        }
    }

    /// A cycle has ended: fast recovery, active increase, hyper-active increase.
    fn rise(&mut self) {
        let QcnControl { fast_recovery, rate_ai, rate_hai, .. } = self.config;
        let (least, most) =
            (self.byte_cycles.min(self.timer_cycles), self.byte_cycles.max(self.timer_cycles));
        let step = match () {
            () if most <= fast_recovery => 0.0,
            () if least > fast_recovery => rate_hai.0 as f64 * f64::from(least - fast_recovery),
            () => rate_ai.0 as f64,
        };
        self.target = (self.target + step).min(self.line);
        self.current = f64::midpoint(self.target, self.current);
    }
}

impl Control for Model {
    fn on_line(&mut self, line: Rate) {
        self.line = line.0 as f64;
        if !self.limited {
            (self.current, self.target) = (self.line, self.line);
        }
    }

    /// The cycles of time until now.
    #[inline]
    fn advance(&mut self, now: Time) {
        while self.limited && self.rise_at <= now {
            self.timer_cycles += 1;
            let beyond = self.timer_cycles >= self.config.fast_recovery;
            let cycle = self.config.rate_timer.0 / if beyond { 2 } else { 1 };
            self.rise_at = self.rise_at.saturating_add(Time(cycle.max(1)));
            self.rise();
        }
    }

    /// The target stays if no cycle of bytes has passed since the last message.
    fn on_feedback(&mut self, now: Time, feedback: u64) {
        let QcnControl { gain, rate_timer, min_rate, .. } = self.config;
        if !self.limited || self.byte_cycles > 0 {
            self.target = self.current;
            self.bytes = 0;
        }
        let left = 1.0 - gain * feedback as f64;
        self.current = (self.current * left).max(min_rate.0 as f64).min(self.line);
        (self.byte_cycles, self.timer_cycles) = (0, 0);
        self.rise_at = now.saturating_add(rate_timer);
        self.limited = true;
    }

    #[inline]
    fn on_sent(&mut self, bytes: u32, _now: Time) {
        if !self.limited {
            return;
        }
        self.bytes += u64::from(bytes);
        let beyond = self.byte_cycles >= self.config.fast_recovery;
        let cycle = (self.config.byte_counter.0 / if beyond { 2 } else { 1 }).max(1);
        if self.bytes >= cycle {
            self.bytes -= cycle;
            self.byte_cycles += 1;
            self.rise();
        }
    }

    #[inline]
    fn rate(&self) -> f64 {
        if self.limited { self.current } else { f64::INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: f64 = 1e10;

    fn cut(feedback: u64) -> Model {
        let mut flow = Model::new(&QcnControl::default(), Rate(10_000_000_000));
        assert_eq!(flow.rate(), f64::INFINITY);
        flow.on_feedback(Time::ZERO, feedback);
        flow
    }

    /// LIT-QCN-2: the largest feedback takes 63/128 of the rate.
    #[test]
    fn a_message_takes_less_than_half() {
        for feedback in [1, 32, 63] {
            let left = 1.0 - feedback as f64 / 128.0;
            assert!((cut(feedback).rate() - left * LINE).abs() < 1.0, "{feedback}");
        }
    }

    /// LIT-QCN-1: after n cycles of 150 kB the distance to the target is that at the message over 2^n, up to 1/32 after five.
    #[test]
    fn fast_recovery_halves_the_distance() {
        let mut flow = cut(63);
        let distance = flow.target - flow.current;
        for cycle in 1..=5 {
            (0..100).for_each(|_| flow.on_sent(1500, Time::ZERO));
            let expected = distance / f64::from(1 << cycle);
            assert!((flow.target - flow.current - expected).abs() < 1.0, "{cycle}");
        }
        assert_eq!(flow.target, LINE);
    }

    /// A second message before a cycle has passed leaves the target; after one the rate that has been reached is the target.
    #[test]
    fn the_target_is_the_rate_before_a_run_of_messages() {
        let mut flow = cut(63);
        let after = flow.current;
        flow.on_feedback(Time::ZERO, 32);
        assert_eq!((flow.target, flow.current), (LINE, after * 0.75));
        (0..100).for_each(|_| flow.on_sent(1500, Time::ZERO));
        let reached = f64::midpoint(LINE, after * 0.75);
        flow.on_feedback(Time::ZERO, 32);
        assert!((flow.target - reached).abs() < 1.0 && (flow.current - 0.75 * reached).abs() < 1.0);
    }

    /// Beyond five cycles of bytes alone the target rises by 5 Mbps each 75 kB; once time has five too, and one more, by 50 Mbps, 100 and so
    /// on. Cycles of time last 15 ms, then 7.5.
    #[test]
    fn beyond_fast_recovery_the_target_rises() {
        let mut flow = cut(63);
        flow.target = 1e9;
        flow.current = 1e9;
        (0..500).for_each(|_| flow.on_sent(1500, Time::ZERO));
        assert_eq!((flow.byte_cycles, flow.target), (5, 1e9));
        (0..100).for_each(|_| flow.on_sent(1500, Time::ZERO));
        assert_eq!((flow.byte_cycles, flow.target), (7, 1.01e9));
        flow.advance(Time::from_us(75_000));
        assert_eq!((flow.timer_cycles, flow.target), (5, 1.035e9));
        flow.advance(Time::from_us(82_500));
        assert_eq!((flow.timer_cycles, flow.target), (6, 1.085e9));
        flow.advance(Time::from_us(90_000));
        assert_eq!((flow.timer_cycles, flow.target), (7, 1.185e9));
    }

    /// The rate never falls below the least.
    #[test]
    fn the_rate_has_a_floor() {
        let mut flow = cut(63);
        (0..100).for_each(|_| flow.on_feedback(Time::ZERO, 63));
        assert_eq!(flow.rate(), 1e7);
    }
}
