//! From TOML or JSON text to plain values; ambiguous text is refused.

mod yaml;

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::problem::{Problem, Problems};

/// How a scenario is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Toml,
    Json,
}

/// Reads the text; a mistake in its syntax is shown with its line.
pub fn parse(text: &str, format: Format) -> Result<Value, Problems> {
    match format {
        Format::Toml => toml::from_str(text).map(from_toml).map_err(|error| {
            if let Some(problem) = yaml::refusal(text) {
                return problem.into();
            }
            let place = error.span().map(|span| span.start);
            let of_a_value = !error.message().contains('=');
            if let Some((place, message)) =
                place.filter(|_| of_a_value).and_then(|place| unquoted(text, place))
            {
                return syntax_problem(text, Some(place), &message).into();
            }
            // TOML's parser speaks of types of Rust here.
            let too_large = error.message().starts_with("invalid type: integer");
            let too_large =
                too_large.then(|| format!("a number of more than 64 bits; at most {} is allowed", i64::MAX));
            syntax_problem(text, place, too_large.as_deref().unwrap_or(error.message())).into()
        }),
        Format::Json => serde_json::from_str(text).map(|Strict(value)| value).map_err(|error| {
            let message = if text.trim().is_empty() { "is empty".to_string() } else { error.to_string() };
            let place = format!(" at line {} column {}", error.line(), error.column());
            let start =
                text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
            // The reader points behind the offending character.
            let offset = start + error.column().saturating_sub(1);
            syntax_problem(text, Some(offset), message.trim_end_matches(&place)).into()
        }),
    }
}

/// A text without quotes where a value is due, if one stands at that place: where it begins, and the message.
fn unquoted(text: &str, place: usize) -> Option<(usize, String)> {
    let line = text.get(..place)?.rfind('\n').map_or(0, |newline| newline + 1);
    let before = text.get(line..place)?;
    // The parser may point into the word.
    let value = before.rfind(['=', '[', ',', '{']).map_or(line, |joint| line + joint + 1);
    let rest = text.get(value..)?;
    let start = value + (rest.len() - rest.trim_start_matches([' ', '\t']).len());
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.' | '/' | '%');
    let word: String = text.get(start..)?.chars().take_while(|letter| is_part(*letter)).take(60).collect();
    let key = before.split('=').next().unwrap_or_default().trim();
    let is_text = word.starts_with(|letter: char| letter.is_alphabetic());
    (is_text
        && before.contains('=')
        && !key.is_empty()
        && !matches!(&*word, "true" | "false" | "nan" | "inf"))
    .then(|| (start, format!("a text has quotes; write \"{word}\"")))
}

fn from_toml(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Boolean(truth) => truth.into(),
        // JSON has no infinity: as text, so that the check names it.
        toml::Value::Float(number) if !number.is_finite() => number.to_string().into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Datetime(date) => date.to_string().into(),
        toml::Value::Array(items) => items.into_iter().map(from_toml).collect(),
        toml::Value::Table(table) => table.into_iter().map(|(key, value)| (key, from_toml(value))).collect(),
    }
}

/// The message with line and column, and the line with a caret below the place.
fn syntax_problem(text: &str, place: Option<usize>, message: &str) -> Problem {
    let message = message.lines().collect::<Vec<_>>().join(", ");
    let Some(place) = place else {
        return Problem::new("", message);
    };
    let place = (0..=place.min(text.len())).rev().find(|place| text.is_char_boundary(*place)).unwrap_or(0);
    let before = &text[..place];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = text[start..place].chars().count() + 1;
    // Of a very long line, the surroundings of the place.
    let skipped = column.saturating_sub(60);
    let source: String = text[start..].lines().next().unwrap_or("").chars().skip(skipped).take(100).collect();
    let source = source.replace('\t', " ");
    let (number, caret) = (line.to_string(), column - skipped);
    let message = format!(
        "line {line}, column {column}: {message}\n  {number} | {source}\n  {:1$} | {2:>caret$}",
        "",
        number.len(),
        '^'
    );
    Problem::new("", message)
}

/// A JSON value in which no key stands twice: serde_json alone would keep the last.
pub(super) struct Strict(pub Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Strict, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Value, E> {
        Ok(truth.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("duplicate key \"{key}\"")));
            }
            let Strict(value) = entries.next_value()?;
            map.insert(key, value);
        }
        Ok(map.into())
    }
}
