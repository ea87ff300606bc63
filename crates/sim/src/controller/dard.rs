//! DARD: each host moves its own elephants to paths on which they get more.
//!
//! Source: Wu and Yang, "DARD: distributed adaptive routing for datacenter networks", ICDCS 2012; constants from memory of the
//! paper. A flow that has lasted for a while is an elephant. A host asks the switches of all paths to the destinations of its
//! elephants how many elephants cross each link, and takes a path for as good as the least share on its links, capacity over
//! elephants (BoNF in the paper). At times of its own it looks for the elephant on the worst path, and moves one if the best path
//! between the same hosts, with one elephant more, would still be better by a threshold.
//!
//! Decisions are each host's own. They stand in a file of controllers because they need the counts of switches and set the paths
//! of connections, as Hedera does: the channel has no delay by default. The bytes of queries are not on the wire. The paper groups
//! flows by pairs of edge switches, and so it is here, as all hosts of an edge have the same paths between switches.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hedera::{PATHS_MOST, inner_links, paths_of};
use super::rates::paths::Paths;
use super::{Build, ControlChannel, Settings};
use crate::balancer::Balancer;
use crate::balancer::granted::Granted;
use crate::engine::contract::controller::{
    Act, Channel, ControlContext, Controller, OpenFlow, Order, Placed, Report,
};
use crate::ids::{NodeId, QueueId};
use crate::problem::Problem;
use crate::routing::{Routes, most_paths};
use crate::topology::Fabric;
use crate::units::{Bytes, Rate, Time};

/// Paths for elephants, chosen by their hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DardPaths {
    /// A flow is an elephant once it has lasted for so long.
    pub elephant_after: Time,
    /// Hosts learn the elephants on each link whenever so much time has passed.
    #[schemars(extend("x-minimum" = "1us"))]
    pub monitor: Time,
    /// The least time from one decision of a host to its next.
    #[schemars(extend("x-minimum" = "1us"))]
    pub schedule: Time,
    /// Each of these times is longer by a random time up to this, so that hosts do not move together.
    pub spread: Time,
    /// A move has to bring more than this.
    pub threshold: Rate,
    /// The channel of the moves.
    pub control: ControlChannel,
}

impl Default for DardPaths {
    fn default() -> Self {
        DardPaths {
            elephant_after: Time::from_us(10_000_000),
            monitor: Time::from_us(1_000_000),
            schedule: Time::from_us(5_000_000),
            spread: Time::from_us(5_000_000),
            threshold: Rate(10_000_000),
            control: ControlChannel::default(),
        }
    }
}

impl Settings for DardPaths {
    fn serves(&self) -> &'static str {
        "tcp"
    }

    fn problems_on(&self, fabric: &Fabric, _full_packet: Bytes) -> Vec<Problem> {
        let mut problems: Vec<Problem> = fabric.several_ports().into_iter().collect();
        let routes = Routes::build(fabric);
        if routes.is_ok_and(|routes| most_paths(fabric, &routes, PATHS_MOST + 1) > PATHS_MOST) {
            let message = format!("tries all shortest paths of a flow, and here are over {PATHS_MOST}");
            problems.push(Problem::new("", message));
        }
        problems
    }

    fn channel(&self) -> Channel {
        self.control.channel(Time::ZERO)
    }

    fn reads_connections(&self) -> bool {
        true
    }

    fn refuses_faults(&self) -> Option<&'static str> {
        Some("it gives flows paths on the whole network")
    }

    fn balancer(&self) -> Option<Balancer> {
        Some(Granted {}.into())
    }
}

impl Build for DardPaths {
    type Model = Model;

    fn model(&self, fabric: &Arc<Fabric>, routes: &Arc<Routes>) -> Model {
        Model {
            config: self.clone(),
            elephants: vec![0; fabric.links.len()],
            decides: Vec::new(),
            looks: Time::ZERO,
            fabric: Arc::clone(fabric),
            routes: Arc::clone(routes),
        }
    }
}

/// The state of all hosts.
pub struct Model {
    config: DardPaths,
    /// Elephants by link, as of the last look.
    elephants: Vec<u32>,
    /// When each host decides next; empty before the first time.
    decides: Vec<Time>,
    /// When the elephants are counted next.
    looks: Time,
    fabric: Arc<Fabric>,
    routes: Arc<Routes>,
}

