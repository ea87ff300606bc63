//! The controller of a run, with its channel to the hosts: messages in transit, their losses, the clocks of hosts.
//!
//! Messages of the channel are events like others. In a run of several parts the events of reports and of the controller
//! itself are in the calendar of `parted/central.rs`; orders leave for the calendars of the parts.

use super::mailbox::Mailbox;
use super::transit::{Latest, MESSAGE_BYTES, Message, SentOrder, Transit, of_queue};
use crate::engine::calendar::Calendar;
use crate::engine::contract::controller::{Act, Channel, ControlContext, Controller, Order, Report};
use crate::engine::contract::members::Members;
use crate::engine::data::conn::Conn;
use crate::engine::data::event::{Event, Phase, order};
use crate::engine::data::finished::ControlCounts;
use crate::engine::data::plan::Parts;
use crate::ids::QueueId;
use crate::random::{Purpose, Stream};
use crate::units::Time;

/// Marks an event as an act of the controller.
pub const ACT: u32 = u32::MAX;

/// The controller with its channel to the hosts.
pub struct ControlPlane<C> {
    controller: C,
    /// The model of the transport that it serves.
    pub(in crate::engine) serves: u8,
    stream: Stream,
    channel: Channel,
    /// The losses of the channel.
    losses: Stream,
    /// By host, by how much its clock is late.
    clocks: Vec<Time>,
    counts_packets: bool,
    /// Since it has last acted.
    reports: Vec<Report>,
    orders: Vec<Order>,
    messages: Transit<Message>,
    /// Orders so far, by queue, where the channel delays them or may lose them.
    ordered: Vec<u32>,
    latest: Latest,
    /// By queue, when the controller processes the last report on it, where the channel may lose it.
    heard: Vec<Time>,
    /// In a run of several parts: orders that leave for them.
    sent_orders: Option<Vec<SentOrder>>,
    due: Time,
    counter: u32,
    counts: ControlCounts,
    audited: bool,
    found: Vec<String>,
}

impl<C: Controller> ControlPlane<C> {
    /// The controller of a run, if it has one, and the clocks of all hosts.
    pub fn of<M: Members<Controller = C>>(parts: &Parts<M>) -> Option<Box<ControlPlane<C>>> {
        let (controller, serves, channel) = parts.members.controller()?;
        let stream = |purpose, entity: usize| Stream::new(parts.seed, parts.replica, purpose, entity as u64);
        let late = |host| {
            let share = stream(Purpose::Clock, host).unit();
            Time((channel.clock_error.0 as f64 * share) as u64)
        };
        Some(Box::new(ControlPlane {
            counts_packets: controller.counts_packets(),
            controller,
            serves,
            stream: stream(Purpose::Controller, 0),
            channel,
            losses: stream(Purpose::Controller, 1),
            clocks: (0..parts.fabric.hosts as usize).map(late).collect(),
            reports: Vec::new(),
            orders: Vec::new(),
            messages: Transit::default(),
            ordered: Vec::new(),
            latest: Latest::default(),
            heard: Vec::new(),
            sent_orders: None,
            due: Time::NEVER,
            counter: 0,
            counts: ControlCounts::default(),
            audited: false,
            found: Vec::new(),
        }))
    }

    /// From now on each decision is audited.
    pub fn audit_decisions(&mut self) {
        self.audited = true;
    }

    /// Costs of control so far.
    pub fn counts(&self) -> ControlCounts {
        self.counts
    }

    /// How often it has acted.
    pub fn acts(&self) -> u64 {
        self.counts.acts
    }

    /// Bytes of its tables and of messages in transit: by their number, which does not depend on the parts of a run.
    pub fn bytes(&self) -> u64 {
        let own = self.reports.len() * size_of::<Report>()
            + self.messages.count() * MESSAGE_BYTES
            + self.ordered.len() * size_of::<u32>()
            + self.heard.len() * size_of::<Time>()
            + self.clocks.len() * size_of::<Time>();
        (own + self.controller.heap_bytes()) as u64
    }

    /// From now on the run has several parts: orders leave by [`ControlPlane::posted`]. Returns the end of the channel in each part.
    pub fn mailbox(&mut self) -> Mailbox {
        self.sent_orders = Some(Vec::new());
        Mailbox::new(self.serves, self.counts_packets)
    }

    /// The orders that have left for parts, to be taken out.
    pub fn sent_orders(&mut self) -> &mut Vec<SentOrder> {
        self.sent_orders.as_mut().expect("the run has several parts")
    }

    /// Findings of the audits of its decisions, and inconsistencies of its picture now.
    pub fn audit(&mut self, wrong: &mut Vec<String>) {
        wrong.append(&mut self.found);
        self.controller.audit(&mut |what| wrong.push(format!("controller: {what}")));
    }

    /// A host sends a report.
    pub fn report(&mut self, report: Report, now: Time, calendar: &mut Calendar) {
        if !report.concerns(self.counts_packets) {
            return;
        }
        self.counts.reports += 1;
        let delay = self.travels(Time::ZERO);
        let (at, behind) = self.in_order(report, now + delay);
        if at == now && !behind {
            return self.on_report(report, now, calendar);
        }
        self.post(Message::Report(report), at, calendar);
    }

