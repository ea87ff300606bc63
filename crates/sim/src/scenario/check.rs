//! Checks across values: whether the parts of a scenario fit each other.
//!
//! Works on each part that is right by itself, so that one mistake does not hide others.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::schema::SCHEMA;
use super::{Admit, Run, walk};
use crate::balancer::{Balancer, Routing};
use crate::engine::run::memory::least_network_bytes;
use crate::problem::{Problem, join, steps};
use crate::queue::Feature;
use crate::routing;
use crate::topology::names::Names;
use crate::topology::{Fabric, Topology, heights};
use crate::transport::Transport;

/// Problems between the parts of a document in which the walk found the given ones; and the network, if its topology
/// can be built. If the document names hosts, their numbers are put in the place of names.
pub(super) fn check(
    document: &mut Value,
    found: &[Problem],
    names_hosts: bool,
    admit: &Admit,
) -> (Vec<Problem>, Option<Fabric>) {
    let (mut problems, fabric) = network(document, found, admit);
    let mut found = found.to_vec();
    if let Some(fabric) = fabric.as_ref().filter(|_| names_hosts) {
        let known = |problem: &Problem| found.iter().any(|other| other.path == problem.path);
        let mut unknown = walk::number_hosts(&SCHEMA, document, &Names::new(fabric));
        unknown.retain(|problem| !known(problem));
        problems.extend(unknown.iter().cloned());
        found.extend(unknown);
    }
    problems.extend(parts(&Draft { document, found: &found }, fabric.as_ref()));
    // Of two problems at one place the first is enough.
    let mut seen = BTreeSet::new();
    problems.retain(|problem| seen.insert(problem.path.clone()));
    (problems, fabric)
}

/// The network, if its topology can be built, and the topology's problems.
fn network(document: &Value, found: &[Problem], admit: &Admit) -> (Vec<Problem>, Option<Fabric>) {
    let draft = Draft { document, found };
    let mut problems = Vec::new();
    let mut fabric = None;
    if let Some((value, topology)) = draft.part::<Topology>("topology", document.get("topology")) {
        let own = own("topology", topology.name(), value, topology.problems());
        let too_large = if own.is_empty() { draft.too_large(&topology, admit) } else { None };
        if own.is_empty() && too_large.is_none() {
            let built = topology.build();
            problems.extend(
                routes(&built).map(|message| Problem::new(join("topology", topology.name()), message)),
            );
            fabric = Some(built);
        }
        problems.extend(own);
        problems.extend(too_large);
    }
    (problems, fabric)
}

/// Problems of all other parts, and between them.
fn parts(draft: &Draft, fabric: Option<&Fabric>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let transports = draft.transports();
    for Chosen { path, value, transport, .. } in &transports {
        problems.extend(own(path, transport.name(), value, transport.problems()));
    }
    problems.extend(agreement(&transports));
    problems.extend(draft.queue(&transports));
    problems.extend(draft.agent(&transports));
    problems.extend(draft.requests(&transports));
    problems.extend(draft.controller(&transports, fabric));
    problems.extend(draft.granted());
    problems.extend(draft.without_deadlines());
    problems.extend(draft.classes(&transports));
    problems.extend(draft.connections());
    problems.extend(draft.paths());
    problems.extend(draft.senders());
    problems.extend(draft.endless());
    problems.extend(draft.names());
    if let Some(fabric) = fabric {
        for Chosen { path, value, transport, .. } in &transports {
            problems.extend(own(path, transport.name(), value, transport.problems_on(fabric)));
        }
        problems.extend(draft.traffic(fabric));
        problems.extend(draft.routing(fabric));
        problems.extend(draft.answers(fabric));
        problems.extend(draft.too_long(fabric, &transports));
        let asks = |transport: &Transport| transport.needs().features.contains(&Feature::Telemetry);
        problems.extend(draft.telemetry(fabric, asks));
        problems.extend(draft.buffer(fabric, &transports));
        problems.extend(draft.faults(fabric));
        problems.extend(draft.observe(fabric));
    }
    problems.extend(draft.until());
    problems.extend(draft.measure(fabric));
    problems
}