/// A move that a host might make.
struct Move {
    flow: OpenFlow,
    label: u32,
    /// The share of the elephant's path, in bit/s, and that of the best one with an elephant more.
    now: f64,
    then: f64,
}

impl Model {
    /// The least share on these links; `more` counts an elephant more on those that are not among `own`.
    fn share(&self, links: &[u32], own: &[u32], more: u32) -> f64 {
        let share = |&link: &u32| {
            let elephants = self.elephants[link as usize] + if own.contains(&link) { 0 } else { more };
            self.fabric.links[link as usize].rate.0 as f64 / f64::from(elephants.max(1))
        };
        links.iter().map(share).fold(f64::INFINITY, f64::min)
    }

    /// The links between switches of the path that a flow takes.
    fn path(&self, flow: &OpenFlow) -> Vec<u32> {
        inner_links(flow.label, flow, &self.fabric, &self.routes)
    }

    /// Counts the elephants on all links.
    fn look(&mut self, elephants: &[OpenFlow]) {
        self.elephants.fill(0);
        for flow in elephants {
            for link in self.path(flow) {
                self.elephants[link as usize] += 1;
            }
        }
    }

    /// The best path for an elephant other than its own.
    fn best(&self, flow: &OpenFlow) -> Option<Move> {
        let own = self.path(flow);
        let (labels, paths): (Vec<u32>, Paths) = paths_of(flow, &self.fabric, &self.routes);
        let others = (0..paths.len()).filter(|&path| paths.links(path) != own);
        let shares = others.map(|path| (self.share(paths.links(path), &own, 1), path));
        // Of equal ones the first.
        let (then, path) = shares.fold(None, |best: Option<(f64, usize)>, other| match best {
            Some(best) if best.0 >= other.0 => Some(best),
            _ => Some(other),
        })?;
        Some(Move { flow: *flow, label: labels[path], now: self.share(&own, &own, 0), then })
    }

    /// A host's decision: of its elephant with the least share, whether it moves.
    fn decide(&mut self, host: NodeId, elephants: &[OpenFlow], cx: &mut ControlContext) {
        let own = elephants.iter().filter(|flow| flow.from == host);
        let moves = own.filter_map(|flow| self.best(flow));
        let worst = moves.fold(None, |worst: Option<Move>, other| match worst {
            Some(worst) if worst.now <= other.now => Some(worst),
            _ => Some(other),
        });
        let Some(found) = worst.filter(|found| found.then - found.now > self.config.threshold.0 as f64)
        else {
            return;
        };
        let placed = Placed { id: found.flow.id, start: found.flow.start, label: found.label };
        cx.orders.push(Order { host, queue: QueueId(found.flow.id.0), act: Act::Path(placed) });
    }

    /// From now to a host's next decision.
    fn pause(&self, cx: &mut ControlContext) -> Time {
        let DardPaths { schedule, spread, .. } = self.config;
        schedule.saturating_add(Time((cx.stream.unit() * spread.0 as f64) as u64))
    }
}

impl Controller for Model {
    fn is_urgent(&self, _report: &Report) -> bool {
        false
    }

    fn begins(&self) -> Time {
        self.config.monitor
    }

    fn act(&mut self, _reports: &[Report], cx: &mut ControlContext) {
        let now = cx.now;
        if self.decides.is_empty() {
            self.decides = (0..self.fabric.hosts).map(|_| now.saturating_add(self.pause(cx))).collect();
        }
        let lasts = |flow: &OpenFlow| now - flow.start.min(now) >= self.config.elephant_after;
        let elephants: Vec<OpenFlow> = cx.flows().filter(lasts).collect();
        if self.looks <= now {
            self.look(&elephants);
            self.looks = now.saturating_add(self.config.monitor);
        }
        for host in 0..self.decides.len() {
            if self.decides[host] <= now {
                self.decide(NodeId(host as u32), &elephants, cx);
                self.decides[host] = now.saturating_add(self.pause(cx));
            }
        }
        let next = self.decides.iter().copied().fold(self.looks, Time::min);
        cx.wake_at(next);
    }

