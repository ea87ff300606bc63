//! One run: the simulator works without the GIL and comes up for air a few times a second, to let
//! Python handle its signals and show progress.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use flowyard_sim::engine::contract::observer::Observer;
use flowyard_sim::engine::data::finished::Status;
use flowyard_sim::engine::data::progress::Progress;
use flowyard_sim::observe::capture::Cable;
use flowyard_sim::problem::Problems;
use flowyard_sim::results::{Observed, Summary};
use flowyard_sim::{Checked, records};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::{Map, Value, json};

use crate::errors::scenario_error;
use crate::measure::{Cost, peak_memory_bytes};
use crate::prototypes::HandedIn;
use crate::table::Table;

/// Time between two looks at Python: progress moves visibly, Ctrl-C feels immediate, the run does not notice.
const BREATH: Duration = Duration::from_millis(200);

/// Result of a run: its tables, and its summary as JSON text.
#[pyclass(frozen, module = "flowyard")]
pub struct Outcome {
    #[pyo3(get)]
    flows: Py<Table>,
    #[pyo3(get)]
    links: Py<Table>,
    #[pyo3(get)]
    connections: Option<Py<Table>>,
    #[pyo3(get)]
    samples: Option<Py<Table>>,
    #[pyo3(get)]
    histograms: Option<Py<Table>>,
    #[pyo3(get)]
    events: Option<Py<Table>>,
    cables: Vec<Cable>,
    #[pyo3(get)]
    summary: String,
}

#[pymethods]
impl Outcome {
    /// The captured packets: (name, content) of a pcap file for each cable.
    fn captures<'py>(&self, py: Python<'py>) -> Vec<(String, Bound<'py, PyBytes>)> {
        let file =
            |cable| (flowyard_tables::file_name(cable), PyBytes::new(py, &flowyard_tables::pcap(cable)));
        self.cables.iter().map(file).collect()
    }
}

/// Runs a checked scenario to its end: see `Checked.run`. `spent` is what reading it took, in wall and CPU seconds.
pub fn run(
    py: Python<'_>,
    checked: &Checked,
    prototypes: &HandedIn,
    spent: (f64, f64),
    progress: Option<Py<PyAny>>,
) -> PyResult<Outcome> {
    let alone = checked.scenario().run.threads == 1;
    let cost = if alone { Cost::start(py)? } else { Cost::start_process(py)? };

    prototypes.begin();
    let simulate = || simulate(checked, prototypes, progress.as_ref());
    // With members in Python the run would ask for the GIL at each of their calls.
    let (outcome, failure, deciding) = if prototypes.is_empty() { py.detach(simulate) } else { simulate() };
    if let Some(error) = prototypes.failure() {
        return Err(error);
    }
    if let Some(error) = failure.filter(|error| !error.is_instance_of::<PyKeyboardInterrupt>(py)) {
        return Err(error);
    }

    let outcome = outcome.map_err(|problems| scenario_error(py, &problems))?;
    let Summary { status, end_ps, .. } = outcome.summary;
    if status == Status::Stalled
        && outcome.summary.deadlock.is_empty()
        && let Some(error) = prototypes.stuck(py, end_ps)
    {
        return Err(error);
    }

    let mut summary = outcome.summary.to_json();
    add_cost(py, &mut summary, spent, &cost)?;
    if let Some(control) = summary["counters"].get_mut("control") {
        control["wall_s"] = json!(deciding.as_secs_f64());
    }
    if !prototypes.is_empty() {
        let wall_s = summary["counters"]["wall_s"].as_f64().unwrap_or_default();
        summary["prototypes"] = json!(prototypes.costs(py, wall_s)?);
    }
    summary["engine"] = json!(env!("FLOWYARD_ENGINE"));
    if checked.scenario().run.audit {
        summary["violations"] = json!(outcome.violations);
    }
    let metadata = metadata(&summary);
    let table = |table: records::Table| {
        let mut metadata = metadata.clone();
        metadata.insert("flowyard.table".into(), table.name.into());
        Py::new(py, Table::new(flowyard_tables::batch(table, metadata)))
    };
    let Observed { samples, histograms, events, cables } = outcome.observed;
    Ok(Outcome {
        flows: table(outcome.flows)?,
        links: table(outcome.links)?,
        connections: outcome.connections.map(table).transpose()?,
        samples: samples.map(table).transpose()?,
        histograms: histograms.map(table).transpose()?,
        events: events.map(table).transpose()?,
        cables,
        summary: summary.to_string(),
    })
}