/// Why there are no routes through a network, or too many.
fn routes(fabric: &Fabric) -> Option<String> {
    if let Some(apart) = routing::disconnected(fabric) {
        return Some(format!("{apart}; cables must join all nodes"));
    }
    let cells = routing::cells(fabric);
    (cells > routing::MOST_CELLS).then(|| {
        let most = routing::MOST_CELLS;
        format!(
            "needs a route table of {cells} cells of 4 bytes; at most {most} are allowed: make it smaller"
        )
    })
}

/// Problems that a configuration reports of itself, with its full path.
pub(super) fn own(path: &str, name: &str, value: &Value, problems: Vec<Problem>) -> Vec<Problem> {
    fn below<'a>(value: &'a Value, step: &str) -> Option<&'a Value> {
        match step.parse::<usize>() {
            Ok(index) if value.is_array() => value.get(index),
            _ => value.get(step),
        }
    }
    let problem = |problem: Problem| {
        let problem = problem.within(name);
        let found = problem.path.split('.').try_fold(value, below);
        let problem = match found {
            Some(found) => problem.with_value(found),
            None => Problem { value: None, ..problem },
        };
        problem.within(path)
    };
    problems.into_iter().map(problem).collect()
}

/// Transports of one kind must agree in a host's behaviour for all its connections.
fn agreement(transports: &[Chosen]) -> Vec<Problem> {
    let used: Vec<_> = transports.iter().filter(|chosen| chosen.used).collect();
    let mut problems = Vec::new();
    for (place, chosen) in used.iter().enumerate() {
        let name = chosen.transport.name();
        let Some(first) = used[..place].iter().find(|other| other.transport.name() == name) else { continue };
        for ((field, own), (_, shared)) in
            chosen.transport.profile().host_fields.into_iter().zip(first.transport.profile().host_fields)
        {
            if own != shared {
                let at = join(&join(&chosen.path, name), field);
                let (below, own, shared) = difference(&own, &shared);
                let at = below.into_iter().fold(at, |at, step| join(&at, step));
                let message =
                    format!("{own} is not {shared}, as {} has; hosts do this for all flows", first.path);
                problems.push(Problem::new(at, message));
            }
        }
    }
    problems
}

/// Where two different values differ first: the path to that place, and the values there. Of members of a choice the names
/// are enough.
fn difference<'a>(own: &'a Value, shared: &'a Value) -> (Vec<&'a str>, Value, Value) {
    let (mut path, mut own, mut shared) = (Vec::new(), own, shared);
    while let (Value::Object(here), Value::Object(there)) = (own, shared) {
        let mut both = here.iter().filter_map(|(key, own)| Some((key, own, there.get(key)?)));
        match both.find(|(_, own, shared)| own != shared) {
            Some((key, below, beside)) => {
                path.push(&**key);
                (own, shared) = (below, beside);
            }
            None => break,
        }
    }
    let named = |value: &Value| match value.as_object().filter(|map| map.len() == 1) {
        Some(map) => map.keys().next().map(|name| json!(name)).unwrap_or_default(),
        None => value.clone(),
    };
    (path, named(own), named(shared))
}

/// A document of which parts may be wrong.
pub(super) struct Draft<'a> {
    pub(super) document: &'a Value,
    pub(super) found: &'a [Problem],
}

/// A transport that the scenario names.
pub(super) struct Chosen<'a> {
    pub(super) path: String,
    pub(super) value: &'a Value,
    pub(super) transport: Transport,
    /// Whether any traffic entry runs over it.
    pub(super) used: bool,
}

