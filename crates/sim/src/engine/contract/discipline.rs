//! Queueing disciplines: the contract between a port and the queue that holds its waiting packets.
//!
//! The engine calls a [`Discipline`] when a packet arrives and when one may depart. The discipline acts through a
//! [`PortContext`]: it keeps, drops, trims or marks packets. The disciplines themselves are in `queue/`.

use crate::engine::calendar::Calendar;
use crate::engine::data::arena::Arena;
use crate::engine::data::boundary::OnWire;
use crate::engine::data::conn::Conn;
use crate::engine::data::credit::Word;
use crate::engine::data::deferred::Deferred;
use crate::engine::data::event::{Event, Phase, key, order};
use crate::engine::data::flow_control::FlowControl;
use crate::engine::data::gate::class_of;
use crate::engine::data::packet::{Packet, flag};
pub use crate::engine::data::points::DropReason;
use crate::engine::data::points::{ConnAt, PacketAt, Point, Step};
use crate::engine::data::port::{Losses, Port};
use crate::engine::data::rules::Rules;
use crate::ids::{LinkId, PacketId};
use crate::random::Stream;
use crate::units::Time;

/// A packet in a queue. Its size is kept beside its number, so that the port can serve it without fetching the packet,
/// which has long left the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The packet.
    pub id: PacketId,
    /// Its bytes on the wire.
    pub size: u32,
}

/// The queue at one port. A new queueing discipline implements it.
pub trait Discipline {
    /// A packet arrives. The queue keeps, drops or trims it, each through `cx`.
    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext);

    /// The wire is free: returns the packet to send next; none only if no packet waits, or all waiting packets are paused or
    /// held back until the timer expires.
    /// The packet stays counted in the port while it is on the wire. A queue may drop waiting packets first if its settings
    /// say that it acts on departure.
    fn dequeue(&mut self, cx: &mut PortContext) -> Option<Queued>;

    /// A packet arrives while the wire is free and no packet waits: returns the packet to send at once, if it may pass.
    #[inline]
    fn pass(&mut self, id: PacketId, cx: &mut PortContext) -> Option<Queued> {
        self.enqueue(id, cx);
        self.dequeue(cx)
    }

    /// The timer set by [`PortContext::wake_at`] expires, after all other events of that instant. If packets wait and the wire
    /// is free, [`Discipline::dequeue`] is called next.
    #[cold]
    fn timer(&mut self, cx: &mut PortContext) {
        let _ = cx;
        unreachable!("this queue sets no timer");
    }

    /// Whether all waiting packets may be held back until the timer expires although the wire is free: for the audit.
    #[cold]
    fn holds_back(&self) -> bool {
        false
    }

    /// Its limits and thresholds have this share from now on of what they have without faults. Packets that wait stay.
    #[cold]
    fn scale(&mut self, share: f64) {
        let _ = share;
    }

    /// Bytes that wait and leave before a packet of that class that came now; none if it does not serve classes apart: all.
    fn ahead(&self, class: u8) -> Option<u64> {
        let _ = class;
        None
    }

    /// Whether no packet waits.
    fn is_empty(&self) -> bool;

    /// Reports every waiting packet: for the audit.
    fn resident(&self, found: &mut dyn FnMut(PacketId));
}

/// A port and its packets as its queue sees them.
pub struct PortContext<'a> {
    /// The time of the decision: the present or, for a packet served in retrospect, the time at which its turn came.
    pub now: Time,
    /// The packets. A queue reads only the part that is common to all transports.
    pub arena: &'a mut Arena,
    /// The port, with its occupancy up to date.
    pub port: &'a mut Port,
    /// The port's own random stream.
    pub stream: &'a mut Stream,
    pub(crate) link: LinkId,
    pub(crate) calendar: &'a mut Calendar,
    pub(crate) losses: &'a mut Losses,
    pub(crate) conns: &'a mut [Conn],
    pub(crate) after: &'a mut Deferred,
    pub(crate) control: &'a mut FlowControl,
}

