//! A run in several parts, in sequence and on threads: the same run. The golden scenarios do so in `golden.rs`.

use crate::common::{self, in_parts, run_scenario, same, scenario};
use flowyard_sim::Checked;
use flowyard_sim::engine::data::finished::Limit;
use flowyard_sim::engine::data::finished::PartCounts;
use flowyard_sim::engine::data::plan::Agenda;
use flowyard_sim::engine::parted::executor::{Executor, InTurn};
use flowyard_sim::results::{Outcome, Partition};
use flowyard_sim::threads::Threads;
use proptest::prelude::*;

/// How a run went that has several parts.
fn counts(outcome: &Outcome) -> PartCounts {
    match outcome.summary.partition.as_ref().expect("it was asked for in parts") {
        Partition::Parts(counts) => *counts,
        Partition::Whole(reason) => panic!("in one part: {reason}"),
    }
}

proptest! {
    #![proptest_config(common::budget(40))]

    #[test]
    fn parts_agree_on_random_scenarios(text in common::random::random_scenario()) {
        let scenario = scenario(&text, &[]);
        let expected = run_scenario(&scenario, Agenda::Calendar);
        for parts in [2, 5] {
            same(&expected, &in_parts(&scenario, parts, &InTurn));
        }
    }

    #[test]
    fn parts_agree_where_much_crosses_between_them(text in entangled()) {
        let scenario = scenario(&text, &[]);
        let expected = run_scenario(&scenario, Agenda::Calendar);
        for parts in [2, 3, 8] {
            same(&expected, &in_parts(&scenario, parts, &InTurn));
        }
        same(&expected, &in_parts(&scenario, 4, &Threads(3)));
        // The same, ended by a limit: any between what is foreseen, below which the run is refused, and what it takes.
        let (least, took) = (expected.0.summary.estimate.packet_hops, expected.counters().packet_hops);
        let mut scenario = scenario;
        scenario.run.work_limit = least.max(1) + took.saturating_sub(least) / 2;
        let expected = run_scenario(&scenario, Agenda::Calendar);
        for parts in [2, 5] {
            same(&expected, &in_parts(&scenario, parts, &InTurn));
        }
    }
}

proptest! {
    #![proptest_config(common::budget(24))]

    /// Messages that are lost, queues that get numbers, flows whose slots are reused: all in the order of the whole run. The
    /// shortest delay is that of a cable, so that an order arrives in the window behind.
    #[test]
    fn parts_agree_under_a_controller(
        controller in prop_oneof![
            Just("syn"), Just("asy"), Just("max-min"), Just("flowtune"),
        ],
        delay in prop_oneof![Just("500ns"), Just("3us"), Just("20us"), Just("300us")],
        loss in prop_oneof![Just(0.0), Just(0.1), Just(0.5)],
        clock_error in prop_oneof![Just(""), Just("clock_error = \"3us\"")],
        idle in prop_oneof![Just("kept"), Just("passes"), Just("drains")],
        until in prop_oneof![Just(""), Just("until = \"4ms\"")],
        seed in 0u64..1000,
    ) {
        let clock_error = if controller == "syn" { clock_error } else { "" };
        let scenario = scenario(&format!(
            r#"
            topology.leaf-spine = {{ leaves = 4, spines = 2, hosts = 3, rate = "1Gbps", delay = "500ns", spine.rate = "2Gbps" }}
            transport.central.idle = "{idle}"
            run = {{ audit = true, seed = {seed}, {until} }}
            observe.samples.every = "1ms"
            [controller.{controller}]
            control = {{ delay = "{delay}", loss = {loss}, timeout = "100us" }}
            {clock_error}
            [[traffic]]
            name = "all"
            arrivals.poisson.rate = 3000.0
            matrix = "uniform"
            sizes.exponential.mean = "20KB"
            flows = 60
            [[traffic]]
            name = "together"
            arrivals.at-once.jitter = "1us"
            matrix = "permutation"
            sizes.fixed = "15KB"
            "#
        ), &[]);
        let expected = run_scenario(&scenario, Agenda::Calendar);
        prop_assert!(expected.counters().control.expect("there is a controller").acts > 0);
        for parts in [2, 3, 4] {
            let run = in_parts(&scenario, parts, &InTurn);
            prop_assert_eq!(run.0.summary.counters.control, expected.0.summary.counters.control);
            prop_assert_eq!(counts(&run.0).parts, parts);
            same(&expected, &run);
        }
        same(&expected, &in_parts(&scenario, 4, &Threads(2)));
        // The same, ended by a limit.
        let (least, took) = (expected.0.summary.estimate.packet_hops, expected.counters().packet_hops);
        let mut scenario = scenario;
        scenario.run.work_limit = least.max(1) + took.saturating_sub(least) / 2;
        same(&run_scenario(&scenario, Agenda::Calendar), &in_parts(&scenario, 3, &InTurn));
    }
}

