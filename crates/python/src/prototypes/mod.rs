//! Members that are written in Python: their classes, what their calls cost, and the first thing that goes wrong in them.
//!
//! A verb that raises, or answers with what makes no sense, ends the run: from then on no verb is called, answers are such
//! that the engine's structures stay whole, and the run's results are thrown away for the one message.

mod balancer;
mod control;
mod numbers;
mod queue;
mod transport;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use flowyard_sim::prototype::Factory;
use flowyard_sim::scenario::Prototypes;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

pub use self::balancer::Hop;
pub use self::control::{Ack, Signal, Window};
pub use self::queue::{Packet, Port};
pub use self::transport::{Data, Flow, Host, Received};

/// The classes that were given for a scenario: `flowyard.prototypes.Handed` each.
#[derive(Default)]
pub struct HandedIn {
    all: Vec<Arc<Handed>>,
    run: Arc<Run>,
}

/// State common to all prototypes of a run.
#[derive(Default)]
struct Run {
    failed: AtomicBool,
    failure: Mutex<Option<PyErr>>,
}

/// A class that was given under a name.
pub struct Handed {
    /// The `Handed` of Python: the class, and the messages on it.
    handed: Py<PyAny>,
    name: String,
    fields: Map<String, Value>,
    calls: AtomicU64,
    nanoseconds: AtomicU64,
    /// Flows that were neither finished nor waiting for anything when the run ended: how many, and one of them.
    stuck: Mutex<Option<(usize, String)>>,
    run: Arc<Run>,
}

/// The same as the simulator has it: each kind's module implements that kind's trait for it.
#[derive(Debug)]
struct Class(Arc<Handed>);

impl HandedIn {
    /// Of a list of `Handed`.
    pub fn new(handed: Vec<Bound<'_, PyAny>>) -> PyResult<HandedIn> {
        let run = Arc::new(Run::default());
        let own = |handed: Bound<'_, PyAny>| {
            let fields: String = handed.getattr("fields")?.extract()?;
            Ok(Arc::new(Handed {
                name: handed.getattr("name")?.extract()?,
                fields: serde_json::from_str(&fields).expect("Python writes JSON"),
                handed: handed.unbind(),
                calls: AtomicU64::new(0),
                nanoseconds: AtomicU64::new(0),
                stuck: Mutex::new(None),
                run: Arc::clone(&run),
            }))
        };
        Ok(HandedIn { all: handed.into_iter().map(own).collect::<PyResult<_>>()?, run })
    }

    /// As the simulator takes them.
    pub fn prototypes(&self, py: Python<'_>) -> PyResult<Prototypes> {
        let mut prototypes = Prototypes::default();
        for handed in &self.all {
            let kind: String = handed.handed.getattr(py, "kind")?.extract(py)?;
            let (name, class) = (handed.name.clone(), Arc::new(Class(Arc::clone(handed))));
            match kind.as_str() {
                "transport" => drop(prototypes.transport.transports.insert(name, class)),
                "control" => drop(prototypes.transport.controls.insert(name, class)),
                "queue" => drop(prototypes.queues.insert(name, class)),
                "balancer" => drop(prototypes.balancers.insert(name, class)),
                other => unreachable!("Python knows no kind {other}"),
            }
        }
        Ok(prototypes)
    }

    /// A run begins.
    pub fn begin(&self) {
        self.run.failed.store(false, Ordering::Relaxed);
        *self.run.failure.lock().expect("nothing panics while it is held") = None;
        for handed in &self.all {
            handed.calls.store(0, Ordering::Relaxed);
            handed.nanoseconds.store(0, Ordering::Relaxed);
            *handed.stuck.lock().expect("nothing panics while it is held") = None;
        }
    }

    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether one of them has failed.
    pub fn has_failed(&self) -> bool {
        self.run.failed.load(Ordering::Relaxed)
    }

    /// Why, if so.
    pub fn failure(&self) -> Option<PyErr> {
        self.run.failure.lock().expect("nothing panics while it is held").take()
    }

    /// Of a run that has stalled at that time, the failure of a transport whose flows wait for nothing.
    pub fn stuck(&self, py: Python<'_>, now_ps: u64) -> Option<PyErr> {
        self.all.iter().find_map(|handed| {
            let (flows, one) = handed.stuck.lock().expect("nothing panics while it is held").take()?;
            let others = if flows > 1 { format!(" (one of {flows} such flows)") } else { String::new() };
            let text = format!("{one}{others}: a sender has to call flow.finish()");
            Some(handed.told(py, "next_packet", now_ps, &PyValueError::new_err(text)))
        })
    }

    /// Costs of the prototypes that the run called, for its summary, given its wall-clock seconds.
    pub fn costs(&self, py: Python<'_>, wall_s: f64) -> PyResult<Vec<Value>> {
        let called = self.all.iter().filter(|handed| handed.calls.load(Ordering::Relaxed) > 0);
        let cost = |handed: &Arc<Handed>| {
            let text: String = handed.handed.call_method0(py, "described")?.extract(py)?;
            let mut cost: Value = serde_json::from_str(&text).expect("Python writes JSON");
            let seconds = handed.nanoseconds.load(Ordering::Relaxed) as f64 / 1e9;
            cost["calls"] = json!(handed.calls.load(Ordering::Relaxed));
            cost["python_s"] = json!(seconds);
            cost["share"] = json!(if wall_s > 0.0 { (seconds / wall_s).min(1.0) } else { 0.0 });
            Ok(cost)
        };
        called.map(cost).collect()
    }
}

