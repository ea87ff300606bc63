//! Ideal completion times: the time of a flow that is alone in the network as it was built.
//!
//! The flow's own data packets (its transport's headers, a short last packet) are sent store-and-forward, back to back
//! from its start, over shortest paths by number of hops. No handshake and no other traffic delays them.
//!
//! - A flow whose packets all take one path has the time of the path on which the whole flow is fastest. For a short
//!   flow that is a path of little delay, for a long one a path of high rate.
//! - A flow whose packets spread over several paths (per-packet balancers, MPTCP) has a lower bound that no choice of
//!   paths beats. All its full packets cross each hop, at the summed rate of the links that lead on there; by the
//!   host's own port, or as many of its ports as it has subflows. The short last packet follows them out of the host
//!   and may overtake them behind it. So may all packets of a transport that cuts flows into packets of several lengths;
//!   these cross the link to the destination one after the other, if there is only one.
//! - Where a balancer has longer paths than the shortest (Valiant's by any node, listed routes), none of its paths is faster
//!   than one with as many hops as a shortest path, the best links of both hosts, and between them the best of the network.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::ids::{LinkId, NodeId};
use crate::random::{Purpose, Stream};
use crate::routing::Routes;
use crate::setup::Setup;
use crate::topology::{Fabric, Link};
use crate::traffic::Flow;
use crate::transport::Framing;
use crate::units::{Rate, Time};

/// Between two nodes, most kinds of path of which none is as good as another at every hop. Where there are more, one
/// stands for all that has the highest rate of each hop and the least delay: no path is faster.
const KINDS_MOST: usize = 64;

/// Paths that are alike: a flow takes as long on each. Delays only add up, wherever on the path they are.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Kind {
    /// Of each hop.
    rates: Vec<Rate>,
    /// Of all hops.
    delay: Time,
}

/// Links of one hop that are alike to a full packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Alike {
    /// The time of the fastest path over such a link, without the transmission on it.
    rest: Time,
    transmission: Time,
    links: u64,
}

/// The path of a flow between two hosts.
struct Way {
    kinds: Vec<Kind>,
    /// For a flow that spreads over several paths, hop by hop, the links that it may take.
    hops: Option<Vec<Vec<Alike>>>,
    /// Whether its packets may overtake one another behind their host, and then whether one link alone leads to the destination.
    overtakes: Option<bool>,
    /// How many links of the first hop it may take, and how many of each other.
    ports: u64,
    most: u64,
}

/// Where a host is; hosts of the same place have paths alike. Of a host with one port the node that it hangs on, and
/// the rate and the delay of the way there.
type Place = (NodeId, Rate, Time);

/// The ideal completion times of a run's flows. Paths are looked up once for each pair of places.
pub struct Ideals<'a> {
    setup: &'a Setup,
    seed: u64,
    replica: u64,
    ways: FxHashMap<(Place, Place, u8, u8), Way>,
    /// Looked up with the first way that is longer than the shortest.
    reach: OnceCell<Reach>,
}

