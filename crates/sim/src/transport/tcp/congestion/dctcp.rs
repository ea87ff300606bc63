//! DCTCP (RFC 8257; Alizadeh et al., SIGCOMM 2010): the window shrinks by how much of it came marked.
//!
//! Once a window of data the share of marked bytes, M, moves an estimate: alpha = (1 - g) alpha + g M. At the first
//! echo in a window the congestion window becomes cwnd (1 - alpha / 2). Growth, loss and timeouts are NewReno's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::new_reno::{self, NewReno};
use super::{Ack, Answer, Cause, CongestionEvent, Control, Recovery, Settings, Step, Window};
use crate::transport::ack;
use crate::transport::tcp::ecn::Echo;

/// DCTCP: marks shrink the window in proportion to the share of bytes that are marked (RFC 8257).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dctcp {
    /// Weight of the newest window in the estimate of the marked share (DCTCP's paper, RFC 8257, section 4, and Linux: 1/16).
    #[schemars(range(min = 0, max = 1))]
    pub g: f64,
    /// The estimate at the start (RFC 8257, 3.3, and Linux: 1; htsim: 0).
    #[schemars(range(min = 0, max = 1))]
    pub initial_alpha: f64,
    /// The way in which the receiver echoes marks.
    pub echo: Echo,
    /// The windows of data that end with a reduction.
    pub reduce: Reduce,
    /// Whether a reduction takes a round trip, in which the bytes sent keep the proportion of the smaller
    /// window to the larger one, and the window does not grow (RFC 9937; Linux, since its version 3.7 for
    /// marks, too; ns-3). false: the window shrinks at once and may grow with the next acknowledgement
    /// without an echo (RFC 8257, step 9, by its letter; htsim).
    pub proportional_reduction: bool,
    /// Lower bound of the window after a reduction for marks, in segments (Linux: 2; RFC 3168: 1).
    #[schemars(range(min = 1, max = 1000))]
    pub min_window: u32,
    /// Whether a reduction ends slow start, by lowering the threshold to the window (RFC 8257, as Linux has it).
    pub marks_end_slow_start: bool,
    /// Whether an acknowledgement that echoes a mark lets the window grow as any other does (htsim; the fluid
    /// model of DCTCP's paper). By RFC 3168, 6.1.2, on which RFC 8257 builds, it does not.
    pub echoes_grow_window: bool,
    /// Recovery from losses.
    pub losses: NewReno,
}

/// The windows of data that end with a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reduce {
    /// Those in which an echo arrives, on its arrival (RFC 8257, 3.3).
    Marked,
    /// Each, at its end, as long as the estimate is not zero (htsim).
    All,
}

impl Default for Dctcp {
    fn default() -> Self {
        Dctcp {
            g: 0.0625,
            initial_alpha: 1.0,
            echo: Echo::Exact,
            reduce: Reduce::Marked,
            proportional_reduction: true,
            min_window: 2,
            marks_end_slow_start: true,
            echoes_grow_window: false,
            losses: NewReno::default(),
        }
    }
}

impl Settings for Dctcp {
    fn echo(&self) -> Option<Echo> {
        Some(self.echo)
    }

    fn reduces_in_proportion(&self) -> bool {
        self.proportional_reduction
    }
}

/// The estimate, and the acknowledged part of the present window of data.
#[derive(Clone, Debug)]
pub struct Model {
    g: f64,
    alpha: f64,
    acked: u64,
    marked: u64,
    /// The window of data is over when something beyond this byte is acknowledged.
    window_end: u64,
    min_window: u64,
    reduce: Reduce,
    marks_end_slow_start: bool,
    echoes_grow_window: bool,
    losses: new_reno::Model,
}

impl Model {
    pub(super) fn new(config: &Dctcp) -> Model {
        Model {
            g: config.g,
            alpha: config.initial_alpha,
            acked: 0,
            marked: 0,
            window_end: 0,
            min_window: u64::from(config.min_window),
            reduce: config.reduce,
            marks_end_slow_start: config.marks_end_slow_start,
            echoes_grow_window: config.echoes_grow_window,
            losses: new_reno::Model::new(&config.losses),
        }
    }

    /// The estimate of the marked share.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Takes half of this share off the window.
    pub(super) fn shrink(&self, window: &mut Window, share: f64) {
        let left = (window.cwnd as f64 * (1.0 - share / 2.0)) as u64;
        // The floor never lifts a window that is below it.
        window.cwnd = left.max(self.min_window * window.mss).min(window.cwnd);
        if self.marks_end_slow_start {
            window.ssthresh = window.cwnd;
        }
    }

    fn end_window(&mut self, next: u64) {
        let share = self.marked as f64 / self.acked as f64;
        self.alpha = (1.0 - self.g) * self.alpha + self.g * share;
        (self.acked, self.marked) = (0, 0);
        self.window_end = next;
    }
}

impl Control for Model {
    /// The estimate is brought up to date before an echo is answered, in the order of RFC 8257, 3.3.
    #[inline]
    fn on_echo(&mut self, ack: &Ack) -> Answer {
        let ack::Ack { acked, marked, una, next, .. } = ack.common;
        self.acked += acked;
        self.marked += if marked { acked } else { 0 };
        let ended = una > self.window_end;
        if ended {
            self.end_window(next);
        }
        Answer {
            grow: !marked || self.echoes_grow_window,
            reduce: match self.reduce {
                Reduce::Marked => marked,
                Reduce::All => ended && self.alpha > 0.0,
            },
            ends_slow_start: marked && self.reduce == Reduce::All && self.marks_end_slow_start,
        }
    }

    fn on_congestion_event(&mut self, window: &mut Window, event: &CongestionEvent) {
        match event.cause {
            Cause::EcnEcho => self.shrink(window, self.alpha),
            loss => window.reduce(loss),
        }
    }

    fn on_recovery_ack(&mut self, window: &mut Window, ack: &Ack, recovery: Recovery) -> Step {
        self.losses.on_recovery_ack(window, ack, recovery)
    }
}