impl PortContext<'_> {
    /// A packet of that size joins the port.
    #[inline(always)]
    pub fn keep(&mut self, size: u32) {
        self.port.join(self.now, size);
        if self.port.shares {
            self.hold(size);
        }
    }

    /// Whether the memory of the switch has room for a packet: asked before the queue sees it.
    #[cold]
    #[inline(never)]
    pub(crate) fn has_room(&mut self, id: PacketId) -> bool {
        let Packet { size, header, .. } = self.arena[id];
        let memory = &mut self.control.memory;
        memory.offered = class_of(header.class);
        memory.admits(self.link.index(), size, self.port.rate, self.now)
    }

    /// The packet that was offered last takes memory.
    #[cold]
    #[inline(never)]
    fn hold(&mut self, size: u32) {
        self.control.memory.grow(self.link.index(), size);
    }

    /// A packet goes on the wire and no longer takes memory.
    #[cold]
    pub(crate) fn free(&mut self, packet: Queued) {
        let (link, class) = (self.link.index(), class_of(self.arena[packet.id].header.class));
        self.control.memory.shrink(link, class, packet.size);
        self.control.memory.sent(link, class, packet.size, self.now);
    }

    /// A packet is on the wire: its arrival.
    #[inline(always)]
    pub(crate) fn arrives(&mut self, event: Event) {
        if self.port.remote == 0 {
            self.calendar.push(event);
        } else {
            self.leaves_part(event);
        }
    }

    /// The same where the link ends in another part of the run.
    #[cold]
    #[inline(never)]
    fn leaves_part(&mut self, event: Event) {
        let mut packet = Some(OnWire { event, ends: self.port.free_at });
        if self.after.leaving.keeps() {
            packet = packet.and_then(|packet| self.after.leaving.begin(self.link, packet));
        }
        if let Some(OnWire { event, .. }) = packet {
            to_other_part(self.arena, self.after, self.port.remote, event);
        }
    }

    /// Drops a packet that is not counted in the port.
    pub fn drop(&mut self, id: PacketId, why: DropReason) {
        let packet = self.arena.remove(id);
        if self.after.watch.is_on() {
            self.see_leaving(Step::Dropped(why), id, &packet);
        }
        self.losses.dropped.add(packet.size);
        let conn = &mut self.conns[packet.conn.index()];
        conn.network.drops += 1;
        if conn.network.end(self.now) {
            self.after.gone(packet.conn);
        }
    }

    /// Drops a credit that is not counted in the port. Dropped credits have a count of their own.
    pub fn drop_credit(&mut self, id: PacketId) {
        let conn = self.arena[id].conn;
        self.losses.credits += 1;
        self.conns[conn.index()].network.credit_drops += 1;
        self.drop(id, DropReason::Full);
    }

    /// Drops a waiting packet, which is counted in the port.
    pub fn drop_waiting(&mut self, packet: Queued, why: DropReason) {
        self.port.quit(self.now, packet.size);
        if self.port.shares {
            let class = class_of(self.arena[packet.id].header.class);
            self.control.memory.shrink(self.link.index(), class, packet.size);
        }
        self.drop(packet.id, why);
    }

    /// Sets the port's only timer, which must not be set yet: see [`Discipline::timer`]. Only a queue whose settings say
    /// that it acts on departure may call it in `dequeue`.
    pub fn wake_at(&mut self, time: Time) {
        debug_assert!(!self.port.timer_set && time > self.now, "one timer a port, and in the future");
        self.port.timer_set = true;
        self.calendar.push(Event { time, order: order(Phase::Port, self.port.rank, 0), a: 0 });
    }

    /// A packet does not fit: how many bytes of it pass all the same, or none if it has been dropped.
    #[cold]
    pub fn refuse(&mut self, id: PacketId, rules: &Rules) -> Option<u32> {
        let packet = &self.arena[id];
        if rules.keep_headers && packet.has(flag::CONTROL | flag::TRIMMED) {
            return Some(packet.size);
        }
        if rules.keep_headers && packet.has(flag::TRIMMABLE) {
            let header = packet.size - u32::from(packet.header.len);
            return Some(self.trim(id, header));
        }
        self.drop(id, DropReason::Full);
        None
    }

    /// Cuts the payload off a packet that is not counted in the port at this moment. Returns its new size.
    pub fn trim(&mut self, id: PacketId, to: u32) -> u32 {
        let packet = &mut self.arena[id];
        let size = packet.size.min(to);
        self.losses.trims += 1;
        self.losses.trimmed_bytes += u64::from(packet.size - size);
        packet.size = size;
        packet.flags = packet.flags & !flag::DROPPABLE | flag::TRIMMED;
        if self.after.watch.is_on() {
            self.see(Step::Trimmed, id);
        }
        size
    }

    /// Sends the header of a trimmed packet, which is not counted in the port, back to its sender.
    #[cold]
    pub fn bounce(&mut self, id: PacketId) {
        let packet = &mut self.arena[id];
        packet.dst = self.conns[packet.conn.index()].src;
        packet.flags |= flag::BOUNCED;
        self.losses.bounced.add(packet.size);
        let packet = *packet;
        if self.after.watch.is_on() {
            self.see_leaving(Step::Returned, id, &packet);
        }
        self.after.bounced(id);
    }

    /// Marks the packet if it is ECN-capable. Returns whether it is.
    #[inline]
    pub fn mark(&mut self, id: PacketId) -> bool {
        let packet = &mut self.arena[id];
        let capable = packet.has(flag::ECN_CAPABLE);
        if capable {
            packet.flags |= flag::CE;
            self.losses.marks += 1;
            if self.after.watch.is_on() {
                self.see(Step::Marked, id);
            }
        }
        capable
    }
}

