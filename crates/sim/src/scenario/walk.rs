//! Checks a document against the schema, collects all that is wrong, and writes bare names out.
//!
//! A validator off the shelf reports the keyword that failed; this one reports the value to write instead. It
//! covers the part of JSON Schema that the structs generate (tested), and no key by name. `elsewhere` has the guesses
//! about keys that stand at a wrong place.

use serde_json::{Map, Value, json};

use super::bounds::{bounds, plain, quantity};
use super::elsewhere;
use super::hints::{begin_items, leave_out};
use super::schema::{Choice, choice, present, resolve, types};
use crate::nearest::{closest, did_you_mean};
use crate::problem::{PROBLEMS_MAX, Problem, join, list, show, steps};
use crate::topology::names::Names;
use crate::traffic::hosts::Host;

mod guesses;

/// All problems of the document, up to [`PROBLEMS_MAX`]; a bare name of a variant with settings becomes that variant
/// with none given.
pub(super) fn walk(schema: &Value, document: &mut Value) -> Vec<Problem> {
    walk_noting_hosts(schema, document).0
}

/// The same, and whether the document names hosts, so that [`number_hosts`] is needed.
pub(super) fn walk_noting_hosts(schema: &Value, document: &mut Value) -> (Vec<Problem>, bool) {
    let mut walk = Walk::new(schema, None);
    walk.value(schema, document);
    elsewhere::guess(schema, document, &mut walk.problems);
    (walk.problems, walk.names_hosts)
}

/// Puts numbers in the place of names of hosts, now that the network is known; all names that are not those of hosts.
pub(super) fn number_hosts(schema: &Value, document: &mut Value, names: &Names) -> Vec<Problem> {
    let mut walk = Walk::new(schema, Some(names));
    walk.value(schema, document);
    walk.problems
}

struct Walk<'a> {
    root: &'a Value,
    /// The network whose hosts are meant by names; none while it is not known.
    names: Option<&'a Names<'a>>,
    names_hosts: bool,
    path: String,
    problems: Vec<Problem>,
}

