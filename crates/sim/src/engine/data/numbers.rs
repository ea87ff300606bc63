//! Numbers of flows that are drawn during the run.

use crate::ids::FlowId;

/// Numbers of flows that sources have drawn during the run. A part of a run numbers those that its own sources draw; when
/// the parts meet, these flows get the numbers that they have in a run of one part. Their order stays the same.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'a> {
    /// The lowest number that is not final.
    pub first: FlowId,
    /// From there on, the number of each flow.
    pub new: &'a [FlowId],
}

impl Numbers<'_> {
    /// Gives a flow its number; returns whether it had another before.
    #[inline]
    pub fn give(&self, flow: &mut FlowId) -> bool {
        let is_new = *flow >= self.first && *flow != FlowId::NONE;
        if is_new {
            *flow = self.new[flow.index() - self.first.index()];
        }
        is_new
    }
}
