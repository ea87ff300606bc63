//! DCQCN as the HPCC simulator has it: acknowledgements of marked packets are the notifications, several make one cut, and
//! alpha is updated before the cut.
//!
//! Source: the code of the HPCC authors (alibaba-edu/High-Precision-Congestion-Control, `rdma-hw`), which differs from the
//! paper (`dcqcn`) in the order of its updates, in its timers, and in that rates rise by time alone. Timers need no
//! events: [`Control::advance`] computes their effect, in the order in which they would have expired.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds;
use super::window::Window;
use super::{Ack, Control, Settings, Signals, Telemetry};
use crate::derived::{Derived, Longest, Values};
use crate::units::{Rate, Time};

/// DCQCN of the HPCC simulator: notifications in acknowledgements, cuts at intervals, alpha first. Defaults are those of its
/// `config.txt`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DcqcnHpcc {
    /// Weight of the newest interval in alpha.
    #[schemars(range(min = 0.000001, max = 1.0))]
    pub g: f64,
    /// Alpha is updated at such intervals, from the first notification on.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub alpha_timer: Time,
    /// The rate is cut at such intervals, if a notification has arrived since the last one.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub decrease_interval: Time,
    /// The rate rises whenever so much time has passed since the last cut or rise.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub rate_timer: Time,
    /// So many rises before the target rises too.
    #[schemars(range(max = 1000))]
    pub fast_recovery: u32,
    /// Step of additive increase of the target rate, for the first rise after fast recovery.
    #[schemars(extend("x-minimum" = "1bps"))]
    pub rate_ai: Rate,
    /// Step of hyper increase of the target rate, for those behind it.
    #[schemars(extend("x-minimum" = "1bps"))]
    pub rate_hai: Rate,
    /// The rate does not go below this.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    pub min_rate: Rate,
    /// Whether each cut lowers the target to the rate before it; otherwise a cut without a rise since the last one keeps the
    /// target.
    pub clamp_target: bool,
    /// Limit of the bytes in flight.
    pub window: Window,
    /// Round trip without queues, for the window. "derived": the longest of the network, with a full packet and its
    /// acknowledgement.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub base_rtt: Derived<Time>,
}

impl Default for DcqcnHpcc {
    fn default() -> Self {
        DcqcnHpcc {
            g: 1.0 / 256.0,
            alpha_timer: Time::from_us(1),
            decrease_interval: Time::from_us(4),
            rate_timer: Time::from_us(900),
            fast_recovery: 1,
            rate_ai: Rate(50_000_000),
            rate_hai: Rate(100_000_000),
            min_rate: Rate(100_000_000),
            clamp_target: false,
            window: Window::None,
            base_rtt: Derived::FromNetwork,
        }
    }
}

impl Settings for DcqcnHpcc {
    fn signals(&self) -> Signals {
        Signals { marks: true, ..Signals::default() }
    }

    fn derived(&self, longest: &Longest) -> Values {
        if self.window == Window::None { Vec::new() } else { bounds::base_rtt(&self.base_rtt, longest) }
    }
}

/// Cuts come so long after updates of alpha of the same instant.
const ALPHA_FIRST: Time = Time::from_ns(1);

/// The rate of one flow.
#[derive(Clone, Debug)]
pub struct Model {
    config: DcqcnHpcc,
    /// The port's rate, in bit/s.
    line: f64,
    rate: f64,
    target: f64,
    alpha: f64,
    window: Option<u64>,
    /// Whether there has been a notification; before it, no timer runs.
    limited: bool,
    /// Whether one has arrived since the last update of alpha, and since the last time of a cut.
    noted: [bool; 2],
    /// When alpha is updated next, the rate may be cut next, and rises next.
    alpha_at: Time,
    cut_at: Time,
    rise_at: Time,
    /// Rises since the last cut.
    stage: u32,
}

impl Model {
    /// A flow starts at the rate of its line.
    pub fn new(config: &DcqcnHpcc, line: Rate) -> Model {
        let mut model = Model {
            config: config.clone(),
            line: line.0 as f64,
            rate: line.0 as f64,
            target: line.0 as f64,
            alpha: 1.0,
            window: None,
            limited: false,
            noted: [false; 2],
            alpha_at: Time::NEVER,
            cut_at: Time::NEVER,
            rise_at: Time::NEVER,
            stage: 0,
        };
        model.resize();
        model
    }

    /// The estimate of congestion, as of the last event.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The rate has changed.
    fn resize(&mut self) {
        let base_rtt = self.config.base_rtt.or(Time::ZERO);
        self.window = self.config.window.bytes(self.line, self.rate, base_rtt);
    }

    fn update_alpha(&mut self) {
        let noted = f64::from(u8::from(std::mem::take(&mut self.noted[0])));
        self.alpha = (1.0 - self.config.g) * self.alpha + self.config.g * noted;
        self.alpha_at = self.alpha_at.saturating_add(self.config.alpha_timer);
    }

    fn cut(&mut self) {
        let at = self.cut_at;
        self.cut_at = at.saturating_add(self.config.decrease_interval);
        if !std::mem::take(&mut self.noted[1]) {
            return;
        }
        if self.config.clamp_target || self.stage > 0 {
            self.target = self.rate;
        }
        let least = self.config.min_rate.0 as f64;
        self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(least).min(self.line);
        self.stage = 0;
        self.rise_at = at.saturating_add(self.config.rate_timer);
        self.resize();
    }

    fn rise(&mut self) {
        let DcqcnHpcc { fast_recovery, rate_ai, rate_hai, rate_timer, .. } = self.config;
        let step = match self.stage.cmp(&fast_recovery) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => rate_ai.0,
            std::cmp::Ordering::Greater => rate_hai.0,
        };
        self.target = (self.target + step as f64).min(self.line);
        self.rate = f64::midpoint(self.rate, self.target);
        self.stage += 1;
        self.rise_at = self.rise_at.saturating_add(rate_timer);
        self.resize();
    }
}

impl Control for Model {
    fn on_line(&mut self, line: Rate) {
        self.line = line.0 as f64;
        (self.rate, self.target) = match self.limited {
            true => (self.rate.min(self.line), self.target.min(self.line)),
            false => (self.line, self.line),
        };
        self.resize();
    }

    #[inline]
    fn advance(&mut self, now: Time) {
        while self.limited {
            let next = self.alpha_at.min(self.cut_at).min(self.rise_at);
            if next > now {
                return;
            }
            if next == self.alpha_at {
                self.update_alpha();
            } else if next == self.cut_at {
                self.cut();
            } else {
                self.rise();
            }
        }
    }

    fn on_ack(&mut self, ack: &Ack, _telemetry: &Telemetry) {
        if !ack.marked {
            return;
        }
        if self.limited {
            self.noted = [true; 2];
            return;
        }
        // The first one begins the timers, and counts for a cut alone.
        self.limited = true;
        self.noted = [false, true];
        self.alpha_at = ack.now.saturating_add(self.config.alpha_timer);
        self.cut_at = ack.now.saturating_add(self.config.decrease_interval).saturating_add(ALPHA_FIRST);
    }

    #[inline]
    fn rate(&self) -> f64 {
        self.rate
    }

    #[inline]
    fn window(&self) -> Option<u64> {
        self.window
    }
}
