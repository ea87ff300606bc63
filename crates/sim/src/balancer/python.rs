//! A load balancer that is written in Python, as a prototype: the way from a node's choice to its object.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Prototypes, Settings};
use crate::engine::contract::path::{Choose, Hop};
use crate::prototype::{Bound, Factory};
use crate::random::salts;
use crate::topology::Fabric;
use crate::units::Time;

/// A load balancer written in Python, a prototype: `flowyard run --prototype FILE`, or `balancers` of flowyard.run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PythonBalancer {
    /// Name of its class, as given to flowyard.run; from a file (--prototype), the name in the file.
    pub name: String,
    /// Arguments of the class, by their names, with which its object is made.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub settings: Map<String, Value>,
    /// Whether all packets of a flow in one direction take one path. Absent: the class's attribute.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_path: bool,
    #[serde(skip)]
    prototype: Bound<dyn Prototype>,
}

impl Settings for PythonBalancer {
    fn one_path(&self) -> bool {
        self.one_path
    }

    fn among_shortest(&self) -> bool {
        false
    }

    fn bind(&mut self, prototypes: &Prototypes) -> bool {
        self.prototype.bind(&self.name, prototypes);
        true
    }
}

/// A class that was given.
pub trait Prototype: Factory {
    /// Its object, for all nodes.
    fn start(&self, settings: &Map<String, Value>) -> Box<dyn Choice>;
}

/// The object.
pub trait Choice: fmt::Debug + Send {
    /// [`Choose::choose`], with the node's salt: a random number of its own.
    fn choose(&mut self, hop: Hop, salt: u64, now: Time) -> u32;
}

/// The object, and a salt for each node: that of per-flow ECMP.
#[derive(Debug)]
pub struct Model {
    own: Box<dyn Choice>,
    salts: Vec<u64>,
}

impl Model {
    pub(super) fn new(config: &PythonBalancer, fabric: &Fabric, seed: u64, replica: u64) -> Model {
        Model {
            own: config.prototype.get().start(&config.settings),
            salts: salts(fabric.nodes.len(), seed, replica),
        }
    }
}

impl Choose for Model {
    #[inline(never)]
    fn choose(&mut self, hop: Hop, now: Time) -> u32 {
        self.own.choose(hop, self.salts[hop.at.index()], now)
    }
}
