//! Advice on settings that have no effect, because another setting leaves them unread.
//!
//! A member of a list names such fields of its own (`Settings::unread`); priorities and classes of traffic entries depend
//! on transport, controller and queue, and are compared here. Only fields that differ from their defaults get advice.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::advice::{Advice, Unread};
use crate::agent::Agent;
use crate::agent::pdq::{Order, PdqPort};
use crate::balancer::Balancer;
use crate::faults::Faults;
use crate::queue::{Feature, Queue};
use crate::routing::most_paths;
use crate::scenario::{Connection, Entry, Scenario};
use crate::setup::Setup;
use crate::transport::Transport;
use crate::transport::tcp::Tcp;
use crate::transport::tcp::congestion::Congestion;

/// All advice on settings of a scenario that have no effect.
pub fn advice(scenario: &Scenario) -> Vec<Advice> {
    let mut found = members(scenario);
    found.extend(unused(scenario));
    found.extend(detection(scenario));
    found.extend(samples(scenario));
    found.extend(order(scenario));
    found.extend(scenario.traffic.iter().filter_map(|entry| priority(scenario, entry)));
    found.extend(scenario.traffic.iter().filter_map(among_sources));
    let queue = scenario.queue();
    found.extend(scenario.traffic.iter().filter_map(|entry| class(&queue, entry)));
    found.extend(one_class(scenario, &queue));
    found
}

/// Advice on balancers of a scenario whose network leaves them no choice.
pub fn balancers(scenario: &Scenario, setup: &Setup) -> Vec<Advice> {
    let shared = scenario.routing.balancer.as_ref();
    let shared = shared.filter(|&balancer| *balancer != scenario.transport.profile().balancer);
    let own = scenario.traffic.iter().filter_map(|entry| {
        let balancer = entry.routing.as_ref()?.balancer.as_ref()?;
        let path = format!("traffic.{}.routing.balancer", entry.name);
        (*balancer != scenario.recommended_balancer(entry)).then_some((path, balancer))
    });
    let given = shared.map(|balancer| ("routing.balancer".to_string(), balancer)).into_iter().chain(own);
    let given: Vec<_> = given.filter(|(_, balancer)| balancer.among_shortest()).collect();
    let choice =
        || setup.faults.moves_paths(&setup.fabric) || most_paths(&setup.fabric, &setup.routes, 2) > 1;
    if given.is_empty() || choice() {
        return Vec::new();
    }
    let advise = |(path, balancer): (String, &Balancer)| Advice {
        path,
        message: format!(
            "has no effect: the network has one path between any two hosts, and \"{}\" has nothing to choose",
            balancer.name()
        ),
        write: "nothing: leave balancer out".into(),
    };
    given.into_iter().map(advise).collect()
}

/// Fields of members that these, or the rest of the scenario, leave unread.
fn members(scenario: &Scenario) -> Vec<Advice> {
    let mut found = Vec::new();
    let marks_some = scenario.queue().offers().contains(&Feature::Ecn);
    let of_rates = scenario.controller.as_ref().is_some_and(|controller| controller.weights().is_some());
    for entry in &scenario.traffic {
        let transport = scenario.transport_of(entry);
        let path = scenario.transport_path(entry);
        found.extend(unread(&path, transport.name(), transport, transport.unread()));
        let balancer = scenario.balancer_of(entry);
        found.extend(unread(&scenario.balancer_path(entry), balancer.name(), &balancer, balancer.unread()));
        let sharing = |other: &&Entry| scenario.transport_path(other) == path;
        found.extend(for_flows(&path, transport, scenario.traffic.iter().filter(sharing)));
        if let Transport::Datagram(_) = transport {
            let marking = Unread::among([("ecn_capable", marks_some, "a queue that marks, such as ecn")]);
            found.extend(unread(&path, transport.name(), transport, marking));
        }
        if let Transport::Central(_) = transport {
            let needs = "a controller of rates, such as asy";
            let fields = ["late", "late_limit", "idle"].map(|field| (field, of_rates, needs));
            found.extend(unread(&path, transport.name(), transport, Unread::among(fields)));
        }
    }
    if let Some(queue) = &scenario.queue {
        found.extend(unread("queue", queue.name(), queue, queue.unread()));
        if scenario.traffic.iter().all(|entry| !scenario.transport_of(entry).profile().ecn_capable) {
            found.extend(marks(queue));
        }
        if scenario.traffic.iter().all(|entry| !scenario.transport_of(entry).profile().marks_unscheduled) {
            found.extend(selective(queue));
        }
    }
    if let Some(agent) = &scenario.agent {
        found.extend(unread("agent", agent.name(), agent, agent.unread()));
    }
    if let Some(controller) = &scenario.controller {
        found.extend(unread("controller", controller.name(), controller, controller.unread()));
    }
    found
}

