//! Prototypes that a scenario names: each must have been given, and gives the values that the scenario
//! leaves to it.
//!
//! These values are put into the scenario, like the points of a file, so that the record of a run is
//! complete.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::nearest::{closest, did_you_mean};
use crate::problem::{Problem, join, list, steps};
use crate::prototype::{Factory, Named};
use crate::{balancer, queue, transport};

/// The name of the member of each list that is a prototype.
const MEMBER: &str = "python";

/// All that may be written in Python, by list and name.
#[derive(Clone, Debug, Default)]
pub struct Prototypes {
    /// Transports, and members of transports.
    pub transport: transport::Prototypes,
    pub queues: queue::Prototypes,
    pub balancers: balancer::Prototypes,
}

impl Prototypes {
    /// A list under a key of scenarios: the name of its members, the argument of flowyard.run that hands them
    /// in, and those that were.
    fn of(&self, key: &str) -> Option<(&'static str, &'static str, Named<dyn Factory>)> {
        fn plain<T: Factory + ?Sized>(
            named: &Named<T>,
            up: fn(Arc<T>) -> Arc<dyn Factory>,
        ) -> Named<dyn Factory> {
            named.iter().map(|(name, own)| (name.clone(), up(Arc::clone(own)))).collect()
        }
        match key {
            "transport" => Some(("transport", "transports", plain(&self.transport.transports, |own| own))),
            "congestion" => {
                Some(("congestion control", "controls", plain(&self.transport.controls, |own| own)))
            }
            "queue" => Some(("queue", "queues", plain(&self.queues, |own| own))),
            "balancer" => Some(("load balancer", "balancers", plain(&self.balancers, |own| own))),
            _ => None,
        }
    }
}

/// Adds to problems with the bare name of a prototype how a scenario names one.
pub(super) fn hint(found: &mut [Problem], prototypes: &Prototypes) {
    for problem in found {
        let key = problem.path.rsplit('.').next().unwrap_or_default();
        let Some(name) = problem.value.as_ref().and_then(Value::as_str) else { continue };
        // Not each choice has them.
        if !problem.message.contains(&format!("\"{MEMBER}\"")) {
            continue;
        }
        let named = |key: &str| prototypes.of(key).is_some_and(|(.., named)| named.contains_key(name));
        let member = format!("{{ {MEMBER} = {{ name = \"{name}\" }} }}");
        if named(key) {
            problem.hint = Some(format!("write {member}"));
        } else if key == "transport" && named("congestion") {
            problem.hint = Some(format!("write {{ tcp = {{ congestion = {member} }} }}"));
        }
    }
}

/// Puts the prototypes' values into the document, where the walk found no fault; or returns their problems.
pub(super) fn put_in(document: &mut Value, found: &[Problem], prototypes: &Prototypes) -> Vec<Problem> {
    let mut visit = Visit { found, prototypes, problems: Vec::new() };
    visit.value(document, "", "");
    visit.problems
}

struct Visit<'a> {
    found: &'a [Problem],
    prototypes: &'a Prototypes,
    problems: Vec<Problem>,
}

impl Visit<'_> {
    /// A value that stands under that key.
    fn value(&mut self, value: &mut Value, key: &str, path: &str) {
        match value {
            Value::Object(map) => {
                for (below, value) in map.iter_mut() {
                    let path = join(path, below);
                    if below == MEMBER
                        && let (Some(list), Value::Object(member)) = (self.prototypes.of(key), &mut *value)
                        && !self.found.iter().any(|problem| problem.path.starts_with(&path))
                    {
                        self.problems.extend(member_of(list, member, &path));
                    } else {
                        self.value(value, below, &path);
                    }
                }
            }
            // Lists of plain values may be long.
            Value::Array(items) if items.first().is_some_and(Value::is_object) => {
                let steps = steps(items);
                for (item, step) in items.iter_mut().zip(steps) {
                    self.value(item, key, &join(path, &step));
                }
            }
            _ => {}
        }
    }
}

/// Fills in a member's configuration from its prototype.
fn member_of(
    (kind, argument, named): (&str, &str, Named<dyn Factory>),
    member: &mut Map<String, Value>,
    path: &str,
) -> Option<Problem> {
    let name = member.get("name").and_then(Value::as_str)?.to_string();
    let Some(prototype) = named.get(&name) else {
        let at = join(path, "name");
        let names = named.keys().map(String::as_str);
        let (message, hint) = if named.is_empty() {
            let hand_in = format!(
                "hand it in: flowyard run --prototype FILE.py, or {argument}={{\"{name}\": ...}} for flowyard.run"
            );
            (format!("\"{name}\": no {kind} in Python was handed in"), Some(hand_in))
        } else {
            let handed = list(names.clone());
            (
                format!("\"{name}\" is not one of {handed}, the {kind}s that were handed in"),
                closest(&name, names).map(did_you_mean),
            )
        };
        return Some(Problem::new(at, message).with_value(&json!(name)).with_hint(hint));
    };
    for (field, value) in prototype.fields() {
        member.entry(field).or_insert(value);
    }
    let settings = member.get("settings").and_then(Value::as_object).cloned().unwrap_or_default();
    let refusal = prototype.refusal(&settings)?;
    Some(Problem::new(join(path, "settings"), refusal).with_value(&Value::Object(settings)))
}
