//! The JSON Schema of scenarios, and how to find one's way in it.
//!
//! It is generated from the structs. One thing is added: where a variant can do without settings, its
//! bare name is allowed as well, so that `transport = "ndp"` means `[transport.ndp]`.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde_json::{Value, json};

use super::Scenario;

/// The schema in use.
pub(super) static SCHEMA: LazyLock<Value> = LazyLock::new(of::<Scenario>);

/// The schema of a document of another kind.
pub fn of<T: JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(T).to_value();
    let plain = schema.clone();
    allow_bare_names(&plain, &mut schema);
    bounds_to_values(&mut schema);
    schema
}

/// The JSON Schema of scenarios as text, for editors and for the generators of Python classes and reference pages.
pub fn schema() -> String {
    text(&SCHEMA)
}

/// A schema as text.
pub fn text(schema: &Value) -> String {
    // Through schemars once more, because it puts the keywords into the order in which people read them.
    let schema = schemars::Schema::try_from(schema.clone()).expect("a schema is an object");
    let text = serde_json::to_string_pretty(&schema).expect("keys are strings");
    let comment = "Generated from the structs in crates/sim/src by `make generate`; do not edit.";
    text.replacen('{', &format!("{{\n  \"$comment\": \"{comment}\","), 1) + "\n"
}

/// Adds, to each choice by name, the bare names of the variants that need no settings.
fn allow_bare_names(root: &Value, schema: &mut Value) {
    let names: Vec<String> = choice(schema).map_or(Vec::new(), |choice| {
        let bare = |(name, member): &(&str, &Value)| needs_nothing(root, member).then(|| name.to_string());
        choice.tables.iter().filter_map(bare).collect()
    });
    if let (false, Some(Value::Array(members))) = (names.is_empty(), schema.get_mut("oneOf")) {
        members.push(json!({
            "description": "The name alone: all settings at their defaults.",
            "type": "string",
            "enum": names,
        }));
    }
    match schema {
        Value::Object(map) => map.values_mut().for_each(|child| allow_bare_names(root, child)),
        Value::Array(items) => items.iter_mut().for_each(|child| allow_bare_names(root, child)),
        _ => (),
    }
}

/// The bounds of a field's value, if the field also takes a word, move from beside the choice to the value.
fn bounds_to_values(schema: &mut Value) {
    const BOUNDS: [&str; 4] = ["minimum", "maximum", "x-minimum", "x-maximum"];
    match schema {
        Value::Object(map) => {
            if map.contains_key("anyOf") {
                let bounds: Vec<_> =
                    BOUNDS.iter().filter_map(|key| Some((*key, map.remove(*key)?))).collect();
                for (key, bound) in bounds {
                    map["anyOf"][0][key] = bound;
                }
            }
            map.values_mut().for_each(bounds_to_values);
        }
        Value::Array(items) => items.iter_mut().for_each(bounds_to_values),
        _ => (),
    }
}

/// Whether `{}` is all that a value needs to be.
fn needs_nothing(root: &Value, schema: &Value) -> bool {
    let schema = resolve(root, schema);
    let no_key = schema.get("required").and_then(Value::as_array).is_none_or(Vec::is_empty);
    schema.get("type") == Some(&json!("object")) && no_key
}

/// Follows `$ref`.
pub(super) fn resolve<'a>(root: &'a Value, mut schema: &'a Value) -> &'a Value {
    while let Some(pointer) = schema.get("$ref").and_then(Value::as_str) {
        schema = root.pointer(pointer.trim_start_matches('#')).expect("references lead to definitions");
    }
    schema
}

/// The schema of a value that may be left out or left to the network: follows `$ref` and the `anyOf` that
/// this becomes.
pub(super) fn present<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let schema = resolve(root, schema);
    let some = |member: &&Value| member.get("type") != Some(&json!("null")) && member.get("const").is_none();
    match schema
        .get("anyOf")
        .and_then(Value::as_array)
        .map(|members| members.iter().filter(some).collect::<Vec<_>>())
    {
        Some(members) if members.len() == 1 => present(root, members[0]),
        _ => schema,
    }
}

/// A choice by name: an externally tagged enum in the schema.
pub(super) struct Choice<'a> {
    /// Variants with settings: the name and the settings below it.
    pub tables: Vec<(&'a str, &'a Value)>,
    /// Names that may stand alone.
    pub words: Vec<&'a str>,
}

impl<'a> Choice<'a> {
    /// The settings below a variant's name.
    pub fn table(&self, name: &str) -> Option<&'a Value> {
        self.tables.iter().find(|(table, _)| *table == name).map(|(_, member)| *member)
    }

    /// The names of all variants, once each.
    pub fn names(&self) -> Vec<&'a str> {
        let tables: Vec<_> = self.tables.iter().map(|(name, _)| *name).collect();
        let words = self.words.iter().copied().filter(|word| self.table(word).is_none());
        tables.iter().copied().chain(words).collect()
    }
}

/// The choice that a schema (not a reference) offers, if it is one.
pub(super) fn choice(schema: &Value) -> Option<Choice<'_>> {
    let alone = std::slice::from_ref(schema);
    let members = schema.get("oneOf").and_then(Value::as_array).map_or(alone, Vec::as_slice);
    let mut choice = Choice { tables: Vec::new(), words: Vec::new() };
    for member in members {
        let properties = member.get("properties").and_then(Value::as_object);
        if let Some(word) = member.get("const").and_then(Value::as_str) {
            choice.words.push(word);
        } else if let Some(words) = member.get("enum").and_then(Value::as_array) {
            choice.words.extend(words.iter().filter_map(Value::as_str));
        } else if let (true, Some(properties)) = (schema.get("oneOf").is_some(), properties)
            && let (1, Some((name, below))) = (properties.len(), properties.iter().next())
            && member.get("required") == Some(&json!([name]))
        {
            choice.tables.push((name, below));
        } else {
            return None;
        }
    }
    Some(choice)
}
/// The types that a schema allows, but for null.
pub fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect()
        }
        _ => Vec::new(),
    }
}