    fn heap_bytes(&self) -> usize {
        self.elephants.capacity() * size_of::<u32>() + self.decides.capacity() * size_of::<Time>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balancer::granted;
    use crate::engine::contract::conn::Conn;
    use crate::engine::contract::controller::tests::FakeControl;
    use crate::ids::ConnId;
    use crate::topology::Generator;
    use crate::topology::leaf_spine::LeafSpine;

    /// Two leaves with three hosts each and two spines, links of 10 Gbps but those of the second spine, of 5. Flows go from
    /// hosts of the first leaf to those of the second, all by the spine of that number.
    fn hosts(spines: &[u32]) -> (Model, FakeControl) {
        let mut fabric = LeafSpine { leaves: 2, spines: 2, hosts: 3, ..LeafSpine::default() }.build();
        let slow: Vec<usize> = (0..fabric.links.len())
            .filter(|&link| {
                let ends = [fabric.links[link].from, fabric.links[link].to];
                ends.iter().any(|node| fabric.nodes[node.index()].name.contains("spine 1"))
            })
            .collect();
        assert_eq!(slow.len(), 4, "{:?}", fabric.nodes.iter().map(|node| &node.name).collect::<Vec<_>>());
        for link in 0..fabric.links.len() {
            fabric.links[link].rate = Rate(if slow.contains(&link) { 5_000_000_000 } else { 10_000_000_000 });
        }
        let routes = Routes::build(&fabric).expect("a connected network");
        let config = DardPaths {
            elephant_after: Time::from_us(100),
            monitor: Time::from_us(100),
            schedule: Time::from_us(200),
            spread: Time::from_us(0),
            ..DardPaths::default()
        };
        let model = config.model(&Arc::new(fabric), &Arc::new(routes));
        let conn = |(number, spine): (u32, &u32)| {
            let (from, to) = (NodeId(number), NodeId(3 + number));
            let mut conn = Conn::between(from, to);
            let labels = granted::labels(from, to, &model.fabric, &model.routes);
            conn.via = ConnId(number);
            conn.with_label(labels[*spine as usize])
        };
        let conns = (0..).zip(spines).map(conn).collect();
        (model, FakeControl::new(conns))
    }

    /// The connections that are moved at that time, and the spine that each is moved to.
    fn moves(model: &mut Model, room: &mut FakeControl, us: u64) -> Vec<(ConnId, u32)> {
        room.now = Time::from_us(us);
        let orders = room.act(model, &[]);
        let moved = |order: &Order| match order.act {
            Act::Path(Placed { id, label, .. }) => (id, label),
            _ => panic!("it gives paths: {order:?}"),
        };
        orders.iter().map(moved).collect()
    }

    /// Three elephants share 10 Gbps, 3.33 each, and 5 Gbps are free: each host would gain 1.67. All decide at the same
    /// time, by the same counts, and move: the reason for the spread of times. After the next look all three share 5 Gbps, and
    /// one of them alone would have 10.
    #[test]
    fn a_host_moves_its_elephant_to_more() {
        let (mut model, mut room) = hosts(&[0, 0, 0]);
        assert_eq!(moves(&mut model, &mut room, 100), []);
        assert_eq!(model.elephants.iter().max(), Some(&3));
        let moved = moves(&mut model, &mut room, 300);
        assert_eq!(moved, [0, 1, 2].map(|id| (ConnId(id), 1)));
    }

    /// Two elephants on 10 Gbps have 5 each, as one would have on the other spine: no host moves one. With a flow that has not lasted for
    /// 100 us there is one elephant, which has 10.
    #[test]
    fn no_elephant_moves_to_the_same_share() {
        let (mut model, mut room) = hosts(&[0, 0]);
        for us in [100, 300, 500] {
            assert_eq!(moves(&mut model, &mut room, us), []);
        }
    }

    /// An elephant alone on 5 Gbps moves to 10, a flow that is none stays.
    #[test]
    fn short_flows_stay() {
        let (mut model, mut room) = hosts(&[1, 1]);
        room.renew(ConnId(1), Time::from_us(250));
        assert_eq!(moves(&mut model, &mut room, 100), []);
        assert_eq!(moves(&mut model, &mut room, 300), [(ConnId(0), 0)]);
    }
}
