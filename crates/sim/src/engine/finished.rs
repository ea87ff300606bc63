//! The plain data that a run leaves, from which tables and summaries are made.

use super::Engine;
use super::conn::{Conn, Counts, Subflow};
use super::controller::ControlCounts;
use super::egress::Egress;
use super::gate::Stops;
use super::lanes::PartCounts;
use super::members::Members;
use super::port::{Amount, Losses};
use crate::ids::{ConnId, FlowId, LinkId};
use crate::traffic::{Flow, Waits};
use crate::units::Time;

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

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How it ended.
    pub status: Status,
    /// Which limit ended it.
    pub limit: Option<Limit>,
    /// When it ended.
    pub end: Time,
    /// Totals.
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
    /// Events handled.
    pub events: u64,
    /// Links crossed by packets.
    pub packet_hops: u64,
    /// Packets put on a wire by the host that made them.
    pub packets: u64,
    /// Packets lost at a node from which no way was left.
    pub unroutable: u64,
    /// Of a controller, if there is one.
    pub control: Option<ControlCounts>,
    /// Buckets of the calendar that were opened, and words of its index that were read to find them.
    pub buckets_opened: u64,
    /// See `buckets_opened`.
    pub words_scanned: u64,
}

/// What was counted at a directed link: at the port that feeds it and on its wire.
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
    /// At that time; the port must be up to date.
    pub(super) fn new<Q>(egress: &Egress<Q>, stops: Option<&Stops>, at: Time) -> LinkCounts {
        let Egress { port, losses, .. } = egress;
        let (sent, area) = egress.sent_and_area(at);
        let still = |stops: &Stops| if port.paused == 0 { Time::ZERO } else { at - stops.since };
        LinkCounts {
            sent,
            losses: *losses,
            lost: port.fault.as_ref().map_or(0, |fault| fault.lost),
            busy: egress.busy(at),
            area,
            bytes_max: port.bytes_max,
            packets_max: port.packets_max,
            pauses: stops.map_or(0, |stops| stops.pauses),
            paused: stops.map_or(Time::ZERO, |stops| stops.paused + still(stops)),
        }
    }

    /// What has been counted since then; maxima are those since they were last started anew.
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
    pub(super) fn lost_elsewhere(self, lost: u64) -> LinkCounts {
        LinkCounts { lost: self.lost + lost, ..self }
    }

    /// Mean of the bytes in the port over that time.
    pub fn mean_bytes(&self, time: Time) -> f64 {
        if time == Time::ZERO { 0.0 } else { self.area as f64 / time.0 as f64 }
    }
}

impl<M: Members> Engine<'_, '_, M> {
    /// Ends the run, and leaves what it has counted.
    pub(super) fn finish(mut self, status: Status) -> Finished {
        let waits = if status == Status::Stalled { self.waits_where(|_| true) } else { Vec::new() };
        if self.plan.audit {
            self.audit();
        }
        self.look_until(self.net.now);
        Finished { waits, ..self.leave(status) }
    }

    /// Leaves what it has counted.
    pub(super) fn leave(mut self, status: Status) -> Finished {
        let end = self.net.now;
        let links = self.net.all_counts(end);
        let agent_bytes = self.agent_bytes();
        self.count_open();
        Finished {
            status,
            limit: self.limit,
            end,
            totals: Totals {
                events: self.events,
                packet_hops: self.net.packet_hops,
                packets: self.net.packets_made,
                unroutable: self.net.unroutable,
                control: self.net.room.as_ref().map(|room| room.counts()),
                buckets_opened: self.net.calendar.opened,
                words_scanned: self.net.calendar.scanned,
            },
            links,
            flows: self.counts,
            late: self.starts.into_late(),
            subflows: self.subflows,
            deadlock: self.deadlock,
            violations: self.violations,
            waits: Vec::new(),
            agent_bytes,
            parts: None,
        }
    }

    /// Adds up the counters of the flows that are open.
    fn count_open(&mut self) {
        let open = |conn: &&Conn| conn.open && conn.flow != FlowId::NONE;
        let (whole, parts): (Vec<&Conn>, Vec<&Conn>) =
            self.net.conns.iter().filter(open).partition(|conn| conn.parent == ConnId::NONE);
        for conn in whole {
            self.counts[conn.flow.index()] = conn.counts();
        }
        for conn in parts {
            self.counts[conn.flow.index()].add_packets(&conn.counts());
            self.subflows.push(Subflow::from(conn));
        }
        self.subflows.sort_unstable_by_key(|subflow| (subflow.flow, subflow.number));
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
