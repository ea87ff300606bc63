//! Central control: the contract between the engine and a controller that decides for hosts when, or how
//! fast, to send.
//!
//! A run has one controller or none, and then pays nothing for it. It serves one transport. Under the
//! transport "central" hosts report the packets in their queues, each of which holds the packets to one
//! destination; of any other transport the controller reads the delivered bytes of each connection. It acts
//! after all other events of an instant, when a report is urgent or at times of its own; its orders go to the
//! transport at the hosts, or give a connection another path. Reports and orders cross a control channel
//! outside of the network, without delay or loss unless the configuration says so.
//!
//! A controller sees all hosts at once: unlike ports and hosts it is no part of one node. The controllers themselves are
//! in `controller/`.

use super::Engine;
use super::calendar::Calendar;
use super::conn::Conn;
use super::cx::Cx;
use super::endpoint::Endpoint;
use super::event::{Event, Phase, order};
use super::members::Members;
use super::network::Network;
use crate::ids::{ConnId, FlowId, NodeId, QueueId};
use crate::random::Stream;
use crate::units::Time;

/// A host's report to the controller on one of its queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// A flow has put all its packets into the queue.
    Burst {
        /// The queue; its number is new if this is its first burst.
        queue: QueueId,
        /// The host that sends.
        from: NodeId,
        /// The host that receives.
        to: NodeId,
        /// The flow's connection.
        flow: ConnId,
        /// Payload.
        bytes: u64,
        /// Packets on the wire that carry it.
        packets: u32,
        /// The flow's priority; the lowest number goes first.
        priority: u8,
        /// When it came.
        at: Time,
    },
    /// A packet of the queue has begun its transmission. Only for controllers that request this report.
    Sent {
        /// The queue.
        queue: QueueId,
        /// The connection of the packet.
        flow: ConnId,
        /// The packet's payload.
        bytes: u32,
        /// Whether it is the first that leave to send has let go.
        granted: bool,
    },
    /// The queue has become empty.
    Emptied {
        /// The queue.
        queue: QueueId,
    },
    /// Leave to send was not used: the order was lost, or found nothing to send.
    Unused {
        /// The queue.
        queue: QueueId,
        /// The time for which its order intended it.
        at: Time,
    },
}

/// Leave to send the next packet of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The connection whose packet is meant: its flow goes to the head of the queue.
    pub flow: ConnId,
    /// The slot that it is for, by its order.
    pub slot: Time,
    /// The label that the packet carries, from which balancers read its path; none: the flow's own.
    pub label: Option<u32>,
    /// Bytes on the wire of the slot.
    pub room: u32,
    /// Whether further packets of the queue go with it as long as there is room.
    pub fill: bool,
}

/// An order to a host on one of its queues.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Act {
    /// It may send.
    Send(Grant),
    /// From now on it sends by a leaky bucket.
    Rate {
        /// At this share of the rate of its host's link.
        share: f64,
        /// The label that its packets carry, from which balancers read their path; none: their flows' own.
        label: Option<u32>,
    },
    /// A connection of a transport that has no such queues goes by another path.
    Path(Placed),
}

/// The path of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The connection.
    pub id: ConnId,
    /// When its flow started: its slot may be another's when the order arrives.
    pub start: Time,
    /// The label that its packets carry from now on.
    pub label: u32,
}

/// A connection that is open, with its counters, as a controller sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFlow {
    /// The connection.
    pub id: ConnId,
    /// The host that sends.
    pub from: NodeId,
    /// The host that receives.
    pub to: NodeId,
    /// When its flow started.
    pub start: Time,
    /// Payload that has reached the receiver.
    pub delivered: u64,
}

/// An order of the controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Order {
    /// The host that it is for.
    pub host: NodeId,
    /// The host's queue; of a path the number of the connection.
    pub queue: QueueId,
    /// The action.
    pub at: Time,
    /// What.
    pub act: Act,
}

/// A controller, which decides for all hosts. A new controller implements it.
pub trait Controller {
    /// Whether it has to act on that report at once; otherwise it gets the report when it acts next.
    fn is_urgent(&self, report: &Report) -> bool;

    /// Whether it gets a report of each packet that is sent.
    fn counts_packets(&self) -> bool {
        false
    }

    /// When it acts first, if it does so without a report; else [`Time::NEVER`].
    fn begins(&self) -> Time {
        Time::NEVER
    }

