//! Points at which observers see a run, in the order of events, until they are shown.
//!
//! A port may decide late (in retrospect) or ahead of time (a committed departure), and the parts of a run go on side by
//! side. Each point is therefore kept with its place among all events, and observers are shown points whose time all ports
//! and all parts have come to, sorted by place. Points of one event stay in the order in which they were noted.

use super::conn::Conn;
use super::numbers::Numbers;
use super::packet::Packet;
use crate::ids::{ConnId, FlowId, LinkId, NodeId, PacketId};
use crate::units::{Rate, Time};

/// A point of a run.
#[derive(Clone, Copy, Debug)]
pub enum Point {
    /// A step in the life of a packet.
    Packet(Step, PacketAt),
    /// A port stops or resumes classes of traffic, because a pause frame has come or a class is out of credit.
    Pause {
        /// The link that the port feeds.
        link: LinkId,
        /// The classes that stand still from now on, a bit each.
        classes: u8,
    },
    /// A timer of a host was due and has fired.
    Timer {
        host: NodeId,
        /// The end that it belongs to.
        end: End,
        /// Its kind, a number of its transport's own.
        kind: u8,
    },
    /// The congestion window of a flow's sender has changed; with subflows, their sum.
    Window {
        conn: ConnAt,
        /// Bytes that it may have in flight.
        bytes: u64,
    },
    /// The rate at which a flow's sender paces its packets has changed.
    Rate { conn: ConnAt, rate: Rate },
}

/// The steps in the life of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The transport of a host has sent it.
    Made,
    /// It has joined a port, where it waits or passes at once. If the port has trimmed or marked it, it is so.
    Enqueued,
    /// Its first bit is on the wire.
    Started,
    /// Its last bit has come out of the link, which counts as crossed.
    Arrived,
    Dropped(DropReason),
    /// A port has cut its payload off.
    Trimmed,
    /// A port has marked it (ECN).
    Marked,
    /// A port has sent its header back to its sender.
    Returned,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The queue had no room for it.
    Full,
    /// It waited, and made room for another.
    Displaced,
    /// The queue chose to, whether it had room or not: active queue management, or a queue in Python.
    Managed,
    /// A fault of the link lost it. The time is that at which it would have arrived.
    Fault,
    /// Faults left no way from the end of the link to its destination.
    NoRoute,
}

/// A packet at a step of its life.
#[derive(Clone, Copy, Debug)]
pub struct PacketAt {
    /// The link that the port feeds; that it has come out of, where it has arrived, or is lost behind its port.
    pub link: LinkId,
    /// The packet as it is from then on.
    pub packet: Packet,
    pub conn: ConnAt,
    /// Bytes in the port after the step, the packet on its wire included, where the port has decided on the packet: it
    /// accepts, drops, trims, marks or returns it. Not of a start on the wire, which a port may compute ahead of time.
    pub queue: Option<u64>,
    /// Whether it has arrived at the host that it is for.
    pub is_last: bool,
}

/// A connection, as far as it stays the same, in runs of any number of parts too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnAt {
    /// Its flow; [`FlowId::NONE`] of the packets and timers of a connection that several flows share.
    pub flow: FlowId,
    /// The flow that names it: the first one, if several share it.
    pub first: FlowId,
    /// The shared connection, whose first flow is not looked up yet.
    shared: ConnId,
    /// Its number among the subflows of the flow.
    pub subflow: u8,
    /// The run's transport that moves it.
    pub transport: u8,
    /// The configuration of that transport.
    pub config: u8,
    pub src: NodeId,
    pub dst: NodeId,
}

/// The end that a timer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The sender of a connection.
    Sender(ConnAt),
    /// The receiver of a connection.
    Receiver(ConnAt),
    /// The interface of a host at which that link ends.
    Interface(LinkId),
}

/// A set of kinds of points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Points(u16);

impl Points {
    /// None.
    pub const NONE: Points = Points(0);
    /// [`Step::Made`].
    pub const MADE: Points = Points(1);
    /// [`Step::Enqueued`].
    pub const ENQUEUED: Points = Points(1 << 1);
    /// [`Step::Started`].
    pub const STARTED: Points = Points(1 << 2);
    /// [`Step::Arrived`].
    pub const ARRIVED: Points = Points(1 << 3);
    /// [`Step::Dropped`].
    pub const DROPPED: Points = Points(1 << 4);
    /// [`Step::Trimmed`].
    pub const TRIMMED: Points = Points(1 << 5);
    /// [`Step::Marked`].
    pub const MARKED: Points = Points(1 << 6);
    /// [`Step::Returned`].
    pub const RETURNED: Points = Points(1 << 7);
    /// [`Point::Pause`].
    pub const PAUSES: Points = Points(1 << 8);
    /// [`Point::Timer`].
    pub const TIMERS: Points = Points(1 << 9);
    /// [`Point::Window`].
    pub const WINDOWS: Points = Points(1 << 10);
    /// [`Point::Rate`].
    pub const RATES: Points = Points(1 << 11);
    /// All of them.
    pub const ALL: Points = Points(u16::MAX);

