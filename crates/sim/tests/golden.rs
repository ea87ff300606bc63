//! Small runs, one a file in golden/, with their digests: any change of any result of any of them shows here.
//!
//! The same file holds in debug and in release builds, on the main thread and on another one. If a
//! digest changes, the commit that changes it says why; `FLOWYARD_GOLDEN=write` writes them anew.

#![allow(clippy::disallowed_methods, reason = "the ban is for the simulator: a test reads files")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use common::run;

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "golden"].iter().collect()
}

/// The digest of each golden scenario, by name.
fn digests() -> BTreeMap<String, String> {
    common::goldens().into_iter().map(|(name, text)| (name, run(&text).digest().to_string())).collect()
}

fn printed(digests: &BTreeMap<String, String>) -> String {
    digests.iter().fold(String::new(), |mut text, (name, digest)| {
        writeln!(text, "{name} {digest}").expect("a string takes all");
        text
    })
}

#[test]
fn results_are_as_committed() {
    let other = std::thread::spawn(digests);
    let ours = digests();
    assert_eq!(ours, other.join().expect("the other thread"), "two threads at the same time differ");

    let file = folder().join("digests.txt");
    if std::env::var("FLOWYARD_GOLDEN").as_deref() == Ok("write") {
        std::fs::write(&file, printed(&ours)).expect("the folder can be written");
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    let printed = printed(&ours);
    let lines = |text: &str| text.lines().map(String::from).collect::<BTreeSet<_>>();
    let differ: BTreeSet<_> = lines(&committed).symmetric_difference(&lines(&printed)).cloned().collect();
    assert!(
        committed == printed,
        "results differ from tests/golden/digests.txt: {differ:#?}\n\
         If that is meant, refresh the file by\n\
         \n    FLOWYARD_GOLDEN=write cargo test -p flowyard-sim --test golden\n\n\
         and say in the commit, and in the changelog if users will notice, why results moved."
    );
}

/// Together the scenarios use every member of every list, so that a new member needs one.
#[test]
fn every_member_is_covered() {
    use flowyard_sim::traffic::{arrivals::Arrivals, matrix::Matrix, sizes::Sizes};
    use flowyard_sim::transport::{Transport, tcp::congestion::Congestion};
    use flowyard_sim::{balancer::Balancer, queue::Queue, topology::Topology};

    let scenarios: Vec<_> =
        common::goldens().iter().map(|(_, text)| common::scenario(text, &[]).resolved()).collect();
    let mut used: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut note = |kind, name| used.entry(kind).or_default().push(name);
    for scenario in &scenarios {
        note("topology", scenario.topology.name());
        note("queue", scenario.queue.as_ref().expect("resolved").name());
        for entry in &scenario.traffic {
            let transport = entry.transport.as_ref().expect("resolved");
            note("transport", transport.name());
            if let Transport::Tcp(tcp) = transport {
                note("congestion control", tcp.congestion.name());
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
        ("transport", Transport::NAMES),
        ("congestion control", Congestion::NAMES),
        ("balancer", Balancer::NAMES),
        ("matrix", Matrix::NAMES),
        ("arrivals", Arrivals::NAMES),
        ("sizes", Sizes::NAMES),
    ];
    for (kind, names) in all {
        for name in names {
            assert!(used[kind].contains(name), "no golden scenario uses the {kind} \"{name}\"");
        }
    }
}
