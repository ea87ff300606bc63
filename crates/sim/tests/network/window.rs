//! Measuring windows: by hand, and against runs that stop at both ends of the window.

use crate::common::{in_parts, run_with, same, scenario};
use flowyard_sim::engine::data::finished::Status;
use flowyard_sim::engine::parted::executor::InTurn;
use flowyard_sim::records::Values;

/// Flows of one packet each 100 us from host 0 to host 1 at 1 Gbps: 1500 B take 12 us on each of two links without delay.
pub const TIMES: &str = r#"
    transport.datagram = { header_bytes = "0B", lengths.fixed = "1500B" }
    topology.line = { switches = 1, rates = ["1Gbps", "1Gbps"], delay = "0s" }
    [[traffic]]
    name = "flows"
    arrivals.times.jitter = "0s"
    arrivals.times.at = ["0us", "100us", "200us", "300us", "400us"]
    matrix.pairs = [[0, 1]]
    sizes.fixed = "1500B"
"#;

#[test]
fn a_window_by_hand() {
    let window = r#"{ "from": "105us", "until": "306us" }"#;
    let run = run_with(TIMES, &[("run.measure", window)]);
    // Flows that start at 200 and 300 us; that of 400 us did not start before the run ended, and has no row.
    assert_eq!(run.bools("measured"), [false, false, true, true]);
    assert_eq!(run.flows("id"), [0, 1, 2, 3]);
    // Of the packet of 100 us the first link carries 7 us more, and of that of 300 us it has carried 6 us at the end; the
    // second link is busy from 112 to 124 us and from 212 to 224 us, and begins with the third at 312 us.
    let wire = |from: &str, to: &str| run.float("utilisation", run.row(from, to)) * 201.0;
    assert!((wire("host 0", "switch 0") - (7.0 + 12.0 + 6.0)).abs() < 1e-6);
    assert!((wire("switch 0", "host 1") - 24.0).abs() < 1e-6);
    assert_eq!(run.link("host 0", "switch 0", "packets"), 2);
    assert_eq!(run.link("switch 0", "host 1", "packets"), 2);
    // The last measured flow ends at 324 us; the run ends when every host can have heard of it, 1 ps later without delays.
    assert_eq!(run.end(), 324_000_001);
    let measured = &run.0.summary.measured;
    assert_eq!((measured.from_ps, measured.until_ps), (105_000_000, 306_000_000));
    assert_eq!((measured.flows, measured.unfinished, measured.after_arrivals), (2, 0, 0));
    // 3000 B were delivered in it, at 124 us and at 224 us: 24 us of 201 us at 1 Gbps.
    assert!((measured.hosts_payload * 2.0 - 24.0 / 201.0).abs() < 1e-9, "{}", measured.hosts_payload);
}

const INCASTS: &str = r#"
    transport = "ndp"
    topology.single-switch = { hosts = 9 }
    [[traffic]]
    name = "incasts"
    arrivals.poisson = { load = 0.3, each = "round" }
    matrix.incast = { senders = 4, receiver = "random" }
    sizes.fixed = "20KB"
    flows = 400
"#;

/// The mean slowdown of a half of the window, from its first flow on, is that of the half's flows in ten batches of the same
/// size, which leave out the last flows, fewer than ten.
#[test]
fn halves_have_the_means_of_their_flows() {
    let run = run_with(INCASTS, &[AUTO]);
    let measured = &run.0.summary.measured;
    let rows = run.flows("start_ps").into_iter().zip(run.slowdowns()).zip(run.bools("measured"));
    let mut own: Vec<(u64, f64)> = rows.filter(|(_, measured)| *measured).map(|(row, _)| row).collect();
    own.sort_by_key(|(start, _)| *start);
    let middle = (own[0].0 + measured.until_ps) / 2;
    let halves = measured.halves.expect("200 flows in each half");
    let (first, second) = own.split_at(own.partition_point(|(start, _)| *start < middle));
    for (half, found) in [(first, halves.first), (second, halves.second)] {
        let whole = half.len() / 10 * 10;
        let mean = half[..whole].iter().map(|(_, slowdown)| slowdown).sum::<f64>() / whole as f64;
        assert!((found / mean - 1.0).abs() < 1e-9, "{found} of {} flows, by hand {mean}", half.len());
    }
}

