//! The scenario: the only definition of what can be run, with defaults, documentation and bounds.
//!
//! The JSON Schema, the Python classes and the reference pages are generated from these structs and those of
//! the lists that they name. [`read`] is the only way from text to a scenario: `text` parses, `set` applies
//! overrides, `walk` checks each value against the schema, `files` and `prototypes` put in the values that
//! the scenario leaves to them, `check` checks the parts against each other.

mod bounds;
mod check;
mod classes;
mod control;
mod demand;
mod elsewhere;
mod entry;
mod files;
mod hints;
mod measure;
mod ports;
mod prototypes;
mod refusal;
mod schema;
mod set;
mod text;
mod walk;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::entry::{Connection, Entry};
pub use self::files::{Files, no_files};
pub use self::measure::{Measure, MeasureFrom, MeasureRule, MeasureUntil, MeasureWindow};
pub use self::prototypes::Prototypes;
pub use self::schema::{of as schema_of, schema, text as schema_text};
pub use self::text::Format;
use crate::agent::Agent;
use crate::balancer::{Balancer, Routing};
use crate::buffer::Buffer;
use crate::controller::Controller;
use crate::derived::settle;
use crate::faults::Faults;
use crate::observe::Observe;
use crate::problem::{PROBLEMS_MAX, Problem, Problems};
use crate::queue::Queue;
use crate::topology::{Fabric, Topology};
use crate::traffic::Demand;
use crate::transport::Transport;
use crate::units::{Bytes, Time};

/// Reads a scenario, with overrides of the form (key, value); or returns all its problems.
pub fn read(
    text: &str,
    format: Format,
    overrides: &[(String, String)],
    files: &Files,
) -> Result<Scenario, Problems> {
    let prototypes = Prototypes::default();
    read_with_fabric(text, format, overrides, files, &prototypes, &|_| true).map(|(scenario, _)| scenario)
}

/// Whether there is memory for so many bytes: asked before a network is built, which takes about as many.
pub type Admit<'a> = dyn Fn(u64) -> bool + 'a;

/// The same, with the prototypes that it may name; and the network that the check has built.
pub fn read_with_fabric(
    text: &str,
    format: Format,
    overrides: &[(String, String)],
    files: &Files,
    prototypes: &Prototypes,
    admit: &Admit,
) -> Result<(Scenario, Fabric), Problems> {
    let mut document = as_scenario(text::parse(text, format)?);
    let mut problems = set::apply(&schema::SCHEMA, &mut document, overrides);
    let (wrong, names_hosts) = walk::walk_noting_hosts(&schema::SCHEMA, &mut document);
    problems.extend(wrong);
    let mut fabric = None;
    // Behind the place where the walk gave up, the values are unchecked.
    if problems.len() < PROBLEMS_MAX {
        prototypes::hint(&mut problems, prototypes);
        problems.extend(files::put_in(&mut document, &problems, files));
        problems.extend(prototypes::put_in(&mut document, &problems, prototypes));
        let (found, built) = check::check(&mut document, &problems, names_hosts, admit);
        problems.extend(found);
        fabric = built;
    }
    problems.truncate(PROBLEMS_MAX);
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    let fabric = fabric.expect("a topology without problems is built");
    Ok((typed("", &document)?, fabric))
}

/// The scenario that the run.json of a run contains, if the document is one; otherwise the document.
fn as_scenario(mut document: Value) -> Value {
    let of_a_run = ["engine", "digest", "status"].iter().all(|key| document.get(key).is_some());
    match document.get_mut("scenario") {
        Some(scenario) if of_a_run && scenario.is_object() => without_copies(scenario.take()),
        _ => document,
    }
}

/// The scenario of a run.json, where each traffic entry has its transport and its routing written out, without those that are
/// the scenario's: an override of the scenario's holds for them, too.
fn without_copies(mut scenario: Value) -> Value {
    let whole: Vec<_> = ["transport", "routing"].map(|key| (key, scenario.get(key).cloned())).into();
    for entry in scenario.get_mut("traffic").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(entry) = entry.as_object_mut() else { continue };
        entry.retain(|name, own| {
            whole.iter().all(|(key, all)| name != key || all.as_ref().is_none_or(|all| all != own))
        });
    }
    scenario
}

/// Reads the topology of a scenario, which may lack the rest or have mistakes there; with its network, which the check
/// has built.
pub fn read_network(
    text: &str,
    format: Format,
    overrides: &[(String, String)],
    admit: &Admit,
) -> Result<(Topology, Fabric), Problems> {
    let mut document = as_scenario(text::parse(text, format)?);
    let mut problems = set::apply(&schema::SCHEMA, &mut document, overrides);
    // The walk must not give up before the topology because of problems elsewhere.
    if let Some(members) = document.as_object_mut() {
        members.retain(|key, _| key == "topology");
    }
    problems.extend(walk::walk(&schema::SCHEMA, &mut document));
    problems.retain(|problem| problem.path == "topology" || problem.path.starts_with("topology."));
    let (found, fabric) = check::check(&mut document, &problems, false, admit);
    problems.extend(found);
    problems.truncate(PROBLEMS_MAX);
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    let fabric = fabric.expect("a topology without problems is built");
    Ok((typed("topology", &document["topology"])?, fabric))
}

