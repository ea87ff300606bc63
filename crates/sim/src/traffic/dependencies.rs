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
pub(super) struct Fire {
    pub flow: u32,
    pub at: Milestone,
    pub trigger: u32,
}

/// A flow that a trigger starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    pub(super) trigger: u32,
    /// The flow, by its index.
    pub flow: u32,
    /// From the source's hearing of it to the start.
    pub delay: Time,
}

/// All triggers of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dependencies {
    pub(super) triggers: Vec<Trigger>,
    /// By flow.
    pub(super) fires: Vec<Fire>,
    /// By trigger, each one's in the order in which they were named.
    pub(super) targets: Vec<Target>,
}

impl Dependencies {
    /// Whether no flow waits for another.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Number of triggers.
    pub fn trigger_count(&self) -> usize {
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

    /// Puts all into order, given the index of each flow by the number that it has had so far.
    pub(super) fn sort(&mut self, places: &[u32]) {
        self.fires.iter_mut().for_each(|fire| fire.flow = places[fire.flow as usize]);
        self.targets.iter_mut().for_each(|target| target.flow = places[target.flow as usize]);
        self.fires.sort_by_key(|fire| fire.flow);
        self.targets.sort_by_key(|target| target.trigger);
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