    /// All else of the instant has happened, and the controller acts: on reports, in the order in which they came, or
    /// because it wanted to at this time.
    fn act(&mut self, reports: &[Report], cx: &mut ControlContext);

    /// For the audit: reports inconsistencies of its picture of the queues.
    fn audit(&self, found: &mut dyn FnMut(String)) {
        let _ = found;
    }

    /// Bytes that it takes beyond its own size. For the limit on memory and for benchmarks.
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// A controller's view of the run when it acts, and its decisions.
pub struct ControlContext<'a> {
    /// The present.
    pub now: Time,
    /// The controller's own random stream.
    pub chance: &'a mut Stream,
    /// Its orders.
    pub orders: &'a mut Vec<Order>,
    /// Findings of an audit of this decision; none without an audit.
    pub found: Option<&'a mut Vec<String>>,
    wake: Time,
    conns: &'a [Conn],
    serves: u8,
}

impl ControlContext<'_> {
    /// Wants to act at that time at the latest, after all else of that instant.
    pub fn wake_at(&mut self, time: Time) {
        self.wake = self.wake.min(time.max(Time(self.now.0 + 1)));
    }

    /// The connections that are open of the transport that it serves, in the order of their numbers.
    pub fn flows(&self) -> impl Iterator<Item = OpenFlow> {
        // Messages of a connection that is kept go by its path.
        let own = |(number, conn): &(usize, &Conn)| {
            conn.open && !conn.closed && conn.transport == self.serves && conn.via.index() == *number
        };
        let flow = |(number, conn): (usize, &Conn)| OpenFlow {
            id: ConnId(number as u32),
            from: conn.src,
            to: conn.dst,
            start: conn.start,
            delivered: conn.receiver.delivered_bytes,
        };
        self.conns.iter().enumerate().filter(own).map(flow)
    }
}

/// How reports and orders travel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Channel {
    /// From a host to the controller, and back.
    pub delay: Time,
    /// Probability that a message is lost.
    pub loss: f64,
    /// After this time a lost report or rate is sent again, and leave that was lost is noticed.
    pub timeout: Time,
    /// Each server's clock is late by a time of its own from 0 to this.
    pub clock_error: Time,
}

/// Messages in transit.
#[derive(Clone, Copy, Debug)]
enum Message {
    Report(Report),
    /// With its number among the orders to its queue; 0 where the channel has no delay and loses nothing.
    Order(Order, u32),
}

/// Costs of control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ControlCounts {
    /// Times that the controller acted.
    pub acts: u64,
    /// Reports that hosts sent to it, without retransmissions of lost ones.
    pub reports: u64,
    /// Orders that it sent to hosts, likewise.
    pub orders: u64,
    /// Messages that the channel lost, either way.
    pub lost: u64,
}

/// Orders to a queue that cross the channel, numbered from 1.
#[derive(Clone, Copy, Debug, Default)]
struct Ordered {
    sent: u32,
    arrived: u32,
}

/// Marks an event as an act of the controller.
const ACT: u32 = u32::MAX;

/// The controller with its channel to the hosts.
pub struct Room<C> {
    controller: C,
    /// The model of the transport that it serves.
    serves: u8,
    chance: Stream,
    channel: Channel,
    /// The losses of the channel.
    losses: Stream,
    /// By host, by how much its clock is late.
    clocks: Vec<Time>,
    counts_packets: bool,
    /// Since it has last acted.
    reports: Vec<Report>,
    orders: Vec<Order>,
    /// Messages in transit, by the number in their event, and free numbers.
    messages: Vec<Option<Message>>,
    free: Vec<u32>,
    /// By queue, where the channel delays orders or may lose them: how many have been sent, and the number of the last that
    /// has arrived.
    ordered: Vec<Ordered>,
    /// When it acts next.
    due: Time,
    counter: u32,
    counts: ControlCounts,
    audited: bool,
    found: Vec<String>,
}

