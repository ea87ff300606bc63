//! When a run ends, by the state of all its parts.

use crate::engine::data::finished::{Limit, Status};
use crate::engine::data::plan::Plan;
use crate::units::{SECOND, Time};

/// No run lasts longer: 1,000,000 s. From here to the end of the range of times is room for what events schedule.
const LAST: Time = Time(1_000_000 * SECOND);

/// State on which the end of a run depends, apart from the flows themselves: of all parts of a run.
pub(in crate::engine) struct State {
    pub goal: u64,
    pub unbounded: bool,
    pub begun: u64,
    pub ended: u64,
    pub to_come: bool,
    /// When the last flow started, in the background or not.
    pub started_at: Time,
    pub moved_at: Time,
    pub stop_at: Time,
}

impl State {
    /// When the run ends if nothing happens but at `next`, and how.
    pub(in crate::engine) fn end<M>(&self, plan: &Plan<M>, next: Time) -> (Time, (Option<Limit>, Status)) {
        let until = plan.until.unwrap_or(LAST).min(LAST).min(self.stop_at);
        // Something should move while a flow is open, or if flows are missing that nothing pending starts.
        let (open, missing) = (self.begun > self.ended, self.goal > self.ended);
        let late = open || (missing && !self.to_come);
        // A sender in back-off has not given up: all open flows have had time to try again.
        let retries = if open { Time(plan.timeout_max.0.saturating_mul(2)) } else { Time::ZERO };
        let timeout = plan.stall.max(retries);
        // Flows that are missing might have started with the last one.
        let since = match late {
            true if open => self.moved_at,
            true => self.moved_at.max(self.started_at),
            false => next,
        };
        let stalled_at = since.saturating_add(timeout);
        let how = match () {
            () if self.stop_at != Time::NEVER => (None, Status::Complete),
            // Nobody waits for anything: the limit is how such a run is to end.
            () if until <= stalled_at && self.goal == 0 && !self.unbounded => (None, Status::Complete),
            () if until <= stalled_at => (Some(Limit::Until), Status::Limit),
            () => (None, Status::Stalled),
        };
        (until.min(stalled_at), how)
    }
}
