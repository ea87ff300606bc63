//! Small runs, one a file in golden/: any change of any result of any of them shows in its digest, and mostly in its figures.
//!
//! digests.txt has the digests, figures.txt a few figures of each run to read. Both hold in debug and in
//! release builds, on the main thread and on another one. If they change, the commit that changes them states
//! the reason; `FLOWYARD_GOLDEN=write` writes them anew.

#![allow(clippy::disallowed_methods, reason = "the ban is for the simulator: a test reads files")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use common::{Run, run};
use flowyard_sim::engine::parted::executor::{Executor, InTurn};
use flowyard_sim::results::Partition;
use flowyard_sim::threads::Threads;

const REFRESH: &str = "If that is meant, refresh the files by\n\
    \n    FLOWYARD_GOLDEN=write cargo test -p flowyard-sim --test golden\n\n\
    and say in the commit, and in the changelog if users will notice, why results moved.";

/// Columns of figures.txt. All but `events` follow from the tables whose digest is kept.
const FIGURES: [&str; 10] = [
    "flows",
    "completed",
    "p50_fct_us",
    "p99_fct_us",
    "drops",
    "trims",
    "marks",
    "retransmissions",
    "timeouts",
    "events",
];

fn figures(run: &Run) -> [String; FIGURES.len()] {
    let mut times: Vec<u64> = run.flow_cells("fct_ps").into_iter().flatten().collect();
    times.sort_unstable();
    let fct = |percent: usize| match times.len() {
        0 => "-".into(),
        // The nearest rank.
        completed => format!("{:.3}", times[(completed * percent).div_ceil(100) - 1] as f64 / 1e6),
    };
    let count = run.counters();
    let of_all = |number: u64| number.to_string();
    [
        of_all(count.flows),
        of_all(times.len() as u64),
        fct(50),
        fct(99),
        of_all(count.drops),
        of_all(count.trims),
        of_all(count.marks),
        of_all(count.retransmissions),
        of_all(count.timeouts),
        of_all(count.events),
    ]
}

fn file(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "golden", name].iter().collect()
}

/// The texts of digests.txt and of figures.txt.
fn texts() -> [String; 2] {
    let mut digests = String::new();
    let mut table = row("scenario", FIGURES);
    for (name, text) in common::goldens() {
        let run = run(&text);
        digests += &format!("{name} {}\n", run.digest());
        table += &row(&name, figures(&run));
    }
    [digests, table]
}

/// A row of figures.txt: columns are of fixed width, so that a new scenario leaves other rows as they are.
fn row<T: std::fmt::Display>(name: &str, figures: [T; FIGURES.len()]) -> String {
    let width = |index: usize| FIGURES[index].len().max(8);
    let cells = figures.iter().enumerate().map(|(index, cell)| format!("  {cell:>0$}", width(index)));
    format!("{name:34}{}\n", cells.collect::<String>())
}

/// The figures that differ between two texts of figures.txt: a line each, with both values.
fn moved(committed: &str, ours: &str) -> Vec<String> {
    fn rows(text: &str) -> BTreeMap<&str, Vec<&str>> {
        let cells = text.lines().map(|line| line.split_whitespace());
        cells.filter_map(|mut cells| Some((cells.next()?, cells.collect()))).collect()
    }
    let (before, after) = (rows(committed), rows(ours));
    let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let mut lines = Vec::new();
    for name in names {
        match (before.get(name), after.get(name)) {
            (Some(before), Some(after)) => {
                let cells = FIGURES.iter().zip(before.iter().zip(after)).filter(|(_, (was, is))| was != is);
                lines.extend(cells.map(|(figure, (was, is))| format!("{name}: {figure} was {was}, is {is}")));
            }
            (None, _) => lines.push(format!("{name}: not in the committed file")),
            (_, None) => lines.push(format!("{name}: no such scenario")),
        }
    }
    lines
}

/// Whether digests and figures are written anew, not compared.
fn writes() -> bool {
    std::env::var("FLOWYARD_GOLDEN").as_deref() == Ok("write")
}

#[test]
fn results_are_as_committed() {
    let other = std::thread::spawn(texts);
    let ours = texts();
    assert_eq!(ours, other.join().expect("the other thread"), "two threads at the same time differ");

    let files = ["digests.txt", "figures.txt"].map(file);
    if writes() {
        for (file, text) in files.iter().zip(&ours) {
            std::fs::write(file, text).expect("the folder can be written");
        }
    }
    let committed = files.map(|file| std::fs::read_to_string(file).unwrap_or_default());
    let lines = |text: &str| text.lines().map(String::from).collect::<BTreeSet<_>>();
    let digests: BTreeSet<_> = lines(&committed[0]).symmetric_difference(&lines(&ours[0])).cloned().collect();
    let figures = moved(&committed[1], &ours[1]);
    assert!(
        committed == ours,
        "results differ from tests/golden/digests.txt or figures.txt.\n\
         Figures that moved: {figures:#?}\nDigests: {digests:#?}\n{REFRESH}"
    );
}

