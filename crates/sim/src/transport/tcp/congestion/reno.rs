//! Reno (RFC 5681): recovery ends with the first acknowledgement of new data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ack, Control, Recovery, Settings, Step, Window};

/// Reno: slow start, congestion avoidance, fast retransmit, fast recovery (RFC 5681).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Reno {}

impl Settings for Reno {}

/// No state beyond the window.
#[derive(Clone, Debug)]
pub struct Model;

impl Model {
    pub(super) fn new(_config: &Reno) -> Model {
        Model
    }
}

impl Control for Model {
    fn on_recovery_ack(&mut self, window: &mut Window, _ack: &Ack, _recovery: Recovery) -> Step {
        window.cwnd = window.ssthresh;
        Step::Leave
    }

    /// RFC 5681 keeps no record of the data in flight at the loss: NewReno added that.
    fn distrusts_duplicates(&self) -> bool {
        false
    }
}
