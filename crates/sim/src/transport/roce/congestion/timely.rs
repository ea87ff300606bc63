//! TIMELY: the rate follows the gradient of the round-trip time.
//!
//! Source: Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015, algorithm 1; constants
//! that it leaves open are those of the HPCC authors' simulator.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::{self, Bounds};
use super::window::Window;
use super::{Ack, Control, Settings, Signals, Telemetry};
use crate::derived::{Derived, Longest, Values};
use crate::problem::Problem;
use crate::units::{Rate, Time};

/// TIMELY: the rate follows the gradient of the round-trip time, once in a round trip (Mittal et al., SIGCOMM 2015).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Timely {
    /// Weight of the newest difference of two round trips. HPCC simulator: 0.875; eRPC: 0.02.
    #[schemars(range(min = 0.001, max = 1.0))]
    pub ewma: f64,
    /// Weight of the gradient in a decrease.
    #[schemars(range(min = 0.01, max = 1.0))]
    pub beta: f64,
    /// Below this round trip the rate rises.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub t_low: Time,
    /// Above this round trip the rate falls.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub t_high: Time,
    /// Round trip by which differences are divided.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub min_rtt: Time,
    /// Additive increase. Absent: 1/1000 of the rate of the flow's port (paper: 10 Mbps at 10 Gbps).
    #[schemars(extend("x-minimum" = "1bps"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ai: Option<Rate>,
    /// Hyper-active increase. Absent: 1/200 of the rate of the flow's port (paper: five times `ai`).
    #[schemars(extend("x-minimum" = "1bps"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hai: Option<Rate>,
    /// Increases by `ai` in a row before those by `hai`.
    #[schemars(range(max = 1000))]
    pub hai_after: u32,
    /// Increases that count for `hai_after`.
    pub hai_counts: Counts,
    /// The rate does not go below this. Absent: 1/1000 of the rate of the flow's port.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rate: Option<Rate>,
    /// Limit of the bytes in flight; the paper has none.
    pub window: Window,
    /// Round trip without queues, for the window. "derived": the longest of the network, with a full packet and its
    /// acknowledgement.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub base_rtt: Derived<Time>,
}

/// Increases after which hyper-active increase begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counts {
    /// All of them (HPCC simulator).
    Any,
    /// Those with a gradient of 0 or less; below `t_low` the rate rises by `ai` (paper).
    Gradient,
}

impl Default for Timely {
    fn default() -> Self {
        Timely {
            ewma: 0.875,
            beta: 0.8,
            t_low: Time::from_us(50),
            t_high: Time::from_us(500),
            min_rtt: Time::from_us(20),
            ai: None,
            hai: None,
            hai_after: 5,
            hai_counts: Counts::Any,
            min_rate: None,
            window: Window::None,
            base_rtt: Derived::FromNetwork,
        }
    }
}

impl Settings for Timely {
    fn signals(&self) -> Signals {
        Signals::default()
    }

    fn problems(&self) -> Vec<Problem> {
        let crossed = self.t_high < self.t_low;
        let message = || format!("{} is below t_low, which is {}", self.t_high, self.t_low);
        crossed.then(|| Problem::new("t_high", message())).into_iter().collect()
    }

    fn derived(&self, longest: &Longest) -> Values {
        if self.window == Window::None { Vec::new() } else { bounds::base_rtt(&self.base_rtt, longest) }
    }
}

/// The rate of one flow.
#[derive(Clone, Debug)]
pub struct Model {
    config: Timely,
    bounds: Bounds,
    rate: f64,
    window: Option<u64>,
    /// The sample of the last round trip; none before the first.
    last: Option<Time>,
    /// Average difference of two round trips, in ps.
    difference: f64,
    /// Increases in a row.
    rises: u32,
    /// A round trip is over when this byte is acknowledged.
    round_end: u64,
}

