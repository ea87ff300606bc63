//! The plain data that a run leaves, from which tables and summaries are made.

use super::conn::{Counts, Subflow};
use super::port::{Amount, Losses};
use crate::ids::LinkId;
use crate::traffic::{Flow, Waits};
use crate::units::Time;
use serde::Serialize;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Every flow has ended that is not background.
    Complete,
    /// The user or a program interrupted it.
    Interrupted,
    /// Flows are open, but no event is left, or no payload has arrived for `run.stall` and twice the longest timeout.
    Stalled,
    /// `run.until` came before the last flow ended, or sources drew more flows than a run may have.
    Limit,
}

/// Which limit ended a run with status "limit".
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// `run.until`, or the longest time that there is.
    Until,
    /// The number of flows that a run may have.
    Flows,
    /// `run.memory_limit`.
    Memory,
    /// `run.work_limit`.
    Work,
}

/// The level at which a run was simulated: it determines which counters are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Packets: all counters are measured.
    Packets,
    /// Flows and their rates: bytes and times are measured, packets, queues and pauses are not. Their counters say nothing.
    Flows,
}

impl Level {
    /// A count of packets, if they are measured.
    pub fn packets<T>(self, count: T) -> Option<T> {
        (self == Level::Packets).then_some(count)
    }
}

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Which of its counters are measured.
    pub level: Level,
    pub status: Status,
    pub limit: Option<Limit>,
    pub end: Time,
    pub totals: Totals,
    /// By flow: first those whose start was known, then `late`.
    pub flows: Vec<Counts>,
    /// Flows that waited for others, with their start if they have started; then those drawn during the run, by start.
    pub late: Vec<Flow>,
    /// Subflows that have started, by flow and number.
    pub subflows: Vec<Subflow>,
    /// By directed link.
    pub links: Vec<LinkCounts>,
    /// The links of a cycle of ports, paused or without credit, if the run ended for that.
    pub deadlock: Vec<LinkId>,
    /// Violations that the audit found; empty without an audit.
    pub violations: Vec<String>,
    /// If it has stalled, by traffic entry what flows wait for that are to end.
    pub waits: Vec<Option<Waits>>,
    /// Bytes of the agents at the end of the run: what they keep flows in does not shrink.
    pub agent_bytes: u64,
    /// How it went in several parts, if it did.
    pub parts: Option<PartCounts>,
}

/// Counters of a whole run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    pub events: u64,
    /// Links crossed by packets.
    pub packet_hops: u64,
    /// Packets put on a wire by the host that made them.
    pub packets: u64,
    /// Packets lost at a node from which no way was left.
    pub unroutable: u64,
    /// Of a controller, if there is one.
    pub control: Option<ControlCounts>,
    /// Of packets held to restore their order, if a balancer of the run does so.
    pub reordering: Option<ReorderCounts>,
    /// Buckets of the calendar that were opened, and words of its index that were read to find them.
    pub buckets_opened: u64,
    /// See `buckets_opened`.
    pub words_scanned: u64,
}

/// Counters of a directed link: of the port that feeds it and of its wire.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkCounts {
    /// Packets and bytes put on the wire.
    pub sent: Amount,
    /// Packets that the queue dropped, trimmed, marked or sent back.
    pub losses: Losses,
    /// Packets lost to faults on the link.
    pub lost: u64,
    /// Time in which packets were on the wire.
    pub busy: Time,
    /// Bytes in the port, the packet on the wire included, integrated over time, in byte-picoseconds.
    pub area: i128,
    /// Most bytes in the port at one instant.
    pub bytes_max: u64,
    /// Most packets in the port at one instant.
    pub packets_max: u32,
    /// Times that a class of traffic was paused.
    pub pauses: u64,
    /// Time in which at least one class was.
    pub paused: Time,
}

impl LinkCounts {
    /// Difference from earlier counters; maxima are those since they were last started anew.
    pub fn since(&self, before: &LinkCounts) -> LinkCounts {
        LinkCounts {
            sent: self.sent.less(before.sent),
            losses: self.losses.less(before.losses),
            lost: self.lost - before.lost,
            busy: self.busy.saturating_sub(before.busy),
            area: self.area - before.area,
            pauses: self.pauses - before.pauses,
            paused: self.paused - before.paused,
            ..*self
        }
    }

