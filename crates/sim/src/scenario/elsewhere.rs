//! The place where a key belongs that stands at a wrong one, for messages: `load` is traffic.queries.arrivals.poisson.load.
//!
//! Users write a field at the top, or in the wrong table. The document says which of the fields of that name can be
//! meant: those of the members that it chooses. A key within a table belongs to the same part of the document, or to none: the
//! keys that are known in the table say more than a field of that name far from it.

use std::iter::zip;

use serde_json::Value;

use super::schema::{choice, present};
use crate::nearest::{GUESSES, closest, did_you_mean, means};
use crate::problem::{Problem, join, steps};

/// So many problems get a guess: as many as are printed.
const GUESSED: usize = 20;
/// So many items of a list are searched.
const ITEMS: usize = 3;
/// Tables above a key; no key of a scenario is deeper.
const DEEPEST: usize = 8;

/// Adds to each problem with a key that has no guess yet the places where such a key is known.
pub(super) fn guess(root: &Value, document: &Value, problems: &mut [Problem]) {
    let lost = problems.iter_mut().filter(|problem| problem.misplaced && problem.hint.is_none());
    for problem in lost.take(GUESSED) {
        let (above, key) = problem.path.rsplit_once('.').unwrap_or(("", &problem.path));
        let places = places(root, document, above, key);
        if let Some(first) = places.first() {
            let names: Vec<&str> = places.iter().map(|part| &*part.path).collect();
            let value = problem.value.as_ref().and_then(|value| meant(root, first.schema, value));
            problem.hint = Some(match value {
                Some(name) if names.len() == 1 => format!("did you mean {} = \"{name}\"?", names[0]),
                _ => did_you_mean(names.join("\" or \"")),
            });
            // The keys that are known here are of no use.
            if let Some((start, _)) = problem.message.split_once(';') {
                problem.message.truncate(start.len());
            }
        } else if !above.is_empty() && belongs_at_top(root, key) {
            problem.hint = Some(format!(
                "{key} is a key of the scenario itself, and TOML reads a line below [a table] as a key of that table: move the \
                 line above the first [table]"
            ));
        }
    }
}

/// Whether the scenario has a key of that name outside its tables.
fn belongs_at_top(root: &Value, key: &str) -> bool {
    root.get("properties").and_then(Value::as_object).is_some_and(|keys| keys.contains_key(key))
}

/// The places that are nearest to the table that the key stands in: in members that the document chooses rather than in
/// those that it could choose where it chooses none yet; of that name rather than of one that means the same; that are there
/// rather than absent.
fn places<'a, 'v>(root: &'a Value, document: &'v Value, above: &str, key: &str) -> Vec<Part<'a, 'v>> {
    let known: [&dyn Fn(&str) -> bool; 2] = [&|own| own == key, &|own| means(key, own)];
    let shared =
        |part: &Part| zip(part.path.split('.'), above.split('.')).take_while(|(a, b)| a == b).count();
    let near_enough = part_of(document, above);
    let (mut best, mut most) = (Vec::new(), None);
    for (open, known) in [false, true].into_iter().flat_map(|open| known.map(|known| (open, known))) {
        let mut found = search(root, document, |part| known(part.name) && shared(part) >= near_enough, open);
        let near = found.iter().map(shared).max();
        if near > most {
            found.retain(|part| Some(shared(part)) == near);
            (best, most) = (found, near);
        }
    }
    let there = best.iter().any(|part| part.value.is_some());
    best.retain(|part| part.value.is_some() == there);
    best.truncate(GUESSES);
    best
}

/// How many steps of a path lead to the part of the document that it is in: the field at the top, or an item of a list there.
fn part_of(document: &Value, path: &str) -> usize {
    let (top, rest) = path.split_once('.').unwrap_or((path, ""));
    let item = rest.split('.').next().unwrap_or_default();
    match document.get(top) {
        Some(Value::Array(items)) if steps(items).iter().any(|step| step == item) => 2,
        _ => usize::from(!top.is_empty()),
    }
}

/// The places that fit and have the fewest tables above them.
fn search<'a, 'v>(
    root: &'a Value,
    document: &'v Value,
    fits: impl Fn(&Part) -> bool,
    open: bool,
) -> Vec<Part<'a, 'v>> {
    let mut level = vec![Part { path: String::new(), name: "", schema: root, value: Some(document) }];
    for _ in 0..DEEPEST {
        level = level.iter().flat_map(|part| below(root, part, open)).collect();
        if level.iter().any(&fits) {
            level.retain(&fits);
            return level;
        }
    }
    Vec::new()
}

/// A part of the document that may be absent.
struct Part<'a, 'v> {
    path: String,
    /// Its key; none of an item of a list.
    name: &'a str,
    schema: &'a Value,
    value: Option<&'v Value>,
}

