//! Queueing disciplines: the contract between a port and the queue that holds its waiting packets.
//!
//! A discipline is asked on arrival and on departure, and acts through a [`PortContext`]: it keeps, drops, trims or marks
//! packets. The disciplines themselves are in `queue/`.

use super::after::Aftermath;
use super::calendar::Calendar;
use super::conn::Conn;
use super::event::{Event, Phase, order};
use super::gate::Pauses;
use super::packet::{Arena, flag};
use super::port::{Losses, Port};
use crate::ids::{LinkId, PacketId};
use crate::random::Stream;
use crate::units::Time;

/// A packet in a queue. Its size is kept beside its number: whoever serves it need not fetch the packet,
/// which has long left the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The packet.
    pub id: PacketId,
    /// Its bytes on the wire.
    pub size: u32,
}

/// The state of a queue at one port: what a researcher writes.
pub trait Discipline {
    /// A packet arrives. It must be kept, dropped or trimmed, each through `cx`.
    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext);

    /// The wire is free: the packet to send next, none only if nothing waits any more or all that does is paused. It
    /// is still counted in the port, as the one on the wire. Waiting packets may be dropped first, if the queue's
    /// settings say that it acts on departure.
    fn dequeue(&mut self, cx: &mut PortContext) -> Option<Queued>;

    /// A packet arrives while the wire is free and nothing waits: the packet to send at once, if it may pass.
    #[inline]
    fn pass(&mut self, id: PacketId, cx: &mut PortContext) -> Option<Queued> {
        self.enqueue(id, cx);
        self.dequeue(cx)
    }

    /// The time has come that [`PortContext::wake_at`] named; all else of that instant has happened.
    #[cold]
    fn timer(&mut self, cx: &mut PortContext) {
        let _ = cx;
        unreachable!("this queue sets no timer");
    }

    /// Whether nothing waits.
    fn is_empty(&self) -> bool;

    /// Reports every waiting packet: for the audit.
    fn resident(&self, found: &mut dyn FnMut(PacketId));
}

/// What a queue sees of its port and its packets.
pub struct PortContext<'a> {
    /// The present; for a packet served in retrospect, the time at which its turn came.
    pub now: Time,
    /// The packets. Only the common part is a queue's business.
    pub arena: &'a mut Arena,
    /// The port, with its occupancy up to date.
    pub port: &'a mut Port,
    /// The port's own chance.
    pub chance: &'a mut Stream,
    pub(crate) link: LinkId,
    pub(crate) calendar: &'a mut Calendar,
    pub(crate) losses: &'a mut Losses,
    pub(crate) conns: &'a mut [Conn],
    pub(crate) after: &'a mut Aftermath,
    pub(crate) pauses: &'a mut Pauses,
}

impl PortContext<'_> {
    /// A packet of that size joins the port.
    #[inline]
    pub fn keep(&mut self, size: u32) {
        self.port.join(self.now, size);
    }

    /// The packet, which has not joined or has left again, is lost here.
    pub fn drop(&mut self, id: PacketId) {
        let packet = self.arena.remove(id);
        self.losses.dropped.add(packet.size);
        let conn = &mut self.conns[packet.conn.index()];
        conn.network.drops += 1;
        conn.network.packets -= 1;
        if conn.network.packets == 0 {
            self.after.gone(packet.conn);
        }
    }

    /// A packet that has joined is lost before its turn.
    pub fn drop_waiting(&mut self, packet: Queued) {
        self.port.quit(self.now, packet.size);
        self.drop(packet.id);
    }

    /// Sets the port's only timer, which must not be set yet: see [`Discipline::timer`]. In `dequeue`, only by a queue
    /// whose settings say that it acts on departure.
    pub fn wake_at(&mut self, time: Time) {
        debug_assert!(!self.port.timer_set && time > self.now, "one timer a port, and in the future");
        self.port.timer_set = true;
        self.calendar.push(Event {
            time,
            order: order(Phase::Port, self.port.rank, 0),
            a: 0,
            b: self.link.0,
        });
    }

    /// Cuts the payload off a packet that is not counted in the port at this moment; its size from now on.
    pub fn trim(&mut self, id: PacketId, to: u32) -> u32 {
        let packet = &mut self.arena[id];
        let size = packet.size.min(to);
        self.losses.trims += 1;
        self.losses.trimmed_bytes += u64::from(packet.size - size);
        packet.size = size;
        packet.flags |= flag::TRIMMED;
        size
    }

    /// Sends what is left of a data packet, which has not joined, back to its sender.
    #[cold]
    pub fn bounce(&mut self, id: PacketId) {
        let packet = &mut self.arena[id];
        packet.dst = self.conns[packet.conn.index()].src;
        packet.flags |= flag::BOUNCED;
        self.losses.bounced.add(packet.size);
        self.after.bounced(id);
    }

    /// Marks the packet if it is ECN-capable; whether it is.
    #[inline]
    pub fn mark(&mut self, id: PacketId) -> bool {
        let packet = &mut self.arena[id];
        let capable = packet.has(flag::ECN_CAPABLE);
        if capable {
            packet.flags |= flag::CE;
            self.losses.marks += 1;
        }
        capable
    }
}