/// A flow that a trigger starts at the instant of another flow's last ACK reports its burst after that flow's queue is
/// empty, although starts come before arrivals and messages among events of one instant: without the order of causes
/// the controller processed the report of the empty queue last, and the flow never got a rate.
#[test]
fn a_controller_hears_reports_of_one_instant_in_the_order_of_their_causes() {
    let text = r#"
        topology = "dumbbell"
        transport = "central"
        controller.flowtune.control.delay = "1us"
        [[traffic]]
        name = "chain"
        matrix.incast.senders = 1
        sizes.fixed = "1B"
        [traffic.arrivals.triggers]
        starts = ["0s", "1us", { trigger = 4 }]
        fires = [{ flow = 1, event = "acked", trigger = 4 }]
        list = [{ id = 4, kind.barrier = 1 }]
    "#;
    let scenario = scenario(text, &[]);
    let expected = run_scenario(&scenario, Agenda::Calendar);
    assert_eq!(expected.counters().unfinished_flows, 0);
    same(&expected, &in_parts(&scenario, 2, &InTurn));
}

/// Bursts that hosts of several parts report in one instant, after messages of that instant: of each queue the
/// controller receives first that it is empty, and the order of queues is that of the messages.
#[test]
fn a_controller_hears_of_bursts_in_the_order_of_the_messages_before_them() {
    let text = r#"
        topology.vl2 = { hosts = 8, rate = "1Mbps" }
        transport = "central"
        controller.flowtune.control.delay = "1us"
        run.until = "1ms"
        [[traffic]]
        name = "on-off"
        arrivals.on-off.probability = 1.0
        matrix = "uniform"
        sizes.exponential.mean = "1B"
    "#;
    let scenario = scenario(text, &[]);
    let expected = run_scenario(&scenario, Agenda::Calendar);
    for parts in [2, 3, 4] {
        same(&expected, &in_parts(&scenario, parts, &InTurn));
    }
}

/// Bursts of all hosts, each at the end of the one before it, under a controller that is as near as the next switch: queues
/// that are passed on within a window, and reports and orders of one instant in two parts.
#[test]
fn a_controller_hears_of_queues_that_are_passed_on_at_once() {
    let text = r#"
        topology.dumbbell = { hosts = 7, delay = "1ns" }
        transport.central.idle = "passes"
        controller.flowtune.control.delay = "1ns"
        run.until = "30us"
        [[traffic]]
        name = "on-off"
        arrivals.on-off.probability = 1.0
        matrix = "uniform"
        sizes = "fbw"
    "#;
    let scenario = scenario(text, &[]);
    let expected = run_scenario(&scenario, Agenda::Calendar);
    for parts in [2, 3, 4] {
        let run = in_parts(&scenario, parts, &InTurn);
        same(&expected, &run);
        assert_eq!(run.0.summary.counters.control, expected.0.summary.counters.control);
    }
    same(&expected, &in_parts(&scenario, 4, &Threads(2)));
}

