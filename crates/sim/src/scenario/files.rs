//! Contents of other files that a scenario names are put into it, so that the record of a run is complete.
//!
//! So far that is the distribution of `cdf = { file = "..." }`, wherever a field takes sizes.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::problem::{Problem, join, steps};
use crate::traffic::sizes::cdf::Cdf;
use crate::traffic::sizes::cdf_file::{self, Options};

/// The text of a file, named as the scenario names it; or why there is none.
pub type Files<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// For scenarios that come from nowhere near a file.
pub fn no_files(_name: &str) -> Result<String, String> {
    Err("there are no files here; give the points".into())
}

/// Replaces each file by its content, where the walk found no fault. One that cannot be read is a problem and
/// stays.
pub(super) fn put_in(document: &mut Value, found: &[Problem], files: &Files) -> Vec<Problem> {
    let mut visit = Visit { found, files, problems: Vec::new() };
    visit.value(document, "");
    visit.problems
}

struct Visit<'a> {
    found: &'a [Problem],
    files: &'a Files<'a>,
    problems: Vec<Problem>,
}

impl Visit<'_> {
    fn value(&mut self, value: &mut Value, path: &str) {
        match value {
            Value::Object(map) => {
                for (key, below) in map.iter_mut() {
                    let path = join(path, key);
                    if key == "cdf" && !self.found.iter().any(|problem| problem.path.starts_with(&path)) {
                        self.problems.extend(self.points(below, &path));
                    }
                    self.value(below, &path);
                }
            }
            // Lists of plain values may be long.
            Value::Array(items) if items.first().is_some_and(Value::is_object) => {
                let steps = steps(items);
                for (item, step) in items.iter_mut().zip(steps) {
                    self.value(item, &join(path, &step));
                }
            }
            _ => {}
        }
    }

    /// Puts the points of its file into a distribution; or returns why not.
    fn points(&self, value: &mut Value, path: &str) -> Option<Problem> {
        let cdf = Cdf::deserialize(&*value).ok()?;
        // With both, the check reports it.
        let name = cdf.file.filter(|_| cdf.points.is_empty())?;
        let options = Options {
            dialect: cdf.dialect,
            packet_bytes: cdf.packet_bytes.map(|bytes| bytes.0),
            interpolation: cdf.interpolation,
        };
        match (self.files)(&name).and_then(|text| cdf_file::read(&text, options)) {
            Ok(file) => {
                *value = json!({ "points": file.points });
                None
            }
            Err(why) => {
                let problem = Problem::new(join(path, "file"), format!("\"{name}\": {why}"));
                Some(problem.with_value(&json!(name)))
            }
        }
    }
}
