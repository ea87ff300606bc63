//! A scenario run in all ways that must not change its results, and their differences.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use flowyard_sim::Checked;
use flowyard_sim::engine::data::finished::Limit;
use flowyard_sim::engine::data::plan::Agenda;
use flowyard_sim::engine::data::progress::Progress;
use flowyard_sim::engine::parted::executor::{Executor, InTurn};
use flowyard_sim::records::{Table, Values};
use flowyard_sim::results::{Outcome, Partition};
use flowyard_sim::scenario::TimeUnit;
use flowyard_sim::threads::Threads;
use flowyard_sim::traffic::window::Rule;
use serde_json::{Value, json};

use super::{checked, without_advice};
use crate::common::{Run, words};

/// Events after which a run is stopped: timers may go on where packets do not, which no limit counts.
const EVENTS_MAX: u64 = 400_000;
/// Flows after which a run is stopped: at a load, flows of a byte are hundreds of thousands within few events.
const FLOWS_MAX: u64 = 20_000;

thread_local! {
    /// Whether panics of this thread are printed: those of runs are faults that are reported, in their own threads too.
    static LOUD: Cell<bool> = const { Cell::new(false) };
}

/// Leaves panics of runs to the report.
pub fn quiet_runs() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if LOUD.get() {
            usual(panic);
        }
    }));
}

/// Prints panics of this thread, but in runs.
pub fn be_loud() {
    LOUD.set(true);
}

/// A way to run a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// On one thread, audited: what others are compared with.
    Plain,
    /// Without an audit.
    Unaudited,
    /// The other implementation of ports.
    OtherPorts,
    /// In so many parts, on so many threads.
    Parts(u32, u32),
}

/// All ways but the first.
pub const OTHERS: [Way; 5] =
    [Way::Unaudited, Way::OtherPorts, Way::Parts(2, 2), Way::Parts(3, 1), Way::Parts(4, 1)];

/// Something that must not be.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The way in which it shows.
    pub way: Way,
    /// Its kind: two faults of one kind and way are taken for the same.
    pub kind: &'static str,
    /// The fault in a line.
    pub what: String,
}

/// The results of a scenario's runs.
pub enum Verdict {
    /// It is refused when it is set up.
    Refused,
    /// The same in all ways, and sound; in so many it had several parts.
    Sound {
        /// Ways in which it had several parts.
        parted: u32,
    },
    /// It took too many events: it is only known to be sound until then.
    Long,
    /// Something is wrong.
    Wrong(Fault),
}

/// Runs a document in the ways, and compares.
pub fn judge(document: &Value, ways: &[Way]) -> Verdict {
    let fault = |way, kind, what| Verdict::Wrong(Fault { way, kind, what });
    let plain = match run(document, Way::Plain) {
        Ok(None) => return Verdict::Refused,
        Ok(Some(plain)) => plain,
        Err(panic) => return fault(Way::Plain, "panic", panic),
    };
    if let Err(what) = is_sound(&plain.0) {
        return fault(Way::Plain, "unsound", what);
    }
    if plain.1 {
        return Verdict::Long;
    }
    let mut parted = 0;
    for way in ways.iter().copied() {
        match run(document, way) {
            Ok(None) => return fault(way, "refused", "refused in this way only".into()),
            // Ways with more events may come to the end of the budget.
            Ok(Some((_, true))) => return Verdict::Long,
            Ok(Some((other, false))) => {
                if let Some(first) = other.violations.first() {
                    return fault(way, "unsound", first.clone());
                }
                parted += u32::from(matches!(other.summary.partition, Some(Partition::Parts(_))));
                if let Some(what) = difference(&plain.0, &other, way) {
                    return fault(way, "differs", what);
                }
            }
            Err(panic) => return fault(way, "panic", panic),
        }
    }
    Verdict::Sound { parted }
}

/// Outcome of a run and whether its events were too many; nothing if it was refused, and the message of a panic.
fn run(document: &Value, way: Way) -> Result<Option<(Outcome, bool)>, String> {
    let mut overrides = vec![("run.audit".to_string(), (way != Way::Unaudited).to_string())];
    overrides.extend((way != Way::Plain).then(without_advice));
    if way == Way::OtherPorts {
        let serviced = document.pointer("/run/port_mode") == Some(&json!("serviced"));
        let other = if serviced { "auto" } else { "serviced" };
        overrides.push(("run.port_mode".into(), json!(other).to_string()));
    }
    let run = || checked(document, &overrides).ok().and_then(|checked| in_way(&checked, way));
    caught(run)
}

