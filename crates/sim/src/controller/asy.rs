//! ASY: rates for all queues by iterative renormalisation, computed anew when the offered rates change.
//!
//! Source: Sviridov, Bianco and Giaccone, "To sync or not to sync", Globecom 2018, sections II-B and III-B.
//! Rows and columns of the offered rates are divided by their sums iteratively (`rates/sinkhorn.rs`). Flows
//! take paths by their hash.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::queue_rates::{Estimate, Rates, unsuited};
use super::rates::sinkhorn::{Normaliser, Sinkhorn};
use super::{Build, ControlChannel, Settings};
use crate::engine::contract::controller::Channel;
use crate::problem::Problem;
use crate::routing::Routes;
use crate::topology::Fabric;
use crate::units::{Bytes, Time};

/// Rates by normalisation of the offered ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Asy {
    /// Estimate of the rate that a queue offers.
    pub offered: Estimate,
    /// Computation of rates from offered rates.
    pub normalisation: Sinkhorn,
    /// The least time from one computation to the next; 0: at every change.
    pub interval: Time,
    /// The channel of reports and rates.
    pub control: ControlChannel,
}

impl Settings for Asy {
    fn problems_on(&self, fabric: &Fabric, _full_packet: Bytes) -> Vec<Problem> {
        unsuited(fabric)
    }

    fn weights(&self) -> Option<(&'static str, &[f64])> {
        Some(("normalisation.priorities", &self.normalisation.priorities))
    }

    fn channel(&self) -> Channel {
        self.control.channel(Time::ZERO)
    }
}

impl Build for Asy {
    type Model = Rates<Normaliser>;

    fn model(&self, fabric: &Arc<Fabric>, _routes: &Arc<Routes>) -> Rates<Normaliser> {
        let procedure = Normaliser::new(self.normalisation.clone(), fabric.hosts as usize);
        Rates::new(procedure, self.offered, self.interval, fabric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::controller::tests::FakeControl;
    use crate::engine::contract::controller::{Act, Controller, Report};
    use crate::ids::{FlowId, NodeId, QueueId};
    use crate::topology::Generator;
    use crate::topology::single_switch::SingleSwitch;

    /// Queues of a rack by number, with their ends.
    const QUEUES: [(u32, u32); 3] = [(0, 1), (2, 1), (2, 3)];

    fn burst(number: usize) -> Report {
        let (from, to) = QUEUES[number];
        Report::Burst {
            queue: QueueId(number as u32),
            from: NodeId(from),
            to: NodeId(to),
            flow: FlowId(0),
            bytes: 1500,
            packets: 1,
            link_bytes: 0,
            priority: 0,
            at: Time::ZERO,
        }
    }

    /// By hand: one queue has its link; a second to the same host takes half of that host's link. With a third one, of the
    /// second's host, n rounds of dividing rows, then columns, leave it 1, the second 1 / (2 n + 1), the first 2 n / (2 n + 1);
    /// the last division of rows makes the second 1 / (2 n + 2), and the first gets what that leaves. There are 20 rounds.
    #[test]
    fn rates_follow_what_is_offered() {
        let fabric = Arc::new(SingleSwitch { hosts: 4, ..SingleSwitch::default() }.build());
        let routes = Arc::new(Routes::build(&fabric).expect("a connected network"));
        let asy = Asy::default();
        let (mut model, mut room) = (asy.model(&fabric, &routes), FakeControl::new(Vec::new()));
        let mut rates = [0.0; 3];
        let mut on_report = |report: Report| {
            assert!(model.is_urgent(&report));
            for order in room.act(&mut model, &[report]) {
                let number = order.queue.index();
                assert_eq!(order.host, NodeId(QUEUES[number].0), "queue {number} is of another host");
                let Act::Rate { share, label: None } = order.act else { panic!("{order:?}") };
                rates[number] = share;
            }
            rates
        };
        let close = |found: [f64; 3], expected: [f64; 3]| {
            let off = found.iter().zip(expected).map(|(found, expected)| (found - expected).abs());
            assert!(off.fold(0.0, f64::max) < 1e-9, "{found:?}");
        };
        close(on_report(burst(0)), [1.0, 0.0, 0.0]);
        close(on_report(burst(1)), [0.5, 0.5, 0.0]);
        close(on_report(burst(2)), [41.0 / 42.0, 1.0 / 42.0, 41.0 / 42.0]);
        // An empty queue gets no order.
        close(on_report(Report::Emptied { queue: QueueId(0) }), [41.0 / 42.0, 0.5, 0.5]);
        // A burst of a queue that has a rate asks for nothing.
        assert!(!model.is_urgent(&burst(1)));
    }
}
