//! The end of a run: the data that it leaves.

use super::Engine;
use crate::engine::contract::members::Members;
use crate::engine::contract::path::{Choose, ReorderCounts};
use crate::engine::data::conn::{Conn, Subflow};
use crate::engine::data::finished::{Finished, Level, Status, Totals};
use crate::ids::{ConnId, FlowId};

impl<M: Members> Engine<'_, '_, M> {
    /// Ends the run, and leaves what it has counted.
    pub(in crate::engine) fn finish(mut self, status: Status) -> Finished {
        let waits = if status == Status::Stalled { self.waits_where(|_| true) } else { Vec::new() };
        if self.plan.audit {
            self.audit();
        }
        self.look_until(self.net.now);
        self.show_until(self.net.now);
        Finished { waits, ..self.leave(status) }
    }

    /// Leaves what it has counted.
    pub(in crate::engine) fn leave(mut self, status: Status) -> Finished {
        let end = self.net.now;
        let links = self.net.all_counts(end);
        let agent_bytes = self.agent_bytes();
        self.count_open();
        let reordering = self.net.balancers.iter().filter_map(Choose::reordering);
        let reordering = reordering.reduce(ReorderCounts::with);
        Finished {
            level: Level::Packets,
            status,
            limit: self.limit,
            end,
            totals: Totals {
                events: self.events,
                packet_hops: self.net.packet_hops,
                packets: self.net.packets_made,
                unroutable: self.net.unroutable,
                control: self.net.control_plane.as_ref().map(|control_plane| control_plane.counts()),
                reordering,
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
