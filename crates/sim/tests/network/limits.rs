//! Runs that are out of reach: refused before they start, and stopped if they come to it on the way.

use crate::common::{self, US, run_with, scenario};
use flowyard_sim::checked::Checked;
use flowyard_sim::engine::data::finished::{Limit, Status};
use flowyard_sim::engine::data::plan::Agenda;
use flowyard_sim::estimate::Estimate;
use flowyard_sim::outlook;
use flowyard_sim::scenario::{self, Format, Prototypes};
use flowyard_sim::threads::Threads;

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

/// Of flows in the background those count that start before the awaited ones have ended: here 8 us on a wire of 10 Gbps,
/// of a background that would go on for 100 us.
#[test]
fn a_background_counts_until_the_run_ends() {
    let needs = |until: &str| {
        let text = format!(
            r#"
            transport = "datagram"
            topology.single-switch = {{ hosts = 4, rate = "10Gbps", delay = "0s" }}
            [[traffic]]
            name = "own"
            arrivals.at-once.jitter = "0s"
            matrix.pairs = [[0, 1]]
            sizes.fixed = "10KB"
            [[traffic]]
            name = "rest"
            background = true
            arrivals.periodic = {{ every = "2us", jitter = "0s", until = "{until}" }}
            matrix.pairs = [[2, 3]]
            sizes.fixed = "1000B"
            "#
        );
        outlook(&scenario(&text, &[])).expect("a small run").needs.packet_hops
    };
    // Seven packets of the awaited flow and five of the background, over two links each.
    assert_eq!((needs("8us"), needs("100us")), (24, 24));
}

/// Events of one flow of two need the memory of half the rows: four of 56 B for each of the 272,000 packet-hops of
/// both, which are 68,000 packets of 1,472 B of payload each, over two links.
#[test]
fn events_of_one_flow_need_the_memory_of_its_share() {
    let needs = |observe: &str| {
        let overrides = [("traffic.flood.sizes.fixed", "100096000B"), ("observe", observe)];
        outlook(&scenario(OVERLOAD, &overrides)).expect("a small run").needs
    };
    let (none, one, both) =
        (needs("{}"), needs("{ \"events\": { \"numbers\": [0] } }"), needs("{ \"events\": {} }"));
    let rows = |needs: &Estimate| (needs.memory_bytes - none.memory_bytes) / 56;
    assert_eq!((none.packet_hops, rows(&one), rows(&both)), (272_000, 2 * 272_000, 4 * 272_000));
}

