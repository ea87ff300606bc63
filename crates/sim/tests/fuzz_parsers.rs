//! Whatever is typed, the answer is something that can be run, or a list of problems that a person can use.
//!
//! Every parser of the engine: scenarios in TOML and JSON, overrides, quantities, files with distributions,
//! the slotted link. None panics or takes more memory than a sound scenario may; each message is short and
//! has the place; accepted input equals the reading of its resolved form.

#![allow(clippy::disallowed_methods, reason = "the ban is for the simulator: a test reads files")]

mod common;
mod fuzz;

use std::sync::LazyLock;

use common::allocator::{Watching, most};
use flowyard_sim::problem::Problems;
use flowyard_sim::scenario::{self, Format, Scenario, no_files};
use flowyard_sim::slotted;
use flowyard_sim::traffic::sizes::cdf_file::{self, Options};
use flowyard_sim::units::{Bytes, Rate, Time, parse, print};
use fuzz::{Draw, NASTY, put};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// Of all tests of this file together, which run side by side: 200,000 hosts are allowed, a slip that makes a thousand
/// times as many is not.
const BYTES_MAX: usize = 3 << 30;
/// Length of a message of 20 problems, with room to spare.
const MESSAGE_MAX: usize = 12_000;

static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&scenario::schema()).expect("a schema is JSON"));
static SLOTTED: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&slotted::schema()).expect("a schema is JSON"));
static GOLDENS: LazyLock<Vec<String>> =
    LazyLock::new(|| common::goldens().into_iter().map(|(_, text)| text).collect());

const LINKS: &[&str] = &[
    "discipline = \"peq\"\ngeneration.list = [\n  { size = 10, deadline = 23 },\n  { size = 4, deadline = 26, arrival = 3 },\n]\n",
    "discipline.d3 = {}\n[generation.random]\nservers = 9\nprobability = 0.1\n[run]\nslots = 500\n\
     [[classes]]\nsizes.uniform = { min = 1, max = 9 }\ndeadlines.exponential = { mean = 30.0 }\n",
    "discipline = \"fcfs\"\n[generation.sets]\nsets = 3\nflows = 5\n\
     [[classes]]\nweight = 2\nsizes.fixed = 4\ndeadlines.fixed = 30\n",
];

const CDFS: &[&str] = &[
    "# size percent\n1000 0\n2000 50\n10000 100\n",
    "size,probability\n100,0\n200,0.5\n300,1\n",
    "1 1 0\n10 1 0.5\n100 1 1\n",
    "1500.5\n100 0.1\n2000 0.7\n5000 1.0\n",
];

/// Something wrong, said so that a person can mend it.
fn is_helpful(problems: &Problems) -> Result<(), TestCaseError> {
    prop_assert!(!problems.0.is_empty());
    let text = problems.to_string();
    prop_assert!(text.len() < MESSAGE_MAX, "{} characters", text.len());
    prop_assert!(text.lines().count() <= 64, "{text}");
    for problem in &problems.0 {
        prop_assert!(!problem.message.is_empty(), "{:?}", problem);
        // The text as a whole has no path: then the line, or what should be there.
        let placed = !problem.path.is_empty()
            || ["line ", "a key", "a table"].iter().any(|word| problem.message.contains(word));
        prop_assert!(placed, "says not where: {problem}");
    }
    Ok(())
}

/// A scenario that was read comes back from what run.json has of it.
fn comes_back(scenario: &Scenario) -> Result<(), TestCaseError> {
    let resolved = scenario.resolved();
    let json = serde_json::to_string(&resolved).expect("a scenario is plain JSON");
    let again = scenario::read(&json, Format::Json, &[], &no_files);
    prop_assert_eq!(again.as_ref(), Ok(&resolved), "through JSON");
    Ok(())
}

