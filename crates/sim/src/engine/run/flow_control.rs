//! Events of flow control between the ends of a link: a pause frame arrives, or a credit frame for which a class waits.

use super::Engine;
use crate::engine::contract::members::Members;
use crate::engine::data::event::Event;
use crate::engine::data::gate::CLASSES;
use crate::engine::data::points::Point;
use crate::engine::network::egress::schedule_departure;
use crate::ids::LinkId;
use crate::units::Time;

impl<M: Members> Engine<'_, '_, M> {
    /// A pause frame has arrived over that link: the port that feeds the other direction stops or resumes the classes that
    /// it names. A transmission in progress is completed.
    #[cold]
    pub(in crate::engine) fn obey(&mut self, frame: Event) {
        if !self.net.control.credits.links.is_empty() {
            return self.take_credit(self.net.links.of(&frame));
        }
        let (link, stopped, now) = (self.net.links.of(&frame).reverse(), frame.a as u8, self.net.now);
        let stops = &mut self.net.control.pauses.stops[link.index()];
        let before = std::mem::replace(&mut self.net.egress[link.index()].port.paused, stopped);
        stops.pauses += u64::from((stopped & !before).count_ones());
        if before != 0 {
            stops.paused = stops.paused + (now - stops.since);
        }
        stops.since = now;
        for class in (0..CLASSES).filter(|class| (before ^ stopped) & 1 << class != 0) {
            stops.since_by_class[class] = now;
        }
        if before != stopped && self.net.after.watch.is_on() {
            self.see_pause(link);
        }
        if before & !stopped != 0 {
            self.resume(link);
        }
    }
}

impl<M: Members> Engine<'_, '_, M> {
    /// A frame has come by that link to a port at which a class stood still.
    #[cold]
    pub(in crate::engine) fn take_credit(&mut self, by: LinkId) {
        let (link, now, credits) = (by.reverse(), self.net.now, &mut self.net.control.credits);
        credits.links[link.index()].awaits = false;
        credits.read_frames(link, Time(now.0 + 1));
        let event = credits.await_frame(link);
        let stopped = credits.stopped(&credits.links[link.index()]);
        event.into_iter().for_each(|event| self.net.calendar.push(event));
        let before = std::mem::replace(&mut self.net.egress[link.index()].port.paused, stopped);
        if before != stopped && self.net.after.watch.is_on() {
            self.see_pause(link);
        }
        if before & !stopped != 0 {
            self.resume(link);
        }
    }

    /// Packets may leave a port that had to wait before: now, or when its wire is free.
    #[cold]
    pub(super) fn resume(&mut self, link: LinkId) {
        let port = &mut self.net.egress[link.index()].port;
        if port.serving {
            return;
        }
        if port.free_at > self.net.now {
            return schedule_departure(port, &mut self.net.calendar);
        }
        if self.net.after.watch.is_on() { self.depart::<true>(link) } else { self.depart::<false>(link) }
    }

    /// The classes that stand still at a port have changed: for observers.
    fn see_pause(&mut self, link: LinkId) {
        let place = self.net.event_place();
        let classes = self.net.egress[link.index()].port.paused;
        self.net.after.watch.note(place, Point::Pause { link, classes });
    }
}