impl<'a> Ideals<'a> {
    /// Of a run.
    pub fn new(setup: &'a Setup, seed: u64, replica: u64) -> Ideals<'a> {
        Ideals { setup, seed, replica, ways: FxHashMap::default(), reach: OnceCell::new() }
    }

    /// The flow's, in picoseconds; `None` if its transport cuts flows into packets of random lengths and does
    /// not give these.
    pub fn ideal_fct(&mut self, flow: &Flow) -> Option<u64> {
        let Setup { fabric, routes, carriers, transports, profiles, .. } = self.setup;
        let carrier = &carriers[flow.entry as usize];
        let transport = &transports[carrier.transport as usize];
        let profile = &profiles[carrier.transport as usize];
        let full = Framing { payload: profile.full_packet, header: 0, pad_last: false };
        let framing = profile.framing;
        let own =
            || transport.packets(flow.size, Stream::new(self.seed, self.replica, Purpose::Packets, flow.key));
        let packets = if framing.is_some() { None } else { Some(own()?) };
        let place = |host| place(fabric, routes, host);
        let key = (place(flow.src), place(flow.dst), carrier.transport, carrier.balancer);
        let (setup, reach) = (self.setup, &self.reach);
        let reach = || reach.get_or_init(|| Reach::of(fabric));
        let way =
            self.ways.entry(key).or_insert_with(|| Way::new(setup, flow, framing.unwrap_or(full), reach));
        let ideal = match (packets, framing) {
            (Some(packets), _) => way.ideal_of(packets),
            (None, Some(framing)) => way.ideal(flow.size, framing),
            (None, None) => return None,
        };
        Some(ideal.0)
    }
}

fn place(fabric: &Fabric, routes: &Routes, host: NodeId) -> Place {
    match routes.only_port(host) {
        Some(port) => {
            let Link { to, rate, delay, .. } = fabric.links[port.index()];
            (to, rate, delay)
        }
        None => (host, Rate(0), Time::ZERO),
    }
}

impl Way {
    fn new<'r>(setup: &Setup, flow: &Flow, framing: Framing, reach: impl FnOnce() -> &'r Reach) -> Way {
        let Setup { fabric, routes, carriers, profiles, balancers, .. } = setup;
        let carrier = &carriers[flow.entry as usize];
        let sprayed = balancers[carrier.balancer as usize].spreads();
        let subflows = profiles[carrier.transport as usize].subflows.max(1);
        let levels = levels(fabric, routes, flow.src, flow.dst);
        let most = if sprayed { u64::MAX } else { subflows };
        let packet = framing.payload + framing.header;
        let mut kinds = kinds(fabric, &levels, flow.src, flow.dst);
        if balancers[carrier.balancer as usize].links_most(levels.len() as u32) > levels.len() as u32 {
            let beyond = Beyond::new(reach(), levels.len(), flow.src, flow.dst);
            let hops = (subflows > 1).then(|| beyond.hops(packet));
            keep(&mut kinds, beyond.kind);
            return Way { kinds, overtakes: hops.is_some().then_some(false), hops, ports: subflows, most };
        }
        let several = levels.iter().any(|links| links.len() > 1);
        let spreads = (sprayed || subflows > 1) && several;
        let hops = spreads.then(|| hops(fabric, &levels, flow.src, flow.dst, packet));
        // A controller may give each packet a path of its own.
        let granted = balancers[carrier.balancer as usize].follows_controller() && several;
        let lone_end = levels.len() > 1 && levels.last().is_some_and(|links| links.len() == 1);
        Way { kinds, hops, overtakes: (spreads || granted).then_some(lone_end), ports: subflows, most }
    }

    /// The ideal completion time of a flow of packets of those bytes on the wire.
    fn ideal_of(&self, packets: impl Iterator<Item = u64>) -> Time {
        match self.overtakes {
            None => self.in_order(packets),
            Some(lone_end) => self.overtaking(packets, lone_end),
        }
    }

    /// On one path: each packet follows the one before it at every hop.
    fn in_order(&self, packets: impl Iterator<Item = u64>) -> Time {
        let mut there: Vec<Vec<Time>> =
            self.kinds.iter().map(|kind| vec![Time::ZERO; kind.rates.len()]).collect();
        for bytes in packets {
            for (kind, there) in self.kinds.iter().zip(&mut there) {
                let mut before = Time::ZERO;
                for (rate, there) in kind.rates.iter().zip(there) {
                    before = before.max(*there).saturating_add(rate.transmission(bytes));
                    *there = before;
                }
            }
        }
        let ends = self.kinds.iter().zip(&there);
        let time = |(kind, there): (&Kind, &Vec<Time>)| {
            there.last().map_or(Time::ZERO, |last| last.saturating_add(kind.delay))
        };
        ends.map(time).min().expect("a shortest path")
    }