    /// When a report is processed that arrives at that time: not before those on its queue that were sent earlier and
    /// are retransmitted. And whether another one on its queue may be processed at the same time, but before it.
    fn in_order(&mut self, mut report: Report, at: Time) -> (Time, bool) {
        if self.channel.loss == 0.0 {
            return (at, false);
        }
        let last = of_queue(&mut self.heard, *report.queue_mut());
        let behind = *last >= at;
        *last = at.max(*last);
        (*last, behind)
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

    fn on_report(&mut self, report: Report, now: Time, calendar: &mut Calendar) {
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

    fn push(&mut self, time: Time, rank: u32, a: u32, calendar: &mut Calendar) {
        let event = self.event(time, rank, a);
        calendar.push(event);
    }

    /// Messages come before the controller acts.
    fn event(&mut self, time: Time, rank: u32, a: u32) -> Event {
        self.counter = self.counter.wrapping_add(1);
        Event { time, order: order(Phase::Control, rank, self.counter), a }
    }

    fn post(&mut self, message: Message, at: Time, calendar: &mut Calendar) {
        let number = self.messages.put(message);
        self.push(at, 0, number, calendar);
    }

    fn send_order(&mut self, order: Order, number: u32, at: Time, calendar: &mut Calendar) {
        if self.sent_orders.is_none() {
            return self.post(Message::Order(order, number), at, calendar);
        }
        let event = self.event(at, 0, 0);
        self.sent_orders.get_or_insert_default().push(SentOrder { event, order, number });
    }

    /// Before the run: the controller may act without a report.
    pub fn begin(&mut self, calendar: &mut Calendar) {
        self.wake(self.controller.begins(), calendar);
    }

    /// The controller acts; its orders are in `orders`.
    fn act(&mut self, now: Time, conns: &[Conn], calendar: &mut Calendar) {
        self.due = Time::NEVER;
        let mut cx = ControlContext {
            now,
            stream: &mut self.stream,
            orders: &mut self.orders,
            found: self.audited.then_some(&mut self.found),
            wake: Time::NEVER,
            put_off: false,
            conns,
            serves: self.serves,
        };
        self.controller.act(&self.reports, &mut cx);
        let wake = cx.wake;
        self.counts.acts += u64::from(!cx.put_off);
        self.reports.clear();
        if wake != Time::NEVER {
            self.wake(wake, calendar);
        }
    }

    /// Sends an order to its host. Returns whether it arrives at once.
    #[inline]
    fn send(&mut self, order: &Order, now: Time, calendar: &mut Calendar) -> bool {
        let at = match order.act {
            Act::Send(grant) => grant.slot.max(now),
            Act::Rate { .. } | Act::Path(_) => now,
        };
        let at = at + self.clocks[order.host.index()];
        if self.channel.is_immediate() && at <= now {
            return true;
        }
        if self.channel.is_immediate() {
            self.send_order(*order, 0, at, calendar);
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
                    self.send_order(order, number, at.max(now + self.channel.delay), calendar);
                }
            }
            Act::Rate { .. } | Act::Path(_) => {
                let delay = self.travels(Time(1));
                self.send_order(order, number, at.max(now + delay), calendar);
            }
        }
    }

    /// The number of the next order to a queue.
    fn number(&mut self, queue: QueueId) -> u32 {
        let ordered = of_queue(&mut self.ordered, queue);
        *ordered = ordered.wrapping_add(1);
        *ordered
    }

    /// A message arrives: an order that is to be carried out.
    pub fn arrive(&mut self, number: u32, now: Time, calendar: &mut Calendar) -> Option<Order> {
        match self.messages.take(number) {
            Message::Report(report) => {
                self.on_report(report, now, calendar);
                None
            }
            Message::Order(order, number) => self.latest.admits(&order, number).then_some(order),
        }
    }

    /// Whether the controller acts now: it may have done so since an event was scheduled for it.
    pub fn is_due(&self, now: Time) -> bool {
        self.due == now
    }

    /// The controller acts on what it sees and sends its orders. Returns those that arrive at once.
    pub fn decide(&mut self, now: Time, conns: &[Conn], calendar: &mut Calendar) -> Vec<Order> {
        self.act(now, conns, calendar);
        let mut orders = std::mem::take(&mut self.orders);
        self.counts.orders += orders.len() as u64;
        // A controller that gives rates or paths sends no grant for a later time.
        let are_for_now = orders.first().is_some_and(|order| !matches!(order.act, Act::Send(_)));
        if !(are_for_now && self.channel.is_immediate() && self.channel.clock_error == Time::ZERO) {
            orders.retain(|order| self.send(order, now, calendar));
        }
        orders
    }

    /// Takes back the list from `decide`, whose memory serves the next one.
    pub(in crate::engine) fn reuse(&mut self, mut orders: Vec<Order>) {
        orders.clear();
        self.orders = orders;
    }
}
