//! DCTCP over RDMA: the rate falls by the share of marked packets, once in a round trip.
//!
//! Source: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, as the HPCC authors' simulator applies it to rates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::{self, Bounds};
use super::window::Window;
use super::{Ack, Control, Settings, Signals, Telemetry};
use crate::derived::{Derived, Longest, Values};
use crate::units::{Rate, Time};

/// DCTCP over RDMA: marks cut the rate by half the share of marked packets, at most once in a round trip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DctcpControl {
    /// Weight of the newest round trip in the share of marks.
    #[schemars(range(min = 0.000001, max = 1.0))]
    pub g: f64,
    /// Additive increase in a round trip without a cut. Absent: 1/100 of the rate of the flow's port (HPCC simulator:
    /// 1 Gbps; its runs at 100 Gbps: 615 Mbps).
    #[schemars(extend("x-minimum" = "1bps"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ai: Option<Rate>,
    /// The rate does not go below this. Absent: 1/1000 of the rate of the flow's port.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rate: Option<Rate>,
    /// Limit of the bytes in flight (HPCC simulator: all its controls may have one).
    pub window: Window,
    /// Round trip without queues, for the window. "derived": the longest of the network, with a full packet and its
    /// acknowledgement.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub base_rtt: Derived<Time>,
}

impl Default for DctcpControl {
    fn default() -> Self {
        DctcpControl {
            g: 1.0 / 16.0,
            ai: None,
            min_rate: None,
            window: Window::None,
            base_rtt: Derived::FromNetwork,
        }
    }
}

impl Settings for DctcpControl {
    fn signals(&self) -> Signals {
        Signals { marks: true, ..Signals::default() }
    }

    fn derived(&self, longest: &Longest) -> Values {
        if self.window == Window::None { Vec::new() } else { bounds::base_rtt(&self.base_rtt, longest) }
    }
}

/// The rate of one flow.
#[derive(Clone, Debug)]
pub struct Model {
    config: DctcpControl,
    bounds: Bounds,
    rate: f64,
    window: Option<u64>,
    /// Average share of marked packets.
    alpha: f64,
    /// Acknowledgements of this round trip, and those of them that echo a mark.
    answers: u32,
    marks: u32,
    /// The round trip is over when this byte is acknowledged; 0 before the first acknowledgement.
    round_end: u64,
    /// No further cut until this byte is acknowledged.
    cut_until: Option<u64>,
}

impl Model {
    /// A flow starts at the rate of its line, with a share of marks of 1.
    pub fn new(config: &DctcpControl, line: Rate) -> Model {
        let bounds = Bounds::new(line, config.min_rate);
        let mut model = Model {
            config: config.clone(),
            bounds,
            rate: bounds.line(),
            window: None,
            alpha: 1.0,
            answers: 0,
            marks: 0,
            round_end: 0,
            cut_until: None,
        };
        model.set(bounds.line());
        model
    }

    /// The average share of marked packets.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    fn set(&mut self, rate: f64) {
        self.rate = self.bounds.clamp(rate);
        let base_rtt = self.config.base_rtt.or(Time::from_us(1));
        self.window = self.config.window.bytes(self.bounds.line(), self.rate, base_rtt);
    }

    /// Closes a round trip: its share of marks enters the average. The first acknowledgement only opens one.
    fn close(&mut self, ack: &Ack) {
        if self.round_end > 0 {
            let share = f64::from(self.marks) / f64::from(self.answers);
            self.alpha = (1.0 - self.config.g) * self.alpha + self.config.g * share;
            (self.answers, self.marks) = (0, 0);
        }
        self.round_end = ack.next;
    }
}

impl Control for Model {
    fn on_line(&mut self, line: Rate) {
        let rate = self.bounds.follow(line, self.rate);
        self.set(rate);
    }

    fn on_ack(&mut self, ack: &Ack, _telemetry: &Telemetry) {
        self.answers += 1;
        self.marks += u32::from(ack.marked);
        let closes = ack.una > self.round_end;
        if closes {
            self.close(ack);
        }
        if self.cut_until.is_some_and(|until| ack.una > until) {
            self.cut_until = None;
        }
        if ack.marked && self.cut_until.is_none() {
            self.set(self.rate * (1.0 - self.alpha / 2.0));
            self.cut_until = Some(ack.next);
        }
        if closes && self.cut_until.is_none() {
            self.set(self.rate + self.bounds.step(self.config.ai, 100.0));
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
