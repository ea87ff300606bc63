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
use crate::engine::controller::Channel;
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
