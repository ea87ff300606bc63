//! A scenario's network for Python: for pictures, for counts, and for other simulators.

use std::sync::Arc;

use flowyard_sim::routing::survey::survey;
use flowyard_sim::scenario;
use flowyard_sim::topology::cut::best_cut;
use flowyard_sim::topology::{self, Topology};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::parse_format;
use crate::room::Room;

/// A scenario's network: read, checked and built once.
#[pyclass(frozen, module = "flowyard")]
pub struct Fabric {
    topology: Topology,
    inner: Arc<topology::Fabric>,
}

impl Fabric {
    /// The binding of a network.
    pub fn of(checked: &flowyard_sim::Checked) -> Fabric {
        Fabric { topology: checked.scenario().topology.clone(), inner: Arc::clone(checked.fabric()) }
    }
}

#[pymethods]
impl Fabric {
    /// Reads the topology of a scenario, which may lack the rest; raises ScenarioError with all problems there. `require`:
    /// see `Checked`.
    #[new]
    #[pyo3(signature = (text, format, overrides, require=None))]
    fn new(
        py: Python<'_>,
        text: &str,
        format: &str,
        overrides: Vec<(String, String)>,
        require: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Fabric> {
        let (format, room) = (parse_format(format)?, Room::new(require));
        let read = scenario::read_network(text, format, &overrides, &|need| room.admits(need));
        let (topology, fabric) = room.checked(py, read)?;
        Ok(Fabric { topology, inner: Arc::new(fabric) })
    }

    /// The nodes and directed links, as JSON.
    fn graph(&self) -> String {
        let Fabric { topology, inner } = self;
        let nodes = inner.nodes.iter().enumerate().map(
            |(index, node)| json!({"name": node.name, "tier": node.tier, "host": index < inner.hosts as usize}),
        );
        let links = inner.links.iter().map(|link| json!([link.from.0, link.to.0, link.rate.0, link.delay.0]));
        let (nodes, links) = (nodes.collect::<Value>(), links.collect::<Value>());
        json!({"topology": topology, "nodes": nodes, "links": links}).to_string()
    }

    /// Survey of the network, as JSON: paths between hosts, oversubscription, bisection.
    fn survey(&self, py: Python<'_>) -> String {
        let Fabric { topology, inner } = self;
        let (paths, bisection) = py.detach(|| {
            let bisection = match topology.bisection() {
                Some(known) => json!({"bps": known.bps as f64, "exact": true, "how": known.formula}),
                None => {
                    let how = "the best balanced cut that a search found: an upper bound";
                    json!({"bps": best_cut(inner) as f64, "exact": false, "how": how})
                }
            };
            (survey(inner), bisection)
        });
        let oversubscription = topology.oversubscription();
        json!({"paths": paths, "oversubscription": oversubscription, "bisection": bisection}).to_string()
    }
}