impl<'a> Walk<'a> {
    fn new(root: &'a Value, names: Option<&'a Names<'a>>) -> Walk<'a> {
        Walk { root, names, names_hosts: false, path: String::new(), problems: Vec::new() }
    }

    /// Whether there are as many problems as anyone will read.
    fn full(&self) -> bool {
        self.problems.len() >= PROBLEMS_MAX
    }

    fn value(&mut self, schema: &'a Value, value: &mut Value) {
        make_whole(schema, value);
        if schema.get("$ref").is_some() {
            let before = self.problems.len();
            self.value(resolve(self.root, schema), value);
            // Bounds may stand beside the reference.
            if self.problems.len() == before {
                self.bounds(schema, value);
            }
        } else if let Some(choice) = choice(schema) {
            self.choice(&choice, value);
        } else if let Some(members) = schema.get("anyOf").or(schema.get("oneOf")).and_then(Value::as_array) {
            self.any_of(members, value);
        } else if let Some(message) = wrong_type(schema, value) {
            let hint = self.hint_of_type(schema, value);
            self.problem_with_hint(value, message, hint);
        } else {
            // A list that is too long is not looked through.
            let before = self.problems.len();
            self.bounds(schema, value);
            match value {
                Value::Object(map) => self.object(schema, map),
                Value::Array(items) if self.problems.len() == before => self.array(schema, items),
                Value::String(_) if takes_host(schema) => self.host(value),
                _ => (),
            }
        }
    }

    /// A host by its name.
    fn host(&mut self, value: &mut Value) {
        self.names_hosts = true;
        let (Some(names), Some(name)) = (self.names, value.as_str()) else { return };
        match names.host(name) {
            Ok(host) => *value = host.into(),
            Err(message) => self.problem(value, message),
        }
    }

    fn below(&mut self, step: &str, schema: &'a Value, value: &mut Value) {
        let length = self.path.len();
        if length > 0 && !step.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(step);
        self.value(schema, value);
        self.path.truncate(length);
    }

    fn object(&mut self, schema: &'a Value, map: &mut Map<String, Value>) {
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        let known = |key: &str| properties.and_then(|properties| properties.get(key));
        let others = schema.get("additionalProperties");
        let mut meant = Vec::new();
        for (key, value) in map.iter_mut() {
            if self.full() {
                return;
            }
            match known(key).or(others.filter(|others| others.is_object())) {
                Some(member) => {
                    let before = self.problems.len();
                    self.below(key, member, value);
                    self.hint_at_plural(schema, key, value, before);
                }
                None if others == Some(&json!(false)) => meant.extend(self.unknown_key(schema, key, value)),
                None => (),
            }
        }
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        for key in required.filter_map(Value::as_str) {
            // A key that stands there misspelt is one problem, not two.
            if !map.contains_key(key) && !meant.contains(&key) {
                let member = properties.unwrap_or(&none).get(key).map(|member| present(self.root, member));
                let message = format!("is missing; write {}", member.map_or("it".into(), expected));
                let path = join(&self.path, key);
                let hint = member.and_then(|member| begin_items(member, &path));
                self.problems.push(Problem::new(path, message).with_hint(hint));
            }
        }
    }

    fn choice(&mut self, choice: &Choice<'a>, value: &mut Value) {
        match value {
            Value::String(name) => {
                let name = name.clone();
                self.bare_name(choice, &name, value);
            }
            Value::Object(map) => {
                self.variants(choice, map);
                let names = choice.names();
                let chosen = names.iter().copied().filter(|name| map.contains_key(*name));
                match chosen.collect::<Vec<_>>()[..] {
                    [] if map.is_empty() => {
                        self.problem(value, format!("is empty; use one of {}", list(names)))
                    }
                    [] | [_] => (),
                    ref several => {
                        let several = list(several.iter().copied());
                        self.problem(value, format!("has {several} at once; keep one"));
                    }
                }
            }
            _ => {
                let message =
                    format!("{} is {}; use one of {}", show(value), kind(value), list(choice.names()));
                let hint = self.variant_that_takes(choice, value);
                self.problem_with_hint(value, message, hint);
            }
        }
    }

    fn bare_name(&mut self, choice: &Choice<'a>, name: &str, value: &mut Value) {
        match (choice.words.contains(&name), choice.table(name)) {
            (true, Some(_)) => *value = json!({ name: {} }),
            (true, None) => (),
            (false, Some(member)) => {
                let needs = expected(present(self.root, member));
                let message = format!("\"{name}\" needs more than its name: {needs}");
                self.problem_with_hint(value, message, Some(format!("write {{ {name} = ... }}")));
            }
            (false, None) => {
                let message = format!("\"{name}\" is not one of {}", list(choice.names()));
                let hint = self.meant_by_name(choice, name, value);
                self.problem_with_hint(value, message, hint);
            }
        }
    }

    fn variants(&mut self, choice: &Choice<'a>, map: &mut Map<String, Value>) {
        let names = choice.names();
        let chosen: Vec<&str> = names.into_iter().filter(|name| map.contains_key(*name)).collect();
        for (key, below) in map.iter_mut() {
            if self.full() {
                return;
            }
            match choice.table(key) {
                Some(member) => {
                    let before = self.problems.len();
                    self.below(key, member, below);
                    self.hint_at_other_variant(choice, key, below, before);
                }
                None if choice.words.contains(&key.as_str()) => {
                    let message = format!("takes no settings; write \"{key}\" in place of the table");
                    self.problems.push(Problem::new(join(&self.path, key), message).with_value(below));
                }
                None => self.unknown_variant(choice, &chosen, key, below),
            }
        }
    }

    /// Null where that is allowed, else the member of the schema that fits best.
    fn any_of(&mut self, members: &'a [Value], value: &mut Value) {
        let attempt = |member| {
            let mut walk = Walk { path: self.path.clone(), ..Walk::new(self.root, self.names) };
            let mut value = value.clone();
            walk.value(member, &mut value);
            (walk.problems, is_of_kind(present(self.root, member), &value), walk.names_hosts, value)
        };
        let fits_null = |member: &&Value| member.get("type") == Some(&json!("null"));
        if value.is_null() && members.iter().any(|member| fits_null(&member)) {
            return;
        }
        let word = members.iter().find_map(|member| member.get("const")).and_then(Value::as_str);
        if word.is_some() && value.as_str() == word {
            return;
        }
        let is_word = |member: &&Value| member.get("const").is_some();
        let attempts = members.iter().filter(|member| !fits_null(member) && !is_word(member)).map(attempt);
        if let Some((problems, _, names_hosts, walked)) =
            attempts.min_by_key(|(problems, kind, ..)| (problems.len(), !kind))
        {
            self.names_hosts |= names_hosts;
            let here = self.path.clone();
            let with_word = |problem: Problem| match word {
                Some(word) if problem.path == here => {
                    let meant = value.as_str().is_some_and(|text| closest(text, [word]).is_some());
                    let hint = match &problem.hint {
                        Some(hint) if !meant => format!("{hint}, or \"{word}\""),
                        _ if meant => did_you_mean(word),
                        _ => format!("or write \"{word}\""),
                    };
                    problem.with_hint(Some(hint))
                }
                _ => problem,
            };
            self.problems.extend(problems.into_iter().map(with_word));
            *value = walked;
        }
    }

    fn array(&mut self, schema: &'a Value, items: &mut [Value]) {
        let others = schema.get("items").filter(|items| items.is_object());
        if others.is_some_and(|schema| good_numbers(schema, items)) {
            return;
        }
        let named = items.iter().any(Value::is_object).then(|| steps(items));
        let first = schema.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (index, item) in items.iter_mut().enumerate() {
            if self.full() {
                return;
            }
            let Some(schema) = first.get(index).or(others) else { continue };
            match &named {
                Some(steps) => self.below(&steps[index], schema, item),
                None => self.below(&index.to_string(), schema, item),
            }
        }
    }

    fn bounds(&mut self, schema: &Value, value: &Value) {
        if let Err((message, hint)) = bounds(schema, value) {
            let hint = leave_out(&self.path, value).or(hint);
            self.problem_with_hint(value, message, hint);
        }
    }

    fn problem(&mut self, value: &Value, message: String) {
        self.problem_with_hint(value, message, None);
    }

    fn problem_with_hint(&mut self, value: &Value, message: String, hint: Option<String>) {
        self.problems.push(Problem::new(&self.path, message).with_value(value).with_hint(hint));
    }
}

/// Makes a whole number of one that is written with an exponent or a point, such as 1e4, where whole numbers are due.
fn make_whole(schema: &Value, value: &mut Value) {
    /// From here on not every whole number is a float.
    const EXACT: f64 = (1u64 << 53) as f64;
    let types = types(schema);
    if let Some(float) = value.as_f64().filter(|_| value.is_f64())
        && (types.contains(&"integer") && !types.contains(&"number"))
        && (float.fract() == 0.0 && float.abs() <= EXACT)
    {
        *value = (float as i64).into();
    }
}

/// Whether all are whole numbers in their bounds, as the least and the greatest show: such lists may be long.
fn good_numbers(schema: &Value, items: &[Value]) -> bool {
    let plain = types(schema).contains(&"integer") && schema.get("multipleOf").is_none();
    let (mut least, mut greatest) = (u64::MAX, 0);
    let mut note = |number: u64| (least, greatest) = (least.min(number), greatest.max(number));
    plain
        && items.iter().all(|item| item.as_u64().map(&mut note).is_some())
        && [least, greatest].iter().all(|&end| items.is_empty() || bounds(schema, &json!(end)).is_ok())
}

/// Whether a schema (not a reference) is of a host, by number or name.
fn takes_host(schema: &Value) -> bool {
    schema.get("format").and_then(Value::as_str) == Some(Host::FORMAT)
}

/// The keys that a table may have; none for what is no table.
fn keys(schema: &Value) -> Vec<&str> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.map_or(Vec::new(), |properties| properties.keys().map(String::as_str).collect())
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a truth value",
        Value::Number(number) if number.as_f64().is_some_and(|float| float.abs() >= u64::MAX as f64) => {
            "a number of more than 64 bits"
        }
        Value::Number(number) if number.is_f64() => "a number with a fraction",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}

