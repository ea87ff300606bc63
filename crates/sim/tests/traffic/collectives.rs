//! Workloads of one's own: collectives that write their flows and dependencies by the contract, against what is worked out
//! by hand.

use std::collections::VecDeque;
use std::sync::Arc;

use flowyard_sim::engine::contract::schedule::{Pending, Schedule};
use flowyard_sim::engine::run::starts::Starts;
use flowyard_sim::ids::{FlowId, NodeId};
use flowyard_sim::problem::Problem;
use flowyard_sim::topology::single_switch::SingleSwitch;
use flowyard_sim::topology::{Fabric, Generator};
use flowyard_sim::traffic::dependencies::{Milestone, TriggerKind};
use flowyard_sim::traffic::sources::Sources;
use flowyard_sim::traffic::window::Window;
use flowyard_sim::traffic::workload::Workload;
use flowyard_sim::traffic::workload::extent::{Extent, Scope};
use flowyard_sim::traffic::writer::Writer;
use flowyard_sim::traffic::{Demand, Traffic, flows_at_most, problems};
use flowyard_sim::units::Time;

/// Time that each flow takes here.
const FLOW: Time = Time(1_000_000);
/// Time of a notification between two hosts.
const NOTIFY: Time = Time(10_000);

/// A ring all-reduce: in each of 2 (n - 1) steps each rank sends a chunk to the next one, once it has that of the step
/// before.
#[derive(Debug)]
struct Ring {
    /// Bytes to be reduced; a chunk is this over the number of ranks.
    total: u64,
}

impl Workload for Ring {
    fn problems_among(&self, ranks: u32) -> Vec<Problem> {
        let few = (ranks < 2).then(|| Problem::new("sources", format!("{ranks} rank makes no ring")));
        few.into_iter().collect()
    }

    fn extent(&self, scope: &Scope) -> (Extent, Option<Problem>) {
        let ranks = scope.ranks.len() as u64;
        (Extent::exactly(2 * ranks.saturating_sub(1) * ranks), None)
    }

    fn write(&self, ranks: &[NodeId], out: &mut Writer) {
        let (count, entry) = (ranks.len() as u64, out.index());
        for step in 0..2 * (count - 1) {
            for (rank, &src) in (0..).zip(ranks) {
                let (dst, start) = (ranks[((rank + 1) % count) as usize], (step == 0).then_some(Time::ZERO));
                let number = out.flow(start, src, dst, self.total / count);
                if step > 0 {
                    let trigger = out.trigger(TriggerKind::Once, None);
                    let before = (step - 1) * count + (rank + count - 1) % count;
                    out.fires(entry, before, Milestone::Received, trigger);
                    out.starts(trigger, entry, number, Time::ZERO);
                }
            }
        }
    }
}

/// A reduction over a binary tree: a rank sends to its parent, (rank - 1) / 2, once it has all that its children send.
#[derive(Debug)]
struct Tree {
    bytes: u64,
}

impl Workload for Tree {
    fn extent(&self, scope: &Scope) -> (Extent, Option<Problem>) {
        (Extent::exactly(scope.ranks.len() as u64 - 1), None)
    }

    fn write(&self, ranks: &[NodeId], out: &mut Writer) {
        let entry = out.index();
        // The flow of rank r has number r - 1.
        for rank in 1..ranks.len() {
            let is_leaf = 2 * rank + 1 >= ranks.len();
            out.flow(is_leaf.then_some(Time::ZERO), ranks[rank], ranks[(rank - 1) / 2], self.bytes);
        }
        for rank in 1..ranks.len() {
            let children: Vec<usize> =
                [2 * rank + 1, 2 * rank + 2].into_iter().filter(|&child| child < ranks.len()).collect();
            if children.is_empty() {
                continue;
            }
            let trigger = out.trigger(TriggerKind::Barrier(children.len() as u32), None);
            for child in children {
                out.fires(entry, child as u64 - 1, Milestone::Received, trigger);
            }
            out.starts(trigger, entry, rank as u64 - 1, Time::ZERO);
        }
    }
}

fn fabric() -> Fabric {
    SingleSwitch { hosts: 16, ..SingleSwitch::default() }.build()
}

fn demand(name: &str, workload: impl Workload + 'static, hosts: &[u32]) -> Demand {
    Demand {
        name: name.into(),
        workload: Arc::new(workload),
        sources: Some(Sources::Hosts(hosts.to_vec())),
        background: false,
        kept: false,
        deadline: None,
        deadlines: None,
    }
}

fn build(entry: Demand) -> Traffic {
    let entries = [entry];
    assert_eq!(problems(&entries, &fabric()), []);
    let traffic = Traffic::build(&entries, &fabric(), 1, 0, Window::whole(None));
    assert_eq!(flows_at_most(&entries, &fabric()), [traffic.flows.len() as u64]);
    traffic
}

/// Flows that all take the same time, however many there are: starts, and no network.
#[derive(Default)]
struct Idle {
    now: Time,
    starts: Vec<(Time, Pending)>,
}

impl Schedule for Idle {
    fn now(&self) -> Time {
        self.now
    }

