//! A scenario's network without a run: for pictures, for counts, and for other simulators.

use flowyard_sim::routing::survey::survey;
use flowyard_sim::scenario;
use flowyard_sim::topology::Topology;
use flowyard_sim::topology::cut::best_cut;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::scenario_error;
use crate::parse_format;

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

fn read(py: Python<'_>, text: &str, format: &str, overrides: &[(String, String)]) -> PyResult<Topology> {
    let topology = scenario::read_topology(text, parse_format(format)?, overrides);
    topology.map_err(|problems| scenario_error(py, &problems))
}
