//! Flowtune: rates for all queues by prices of links, iterated while anything waits.
//!
//! Source: Perry, Balakrishnan and Shah, "Flowtune: flowlet control for datacenter networks", NSDI 2017
//! (`rates/flowtune.rs`). A flowlet is a non-empty queue. It pays for every link of its path. As in the
//! paper, the controller has the paths: it draws the path of each queue, at random among the shortest, and
//! the queue's packets carry it. Or only hosts' links have prices, and the network between them is taken to
//! be wide enough, as in ASY.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rates::flowtune::{Allocator, Flowtune};
use super::{Build, ControlChannel, Settings};
use crate::balancer::Balancer;
use crate::balancer::granted::{self, Granted};
use crate::engine::contract::controller::{Act, Channel, ControlContext, Controller, Order, Report};
use crate::ids::{NodeId, QueueId};
use crate::random::Stream;
use crate::routing::Routes;
use crate::topology::Fabric;
use crate::units::Time;

/// Rates by prices of links.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FlowtuneRates {
    /// Iteration of prices and rates.
    pub allocator: Flowtune,
    /// The links that have prices.
    pub links: Priced,
    /// The channel of reports and rates.
    pub control: ControlChannel,
}

/// Links that have prices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Priced {
    /// All: the controller chooses each queue's path, and the rates of queues that meet anywhere fit there.
    #[default]
    All,
    /// Those of hosts; packets take the paths of their flows.
    Hosts,
}

impl Settings for FlowtuneRates {
    fn weights(&self) -> Option<(&'static str, &[f64])> {
        Some(("allocator.weights", &self.allocator.weights))
    }

    fn channel(&self) -> Channel {
        self.control.channel(Time::ZERO)
    }

    fn refuses_faults(&self) -> Option<&'static str> {
        (self.links == Priced::All).then_some("it gives packets paths on the whole network")
    }

    fn balancer(&self) -> Option<Balancer> {
        (self.links == Priced::All).then(|| Granted {}.into())
    }
}

impl Build for FlowtuneRates {
    type Model = Model;

    fn model(&self, fabric: &Arc<Fabric>, routes: &Arc<Routes>) -> Model {
        let unit = fabric.host_rate().0 as f64;
        let capacities: Vec<f64> = fabric.links.iter().map(|link| link.rate.0 as f64 / unit).collect();
        Model {
            allocator: Allocator::new(self.allocator.clone(), &capacities),
            config: self.allocator.clone(),
            priced: self.links,
            capacities,
            queues: Vec::new(),
            waiting: 0,
            due: Time::ZERO,
            fabric: Arc::clone(fabric),
            routes: Arc::clone(routes),
        }
    }
}

/// A queue that has had a burst.
#[derive(Clone, Debug)]
struct Queue {
    from: NodeId,
    /// The links that it pays for: its host's first.
    links: Vec<u32>,
    /// Its path, if the controller has chosen that.
    label: Option<u32>,
    /// Whether anything waits in it.
    active: bool,
}

/// The prices of all links and the rates of all queues.
pub struct Model {
    allocator: Allocator,
    config: Flowtune,
    priced: Priced,
    /// By link, in rates of a host's.
    capacities: Vec<f64>,
    queues: Vec<Option<Queue>>,
    /// Queues in which something waits.
    waiting: u32,
    /// When the next iteration is.
    due: Time,
    fabric: Arc<Fabric>,
    routes: Arc<Routes>,
}

impl Model {
    fn is_active(&self, queue: QueueId) -> bool {
        self.queues.get(queue.index()).is_some_and(|queue| queue.as_ref().is_some_and(|queue| queue.active))
    }

    /// A queue that has its first burst.
    fn open(&self, from: NodeId, to: NodeId, stream: &mut Stream) -> Queue {
        let (fabric, routes) = (&*self.fabric, &*self.routes);
        let label = (self.priced == Priced::All).then(|| stream.bits() as u32);
        let mut links = granted::links(label.unwrap_or(0), from, to, fabric, routes);
        if self.priced == Priced::Hosts && links.len() > 1 {
            links.drain(1..links.len() - 1);
        }
        Queue { from, links: links.iter().map(|link| link.0).collect(), label, active: false }
    }

    fn on_report(&mut self, report: &Report, stream: &mut Stream) {
        match *report {
            Report::Burst { queue, from, to, priority, .. } if !self.is_active(queue) => {
                if queue.index() >= self.queues.len() {
                    self.queues.resize(queue.index() + 1, None);
                }
                if self.queues[queue.index()].is_none() {
                    self.queues[queue.index()] = Some(self.open(from, to, stream));
                }
                let known = self.queues[queue.index()].as_mut().expect("it has just been opened");
                known.active = true;
                self.waiting += 1;
                let weight = self.config.weight(usize::from(priority));
                self.allocator.start(queue.0, &known.links, weight);
            }
            Report::Emptied { queue } if self.is_active(queue) => {
                self.queues[queue.index()].as_mut().expect("it is active").active = false;
                self.waiting -= 1;
                self.allocator.end(queue.0);
            }
            _ => {}
        }
    }

