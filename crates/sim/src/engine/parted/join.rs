//! The parts of a run as one: for those who look at it, and at its end.

use super::super::conn::Counts;
use super::super::endpoint::Endpoint;
use super::super::finished::{LinkCounts, Totals};
use super::super::observer::{Inside, PortState};
use super::*;
use crate::ids::{FlowId, LinkId, NodeId};
use crate::topology::Link;
use crate::traffic::Flow;

impl<'a, 'o, M: Members> Parted<'a, 'o, M> {
    /// A connection with the ends and the counters of all parts.
    pub(super) fn join(&self, home: usize, id: ConnId) -> Conn {
        let own = self.parts[home].net.conns[id.index()];
        let mut conn = own;
        let at_receiver = self.cut.of(own.dst);
        for (at, part) in self.parts.iter().enumerate().filter(|(at, _)| *at != home) {
            let there = &part.net.conns[id.index()];
            conn.network = conn.network.and(there.network);
            if at == at_receiver {
                conn.receiver = there.receiver;
            }
        }
        conn
    }

    pub(super) fn join_all(&mut self) {
        let slots = self.parts.iter().map(|part| part.net.conns.len()).max().unwrap_or(0);
        self.joined = (0..slots as u32)
            .map(|slot| {
                let home = (slot % self.cut.count) as usize;
                match self.parts[home].net.conns.get(slot as usize) {
                    Some(conn) if conn.open => self.join(home, ConnId(slot)),
                    _ => Conn { open: false, ..Conn::between(NodeId(0), NodeId(0)) },
                }
            })
            .collect();
    }

    pub(super) fn finish(mut self, status: Status) -> Finished {
        let end = self.now;
        self.number_drawn();
        self.show();
        self.look_until(end);
        let count = self.cut.count;
        for home in 0..self.parts.len() {
            let ids: Vec<_> = self.parts[home]
                .own_conns(home, count)
                .filter(|(_, conn)| conn.open)
                .map(|(id, _)| id)
                .collect();
            for id in ids {
                let conn = self.join(home, id);
                self.parts[home].net.conns[id.index()] = conn;
            }
        }
        for (home, part) in self.parts.iter_mut().enumerate() {
            // Those of others are counted there.
            for (slot, conn) in part.net.conns.iter_mut().enumerate() {
                conn.open &= slot % count as usize == home;
            }
            part.net.now = end;
        }
        let waits = if status == Status::Stalled { self.waits() } else { Vec::new() };
        let cut = Arc::clone(&self.cut);
        let fabric = self.plan.parts.fabric;
        let (limit, traffic, counts) = (self.limit, self.plan.traffic, self.counts);
        let deadlock = self.deadlock;
        let parts: Vec<Finished> = self.parts.into_iter().map(|part| part.leave(status)).collect();
        let source = |flow: &Flow| cut.of(flow.src);
        // Each part has all flows, with what its own did.
        let timed = &traffic.flows[..traffic.timed];
        let all = timed.iter().chain(&parts[0].late).enumerate();
        let flows = all.map(|(id, flow)| parts[source(flow)].flows[id]).collect();
        let late = parts[0].late.iter().enumerate();
        let late = late.map(|(id, flow)| parts[source(flow)].late[id]).collect();
        let links = fabric.links.iter().enumerate();
        // Packets that a fault loses are counted where the link ends.
        let link = |(id, link): (usize, &Link)| {
            let (head, end) = (cut.of(link.from), cut.of(link.to));
            let lost = if head == end { 0 } else { parts[end].links[id].lost };
            let counts = parts[head].links[id];
            LinkCounts { lost: counts.lost + lost, ..counts }
        };
        let links = links.map(link).collect();
        let mut subflows: Vec<_> = parts.iter().flat_map(|part| part.subflows.iter().copied()).collect();
        subflows.sort_unstable_by_key(|subflow| (subflow.flow, subflow.number));
        let sum = |count: fn(&Totals) -> u64| parts.iter().map(|part| count(&part.totals)).sum::<u64>();
        Finished {
            status,
            limit,
            end,
            totals: Totals {
                events: sum(|totals| totals.events),
                packet_hops: sum(|totals| totals.packet_hops),
                packets: sum(|totals| totals.packets),
                unroutable: sum(|totals| totals.unroutable),
                control: None,
                buckets_opened: sum(|totals| totals.buckets_opened),
                words_scanned: sum(|totals| totals.words_scanned),
            },
            flows,
            late,
            subflows,
            links,
            deadlock,
            violations: parts.iter().flat_map(|part| part.violations.clone()).collect(),
            waits,
            agent_bytes: parts.iter().map(|part| part.agent_bytes).sum(),
            parts: Some(counts),
        }
    }

    /// What flows of each traffic entry wait for, over all parts.
    fn waits(&self) -> Vec<Option<crate::traffic::Waits>> {
        let mut all: Vec<Option<crate::traffic::Waits>> = vec![None; self.plan.carriers.len()];
        for (home, part) in self.parts.iter().enumerate() {
            let own = part.waits_where(|flow| self.cut.of(flow.src) == home);
            for (all, own) in all.iter_mut().zip(own) {
                *all = match (*all, own) {
                    (Some(one), Some(other)) => Some(one.and(other)),
                    (one, other) => one.or(other),
                };
            }
        }
        all
    }
}

impl<M: Members> Inside for Parted<'_, '_, M> {
    fn port(&mut self, link: LinkId, at: Time) -> PortState {
        let part = self.cut.of(self.plan.parts.fabric.links[link.index()].from);
        self.parts[part].port(link, at)
    }

    fn packets(&self) -> usize {
        self.parts.iter().map(|part| part.packets()).sum()
    }

    fn conns(&self) -> &[Conn] {
        &self.joined
    }

    fn entry(&self, flow: FlowId) -> u32 {
        self.parts[0].entry(flow)
    }

    fn ended(&self, flow: FlowId) -> Counts {
        let src = self.parts[0].starts.flow(flow).expect("it has started").src;
        self.parts[self.cut.of(src)].ended(flow)
    }

    fn window(&self, id: ConnId) -> Option<u64> {
        let Conn { transport, via, .. } = self.joined[id.index()];
        let home = (id.0 % self.cut.count) as usize;
        self.parts[home].transports[transport as usize].window(via, &self.joined[via.index()])
    }

    fn backlog(&self, host: NodeId) -> Option<u64> {
        self.parts[self.cut.of(host)].backlog(host)
    }
}