/// Fields for kept connections, and for flows with deadlines, of which a transport's entries have none.
fn for_flows<'s>(
    path: &str,
    transport: &Transport,
    entries: impl Iterator<Item = &'s Entry> + Clone,
) -> Vec<Advice> {
    let kept = entries.clone().any(|entry| entry.connection == Connection::Kept);
    let due = entries.clone().any(has_deadlines);
    let deadlines = "flows that have deadlines";
    let name = transport.name();
    let (tcp, idle, congestion) = match transport {
        Transport::Tcp(tcp) => (tcp, "idle_restart", "congestion"),
        Transport::Mptcp(mptcp) => (&mptcp.tcp, "tcp.idle_restart", "tcp.congestion"),
        Transport::ParallelTcp(parallel) => (&parallel.tcp, "tcp.idle_restart", "tcp.congestion"),
        Transport::D3(_) => {
            return unread(path, name, transport, Unread::among([("guard_rtts", due, deadlines)]));
        }
        // Giving up is refused without deadlines.
        Transport::Pdq(_) => {
            return unread(path, name, transport, Unread::among([("late", due, deadlines)]));
        }
        _ => return Vec::new(),
    };
    // The rule of the preset, written out as in the run.json of a run, asks for nothing.
    let as_preset = Tcp { idle_restart: None, ..tcp.clone() }.idle_restart() == tcp.idle_restart();
    let idle = [(idle, kept || as_preset, "kept connections, which have pauses")];
    let mut found = unread(path, name, transport, Unread::among(idle));
    if let Congestion::D2tcp(_) = tcp.congestion() {
        let exponents = ["min_exponent", "max_exponent", "late_exponent"];
        let exponents = Unread::among(exponents.map(|field| (field, due, deadlines)));
        found.extend(unread(&format!("{path}.{name}.{congestion}"), "d2tcp", tcp.congestion(), exponents));
    }
    found
}

/// Fields that a member leaves unread and that do not have their defaults.
fn unread<T: Serialize + DeserializeOwned>(
    path: &str,
    name: &str,
    member: &T,
    fields: Vec<Unread>,
) -> Vec<Advice> {
    if fields.is_empty() {
        return Vec::new();
    }
    let plain = |member: &T| serde_json::to_value(member).unwrap_or_default();
    let given = plain(member);
    // One that needs more than its name has no defaults to compare with.
    let default = T::deserialize(json!({ name: {} })).map_or(Value::Null, |member| plain(&member));
    let differs = |unread: &Unread| {
        let at = format!("/{name}/{}", unread.field.replace('.', "/"));
        given.pointer(&at) != default.pointer(&at)
    };
    let advise = |Unread { field, unless }: Unread| {
        let at = format!("{path}.{name}");
        Advice {
            path: format!("{at}.{field}"),
            message: format!("has no effect: it is read only with {unless}"),
            write: match unless.contains(" = ") {
                true => format!("{at}.{unless}"),
                false => format!("nothing: leave {field} out"),
            },
        }
    };
    fields.into_iter().filter(differs).map(advise).collect()
}