/// Reads a document of another kind than a scenario, by its schema (from [`schema_of`]).
pub fn read_as<T: DeserializeOwned>(
    schema: &Value,
    text: &str,
    format: Format,
    overrides: &[(String, String)],
) -> Result<T, Problems> {
    let mut document = text::parse(text, format)?;
    let mut problems = set::apply(schema, &mut document, overrides);
    problems.extend(walk::walk(schema, &mut document));
    if problems.is_empty() { typed("", &document) } else { Err(Problems(problems)) }
}

/// A part of a document, at that path, in which the walk found nothing wrong.
///
/// All configurations are read from borrowed values and nothing else, so that their parsers are compiled once.
fn typed<T: DeserializeOwned>(at: &str, part: &Value) -> Result<T, Problems> {
    T::deserialize(part).map_err(|error| Problem::new(at.to_string(), error.to_string()).into())
}

/// One run: a network, its traffic, and its limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of the run in reports. Absent: the name of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The network.
    pub topology: Topology,
    /// Load balancing: the path of each packet, unless a traffic entry has its own.
    #[serde(default)]
    pub routing: Routing,
    /// Transport protocol of the hosts, unless a traffic entry has its own.
    pub transport: Transport,
    /// Queue discipline of the ports. Absent: the transport's recommendation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Memory that the ports of a switch share. Absent: none, each port has that of its queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
    /// The computation at each port for passing packets. Absent: the transport's need, with its defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// Central controller, which decides for all hosts when, or how fast, they send. Absent: none; the
    /// transport "central" needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<Controller>,
    /// Faults of the network and their times. Absent: none.
    #[serde(default, skip_serializing_if = "Faults::is_empty")]
    pub faults: Faults,
    /// Flows: their senders, receivers, sizes and start times.
    #[schemars(length(min = 1, max = 1000))]
    pub traffic: Vec<Entry>,
    /// Records besides flows and links. Absent: none.
    #[serde(default, skip_serializing_if = "Observe::is_empty")]
    pub observe: Observe,
    /// How to run it.
    #[serde(default)]
    pub run: Run,
}

/// How to run a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Run {
    /// Seed of every random stream in the run.
    pub seed: u64,
    /// Number of the repetition: another replica of the same seed is independent of this one.
    pub replica: u64,
    /// Stop at this simulated time at the latest. Absent: run until every flow has ended, and at most for 1,000,000 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1000000s"))]
    pub until: Option<Time>,
    /// The flows and the span of time that results are of: "auto", a window behind a warm-up where arrivals are a Poisson
    /// process; "all", the whole run; or a window, `{ from = ..., until = ... }`.
    pub measure: Measure,
    /// Give up, with status "stalled", when for this long no payload arrived and no flow ended although flows are open; but not
    /// before twice the longest retransmission timeout has passed, such as TCP's rto_max, so that each sender has tried again.
    #[schemars(extend("x-minimum" = "1us"))]
    pub stall: Time,
    /// A run that is estimated to need more memory is refused, and a run that reaches it ends, with status
    /// "limit".
    #[schemars(extend("x-minimum" = "1MiB"))]
    pub memory_limit: Bytes,
    /// A run that is estimated to take more packet-hops (links crossed by packets) is refused, and a run whose packet-hops
    /// and timers reach so many ends, with status "limit". A processor does a few million a second.
    #[schemars(range(min = 1))]
    pub work_limit: u64,
    /// Report settings that are allowed and probably not meant, such as a window that does not fill a path:
    /// in `check`, `run`, run.json and reports.
    pub advice: bool,
    /// Check conservation of packets, bytes and credits against the structures, repeatedly during the run.
    pub audit: bool,
    /// Implementation of ports; results are the same.
    pub port_mode: PortMode,
    /// Which of several packets that come out of links at the same picosecond goes first.
    pub ties: Ties,
    /// Resolution of transmission times, and of the gaps of RoCE: for comparison with simulators that cut off the rest.
    pub time_unit: TimeUnit,
    /// Threads that run the parts of the network side by side; results are the same. A run that cannot be
    /// parted takes one thread and reports the reason.
    #[schemars(range(min = 1, max = 64))]
    pub threads: u32,
}

/// Implementation of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PortMode {
    /// First-in first-out ports compute a packet's departure on its arrival: one event a packet-hop.
    Auto,
    /// Every port is served packet by packet: slower, for comparison.
    Serviced,
}

/// Which of several packets that come out of links at the same picosecond goes first: it gets the last place of a buffer.
/// Where links of one rate carry packets of one size, most packets of an incast tie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// Each order is equally likely, at each instant anew (by a hash of instant, link and seed), as clocks that differ a
    /// little make it.
    Drawn,
    /// The packet whose transmission began first, as in event-driven simulators (ns-3, htsim); of transmissions that began
    /// together, in the order of the events that began them. Ports are served packet by packet, in one part of a run.
    Arrival,
    /// The packet of one link, the same at each instant: a link wins all its ties with another one, or none.
    Link,
}

