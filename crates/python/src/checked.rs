//! A checked scenario for Python: read and checked once, for all that is asked of it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use flowyard_sim::results::planned_flows;
use pyo3::prelude::*;

use crate::errors::scenario_error;
use crate::fabric::Fabric;
use crate::measure::Cost;
use crate::prototypes::HandedIn;
use crate::room::Room;
use crate::run::{Outcome, run};
use crate::table::Table;
use crate::{files, parse_format};

/// A scenario in which nothing is wrong. Its flows are drawn when something first needs them, and only then.
#[pyclass(frozen, module = "flowyard")]
pub struct Checked {
    inner: flowyard_sim::Checked<'static>,
    /// Wall and CPU seconds that reading and setting up took, which are part of a run's cost.
    spent: Mutex<(f64, f64)>,
    prototypes: Arc<HandedIn>,
}

impl Checked {
    fn spend(&self, py: Python<'_>, cost: &Cost) -> PyResult<()> {
        let (wall_s, cpu_s) = cost.so_far(py)?;
        let mut spent = self.spent.lock().expect("nothing panics while it is held");
        *spent = (spent.0 + wall_s, spent.1 + cpu_s);
        Ok(())
    }
}

#[pymethods]
impl Checked {
    /// Reads and checks a scenario; raises ScenarioError with all problems.
    ///
    /// Files that the scenario names are looked for in the folder; prototypes are those that it may name.
    #[new]
    ///
    /// `require` is called with the bytes that the network will take, before it is built, and raises if there are not so
    /// many.
    #[pyo3(signature = (text, format, folder, overrides, prototypes=Vec::new(), require=None))]
    fn new(
        py: Python<'_>,
        text: &str,
        format: &str,
        folder: PathBuf,
        overrides: Vec<(String, String)>,
        prototypes: Vec<Bound<'_, PyAny>>,
        require: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Checked> {
        let cost = Cost::start(py)?;
        let files = |name: &str| files::read(&folder.join(name));
        let handed_in = HandedIn::new(prototypes)?;
        let prototypes = handed_in.prototypes(py)?;
        let (format, room) = (parse_format(format)?, Room::new(require));
        let admit = |need| room.admits(need);
        let inner = flowyard_sim::Checked::read_with(text, format, &overrides, &files, prototypes, &admit);
        let inner = room.checked(py, inner)?;
        let checked = Checked { inner, spent: Mutex::default(), prototypes: Arc::new(handed_in) };
        checked.spend(py, &cost)?;
        Ok(checked)
    }

    /// The scenario's repetition of that number, from 0 for itself; called `name` if it has none. Nothing of it is built or
    /// drawn yet.
    #[pyo3(signature = (number, name=None))]
    fn replica(&self, py: Python<'_>, number: u64, name: Option<&str>) -> PyResult<Checked> {
        let inner = self.inner.replica(number, name).map_err(|problems| scenario_error(py, &problems))?;
        Ok(Checked { inner, spent: Mutex::default(), prototypes: Arc::clone(&self.prototypes) })
    }

    /// The scenario as JSON with every default filled in; those that depend on other parts only if `whole`.
    fn resolved(&self, whole: bool) -> String {
        let resolved = whole.then(|| self.inner.scenario().resolved());
        let scenario = resolved.as_ref().unwrap_or(self.inner.scenario());
        scenario.to_json().to_string()
    }

    /// Estimates and advice for a run, before it, as JSON: {needs: {memory_bytes, packet_hops, end_ps, sample_rows,
    /// port_looks}, why_least, derived: {path: value}, advice: [{path, message, write}]}. Raises ScenarioError if it
    /// needs more than `run` allows.
    fn outlook(&self, py: Python<'_>) -> PyResult<String> {
        let cost = Cost::start(py)?;
        let outlook = py.detach(|| self.inner.outlook());
        self.spend(py, &cost)?;
        let outlook = outlook.map_err(|problems| scenario_error(py, &problems))?;
        Ok(serde_json::to_string(&outlook).expect("numbers and texts are plain JSON"))
    }

    /// Bytes that a run takes at least, found without drawing its flows.
    fn memory_least(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.inner.memory_least())
    }

    /// Its network.
    fn fabric(&self) -> Fabric {
        Fabric::of(&self.inner)
    }

    /// The flows that are drawn before the run: the columns of flows.parquet that say what was asked for.
    fn flows(&self, py: Python<'_>) -> PyResult<Table> {
        let setup = py.detach(|| self.inner.setup()).map_err(|problems| scenario_error(py, &problems))?;
        Ok(Table::new(flowyard_tables::batch(planned_flows(setup), HashMap::new())))
    }

    /// Runs it to its end. `progress` is called with a dict about five times a second.
    ///
    /// A KeyboardInterrupt, from Ctrl-C or raised by `progress`, ends the run early with status "interrupted" and
    /// the tables as they stand. Any other exception of `progress` ends it and is passed on, as is PrototypeError.
    #[pyo3(signature = (progress=None))]
    fn run(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<Outcome> {
        let spent = *self.spent.lock().expect("nothing panics while it is held");
        run(py, &self.inner, &self.prototypes, spent, progress)
    }
}
