//! Random legal scenarios over all members, each run in all ways that must not change a result: audited and not, with
//! either implementation of ports, in two to four parts.
//!
//! `FLOWYARD_FUZZ` is the number of scenarios, `PROPTEST_RNG_SEED` their seed, and `FLOWYARD_FUZZ_FIRST` the number of the
//! first one. A scenario with a fault is reduced and written to `out/fuzz`; `FLOWYARD_FUZZ_FILE=FILE` runs that one in all
//! ways. `FLOWYARD_FUZZ_SHOW=1` prints each scenario before it runs: of one that does not end there is no other trace.
//! Each scenario has a member that is its own, in turns over all that the schema lists; a member that none had in the
//! end is an error.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the ban is for the simulator: a test has files, threads, a clock and its environment"
)]

mod common;
mod fuzz;
mod generate;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use flowyard_sim::random::mix;
use generate::judge::{self, Fault, OTHERS, Verdict, Way, judge};
use generate::members::{self, Step};
use generate::reduce::reduce;
use generate::{SCHEMA, world};
use serde_json::Value;

/// Scenarios without `FLOWYARD_FUZZ`.
const COUNT: usize = 1000;
/// Further attempts for a member that no scenario had.
const RETRIES: usize = 40;
/// So many faults are shown.
const SHOWN: usize = 20;
/// Members that no scenario of a network, its flows and a run can have here, with the reason.
const WITHOUT: &[(&str, &str)] = &[];

/// Counts over all scenarios.
#[derive(Default)]
struct Tally {
    run: usize,
    refused: usize,
    repaired: usize,
    long: usize,
    parted: usize,
    members: BTreeMap<String, usize>,
    reasons: BTreeMap<String, usize>,
    faults: Vec<(usize, Value, Fault)>,
}

fn from_environment(name: &str, usual: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text}")))
}

#[test]
fn generated_scenarios_agree_in_all_ways() {
    let count = from_environment("FLOWYARD_FUZZ", COUNT as u64) as usize;
    let seed = from_environment("PROPTEST_RNG_SEED", 7);
    let first = from_environment("FLOWYARD_FUZZ_FIRST", 0) as usize;
    judge::quiet_runs();
    judge::be_loud();
    let started = Instant::now();
    if let Ok(file) = std::env::var("FLOWYARD_FUZZ_FILE") {
        return judge_file(&file);
    }
    let tally = run_all(seed, first..first + count);
    let seconds = started.elapsed().as_secs_f64();
    report(&tally, count, seconds);
    let shown = tally.faults.iter().take(SHOWN);
    let shown: Vec<String> =
        shown.map(|(number, document, fault)| show(seed, *number, document, fault)).collect();
    assert!(shown.is_empty(), "{} scenarios with a fault:\n{}", shown.len(), shown.join("\n"));
    let missing = missing(&tally);
    assert!(count < COUNT || missing.is_empty(), "never drawn: {}", missing.join(", "));
}

/// The scenario of a file, in all ways.
fn judge_file(file: &str) {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let document = match file.ends_with(".json") {
        true => serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}")),
        false => toml::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}")),
    };
    match judge(&document, &OTHERS) {
        Verdict::Sound { .. } => println!("{file}: the same in all ways"),
        Verdict::Long => println!("{file}: too many events to compare"),
        Verdict::Refused => {
            let problems = generate::checked(&document, &[]).and_then(|checked| checked.outlook()).err();
            panic!("{file}: refused: {}", problems.expect("it was refused"))
        }
        Verdict::Wrong(fault) => panic!("{file}: {} ({:?}): {}", fault.kind, fault.way, fault.what),
    }
}

/// Scenarios of these numbers, on all processors.
fn run_all(seed: u64, numbers: std::ops::Range<usize>) -> Tally {
    let ways = members::all(&SCHEMA);
    let members: Vec<(&String, &Vec<Vec<Step>>)> = ways.iter().collect();
    let member =
        |number: usize| (&members[number % members.len()].0[..], &members[number % members.len()].1[..]);
    let (next, tally) = (AtomicUsize::new(numbers.start), Mutex::new(Tally::default()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                judge::be_loud();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= numbers.end {
                        break;
                    }
                    one(seed, number, member(number), &tally);
                    let done = number + 1 - numbers.start;
                    if done.is_multiple_of(1000) {
                        eprintln!("{done} of {} scenarios", numbers.len());
                    }
                }
            });
        }
    });
    // Those that do not fit most others get further attempts.
    for attempt in 0..RETRIES {
        let left = missing(&tally.lock().expect("no thread has panicked"));
        if numbers.len() < COUNT || left.is_empty() {
            break;
        }
        let number = |index: usize| numbers.end + attempt * members.len() + index;
        left.iter().enumerate().for_each(|(at, name)| one(seed, number(at), (name, &ways[name]), &tally));
    }
    let mut tally = tally.into_inner().expect("no thread has panicked");
    tally.faults.sort_by_key(|(number, ..)| *number);
    tally
}