/// A packet goes to another part of the run, with its arrival; `remote`: see [`Port::remote`].
pub(crate) fn to_other_part(arena: &mut Arena, after: &mut Deferred, remote: u8, event: Event) {
    let (id, outbox) = (PacketId(event.a), after.out.fill(usize::from(remote - 1)));
    if arena.has_records() {
        outbox.records.push(*arena.record(id));
    }
    if arena.has_tags() {
        outbox.tags.push(*arena.tag(id));
    }
    outbox.push(event, arena.remove(id));
}

/// Points at a port, for observers.
impl PortContext<'_> {
    /// The place of what happens here among all events.
    fn place(&self) -> u128 {
        let present = || self.calendar.ties.key(self.now, self.calendar.place());
        self.after.watch.turn.unwrap_or_else(present)
    }

    /// A packet takes a step at this port.
    #[inline]
    pub(crate) fn see(&mut self, step: Step, id: PacketId) {
        if self.after.watch.asks(step, self.link, self.arena[id].conn) {
            let packet = self.arena[id];
            self.show(step, &packet);
        }
    }

    /// Notes the step of a packet, for which an observer asks.
    #[cold]
    fn show(&mut self, step: Step, packet: &Packet) {
        let (place, link) = (self.place(), self.link);
        let queue = step.is_decision().then_some(self.port.bytes);
        let conn = ConnAt::of(self.conns, packet.conn);
        self.after.watch.step(place, step, PacketAt { link, packet: *packet, conn, queue, is_last: false });
    }

    /// A packet leaves the port for good, and is not on its wire.
    #[cold]
    fn see_leaving(&mut self, step: Step, id: PacketId, packet: &Packet) {
        if self.after.watch.asks(step, self.link, packet.conn) {
            self.show(step, packet);
        }
        let watch = &mut self.after.watch;
        watch.offered = watch.offered.filter(|&offered| offered != id);
    }

    /// The port accepts a packet and computes its departure.
    #[inline(never)]
    pub(crate) fn see_committed(&mut self, id: PacketId) {
        self.see(Step::Enqueued, id);
        let begins = self.port.free_at;
        if begins <= self.now {
            return self.see(Step::Started, id);
        }
        self.turn_at(begins);
        self.see(Step::Started, id);
        self.after.watch.turn = None;
    }

    /// From now on the port decides as of that time, at which its wire is free.
    pub(crate) fn turn_at(&mut self, at: Time) {
        self.after.watch.turn = Some(key(at, order(Phase::Departure, self.port.rank, 0)));
    }

    /// The queue has decided on a packet that it was offered: whether it has kept it.
    #[inline(never)]
    pub(crate) fn see_offered(&mut self) {
        if let Some(id) = self.after.watch.offered.take() {
            self.see(Step::Enqueued, id);
        }
    }

    /// The port stops or resumes classes.
    #[cold]
    pub(crate) fn see_pause(&mut self) {
        let place = self.place();
        self.after.watch.note(place, Point::Pause { link: self.link, classes: self.port.paused });
    }
}

