//! Senders and receivers in a traffic entry.

use crate::ids::NodeId;
use crate::problem::Problem;
use crate::random::Stream;
use crate::register::register;
use crate::traffic::Flow;

register! {
    /// Senders and receivers of the flows.
    pub enum Matrix: Pattern {
        permutation::Permutation = "permutation",
        uniform::UniformMatrix = "uniform",
        stride::Stride = "stride",
        incast::Incast = "incast",
        pairs::Pairs = "pairs",
        reply::Reply = "reply",
        all_to_all::AllToAll = "all-to-all",
    }
}

/// A traffic matrix: pairs of source and destination, without end.
pub trait Pattern {
    /// All that is wrong with the parameters on so many hosts; paths are below the matrix.
    fn problems(&self, hosts: u32) -> Vec<Problem> {
        let _ = hosts;
        Vec::new()
    }

    /// The hosts that send, if the matrix itself determines them, drawn from the stream that the pairs come
    /// from; none if every host does unless the entry names its sources.
    fn senders(&self, hosts: u32, stream: &mut Stream) -> Option<Vec<u32>> {
        let _ = (hosts, stream);
        None
    }

    /// The entry whose flows its own are made of, if they are: then their number is the round, and
    /// [`Pattern::pairs_of`] gives the pairs.
    fn base(&self) -> Option<&str> {
        None
    }

    /// The pairs (source, destination), one for each flow of that entry.
    fn pairs_of(&self, base: &[Flow]) -> Vec<(NodeId, NodeId)> {
        let _ = base;
        Vec::new()
    }

    /// The destination of one more flow from a source that sends one after the other, if each is drawn anew; else
    /// the source goes through its destinations in a round.
    fn anew(&self, source: NodeId, hosts: u32, stream: &mut Stream) -> Option<NodeId> {
        let _ = (source, hosts, stream);
        None
    }

    /// The field by which each round draws all of its hosts anew, if it does: then its flows belong together.
    fn drawn_by_round(&self) -> Option<&'static str> {
        None
    }

    /// Flows of a round that one host receives, if each round has one receiver.
    fn fan_in(&self) -> Option<u64> {
        None
    }

    /// Number of flows in a round of so many sources: those that start together by default.
    fn round(&self, sources: u64, hosts: u32) -> u64;

    /// The hosts whose ports are the capacity that a load refers to: by default the sources.
    fn loaded<'a>(&'a self, sources: &'a [u32]) -> &'a [u32] {
        sources
    }

    /// The pairs (source, destination) of one flow after the other, without end; `sources` are ascending.
    fn pairs<'a>(&'a self, hosts: u32, sources: &'a [u32], order: Order, stream: Stream) -> PairIterator<'a>;
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
