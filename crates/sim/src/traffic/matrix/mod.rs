//! Who sends to whom in a traffic entry.

use crate::ids::NodeId;
use crate::random::Stream;
use crate::register::register;

register! {
    /// Who sends to whom.
    pub enum Matrix: Pattern {
        permutation::Permutation = "permutation",
        uniform::UniformMatrix = "uniform",
        stride::Stride = "stride",
        incast::Incast = "incast",
        pairs::Pairs = "pairs",
        reply::Reply = "reply",
    }
}

/// What a traffic matrix does: pairs of source and destination, without end.
pub trait Pattern {
    /// All that is wrong with the parameters on so many hosts: (path below the matrix, what is wrong).
    fn problems(&self, hosts: u32) -> Vec<(String, String)> {
        let _ = hosts;
        Vec::new()
    }

    /// Number of flows in a round: what starts together if nothing else is said.
    fn round(&self, hosts: u32) -> u64;

    /// The hosts whose ports are the capacity that a load refers to: the sources, all by default.
    fn loaded(&self, hosts: u32) -> Box<dyn Iterator<Item = NodeId> + '_> {
        Box::new((0..hosts).map(NodeId))
    }

    /// The entry whose flows it reverses, if it does: then their number is the round, and their ends the pairs.
    fn reply_to(&self) -> Option<&str> {
        None
    }

    /// The destination of one more flow from a source that sends one after the other, if each is drawn anew; else
    /// the source goes through its destinations in a round.
    fn anew(&self, source: NodeId, hosts: u32, stream: &mut Stream) -> Option<NodeId> {
        let _ = (source, hosts, stream);
        None
    }

    /// The pairs (source, destination) of one flow after the other, without end.
    fn pairs(&self, hosts: u32, order: Order, stream: Stream) -> PairIterator<'_>;
}

/// Pairs (source, destination) without end.
pub type PairIterator<'a> = Box<dyn Iterator<Item = (NodeId, NodeId)> + 'a>;

/// How the pairs of a matrix follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Round after round, as for flows that start together or at given times.
    Rounds,
    /// Each drawn on its own, as for Poisson arrivals: then every pair is a Poisson process too.
    Singly,
}

/// A uniformly random host other than `host`.
fn other(host: u32, hosts: u32, stream: &mut Stream) -> u32 {
    let draw = stream.below(u64::from(hosts - 1)) as u32;
    draw + u32::from(draw >= host)
}

/// Rounds of pairs end to end, each made by `round`.
fn rounds<'a>(round: impl FnMut() -> Vec<(NodeId, NodeId)> + 'a) -> PairIterator<'a> {
    Box::new(std::iter::repeat_with(round).flatten())
}
