//! Prefetching: the memory that an event will touch is requested before its time comes.
//!
//! A fabric's ports and packets do not fit into the first-level cache, and each event touches others than the
//! one before. The addresses are known before the event, though: its packet as soon as it is scheduled, and
//! its next port as soon as the packet can be read, if the balancer can choose by then. Prefetching changes
//! only the running time.

use super::egress::Egress;
use crate::engine::calendar::UNSEEN;
use crate::engine::calendar::prefetch::prefetch;
use crate::engine::contract::members::Members;
use crate::engine::contract::path::{Choose, Hop};
use crate::engine::data::arena::Arena;
use crate::engine::data::conn::Conn;
use crate::engine::data::event::{Event, Links, Phase};
use crate::engine::data::packet::flag;
use crate::engine::data::paths::Paths;
use crate::ids::{LinkId, NodeId, PacketId};
use crate::routing::Routes;

/// The packet has arrived where it was going.
pub const HERE: u32 = UNSEEN - 1;

/// The parts of the [`crate::engine::network::Network`] that determine the addresses that an event will touch.
pub struct Ahead<'a, M: Members> {
    pub arena: &'a Arena,
    pub egress: &'a [Egress<M::Queue>],
    pub links: &'a Links,
    pub ends: &'a [NodeId],
    pub conns: &'a [Conn],
    pub balancers: &'a [M::Balancer],
    pub routes: &'a Routes,
    pub paths: &'a Paths,
}

impl<M: Members> Ahead<'_, M> {
    /// Prefetches the packet of an event that is due a little later.
    #[inline(always)]
    pub fn fetch_packet(&self, event: &Event) {
        if event.phase() == Phase::Arrival as u8 {
            prefetch(&self.arena[PacketId(event.a)], 1);
        }
    }

    /// Prefetches the rest of an event that is due next. If it is a packet's arrival, returns the packet's
    /// next link if that is known, or that there is none where its path ends.
    #[inline(always)]
    pub fn fetch_rest(&self, event: &Event) -> u32 {
        if event.phase() == Phase::Arrival as u8 {
            let (at, packet) = (self.ends[self.links.of(event).index()], &self.arena[PacketId(event.a)]);
            if packet.dst == at {
                prefetch(&self.conns[packet.conn.index()], 3);
                return HERE;
            }
            if packet.has(flag::ROUTED) {
                let next = self.paths.next_at(at, packet, packet.hops.wrapping_add(1), self.ends);
                self.fetch_port(next);
                return next.0;
            }
            let next_hops = self.routes.next_hops(at, packet.dst);
            let choice = match next_hops {
                [_] => Some(0),
                [] => None,
                _ => {
                    let (to, label, hops) = (packet.dst, packet.label, packet.hops.wrapping_add(1));
                    let hop = Hop { at, to, label, hops, ticket: event.order, next_hops };
                    self.balancers[packet.balancer as usize].foresee(hop)
                }
            };
            if let Some(choice) = choice {
                let next = next_hops[choice as usize];
                self.fetch_port(next);
                return next.0;
            }
        } else if event.phase() == Phase::Departure as u8 {
            self.fetch_port(self.links.of(event));
        }
        UNSEEN
    }

    #[inline(always)]
    fn fetch_port(&self, link: LinkId) {
        prefetch(&self.egress[link.index()], 4);
    }
}