/// The 95 % confidence interval of a 99th percentile has an upper end if 0.99^n is below 2.5 %: 0.99^367 = 0.02501,
/// 0.99^368 = 0.02476.
#[test]
fn a_99th_percentile_takes_368_flows() {
    let advised = |flows: &str| {
        let scenario =
            scenario(&format!("transport = \"ndp\"\n{LOADED}"), &[AUTO, ("traffic.load.flows", flows)]);
        let advice = flowyard_sim::outlook(&scenario).expect("a small run").advice;
        advice.iter().any(|advice| advice.path == "traffic.load.flows")
    };
    assert_eq!([advised("367"), advised("368")], [true, false]);
}

/// Flows of a round start up to 1.2 us apart, and rounds 24 us on average: all of the last round are measured.
#[test]
fn a_window_ends_behind_the_flows_of_the_last_round() {
    assert_eq!(run_with(INCASTS, &[]).0.summary.measured.flows, 400);
}

/// Rounds some 1.5 ms apart of a host of 1 Gbps and one of 10 Gbps, whose jitter is up to 12 us and 1.2 us: the window ends
/// behind both flows of its last round.
#[test]
fn a_window_ends_behind_the_longest_jitter() {
    let text = r#"
        transport = "ndp"
        topology.line = { switches = 1, rates = ["1Gbps", "10Gbps"] }
        [[traffic]]
        name = "both"
        arrivals.poisson = { load = 0.001, each = "round" }
        matrix.pairs = [[0, 1], [1, 0]]
        sizes.fixed = "1KB"
        flows = 40
    "#;
    for seed in ["1", "2", "3"] {
        assert_eq!(run_with(text, &[AUTO, ("run.seed", seed)]).0.summary.measured.flows, 40, "seed {seed}");
    }
}

