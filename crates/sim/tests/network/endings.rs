//! Ends of runs and their records: not before a sender in back-off has tried again, and not after the last
//! acknowledgement.

use crate::common::{MS, Run, US, in_parts, run, run_scenario, run_with, same, scenario};
use flowyard_sim::engine::data::finished::Status;
use flowyard_sim::engine::data::plan::Agenda;
use flowyard_sim::engine::parted::executor::InTurn;
use flowyard_sim::traffic::Waits;

fn last_acknowledgement(run: &Run) -> u64 {
    let (starts, acked) = (run.flows("start_ps"), run.flows("fct_acked_ps"));
    starts.iter().zip(acked).map(|(start, acked)| start + acked).max().expect("a flow")
}

/// Needless retransmissions of pFabric still cross the network after the last acknowledgement: they keep no
/// run going, and a run whose flows have all ended has come to no limit.
#[test]
fn repeats_under_way_keep_no_run_going() {
    let text = r#"
        topology.vl2 = { rate = "10Gbps", delay = "10us", hosts = 2 }
        transport.pfabric = { probe_after = 1, initial_window = 12, max_window = 15, rto = "45us" }
        queue.pfabric.limit.packets = 3
        run.seed = 100691
        [[traffic]]
        name = "e0"
        matrix.incast = { senders = 5, receiver = 5 }
        arrivals.times.at = ["0s", "1us", "1us", "40us"]
        sizes.pareto = { shape = 1.3, min = "500B", max = "1MB" }
    "#;
    let whole = run(text);
    assert_eq!((whole.status(), whole.counters().unfinished_flows), (Status::Complete, 0));
    assert_eq!(whole.end(), last_acknowledgement(&whole));
    let crossed: u64 = whole.links("packets").iter().sum();
    assert!(crossed > whole.counters().packet_hops, "nothing was under way: the test shows nothing");
    // A limit later than the last acknowledgement is none.
    let cut = run_with(text, &[("run.until", &format!("{}ps", whole.end() + US))]);
    assert_eq!((cut.status(), cut.end(), cut.digest()), (Status::Complete, whole.end(), whole.digest()));
}

