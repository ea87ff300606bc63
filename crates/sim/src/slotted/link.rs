//! The loop over slots.

use super::config::{Slotted, Step};
use super::discipline::{Discipline, EarlyTermination, Service, Slot};
use super::outcome::{Outcome, Record, Segment};
use super::source::Source;
use super::{Flow, NOTHING};

/// Work between two looks at the watch: slots with something new, each with its flows.
const BREATH: u64 = 1 << 20;

/// The link and the flows on it.
pub struct Link<'a, 'b> {
    config: &'a Slotted,
    source: &'b mut Source<'a>,
    discipline: &'b mut dyn Discipline,
    outcome: &'b mut Outcome,
    now: u64,
    flows: Vec<Flow>,
    shares: Vec<f64>,
    /// Whether flows arrived or left since the discipline was called.
    changed: bool,
    /// The flow that was served alone in the slot before.
    last: Option<u32>,
}

impl<'a, 'b> Link<'a, 'b> {
    /// An empty link at slot 0.
    pub fn new(
        config: &'a Slotted,
        source: &'b mut Source<'a>,
        discipline: &'b mut dyn Discipline,
        outcome: &'b mut Outcome,
    ) -> Link<'a, 'b> {
        let (flows, shares) = (Vec::new(), Vec::new());
        Link { config, source, discipline, outcome, now: 0, flows, shares, changed: true, last: None }
    }

    /// Runs until no flow is left, the last slot, or the watch's stop; returns whether it may go on with
    /// another set. `work` counts on from one set to the next.
    pub fn run(mut self, watch: &mut dyn FnMut(u64) -> bool, work: &mut u64) -> bool {
        let end = self.config.run.slots.unwrap_or(u64::MAX);
        while self.now < end {
            self.arrive();
            // A decision among a hundred thousand flows takes long, and slots pass without any.
            *work += 1 + self.flows.len() as u64;
            if *work >= BREATH {
                *work = 0;
                if !watch(self.outcome.slots) {
                    self.outcome.interrupted = true;
                    break;
                }
            }
            let Some(service) = self.choose() else {
                // Nothing happens until the next arrival.
                match self.source.next() {
                    Some(next) => self.pass(next.min(end).saturating_sub(self.now)),
                    None => break,
                }
                continue;
            };
            let slots = self.steady(service).min(end - self.now);
            self.serve(service, slots);
            self.leave();
        }
        let present = std::mem::take(&mut self.flows);
        let rest =
            present.into_iter().map(|flow| Record { set: self.source.set, flow, ended: None, done: false });
        self.outcome.flows.extend(rest);
        !self.outcome.interrupted
    }

    fn arrive(&mut self) {
        let before = self.flows.len();
        self.source.arrive(self.now, &mut self.flows);
        self.changed |= self.flows.len() > before;
    }

    /// Chooses the service, once the flows have left that early termination removes; None if no flow is there.
    fn choose(&mut self) -> Option<Service> {
        let rule = self.discipline.early_termination();
        if rule == EarlyTermination::Strict {
            self.give_up(None);
        }
        if self.flows.is_empty() {
            return None;
        }
        let service = self.decide();
        if self.flows.is_empty() {
            return None;
        }
        if rule != EarlyTermination::Waiting {
            return Some(service);
        }
        let Service::One(place) = service else {
            // All that are there wait.
            self.give_up(None);
            return (!self.flows.is_empty()).then_some(service);
        };
        let served = self.flows[place].id;
        self.give_up(Some(served));
        let place = self.flows.binary_search_by_key(&served, |flow| flow.id);
        Some(Service::One(place.expect("the flow that is served has stayed")))
    }

    /// Flows that cannot be in time any more leave, but for one that is spared.
    fn give_up(&mut self, spared: Option<u32>) {
        let now = self.now;
        // Arrivals of this slot have come: their servers are idle from the next one on.
        self.remove(now + 1, |flow| !flow.is_feasible(now) && spared != Some(flow.id));
    }

    fn decide(&mut self) -> Service {
        self.outcome.decisions += 1;
        if !self.config.run.preemptive
            && let Some(last) = self.last
            && let Ok(place) = self.flows.binary_search_by_key(&last, |flow| flow.id)
        {
            return Service::One(place);
        }
        self.shares.clear();
        self.shares.resize(self.flows.len(), 0.0);
        let slot = Slot { now: self.now, flows: &self.flows, changed: self.changed };
        let service = self.discipline.serve(&slot, &mut self.shares);
        self.changed = false;
        match self.discipline.take_discarded() {
            discarded if discarded.is_empty() => service,
            discarded => self.discard(&discarded, service),
        }
    }

