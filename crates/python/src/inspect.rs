//! A scenario's network without a run: for pictures, for counts, and for other simulators.

use std::collections::HashMap;
use std::path::PathBuf;

use flowyard_sim::results::planned_flows;
use flowyard_sim::routing::survey::survey;
use flowyard_sim::scenario::{self, Problem, Problems};
use flowyard_sim::setup::Setup;
use flowyard_sim::topology::Topology;
use flowyard_sim::topology::cut::best_cut;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::scenario_error;
use crate::parse_format;
use crate::table::Table;

/// The nodes and directed links of a scenario's network, as JSON; the rest of the scenario may be missing.
#[pyfunction]
pub fn fabric(
    py: Python<'_>,
    text: &str,
    format: &str,
    overrides: Vec<(String, String)>,
) -> PyResult<String> {
    let topology = read(py, text, format, &overrides)?;
    let fabric = topology.build();
    let nodes = fabric.nodes.iter().enumerate().map(
        |(index, node)| json!({"name": node.name, "tier": node.tier, "host": index < fabric.hosts as usize}),
    );
    let links = fabric.links.iter().map(|link| json!([link.from.0, link.to.0, link.rate.0, link.delay.0]));
    let (nodes, links) = (nodes.collect::<Value>(), links.collect::<Value>());
    Ok(json!({"topology": topology, "nodes": nodes, "links": links}).to_string())
}

/// What there is to say about a scenario's network, as JSON: paths between hosts, oversubscription, bisection.
#[pyfunction]
pub fn survey_topology(
    py: Python<'_>,
    text: &str,
    format: &str,
    overrides: Vec<(String, String)>,
) -> PyResult<String> {
    let topology = read(py, text, format, &overrides)?;
    let (paths, bisection) = py.detach(|| {
        let fabric = topology.build();
        let bisection = match topology.bisection() {
            Some(known) => json!({"bps": known.bps as f64, "exact": true, "how": known.formula}),
            None => {
                let how = "the best balanced cut that a search found: an upper bound";
                json!({"bps": best_cut(&fabric) as f64, "exact": false, "how": how})
            }
        };
        (survey(&fabric), bisection)
    });
    let oversubscription = topology.oversubscription();
    Ok(json!({"paths": paths, "oversubscription": oversubscription, "bisection": bisection}).to_string())
}

/// The flows of a scenario that are drawn before its run: the columns of flows.parquet that say what was asked for.
#[pyfunction]
pub fn flows(
    py: Python<'_>,
    text: &str,
    format: &str,
    folder: PathBuf,
    overrides: Vec<(String, String)>,
) -> PyResult<Table> {
    let scenario = crate::read(py, text, format, &folder, &overrides)?;
    let setup = py
        .detach(|| Setup::new(&scenario))
        .map_err(|error| scenario_error(py, &Problems(vec![Problem::new("topology", error.to_string())])))?;
    Ok(Table::new(flowyard_tables::batch(planned_flows(&setup), HashMap::new())))
}

/// What there is to know of a run before it, as JSON: {needs: {memory_bytes, packet_hops, end_ps, sample_rows, port_looks},
/// derived: {path: value}, advice: [{path, message, write}]}. Raises ScenarioError if it needs more than `run` allows.
#[pyfunction]
pub fn outlook(
    py: Python<'_>,
    text: &str,
    format: &str,
    folder: PathBuf,
    overrides: Vec<(String, String)>,
) -> PyResult<String> {
    let scenario = crate::read(py, text, format, &folder, &overrides)?;
    let outlook = py.detach(|| flowyard_sim::outlook(&scenario));
    let outlook = outlook.map_err(|problems| scenario_error(py, &problems))?;
    Ok(serde_json::to_string(&outlook).expect("numbers and texts are plain JSON"))
}

fn read(py: Python<'_>, text: &str, format: &str, overrides: &[(String, String)]) -> PyResult<Topology> {
    let topology = scenario::read_topology(text, parse_format(format)?, overrides);
    topology.map_err(|problems| scenario_error(py, &problems))
}
