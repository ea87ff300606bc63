//! No field is without effect: for each field of the schema there is a golden scenario whose results change with it, and
//! what a scenario leaves unread gets advice.
//!
//! The golden scenarios together use every member of every list. Each field is set to other values that the schema
//! allows, in the scenarios that have a place for it, until the digest of a run's tables moves. A field of which none does
//! is a failure, unless it is in a list of this file, with the reason; some need a scenario that is changed for them, which
//! `variations` names.

mod common;
mod fuzz;
mod variations;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use flowyard_sim::Checked;
use flowyard_sim::advice::Unread;
use flowyard_sim::engine::data::finished::Limit;
use flowyard_sim::scenario::{self, Format, Scenario, no_files};
use fuzz::{Draw, calm, put, resolve};
use serde_json::{Value, json};
use variations::{Choice, Variation, choices, variations};

static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&scenario::schema()).expect("a schema is JSON"));

/// Values drawn for a field in one scenario, besides those near the one that it has.
const VALUES: u64 = 4;
/// Scenarios in which a field is tried first, of those with a value for it and of those without.
const SCENARIOS: usize = 24;
/// Events of a run, and hosts, at most: a value may make a scenario larger.
const EVENTS_MAX: u64 = 400_000;
const HOSTS_MAX: u32 = 300;

/// Fields whose effect no golden scenario shows, by the reason.
const ELSEWHERE: &[(&str, &[&str])] = &[
    (
        "a name that has to stand elsewhere, too: refused where it alone is another",
        &["ExplicitSwitch.name", "TriggerItem.id"],
    ),
    (
        "how a run is checked, done or named, not what it gives",
        &[
            "Dcqcn.lossless",
            "Roce.lossless",
            "Run.advice",
            "Run.audit",
            "Run.memory_limit",
            "Run.work_limit",
            "Scenario.name",
        ],
    ),
    (
        "a file, or the form of one, which these runs have none of; tests/traffic/sizes.rs",
        &["Cdf.dialect", "Cdf.file", "Cdf.interpolation", "Cdf.packet_bytes"],
    ),
    (
        "a rule for cases that other tests make: transport/repath.rs, buffer.rs and balancing.rs of tests/network",
        &["ConWeave.path_pause", "Lossless.by_rate", "Plb.idle_rounds"],
    ),
];

