//! The committed JSON Schema is the one that the structs give.

use flowyard_sim::balancer::Balancer;
use flowyard_sim::queue::Queue;
use flowyard_sim::scenario::schema;
use flowyard_sim::topology::Topology;
use flowyard_sim::traffic::{arrivals::Arrivals, matrix::Matrix, sizes::Sizes};
use flowyard_sim::transport::{Transport, tcp::congestion::Congestion};
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
