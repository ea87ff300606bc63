//! DCQCN's reaction point: how the rate of a flow falls and rises.
//!
//! Source: Zhu et al., "Congestion control for large-scale RDMA deployments", SIGCOMM 2015, section 3.1, figures 6 and 7;
//! where it leaves a point open, the HPCC simulator of Alibaba. Its timers need no events: [`Control::advance`] computes
//! their effect, in the order in which they would have expired.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Control, Settings, Signals};
use crate::units::{Bytes, Rate, Time};

/// DCQCN: the rate falls at congestion notifications, and rises with time and bytes (Zhu et al., SIGCOMM 2015). Where the
/// paper is silent, defaults are those of the HPCC simulator's configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DcqcnControl {
    /// Weight of the newest notification in alpha.
    #[schemars(range(min = 0.000001, max = 1.0))]
    pub g: f64,
    /// Alpha before the first notification.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub initial_alpha: f64,
    /// Alpha shrinks by its share g whenever no notification has arrived for so long.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub alpha_timer: Time,
    /// The rate rises whenever so much time has passed since the last cut or the last rise by time. HPCC simulator:
    /// 1500 us, configured to 900 us.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub rate_timer: Time,
    /// The rate rises whenever so many bytes have been sent since the last cut or the last rise by bytes.
    #[schemars(extend("x-minimum" = "1B"))]
    pub byte_counter: Bytes,
    /// F: so many rises, by time or by bytes, before the target rises too.
    #[schemars(range(min = 1, max = 1000))]
    pub fast_recovery: u32,
    /// Step of additive increase of the target rate. The HPCC simulator by default: 5 Mbps; a model on htsim:
    /// 1/20 of the line's rate.
    #[schemars(extend("x-minimum" = "1bps"))]
    pub rate_ai: Rate,
    /// Step of hyper increase of the target rate. The HPCC simulator by default: 50 Mbps; a model on htsim:
    /// 1/10 of the line's rate.
    #[schemars(extend("x-minimum" = "1bps"))]
    pub rate_hai: Rate,
    /// The rate does not go below this.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    pub min_rate: Rate,
}

impl Default for DcqcnControl {
    fn default() -> Self {
        DcqcnControl {
            g: 1.0 / 256.0,
            initial_alpha: 1.0,
            alpha_timer: Time::from_us(55),
            rate_timer: Time::from_us(55),
            byte_counter: Bytes(10_000_000),
            fast_recovery: 5,
            rate_ai: Rate(50_000_000),
            rate_hai: Rate(100_000_000),
            min_rate: Rate(100_000_000),
        }
    }
}

impl Settings for DcqcnControl {
    fn signals(&self) -> Signals {
        Signals { acks: false, notifications: true, ..Signals::default() }
    }
}

/// The rate of one flow.
#[derive(Clone, Debug)]
pub struct Model {
    config: DcqcnControl,
    /// The port's rate, in bits per second.
    line: f64,
    /// The flow's current rate.
    current: f64,
    target: f64,
    alpha: f64,
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

impl Model {
    /// A flow starts at the rate of its line.
    pub fn new(config: &DcqcnControl, line: Rate) -> Model {
        let line = line.0 as f64;
        Model {
            config: config.clone(),
            line,
            current: line,
            target: line,
            alpha: config.initial_alpha,
            limited: false,
            alpha_at: Time::ZERO,
            rise_at: Time::ZERO,
            bytes: 0,
            timer_stage: 0,
            byte_stage: 0,
        }
    }

    /// The current rate in bits per second, as of the last event.
    pub fn current(&self) -> f64 {
        self.current
    }

    /// The estimate of congestion, as of the last notification.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Fast recovery, additive increase, hyper increase.
    fn rise(&mut self) {
        let (most, least) = (self.timer_stage.max(self.byte_stage), self.timer_stage.min(self.byte_stage));
        let step = match () {
            () if most < self.config.fast_recovery => 0,
            () if least > self.config.fast_recovery => self.config.rate_hai.0,
            () => self.config.rate_ai.0,
        };
        self.target = (self.target + step as f64).min(self.line);
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

    /// The rises by time until now.
    #[inline]
    fn advance(&mut self, now: Time) {
        while self.limited && self.rise_at <= now {
            self.rise_at = self.rise_at.saturating_add(self.config.rate_timer);
            self.timer_stage += 1;
            self.rise();
        }
    }

    fn on_cnp(&mut self, now: Time) {
        let DcqcnControl { g, alpha_timer, rate_timer, min_rate, .. } = self.config;
        if self.limited {
            // Once for each time that the timer has run out since.
            for _ in 0..(now - self.alpha_at).0 / alpha_timer.0 {
                self.alpha *= 1.0 - g;
            }
        }
        self.target = self.current;
        self.current = (self.current * (1.0 - self.alpha / 2.0)).max(min_rate.0 as f64).min(self.line);
        self.alpha = (1.0 - g) * self.alpha + g;
        self.alpha_at = now;
        self.rise_at = now.saturating_add(rate_timer);
        (self.bytes, self.timer_stage, self.byte_stage) = (0, 0, 0);
        self.limited = true;
    }

    #[inline]
    fn on_sent(&mut self, bytes: u32, _now: Time) {
        if !self.limited {
            return;
        }
        self.bytes += u64::from(bytes);
        if self.bytes >= self.config.byte_counter.0 {
            self.bytes -= self.config.byte_counter.0;
            self.byte_stage += 1;
            self.rise();
        }
    }

    #[inline]
    fn rate(&self) -> f64 {
        if self.limited { self.current } else { f64::INFINITY }
    }
}
