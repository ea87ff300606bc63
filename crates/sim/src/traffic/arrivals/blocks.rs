//! Rounds of flows, each of which waits for the round before.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Jitter, Own, Process};
use crate::random::Stream;
use crate::traffic::dependencies::{Milestone, TriggerKind, Writer};
use crate::units::Time;

/// Barrier-synchronised blocks, as a client reads that stripes its files over servers: each round of the
/// matrix starts when all flows of the round before have ended.
///
/// The barrier is at the host where the first drawn flow of a round ends: with `matrix.incast` and the default
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
    /// Time from a source's hearing that a block is complete to its start of the next.
    #[serde(default)]
    pub gap: Time,
    /// Time that word takes to another host; by default that of a packet of 64 B through the empty network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ps"))]
    pub notify: Option<Time>,
    /// What counts as the end of a flow.
    #[serde(default)]
    pub event: Milestone,
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

    fn write(&self, own: &Own, writer: &mut Writer) {
        let mut jitters = own.jitters.iter();
        for start in (own.round..own.flows).step_by(own.round.max(1) as usize) {
            let trigger = writer.trigger(TriggerKind::Barrier(own.round as u32), self.notify);
            (start - own.round..start)
                .for_each(|number| writer.fires(own.entry, number, self.event, trigger));
            for (number, jitter) in (start..own.flows.min(start + own.round)).zip(&mut jitters) {
                writer.starts(trigger, own.entry, number, self.gap.saturating_add(*jitter));
            }
        }
    }
}
