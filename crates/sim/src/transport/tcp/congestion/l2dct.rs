//! L2DCT (Munir et al., "Minimizing flow completion times in data centers", INFOCOM 2013): DCTCP in which short flows grow
//! faster and give way less.
//!
//! A flow has a weight w by the bytes that it has sent: the largest one until `full_weight_size`, the smallest one from
//! `least_weight_size` on, in between in proportion. In congestion avoidance its window grows by w / `max_weight` segments a
//! round trip, and marks take half of alpha^w off it. Slow start, losses and alpha are DCTCP's. Constants and the shape of
//! the weight are those of the ns-2 code of PIAS's authors (HKUST-SING/PIAS-NS2), which compares with it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dctcp::{self, Dctcp};
use super::{Ack, Answer, Cause, CongestionEvent, Control, Recovery, Settings, Siblings, Step, Window};
use crate::problem::Problem;
use crate::transport::tcp::ecn::Echo;
use crate::units::Bytes;

/// L2DCT: DCTCP with growth and reduction by the bytes that a flow has sent (Munir et al. 2013).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct L2dct {
    /// Settings in common with DCTCP.
    pub dctcp: Dctcp,
    /// Weight of a flow that has sent little (PIAS-NS2: 2.5).
    #[schemars(range(min = 0.001, max = 100))]
    pub max_weight: f64,
    /// Weight of a flow that has sent much (PIAS-NS2: 0.125).
    #[schemars(range(min = 0.001, max = 100))]
    pub min_weight: f64,
    /// Bytes up to which a flow has the largest weight (PIAS-NS2: 200 KiB). Of a connection that carries several flows,
    /// bytes of the connection.
    #[schemars(extend("x-maximum" = "1000GB"))]
    pub full_weight_size: Bytes,
    /// Bytes from which on it has the smallest one (PIAS-NS2: 1 MiB).
    #[schemars(extend("x-maximum" = "1000GB"))]
    pub least_weight_size: Bytes,
}

impl Default for L2dct {
    fn default() -> Self {
        L2dct {
            dctcp: Dctcp::default(),
            max_weight: 2.5,
            min_weight: 0.125,
            full_weight_size: Bytes(200 << 10),
            least_weight_size: Bytes(1 << 20),
        }
    }
}

