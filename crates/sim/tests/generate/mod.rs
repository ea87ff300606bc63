//! Legal scenarios at random, over all that the schema lists.
//!
//! A document is drawn by the schema, a member that is to be in it is put in, and then the engine's own problems say what
//! does not fit: what they name is drawn anew or left out, until the engine accepts the scenario. Rules between members
//! are therefore nowhere written a second time.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::disallowed_methods, reason = "the ban is for the simulator: a test has threads and files")]

pub mod judge;
pub mod members;
pub mod reduce;
pub mod stubs;
pub mod world;

use std::sync::LazyLock;

use flowyard_sim::Checked;
use flowyard_sim::problem::{Problem, Problems};
use flowyard_sim::scenario::{self, Format};
use serde_json::{Value, json};

use crate::fuzz::{Draw, Place, places, put};
use members::Step;
use world::{ENTRIES, FILES, World};

/// The schema of scenarios.
pub static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&scenario::schema()).expect("a schema is JSON"));

/// Packet-hops of a run at the most.
pub const WORK_MAX: u64 = 30_000;
/// Hosts and links of a network at the most.
const HOSTS_MAX: u32 = 40;
const LINKS_MAX: usize = 400;
/// Attempts to make a document legal, and other networks that are tried then.
const REPAIRS: u32 = 60;
const NETWORKS: u64 = 4;

/// A scenario, and how often the engine refused it before.
pub struct Drawn {
    /// The document; none if it did not become legal.
    pub document: Option<Value>,
    /// The problem of the last refusal, if there was one.
    pub refusal: Option<Problem>,
}

/// Reads a document as a run would, with the file and the prototypes that it may name; or returns its problems.
pub fn checked(document: &Value, overrides: &[(String, String)]) -> Result<Checked<'static>, Problems> {
    let file = |name: &str| {
        let found = FILES.iter().find(|(other, _)| *other == name);
        found.map(|(_, text)| text.to_string()).ok_or_else(|| "there is no such file".to_string())
    };
    let text = document.to_string();
    Checked::read_with(&text, Format::Json, overrides, &file, stubs::prototypes(), &|_| true)
}

/// An override that saves the half of the time in which advice is computed.
pub fn without_advice() -> (String, String) {
    ("run.advice".into(), "false".into())
}

/// The problems of a document, up to those that are found when a run is set up; none if the simulator panics at it: its run
/// will, too, which is a fault.
fn problems(document: &Value) -> Option<Problems> {
    let outlook = || checked(document, &[without_advice()]).and_then(|checked| checked.outlook());
    judge::caught(outlook).ok()?.err()
}

