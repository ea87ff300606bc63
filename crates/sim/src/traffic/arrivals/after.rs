//! Flows start when flows of another entry have ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Behind, Own, Process};
use crate::random::Stream;
use crate::traffic::dependencies::{Milestone, TriggerKind};
use crate::traffic::writer::Writer;
use crate::units::Time;

/// Each flow starts when one flow of another entry has ended, or all when all of those have.
///
/// A notification of the end goes from the host that observes it to the sender of the next flow: on one host
/// at once, to another after `notify`. Flows are counted in the order in which they were drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct After {
    /// Name of the traffic entry whose flows must end first.
    pub entry: String,
    /// The event that counts as the end of a flow.
    #[serde(default)]
    pub event: Milestone,
    /// The flows that each flow waits for.
    #[serde(default)]
    pub each: AfterEach,
    /// Time from the notification to the start.
    #[serde(default)]
    pub delay: Time,
    /// Time that a notification takes to another host; by default that of a packet of 64 B through the idle
    /// network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ps"))]
    pub notify: Option<Time>,
}

/// The flows that each flow waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterEach {
    /// The i-th flow for the i-th of the other entry.
    #[default]
    Flow,
    /// All flows for all of the other entry: a notification of each end goes to the host where the first
    /// drawn of them ends, and from there, when all have ended, to all sources.
    All,
}

impl Process for After {
    fn flows(&self, round: u64) -> Option<u64> {
        Some(round)
    }

    fn starts(&self, _full: f64, _round: u64, _stream: Stream) -> Box<dyn Iterator<Item = Time> + '_> {
        Box::new(std::iter::repeat(Time::NEVER))
    }

    fn behind(&self) -> Option<Behind<'_>> {
        Some(Behind { entry: &self.entry, flow_by_flow: self.each == AfterEach::Flow })
    }

    fn waits(&self) -> bool {
        true
    }

    fn write(&self, own: &Own, writer: &mut Writer) {
        let (before, flows) = writer.entry(&self.entry);
        match self.each {
            AfterEach::Flow => {
                for number in 0..own.flows {
                    let trigger = writer.trigger(TriggerKind::Once, self.notify);
                    writer.fires(before, number, self.event, trigger);
                    writer.starts(trigger, own.entry, number, self.delay);
                }
            }
            AfterEach::All => {
                let trigger = writer.trigger(TriggerKind::Barrier(flows as u32), self.notify);
                (0..flows).for_each(|number| writer.fires(before, number, self.event, trigger));
                (0..own.flows).for_each(|number| writer.starts(trigger, own.entry, number, self.delay));
            }
        }
    }
}
