//! Time of a run on more cores than there are: its lanes one after the other, each timed in each window.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use flowyard_sim::checked::Checked;
use flowyard_sim::engine::data::plan::Agenda;
use flowyard_sim::engine::parted::executor::Executor;
use flowyard_sim::problem::Problems;
use flowyard_sim::scenario::{self, Format};
use flowyard_sim::threads::Threads;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// An executor that does all lanes in turn and adds up the time of all of them and of the slowest in each window.
struct Rehearsal {
    lanes: usize,
    windows: Cell<u64>,
    all: Cell<Duration>,
    slowest: Cell<Duration>,
    ends: RefCell<Vec<Instant>>,
}

impl Executor for Rehearsal {
    fn lanes(&self) -> usize {
        self.lanes
    }

    fn lead(&self, task: &(dyn Fn(usize) + Sync), lead: &mut dyn FnMut(&dyn Fn())) {
        lead(&|| {
            let mut ends = self.ends.borrow_mut();
            ends.clear();
            ends.push(Instant::now());
            for lane in 0..self.lanes {
                task(lane);
                ends.push(Instant::now());
            }
            let slowest = ends.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default();
            self.windows.set(self.windows.get() + 1);
            self.all.set(self.all.get() + (ends[self.lanes] - ends[0]));
            self.slowest.set(self.slowest.get() + slowest);
        });
    }
}

/// Times of a scenario, given as JSON, in so many parts: `run_s`, its wall time on one thread, and of it `lanes_s`, which
/// threads would share, `slowest_s`, the time of the slowest lane in each window, and `windows`, the windows with lanes.
#[pyfunction]
pub fn rehearse<'py>(py: Python<'py>, text: &str, parts: u32) -> PyResult<Bound<'py, PyDict>> {
    let refused = |problems: Problems| PyValueError::new_err(problems.to_string());
    let read = scenario::read(text, Format::Json, &[], &scenario::no_files).map_err(refused)?;
    let checked = Checked::of(&read);
    let rehearsal = Rehearsal {
        lanes: parts as usize,
        windows: Cell::default(),
        all: Cell::default(),
        slowest: Cell::default(),
        ends: RefCell::default(),
    };
    let begun = Instant::now();
    let outcome =
        checked.simulate_in(parts, &rehearsal, Agenda::Calendar, &mut |_| true, &mut []).map_err(refused)?;
    let run = begun.elapsed();
    let times = PyDict::new(py);
    times.set_item("run_s", run.as_secs_f64())?;
    times.set_item("lanes_s", rehearsal.all.get().as_secs_f64())?;
    times.set_item("slowest_s", rehearsal.slowest.get().as_secs_f64())?;
    times.set_item("windows", rehearsal.windows.get())?;
    times.set_item("digest", outcome.summary.digest)?;
    Ok(times)
}

/// Seconds in which so many threads begin and end a window without work, on average over so many windows.
#[pyfunction]
pub fn barrier_seconds(py: Python<'_>, threads: usize, windows: u32) -> f64 {
    py.detach(|| {
        let mut taken = Duration::ZERO;
        Threads(threads).lead(&|_| (), &mut |all| {
            let begun = Instant::now();
            (0..windows).for_each(|_| all());
            taken = begun.elapsed();
        });
        taken.as_secs_f64() / f64::from(windows)
    })
}
