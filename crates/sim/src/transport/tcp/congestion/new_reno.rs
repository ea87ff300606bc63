//! NewReno (RFC 6582): recovery lasts until all data in flight at the loss is acknowledged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ack, Control, Recovery, Settings, Step, Window};

/// NewReno: a partial acknowledgement repairs the next hole without leaving recovery (RFC 6582).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewReno {
    /// Restart the retransmission timer on the first partial acknowledgement only ("impatient",
    /// RFC 6582, section 4) rather than on each of them ("slow but steady").
    pub impatient: bool,
    /// The window after recovery.
    pub full_ack: FullAck,
}

/// The window after recovery (RFC 6582, 3.2, step 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FullAck {
    /// The bytes in flight and a segment, at least two segments, at most the threshold: no burst (option 1).
    Flight,
    /// The threshold (option 2; ns-3).
    Ssthresh,
}

impl NewReno {
    /// The defaults.
    pub const DEFAULT: NewReno = NewReno { impatient: true, full_ack: FullAck::Flight };
}

impl Default for NewReno {
    fn default() -> Self {
        NewReno::DEFAULT
    }
}

impl Settings for NewReno {}

/// The variant is the whole state.
#[derive(Clone, Debug)]
pub struct Model {
    impatient: bool,
    full_ack: FullAck,
}

impl Model {
    pub(super) fn new(config: &NewReno) -> Model {
        Model { impatient: config.impatient, full_ack: config.full_ack }
    }
}

impl Control for Model {
    /// Full acknowledgement: min(ssthresh, max(flight, mss) + mss), with the flight that remains, or
    /// ssthresh. Partial: deflate by the acknowledged bytes, add one segment back if it was one at least.
    fn on_recovery_ack(&mut self, window: &mut Window, ack: &Ack, recovery: Recovery) -> Step {
        if recovery.full {
            let remaining = ack.in_flight.saturating_sub(ack.acked);
            window.cwnd = match self.full_ack {
                FullAck::Flight => window.ssthresh.min(remaining.max(window.mss) + window.mss),
                FullAck::Ssthresh => window.ssthresh,
            };
            return Step::Leave;
        }
        window.cwnd = window.cwnd.saturating_sub(ack.acked).max(window.mss);
        if ack.acked >= window.mss {
            window.cwnd += window.mss;
        }
        Step::Repair { restart_timer: recovery.first_partial || !self.impatient }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::ack;
    use crate::transport::tcp::congestion::fixtures::window;

    /// RFC 6582, 3.2, step 3, by hand: in recovery with a window of 10 segments a partial acknowledgement of 3 leaves
    /// 10 - 3 + 1; one of less than a segment adds none back; no window falls below a segment.
    #[test]
    fn a_partial_acknowledgement_deflates() {
        let mut control = Model::new(&NewReno::default());
        for (cwnd, acked, left) in
            [(10_000, 3_000, 8_000), (10_000, 400, 9_600), (10_000, 1_000, 10_000), (3_000, 8_000, 2_000)]
        {
            let mut window = Window { cwnd, ssthresh: 5_000, ..window(12) };
            let common = ack::Ack { acked, in_flight: window.flight, ..ack::Ack::default() };
            let ack = Ack { common, ..Ack::default() };
            let recovery = Recovery { full: false, first_partial: true };
            assert!(matches!(
                control.on_recovery_ack(&mut window, &ack, recovery),
                Step::Repair { restart_timer: true }
            ));
            assert_eq!((window.cwnd, window.ssthresh), (left, 5_000), "{acked} of {cwnd} bytes");
        }
    }
}
