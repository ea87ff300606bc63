//! The parts of a run as one: for those who look at it, and at its end.

use super::*;
use crate::engine::audit::{Auditor, FINDINGS_MAX};
use crate::engine::contract::endpoint::Endpoint;
use crate::engine::contract::observer::{Inside, PortState, delivered};
use crate::engine::contract::path::ReorderCounts;
use crate::engine::data::conn::Counts;
use crate::engine::data::finished::{Level, LinkCounts, Totals};
use crate::engine::data::points::{Seen, take_until};
use crate::engine::run::AUDIT_EVERY;
use crate::ids::{FlowId, LinkId, NodeId};
use crate::topology::Link;
use crate::traffic::Flow;

impl<'a, 'o, M: Members> Parted<'a, 'o, M> {
    /// A connection with the ends and the counters of all parts.
    pub(in crate::engine) fn join(&self, home: usize, id: ConnId) -> Conn {
        let own = self.parts[home].net.conns[id.index()];
        let mut conn = own;
        let at_receiver = self.partition.of(own.dst);
        for (at, part) in self.parts.iter().enumerate().filter(|(at, _)| *at != home) {
            let there = &part.net.conns[id.index()];
            conn.network = conn.network.and(there.network);
            if at == at_receiver {
                conn.receiver = there.receiver;
            }
        }
        conn
    }

    /// Compares the counters of all parts with what is in them.
    pub(in crate::engine) fn audit(&mut self) {
        self.next_audit = self.sum(|part| part.events + part.audited_items().max(AUDIT_EVERY));
        self.parts.iter_mut().for_each(|part| part.take_in());
        self.join_all();
        let parts = self.parts.iter().map(|part| &**part).collect();
        let now = self.parts.iter().map(|part| part.net.now).max().unwrap_or(Time::ZERO);
        let mut wrong = Auditor { parts, conns: &self.joined, now }.audit();
        if let Some(central) = &mut self.central {
            central.control_plane.audit(&mut wrong);
        }
        self.violations.extend(wrong.into_iter().map(|what| format!("at {now}: {what}")));
        self.violations.truncate(FINDINGS_MAX);
    }

    pub(in crate::engine) fn join_all(&mut self) {
        let slots = self.parts.iter().map(|part| part.net.conns.len()).max().unwrap_or(0);
        self.joined = (0..slots as u32)
            .map(|slot| {
                let home = (slot % self.partition.count) as usize;
                match self.parts[home].net.conns.get(slot as usize) {
                    Some(conn) if conn.open => self.join(home, ConnId(slot)),
                    _ => Conn { open: false, ..Conn::between(NodeId(0), NodeId(0)) },
                }
            })
            .collect();
    }

