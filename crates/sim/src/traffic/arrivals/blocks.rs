//! Rounds of flows, each of which waits for the round before.

use std::collections::BTreeMap;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Jitter, Own, Process};
use crate::ids::NodeId;
use crate::random::Stream;
use crate::traffic::dependencies::{Milestone, TriggerKind};
use crate::traffic::writer::Writer;
use crate::units::Time;

/// Barrier-synchronised blocks, as a client reads that stripes its files over servers: each round of the
/// matrix starts when all flows of the round before have ended, or a receiver's part of it when its own have.
///
/// A barrier is at the host where the first drawn flow that it waits for ends: with `matrix.incast` and the default
/// event at the receiver, for which all ends are its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Blocks {
    /// Number of blocks: so many rounds of the matrix.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub blocks: u64,
    /// When the first block starts.
    #[serde(default)]
    pub at: Time,
    /// Added to each start, uniform from 0 up to this; by default the time of 1500 B at the source's port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Time>,
    /// Time from a source's notification that a block is complete to its start of the next.
    #[serde(default)]
    pub gap: Time,
    /// Time that a notification takes to another host; by default that of a packet of 64 B through the idle
    /// network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ps"))]
    pub notify: Option<Time>,
    /// The event that counts as the end of a flow.
    #[serde(default)]
    pub event: Milestone,
    /// The flows that must have ended before the next block starts.
    #[serde(default)]
    pub barrier: Barrier,
}

/// The flows that must have ended before the next block starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Barrier {
    /// All of the round: receivers go from block to block together.
    #[default]
    Common,
    /// Those to the same receiver: each goes from block to block by itself. One that the round before has no flow to
    /// waits for all of that round.
    Receiver,
}

impl Process for Blocks {
    fn flows(&self, round: u64) -> Option<u64> {
        self.flows_max(round)
    }

    fn flows_max(&self, round: u64) -> Option<u64> {
        Some(self.blocks.saturating_mul(round))
    }

    fn starts(&self, _full: f64, round: u64, _stream: Stream) -> Box<dyn Iterator<Item = Time> + '_> {
        let first = std::iter::repeat_n(self.at, round as usize);
        Box::new(first.chain(std::iter::repeat(Time::NEVER)))
    }

    fn jitter(&self) -> Jitter {
        self.jitter.into()
    }

    fn waits(&self) -> bool {
        true
    }

    /// The flows of a block wait for all of the block before.
    fn order_is_known(&self) -> bool {
        true
    }

    fn waits_for_own(&self) -> bool {
        self.blocks > 1
    }

    fn write(&self, own: &Own, writer: &mut Writer) {
        let delay = |number: u64| self.gap.saturating_add(own.jitters[(number - own.round) as usize]);
        for start in (own.round..own.flows).step_by(own.round.max(1) as usize) {
            let (before, block) = (start - own.round..start, start..own.flows.min(start + own.round));
            for (waited, started) in self.barriers(before, block, own.entry, writer) {
                let trigger = writer.trigger(TriggerKind::Barrier(waited.len() as u32), self.notify);
                waited.iter().for_each(|&number| writer.fires(own.entry, number, self.event, trigger));
                let starts = started.into_iter();
                starts.for_each(|number| writer.starts(trigger, own.entry, number, delay(number)));
            }
        }
    }
}

impl Blocks {
    /// For each barrier between two rounds, which flows it waits for and which it starts.
    fn barriers(
        &self,
        before: Range<u64>,
        block: Range<u64>,
        entry: usize,
        writer: &Writer,
    ) -> Vec<(Vec<u64>, Vec<u64>)> {
        let all = || before.clone().collect::<Vec<u64>>();
        if self.barrier == Barrier::Common {
            return vec![(all(), block.collect())];
        }
        let receiver = |number: u64| writer.flows(entry)[number as usize].dst;
        let by_receiver = |numbers: Range<u64>| {
            let mut lists: BTreeMap<NodeId, Vec<u64>> = BTreeMap::new();
            numbers.for_each(|number| lists.entry(receiver(number)).or_default().push(number));
            lists
        };
        let waited = by_receiver(before.clone());
        let waits_for = |receiver: &NodeId| waited.get(receiver).cloned().unwrap_or_else(all);
        by_receiver(block).into_iter().map(|(receiver, flows)| (waits_for(&receiver), flows)).collect()
    }
}