    /// Over several paths: a packet follows those before it out of the host, and may overtake them behind it. If one link
    /// alone leads to the destination, all cross it, in the order in which they can be there.
    fn overtaking(&self, packets: impl Iterator<Item = u64>, lone_end: bool) -> Time {
        let mut out = vec![Time::ZERO; self.kinds.len()];
        // Of each packet its arrival without others at the last link, and its transmission there.
        let mut at_end: Vec<(Time, Time)> = Vec::new();
        for bytes in packets {
            let mut arrives = (Time(u64::MAX), Time::ZERO);
            for (kind, out) in self.kinds.iter().zip(&mut out) {
                *out = out.saturating_add(kind.rates[0].transmission(bytes));
                let behind = kind.rates[1..].iter().map(|rate| rate.transmission(bytes));
                let last =
                    if lone_end { kind.rates[kind.rates.len() - 1].transmission(bytes) } else { Time::ZERO };
                let there = behind.fold(out.saturating_add(kind.delay), Time::saturating_add);
                arrives = arrives.min((there.saturating_sub(last), last));
            }
            at_end.push(arrives);
        }
        at_end.sort_unstable();
        let cross = |end: Time, (at, across): (Time, Time)| end.max(at).saturating_add(across);
        at_end.into_iter().fold(Time::ZERO, cross)
    }

    /// The ideal completion time of a flow of that size.
    fn ideal(&self, size: u64, framing: Framing) -> Time {
        let (mut full, mut rest) = (size / framing.payload, size % framing.payload);
        if rest > 0 && framing.pad_last {
            (full, rest) = (full + 1, 0);
        }
        let Some(hops) = &self.hops else {
            let time = |kind| pipeline(kind, full, rest, framing);
            return self.kinds.iter().map(time).min().expect("a shortest path");
        };
        let most = |hop: usize| if hop == 0 { self.ports } else { self.most };
        let crossed = hops.iter().enumerate().map(|(hop, links)| crossing(links, full, most(hop)));
        let crossed = if full == 0 { Time::ZERO } else { crossed.max().expect("a hop") };
        if rest == 0 {
            return crossed;
        }
        // The port that has sent least takes the short packet; which one that is, is clear only if ports are alike.
        let before = match hops[0][..] {
            [alike] => full / alike.links.min(self.ports),
            _ if self.ports == 1 => full,
            _ => 0,
        };
        let short = |kind: &Kind| {
            let header = framing.header;
            let waits = times(kind.rates[0].transmission(framing.payload + header), before);
            let hops = kind.rates.iter().map(|rate| rate.transmission(rest + header));
            hops.fold(waits.saturating_add(kind.delay), Time::saturating_add)
        };
        crossed.max(self.kinds.iter().map(short).min().expect("a shortest path"))
    }
}

/// Store-and-forward over one path, `full` packets and a last one with a payload of `rest` bytes unless that is 0,
/// back to back from time zero: the arrival of the last one.
///
/// Equal packets follow the first one at the pace of the slowest hop so far. The last packet, which is shorter, waits
/// at each hop for the one before it.
fn pipeline(kind: &Kind, full: u64, rest: u64, framing: Framing) -> Time {
    // Delays only shift later times: they are added at the end.
    let (mut first, mut slowest, mut last) = (Time::ZERO, Time::ZERO, Time::ZERO);
    for rate in &kind.rates {
        if full > 0 {
            let transmission = rate.transmission(framing.payload + framing.header);
            slowest = slowest.max(transmission);
            first = first.saturating_add(transmission);
            last = last.max(first.saturating_add(times(slowest, full - 1)));
        }
        if rest > 0 {
            last = last.saturating_add(rate.transmission(rest + framing.header));
        }
    }
    last.saturating_add(kind.delay)
}

fn times(time: Time, count: u64) -> Time {
    Time(time.0.saturating_mul(count))
}

