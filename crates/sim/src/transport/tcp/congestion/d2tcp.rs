//! D2TCP (Vamanan et al., SIGCOMM 2012): DCTCP in which flows near their deadline give way less.
//!
//! In place of alpha the window shrinks by p = alpha^d. d = Tc / D compares the time Tc that the flow still needs with
//! the time D that it has. Its window goes up and down between half and all of W, so that it sends 3/4 W a round trip
//! on average: Tc = B / (3/4 W) round trips for B bytes. A flow that is late (d > 1) shrinks less, one that has time
//! (d < 1) shrinks more; a flow without a deadline has d = 1 and is DCTCP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dctcp::{self, Dctcp};
use super::{Ack, Answer, Cause, CongestionEvent, Control, Progress, Recovery, Settings, Step, Window};
use crate::problem::Problem;
use crate::transport::tcp::ecn::Echo;

/// Share of its largest window that a flow has in flight on average, by the window's sawtooth.
const AVERAGE_WINDOW: f64 = 0.75;

/// D2TCP: DCTCP with a reduction that depends on the flow's deadline (Vamanan et al. 2012).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct D2tcp {
    /// Settings in common with DCTCP.
    pub dctcp: Dctcp,
    /// Least exponent of the marked share: for flows whose deadline is far away.
    #[schemars(range(min = 0, max = 100))]
    pub min_exponent: f64,
    /// Largest exponent: for flows whose deadline is near.
    #[schemars(range(min = 0, max = 100))]
    pub max_exponent: f64,
    /// Exponent after the deadline: 1 is that of a flow without a deadline, 2 that of a flow with a near one.
    #[schemars(range(min = 0, max = 100))]
    pub late_exponent: f64,
}

impl Default for D2tcp {
    fn default() -> Self {
        D2tcp { dctcp: Dctcp::default(), min_exponent: 0.5, max_exponent: 2.0, late_exponent: 1.0 }
    }
}

impl Settings for D2tcp {
    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.max_exponent < self.min_exponent {
            let why = format!("{} is below min_exponent, which is {}", self.max_exponent, self.min_exponent);
            problems.push(Problem::new("max_exponent", why));
        }
        problems
    }

    fn echo(&self) -> Option<Echo> {
        self.dctcp.echo()
    }

    fn reduces_in_proportion(&self) -> bool {
        self.dctcp.reduces_in_proportion()
    }
}

/// DCTCP's estimate, and the bounds of its exponent.
#[derive(Clone, Debug)]
pub struct Model {
    dctcp: dctcp::Model,
    min_exponent: f64,
    max_exponent: f64,
    late_exponent: f64,
}

impl Model {
    pub(super) fn new(config: &D2tcp) -> Model {
        Model {
            dctcp: dctcp::Model::new(&config.dctcp),
            min_exponent: config.min_exponent,
            max_exponent: config.max_exponent,
            late_exponent: config.late_exponent,
        }
    }

    /// The exponent d of a flow that has come so far, with a window of so many bytes that it can use.
    pub fn exponent(&self, window: u64, progress: &Progress) -> f64 {
        let (Some(left), Some(round_trip)) = (progress.time_left, progress.round_trip) else {
            return 1.0;
        };
        if left.0 == 0 {
            return self.late_exponent;
        }
        let round_trips = progress.left as f64 / (AVERAGE_WINDOW * window as f64);
        let needed = round_trips * round_trip.0 as f64;
        (needed / left.0 as f64).clamp(self.min_exponent, self.max_exponent)
    }
}

impl Control for Model {
    #[inline]
    fn on_echo(&mut self, ack: &Ack) -> Answer {
        self.dctcp.on_echo(ack)
    }

    fn on_congestion_event(&mut self, window: &mut Window, event: &CongestionEvent) {
        match event.cause {
            Cause::EcnEcho => {
                let exponent = self.exponent(window.usable(), &event.progress);
                self.dctcp.shrink(window, libm::pow(self.dctcp.alpha(), exponent));
            }
            loss => window.reduce(loss),
        }
    }

    fn on_recovery_ack(&mut self, window: &mut Window, ack: &Ack, recovery: Recovery) -> Step {
        self.dctcp.on_recovery_ack(window, ack, recovery)
    }
}
