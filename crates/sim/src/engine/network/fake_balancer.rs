//! Runs of the lists' members with a balancer of a test in place of theirs.

#![cfg(test)]

use crate::engine::contract::controller::Channel;
use crate::engine::contract::members::Members;
use crate::engine::contract::path::Choose;
use crate::engine::contract::rules::Rules;
use crate::engine::data::credit::Credits;
use crate::engine::data::gate::Thresholds;
use crate::engine::data::memory::Memory;
use crate::engine::data::plan::{Agenda, Parts, Plan};
use crate::engine::run::Engine;
use crate::scenario::Scenario;
use crate::setup::Setup;
use crate::topology::{Fabric, Link};
use crate::units::Rate;
use crate::{agent, controller, queue, transport};

/// The members of a scenario, with that balancer.
struct Balanced<'a, B>(&'a Setup, fn() -> B);

/// Runs the scenario in the text with the balancer.
pub fn run<B: Choose + Send>(text: &str, balancer: fn() -> B) {
    let scenario: Scenario = toml::from_str(text).unwrap();
    let setup = Setup::new(&scenario, scenario.topology.build().into()).unwrap();
    let Plan {
        parts: Parts { fabric, routes, faults, seed, replica, serviced_only, whole_ns, ties, agenda, .. },
        ..
    } = setup.plan(&scenario, Agenda::Calendar);
    let members = &Balanced(&setup, balancer);
    let of = setup.plan(&scenario, Agenda::Calendar);
    let plan = Plan {
        parts: Parts {
            fabric,
            routes,
            faults,
            members,
            seed,
            replica,
            serviced_only,
            whole_ns,
            ties,
            agenda,
        },
        carriers: of.carriers,
        traffic: of.traffic,
        flows_max: of.flows_max,
        stop_delay: of.stop_delay,
        until: of.until,
        stall: of.stall,
        timeout_max: of.timeout_max,
        memory_limit: of.memory_limit,
        work_limit: of.work_limit,
        full_packet: of.full_packet,
        audit: of.audit,
    };
    Engine::new(&plan).run(&mut |_| true);
}

impl<B: Choose + Send> Members for Balanced<'_, B> {
    type Endpoint = transport::Model;
    type Queue = queue::Model;
    type Balancer = B;
    type Agent = agent::Model;
    type Controller = controller::Model;

    fn balancers(&self, _fabric: &Fabric, _seed: u64, _replica: u64) -> Vec<B> {
        vec![(self.1)()]
    }
    fn endpoints(&self, fabric: &Fabric) -> Vec<transport::Model> {
        self.0.endpoints(fabric)
    }
    fn telemetry(&self) -> u32 {
        0
    }
    fn has_records(&self) -> bool {
        false
    }
    fn committed(&self) -> Option<Rules> {
        self.0.committed()
    }
    fn agents_serve(&self) -> Option<u8> {
        None
    }
    fn agent(&self, link: &Link) -> agent::Model {
        self.0.agent(link)
    }
    fn controller(&self) -> Option<(controller::Model, u8, Channel)> {
        None
    }
    fn queue(&self, rate: Rate, to_host: bool) -> queue::Model {
        self.0.queue(rate, to_host)
    }
    fn host_queue(&self) -> queue::Model {
        self.0.host_queue()
    }
    fn acts_on_departure(&self) -> bool {
        self.0.acts_on_departure()
    }
    fn pauses(&self) -> bool {
        self.0.pauses()
    }
    fn thresholds(&self, link: &Link, back: &Link) -> Thresholds {
        self.0.thresholds(link, back)
    }
    fn credits(&self) -> Credits {
        self.0.credits()
    }
    fn shares_memory(&self) -> bool {
        self.0.shares_memory()
    }
    fn memory(&self) -> Memory {
        self.0.memory()
    }
    fn frame_bytes(&self) -> u32 {
        self.0.frame_bytes()
    }
    fn port_bytes(&self) -> usize {
        self.0.port_bytes()
    }
}
