//! Each receiver of a flow of another entry replies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Order, PairIterator, Pattern};
use crate::ids::NodeId;
use crate::random::Stream;
use crate::traffic::Flow;

/// The i-th flow goes from the receiver of the i-th flow of another entry to its sender; flows are counted in the
/// order in which they were drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// Name of the traffic entry that is replied to.
    pub to: String,
}

impl Pattern for Reply {
    fn base(&self) -> Option<&str> {
        Some(&self.to)
    }

    fn pairs_of(&self, base: &[Flow]) -> Vec<(NodeId, NodeId)> {
        base.iter().map(|flow| (flow.dst, flow.src)).collect()
    }

    /// Those that receive in the other entry, which is outside the matrix; so with a round.
    fn senders(&self, _hosts: u32, _stream: &mut Stream) -> Option<Vec<u32>> {
        Some(Vec::new())
    }

    fn round(&self, _sources: u64, _hosts: u32) -> u64 {
        0
    }

    fn pairs<'a>(
        &'a self,
        _hosts: u32,
        _sources: &'a [u32],
        _order: Order,
        _stream: Stream,
    ) -> PairIterator<'a> {
        Box::new(std::iter::empty())
    }
}
