//! Starts flow by flow, some at given times, others when a trigger is fired: the general form.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Own, Process};
use crate::problem::{PROBLEMS_MAX, Problem};
use crate::random::Stream;
use crate::traffic::dependencies::{Milestone, TriggerKind};
use crate::traffic::writer::Writer;
use crate::units::Time;

/// A start for each flow, in the order of the matrix's pairs: a time, or the trigger that it waits for.
///
/// The connection matrices of htsim (csg-htsim): flows fire triggers when they end, and triggers start flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{ "starts": ["0s", { "trigger": 1 }], "fires": [{ "flow": 0, "trigger": 1 }], "list": [{ "id": 1, "kind": "once" }] }]))]
pub struct Triggers {
    /// For each flow its start.
    #[schemars(length(min = 1))]
    pub starts: Vec<TriggeredStart>,
    /// The flows that fire triggers.
    #[serde(default)]
    pub fires: Vec<TriggerFire>,
    /// The triggers.
    #[serde(default)]
    pub list: Vec<TriggerItem>,
    /// Time that a notification takes to another host; by default that of a packet of 64 B through the idle
    /// network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ps"))]
    pub notify: Option<Time>,
}

/// A start: a time, or `{ trigger = 1 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum TriggeredStart {
    /// At this time.
    At(Time),
    /// When a trigger fires.
    By(ByTrigger),
}

/// The trigger that starts a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ByTrigger {
    /// Its id.
    pub trigger: u32,
}

/// A flow that fires a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TriggerFire {
    /// The flow, counted from 0 in the order of `starts`.
    pub flow: u32,
    /// When it does.
    #[serde(default)]
    pub event: Milestone,
    /// Id of the trigger.
    pub trigger: u32,
}

/// A trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TriggerItem {
    /// Names it.
    pub id: u32,
    /// When it starts its flows.
    pub kind: TriggerKind,
}

impl Triggers {
    fn waiting(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let by = |(flow, start): (usize, &TriggeredStart)| match start {
            TriggeredStart::At(_) => None,
            TriggeredStart::By(by) => Some((flow, by.trigger)),
        };
        self.starts.iter().enumerate().filter_map(by)
    }
}

impl Process for Triggers {
    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.starts.is_empty() {
            problems.push(Problem::new("starts", "is empty; give a start for each flow"));
        }
        let mut fires: BTreeMap<u32, u64> = BTreeMap::new();
        self.fires.iter().for_each(|fire| *fires.entry(fire.trigger).or_default() += 1);
        let mut known = BTreeSet::new();
        for (index, item) in self.list.iter().enumerate() {
            if problems.len() >= PROBLEMS_MAX {
                break;
            }
            if !known.insert(item.id) {
                let what = format!("{} is the id of another trigger already; each needs its own", item.id);
                problems.push(Problem::new(format!("list.{index}.id"), what));
            }
            let fired = fires.get(&item.id).copied().unwrap_or(0);
            if let TriggerKind::Barrier(count) = item.kind
                && u64::from(count) > fired
            {
                let what =
                    format!("{count} is more than the {fired} times that trigger {} is fired", item.id);
                problems.push(Problem::new(format!("list.{index}.kind.barrier"), what));
            }
        }
        for (index, fire) in self.fires.iter().enumerate() {
            if problems.len() >= PROBLEMS_MAX {
                break;
            }
            if fire.flow as usize >= self.starts.len() {
                let last = self.starts.len().saturating_sub(1);
                let what = format!("{} is not a flow; starts has flows 0 to {last}", fire.flow);
                problems.push(Problem::new(format!("fires.{index}.flow"), what));
            }
            if !known.contains(&fire.trigger) {
                let what = no_trigger(fire.trigger, &known);
                problems.push(Problem::new(format!("fires.{index}.trigger"), what));
            }
        }
        for (flow, trigger) in self.waiting() {
            if problems.len() >= PROBLEMS_MAX {
                break;
            }
            if !known.contains(&trigger) {
                let what = no_trigger(trigger, &known);
                problems.push(Problem::new(format!("starts.{flow}.trigger"), what));
            } else if !fires.contains_key(&trigger) {
                let what = format!("no flow fires trigger {trigger}; name one in fires");
                problems.push(Problem::new(format!("starts.{flow}.trigger"), what));
            }
        }
        problems
    }

    fn flows(&self, round: u64) -> Option<u64> {
        self.flows_max(round)
    }

    fn flows_max(&self, _round: u64) -> Option<u64> {
        Some(self.starts.len() as u64)
    }

    fn starts(&self, _full: f64, _round: u64, _stream: Stream) -> Box<dyn Iterator<Item = Time> + '_> {
        Box::new(self.starts.iter().map(|start| match start {
            TriggeredStart::At(time) => *time,
            TriggeredStart::By(_) => Time::NEVER,
        }))
    }

    fn waits(&self) -> bool {
        true
    }

    fn waits_for_own(&self) -> bool {
        self.waiting().next().is_some()
    }

    fn write(&self, own: &Own, writer: &mut Writer) {
        let made = |item: &TriggerItem| (item.id, writer.trigger(item.kind, self.notify));
        let triggers: BTreeMap<u32, u32> = self.list.iter().map(made).collect();
        // With `flows` below their number the last flows are not there.
        let there = |flow: u64| flow < own.flows;
        for fire in self.fires.iter().filter(|fire| there(u64::from(fire.flow))) {
            writer.fires(own.entry, u64::from(fire.flow), fire.event, triggers[&fire.trigger]);
        }
        for (flow, trigger) in self.waiting().filter(|(flow, _)| there(*flow as u64)) {
            writer.starts(triggers[&trigger], own.entry, flow as u64, Time::ZERO);
        }
    }
}

/// The message for a trigger that is not listed.
fn no_trigger(id: u32, known: &BTreeSet<u32>) -> String {
    let ids = known.iter().take(10).map(u32::to_string).collect::<Vec<_>>().join(", ");
    let more = if known.len() > 10 { " and others" } else { "" };
    let there = if ids.is_empty() { "is empty".into() } else { format!("has {ids}{more}") };
    format!("no trigger in list has the id {id}; it {there}")
}
