//! Numbers of the flows that sources draw during the run.
//!
//! A flow's number is its place among the starts of all sources. Within a window each part numbers its own flows, above
//! all that have a number. Between two windows the engine merges these by the order of their start events. No flow starts
//! before those of an earlier window, so that a number is final once it is given; and a part keeps its flows in the same
//! order, so that agents that keep flows by number need not sort anew. No packet of a flow leaves its part before the flow
//! has its final number.

use super::*;
use crate::engine::data::conn::Counts;
use crate::engine::data::numbers::Numbers;
use crate::ids::FlowId;

impl<M: Members> Parted<'_, '_, M> {
    /// Numbers the flows that the parts have drawn since they met last.
    pub(in crate::engine) fn number_drawn(&mut self) {
        if !self.parts[0].starts.draws() {
            return;
        }
        let mut drawn = Vec::new();
        for (at, part) in self.parts.iter().enumerate() {
            drawn.extend(part.starts.drawn().map(|(place, flow)| (place, at, flow)));
        }
        if drawn.is_empty() {
            return;
        }
        // Stable: flows of one part are in order.
        drawn.sort_by_key(|&(place, ..)| place);
        let first = self.parts[0].starts.first_drawn();
        let mut new = vec![Vec::new(); self.parts.len()];
        for (number, &(_, at, _)) in (first.0..).zip(&drawn) {
            new[at].push(FlowId(number));
        }
        for (part, new) in self.parts.iter_mut().zip(&new) {
            part.number(&Numbers { first, new }, drawn.iter().map(|&(.., flow)| flow));
            part.counts.resize(first.index() + drawn.len(), Counts::UNFINISHED);
        }
    }
}
