//! Starts of flows: those with a given start, those that wait for other flows, those drawn during the run.
//!
//! A flow's completion is observed at one host. A notification event carries it to the trigger's host, and on
//! to the source of the dependent flow. Among the events of one instant at one host, the kind and the number
//! of the starting flow decide the order, not the time at which the start was scheduled. Flows with a given start come
//! before all others of an instant: only the next one of a list has an event, in a run of several parts the next one of
//! each part, and whether it is before a drawn flow of its host must not depend on the other hosts in the list.

use crate::engine::contract::members::Members;
use crate::engine::data::event::{Event, Phase, order};
use crate::engine::data::plan::Parts;
use crate::engine::network::Network;
use crate::ids::{FlowId, NodeId};
use crate::traffic::chains::Chains;
use crate::traffic::dependencies::Milestone;
use crate::traffic::{Flow, Traffic};
use crate::units::Time;
use rustc_hash::FxHashMap;

/// Size of the packet whose one-way delay through the idle network is the default delay of a notification.
const NOTIFY_PACKET: u64 = 64;

/// Kinds of events of phase `Start`.
pub mod kind {
    /// The next flow whose start is known.
    pub const TIMED: u32 = 0;
    /// A flow that has waited for others.
    pub const WAITED: u32 = 1;
    /// Word reaches a trigger.
    pub const FIRED: u32 = 2;
    /// A source draws its next flow.
    pub const DRAWN: u32 = 3;
    /// The measuring window ends.
    pub const WINDOW: u32 = 4;
}

/// The kind of an event of phase `Start`.
pub fn kind_of(event: &Event) -> u32 {
    event.word() >> NUMBER_BITS
}

/// Bits of a start's word below its kind.
const NUMBER_BITS: u32 = 29;

/// Pending starts of flows.
pub struct Starts<'a> {
    traffic: &'a Traffic,
    /// The flows whose start is known, if not all of them are this part's.
    own: Option<Vec<u32>>,
    /// The next of them.
    next: usize,
    /// Flows that wait for others, with their start once they have it, then those drawn during the run.
    late: Vec<Flow>,
    /// How many of them have their number: in a run of several parts, not those that this part has drawn in this window.
    numbered: usize,
    /// By drawn flow that has no number, its place among all events: see `places`.
    drawn: Vec<(Time, u64)>,
    chains: Chains,
    /// By source, the place of its next start among all events. One that is scheduled for the present takes place right
    /// after the present event, even if that has a later order.
    places: Vec<(Time, u64)>,
    /// How often each trigger has been fired.
    fired: Vec<u32>,
    /// Time that word takes between two hosts.
    notify: FxHashMap<(NodeId, NodeId), Time>,
    /// Events pending after which a flow starts that is not background, or a trigger may start one.
    pending: u64,
}

