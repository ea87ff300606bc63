//! RCP, the rate control protocol: each packet collects the least rate on its path, and the flow sends at
//! that rate.
//!
//! Source: Dukkipati and McKeown, "Why flow-completion time is the right metric for congestion control", CCR
//! 2006, and the authors' code for ns-2. The computation of switches is in `agent/rcp.rs`, the part of hosts
//! that other schemes share in `paced`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::paced::{self, Asks, Flow, Granted, Paced, Pacing, Scheme};
use super::{Needs, Profile, Settings};
use crate::agent::rcp::{RcpPort, word};
use crate::engine::contract::packet::Record;
use crate::problem::Problem;
use crate::transport::rtt::Rtt;
use crate::units::Time;

/// RCP: all flows on a link send at one rate, which its switch computes (`agent.rcp`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rcp {
    /// Settings of the sender.
    pub pacing: Pacing,
}

impl Paced for Rcp {
    fn pacing(&self) -> &Pacing {
        &self.pacing
    }
}

impl Settings for Rcp {
    fn profile(&self) -> Profile {
        self.pacing.profile()
    }

    fn needs(&self) -> Needs {
        Pacing::needs(RcpPort::default())
    }

    fn problems(&self) -> Vec<Problem> {
        self.pacing.problems()
    }
}

/// A sender's state under RCP: the smoothed round trip, which packets carry to the switches.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    rtt: Rtt,
}

impl Scheme for Sender {
    type Config = Rcp;

    const EACH_ASKS: bool = true;

    fn ask(&mut self, _asks: Asks, _flow: &Flow, _config: &Rcp, record: &mut Record) {
        record.0[word::RATE] = u64::MAX;
        record.0[word::RTT] = self.rtt.smoothed().map_or(0, |rtt| rtt.0);
    }

    fn answer(&mut self, _asked: Asks, record: &Record, flow: &Flow, _config: &Rcp) -> Granted {
        self.rtt.sample(flow.rtt.unwrap_or(Time::ZERO));
        let rate = record.0[word::RATE].min(flow.line.0);
        // The authors' code sends a packet without payload (REF) each round trip if packets of data are further apart.
        Granted { rate, again: flow.timeout(rate) }
    }
}

/// All RCP flows of a run.
pub type Model = paced::Model<Sender>;
