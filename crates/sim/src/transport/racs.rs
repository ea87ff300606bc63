//! RACS: flows send at rates in proportion to weights, which grow as they have less left.
//!
//! Source: Munir, Qazi and Qaisar, "On achieving low latency in data centers", ICC 2013. The computation of
//! switches, and its unpublished points, are in `agent/racs`; the part of hosts that other schemes share in
//! `paced`. The first packet after a reply carries the flow's remaining bytes anew: its weight is a round
//! trip old, or the time that ports set between requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::paced::{self, Asks, Flow, Granted, Paced, Pacing, Scheme};
use super::{Needs, Profile, Settings};
use crate::agent::racs::{RacsPort, word};
use crate::engine::contract::packet::Record;
use crate::problem::Problem;
use crate::transport::rtt::Rtt;
use crate::units::Time;

/// RACS: flows share links by weights, 1 / (bytes left)^k (`agent.racs`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Racs {
    /// Settings of the sender.
    pub pacing: Pacing,
}

impl Paced for Racs {
    fn pacing(&self) -> &Pacing {
        &self.pacing
    }
}

impl Settings for Racs {
    fn profile(&self) -> Profile {
        self.pacing.profile()
    }

    fn needs(&self) -> Needs {
        Pacing::needs(RacsPort::default())
    }

    fn problems(&self) -> Vec<Problem> {
        self.pacing.problems()
    }
}

/// A sender's state under RACS: the smoothed round trip and the time between its requests, both of which
/// packets carry to the switches.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    rtt: Rtt,
    spacing: Time,
}

impl Scheme for Sender {
    type Config = Racs;

    const EACH_ASKS: bool = false;

    fn ask(&mut self, _asks: Asks, flow: &Flow, config: &Racs, record: &mut Record) {
        record.0[word::RATE] = u64::MAX;
        record.0[word::RTT] = self.rtt.smoothed().map_or(0, |rtt| rtt.0);
        let packets = flow.left as f64 / config.pacing.mss.0 as f64;
        record.0[word::LEFT] = packets.max(1.0).to_bits();
        record.0[word::SIZE] = u64::from(config.pacing.control_size());
        record.0[word::SPACING] = self.spacing.0;
    }

    fn answer(&mut self, _asked: Asks, record: &Record, flow: &Flow, _config: &Racs) -> Granted {
        let rtt = flow.rtt.unwrap_or(Time::ZERO);
        self.rtt.sample(rtt);
        self.spacing = Time(record.0[word::WAIT]).max(rtt);
        Granted { rate: record.0[word::RATE].min(flow.line.0), again: self.spacing }
    }
}

/// All RACS flows of a run.
pub type Model = paced::Model<Sender>;
