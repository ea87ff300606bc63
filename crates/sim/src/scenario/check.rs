//! Checks across values: whether the parts of a scenario fit each other.
//!
//! Works on each part that is right by itself, so that one mistake does not hide others.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::measure;
use super::schema::SCHEMA;
use super::{Admit, Connection, Entry, Run, walk};
use crate::agent::Agent;
use crate::balancer::{Balancer, Routing};
use crate::buffer::Buffer;
use crate::engine::contract::telemetry;
use crate::engine::run::memory::least_network_bytes;
use crate::faults::timeline::Timeline;
use crate::faults::{Faults, packets};
use crate::observe::Observe;
use crate::problem::{Problem, join, list, steps};
use crate::queue::{Feature, Queue};
use crate::routing::{self, Routes};
use crate::topology::names::Names;
use crate::topology::{Fabric, Topology, heights};
use crate::traffic::{self, Demand};
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
    found: &'a [Problem],
}

/// A transport that the scenario names.
pub(super) struct Chosen<'a> {
    pub(super) path: String,
    value: &'a Value,
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

    /// Ports must have the features that every transport in use needs.
    fn queue(&self, transports: &[Chosen<'a>]) -> Vec<Problem> {
        let used: Vec<_> = transports.iter().filter(|chosen| chosen.used).collect();
        let named = |chosen: &Chosen| join(&chosen.path, chosen.transport.name());
        let Some(value) = self.document.get("queue").filter(|value| !value.is_null()) else {
            let Some(first) = used.first() else { return Vec::new() };
            let differs =
                |chosen: &&&Chosen| chosen.transport.profile().queue != first.transport.profile().queue;
            let Some(other) = used.iter().find(differs) else { return Vec::new() };
            let recommends = |chosen| {
                format!("{} recommends {}", named(chosen), list([chosen.transport.profile().queue.name()]))
            };
            let message = format!("is missing; {}, {}: name one", recommends(first), recommends(other));
            let needs: Vec<_> = used.iter().flat_map(|chosen| chosen.transport.needs().features).collect();
            let fits = format!("{} would do for both", list(queues_with(&needs)));
            return vec![Problem::new("queue", message).with_hint((!needs.is_empty()).then_some(fits))];
        };
        let Some((_, queue)) = self.part::<Queue>("queue", Some(value)) else { return Vec::new() };
        let mut problems = own("queue", queue.name(), value, queue.problems());
        for chosen in used {
            let lacks = |need: &&Feature| !has(&queue, **need);
            for need in chosen.transport.needs().features.iter().filter(lacks) {
                let message =
                    format!("\"{}\" has no {}, which {} needs", queue.name(), need.name(), named(chosen));
                let hint = format!("use {}", list(queues_with(&[*need])).replace(", ", " or "));
                problems.push(Problem::new("queue", message).with_value(value).with_hint(Some(hint)));
            }
        }
        problems
    }

    /// The ports that share memory have a queue that can: one that pauses where the memory does, and else none that does.
    fn buffer(&self, fabric: &Fabric, transports: &[Chosen<'a>]) -> Vec<Problem> {
        let Some((value, buffer)) = self.part::<Buffer>("buffer", self.document.get("buffer")) else {
            return Vec::new();
        };
        let recommended = || Some(transports.iter().find(|chosen| chosen.used)?.transport.profile().queue);
        let queue = match self.document.get("queue").filter(|value| !value.is_null()) {
            Some(value) => self.part::<Queue>("queue", Some(value)).map(|(_, queue)| queue),
            None => recommended(),
        };
        let by_class = queue.as_ref().is_some_and(|queue| queue.classes() > 1);
        let mut problems = own("buffer", buffer.name(), value, buffer.problems_on(fabric, by_class));
        let fits = |queue: &Queue| queue.joins_buffer() && queue.pauses() == buffer.pauses();
        if let Some(queue) = queue.filter(|queue| !fits(queue)) {
            let why = match buffer.pauses() {
                true => "pauses upstream ports by the memory of a switch",
                false => "lets ports that keep or drop packets share memory",
            };
            let message = format!("\"{}\" {why}, and the queue \"{}\" does not", buffer.name(), queue.name());
            let others = Queue::NAMES
                .iter()
                .copied()
                .filter(|name| Queue::deserialize(&json!({ *name: {} })).is_ok_and(|queue| fits(&queue)));
            let hint = format!("use the queue {}", list(others).replace(", ", " or "));
            problems.push(Problem::new("buffer", message).with_value(value).with_hint(Some(hint)));
        }
        problems
    }

    /// A port computes for one transport, and does so only if one is in use that needs it.
    fn agent(&self, transports: &[Chosen<'a>]) -> Vec<Problem> {
        let at = |chosen: &Chosen| join(&chosen.path, chosen.transport.name());
        let needs = transports.iter().filter(|chosen| chosen.used);
        let needs: Vec<_> =
            needs.filter_map(|chosen| Some((at(chosen), chosen.transport.needs().agent?))).collect();
        let mut problems = Vec::new();
        if let Some((first, needed)) = needs.first() {
            let other = needs.iter().find(|(_, agent)| agent.name() != needed.name());
            problems.extend(other.map(|(at, agent)| {
                let message = format!(
                    "needs the agent \"{}\" at each port, where {first} needs \"{}\": a port has one",
                    agent.name(),
                    needed.name()
                );
                Problem::new(at.clone(), message).with_hint(Some("put them into runs of their own".into()))
            }));
        }
        let Some((value, agent)) = self.part::<Agent>("agent", self.document.get("agent")) else {
            return problems;
        };
        problems.extend(own("agent", agent.name(), value, agent.problems()));
        let wrong = match needs.first() {
            // A transport may be served by several agents, of which it needs one by default.
            Some((_, needed)) if needed.serves() == agent.serves() => return problems,
            Some((at, needed)) => format!("{at} needs the agent \"{}\"", needed.name()),
            None if transports
                .iter()
                .any(|chosen| chosen.used && chosen.transport.name() == agent.serves()) =>
            {
                format!(
                    "no traffic entry of the transport \"{}\" needs an agent as it is set",
                    agent.serves()
                )
            }
            None => format!("it serves the transport \"{}\", which no traffic entry has", agent.serves()),
        };
        let message = format!("\"{}\" is not used: {wrong}", agent.name());
        problems.push(Problem::new("agent", message).with_value(value));
        problems
    }

    /// Agents give each flow one rate: its packets take one path, and, where agents are to see them, so do
    /// replies. A transport may need the same, for credits that let the ports of one path serve the flow's data.
    fn answers(&self, fabric: &Fabric) -> Vec<Problem> {
        let mut branches = None;
        let problem = |(path, entry): (String, &'a Value)| {
            let (_, transport) = self.transport_of(&path, entry)?;
            let needs = transport.needs();
            let recommended = needs.agent.filter(|agent| agent.gives_rates() && !needs.backwards);
            if recommended.is_none() && !needs.backwards {
                return None;
            }
            let (at, balancer) = self.balancer_of(&path, entry);
            let balancer = balancer.unwrap_or_else(|| transport.profile().balancer);
            let (by, name) = match &recommended {
                Some(agent) => ("agent", agent.name()),
                None => ("transport", transport.name()),
            };
            let backwards = "routing.balancer.nix = { answers = \"backwards\" }";
            if !balancer.one_path() {
                let message = format!(
                    "\"{}\" sends a flow's packets by several paths, and the {by} \"{name}\" gives a flow one rate",
                    balancer.name()
                );
                return Some(Problem::new(at, message).with_hint(Some(format!("use {backwards}"))));
            }
            if recommended.is_some_and(|agent| !agent.needs_answers()) || balancer.answers_backwards() {
                return None;
            }
            let branches = *branches.get_or_insert_with(|| {
                Routes::build(fabric).is_ok_and(|routes| routing::most_paths(fabric, &routes, 2) > 1)
            });
            branches.then(|| {
                let why = match by {
                    "agent" => "has to see them where it saw the data",
                    _ => "meters its credits on the links of the data",
                };
                let message = format!(
                    "under \"{}\" answers take links of their own, and the {by} \"{name}\" {why}",
                    balancer.name()
                );
                Problem::new(at, message).with_hint(Some(format!("use {backwards}")))
            })
        };
        self.entries().filter_map(problem).collect()
    }

    /// The agent of the run, if it has one, and the transport that needs it.
    fn agent_in_use(&self, transports: &[Chosen<'a>]) -> Option<(Agent, String)> {
        let used = transports.iter().filter(|chosen| chosen.used);
        let (chosen, recommended) =
            used.filter_map(|chosen| Some((chosen, chosen.transport.needs().agent?))).next()?;
        let given = match self.document.get("agent").filter(|value| !value.is_null()) {
            Some(value) => self.part::<Agent>("agent", Some(value))?.1,
            None => recommended,
        };
        let at = join(&chosen.path, chosen.transport.name());
        (given.serves() == chosen.transport.name()).then_some((given, at))
    }

    /// An agent that must see every request is for networks that lose none.
    fn requests(&self, transports: &[Chosen<'a>]) -> Vec<Problem> {
        let Some((agent, at)) = self.agent_in_use(transports) else { return Vec::new() };
        let Some(instead) = agent.needs_all() else { return Vec::new() };
        let instead = format!("agent.{}.{instead}", agent.name());
        let name = agent.name();
        let mut problems = Vec::new();
        if let Some((value, queue)) = self.part::<Queue>("queue", self.document.get("queue"))
            && !queue.offers().contains(&Feature::Headers)
        {
            let message = format!(
                "\"{}\" may drop rate requests, each of which the agent \"{name}\" of {at} counts once",
                queue.name()
            );
            let hint = format!("use queue.drop-tail.keep_headers = true or {instead}");
            problems.push(Problem::new("queue", message).with_value(value).with_hint(Some(hint)));
        }
        if let Some((_, faults)) = self.part::<Faults>("faults", self.document.get("faults"))
            && let Some(path) = faults.loses()
        {
            let message =
                format!("loses rate requests, each of which the agent \"{name}\" of {at} counts once");
            let hint = Some(format!("use {instead}"));
            problems.push(Problem::new(join("faults", &path), message).with_hint(hint));
        }
        problems
    }

    /// The headers of packets have room for so many links of a path.
    fn too_long(&self, fabric: &Fabric, transports: &[Chosen<'a>]) -> Vec<Problem> {
        let Some((agent, at)) = self.agent_in_use(transports) else { return Vec::new() };
        let most = agent.links_most();
        if most == usize::MAX {
            return Vec::new();
        }
        let room =
            |_: &str| (most, format!("packets of {at} have room for {most} links of a path"), at.clone());
        self.over_long_paths(fabric, |at, transport| (transport.name() == agent.serves()).then(|| room(at)))
    }

    /// Packets of transports that ask for telemetry have room for that of a few ports, at few rates.
    fn telemetry(&self, fabric: &Fabric, asks: impl Fn(&Transport) -> bool) -> Vec<Problem> {
        let most = telemetry::HOPS + 1;
        let room = |at: &str| {
            let room = format!(
                "packets of {at} have room for the telemetry of {} ports behind the host's, \
                 {most} links in all",
                telemetry::HOPS
            );
            (most, room, at.to_string())
        };
        let mut problems = self.over_long_paths(fabric, |at, transport| asks(transport).then(|| room(at)));
        let rates = telemetry::rates(fabric, &Timeline::default()).len();
        if rates > telemetry::RATES {
            let problem = |(path, entry): (String, &'a Value)| {
                let (at, transport) = self.transport_of(&path, entry)?;
                let message = format!(
                    "telemetry can tell {} rates of links apart, and the network has {rates}",
                    telemetry::RATES
                );
                asks(&transport).then(|| Problem::new(join(&at, transport.name()), message))
            };
            problems.extend(self.entries().filter_map(problem));
        }
        problems
    }

    /// Entries whose packets may cross more links than they have room for: `room` says for a transport in use, which is at
    /// that path, for how many that is, how to say so, and where.
    fn over_long_paths(
        &self,
        fabric: &Fabric,
        room: impl Fn(&str, &Transport) -> Option<(usize, String, String)>,
    ) -> Vec<Problem> {
        let Some((links, from, to)) = routing::longest(fabric) else { return Vec::new() };
        let problem = |(path, entry): (String, &'a Value)| {
            let (at, transport) = self.transport_of(&path, entry)?;
            let (most, room, at) = room(&join(&at, transport.name()), &transport)?;
            let (balancer_at, balancer) = self.balancer_of(&path, entry);
            let balancer = balancer.unwrap_or_else(|| transport.profile().balancer);
            let longest = balancer.links_most(links);
            if longest as usize <= most {
                return None;
            }
            let [from, to] = [from, to].map(|node| &fabric.nodes[node.index()].name);
            Some(match longest > links {
                true => Problem::new(
                    balancer_at,
                    format!("{room}, and \"{}\" has paths of up to {longest}", balancer.name()),
                ),
                false => {
                    Problem::new(at, format!("{room}, and from \"{from}\" to \"{to}\" there are {links}"))
                }
            })
        };
        self.entries().filter_map(problem).collect()
    }

    /// A setting for late flows needs flows that can be late. Entries with equal transports share it, wherever it is
    /// written: a resolved scenario has it in each of them.
    fn without_deadlines(&self) -> Vec<Problem> {
        let mut asks: Vec<(Transport, String, bool)> = Vec::new();
        for (path, entry) in self.entries() {
            let (Some((at, transport)), Some(demands)) =
                (self.transport_of(&path, entry), self.part::<Entry>(&path, Some(entry)))
            else {
                return Vec::new();
            };
            let Some(field) = transport.needs().deadlines else { continue };
            let field = join(&join(&at, transport.name()), field);
            let has = demands.1.deadline.is_some() || demands.1.deadlines.is_some();
            match asks.iter_mut().find(|(known, ..)| *known == transport) {
                Some((.., any)) => *any |= has,
                None => asks.push((transport, field, has)),
            }
        }
        let message = "is for flows with deadlines, and none of its flows has one; give traffic a deadline";
        asks.into_iter().filter(|(.., any)| !any).map(|(_, field, _)| Problem::new(field, message)).collect()
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

    /// Connections are kept where the transport has any that outlive a flow.
    fn connections(&self) -> Vec<Problem> {
        let problem = |(path, entry): (String, &'a Value)| {
            let at = join(&path, "connection");
            let (value, connection) = self.part::<Connection>(&at, entry.get("connection"))?;
            let (_, transport) = self.transport_of(&path, entry)?;
            if connection == Connection::New || transport.profile().keeps {
                return None;
            }
            let name = transport.name();
            let message = format!("\"kept\" is not for {name}, which opens a connection for each flow");
            let hint = format!("use {} or connection = \"new\"", list(transports_that_keep()));
            Some(Problem::new(at, message).with_value(value).with_hint(Some(hint)))
        };
        self.entries().filter_map(problem).collect()
    }

    /// Flows without an end need a transport that does not depend on their end.
    fn endless(&self) -> Vec<Problem> {
        let problem = |(path, entry): (String, &'a Value)| {
            let (_, own) = self.part::<Entry>(&path, Some(entry))?;
            let (at, transport) = self.transport_of(&path, entry)?;
            if !own.sizes.endless() || transport.profile().endless {
                return None;
            }
            let message = format!(
                "flows without an end are not for {at}.{}: it divides a flow by its size",
                transport.name()
            );
            let sizes = entry.get("sizes").unwrap_or(&Value::Null);
            Some(Problem::new(join(&path, "sizes"), message).with_value(sizes))
        };
        self.entries().filter_map(problem).collect()
    }

    /// A transport that is to choose paths itself needs a balancer that leaves them to it; one that changes the labels of its
    /// connections, or gives packets entropy values, one that hashes them.
    fn paths(&self) -> Vec<Problem> {
        let problems = |(path, entry): (String, &'a Value)| {
            let (at, transport) = self.transport_of(&path, entry)?;
            let balancer = self.balancer_of(&path, entry).1.unwrap_or_else(|| transport.profile().balancer);
            let needs = transport.needs();
            let wrong = [
                (needs.paths, balancer.leaves_paths(), "leaves paths to the sender", "\"permuted\""),
                (needs.labels, balancer.hashes(), "hashes labels", "\"per-flow\" or \"weighted\""),
                (needs.entropy, balancer.hashes_entropy(), "hashes entropy values", "\"entropy\""),
            ];
            let problem = |(field, fits, does, names): (Option<&str>, bool, &str, &str)| {
                let field = field.filter(|_| !fits)?;
                let message = format!("needs a balancer that {does}, not \"{}\"", balancer.name());
                let hint = Some(format!("use routing.balancer = {names}"));
                Some(Problem::new(join(&join(&at, transport.name()), field), message).with_hint(hint))
            };
            Some(wrong.into_iter().filter_map(problem).collect::<Vec<_>>())
        };
        self.entries().filter_map(problems).flatten().collect()
    }

    /// A balancer that learns from senders needs a transport whose senders tell it about losses, round trips and marks.
    fn senders(&self) -> Vec<Problem> {
        let problem = |(path, entry): (String, &'a Value)| {
            let (own, transport) = self.transport_of(&path, entry)?;
            let (at, balancer) = self.balancer_of(&path, entry);
            let (balancer, profile) = (balancer.filter(|balancer| balancer.learns())?, transport.profile());
            let lacks = match (profile.tells_paths, profile.ecn_capable) {
                (true, true) => return None,
                (true, false) => "has no marks",
                (false, _) => "does not tell balancers about round trips",
            };
            let message = format!(
                "\"{}\" learns from senders, and {own}.{} {lacks}",
                balancer.name(),
                transport.name()
            );
            let hint = "use transport.tcp with congestion = \"dctcp\" or ecn = true".to_string();
            Some(Problem::new(at, message).with_hint(Some(hint)))
        };
        self.entries().filter_map(problem).collect()
    }

    /// Each traffic entry has its own name.
    fn names(&self) -> Vec<Problem> {
        let entries: Vec<_> =
            self.entries().filter_map(|(path, entry)| Some((path, entry.get("name")?))).collect();
        let mut problems = Vec::new();
        for (index, (path, name)) in entries.iter().enumerate() {
            if let Some((other, _)) = entries[..index].iter().find(|(_, earlier)| earlier == name) {
                let message = format!("{name} is the name of {other} already; each entry needs its own");
                problems.push(Problem::new(join(path, "name"), message).with_value(name));
            }
        }
        problems
    }

    /// Problems of the entries themselves on that network.
    fn traffic(&self, fabric: &Fabric) -> Vec<Problem> {
        let good = |(path, entry): (String, &'a Value)| {
            let (value, entry) = self.part::<Entry>(&path, Some(entry))?;
            Some(((path, value), Demand::from(entry)))
        };
        let (places, entries): (Vec<_>, Vec<_>) = self.entries().filter_map(good).unzip();
        let problem = |(index, problem): (usize, Problem)| {
            let ends = entries[index].offers().and_then(|product| product.arrivals.ends());
            if ends.is_none() && problem.path.ends_with(".until") {
                // The window or the run gave it its end.
                let given = |place: &&str| self.document.pointer(place).is_some();
                let place = ["/run/measure/until", "/run/until"].into_iter().find(given);
                let path = place.unwrap_or("/run/measure").trim_start_matches('/').replace('/', ".");
                let value = place.and_then(|place| self.document.pointer(place)).cloned();
                return vec![Problem { value, ..Problem::new(path, problem.message) }];
            }
            let (path, value): &(String, &Value) = &places[index];
            own(path, "", value, vec![problem])
        };
        let mut problems = traffic::problems(&self.bounded(&entries), fabric);
        if entries.len() < self.entries().count() {
            // An entry that others refer to may be among those that cannot be read.
            let is_reference =
                |index: usize, path: &str| traffic::references::is_reference(&entries[index], path);
            problems.retain(|(index, problem)| !is_reference(*index, &problem.path));
        }
        problems.into_iter().flat_map(problem).collect()
    }

    /// The run, as far as it can be read.
    fn run(&self) -> Run {
        self.part::<Run>("run", self.document.get("run")).map(|(_, run)| run).unwrap_or_default()
    }

    /// The entries with an end for arrivals that the run ends.
    fn bounded(&self, entries: &[Demand]) -> Vec<Demand> {
        let faults = self.part::<Faults>("faults", self.document.get("faults"));
        measure::bounded(entries, &self.run(), faults.is_some_and(|(_, faults)| faults.is_fixed()))
    }

    /// The flows of the scenario, if nothing in the entries is wrong.
    fn demands(&self) -> Option<Vec<Demand>> {
        let demand =
            |(path, entry): (String, &'a Value)| Some(self.part::<Entry>(&path, Some(entry))?.1.into());
        self.entries().map(demand).collect()
    }

    /// A run whose traffic has no end needs one of its own.
    fn until(&self) -> Option<Problem> {
        if self.run().measure.window().is_some_and(|window| window.ends_the_run()) {
            return None;
        }
        let given = self.document.get("run").and_then(|run| run.get("until"));
        let why = traffic::endless(&self.demands()?).filter(|_| given.is_none_or(Value::is_null))?;
        Some(Problem::new("run.until", format!("is missing; {why}")))
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

    /// Faults must name parts of the network.
    fn faults(&self, fabric: &Fabric) -> Vec<Problem> {
        let Some((value, faults)) = self.part::<Faults>("faults", self.document.get("faults")) else {
            return Vec::new();
        };
        let mut problems = faults.problems(fabric);
        // Only of entries that are in order it is known how many flows they have.
        let entries = self.demands().map(|entries| self.bounded(&entries));
        if let Some(entries) = entries.filter(|entries| traffic::problems(entries, fabric).is_empty()) {
            problems.extend(packets::problems(&faults.packets, &entries, fabric));
        }
        problems.extend(self.uncounted(&faults));
        own("faults", "", value, problems)
    }

    /// Packets are lost by number where hosts make them for the wire, not where they wait in a port that may drop them.
    fn uncounted(&self, faults: &Faults) -> Vec<Problem> {
        let problem = |(index, lost): (usize, &packets::LostPackets)| {
            let mut entries = self.entries();
            let (path, entry) = entries.find(|(_, entry)| {
                entry.get("name").and_then(Value::as_str) == Some(lost.traffic.as_str())
            })?;
            let (at, transport) = self.transport_of(&path, entry)?;
            let field = join(&join(&at, transport.name()), transport.needs().host_queues?);
            let message = format!(
                "the packets of \"{}\" have no number on the wire: under {field} their host's port may drop some before",
                lost.traffic
            );
            let hint = format!("set another {field}");
            Some(Problem::new(format!("packets.{index}.traffic"), message).with_hint(Some(hint)))
        };
        faults.packets.iter().enumerate().filter_map(problem).collect()
    }

    /// Observed flows and links must exist.
    fn observe(&self, fabric: &Fabric) -> Vec<Problem> {
        let Some((value, observe)) = self.part::<Observe>("observe", self.document.get("observe")) else {
            return Vec::new();
        };
        let names: Vec<_> = self.entries().filter_map(|(_, entry)| entry.get("name")?.as_str()).collect();
        own("observe", "", value, observe.problems(fabric, &names))
    }

    /// The measuring window has a start before its end, before the end of the run and of arrivals.
    fn measure(&self, fabric: Option<&Fabric>) -> Vec<Problem> {
        let Some((value, run)) = self.part::<Run>("run", self.document.get("run")) else { return Vec::new() };
        let Some(window) = run.measure.window() else { return Vec::new() };
        let entries = self.demands().filter(|_| fabric.is_some());
        let entries = entries.filter(|entries| {
            let bounded = self.bounded(entries);
            fabric.is_some_and(|fabric| traffic::problems(&bounded, fabric).is_empty())
        });
        let traffic = entries.as_deref().zip(fabric);
        own("run.measure", "", &value["measure"], measure::problems(&window, run.until, traffic))
    }
}

/// The names of the transports whose connections can be kept.
fn transports_that_keep() -> Vec<&'static str> {
    let keeps =
        |name: &str| Transport::deserialize(&json!({ name: {} })).is_ok_and(|own| own.profile().keeps);
    Transport::NAMES.iter().copied().filter(|name| keeps(name)).collect()
}

/// Whether ports with that queue have a feature.
fn has(queue: &Queue, feature: Feature) -> bool {
    feature.is_everywhere() || queue.offers().contains(&feature)
}

/// The names of the queues that offer all these features with their default settings.
fn queues_with(features: &[Feature]) -> Vec<&'static str> {
    let offers = |name: &str| {
        let queue = Queue::deserialize(&json!({ name: {} }));
        queue.is_ok_and(|queue| features.iter().all(|feature| has(&queue, *feature)))
    };
    Queue::NAMES.iter().copied().filter(|name| offers(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Problems of telemetry in a scenario with that topology, if its transport requests telemetry.
    fn telemetry_on(topology: Value) -> Vec<String> {
        let traffic = json!([{ "name": "all", "arrivals": { "at-once": {} }, "matrix": "permutation",
            "sizes": { "fixed": "1KB" } }]);
        let document = json!({ "topology": topology, "transport": { "roce": {} }, "traffic": traffic });
        let topology: Topology = Topology::deserialize(&document["topology"]).expect("a topology");
        let draft = Draft { document: &document, found: &[] };
        let problems = draft.telemetry(&topology.build(), |_| true);
        problems.iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect()
    }

    /// Three levels of switches have five ports behind that of the host, four have seven.
    #[test]
    fn paths_with_more_ports_than_telemetry_has_room_for_are_refused() {
        assert_eq!(telemetry_on(json!({ "fat-tree": { "k": 4 } })), Vec::<String>::new());
        let four = telemetry_on(json!({ "fat-tree": { "k": 4, "levels": 4 } }));
        let [problem] = &four[..] else { panic!("{four:?}") };
        assert!(
            problem.starts_with("transport.roce: packets of transport.roce have room for the telemetry of 5")
        );
        assert!(problem.ends_with("there are 8"), "{problem}");
    }

    #[test]
    fn more_rates_than_telemetry_tells_apart_are_refused() {
        let line = |rates: u64| {
            let rates = (1..=rates).map(|gbps| json!(format!("{gbps}Gbps"))).collect::<Vec<_>>();
            telemetry_on(json!({ "line": { "switches": rates.len() - 1, "rates": rates } }))
        };
        assert!(
            line(64)
                .iter()
                .any(|problem| problem.contains("63 rates of links apart, and the network has 64"))
        );
        assert!(!line(63).iter().any(|problem| problem.contains("rates of links")));
    }
}
