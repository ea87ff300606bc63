//! What the tests of the engine share: a scenario as text goes in, plain columns come out.
//!
//! Every run is audited, and one that the audit finds fault with fails its test.
#![allow(dead_code, reason = "each test file uses a part of it")]

use flowyard_sim::engine::Engine;
use flowyard_sim::engine::calendar::Agenda;
use flowyard_sim::records::{Table, Values};
use flowyard_sim::results::{Counters, Outcome, collect};
use flowyard_sim::scenario::{self, Format, Scenario};
use flowyard_sim::setup::Setup;

/// A microsecond in picoseconds.
pub const US: u64 = 1_000_000;
/// A millisecond in picoseconds.
pub const MS: u64 = 1_000 * US;
/// 1500 bytes at 1 Gbps.
pub const PACKET: u64 = 12 * US;
/// 64 bytes at 1 Gbps.
pub const HEADER: u64 = 512_000;

/// The scenario in the text, with overrides, audited.
pub fn scenario(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    let audit = [("run.audit", "true")];
    let overrides = overrides.iter().chain(&audit).map(|(key, value)| (key.to_string(), value.to_string()));
    let overrides: Vec<_> = overrides.collect();
    scenario::read(text, Format::Toml, &overrides).unwrap_or_else(|problems| panic!("{problems}\nin {text}"))
}

/// Runs the scenario in the text.
pub fn run(text: &str) -> Run {
    run_with(text, &[])
}

/// Runs the scenario in the text with overrides such as ("run.seed", "7").
pub fn run_with(text: &str, overrides: &[(&str, &str)]) -> Run {
    run_scenario(&scenario(text, overrides), Agenda::Calendar)
}

/// Runs a scenario with that structure for future events.
pub fn run_scenario(scenario: &Scenario, agenda: Agenda) -> Run {
    let setup = Setup::new(scenario).expect("a connected network");
    let plan = setup.plan(scenario, agenda);
    let ended = Engine::new(&plan).run(&mut |_| true);
    let outcome = collect(scenario, &setup, &ended);
    assert_eq!(outcome.violations, Vec::<String>::new(), "what the audit found");
    Run(outcome)
}

/// What a run left.
pub struct Run(pub Outcome);

impl Run {
    /// The run's counters.
    pub fn counters(&self) -> &Counters {
        &self.0.summary.counters
    }

    /// The digest of its tables.
    pub fn digest(&self) -> &str {
        &self.0.summary.digest
    }

    /// Simulated time at the end.
    pub fn end(&self) -> u64 {
        self.0.summary.end_ps
    }

    /// A column of the flows table; every row must have a value.
    pub fn flows(&self, column: &str) -> Vec<u64> {
        let cells = self.flow_cells(column).into_iter();
        cells.map(|cell| cell.unwrap_or_else(|| panic!("no {column} in a row"))).collect()
    }

    /// A column of the flows table.
    pub fn flow_cells(&self, column: &str) -> Vec<Option<u64>> {
        cells(&self.0.flows, column)
    }

    /// The value of the only flow.
    pub fn flow(&self, column: &str) -> u64 {
        let values = self.flows(column);
        assert_eq!(values.len(), 1, "one flow");
        values[0]
    }

    /// A column of the links table.
    pub fn links(&self, column: &str) -> Vec<u64> {
        cells(&self.0.links, column).into_iter().map(|cell| cell.expect("links have all values")).collect()
    }

    /// The row of the link between two nodes, by their names.
    pub fn row(&self, from: &str, to: &str) -> usize {
        let (sources, targets) = (words(&self.0.links, "from"), words(&self.0.links, "to"));
        let found = (0..sources.len()).find(|&row| sources[row] == from && targets[row] == to);
        found.unwrap_or_else(|| panic!("no link from {from} to {to}"))
    }

    /// A value of the link between two nodes, by their names.
    pub fn link(&self, from: &str, to: &str, column: &str) -> u64 {
        self.links(column)[self.row(from, to)]
    }

    /// The mean number of bytes in the port of the link between two nodes.
    pub fn queue_mean(&self, from: &str, to: &str) -> f64 {
        let Values::F64(means) = &self.0.links.column("queue_mean_bytes").expect("a column").values else {
            panic!("a mean is a float");
        };
        means[self.row(from, to)]
    }
}

/// The texts of a column.
pub fn words(table: &Table, column: &str) -> Vec<String> {
    match &table.column(column).unwrap_or_else(|| panic!("no column {column}")).values {
        Values::Text { codes, words } => codes.iter().map(|&code| words[code as usize].clone()).collect(),
        _ => panic!("{column} is no text"),
    }
}

fn cells(table: &Table, column: &str) -> Vec<Option<u64>> {
    let column = table.column(column).unwrap_or_else(|| panic!("no column {column}"));
    let values: Vec<u64> = match &column.values {
        Values::U64(values) => values.clone(),
        Values::U32(values) => values.iter().map(|&value| u64::from(value)).collect(),
        Values::Bool(values) => values.iter().map(|&value| u64::from(value)).collect(),
        Values::F64(_) | Values::Text { .. } => panic!("{} holds no whole numbers", column.definition.name),
    };
    let valid = |row: usize| column.valid.as_ref().is_none_or(|valid| valid[row]);
    values.into_iter().enumerate().map(|(row, value)| valid(row).then_some(value)).collect()
}
