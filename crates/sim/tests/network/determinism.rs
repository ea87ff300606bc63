//! Changes that must not move a result: internal representations of ports and events, other users of the
//! network.

use crate::common::{self, Run, run, run_scenario, run_with, scenario};
use flowyard_sim::engine::data::plan::Agenda;
use flowyard_sim::setup::Setup;
use proptest::prelude::*;

/// Committed ports compute departures, serviced ones wait for them: the same packets at the same instants.
#[test]
fn both_port_modes_agree_on_every_golden_scenario() {
    let mut committed = 0;
    for (name, text) in common::goldens() {
        let auto = scenario(&text, &[]);
        let serviced = scenario(&text, &[("run.port_mode", "serviced")]);
        committed += usize::from(auto.queue().committed(auto.full_packet()).is_some());
        let run_auto = run_scenario(&auto, Agenda::Calendar);
        let run_serviced = run_scenario(&serviced, Agenda::Calendar);
        assert_eq!(run_auto.digest(), run_serviced.digest(), "{name}");
        assert_eq!(run_auto.end(), run_serviced.end(), "{name}");
    }
    assert!(committed >= 8, "only {committed} golden scenarios have ports that can commit");
}

#[test]
fn calendar_and_heap_agree_on_every_golden_scenario() {
    for (name, text) in common::goldens() {
        let scenario = scenario(&text, &[]);
        let (calendar, heap) =
            (run_scenario(&scenario, Agenda::Calendar), run_scenario(&scenario, Agenda::Heap));
        assert_eq!(calendar.digest(), heap.digest(), "{name}");
        assert_eq!(calendar.counters().events, heap.counters().events, "{name}");
    }
}

proptest! {
    #![proptest_config(common::budget(40))]

    /// Calendar and heap, committed and serviced ports: four ways to the same tables.
    #[test]
    fn four_ways_agree_on_random_scenarios(text in common::random::random_scenario()) {
        let (auto, serviced) = (scenario(&text, &[]), scenario(&text, &[("run.port_mode", "serviced")]));
        let expected = run_scenario(&auto, Agenda::Calendar);
        for (scenario, agenda) in [(&auto, Agenda::Heap), (&serviced, Agenda::Calendar), (&serviced, Agenda::Heap)] {
            let other = run_scenario(scenario, agenda);
            prop_assert_eq!(&expected.0.flows, &other.0.flows);
            prop_assert_eq!(expected.digest(), other.digest());
        }
    }
}

/// Two flows that share switches but no port, and no third one or one between two other hosts.
fn beside(topology: &str, transport: &str, other: Option<(u32, u32)>) -> Run {
    let mut text = format!(
        r#"
        transport = "{transport}"
        [topology.{topology}
        [[traffic]]
        name = "existing"
        arrivals.times = {{ at = ["0s", "3us"] }}
        matrix.pairs = [[0, 1], [2, 3]]
        sizes.uniform = {{ min = "100KB", max = "200KB" }}
        "#
    );
    if let Some((src, dst)) = other {
        text += &format!(
            r#"
            [[traffic]]
            name = "another"
            arrivals.at-once = {{}}
            matrix.pairs = [[{src}, {dst}]]
            sizes.exponential = {{ mean = "300KB" }}
            "#
        );
    }
    run(&text)
}

/// The rows of the existing flows, without their numbers, which count all flows.
fn rows(run: &Run) -> Vec<Vec<Option<u64>>> {
    let tags = common::words(&run.0.flows, "tag");
    let columns = [
        "src",
        "dst",
        "size_bytes",
        "start_ps",
        "fct_ps",
        "fct_acked_ps",
        "packets_sent",
        "trims",
        "reordered",
    ];
    let all: Vec<_> = columns.iter().map(|column| run.flow_cells(column)).collect();
    let existing = (0..tags.len()).filter(|&row| tags[row] == "existing");
    existing.map(|row| all.iter().map(|column| column[row]).collect()).collect()
}

/// A flow between two other hosts draws from streams of its own: neither start, size and path of the
/// existing flows nor any of their packets moves.
#[test]
fn a_flow_between_other_hosts_moves_nothing() {
    for transport in ["ndp", "tcp", "datagram"] {
        let alone = rows(&beside("single-switch]\nhosts = 6", transport, None));
        assert_eq!(alone.len(), 2);
        for other in [(4, 5), (5, 4)] {
            assert_eq!(
                alone,
                rows(&beside("single-switch]\nhosts = 6", transport, Some(other))),
                "{transport}"
            );
        }
        // In another pod: other switches altogether, so that even sprayed packets draw what they drew.
        let tree = "fat-tree]\nk = 4";
        assert_eq!(
            rows(&beside(tree, transport, None)),
            rows(&beside(tree, transport, Some((12, 14)))),
            "{transport}"
        );
    }
}

const LOADED: &str = r#"
    transport = "ndp"
    [topology.fat-tree]
    k = 4
    [[traffic]]
    name = "flows"
    arrivals.poisson = { load = 0.5 }
    matrix = "uniform"
    sizes.exponential = { mean = "30KB" }
    flows = 40
"#;

/// Seed and replica both make another run; more replicas leave earlier ones alone because each is a run.
#[test]
fn another_replica_is_another_run() {
    let run = |seed, replica| run_with(LOADED, &[("run.seed", seed), ("run.replica", replica)]);
    let runs = [run("1", "0"), run("1", "1"), run("1", "2"), run("2", "0"), run("0", "1")];
    for (index, first) in runs.iter().enumerate() {
        for second in &runs[..index] {
            assert_ne!(first.digest(), second.digest());
            assert_ne!(first.0.summary.traffic_digest, second.0.summary.traffic_digest);
        }
    }
    assert_eq!(runs[0].digest(), run("1", "0").digest());
}

/// The traffic is drawn independently of its transport.
#[test]
fn the_same_traffic_under_every_transport() {
    let digests: Vec<String> = ["ndp", "tcp", "datagram"]
        .iter()
        .map(|transport| {
            let text = LOADED.replace("\"ndp\"", &format!("\"{transport}\""));
            let scenario = scenario(&text, &[]);
            let setup = Setup::new(&scenario, scenario.topology.build().into()).expect("a connected network");
            let run = run(&text);
            assert_eq!(run.0.summary.traffic_digest, setup.traffic.digest);
            run.0.summary.traffic_digest
        })
        .collect();
    assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");
}