/// A flow of 1.25 MB is taken to last three times its 10 ms at 1 Gbps. A window from 20 to 40 ms has a look at it each
/// ms from 20 to 30 ms, not from its start on: eleven of two series. The other flow, for which there is a window, is
/// not sampled.
#[test]
fn flows_are_sampled_in_the_window_alone() {
    let text = r#"
        transport = "datagram"
        topology.single-switch = { hosts = 2, rate = "1Gbps", delay = "1us" }
        [[traffic]]
        name = "flow"
        arrivals.times = { at = ["0s"], jitter = "0s" }
        matrix.pairs = [[0, 1]]
        sizes.fixed = "1250KB"
        [[traffic]]
        name = "late"
        arrivals.times = { at = ["25ms"], jitter = "0s" }
        matrix.pairs = [[1, 0]]
        sizes.fixed = "1KB"
        [run]
        measure = { from = "20ms", until = "40ms" }
        [observe.samples]
        every = "1ms"
        links = []
        flows = ["flow"]
    "#;
    assert_eq!(outlook(&scenario(text, &[])).expect("a small run").needs.sample_rows, 2 * 11);
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

/// Packet-hops are known in advance within a factor of 1.5 for most, where little is lost or repeated.
#[test]
fn work_is_estimated_well() {
    for (name, text) in common::goldens() {
        let scenario = scenario(&text, &[]);
        let run = common::run_scenario(&scenario, Agenda::Calendar);
        let (expected, found) =
            (run.0.summary.estimate.packet_hops as f64, run.counters().packet_hops as f64);
        let ratio = expected / found;
        assert!((0.25..2.5).contains(&ratio), "{name}: {expected} expected, {found} found");
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

/// Memory that is known before flows are drawn is no more than that of the run.
#[test]
fn the_least_memory_is_less_than_the_estimate() {
    for (name, text) in common::goldens() {
        let scenario = scenario(&text, &[]);
        let checked = Checked::of(&scenario);
        let (least, needs) = (checked.memory_least(), checked.outlook().expect("a small run").needs);
        assert!(least <= needs.memory_bytes, "{name}: {least} of {}", needs.memory_bytes);
    }
}

#[test]
fn a_network_is_refused_before_it_is_built() {
    let text = OVERLOAD
        .replace("single-switch = { hosts = 3,", "leaf-spine = { leaves = 1000, spines = 1000, hosts = 200,");
    let read = |limit: &str, room: u64| {
        let overrides = [("run.memory_limit".to_string(), limit.to_string())];
        let asked = std::cell::Cell::new(0);
        let admit = |need| {
            asked.set(need);
            need <= room
        };
        let (files, prototypes) = (&scenario::no_files, Prototypes::default());
        let read = Checked::read_with(&text, Format::Toml, &overrides, files, prototypes, &admit);
        (read.expect_err("too large").to_string(), asked.get())
    };
    // A cable for each host, a million from leaves to spines; each is two links with their ports.
    let need = 2 * 1_200_000 * 576 + 200_000 * 104;
    let problem =
        format!("topology: needs {need} bytes of memory for its network, and there are not so many");
    assert_eq!(read("2GiB", need - 1), (problem, need));
    let (refused, asked) = read("1GiB", u64::MAX);
    assert_eq!(asked, 0);
    let message =
        "run.memory_limit: the run needs about 1.3 GiB of memory, and the limit is 1GiB; use fewer flows, a";
    assert!(refused.starts_with(message), "{refused}");
}

#[test]
fn flows_are_counted_before_they_are_drawn() {
    let many = OVERLOAD.replace("\"at-once\"", "{ poisson = { load = 0.5 } }\nflows = 9000000");
    let scenario = scenario(&many, &[("run.memory_limit", "2GiB")]);
    let checked = Checked::of(&scenario);
    // Six links and three hosts; a switch with a column for itself.
    assert_eq!(checked.memory_least(), 9_000_000 * 289 + 6 * 576 + 3 * 104 + 4);
    let refused = checked.outlook().expect_err("too much").to_string();
    assert!(refused.starts_with("run.memory_limit: the run needs about 2.4 GiB of memory"), "{refused}");
}

/// Agents tick every two microseconds while packets take milliseconds: without the limit that is two million ticks.
#[test]
fn timers_without_packets_are_work() {
    let text = r#"
        transport = "rcp"
        topology.dumbbell = { hosts = 2, rate = "1Mbps", delay = "1ms" }
        agent.rcp.timeslot = "2us"
        [[traffic]]
        name = "slow"
        arrivals = "at-once"
        matrix.pairs = [[0, 2], [1, 3]]
        sizes.fixed = "15KB"
    "#;
    let limited = |mode: &str, parts: u32| {
        let scenario = scenario(text, &[("run.work_limit", "50000"), ("run.port_mode", mode)]);
        let (threads, watch) = (Threads(1), &mut |_: &_| true);
        let run = Checked::of(&scenario).simulate_in(parts, &threads, Agenda::Calendar, watch, &mut []);
        run.expect("a small run").summary
    };
    let [auto, serviced, parted] = [limited("auto", 1), limited("serviced", 1), limited("auto", 2)];
    for summary in [&auto, &serviced, &parted] {
        assert_eq!((summary.status, summary.limit), (Status::Limit, Some(Limit::Work)));
        assert_eq!(summary.end_ps, auto.end_ps);
        let hops = summary.counters.packet_hops.expect("measured");
        assert!(hops < 1000, "{hops}");
        assert!(summary.counters.events < 80_000, "{}", summary.counters.events);
    }
}
