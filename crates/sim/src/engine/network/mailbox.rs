//! Central control at the hosts of one part of a run: reports that wait for the next meeting of all parts, and orders on
//! their way. The controller itself is in `parted/central.rs`.

use super::transit::{Latest, MESSAGE_BYTES, SentOrder, Transit};
use crate::engine::contract::controller::{Order, Report};
use crate::engine::data::event::Event;
use crate::engine::data::numbers::Numbers;
use crate::ids::QueueId;

/// See above.
#[derive(Clone, Debug)]
pub struct Mailbox {
    /// The model of the transport that the controller serves.
    pub serves: u8,
    /// Whether the controller gets a report of each packet.
    counts_packets: bool,
    /// Since all parts have met, in the order in which they were made: each with the key of the event that made it.
    reports: Vec<(u128, Report)>,
    /// With their numbers among those to their queues.
    orders: Transit<(Order, u32)>,
    latest: Latest,
}

impl Mailbox {
    /// Of a part whose hosts have not reported yet.
    pub fn new(serves: u8, counts_packets: bool) -> Mailbox {
        Mailbox {
            serves,
            counts_packets,
            reports: Vec::new(),
            orders: Transit::default(),
            latest: Latest::default(),
        }
    }

    /// A host sends a report during the event with that key.
    pub fn report(&mut self, report: Report, event: u128) {
        if report.concerns(self.counts_packets) {
            self.reports.push((event, report));
        }
    }

    /// Flows that this part has drawn get their numbers.
    pub fn number(&mut self, numbers: &Numbers) {
        self.reports.iter_mut().filter_map(|(_, report)| report.flow_mut()).for_each(|flow| {
            numbers.give(flow);
        });
    }

    /// The reports since all parts have met.
    pub fn reports(&mut self) -> &mut Vec<(u128, Report)> {
        &mut self.reports
    }

    /// An order leaves for a host of this part, on one of its queues by the number that it has here. Returns the event of its
    /// arrival.
    pub fn admit(&mut self, SentOrder { event, order, number }: SentOrder, queue: QueueId) -> Event {
        Event { a: self.orders.put((Order { queue, ..order }, number)), ..event }
    }

    /// An order has arrived; none if a later one has before.
    pub fn arrive(&mut self, number: u32) -> Option<Order> {
        let (order, number) = self.orders.take(number);
        self.latest.admits(&order, number).then_some(order)
    }

    /// Bytes of the orders in transit, counted as in a run in one part.
    pub fn bytes(&self) -> u64 {
        (self.orders.count() * MESSAGE_BYTES) as u64
    }
}