/// When the last of `packets` full packets is there if no more than `most` of these links carry them, each link one
/// after the other.
fn crossing(links: &[Alike], packets: u64, most: u64) -> Time {
    let alone = |alike: &Alike, links: u64| {
        alike.rest.saturating_add(times(alike.transmission, packets.div_ceil(links)))
    };
    if let [alike] = links {
        return alone(alike, alike.links.min(most));
    }
    // Links that are not alike: the first time by which the best of them have carried as many.
    let carried = |time: u64| {
        let by = |alike: &Alike| match time.checked_sub(alike.rest.0) {
            Some(left) => (left / alike.transmission.0.max(1), alike.links),
            None => (0, alike.links),
        };
        let mut carried: Vec<(u64, u64)> = links.iter().map(by).collect();
        carried.sort_unstable_by(|one, other| other.cmp(one));
        let (mut sum, mut left) = (0u128, most);
        for (packets, links) in carried {
            let links = links.min(left);
            left -= links;
            sum += u128::from(packets) * u128::from(links);
        }
        sum
    };
    let (mut early, mut late) = (0, links.iter().map(|alike| alone(alike, 1)).min().expect("a link").0);
    while early < late {
        let middle = early + (late - early) / 2;
        if carried(middle) >= u128::from(packets) {
            late = middle;
        } else {
            early = middle + 1;
        }
    }
    Time(late)
}

/// The links of all shortest paths, by the hops before them.
fn levels(fabric: &Fabric, routes: &Routes, from: NodeId, to: NodeId) -> Vec<Vec<LinkId>> {
    let mut levels: Vec<Vec<LinkId>> = Vec::new();
    let mut nodes = vec![from];
    while nodes != [to] {
        let links: Vec<LinkId> = nodes.iter().flat_map(|&node| routes.next_hops(node, to)).copied().collect();
        nodes = links.iter().map(|link| fabric.links[link.index()].to).collect();
        nodes.sort_unstable();
        nodes.dedup();
        levels.push(links);
    }
    levels
}

/// The best that a network has anywhere, and the rates of each node's links, out of it and into it.
struct Reach {
    most: Rate,
    least: Time,
    ends: Vec<[Vec<Rate>; 2]>,
}

impl Reach {
    fn of(fabric: &Fabric) -> Reach {
        let mut ends = vec![[Vec::new(), Vec::new()]; fabric.nodes.len()];
        for link in &fabric.links {
            ends[link.from.index()][0].push(link.rate);
            ends[link.to.index()][1].push(link.rate);
        }
        let most = fabric.links.iter().map(|link| link.rate).max().expect("a link");
        let least = fabric.links.iter().map(|link| link.delay).min().expect("a link");
        Reach { most, least, ends }
    }
}

/// Bound on all paths from a host to another, however long: none beats it.
struct Beyond {
    kind: Kind,
    /// The links of the source, and those of the destination, by their rates.
    ends: [Vec<Rate>; 2],
}

impl Beyond {
    /// Where a shortest path has so many hops.
    fn new(reach: &Reach, hops: usize, from: NodeId, to: NodeId) -> Beyond {
        let ends = [reach.ends[from.index()][0].clone(), reach.ends[to.index()][1].clone()];
        let best = |end: &Vec<Rate>| *end.iter().max().expect("a link of a host");
        let mut rates = vec![reach.most; hops];
        rates[0] = best(&ends[0]);
        rates[hops - 1] = rates[hops - 1].min(best(&ends[1]));
        Beyond { kind: Kind { rates, delay: times(reach.least, hops as u64) }, ends }
    }

    /// The links of both hosts, by the time that a packet of that many bytes needs from end to end.
    fn hops(&self, packet_bytes: u64) -> Vec<Vec<Alike>> {
        let alone = pipeline(&self.kind, 1, 0, Framing { payload: packet_bytes, header: 0, pad_last: false });
        let hop = |rates: &Vec<Rate>| {
            let mut counts: BTreeMap<Time, u64> = BTreeMap::new();
            rates.iter().for_each(|rate| *counts.entry(rate.transmission(packet_bytes)).or_default() += 1);
            let fastest = *counts.keys().next().expect("a link of a host");
            let rest = alone.saturating_sub(fastest);
            counts.into_iter().map(|(transmission, links)| Alike { rest, transmission, links }).collect()
        };
        self.ends.iter().map(hop).collect()
    }
}

