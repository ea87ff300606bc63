//! The members of a scenario as the schema lists them, ways to each of them, and those that a scenario has.
//!
//! A member is a choice's variant, a word or a field: what the schema gets is looked for, without a list here.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::fuzz::{Draw, Place, definition, resolve};

/// So many ways to a member are kept.
const WAYS_MAX: usize = 24;

/// A step from a value towards a member.
#[derive(Clone)]
pub enum Step<'a> {
    /// Into a field.
    Field(Place<'a>, &'a str),
    /// Into an item of a list.
    Item(Place<'a>),
    /// Into the settings of a variant.
    Variant(Place<'a>, &'a str),
    /// To a word.
    Word(&'a Value),
}

/// Members by name, each with ways that lead there from the root of a document.
pub type Ways<'a> = BTreeMap<String, Vec<Vec<Step<'a>>>>;

/// All members of the schema.
pub fn all(root: &Value) -> Ways<'_> {
    let mut ways = Ways::new();
    Walk { root, ways: &mut ways, open: Vec::new(), steps: Vec::new() }.schema(root, "Scenario");
    ways
}

/// A member's own names: the variants of the list `Queue` are "Queue: red", the fields of a member "Red.weight".
fn variant(list: &str, name: &str) -> String {
    format!("{list}: {name}")
}

/// The settings under a variant's name, if a member of a choice is a variant.
fn settings(member: &Value) -> Option<(&String, &Value)> {
    let properties = member.get("properties")?.as_object()?;
    let alone = properties.len() == 1 && member.get("required").is_some();
    properties.iter().next().filter(|_| alone)
}

/// The words of a member of a choice.
fn words(member: &Value) -> impl Iterator<Item = &Value> {
    let several = member.get("enum").and_then(Value::as_array).into_iter().flatten();
    member.get("const").into_iter().chain(several).filter(|word| word.is_string())
}

struct Walk<'a, 'w> {
    root: &'a Value,
    ways: &'w mut Ways<'a>,
    open: Vec<&'a str>,
    steps: Vec<Step<'a>>,
}

impl<'a> Walk<'a, '_> {
    fn schema(&mut self, schema: &'a Value, place: &str) {
        let name = definition(schema);
        if name.is_some_and(|name| self.open.contains(&name)) {
            return;
        }
        self.open.extend(name);
        let here = name.unwrap_or(place);
        let schema = resolve(self.root, schema);
        self.choice(schema, here);
        let definition = self.open.last().copied().unwrap_or("");
        for (key, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let below = format!("{here}.{key}");
            let place = Place { schema: member, definition, field: Some(key), optional: false };
            self.step(Step::Field(place, key), Some(below.clone()), |walk| walk.schema(member, &below));
        }
        if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
            let place = Place { schema: items, definition, field: None, optional: false };
            self.step(Step::Item(place), None, |walk| walk.schema(items, here));
        }
        if name.is_some() {
            self.open.pop();
        }
    }

    /// The members of a choice.
    fn choice(&mut self, schema: &'a Value, here: &str) {
        let members = ["oneOf", "anyOf"].iter().find_map(|key| schema.get(key)?.as_array());
        let members: Vec<&'a Value> = members.into_iter().flatten().collect();
        let tables: Vec<&str> = members.iter().filter_map(|member| Some(&settings(member)?.0[..])).collect();
        let definition = self.open.last().copied().unwrap_or("");
        for member in members {
            if let Some((name, below)) = settings(member).filter(|_| schema.get("oneOf").is_some()) {
                let place = Place { schema: below, definition, field: Some(name), optional: false };
                let to = variant(here, name);
                self.step(Step::Variant(place, name), Some(to), |walk| walk.schema(below, here));
            } else if words(member).next().is_some() {
                let new = |word: &&'a Value| word.as_str().is_some_and(|word| !tables.contains(&word));
                for word in words(member).filter(new) {
                    let to = variant(here, word.as_str().expect("a word"));
                    self.step(Step::Word(word), Some(to), |_| ());
                }
            } else {
                self.schema(member, here);
            }
        }
    }

    /// One step further, which reaches that member.
    fn step(&mut self, step: Step<'a>, member: Option<String>, further: impl FnOnce(&mut Self)) {
        self.steps.push(step);
        if let Some(member) = member {
            let ways = self.ways.entry(member).or_default();
            if ways.len() < WAYS_MAX {
                ways.push(self.steps.clone());
            }
        }
        further(self);
        self.steps.pop();
    }
}

