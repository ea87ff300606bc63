//! The life of a connection: a start opens it, its first packet opens the receiving end, and it closes when its sender is done
//! and its last packet is gone.

use super::Engine;
use crate::engine::contract::endpoint::Endpoint;
use crate::engine::contract::host::Start;
use crate::engine::contract::members::Members;
use crate::engine::data::conn::{Conn, Counts, Subflow};
use crate::engine::data::event::Event;
use crate::engine::data::plan::Parts;
use crate::engine::data::start::{StartKind, start_of};
use crate::engine::network::context::Cx;
use crate::ids::{ConnId, FlowId};
use crate::random::{Purpose, Stream};
use crate::units::Time;

impl<M: Members> Engine<'_, '_, M> {
    /// A flow starts, or a trigger is fired that may start some.
    #[cold]
    pub(in crate::engine) fn start(&mut self, event: Event) {
        let (kind, number) = start_of(&event);
        let Some(id) = self.starts.take((kind, number), &mut self.net) else {
            if kind == StartKind::Window {
                self.end_window();
            }
            return;
        };
        let drawn = kind == StartKind::Drawn;
        let flow = *self.starts.flow(id).expect("it has just been taken");
        if drawn {
            self.counts.push(Counts::UNFINISHED);
        }
        let carrier = &self.plan.carriers[flow.entry as usize];
        self.started_at = self.net.now;
        if !self.starts.to_come() {
            // From now on the run stalls sooner than the horizon was set for.
            self.horizon = Time::ZERO;
        }
        let background = !self.plan.awaits(&flow);
        if !background {
            self.net.moved_at = self.net.now;
            self.begun += 1;
            // Which flows a window has is known of those whose start is.
            let counted = match self.plan.traffic.window.ends() {
                true => kind == StartKind::Timed,
                false => !drawn || self.plan.traffic.chains.flows_max(number).is_some(),
            };
            self.goal += u64::from(!counted);
        }
        // The 5-tuple is the flow's own: flows of other entries do not move it.
        let key = flow.key;
        let Parts { seed, replica, .. } = self.plan.parts;
        let label = Stream::new(seed, replica, Purpose::FiveTuple, key).bits() as u32;
        let ports = self.net.ports_of(flow.src, flow.dst, label, carrier.balancer);
        let conn = Conn {
            flow: id,
            label,
            transport: carrier.model,
            config: carrier.config,
            balancer: carrier.balancer,
            background,
            priority: carrier.priority,
            class: carrier.class,
            size: flow.size,
            key,
            start: flow.start,
            ..Conn::between(flow.src, flow.dst)
        };
        let conn = conn.fresh(ports);
        let due = flow.deadline.map_or(Time::NEVER, |after| self.net.now.saturating_add(after));
        let start = Start { size: flow.size, key, due };
        if carrier.kept {
            return self.start_message(flow.entry, start, conn);
        }
        let id = self.net.open(conn);
        let mut cx = Cx { net: &mut self.net, transport: carrier.model, host: flow.src };
        self.transports[usize::from(carrier.model)].start(id, start, &mut cx);
        self.see_start(id);
    }

    /// The measuring window ends, which the run awaited besides its flows: one more of what has begun and ended, so that
    /// flows that are open stay so in number.
    fn end_window(&mut self) {
        self.begun += 1;
        self.flows_done += 1;
        self.ended_at = self.ended_at.max(self.net.now);
        self.horizon = Time::ZERO;
        if self.flows_done == self.goal && self.status.is_none() {
            self.complete_soon();
        }
    }

    /// At the receiver of a packet: its end of the connection opens with the first one that arrives, that of the whole
    /// flow before that of a subflow.
    #[cold]
    #[inline(never)]
    pub(in crate::engine) fn accept(&mut self, via: ConnId) {
        for id in [self.net.conns[via.index()].parent, via] {
            if id != ConnId::NONE && !self.net.conns[id.index()].receiver.accepted {
                let conn = &mut self.net.conns[id.index()];
                conn.receiver.accepted = true;
                let Conn { transport, dst, .. } = *conn;
                let mut cx = Cx { net: &mut self.net, transport, host: dst };
                self.transports[usize::from(transport)].accept(id, &mut cx);
            }
        }
    }

    /// A connection may be over, unless its sender still has something to do.
    #[inline]
    pub(in crate::engine) fn gone(&mut self, id: ConnId) {
        if self.net.conns[id.index()].sender.done {
            self.net.after.gone(id);
        }
    }

    /// Counts a flow as ended whose sender is done, once its packets are gone or all that it sent is acknowledged; with
    /// its last packet and timer the connection's slot is free.
    pub(in crate::engine) fn close_if_over(&mut self, id: ConnId) {
        let conn = &mut self.net.conns[id.index()];
        if !conn.open || !conn.sender.done {
            return;
        }
        let gone = conn.network.packets == 0;
        // What exists in all parts is known when they meet.
        let parted = self.net.remote.is_parted();
        if parted && !std::mem::replace(&mut conn.closing, true) {
            self.closing.push(id);
        }
        let gone = gone && !parted;
        // Once all is acknowledged, packets in flight change nothing.
        if gone || conn.sender.acked_at != Time::NEVER {
            self.count_ended(id, self.net.now);
        }
        if gone {
            self.close(id);
        }
    }

    /// Counts a flow as ended at that time, unless it is counted, or is a subflow.
    pub(in crate::engine) fn count_ended(&mut self, id: ConnId, at: Time) {
        let conn = &mut self.net.conns[id.index()];
        if conn.parent != ConnId::NONE || std::mem::replace(&mut conn.counted, true) {
            return;
        }
        if !conn.background {
            self.flows_done += 1;
            self.ended_at = self.ended_at.max(at);
            // Without an open flow the run stalls sooner than the horizon was set for.
            (self.net.moved_at, self.horizon) = (self.net.moved_at.max(at), Time::ZERO);
        }
        if self.flows_done == self.goal && self.status.is_none() {
            self.complete_soon();
        }
    }

    /// Closes a connection whose sender is done and whose packets are gone.
    pub(in crate::engine) fn close(&mut self, id: ConnId) {
        let conn = &mut self.net.conns[id.index()];
        if conn.flow != FlowId::NONE {
            let (flow, parent) = (conn.flow, conn.parent);
            if parent == ConnId::NONE {
                self.counts[flow.index()] = conn.counts();
                conn.close();
            } else {
                self.close_subflow(id, parent);
            }
        }
        let conn = &mut self.net.conns[id.index()];
        if conn.sender.timers + conn.receiver.timers == 0 && !conn.sender.ready {
            conn.open = false;
            self.net.free_conns.push(id);
        }
    }

    /// Ends a subflow, whose packets its flow counts; with the last one, the flow may be over.
    #[cold]
    #[inline(never)]
    pub(in crate::engine) fn close_subflow(&mut self, id: ConnId, parent: ConnId) {
        let conn = &mut self.net.conns[id.index()];
        let subflow = Subflow::from(&*conn);
        let ended_at = conn.network.ended_at;
        conn.close();
        self.subflows.push(subflow);
        let whole = &mut self.net.conns[parent.index()];
        whole.add_packets(&subflow.counts);
        // Parts close subflows in any order.
        whole.network.end(ended_at.max(whole.network.ended_at));
        self.net.after.gone(parent);
    }
}