/// A controller that hosts reach at once sees all of them at once, and one that reads connections all their counters.
#[test]
fn a_controller_without_delay_has_its_run_in_one_part() {
    let network = r#"
        topology.leaf-spine = { leaves = 2, spines = 2, hosts = 2, rate = "1Gbps", delay = "500ns", spine.rate = "1Gbps" }
        [[traffic]]
        name = "one"
        arrivals.at-once.jitter = "0s"
        matrix.pairs = [[0, 3]]
        sizes.fixed = "15KB"
    "#;
    let near = "messages to and from its controller are faster than packets between two parts";
    for (controller, reason) in [
        ("transport.central = {}\ncontroller.asy = {}\n", near),
        ("transport.central = {}\ncontroller.asy.control.delay = \"499ns\"\n", near),
        (
            "transport.tcp = {}\ncontroller.hedera.control.delay = \"1ms\"\n",
            "its controller reads the counters of all connections",
        ),
    ] {
        let run = in_parts(&scenario(&format!("{controller}{network}"), &[]), 2, &InTurn);
        match run.0.summary.partition.expect("it was asked for in parts") {
            Partition::Whole(told) => assert_eq!(told, reason, "{controller}"),
            Partition::Parts(_) => panic!("in parts: {controller}"),
        }
    }
}

/// Random scenarios with cables of other delays, whole paths, faults, background traffic, an end before that of all flows,
/// and observers.
fn entangled() -> impl Strategy<Value = String> {
    let cable = prop_oneof![Just(""), Just("delay = \"100ns\""), Just("delay = \"7us\"")];
    let balancer = prop_oneof![
        Just(""),
        Just("\"nix\""),
        Just("{ nix = { search = \"shuffled\", answers = \"backwards\" } }"),
        Just("{ valiant = { via = \"any\" } }"),
    ];
    let faults = prop_oneof![
        Just(""),
        Just("{ at = \"0s\", target.random-cables = { share = 0.5 }, change.loss = 0.05 }"),
        Just(
            "{ at = \"20us\", target.random-cables = { share = 0.3 }, change = \"down\", lasts = \"300us\" }"
        ),
        Just(
            "{ at = \"7us\", target.random-cables = { share = 1.0 }, change.rate = \"500Mbps\", lasts = \"50us\" }"
        ),
    ];
    let watched = prop_oneof![
        Just(""),
        Just("[observe.capture]\nlinks = [\"* -> *\"]\npacket_limit = 700\n"),
        Just(
            "[observe.samples]\nevery = \"11us\"\nflow_limit = 3\n[observe.histograms]\nevery = \"5us\"\n[observe.events]\nrows_limit = 300000\n"
        ),
    ];
    let rest = (any::<bool>(), prop_oneof![Just(""), Just(""), Just("until = \"150us\"\n")]);
    let all = (common::random::random_scenario(), cable, balancer, faults, watched, rest);
    all.prop_map(|(text, cable, balancer, faults, watched, (background, until))| {
        let mut changed = text.clone() + until + watched;
        if !faults.is_empty() {
            changed += &format!("[faults]\ndetection_delay = \"30us\"\nevents = [{faults}]\n");
        }
        let mut put = |at: &str, before: &str, after: &str| {
            changed = changed.replacen(at, &format!("{before}{at}{after}"), 1);
        };
        put("\nrate = ", &format!("\n{cable}"), "");
        if background {
            put("name = \"followers\"", "background = true\n", "");
        }
        let lines = changed.lines().map(|line| match line.starts_with("balancer = \"") {
            true if !balancer.is_empty() => format!("balancer = {balancer}\n"),
            _ => format!("{line}\n"),
        });
        let changed: String = lines.collect();
        // Not every change goes with everything.
        if common::read(&changed).is_ok_and(|scenario| Checked::of(&scenario).outlook().is_ok()) {
            changed
        } else {
            text
        }
    })
}

