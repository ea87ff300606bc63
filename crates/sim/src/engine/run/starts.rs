//! Starts of flows: those with a given start, those that wait for other flows, those drawn during the run.
//!
//! A flow's completion is observed at one host. A notification event carries it to the trigger's host, and on
//! to the source of the dependent flow. Among the events of one instant at one host, the kind and the number
//! of the starting flow decide the order, not the time at which the start was scheduled: see [`Pending::order`].
//!
//! Of the network starts need a [`Schedule`] only.

use std::sync::Arc;

use crate::engine::contract::schedule::{Pending, Schedule, StartKind};
use crate::engine::data::boundary::Partition;
use crate::ids::{FlowId, NodeId};
use crate::traffic::chains::Chains;
use crate::traffic::dependencies::Milestone;
use crate::traffic::{Flow, Traffic};
use crate::units::Time;
use rustc_hash::FxHashMap;

/// Size of the packet whose one-way delay through the idle network is the default delay of a notification.
const NOTIFY_PACKET: u64 = 64;

/// Pending starts of flows.
pub struct Starts<'a> {
    traffic: &'a Traffic,
    /// In a run of several parts, which of them this is.
    part: Option<(Arc<Partition>, u32)>,
    /// The flows whose start is known, if not all of them are this part's.
    own: Option<Vec<u32>>,
    next: usize,
    /// Flows that wait for others, with their start once they have it, then those drawn during the run.
    late: Vec<Flow>,
    /// How many of them have their number: in a run of several parts, not those that this part has drawn in this window.
    numbered: usize,
    /// By drawn flow that has no number, its place among all events: see `places`.
    drawn: Vec<(Time, u64)>,
    chains: Chains,
    /// By source, the place of its next start among all events: see [`Schedule::at`].
    places: Vec<(Time, u64)>,
    /// How often each trigger has been fired.
    fired: Vec<u32>,
    /// Time that a notification takes between two hosts.
    notify: FxHashMap<(NodeId, NodeId), Time>,
    /// Events pending after which a flow starts that is not background, or a trigger may start one.
    pending: u64,
}