/// The scenario of a number, which has that member.
fn one(seed: u64, number: usize, (name, ways): (&str, &[Vec<Step<'static>>]), tally: &Mutex<Tally>) {
    let own_seed = mix(mix(seed).wrapping_add(number as u64));
    let drawn = generate::scenario(own_seed, &ways[own_seed as usize % ways.len()]);
    let Some(document) = drawn.document else {
        let mut tally = tally.lock().expect("no thread has panicked");
        tally.refused += 1;
        let problem = drawn.refusal.expect("a problem of what was refused");
        *tally.reasons.entry(format!("{name}: {problem}")).or_default() += 1;
        return;
    };
    if std::env::var_os("FLOWYARD_FUZZ_SHOW").is_some() {
        eprintln!("number {number}: {document}");
    }
    let verdict = judge(&document, &OTHERS);
    let fault = match &verdict {
        Verdict::Wrong(fault) => Some(reduce(&document, fault)),
        _ => None,
    };
    let mut tally = tally.lock().expect("no thread has panicked");
    tally.run += 1;
    tally.repaired += usize::from(drawn.refusal.is_some());
    match verdict {
        Verdict::Sound { parted } => tally.parted += usize::from(parted > 0),
        Verdict::Long => tally.long += 1,
        Verdict::Refused => unreachable!("the generator has had it set up"),
        Verdict::Wrong(_) => {}
    }
    for member in members::of(&SCHEMA, &document) {
        *tally.members.entry(member).or_default() += 1;
    }
    tally.faults.extend(fault.map(|(smallest, fault)| (number, smallest, fault)));
}

/// Counts, and how often each member was drawn.
fn report(tally: &Tally, count: usize, seconds: f64) {
    let share = |part: usize| 100.0 * part as f64 / count as f64;
    println!(
        "{count} scenarios in {seconds:.0} s, {:.1} a second: {} run, {} refused ({:.1} %), {} changed until accepted \
         ({:.1} %), {} in several parts, {} stopped for their events, {} with a fault",
        count as f64 / seconds,
        tally.run,
        tally.refused,
        share(tally.refused),
        tally.repaired,
        share(tally.repaired),
        tally.parted,
        tally.long,
        tally.faults.len()
    );
    let mut lists: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (member, times) in &tally.members {
        if let Some((list, name)) = member.split_once(": ") {
            lists.entry(list).or_default().push(format!("{name} {times}"));
        }
    }
    lists.iter().for_each(|(list, names)| println!("  {list}: {}", names.join(", ")));
    let fields = tally.members.iter().filter(|(member, _)| !member.contains(": "));
    let rarest = fields.clone().min_by_key(|(_, times)| **times);
    println!("  {} fields, the rarest {rarest:?}", fields.count());
    let missing = missing(tally);
    println!("  never drawn: {}", if missing.is_empty() { "none".into() } else { missing.join(", ") });
    let mut reasons: Vec<_> = tally.reasons.iter().collect();
    reasons.sort_by_key(|(_, times)| std::cmp::Reverse(**times));
    reasons
        .iter()
        .take(if count > COUNT { 40 } else { 5 })
        .for_each(|(reason, times)| println!("  refused {times}: {reason}"));
}

/// Members of the schema that no scenario had.
fn missing(tally: &Tally) -> Vec<String> {
    let drawn: BTreeSet<&String> = tally.members.keys().collect();
    let without = |name: &str| WITHOUT.iter().any(|(member, _)| *member == name);
    members::all(&SCHEMA).into_keys().filter(|name| !drawn.contains(name) && !without(name)).collect()
}

/// Writes a scenario with a fault as a file, and says how to run it.
fn show(seed: u64, number: usize, document: &Value, fault: &Fault) -> String {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "out", "fuzz"].iter().collect();
    std::fs::create_dir_all(&folder).expect("a folder for what fails");
    for (name, text) in world::FILES {
        if document.to_string().contains(name) {
            std::fs::write(folder.join(name), text).expect("a file of sizes");
        }
    }
    let mut document = document.clone();
    prune(&mut document);
    let (text, end) = match toml::to_string(&document) {
        Ok(text) => (text, "toml"),
        Err(_) => (document.to_string(), "json"),
    };
    let path = folder.join(format!("run-{seed}-{number}.{end}"));
    std::fs::write(&path, &text).expect("a scenario");
    let option = match fault.way {
        Way::Plain => "--audit".into(),
        Way::Unaudited => "with and without --audit".into(),
        Way::OtherPorts => "--set run.port_mode=serviced".into(),
        Way::Parts(parts, _) => format!("--threads {parts}"),
    };
    format!(
        "number {number}, {} ({:?}): {}\nflowyard run out/fuzz/run-{seed}-{number}.{end} {option}\n{text}",
        fault.kind, fault.way, fault.what
    )
}

/// Takes nulls out, which TOML has not.
fn prune(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, below| !below.is_null());
            map.values_mut().for_each(prune);
        }
        Value::Array(items) => items.iter_mut().for_each(prune),
        _ => {}
    }
}
