//! The text of a panic of the simulator: kept for the message that reports it, in place of one of its own on stderr.
//!
//! Python sees a panic as an exception with its text alone. The place in the source is in the hook's hands only.

use std::panic::{self, PanicHookInfo};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

/// The first panic since the last one was taken: others may follow from it, such as that of the thread which waits for it.
static FIRST: Mutex<Option<String>> = Mutex::new(None);

/// From now on panics are kept; with RUST_BACKTRACE they are printed as well, with their stack.
pub fn keep() {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        note(info);
        if std::env::var_os("RUST_BACKTRACE").is_some() {
            default(info);
        }
    }));
}

fn note(info: &PanicHookInfo<'_>) {
    let text = info.payload_as_str().unwrap_or("a panic without a text");
    let place = info.location().map_or(String::new(), |place| format!(" ({place})"));
    let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
    first.get_or_insert_with(|| format!("{text}{place}"));
}

/// The text of the first panic since the last call, and its place in the source; None if there was none.
#[pyfunction]
pub fn take_panic() -> Option<String> {
    FIRST.lock().unwrap_or_else(PoisonError::into_inner).take()
}