/// Whether a schema (not a reference) is of values like this: a table, a number, a string.
fn is_of_kind(schema: &Value, value: &Value) -> bool {
    let words = choice(schema).is_some_and(|choice| choice.tables.is_empty());
    match value {
        Value::String(_) => words || types(schema).contains(&"string"),
        Value::Object(_) => types(schema).contains(&"object"),
        Value::Number(_) => types(schema).iter().any(|name| matches!(*name, "integer" | "number")),
        _ => false,
    }
}

/// Values that a schema (not a reference) accepts, in words.
fn expected(schema: &Value) -> String {
    if let Some(choice) = choice(schema) {
        return format!("one of {}", list(choice.names()));
    }
    if let Some(quantity) = schema.get("format").and_then(Value::as_str).and_then(quantity) {
        return format!("a {} with its unit, as in {}", quantity.name, quantity.example);
    }
    if takes_host(schema) {
        return "the number or the name of a host".into();
    }
    let word = |name: &str| match name {
        "boolean" => "true or false",
        "integer" => "a whole number",
        "number" => "a number",
        "array" => "a list",
        "object" => "a table",
        _ => "a string",
    };
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    match types(schema).iter().map(|name| word(name)).collect::<Vec<_>>().join(" or ") {
        any if any.is_empty() => "a value".into(),
        table if !required.is_empty() => format!("{table} with {}", required.join(", ")),
        words => words,
    }
}