fn refused_or_sound(
    text: &str,
    format: Format,
    overrides: &[(String, String)],
) -> Result<bool, TestCaseError> {
    let read = scenario::read(text, format, overrides, &no_files);
    prop_assert!(most() < BYTES_MAX, "{} bytes", most());
    match &read {
        Ok(scenario) => comes_back(scenario)?,
        Err(problems) => is_helpful(problems)?,
    }
    Ok(read.is_ok())
}

fn slotted_refused_or_sound(text: &str, format: Format) -> Result<(), TestCaseError> {
    match slotted::read(text, format, &[]) {
        Ok(config) => {
            let json = serde_json::to_string(&config).expect("a configuration is plain JSON");
            prop_assert_eq!(slotted::read(&json, Format::Json, &[]), Ok(config));
        }
        Err(problems) => is_helpful(&problems)?,
    }
    Ok(())
}

/// One change of a text of lines.
#[derive(Clone, Debug)]
enum Edit {
    Delete(Index),
    Double(Index),
    Swap(Index, Index),
    Truncate(Index),
    Value(Index, &'static str),
    Cut(Index),
    Insert(Index, String),
    Deep(Index, u16),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    prop_oneof![
        2 => at().prop_map(Edit::Delete),
        2 => at().prop_map(Edit::Double),
        1 => (at(), at()).prop_map(|(a, b)| Edit::Swap(a, b)),
        1 => at().prop_map(Edit::Truncate),
        5 => (at(), prop::sample::select(NASTY)).prop_map(|(at, value)| Edit::Value(at, value)),
        1 => at().prop_map(Edit::Cut),
        2 => (at(), "[ -~\n\u{e9}]{0,6}").prop_map(|(at, text)| Edit::Insert(at, text)),
        1 => (at(), 1u16..3000).prop_map(|(at, depth)| Edit::Deep(at, depth)),
    ]
}

/// A text with some changes.
fn edited(text: &str, edits: &[Edit]) -> String {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    for edit in edits {
        if lines.is_empty() {
            break;
        }
        let count = lines.len();
        match edit {
            Edit::Delete(at) => drop(lines.remove(at.index(count))),
            Edit::Double(at) => lines.insert(at.index(count), lines[at.index(count)].clone()),
            Edit::Swap(a, b) => lines.swap(a.index(count), b.index(count)),
            Edit::Truncate(at) => lines.truncate(at.index(count)),
            Edit::Value(at, value) => replace_value(&mut lines, *at, value),
            Edit::Cut(at) => {
                let line = &mut lines[at.index(count)];
                *line = line.chars().take(at.index(line.chars().count() + 1)).collect();
            }
            Edit::Insert(at, text) => {
                let line = &mut lines[at.index(count)];
                let place = at.index(line.chars().count() + 1);
                let place = line.char_indices().nth(place).map_or(line.len(), |(place, _)| place);
                line.insert_str(place, text);
            }
            Edit::Deep(at, depth) => {
                let depth = usize::from(*depth);
                replace_value(&mut lines, *at, &format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
            }
        }
    }
    lines.join("\n")
}

/// Puts another value behind an equals sign, if there is one in any line; TOML's inline tables have JSON's with colons.
fn replace_value(lines: &mut [String], at: Index, value: &str) {
    let places: Vec<(usize, usize)> = lines
        .iter()
        .enumerate()
        .flat_map(|(line, text)| text.match_indices("= ").map(move |(place, _)| (line, place + 2)))
        .collect();
    if places.is_empty() {
        return;
    }
    let (line, place) = places[at.index(places.len())];
    let rest = &lines[line][place..];
    let end = rest.find([',', '}']).unwrap_or(rest.len());
    let value = value.replace("\": ", "\" = ");
    lines[line] = format!("{}{value}{}", &lines[line][..place], &rest[end..]);
}

/// Each entry has its transport in the resolved scenario: settings that need the flows of another one are still no mistake.
#[test]
fn resolved_goldens_are_read_as_they_are() {
    for golden in GOLDENS.iter() {
        let resolved = resolved(golden).to_string();
        let sound = refused_or_sound(&resolved, Format::Json, &[]);
        assert!(matches!(sound, Ok(true)), "{golden}: {sound:?}");
    }
}

proptest! {
    #![proptest_config(common::budget(150))]

    #[test]
    fn any_text_is_refused(text in any::<String>(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for text in [text, String::from_utf8_lossy(&bytes).into_owned()] {
            for format in [Format::Toml, Format::Json] {
                prop_assert!(!refused_or_sound(&text, format, &[])?, "it has no topology");
                slotted_refused_or_sound(&text, format)?;
            }
            // Few texts are distributions, but some are.
            let _ = cdf_file::read(&text, Options::default());
        }
    }

    #[test]
    fn edited_scenarios_are_refused_or_sound(
        golden in any::<Index>(),
        edits in prop::collection::vec(edit(), 1..6),
    ) {
        let text = edited(golden.get::<String>(&GOLDENS), &edits);
        refused_or_sound(&text, Format::Toml, &[])?;
        refused_or_sound(&text, Format::Json, &[])?;
    }

    /// Values that the schema allows, one by one; whether they fit together is another matter.
    #[test]
    fn scenarios_changed_by_the_schema_are_refused_or_sound(
        golden in any::<Index>(),
        changes in prop::collection::vec(any::<u64>(), 1..5),
    ) {
        let mut document = resolved(golden.get::<String>(&GOLDENS));
        for seed in changes {
            Draw::new(&SCHEMA, seed).mutate(&mut document);
        }
        refused_or_sound(&document.to_string(), Format::Json, &[])?;
    }

    /// And values that it need not allow.
    #[test]
    fn scenarios_with_nasty_values_are_refused_or_sound(
        golden in any::<Index>(),
        changes in prop::collection::vec((any::<Index>(), prop::sample::select(NASTY)), 1..4),
    ) {
        let mut document = resolved(golden.get::<String>(&GOLDENS));
        for (place, value) in changes {
            let mut places = Vec::new();
            leaves(&document, String::new(), &mut places);
            if places.is_empty() {
                break;
            }
            // A number that JSON does not have is a text.
            let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
            put(&mut document, place.get::<String>(&places), value);
        }
        refused_or_sound(&document.to_string(), Format::Json, &[])?;
    }

    #[test]
    fn overrides_are_refused_or_sound(
        golden in any::<Index>(),
        overrides in prop::collection::vec((any::<Index>(), 0usize..4, prop::sample::select(NASTY)), 1..4),
        key in "[a-z.\\[\\]0-9 \"=-]{0,12}",
    ) {
        let document = resolved(golden.get::<String>(&GOLDENS));
        let mut places = Vec::new();
        leaves(&document, String::new(), &mut places);
        let key_of = |place: &String, up: usize| {
            let steps: Vec<&str> = place.split('/').skip(1).collect();
            steps[..steps.len().saturating_sub(up).max(1)].join(".")
        };
        let mut overrides: Vec<(String, String)> = overrides
            .into_iter()
            .map(|(place, up, value)| (key_of(place.get::<String>(&places), up), value.to_string()))
            .collect();
        overrides.push((key, "1".into()));
        refused_or_sound(golden.get::<String>(&GOLDENS), Format::Toml, &overrides)?;
        overrides.pop();
        refused_or_sound(golden.get::<String>(&GOLDENS), Format::Toml, &overrides)?;
    }

    #[test]
    fn quantities_come_back(text in "[-+]?[0-9.,]{0,22} ?(s|ms|us|ns|ps|B|KB|KiB|GB|bps|Gbps|Tbps|[a-z]{0,3})", base in any::<u64>()) {
        fn check<Q: flowyard_sim::units::Quantity + PartialEq + std::fmt::Debug>(
            text: &str,
            base: u64,
        ) -> Result<(), TestCaseError> {
            prop_assert_eq!(parse::<Q>(&print(Q::new(base))).map(Q::base), Ok(base));
            match parse::<Q>(text) {
                Ok(value) => prop_assert_eq!(parse::<Q>(&print(value)), Ok(value)),
                Err(why) => prop_assert!(!why.is_empty() && why.len() < 200, "{}", why),
            }
            Ok(())
        }
        check::<Time>(&text, base)?;
        check::<Bytes>(&text, base)?;
        check::<Rate>(&text, base)?;
    }

    /// A distribution read from a file is one that a scenario takes, with the mean that the file's reader promised.
    #[test]
    fn edited_distributions_are_refused_or_sound(
        file in any::<Index>(),
        edits in prop::collection::vec(edit(), 0..4),
        numbers in prop::collection::vec((any::<Index>(), prop::sample::select(NASTY)), 0..3),
        dialect in prop::option::of(prop::sample::select(vec!["percent", "fraction", "ns2", "homa", "x"])),
        packet_bytes in prop::option::of(prop_oneof![Just(0u64), 1u64..3000, any::<u64>()]),
        step in any::<Option<bool>>(),
    ) {
        let mut text = edited(file.get::<&str>(CDFS), &edits);
        for (place, number) in numbers {
            let words: Vec<&str> = text.split_inclusive([' ', '\n', ',']).collect();
            if words.is_empty() {
                break;
            }
            let at = place.index(words.len());
            text = words.iter().enumerate().map(|(i, word)| if i == at { format!("{number} ") } else { word.to_string() }).collect();
        }
        let interpolation = step.map(|step| if step { "step" } else { "linear" });
        let Ok(options) = Options::named(dialect, packet_bytes, interpolation) else { return Ok(()) };
        match cdf_file::read(&text, options) {
            Ok(file) => {
                prop_assert!(file.mean_bytes.is_finite() && file.mean_bytes >= 0.0);
                let mut document = resolved(&GOLDENS[0]);
                let points = serde_json::json!({"cdf": {"points": file.points}});
                put(&mut document, "/traffic/0/sizes", points);
                put(&mut document, "/traffic/0/flows", 3.into());
                refused_or_sound(&document.to_string(), Format::Json, &[])?;
            }
            Err(why) => prop_assert!(!why.is_empty() && why.len() < 400, "{}", why),
        }
    }

    #[test]
    fn edited_slotted_files_are_refused_or_sound(
        file in any::<Index>(),
        edits in prop::collection::vec(edit(), 1..5),
        changes in prop::collection::vec(any::<u64>(), 0..4),
    ) {
        slotted_refused_or_sound(&edited(file.get::<&str>(LINKS), &edits), Format::Toml)?;
        let config = slotted::read(file.get::<&str>(LINKS), Format::Toml, &[]).expect("a good one");
        let mut document = serde_json::to_value(config).expect("plain JSON");
        for seed in changes {
            Draw::new(&SLOTTED, seed).mutate(&mut document);
        }
        slotted_refused_or_sound(&document.to_string(), Format::Json)?;
    }
}

/// A golden scenario with every default filled in.
fn resolved(text: &str) -> Value {
    let scenario = scenario::read(text, Format::Toml, &[], &no_files).expect("a golden scenario");
    serde_json::to_value(scenario.resolved()).expect("a scenario is plain JSON")
}

/// The JSON pointers of all values below the document, of long lists the first.
fn leaves(value: &Value, pointer: String, places: &mut Vec<String>) {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => {
            items.iter().take(10).enumerate().map(|(i, item)| (i.to_string(), item)).collect()
        }
        _ => Vec::new(),
    };
    for (key, value) in below {
        let place = format!("{pointer}/{key}");
        places.push(place.clone());
        leaves(value, place, places);
    }
}

#[test]
fn the_schemas_lead_to_what_can_be_run() {
    let mut sound = 0;
    for seed in 0..200 {
        let mut document = resolved(&GOLDENS[seed as usize % GOLDENS.len()]);
        Draw::new(&SCHEMA, seed).mutate(&mut document);
        sound += u32::from(scenario::read(&document.to_string(), Format::Json, &[], &no_files).is_ok());
    }
    assert!(sound > 60, "only {sound} of 200 changed scenarios can be run: the fuzzing has no reach");
}
