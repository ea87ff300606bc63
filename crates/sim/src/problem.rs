//! Problems of a scenario: all of them at once, each with its path, the value, the allowed values and the
//! nearest fix.

use std::{fmt, io};

use serde::Serialize;
use serde_json::Value;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    /// Where, as `--set` would address it (`transport.ndp.mtu`, `traffic.queries.flows`); empty for the text as a whole.
    pub path: String,
    /// The value found there, if there is one and it is not large.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The problem and the allowed values.
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether the path ends in a key that is not known there, and may be known elsewhere in the document.
    #[serde(skip)]
    pub(crate) misplaced: bool,
}

/// All problems of a scenario, up to [`PROBLEMS_MAX`]; never empty. Values in the order of the text, then
/// parts that do not fit together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problems(pub Vec<Problem>);

/// So many problems are printed: one screen.
const SHOWN: usize = 20;

/// After so many problems nothing more is looked for: a long list may have the same mistake in each item.
pub const PROBLEMS_MAX: usize = 200;

/// Characters of a message, and of a path that is printed: the names in them are the users', and may be of any length.
const MESSAGE_MAX: usize = 1500;
const PATH_MAX: usize = 300;

/// A value of more parts is not kept with a problem, nor is a longer text.
const PARTS_MAX: usize = 1000;

impl Problem {
    /// A problem with a message alone.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Problem {
        let message = cut(message.into(), MESSAGE_MAX);
        Problem { path: path.into(), value: None, message, hint: None, misplaced: false }
    }

    /// The same, at a value.
    pub fn with_value(self, value: &Value) -> Problem {
        Problem { value: (parts(value, PARTS_MAX) <= PARTS_MAX).then(|| value.clone()), ..self }
    }

    /// The same, of a key that may be known elsewhere.
    pub(crate) fn misplaced(self) -> Problem {
        Problem { misplaced: true, ..self }
    }

    /// The same, with its path below that of the part.
    pub fn within(self, part: &str) -> Problem {
        Problem { path: join(part, &self.path), ..self }
    }

    /// The same, with the nearest fix if there is one.
    pub fn with_hint(self, hint: Option<String>) -> Problem {
        Problem { hint: hint.map(|hint| cut(hint, MESSAGE_MAX)), ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", cut(self.path.clone(), PATH_MAX))?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}{problem}", if index > 0 { "\n" } else { "" })?;
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more if self.0.len() < PROBLEMS_MAX => write!(f, "\nand {more} more"),
            more => write!(f, "\nand at least {more} more"),
        }
    }
}

impl std::error::Error for Problems {}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Problems {
        Problems(vec![problem])
    }
}

/// A text of at most so many characters, the last ones dots if there are more.
fn cut(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// How many values and bytes of text there are in a value; counted no further than a little above `most`.
fn parts(value: &Value, most: usize) -> usize {
    let all = |parts: &mut dyn Iterator<Item = (usize, &Value)>| {
        let mut sum = 1;
        for (key, below) in parts {
            sum += key + self::parts(below, most - sum.min(most));
            if sum > most {
                break;
            }
        }
        sum
    };
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => all(&mut items.iter().map(|item| (0, item))),
        Value::Object(map) => all(&mut map.iter().map(|(key, below)| (key.len(), below))),
        _ => 1,
    }
}

/// Problems or advice of a part of a scenario, with paths below that of the part.
pub fn within(
    part: impl Into<String>,
    problems: impl IntoIterator<Item = Problem>,
) -> impl Iterator<Item = Problem> {
    let part = part.into();
    problems.into_iter().map(move |problem| problem.within(&part))
}

/// A value as messages show it: as JSON, long ones cut off.
pub(crate) fn show(value: &Value) -> String {
    let mut start = Start(Vec::new());
    // An error reports that the rest was left out.
    let _ = serde_json::to_writer(&mut start, value);
    // A character may be cut in two.
    cut(String::from_utf8_lossy(&start.0).into_owned(), 48)
}

/// The first bytes of the written value; more is an error, so that a large value is not written out whole.
struct Start(Vec<u8>);

impl io::Write for Start {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // 49 characters of four bytes.
        let room = 196 - self.0.len();
        if room == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let taken = bytes.len().min(room);
        self.0.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A list of names as messages show it.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// A path one step longer.
pub(crate) fn join(path: &str, step: &str) -> String {
    match (path.is_empty(), step.is_empty()) {
        (true, _) => step.to_string(),
        (_, true) => path.to_string(),
        _ => format!("{path}.{step}"),
    }
}

/// The steps of paths that lead to the items of a list: an item's name where it has one of its own, else its index.
pub(crate) fn steps(items: &[Value]) -> Vec<String> {
    let mut uses = std::collections::BTreeMap::new();
    for name in items.iter().filter_map(name) {
        *uses.entry(name).or_insert(0) += 1;
    }
    let step = |(index, item)| match name(item).filter(|name| uses[name] == 1) {
        Some(name) => name.to_string(),
        None => format!("{index}"),
    };
    items.iter().enumerate().map(step).collect()
}

/// An item's name, if it can be a step of a path: no dot, and not to be taken for an index.
fn name(item: &Value) -> Option<&str> {
    let name = item.get("name")?.as_str()?;
    let usable = !name.is_empty() && !name.contains('.') && !name.bytes().all(|byte| byte.is_ascii_digit());
    usable.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn items_go_by_their_own_name_or_their_index() {
        let items = [
            json!({"name": "a"}),
            json!({"name": "b"}),
            json!({"name": "b"}),
            json!({"name": "7"}),
            json!(1),
        ];
        assert_eq!(steps(&items), ["a", "1", "2", "3", "4"]);
    }

    #[test]
    fn large_values_are_shown_and_kept_in_part() {
        let long = json!((0..1_000_000).collect::<Vec<_>>());
        assert_eq!(show(&long), "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,...");
        assert_eq!(Problem::new("", "").with_value(&long).value, None);
        assert_eq!(show(&json!("é".repeat(100))), format!("\"{}...", "é".repeat(47)));
        let map = json!({"a": ["x".repeat(500), {"b": "y".repeat(600)}]});
        assert_eq!(Problem::new("", "").with_value(&map).value, None);
        let small = json!({"a": ["x".repeat(500), {"b": 1}]});
        assert_eq!(Problem::new("", "").with_value(&small).value, Some(small));
    }

    #[test]
    fn long_names_are_cut() {
        let long = "é".repeat(5000);
        let problem = Problem::new(&long, &long).with_hint(Some(long.clone()));
        assert_eq!(problem.path, long);
        assert_eq!(problem.to_string().chars().count(), 303 + 2 + 1503 + 2 + 1503);
    }

    #[test]
    fn too_many_to_count_are_said_so() {
        let problems = Problems(vec![Problem::new("run.seed", "wrong"); PROBLEMS_MAX]);
        assert!(problems.to_string().ends_with("\nand at least 180 more"));
    }

    #[test]
    fn one_screen_at_most() {
        let problems = Problems(vec![Problem::new("run.seed", "wrong"); 25]);
        let text = problems.to_string();
        assert_eq!(text.lines().count(), 21);
        assert!(text.ends_with("\nand 5 more"));
    }
}
