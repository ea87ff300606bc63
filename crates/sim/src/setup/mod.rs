//! From a scenario to the engine's input: the network, the flows, and their transports.

#[cfg(test)]
pub mod replaced;
mod steps;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use self::steps::{Carried, Offered, Settling, carrier, distinct, longest_of, nearest_delay, paths, rule};
use crate::agent::{self, Agent};
use crate::balancer::{self, Balancer};
use crate::buffer::Buffer;
use crate::controller::{self, Controller};
use crate::derived::Longest;
use crate::engine::contract::controller::Channel;
use crate::engine::contract::credit::{CLASSES, Credits};
use crate::engine::contract::gate::{FRAME_BYTES, Thresholds};
use crate::engine::contract::members::Members;
use crate::engine::contract::memory::Memory;
use crate::engine::contract::rules::Rules;
use crate::engine::data::plan::{Agenda, Carrier, Parts, Plan, Rule};
use crate::faults::timeline::Timeline;
use crate::ids::NodeId;
use crate::problem::{Problem, within};
use crate::queue::{self, Feature, Queue};
use crate::routing::{Disconnected, Routes, min_host_delay};
use crate::scenario::{Entry, PortMode, Prototypes, Scenario, TimeUnit};
use crate::topology::{Fabric, Link};
use crate::traffic::{Demand, FLOWS_MAX, Flow, Traffic};
use crate::transport::{self, Profile, Signal, Transport};
use crate::units::{Rate, Time};

/// Flows of an entry whose paths stand for those of all.
const SAMPLED: usize = 10_000;

/// A run ready to start.
#[derive(Clone, Debug)]
pub struct Setup {
    pub fabric: Arc<Fabric>,
    pub routes: Arc<Routes>,
    pub faults: Timeline,
    pub traffic: Traffic,
    /// The transports that carry them, settled; two entries with the same configuration share one.
    pub transports: Vec<Transport>,
    /// For each transport, its model and its place among the configurations of that model.
    pub places: Vec<(u8, u8)>,
    /// For each transport, its profile.
    pub profiles: Vec<Profile>,
    /// For each transport, its place in the scenario.
    pub paths: Vec<String>,
    /// For each transport, the longest paths to its packets.
    pub longest: Vec<Longest>,
    /// The balancers that spread them, likewise.
    pub balancers: Vec<Balancer>,
    /// The queue discipline of ports.
    pub queue: Queue,
    /// Memory that the ports of a switch share, if they do.
    pub buffer: Option<Buffer>,
    /// The agent, if there is one, and the model of the transport that it serves.
    pub agent: Option<(Agent, u8)>,
    /// The controller, if there is one, and the model of the transport that it serves.
    pub controller: Option<(Controller, u8)>,
    /// Bytes of the largest full data packet on the wire, for limits that count in it.
    pub full_packet: u64,
    /// Bytes of the longest that there may be.
    pub packet_max: u64,
    /// For each traffic entry, its transport and balancer.
    pub carriers: Vec<Carrier>,
    /// For each traffic entry, whether its flows have deadlines.
    due: Vec<bool>,
    /// Whether any member of it is a prototype.
    pub has_prototypes: bool,
    /// Which of several packets that arrive at one instant goes first.
    pub ties: Rule,
    /// Fields that the scenario leaves to the network, by their paths, with the values that are used.
    pub derived: BTreeMap<String, Value>,
}

impl Setup {
    /// Builds everything that does not change during the run, on the network that the scenario's topology builds.
    pub fn new(scenario: &Scenario, fabric: Arc<Fabric>) -> Result<Setup, Disconnected> {
        Setup::with(scenario, fabric, &Prototypes::default())
    }

