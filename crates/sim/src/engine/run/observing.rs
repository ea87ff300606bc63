//! Observation of a run, and its progress.

use super::Engine;
use crate::engine::contract::endpoint::Endpoint;
use crate::engine::contract::members::Members;
use crate::engine::contract::observer::{Inside, Observer, PortState, delivered, look_by, next_look, show};
use crate::engine::data::conn::{Conn, Counts};
use crate::engine::data::event::Owner;
use crate::engine::data::finished::LinkCounts;
use crate::engine::data::points::{ConnAt, End, Pace, Point, Seen, carrier};
use crate::engine::data::progress::Progress;
use crate::ids::{ConnId, FlowId, LinkId, NodeId};
use crate::units::Time;

impl<'o, M: Members> Engine<'_, 'o, M> {
    /// Adds an observer; to be called before the run.
    pub fn observe(&mut self, observer: &'o mut dyn Observer) {
        self.watch(observer);
        self.observers.push(observer);
        self.horizon = Time::ZERO;
    }

    /// Notes the points from now on that an observer asks for.
    pub(in crate::engine) fn watch(&mut self, observer: &dyn Observer) {
        let links = self.net.egress.len();
        self.net.after.watch.ask(
            observer.points(),
            links,
            |link| observer.watches_link(link),
            observer.flows(),
        );
        self.net.shows |= self.net.after.watch.is_on();
    }

    /// Shows observers the points until that time, to which the run has come.
    #[inline(never)]
    pub(in crate::engine) fn show_until(&mut self, end: Time) {
        let points = self.points_until(end);
        show(&mut self.observers, &points);
    }

    /// Calls each observer whose next look is due by `end`.
    pub(in crate::engine) fn look_until(&mut self, end: Time) {
        let mut observers = std::mem::take(&mut self.observers);
        look_by(&mut observers, end, self);
        self.observers = observers;
    }

    /// Time of the next look of any observer.
    pub(in crate::engine) fn next_look(&self) -> Time {
        next_look(&self.observers)
    }

    /// Bytes that observers keep.
    pub(in crate::engine) fn observed(&self) -> u64 {
        self.observers.iter().map(|observer| observer.memory()).sum()
    }
}

impl<M: Members> Inside for Engine<'_, '_, M> {
    fn port(&mut self, link: LinkId, at: Time) -> PortState {
        self.net.settle(link, at);
        let egress = &self.net.egress[link.index()];
        PortState { bytes: egress.port.bytes, packets: egress.port.packets, busy: egress.busy(at) }
    }

    fn points_until(&mut self, end: Time) -> Vec<Seen> {
        if !self.net.after.watch.is_on() {
            return Vec::new();
        }
        self.net.settle_all(end);
        self.net.after.watch.take_until(end, |id| self.kept.first(id))
    }

    fn packets(&self) -> usize {
        self.net.arena.live()
    }

    fn conns(&self) -> &[Conn] {
        &self.net.conns
    }

    fn entry(&self, flow: FlowId) -> u32 {
        self.starts.flow(flow).expect("it has started").entry
    }

    fn ended(&self, flow: FlowId) -> Counts {
        self.counts[flow.index()]
    }

    fn window(&self, id: ConnId) -> Option<u64> {
        let Conn { transport, via, .. } = self.net.conns[id.index()];
        self.transports[transport as usize].window(via, &self.net.conns[via.index()])
    }

    fn backlog(&self, host: NodeId) -> Option<u64> {
        let kept = self.transports.iter().filter_map(|transport| transport.waiting(host));
        kept.reduce(|sum, more| sum + more)
    }

    fn counts(&mut self, link: LinkId, at: Time) -> LinkCounts {
        self.net.counts(link, at)
    }

    fn restart_maxima(&mut self, at: Time) {
        for link in 0..self.net.egress.len() {
            self.net.settle(LinkId(link as u32), at);
            self.net.egress[link].port.restart_maxima();
        }
    }

    fn delivered(&self) -> Vec<u64> {
        delivered(self.counts.iter().map(|counts| counts.delivered_bytes), &self.net.conns)
    }
}

impl<M: Members> Engine<'_, '_, M> {
    pub(in crate::engine) fn progress(&self) -> Progress {
        let progress = Progress {
            now: self.net.now,
            from: self.plan.traffic.window.from,
            until: self.plan.until,
            flows_done: self.flows_done,
            flows: self.goal,
            packet_hops: self.net.packet_hops,
            events: self.events,
        };
        progress.without_window(self.plan)
    }
}

/// Points at hosts, for observers.
impl<M: Members> Engine<'_, '_, M> {
    /// A timer has fired if it was due; `before` is the number of points before that.
    #[inline(never)]
    pub(in crate::engine) fn see_timer(&mut self, before: usize, host: NodeId, owner: Owner, kind: u8) {
        if std::mem::take(&mut self.net.after.watch.fired) {
            let place = self.net.event_place();
            let conn = |id| ConnAt::of(&self.net.conns, id);
            let end = match owner {
                Owner::Sender(id) => End::Sender(conn(id)),
                Owner::Receiver(id) => End::Receiver(conn(id)),
                Owner::Interface(link) => End::Interface(link),
            };
            self.net.after.watch.insert(before, place, Point::Timer { host, end, kind });
        }
    }

    /// The connection whose window and rate a timer may change. None of a sender that is done: a subflow keeps its slot
    /// until its last timer, while another flow may have that of its parent.
    pub(in crate::engine) fn paced_by(&self, owner: Owner) -> Option<ConnId> {
        match owner {
            Owner::Sender(id) => (!self.net.conns[id.index()].sender.done).then_some(id),
            _ => None,
        }
    }

    /// Notes the window and the rate of a connection's sender, which has just acted, where they have changed.
    #[inline(never)]
    pub(in crate::engine) fn see_pace(&mut self, id: ConnId) {
        let conns = &self.net.conns;
        let id = carrier(conns, conns[id.index()].via);
        let conn = &conns[id.index()];
        let transport = &self.transports[usize::from(conn.transport)];
        let now = Pace { window: transport.window(id, conn), rate: transport.rate(id, conn) };
        let conn = ConnAt::of(conns, id);
        let place = self.net.event_place();
        let watch = &mut self.net.after.watch;
        let before = watch.pace(id, now);
        if let Some(bytes) = now.window.filter(|_| now.window != before.window) {
            watch.note(place, Point::Window { conn, bytes });
        }
        if let Some(rate) = now.rate.filter(|_| now.rate != before.rate) {
            watch.note(place, Point::Rate { conn, rate });
        }
    }

    /// A flow starts in that slot, which another may have had.
    pub(in crate::engine) fn see_start(&mut self, id: ConnId) {
        if self.net.after.watch.is_on() {
            self.net.after.watch.pace(id, Pace::default());
            self.see_pace(id);
        }
    }
}