    /// These and others.
    #[must_use]
    pub const fn and(self, others: Points) -> Points {
        Points(self.0 | others.0)
    }

    /// Whether any of the others is among these.
    pub const fn has(self, others: Points) -> bool {
        self.0 & others.0 != 0
    }
}

impl Step {
    /// Whether a port decides on the packet by it, and knows its bytes.
    pub const fn is_decision(self) -> bool {
        !matches!(self, Step::Made | Step::Started | Step::Arrived)
    }

    const fn kind(self) -> Points {
        match self {
            Step::Made => Points::MADE,
            Step::Enqueued => Points::ENQUEUED,
            Step::Started => Points::STARTED,
            Step::Arrived => Points::ARRIVED,
            Step::Dropped(_) => Points::DROPPED,
            Step::Trimmed => Points::TRIMMED,
            Step::Marked => Points::MARKED,
            Step::Returned => Points::RETURNED,
        }
    }
}

impl Point {
    /// Its kind.
    pub fn kind(&self) -> Points {
        match self {
            Point::Packet(step, _) => step.kind(),
            Point::Pause { .. } => Points::PAUSES,
            Point::Timer { .. } => Points::TIMERS,
            Point::Window { .. } => Points::WINDOWS,
            Point::Rate { .. } => Points::RATES,
        }
    }

    /// The link at which it is, if it is at one.
    pub fn link(&self) -> Option<LinkId> {
        match *self {
            Point::Packet(_, PacketAt { link, .. }) | Point::Pause { link, .. } => Some(link),
            Point::Timer { end: End::Interface(link), .. } => Some(link),
            Point::Timer { .. } | Point::Window { .. } | Point::Rate { .. } => None,
        }
    }

    /// The flow that it is of; [`FlowId::NONE`] if it is of none, or of a connection that several share.
    fn flow(&self) -> FlowId {
        match self {
            Point::Packet(_, PacketAt { conn, .. }) => conn.flow,
            Point::Timer { end: End::Sender(conn) | End::Receiver(conn), .. } => conn.flow,
            Point::Window { conn, .. } | Point::Rate { conn, .. } => conn.flow,
            Point::Pause { .. } | Point::Timer { .. } => FlowId::NONE,
        }
    }

    fn conn(&mut self) -> Option<&mut ConnAt> {
        match self {
            Point::Packet(_, PacketAt { conn, .. }) => Some(conn),
            Point::Timer { end: End::Sender(conn) | End::Receiver(conn), .. } => Some(conn),
            Point::Window { conn, .. } | Point::Rate { conn, .. } => Some(conn),
            Point::Pause { .. } | Point::Timer { .. } => None,
        }
    }
}

impl ConnAt {
    /// That connection now.
    pub fn of(conns: &[Conn], id: ConnId) -> ConnAt {
        let Conn { flow, closed, carried, subflow, transport, config, src, dst, via, .. } = conns[id.index()];
        let flow = if closed { carried } else { flow };
        let carrier = carrier(conns, via);
        let is_shared = conns[carrier.index()].flow == FlowId::NONE && !conns[carrier.index()].closed;
        let shared = if is_shared { carrier } else { ConnId::NONE };
        ConnAt { flow, first: flow, shared, subflow, transport, config, src, dst }
    }
}

/// The connection that stands for a whole flow, or for a shared connection with its subflows.
pub fn carrier(conns: &[Conn], via: ConnId) -> ConnId {
    match conns[via.index()].parent {
        ConnId::NONE => via,
        whole => whole,
    }
}

/// A point with its place among all events.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The sort key of its event, which begins with the time: see `engine/data/event.rs`.
    pub place: u128,
    pub point: Point,
}

impl Seen {
    /// When it was.
    pub fn at(&self) -> Time {
        Time((self.place >> 64) as u64)
    }
}

/// The points that observers ask for and have not been shown yet.
#[derive(Debug, Default)]
pub struct Watch {
    asked: Points,
    /// By link, whether any observer asks for its points.
    links: Vec<bool>,
    /// The flows whose points observers ask for, sorted; none: all.
    flows: Option<Vec<FlowId>>,
    /// By connection, whether it is of one of these, or of several flows: looked at for each step of each packet. Empty if
    /// observers ask for all flows.
    followed: Vec<bool>,
    /// The place of a decision in retrospect, while a port makes one.
    pub turn: Option<u128>,
    /// The packet that a queue is offered, unless it has dropped it.
    pub offered: Option<PacketId>,
    /// Whether the timer of the present event was due.
    pub fired: bool,
    seen: Vec<Seen>,
    /// By connection, the window and the rate that were noted last.
    paces: Vec<Pace>,
}