impl<'a> Starts<'a> {
    /// Nothing has started.
    pub fn new(traffic: &'a Traffic) -> Starts<'a> {
        Starts {
            traffic,
            part: None,
            own: None,
            next: 0,
            late: traffic.flows[traffic.timed..].to_vec(),
            numbered: traffic.flows.len() - traffic.timed,
            drawn: Vec::new(),
            places: vec![(Time::NEVER, 0); traffic.chains.len()],
            chains: traffic.chains.clone(),
            fired: vec![0; traffic.dependencies.trigger_count()],
            notify: FxHashMap::default(),
            pending: 0,
        }
    }

    /// Only those flows start here whose source is in that part of the run.
    pub fn keep(&mut self, partition: &Arc<Partition>, me: u32) {
        self.part = Some((Arc::clone(partition), me));
        let timed = self.traffic.flows[..self.traffic.timed].iter().enumerate();
        let own = timed.filter(|(_, flow)| !self.is_remote(flow.src)).map(|(id, _)| id as u32);
        self.own = Some(own.collect());
    }

    /// Whether another part of the run simulates that host.
    fn is_remote(&self, host: NodeId) -> bool {
        self.part.as_ref().is_some_and(|(partition, me)| partition.of(host) != *me as usize)
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
    pub fn audit(&self, to_come: impl Iterator<Item = (StartKind, u32)>) -> (u64, u64) {
        let counts = |&(kind, number): &(StartKind, u32)| {
            kind != StartKind::Drawn || !self.is_background(self.chains.entry(number))
        };
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

    /// At time zero: the first start that is known, each source's first, and the end of the measuring window.
    pub fn begin(&mut self, schedule: &mut impl Schedule) {
        self.schedule_next(schedule);
        // One part sees the end of the window for all.
        if self.traffic.window.ends() && self.part.as_ref().is_none_or(|(_, me)| *me == 0) {
            self.pending += 1;
            let end = Pending { kind: StartKind::Window, host: NodeId::NONE, number: 0 };
            schedule.at(self.traffic.window.until, end);
        }
        for chain in 0..self.chains.len() as u32 {
            if !self.is_remote(self.chains.host(chain)) {
                self.schedule_drawn(chain, schedule);
            }
        }
    }

    /// The flow that an event of phase `Start` starts, if it does.
    pub fn take(&mut self, (kind, number): (StartKind, u32), schedule: &mut impl Schedule) -> Option<FlowId> {
        match kind {
            StartKind::Timed => {
                let id = self.next_timed().expect("its event is pending");
                self.next += 1;
                self.schedule_next(schedule);
                Some(id)
            }
            StartKind::Waited => {
                self.pending -= 1;
                let flow = &mut self.late[number as usize - self.traffic.timed];
                assert_eq!(flow.start, Time::NEVER, "a flow starts once");
                flow.start = schedule.now();
                Some(FlowId(number))
            }
            StartKind::Fired => {
                self.pending -= 1;
                self.fire(number, schedule);
                None
            }
            StartKind::Drawn => {
                self.pending -= u64::from(!self.is_background(self.chains.entry(number)));
                self.late.push(self.chains.draw(number, schedule.now()));
                if self.part.as_ref().is_some_and(|(partition, _)| partition.count > 1) {
                    self.drawn.push(self.places[number as usize]);
                }
                let id = (self.traffic.timed + self.late.len() - 1) as u32;
                Some(FlowId(id))
            }
            StartKind::Window => {
                self.pending -= 1;
                None
            }
        }
    }

    /// A flow has ended, at its receiver or at its sender.
    pub fn note(&mut self, (id, at): (FlowId, Milestone), schedule: &mut impl Schedule) {
        let flow = *self.flow(id).expect("a flow that has ended");
        if id.index() >= self.traffic.flows.len() {
            if at == Milestone::Acked {
                self.schedule_drawn(self.chains.of(&flow), schedule);
            }
            return;
        }
        let host = at.host(&flow);
        for trigger in self.traffic.dependencies.fired_by(id.0, at) {
            let to = self.traffic.dependencies.trigger(trigger).host;
            if to == host {
                self.fire(trigger, schedule);
            } else {
                let time = schedule.now().saturating_add(self.word(trigger, host, to, schedule));
                self.push(schedule, time, Pending { kind: StartKind::Fired, host: to, number: trigger });
            }
        }
    }

    /// Fires a trigger: counts it, and schedules the flows that it starts.
    fn fire(&mut self, trigger: u32, schedule: &mut impl Schedule) {
        let count = &mut self.fired[trigger as usize];
        *count += 1;
        let traffic = self.traffic;
        let from = traffic.dependencies.trigger(trigger).host;
        for target in traffic.dependencies.started_by(trigger, *count) {
            let src = traffic.flows[target.flow as usize].src;
            let word = if src == from { Time::ZERO } else { self.word(trigger, from, src, schedule) };
            let time = schedule.now().saturating_add(word).saturating_add(target.delay);
            self.push(schedule, time, Pending { kind: StartKind::Waited, host: src, number: target.flow });
        }
    }

    fn schedule_next(&mut self, schedule: &mut impl Schedule) {
        if let Some(id) = self.next_timed() {
            let flow = &self.traffic.flows[id.index()];
            // By its number flows of one instant have their order in all parts of a run.
            let pending = Pending { kind: StartKind::Timed, host: flow.src, number: id.0 };
            schedule.at(flow.start, pending);
        }
    }

    fn schedule_drawn(&mut self, chain: u32, schedule: &mut impl Schedule) {
        if let Some(time) = self.chains.next_start(chain, schedule.now()) {
            self.pending += u64::from(!self.is_background(self.chains.entry(chain)));
            let host = self.chains.host(chain);
            let mut order = schedule.at(time, Pending { kind: StartKind::Drawn, host, number: chain });
            let place = &mut self.places[chain as usize];
            if place.0 == time {
                order = order.max(place.1);
            }
            *place = (time, order);
        }
    }

    /// A notification to a trigger, or the start of a flow that has waited; perhaps in another part of the run.
    fn push(&mut self, schedule: &mut impl Schedule, time: Time, start: Pending) {
        self.pending += u64::from(!self.is_remote(start.host));
        schedule.at(time, start);
    }

    /// Another part has sent a start or a notification to a trigger, which is among the events to come here.
    pub fn admit(&mut self) {
        self.pending += 1;
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

    /// Time that a trigger's notification takes from one host to another.
    fn word(&mut self, trigger: u32, from: NodeId, to: NodeId, schedule: &impl Schedule) -> Time {
        self.traffic.dependencies.trigger(trigger).notify.unwrap_or_else(|| {
            *self.notify.entry((from, to)).or_insert_with(|| schedule.idle_delay(from, to, NOTIFY_PACKET))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Format, no_files, read};
    use crate::traffic::window::Window;

    /// A list of starts in place of a network, in which a notification takes 1 us for each host that it is further on.
    #[derive(Default)]
    struct List {
        now: Time,
        starts: Vec<(Time, Pending)>,
    }

    impl Schedule for List {
        fn now(&self) -> Time {
            self.now
        }

        fn at(&mut self, time: Time, start: Pending) -> u64 {
            self.starts.push((time, start));
            start.order(|host| host.0)
        }

        fn idle_delay(&self, from: NodeId, to: NodeId, bytes: u64) -> Time {
            assert_eq!(bytes, 64);
            us(u64::from(from.0.abs_diff(to.0)))
        }
    }

    impl List {
        /// Goes on to the next start, in the order of the engine's events, and takes it.
        fn step(&mut self, starts: &mut Starts) -> Option<FlowId> {
            let place = |(time, start): &(Time, Pending)| (*time, start.order(|host| host.0));
            let first = (0..self.starts.len()).min_by_key(|&at| place(&self.starts[at])).expect("a start");
            let (time, start) = self.starts.remove(first);
            self.now = time;
            starts.take((start.kind, start.number), self)
        }

        /// The flow ends in that many microseconds, at both ends.
        fn end(&mut self, starts: &mut Starts, flow: u32, at: u64) {
            self.now = us(at);
            starts.note((FlowId(flow), Milestone::Received), self);
            starts.note((FlowId(flow), Milestone::Acked), self);
        }

        /// The starts to come: (microsecond, kind, host, number).
        fn listed(&self) -> Vec<(u64, StartKind, u32, u32)> {
            let row =
                |(time, start): &(Time, Pending)| (time.0 / us(1).0, start.kind, start.host.0, start.number);
            self.starts.iter().map(row).collect()
        }
    }

    fn us(us: u64) -> Time {
        Time::from_us(us)
    }

    /// The traffic of these entries on eight hosts.
    fn traffic(entries: &str) -> Traffic {
        let text = format!("transport = \"ndp\"\ntopology.single-switch.hosts = 8\n{entries}");
        let scenario = read(&text, Format::Toml, &[], &no_files).expect("a scenario");
        Traffic::build(&scenario.demands(), &scenario.topology.build(), 1, 0, Window::whole(None))
    }

    /// The answer waits for the request: its source is the host at which that has ended, so that no notification travels. The
    /// third flow starts elsewhere, 3 us away and 10 us later.
    #[test]
    fn a_trigger_starts_flows_after_the_way_of_its_notification() {
        let traffic = traffic(
            r#"
            [[traffic]]
            name = "request"
            arrivals.at-once = { at = "5us", jitter = "0s" }
            matrix.pairs = [[0, 1]]
            sizes.fixed = "1KB"
            [[traffic]]
            name = "answer"
            arrivals.after = { entry = "request" }
            matrix.reply.to = "request"
            sizes.fixed = "1KB"
            [[traffic]]
            name = "elsewhere"
            arrivals.after = { entry = "request", delay = "10us" }
            matrix.pairs = [[4, 0]]
            sizes.fixed = "1KB"
            "#,
        );
        let (mut starts, mut list) = (Starts::new(&traffic), List::default());
        starts.begin(&mut list);
        assert_eq!(list.listed(), [(5, StartKind::Timed, 0, 0)]);
        assert_eq!(list.step(&mut starts), Some(FlowId(0)));
        assert!(list.starts.is_empty() && !starts.to_come());
        list.end(&mut starts, 0, 20);
        assert_eq!(list.listed(), [(20, StartKind::Waited, 1, 1), (33, StartKind::Waited, 4, 2)]);
        assert_eq!(list.step(&mut starts), Some(FlowId(1)));
        assert_eq!(list.step(&mut starts), Some(FlowId(2)));
        let late: Vec<Time> = starts.into_late().iter().map(|flow| flow.start).collect();
        assert_eq!(late, [us(20), us(33)]);
    }

    /// Both flows of a block must have ended; the barrier is at their receiver, and its notification takes 2 us to the other sender.
    #[test]
    fn a_block_waits_for_all_flows_of_the_block_before() {
        let traffic = traffic(
            r#"
            [[traffic]]
            name = "blocks"
            arrivals.blocks = { blocks = 2, jitter = "0s", event = "acked", notify = "2us" }
            matrix.pairs = [[1, 0], [2, 0]]
            sizes.fixed = "1KB"
            "#,
        );
        let (mut starts, mut list) = (Starts::new(&traffic), List::default());
        starts.begin(&mut list);
        assert_eq!([list.step(&mut starts), list.step(&mut starts)], [Some(FlowId(0)), Some(FlowId(1))]);
        // The barrier is at host 1, the sender of the first flow: the second one's notification takes 2 us.
        list.end(&mut starts, 1, 10);
        assert_eq!(list.listed(), [(12, StartKind::Fired, 1, 0)]);
        assert_eq!(list.step(&mut starts), None);
        assert!(list.starts.is_empty());
        list.end(&mut starts, 0, 30);
        assert_eq!(list.listed(), [(30, StartKind::Waited, 1, 2), (32, StartKind::Waited, 2, 3)]);
    }

    /// A source that is never idle starts its next flow when its sender is done with the one before.
    #[test]
    fn a_chain_starts_one_flow_after_the_other() {
        let traffic = traffic(
            r#"
            [[traffic]]
            name = "chain"
            arrivals.on-off = { probability = 1, at = "3us", flows_each = 2 }
            matrix.pairs = [[6, 0]]
            sizes.fixed = "1KB"
            "#,
        );
        let (mut starts, mut list) = (Starts::new(&traffic), List::default());
        starts.begin(&mut list);
        assert_eq!(list.listed(), [(3, StartKind::Drawn, 6, 0)]);
        assert_eq!(list.step(&mut starts), Some(FlowId(0)));
        list.end(&mut starts, 0, 9);
        assert_eq!(list.listed(), [(9, StartKind::Drawn, 6, 0)]);
        assert_eq!(list.step(&mut starts), Some(FlowId(1)));
        list.end(&mut starts, 1, 12);
        assert!(list.starts.is_empty() && !starts.to_come());
    }
}
