//! SYN: in each slot a matching of hosts, whose packets all have paths of their own.
//!
//! Source: Sviridov, Bianco and Giaccone, "To sync or not to sync: why asynchronous traffic control is good
//! enough for your data center", Globecom 2018, section II-A (called SYN here), after Perry et al.,
//! "Fastpass: a centralized 'zero-queue' datacenter network", SIGCOMM 2014. In each slot the controller looks
//! at the [`backlog`], takes a [`matching`] of sources and destinations, and gives each packet a path of its
//! own by [`colouring`] the edges of a [`clos`] network; each host then sends the packet at the head of the
//! queue that was matched. [`audit`] checks each slot. These parts do not use the engine.

pub mod audit;
pub mod backlog;
pub mod clos;
pub mod colouring;
pub mod matching;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::backlog::{Backlog, FlowOrder};
use self::clos::Clos;
use self::matching::{Order, Policy};
use super::{Build, ControlChannel, Settings};
use crate::balancer::Balancer;
use crate::balancer::granted::Granted;
use crate::derived::{Derived, Values};
use crate::engine::contract::controller::{self, Act, Channel, ControlContext, Controller, Grant, Report};
use crate::ids::{FlowId, NodeId, QueueId};
use crate::problem::Problem;
use crate::routing::Routes;
use crate::topology::Fabric;
use crate::units::{Bytes, Time};

/// Grants, slot by slot, for all hosts at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Syn {
    /// Bytes on the wire that a slot has room for, at the rate of the hosts' links. "derived": the transport's full packet, with its
    /// frame, as Fastpass has it.
    #[schemars(extend("x-minimum" = "40B", "x-maximum" = "1MB"))]
    pub slot: Derived<Bytes>,
    /// Priority of queues.
    pub policy: Policy,
    /// Priority of a queue's flows.
    pub sequence: FlowOrder,
    /// Whether packets to one destination share a slot that has room for them; else each takes a slot, however short.
    pub aggregate: bool,
    /// So many slots are computed at once, during as many before them. 1: each at its own start.
    #[schemars(range(min = 1, max = 1024))]
    pub batch: u32,
    /// Each server's clock is late by a time of its own from 0 to this.
    pub clock_error: Time,
    /// The channel of reports and grants.
    pub control: ControlChannel,
}

impl Default for Syn {
    fn default() -> Self {
        Syn {
            slot: Derived::FromNetwork,
            policy: Policy::default(),
            sequence: FlowOrder::default(),
            aggregate: false,
            batch: 1,
            clock_error: Time::ZERO,
            control: ControlChannel::default(),
        }
    }
}

impl Syn {
    fn slot_bytes(&self) -> u64 {
        self.slot.or(Bytes(1538)).0
    }
}

impl Settings for Syn {
    fn problems_on(&self, fabric: &Fabric, full_packet: Bytes) -> Vec<Problem> {
        let mut problems = Vec::new();
        if let Some(slot) = self.slot.given().filter(|slot| *slot < full_packet) {
            let message = format!(
                "{slot} is too short for the transport's packets of up to {full_packet} with their frames; cut them by \
                 transport.central.fragment, or use {full_packet}"
            );
            problems.push(Problem::new("slot", message));
        }
        let slot = fabric.host_rate().transmission(self.slot.or(full_packet).0);
        if self.clock_error > slot {
            let message = format!(
                "{} is above a slot, {slot}: packets of a slot would meet those of the next but one",
                self.clock_error
            );
            problems.push(Problem::new("clock_error", message));
        }
        let routes = Routes::build(fabric);
        if let Some(why) = routes.ok().and_then(|routes| Clos::new(fabric, &routes).err()) {
            problems
                .push(Problem::new("", format!("finds no path of its own for each packet of a slot: {why}")));
        }
        problems
    }

    fn derived(&self, _fabric: &Fabric, full_packet: Bytes) -> Values {
        let left = self.slot == Derived::FromNetwork;
        left.then(|| ("slot".to_string(), json!(full_packet))).into_iter().collect()
    }

