//! Traffic entries as values, of which a test sets only the fields it is about.

use flowyard_sim::traffic::Demand;
use flowyard_sim::traffic::arrivals::Arrivals;
use flowyard_sim::traffic::arrivals::poisson::Poisson;
use flowyard_sim::traffic::matrix::Matrix;
use flowyard_sim::traffic::sizes::fixed::Fixed;
use flowyard_sim::units::Bytes;

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