/// Puts a member into a document, by that way, and returns where it is now; nothing if the way is barred.
pub fn graft<'a>(document: &mut Value, way: &[Step<'a>], draw: &mut Draw<'a>) -> Option<String> {
    let mut at = String::new();
    for step in way {
        let here = document.pointer_mut(&at)?;
        match step {
            Step::Field(place, key) => {
                let map = here.as_object_mut()?;
                for _ in 0..20 {
                    if map.get(*key).is_some_and(|value| !value.is_null()) {
                        break;
                    }
                    map.insert((*key).into(), draw.value_at(place, Vec::new()));
                }
                at += &format!("/{key}");
            }
            Step::Variant(place, name) => {
                if here.get(*name).is_none() {
                    let settings = draw.value_at(place, Vec::new());
                    *here = Value::Object(Map::from_iter([(name.to_string(), settings)]));
                }
                at += &format!("/{name}");
            }
            Step::Word(word) => *here = (*word).clone(),
            Step::Item(place) => {
                if here.as_array().is_none_or(Vec::is_empty) {
                    *here = Value::Array(vec![draw.value_at(place, Vec::new())]);
                }
                at += "/0";
            }
        }
    }
    Some(at)
}

/// The members that a document has.
pub fn of(root: &Value, document: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect(root, root, "Scenario", document, &mut found);
    found
}

fn collect(root: &Value, schema: &Value, place: &str, value: &Value, found: &mut BTreeSet<String>) {
    let here = definition(schema).unwrap_or(place);
    let schema = resolve(root, schema);
    let choice = ["oneOf", "anyOf"].iter().find_map(|key| schema.get(key)?.as_array());
    for member in choice.into_iter().flatten() {
        match settings(member).filter(|_| schema.get("oneOf").is_some()) {
            Some((name, below)) => {
                if let Some(value) = value.get(name) {
                    found.insert(variant(here, name));
                    collect(root, below, here, value, found);
                }
            }
            None if words(member).any(|word| word == value) => {
                found.insert(variant(here, value.as_str().unwrap_or("")));
            }
            None => collect(root, member, here, value, found),
        }
    }
    let map = value.as_object().into_iter().flatten();
    for (key, value) in map.filter(|(_, value)| !value.is_null()) {
        if let Some(member) = schema.get("properties").and_then(|properties| properties.get(key)) {
            let below = format!("{here}.{key}");
            collect(root, member, &below, value, found);
            found.insert(below);
        }
    }
    if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
        value.as_array().into_iter().flatten().for_each(|item| collect(root, items, here, item, found));
    }
}

#[test]
fn every_registered_member_is_a_member_of_the_schema() {
    let all = all(&super::SCHEMA);
    let lists = [
        ("Topology", flowyard_sim::topology::Topology::NAMES),
        ("Transport", flowyard_sim::transport::Transport::NAMES),
        ("Congestion", flowyard_sim::transport::tcp::congestion::Congestion::NAMES),
        ("Queue", flowyard_sim::queue::Queue::NAMES),
        ("Balancer", flowyard_sim::balancer::Balancer::NAMES),
        ("Buffer", flowyard_sim::buffer::Buffer::NAMES),
        ("Agent", flowyard_sim::agent::Agent::NAMES),
        ("Controller", flowyard_sim::controller::Controller::NAMES),
    ];
    for (list, names) in lists {
        names.iter().for_each(|name| assert!(all.contains_key(&variant(list, name)), "{list}: {name}"));
    }
    assert!(all.contains_key("Entry.deadline") && all.contains_key("Tagging.thresholds"));
}