/// Marks of a queue where no packet is ECN-capable. One that does little else gets advice whatever its fields are.
fn marks(queue: &Queue) -> Vec<Advice> {
    let needs = "ECN-capable packets, which no transport here sends (TCP does with transport.tcp.ecn, and under dctcp)";
    let fields =
        queue.for_marks().iter().map(|field| Unread { field: field.to_string(), unless: needs.into() });
    let found = unread("queue", queue.name(), queue, fields.collect());
    match queue {
        Queue::Ecn(_) if found.is_empty() => vec![Advice {
            path: "queue.ecn".into(),
            message: "marks nothing: no transport sends ECN-capable packets".into(),
            write: "queue = \"drop-tail\"".into(),
        }],
        _ => found,
    }
}

/// A queue that drops unscheduled packets before others, where no sender marks any.
fn selective(queue: &Queue) -> Option<Advice> {
    queue.drops_unscheduled().then(|| Advice {
        path: format!("queue.{}", queue.name()),
        message: "drops no packet before others: no transport here marks packets that it sends before its receiver \
                  schedules any (homa, sird, phost, dcpim and ndp do)"
            .into(),
        write: "queue = \"strict-priority\"".into(),
    })
}

/// The time after which routes follow faults, where there are none for them to follow.
fn detection(scenario: &Scenario) -> Option<Advice> {
    let path = "faults.detection_delay";
    let faults = &scenario.faults;
    let is_unread = faults.events.is_empty() && faults.detection_delay != Faults::default().detection_delay;
    is_unread.then(|| Advice {
        path: path.into(),
        message: "has no effect: it is read only with faults.events".into(),
        write: "nothing: leave detection_delay out".into(),
    })
}

/// Samples of no link and no flow.
fn samples(scenario: &Scenario) -> Option<Advice> {
    let samples = scenario.observe.samples.as_ref()?;
    let no_flows = samples.flows.is_empty() || samples.flow_limit == 0;
    (samples.links.is_empty() && no_flows).then(|| Advice {
        path: "observe.samples".into(),
        message: format!(
            "has no effect: links is empty, and {}",
            if samples.flows.is_empty() { "flows too" } else { "flow_limit is 0" }
        ),
        write: "observe.samples.links = [\"*\"], or leave out links and flows, for all".into(),
    })
}

/// PDQ's order of deadlines alone, of flows without.
fn order(scenario: &Scenario) -> Option<Advice> {
    let by_deadlines = matches!(&scenario.agent, Some(Agent::PdqPort(PdqPort { order: Order::Edf, .. })));
    let served = |entry: &&Entry| matches!(scenario.transport_of(entry), Transport::Pdq(_));
    (by_deadlines && !scenario.traffic.iter().filter(served).any(has_deadlines)).then(|| Advice {
        path: "agent.pdq.order".into(),
        message: "no flow has a deadline, and flows without one are served in the order in which they begin"
            .into(),
        write: "agent.pdq.order = \"sjf\", or give a traffic entry a deadline".into(),
    })
}

/// Whether the flows of an entry have deadlines.
fn has_deadlines(entry: &Entry) -> bool {
    entry.deadline.is_some() || entry.deadlines.is_some()
}

/// The scenario's transport and balancer, where each entry has its own.
fn unused(scenario: &Scenario) -> Vec<Advice> {
    let mut found = Vec::new();
    let mut advise = |path: &str, of: &str, write: String| {
        let message = format!("has no effect: each traffic entry has its own {of}");
        found.push(Advice { path: path.into(), message, write });
    };
    let transport = &scenario.transport;
    let plain = Transport::deserialize(json!({ transport.name(): {} }));
    if scenario.traffic.iter().all(|entry| entry.transport.is_some())
        && plain.is_ok_and(|plain| plain != *transport)
    {
        // A transport must stand there, by its name at least.
        advise("transport", "transport", format!("transport = \"{}\"", transport.name()));
    }
    let own = |entry: &Entry| entry.routing.as_ref().is_some_and(|routing| routing.balancer.is_some());
    if scenario.routing.balancer.is_some() && scenario.traffic.iter().all(own) {
        advise("routing.balancer", "balancer", "nothing: leave routing.balancer out".into());
    }
    found
}

/// Receivers limited to the sources, where all hosts are sources.
fn among_sources(entry: &Entry) -> Option<Advice> {
    let path = format!("traffic.{}.among_sources", entry.name);
    (entry.among_sources && entry.sources.is_none()).then(|| Advice {
        message: "has no effect: all hosts are sources, since the entry has no sources".into(),
        write: format!("traffic.{}.sources.share = 0.5, or others", entry.name),
        path,
    })
}

