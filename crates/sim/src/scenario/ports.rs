//! Checks of ports: they have the features, and packets the room, that transports, balancers and agents in use need.

use serde::Deserialize;
use serde_json::{Value, json};

use super::check::{Chosen, Draft, own};
use crate::agent::Agent;
use crate::buffer::Buffer;
use crate::engine::contract::telemetry;
use crate::faults::Faults;
use crate::faults::timeline::Timeline;
use crate::problem::{Problem, join, list};
use crate::queue::{Feature, Queue};
use crate::routing::{self, Routes};
use crate::topology::Fabric;
use crate::transport::Transport;

impl<'a> Draft<'a> {
    /// Ports must have the features that every transport in use needs.
    pub(super) fn queue(&self, transports: &[Chosen<'a>]) -> Vec<Problem> {
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
                let unless = chosen.transport.needs().unless.filter(|(feature, _)| feature == need);
                let hint = match unless {
                    Some((_, setting)) => format!("{hint}; or {}.{setting}", named(chosen)),
                    None => hint,
                };
                problems.push(Problem::new("queue", message).with_value(value).with_hint(Some(hint)));
            }
        }
        problems
    }

    /// The ports that share memory have a queue that can: one that pauses where the memory does, and else none that does.
    pub(super) fn buffer(&self, fabric: &Fabric, transports: &[Chosen<'a>]) -> Vec<Problem> {
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
            let used = transports.iter().filter(|chosen| chosen.used);
            let needed: Vec<_> = used.clone().flat_map(|chosen| chosen.transport.needs().features).collect();
            let serves = |queue: &Queue| fits(queue) && needed.iter().all(|feature| has(queue, *feature));
            let others: Vec<&str> = Queue::NAMES
                .iter()
                .copied()
                .filter(|name| Queue::deserialize(&json!({ *name: {} })).is_ok_and(|queue| serves(&queue)))
                .collect();
            let hint = match others.is_empty() {
                true => without_memory(&buffer, &queue, used),
                false => format!("use the queue {}", list(others.into_iter()).replace(", ", " or ")),
            };
            problems.push(Problem::new("buffer", message).with_value(value).with_hint(Some(hint)));
        }
        problems
    }

    /// A port computes for one transport, and does so only if one is in use that needs it.
    pub(super) fn agent(&self, transports: &[Chosen<'a>]) -> Vec<Problem> {
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
    pub(super) fn answers(&self, fabric: &Fabric) -> Vec<Problem> {
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
    pub(super) fn requests(&self, transports: &[Chosen<'a>]) -> Vec<Problem> {
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
    pub(super) fn too_long(&self, fabric: &Fabric, transports: &[Chosen<'a>]) -> Vec<Problem> {
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
    pub(super) fn telemetry(&self, fabric: &Fabric, asks: impl Fn(&Transport) -> bool) -> Vec<Problem> {
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
}

/// Whether ports with that queue have a feature.
fn has(queue: &Queue, feature: Feature) -> bool {
    feature.is_everywhere() || queue.offers().contains(&feature)
}

/// The way on where no queue that shares a buffer's memory serves the transports in use: a buffer that pauses, for a queue that
/// does, a setting with which a transport takes another queue, or no buffer.
fn without_memory<'c>(buffer: &Buffer, queue: &Queue, used: impl Iterator<Item = &'c Chosen<'c>>) -> String {
    let pauses = |name: &&str| {
        Buffer::deserialize(&json!({ *name: {} })).is_ok_and(|other| other.pauses() && !buffer.pauses())
    };
    let others = Buffer::NAMES.iter().copied().filter(|_| queue.pauses()).filter(pauses);
    let mut ways: Vec<String> =
        others.map(|name| format!("write buffer.{name}, whose memory pauses")).collect();
    let mut needing = Vec::new();
    for chosen in used {
        let (path, needs) = (join(&chosen.path, chosen.transport.name()), chosen.transport.needs());
        ways.extend(needs.unless.map(|(_, setting)| format!("{path}.{setting} with another queue")));
        needing.extend((!needs.features.is_empty()).then_some(path));
    }
    match ways.is_empty() {
        true => format!("leave buffer out: no queue that does serves {}", needing.join(" and ")),
        false => ways.join(", or "),
    }
}

/// The names of the queues that offer all these features with their default settings, and drop no packets before others.
fn queues_with(features: &[Feature]) -> Vec<&'static str> {
    let offers = |name: &str| {
        let queue = Queue::deserialize(&json!({ name: {} }));
        queue.is_ok_and(|queue| {
            !queue.drops_unscheduled() && features.iter().all(|feature| has(&queue, *feature))
        })
    };
    Queue::NAMES.iter().copied().filter(|name| offers(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Topology;

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
