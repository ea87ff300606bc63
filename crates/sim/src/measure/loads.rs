//! The loads of links by arrivals at a rate, as scenario and matrix give them: of hosts' links in both directions, and of each
//! tier of links between switches.
//!
//! They are means, computed before flows are drawn. Payload alone counts, so that the same traffic under two transports
//! has the same loads.

use std::iter::zip;

use crate::ids::NodeId;
use crate::random::{Purpose, Stream, name_key};
use crate::routing::Routes;
use crate::topology::Fabric;
use crate::traffic::ends::{End, ends};
use crate::traffic::matrix::Order;
use crate::traffic::workload::product::Product;
use crate::traffic::{Demand, HostPorts};

/// Pairs of hosts that stand for all of an entry when its paths are looked up.
const PAIRS: usize = 1000;

/// Links that share a load: those of a host in one direction, or of a tier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Payload offered a second over their rate.
    pub load: f64,
    /// Bits per second that one flow can have of them.
    pub rate: f64,
}

/// An entry and its offered load.
pub struct Offered<'a> {
    pub name: &'a str,
    /// Its arrivals, matrix and sizes.
    pub product: &'a Product,
    /// The hosts that send in it.
    pub sources: &'a [u32],
    /// Payload offered a second, in bits.
    pub bps: f64,
}

impl Offered<'_> {
    /// Number of flows to one host that start together.
    pub fn at_one_host(&self) -> u64 {
        let fan_in = self.product.matrix.fan_in();
        fan_in.map_or(1, |senders| self.product.arrivals.together(senders))
    }
}

/// The entries whose arrivals have a rate, with their offered loads; `sources` are those of each entry.
pub fn offered<'a>(entries: &'a [Demand], sources: &'a [Vec<u32>], fabric: &Fabric) -> Vec<Offered<'a>> {
    let ports = HostPorts::of(fabric);
    let offer = |(entry, sources): (&'a Demand, &'a Vec<u32>)| {
        let product = entry.offers()?;
        let bps = 8.0 * product.arrivals.rate(ports.full(entry, sources))? * product.sizes.mean();
        let own_pairs = product.matrix.base().is_none();
        (bps.is_finite() && own_pairs).then_some(Offered { name: &entry.name, product, sources, bps })
    };
    zip(entries, sources).filter_map(offer).collect()
}

/// Where these entries load links.
pub fn places(all: &[Offered], fabric: &Fabric, routes: &Routes) -> Vec<Place> {
    let ports = HostPorts::of(fabric);
    let hosts = fabric.hosts as usize;
    let (mut sent, mut received) = (vec![0.0; hosts], vec![0.0; hosts]);
    for Offered { name, product, sources, bps } in all {
        for (all, end) in [(&mut sent, End::Source), (&mut received, End::Destination)] {
            let ends = ends(product, name, sources, fabric.hosts, end);
            ends.iter().for_each(|&host| all[host as usize] += bps / ends.len() as f64);
        }
    }
    let at_hosts = sent.iter().zip(&ports.capacity).chain(received.iter().zip(&ports.capacity));
    let at_hosts = at_hosts.map(|(bps, &rate)| Place { load: bps / rate, rate });
    at_hosts.filter(|place| place.load > 0.0).chain(tiers(all, fabric, routes)).collect()
}

/// The tiers of links between switches.
fn tiers(all: &[Offered], fabric: &Fabric, routes: &Routes) -> Vec<Place> {
    let mut names: Vec<(String, bool)> = Vec::new();
    let mut capacity: Vec<f64> = Vec::new();
    let mut slowest: Vec<f64> = Vec::new();
    let mut tier_of = Vec::with_capacity(fabric.links.len());
    for link in &fabric.links {
        if fabric.is_host(link.from) || fabric.is_host(link.to) {
            tier_of.push(None);
            continue;
        }
        // Both directions of a cable between alike nodes have one name.
        let name = (fabric.tier_of(link), link.from < link.to);
        let place = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            capacity.push(0.0);
            slowest.push(f64::INFINITY);
            names.len() - 1
        });
        capacity[place] += link.rate.0 as f64;
        slowest[place] = slowest[place].min(link.rate.0 as f64);
        tier_of.push(Some(place));
    }
    let mut carried = vec![0.0; names.len()];
    for offered in all {
        let pairs = sampled(offered, fabric.hosts);
        for &(src, dst) in &pairs {
            let mut at = src;
            while at != dst {
                // Shortest paths of a pair of hosts cross the same tiers in a fabric of tiers.
                let link = routes.next_hops(at, dst)[0];
                if let Some(tier) = tier_of[link.index()] {
                    carried[tier] += offered.bps / pairs.len() as f64;
                }
                at = fabric.links[link.index()].to;
            }
        }
    }
    let place = |tier: usize| Place { load: carried[tier] / capacity[tier], rate: slowest[tier] };
    (0..names.len()).map(place).filter(|place| place.load > 0.0).collect()
}

/// Pairs that stand for all of an entry.
fn sampled(Offered { name, product, sources, .. }: &Offered, hosts: u32) -> Vec<(NodeId, NodeId)> {
    let stream = Stream::new(0, 0, Purpose::Matrix, name_key(name));
    if !product.among_sources {
        return product.matrix.pairs(hosts, sources, Order::Singly, stream).take(PAIRS).collect();
    }
    let places: Vec<u32> = (0..sources.len() as u32).collect();
    let host = |place: NodeId| NodeId(sources[place.index()]);
    let pairs = product.matrix.pairs(places.len() as u32, &places, Order::Singly, stream);
    pairs.map(|(src, dst)| (host(src), host(dst))).take(PAIRS).collect()
}
