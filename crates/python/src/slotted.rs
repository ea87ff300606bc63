//! The slotted link: runs, and disciplines that are written in Python.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flowyard_sim::slotted::{self, Discipline, EarlyTermination, NO_DEADLINE, Service, Slot, config, tables};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use serde_json::json;

use crate::errors::scenario_error;
use crate::parse_format;
use crate::table::{Table, columns};

/// Time between two looks at Python.
const BREATH: Duration = Duration::from_millis(200);

/// A configuration of the slotted link in which nothing is wrong; see python/flowyard/slotted.
#[pyclass(frozen, module = "flowyard")]
pub struct Slotted {
    inner: config::Slotted,
}

#[pymethods]
impl Slotted {
    /// Reads and checks a configuration; raises ScenarioError with all problems.
    #[new]
    fn new(py: Python<'_>, text: &str, format: &str, overrides: Vec<(String, String)>) -> PyResult<Slotted> {
        let inner = slotted::read(text, parse_format(format)?, &overrides);
        inner.map(|inner| Slotted { inner }).map_err(|problems| scenario_error(py, &problems))
    }

    /// The configuration with every default filled in, as JSON.
    fn resolved(&self) -> String {
        self.inner.to_json().to_string()
    }

    /// Runs it: the tables of flows and of the schedule, and a summary as JSON text.
    ///
    /// `discipline` stands in for the configuration's own; `schedule` keeps who was served when, whether or not
    /// `run.schedule` asks for it. `progress` is called with the number of slots about five
    /// times a second. A KeyboardInterrupt, from Ctrl-C or raised by `progress`, ends the run early with status
    /// "interrupted"; any other exception is passed on.
    #[pyo3(signature = (discipline=None, schedule=false, progress=None))]
    fn run(
        &self,
        py: Python<'_>,
        discipline: Option<Py<PyAny>>,
        schedule: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Table, Table, String)> {
        let mut config = Cow::Borrowed(&self.inner);
        if schedule {
            config.to_mut().run.schedule = true;
        }
        let config = &*config;
        let mut failure = None;
        let mut last = Instant::now();
        // Set by a discipline in Python that raised.
        let gave_up = AtomicBool::new(false);
        let mut watch = |slots: u64| {
            if gave_up.load(Ordering::Relaxed) {
                return false;
            }
            if last.elapsed() < BREATH {
                return true;
            }
            let answer = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (slots,)).map(drop))
            });
            last = Instant::now();
            answer.map_err(|error| failure = Some(error)).is_ok()
        };
        let (outcome, raised) = match discipline {
            None => (py.detach(|| slotted::run(config, &mut watch)), None),
            Some(function) => {
                let mut own = Own { function, error: None, gave_up: &gave_up };
                (slotted::run_with(config, &mut own, &mut |slots| watch(slots)), own.error)
            }
        };
        if let Some(error) = raised {
            return Err(error);
        }
        if let Some(error) = failure.filter(|error| !error.is_instance_of::<PyKeyboardInterrupt>(py)) {
            return Err(error);
        }
        let summary = json!({
            "config": config.to_json(),
            "status": if outcome.interrupted { "interrupted" } else { "complete" },
            "slots": outcome.slots,
            "sent": outcome.sent,
            "wasted": outcome.wasted,
            "present_mean": outcome.present as f64 / (outcome.slots.max(1)) as f64,
            "decisions": outcome.decisions,
            "operations": outcome.operations,
        });
        let table = |table| Table::new(flowyard_tables::batch(table, HashMap::new()));
        Ok((table(outcome.flows_table()), table(outcome.schedule_table()), summary.to_string()))
    }
}

/// The JSON Schema of configurations, as text.
#[pyfunction]
pub fn slotted_schema() -> String {
    slotted::schema()
}

/// The columns of both tables: {table: [{name, unit, kind, meaning}]}.
#[pyfunction]
pub fn explain_slotted(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    columns(py, &[("flows", tables::slotted_flows::ALL), ("schedule", tables::slotted_schedule::ALL)])
}

/// A discipline in Python: `function(slot, flows)`, with a tuple (id, size, left, slots left) for each flow, answers
/// with the id of the flow to serve, None, or a dict of shares by id.
struct Own<'a> {
    function: Py<PyAny>,
    error: Option<PyErr>,
    gave_up: &'a AtomicBool,
}

impl Own<'_> {
    fn ask(&self, py: Python<'_>, slot: &Slot, shares: &mut [f64]) -> PyResult<Service> {
        let tuples = slot.flows.iter().map(|flow| {
            let time_left = (flow.deadline < NO_DEADLINE).then(|| flow.time_left(slot.now));
            PyTuple::new(
                py,
                [
                    flow.id.into_pyobject(py)?.into_any(),
                    flow.size.into_pyobject(py)?.into_any(),
                    flow.left.into_pyobject(py)?.into_any(),
                    time_left.into_pyobject(py)?.into_any(),
                ],
            )
        });
        let flows = PyList::new(py, tuples.collect::<PyResult<Vec<_>>>()?)?;
        let answer = self.function.bind(py).call1((slot.now, flows))?;
        let place = |id: u32| {
            let found = slot.flows.binary_search_by_key(&id, |flow| flow.id);
            found.map_err(|_| {
                PyValueError::new_err(format!("the discipline serves flow {id}, which is not there"))
            })
        };
        if answer.is_none() {
            return Ok(Service::Nobody);
        }
        let Ok(given) = answer.cast::<PyDict>() else {
            return Ok(Service::One(place(answer.extract()?)?));
        };
        for (id, share) in given {
            let share: f64 = share.extract()?;
            shares[place(id.extract()?)?] = share;
        }
        let sum: f64 = shares.iter().sum();
        if shares.iter().any(|share| !(0.0..=1.0).contains(share)) || sum > 1.0 + 1e-9 {
            let text =
                format!("the discipline's shares are not from 0 to 1, or sum up to {sum}, which is above 1");
            return Err(PyValueError::new_err(text));
        }
        Ok(Service::Shares)
    }
}

impl Discipline for Own<'_> {
    fn serve(&mut self, slot: &Slot, shares: &mut [f64]) -> Service {
        if self.error.is_some() {
            return Service::Nobody;
        }
        match Python::attach(|py| self.ask(py, slot, shares)) {
            Ok(service) => service,
            Err(error) => {
                self.error = Some(error);
                self.gave_up.store(true, Ordering::Relaxed);
                Service::Nobody
            }
        }
    }

    fn early_termination(&self) -> EarlyTermination {
        EarlyTermination::Expired
    }
}
