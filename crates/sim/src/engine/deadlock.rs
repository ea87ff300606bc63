//! Deadlocks of a lossless fabric: ports that are paused or have no credit, each for packets that wait at another one.
//!
//! A paused port may resume when fewer of its bytes are queued behind its link. It never will if all of these
//! wait at ports that are paused themselves and never resume: the largest set of ports that only wait for
//! each other. If such a set exists, it has a cycle, and no packet in it has moved or ever will. A port
//! without credit is in the same position: it resumes when some of the bytes it sent have left the node
//! behind its link.

use super::Engine;
use super::credit::charged;
use super::discipline::Discipline;
use super::egress::PortQueue;
use super::gate::{CLASSES, class_of};
use super::members::Members;
use super::network::Network;
use super::packet::Packet;
use crate::ids::LinkId;
use crate::topology::Fabric;
use crate::units::Time;

/// Ports that have been stopped for so long are looked at, so often.
const LOOK_EVERY: Time = Time(1_000_000_000);

impl<M: Members> Engine<'_, '_, M> {
    /// The next event is at `time`, after the time of a look: whether there is a deadlock, for which the run ends.
    #[cold]
    pub(super) fn is_deadlocked(&mut self, time: Time) -> bool {
        let at = self.deadlock_look;
        self.deadlock = self.net.deadlock(self.plan.parts.fabric, Time(at.0 - LOOK_EVERY.0));
        if self.deadlock.is_empty() {
            self.deadlock_look = time + LOOK_EVERY;
            return false;
        }
        self.net.now = at;
        true
    }
}

impl<M: Members> Network<'_, M> {
    /// When to look for a deadlock first.
    pub(super) fn first_deadlock_look(&self) -> Time {
        if self.is_lossless() { LOOK_EVERY } else { Time::NEVER }
    }

    /// Whether nodes tell each other when to stop.
    fn is_lossless(&self) -> bool {
        !self.control.pauses.gates.is_empty() || !self.control.credits.links.is_empty()
    }

    /// The links of a cycle of ports that wait for each other, paused since that time or before, or without credit; each
    /// one's packets are behind those of the next. None if there is none.
    pub fn deadlock(&self, fabric: &Fabric, since: Time) -> Vec<LinkId> {
        if !self.is_lossless() {
            return Vec::new();
        }
        let mut stuck: Vec<bool> = vec![false; self.egress.len() * CLASSES];
        for (link, (gate, stops)) in
            self.control.pauses.gates.iter().zip(&self.control.pauses.stops).enumerate()
        {
            // Word that a class may go on may be on its way.
            let stopped = self.egress[link].port.paused & gate.wanted;
            let old = |&class: &usize| stopped & 1 << class != 0 && stops.since_by_class[class] <= since;
            for class in (0..CLASSES).filter(old) {
                stuck[place(LinkId(link as u32), class)] = true;
            }
        }
        for (link, class) in self.without_credit() {
            stuck[place(link, class)] = true;
        }
        // Most looks end here, and do not go through all that waits.
        if !stuck.contains(&true) {
            return Vec::new();
        }
        let waits = self.who_waits_for_whom(fabric);
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

    /// Pairs of ports, each with a class: packets that came from the first wait at the second. Sorted.
    fn who_waits_for_whom(&self, fabric: &Fabric) -> Vec<(usize, usize)> {
        // The long queues are those of hosts, full of their own packets, which came from nowhere.
        let links = &fabric.links;
        let mut relays = vec![false; fabric.nodes.len()];
        for (link, gate) in links.iter().zip(&self.control.pauses.gates) {
            relays[link.to.index()] |= gate.waiting.iter().any(|&bytes| bytes > 0);
        }
        for (link, credit) in links.iter().zip(&self.control.credits.links) {
            relays[link.to.index()] |= credit.is_spent();
        }
        let mut waits = Vec::new();
        for (link, egress) in self.egress.iter().enumerate().filter(|(at, _)| relays[links[*at].from.index()])
        {
            let PortQueue::Serviced(model) = &egress.queue else { continue };
            model.resident(&mut |id| {
                let packet = &self.arena[id];
                if let Some(class) = self.stops(packet).filter(|_| packet.ingress != LinkId::NONE) {
                    waits.push((place(packet.ingress, class), place(LinkId(link as u32), class)));
                }
            });
        }
        waits.sort_unstable();
        waits.dedup();
        waits
    }

    /// The class of a packet that may be told to stop.
    fn stops(&self, packet: &Packet) -> Option<usize> {
        match self.control.credits.links.is_empty() {
            true => Some(class_of(packet.header.class)),
            false => charged(packet).map(|(class, _)| class),
        }
    }
}

/// The number of a class at the head of a link.
fn place(link: LinkId, class: usize) -> usize {
    link.index() * CLASSES + class
}