impl<'a> Starts<'a> {
    /// Nothing has started.
    pub fn new(traffic: &'a Traffic) -> Starts<'a> {
        Starts {
            traffic,
            own: None,
            next: 0,
            late: traffic.flows[traffic.timed..].to_vec(),
            numbered: traffic.flows.len() - traffic.timed,
            drawn: Vec::new(),
            places: vec![(Time::NEVER, 0); traffic.chains.len()],
            chains: traffic.chains.clone(),
            fired: vec![0; traffic.dependencies.len()],
            notify: FxHashMap::default(),
            pending: 0,
        }
    }

    /// Only those flows start here whose source passes the test.
    pub fn keep(&mut self, is_here: impl Fn(NodeId) -> bool) {
        let timed = self.traffic.flows[..self.traffic.timed].iter().enumerate();
        self.own = Some(timed.filter(|(_, flow)| is_here(flow.src)).map(|(id, _)| id as u32).collect());
    }

    /// How many flows have a known start.
    fn timed(&self) -> usize {
        self.own.as_ref().map_or(self.traffic.timed, Vec::len)
    }

    /// The next flow whose start is known.
    fn next_timed(&self) -> Option<FlowId> {
        match &self.own {
            Some(own) => own.get(self.next).map(|&id| FlowId(id)),
            None => (self.next < self.traffic.timed).then_some(FlowId(self.next as u32)),
        }
    }

    /// Whether anything depends on the end of a flow.
    pub fn react(&self) -> bool {
        !self.traffic.dependencies.is_empty() || !self.chains.is_empty()
    }

    /// A flow that has been drawn.
    pub fn flow(&self, id: FlowId) -> Option<&Flow> {
        match id.index().checked_sub(self.traffic.timed) {
            None => self.traffic.flows.get(id.index()),
            Some(late) => self.late.get(late),
        }
    }

    /// Whether flows that the run waits for are sure to start, or may be.
    pub fn to_come(&self) -> bool {
        self.next < self.timed() || self.pending > 0
    }

    /// Flows that have not started, if they are drawn.
    pub fn to_start(&self) -> impl Iterator<Item = &Flow> {
        let waiting = self.late.iter().filter(|flow| flow.start == Time::NEVER);
        let timed = (self.next..self.timed()).map(|next| match &self.own {
            Some(own) => &self.traffic.flows[own[next] as usize],
            None => &self.traffic.flows[next],
        });
        timed.chain(waiting)
    }

    /// For an audit: how many of the events to come are known of here, given what all those of phase `Start` are
    /// about; and how many should be.
    pub fn audit(&self, to_come: impl Iterator<Item = (u32, u32)>) -> (u64, u64) {
        let counts = |&(a, b): &(u32, u32)| b != kind::DRAWN || !self.is_background(self.chains.entry(a));
        (to_come.filter(counts).count() as u64, self.pending + u64::from(self.next < self.timed()))
    }

    /// The same, during the run.
    pub fn late(&self) -> &[Flow] {
        &self.late
    }

    /// Flows that have waited and those drawn during the run, for the records.
    pub fn into_late(self) -> Vec<Flow> {
        self.late
    }

    /// The measuring window has ended.
    pub fn window_over(&mut self) {
        self.pending -= 1;
    }

    /// At time zero: the first start that is known, each source's first, and the end of the measuring window.
    pub fn begin<M: Members>(&mut self, net: &mut Network<'_, M>) {
        self.schedule_next(net);
        // One part sees the end of the window for all.
        if self.traffic.window.ends() && net.remote.me == 0 {
            self.pending += 1;
            let order = order(Phase::Start, 0, kind::WINDOW << NUMBER_BITS);
            net.calendar.push(Event { time: self.traffic.window.until, order, a: 0 });
        }
        for chain in 0..self.chains.len() as u32 {
            if !net.remote.is_remote(self.chains.host(chain)) {
                self.schedule_drawn(chain, net);
            }
        }
    }

    /// The flow that an event of phase `Start` starts, if it does.
    pub fn take<M: Members>(
        &mut self,
        (a, b): (u32, u32),
        parts: &Parts<M>,
        net: &mut Network<'_, M>,
    ) -> Option<FlowId> {
        match b {
            kind::TIMED => {
                let id = self.next_timed().expect("its event is pending");
                self.next += 1;
                self.schedule_next(net);
                Some(id)
            }
            kind::WAITED => {
                self.pending -= 1;
                let flow = &mut self.late[a as usize - self.traffic.timed];
                assert_eq!(flow.start, Time::NEVER, "a flow starts once");
                flow.start = net.now;
                Some(FlowId(a))
            }
            kind::FIRED => {
                self.pending -= 1;
                self.fire(a, parts, net);
                None
            }
            _ => {
                self.pending -= u64::from(!self.is_background(self.chains.entry(a)));
                self.late.push(self.chains.draw(a, net.now));
                if net.remote.is_parted() {
                    self.drawn.push(self.places[a as usize]);
                }
                let id = (self.traffic.timed + self.late.len() - 1) as u32;
                Some(FlowId(id))
            }
        }
    }

    /// A flow has ended, at its receiver or at its sender.
    pub fn note<M: Members>(
        &mut self,
        (id, at): (FlowId, Milestone),
        parts: &Parts<M>,
        net: &mut Network<'_, M>,
    ) {
        let flow = *self.flow(id).expect("a flow that has ended");
        if id.index() >= self.traffic.flows.len() {
            if at == Milestone::Acked {
                self.schedule_drawn(self.chains.of(&flow), net);
            }
            return;
        }
        let host = at.host(&flow);
        for trigger in self.traffic.dependencies.fired_by(id.0, at) {
            let to = self.traffic.dependencies.trigger(trigger).host;
            if to == host {
                self.fire(trigger, parts, net);
            } else {
                let time = net.now.saturating_add(self.word(trigger, host, to, parts));
                self.push(net, time, to, trigger, kind::FIRED);
            }
        }
    }

    /// Fires a trigger: counts it, and schedules the flows that it starts.
    fn fire<M: Members>(&mut self, trigger: u32, parts: &Parts<M>, net: &mut Network<'_, M>) {
        let count = &mut self.fired[trigger as usize];
        *count += 1;
        let traffic = self.traffic;
        let from = traffic.dependencies.trigger(trigger).host;
        for target in traffic.dependencies.started_by(trigger, *count) {
            let src = traffic.flows[target.flow as usize].src;
            let word = if src == from { Time::ZERO } else { self.word(trigger, from, src, parts) };
            let time = net.now.saturating_add(word).saturating_add(target.delay);
            self.push(net, time, src, target.flow, kind::WAITED);
        }
    }

    fn schedule_next<M: Members>(&mut self, net: &mut Network<'_, M>) {
        if let Some(id) = self.next_timed() {
            let flow = &self.traffic.flows[id.index()];
            // By its number flows of one instant have their order in all parts of a run.
            push(net, flow.start, flow.src, id.0, kind::TIMED);
        }
    }

    fn schedule_drawn<M: Members>(&mut self, chain: u32, net: &mut Network<'_, M>) {
        if let Some(time) = self.chains.next_start(chain, net.now) {
            self.pending += u64::from(!self.is_background(self.chains.entry(chain)));
            let mut order = push(net, time, self.chains.host(chain), chain, kind::DRAWN);
            let place = &mut self.places[chain as usize];
            if time == net.now {
                order = order.max(net.calendar.place());
            }
            if place.0 == time {
                order = order.max(place.1);
            }
            *place = (time, order);
        }
    }

    /// Word to a trigger, or the start of a flow that has waited; perhaps in another part of the run.
    fn push<M: Members>(
        &mut self,
        net: &mut Network<'_, M>,
        time: Time,
        host: NodeId,
        number: u32,
        kind: u32,
    ) {
        self.pending += u64::from(!net.remote.is_remote(host));
        push(net, time, host, number, kind);
    }

    /// Takes in a start or a word to a trigger that another part has sent.
    pub fn admit<M: Members>(&mut self, event: Event, net: &mut Network<'_, M>) {
        self.pending += 1;
        net.calendar.push(event);
    }

    /// Whether sources draw flows during the run.
    pub fn draws(&self) -> bool {
        !self.chains.is_empty()
    }

    /// Flows that this part of the run has drawn and that have no number yet, in the order of their starts, each with its
    /// place among all events.
    pub fn drawn(&self) -> impl Iterator<Item = ((Time, u64), Flow)> {
        self.drawn.iter().copied().zip(self.late[self.numbered..].iter().copied())
    }

    /// The number of the first of these.
    pub fn first_drawn(&self) -> FlowId {
        FlowId((self.traffic.timed + self.numbered) as u32)
    }

    /// Takes in all flows that the parts of the run have drawn, in the order of their numbers.
    pub fn number(&mut self, drawn: impl Iterator<Item = Flow>) {
        self.drawn.clear();
        self.late.truncate(self.numbered);
        self.late.extend(drawn);
        self.numbered = self.late.len();
    }

    fn is_background(&self, entry: u32) -> bool {
        self.traffic.entries[entry as usize].background
    }

    /// Time that word of a trigger takes from one host to another.
    fn word<M>(&mut self, trigger: u32, from: NodeId, to: NodeId, parts: &Parts<M>) -> Time {
        self.traffic.dependencies.trigger(trigger).notify.unwrap_or_else(|| {
            *self.notify.entry((from, to)).or_insert_with(|| {
                let path = parts.routes.best_path(parts.fabric, from, to, NOTIFY_PACKET);
                let links = path.iter().map(|link| &parts.fabric.links[link.index()]);
                links.fold(Time::ZERO, |sum, link| sum + link.rate.transmission(NOTIFY_PACKET) + link.delay)
            })
        })
    }
}

/// An event of phase `Start` at a host; returns its order.
fn push<M: Members>(net: &mut Network<'_, M>, time: Time, host: NodeId, number: u32, kind: u32) -> u64 {
    debug_assert!(number < 1 << NUMBER_BITS, "a number beside which a kind finds room");
    let rank = if kind == kind::TIMED { 0 } else { net.host_ranks[host.index()] + 1 };
    let order = order(Phase::Start, rank, kind << NUMBER_BITS | number);
    let event = Event { time, order, a: number };
    if net.remote.is_remote(host) {
        net.remote.starts.push((host, event));
    } else {
        net.calendar.push(event);
    }
    order
}
