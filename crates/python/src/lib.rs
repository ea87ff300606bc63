//! The Python binding: module `flowyard._native`. Thin: it moves values across the border and has no
//! opinion about what they mean.

#![cfg_attr(not(test), warn(clippy::too_many_lines))]

mod agents;
mod checked;
mod errors;
mod fabric;
mod files;
mod measure;
mod panics;
mod paths;
mod prototypes;
mod rehearsal;
mod room;
mod run;
mod slotted;
mod table;

use flowyard_sim::records;
use flowyard_sim::results::intervals::Interval;
use flowyard_sim::scenario::{self, Format};
use flowyard_sim::traffic::sizes::cdf_file::{self, Options};
use flowyard_yardstick::chase::{self, Chase};
use flowyard_yardstick::floor::Floor;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::measure::Cost;
use crate::table::columns;

/// The compiled half of flowyard.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{chase_seconds, explain, floor_seconds, intervals, read_cdf, schema};
    #[pymodule_export]
    use crate::agents::agent_bytes;
    #[pymodule_export]
    use crate::checked::Checked;
    #[pymodule_export]
    use crate::errors::ScenarioError;
    #[pymodule_export]
    use crate::fabric::Fabric;
    #[pymodule_export]
    use crate::panics::take_panic;
    #[pymodule_export]
    use crate::paths::path_bytes;
    #[pymodule_export]
    use crate::prototypes::{Ack, Data, Flow, Hop, Host, Packet, Port, Received, Signal, Window};
    #[pymodule_export]
    use crate::rehearsal::{barrier_seconds, rehearse};
    #[pymodule_export]
    use crate::run::Outcome;
    #[pymodule_export]
    use crate::slotted::{Slotted, explain_slotted, slotted_schema};
    #[pymodule_export]
    use crate::table::Table;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::panics::keep();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("__engine__", env!("FLOWYARD_ENGINE"))?;
        if cfg!(debug_assertions) {
            let text = c"flowyard is a debug build: it simulates an order of magnitude slower. \
                         Build it with `make setup` or `pip install .`";
            let kind = module.py().get_type::<pyo3::exceptions::PyRuntimeWarning>();
            PyErr::warn(module.py(), &kind, text, 1)?;
        }
        Ok(())
    }
}

/// The JSON Schema of scenarios, as text.
#[pyfunction]
fn schema() -> String {
    scenario::schema()
}

/// CPU seconds in which bare packets cross so many links of a k-ary fat-tree: see `flowyard_yardstick::floor`.
#[pyfunction]
fn floor_seconds(py: Python<'_>, k: u32, hops: u64) -> PyResult<f64> {
    let mut floor = Floor::new(k);
    // Every packet crosses the fabric twice before the clock starts.
    py.detach(|| floor.run(12 * floor.packets()));
    let cost = Cost::start(py)?;
    py.detach(|| floor.run(hops));
    Ok(cost.so_far(py)?.1)
}

/// CPU seconds of so many dependent reads of memory: see `flowyard_yardstick::chase`.
#[pyfunction]
fn chase_seconds(py: Python<'_>, steps: u64) -> PyResult<f64> {
    let mut chase = Chase::new(chase::BYTES);
    let cost = Cost::start(py)?;
    // What a walk leads to must be wanted, or there would be no walk.
    std::hint::black_box(py.detach(|| chase.run(steps)));
    Ok(cost.so_far(py)?.1)
}

/// The ends of an interval.
type Ends = (Option<f64>, Option<f64>);

/// The 95 % intervals of the mean and of percentiles of observations in order of time: `flowyard_sim::results::intervals`.
#[pyfunction]
fn intervals(values: Vec<f64>, shares: Vec<f64>) -> (Ends, Vec<Ends>) {
    let ends = |interval: Interval| (interval.low, interval.high);
    let (mean, percentiles) = flowyard_sim::results::intervals::intervals(&values, &shares);
    (ends(mean), percentiles.into_iter().map(ends).collect())
}

fn parse_format(format: &str) -> PyResult<Format> {
    match format {
        "toml" => Ok(Format::Toml),
        "json" => Ok(Format::Json),
        other => {
            let text = format!("format is \"{other}\"; use \"toml\" or \"json\"");
            Err(pyo3::exceptions::PyValueError::new_err(text))
        }
    }
}

/// Content of a file with a distribution of sizes, as JSON: points, mean_bytes, dialect, interpolation.
///
/// `name` is what the file is called if it is wrong.
#[pyfunction]
#[pyo3(signature = (text, name, dialect=None, packet_bytes=None, interpolation=None))]
fn read_cdf(
    text: &str,
    name: &str,
    dialect: Option<&str>,
    packet_bytes: Option<u64>,
    interpolation: Option<&str>,
) -> PyResult<String> {
    let wrong = |why| pyo3::exceptions::PyValueError::new_err(format!("{name}: {why}"));
    let options = Options::named(dialect, packet_bytes, interpolation).map_err(wrong)?;
    let file = cdf_file::read(text, options).map_err(wrong)?;
    Ok(serde_json::to_string(&file).expect("points are plain JSON"))
}

/// The columns of all tables: {table: [{name, unit, kind, meaning}]}.
#[pyfunction]
fn explain(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let tables = [
        ("flows", records::flows::ALL),
        ("links", records::links::ALL),
        ("connections", records::connections::ALL),
        ("samples", records::samples::ALL),
        ("histograms", records::histograms::ALL),
        ("events", records::events::ALL),
    ];
    columns(py, &tables)
}