    pub(in crate::engine) fn finish(mut self, status: Status) -> Finished {
        let end = self.now;
        self.exchange();
        if self.plan.audit {
            self.audit();
        }
        self.look_until(end);
        self.show_until(end);
        self.bring_home();
        self.parts.iter_mut().for_each(|part| part.net.now = end);
        let waits = if status == Status::Stalled { self.waits() } else { Vec::new() };
        let partition = Arc::clone(&self.partition);
        let fabric = self.plan.parts.fabric;
        let (limit, traffic, counts) = (self.limit, self.plan.traffic, self.counts);
        let (deadlock, violations) = (self.deadlock, self.violations);
        let of_control = self.central.as_ref().map_or(0, |central| central.events);
        let control = self.central.as_ref().map(|central| central.control_plane.counts());
        let parts: Vec<Finished> = self.parts.into_iter().map(|part| part.leave(status)).collect();
        let source = |flow: &Flow| partition.of(flow.src);
        // Each part has all flows, with what its own did.
        let timed = &traffic.flows[..traffic.timed];
        let all = timed.iter().chain(&parts[0].late).enumerate();
        let flows = all.map(|(id, flow)| parts[source(flow)].flows[id]).collect();
        let late = parts[0].late.iter().enumerate();
        let late = late.map(|(id, flow)| parts[source(flow)].late[id]).collect();
        let links = fabric.links.iter().enumerate();
        let link = |(id, link): (usize, &Link)| {
            let (head, end) = partition.ends(link);
            let counts = parts[head].links[id];
            if head == end { counts } else { counts.lost_elsewhere(parts[end].links[id].lost) }
        };
        let links = links.map(link).collect();
        let mut subflows: Vec<_> = parts.iter().flat_map(|part| part.subflows.iter().copied()).collect();
        subflows.sort_unstable_by_key(|subflow| (subflow.flow, subflow.number));
        let sum = |count: fn(&Totals) -> u64| parts.iter().map(|part| count(&part.totals)).sum::<u64>();
        let reordering = parts.iter().filter_map(|part| part.totals.reordering).reduce(ReorderCounts::with);
        Finished {
            level: Level::Packets,
            status,
            limit,
            end,
            totals: Totals {
                events: of_control + sum(|totals| totals.events),
                packet_hops: sum(|totals| totals.packet_hops),
                packets: sum(|totals| totals.packets),
                unroutable: sum(|totals| totals.unroutable),
                control,
                reordering,
                buckets_opened: sum(|totals| totals.buckets_opened),
                words_scanned: sum(|totals| totals.words_scanned),
            },
            flows,
            late,
            subflows,
            links,
            deadlock,
            violations,
            waits,
            agent_bytes: parts.iter().map(|part| part.agent_bytes).sum(),
            parts: Some(counts),
        }
    }

    /// Each open connection gets the counters of all parts at home, and is open nowhere else.
    fn bring_home(&mut self) {
        let count = self.partition.count;
        for home in 0..self.parts.len() {
            let open = self.parts[home].own_conns(home, count).filter(|(_, conn)| conn.open);
            let ids: Vec<_> = open.map(|(id, _)| id).collect();
            for id in ids {
                let conn = self.join(home, id);
                self.parts[home].net.conns[id.index()] = conn;
            }
        }
        for (home, part) in self.parts.iter_mut().enumerate() {
            for (slot, conn) in part.net.conns.iter_mut().enumerate() {
                conn.open &= slot % count as usize == home;
            }
        }
    }