    /// Normalised rates fit all links that have prices.
    fn audit(&self, now: Time, found: &mut Vec<String>) {
        let mut loads = vec![0.0; self.capacities.len()];
        for (number, queue) in self.queues.iter().enumerate() {
            let Some(queue) = queue.as_ref().filter(|queue| queue.active) else { continue };
            queue.links.iter().for_each(|&link| loads[link as usize] += self.allocator.rate(number as u32));
        }
        for (link, (load, capacity)) in loads.iter().zip(&self.capacities).enumerate() {
            if *load > capacity * (1.0 + 1e-9) {
                found.push(format!("at {now}: rates of link {link} sum to {load} of {capacity}"));
            }
        }
    }
}

impl Controller for Model {
    /// Between iterations nothing is urgent; where there is no period, each change is.
    fn is_urgent(&self, report: &Report) -> bool {
        match report {
            Report::Burst { queue, .. } => {
                !self.is_active(*queue) && (self.waiting == 0 || self.config.period == Time::ZERO)
            }
            Report::Emptied { .. } => self.config.period == Time::ZERO,
            Report::Sent { .. } | Report::Unused { .. } => false,
        }
    }

    fn act(&mut self, reports: &[Report], cx: &mut ControlContext) {
        for report in reports {
            self.on_report(report, cx.stream);
        }
        if self.waiting == 0 {
            return;
        }
        if cx.now >= self.due {
            for &(number, rate) in self.allocator.iterate() {
                let queue = self.queues[number as usize].as_ref().expect("it is active");
                // Hosts get shares of their own links.
                let share = rate / self.capacities[queue.links[0] as usize];
                let order = Order {
                    host: queue.from,
                    queue: QueueId(number),
                    act: Act::Rate { share, label: queue.label },
                };
                cx.orders.push(order);
            }
            self.due = cx.now + self.config.period;
            if self.config.fits()
                && let Some(found) = cx.found.as_deref_mut()
            {
                self.audit(cx.now, found);
            }
        }
        if self.config.period > Time::ZERO {
            cx.wake_at(self.due);
        }
    }

    fn heap_bytes(&self) -> usize {
        let links: usize = self.queues.iter().flatten().map(|queue| queue.links.capacity()).sum();
        let own = self.queues.capacity() * size_of::<Option<Queue>>() + links * size_of::<u32>();
        own + self.capacities.capacity() * size_of::<f64>() + self.allocator.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::controller::tests::FakeControl;
    use crate::ids::FlowId;
    use crate::topology::Generator;
    use crate::topology::single_switch::SingleSwitch;
    use crate::units::Rate;

    /// A host with a link of 10 Gbps sends to one of 1 Gbps. The order names a share of its own link: a tenth.
    #[test]
    fn a_rate_is_a_share_of_the_own_link() {
        let mut fabric =
            SingleSwitch { hosts: 4, rate: Rate(1_000_000_000), ..SingleSwitch::default() }.build();
        let own = |id: NodeId| id == NodeId(0);
        for link in fabric.links.iter_mut().filter(|link| own(link.from) || own(link.to)) {
            link.rate = Rate(10_000_000_000);
        }
        let routes = Routes::build(&fabric).expect("a connected network");
        let mut model = FlowtuneRates::default().model(&Arc::new(fabric), &Arc::new(routes));
        let mut room = FakeControl::new(Vec::new());
        let burst = Report::Burst {
            queue: QueueId(0),
            from: NodeId(0),
            to: NodeId(1),
            flow: FlowId(0),
            bytes: 1_000_000,
            packets: 1000,
            link_bytes: 0,
            priority: 0,
            at: Time::ZERO,
        };
        let mut shares = Vec::new();
        for round in 0..200 {
            let reports = if round == 0 { &[burst][..] } else { &[] };
            for order in room.act(&mut model, reports) {
                let Act::Rate { share, .. } = order.act else { panic!("it gives rates: {order:?}") };
                shares.push(share);
            }
            room.now = room.wake;
        }
        assert!(shares.iter().all(|&share| share <= 0.1 + 1e-9), "{shares:?}");
        let last = shares[shares.len() - 1];
        assert!((last - 0.1).abs() < 0.005, "{last}");
    }

    /// The controller acts at once on the first burst of all; while a queue waits, the next iteration is soon enough for the
    /// others. Without a period each change of the queues is an iteration, but not a further burst of a queue that waits.
    #[test]
    fn reports_between_iterations_wait() {
        let fabric = Arc::new(SingleSwitch { hosts: 4, ..SingleSwitch::default() }.build());
        let routes = Arc::new(Routes::build(&fabric).expect("a connected network"));
        let burst = |queue: u32| Report::Burst {
            queue: QueueId(queue),
            from: NodeId(queue),
            to: NodeId(3),
            flow: FlowId(queue),
            bytes: 1_000,
            packets: 1,
            link_bytes: 0,
            priority: 0,
            at: Time::ZERO,
        };
        for (period, others) in [(Time::from_us(10), false), (Time::ZERO, true)] {
            let allocator = Flowtune { period, ..Flowtune::default() };
            let mut model = FlowtuneRates { allocator, ..FlowtuneRates::default() }.model(&fabric, &routes);
            assert!(model.is_urgent(&burst(0)));
            FakeControl::new(Vec::new()).act(&mut model, &[burst(0)]);
            let urgent = [burst(0), burst(1), Report::Emptied { queue: QueueId(0) }];
            assert_eq!(urgent.map(|report| model.is_urgent(&report)), [false, others, others], "{period}");
        }
    }
}