    /// With packets of the link that were lost to faults in the part of the run where it ends.
    pub(in crate::engine) fn lost_elsewhere(self, lost: u64) -> LinkCounts {
        LinkCounts { lost: self.lost + lost, ..self }
    }

    /// Mean of the bytes in the port over that time.
    pub fn mean_bytes(&self, time: Time) -> f64 {
        if time == Time::ZERO { 0.0 } else { self.area as f64 / time.0 as f64 }
    }
}

/// Costs of control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ControlCounts {
    /// Times that the controller acted.
    pub acts: u64,
    /// Reports that hosts sent to it, without retransmissions of lost ones.
    pub reports: u64,
    /// Orders that it sent to hosts, likewise.
    pub orders: u64,
    /// Messages that the channel lost, either way.
    pub lost: u64,
}

/// Packets that hosts or switches held to restore their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ReorderCounts {
    /// Packets that were held.
    pub held: u64,
    /// Most packets of one flow at a time.
    pub packets_max: u64,
    /// Most bytes on the wire of one flow at a time.
    pub bytes_max: u64,
    /// Sum of the times for which the packets were held that have gone on.
    pub wait_ps: u64,
    /// The longest of these times.
    pub wait_max_ps: u64,
}

impl ReorderCounts {
    /// A packet is held, with which so many packets and bytes of its flow are.
    pub fn hold(&mut self, packets: usize, bytes: u64) {
        self.held += 1;
        self.packets_max = self.packets_max.max(packets as u64);
        self.bytes_max = self.bytes_max.max(bytes);
    }

    /// A packet goes on that was held for so long.
    pub fn release(&mut self, wait: Time) {
        self.wait_ps += wait.0;
        self.wait_max_ps = self.wait_max_ps.max(wait.0);
    }

    /// These and those of other flows.
    pub fn with(self, other: ReorderCounts) -> ReorderCounts {
        ReorderCounts {
            held: self.held + other.held,
            packets_max: self.packets_max.max(other.packets_max),
            bytes_max: self.bytes_max.max(other.bytes_max),
            wait_ps: self.wait_ps + other.wait_ps,
            wait_max_ps: self.wait_max_ps.max(other.wait_max_ps),
        }
    }
}

/// How a run in several parts went. None of it has an influence on results.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct PartCounts {
    pub parts: u32,
    pub threads: u32,
    /// Windows in which all parts went on by themselves.
    pub windows: u64,
    /// Those in which several threads did.
    pub shared: u64,
    /// Events that parts handled one at a time, because the last flow might have ended.
    pub turns: u64,
    /// Packets that crossed from one part to another.
    pub crossings: u64,
    /// Events of the busiest thread in each window, added up: those that could not run in parallel.
    pub critical_events: u64,
    /// Events of the last window.
    #[serde(skip)]
    pub last_events: u64,
    /// Looks at connections that were to close: what a test bounds.
    #[serde(skip)]
    pub closing_looks: u64,
}

impl PartCounts {
    /// Counts a window with so many events, and so many of the busiest lane.
    pub fn add_window(&mut self, events: u64, longest: u64) {
        self.windows += 1;
        self.critical_events += longest;
        self.last_events = events;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a measuring window, counts are differences, and maxima those of the window, which starts them anew.
    #[test]
    fn counts_of_a_window_are_without_those_before_it() {
        let before = LinkCounts {
            lost: 1,
            busy: Time(20),
            area: 300,
            bytes_max: 9000,
            packets_max: 6,
            pauses: 4,
            paused: Time(5),
            ..LinkCounts::default()
        };
        let all = LinkCounts {
            lost: 3,
            busy: Time(70),
            area: 1000,
            bytes_max: 4500,
            packets_max: 3,
            pauses: 14,
            paused: Time(25),
            ..LinkCounts::default()
        };
        let window = all.since(&before);
        assert_eq!((window.lost, window.busy, window.area), (2, Time(50), 700));
        assert_eq!((window.pauses, window.paused), (10, Time(20)));
        assert_eq!((window.bytes_max, window.packets_max), (4500, 3));
    }
}
