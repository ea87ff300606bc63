//! Memory of agents at their ports, counted for the benchmark.

use flowyard_sim::checked::Checked;
use flowyard_sim::problem::Problems;
use flowyard_sim::scenario::{self, Format};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Bytes of all agents once a scenario, given as JSON, has been run, and the number of ports that have one.
#[pyfunction]
pub fn agent_bytes(text: &str) -> PyResult<(u64, usize)> {
    let refused = |problems: Problems| PyValueError::new_err(problems.to_string());
    let read = scenario::read(text, Format::Json, &[], &scenario::no_files).map_err(refused)?;
    Checked::of(&read).agent_bytes().map_err(refused)
}