/// The outcome of the simulation, the exception that ended it, if one did, and the time that its controller took.
fn simulate(
    checked: &Checked,
    prototypes: &HandedIn,
    progress: Option<&Py<PyAny>>,
) -> (Result<flowyard_sim::results::Outcome, Problems>, Option<PyErr>, Duration) {
    let mut failure = None;
    let mut last_breath = Instant::now();
    let watch = &mut |now: &Progress| {
        if prototypes.has_failed() {
            return false;
        }
        if last_breath.elapsed() < BREATH {
            return true;
        }
        let result = Python::attach(|py| breathe(py, now, progress));
        last_breath = Instant::now();
        match result {
            Ok(()) => true,
            Err(error) => {
                failure = Some(error);
                false
            }
        }
    };
    let mut deciding = Deciding { since: Instant::now(), total: Duration::ZERO };
    let mut observers: Vec<&mut dyn Observer> = Vec::new();
    if checked.scenario().controller.is_some() {
        observers.push(&mut deciding);
    }
    let outcome = checked.simulate(watch, &mut observers);
    (outcome, failure, deciding.total)
}

/// How long the run's controller takes to decide and to tell the hosts, all times together.
struct Deciding {
    since: Instant,
    total: Duration,
}

impl Observer for Deciding {
    fn control_begins(&mut self) {
        self.since = Instant::now();
    }

    fn control_ends(&mut self) {
        self.total += self.since.elapsed();
    }
}

fn breathe(py: Python<'_>, now: &Progress, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    let Some(progress) = progress else { return Ok(()) };
    let dict = PyDict::new(py);
    dict.set_item("now_ps", now.now.0)?;
    dict.set_item("from_ps", now.from.0)?;
    dict.set_item("until_ps", now.until.map(|until| until.0))?;
    dict.set_item("flows_done", now.flows_done)?;
    dict.set_item("flows", now.flows)?;
    dict.set_item("packet_hops", now.packet_hops)?;
    dict.set_item("events", now.events)?;
    progress.call1(py, (dict,)).map(drop)
}

/// Adds the costs of the run, which the simulator cannot know.
fn add_cost(py: Python<'_>, summary: &mut Value, spent: (f64, f64), cost: &Cost) -> PyResult<()> {
    let (wall_s, cpu_s) = cost.so_far(py)?;
    let (wall_s, cpu_s) = (spent.0 + wall_s, spent.1 + cpu_s);
    let counters = summary["counters"].as_object_mut().expect("a summary has counters");
    counters.insert("wall_s".into(), json!(wall_s));
    counters.insert("cpu_s".into(), json!(cpu_s));
    counters.insert("peak_memory_bytes".into(), json!(peak_memory_bytes(py)));
    Ok(())
}

/// Provenance of a table, which stays with it wherever it is copied to.
fn metadata(summary: &Value) -> HashMap<String, String> {
    let keys = [("flowyard", "version"), ("seed", "seed"), ("replica", "replica"), ("digest", "digest")];
    let empty = Map::new();
    let summary = summary.as_object().unwrap_or(&empty);
    let found = keys.into_iter().filter_map(|(key, name)| {
        let text = match summary.get(key)? {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some((format!("flowyard.{name}"), text))
    });
    found.collect()
}
