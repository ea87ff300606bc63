//! The limits of a run's memory and work, and of the flows that it may draw: what counts against them, and when the engine
//! compares the two.
//!
//! Work is packet-hops, and what happens without a packet: timers of hosts, of queues and of agents, and the acts of a
//! controller. An end of transmission is no work of its own: ports that decide in retrospect have none.
//!
//! The times depend on the network and on the work so far, and the counts are of what exists at such a time: both
//! are the same in a run of several parts, which therefore ends where a run in one part does. Structures keep the memory
//! of what has ended for what comes next, so that the most at any of these times counts.

use super::memory::{CONN_BYTES, FLOW_BYTES, PACKET_BYTES, RECORD_BYTES, network_bytes};
use crate::engine::contract::members::Members;
use crate::engine::data::finished::Limit;
use crate::engine::data::plan::Plan;
use crate::units::{SECOND, Time};

/// Full packets that all hosts together send between two looks if their links are never idle, and the looks are close: as
/// many as are this share of a limit, and no more than so many.
const SHARE: u64 = 64;
/// See `SHARE`.
const PACKETS: u64 = 1 << 12;
/// Looks at a network in which little happens are up to so many times as far apart.
const FAR: u64 = 1 << 8;
/// So many timers count as a packet-hop for the distance of looks, which takes longer. Links bound the packets between two
/// looks and nothing bounds the timers, so that the first look is soon and later ones may be closer than the close ones.
const TIMERS: u64 = 1 << 3;
/// The first look is no later.
const FIRST: Time = Time::from_us(1);

/// The looks at the limits of a run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// When the next one is: after all events of that instant.
    pub next: Time,
    /// From one to the next; at least, at most.
    step: Time,
    close: Time,
    far: Time,
    /// See `SHARE`.
    most: u64,
    /// Packet-hops by the last one, and timers.
    packet_hops: u64,
    timers: u64,
    /// Bytes of the network without traffic, of a connection and of a packet.
    network: u64,
    packet: u64,
    /// The most connections and packets at any of them.
    conns: u64,
    packets: u64,
}

/// Resource use of a run at one time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Used {
    /// Flows that are drawn, ended ones included.
    pub flows: u64,
    /// Connections that have a slot.
    pub conns: u64,
    /// Packets that exist.
    pub packets: u64,
    /// Bytes of agents, of a controller, of whole paths and of what is observed.
    pub other: u64,
    /// Links crossed by packets.
    pub packet_hops: u64,
    /// Timers that have fired, and acts of a controller.
    pub timers: u64,
}

impl Limits {
    /// Before the run.
    pub fn new<M: Members>(plan: &Plan<M>) -> Limits {
        let parts = &plan.parts;
        let hosts = parts.fabric.links.iter().filter(|link| parts.fabric.is_host(link.from));
        let rate: u128 = hosts.map(|link| u128::from(link.rate.0)).sum();
        let packet = PACKET_BYTES + if parts.members.has_records() { RECORD_BYTES } else { 0 };
        let limits = [plan.work_limit, plan.memory_limit / packet, plan.flows_max];
        let most = limits.map(|limit| limit / SHARE).into_iter().min().unwrap_or(1).clamp(1, PACKETS);
        let picobits = 8 * u128::from(plan.full_packet * most) * u128::from(SECOND);
        let close = u64::try_from(picobits / rate.max(1)).unwrap_or(u64::MAX).clamp(1, SECOND);
        Limits {
            next: Time(close).min(FIRST),
            step: Time(close).min(FIRST),
            close: Time(close),
            far: Time(close * FAR),
            most,
            packet_hops: 0,
            timers: 0,
            network: network_bytes(parts.fabric, parts.routes, parts.members.port_bytes()),
            packet,
            conns: 0,
            packets: 0,
        }
    }

    /// The limit that the run has come to, if it has; the next event is at `next`.
    pub fn look<M>(&mut self, used: &Used, plan: &Plan<M>, next: Time) -> Option<Limit> {
        let (hops, timers) = (used.packet_hops - self.packet_hops, used.timers - self.timers);
        self.step = match () {
            () if timers / TIMERS > 4 * self.most => Time((self.step.min(self.close).0 / 2).max(1)),
            () if hops > 4 * self.most => self.step.min(self.close),
            () if hops + timers / TIMERS < self.most => self.far.min(Time(2 * self.step.0)),
            () => self.step,
        };
        self.next = next.saturating_add(self.step);
        (self.packet_hops, self.timers) = (used.packet_hops, used.timers);
        self.conns = self.conns.max(used.conns);
        self.packets = self.packets.max(used.packets);
        let bytes = self.network
            + used.flows * FLOW_BYTES
            + self.conns * CONN_BYTES
            + self.packets * self.packet
            + used.other;
        match () {
            () if used.flows > plan.flows_max => Some(Limit::Flows),
            () if bytes > plan.memory_limit => Some(Limit::Memory),
            () if used.packet_hops + used.timers > plan.work_limit => Some(Limit::Work),
            () => None,
        }
    }
}