impl Handed {
    /// Calls into Python, in that verb at that time; `otherwise` is what is answered for one that has failed.
    fn call<T>(
        &self,
        verb: &'static str,
        now_ps: u64,
        otherwise: T,
        call: impl FnOnce(Python<'_>) -> PyResult<T>,
    ) -> T {
        if self.run.failed.load(Ordering::Relaxed) {
            return otherwise;
        }
        let since = Instant::now();
        let answer = Python::attach(|py| call(py).map_err(|error| self.told(py, verb, now_ps, &error)));
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(since.elapsed().as_nanos() as u64, Ordering::Relaxed);
        answer.unwrap_or_else(|error| {
            *self.run.failure.lock().expect("nothing panics while it is held") = Some(error);
            self.run.failed.store(true, Ordering::Relaxed);
            otherwise
        })
    }

    /// The user's mistake in the user's words; or what went wrong on the way to them.
    fn told(&self, py: Python<'_>, verb: &str, now_ps: u64, error: &PyErr) -> PyErr {
        let told = error
            .value(py)
            .setattr("__traceback__", error.traceback(py))
            .and_then(|()| self.handed.call_method1(py, "failure", (verb, now_ps, error.value(py))));
        told.map_or_else(|other| other, |told| PyErr::from_value(told.into_bound(py)))
    }

    /// The run has ended, and so many flows would never have; one of them is described.
    fn note_stuck(&self, flows: usize, one: String) {
        *self.stuck.lock().expect("nothing panics while it is held") = Some((flows, one));
    }

    /// An object of the class, made with these settings.
    fn make<'py>(&self, py: Python<'py>, settings: &Map<String, Value>) -> PyResult<Bound<'py, PyAny>> {
        let text = Value::from(settings.clone()).to_string();
        self.handed.bind(py).call_method1("make", (text,))
    }

    /// The method of an object of the class, if the class or one between it and its base has it.
    fn verb(&self, object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Py<PyAny>>> {
        let has: bool = self.handed.bind(object.py()).call_method1("has", (name,))?.extract()?;
        if has { Ok(Some(object.getattr(name)?.unbind())) } else { Ok(None) }
    }
}

impl Factory for Class {
    fn fields(&self) -> Map<String, Value> {
        self.0.fields.clone()
    }

    fn refusal(&self, settings: &Map<String, Value>) -> Option<String> {
        let text = Value::from(settings.clone()).to_string();
        Python::attach(|py| {
            let refusal = self.0.handed.call_method1(py, "refusal", (text,));
            refusal.and_then(|refusal| refusal.extract(py)).unwrap_or_else(|error| Some(error.to_string()))
        })
    }
}

impl fmt::Debug for Handed {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "the prototype {}", self.name)
    }
}

/// Refuses a value that is returned by a verb without a result.
fn nothing(returned: &Bound<'_, PyAny>) -> PyResult<()> {
    if returned.is_none() {
        return Ok(());
    }
    let text = format!("it returns {}; it is to return nothing", returned.repr()?);
    Err(PyTypeError::new_err(text))
}