/// The window and the rate of a sender, where it has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Bytes that it may have in flight.
    pub window: Option<u64>,
    pub rate: Option<Rate>,
}

impl Watch {
    /// An observer asks for those points, at the links for which `at` holds, of these flows or of all.
    pub fn ask(
        &mut self,
        points: Points,
        links: usize,
        at: impl Fn(LinkId) -> bool,
        flows: Option<&[FlowId]>,
    ) {
        if points == Points::NONE {
            return;
        }
        let others = if self.is_on() { self.flows.take() } else { Some(Vec::new()) };
        self.flows = others.zip(flows).map(|(mut all, flows)| {
            all.extend(flows);
            all.sort_unstable();
            all
        });
        self.asked = self.asked.and(points);
        self.links.resize(links, false);
        for (link, asked) in (0..).map(LinkId).zip(&mut self.links) {
            *asked |= at(link);
        }
    }

    /// Whether any observer asks for points.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.asked != Points::NONE
    }

    /// How many points wait.
    pub fn count(&self) -> usize {
        self.seen.len()
    }

    /// Whether an observer asks for points of that flow.
    #[inline]
    fn follows(&self, flow: FlowId) -> bool {
        let asked = |flows: &Vec<FlowId>| flow == FlowId::NONE || flows.binary_search(&flow).is_ok();
        self.flows.as_ref().is_none_or(asked)
    }

    /// Notes a point, if an observer asks for it.
    pub fn note(&mut self, place: u128, point: Point) {
        self.insert(self.seen.len(), place, point);
    }

    /// Notes a point before those that were noted from `at` on.
    pub fn insert(&mut self, at: usize, place: u128, point: Point) {
        let asked = self.asked.has(point.kind());
        if asked && self.follows(point.flow()) && point.link().is_none_or(|link| self.links[link.index()]) {
            self.seen.insert(at, Seen { place, point });
        }
    }

    /// A slot has a connection of that flow from now on, or of several.
    pub fn opens(&mut self, id: ConnId, flow: FlowId) {
        if self.flows.is_some() {
            if id.index() >= self.followed.len() {
                self.followed.resize(id.index() + 1, false);
            }
            self.followed[id.index()] = self.follows(flow);
        }
    }

    /// Whether an observer asks for such a step of a packet of that connection at a link. Most steps are of other flows, where
    /// only some are observed: asked before the point is made.
    #[inline]
    pub fn asks(&self, step: Step, link: LinkId, conn: ConnId) -> bool {
        let follows = || self.flows.is_none() || self.followed[conn.index()];
        self.asked.has(step.kind()) && self.links[link.index()] && follows()
    }

    /// Notes the step of a packet, for which an observer asks.
    pub fn step(&mut self, place: u128, step: Step, packet: PacketAt) {
        self.note(place, Point::Packet(step, packet));
    }

    /// Keeps what a sender's pace is now; returns what it was.
    pub fn pace(&mut self, id: ConnId, pace: Pace) -> Pace {
        if id.index() >= self.paces.len() {
            self.paces.resize(id.index() + 1, Pace::default());
        }
        std::mem::replace(&mut self.paces[id.index()], pace)
    }

    /// Flows that were drawn get their numbers.
    pub fn number(&mut self, numbers: &Numbers) {
        for conn in self.seen.iter_mut().filter_map(|seen| seen.point.conn()) {
            numbers.give(&mut conn.flow);
            numbers.give(&mut conn.first);
        }
    }

    /// Moves the points that wait to those of other parts.
    pub fn append_to(&mut self, all: &mut Vec<Seen>) {
        all.append(&mut self.seen);
    }

    /// Takes the points until that time, in their order.
    pub fn take_until(&mut self, end: Time, first_of: impl Fn(ConnId) -> Option<FlowId>) -> Vec<Seen> {
        take_until(&mut self.seen, end, first_of)
    }
}

/// Takes the points until that time, in their order; `first_of` gives the first flow of a shared connection.
pub fn take_until(seen: &mut Vec<Seen>, end: Time, first_of: impl Fn(ConnId) -> Option<FlowId>) -> Vec<Seen> {
    // Stable: points of one event are in order.
    seen.sort_by_key(|seen| seen.place);
    let later = seen.split_off(seen.partition_point(|seen| seen.at() <= end));
    let mut taken = std::mem::replace(seen, later);
    for conn in taken.iter_mut().filter_map(|seen| seen.point.conn()) {
        if conn.shared != ConnId::NONE {
            conn.first = first_of(conn.shared).unwrap_or(conn.flow);
            // Slots depend on the parts of the run.
            conn.shared = ConnId::NONE;
        }
    }
    taken
}