/// The rate and the delay of each hop, if all links of a hop have the same.
fn uniform(fabric: &Fabric, levels: &[Vec<LinkId>]) -> Option<Vec<(Rate, Time)>> {
    let of = |link: &LinkId| (fabric.links[link.index()].rate, fabric.links[link.index()].delay);
    let hop = |links: &Vec<LinkId>| {
        let first = of(&links[0]);
        links.iter().all(|link| of(link) == first).then_some(first)
    };
    levels.iter().map(hop).collect()
}

/// The kinds of shortest path, without those that are nowhere better than another one.
fn kinds(fabric: &Fabric, levels: &[Vec<LinkId>], from: NodeId, to: NodeId) -> Vec<Kind> {
    if let Some(hops) = uniform(fabric, levels) {
        let delay = hops.iter().fold(Time::ZERO, |sum, hop| sum.saturating_add(hop.1));
        return vec![Kind { rates: hops.into_iter().map(|hop| hop.0).collect(), delay }];
    }
    // Backwards: from each node to the end.
    let mut behind = BTreeMap::from([(to, vec![Kind { rates: Vec::new(), delay: Time::ZERO }])]);
    for links in levels.iter().rev() {
        let mut here: BTreeMap<NodeId, Vec<Kind>> = BTreeMap::new();
        for link in links {
            let Link { from, to, rate, delay } = fabric.links[link.index()];
            let kinds = here.entry(from).or_default();
            for onward in &behind[&to] {
                let rates = std::iter::once(rate).chain(onward.rates.iter().copied()).collect();
                keep(kinds, Kind { rates, delay: delay.saturating_add(onward.delay) });
            }
        }
        behind = here;
    }
    behind.remove(&from).expect("a shortest path")
}

impl Kind {
    /// Whether no flow is faster over the other one.
    fn is_as_good_as(&self, other: &Kind) -> bool {
        self.delay <= other.delay && self.rates.iter().zip(&other.rates).all(|(own, other)| own >= other)
    }
}

/// Adds a kind, unless another one is as good, and leaves out those that it is as good as.
fn keep(kinds: &mut Vec<Kind>, kind: Kind) {
    if kinds.iter().any(|other| other.is_as_good_as(&kind)) {
        return;
    }
    kinds.retain(|other| !kind.is_as_good_as(other));
    kinds.push(kind);
    if kinds.len() > KINDS_MOST {
        let mut best = kinds.swap_remove(0);
        for kind in kinds.drain(..) {
            best.delay = best.delay.min(kind.delay);
            best.rates.iter_mut().zip(kind.rates).for_each(|(best, rate)| *best = rate.max(*best));
        }
        kinds.push(best);
    }
}