/// In several parts, each with its own events, every run is the same run: its tables and its count of events. In sequence
/// it shows whether parts are independent, on threads whether they wait for each other.
#[test]
fn results_do_not_depend_on_the_parts_of_a_run() {
    if writes() {
        return;
    }
    let (mut wrong, mut parted, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for (name, text) in common::goldens() {
        let scenario = common::scenario(&text, &[]);
        let expected = run(&text);
        let result =
            |run: &Run| (run.digest().to_string(), figures(run), run.end(), run.counters().packet_hops);
        let ways: [(u32, &dyn Executor); 6] =
            [(2, &InTurn), (3, &InTurn), (4, &InTurn), (8, &InTurn), (2, &Threads(2)), (8, &Threads(3))];
        for (parts, executor) in ways {
            let run = common::in_parts(&scenario, parts, executor);
            if result(&expected) != result(&run) {
                let lanes = executor.lanes();
                wrong.push(format!(
                    "{name}, {parts} parts on {lanes}: {:?}, {:?}",
                    result(&run),
                    result(&expected)
                ));
            }
            match run.0.summary.partition.expect("it was asked for in parts") {
                Partition::Parts(_) => parted.push(name.clone()),
                Partition::Whole(reason) => {
                    whole.push(format!("{name}: {reason}"));
                    break;
                }
            }
        }
    }
    parted.dedup();
    whole.dedup();
    assert!(wrong.is_empty(), "{wrong:#?}");
    println!("in one part: {whole:#?}");
    assert!(parted.len() > 60, "of those that can run in parts, all do: {parted:#?}, not {whole:#?}");
}

/// A figure that moves is named with both values; so is a scenario that only one of the texts has.
#[test]
fn a_moved_figure_is_named() {
    let figures = |drops: &'static str| ["3", "3", "12.000", "24.000", drops, "0", "0", "0", "0", "99"];
    let before = row("line", figures("5")) + &row("relay", figures("0"));
    let after = row("line", figures("7")) + &row("ring", figures("0"));
    let expected = ["line: drops was 5, is 7", "relay: no such scenario", "ring: not in the committed file"];
    assert_eq!(moved(&before, &after), expected);
    assert_eq!(moved(&before, &before), Vec::<String>::new());
}

/// Together the scenarios use every member of every list, so that a new member needs one.
#[test]
fn every_member_is_covered() {
    use flowyard_sim::traffic::{arrivals::Arrivals, matrix::Matrix, sizes::Sizes};
    use flowyard_sim::transport::{Transport, tcp::congestion::Congestion};
    use flowyard_sim::{
        agent::Agent, balancer::Balancer, buffer::Buffer, controller::Controller, queue::Queue,
        topology::Topology,
    };

    let scenarios: Vec<_> =
        common::goldens().iter().map(|(_, text)| common::scenario(text, &[]).resolved()).collect();
    let mut used: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut note = |kind, name| used.entry(kind).or_default().push(name);
    for scenario in &scenarios {
        note("topology", scenario.topology.name());
        note("queue", scenario.queue.as_ref().expect("resolved").name());
        scenario.buffer.iter().for_each(|buffer| note("buffer", buffer.name()));
        scenario.agent.iter().for_each(|agent| note("agent", agent.name()));
        scenario.controller.iter().for_each(|controller| note("controller", controller.name()));
        for entry in &scenario.traffic {
            let transport = entry.transport.as_ref().expect("resolved");
            note("transport", transport.name());
            if let Transport::Tcp(tcp) = transport {
                note("congestion control", tcp.congestion().name());
            }
            let routing = entry.routing.as_ref().expect("resolved");
            note("balancer", routing.balancer.as_ref().expect("resolved").name());
            note("matrix", entry.matrix.name());
            note("arrivals", entry.arrivals.name());
            note("sizes", entry.sizes.name());
        }
    }
    let all = [
        ("topology", Topology::NAMES),
        ("queue", Queue::NAMES),
        ("buffer", Buffer::NAMES),
        ("agent", Agent::NAMES),
        ("controller", Controller::NAMES),
        ("transport", Transport::NAMES),
        ("congestion control", Congestion::NAMES),
        ("balancer", Balancer::NAMES),
        ("matrix", Matrix::NAMES),
        ("arrivals", Arrivals::NAMES),
        ("sizes", Sizes::NAMES),
    ];
    for (kind, names) in all {
        // Prototypes are written elsewhere: python/tests/test_prototypes.py runs some.
        for name in names.iter().filter(|name| **name != "python") {
            assert!(used[kind].contains(name), "no golden scenario uses the {kind} \"{name}\"");
        }
    }
}
