//! Starts of flows in a network of packets: events of the calendar, here or in another part of the run.

use super::Network;
use crate::engine::contract::members::Members;
use crate::engine::contract::schedule::{Pending, Schedule, StartKind};
use crate::engine::data::event::Event;
use crate::ids::NodeId;
use crate::units::Time;

impl<M: Members> Schedule for Network<'_, M> {
    fn now(&self) -> Time {
        self.now
    }

    fn at(&mut self, time: Time, start: Pending) -> u64 {
        let order = start.order(|host| self.host_ranks[host.index()]);
        let event = Event { time, order, a: start.number };
        if start.kind != StartKind::Window && self.remote.is_remote(start.host) {
            self.remote.starts.push((start.host, event));
        } else {
            self.calendar.push(event);
        }
        // A start at the present instant takes place right after the present event, even if that has a later order.
        if time == self.now { order.max(self.calendar.place()) } else { order }
    }

    fn idle_delay(&self, from: NodeId, to: NodeId, bytes: u64) -> Time {
        let path = self.whole.best_path(self.fabric, from, to, bytes);
        let links = path.iter().map(|link| &self.fabric.links[link.index()]);
        links.fold(Time::ZERO, |sum, link| sum + link.rate.transmission(bytes) + link.delay)
    }
}