    fn refuses_faults(&self) -> Option<&'static str> {
        Some("it gives packets paths on the whole network")
    }

    /// A packet takes a slot, unless others may share it.
    fn takes(&self, wire_bytes: u64) -> u64 {
        if self.aggregate { wire_bytes } else { self.slot_bytes() }
    }

    fn channel(&self) -> Channel {
        self.control.channel(self.clock_error)
    }

    fn balancer(&self) -> Option<Balancer> {
        Some(Granted {}.into())
    }
}

impl Build for Syn {
    type Model = Model;

    fn model(&self, fabric: &Arc<Fabric>, routes: &Arc<Routes>) -> Model {
        let slot = fabric.host_rate().transmission(self.slot_bytes());
        let clos = Clos::new(fabric, routes).expect("the check refuses other networks");
        // A grant is for the first slot that begins when it has arrived, or for the batch behind.
        let travels = self.control.delay.0.div_ceil(slot.0);
        let ahead = if self.batch > 1 { travels.max(u64::from(self.batch)) } else { travels };
        Model {
            slot,
            room: self.slot_bytes() as u32,
            aggregate: self.aggregate,
            batch: self.batch,
            ahead,
            backlog: Backlog::new(self.sequence, self.aggregate.then(|| self.slot_bytes())),
            order: None,
            policy: self.policy,
            hosts: fabric.hosts as usize,
            clos,
            touched: Vec::new(),
            matched: Vec::new(),
            pairs: Vec::new(),
            labels: Vec::new(),
            next: Time::NEVER,
            given: Time::NEVER,
            fabric: Arc::clone(fabric),
            routes: Arc::clone(routes),
        }
    }
}

/// The slots of a run.
pub struct Model {
    slot: Time,
    /// Bytes on the wire of a slot.
    room: u32,
    aggregate: bool,
    /// Slots that are computed at once, and how many slots before the first of them that is.
    batch: u32,
    ahead: u64,
    backlog: Backlog,
    /// Made with the controller's stream when it acts first.
    order: Option<Order>,
    policy: Policy,
    hosts: usize,
    clos: Clos,
    touched: Vec<QueueId>,
    matched: Vec<u32>,
    pairs: Vec<(NodeId, NodeId)>,
    labels: Vec<u32>,
    /// The slot at which it acts next; none while nothing waits.
    next: Time,
    /// When it has last sent grants.
    given: Time,
    fabric: Arc<Fabric>,
    routes: Arc<Routes>,
}

impl Model {
    fn on_report(&mut self, report: &Report) {
        let queue = match *report {
            Report::Burst { queue, from, to, flow, bytes, packets, link_bytes, at, .. } => {
                self.backlog.open_as(queue.0, from, to);
                self.backlog.burst(queue.0, flow.0, bytes, packets, link_bytes, at);
                queue
            }
            Report::Sent { queue, flow, bytes, granted } => {
                self.backlog.sent(queue.0, flow.0, u64::from(bytes), 1, granted);
                queue
            }
            Report::Unused { queue, at } => {
                self.backlog.withdraw(queue.0, at);
                queue
            }
            Report::Emptied { .. } => return,
        };
        self.touched.push(queue);
    }

    /// Updates the order for the queues with a report.
    fn relist(&mut self) {
        let order = self.order.as_mut().expect("it has been made");
        for queue in self.touched.drain(..) {
            let listing = self.backlog.relist(queue.0);
            order.note(queue.0, self.backlog.ends(queue.0), listing);
        }
    }

    /// Sends the grants of one slot.
    fn give(&mut self, at: Time, cx: &mut ControlContext) {
        let order = self.order.as_mut().expect("it has been made");
        order.slot(&mut self.matched);
        self.pairs.clear();
        self.pairs.extend(self.matched.iter().map(|&queue| self.backlog.ends(queue)));
        self.clos.route(&self.pairs, &mut self.labels);
        for ((&queue, &(host, _)), &label) in self.matched.iter().zip(&self.pairs).zip(&self.labels) {
            let flow = FlowId(self.backlog.grant(queue, at));
            let grant = Grant { flow, slot: at, label: Some(label), room: self.room, fill: self.aggregate };
            cx.orders.push(controller::Order { host, queue: QueueId(queue), act: Act::Send(grant) });
            self.touched.push(QueueId(queue));
        }
        if let Some(found) = cx.found.as_deref_mut() {
            let (fabric, routes) = (&*self.fabric, &*self.routes);
            let order = self.order.as_ref().expect("it has been made");
            let wrong = [
                audit::matching(&self.pairs, order.waiting(), 1).err(),
                audit::paths(fabric, routes, fabric.host_rate(), &self.pairs, &self.labels).err(),
            ];
            found.extend(wrong.into_iter().flatten().map(|what| format!("slot at {at}: {what}")));
        }
    }