/// TCP under its default timeouts, so many senders at once that most windows are lost whole, again and again: between
/// the doubled timeouts nothing moves for longer than run.stall, and in the end every flow is there.
#[test]
fn tcp_in_back_off_has_not_stalled() {
    let run = run(r#"
        transport = "tcp"
        queue.drop-tail.limit.packets = 4
        topology.single-switch = { hosts = 301, rate = "100Gbps", delay = "1us" }
        [[traffic]]
        name = "a"
        arrivals.at-once.jitter = "0s"
        matrix.incast = { senders = 300 }
        sizes.fixed = "10KB"
        "#);
    assert_eq!((run.status(), run.counters().unfinished_flows), (Status::Complete, 0));
    let mut ends = run.flows("fct_ps");
    ends.sort_unstable();
    let longest = ends.windows(2).map(|pair| pair[1] - pair[0]).max();
    assert!(
        longest > Some(10_000 * MS),
        "{longest:?} ps: never as long as run.stall, so that the test shows nothing"
    );
}

/// Behind a cable that is down from 1 ms on TCP tries again after 10, 20, 40 and 80 ms and so on up to rto_max. The run
/// has not stalled as long as the timer still doubles, though run.stall is short; and when it has, it says what each
/// entry waits for.
#[test]
fn a_stalled_run_says_what_it_waits_for() {
    let text = r#"
        topology.line = { switches = 1, rate = "1Gbps", delay = "1us" }
        transport.tcp = { rto_min = "10ms", rto_initial = "10ms", rto_max = "160ms" }
        [[traffic]]
        name = "cut"
        arrivals.at-once = { jitter = "0s" }
        matrix.pairs = [[0, 1]]
        sizes.fixed = "1MB"
        [[traffic]]
        name = "reply"
        arrivals.after = { entry = "cut" }
        matrix.reply = { to = "cut" }
        sizes.fixed = "1KB"
        [[traffic]]
        name = "later"
        arrivals.times = { at = ["500s"], jitter = "0s" }
        matrix.pairs = [[0, 1]]
        sizes.fixed = "1KB"
        [faults]
        events = [{ at = "1ms", target.cable = ["switch 0", "host 1"], change = "down" }]
        [run]
        stall = "20ms"
    "#;
    let run = run(text);
    assert_eq!(run.status(), Status::Stalled);
    // Twice rto_max after the last payload, which came before the cable went down.
    let end = run.end();
    assert!((320 * MS..=321 * MS).contains(&end), "{end}");
    // Timeouts of 10, 20, 40 and 80 ms end by 151 ms, the first of 160 ms by 311 ms; the second begins there.
    let waits: Vec<Option<Waits>> = run.0.summary.traffic.iter().map(|entry| entry.waits).collect();
    let [Some(cut), Some(reply), Some(later)] = waits[..] else { panic!("{waits:?}") };
    let due = cut.next_timer_ps.expect("a timer");
    assert!((470 * MS..=472 * MS).contains(&due), "{due}");
    assert_eq!(cut, Waits { open: 1, next_timer_ps: Some(due), not_started: 0, next_start_ps: None });
    assert_eq!(reply, Waits { open: 0, next_timer_ps: None, not_started: 1, next_start_ps: None });
    let start = Some(500_000 * MS);
    assert_eq!(later, Waits { open: 0, next_timer_ps: None, not_started: 1, next_start_ps: start });
}

/// Of a run that is complete, and of background, nothing is said to wait.
#[test]
fn who_has_ended_waits_for_nothing() {
    let run = run(r#"
        topology.line = { switches = 1 }
        transport = "tcp"
        [[traffic]]
        name = "a"
        arrivals = "at-once"
        matrix.pairs = [[0, 1]]
        sizes.fixed = "10KB"
        "#);
    assert_eq!((run.status(), run.0.summary.traffic[0].waits), (Status::Complete, None));
}

/// The longest time that can be written, as a timeout: it has to fit behind no present, and is never due.
#[test]
fn the_longest_timeout() {
    let run = run(r#"
        transport.dcqcn.timeout = "18446744s"
        topology.line = { switches = 1 }
        [[traffic]]
        name = "a"
        arrivals.at-once.at = "1s"
        matrix.pairs = [[0, 1]]
        sizes.fixed = "30KB"
        "#);
    assert_eq!((run.status(), run.counters().unfinished_flows), (Status::Complete, 0));
}

/// A flow that waits for one in the background: once no pending start is left, the run's patience is as short as `run.stall`,
/// from the last start on, whatever part of the run has it. It ends neither before an event that has happened nor later.
#[test]
fn patience_begins_with_the_last_start() {
    let text = r#"
        topology = "leaf-spine"
        transport.pdq.pacing.rto_min = "1us"
        run.stall = "1us"
        [[traffic]]
        name = "follower"
        arrivals.after = { entry = "first" }
        matrix.incast.senders = 1
        sizes.fixed = "20KB"
        [[traffic]]
        name = "first"
        background = true
        arrivals.times = { at = ["3us"], jitter = "0s" }
        matrix.pairs = [[0, 1]]
        sizes.fixed = "100KB"
    "#;
    let scenario = scenario(text, &[]);
    let whole = run_scenario(&scenario, Agenda::Calendar);
    assert_eq!((whole.status(), whole.end()), (Status::Stalled, 4 * US));
    same(&whole, &in_parts(&scenario, 2, &InTurn));
}

/// Flows in the background end no run that awaits no other: the long one is whole, long after the short one has ended.
#[test]
fn background_alone_ends_no_run() {
    let text = r#"
        transport = "ndp"
        topology.leaf-spine = { leaves = 2, spines = 2, hosts = 2, rate = "1Gbps", delay = "1us" }
        run.until = "20ms"
        [[traffic]]
        name = "short"
        background = true
        arrivals.at-once.jitter = "0s"
        matrix.pairs = [[1, 3]]
        sizes.fixed = "1KB"
        [[traffic]]
        name = "long"
        background = true
        arrivals.at-once.jitter = "0s"
        matrix.pairs = [[0, 2]]
        sizes.fixed = "1MB"
    "#;
    let scenario = scenario(text, &[]);
    let whole = run_scenario(&scenario, Agenda::Calendar);
    for run in [&whole, &in_parts(&scenario, 2, &InTurn)] {
        assert_eq!(run.flows("delivered_bytes"), [1000, 1_000_000]);
        assert!(run.flows("fct_ps")[1] > 8 * MS, "1 MB at 1 Gbps");
    }
}
