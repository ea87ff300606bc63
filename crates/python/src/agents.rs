//! What agents keep at their ports, counted for the benchmark.

use flowyard_sim::engine::Engine;
use flowyard_sim::engine::calendar::Agenda;
use flowyard_sim::scenario::{self, Format};
use flowyard_sim::setup::Setup;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Bytes of all agents once a scenario, given as JSON, has been run, and the number of ports that have one.
#[pyfunction]
pub fn agent_bytes(text: &str) -> PyResult<(u64, usize)> {
    let scenario = scenario::read(text, Format::Json, &[], &scenario::no_files)
        .map_err(|problems| PyValueError::new_err(problems.to_string()))?;
    let setup = Setup::new(&scenario, scenario.topology.build().into())
        .map_err(|apart| PyValueError::new_err(apart.to_string()))?;
    let plan = setup.plan(&scenario, Agenda::Calendar);
    let finished = Engine::new(&plan).run(&mut |_| true);
    Ok((finished.agent_bytes, finished.links.len()))
}
