//! Whether there is memory for a network: Python knows what the system leaves, and the simulator what it is about to build.

use std::cell::RefCell;

use flowyard_sim::problem::Problems;
use pyo3::prelude::*;

use crate::errors::scenario_error;

/// A judge in Python, and the exception by which it has refused.
pub struct Room<'py> {
    require: Option<Bound<'py, PyAny>>,
    refused: RefCell<Option<PyErr>>,
}

impl<'py> Room<'py> {
    /// `require` raises if there is no memory for so many bytes; without it there is memory for all.
    pub fn new(require: Option<Bound<'py, PyAny>>) -> Room<'py> {
        Room { require, refused: RefCell::default() }
    }

    /// Whether there is memory for so many bytes.
    pub fn admits(&self, need: u64) -> bool {
        let Some(require) = &self.require else { return true };
        match require.call1((need,)) {
            Ok(_) => true,
            Err(error) => {
                self.refused.replace(Some(error));
                false
            }
        }
    }

    /// Result of reading with this judge; or the judge's exception, which says more than the simulator's problem.
    pub fn checked<T>(self, py: Python<'py>, read: Result<T, Problems>) -> PyResult<T> {
        match self.refused.into_inner() {
            Some(error) => Err(error),
            None => read.map_err(|problems| scenario_error(py, &problems)),
        }
    }
}