impl PortContext<'_> {
    /// The transmission of a waiting packet of data begins here.
    #[inline]
    pub fn spend(&mut self, class: usize, size: u32) {
        let (place, before) = ((self.link, self.now), self.port.paused);
        if let Some(event) = self.control.credits.spend(place, (class, size), self.port) {
            self.calendar.push(event);
        }
        if self.port.paused != before && self.after.watch.is_on() {
            self.see_pause();
        }
    }

    /// A packet of data leaves this port, at which so many bytes of its class go on waiting: its bytes are owed to the
    /// head of the link that it came by.
    #[inline]
    pub fn release(&mut self, packet: PacketId, class: usize, size: u32, word: Word) {
        let ingress = self.arena[packet].ingress;
        let asks = self.control.credits.owe(ingress, class, size);
        if let Some(credit) = self.control.credits.links.get_mut(ingress.index()) {
            credit.queue[class] = u32::try_from(word.queue).unwrap_or(u32::MAX);
            credit.load = word.load;
        }
        if asks {
            self.after.pause(ingress);
        }
    }
}

#[cfg(test)]
pub mod tests {
    //! A port without a network, for unit tests of queues.

    use super::*;
    use crate::engine::calendar::ties::Ties;
    use crate::engine::data::packet::{Header, Packet};
    use crate::engine::data::plan::Agenda;
    use crate::ids::{ConnId, NodeId};
    use crate::random::Purpose;
    use crate::topology::Link;
    use crate::units::Rate;

    /// A port whose packets come and leave when a test says so.
    pub struct FakePort {
        /// The present.
        pub now: Time,
        /// The port itself.
        pub port: Port,
        /// Packets dropped, trimmed and marked.
        pub losses: Losses,
        arena: Arena,
        stream: Stream,
        calendar: Calendar,
        conns: [Conn; 1],
        after: Deferred,
        control: FlowControl,
        came: u32,
    }

    impl FakePort {
        /// The idle port of a link of that rate at time zero.
        pub fn new(rate: Rate) -> FakePort {
            let link = Link { from: NodeId(8), to: NodeId(9), rate, delay: Time::ZERO };
            FakePort {
                now: Time::ZERO,
                port: Port::new(&link, 0),
                losses: Losses::default(),
                arena: Arena::default(),
                stream: Stream::new(0, 0, Purpose::Queue, 0),
                calendar: Calendar::new(Agenda::Heap, Ties::default()),
                conns: [Conn::between(NodeId(0), NodeId(1)).with_packets(u32::MAX)],
                after: Deferred::default(),
                control: FlowControl::default(),
                came: 0,
            }
        }

        /// The port as its queue sees it.
        pub fn cx(&mut self) -> PortContext<'_> {
            PortContext {
                now: self.now,
                arena: &mut self.arena,
                port: &mut self.port,
                stream: &mut self.stream,
                link: LinkId(0),
                calendar: &mut self.calendar,
                losses: &mut self.losses,
                conns: &mut self.conns,
                after: &mut self.after,
                control: &mut self.control,
            }
        }

        /// A packet of 1500 B with those flags comes; packets have numbers from 0.
        pub fn comes(&mut self, queue: &mut impl Discipline, flags: u8) {
            let id = self.packet(flags);
            queue.enqueue(id, &mut self.cx());
        }

        /// Such a packet finds the port idle, and is on its wire from now on.
        pub fn passes(&mut self, queue: &mut impl Discipline, flags: u8) {
            let id = self.packet(flags);
            let packet = queue.pass(id, &mut self.cx()).expect("nothing keeps it");
            self.port.wire_bytes = packet.size;
        }

        fn packet(&mut self, flags: u8) -> PacketId {
            let number = self.came;
            self.came += 1;
            self.arena.insert(Packet {
                created_at: self.now,
                wire_at: Time::NEVER,
                size: 1500,
                conn: ConnId(0),
                dst: NodeId(1),
                ingress: LinkId::NONE,
                label: 0,
                transport: 0,
                balancer: 0,
                flags,
                hops: 0,
                header: Header { number, ..Header::default() },
            })
        }

        /// A packet leaves, on a wire that takes no time: its number.
        pub fn leaves(&mut self, queue: &mut impl Discipline) -> Option<u32> {
            let packet = queue.dequeue(&mut self.cx())?;
            self.port.quit(self.now, packet.size);
            Some(self.arena.remove(packet.id).header.number)
        }
    }
}