/// Resolution of the time that a packet takes on a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TimeUnit {
    /// Exact; where a rate does not divide, rounded up to the picosecond.
    #[serde(rename = "1ps")]
    Picosecond,
    /// Whole nanoseconds, the rest of which is cut off, as in ns-3: 1048 B at 100 Gbps take 83 instead of 83.84 ns, as if the
    /// link had 101 Gbps. Ideal times and utilisation remain those of the link's rate.
    #[serde(rename = "1ns")]
    Nanosecond,
}

impl Scenario {
    /// The traffic entry by entry.
    pub fn demands(&self) -> Vec<Demand> {
        let demand = |entry: &Entry| Demand::from(entry.clone()).until_the_end(self.run.until);
        self.traffic.iter().map(demand).collect()
    }

    /// The transport of an entry's flows.
    pub fn transport_of<'a>(&'a self, entry: &'a Entry) -> &'a Transport {
        entry.transport.as_ref().unwrap_or(&self.transport)
    }

    /// Its place in the scenario.
    pub fn transport_path(&self, entry: &Entry) -> String {
        entry.transport.as_ref().map_or("transport".into(), |_| format!("traffic.{}.transport", entry.name))
    }

    /// The place of its balancer in the scenario.
    pub fn balancer_path(&self, entry: &Entry) -> String {
        let own = entry.routing.as_ref().is_some_and(|routing| routing.balancer.is_some());
        if own { format!("traffic.{}.routing.balancer", entry.name) } else { "routing.balancer".into() }
    }

    /// How packets of the flows of an entry find their way.
    pub fn balancer_of(&self, entry: &Entry) -> Balancer {
        let own = entry.routing.as_ref().and_then(|routing| routing.balancer.clone());
        let shared = || self.routing.balancer.clone();
        own.or_else(shared).unwrap_or_else(|| self.recommended_balancer(entry))
    }

    /// The balancer of an entry where the scenario names none.
    pub fn recommended_balancer(&self, entry: &Entry) -> Balancer {
        let transport = self.transport_of(entry);
        let controller =
            self.controller.as_ref().filter(|controller| controller.serves() == transport.name());
        let own = controller.and_then(|controller| controller.balancer());
        own.unwrap_or_else(|| transport.profile().balancer)
    }

    /// The queue discipline of every port. The check made sure that all transports agree.
    pub fn queue(&self) -> Queue {
        let recommended = || match self.traffic.first() {
            Some(entry) => self.transport_of(entry).profile().queue,
            None => self.transport.profile().queue,
        };
        self.queue.clone().unwrap_or_else(recommended)
    }

    /// The agent at each port, if any transport in use needs one. The check made sure that all agree.
    pub fn agent(&self) -> Option<Agent> {
        let needed = self.traffic.iter().find_map(|entry| self.transport_of(entry).needs().agent)?;
        Some(self.agent.clone().unwrap_or(needed))
    }

    /// Bytes on the wire of the largest full data packet of any transport in use: the unit of a queue's limit
    /// in full packets.
    pub fn full_packet(&self) -> u64 {
        self.most_of(|transport| transport.profile().full_packet)
    }

    /// Bytes on the wire that no data packet of any transport in use exceeds.
    pub fn packet_max(&self) -> u64 {
        self.most_of(|transport| transport.profile().packet_max)
    }

    fn most_of(&self, bytes: impl Fn(&Transport) -> u64) -> u64 {
        let transports = self.traffic.iter().map(|entry| self.transport_of(entry));
        transports.map(&bytes).max().unwrap_or_else(|| bytes(&self.transport))
    }

    /// It as JSON. Writers of configurations are compiled here, once, and in no crate that asks for this.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a scenario is plain JSON")
    }

    /// The same run with every default written out.
    pub fn resolved(&self) -> Scenario {
        let entry = |entry: &Entry| Entry {
            transport: Some(written_out(self.transport_of(entry))),
            routing: Some(Routing { balancer: Some(self.balancer_of(entry)) }),
            ..entry.clone()
        };
        let shared = self.routing.balancer.clone().unwrap_or_else(|| self.transport.profile().balancer);
        Scenario {
            transport: written_out(&self.transport),
            routing: Routing { balancer: Some(shared) },
            queue: Some(self.queue()),
            agent: self.agent(),
            traffic: self.traffic.iter().map(entry).collect(),
            ..self.clone()
        }
    }
}

/// A transport with the defaults that come with its preset.
fn written_out(transport: &Transport) -> Transport {
    settle(transport, transport.name(), &transport.preset())
}

impl Default for Run {
    fn default() -> Self {
        Run {
            seed: 1,
            replica: 0,
            until: None,
            measure: Measure::default(),
            stall: Time(10_000_000_000_000),
            memory_limit: Bytes(8 << 30),
            work_limit: 1_000_000_000_000,
            advice: true,
            audit: false,
            port_mode: PortMode::Auto,
            ties: Ties::Drawn,
            time_unit: TimeUnit::Picosecond,
            threads: 1,
        }
    }
}
