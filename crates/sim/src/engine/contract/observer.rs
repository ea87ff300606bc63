//! Observers, which watch a run without taking part in it.
//!
//! An observer looks at the network at times of its own choosing, after all events of that instant, or is shown points of
//! the run that it asks for: the steps of packets, pauses, timers, windows and rates ([`Point`]). It cannot change the run:
//! flows, links and the count of events are the same with and without it, and a run without observers has no cost for them.
//!
//! Points come in the order of events, whatever the mode of ports and the number of parts: a port that decides in
//! retrospect, or computes a departure ahead of time, adds a point at its own time. Observers are therefore shown points a
//! while after the event, and before any look at a later time. Of two points of one event the first comes first.

use crate::engine::data::conn::{Conn, Counts};
use crate::engine::data::finished::LinkCounts;
use crate::engine::data::points::Seen;
pub use crate::engine::data::points::{ConnAt, DropReason, End, PacketAt, Point, Points, Step};
use crate::ids::{ConnId, FlowId, LinkId, NodeId};
use crate::units::Time;

/// Observer of a run: the interface for a researcher's own measurement.
pub trait Observer: Send {
    /// When it wants to look at the network next; [`Time::NEVER`] if it does not. Asked after each look.
    fn next_look(&self) -> Time {
        Time::NEVER
    }

    /// The time has come: all events until then, those of that instant included, have happened.
    fn look(&mut self, at: Time, view: &mut View) {
        let _ = (at, view);
    }

    /// The points that it is to be shown: always the same.
    fn points(&self) -> Points {
        Points::NONE
    }

    /// Whether it is to be shown points at that link: always the same.
    fn watches_link(&self, link: LinkId) -> bool {
        let _ = link;
        true
    }

    /// The flows whose points it asks for, sorted: always the same. None: all flows. It may be shown points of others, too, if
    /// another observer asks for them, and is always shown those that are of no flow.
    fn flows(&self) -> Option<&[FlowId]> {
        None
    }

    /// The run has come to a point that it asks for.
    fn see(&mut self, at: Time, point: &Point) {
        let _ = (at, point);
    }

    /// The run's controller begins to decide.
    fn control_begins(&mut self) {}

    /// It has decided, and hosts have received the orders that take effect at once.
    fn control_ends(&mut self) {}

    /// Bytes that it keeps, for the limit of the run's memory.
    fn memory(&self) -> u64 {
        0
    }
}

/// The network at one instant.
pub struct View<'v> {
    inside: &'v mut dyn Inside,
    at: Time,
    quiet_until: Time,
}

/// Queries of a view, whatever the members of the run and however many parts it has.
pub(in crate::engine) trait Inside {
    fn points_until(&mut self, end: Time) -> Vec<Seen>;
    fn port(&mut self, link: LinkId, at: Time) -> PortState;
    fn packets(&self) -> usize;
    fn conns(&self) -> &[Conn];
    fn entry(&self, flow: FlowId) -> u32;
    fn ended(&self, flow: FlowId) -> Counts;
    fn window(&self, id: ConnId) -> Option<u64>;
    fn backlog(&self, host: NodeId) -> Option<u64>;
    fn counts(&mut self, link: LinkId, at: Time) -> LinkCounts;
    fn restart_maxima(&mut self, at: Time);
    fn delivered(&self) -> Vec<u64>;
}

/// Payload delivered by flow: of ended flows, with that of open ones.
pub(in crate::engine) fn delivered(ended: impl Iterator<Item = u64>, conns: &[Conn]) -> Vec<u64> {
    let mut all: Vec<u64> = ended.collect();
    for conn in conns.iter().filter(|conn| carries(conn)) {
        all[conn.flow.index()] = conn.counts().delivered_bytes;
    }
    all
}

/// Whether a connection carries an active flow, or stands for its subflows.
fn carries(conn: &Conn) -> bool {
    conn.open && conn.flow != FlowId::NONE && conn.parent == ConnId::NONE
}

/// A port at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortState {
    /// Bytes in the port, the packet on the wire included.
    pub bytes: u64,
    /// Packets in the port, the one on the wire included.
    pub packets: u32,
    /// Time since the start of the run in which packets were on the wire.
    pub busy: Time,
}

impl View<'_> {
    /// The port that feeds a link.
    pub fn port(&mut self, link: LinkId) -> PortState {
        self.inside.port(link, self.at)
    }

    /// Counters of a link until now.
    pub fn counts(&mut self, link: LinkId) -> LinkCounts {
        self.inside.counts(link, self.at)
    }

    /// From now on, most bytes and packets of a port are those at one instant from now on.
    pub fn restart_maxima(&mut self) {
        self.inside.restart_maxima(self.at);
    }

    /// Payload delivered until now by flow, in bytes, of all flows that are drawn.
    pub fn delivered(&self) -> Vec<u64> {
        self.inside.delivered()
    }

    /// Nothing happens until then, that instant included, but that ports send what they have.
    pub fn quiet_until(&self) -> Time {
        self.quiet_until
    }

    /// Whether no packet is anywhere.
    pub fn is_empty(&self) -> bool {
        self.inside.packets() == 0
    }

    /// Active flows: of each, the connection that carries it or stands for its subflows.
    pub fn connections(&self) -> impl Iterator<Item = (ConnId, &Conn)> {
        let open = |(index, conn): (usize, _)| (ConnId(index as u32), conn);
        let conns = self.inside.conns().iter().enumerate().map(open);
        conns.filter(move |(_, conn): &(_, &Conn)| carries(conn))
    }

    /// The traffic entry of a flow that has started.
    pub fn entry(&self, flow: FlowId) -> u32 {
        self.inside.entry(flow)
    }

    /// Counters of a flow that is no longer open.
    pub fn ended(&self, flow: FlowId) -> Counts {
        self.inside.ended(flow)
    }

    /// Payload that waits at a host in queues of its transport, if there is one that has such queues.
    pub fn backlog(&self, host: NodeId) -> Option<u64> {
        self.inside.backlog(host)
    }

    /// Bytes that a connection may have in flight, if its transport has such a window.
    pub fn window(&self, id: ConnId) -> Option<u64> {
        self.inside.window(id)
    }
}

/// Shows points, in their order, to the observers that ask for them.
pub(in crate::engine) fn show(observers: &mut [&mut dyn Observer], points: &[Seen]) {
    for seen in points {
        let (kind, link) = (seen.point.kind(), seen.point.link());
        for observer in observers.iter_mut() {
            if observer.points().has(kind) && link.is_none_or(|link| observer.watches_link(link)) {
                observer.see(seen.at(), &seen.point);
            }
        }
    }
}

/// Time of the next look of any observer.
pub(in crate::engine) fn next_look(observers: &[&mut dyn Observer]) -> Time {
    observers.iter().map(|observer| observer.next_look()).min().unwrap_or(Time::NEVER)
}

/// Calls each observer whose next look is due by `end`.
pub(in crate::engine) fn look_by(observers: &mut [&mut dyn Observer], end: Time, inside: &mut dyn Inside) {
    loop {
        let at = next_look(observers);
        if at > end || at == Time::NEVER {
            return;
        }
        show(observers, &inside.points_until(at));
        for observer in observers.iter_mut().filter(|observer| observer.next_look() == at) {
            observer.look(at, &mut View { inside, at, quiet_until: end });
            assert!(observer.next_look() > at, "an observer looks once at an instant");
        }
    }
}
