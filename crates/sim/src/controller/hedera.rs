//! Hedera: large flows of TCP get paths on which they do not meet.
//!
//! Source: Al-Fares, Radhakrishnan, Raghavan, Huang and Vahdat, "Hedera: dynamic flow scheduling for data
//! center networks", NSDI 2010 (`rates/hedera.rs`). Flows begin on a random path, as by ECMP. Every period
//! the controller reads the delivered bytes of each connection, as the paper's reads the counters of edge
//! switches. A connection is large if it sent more than a share of a host's link since the last period. The
//! controller estimates the rates of large connections if only hosts' links limited them, and gives them
//! paths. Transports are affected only through their measurements: packets in flight stay on the old path.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rates::hedera::{Annealing, Detect, Flow, Hedera, HostPlace, Placement, estimate, first_fit};
use super::rates::paths::Paths;
use super::{Build, ControlChannel, Settings};
use crate::advice::Unread;
use crate::balancer::Balancer;
use crate::balancer::granted::{self, Granted};
use crate::engine::contract::controller::{
    Act, Channel, ControlContext, Controller, OpenFlow, Order, Placed, Report,
};
use crate::ids::{NodeId, QueueId};
use crate::problem::Problem;
use crate::random::Stream;
use crate::routing::{Ports, Routes, longest, most_paths};
use crate::topology::Fabric;
use crate::units::{Bytes, Rate, Time};

/// Paths for large flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HederaPaths {
    /// Selection of flows, computation of their paths, and its period.
    pub scheduler: Hedera,
    /// The channel of orders; counters are read when the controller acts.
    pub control: ControlChannel,
}

/// Bytes of payload that count as a packet where packets are sampled.
const SAMPLED_PACKET: u64 = 1460;

/// More shortest paths between two hosts than that are no small search for each flow.
pub(super) const PATHS_MOST: u64 = 1024;

impl Settings for HederaPaths {
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

