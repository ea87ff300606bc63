//! Deadlocks of a lossless fabric: ports that are paused or have no credit, each for packets that wait at another one.
//!
//! A paused port may resume when fewer of its bytes are queued behind its link. It never will if all of these
//! wait at ports that are paused themselves and never resume: the largest set of ports that only wait for
//! each other. If such a set exists, it has a cycle, and no packet in it has moved or ever will. A port
//! without credit is in the same position: it resumes when some of the bytes it sent have left the node
//! behind its link.

use crate::engine::contract::discipline::Discipline;
use crate::engine::contract::members::Members;
use crate::engine::data::credit;
use crate::engine::data::gate::{CLASSES, Gate};
use crate::engine::network::Network;
use crate::engine::network::egress::PortQueue;
use crate::ids::{LinkId, NodeId};
use crate::topology::{Fabric, Link};
use crate::units::Time;

/// Ports that have been stopped for so long are looked at, so often.
pub(in crate::engine) const LOOK_EVERY: Time = Time(1_000_000_000);

/// When to look for a deadlock first.
pub(in crate::engine) fn first_look<M: Members>(net: &Network<'_, M>) -> Time {
    if net.is_lossless() { LOOK_EVERY } else { Time::NEVER }
}

/// The links of a cycle of ports that wait for each other, paused since that time or before, or without credit; each
/// one's packets are behind those of the next. None if there is none. `nets` has the parts of the run.
pub(in crate::engine) fn deadlock<M: Members>(
    nets: &[&Network<'_, M>],
    fabric: &Fabric,
    since: Time,
) -> Vec<LinkId> {
    if !nets[0].is_lossless() {
        return Vec::new();
    }
    let whole = Whole { nets, fabric };
    let mut stuck: Vec<bool> = vec![false; fabric.links.len() * CLASSES];
    for (link, class) in whole.paused(since).chain(whole.without_credit()) {
        stuck[place(link, class)] = true;
    }
    // Most looks end here, and do not go through all that waits.
    if !stuck.contains(&true) {
        return Vec::new();
    }
    let waits = whole.waits_for();
    loop {
        let freed: Vec<_> = waits.iter().filter(|&&(port, other)| stuck[port] && !stuck[other]).collect();
        if freed.is_empty() {
            break;
        }
        freed.into_iter().for_each(|&(port, _)| stuck[port] = false);
    }
    let Some(mut port) = stuck.iter().position(|&stuck| stuck) else {
        return Vec::new();
    };
    let mut way = Vec::new();
    while !way.contains(&port) {
        way.push(port);
        let first = waits.partition_point(|&(other, _)| other < port);
        port = waits[first].1;
    }
    let cycle = way.into_iter().skip_while(|&other| other != port);
    cycle.map(|place| LinkId((place / CLASSES) as u32)).collect()
}

/// A network in its parts. What concerns the head of a link is in the part of the node that feeds it; what concerns its
/// end, and what waits there, in that of the node where it ends.
struct Whole<'w, 'a, M: Members> {
    nets: &'w [&'w Network<'a, M>],
    fabric: &'w Fabric,
}

impl<'w, 'a, M: Members> Whole<'w, 'a, M> {
    /// The part that simulates a node.
    fn of(&self, node: NodeId) -> &'w Network<'a, M> {
        self.nets[self.nets[0].remote.partition.as_ref().map_or(0, |partition| partition.of(node))]
    }

    /// All links, each with the parts of its head and of its end.
    fn links(&self) -> impl Iterator<Item = (LinkId, &'w Network<'a, M>, &'w Network<'a, M>)> {
        let links = self.fabric.links.iter().enumerate();
        links.map(|(at, link)| (LinkId(at as u32), self.of(link.from), self.of(link.to)))
    }

    /// The links and classes that have been paused since that time, and are to be.
    fn paused(&self, since: Time) -> impl Iterator<Item = (LinkId, usize)> {
        let stopped = move |(link, head, end): (LinkId, &Network<'_, M>, &Network<'_, M>)| {
            let gate = end.control.pauses.gates.get(link.index())?;
            // A frame that resumes a class may be in flight.
            let stopped = head.egress[link.index()].port.paused & gate.wanted;
            let since_by_class = head.control.pauses.stops[link.index()].since_by_class;
            let old = move |&class: &usize| stopped & 1 << class != 0 && since_by_class[class] <= since;
            Some((0..CLASSES).filter(old).map(move |class| (link, class)))
        };
        self.links().filter_map(stopped).flatten()
    }

    /// The links and classes that stand still until something that they sent moves: it all waits at the node behind, and
    /// no credit is in flight.
    fn without_credit(&self) -> Vec<(LinkId, usize)> {
        let mut found = Vec::new();
        let mut waiting: Option<Vec<Vec<[u32; credit::CLASSES]>>> = None;
        for (link, head, end) in self.links() {
            let (heads, ends) = (&head.control.credits, &end.control.credits);
            let Some(credit) = heads.links.get(link.index()).filter(|credit| credit.is_limited()) else {
                continue;
            };
            for class in 0..credit::CLASSES {
                let given = credit.given[class];
                let window = credit.window[class] + ends.links[link.index()].owed[class];
                let here = window + heads.in_frames(link, class);
                if window == given || here >= heads.full_packet {
                    continue;
                }
                let waiting = waiting
                    .get_or_insert_with(|| self.nets.iter().map(|net| net.charged_waiting()).collect());
                let behind: u32 = waiting.iter().map(|net| net[link.index()][class]).sum();
                if here + behind == given {
                    found.push((link, class));
                }
            }
        }
        found
    }

    /// Pairs of ports, each with a class: packets that came from the first wait at the second. Sorted.
    fn waits_for(&self) -> Vec<(usize, usize)> {
        // The long queues are those of hosts, full of their own packets, which came from nowhere.
        let mut relays = vec![false; self.fabric.nodes.len()];
        for ((link, head, end), Link { to, .. }) in self.links().zip(&self.fabric.links) {
            let queued = |gate: &Gate| gate.waiting.iter().any(|&bytes| bytes > 0);
            relays[to.index()] |= end.control.pauses.gates.get(link.index()).is_some_and(queued)
                || head.control.credits.links.get(link.index()).is_some_and(|credit| credit.is_spent());
        }
        let mut waits = Vec::new();
        for ((link, net, _), Link { from, .. }) in self.links().zip(&self.fabric.links) {
            let PortQueue::Serviced(model) = &net.egress[link.index()].queue else { continue };
            if !relays[from.index()] {
                continue;
            }
            model.resident(&mut |id| {
                let packet = &net.arena[id];
                if let Some(class) = net.stops(packet).filter(|_| packet.ingress != LinkId::NONE) {
                    waits.push((place(packet.ingress, class), place(link, class)));
                }
            });
        }
        waits.sort_unstable();
        waits.dedup();
        waits
    }
}

/// The number of a class at the head of a link.
fn place(link: LinkId, class: usize) -> usize {
    link.index() * CLASSES + class
}