impl Model {
    /// A flow starts at the rate of its line.
    pub fn new(config: &Timely, line: Rate) -> Model {
        let bounds = Bounds::new(line, config.min_rate);
        let mut model = Model {
            config: config.clone(),
            bounds,
            rate: bounds.line(),
            window: None,
            last: None,
            difference: 0.0,
            rises: 0,
            round_end: 0,
        };
        model.set(bounds.line());
        model
    }

    fn set(&mut self, rate: f64) {
        self.rate = self.bounds.clamp(rate);
        let base_rtt = self.config.base_rtt.or(Time::from_us(1));
        self.window = self.config.window.bytes(self.bounds.line(), self.rate, base_rtt);
    }

    /// The increase below `t_low`, or at a gradient of 0 or less.
    fn rise(&mut self, below: bool) {
        let hyper = self.rises >= self.config.hai_after;
        let step = match self.config.hai_counts {
            Counts::Gradient if below => false,
            _ => hyper,
        };
        let (given, share) = if step { (self.config.hai, 200.0) } else { (self.config.ai, 1000.0) };
        if self.config.hai_counts == Counts::Any || !below {
            self.rises += 1;
        } else {
            self.rises = 0;
        }
        self.set(self.rate + self.bounds.step(given, share));
    }

    fn fall(&mut self, factor: f64) {
        self.rises = 0;
        self.set(self.rate * factor);
    }

    /// The sample of a round trip, and that of the one before.
    fn update(&mut self, rtt: Time, last: Time) {
        let Timely { ewma, beta, t_low, t_high, min_rtt, .. } = self.config;
        let difference = rtt.0 as f64 - last.0 as f64;
        self.difference = (1.0 - ewma) * self.difference + ewma * difference;
        let gradient = self.difference / min_rtt.0 as f64;
        if rtt < t_low {
            self.rise(true);
        } else if rtt > t_high {
            self.fall(1.0 - beta * (1.0 - t_high.0 as f64 / rtt.0 as f64));
        } else if gradient <= 0.0 {
            self.rise(false);
        } else {
            self.fall((1.0 - beta * gradient).max(0.0));
        }
    }
}

impl Control for Model {
    fn on_line(&mut self, line: Rate) {
        let rate = self.bounds.follow(line, self.rate);
        self.set(rate);
    }

    fn on_ack(&mut self, ack: &Ack, _telemetry: &Telemetry) {
        if ack.una <= self.round_end {
            return;
        }
        self.round_end = ack.next;
        if let Some(last) = self.last.replace(ack.rtt) {
            self.update(ack.rtt, last);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The rate in Gbps after two round trips of so many us, from 5 Gbps at a line of 10 Gbps, with all weight on the newest
    /// difference.
    fn rate_after(first: u64, second: u64) -> f64 {
        let config = Timely { ewma: 1.0, min_rtt: Time::from_us(100), ..Timely::default() };
        let mut model = Model::new(&config, Rate(10_000_000_000));
        model.set(5e9);
        for (number, us) in [(1, first), (2, second)] {
            let ack = Ack { una: number, next: number, rtt: Time::from_us(us), ..Ack::default() };
            model.on_ack(&ack, &Telemetry::NONE);
        }
        model.rate() / 1e9
    }

    /// At t_low, 50 us, and at t_high, 500 us, the gradient decides (algorithm 1): 10 us more in a round trip of 100 us take 0.8
    /// times a tenth, and none more add a thousandth of the line. A microsecond below t_low the rate rises in any case, and
    /// above t_high it falls by 0.8 times the excess.
    #[test]
    fn at_both_thresholds_the_gradient_decides() {
        for (first, second, gbps) in [
            (40, 50, 5.0 * 0.92),
            (50, 50, 5.01),
            (39, 49, 5.01),
            (490, 500, 5.0 * 0.92),
            (500, 500, 5.01),
            (501, 501, 5.0 * (1.0 - 0.8 / 501.0)),
        ] {
            let found = rate_after(first, second);
            assert!((found - gbps).abs() < 1e-9, "{first} and {second} us: {found}, by hand {gbps}");
        }
    }
}
