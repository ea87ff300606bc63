//! DCQCN's reaction point: how the rate of a flow falls and rises (the paper's section 3.1, figures 6 and 7).
//!
//! Its timers need no events: their effect is computed when the rate is read, in the order in which the
//! timers would have expired.

use super::Dcqcn;
use crate::units::{Rate, SECOND, Time};

/// The rate of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reaction {
    /// The port's rate, in bits a second.
    line: f64,
    /// The flow's current rate.
    current: f64,
    /// The target rate.
    target: f64,
    alpha: f64,
    /// Picoseconds for each byte at the current rate.
    ps_per_byte: f64,
    /// Whether there has been a cut; before it, nothing is limited and nothing rises.
    limited: bool,
    /// The last time at which alpha changed.
    alpha_at: Time,
    /// When the rate rises next by time.
    rise_at: Time,
    /// Bytes sent since the last cut or the last rise by bytes.
    bytes: u64,
    /// Rises since the last cut, by time and by bytes.
    timer_stage: u32,
    byte_stage: u32,
}

impl Reaction {
    /// A flow starts at the rate of its line.
    pub fn new(line: Rate, config: &Dcqcn) -> Reaction {
        let mut reaction = Reaction { alpha: config.initial_alpha, ..Reaction::default() };
        reaction.set_line(line);
        reaction
    }

    /// The port's rate now; faults change it.
    #[inline]
    pub fn set_line(&mut self, rate: Rate) {
        let line = rate.0 as f64;
        if line == self.line {
            return;
        }
        self.line = line;
        if !self.limited {
            (self.current, self.target) = (line, line);
        }
    }

    /// The current rate in bits a second, as of the last event.
    pub fn current(&self) -> f64 {
        self.current
    }

    /// The estimate of congestion, as of the last notification.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Time from one packet of that size to the next; none if nothing limits it but the line.
    #[inline]
    pub fn gap(&self, size: u32) -> Time {
        if !self.limited {
            return Time::ZERO;
        }
        Time((f64::from(size) * self.ps_per_byte).round() as u64)
    }

    /// A notification has come.
    pub fn on_notification(&mut self, now: Time, config: &Dcqcn) {
        self.catch_up(now, config);
        if self.limited {
            // Once for each time that the timer has run out since.
            for _ in 0..(now - self.alpha_at).0 / config.alpha_timer.0 {
                self.alpha *= 1.0 - config.g;
            }
        }
        self.target = self.current;
        self.current = (self.current * (1.0 - self.alpha / 2.0)).max(config.min_rate.0 as f64).min(self.line);
        self.alpha = (1.0 - config.g) * self.alpha + config.g;
        self.alpha_at = now;
        self.rise_at = now.saturating_add(config.rate_timer);
        (self.bytes, self.timer_stage, self.byte_stage) = (0, 0, 0);
        self.limited = true;
        self.pace();
    }

    /// The rises by time until now.
    #[inline]
    pub fn catch_up(&mut self, now: Time, config: &Dcqcn) {
        while self.limited && self.rise_at <= now {
            self.rise_at = self.rise_at.saturating_add(config.rate_timer);
            self.timer_stage += 1;
            self.rise(config);
        }
    }

    /// A packet has been sent.
    #[inline]
    pub fn on_sent(&mut self, size: u32, config: &Dcqcn) {
        if !self.limited {
            return;
        }
        self.bytes += u64::from(size);
        if self.bytes >= config.byte_counter.0 {
            self.bytes -= config.byte_counter.0;
            self.byte_stage += 1;
            self.rise(config);
        }
    }

    /// Fast recovery, additive increase, hyper increase.
    fn rise(&mut self, config: &Dcqcn) {
        let (most, least) = (self.timer_stage.max(self.byte_stage), self.timer_stage.min(self.byte_stage));
        let step = match () {
            () if most < config.fast_recovery => 0,
            () if least > config.fast_recovery => config.rate_hai.0,
            () => config.rate_ai.0,
        };
        self.target = (self.target + step as f64).min(self.line);
        self.current = f64::midpoint(self.target, self.current);
        self.pace();
    }

    fn pace(&mut self) {
        self.ps_per_byte = 8.0 * SECOND as f64 / self.current;
    }
}
