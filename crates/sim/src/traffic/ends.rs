//! The hosts at both ends of an entry's flows, as its matrix gives them before any flow is drawn.

use super::matrix::Order;
use super::workload::product::Product;
use crate::ids::NodeId;
use crate::random::{Purpose, Stream, name_key};

/// A round of a matrix with more pairs has all of its hosts alike.
const LISTED: u64 = 1_000_000;

/// An end of a flow.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    Source,
    Destination,
}

/// The hosts at one end of an entry's flows, each as often as it is drawn.
pub fn ends(product: &Product, name: &str, sources: &[u32], hosts: u32, end: End) -> Vec<u32> {
    let round = product.matrix.round(sources.len() as u64, hosts);
    let matrix = || Stream::new(0, 0, Purpose::Matrix, name_key(name));
    let drawn_anew = product.matrix.anew(NodeId(0), hosts, &mut matrix()).is_some();
    let drawn_anew = drawn_anew || product.matrix.drawn_by_round().is_some();
    if drawn_anew || product.among_sources || round > LISTED {
        let alike = end == End::Source || product.among_sources;
        return if alike { sources.to_vec() } else { (0..hosts).collect() };
    }
    let pairs = product.matrix.pairs(hosts, sources, Order::Rounds, matrix());
    let host = |(src, dst): (NodeId, NodeId)| if end == End::Source { src.0 } else { dst.0 };
    pairs.take(round as usize).map(host).collect()
}

/// The hosts that receive in an entry, ascending, each once.
pub fn receivers(product: &Product, name: &str, sources: &[u32], hosts: u32) -> Vec<u32> {
    let mut receivers = ends(product, name, sources, hosts, End::Destination);
    receivers.sort_unstable();
    receivers.dedup();
    receivers
}