    /// The same, with the prototypes that it names.
    pub fn with(
        scenario: &Scenario,
        fabric: Arc<Fabric>,
        prototypes: &Prototypes,
    ) -> Result<Setup, Disconnected> {
        let routes = Arc::new(Routes::build(&fabric)?);
        let Offered { faults, traffic, demands } = Offered::new(scenario, &fabric, &routes);
        let entries = || scenario.traffic.iter();
        let (named, transport_of) = distinct(entries().map(|entry| scenario.transport_of(entry)));
        let (mut balancers, balancer_of) = distinct(entries().map(|entry| scenario.balancer_of(entry)));
        let longest = longest_of(&named, &fabric, &routes);
        let mut settling = Settling { prototypes, has_prototypes: false, derived: BTreeMap::new() };
        let unsettled: Vec<Profile> = named.iter().map(|transport| transport.profile()).collect();
        let mut marked = unsettled.iter().filter(|profile| profile.ecn_capable).peekable();
        let mut carried = Carried {
            traffic: &traffic,
            demands: &demands,
            transport_of: &transport_of,
            nearest_delay: nearest_delay(&fabric),
            marks_last_hop: unsettled.iter().all(|profile| profile.marks_last_hop),
            marks_as_share: marked.peek().is_some()
                && marked.all(|profile| profile.window_signal == Some(Signal::Marks)),
            port_bytes: None,
            oversubscription: scenario.topology.oversubscription().unwrap_or(1.0).max(1.0),
        };
        let all = carried.by_all(&longest);
        let queue = settling.queue(scenario, &all);
        let full_packet = scenario.full_packet();
        carried.port_bytes = queue.most_packets(full_packet).map(|packets| packets * full_packet);
        let transports = settling.transports(scenario, &named, &longest, &carried);
        let places = Transport::places(&transports);
        let profiles: Vec<Profile> = transports.iter().map(|transport| transport.profile()).collect();
        let all = carried.by_all(&longest);
        let agent = settling.agent(scenario, &all);
        let controller = settling.controller(scenario, &fabric);
        settling.balancers(scenario, &queue, &mut balancers, &balancer_of);
        let model_of = |served: &str| {
            let at = transports.iter().position(|transport| transport.name() == served);
            places[at.expect("the check refuses agents and controllers that serve no transport")].0
        };
        let carrier = |(entry, (transport, balancer)): (&Entry, (&u8, &u8))| {
            let number = usize::from(*transport);
            let classed = transports[number].sets_class(&scenario.queue());
            carrier(entry, (*transport, places[number]), *balancer, classed, &profiles[number])
        };
        let members = transport_of.iter().zip(&balancer_of);
        Ok(Setup {
            agent: agent.map(|agent| {
                let model = model_of(agent.serves());
                (agent, model)
            }),
            controller: controller.map(|own| {
                let model = model_of(own.serves());
                (own, model)
            }),
            carriers: scenario.traffic.iter().zip(members).map(carrier).collect(),
            paths: paths(scenario, &transport_of, named.len()),
            due: demands.iter().map(Demand::has_deadlines).collect(),
            fabric,
            routes,
            faults,
            traffic,
            transports,
            places,
            profiles,
            longest,
            balancers,
            queue,
            buffer: scenario.buffer.clone(),
            full_packet: scenario.full_packet(),
            packet_max: scenario.packet_max(),
            has_prototypes: settling.has_prototypes,
            ties: rule(scenario.run.ties),
            derived: settling.derived,
        })
    }

    /// The run as the engine takes it.
    pub fn plan(&self, scenario: &Scenario, agenda: Agenda) -> Plan<'_, Setup> {
        let run = &scenario.run;
        let background = self.carriers.iter().any(|carrier| carrier.background);
        let stop_delay = if background || self.traffic.window.ends() {
            min_host_delay(&self.fabric).max(Time(1))
        } else {
            Time::ZERO
        };
        Plan {
            parts: Parts {
                fabric: &self.fabric,
                routes: &self.routes,
                faults: &self.faults,
                members: self,
                seed: run.seed,
                replica: run.replica,
                whole_ns: run.time_unit == TimeUnit::Nanosecond,
                serviced_only: run.port_mode == PortMode::Serviced || self.ties == Rule::Arrival,
                ties: self.ties,
                agenda,
            },
            carriers: &self.carriers,
            traffic: &self.traffic,
            flows_max: FLOWS_MAX,
            stop_delay,
            until: run.until,
            stall: run.stall,
            timeout_max: self.timeout_max(),
            memory_limit: run.memory_limit.0,
            work_limit: run.work_limit,
            full_packet: scenario.full_packet(),
            audit: run.audit,
        }
    }

    /// Whether the flows of an entry arrive at a load and are not background.
    pub fn is_loaded(&self, entry: usize) -> bool {
        self.traffic.entries[entry].offered_bps.is_some() && !self.carriers[entry].background
    }

    /// The name of the first such entry, for advice.
    pub fn first_loaded(&self) -> Option<&str> {
        let first = (0..self.carriers.len()).find(|&entry| self.is_loaded(entry))?;
        Some(&self.carriers[first].name)
    }

    /// Flows of an entry that stand for all, evenly spread.
    pub fn sampled_flows(&self, entry: usize) -> Vec<&Flow> {
        let own: Vec<&Flow> = self.traffic.flows.iter().filter(|flow| flow.entry as usize == entry).collect();
        own.iter().copied().step_by(own.len().div_ceil(SAMPLED).max(1)).collect()
    }

    /// Whether all packets take shortest paths of the network as it was built.
    pub fn takes_shortest_paths(&self) -> bool {
        let shortest = |balancer: &Balancer| balancer.links_most(1) == 1;
        self.balancers.iter().all(shortest) && !self.faults.moves_paths(&self.fabric)
    }

    /// The transport of a model's configuration, with its profile.
    pub fn transport_at(&self, model: u8, config: u8) -> (&Transport, &Profile) {
        let at = self.places.iter().position(|&place| place == (model, config));
        let at = at.expect("each configuration has its place");
        (&self.transports[at], &self.profiles[at])
    }

    /// Problems of the queue on this network, with this traffic.
    pub fn queue_problems(&self) -> Vec<Problem> {
        let found = self.queue.problems_with(&self.fabric, &self.sends(), self.packet_max);
        within(format!("queue.{}", self.queue.name()), found).collect()
    }

    /// Of each host, the classes of data that it may send, for queues that give credits.
    fn sends(&self) -> Vec<[bool; CLASSES]> {
        let mut sends = vec![[false; CLASSES]; self.fabric.hosts as usize];
        if !self.queue.offers().contains(&Feature::Credits) {
            return sends;
        }
        let classes = |entry: u32, deadline: bool| {
            self.transports[usize::from(self.carriers[entry as usize].transport)].classes(deadline)
        };
        let mut note = |host: NodeId, classes: [bool; CLASSES]| {
            sends[host.index()].iter_mut().zip(classes).for_each(|(sends, class)| *sends |= class);
        };
        for flow in &self.traffic.flows {
            note(flow.src, classes(flow.entry, flow.deadline.is_some()));
        }
        for chain in 0..self.traffic.chains.len() as u32 {
            let entry = self.traffic.chains.entry(chain);
            note(self.traffic.chains.host(chain), classes(entry, self.due[entry as usize]));
        }
        sends
    }

    /// Of all senders that the run waits for.
    fn timeout_max(&self) -> Time {
        let awaited = self.carriers.iter().filter(|carrier| !carrier.background);
        let timeouts = awaited.map(|carrier| self.profiles[usize::from(carrier.transport)].timeout_max);
        timeouts.max().unwrap_or(Time::ZERO)
    }
}

