//! Random small scenarios run to their end: nothing panics, the audit finds nothing, the books balance, and neither a
//! second run nor other ports inside move a result.
//!
//! They come from the golden scenarios, which together use every member of every list, with fields changed to whatever
//! the schema allows there: a new member or field is tried without a line here.

mod common;
mod fuzz;
mod generate;

use std::sync::LazyLock;

use flowyard_sim::engine::data::finished::{Limit, Status};
use flowyard_sim::engine::data::plan::Agenda;
use flowyard_sim::engine::data::progress::Progress;
use flowyard_sim::results::Outcome;
use flowyard_sim::scenario::{self, Format, Scenario, no_files};
use flowyard_sim::{simulate_on, slotted};
use fuzz::{Draw, calm, put};
use generate::judge::is_sound;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&scenario::schema()).expect("a schema is JSON"));
static SLOTTED: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&slotted::schema()).expect("a schema is JSON"));
static GOLDENS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let resolved = |(_, text): (String, String)| {
        let scenario = scenario::read(&text, Format::Toml, &[], &no_files).expect("a golden scenario");
        serde_json::to_value(scenario.resolved()).expect("a scenario is plain JSON")
    };
    common::goldens().into_iter().map(resolved).collect()
});

/// Simulated time of a run at the most.
const UNTIL: &str = "300us";
/// Events after which a run is stopped: it goes on, but has shown enough.
const EVENTS_MAX: u64 = 150_000;
/// Packet-hops, and looks of observers at ports, of a case at the most: what needs more by its estimate is left out, and
/// what comes to it ends there and is shown.
const WORK_MAX: u64 = 20_000_000;
/// Events within an instant after which time is taken to stand still.
const EVENTS_AT_ONCE: u64 = 100_000;
/// Larger networks take too long to be built again and again.
const HOSTS_MAX: u32 = 300;

/// A golden scenario with changes, as it may be run here; nothing if its parts do not fit together any more.
fn changed(golden: &Value, changes: &[u64]) -> Option<Scenario> {
    let mut document = golden.clone();
    for seed in changes {
        Draw::new(&SCHEMA, *seed).mutate(&mut document);
    }
    put(&mut document, "/run/until", UNTIL.into());
    put(&mut document, "/run/audit", true.into());
    let work = document["run"]["work_limit"].as_u64().unwrap_or(WORK_MAX).min(WORK_MAX);
    put(&mut document, "/run/work_limit", work.into());
    calm(&mut document);
    let scenario = scenario::read(&document.to_string(), Format::Json, &[], &no_files).ok()?;
    (scenario.topology.build().hosts <= HOSTS_MAX).then_some(scenario)
}

/// Outcome of a run, and whether it came to its end within the budget; nothing if it was refused.
fn run(scenario: &Scenario, agenda: Agenda) -> Option<(Outcome, bool)> {
    let (mut stopped, mut last) = (false, (0, 0));
    let mut watch = |now: &Progress| {
        if now.now.0 > last.0 {
            last = (now.now.0, now.events);
        }
        assert!(now.events - last.1 < EVENTS_AT_ONCE, "time stands still at {} ps", now.now.0);
        stopped = now.events > EVENTS_MAX;
        !stopped
    };
    let outcome = simulate_on(agenda, scenario, &mut watch, &mut []).ok()?;
    if outcome.summary.limit == Some(Limit::Work) {
        eprintln!(
            "a case came to its limit of work:\n{}",
            serde_json::to_string(scenario).expect("plain JSON")
        );
    }
    Some((outcome, !stopped))
}

/// The same tables and the same end.
fn agree(one: &Outcome, other: &Outcome, what: &str) -> Result<(), TestCaseError> {
    prop_assert_eq!(&one.summary.digest, &other.summary.digest, "{}", what);
    prop_assert_eq!(one.summary.end_ps, other.summary.end_ps, "{}", what);
    Ok(())
}

proptest! {
    #![proptest_config(common::budget(120))]

    #[test]
    fn random_scenarios_run(golden in any::<Index>(), changes in prop::collection::vec(any::<u64>(), 0..7)) {
        let Some(scenario) = changed(golden.get::<Value>(&GOLDENS), &changes) else { return Ok(()) };
        let Some((outcome, whole)) = run(&scenario, Agenda::Calendar) else { return Ok(()) };
        is_sound(&outcome).map_err(TestCaseError::fail)?;
        prop_assert!(whole || outcome.summary.status == Status::Interrupted);
        if whole {
            agree(&outcome, &run(&scenario, Agenda::Heap).expect("it was not refused").0, "another calendar")?;
            let mut serviced = scenario.clone();
            serviced.run.port_mode = match scenario.run.port_mode {
                scenario::PortMode::Auto => scenario::PortMode::Serviced,
                scenario::PortMode::Serviced => scenario::PortMode::Auto,
            };
            let (other, ended) = run(&serviced, Agenda::Calendar).expect("it was not refused");
            // These limits are looked at after a number of events, which differs between the modes.
            let by_count = matches!(outcome.summary.limit, Some(Limit::Memory | Limit::Work));
            if ended && !by_count {
                agree(&outcome, &other, "other ports")?;
            }
        }
    }

    #[test]
    fn random_slotted_links_run(changes in prop::collection::vec(any::<u64>(), 0..7), listed in any::<bool>()) {
        let text = if listed {
            "discipline = \"peq\"\ngeneration.list = [{ size = 10, deadline = 23 }, { size = 4, deadline = 26, arrival = 3 }]"
        } else {
            "discipline = \"d3\"\n[generation.random]\nservers = 9\nprobability = 0.1\n[run]\nslots = 500\n\
             [[classes]]\nsizes.uniform = { min = 1, max = 9 }\ndeadlines.exponential = { mean = 30.0 }\n"
        };
        let config = slotted::read(text, Format::Toml, &[]).expect("a good one");
        let mut document = serde_json::to_value(config).expect("plain JSON");
        for seed in changes {
            Draw::new(&SLOTTED, seed).mutate(&mut document);
        }
        let Ok(config) = slotted::read(&document.to_string(), Format::Json, &[]) else { return Ok(()) };
        let run = || {
            let mut looks = 0;
            let outcome = slotted::run(&config, &mut |_| {
                looks += 1;
                looks < 5
            });
            (outcome, looks < 5)
        };
        let (outcome, whole) = run();
        for record in &outcome.flows {
            prop_assert!(record.ended.is_none_or(|ended| ended >= record.flow.arrival));
            prop_assert!(!record.done || record.flow.left <= 1e-6);
        }
        if whole {
            prop_assert_eq!(outcome, run().0);
        }
    }
}

#[test]
fn most_of_what_is_made_is_run() {
    let made = (0..200)
        .filter(|seed| changed(&GOLDENS[*seed as usize % GOLDENS.len()], &[*seed, seed + 1000]).is_some());
    let count = made.count();
    assert!(count > 50, "only {count} of 200: the fuzzing has no reach");
}
