//! Flowtune: rates for all queues by prices of links, iterated while anything waits.
//!
//! Source: Perry, Balakrishnan and Shah, "Flowtune: flowlet control for datacenter networks", NSDI 2017
//! (`rates/flowtune.rs`). A flowlet is a queue that has something to send. The links that it pays for are those of its hosts,
//! as in ASY; the network between them is taken to be wide enough.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rates::flowtune::{Allocator, Flowtune};
use super::{Build, ControlChannel, Settings};
use crate::engine::controller::{Act, Channel, ControlContext, Controller, Order, Report};
use crate::ids::{NodeId, QueueId};
use crate::routing::Routes;
use crate::topology::Fabric;
use crate::units::Time;

/// Rates by prices of links.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FlowtuneRates {
    /// How prices and rates are iterated.
    pub allocator: Flowtune,
    /// How reports and rates travel.
    pub control: ControlChannel,
}

impl Settings for FlowtuneRates {
    fn channel(&self) -> Channel {
        self.control.channel(Time::ZERO)
    }
}

impl Build for FlowtuneRates {
    type Model = Model;

    fn model(&self, fabric: &Fabric, _routes: &Routes) -> Model {
        let hosts = fabric.hosts as usize;
        Model {
            // Shares of a host's own link: those of the source, then those of the destination.
            allocator: Allocator::new(self.allocator.clone(), &vec![1.0; 2 * hosts]),
            config: self.allocator.clone(),
            hosts: hosts as u32,
            sources: Vec::new(),
            active: Vec::new(),
            waiting: 0,
            due: Time::ZERO,
        }
    }
}

/// The prices of all links and the rates of all queues.
pub struct Model {
    allocator: Allocator,
    config: Flowtune,
    hosts: u32,
    /// By queue, the host that sends, and whether anything waits in it.
    sources: Vec<NodeId>,
    active: Vec<bool>,
    /// Queues in which something waits.
    waiting: u32,
    /// When the next iteration is.
    due: Time,
}

impl Model {
    fn is_active(&self, queue: QueueId) -> bool {
        self.active.get(queue.index()).copied().unwrap_or(false)
    }

    fn hear(&mut self, report: &Report) {
        match *report {
            Report::Burst { queue, from, to, priority, .. } if !self.is_active(queue) => {
                if queue.index() >= self.active.len() {
                    self.active.resize(queue.index() + 1, false);
                    self.sources.resize(queue.index() + 1, NodeId::NONE);
                }
                (self.active[queue.index()], self.sources[queue.index()]) = (true, from);
                self.waiting += 1;
                let weight = self.config.weight(usize::from(priority));
                self.allocator.start(queue.0, &[from.0, self.hosts + to.0], weight);
            }
            Report::Emptied { queue } if self.is_active(queue) => {
                self.active[queue.index()] = false;
                self.waiting -= 1;
                self.allocator.end(queue.0);
            }
            _ => {}
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

    fn counts_packets(&self) -> bool {
        false
    }

    fn act(&mut self, reports: &[Report], cx: &mut ControlContext) {
        for report in reports {
            self.hear(report);
        }
        if self.waiting == 0 {
            return;
        }
        if cx.now >= self.due {
            for &(number, rate) in self.allocator.iterate() {
                let order = Order {
                    host: self.sources[number as usize],
                    queue: QueueId(number),
                    at: cx.now,
                    act: Act::Rate(rate),
                };
                cx.orders.push(order);
            }
            self.due = cx.now + self.config.period;
        }
        if self.config.period > Time::ZERO {
            cx.wake_at(self.due);
        }
    }

    fn heap_bytes(&self) -> usize {
        self.sources.capacity() * size_of::<NodeId>() + self.active.capacity()
    }
}
