//! Shared parts of the engine's tests: a scenario as text goes in, plain columns come out.
//!
//! Every run is audited, and one that the audit finds fault with fails its test.

#![allow(
    clippy::disallowed_methods,
    reason = "the ban is for the simulator: a test reads files and its environment"
)]
#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod allocator;
pub mod random;
pub mod scenarios;
pub mod statistics;

use flowyard_sim::Checked;
use flowyard_sim::engine::contract::observer::Observer;
use flowyard_sim::engine::data::finished::Status;
use flowyard_sim::engine::data::finished::{ControlCounts, ReorderCounts};
use flowyard_sim::engine::data::plan::Agenda;
use flowyard_sim::engine::parted::executor::Executor;
use flowyard_sim::problem::Problems;
use flowyard_sim::records::{Column, Table, Values};
use flowyard_sim::results::Outcome;
use flowyard_sim::scenario::{self, Format, Scenario};
use flowyard_sim::simulate_on;
use proptest::prelude::*;

/// A microsecond in picoseconds.
pub const US: u64 = 1_000_000;
/// A millisecond in picoseconds.
pub const MS: u64 = 1_000 * US;
/// 1500 bytes at 1 Gbps.
pub const PACKET: u64 = 12 * US;
/// 64 bytes at 1 Gbps.
pub const HEADER: u64 = 512_000;

/// How many random cases a property tries: so many, or, for `make fuzz`, as many as `FLOWYARD_FUZZ` says. They are the
/// same every time: `.cargo/config.toml` sets their seed, unless `PROPTEST_RNG_SEED` is set otherwise.
pub fn budget(cases: u32) -> ProptestConfig {
    let asked = std::env::var("FLOWYARD_FUZZ").ok();
    let asked = asked.map(|text| {
        text.parse().unwrap_or_else(|_| panic!("FLOWYARD_FUZZ is a number of cases, not {text}"))
    });
    ProptestConfig::with_cases(asked.unwrap_or(cases))
}

/// The scenario in the text, or what is wrong with it.
pub fn read(text: &str) -> Result<Scenario, Problems> {
    scenario::read(text, Format::Toml, &[], &scenario::no_files)
}

/// The scenario in the text, with overrides, audited. Unless it says what is measured, the whole run is: most tests are about
/// each of a given number of flows.
pub fn scenario(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    let says = text.contains("measure") || overrides.iter().any(|(key, _)| key.starts_with("run.measure"));
    let whole = [("run.measure", "\"all\"")];
    let whole = whole.iter().filter(|_| !says);
    let audit = [("run.audit", "true")];
    let overrides =
        overrides.iter().chain(&audit).chain(whole).map(|(key, value)| (key.to_string(), value.to_string()));
    let overrides: Vec<_> = overrides.collect();
    scenario::read(text, Format::Toml, &overrides, &scenario::no_files)
        .unwrap_or_else(|problems| panic!("{problems}\nin {text}"))
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
    observed(scenario, agenda, &mut [])
}

/// Runs a scenario with an observer.
pub fn observed(scenario: &Scenario, agenda: Agenda, observers: &mut [&mut dyn Observer]) -> Run {
    let outcome = simulate_on(agenda, scenario, &mut |_| true, observers);
    let outcome = outcome.unwrap_or_else(|problem| panic!("{problem}"));
    assert_eq!(outcome.violations, Vec::<String>::new(), "what the audit found");
    Run(outcome)
}

/// Runs a scenario in at most so many parts.
pub fn in_parts(scenario: &Scenario, parts: u32, executor: &dyn Executor) -> Run {
    let checked = Checked::of(scenario);
    let outcome = checked.simulate_in(parts, executor, Agenda::Calendar, &mut |_| true, &mut []);
    let outcome = outcome.unwrap_or_else(|problem| panic!("{problem}"));
    assert_eq!(outcome.violations, Vec::<String>::new(), "what the audit found in {parts} parts");
    Run(outcome)
}

/// All that two runs leave is the same: tables, packets that were captured, how they ended, and what they counted.
pub fn same(expected: &Run, run: &Run) {
    let end = |run: &Run| (run.status(), run.end(), run.0.summary.limit, run.0.summary.deadlock.clone());
    let how = &run.0.summary.partition;
    assert_eq!(end(expected), end(run), "{how:?}");
    assert_eq!(expected.0.flows, run.0.flows, "{how:?}");
    assert_eq!(expected.0.links, run.0.links, "{how:?}");
    assert_eq!(expected.0.connections, run.0.connections, "{how:?}");
    let (observed, other) = (&expected.0.observed, &run.0.observed);
    assert_eq!(observed.samples, other.samples, "{how:?}");
    assert_eq!(observed.histograms, other.histograms, "{how:?}");
    assert_eq!(observed.cables, other.cables, "{how:?}");
    assert_eq!(observed.events, other.events, "{how:?}");
    assert_eq!(expected.counters(), run.counters(), "{how:?}");
    let measured = |run: &Run| serde_json::to_value(&run.0.summary.measured).expect("plain numbers");
    assert_eq!(measured(expected), measured(run), "{how:?}");
    assert_eq!(expected.digest(), run.digest());
}

