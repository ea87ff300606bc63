//! No control: each flow at the rate of its port, so that pauses of ports alone keep queues short.
//!
//! The baseline of papers on RoCE, such as "PFC only" of Zhu et al., "Congestion Control for Large-Scale RDMA Deployments",
//! SIGCOMM 2015.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Control, Settings};
use crate::units::Rate;

/// No reaction to congestion: packets leave at the rate of the port, and pauses alone slow them down.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LineRate {}

impl Settings for LineRate {}

/// The rate of one flow: its port's.
#[derive(Clone, Debug)]
pub struct Model {}

impl Model {
    /// A flow starts.
    pub fn new(_config: &LineRate, _line: Rate) -> Model {
        Model {}
    }
}

impl Control for Model {
    fn rate(&self) -> f64 {
        f64::INFINITY
    }
}
