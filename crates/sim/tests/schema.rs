//! The committed JSON Schema is the one that the structs give.

use flowyard_sim::scenario::schema;

#[test]
fn the_committed_schema_is_current() {
    let committed = include_str!("../../../schema/scenario.schema.json");
    assert!(committed == schema(), "schema/scenario.schema.json is stale: run `make generate`");
}

#[test]
fn its_first_line_says_where_it_comes_from() {
    let schema = schema();
    assert!(schema.starts_with("{\n  \"$comment\": \"Generated from"));
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(schema["title"], "Scenario");
}

#[test]
fn bare_names_stand_beside_their_tables() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    let names: Vec<_> = schema["$defs"]["Transport"]["oneOf"].as_array().unwrap().iter().collect();
    assert_eq!(names.last().unwrap()["enum"], serde_json::json!(["datagram", "tcp", "ndp"]));
    // A limit is a number with a meaning: its name alone says nothing.
    let limits = schema["$defs"]["Limit"]["oneOf"].as_array().unwrap();
    assert!(limits.iter().all(|limit| limit.get("enum").is_none()));
}