    fn unread(&self) -> Vec<Unread> {
        let detect = self.scheduler.detect;
        let by_bytes = matches!(detect, Detect::Sent | Detect::Backlog);
        Unread::among([
            ("scheduler.large", detect == Detect::Rate, "scheduler.detect = \"rate\""),
            ("scheduler.threshold", by_bytes, "scheduler.detect = \"sent\" or \"backlog\""),
            ("scheduler.probability", detect == Detect::Sample, "scheduler.detect = \"sample\""),
        ])
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

impl Build for HederaPaths {
    type Model = Model;

    fn model(&self, fabric: &Arc<Fabric>, routes: &Arc<Routes>) -> Model {
        let rate = fabric.host_rate();
        let cores = most_paths(fabric, routes, PATHS_MOST).max(1) as u32;
        Model {
            config: self.scheduler.clone(),
            rate,
            capacities: fabric.links.iter().map(|link| link.rate.0 as f64 / rate.0 as f64).collect(),
            annealing: Annealing::new(&places(fabric), cores),
            seen: Vec::new(),
            looked: Time::ZERO,
            fabric: Arc::clone(fabric),
            routes: Arc::clone(routes),
        }
    }
}

/// The edge switch of each host, and its pod: hosts that are nearer to each other than the farthest are of one.
fn places(fabric: &Fabric) -> Vec<HostPlace> {
    let ports = Ports::all(fabric);
    let farthest = longest(fabric).map_or(0, |(links, _, _)| links);
    let mut pods: Vec<Option<u32>> = vec![None; fabric.hosts as usize];
    for host in 0..fabric.hosts {
        if pods[host as usize].is_none() {
            let distances = ports.distances(NodeId(host));
            let near = |other: &usize| distances[*other] < farthest || *other == host as usize;
            (0..pods.len()).filter(near).for_each(|other| pods[other] = pods[other].or(Some(host)));
        }
    }
    let place = |(host, pod): (usize, Option<u32>)| HostPlace {
        edge: ports.ends(NodeId(host as u32))[0].0,
        pod: pod.expect("each host is near to itself"),
    };
    pods.into_iter().enumerate().map(place).collect()
}

/// Bytes that a connection had delivered when the controller last looked.
#[derive(Clone, Copy, Debug)]
struct Seen {
    start: Time,
    delivered: u64,
    /// The path that it has been given.
    label: Option<u32>,
    /// Whether it has been found to be large, where that holds until its end.
    large: bool,
}

/// The scheduler's state.
pub struct Model {
    config: Hedera,
    /// Of a host's link: demands are shares of it.
    rate: Rate,
    /// By link, in that unit.
    capacities: Vec<f64>,
    annealing: Annealing,
    /// By connection.
    seen: Vec<Seen>,
    looked: Time,
    fabric: Arc<Fabric>,
    routes: Arc<Routes>,
}

impl Model {
    /// Reads a connection's counter: whether its flow is large by now.
    fn is_large(&mut self, flow: &OpenFlow, now: Time, stream: &mut Stream) -> bool {
        let new = Seen { start: flow.start, delivered: 0, label: None, large: false };
        if self.seen.len() <= flow.id.index() {
            self.seen.resize(flow.id.index() + 1, Seen { start: Time::NEVER, ..new });
        }
        let seen = &mut self.seen[flow.id.index()];
        if seen.start != flow.start {
            *seen = new;
        }
        let bytes = flow.delivered - std::mem::replace(&mut seen.delivered, flow.delivered);
        let Hedera { detect, large, threshold, probability, .. } = self.config;
        let found = match detect {
            Detect::Rate => {
                let over = now - self.looked.max(flow.start).min(now);
                return over > Time::ZERO && bytes as f64 * 8.0 > large * self.rate.0 as f64 * over.seconds();
            }
            Detect::Sent => flow.delivered >= threshold.0,
            Detect::Backlog => flow.backlog >= threshold.0,
            Detect::Sample => {
                let packets = bytes.div_ceil(SAMPLED_PACKET);
                packets > 0 && stream.unit() < 1.0 - (1.0 - probability).powf(packets as f64)
            }
        };
        seen.large |= found;
        seen.large
    }
}

/// The paths of a flow: labels, and the links between switches by which these lead.
pub(super) fn paths_of(flow: &OpenFlow, fabric: &Fabric, routes: &Routes) -> (Vec<u32>, Paths) {
    let labels = granted::labels(flow.from, flow.to, fabric, routes);
    let mut paths = Paths::default();
    for &label in &labels {
        paths.push(&inner_links(label, flow, fabric, routes));
    }
    (labels, paths)
}

/// The links between switches of the path of a flow with that label. Two hosts may have a cable of their own.
pub(super) fn inner_links(label: u32, flow: &OpenFlow, fabric: &Fabric, routes: &Routes) -> Vec<u32> {
    let links = granted::links(label, flow.from, flow.to, fabric, routes);
    links.get(1..links.len() - 1).unwrap_or_default().iter().map(|link| link.0).collect()
}

impl Controller for Model {
    fn is_urgent(&self, _report: &Report) -> bool {
        false
    }

    fn begins(&self) -> Time {
        self.config.period
    }

    fn act(&mut self, _reports: &[Report], cx: &mut ControlContext) {
        let now = cx.now;
        cx.wake_at(now + self.config.period);
        let mut large: Vec<OpenFlow> = cx.flows().collect();
        large.retain(|flow| self.is_large(flow, now, cx.stream));
        self.looked = now;
        // First come, first served.
        large.sort_by_key(|flow| (flow.start, flow.id));
        let flow = |flow: &OpenFlow| Flow { source: flow.from.0, destination: flow.to.0, demand: 0.0 };
        let mut flows: Vec<Flow> = large.iter().map(flow).collect();
        estimate(&mut flows, self.fabric.hosts as usize);
        let (labels, paths): (Vec<Vec<u32>>, Vec<Paths>) =
            large.iter().map(|flow| paths_of(flow, &self.fabric, &self.routes)).unzip();
        let placed = match self.config.placement {
            Placement::FirstFit => {
                let current = |(flow, labels): (&OpenFlow, &Vec<u32>)| {
                    let own = self.seen[flow.id.index()].label?;
                    labels.iter().position(|label| *label == own)
                };
                let current: Vec<_> = large.iter().zip(&labels).map(current).collect();
                first_fit(&flows, &paths, &current, &mut self.capacities.clone())
            }
            Placement::Annealing => {
                self.annealing.search(&self.config, &flows, &paths, &self.capacities, cx.stream);
                let core = |(flow, paths): (&Flow, &Paths)| {
                    Some(self.annealing.core(flow.destination) as usize % paths.len())
                };
                flows.iter().zip(&paths).map(core).collect()
            }
        };
        for ((flow, labels), path) in large.iter().zip(&labels).zip(placed) {
            let label = path.map(|path| labels[path]);
            let seen = &mut self.seen[flow.id.index()];
            if let Some(label) = label.filter(|_| label != seen.label) {
                seen.label = Some(label);
                let placed = Placed { id: flow.id, start: flow.start, label };
                let (host, queue) = (flow.from, QueueId(flow.id.0));
                cx.orders.push(Order { host, queue, act: Act::Path(placed) });
            }
        }
    }

    fn heap_bytes(&self) -> usize {
        let own = self.seen.capacity() * size_of::<Seen>() + self.capacities.capacity() * size_of::<f64>();
        own + self.annealing.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::rates::hedera::Placement;
    use crate::engine::contract::conn::Conn;
    use crate::engine::contract::controller::tests::FakeControl;
    use crate::ids::ConnId;
    use crate::topology::Generator;
    use crate::topology::fat_tree::FatTree;
    use crate::topology::leaf_spine::LeafSpine;

    const PERIOD: Time = Time::from_us(10_000);
    /// Bytes of a whole period on a host's link of 1 Gbps.
    const WHOLE: u64 = 1_250_000;

    /// The scheduler of FT(4, 3), and connections that began at those times between hosts of the first pod and the last.
    fn scheduler(placement: Placement, starts: &[Time]) -> (Model, FakeControl) {
        let fabric = FatTree { k: 4, rate: Rate(1_000_000_000), ..FatTree::default() }.build();
        let routes = Routes::build(&fabric).expect("a connected network");
        let scheduler = Hedera { period: PERIOD, placement, ..Hedera::default() };
        let paths = HederaPaths { scheduler, ..HederaPaths::default() };
        let model = paths.model(&Arc::new(fabric), &Arc::new(routes));
        let conn = |(number, start): (u32, &Time)| {
            let mut conn = Conn::between(NodeId(number), NodeId(15 - number));
            (conn.start, conn.via) = (*start, ConnId(number));
            conn
        };
        (model, FakeControl::new((0..).zip(starts).map(conn).collect()))
    }

    /// The controller acts after another period, in which each connection has delivered that share of its link: those that
    /// get paths.
    fn placed(model: &mut Model, room: &mut FakeControl, shares: &[f64]) -> Vec<ConnId> {
        room.now = room.now + PERIOD;
        for (id, share) in (0..).map(ConnId).zip(shares) {
            room.delivers(id, (share * WHOLE as f64) as u64);
        }
        let orders = room.act(model, &[]);
        assert_eq!(room.wake, room.now + PERIOD);
        let connection = |order: &Order| match order.act {
            Act::Path(Placed { id, .. }) => id,
            _ => panic!("it gives paths: {order:?}"),
        };
        orders.iter().map(connection).collect()
    }

    /// A flow is large by what it sends from one look to the next: after 20 idle periods half of its link in one is enough,
    /// and 9 % in each are not. It is placed once.
    #[test]
    fn a_flow_is_large_by_its_last_period() {
        for placement in [Placement::FirstFit, Placement::Annealing] {
            let (mut model, mut room) = scheduler(placement, &[Time::ZERO; 2]);
            for _ in 0..20 {
                assert_eq!(placed(&mut model, &mut room, &[0.0, 0.09]), []);
            }
            assert_eq!(placed(&mut model, &mut room, &[0.5, 0.09]), [ConnId(0)], "{placement:?}");
            assert_eq!(placed(&mut model, &mut room, &[0.5, 0.09]), []);
            assert_eq!(placed(&mut model, &mut room, &[0.0, 0.11]), [ConnId(1)], "{placement:?}");
        }
    }

    /// Found by the threshold of 1 MB: the first flow, which has sent 0.9 of a period, in the second period; by bytes that wait, at
    /// the first look. It is large until its end, but has its path already.
    #[test]
    fn a_flow_is_large_by_its_bytes() {
        let found = |detect, shares: [f64; 2]| {
            let (mut model, mut room) = scheduler(Placement::FirstFit, &[Time::ZERO; 2]);
            (model.config.detect, model.config.threshold) = (detect, Bytes(1_200_000));
            room.sizes(&[3_000_000, 1_000_000]);
            let first = placed(&mut model, &mut room, &shares);
            let large = |model: &Model| model.seen.iter().map(|seen| seen.large).collect::<Vec<bool>>();
            let at_first = large(&model);
            placed(&mut model, &mut room, &shares);
            (first, at_first, large(&model))
        };
        let (none, one) = (vec![false, false], vec![true, false]);
        assert_eq!(found(Detect::Sent, [0.9, 0.4]), (vec![], none, one.clone()));
        assert_eq!(found(Detect::Backlog, [0.9, 0.4]), (vec![ConnId(0)], one.clone(), one));
    }

    /// LIT-LB-DEVOFLOW: until a sample finds a flow it has sent 1000 packets on average, of a geometric distribution; the mean of 400
    /// flows is within three deviations of 50. Looks are ten packets apart.
    #[test]
    fn a_sample_finds_a_flow_after_a_thousand_packets() {
        let (mut model, mut room) = scheduler(Placement::FirstFit, &[Time::ZERO; 1]);
        model.config.detect = Detect::Sample;
        let mut packets = 0;
        for flow in 0..400 {
            room.renew(ConnId(0), Time(flow));
            let start = packets;
            loop {
                packets += 10;
                let open = OpenFlow {
                    id: ConnId(0),
                    from: NodeId(0),
                    to: NodeId(15),
                    start: Time(flow),
                    delivered: (packets - start) * SAMPLED_PACKET,
                    backlog: 0,
                    label: 0,
                };
                if model.is_large(&open, Time::from_us(1), &mut room.stream) {
                    break;
                }
            }
        }
        let mean = packets as f64 / 400.0;
        assert!((mean - 1005.0).abs() < 150.0, "{mean}");
    }

    /// A flow that began in the period counts from its start: 6 % of a period in its last half are 12 %. A connection's slot that
    /// another flow has taken counts from zero.
    #[test]
    fn a_new_flow_counts_from_its_start() {
        let half = Time(PERIOD.0 / 2);
        let (mut model, mut room) = scheduler(Placement::FirstFit, &[half, Time::ZERO]);
        assert_eq!(placed(&mut model, &mut room, &[0.06, 0.06]), [ConnId(0)]);
        room.renew(ConnId(0), room.now + half);
        assert_eq!(placed(&mut model, &mut room, &[0.06, 0.06]), [ConnId(0)]);
        room.renew(ConnId(0), room.now + half);
        assert_eq!(placed(&mut model, &mut room, &[0.04, 0.0]), []);
    }

    /// Between two leaves there are as many shortest paths as spines.
    #[test]
    fn up_to_1024_paths_are_tried() {
        let problems = |spines| {
            let fabric = LeafSpine { leaves: 2, spines, hosts: 1, ..LeafSpine::default() }.build();
            HederaPaths::default().problems_on(&fabric, Bytes(1500))
        };
        assert_eq!(problems(1024), []);
        let [problem] = &problems(1025)[..] else { panic!("one problem") };
        assert_eq!(problem.message, "tries all shortest paths of a flow, and here are over 1024");
    }

    /// Hosts of one edge switch of FT(4, 3) are of one edge, four of one pod.
    #[test]
    fn hosts_have_their_switch_and_their_pod() {
        let places = places(&FatTree { k: 4, ..FatTree::default() }.build());
        for (host, place) in (0u32..).zip(&places) {
            assert_eq!(place.edge, places[host as usize / 2 * 2].edge);
            assert_eq!(place.pod, host / 4 * 4);
        }
        let edges: std::collections::BTreeSet<u32> = places.iter().map(|place| place.edge).collect();
        assert_eq!(edges.len(), 8);
    }
}
