//! What is wrong with a scenario: all of it at once, each with its path, the value, what is allowed
//! and the nearest fix.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    /// Where, as `--set` would address it (`transport.ndp.mtu`, `traffic.queries.flows`); empty for the text as a whole.
    pub path: String,
    /// The value found there, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// What is wrong and what is allowed.
    pub message: String,
    /// The nearest fix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// All that is wrong with a scenario; never empty. Values in the order of the text, then what does not fit together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problems(pub Vec<Problem>);

/// So many problems are printed: one screen.
const SHOWN: usize = 20;

impl Problem {
    /// A problem with a message alone.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem { path: path.into(), value: None, message: message.into(), hint: None }
    }

    /// The same, at a value.
    pub fn with_value(self, value: &Value) -> Problem {
        Problem { value: Some(value.clone()), ..self }
    }

    /// The same, with the nearest fix if there is one.
    pub fn with_hint(self, hint: Option<String>) -> Problem {
        Problem { hint, ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
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
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl std::error::Error for Problems {}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Problems {
        Problems(vec![problem])
    }
}

/// A value as messages show it: as JSON, long ones cut off.
pub(super) fn show(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(48) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// A list of names as messages show it.
pub(super) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// A path one step longer.
pub(super) fn join(path: &str, step: &str) -> String {
    match (path.is_empty(), step.is_empty()) {
        (true, _) => step.to_string(),
        (_, true) => path.to_string(),
        _ => format!("{path}.{step}"),
    }
}

/// The steps of paths that lead to the items of a list: an item's name where it has one of its own, else its index.
pub(super) fn steps(items: &[Value]) -> Vec<String> {
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
    fn one_screen_at_most() {
        let problems = Problems(vec![Problem::new("run.seed", "wrong"); 25]);
        let text = problems.to_string();
        assert_eq!(text.lines().count(), 21);
        assert!(text.ends_with("\nand 5 more"));
    }
}
