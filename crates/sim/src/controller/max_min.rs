//! Max-min fair rates for all queues: costs and gains of fairness beside ASY.
//!
//! Source: Bertsekas and Gallager, "Data Networks", 2nd edition (1992), section 6.5.2: water-filling
//! (`rates/max_min.rs`) on the links of the hosts; the network between them is taken to be wide enough.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::queue_rates::{Estimate, Rates, unsuited};
use super::rates::max_min::{FairRates, MaxMin};
use super::{Build, ControlChannel, Settings};
use crate::advice::Unread;
use crate::engine::contract::controller::Channel;
use crate::problem::Problem;
use crate::routing::Routes;
use crate::topology::Fabric;
use crate::units::{Bytes, Time};

/// Max-min fair rates, computed anew when the offered rates change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MaxMinRates {
    /// Estimate of the rate that a queue offers; it only caps, if `filling` is set so.
    pub offered: Estimate,
    /// How links are shared.
    pub filling: MaxMin,
    /// The least time from one computation to the next; 0: at every change.
    pub interval: Time,
    /// The channel of reports and rates.
    pub control: ControlChannel,
}

impl Settings for MaxMinRates {
    fn problems_on(&self, fabric: &Fabric, _full_packet: Bytes) -> Vec<Problem> {
        unsuited(fabric)
    }

    fn unread(&self) -> Vec<Unread> {
        Unread::among([("offered", self.filling.cap_by_offered, "filling.cap_by_offered = true")])
    }

    fn weights(&self) -> Option<(&'static str, &[f64])> {
        Some(("filling.priorities", &self.filling.priorities))
    }

    fn channel(&self) -> Channel {
        self.control.channel(Time::ZERO)
    }
}

impl Build for MaxMinRates {
    type Model = Rates<FairRates>;

    fn model(&self, fabric: &Arc<Fabric>, _routes: &Arc<Routes>) -> Rates<FairRates> {
        let procedure = FairRates::new(self.filling.clone(), fabric.hosts as usize);
        Rates::new(procedure, self.offered, self.interval, fabric)
    }
}
