//! The controller of a run in several parts.
//!
//! A message to or from the controller travels at least as long as a window lasts. Its acts within a window therefore depend
//! on no report of that window, and no host gets an order of that window before the next one: the controller acts for a
//! whole window when the parts have met. It handles the reports of the parts and its own events in the order of all
//! events, so that the channel loses the same messages, and queues get the same numbers, as in a run in one part.

use crate::engine::calendar::Calendar;
use crate::engine::calendar::ties::Ties;
use crate::engine::contract::controller::{Controller, Report};
use crate::engine::contract::observer::Observer;
use crate::engine::data::event::Event;
use crate::engine::data::plan::Agenda;
use crate::engine::network::control_plane::{ACT, ControlPlane};
use crate::engine::network::mailbox::Mailbox;
use crate::ids::QueueId;
use crate::units::Time;
use std::collections::VecDeque;

/// The controller, its events, and the numbers of queues.
pub(in crate::engine) struct CentralControl<C> {
    pub control_plane: Box<ControlPlane<C>>,
    calendar: Calendar,
    /// By part and by its number there, the number of a queue in the run.
    numbers: Vec<Vec<QueueId>>,
    /// By that number, the number in its part.
    pub(super) queues: Vec<QueueId>,
    /// Reports that it has not processed, in order: the keys of their events, their parts.
    reports: VecDeque<(u128, u32, Report)>,
    /// The time of its last event, and how many there were.
    pub now: Time,
    /// See `now`.
    pub events: u64,
}

impl<C: Controller> CentralControl<C> {
    /// The controller before the run.
    pub fn new(mut control_plane: Box<ControlPlane<C>>, parts: usize, agenda: Agenda) -> CentralControl<C> {
        let mut calendar = Calendar::new(agenda, Ties::default());
        control_plane.begin(&mut calendar);
        CentralControl {
            control_plane,
            calendar,
            numbers: vec![Vec::new(); parts],
            queues: Vec::new(),
            reports: VecDeque::new(),
            now: Time::ZERO,
            events: 0,
        }
    }

    /// Its next event.
    pub fn first(&self) -> Option<Event> {
        self.calendar.first()
    }

    /// Collects the reports of all parts: of each, in the order in which they were made.
    pub(super) fn collect<'a>(&mut self, mailboxes: impl Iterator<Item = &'a mut Mailbox>) {
        let before = self.reports.len();
        for (part, mailbox) in (0..).zip(mailboxes) {
            self.reports.extend(mailbox.reports().drain(..).map(|(made, report)| (made, part, report)));
        }
        if self.reports.len() > before {
            // Stable: an event's reports are in order.
            self.reports.make_contiguous().sort_by_key(|&(made, ..)| made);
        }
    }

    /// Processes the reports that were made before its next event.
    pub(super) fn take_reports(&mut self) {
        let next = self.first().map_or(u128::MAX, |event| event.key());
        while let Some((made, part, report)) = self.reports.pop_front_if(|&mut (made, ..)| made < next) {
            self.on_report(made, part, report);
        }
    }

    /// A report that a host of that part has sent. The first one on a queue gives it its number.
    fn on_report(&mut self, key: u128, part: u32, mut report: Report) {
        let numbers = &mut self.numbers[part as usize];
        let queue = report.queue_mut();
        if queue.index() == numbers.len() {
            numbers.push(QueueId(self.queues.len() as u32));
            self.queues.push(*queue);
        }
        *queue = numbers[queue.index()];
        self.control_plane.report(report, Time((key >> 64) as u64), &mut self.calendar);
    }

    /// Handles its next event.
    pub(super) fn handle_next(&mut self, observers: &mut [&mut dyn Observer]) {
        let Some((event, _)) = self.calendar.pop(|_| (), |_| 0) else { return };
        (self.now, self.events) = (event.time, self.events + 1);
        if event.a != ACT {
            let order = self.control_plane.arrive(event.a, event.time, &mut self.calendar);
            assert!(order.is_none(), "orders arrive in their parts");
        } else if self.control_plane.is_due(event.time) {
            observers.iter_mut().for_each(|observer| observer.control_begins());
            // Controllers that read the counters of connections have their runs in one part.
            let orders = self.control_plane.decide(event.time, &[], &mut self.calendar);
            assert!(orders.is_empty(), "orders travel");
            observers.iter_mut().for_each(|observer| observer.control_ends());
        }
    }
}
