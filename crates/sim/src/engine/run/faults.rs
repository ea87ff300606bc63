//! The events of faults: links change, routes change, and a packet that was lost would have arrived.
//!
//! Faults are known in advance, so a packet's fate is decided when its transmission begins, which may be
//! in retrospect. One that is lost still has its event, of the phase `Lost`, when it would have arrived.

use super::Engine;
use crate::engine::contract::members::Members;
use crate::engine::data::event::{Event, Phase, order};
use crate::engine::data::packet::flag;
use crate::engine::data::plan::Parts;
use crate::engine::data::points::DropReason;
use crate::ids::{ConnId, LinkId, PacketId};
use crate::units::Time;

/// Kinds of events of the phase `Fault`.
const LINKS: u32 = 0;
const ROUTES: u32 = 1;

impl<M: Members> Engine<'_, '_, M> {
    /// Schedules the event of the next change of links, and of routes.
    pub(in crate::engine) fn schedule_fault(&mut self, what: u32) {
        let timeline = self.plan.parts.faults;
        let at = match what {
            LINKS => timeline.steps.get(self.next_fault).map(|step| step.at),
            _ => timeline.epoch_at(self.next_epoch),
        };
        if let Some(time) = at {
            self.net.calendar.push(Event { time, order: order(Phase::Fault, what, 0), a: 0 });
        }
    }

    /// Schedules the first of each.
    pub(in crate::engine) fn schedule_faults(&mut self) {
        self.schedule_fault(LINKS);
        self.schedule_fault(ROUTES);
    }

    /// When routes change first after that time.
    pub(in crate::engine) fn next_routes(&self, after: Time) -> Time {
        let mut epochs = (self.next_epoch..).map_while(|number| self.plan.parts.faults.epoch_at(number));
        epochs.find(|&time| time > after).unwrap_or(Time::NEVER)
    }

    /// Links change, or routes do.
    #[cold]
    pub(in crate::engine) fn fault(&mut self, what: u32) {
        // Each part of a run sees all faults; they count once.
        self.events -= u64::from(self.net.remote.me > 0);
        if what == LINKS {
            let now = self.net.now;
            let steps = &self.plan.parts.faults.steps[self.next_fault..];
            for step in steps.iter().take_while(|step| step.at == now) {
                self.net.change_link(step.link, step.state);
                self.next_fault += 1;
            }
        } else {
            let Parts { fabric, faults, .. } = &self.plan.parts;
            self.net.routes = faults.routes(fabric, self.next_epoch);
            self.next_epoch += 1;
            // Hints for coming events were computed with the earlier routes.
            self.net.calendar.forget_hints();
            self.net.show_routes();
            self.move_connections();
        }
        self.schedule_fault(what);
    }

    /// Hosts with several ports send by one from which there still is a way, but for the ends of connections that have a
    /// whole path: it begins with a port.
    fn move_connections(&mut self) {
        for slot in 0..self.net.conns.len() {
            let conn = self.net.conns[slot];
            if !conn.open {
                continue;
            }
            let (sends, answers) = self.net.ports_of(conn.src, conn.dst, conn.label, conn.balancer);
            let conn = &mut self.net.conns[slot];
            if conn.sender.path_flags & flag::ROUTED == 0 {
                conn.sender.port = sends;
            }
            if conn.receiver.path_flags & flag::ROUTED == 0 {
                conn.receiver.port = answers;
            }
        }
        self.net.move_ranked();
        // Connections that are ready at a port join the ready list of their new one.
        let waiting: Vec<Vec<ConnId>> = (0..self.net.ready.len())
            .map(|link| std::iter::from_fn(|| self.net.ready[link].pop(&mut self.net.conns)).collect())
            .collect();
        for id in waiting.into_iter().flatten() {
            let port = self.net.conns[id.index()].sender.port;
            self.net.ready[port.index()].push(&mut self.net.conns, id);
            self.net.wake(port);
        }
    }

    /// A packet would have arrived, but was lost on the link.
    #[cold]
    pub(in crate::engine) fn lose_on_link(&mut self, link: LinkId, id: PacketId) {
        let fault =
            self.net.egress[link.index()].port.fault.as_mut().expect("only faulty links lose packets");
        fault.lost += 1;
        self.net.forfeit(link, id);
        self.net.lose(link, id, DropReason::Fault);
    }

    /// A packet is at a node from which there is no way to its host.
    #[cold]
    pub(in crate::engine) fn lose_without_way(&mut self, id: PacketId) {
        self.net.unroutable += 1;
        let link = self.net.arena[id].ingress;
        self.net.forfeit(link, id);
        self.net.lose(link, id, DropReason::NoRoute);
    }
}
