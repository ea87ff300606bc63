//! Load balancers: `flowyard.prototypes.Balancer`.

use std::fmt;
use std::sync::Arc;

use flowyard_sim::balancer::python::{Choice, Prototype};
use flowyard_sim::engine::contract::path;
use flowyard_sim::units::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};
use serde_json::{Map, Value};

use super::{Class, Handed};

/// A packet at a node from which several next hops lead to where it goes.
#[pyclass(frozen, get_all, module = "flowyard._native")]
pub struct Hop {
    /// How many next hops there are.
    count: u32,
    /// Stands for the 5-tuple of the packet's flow, in its direction.
    flow: u32,
    /// The node's number.
    node: u32,
    /// A random number of 64 bits of the node's own.
    salt: u64,
    /// A number that no other hop of any packet has.
    ticket: u64,
    /// Links that the packet has crossed.
    hops: u8,
    /// The time in picoseconds.
    now_ps: u64,
}

impl Prototype for Class {
    fn start(&self, settings: &Map<String, Value>) -> Box<dyn Choice> {
        let handed = &self.0;
        let choose =
            handed.call("__init__", 0, None, |py| handed.verb(&handed.make(py, settings)?, "choose"));
        Box::new(Own { handed: Arc::clone(handed), choose })
    }
}

/// The object of all nodes.
struct Own {
    handed: Arc<Handed>,
    choose: Option<Py<PyAny>>,
}

impl fmt::Debug for Own {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "the object of {:?}", self.handed)
    }
}

impl Choice for Own {
    fn choose(&mut self, hop: path::Hop, salt: u64, now: Time) -> u32 {
        let Some(verb) = &self.choose else { return 0 };
        self.handed.call("choose", now.0, 0, |py| {
            let count = hop.count();
            let hop = Hop {
                count,
                flow: hop.label,
                node: hop.at.0,
                salt,
                ticket: hop.ticket,
                hops: hop.hops,
                now_ps: now.0,
            };
            let returned = verb.bind(py).call1((hop,))?;
            let whole = returned.is_instance_of::<PyInt>() && !returned.is_instance_of::<PyBool>();
            match returned.extract::<u32>() {
                Ok(chosen) if whole && chosen < count => Ok(chosen),
                _ => {
                    let text = format!(
                        "it returns {}; use a whole number from 0 to {}",
                        returned.repr()?,
                        count - 1
                    );
                    Err(PyValueError::new_err(text))
                }
            }
        })
    }
}