/// Arrivals go on for the drain behind the window. Measured flows that end later than that are counted, and no others: of
/// 150 kB each, which take 1.2 ms at least, some end in a drain of 3 ms.
#[test]
fn flows_that_end_after_arrivals_are_counted() {
    let text = r#"
        transport = "datagram"
        topology.single-switch = { hosts = 8, rate = "1Gbps" }
        [[traffic]]
        name = "flows"
        arrivals.poisson.load = 0.8
        matrix = "uniform"
        sizes.fixed = "150KB"
    "#;
    let counts = [0, 3000].map(|drain_us: u64| {
        let window = format!(r#"{{ "from": "1ms", "until": "40ms", "drain": "{drain_us}us" }}"#);
        let run = run_with(text, &[("run.measure", &window)]);
        // Flows that start in the drain need not end.
        let Values::U64(fcts) = &run.0.flows.column("fct_ps").expect("a column").values else {
            panic!("times")
        };
        let ends = run.flows("start_ps").into_iter().zip(fcts).map(|(start, fct)| start + fct);
        let arrivals_end = (40_000 + drain_us) * 1_000_000;
        let late =
            run.bools("measured").into_iter().zip(ends).filter(|&(own, end)| own && end > arrivals_end);
        let late = late.count() as u64;
        assert_eq!(run.0.summary.measured.after_arrivals, late, "a drain of {drain_us} us");
        late
    });
    assert!(counts[0] > counts[1] && counts[1] > 0, "{counts:?}");
}

/// The window goes on to its end, although all flows have ended before.
#[test]
fn a_window_longer_than_the_traffic() {
    let run = run_with(TIMES, &[("run.measure", r#"{ "from": "0s", "until": "10ms" }"#)]);
    assert_eq!(run.end(), 10_000_000_001);
    assert_eq!(run.link("host 0", "switch 0", "packets"), 5);
    let busy = run.float("utilisation", run.row("host 0", "switch 0")) * 10_000.0;
    assert!((busy - 60.0).abs() < 1e-6, "{busy}");
}

/// In two parts it does so as well, and ends with the window, not with the last flow.
#[test]
fn a_window_longer_than_the_traffic_in_parts() {
    let text = TIMES.replace(
        "{ switches = 1, rates = [\"1Gbps\", \"1Gbps\"], delay = \"0s\" }",
        "{ switches = 2, rate = \"1Gbps\", delay = \"1us\" }",
    );
    let scenario = scenario(&text, &[("run.measure", r#"{ "from": "0s", "until": "10ms" }"#)]);
    let whole = in_parts(&scenario, 1, &InTurn);
    assert!(whole.end() >= 10_000_000_000, "{}", whole.end());
    same(&whole, &in_parts(&scenario, 2, &InTurn));
}

/// A flow that is open at the end of the window has begun and has not ended. At 10 Mbps a packet takes 1.2 ms, longer than
/// `stall`, in one part and in two: its sender has not given up, and the run goes on.
#[test]
fn a_flow_beyond_the_window_does_not_stall() {
    let text = r#"
        transport = "tcp"
        topology.line = { switches = 2, rates = ["10Mbps", "10Mbps", "10Mbps"] }
        [run]
        stall = "1ms"
        measure = { from = "0s", until = "5ms" }
        [[traffic]]
        name = "one"
        arrivals.times.at = ["0s"]
        matrix.pairs = [[0, 1]]
        sizes.fixed = "60KB"
    "#;
    let scenario = scenario(text, &[]);
    let whole = in_parts(&scenario, 1, &InTurn);
    assert_eq!((whole.status(), whole.counters().unfinished_flows), (Status::Complete, 0));
    // 60 kB take 48 ms at 10 Mbps.
    assert!(whole.end() > 48_000_000_000, "{}", whole.end());
    same(&whole, &in_parts(&scenario, 2, &InTurn));
}

/// The scenarios, each with queues of another kind: committed ports, trimming, PFC, credits, marks, faults.
fn kinds() -> Vec<String> {
    let fabric = r#"
        topology.leaf-spine = { leaves = 2, spines = 2, hosts = 4, rate = "10Gbps" }
        [[traffic]]
        name = "load"
        arrivals.poisson = { load = 0.7 }
        matrix = "uniform"
        sizes.exponential.mean = "60KB"
    "#;
    let transports = [
        "transport.tcp = {}\nqueue.drop-tail.limit.packets = 20",
        "transport.ndp = {}",
        "transport.dcqcn = {}",
        "transport.tcp.congestion = \"dctcp\"",
        "transport.tcp = {}\nqueue = \"codel\"",
        "transport.pfabric = {}",
        "transport.mptcp = {}",
        "transport.tcp = {}\nrun.port_mode = \"serviced\"",
        "transport.tcp = {}\nfaults.events = [{ at = \"2ms\", target.cable = [\"leaf 0\", \"spine 0\"], change = \"down\" }]",
    ];
    transports.iter().map(|transport| format!("{transport}\n{fabric}")).collect()
}

/// Counters of links in a window are those of a run that stops at its end less those of a run that stops at its start:
/// an observer only looks. The longest queue is none of these differences; it is held by hand in `port.rs`.
#[test]
fn a_window_is_the_difference_of_two_runs() {
    for text in kinds() {
        let measure = ("run.measure", r#"{ "from": "1500us", "until": "4500us", "drain": "5ms" }"#);
        let window = run_with(&text, &[measure]);
        let stopped = |at: &str| {
            let arrivals = ("traffic.load.arrivals.poisson.until", "9500us");
            run_with(&text, &[("run.measure", "\"all\""), ("run.until", at), arrivals])
        };
        let (before, after) = (stopped("\"1499999999ps\""), stopped("\"4499999999ps\""));
        for column in ["packets", "bytes", "drops", "lost", "trims", "marks", "pauses", "paused_ps"] {
            let rows = before.links(column).into_iter().zip(after.links(column));
            let difference: Vec<u64> = rows.map(|(before, after)| after - before).collect();
            assert_eq!(window.links(column), difference, "{column} of {text}");
        }
        for column in ["utilisation", "queue_mean_bytes"] {
            for row in 0..window.links("packets").len() {
                let integral = |run: &crate::common::Run, ps: f64| run.float(column, row) * ps;
                let expected = integral(&after, 4_499_999_999.0) - integral(&before, 1_499_999_999.0);
                let found = integral(&window, 3e9);
                assert!(
                    (found - expected).abs() < 1e-6 * expected.abs().max(1.0),
                    "{column} {row} of {text}"
                );
            }
        }
        let delivered = |run: &crate::common::Run| run.total("delivered_bytes") as f64;
        let payload = window.0.summary.measured.hosts_payload * 8.0 * 10e9 * 3e-3 / 8.0;
        assert!((payload - (delivered(&after) - delivered(&before))).abs() < 1.0, "{payload} of {text}");
    }
}

/// Parts of a run on several threads leave the same, whatever the window and its traffic.
#[test]
fn windows_do_not_depend_on_parts() {
    for text in kinds() {
        for measure in [
            "\"auto\"",
            r#"{ "from": 20, "until": 60 }"#,
            r#"{ "from": "300us", "until": "1ms", "drain": "0s" }"#,
        ] {
            let flows = ("traffic.load.flows", if measure == "\"auto\"" { "20" } else { "100000" });
            let observe =
                ("observe", r#"{ "samples": { "every": "50us" }, "histograms": { "every": "20us" } }"#);
            let scenario = scenario(&text, &[("run.measure", measure), flows, observe]);
            let whole = in_parts(&scenario, 1, &InTurn);
            for parts in [2, 3] {
                same(&whole, &in_parts(&scenario, parts, &InTurn));
            }
        }
    }
}

/// Packets on the cables of a spine that fails in the window are lost where they would arrive, which another part may
/// have: 20 us of each wire, in both directions.
#[test]
fn losses_in_a_window_do_not_depend_on_parts() {
    let spine =
        |text: &str| text.replace("target.cable = [\"leaf 0\", \"spine 0\"]", "target.node = \"spine 0\"");
    let text = spine(&kinds().pop().expect("that with a fault"))
        .replace("rate = \"10Gbps\"", "rate = \"10Gbps\", delay = \"20us\"");
    let measure = r#"{ "from": "1500us", "until": "2500us" }"#;
    let scenario = scenario(&text, &[("run.measure", measure)]);
    let whole = in_parts(&scenario, 1, &InTurn);
    assert!(whole.links("lost").iter().sum::<u64>() > 0, "nothing was on the cable");
    for parts in [2, 3] {
        same(&whole, &in_parts(&scenario, parts, &InTurn));
    }
}

/// Setting of a scenario that does not specify its measurement.
const AUTO: (&str, &str) = ("run.measure", "\"auto\"");

const LOADED: &str = r#"
    topology.single-switch = { hosts = 8, rate = "10Gbps" }
    [[traffic]]
    name = "load"
    arrivals.poisson.load = 0.3
    matrix = "uniform"
    sizes = "web-search"
    flows = 100
"#;

/// `flows` is the number of measured flows, behind the warm-up of the rule: 16 b / (R (1 - load)^2) of web search, where b is
/// 10.9 MB (the table's points, by hand: 1.8663e13 / 1,711,250), at 10 Gbps.
#[test]
fn the_chosen_window() {
    let runs = ["ndp", "datagram"]
        .map(|transport| run_with(&format!("transport = \"{transport}\"\n{LOADED}"), &[AUTO]));
    for run in &runs {
        let measured = &run.0.summary.measured;
        assert_eq!(measured.flows, 100);
        assert_eq!(run.bools("measured").iter().filter(|measured| **measured).count(), 100);
        let b = measured.wanted_ps.expect("a rule") as f64 / 1e12 * 1e10 * 0.49 / 16.0;
        assert!((b - 10.9e6).abs() < 0.1e6, "{b}");
        assert_eq!(measured.from_ps, measured.wanted_ps.expect("a rule"), "100 flows take 57 ms");
        let starts = run.flows("start_ps");
        let of = |own: bool| {
            starts.iter().zip(run.bools("measured")).filter(move |(_, measured)| *measured == own)
        };
        assert!(of(true).all(|(start, _)| (measured.from_ps..measured.until_ps).contains(start)));
        assert_eq!(of(true).map(|(start, _)| *start).max(), Some(measured.until_ps - 1));
        assert!(of(false).any(|(start, _)| *start >= measured.until_ps), "arrivals go on");
        assert!(starts.iter().all(|&start| start <= run.end()), "a flow that did not start has no row");
    }
    assert_eq!(runs[0].0.summary.traffic_digest, runs[1].0.summary.traffic_digest);
    assert_eq!(runs[0].0.summary.measured.from_ps, runs[1].0.summary.measured.from_ps);
}

/// Two entries: each has at least as many measured flows as it asks for, and one of them just as many.
#[test]
fn a_window_of_two_entries() {
    let text = format!(
        "transport.ndp = {{}}\n{LOADED}\n[[traffic]]\nname = \"small\"\narrivals.poisson.load = 0.1\nmatrix = \"uniform\"\n\
         sizes.fixed = \"10KB\"\nflows = 100\n\
         [[traffic]]\nname = \"replies\"\narrivals.after.entry = \"small\"\nmatrix.reply.to = \"small\"\nsizes.fixed = \"2KB\""
    );
    let run = run_with(&text, &[AUTO]);
    let measured = |tag: &str| {
        let own = run.tags().into_iter().zip(run.bools("measured"));
        own.filter(|(own, measured)| own == tag && *measured).count()
    };
    assert_eq!(measured("load"), 100);
    // 10 % of 80 Gbps for as long as 100 flows of 1.7 MB at 30 % take: 100 x 171 x (0.1 / 0.3), some 5,700.
    assert!((4_000..7_400).contains(&measured("small")), "{}", measured("small"));
    let (small, replies) = (measured("small"), measured("replies"));
    assert!(small.abs_diff(replies) < 30, "each flow has a reply: {small} and {replies}");
}

/// A window that ends before the warm-up of the rule does has half of its time for it.
#[test]
fn an_end_before_the_warm_up() {
    let text = format!("transport.datagram = {{}}\n{}", LOADED.replace("flows = 100", ""));
    let until = ("run.measure", r#"{ "until": "10ms" }"#);
    let measured = run_with(&text, &[until]).0.summary.measured;
    assert_eq!((measured.from_ps, measured.until_ps), (5_000_000_000, 10_000_000_000));
    assert!(measured.wanted_ps > Some(30_000_000_000));
}

/// Of the end of the window and that of the run, the earlier one bounds the warm-up.
#[test]
fn the_earlier_of_two_ends_bounds_the_warm_up() {
    let text = format!("transport.datagram = {{}}\n{}", LOADED.replace("flows = 100", ""));
    let until = ("run.measure", r#"{ "until": "10ms" }"#);
    let measured = run_with(&text, &[until, ("run.until", "20ms")]).0.summary.measured;
    assert_eq!((measured.from_ps, measured.until_ps), (5_000_000_000, 10_000_000_000));
}

/// Flows in one direction over a line of switches, of 0.3 of their hosts' links and 0.8 of the link between switches: the rule is
/// that of 0.8 at 1 Gbps, 16 b / (R 0.2^2) = 40 ms with b = 100 KB, not of half of it over both directions of the cable.
#[test]
fn a_bottleneck_in_one_direction() {
    let text = r#"
        transport.datagram = {}
        topology.line = { switches = 2, rates = ["2667Mbps", "1Gbps", "2667Mbps"], delay = "1us" }
        [[traffic]]
        name = "load"
        arrivals.poisson.load = 0.3
        matrix.pairs = [[0, 1]]
        sizes.fixed = "100KB"
        flows = 1000
    "#;
    let measured = run_with(text, &[AUTO]).0.summary.measured;
    let wanted = measured.wanted_ps.expect("a rule") as f64 / 1e9;
    assert!((wanted - 40.0).abs() < 0.1, "{wanted} ms");
}

/// Where arrivals cannot go on, the whole run is measured, and the reason is reported.
#[test]
fn why_a_run_is_measured_as_a_whole() {
    let why = |text: &str| {
        let measured = run_with(text, &[AUTO]).0.summary.measured;
        assert_eq!((measured.from_ps, measured.drain_ps), (0, 0));
        measured.why_all.expect("a reason")
    };
    let incast = "[[traffic]]\nname = \"incast\"\narrivals.at-once = {}\nmatrix.incast.senders = 4\nsizes.fixed = \"9KB\"";
    assert_eq!(
        why(&format!("transport.ndp = {{}}\n{LOADED}\n{incast}")),
        "flows of \"incast\" start by arrivals.at-once"
    );
    assert_eq!(
        why(&format!("transport.ndp = {{}}\ntopology.single-switch.hosts = 8\n{incast}")),
        "no arrivals of measured flows are a Poisson process"
    );
    let fault = "faults.events = [{ at = \"1ms\", target.cable = [\"host 0\", \"switch\"], change.rate = \"1Gbps\" }]";
    assert_eq!(
        why(&format!("transport.ndp = {{}}\n{fault}\n{LOADED}")),
        "faults happen at given times, or to flows of given numbers"
    );
}
