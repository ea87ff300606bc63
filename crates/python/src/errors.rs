//! Rust problems as Python exceptions with the same text.

use flowyard_sim::problem::Problems;
use pyo3::prelude::*;

pyo3::create_exception!(
    flowyard,
    ScenarioError,
    pyo3::exceptions::PyValueError,
    "A scenario that cannot be run; the text says all that is wrong, one a line.\n\n\
     Attributes:\n    problems: A dict for each, with path, message and, where there is one, value and hint."
);

/// All problems at once, as the simulator words them.
pub fn scenario_error(py: Python<'_>, problems: &Problems) -> PyErr {
    let error = ScenarioError::new_err(problems.to_string());
    let list = serde_json::to_string(problems).expect("problems are plain JSON");
    let set = |list| error.value(py).setattr("problems", py.import("json")?.call_method1("loads", (list,))?);
    match set(list) {
        Ok(()) => error,
        Err(other) => other,
    }
}