/// Two flows over the core and one that stays in its pod, with short timers, so that windows of every kind come.
const SMALL: &str = r#"
    [topology.fat-tree]
    k = 4
    [transport.tcp]
    rto_min = "300us"
    [queue.drop-tail]
    limit = { packets = 4 }
    [[traffic]]
    name = "two"
    arrivals.at-once = { jitter = "3us" }
    matrix = "permutation"
    sizes.exponential = { mean = "8KB" }
"#;

/// No thread waits forever and none is a window ahead, whatever the number of processors.
#[test]
fn a_thousand_small_runs_on_threads_are_the_same_runs() {
    for seed in 0..125 {
        let seed_text = seed.to_string();
        let scenario = scenario(SMALL, &[("run.seed", &seed_text)]);
        let expected = run_scenario(&scenario, Agenda::Calendar);
        for (parts, threads) in [(2, 2), (3, 2), (4, 2), (4, 3), (4, 4), (8, 5), (8, 8), (4, 8)] {
            let run = in_parts(&scenario, parts, &Threads(threads));
            assert_eq!(run.digest(), expected.digest(), "seed {seed}, {parts} parts on {threads} threads");
            assert_eq!(counts(&run.0).threads, threads as u32);
        }
    }
}

/// All flows of a permutation end within a few windows, each known to its sender: no part waits for the order of the
/// events of others. The sender of a datagram gets no acknowledgement, and its last packet may be anywhere: there parts take
/// turns.
#[test]
fn flows_that_end_together_cost_no_turns() {
    for (transport, takes_turns) in [("ndp", false), ("tcp", false), ("datagram", true)] {
        let text = format!(
            r#"
            topology.fat-tree.k = 8
            transport = "{transport}"
            [[traffic]]
            name = "all"
            arrivals.at-once = {{}}
            matrix = "permutation"
            sizes.fixed = "30KB"
            "#
        );
        let scenario = scenario(&text, &[]);
        let expected = run_scenario(&scenario, Agenda::Calendar);
        for (parts, executor) in [(2, &InTurn as &dyn Executor), (8, &InTurn), (8, &Threads(3))] {
            let run = in_parts(&scenario, parts, executor);
            same(&expected, &run);
            assert_eq!(counts(&run.0).turns > 0, takes_turns, "{transport} in {parts} parts");
        }
    }
}

/// Hosts with several ports that relay, paths that sources have chosen, and cables and nodes that are down while routes
/// change: packets stay on their paths, and so in the part that has their next port.
#[test]
fn parts_agree_where_whole_paths_fail() {
    let networks = ["bcube = { n = 3 }", "camcube = { x = 2, y = 2, z = 3 }", "dcell = { n = 3 }"];
    let members = [
        "transport = \"tcp\"\nrouting.balancer = \"nix\"",
        "transport = \"tcp\"\nrouting.balancer.valiant.via = \"any\"",
        "transport = \"ndp\"\nrouting.balancer = \"valiant\"",
        "transport = \"daq\"\nrouting.balancer = \"nix\"",
        "transport = \"mptcp\"\nrouting.balancer = \"nix\"",
        "transport = \"rcp\"",
        "transport = \"d3\"\nagent.d3.state = \"flows\"",
        "transport = \"pdq\"",
        "transport = \"racs\"",
        "transport = \"parallel-tcp\"",
    ];
    let targets = ["random-cables.share = 0.2", "random-nodes = { share = 0.2, tier = \"host\" }"];
    for case in 0..networks.len() * members.len() * targets.len() {
        let (network, case) = (networks[case % networks.len()], case / networks.len());
        let (member, target) = (members[case % members.len()], targets[case / members.len()]);
        // Between two hosts of a DCell there is one shortest path.
        if network.starts_with("dcell") && member.contains("parallel") {
            continue;
        }
        let text = format!(
            r#"
            topology.{network}
            {member}
            run = {{ audit = true, until = "50ms" }}
            [[traffic]]
            name = "flows"
            arrivals.poisson.load = 0.5
            flows = 30
            matrix = "permutation"
            sizes.fixed = "20KB"
            [faults]
            detection_delay = "2us"
            events = [{{ at = "5us", lasts = "30us", target.{target}, change = "down" }}]
            "#
        );
        let scenario = scenario(&text, &[]);
        let expected = run_scenario(&scenario, Agenda::Calendar);
        for parts in [2, 3, 5] {
            same(&expected, &in_parts(&scenario, parts, &InTurn));
        }
    }
}