/// Outcome of a run.
pub struct Run(pub Outcome);

/// The counters of a run of packets: see `flowyard_sim::results::Counters`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counts {
    pub events: u64,
    pub packet_hops: u64,
    pub packets: u64,
    pub drops: u64,
    pub credit_drops: u64,
    pub lost: u64,
    pub unroutable: u64,
    pub trims: u64,
    pub bounces: u64,
    pub marks: u64,
    pub pauses: u64,
    pub retransmissions: u64,
    pub timeouts: u64,
    pub flows: u64,
    pub unfinished_flows: u64,
    pub abandoned_flows: u64,
    pub control: Option<ControlCounts>,
    pub reordering: Option<ReorderCounts>,
}

impl Run {
    /// The run's counters: all are measured.
    pub fn counters(&self) -> Counts {
        let of_packets = |count: Option<u64>| count.expect("a run of packets measures them");
        let counters = &self.0.summary.counters;
        Counts {
            events: counters.events,
            packet_hops: of_packets(counters.packet_hops),
            packets: of_packets(counters.packets),
            drops: of_packets(counters.drops),
            credit_drops: counters.credit_drops.unwrap_or(0),
            lost: of_packets(counters.lost),
            unroutable: of_packets(counters.unroutable),
            trims: of_packets(counters.trims),
            bounces: of_packets(counters.bounces),
            marks: of_packets(counters.marks),
            pauses: of_packets(counters.pauses),
            retransmissions: of_packets(counters.retransmissions),
            timeouts: of_packets(counters.timeouts),
            flows: counters.flows,
            unfinished_flows: counters.unfinished_flows,
            abandoned_flows: counters.abandoned_flows,
            control: counters.control,
            reordering: counters.reordering,
        }
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

    /// A column of the flows table for the flows of an entry; each must have a value.
    pub fn flows_of(&self, tag: &str, column: &str) -> Vec<u64> {
        let (cells, tags) = (self.flow_cells(column), words(&self.0.flows, "tag"));
        let own = cells.into_iter().zip(tags).filter(|(_, other)| other == tag);
        own.map(|(cell, _)| cell.unwrap_or_else(|| panic!("no {column} of {tag}"))).collect()
    }

    /// The value of the only flow of an entry.
    pub fn flow_of(&self, tag: &str, column: &str) -> u64 {
        let values = self.flows_of(tag, column);
        assert_eq!(values.len(), 1, "one flow of {tag}");
        values[0]
    }

    /// The sum of a column of the flows table.
    pub fn total(&self, column: &str) -> u64 {
        self.flows(column).iter().sum()
    }

    /// The greatest value in a column of the flows table.
    pub fn most(&self, column: &str) -> u64 {
        self.flows(column).into_iter().max().expect("flows")
    }

    /// How the run ended.
    pub fn status(&self) -> Status {
        self.0.summary.status
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

    /// A column of truth values of the flows table.
    pub fn bools(&self, column: &str) -> Vec<bool> {
        match &self.0.flows.column(column).expect("a column").values {
            Values::Bool(values) => values.clone(),
            _ => panic!("{column} has no truth values"),
        }
    }

    /// The slowdown of each flow; each must have completed.
    pub fn slowdowns(&self) -> Vec<f64> {
        match self.0.flows.column("slowdown").expect("a column") {
            Column { values: Values::F64(values), .. } => values.clone(),
            _ => panic!("slowdowns are fractions"),
        }
    }

    /// The name of each flow's traffic entry.
    pub fn tags(&self) -> Vec<String> {
        words(&self.0.flows, "tag")
    }

    /// A number with a fraction of a link, by its row.
    pub fn float(&self, column: &str, row: usize) -> f64 {
        match &self.0.links.column(column).expect("a column").values {
            Values::F64(values) => values[row],
            _ => panic!("{column} has no fractions"),
        }
    }

    /// The samples of one series, of all links or flows that it has: when, and the value.
    pub fn samples(&self, series: &str) -> Vec<(u64, f64)> {
        let table = self.0.observed.samples.as_ref().expect("samples");
        let Values::F64(values) = &table.column("value").expect("a column").values else {
            panic!("values are floats");
        };
        let (all, times) = (words(table, "series"), cells(table, "time_ps"));
        let rows = (0..values.len()).filter(|&row| all[row] == series);
        rows.map(|row| (times[row].expect("a sample has a time"), values[row])).collect()
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

/// The values of a column of whole numbers.
pub fn cells(table: &Table, column: &str) -> Vec<Option<u64>> {
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

/// The golden scenarios: names, and texts.
pub fn goldens() -> Vec<(String, String)> {
    let folder: std::path::PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "golden"].iter().collect();
    let files = std::fs::read_dir(folder).expect("the folder of golden scenarios");
    let paths = files.map(|file| file.expect("a file").path());
    let scenarios = paths.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let name = |path: &std::path::Path| path.file_stem().expect("a name").to_string_lossy().into_owned();
    let read = |path: &std::path::Path| std::fs::read_to_string(path).expect("a text");
    let mut all: Vec<_> = scenarios.map(|path| (name(&path), read(&path))).collect();
    all.sort();
    all
}
