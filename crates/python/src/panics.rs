//! The text of a panic of the simulator: kept for the message that reports it, in place of one of its own on stderr.
//!
//! Python sees a panic as an exception with its text alone. The place in the source is in the hook's hands only.

use std::panic;

use flowyard_sim::threads;
use pyo3::prelude::*;

/// From now on panics are kept; with RUST_BACKTRACE they are printed as well, with their stack.
pub fn keep() {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        threads::keep_panic(info);
        if std::env::var_os("RUST_BACKTRACE").is_some() {
            default(info);
        }
    }));
}

/// The text of the last panic in a call from this thread, and its place in the source; None if there was none since the
/// last call of this function.
#[pyfunction]
pub fn take_panic() -> Option<String> {
    threads::take_panic()
}
