//! The committed JSON Schema is the one that the structs give.

use flowyard_sim::balancer::Balancer;
use flowyard_sim::queue::Queue;
use flowyard_sim::scenario::schema;
use flowyard_sim::topology::Topology;
use flowyard_sim::traffic::{arrivals::Arrivals, matrix::Matrix, sizes::Sizes};
use flowyard_sim::transport::{Transport, tcp::congestion::Congestion};
use flowyard_sim::units::{Bytes, Rate, Time};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

#[test]
fn the_committed_schema_is_current() {
    let committed = include_str!("../../../../schema/scenario.schema.json");
    assert!(committed == schema(), "schema/scenario.schema.json is stale: run `make generate`");
}

#[test]
fn its_first_line_says_where_it_comes_from() {
    let schema = schema();
    assert!(schema.starts_with("{\n  \"$comment\": \"Generated from"));
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(schema["title"], "Scenario");
}

/// The members that can be read from their name and nothing below it.
fn need_nothing<T: DeserializeOwned>(names: &[&'static str]) -> Vec<&'static str> {
    let fits = |name: &&str| T::deserialize(&json!({ *name: {} })).is_ok();
    names.iter().copied().filter(fits).collect()
}

#[test]
fn bare_names_stand_beside_their_tables() {
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    let lists = [
        ("Topology", need_nothing::<Topology>(Topology::NAMES)),
        ("Queue", need_nothing::<Queue>(Queue::NAMES)),
        ("Transport", need_nothing::<Transport>(Transport::NAMES)),
        ("Congestion", need_nothing::<Congestion>(Congestion::NAMES)),
        ("Balancer", need_nothing::<Balancer>(Balancer::NAMES)),
        ("Matrix", need_nothing::<Matrix>(Matrix::NAMES)),
        ("Arrivals", need_nothing::<Arrivals>(Arrivals::NAMES)),
        ("Sizes", need_nothing::<Sizes>(Sizes::NAMES)),
    ];
    for (list, bare) in lists {
        assert!(!bare.is_empty(), "no {list} can do without settings");
        let variants = schema["$defs"][list]["oneOf"].as_array().unwrap();
        assert_eq!(variants.last().unwrap()["enum"], json!(bare), "{list}");
    }
    // A limit is a number with a meaning: its name alone says nothing.
    let limits = schema["$defs"]["Limit"]["oneOf"].as_array().unwrap();
    assert!(limits.iter().all(|limit| limit.get("enum").is_none()));
}

/// Fields whose descriptions name the value of another simulator, beside a default of their own.
const OTHERS: [&str; 4] =
    ["Homa/least_frame", "Homa/scheduled_header", "Homa/unscheduled_header", "Trimming/headers_per_data"];

/// A number, of packets or of nothing, or a quantity with its unit, in base units.
fn amount(text: &str) -> Option<f64> {
    let text: String = text.split_whitespace().collect::<String>().replace(',', "");
    let number = text.strip_suffix("packets").unwrap_or(&text).parse().ok();
    let time = || text.parse::<Time>().ok().map(|time| time.0 as f64);
    let bytes = || text.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64);
    let rate = || text.parse::<Rate>().ok().map(|rate| rate.0 as f64);
    number.or_else(time).or_else(bytes).or_else(rate)
}

/// The first value that stands in brackets, alone or behind the name of its source, as in "(paper: 5 s)".
fn named(description: &str) -> Option<f64> {
    let inner = description.split('(').skip(1).filter_map(|rest| rest.split_once(')'));
    inner.map(|(inner, _)| inner.split_once(": ").map_or(inner, |(_, value)| value)).find_map(amount)
}

/// A description that names a field's value, and its source, names the default.
#[test]
fn defaults_are_the_values_that_descriptions_name() {
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    let (mut compared, mut wrong) = (0, Vec::new());
    for (member, definition) in schema["$defs"].as_object().unwrap() {
        for (field, settings) in definition["properties"].as_object().into_iter().flatten() {
            let given = match &settings["default"] {
                Value::Number(number) => number.as_f64(),
                Value::String(text) => amount(text),
                limit => limit["packets"].as_f64(),
            };
            let described = settings["description"].as_str().and_then(named);
            let (Some(given), Some(described)) = (given, described) else { continue };
            compared += 1;
            if given != described {
                wrong.push(format!("{member}/{field}"));
            }
        }
    }
    wrong.sort();
    assert_eq!(wrong, OTHERS);
    assert!(compared > 50, "{compared} descriptions name a value");
}
