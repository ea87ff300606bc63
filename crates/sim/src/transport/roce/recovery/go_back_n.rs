//! Go-back-N: all packets from the missing one on (InfiniBand architecture specification, volume 1, section 9.7).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use crate::units::Time;

/// Go-back-N: the receiver discards packets that arrive out of order, the sender retransmits all from the missing one on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GoBackN {
    /// The receiver reports the same missing packet again when a packet arrives so long after the last report. The HPCC
    /// simulator: 500 us; ConWeave's: 4 us. Absent: once.
    #[schemars(extend("x-minimum" = "1ns"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nak_interval: Option<Time>,
}

impl Settings for GoBackN {
    fn nak_interval(&self) -> Option<Time> {
        self.nak_interval
    }
}