    fn at(&mut self, time: Time, start: Pending) -> u64 {
        self.starts.push((time, start));
        0
    }

    fn idle_delay(&self, _from: NodeId, _to: NodeId, _bytes: u64) -> Time {
        NOTIFY
    }
}

/// When the last flow ends, and how many there were, if each takes [`FLOW`].
fn run(traffic: &Traffic) -> (Time, usize) {
    let (mut starts, mut schedule) = (Starts::new(traffic), Idle::default());
    let (mut open, mut ended) = (VecDeque::new(), 0);
    starts.begin(&mut schedule);
    loop {
        let next = (0..schedule.starts.len()).min_by_key(|&at| schedule.starts[at].0);
        let ends_first = |start: Time| open.front().is_some_and(|&(end, _)| end <= start);
        match next.filter(|&at| !ends_first(schedule.starts[at].0)) {
            Some(at) => {
                let (time, start) = schedule.starts.remove(at);
                schedule.now = time;
                let flow = starts.take((start.kind, start.number), &mut schedule);
                open.extend(flow.map(|flow| (time + FLOW, flow)));
            }
            None => {
                let Some((end, flow)): Option<(Time, FlowId)> = open.pop_front() else { break };
                schedule.now = end;
                ended += 1;
                starts.note((flow, Milestone::Received), &mut schedule);
            }
        }
    }
    (schedule.now, ended)
}

/// Four ranks: 6 steps of 4 flows, each of a quarter. A flow of step 0 starts at zero; every other one waits for that which
/// brings its source the chunk, and is at the same host, so that no notification travels.
#[test]
fn a_ring_all_reduce_has_its_flows_bytes_and_dependencies() {
    let traffic = build(demand("ring", Ring { total: 4_000_000 }, &[2, 3, 5, 7]));
    let ends: Vec<(u32, u32)> = traffic.flows.iter().map(|flow| (flow.src.0, flow.dst.0)).collect();
    let step = [(2, 3), (3, 5), (5, 7), (7, 2)];
    assert_eq!(ends, step.repeat(6));
    assert!(traffic.flows.iter().all(|flow| flow.size == 1_000_000));
    assert!(traffic.flows.iter().map(|flow| flow.number).eq(0..24));
    assert_eq!((traffic.timed, traffic.dependencies.trigger_count()), (4, 20));
    for flow in 0..20u32 {
        // By hand: the flow of the next rank in the next step.
        let next = 4 * (flow / 4 + 1) + (flow + 1) % 4;
        let triggers: Vec<u32> = traffic.dependencies.fired_by(flow, Milestone::Received).collect();
        let [trigger] = triggers[..] else { panic!("flow {flow} fires {triggers:?}") };
        let started = traffic.dependencies.started_by(trigger, 1);
        assert_eq!(
            started.iter().map(|target| (target.flow, target.delay)).collect::<Vec<_>>(),
            [(next, Time::ZERO)]
        );
        assert_eq!(traffic.dependencies.trigger(trigger).host, traffic.flows[next as usize].src);
    }
    assert!((20..24).all(|flow| traffic.dependencies.fired_by(flow, Milestone::Received).next().is_none()));
    let summary = &traffic.entries[0];
    assert_eq!((summary.flows, summary.mean_size_bytes), (24, Some(1_000_000.0)));
    assert_eq!((summary.offered_load, summary.realised_load), (None, None));
    // One step after the other, and nothing else.
    assert_eq!(run(&traffic), (Time(6 * FLOW.0), 24));
}

/// Seven ranks: four leaves, two inner ranks behind a barrier of two each.
#[test]
fn a_tree_reduces_level_by_level() {
    let traffic = build(demand("tree", Tree { bytes: 1000 }, &[0, 1, 2, 3, 4, 5, 6]));
    assert_eq!((traffic.flows.len(), traffic.timed, traffic.dependencies.trigger_count()), (6, 4, 2));
    // The leaves 3 to 6 come first, then ranks 1 and 2.
    let ends: Vec<(u32, u32)> = traffic.flows.iter().map(|flow| (flow.src.0, flow.dst.0)).collect();
    assert_eq!(ends, [(3, 1), (4, 1), (5, 2), (6, 2), (1, 0), (2, 0)]);
    let started = |trigger, count| traffic.dependencies.started_by(trigger, count).iter().map(|to| to.flow);
    let fired: Vec<u32> =
        (0..6).flat_map(|flow| traffic.dependencies.fired_by(flow, Milestone::Received)).collect();
    assert_eq!(fired, [0, 0, 1, 1]);
    assert_eq!(started(0, 1).chain(started(0, 2)).chain(started(1, 2)).collect::<Vec<_>>(), [4, 5]);
    assert_eq!(run(&traffic), (Time(2 * FLOW.0), 6));
}

/// A problem of the ranks is one of the entry, found before any flow is written.
#[test]
fn a_ring_of_one_rank_is_refused() {
    let found = problems(&[demand("ring", Ring { total: 1000 }, &[3])], &fabric());
    let said: Vec<String> = found.into_iter().map(|(entry, problem)| format!("{entry} {problem}")).collect();
    assert_eq!(said, ["0 sources: 1 rank makes no ring"]);
}
