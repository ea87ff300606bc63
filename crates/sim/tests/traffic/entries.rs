//! Traffic entries as values, of which a test sets only the fields it is about.

use std::sync::Arc;

use flowyard_sim::problem::Problem;
use flowyard_sim::topology::Fabric;
use flowyard_sim::traffic::arrivals::Arrivals;
use flowyard_sim::traffic::arrivals::poisson::Poisson;
use flowyard_sim::traffic::deadlines::Deadlines;
use flowyard_sim::traffic::matrix::Matrix;
use flowyard_sim::traffic::sizes::Sizes;
use flowyard_sim::traffic::sizes::fixed::Fixed;
use flowyard_sim::traffic::sources::Sources;
use flowyard_sim::traffic::window::Window;
use flowyard_sim::traffic::workload::product::Product;
use flowyard_sim::traffic::{self, Traffic};
use flowyard_sim::units::{Bytes, Time};

/// An entry of arrivals, matrix and sizes, with all fields side by side.
#[derive(Clone)]
pub struct Demand {
    pub name: String,
    pub arrivals: Arrivals,
    pub matrix: Matrix,
    pub sizes: Sizes,
    pub sources: Option<Sources>,
    pub among_sources: bool,
    pub flows: Option<u64>,
    pub background: bool,
    pub kept: bool,
    pub deadline: Option<Time>,
    pub deadlines: Option<Deadlines>,
}

impl From<&Demand> for traffic::Demand {
    fn from(entry: &Demand) -> traffic::Demand {
        let Demand { name, arrivals, matrix, sizes, among_sources, flows, .. } = entry.clone();
        traffic::Demand {
            name,
            workload: Arc::new(Product { arrivals, matrix, sizes, among_sources, flows }),
            sources: entry.sources.clone(),
            background: entry.background,
            kept: entry.kept,
            deadline: entry.deadline,
            deadlines: entry.deadlines.clone(),
        }
    }
}

/// Flows of 100 KB.
pub fn entry(name: &str, arrivals: impl Into<Arrivals>, matrix: impl Into<Matrix>) -> Demand {
    Demand {
        name: name.into(),
        arrivals: arrivals.into(),
        matrix: matrix.into(),
        sizes: Fixed(Bytes(100_000)).into(),
        sources: None,
        among_sources: false,
        flows: None,
        background: false,
        kept: false,
        deadline: None,
        deadlines: None,
    }
}

/// Poisson arrivals at that load.
pub fn load(load: f64) -> Poisson {
    Poisson { load: Some(load), ..Poisson::default() }
}

/// All that is wrong with the entries.
pub fn problems(entries: &[Demand], fabric: &Fabric) -> Vec<(usize, Problem)> {
    traffic::problems(&demands(entries), fabric)
}

/// The flows of the entries, all of which are measured.
pub fn build(entries: &[Demand], fabric: &Fabric, seed: u64, replica: u64) -> Traffic {
    Traffic::build(&demands(entries), fabric, seed, replica, Window::whole(None))
}

fn demands(entries: &[Demand]) -> Vec<traffic::Demand> {
    entries.iter().map(traffic::Demand::from).collect()
}
