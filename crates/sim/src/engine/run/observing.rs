//! Observation of a run, and its progress.

use super::Engine;
use crate::engine::contract::endpoint::Endpoint;
use crate::engine::contract::members::Members;
use crate::engine::contract::observer::{Inside, Observer, PortState, delivered, look_by, next_look};
use crate::engine::data::conn::{Conn, Counts};
use crate::engine::data::finished::LinkCounts;
use crate::engine::data::progress::Progress;
use crate::ids::{ConnId, FlowId, LinkId, NodeId};
use crate::units::Time;

impl<'o, M: Members> Engine<'_, 'o, M> {
    /// Adds an observer; to be called before the run.
    pub fn observe(&mut self, observer: &'o mut dyn Observer) {
        if observer.watches_packets() {
            self.net.watch_packets();
        }
        self.observers.push(observer);
        self.horizon = Time::ZERO;
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
