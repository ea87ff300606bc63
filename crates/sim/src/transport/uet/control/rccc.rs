//! RCCC, the receiver's control of Ultra Ethernet: credit by pulls, at a little less than the rate of the receiver's link.
//!
//! Source: the public simulator (uet-htsim, `-receiver_cc_only`), which follows EQDS (Olteanu et al., NSDI 2022), itself an heir
//! of NDP. The first window needs no credit. `pacer` shares the credit of a host among its flows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Network, Settings, Terms};
use crate::derived::{Derived, Values};
use crate::units::Bytes;

/// RCCC: the receiver paces its senders by credit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rccc {
    /// Credit is given at this share of the rate of the receiver's link.
    #[schemars(range(max = 10.0), extend("exclusiveMinimum" = 0.0))]
    pub pull_rate: f64,
    /// Unit of credit.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "65535B"))]
    pub pull_quantum: Bytes,
    /// Most credit of one pull, cut to whole units.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "10MB"))]
    pub pull_bytes: Bytes,
    /// Whether a receiver without requests for credit gives some to its idle flows.
    pub slow_pulls: bool,
    /// Whether a trimmed packet brings its flow credit to repeat it, before others get any, as under EQDS. uet-htsim: no, a flow
    /// gets what it has requested, and one whose last packets are trimmed waits until no other lacks credit.
    pub repair_credit: bool,
    /// Whether flows that wait for their turn at one port each request their part of what they lack (uet-htsim: yes). A flow that
    /// has requested a part with its last packet waits for the rest until no other lacks credit.
    pub share_requests: bool,
    /// Whether receivers slow down when the network between is congested. "derived": if its tiers are oversubscribed and there
    /// is no window besides (uet-htsim: -oversubscribed_cc, -force_disable_oversubscribed_cc).
    pub oversubscription_control: Derived<bool>,
    /// By how much the hosts together are faster than the narrowest tier of the network. "derived": from the topology.
    pub oversubscription: Derived<f64>,
    /// Congestion, as an average share of marked packets, above which the rate falls.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub target: f64,
    /// Share of the rate that an interval without congestion adds, doubled with each such interval without marks (-Ai).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub increase: f64,
    /// Weight of the congestion above the target in a decrease (-Md).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub decrease: f64,
    /// Weight of the newest interval in the average (-alpha).
    #[schemars(range(min = 0.000001, max = 1.0))]
    pub gain: f64,
    /// Least share of the rate, times the oversubscription.
    #[schemars(range(min = 0.01, max = 1.0))]
    pub min_rate: f64,
}

impl Default for Rccc {
    fn default() -> Self {
        Rccc {
            pull_rate: 0.99,
            pull_quantum: Bytes(256),
            pull_bytes: Bytes(16_384),
            slow_pulls: true,
            repair_credit: false,
            share_requests: true,
            oversubscription_control: Derived::FromNetwork,
            oversubscription: Derived::FromNetwork,
            target: 0.3,
            increase: 0.01,
            decrease: 0.5,
            gain: 0.5,
            min_rate: 0.9,
        }
    }
}

impl Rccc {
    /// Values that follow from the network, alone or beside a window.
    pub(super) fn values(&self, network: &Network, alone: bool) -> Values {
        let mut values = Values::new();
        if self.oversubscription_control == Derived::FromNetwork {
            values.push(("oversubscription_control".into(), json!(alone && network.ratio > 1.0)));
        }
        if self.oversubscription == Derived::FromNetwork {
            values.push(("oversubscription".into(), json!(network.ratio)));
        }
        values
    }
}

impl Settings for Rccc {
    fn derived(&self, network: &Network) -> Values {
        self.values(network, true)
    }

    fn has_window(&self) -> bool {
        false
    }

    fn credit(&self) -> Option<Terms<'_>> {
        Some(Terms {
            pull_rate: self.pull_rate,
            quantum: self.pull_quantum.0,
            pull_bytes: self.pull_bytes.0,
            slow_pulls: self.slow_pulls,
            whole_pulls: false,
            repairs_first: self.repair_credit,
            share_requests: self.share_requests,
            slowdown: Some(self),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 16,384 B are 64 units of 256 B; what is left of a unit is no credit, but a pull gives one at least.
    #[test]
    fn a_pull_gives_whole_units() {
        let units = |bytes| {
            let rccc = Rccc { pull_bytes: Bytes(bytes), ..Rccc::default() };
            rccc.credit().expect("it has credit").quanta_per_pull()
        };
        assert_eq!([16_384, 16_383, 256, 255, 1].map(units), [64, 63, 1, 1, 1]);
    }
}
