//! The contract of a workload: what writes the flows of a traffic entry, and which of them wait for others.

pub mod extent;
pub mod product;

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

use self::extent::{Extent, Scope};
use self::product::Product;
use super::writer::Writer;
use super::{Demand, Flow};
use crate::ids::NodeId;
use crate::problem::Problem;
use crate::random::Stream;

/// The flows of a traffic entry: arrivals by matrix by sizes ([`Product`]), a collective, a graph of dependencies.
///
/// Two methods suffice: how many flows there will be, and the flows themselves. The others answer what the checks and the
/// choice of a measuring window ask before any flow is drawn.
pub trait Workload: Debug + Send + Sync {
    /// All that is wrong with it on so many hosts; paths are below the entry.
    fn problems(&self, entry: &Demand, hosts: u32) -> Vec<Problem> {
        let _ = (entry, hosts);
        Vec::new()
    }

    /// The hosts that take part, if the workload itself determines them, drawn from the stream of its pairs; none if
    /// the entry names them or all do.
    fn ranks(&self, hosts: u32, stream: &mut Stream) -> Option<Vec<u32>> {
        let _ = (hosts, stream);
        None
    }

    /// All that is wrong with it on so many ranks, if nothing else is; paths are below the entry.
    fn problems_among(&self, ranks: u32) -> Vec<Problem> {
        let _ = ranks;
        Vec::new()
    }

    /// The entries that are written before it, because it reads their flows.
    fn references(&self) -> Vec<Reference<'_>> {
        Vec::new()
    }

    /// How many flows it writes, and the problem with that number, if there is one; its path is below the entry.
    fn extent(&self, scope: &Scope) -> (Extent, Option<Problem>);

    /// Writes its flows and their dependencies; `ranks` are the hosts that take part, ascending.
    fn write(&self, ranks: &[NodeId], out: &mut Writer);

    /// Whether its flows are numbered in the order in which they were written; else by their starts.
    fn numbered_as_written(&self) -> bool {
        true
    }

    /// Whether it is known before the run which of the flows between two hosts starts first.
    fn order_is_known(&self) -> bool {
        false
    }

    /// Whether all its flows are written before the run.
    fn known_before(&self) -> bool {
        true
    }

    /// If it has flows without end in number: the field of the scenario that would bound it.
    fn unbounded(&self) -> Option<&'static str> {
        None
    }

    /// Whether its flows never end.
    fn endless(&self) -> bool {
        false
    }

    /// The mean size of its flows, given those that it has written; none if they have no end.
    fn mean_size(&self, flows: &[Flow]) -> Option<f64> {
        let bytes: f64 = flows.iter().map(|flow| flow.size as f64).sum();
        (!flows.is_empty()).then(|| bytes / flows.len() as f64)
    }

    /// The hosts whose links are the capacity that a load refers to, of an entry of that name with these ranks.
    fn loaded<'a>(&'a self, name: &str, ranks: &'a [u32], hosts: u32) -> Cow<'a, [u32]> {
        let _ = (name, hosts);
        Cow::Borrowed(ranks)
    }

    /// The arrivals, matrix and sizes by which it offers a load; none if its flows follow a program of their own.
    fn offers(&self) -> Option<&Product> {
        None
    }

    /// The same with another offer: a measuring window lets arrivals go on for as long as it needs them.
    fn offering(&self, offer: Product) -> Option<Arc<dyn Workload>> {
        let _ = offer;
        None
    }
}

/// An entry that a workload refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference<'a> {
    /// Path of the field that names it, below the entry.
    pub path: String,
    pub entry: &'a str,
    /// Whether flows wait until its flows have ended.
    pub waits: bool,
}
