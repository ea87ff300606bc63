//! Costs of a run: wall time, CPU time of its thread or, if it has several, of the process, peak memory of the process.
//!
//! The simulator itself never looks at a clock. CPU time comes from Python's `time.thread_time` and
//! `time.process_time`, which know how each platform counts it.

use std::time::Instant;

use pyo3::prelude::*;

/// A stopwatch started at the beginning of a run.
pub struct Cost {
    wall: Instant,
    clock: &'static str,
    cpu_s: f64,
}

impl Cost {
    /// Of this thread.
    pub fn start(py: Python<'_>) -> PyResult<Cost> {
        Cost::start_on(py, "thread_time")
    }

    /// Of the whole process: what threads take that a run starts.
    pub fn start_process(py: Python<'_>) -> PyResult<Cost> {
        Cost::start_on(py, "process_time")
    }

    fn start_on(py: Python<'_>, clock: &'static str) -> PyResult<Cost> {
        Ok(Cost { wall: Instant::now(), clock, cpu_s: cpu_time(py, clock)? })
    }

    /// Wall seconds and CPU seconds since the start.
    pub fn so_far(&self, py: Python<'_>) -> PyResult<(f64, f64)> {
        Ok((self.wall.elapsed().as_secs_f64(), cpu_time(py, self.clock)? - self.cpu_s))
    }
}

fn cpu_time(py: Python<'_>, clock: &str) -> PyResult<f64> {
    py.import("time")?.call_method0(clock)?.extract()
}

/// The most memory that the process ever had resident; `None` where the platform does not say.
pub fn peak_memory_bytes(py: Python<'_>) -> Option<u64> {
    // `getrusage` would do on Linux too, were it not for a child that inherits its parent's peak.
    let status = std::fs::read_to_string("/proc/self/status").ok();
    let line = status.as_deref().and_then(|status| status.lines().find(|line| line.starts_with("VmHWM:")));
    match line {
        Some(line) => line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024),
        // macOS counts in bytes; Windows has no such module.
        None => {
            let resource = py.import("resource").ok()?;
            let usage = resource.call_method1("getrusage", (resource.getattr("RUSAGE_SELF").ok()?,)).ok()?;
            usage.getattr("ru_maxrss").ok()?.extract().ok()
        }
    }
}