/// Flows that give up end at any time: the events after the last one are not handled in parts either.
#[test]
fn parts_agree_where_flows_give_up() {
    for transport in ["pdq = {}", "d3.late = \"give-up\"", "daq.late = \"give-up\""] {
        for due in ["deadline = \"1us\"", "deadline = \"60us\"", "deadlines.exponential.mean = \"40us\""] {
            for seed in 0..8 {
                let text = format!(
                    r#"
                    topology.dumbbell = {{ hosts = 3, rate = "100Gbps" }}
                    transport.{transport}
                    run = {{ seed = {seed}, measure = "all" }}
                    [[traffic]]
                    name = "queries"
                    arrivals.poisson.load = 1
                    flows = {}
                    matrix = "uniform"
                    sizes.fixed = "200KB"
                    {due}
                    "#,
                    1 + seed
                );
                let scenario = scenario(&text, &[]);
                let expected = run_scenario(&scenario, Agenda::Calendar);
                for parts in [2, 3] {
                    same(&expected, &in_parts(&scenario, parts, &InTurn));
                }
            }
        }
    }
}

/// Stride 4 in a fat-tree of k = 4 leaves every pod: with its pods apart each data packet and each ACK crosses from its
/// pod to a core switch of another part, from there to the next pod, or both. With two parts of two pods each, and cores
/// shared out, at least one of these two links is cut for half of all packets.
#[test]
fn packets_between_pods_cross_between_parts() {
    let text = r#"
        topology.fat-tree.k = 4
        transport = "ndp"
        [[traffic]]
        name = "stride"
        arrivals = "at-once"
        matrix.stride.by = [4]
        sizes.fixed = "60KB"
    "#;
    let run = in_parts(&scenario(text, &[]), 4, &InTurn);
    let (counts, totals) = (counts(&run.0), run.counters());
    assert_eq!(counts.parts, 4);
    // Six links a packet, of which two lead to and from a core: that of a core and a pod of other parts is cut, which three
    // of four are for each of the two.
    let share = counts.crossings as f64 / totals.packet_hops as f64;
    assert!((share - 2.0 * 0.75 / 6.0).abs() < 0.03, "{share}");
}

/// A flow's slot waits for its timers, here 20 ms at the sender and 10 ms at the receiver, which are never cancelled.
/// Between two windows, a few microseconds apart, parts look only at flows that may be over: each when its last packets
/// are gone, and when one of its timers has expired.
#[test]
fn a_flow_that_waits_for_its_timers_is_left_alone() {
    let text = r#"
topology.fat-tree.k = 4
transport.tcp = { rto_min = "20ms", rto_initial = "20ms", delayed_ack_timeout = "10ms" }
[[traffic]]
name = "short"
arrivals.poisson = { rate = 20000 }
matrix = "uniform"
sizes.fixed = "10KB"
flows = 2000
"#;
    let scenario = scenario(text, &[]);
    let parted = in_parts(&scenario, 4, &InTurn);
    same(&run_scenario(&scenario, Agenda::Calendar), &parted);
    let PartCounts { windows, closing_looks, .. } = counts(&parted.0);
    assert!(windows > 5_000, "{windows} windows");
    assert!((2_000..4 * 2_000).contains(&closing_looks), "{closing_looks} looks in {windows} windows");
}