/// Result of a call, or the words of its panic, which is not printed.
pub fn caught<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    LOUD.set(false);
    let ended = catch_unwind(AssertUnwindSafe(call));
    LOUD.set(true);
    ended.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| Some(panic.downcast_ref::<&str>()?.to_string()));
        text.unwrap_or_else(|| "a panic without a text".into())
    })
}

fn in_way(checked: &Checked, way: Way) -> Option<(Outcome, bool)> {
    let mut long = false;
    let mut watch = |now: &Progress| {
        long = now.events > EVENTS_MAX || now.flows > FLOWS_MAX;
        !long
    };
    let (parts, executor): (u32, Box<dyn Executor>) = match way {
        Way::Parts(parts, 1) => (parts, Box::new(InTurn)),
        Way::Parts(parts, threads) => (parts, Box::new(Threads(threads as usize))),
        _ => (1, Box::new(InTurn)),
    };
    let outcome = checked.simulate_in(parts, &*executor, Agenda::Calendar, &mut watch, &mut []).ok()?;
    Some((outcome, long))
}

/// The first difference between two runs.
fn difference(plain: &Outcome, other: &Outcome, way: Way) -> Option<String> {
    let end = |outcome: &Outcome| {
        let summary = &outcome.summary;
        json!([summary.status, summary.limit, summary.end_ps, summary.deadlock])
    };
    // These limits are looked at after a number of events, which differs between implementations of ports.
    let by_count = matches!(plain.summary.limit, Some(Limit::Memory | Limit::Work));
    if way == Way::OtherPorts && by_count {
        return None;
    }
    let mut pairs = vec![("end", end(plain), end(other))];
    let counters = |outcome: &Outcome| {
        let mut counters = serde_json::to_value(&outcome.summary.counters).expect("plain numbers");
        if way == Way::OtherPorts {
            counters["events"] = Value::Null;
        }
        counters
    };
    pairs.push(("counters", counters(plain), counters(other)));
    let rest = |outcome: &Outcome| {
        let summary = &outcome.summary;
        json!([summary.traffic, summary.measured, summary.observed, summary.faults, summary.derived])
    };
    pairs.push(("summary", rest(plain), rest(other)));
    let none = None;
    let tables = [
        ("flows", Some(&plain.flows), Some(&other.flows)),
        ("links", Some(&plain.links), Some(&other.links)),
        ("connections", plain.connections.as_ref(), other.connections.as_ref()),
        ("samples", plain.observed.samples.as_ref(), other.observed.samples.as_ref()),
        ("histograms", plain.observed.histograms.as_ref(), other.observed.histograms.as_ref()),
        ("events", plain.observed.events.as_ref(), other.observed.events.as_ref()),
    ];
    let in_tables = tables.into_iter().find(|(_, one, other)| one != other);
    let in_values = pairs.into_iter().find(|(_, one, other)| one != other);
    in_tables
        .map(|(name, one, other)| format!("{name}: {}", columns(one, other)))
        .or_else(|| in_values.map(|(name, one, other)| format!("{name}: {}", unequal(&one, &other))))
        .or_else(|| (plain.observed.cables != other.observed.cables).then(|| "captured packets".to_string()))
        .or_else(|| (plain.summary.digest != other.summary.digest).then(|| "digest".to_string()))
        .or(none)
}

/// The columns that differ, and the first row.
fn columns(one: Option<&Table>, other: Option<&Table>) -> String {
    let (Some(one), Some(other)) = (one, other) else { return "one of them is missing".into() };
    let unequal: Vec<&str> = one
        .columns
        .iter()
        .zip(&other.columns)
        .filter(|(one, other)| one != other)
        .map(|(one, _)| one.definition.name)
        .collect();
    format!("{} ({} and {} rows)", unequal.join(", "), one.rows(), other.rows())
}

