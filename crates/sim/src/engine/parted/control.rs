//! The controller among the parts of a run: reports to it, its events between those of the parts, and orders to their hosts.

use super::*;

impl<'a, 'o, M: Members> Parted<'a, 'o, M> {
    /// Handles all reports to the controller and its own events before that time.
    pub(in crate::engine) fn control_until(&mut self, end: Time) {
        while self.controls_before(u128::MAX, end) {}
    }

    /// The controller processes the reports that have been made, and handles its next event if that comes before the
    /// event with that key and before `end`. Returns whether there was one.
    pub(in crate::engine) fn controls_before(&mut self, key: u128, end: Time) -> bool {
        let Some(central) = &mut self.central else { return false };
        central.collect(self.parts.iter_mut().filter_map(|part| part.net.mailbox.as_deref_mut()));
        central.take_reports();
        // A report may have arrived before what was to come next.
        if !central.first().is_some_and(|event| event.key() < key && event.time < end) {
            return false;
        }
        central.handle_next(&mut self.observers);
        for sent_orders in central.control_plane.sent_orders().drain(..) {
            let queue = central.queues[sent_orders.order.queue.index()];
            let net = &mut self.parts[self.partition.of(sent_orders.order.host)].net;
            let mailbox = net.mailbox.as_mut().expect("each part has a mailbox if there is a controller");
            net.calendar.push(mailbox.admit(sent_orders, queue));
        }
        true
    }
}
