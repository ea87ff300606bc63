//! Overrides: `--set transport.ndp.initial_window=20`.
//!
//! A key is a path of steps with dots between them. An item of a list is addressed by its name, or by
//! its index if it has none. The value is JSON if it reads as JSON, a table or list of TOML if it reads as one, else a
//! string. Null takes an item out of its list.

use serde_json::{Map, Value};

use super::elsewhere;
use super::schema::{choice, present};
use super::text::{Format, Strict, parse};
use crate::nearest::{closest, did_you_mean};
use crate::problem::{Problem, Problems, join, list, steps};

/// So many items of a list are named.
const SHOWN: usize = 50;

/// More brackets and dots than a value in a line has.
const NESTED_MOST: usize = 1000;

/// Deeper than any key of a scenario.
const DEEPEST: usize = 32;

/// Puts each value at its key, in turn.
pub(super) fn apply(root: &Value, document: &mut Value, overrides: &[(String, String)]) -> Vec<Problem> {
    let mut found = Vec::new();
    for (key, value) in overrides {
        if let Err(Problems(mut problems)) = set(root, document, key, value) {
            elsewhere::guess(root, document, &mut problems);
            found.append(&mut problems);
        }
    }
    found
}

fn set(root: &Value, document: &mut Value, key: &str, value: &str) -> Result<(), Problems> {
    let path: Vec<&str> = key.split('.').map(str::trim).collect();
    if path.contains(&"") || path.len() > DEEPEST {
        let message = format!("\"{key}\" is not a key; write it as in transport.ndp.initial_window=20");
        return Err(Problem::new("", message).into());
    }
    if key.contains('[') {
        let hint = did_you_mean(key.replace('[', ".").replace(']', ""));
        return Err(Problem::new("", format!("\"{key}\" is not a key")).with_hint(Some(hint)).into());
    }
    let (mut place, mut schema, mut above) = (document, Some(root), String::new());
    for (depth, step) in path.iter().enumerate() {
        schema = schema.map(|schema| present(root, schema));
        let variants = schema.and_then(choice).filter(|choice| choice.table(step).is_some());
        if variants.is_some() {
            choose(place, step, &above, depth + 1 == path.len())?;
        }
        if place.is_null() {
            *place = Map::new().into();
        }
        (place, schema) = match place {
            Value::Object(map) => {
                let child = variants.and_then(|variants| variants.table(step));
                let property = || schema?.get("properties")?.get(step);
                (map.entry(*step).or_insert(Value::Null), child.or_else(property))
            }
            Value::Array(items) => {
                let index = item(items, step).map_err(|hint| {
                    let names = steps(items);
                    let more = names.len().saturating_sub(SHOWN);
                    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                    let names = list(names.iter().take(SHOWN).map(String::as_str));
                    let message = format!("\"{step}\" is not one of {names}{more}");
                    let problem = Problem::new(key, message).with_value(&read(value));
                    Problems::from(problem.with_hint(hint).misplaced())
                })?;
                if depth + 1 == path.len() && value.trim() == "null" {
                    items.remove(index);
                    return Ok(());
                }
                (&mut items[index], schema.and_then(|schema| schema.get("items")))
            }
            other => {
                let message =
                    format!("{above} is {}, which has nothing below it", crate::problem::show(other));
                return Err(Problem::new(key, message).with_value(other).into());
            }
        };
        above = join(&above, step);
    }
    *place = match serde_json::from_str(value) {
        Ok(Strict(value)) => value,
        // JSON in which a key stands twice.
        Err(error) if error.is_data() => {
            let (message, place) =
                (error.to_string(), format!(" at line {} column {}", error.line(), error.column()));
            return Err(Problem::new(key, message.trim_end_matches(&place)).into());
        }
        Err(_) => inline_toml(value).unwrap_or_else(|| value.into()),
    };
    Ok(())
}

/// A table or list as scenario files write it in a line: `{ tcp = { congestion = "dctcp" } }`.
fn inline_toml(value: &str) -> Option<Value> {
    let value = value.trim();
    // The parser of TOML goes as deep as brackets and dotted keys do.
    let is_deep = value.matches(['{', '[', '.']).count() > NESTED_MOST;
    if !value.starts_with(['{', '[']) || value.contains(['\n', '\r']) || is_deep {
        return None;
    }
    match parse(&format!("value = {value}"), Format::Toml) {
        Ok(Value::Object(mut table)) => table.remove("value"),
        _ => None,
    }
}

/// The value as a message needs it.
fn read(value: &str) -> Value {
    serde_json::from_str(value).ok().or_else(|| inline_toml(value)).unwrap_or_else(|| value.into())
}

/// Makes `name` the variant chosen at `place`; settings of another one are not thrown away unasked.
fn choose(place: &mut Value, name: &str, path: &str, whole: bool) -> Result<(), Problems> {
    let chosen = match &*place {
        Value::String(word) => Some(word.clone()),
        Value::Object(map) if map.len() == 1 => map.keys().next().cloned(),
        _ => None,
    };
    match chosen {
        Some(chosen) if chosen != name && !whole => {
            let message = format!("{path} is \"{chosen}\", not \"{name}\"");
            let hint = format!("set {path}={name} first");
            Err(Problem::new(join(path, name), message).with_value(place).with_hint(Some(hint)).into())
        }
        Some(chosen) if chosen != name || place.is_string() => {
            *place = Map::from_iter([(name.to_string(), Value::Null)]).into();
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The index of the item that a step names; else the name that was probably meant.
fn item(items: &[Value], step: &str) -> Result<usize, Option<String>> {
    let steps = steps(items);
    if let Some(index) = steps.iter().position(|own| own == step) {
        return Ok(index);
    }
    // Items with a name go by their index too.
    match step.parse() {
        Ok(index) if index < items.len() => Ok(index),
        _ => Err(closest(step, steps.iter().map(String::as_str)).map(did_you_mean)),
    }
}
