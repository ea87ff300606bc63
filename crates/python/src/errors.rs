//! Rust problems as Python exceptions with the same text.

use pyo3::prelude::*;

use crate::sim::scenario::Problems;

pyo3::create_exception!(
    flowyard,
    ScenarioError,
    pyo3::exceptions::PyValueError,
    "A scenario that cannot be run: every problem, one a line, each with its path, the value, and what is allowed."
);

/// All problems at once, as the simulator words them.
pub fn scenario_error(problems: &Problems) -> PyErr {
    ScenarioError::new_err(problems.to_string())
}