/// A place in a document, with its schema.
type Place = (String, &'static Value);

/// The names of all fields with a value of their own, by the places of their schemas: "Tcp.mss".
fn names() -> BTreeMap<*const Value, String> {
    fn walk(schema: &'static Value, name: &str, found: &mut BTreeMap<*const Value, String>) {
        for (field, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let name = format!("{name}.{field}");
            if resolve(&SCHEMA, member).get("type") != Some(&json!("object")) {
                found.insert(member, name.clone());
            }
            walk(member, &name, found);
        }
        for member in ["oneOf", "anyOf"].iter().filter_map(|key| schema.get(key)?.as_array()).flatten() {
            walk(member, name, found);
        }
    }
    let mut found = BTreeMap::new();
    walk(&SCHEMA, "Scenario", &mut found);
    for (name, schema) in SCHEMA["$defs"].as_object().into_iter().flatten() {
        walk(schema, name, &mut found);
    }
    found
}

/// Digest of a run, and paths of the advice on it; nothing if the scenario is refused, or too large, or if a limit of memory
/// or work ends the run, which shows no effect but that of the limit.
fn ran(document: &Value) -> Option<(String, Vec<String>)> {
    let mut document = document.clone();
    calm(&mut document);
    let checked = Checked::read(&document.to_string(), Format::Json, &[], &no_files).ok()?;
    if checked.scenario().topology.build().hosts > HOSTS_MAX {
        return None;
    }
    let advice = checked.outlook().ok()?.advice.into_iter().map(|advice| advice.path).collect();
    let outcome = checked.simulate(&mut |progress| progress.events < EVENTS_MAX, &mut []).ok()?;
    if matches!(outcome.summary.limit, Some(Limit::Memory | Limit::Work)) {
        return None;
    }
    // Observations are in no digest.
    let observed = format!("{:?}", &outcome.observed);
    Some((format!("{} {observed}", outcome.summary.digest), advice))
}

/// The golden scenarios, with every default written out.
fn goldens() -> Vec<(String, Value)> {
    let resolved = |(name, text): (String, String)| {
        let scenario = scenario::read(&text, Format::Toml, &[], &no_files).expect("a golden scenario");
        (name, scenario.resolved().to_json())
    };
    common::goldens().into_iter().map(resolved).collect()
}

fn places(document: &Value) -> Vec<Place> {
    fuzz::places(&SCHEMA, document).into_iter().map(|(pointer, place)| (pointer, place.schema)).collect()
}

/// Other values for a place: near the one that it has, then drawn ones.
fn others(document: &Value, (pointer, schema): &Place) -> Vec<Value> {
    let near = match document.pointer(pointer) {
        Some(Value::Bool(set)) => vec![json!(!set)],
        Some(Value::Number(number)) if number.is_u64() => {
            let number = number.as_u64().unwrap_or_default();
            vec![json!(number + 1), json!(number * 2), json!(number / 2)]
        }
        Some(Value::Number(number)) => {
            let number = number.as_f64().unwrap_or_default();
            vec![json!(number * 2.0), json!(number / 2.0)]
        }
        Some(Value::String(text)) => {
            let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            let number: Option<u64> = text[..digits].parse().ok();
            let scaled = |number: u64| {
                [number * 3, number / 2].map(|other| json!(format!("{other}{}", &text[digits..])))
            };
            number.into_iter().flat_map(scaled).collect()
        }
        _ => Vec::new(),
    };
    let drawn = (0..VALUES).map(|seed| Draw::new(&SCHEMA, seed).value(schema));
    let other = |value: &Value| document.pointer(pointer).unwrap_or(&Value::Null) != value;
    near.into_iter().chain(drawn).filter(other).collect()
}

/// Whether the results of a scenario move with a field.
fn moves(document: &Value, place: &Place, before: &str) -> bool {
    others(document, place).into_iter().any(|value| {
        let mut changed = document.clone();
        put(&mut changed, &place.0, value);
        ran(&changed).is_some_and(|(digest, _)| digest != before)
    })
}

/// A golden scenario that is changed for a field, and the digest of its run.
fn changed(field: &str, golden: &str, changes: &[(&str, Value)]) -> (Value, String) {
    let found = goldens().into_iter().find(|(name, _)| name == golden);
    let (_, mut document) = found.unwrap_or_else(|| panic!("{golden}, for {field}, is no golden scenario"));
    for (pointer, value) in changes {
        let (above, _) = pointer.rsplit_once('/').expect("a place below the document");
        assert!(document.pointer(above).is_some(), "{golden}, for {field}, has no {above}");
        put(&mut document, pointer, value.clone());
    }
    let (before, _) = ran(&document).unwrap_or_else(|| panic!("{golden}, changed for {field}, does not run"));
    (document, before)
}

/// Whether the results of a golden scenario that is changed for a field move with it.
fn moves_varied((field, golden, changes): &Variation, names: &BTreeMap<*const Value, String>) -> bool {
    let (document, before) = changed(field, golden, changes);
    let is_field =
        |(_, schema): &Place| names.get(&std::ptr::from_ref(*schema)).is_some_and(|name| name == field);
    places(&document).iter().filter(|place| is_field(place)).any(|place| moves(&document, place, &before))
}

/// Whether the results of a golden scenario move where a field has the value that is chosen for it.
fn moves_chosen(
    (field, golden, changes, pointer, value): &Choice,
    names: &BTreeMap<*const Value, String>,
) -> bool {
    let (mut document, before) = changed(field, golden, changes);
    let (_, schema) = places(&document)
        .into_iter()
        .find(|(place, _)| place == pointer)
        .unwrap_or_else(|| panic!("{golden}, changed for {field}, has no {pointer}"));
    assert_eq!(names.get(&std::ptr::from_ref(schema)).map(String::as_str), Some(*field), "{pointer}");
    put(&mut document, pointer, value.clone());
    let (after, _) = ran(&document).unwrap_or_else(|| panic!("{golden} does not run with another {field}"));
    after != before
}

#[test]
fn each_field_has_an_effect() {
    let names = names();
    let goldens: Vec<(Value, String)> = goldens()
        .into_iter()
        .filter_map(|(_, document)| ran(&document).map(|(digest, _)| (document, digest)))
        .collect();
    let mut places_by: BTreeMap<&str, Vec<(usize, Place)>> = BTreeMap::new();
    for (at, (document, _)) in goldens.iter().enumerate() {
        // Written out, each entry has a transport and a balancer of its own.
        let own =
            |(pointer, _): &Place| !pointer.starts_with("/transport") && !pointer.starts_with("/routing");
        for place in places(document).into_iter().filter(own) {
            if let Some(name) = names.get(&std::ptr::from_ref(place.1)) {
                places_by.entry(name).or_default().push((at, place));
            }
        }
    }
    let variations: BTreeMap<_, _> =
        variations().into_iter().map(|variation| (variation.0, variation)).collect();
    let known: BTreeSet<_> = ELSEWHERE.iter().flat_map(|(_, fields)| *fields).copied().collect();
    let moved = |name: &str, places: &[(usize, Place)]| {
        let is_set = |(at, place): &&(usize, Place)| goldens[*at].0.pointer(&place.0).is_some();
        let (set, absent): (Vec<_>, Vec<_>) = places.iter().partition(is_set);
        let step = |places: &[&(usize, Place)]| places.len().div_ceil(SCENARIOS).max(1);
        let some = |places: &[&'_ (usize, Place)]| {
            places.iter().copied().step_by(step(places)).cloned().collect::<Vec<_>>()
        };
        let sample = some(&set).into_iter().chain(some(&absent));
        // A field that is known to show no effect is tried in a sample, any other in all before it counts as one.
        let rest = places.iter().filter(|_| !known.contains(name)).cloned();
        sample.chain(rest).any(|(at, place)| moves(&goldens[at].0, &place, &goldens[at].1))
    };
    let choices: BTreeMap<_, _> = choices().into_iter().map(|choice| (choice.0, choice)).collect();
    let has_effect = |name: &str, places: &[(usize, Place)]| match (variations.get(name), choices.get(name)) {
        (Some(variation), _) => moves_varied(variation, &names),
        (_, Some(choice)) => moves_chosen(choice, &names),
        _ => moved(name, places),
    };
    let without: BTreeSet<_> =
        places_by.iter().filter(|(name, places)| !has_effect(name, places)).map(|(name, _)| *name).collect();
    assert_eq!(without, known, "fields that change no golden scenario, and those that are known");
}

/// The members of a scenario that say which of their fields are not read, with their paths.
fn members(scenario: &Scenario) -> Vec<(String, Vec<Unread>)> {
    let mut found = Vec::new();
    for (at, entry) in scenario.traffic.iter().enumerate() {
        let transport = scenario.transport_of(entry);
        found.push((format!("/traffic/{at}/transport/{}", transport.name()), transport.unread()));
    }
    let queue = scenario.queue();
    found.push((format!("/queue/{}", queue.name()), queue.unread()));
    if let Some(agent) = scenario.agent() {
        found.push((format!("/agent/{}", agent.name()), agent.unread()));
    }
    if let Some(controller) = &scenario.controller {
        found.push((format!("/controller/{}", controller.name()), controller.unread()));
    }
    found
}

/// A field that a member leaves unread changes nothing, and advice names it: tried in the golden scenarios with each
/// switch of their members set otherwise.
#[test]
fn fields_that_are_not_read_get_advice_and_have_no_effect() {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for (golden, document) in goldens() {
        let is_switch = |value: &Value| {
            value.is_boolean()
                || value.as_str().is_some_and(|text| !text.starts_with(|c: char| c.is_ascii_digit()))
        };
        let switches = places(&document)
            .into_iter()
            .filter(|(pointer, _)| document.pointer(pointer).is_some_and(is_switch));
        let set = |(pointer, schema): Place| {
            let mut values = others(&document, &(pointer.clone(), schema));
            values.dedup();
            let document = &document;
            values.into_iter().map(move |value| {
                let mut changed = document.clone();
                put(&mut changed, &pointer, value);
                changed
            })
        };
        let all: Vec<Value> = std::iter::once(document.clone()).chain(switches.flat_map(set)).collect();
        for document in all {
            check_unread(&golden, &document, &mut seen);
        }
    }
    let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
    assert_eq!(seen, UNREAD);
}

/// Fields that some setting leaves unread.
const UNREAD: &[&str] = &[
    "d3.silent_intervals",
    "hedera.scheduler.large",
    "hedera.scheduler.probability",
    "hedera.scheduler.threshold",
    "homa.resend_interval",
    "max-min.offered",
    "mptcp.join",
    "mptcp.tcp.dsack",
    "mptcp.tcp.duplicates",
    "mptcp.tcp.ecn",
    "mptcp.tcp.ecn_retransmissions",
    "mptcp.tcp.limited_transmit",
    "mptcp.tcp.pacing_burst",
    "mptcp.tcp.rack",
    "mptcp.tcp.tail_loss_probe",
    "mptcp.tcp.undo",
    "ndp.backstop_repeats",
    "ndp.entropy_values",
    "ndp.pull_turns",
    "ndp.pull_weights",
    "ndp.repeat_order",
    "ndp.rto_max",
    "ndp.rto_min",
    "ndp.rto_spread",
    "numfabric.alpha",
    "parallel-tcp.tcp.dsack",
    "parallel-tcp.tcp.duplicates",
    "parallel-tcp.tcp.ecn",
    "parallel-tcp.tcp.ecn_retransmissions",
    "parallel-tcp.tcp.limited_transmit",
    "parallel-tcp.tcp.pacing_burst",
    "parallel-tcp.tcp.rack",
    "parallel-tcp.tcp.tail_loss_probe",
    "parallel-tcp.tcp.undo",
    "pie.mark_most",
    "repflow.slower",
    "repflow.tcp.dsack",
    "repflow.tcp.duplicates",
    "repflow.tcp.ecn_retransmissions",
    "repflow.tcp.limited_transmit",
    "repflow.tcp.pacing_burst",
    "repflow.tcp.rack",
    "repflow.tcp.tail_loss_probe",
    "repflow.tcp.undo",
    "roce.congestion.powertcp.int_multi",
    "roce.entropy_values",
    "selective-drop.mark_on",
    "selective-drop.threshold",
    "strict-priority.mark_on",
    "strict-priority.threshold",
    "tcp.delayed_ack_timeout",
    "tcp.dsack",
    "tcp.duplicates",
    "tcp.ecn",
    "tcp.ecn_retransmissions",
    "tcp.growth",
    "tcp.growth_in_repair",
    "tcp.idle_restart",
    "tcp.initial_ssthresh",
    "tcp.limited_transmit",
    "tcp.loss_halves",
    "tcp.min_ssthresh",
    "tcp.pacing",
    "tcp.pacing_burst",
    "tcp.rack",
    "tcp.repair",
    "tcp.slow_start",
    "tcp.tail_loss_probe",
    "tcp.undo",
    "tcp.window_validation",
    "trimming.trimmed_bytes",
    "uet.initial_window",
    "uet.min_window",
    "uet.network_delay",
];

/// Sets each unread field of a scenario that has not been seen.
fn check_unread(golden: &str, document: &Value, seen: &mut BTreeSet<String>) {
    let Ok(scenario) = scenario::read(&document.to_string(), Format::Json, &[], &no_files) else { return };
    for (at, fields) in members(&scenario) {
        for Unread { field, .. } in fields {
            let name = format!("{}.{field}", at.rsplit('/').next().unwrap_or_default());
            let pointer = format!("{at}/{}", field.replace('.', "/"));
            let place = places(document).into_iter().find(|(place, _)| *place == pointer);
            let (Some(place), false) = (place, seen.contains(&name)) else { continue };
            let Some((before, _)) = ran(document) else { continue };
            for value in others(document, &place) {
                let mut changed = document.clone();
                put(&mut changed, &pointer, value.clone());
                let Some((digest, advice)) = ran(&changed) else { continue };
                assert_eq!(digest, before, "{golden}: {name} = {value} is said to be unread");
                let own = |path: &String| path.ends_with(&format!(".{name}"));
                if advice.iter().any(own) {
                    seen.insert(name.clone());
                }
            }
        }
    }
}
