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
use crate::traffic::{Demand, HostPorts};

/// Pairs of hosts that stand for all of an entry when its paths are looked up.
const PAIRS: usize = 1000;

/// Links that share a load: those of a host in one direction, or of a tier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Payload offered a second over their rate.
    pub load: f64,
    /// Bits a second that one flow can have of them.
    pub rate: f64,
}

/// An entry and its offered load.
pub struct Offered<'a> {
    /// The entry.
    pub entry: &'a Demand,
    /// The hosts that send in it.
    pub sources: &'a [u32],
    /// Payload offered a second, in bits.
    pub bps: f64,
}

/// The entries whose arrivals have a rate, with their offered loads; `sources` are those of each entry.
pub fn offered<'a>(entries: &'a [Demand], sources: &'a [Vec<u32>], fabric: &Fabric) -> Vec<Offered<'a>> {
    let ports = HostPorts::of(fabric);
    let offer = |(entry, sources): (&'a Demand, &'a Vec<u32>)| {
        let full = ports.full(entry, sources);
        let bps = 8.0 * entry.arrivals.rate(full)? * entry.sizes.mean();
        (bps.is_finite() && entry.matrix.reply_to().is_none()).then_some(Offered { entry, sources, bps })
    };
    zip(entries, sources).filter_map(offer).collect()
}

/// Where these entries load links.
pub fn places(all: &[Offered], fabric: &Fabric, routes: &Routes) -> Vec<Place> {
    let ports = HostPorts::of(fabric);
    let hosts = fabric.hosts as usize;
    let (mut sent, mut received) = (vec![0.0; hosts], vec![0.0; hosts]);
    for Offered { entry, sources, bps } in all {
        for (all, end) in [(&mut sent, End::Source), (&mut received, End::Destination)] {
            let ends = ends(entry, sources, fabric.hosts, end);
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
    for Offered { entry, sources, bps } in all {
        let pairs = sampled(entry, sources, fabric.hosts);
        for &(src, dst) in &pairs {
            let mut at = src;
            while at != dst {
                // Shortest paths of a pair of hosts cross the same tiers in a fabric of tiers.
                let link = routes.next_hops(at, dst)[0];
                if let Some(tier) = tier_of[link.index()] {
                    carried[tier] += bps / pairs.len() as f64;
                }
                at = fabric.links[link.index()].to;
            }
        }
    }
    let place = |tier: usize| Place { load: carried[tier] / capacity[tier], rate: slowest[tier] };
    (0..names.len()).map(place).filter(|place| place.load > 0.0).collect()
}

/// Pairs that stand for all of an entry.
fn sampled(entry: &Demand, sources: &[u32], hosts: u32) -> Vec<(NodeId, NodeId)> {
    let stream = Stream::new(0, 0, Purpose::Matrix, name_key(&entry.name));
    if !entry.among_sources {
        return entry.matrix.pairs(hosts, sources, Order::Singly, stream).take(PAIRS).collect();
    }
    let places: Vec<u32> = (0..sources.len() as u32).collect();
    let host = |place: NodeId| NodeId(sources[place.index()]);
    let pairs = entry.matrix.pairs(places.len() as u32, &places, Order::Singly, stream);
    pairs.map(|(src, dst)| (host(src), host(dst))).take(PAIRS).collect()
}
