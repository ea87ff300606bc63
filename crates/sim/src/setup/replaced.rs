//! Runs of a scenario with transports or balancers of a test in place of the lists' members.

#![cfg(test)]

use std::sync::Arc;

use super::Setup;
use crate::engine::contract::controller::Channel;
use crate::engine::contract::credit::Credits;
use crate::engine::contract::endpoint::Endpoint;
use crate::engine::contract::gate::Thresholds;
use crate::engine::contract::members::Members;
use crate::engine::contract::memory::Memory;
use crate::engine::contract::path::Choose;
use crate::engine::contract::rules::Rules;
use crate::engine::data::plan::{Agenda, Parts, Plan};
use crate::engine::parted::Parted;
use crate::engine::parted::executor::InTurn;
use crate::engine::run::Engine;
use crate::scenario::Scenario;
use crate::topology::{Fabric, Link};
use crate::units::Rate;
use crate::{agent, controller, parting, queue};

/// The members of a scenario; those of two lists come from a test.
struct Replaced<'a, E, B> {
    setup: &'a Setup,
    endpoints: &'a (dyn Fn(&Fabric) -> Vec<E> + Sync),
    balancers: &'a (dyn Fn(&Fabric, u64, u64) -> Vec<B> + Sync),
    /// Whether ports write telemetry into the packets of the first transport.
    telemetry: bool,
}

/// A scenario, ready to run.
fn read(text: &str) -> (Scenario, Setup) {
    let scenario: Scenario = toml::from_str(text).expect("the text of a scenario");
    let setup = Setup::new(&scenario, scenario.topology.build().into()).expect("a scenario that can run");
    (scenario, setup)
}

/// Runs the scenario in the text with that balancer.
pub fn run_with_balancer<B: Choose + Send>(text: &str, balancer: fn() -> B) {
    let (scenario, setup) = read(text);
    let members = Replaced {
        setup: &setup,
        endpoints: &|fabric| setup.endpoints(fabric),
        balancers: &|_, _, _| vec![balancer()],
        telemetry: false,
    };
    run(&scenario, &members, 1);
}

/// Runs the scenario in the text in so many parts with that transport, into whose packets ports write telemetry.
pub fn run_with_transport<E: Endpoint + Send>(text: &str, parts: u32, transport: fn(&Fabric) -> E) {
    let (scenario, setup) = read(text);
    let members = Replaced {
        setup: &setup,
        endpoints: &|fabric| vec![transport(fabric)],
        balancers: &|fabric, seed, replica| Members::balancers(&setup, fabric, seed, replica),
        telemetry: true,
    };
    run(&scenario, &members, parts);
}

fn run<E, B>(scenario: &Scenario, members: &Replaced<E, B>, parts: u32)
where
    E: Endpoint + Send,
    B: Choose + Send,
{
    let of = members.setup.plan(scenario, Agenda::Calendar);
    let Parts { fabric, routes, faults, seed, replica, serviced_only, whole_ns, ties, agenda, .. } = of.parts;
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
    if parts == 1 {
        Engine::new(&plan).run(&mut |_| true);
    } else {
        let cut = parting::cut(members.setup, parts).expect("the network can be cut");
        Parted::new(&plan, &Arc::new(cut)).run(&InTurn, &mut |_| true);
    }
}

impl<E: Endpoint + Send, B: Choose + Send> Members for Replaced<'_, E, B> {
    type Endpoint = E;
    type Queue = queue::Model;
    type Balancer = B;
    type Agent = agent::Model;
    type Controller = controller::Model;

    fn endpoints(&self, fabric: &Fabric) -> Vec<E> {
        (self.endpoints)(fabric)
    }

    fn balancers(&self, fabric: &Fabric, seed: u64, replica: u64) -> Vec<B> {
        (self.balancers)(fabric, seed, replica)
    }

    fn telemetry(&self) -> u32 {
        u32::from(self.telemetry)
    }

    fn has_records(&self) -> bool {
        self.telemetry
    }

    fn committed(&self) -> Option<Rules> {
        if self.telemetry { None } else { self.setup.committed() }
    }

    fn agents_serve(&self) -> Option<u8> {
        None
    }

    fn agent(&self, link: &Link) -> agent::Model {
        self.setup.agent(link)
    }

    fn controller(&self) -> Option<(controller::Model, u8, Channel)> {
        None
    }

    fn queue(&self, rate: Rate, to_host: bool) -> queue::Model {
        self.setup.queue(rate, to_host)
    }

    fn host_queue(&self) -> queue::Model {
        self.setup.host_queue()
    }

    fn acts_on_departure(&self) -> bool {
        self.setup.acts_on_departure()
    }

    fn pauses(&self) -> bool {
        self.setup.pauses()
    }

    fn thresholds(&self, link: &Link, back: &Link) -> Thresholds {
        self.setup.thresholds(link, back)
    }

    fn credits(&self) -> Credits {
        self.setup.credits()
    }

    fn shares_memory(&self) -> bool {
        self.setup.shares_memory()
    }

    fn memory(&self) -> Memory {
        self.setup.memory()
    }

    fn frame_bytes(&self) -> u32 {
        self.setup.frame_bytes()
    }

    fn port_bytes(&self) -> usize {
        self.setup.port_bytes()
    }
}