    /// Conditions for which the unfinished flows of each traffic entry wait, over all parts.
    fn waits(&self) -> Vec<Option<crate::traffic::Waits>> {
        let mut all: Vec<Option<crate::traffic::Waits>> = vec![None; self.plan.carriers.len()];
        for (home, part) in self.parts.iter().enumerate() {
            let own = part.waits_where(|flow| self.partition.of(flow.src) == home);
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
        let part = self.partition.of(self.plan.parts.fabric.links[link.index()].from);
        self.parts[part].port(link, at)
    }

    fn points_until(&mut self, end: Time) -> Vec<Seen> {
        for part in &mut self.parts {
            if part.net.after.watch.is_on() {
                part.net.settle_all(end);
                part.net.after.watch.append_to(&mut self.seen);
            }
        }
        let count = self.partition.count;
        take_until(&mut self.seen, end, |id| self.parts[(id.0 % count) as usize].kept.first(id))
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
        self.parts[self.partition.of(src)].ended(flow)
    }

    fn window(&self, id: ConnId) -> Option<u64> {
        let Conn { transport, via, .. } = self.joined[id.index()];
        let home = (id.0 % self.partition.count) as usize;
        self.parts[home].transports[transport as usize].window(via, &self.joined[via.index()])
    }

    fn backlog(&self, host: NodeId) -> Option<u64> {
        self.parts[self.partition.of(host)].backlog(host)
    }

    fn counts(&mut self, link: LinkId, at: Time) -> LinkCounts {
        let (head, end) = self.partition.ends(&self.plan.parts.fabric.links[link.index()]);
        let counts = self.parts[head].counts(link, at);
        if head == end { counts } else { counts.lost_elsewhere(self.parts[end].net.lost(link)) }
    }

    fn restart_maxima(&mut self, at: Time) {
        self.parts.iter_mut().for_each(|part| part.restart_maxima(at));
    }

    fn delivered(&self) -> Vec<u64> {
        let traffic = self.plan.traffic;
        let all = traffic.flows[..traffic.timed].iter().chain(self.parts[0].starts.late()).enumerate();
        let ended = all.map(|(id, flow)| self.parts[self.partition.of(flow.src)].counts[id].delivered_bytes);
        delivered(ended, &self.joined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::data::event::Phase;
    use crate::engine::data::plan::Agenda;
    use crate::scenario::Scenario;
    use crate::setup::Setup;

    /// Findings of the audit of a run in two parts in which packets cross between them, with that defect injected.
    fn findings(inject: impl FnOnce(&mut Parted<Setup>)) -> String {
        let text = r#"
            topology.fat-tree.k = 4
            transport.ndp = {}
            run.audit = true
            [[traffic]]
            name = "stride"
            arrivals.at-once = {}
            matrix.stride.by = [8]
            sizes.fixed = "300KB"
        "#;
        let scenario: Scenario = toml::from_str(text).expect("a scenario");
        let setup = Setup::new(&scenario, scenario.topology.build().into()).expect("a connected network");
        let plan = setup.plan(&scenario, Agenda::Calendar);
        let partition = Arc::new(Partition::new(&setup.fabric, 2));
        let mut run = Parted::new(&plan, &partition);
        let road =
            Road { lanes: vec![Lane(Mutex::default())], stretch: Mutex::new(Stretch::Until(Time::ZERO)) };
        for _ in 0..40 {
            assert_eq!(run.go_on(&road, &|| {}), None);
        }
        run.exchange();
        run.audit();
        assert_eq!(run.violations, Vec::<String>::new(), "without a defect");
        inject(&mut run);
        run.audit();
        run.violations.join("\n")
    }

    /// A packet that has left one part and not come to the other is on no link.
    #[test]
    fn the_audit_of_parts_catches_a_packet_that_is_lost_between_them() {
        let found = findings(|run| {
            let next =
                run.parts.iter().filter_map(|part| part.next_time()).min().expect("packets on their way");
            let end = next.saturating_add(run.lookahead());
            run.parts.iter_mut().for_each(|part| part.go(Stretch::Until(end)));
            run.exchange();
            run.parts[1].net.remote.inbox.fill(0).packets.pop().expect("a packet crosses");
        });
        assert!(found.contains("received, on the wire or lost"), "{found}");
        assert!(found.contains("packets, "), "a connection counts it: {found}");
    }

    #[test]
    fn the_audit_of_parts_catches_a_skipped_arrival() {
        let found = findings(|run| {
            let lost = run.parts[1].net.calendar.lose(|event| event.phase() == Phase::Arrival as u8);
            lost.expect("a packet is on its way");
        });
        assert!(found.contains("received, on the wire or lost"), "{found}");
    }

    /// A part that receives a path keeps its links too, but the run's memory counts them once.
    #[test]
    fn a_path_takes_memory_in_the_part_in_which_it_begins() {
        let _ = findings(|run| {
            let links = run.plan.parts.fabric.links.clone();
            for (id, link) in (0..).map(LinkId).zip(&links) {
                for (at, part) in run.parts.iter_mut().enumerate() {
                    let before = part.net.paths.bytes();
                    part.net.paths.intern(&[id]);
                    let counts = part.net.paths.bytes() > before;
                    assert_eq!(counts, run.partition.of(link.from) == at, "link {id} in part {at}");
                }
            }
        });
    }

    /// The bytes that a receiver has are in its part.
    #[test]
    fn the_audit_of_parts_catches_a_delivery_that_was_not_received() {
        let found = findings(|run| {
            let of = |conn: &Conn| conn.open && conn.accepted();
            let part = &mut run.parts[1];
            let partition = part.net.remote.partition.clone().expect("two parts");
            let conn = part.net.conns.iter_mut().find(|conn| of(conn) && partition.of(conn.dst) == 1);
            conn.expect("a flow to part 1").receiver.delivered_bytes += 1;
        });
        assert!(found.contains("in received ranges"), "{found}");
    }
}