impl Settings for L2dct {
    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.max_weight < self.min_weight {
            let why = format!("{} is below min_weight, which is {}", self.max_weight, self.min_weight);
            problems.push(Problem::new("max_weight", why));
        }
        if self.least_weight_size < self.full_weight_size {
            let (least, full) = (self.least_weight_size, self.full_weight_size);
            let why = format!("{least} is below full_weight_size, which is {full}");
            problems.push(Problem::new("least_weight_size", why));
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

/// DCTCP's estimate, and the weight.
#[derive(Clone, Debug)]
pub struct Model {
    dctcp: dctcp::Model,
    config: L2dct,
    /// Bytes that the connection has sent, by its last acknowledgement.
    sent: u64,
    /// Growth below a byte that is not in the window yet.
    rest: f64,
}

impl Model {
    pub(super) fn new(config: &L2dct) -> Model {
        Model { dctcp: dctcp::Model::new(&config.dctcp), config: config.clone(), sent: 0, rest: 0.0 }
    }

    /// The weight of a flow that has sent so many bytes.
    pub fn weight(&self, sent: u64) -> f64 {
        let L2dct { max_weight, min_weight, full_weight_size, least_weight_size, .. } = self.config;
        if sent <= full_weight_size.0 {
            return max_weight;
        }
        if sent >= least_weight_size.0 {
            return min_weight;
        }
        let way = (sent - full_weight_size.0) as f64 / (least_weight_size.0 - full_weight_size.0) as f64;
        max_weight - (max_weight - min_weight) * way
    }
}

impl Control for Model {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, siblings: &mut impl Siblings) {
        self.sent = ack.next;
        if !ack.may_grow {
            return;
        }
        let (before, avoids) = (window.cwnd, !window.is_in_slow_start());
        window.grow(ack.acked, siblings);
        if avoids {
            let growth = (window.cwnd - before) as f64 * self.weight(self.sent) / self.config.max_weight;
            self.rest += growth;
            window.cwnd = before + self.rest as u64;
            self.rest = self.rest.fract();
        }
    }

    #[inline]
    fn on_echo(&mut self, ack: &Ack) -> Answer {
        self.sent = ack.next;
        self.dctcp.on_echo(ack)
    }

    fn on_congestion_event(&mut self, window: &mut Window, event: &CongestionEvent) {
        match event.cause {
            Cause::EcnEcho => {
                self.dctcp.shrink(window, libm::pow(self.dctcp.alpha(), self.weight(self.sent)));
            }
            loss => window.reduce(loss),
        }
    }

    fn on_recovery_ack(&mut self, window: &mut Window, ack: &Ack, recovery: Recovery) -> Step {
        self.dctcp.on_recovery_ack(window, ack, recovery)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::ack;
    use crate::transport::source::Messages;
    use crate::transport::tcp::congestion::fixtures::{MSS, window};
    use crate::transport::tcp::congestion::{Congestion, Progress};
    use crate::units::Time;

    const KIB: u64 = 1 << 10;

    fn model(alpha: f64) -> Model {
        Model::new(&L2dct { dctcp: Dctcp { initial_alpha: alpha, ..Dctcp::default() }, ..L2dct::default() })
    }

    /// By hand: 2.5 to 200 KiB, 0.125 from 1 MiB on, and their mean halfway, at 612 KiB.
    #[test]
    fn the_weight_follows_the_bytes_sent() {
        let model = model(1.0);
        for (kib, weight) in [(0, 2.5), (200, 2.5), (612, 1.3125), (1024, 0.125), (1 << 20, 0.125)] {
            assert_eq!(model.weight(kib * KIB), weight, "{kib} KiB");
        }
    }

    /// Alpha is 0.5: 1 - 0.5^2.5 / 2 = 0.91161 of a short flow's window is left, 1 - 0.5^0.125 / 2 = 0.54150 of a long one's.
    #[test]
    fn the_cut_by_hand() {
        for (sent, left) in [(0, 0.911_611_652), (1 << 20, 0.541_497_978)] {
            let (mut model, mut window) = (model(0.5), window(1000));
            model.sent = sent;
            let progress = Progress { left: 0, round_trip: None, time_left: None };
            let event = CongestionEvent { cause: Cause::EcnEcho, now: Time::ZERO, progress };
            model.on_congestion_event(&mut window, &event);
            let found = window.cwnd as f64 / (1000 * MSS) as f64;
            assert!((found - left).abs() < 2e-6, "{found}");
        }
    }

    /// A window of 100 segments in congestion avoidance: a round trip of acknowledgements adds a segment to that of a short
    /// flow and 0.125 / 2.5 = 1/20 of one to that of a long flow; in slow start both double.
    #[test]
    fn growth_by_hand() {
        let ack = |next| Ack {
            common: ack::Ack { acked: MSS, next, ..ack::Ack::default() },
            may_grow: true,
            ..Ack::default()
        };
        let round = |sent, ssthresh| {
            let (mut model, mut window) = (model(1.0), window(100));
            window.ssthresh = ssthresh;
            (0..100).for_each(|_| model.on_ack(&mut window, &ack(sent), &mut Messages::default()));
            window.cwnd - 100 * MSS
        };
        for sent in [0, 1 << 20] {
            assert_eq!(round(sent, u64::MAX), 100 * MSS);
        }
        // An acknowledgement adds MSS^2 / cwnd in whole bytes: to the short flow 10 once, then 9. To the long one it adds a
        // twentieth, 10 / 20 twice, whose byte lets the other 98 be 9 / 20: 45.1 together.
        assert_eq!((round(0, 1), round(1 << 20, 1)), (901, 45));
    }

    #[test]
    fn contradictions_are_named() {
        let config = L2dct { max_weight: 0.1, full_weight_size: Bytes(2 << 20), ..L2dct::default() };
        let paths: Vec<_> = Congestion::from(config).problems().into_iter().map(|found| found.path).collect();
        assert_eq!(paths, ["max_weight", "least_weight_size"]);
    }
}