impl<'a> Draft<'a> {
    /// A part, if it is there and nothing in it is wrong.
    pub(super) fn part<T: DeserializeOwned>(
        &self,
        path: &str,
        value: Option<&'a Value>,
    ) -> Option<(&'a Value, T)> {
        let inside = |problem: &Problem| {
            problem.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let value = value.filter(|value| !value.is_null())?;
        if self.found.iter().any(inside) { None } else { Some((value, T::deserialize(value).ok()?)) }
    }

    /// Why there is no memory for the network, found before it is built.
    fn too_large(&self, topology: &Topology, admit: &Admit) -> Option<Problem> {
        let need = least_network_bytes(topology.counts());
        let run = self.part::<Run>("run", self.document.get("run"));
        let limited = run.and_then(|(_, run)| run.too_much_to_set_up(need));
        limited.or_else(|| {
            let message =
                || format!("needs {need} bytes of memory for its network, and there are not so many");
            (!admit(need)).then(|| Problem::new("topology", message()))
        })
    }

    /// The traffic entries with their paths; none if there are too many.
    pub(super) fn entries(&self) -> impl Iterator<Item = (String, &'a Value)> {
        let whole = self.found.iter().all(|problem| problem.path != "traffic");
        let entries = self.document.get("traffic").filter(|_| whole).and_then(Value::as_array);
        let entries = entries.map_or(&[][..], Vec::as_slice);
        steps(entries).into_iter().map(|step| join("traffic", &step)).zip(entries)
    }

    /// The scenario's transport and those of the entries that have their own.
    fn transports(&self) -> Vec<Chosen<'a>> {
        let own = |entry: &'a Value| entry.get("transport").filter(|own| !own.is_null());
        let shared = self.document.get("transport");
        let shared_used = self.entries().any(|(_, entry)| own(entry).is_none());
        let entries = self.entries().map(|(path, entry)| (join(&path, "transport"), own(entry), true));
        let all = std::iter::once(("transport".to_string(), shared, shared_used)).chain(entries);
        let chosen = |(path, value, used): (String, Option<&'a Value>, bool)| {
            let (value, transport) = self.part::<Transport>(&path, value)?;
            Some(Chosen { path, value, transport, used })
        };
        all.filter_map(chosen).collect()
    }

    /// The balancer that an entry's flows have, if the scenario names one, and where.
    pub(super) fn balancer_of(&self, path: &str, entry: &'a Value) -> (String, Option<Balancer>) {
        let given = |path: String, document: &'a Value| {
            let routing = document.get("routing").filter(|value| !value.is_null());
            self.part::<Routing>(&path, routing)?.1.balancer
        };
        let own = given(join(path, "routing"), entry);
        let at = if own.is_some() { join(path, "routing.balancer") } else { "routing.balancer".to_string() };
        (at, own.or_else(|| given("routing".to_string(), self.document)))
    }

    /// The transport of an entry's flows: its place in the scenario, and its configuration.
    pub(super) fn transport_of(&self, path: &str, entry: &'a Value) -> Option<(String, Transport)> {
        let given = |document: &'a Value| document.get("transport").filter(|value| !value.is_null());
        let (at, value) = match given(entry) {
            Some(own) => (join(path, "transport"), Some(own)),
            None => ("transport".to_string(), given(self.document)),
        };
        let (_, transport) = self.part::<Transport>(&at, value)?;
        Some((at, transport))
    }

    /// The run, as far as it can be read.
    pub(super) fn run(&self) -> Run {
        self.part::<Run>("run", self.document.get("run")).map(|(_, run)| run).unwrap_or_default()
    }

    /// Balancers fit the network.
    fn routing(&self, fabric: &Fabric) -> Vec<Problem> {
        let entries = self.entries().map(|(path, entry)| (join(&path, "routing"), entry));
        let given = |(path, document): (String, &'a Value)| {
            let routing = document.get("routing").filter(|value| !value.is_null());
            let (value, routing) = self.part::<Routing>(&path, routing)?;
            Some((path, value, routing.balancer?))
        };
        let problems = |(path, value, balancer): (String, &'a Value, Balancer)| {
            let name = balancer.name();
            let mut problems = balancer.problems(fabric);
            if balancer.climbs()
                && let Some(why) = heights::flat(fabric)
            {
                let message = format!("is for networks whose paths go up and then down; here {why}");
                problems.push(Problem::new("", message));
            }
            own(&join(&path, "balancer"), name, &value["balancer"], problems)
        };
        let all = std::iter::once(("routing".to_string(), self.document)).chain(entries);
        all.filter_map(given).flat_map(problems).collect()
    }
}