/// The one instantiation of the engine: by the lists of transports, queues and balancers.
impl Members for Setup {
    type Endpoint = transport::Model;
    type Queue = queue::Model;
    type Balancer = balancer::Model;
    type Agent = agent::Model;
    type Controller = controller::Model;

    fn endpoints(&self, fabric: &Fabric) -> Vec<transport::Model> {
        Transport::models(&self.transports, fabric)
    }

    fn balancers(&self, fabric: &Fabric, seed: u64, replica: u64) -> Vec<balancer::Model> {
        self.balancers.iter().map(|balancer| balancer.model(fabric, seed, replica)).collect()
    }

    fn agents_serve(&self) -> Option<u8> {
        self.agent.as_ref().map(|(_, serves)| *serves)
    }

    fn agent(&self, link: &Link) -> agent::Model {
        let (agent, _) = self.agent.as_ref().expect("asked only where there are agents");
        agent.model(link)
    }

    fn controller(&self) -> Option<(controller::Model, u8, Channel)> {
        let (controller, serves) = self.controller.as_ref()?;
        Some((controller.model(&self.fabric, &self.routes), *serves, controller.channel()))
    }

    fn has_records(&self) -> bool {
        self.transports.iter().any(|transport| transport.needs().records)
    }

    fn telemetry(&self) -> u32 {
        let asks = self.transports.iter().zip(&self.places);
        let asks = asks.filter(|(transport, _)| transport.needs().features.contains(&Feature::Telemetry));
        asks.fold(0, |models, (_, (model, _))| models | 1 << model)
    }

    fn queue(&self, rate: Rate, to_host: bool) -> queue::Model {
        let own = self.queue.at_rate(rate);
        let queue = own.as_ref().unwrap_or(&self.queue);
        if to_host { queue.model_at_last_hop(self.full_packet) } else { queue.model(self.full_packet) }
    }

    fn host_queue(&self) -> queue::Model {
        let as_switches = self.transports.iter().any(|transport| transport.needs().host_queues.is_some());
        if as_switches { self.queue.model(self.full_packet) } else { self.queue.at_host(self.full_packet) }
    }

    fn committed(&self) -> Option<Rules> {
        // A committed port computes a departure before it knows what waits then.
        (self.telemetry() == 0 && self.buffer.is_none())
            .then(|| self.queue.committed(self.full_packet))
            .flatten()
    }

    /// Another port of a switch sees what a departure has freed.
    fn acts_on_departure(&self) -> bool {
        self.queue.acts_on_departure() || self.buffer.is_some()
    }

    fn acts_after_departure(&self) -> bool {
        self.queue.acts_after_departure()
    }

    fn pauses(&self) -> bool {
        self.queue.pauses()
    }

    fn thresholds(&self, link: &Link, back: &Link) -> Thresholds {
        self.queue.thresholds(link, back, self.full_packet, self.packet_max)
    }

    fn credits(&self) -> Credits {
        self.queue.credits(&self.fabric, &self.sends(), self.packet_max)
    }

    fn shares_memory(&self) -> bool {
        self.buffer.is_some()
    }

    fn memory(&self) -> Memory {
        let memory = |buffer: &Buffer| buffer.memory(&self.fabric, self.queue.classes() > 1);
        self.buffer.as_ref().map(memory).unwrap_or_default()
    }

    fn frame_bytes(&self) -> u32 {
        self.buffer.as_ref().and_then(|buffer| buffer.frame_bytes()).unwrap_or(FRAME_BYTES)
    }

    fn port_bytes(&self) -> usize {
        let shares = if self.buffer.is_some() { Memory::LINK_BYTES } else { 0 };
        self.queue.port_bytes() + shares
    }
}