/// The fields of a part. Of a choice that is the chosen member; where none is, all members if the choice is `open`.
fn below<'a, 'v>(root: &'a Value, part: &Part<'a, 'v>, open: bool) -> Vec<Part<'a, 'v>> {
    let schema = present(root, part.schema);
    let field =
        |name: &'a str, schema: &'a Value, value| Part { path: join(&part.path, name), name, schema, value };
    if let Some(choice) = choice(schema) {
        let chosen = match part.value {
            Some(Value::String(name)) => Some((&**name, None)),
            Some(Value::Object(map)) => map.iter().next().map(|(name, below)| (&**name, Some(below))),
            _ => None,
        };
        let all = choice.tables.into_iter();
        return match chosen {
            Some((name, value)) => {
                all.filter(|(own, _)| *own == name).map(|(name, schema)| field(name, schema, value)).collect()
            }
            None => all.filter(|_| open).map(|(name, schema)| field(name, schema, None)).collect(),
        };
    }
    if let (Some(items), Some(Value::Array(values))) = (schema.get("items"), part.value) {
        let values = &values[..values.len().min(ITEMS)];
        let item = |(value, step): (&'v Value, String)| Part {
            path: join(&part.path, &step),
            name: "",
            schema: items,
            value: Some(value),
        };
        return values.iter().zip(steps(values)).map(item).collect();
    }
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties
        .map(|(name, schema)| field(name, schema, part.value.and_then(|value| value.get(name))))
        .collect()
}

/// The name in a choice that a text stands for, or nearly.
fn meant<'a>(root: &'a Value, schema: &'a Value, value: &Value) -> Option<&'a str> {
    let names = choice(present(root, schema))?.names();
    let text = value.as_str()?;
    names.iter().copied().find(|name| *name == text).or_else(|| closest(text, names))
}

#[cfg(test)]
mod tests {
    use super::super::schema::SCHEMA;
    use super::*;
    use serde_json::json;

    fn guessed(path: &str, value: Value) -> Option<String> {
        let document = json!({
            "transport": "ndp",
            "traffic": [
                {"name": "a", "arrivals": {"poisson": {"load": 0.4}}, "sizes": "web-search"},
                {"name": "b", "arrivals": {"periodic": {"every": "1ms"}}, "sizes": "web-search"},
                {"name": "c"},
            ],
        });
        let mut problems =
            [Problem::new(path, "unknown key; the keys here are x").with_value(&value).misplaced()];
        guess(&SCHEMA, &document, &mut problems);
        let [problem] = problems;
        assert_eq!(problem.hint.is_some(), problem.message == "unknown key", "{problem}");
        problem.hint
    }

    #[test]
    fn a_key_belongs_where_the_document_has_it() {
        let of = |path| guessed(path, json!(0.7)).unwrap_or_default();
        assert_eq!(of("load"), "did you mean \"traffic.a.arrivals.poisson.load\"?");
        assert_eq!(of("mtu"), "did you mean \"transport.ndp.mtu\"?");
        assert_eq!(of("duration"), "did you mean \"run.until\"?");
        let every = ["observe.samples.every", "observe.histograms.every"].join("\" or \"");
        assert_eq!(of("every"), format!("did you mean \"{every}\"?"));
    }

    /// Two entries have sizes, and the third has none yet.
    #[test]
    fn keys_that_are_there_go_before_absent_ones() {
        let sizes = ["traffic.a.sizes", "traffic.b.sizes"].join("\" or \"");
        assert_eq!(guessed("sizes", json!(0.7)), Some(format!("did you mean \"{sizes}\"?")));
    }

    #[test]
    fn the_table_of_the_key_goes_before_others() {
        let of = |path| guessed(path, json!(0.7)).unwrap_or_default();
        assert_eq!(of("traffic.c.load"), "did you mean \"traffic.c.arrivals.poisson.load\"?");
        assert_eq!(of("traffic.b.arrivals.periodic.num_flows"), "did you mean \"traffic.b.flows\"?");
        assert_eq!(guessed("traffic.b.arrivals.periodic.frobs", json!(1)), None);
    }

    #[test]
    fn a_key_in_a_table_does_not_belong_to_a_part_far_from_it() {
        assert_eq!(guessed("topology.leaf-spine.load", json!(0.7)), None);
        assert_eq!(guessed("traffic.b.arrivals.load", json!(0.7)), None);
        assert_eq!(guessed("faults.every", json!("1ms")), None);
        let seed = guessed("run.measure.seed", json!(3)).unwrap_or_default();
        assert_eq!(seed, "did you mean \"run.seed\"?");
    }

    #[test]
    fn a_name_of_a_member_is_part_of_the_guess() {
        let of = |path, name| guessed(path, json!(name)).unwrap_or_default();
        assert_eq!(of("balancer", "ecmp"), "did you mean routing.balancer = \"per-flow\"?");
        assert_eq!(of("balancer", "zebra"), "did you mean \"routing.balancer\"?");
        assert_eq!(
            of("traffic.c.arrivals.sizes", "websearch"),
            "did you mean traffic.c.sizes = \"web-search\"?"
        );
    }
}