/// The first values that differ.
fn unequal(one: &Value, other: &Value) -> String {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            a.iter().find(|(key, value)| b.get(*key) != Some(*value)).map_or("keys".into(), |(key, value)| {
                format!("{key}: {}", unequal(value, b.get(key).unwrap_or(&Value::Null)))
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let (at, (one, other)) =
                a.iter().zip(b).enumerate().find(|(_, (one, other))| one != other).expect("they differ");
            format!("{at}: {}", unequal(one, other))
        }
        _ => format!("{one} and {other}"),
    }
}

/// Invariants of every run.
pub fn is_sound(outcome: &Outcome) -> Result<(), String> {
    let holds = |holds: bool, what: String| if holds { Ok(()) } else { Err(what) };
    holds(outcome.violations.is_empty(), outcome.violations.join("; "))?;
    let run = Run(outcome.clone());
    let (sizes, delivered) = (run.flow_cells("size_bytes"), run.flows("delivered_bytes"));
    let (completed, fct) = (run.flows("completed"), run.flow_cells("fct_ps"));
    let waits = Waits::of(&run);
    for row in 0..delivered.len() {
        match sizes[row] {
            Some(size) => {
                holds(delivered[row] <= size, format!("flow {row} got {} of {size} bytes", delivered[row]))?;
                let arrived = delivered[row] == size;
                let fits = completed[row] == u64::from(arrived) || arrived && waits.for_another(row);
                holds(fits, format!("flow {row} has all bytes and is not complete, or the reverse"))?;
            }
            None => holds(completed[row] == 0, format!("flow {row} has no end and is complete"))?,
        }
        holds((completed[row] == 1) == fct[row].is_some(), format!("flow {row} has no completion time"))?;
    }
    let sum = |values: Vec<u64>| values.into_iter().sum::<u64>();
    let of_links = [sum(run.links("drops")), sum(run.links("trims"))];
    let of_run = [run.counters().drops, run.counters().trims];
    // Those of links are of the measuring window.
    let fits = match outcome.summary.measured.rule {
        Rule::All => of_links == of_run,
        _ => of_links[0] <= of_run[0] && of_links[1] <= of_run[1],
    };
    holds(fits, format!("drops and trims of links {of_links:?}, of the run {of_run:?}"))?;
    let utilisation = &outcome.links.column("utilisation").expect("a column").values;
    let Values::F64(utilisation) = utilisation else { panic!("a fraction") };
    let over = utilisation.iter().position(|used| *used > 1.0 + 1e-9);
    // Times that are cut off to nanoseconds are shorter than the rate allows.
    let is_cut = outcome.summary.scenario.run.time_unit != TimeUnit::Picosecond;
    holds(over.is_none() || is_cut, format!("the utilisation of link {over:?} is above 1"))
}

/// Messages of a kept connection complete in order: one that is there may wait for one before it.
struct Waits {
    keys: Vec<(String, u64, u64)>,
    starts: Vec<Option<u64>>,
    open: Vec<bool>,
}

impl Waits {
    fn of(run: &Run) -> Waits {
        let (tags, src, dst) = (words(&run.0.flows, "tag"), run.flows("src"), run.flows("dst"));
        let keys = tags.into_iter().zip(src).zip(dst).map(|((tag, src), dst)| (tag, src, dst)).collect();
        let sizes = run.flow_cells("size_bytes").into_iter().zip(run.flows("delivered_bytes"));
        let open = sizes.map(|(size, delivered)| size > Some(delivered)).collect();
        Waits { keys, starts: run.flow_cells("start_ps"), open }
    }

    fn for_another(&self, row: usize) -> bool {
        let before =
            |other: &usize| self.keys[row] == self.keys[*other] && self.starts[*other] <= self.starts[row];
        (0..self.keys.len()).filter(before).any(|other| self.open[other])
    }
}

#[test]
fn other_results_are_a_difference() {
    let run = |seed: u64| {
        let document = json!({
            "topology": "single-switch",
            "transport": "tcp",
            "traffic": [{ "name": "a", "arrivals": "at-once", "matrix": "uniform", "flows": 3, "sizes": "bimodal" }],
            "run": { "seed": seed, "until": "1ms" },
        });
        run(&document, Way::Plain).expect("no panic").expect("a legal scenario").0
    };
    assert_eq!(difference(&run(1), &run(1), Way::Unaudited), None);
    let difference = difference(&run(1), &run(2), Way::Unaudited).expect("other flows");
    assert!(difference.starts_with("flows: "), "{difference}");
}