/// A scenario from a seed that has the member to which the way leads.
pub fn scenario(seed: u64, way: &[Step<'static>]) -> Drawn {
    let mut last = None;
    // Some members are for some networks alone.
    for network in 0..NETWORKS {
        let (topology, world) = network_for(seed.wrapping_add(network << 50), way);
        let mut draw = Draw::with_taste(&SCHEMA, seed.wrapping_add(network << 50), &world);
        let (mut document, pin) = draft(topology, way, &mut draw);
        for _ in 0..REPAIRS {
            let Some(Problems(found)) = problems(&document) else {
                return Drawn { document: Some(document), refusal: last };
            };
            let problem = draw.one_of(&found).clone();
            repair(&mut document, &problem, &pin, &mut draw);
            last = Some(problem);
        }
    }
    Drawn { document: None, refusal: last }
}

/// A document with the way's member, and the place of it; the engine has not seen it yet.
fn draft(topology: Value, way: &[Step<'static>], draw: &mut Draw) -> (Value, Pin) {
    let mut document = draw.value(&SCHEMA);
    document["topology"] = topology;
    // Entries refer to others.
    let in_entry = way.first().is_some_and(|step| matches!(step, Step::Field(_, "traffic")));
    let entries = if in_entry { ENTRIES.len() } else { 1 + draw.below(ENTRIES.len()) };
    let traffic = document["traffic"].as_array_mut().expect("traffic is a list");
    while traffic.len() < entries {
        traffic.push(draw.value(&SCHEMA["$defs"]["Entry"]));
    }
    traffic.truncate(entries);
    let pin = Pin::of(way, members::graft(&mut document, way, draw).unwrap_or_default());
    bound(&mut document, draw);
    (document, pin)
}

/// The place of the member that a scenario is to have.
struct Pin {
    pointer: String,
    /// Whether its value may be another one: the member is a field.
    free: bool,
}

impl Pin {
    fn of(way: &[Step], pointer: String) -> Pin {
        Pin { pointer, free: matches!(way.last(), Some(Step::Field(..))) }
    }

    /// Whether a new value there would take the member away.
    fn is_within(&self, at: &str) -> bool {
        let rest = self.pointer.strip_prefix(at);
        rest.is_some_and(|rest| rest.starts_with('/') || rest.is_empty() && !self.free)
    }

    /// Whether a place is in the table of the member.
    fn is_beside(&self, at: &str) -> bool {
        at.rsplit_once('/').map(|(table, _)| table) == self.pointer.rsplit_once('/').map(|(table, _)| table)
    }
}

/// A small network, with the way's member if it leads there.
fn network_for(seed: u64, way: &[Step<'static>]) -> (Value, World) {
    let world = World::default();
    let own = way.first().is_some_and(|step| matches!(step, Step::Field(_, "topology")));
    for attempt in 0.. {
        let mut draw = Draw::with_taste(&SCHEMA, seed.wrapping_add(attempt << 40), &world);
        let mut document = json!({ "topology": draw.value(&SCHEMA["$defs"]["Topology"]) });
        if own && members::graft(&mut document, way, &mut draw).is_none() {
            continue;
        }
        let read = scenario::read_network(&document.to_string(), Format::Json, &[], &|_| true);
        if let Ok((_, fabric)) = read
            && fabric.hosts <= HOSTS_MAX
            && fabric.links.len() <= LINKS_MAX
        {
            return (document["topology"].take(), World::of(&fabric));
        }
        assert!(attempt < 2000, "no small network for {document}");
    }
    unreachable!("attempts have no end")
}

/// Few entries with a name each, and an early end.
fn bound(document: &mut Value, draw: &mut Draw) {
    let traffic = document["traffic"].as_array_mut().expect("traffic is a list");
    traffic.truncate(ENTRIES.len());
    for (entry, name) in traffic.iter_mut().zip(ENTRIES) {
        entry["name"] = name.into();
    }
    if document["run"].is_null() {
        document["run"] = json!({});
    }
    let run = &mut document["run"];
    run["work_limit"] = WORK_MAX.into();
    run["audit"] = true.into();
    if run["until"].is_null() {
        run["until"] = (*draw.one_of(&["30us", "150us", "600us", "2ms", "9ms"])).into();
    }
}

/// Draws something anew, or leaves it out, of which a problem says that it does not fit; the pinned member stays.
fn repair(document: &mut Value, problem: &Problem, pin: &Pin, draw: &mut Draw) {
    let all: Vec<(String, Place)> = places(&SCHEMA, document);
    let find = |at: &str| all.iter().find(|(place, _)| place == at);
    let mut at = pointer(document, &problem.path);
    // The value itself mostly, now and then what it stands in.
    while draw.below(4) == 0 || (find(&at).is_none() && !at.is_empty()) {
        at.truncate(at.rfind('/').unwrap_or(0));
    }
    let words = words(problem);
    let fits = |at: &str| !pin.is_within(at) && at != "/topology" && !at.starts_with("/topology/");
    let place = find(&at).filter(|(at, _)| fits(at)).unwrap_or_else(|| {
        // The member itself does not fit the rest: another field of its table, or a part elsewhere.
        let beside: Vec<_> = all.iter().filter(|(at, _)| fits(at) && pin.is_beside(at)).collect();
        let parts: Vec<_> = all.iter().filter(|(at, _)| fits(at) && movable(at)).collect();
        let named = |at: &str| words.iter().any(|word| at.ends_with(&format!("/{}", part_of(word))));
        let named: Vec<_> = parts.iter().filter(|(at, _)| named(at)).copied().collect();
        let drawn = draw.below(3);
        let lists = [&beside, &named].into_iter().filter(|list| !list.is_empty());
        *draw.one_of(lists.chain([&parts; 3]).nth(drawn).expect("three lists"))
    });
    let (at, place) = place;
    let absent = document.pointer(at).is_none_or(Value::is_null);
    let value = match place.optional && !absent && *at != pin.pointer && draw.below(2) == 0 {
        true => Value::Null,
        false => draw.value_at(place, words),
    };
    put(document, at, value);
    bound(document, draw);
}

/// Whether a place is drawn anew for problems elsewhere: the scenario's parts, but the network, and those of entries.
fn movable(at: &str) -> bool {
    let steps: Vec<&str> = at.split('/').skip(1).collect();
    match steps[..] {
        [part] => !["topology", "traffic", "name", "run"].contains(&part),
        ["traffic", _, part] => part != "name",
        ["run", "measure" | "until" | "ties"] => true,
        _ => false,
    }
}

/// The part of a scenario or of an entry that a word names.
fn part_of(word: &str) -> &str {
    match word {
        "balancer" => "routing",
        "packet-hops" => "sizes",
        _ => word,
    }
}

/// The names in a problem's text, of which one is probably what fits.
fn words(problem: &Problem) -> Vec<String> {
    let text = format!("{} {}", problem.message, problem.hint.as_deref().unwrap_or(""));
    let parts = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    parts.filter(|part| part.len() > 1).map(str::to_string).collect()
}

/// The JSON pointer to a problem's place: entries go by their names.
fn pointer(document: &Value, path: &str) -> String {
    let mut pointer = String::new();
    for step in path.split('.').filter(|step| !step.is_empty()) {
        let here = document.pointer(&pointer).and_then(Value::as_array);
        let named = here.and_then(|items| items.iter().position(|item| item["name"] == *step));
        pointer += &named.map_or(format!("/{step}"), |index| format!("/{index}"));
    }
    pointer
}