/// The links of each hop, by the time that a packet of that many bytes needs on it from end to end.
fn hops(
    fabric: &Fabric,
    levels: &[Vec<LinkId>],
    from: NodeId,
    to: NodeId,
    packet_bytes: u64,
) -> Vec<Vec<Alike>> {
    if let Some(alike) = uniform(fabric, levels) {
        let transmission = |rate: &Rate| rate.transmission(packet_bytes);
        let path = alike.iter().fold(Time::ZERO, |sum, (rate, delay)| {
            sum.saturating_add(transmission(rate)).saturating_add(*delay)
        });
        let hop = |((rate, _), links): (&(Rate, Time), &Vec<LinkId>)| {
            let transmission = transmission(rate);
            vec![Alike { rest: path.saturating_sub(transmission), transmission, links: links.len() as u64 }]
        };
        return alike.iter().zip(levels).map(hop).collect();
    }
    let link = |id: &LinkId| &fabric.links[id.index()];
    let alone = |link: &Link| link.rate.transmission(packet_bytes).saturating_add(link.delay);
    let least = |table: &mut FxHashMap<NodeId, Time>, node, time: Time| {
        table.entry(node).and_modify(|known| *known = time.min(*known)).or_insert(time);
    };
    // The least time from the source to each node, and from each node to the end.
    let (mut there, mut onward) =
        (FxHashMap::from_iter([(from, Time::ZERO)]), FxHashMap::from_iter([(to, Time::ZERO)]));
    for link in levels.iter().flatten().map(link) {
        let time = there[&link.from].saturating_add(alone(link));
        least(&mut there, link.to, time);
    }
    for link in levels.iter().rev().flatten().map(link) {
        let time = onward[&link.to].saturating_add(alone(link));
        least(&mut onward, link.from, time);
    }
    let alike = |links: &Vec<LinkId>| {
        let mut counts: BTreeMap<(Time, Time), u64> = BTreeMap::new();
        for link in links.iter().map(link) {
            let rest = there[&link.from].saturating_add(link.delay).saturating_add(onward[&link.to]);
            *counts.entry((rest, link.rate.transmission(packet_bytes))).or_default() += 1;
        }
        let alike = |((rest, transmission), links)| Alike { rest, transmission, links };
        counts.into_iter().map(alike).collect()
    };
    levels.iter().map(alike).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    /// Hops of those Gbps and so many links, with a delay of 4 us in all; hops of one link if nothing spreads.
    fn way(hops: &[(u64, u64)], spreads: bool) -> Way {
        let kind =
            Kind { rates: hops.iter().map(|hop| Rate(hop.0 * 1_000_000_000)).collect(), delay: Time(4 * US) };
        let alike =
            hops.iter().map(|hop| vec![Alike { rest: Time::ZERO, transmission: Time::ZERO, links: hop.1 }]);
        let lone_end = hops.last().is_some_and(|hop| hop.1 == 1);
        let hops = spreads.then(|| alike.collect());
        Way { kinds: vec![kind], hops, overtakes: spreads.then_some(lone_end), ports: 1, most: u64::MAX }
    }

    /// Packets of 1500 B and 500 B, 1.2 us and 0.4 us at 10 Gbps. One path of four hops: 4 x 1.2 us, and the short one
    /// behind it.
    #[test]
    fn packets_in_order() {
        let alone = way(&[(10, 1); 4], false);
        assert_eq!(alone.ideal_of([1500, 500].into_iter()), Time((4800 + 400) * US / 1000 + 4 * US));
        assert_eq!(alone.ideal_of([500, 1500].into_iter()), Time((400 + 4800) * US / 1000 + 4 * US));
    }

    /// The same over spines: the short packet is at the last link 2.4 us after the start, before the long one, which takes
    /// 4.8 us. Where as many links lead to the destination, nothing waits there either.
    #[test]
    fn packets_that_overtake() {
        for end in [1, 2] {
            let spines = way(&[(10, 1), (10, 2), (10, 2), (10, end)], true);
            assert_eq!(spines.ideal_of([1500, 500].into_iter()), Time(4800 * US / 1000 + 4 * US));
        }
        // The short packet leaves first: the long one is there 0.4 us later than alone.
        let spines = way(&[(10, 1), (10, 2), (10, 2), (10, 1)], true);
        assert_eq!(spines.ideal_of([500, 1500].into_iter()), Time((400 + 4800) * US / 1000 + 4 * US));
    }

    /// Spines of 100 Gbps: the long packet is at the last link after 1.2 + 0.12 + 0.12 us, the short one later. Both need 1.6 us
    /// there; by links of their own the short one is there before the long one has arrived.
    #[test]
    fn a_lone_link_to_the_destination() {
        let hops = |end| way(&[(10, 1), (100, 2), (100, 2), (10, end)], true);
        assert_eq!(hops(1).ideal_of([1500, 500].into_iter()), Time((1440 + 1600) * US / 1000 + 4 * US));
        assert_eq!(hops(2).ideal_of([1500, 500].into_iter()), Time((1440 + 1200) * US / 1000 + 4 * US));
    }
}