/// A drawn flow's number is its place among the draws of all sources, half of which start at the same instants; tables,
/// samples and captures have it, and agents break ties by it.
#[test]
fn drawn_flows_have_the_same_numbers() {
    let transports = [
        ("ndp", ""),
        ("tcp", "connection = \"kept\""),
        ("mptcp", ""),
        ("datagram", ""),
        ("pdq", ""),
        ("racs", ""),
        ("d3", ""),
        ("rcp", ""),
        ("numfabric", ""),
    ];
    for (transport, entry) in transports {
        let agent = if transport == "d3" { "agent.d3.state = \"flows\"" } else { "" };
        let text = format!(
            r#"
            topology.fat-tree.k = 4
            transport = "{transport}"
            {agent}
            observe.samples = {{ every = "20us" }}
            observe.capture = {{ links = ["* -> *"], packet_limit = 2000 }}
            observe.histograms = {{ every = "15us" }}
            [[traffic]]
            name = "at-once"
            arrivals.on-off = {{ probability = 1, flows_each = 12 }}
            matrix = "uniform"
            sizes.fixed = "3KB"
            {entry}
            [[traffic]]
            name = "slots"
            arrivals.on-off = {{ probability = 0.4, slot = "5us", flows_each = 9 }}
            matrix = "permutation"
            sizes.exponential = {{ mean = "9KB" }}
            [[traffic]]
            name = "planned"
            arrivals.poisson = {{ load = 0.2 }}
            matrix = "uniform"
            sizes.fixed = "5KB"
            flows = 60
            "#
        );
        let endless = text.replace(", flows_each = 9", "");
        for (text, until) in [(text, "1s"), (endless, "300us")] {
            let scenario = scenario(&text, &[("run.until", until)]);
            let expected = run_scenario(&scenario, Agenda::Calendar);
            for parts in [2, 4, 8] {
                let run = in_parts(&scenario, parts, &InTurn);
                assert_eq!(counts(&run.0).parts, parts);
                same(&expected, &run);
            }
            same(&expected, &in_parts(&scenario, 4, &Threads(2)));
        }
    }
}

/// A limit of memory ends a run at one time: not where a window ends, which depends on the parts. Hosts of a fat-tree send
/// twice what its switches carry, and all that they do not carry waits there.
#[test]
fn a_limit_of_memory_ends_a_run_at_one_time() {
    let text = r#"
        topology.fat-tree = { k = 4, oversubscription = 2, rate = "10Gbps" }
        transport = "datagram"
        queue = "infinite"
        [[traffic]]
        name = "all"
        arrivals = "at-once"
        matrix.stride.by = [8]
        sizes.fixed = "9MB"
    "#;
    let mut ends = Vec::new();
    for limit in ["2MiB", "5MiB", "9MiB"] {
        let scenario = scenario(text, &[("run.memory_limit", limit)]);
        let expected = run_scenario(&scenario, Agenda::Calendar);
        assert_eq!(expected.0.summary.limit, Some(Limit::Memory));
        for (parts, threads) in [(2, 2), (3, 2), (8, 3)] {
            same(&expected, &in_parts(&scenario, parts, &Threads(threads)));
        }
        ends.push(expected.end());
    }
    assert!(ends.is_sorted_by(|one, next| one < next), "{ends:?}");
}

/// A run on threads keeps its field in the scenario, and says with how many it went.
/// Limits are looked at while observers have points to see: ports then decide what has come from other parts first.
#[test]
fn limits_are_looked_at_while_packets_are_observed() {
    let scenario = scenario(
        r#"
        topology.three-tier = { aggregations = 2, rate = "2Gbps" }
        transport.tcp.header_bytes = "200B"
        queue = "ndp"
        observe.capture.links = ["access 6 -> host 24"]
        run = { work_limit = 29494, audit = true }
        [[traffic]]
        name = "a"
        matrix = "uniform"
        sizes = "alibaba-storage"
        arrivals.on-off = { probability = 0.1, flows_each = 1, slot = "1us" }
        sources.share = 0.4
        [[traffic]]
        name = "c"
        matrix = "all-to-all"
        arrivals.blocks = { blocks = 1, jitter = "7ns" }
        sizes.bimodal = {}
        "#,
        &[],
    );
    let expected = run_scenario(&scenario, Agenda::Calendar);
    for parts in [2, 3, 4] {
        same(&expected, &in_parts(&scenario, parts, &InTurn));
    }
}

