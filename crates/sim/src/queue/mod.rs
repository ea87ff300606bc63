//! What a port does with packets that have to wait: enqueue, dequeue, mark, trim, drop.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::register::register;
use crate::units::Bytes;

register! {
    /// What a port does with packets that have to wait.
    pub enum Queue: Settings {
        infinite::Infinite = "infinite",
        drop_tail::DropTail = "drop-tail",
        ecn::Ecn = "ecn",
        ndp::NdpPort = "ndp",
    }
}

/// What a queue's configuration tells the check.
pub trait Settings {
    /// What transports may ask of it.
    fn offers(&self) -> &'static [Feature];
}

/// What a transport may need from the ports on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// A full port cuts the payload off and forwards the header.
    Trimming,
    /// A port marks packets instead of dropping them.
    Ecn,
}

impl Feature {
    /// The feature's name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Feature::Trimming => "trimming",
            Feature::Ecn => "ECN marking",
        }
    }
}

/// How much a queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// So many packets of any size.
    Packets(#[schemars(range(min = 1, max = 1_000_000_000))] u32),
    /// So many bytes.
    Bytes(#[schemars(extend("x-minimum" = "64B"))] Bytes),
    /// So many bytes as this number of full data packets have on the wire.
    FullPackets(#[schemars(range(min = 1, max = 1_000_000))] u32),
}