/// A priority that nothing reads, or that all flows share.
fn priority(scenario: &Scenario, entry: &Entry) -> Option<Advice> {
    if entry.priority == 0 {
        return None;
    }
    let transport = scenario.transport_of(entry);
    let given = |message: String, write: String| {
        Some(Advice { path: format!("traffic.{}.priority", entry.name), message, write })
    };
    if let Some(controller) = scenario.controller.as_ref().filter(|_| transport.needs().controller) {
        let at = format!("controller.{}", controller.name());
        let Some((field, weights)) = controller.weights() else {
            return given(
                format!("has no effect: {at} does not read it"),
                format!("traffic.{}.priority = 0", entry.name),
            );
        };
        let weight = |entry: &Entry| weights.get(entry.priority as usize).copied().unwrap_or(1.0);
        return if scenario.traffic.iter().all(|other| weight(other) == weight(entry)) {
            given(
                format!("has no effect: by {at}.{field} all flows have the weight {}", weight(entry)),
                format!("{at}.{field} = [4.0, 1.0], a weight for each priority from 0 on"),
            )
        } else {
            None
        };
    }
    if !transport.needs().priority {
        let ports =
            format!("traffic.{}.class = {}, with queue = \"strict-priority\"", entry.name, entry.priority);
        let at = format!("{}.{}", scenario.transport_path(entry), transport.name());
        let pulls = format!("{at}.pull_order = \"strict\"");
        let write = if let Transport::Ndp(_) = transport { pulls } else { ports };
        return given(
            format!("has no effect: {at} does not read it, and ports serve packets by their class"),
            write,
        );
    }
    let alike = |other: &Entry| {
        scenario.transport_of(other).name() != transport.name() || other.priority == entry.priority
    };
    if scenario.traffic.iter().all(alike) {
        let message = format!("has no effect: all flows that {} orders have it", transport.name());
        return given(message, format!("traffic.{}.priority = 0", entry.name));
    }
    None
}

/// A class that ports do not distinguish.
fn class(queue: &Queue, entry: &Entry) -> Option<Advice> {
    let (class, name) = (entry.class?, queue.name());
    let classes = queue.classes();
    if class < classes && classes > 1 {
        return None;
    }
    let message = match classes {
        1 => format!("has no effect: ports with the queue \"{name}\" do not read the class of packets"),
        _ => format!(
            "the queue \"{name}\" has {classes} classes: packets of class {class} go with the last, {}",
            classes - 1
        ),
    };
    let write = match queue {
        Queue::StrictPriority(_) | Queue::SelectiveDrop(_) => {
            format!("queue.{name}.classes = {}", class.max(1) + 1)
        }
        _ => "queue = \"strict-priority\"".to_string(),
    };
    Some(Advice { path: format!("traffic.{}.class", entry.name), message, write })
}

/// A queue of several classes, all of whose packets have the same.
fn one_class(scenario: &Scenario, queue: &Queue) -> Option<Advice> {
    let mut classes = BTreeSet::new();
    for entry in &scenario.traffic {
        let transport = scenario.transport_of(entry);
        if transport.profile().class_field.is_some() || matches!(transport, Transport::PythonTransport(_)) {
            return None;
        }
        classes.insert(entry.class.unwrap_or(0));
    }
    let given = scenario.traffic.iter().find(|entry| entry.class.is_some());
    let path = match (queue, given) {
        (Queue::StrictPriority(_), None) => "queue.strict-priority.classes".to_string(),
        (_, Some(entry)) => format!("traffic.{}.class", entry.name),
        _ => return None,
    };
    let last = scenario.traffic.last()?;
    (classes.len() == 1 && queue.classes() > 1).then(|| Advice {
        path,
        message: format!(
            "has no effect: all packets have class {}, and a port serves them in the order in which they come",
            classes.first().copied().unwrap_or_default()
        ),
        write: format!("traffic.{}.class = {}", last.name, 1 - last.class.unwrap_or(0).min(1)),
    })
}