/// The sender of a message without acknowledgements does not know when it has arrived: a run may end with any packet, and
/// no part goes beyond it.
#[test]
fn messages_without_acknowledgements_end_a_run_anywhere() {
    for seed in 0..20 {
        let scenario = scenario(
            r#"
            topology = "relay"
            transport.rcp = {}
            queue = "strict-priority"
            run.audit = true
            [[traffic]]
            name = "a"
            transport.homa = { acknowledge = false }
            matrix = "uniform"
            arrivals.times.at = ["5us"]
            sizes = "facebook-web"
            [[traffic]]
            name = "b"
            matrix = "all-to-all"
            arrivals.triggers.starts = ["0s"]
            sizes.uniform = { min = "1B", max = "2KB" }
            "#,
            &[("run.seed", &seed.to_string())],
        );
        let expected = run_scenario(&scenario, Agenda::Calendar);
        for parts in [2, 3] {
            same(&expected, &in_parts(&scenario, parts, &InTurn));
        }
    }
}

/// The last timer of a subflow fires when another flow has the slot of its parent, which may have begun in another part:
/// an observer of windows does not ask there. Found by generated scenarios.
#[test]
fn the_last_timer_of_a_subflow_has_no_window() {
    let text = r#"
        topology = "bcube"
        transport = "parallel-tcp"
        [[traffic]]
        name = "a"
        arrivals = "at-once"
        matrix = "all-to-all"
        sizes = "homa-w2"
        transport.mptcp.tcp = { link_bytes = "1KB", rto_min = "1ns" }
        [[traffic]]
        name = "b"
        matrix = "permutation"
        arrivals.times.at = ["1us"]
        sizes.exponential.mean = "1B"
        [[traffic]]
        name = "c"
        matrix = "permutation"
        connection = "kept"
        arrivals.after = { entry = "b", each = "all", notify = "30us" }
        sizes.exponential.mean = "1KB"
        [observe.histograms]
    "#;
    let scenario = scenario(text, &[]);
    same(&in_parts(&scenario, 1, &InTurn), &in_parts(&scenario, 2, &InTurn));
}

#[test]
fn a_scenario_names_its_threads() {
    let (run, alone) = (on_threads(SMALL, 3), on_threads(SMALL, 1));
    assert_eq!(run.summary.digest, alone.summary.digest);
    assert_eq!((counts(&run).threads, counts(&run).parts), (3, 3));
    assert!(alone.summary.partition.is_none());
}

fn on_threads(text: &str, threads: u32) -> Outcome {
    let mut scenario = common::read(text).unwrap_or_else(|problems| panic!("{problems}"));
    scenario.run.threads = threads;
    flowyard_sim::simulate(&scenario, &mut |_| true).expect("a small run")
}

/// Each reason for a single part, in one sentence.
#[test]
fn a_run_that_cannot_be_parted_says_why() {
    let cases = [
        (r#"topology.single-switch.hosts = 4"#, "its network has no two parts"),
        (r#"topology.fat-tree = { k = 4, delay = "0s" }"#, "a link between two parts has no delay"),
    ];
    for (first, expected) in cases {
        let text = format!(
            "{first}\ntransport.tcp = {{}}\n[[traffic]]\nname = \"a\"\narrivals = \"at-once\"\n\
             matrix = \"permutation\"\nsizes.fixed = \"3KB\""
        );
        match on_threads(&text, 2).summary.partition {
            Some(Partition::Whole(reason)) => assert_eq!(reason, expected),
            other => panic!("{first}: {other:?}"),
        }
    }
}
