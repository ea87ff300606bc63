//! What a run costs: wall time, CPU time of its thread, peak memory of the process.
//!
//! The simulator itself never looks at a clock. CPU time comes from Python's `time.thread_time`, which
//! knows how each platform counts it.

use std::time::Instant;

use pyo3::prelude::*;

/// A stopwatch started at the beginning of a run.
pub struct Cost {
    wall: Instant,
    cpu_s: f64,
}

impl Cost {
    pub fn start(py: Python<'_>) -> PyResult<Cost> {
        Ok(Cost { wall: Instant::now(), cpu_s: thread_time(py)? })
    }

    /// Wall seconds and CPU seconds of this thread since the start.
    pub fn so_far(&self, py: Python<'_>) -> PyResult<(f64, f64)> {
        Ok((self.wall.elapsed().as_secs_f64(), thread_time(py)? - self.cpu_s))
    }
}

fn thread_time(py: Python<'_>) -> PyResult<f64> {
    py.import("time")?.call_method0("thread_time")?.extract()
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