impl<C: Controller> Room<C> {
    /// A controller of that transport's model, and the clocks of all hosts.
    pub fn new(
        controller: C,
        serves: u8,
        channel: Channel,
        [chance, losses]: [Stream; 2],
        clocks: Vec<Time>,
    ) -> Room<C> {
        Room {
            counts_packets: controller.counts_packets(),
            controller,
            serves,
            chance,
            channel,
            losses,
            clocks,
            reports: Vec::new(),
            orders: Vec::new(),
            messages: Vec::new(),
            free: Vec::new(),
            ordered: Vec::new(),
            due: Time::NEVER,
            counter: 0,
            counts: ControlCounts::default(),
            audited: false,
            found: Vec::new(),
        }
    }

    /// From now on each decision is audited.
    pub fn audit_decisions(&mut self) {
        self.audited = true;
    }

    /// Costs of control so far.
    pub fn counts(&self) -> ControlCounts {
        self.counts
    }

    /// Bytes of its tables.
    pub fn bytes(&self) -> u64 {
        let own = self.reports.capacity() * size_of::<Report>()
            + self.orders.capacity() * size_of::<Order>()
            + self.messages.capacity() * size_of::<Option<Message>>()
            + self.ordered.capacity() * size_of::<Ordered>()
            + self.clocks.capacity() * size_of::<Time>();
        (own + self.controller.heap_bytes()) as u64
    }

    /// Findings of the audits of its decisions, and inconsistencies of its picture now.
    pub fn audit(&mut self, wrong: &mut Vec<String>) {
        wrong.append(&mut self.found);
        self.controller.audit(&mut |what| wrong.push(format!("controller: {what}")));
    }

    /// A host sends a report.
    pub fn report(&mut self, report: Report, now: Time, calendar: &mut Calendar) {
        if matches!(report, Report::Sent { .. }) && !self.counts_packets {
            return;
        }
        self.counts.reports += 1;
        let delay = self.travels(Time::ZERO);
        if delay == Time::ZERO {
            return self.hear(report, now, calendar);
        }
        self.post(Message::Report(report), now + delay, calendar);
    }

    /// How long a message travels that is sent again until it arrives.
    fn travels(&mut self, least: Time) -> Time {
        let mut delay = self.channel.delay.max(least);
        while self.loses() {
            delay = delay + self.channel.timeout;
        }
        delay
    }

    fn loses(&mut self) -> bool {
        let loses = self.channel.loss > 0.0 && self.losses.unit() < self.channel.loss;
        self.counts.lost += u64::from(loses);
        loses
    }

    fn hear(&mut self, report: Report, now: Time, calendar: &mut Calendar) {
        if self.controller.is_urgent(&report) {
            self.wake(now, calendar);
        }
        self.reports.push(report);
    }

    fn wake(&mut self, at: Time, calendar: &mut Calendar) {
        if at < self.due {
            self.due = at;
            self.push(at, 1, ACT, calendar);
        }
    }

    /// Messages come before the controller acts.
    fn push(&mut self, time: Time, rank: u32, a: u32, calendar: &mut Calendar) {
        self.counter = self.counter.wrapping_add(1);
        calendar.push(Event { time, order: order(Phase::Control, rank, self.counter), a });
    }