fn wrong_type(schema: &Value, value: &Value) -> Option<String> {
    let fits = |name: &&str| match *name {
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    let nullable =
        schema.get("type").and_then(Value::as_array).is_some_and(|types| types.contains(&json!("null")));
    let types = types(schema);
    if types.is_empty() || types.iter().any(fits) || (nullable && value.is_null()) {
        return None;
    }
    let format = schema.get("format").and_then(Value::as_str).unwrap_or("");
    match (value, quantity(format)) {
        (Value::Number(number), Some(quantity)) => {
            let number = plain(number);
            Some(format!("{number} has no unit; write it with a unit, as in {}", quantity.example))
        }
        // What the parser made of nan and inf.
        (Value::String(word), None) if matches!(&**word, "NaN" | "inf" | "-inf") => {
            Some(format!("{word} is not finite; use {}", expected(schema)))
        }
        _ => Some(format!("{} is {}; use {}", show(value), kind(value), expected(schema))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema::SCHEMA;
    use super::*;

    /// A keyword that the walk does not know would be a bound that is never checked.
    #[test]
    fn the_walk_knows_every_keyword_of_the_schema() {
        const CHECKED: &[&str] = &[
            "$ref",
            "additionalProperties",
            "anyOf",
            "const",
            "enum",
            "exclusiveMaximum",
            "exclusiveMinimum",
            "format",
            "items",
            "maxItems",
            "maxLength",
            "maximum",
            "minItems",
            "minLength",
            "minimum",
            "multipleOf",
            "oneOf",
            "prefixItems",
            "properties",
            "required",
            "type",
            "x-maximum",
            "x-minimum",
        ];
        const WORDS_ONLY: &[&str] = &["$defs", "$schema", "default", "description", "examples", "title"];
        const FORMATS: &[&str] =
            &["double", "uint8", "uint32", "uint64", "time-span", "bytes", "rate", Host::FORMAT];
        fn visit(schema: &Value) {
            for (keyword, value) in schema.as_object().into_iter().flatten() {
                let known = CHECKED.contains(&keyword.as_str()) || WORDS_ONLY.contains(&keyword.as_str());
                assert!(known, "teach scenario/walk.rs the keyword {keyword}: {value}");
                match (keyword.as_str(), value) {
                    ("properties" | "$defs", Value::Object(members)) => members.values().for_each(visit),
                    ("oneOf" | "anyOf" | "prefixItems", Value::Array(members)) => {
                        members.iter().for_each(visit)
                    }
                    ("items" | "additionalProperties", member) => visit(member),
                    ("format", Value::String(format)) => {
                        assert!(
                            FORMATS.contains(&format.as_str()),
                            "teach scenario/walk.rs the format {format}"
                        );
                    }
                    _ => (),
                }
            }
        }
        visit(&SCHEMA);
    }

    /// They are what reference pages show.
    #[test]
    fn examples_are_right() {
        let definitions = SCHEMA["$defs"].as_object().expect("definitions");
        let examples = definitions.values().flat_map(|definition| {
            definition["examples"].as_array().into_iter().flatten().map(move |e| (definition, e))
        });
        let mut seen = 0;
        for (definition, example) in examples {
            let problems = walk_at(definition, &mut example.clone());
            assert!(problems.is_empty(), "{example}: {problems:?}");
            seen += 1;
        }
        assert!(seen > 10);
    }

    fn walk_at(schema: &'static Value, value: &mut Value) -> Vec<Problem> {
        let mut walk = Walk::new(&SCHEMA, None);
        walk.value(schema, value);
        walk.problems
    }

    fn messages(schema: Value, mut value: Value) -> Vec<String> {
        walk(&schema, &mut value).iter().map(Problem::to_string).collect()
    }

    #[test]
    fn lists_are_checked_item_by_item() {
        let end = json!({"type": "integer", "format": "uint32", "minimum": 0});
        let pair = json!({"type": "array", "prefixItems": [end.clone(), end], "minItems": 2, "maxItems": 2});
        let schema = json!({"type": "array", "items": pair, "minItems": 1});
        assert_eq!(messages(schema.clone(), json!([])), ["is empty; give at least 1"]);
        let wrong = json!([[0, 1], [2], [3, -4], [5_000_000_000_u64, 6]]);
        let expected = [
            "1: a length of 1 is too small (allowed: 2)",
            "2.1: -4 is too small (allowed: 0 to 4294967295); use 4",
            "3.0: 5000000000 is too large (allowed: 0 to 4294967295); use 4294967295",
        ];
        assert_eq!(messages(schema, wrong), expected);
    }

    #[test]
    fn the_same_mistake_in_each_item_is_found_so_many_times() {
        let item = json!({"type": "object", "properties": {}, "additionalProperties": false});
        let schema = json!({"type": "array", "items": item, "maxItems": 1_000_000});
        let wrong = |items: usize| walk(&schema, &mut vec![json!({"x": 1, "y": 2}); items].into());
        assert_eq!(wrong(99).len(), 198);
        assert_eq!(wrong(200_000).len(), PROBLEMS_MAX);
        let table: Map<_, _> = (0..200_000).map(|key| (key.to_string(), json!(1))).collect();
        assert_eq!(walk(&schema["items"], &mut table.into()).len(), PROBLEMS_MAX);
    }

    #[test]
    fn a_whole_number_may_have_an_exponent() {
        let schema = json!({"type": "integer", "minimum": 0, "maximum": 100_000});
        let mut value = json!(1e4);
        assert!(walk(&schema, &mut value).is_empty());
        assert_eq!(value, json!(10_000));
        assert_eq!(
            messages(schema.clone(), json!(1.5)),
            ["1.5 is a number with a fraction; use a whole number"]
        );
        let large = ["1000000 is too large (allowed: 0 to 100000); use 100000"];
        assert_eq!(messages(schema, json!(1e6)), large);
        let mut share = json!(1.0);
        assert!(walk(&json!({"type": "number"}), &mut share).is_empty());
        assert!(share.is_f64());
    }

    #[test]
    fn a_list_that_is_too_long_is_not_looked_through() {
        let schema = json!({"type": "array", "items": {"type": "boolean"}, "maxItems": 2});
        assert_eq!(messages(schema, json!([1, 2, 3])), ["a length of 3 is too large (allowed: at most 2)"]);
    }

    #[test]
    fn a_choice_without_names_takes_what_fits_best() {
        let schema = json!({"anyOf": [{"type": "integer", "maximum": 9}, {"type": "array", "items": {"type": "boolean"}}]});
        assert_eq!(messages(schema.clone(), json!([true])), [""; 0]);
        assert_eq!(messages(schema, json!(10)), ["10 is too large (allowed: at most 9); use 9"]);
    }
}
