//! Checks of traffic entries, and of the parts of a scenario that refer to their flows: faults, observers, measuring window.

use serde::Deserialize;
use serde_json::{Value, json};

use super::check::{Draft, own};
use super::{Connection, Entry, Run, measure};
use crate::faults::{Faults, packets};
use crate::observe::Observe;
use crate::problem::{Problem, join, list};
use crate::topology::Fabric;
use crate::traffic::{self, Demand};
use crate::transport::Transport;

impl<'a> Draft<'a> {
    /// A setting for late flows needs flows that can be late. Entries with equal transports share it, wherever it is
    /// written: a resolved scenario has it in each of them.
    pub(super) fn without_deadlines(&self) -> Vec<Problem> {
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

    /// Connections are kept where the transport has any that outlive a flow.
    pub(super) fn connections(&self) -> Vec<Problem> {
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
    pub(super) fn endless(&self) -> Vec<Problem> {
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
    pub(super) fn paths(&self) -> Vec<Problem> {
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
    pub(super) fn senders(&self) -> Vec<Problem> {
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
    pub(super) fn names(&self) -> Vec<Problem> {
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
    pub(super) fn traffic(&self, fabric: &Fabric) -> Vec<Problem> {
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
    pub(super) fn until(&self) -> Option<Problem> {
        if self.run().measure.window().is_some_and(|window| window.ends_the_run()) {
            return None;
        }
        let given = self.document.get("run").and_then(|run| run.get("until"));
        let why = traffic::endless(&self.demands()?).filter(|_| given.is_none_or(Value::is_null))?;
        Some(Problem::new("run.until", format!("is missing; {why}")))
    }

    /// Faults must name parts of the network.
    pub(super) fn faults(&self, fabric: &Fabric) -> Vec<Problem> {
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
    pub(super) fn observe(&self, fabric: &Fabric) -> Vec<Problem> {
        let Some((value, observe)) = self.part::<Observe>("observe", self.document.get("observe")) else {
            return Vec::new();
        };
        let names: Vec<_> = self.entries().filter_map(|(_, entry)| entry.get("name")?.as_str()).collect();
        own("observe", "", value, observe.problems(fabric, &names))
    }

    /// The measuring window has a start before its end, before the end of the run and of arrivals.
    pub(super) fn measure(&self, fabric: Option<&Fabric>) -> Vec<Problem> {
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
