//! Numbers that come from Python: whole or not, checked against bounds, with words on what is allowed.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};

/// More bytes than any scenario moves at once; below it whole numbers are exact as floating-point ones, too.
pub const MOST: u64 = 1 << 53;

/// A number of bytes from `least` on, rounded down; `what` is its name in messages.
pub fn bytes(value: &Bound<'_, PyAny>, what: &str, least: u64) -> PyResult<u64> {
    let allowed = || format!("a number of bytes from {least} to 2**53");
    let number = number(value, what, &allowed())?;
    if number >= least as f64 && number <= MOST as f64 {
        return Ok(number as u64);
    }
    Err(PyValueError::new_err(format!("{what} = {}: use {}", value.repr()?, allowed())))
}

/// A number that is no truth value and not nan.
pub fn number(value: &Bound<'_, PyAny>, what: &str, allowed: &str) -> PyResult<f64> {
    let wrong = || -> PyResult<PyErr> {
        let kind = value.get_type().name()?;
        Ok(PyTypeError::new_err(format!("{what} = {}, of type {kind}: use {allowed}", value.repr()?)))
    };
    if value.is_instance_of::<PyBool>() {
        return Err(wrong()?);
    }
    if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
        let number: f64 = value.extract().unwrap_or(f64::INFINITY);
        return if number.is_nan() { Err(wrong()?) } else { Ok(number) };
    }
    // Numbers of other libraries, such as numpy's.
    match value.call_method0("__float__").and_then(|number| number.extract::<f64>()) {
        Ok(number) if !number.is_nan() => Ok(number),
        _ => Err(wrong()?),
    }
}

/// A rate in bit/s above zero, or none.
pub fn rate(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Option<u64>> {
    if value.is_none() {
        return Ok(None);
    }
    let allowed = "a rate from 1 to 10**15 bit/s, or None";
    let number = number(value, what, allowed)?;
    if (1.0..=1e15).contains(&number) {
        return Ok(Some(number as u64));
    }
    Err(PyValueError::new_err(format!("{what} = {}: use {allowed}", value.repr()?)))
}

/// A whole number within bounds.
pub fn whole(value: &Bound<'_, PyAny>, what: &str, least: u64, most: u64) -> PyResult<u64> {
    let is_whole = !value.is_instance_of::<PyBool>() && !value.is_instance_of::<PyFloat>();
    match value.extract::<u64>() {
        Ok(number) if is_whole && (least..=most).contains(&number) => Ok(number),
        _ => {
            let text = format!("{what} = {}: use a whole number from {least} to {most}", value.repr()?);
            Err(PyValueError::new_err(text))
        }
    }
}

/// The same for an argument that need not be given.
pub fn whole_or(
    value: Option<&Bound<'_, PyAny>>,
    otherwise: u64,
    what: &str,
    least: u64,
    most: u64,
) -> PyResult<u64> {
    value.map_or(Ok(otherwise), |value| whole(value, what, least, most))
}