    fn post(&mut self, message: Message, at: Time, calendar: &mut Calendar) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.messages.push(None);
            self.messages.len() as u32 - 1
        });
        self.messages[number as usize] = Some(message);
        self.push(at, 0, number, calendar);
    }

    /// Before the run: the controller may act without a report.
    pub fn begin(&mut self, calendar: &mut Calendar) {
        self.wake(self.controller.begins(), calendar);
    }

    /// The controller acts; its orders are in `orders`.
    fn act(&mut self, now: Time, conns: &[Conn], calendar: &mut Calendar) {
        self.due = Time::NEVER;
        self.counts.acts += 1;
        let mut cx = ControlContext {
            now,
            chance: &mut self.chance,
            orders: &mut self.orders,
            found: self.audited.then_some(&mut self.found),
            wake: Time::NEVER,
            conns,
            serves: self.serves,
        };
        self.controller.act(&self.reports, &mut cx);
        let wake = cx.wake;
        self.reports.clear();
        if wake != Time::NEVER {
            self.wake(wake, calendar);
        }
    }

    /// Sends an order to its host. Returns whether it arrives at once.
    #[inline]
    fn send(&mut self, order: &Order, now: Time, calendar: &mut Calendar) -> bool {
        self.counts.orders += 1;
        let at = order.at.max(now) + self.clocks[order.host.index()];
        let immediate = self.channel.delay == Time::ZERO && self.channel.loss == 0.0;
        if immediate && at <= now {
            return true;
        }
        if immediate {
            self.post(Message::Order(*order, 0), at, calendar);
        } else {
            self.send_over_channel(*order, at, now, calendar);
        }
        false
    }

    /// Sends an order whose message has a delay or may be lost.
    #[inline(never)]
    fn send_over_channel(&mut self, order: Order, at: Time, now: Time, calendar: &mut Calendar) {
        let number = self.number(order.queue);
        match order.act {
            Act::Send(grant) => {
                if self.loses() {
                    let unused = Report::Unused { queue: order.queue, at: grant.slot };
                    self.post(Message::Report(unused), at + self.channel.timeout, calendar);
                } else {
                    self.post(Message::Order(order, number), at.max(now + self.channel.delay), calendar);
                }
            }
            Act::Rate { .. } | Act::Path(_) => {
                let delay = self.travels(Time(1));
                self.post(Message::Order(order, number), at.max(now + delay), calendar);
            }
        }
    }

    /// The number of the next order to a queue.
    fn number(&mut self, queue: QueueId) -> u32 {
        if queue.index() >= self.ordered.len() {
            self.ordered.resize(queue.index() + 1, Ordered::default());
        }
        let sent = &mut self.ordered[queue.index()].sent;
        *sent = sent.wrapping_add(1);
        *sent
    }

    /// A message arrives: an order that is to be carried out.
    fn arrive(&mut self, number: u32, now: Time, calendar: &mut Calendar) -> Option<Order> {
        self.free.push(number);
        match self.messages[number as usize].take().expect("its event comes once") {
            Message::Report(report) => {
                self.hear(report, now, calendar);
                None
            }
            Message::Order(order, 0) => Some(order),
            Message::Order(order, number) => {
                let arrived = &mut self.ordered[order.queue.index()].arrived;
                let is_later = number.wrapping_sub(*arrived) as i32 > 0;
                if is_later {
                    *arrived = number;
                }
                // A later rate or path has overtaken a retransmitted one.
                (is_later || matches!(order.act, Act::Send(_))).then_some(order)
            }
        }
    }
}

impl<M: Members> Engine<'_, '_, M> {
    /// A message of central control arrives, or the controller acts.
    #[inline(never)]
    pub(super) fn control(&mut self, event: Event) {
        let now = self.net.now;
        let Network { room, conns, calendar, .. } = &mut self.net;
        let room = room.as_mut().expect("only a controller has such events");
        if event.a != ACT {
            if let Some(order) = room.arrive(event.a, now, calendar) {
                self.obey_orders(&[order]);
            }
            return;
        }
        if room.due != now {
            // It has acted meanwhile.
            return;
        }
        self.observers.iter_mut().for_each(|observer| observer.control_begins());
        room.act(now, conns, calendar);
        let mut orders = std::mem::take(&mut room.orders);
        orders.retain(|order| room.send(order, now, calendar));
        for orders in orders.chunk_by(|order, next| order.host == next.host) {
            self.obey_orders(orders);
        }
        self.observers.iter_mut().for_each(|observer| observer.control_ends());
        orders.clear();
        if let Some(room) = &mut self.net.room {
            room.orders = orders;
        }
    }

    /// Orders have reached their host.
    fn obey_orders(&mut self, orders: &[Order]) {
        if let Act::Path(_) = orders[0].act {
            return orders.iter().for_each(|order| self.net.place(order));
        }
        let transport = self.net.room.as_ref().expect("it gave the orders").serves;
        let mut cx = Cx { net: &mut self.net, transport, host: orders[0].host };
        self.transports[usize::from(transport)].ordered(orders, &mut cx);
    }
}

impl<M: Members> Network<'_, M> {
    /// Gives a connection another path, unless it is over. Messages that it carries go by it, too.
    fn place(&mut self, order: &Order) {
        let Act::Path(Placed { id, start, label }) = order.act else {
            unreachable!("a controller orders paths, or acts of queues");
        };
        let conn = self.conns[id.index()];
        if !conn.open || conn.closed || conn.start != start {
            return;
        }
        self.conns[id.index()].relabel(label);
        if conn.flow == FlowId::NONE {
            let messages = self.conns.iter_mut().filter(|message| message.open && message.via == id);
            messages.for_each(|message| message.relabel(label));
        }
    }
}
