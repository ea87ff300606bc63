//! Runs that are out of reach: refused before they start, and stopped if they come to it on the way.

use crate::common::{self, US, run_with, scenario};
use flowyard_sim::engine::finished::{Limit, Status};
use flowyard_sim::outlook;

/// Twice as much as a wire takes, into a queue without an end.
const OVERLOAD: &str = r#"
    transport = "datagram"
    topology.single-switch = { hosts = 3, rate = "100Gbps", delay = "1us" }
    [[traffic]]
    name = "flood"
    arrivals = "at-once"
    matrix.pairs = [[0, 2], [1, 2]]
    sizes.fixed = "1GB"
"#;

fn refused(text: &str, overrides: &[(&str, &str)]) -> String {
    outlook(&scenario(text, overrides)).unwrap_err().to_string()
}

#[test]
fn a_run_that_needs_too_much_is_refused_with_its_estimate() {
    let many = OVERLOAD.replace("\"at-once\"", "{ poisson = { load = 0.5 } }\nflows = 100000");
    assert_eq!(
        refused(&many, &[("run.memory_limit", "20MiB")]),
        "run.memory_limit: the run needs about 28 MiB of memory, and the limit is 20MiB; use fewer flows, a smaller \
         network or fewer samples, or raise run.memory_limit"
    );
    // 2 GB are 1,358,696 packets of 1,472 bytes of payload, and each crosses two links.
    assert_eq!(
        refused(OVERLOAD, &[("run.work_limit", "2700000")]),
        "run.work_limit: the run needs about 2.7 million packet-hops (some 543 ms of computing, for 160 ms \
         simulated), and the limit is 2.7 million; use fewer or shorter flows, or an earlier run.until, or raise run.work_limit"
    );
    assert!(outlook(&scenario(OVERLOAD, &[("run.work_limit", "2720000")])).is_ok());
    // Six links each nanosecond of 160 ms: both flows go to one host.
    assert_eq!(
        refused(OVERLOAD, &[("run.work_limit", "800000000"), ("observe.histograms.every", "1ns")]),
        "run.work_limit: the run needs about 960.0 million looks at ports for 160 ms simulated, and the limit is 800.0 \
         million; observe fewer links or less often, or raise run.work_limit"
    );
}

#[test]
fn a_run_that_comes_to_a_limit_ends_there() {
    // Half of what is sent waits at the switch: 5e5 packets after 80 ms, of 167 bytes each.
    let run = run_with(OVERLOAD, &[("run.memory_limit", "40MiB")]);
    assert_eq!((run.status(), run.0.summary.limit), (Status::Limit, Some(Limit::Memory)));
    let waiting = 40e6 * 1.048576 / 167.0;
    let sent = run.links("packets");
    let (sent, received) = (sent[0] + sent[2], sent[5]);
    assert!(((sent - received) as f64 / waiting - 1.0).abs() < 0.1, "{sent} - {received} is not {waiting}");

    let run = run_with(OVERLOAD, &[("run.until", "50us"), ("run.work_limit", "100000")]);
    assert_eq!((run.status(), run.0.summary.limit), (Status::Limit, Some(Limit::Until)));
    let complete = run_with(OVERLOAD, &[("traffic.flood.sizes.fixed", "1MB")]);
    assert_eq!((complete.status(), complete.0.summary.limit), (Status::Complete, None));
}

/// Handshakes are more work than the estimate knows of where flows are a packet each.
#[test]
fn work_that_was_not_foreseen_ends_the_run() {
    let text = r#"
        transport = "tcp"
        topology.single-switch = { hosts = 8, rate = "10Gbps", delay = "100ns" }
        [[traffic]]
        name = "short"
        arrivals.poisson = { load = 0.1 }
        matrix = "uniform"
        sizes.fixed = "100B"
        flows = 20000
    "#;
    let foreseen = outlook(&scenario(text, &[])).unwrap().needs.packet_hops;
    let run = run_with(text, &[]);
    assert_eq!(run.status(), Status::Complete);
    assert!(run.counters().packet_hops > foreseen, "{} of {foreseen}", run.counters().packet_hops);
    let limited = run_with(text, &[("run.work_limit", &foreseen.to_string())]);
    assert_eq!((limited.status(), limited.0.summary.limit), (Status::Limit, Some(Limit::Work)));
}

/// Packet-hops are known in advance where nothing is lost or repeated.
#[test]
fn work_is_estimated_well() {
    for (name, text) in common::goldens() {
        let scenario = scenario(&text, &[]);
        let run = common::run_scenario(&scenario, flowyard_sim::engine::calendar::Agenda::Calendar);
        let (expected, found) =
            (run.0.summary.estimate.packet_hops as f64, run.counters().packet_hops as f64);
        let ratio = expected / found;
        assert!((0.2..5.0).contains(&ratio), "{name}: {expected} expected, {found} found");
    }
}

/// A run that waits for a flow which nothing starts stalls at one time in both port modes, however short `stall` is: that
/// long after the last flow has ended, not while a timeout of one that was open would have been waited for.
#[test]
fn a_short_stall_is_told_at_one_time_in_both_port_modes() {
    let scenario = r#"
        [topology.line]
        switches = 2
        [transport.tcp]
        [[traffic]]
        name = "flows"
        matrix.pairs = [[0, 1], [1, 0]]
        sizes.fixed = "100KB"
        [traffic.arrivals.triggers]
        starts = ["0s", { trigger = 1 }]
        fires = [{ flow = 1, event = "received", trigger = 1 }]
        list = [{ id = 1, kind = "once" }]
        [run]
        stall = "1us"
    "#;
    let [auto, serviced] = ["auto", "serviced"].map(|mode| run_with(scenario, &[("run.port_mode", mode)]));
    for run in [&auto, &serviced] {
        assert_eq!(run.status(), Status::Stalled);
        let acked = run.flow_cells("start_ps")[0].unwrap() + run.flow_cells("fct_acked_ps")[0].unwrap();
        assert_eq!(run.0.summary.end_ps, acked + US);
    }
    assert_eq!(auto.digest(), serviced.digest());
}