    /// Takes out the flows that the discipline discards; the answer with the place that the served flow now has.
    fn discard(&mut self, discarded: &[u32], service: Service) -> Service {
        let served = match service {
            Service::One(place) => self.flows[place].id,
            Service::Nobody => u32::MAX,
            Service::Shares => unreachable!("who discards flows serves one"),
        };
        // As for flows that give up.
        self.remove(self.now + 1, |flow| discarded.binary_search(&flow.id).is_ok());
        let place = self.flows.binary_search_by_key(&served, |flow| flow.id);
        place.map_or(Service::Nobody, Service::One)
    }

    /// For how many slots the decision holds.
    fn steady(&self, service: Service) -> u64 {
        let one = match service {
            _ if self.config.run.step == Step::Slot => return 1,
            Service::Shares => return 1,
            Service::One(place) => Some(place),
            Service::Nobody => None,
        };
        let waits_out = !self.config.run.preemptive && one.is_some();
        let mut slots = if waits_out { u64::MAX } else { self.discipline.steady() };
        if let Some(next) = self.source.next() {
            slots = slots.min(next - self.now);
        }
        if let Some(place) = one {
            slots = slots.min(libm::ceil(self.flows[place].left) as u64);
        }
        let early = self.discipline.early_termination() != EarlyTermination::Expired;
        for (place, flow) in self.flows.iter().enumerate() {
            slots = slots.min(flow.time_left(self.now));
            if early && one != Some(place) && flow.is_feasible(self.now) {
                // From then on it is not feasible any more.
                slots = slots.min(flow.time_left(self.now) - flow.left as u64 + 1);
            }
        }
        slots.max(1)
    }

    fn serve(&mut self, service: Service, slots: u64) {
        let start = self.now;
        self.pass(slots);
        self.last = None;
        match service {
            Service::Nobody => (),
            Service::One(place) => {
                self.last = Some(self.flows[place].id);
                self.send(place, start, slots, 1.0);
            }
            Service::Shares => {
                for place in 0..self.flows.len() {
                    let share = self.shares[place];
                    if share > 0.0 {
                        self.send(place, start, slots, share);
                    }
                }
            }
        }
    }

    fn send(&mut self, place: usize, start: u64, slots: u64, share: f64) {
        let flow = &mut self.flows[place];
        let packets = (share * slots as f64).min(flow.left);
        flow.left -= packets;
        self.outcome.sent += packets;
        if self.config.run.schedule {
            let segment = Segment { set: self.source.set, flow: flow.id, start, end: start + slots, share };
            let schedule = &mut self.outcome.schedule;
            // A discipline that shares writes its flows in turn: the one before is that far back.
            let before = schedule.iter_mut().rev().take(self.flows.len()).find(|old| {
                old.set == segment.set && old.flow == segment.flow && old.end == start && old.share == share
            });
            match before {
                Some(before) => before.end = segment.end,
                None => schedule.push(segment),
            }
        }
    }

    /// At the end of a slot: flows that are done, and flows whose deadline has come.
    fn leave(&mut self) {
        let now = self.now;
        self.remove(now, |flow| flow.left <= NOTHING || flow.time_left(now) == 0);
    }

    /// Takes flows out now; their servers may start new ones from that slot on.
    fn remove(&mut self, free_from: u64, goes: impl Fn(&Flow) -> bool) {
        if !self.flows.iter().any(&goes) {
            return;
        }
        self.changed = true;
        for flow in self.flows.extract_if(.., |flow| goes(flow)) {
            let done = flow.left <= NOTHING;
            if !done {
                self.outcome.wasted += f64::from(flow.size) - flow.left;
            }
            self.outcome.flows.push(Record { set: self.source.set, flow, ended: Some(self.now), done });
            self.source.left(flow.server, free_from);
        }
    }

    fn pass(&mut self, slots: u64) {
        self.now += slots;
        self.outcome.slots += slots;
        self.outcome.present += slots * self.flows.len() as u64;
    }
}
