//! Flows that wait for others: triggers, the flows that fire them and the flows that they start.
//!
//! A flow fires triggers when it ends, at the host that observes the end. A trigger is at the host of the
//! first flow that fires it; a notification from another host, and from the trigger to the sources that it
//! starts, takes the notification delay. All of it is drawn before the run: which flow starts depends on
//! others, its ends and size do not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Flow;
use crate::ids::NodeId;
use crate::units::Time;

/// The event of a flow that other flows may wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Milestone {
    /// Its last byte arrives at the receiver, which observes it at once.
    #[default]
    Received,
    /// Its sender is done: every byte is acknowledged or, without acknowledgements, the last byte is sent.
    Acked,
}

impl Milestone {
    /// The host that sees it.
    pub fn host(self, flow: &Flow) -> NodeId {
        match self {
            Milestone::Received => flow.dst,
            Milestone::Acked => flow.src,
        }
    }
}

/// When a trigger starts its flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TriggerKind {
    /// All of them when it is fired for the first time.
    Once,
    /// One of them, in their order, each time the trigger is fired.
    Each,
    /// All of them when it has been fired so many times.
    Barrier(#[schemars(range(min = 1))] u32),
}

/// A trigger, which is fired and starts flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// When it starts its flows.
    pub kind: TriggerKind,
    /// Where it lives: the host of the first flow that fires it.
    pub host: NodeId,
    /// How long word takes between two hosts; none for that of a small packet through the empty network.
    pub notify: Option<Time>,
}

/// A flow that fires a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fire {
    flow: u32,
    at: Milestone,
    trigger: u32,
}

/// A flow that a trigger starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    trigger: u32,
    /// The flow, by its index.
    pub flow: u32,
    /// From the source's hearing of it to the start.
    pub delay: Time,
}

/// All triggers of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dependencies {
    triggers: Vec<Trigger>,
    /// By flow.
    fires: Vec<Fire>,
    /// By trigger, each one's in the order in which they were named.
    targets: Vec<Target>,
}

impl Dependencies {
    /// Whether no flow waits for another.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Number of triggers.
    pub fn len(&self) -> usize {
        self.triggers.len()
    }

    /// A trigger.
    pub fn trigger(&self, trigger: u32) -> &Trigger {
        &self.triggers[trigger as usize]
    }

    /// The shortest delay of word that is given; [`Time::NEVER`] if all depend on the way.
    pub fn least_notify(&self) -> Time {
        self.triggers.iter().filter_map(|trigger| trigger.notify).min().unwrap_or(Time::NEVER)
    }

    /// The triggers that a flow fires then.
    pub fn fired_by(&self, flow: u32, at: Milestone) -> impl Iterator<Item = u32> + '_ {
        let first = self.fires.partition_point(|fire| fire.flow < flow);
        let own = self.fires[first..].iter().take_while(move |fire| fire.flow == flow);
        own.filter(move |fire| fire.at == at).map(|fire| fire.trigger)
    }

    /// The flows that a trigger starts when it is fired for the `count`-th time.
    pub fn started_by(&self, trigger: u32, count: u32) -> &[Target] {
        let of = |start: usize| self.targets[start..].partition_point(|target| target.trigger <= trigger);
        let first = self.targets.partition_point(|target| target.trigger < trigger);
        let all = &self.targets[first..first + of(first)];
        match self.trigger(trigger).kind {
            TriggerKind::Once if count == 1 => all,
            TriggerKind::Barrier(needed) if count == needed => all,
            TriggerKind::Each => {
                let place = (count - 1) as usize;
                all.get(place..=place).unwrap_or_default()
            }
            _ => &[],
        }
    }

    /// Adds all of it to the digest of the traffic.
    pub(super) fn digest(&self, hash: &mut Sha256) {
        for trigger in &self.triggers {
            let kind = match trigger.kind {
                TriggerKind::Once => 0,
                TriggerKind::Each => u64::from(u32::MAX) + 1,
                TriggerKind::Barrier(count) => u64::from(count),
            };
            hash.update(kind.to_le_bytes());
            hash.update(trigger.notify.unwrap_or_default().0.to_le_bytes());
        }
        for fire in &self.fires {
            hash.update(fire.flow.to_le_bytes());
            hash.update([fire.at as u8]);
            hash.update(fire.trigger.to_le_bytes());
        }
        for target in &self.targets {
            hash.update(target.trigger.to_le_bytes());
            hash.update(target.flow.to_le_bytes());
            hash.update(target.delay.0.to_le_bytes());
        }
    }
}

/// The writer of dependencies for arrivals, once all flows are drawn.
pub struct Writer<'a> {
    flows: &'a [Flow],
    /// The index of each flow, entry by entry in the order drawn.
    places: Vec<u32>,
    /// For each entry where its flows begin in `places`, and how many it has.
    entries: &'a [(usize, u64)],
    names: Vec<&'a str>,
    written: Dependencies,
}

impl<'a> Writer<'a> {
    /// For flows whose `number` counts them as drawn; `entries` has for each the number of flows before it
    /// and its own.
    pub(super) fn new(flows: &'a [Flow], entries: &'a [(usize, u64)], names: Vec<&'a str>) -> Writer<'a> {
        let mut places = vec![0; flows.len()];
        for (index, flow) in flows.iter().enumerate() {
            places[entries[flow.entry as usize].0 + flow.number as usize] = index as u32;
        }
        Writer { flows, places, entries, names, written: Dependencies::default() }
    }

    /// An entry by its name: its index, and how many flows it has.
    pub fn entry(&self, name: &str) -> (usize, u64) {
        let index = self.names.iter().position(|other| *other == name).expect("checked: the entry exists");
        (index, self.entries[index].1)
    }

    /// Where flow `number` of an entry goes.
    pub fn receiver(&self, entry: usize, number: u64) -> NodeId {
        self.flows[self.flow(entry, number) as usize].dst
    }

    /// A trigger of that kind that no flow fires yet.
    pub fn trigger(&mut self, kind: TriggerKind, notify: Option<Time>) -> u32 {
        self.written.triggers.push(Trigger { kind, host: NodeId::NONE, notify });
        self.written.triggers.len() as u32 - 1
    }

    /// Flow `number` of an entry fires a trigger then.
    pub fn fires(&mut self, entry: usize, number: u64, at: Milestone, trigger: u32) {
        let flow = self.flow(entry, number);
        let host = &mut self.written.triggers[trigger as usize].host;
        if *host == NodeId::NONE {
            *host = at.host(&self.flows[flow as usize]);
        }
        self.written.fires.push(Fire { flow, at, trigger });
    }

    /// A trigger starts flow `number` of an entry after a delay.
    pub fn starts(&mut self, trigger: u32, entry: usize, number: u64, delay: Time) {
        let flow = self.flow(entry, number);
        self.written.targets.push(Target { trigger, flow, delay });
    }

    fn flow(&self, entry: usize, number: u64) -> u32 {
        self.places[self.entries[entry].0 + number as usize]
    }

    pub(super) fn finish(mut self) -> Dependencies {
        self.written.fires.sort_by_key(|fire| fire.flow);
        self.written.targets.sort_by_key(|target| target.trigger);
        self.written
    }
}