    /// Whether nothing waits for a grant.
    fn is_idle(&self) -> bool {
        let order = self.order.as_ref().expect("it has been made");
        order.is_empty() && self.touched.iter().all(|queue| self.backlog.head(queue.0).is_none())
    }
}

impl Controller for Model {
    /// While nothing waits the controller rests, until a burst comes.
    fn is_urgent(&self, report: &Report) -> bool {
        self.next == Time::NEVER && !matches!(report, Report::Emptied { .. })
    }

    fn counts_packets(&self) -> bool {
        true
    }

    fn act(&mut self, reports: &[Report], cx: &mut ControlContext) {
        if self.order.is_none() {
            self.order = Some(Order::new(self.policy, self.hosts, 1, *cx.stream));
        }
        for report in reports {
            self.on_report(report);
        }
        self.relist();
        let period = self.slot.0 * u64::from(self.batch);
        // A packet that leaves at once may start a flow, whose burst calls the controller again.
        if cx.now.0.is_multiple_of(period) && self.given != cx.now {
            self.given = cx.now;
            let first = cx.now.0 + self.ahead * self.slot.0;
            for number in 0..u64::from(self.batch) {
                self.relist();
                self.give(Time(first + number * self.slot.0), cx);
            }
            // The residual of a flow is known once its host has reported the packet: before that, it is an estimate.
            if self.policy != Policy::Srjf {
                self.relist();
            }
        }
        let idle = self.is_idle();
        self.next = if idle { Time::NEVER } else { Time((cx.now.0 / period + 1) * period) };
        if !idle {
            cx.wake_at(self.next);
        }
    }

    fn heap_bytes(&self) -> usize {
        let order = self.order.as_ref().map_or(0, Order::heap_bytes);
        let slot = self.matched.capacity() * size_of::<u32>()
            + self.pairs.capacity() * size_of::<(NodeId, NodeId)>();
        self.backlog.heap_bytes() + order + slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::controller::tests::FakeControl;
    use crate::topology::Generator;
    use crate::topology::single_switch::SingleSwitch;

    /// Slots of 1538 B that packets share, for a hundred packets of 40 B. With frames of 38 B more they take 7800 B, and a slot
    /// is left with room for half a packet: 7800 / (1538 - 39) are six grants. Without frames 4000 / (1538 - 20) are three.
    #[test]
    fn grants_count_the_frames_of_packets() {
        for (link_bytes, expected) in [(38, 6), (0, 3)] {
            let fabric = Arc::new(SingleSwitch { hosts: 3, ..SingleSwitch::default() }.build());
            let routes = Arc::new(Routes::build(&fabric).expect("a connected network"));
            let config = Syn { slot: Derived::Given(Bytes(1538)), aggregate: true, ..Syn::default() };
            let (mut model, mut room) = (config.model(&fabric, &routes), FakeControl::new(Vec::new()));
            let burst = Report::Burst {
                queue: QueueId(0),
                from: NodeId(0),
                to: NodeId(1),
                flow: FlowId(0),
                bytes: 4_000,
                packets: 100,
                link_bytes,
                priority: 0,
                at: Time::ZERO,
            };
            let mut grants = room.act(&mut model, &[burst]).len();
            while room.wake != Time::NEVER && grants <= 100 {
                room.now = room.wake;
                grants += room.act(&mut model, &[]).len();
            }
            assert_eq!(grants, expected, "frames of {link_bytes} B");
        }
    }
}
