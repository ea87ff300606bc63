//! Faults: losses on a dead link, effects of a rate change and reactions of routes, against counts and times
//! worked out by hand; and on random schedules that nothing hangs and no byte goes missing.

use crate::common::random::random_scenario;
use crate::common::scenarios::flows;
use crate::common::{self, MS, PACKET, Run, US, read, run, run_with, words};
use flowyard_sim::engine::data::finished::Status;
use proptest::prelude::*;

const T: u64 = PACKET;
const D: u64 = US;
const PAYLOAD: u64 = 1472;

/// One flow of so many full datagrams, 12 us each, over a switch: host 0, switch 0, host 1, 1 us a link.
fn over_a_switch(packets: u64, faults: &str) -> String {
    format!(
        r#"
        transport = "datagram"
        topology.line = {{ switches = 1, rate = "1Gbps", delay = "1us" }}
        [[traffic]]
        name = "flow"
        arrivals.at-once = {{ jitter = "0s" }}
        matrix.pairs = [[0, 1]]
        sizes.fixed = "{}B"
        [faults]
        {faults}
        "#,
        packets * PAYLOAD
    )
}

/// Packet k is sent by the switch at (k + 1) T + d and arrives T + d later: what of that is in the dead
/// time is lost, to the packet and at both ends of the interval.
#[test]
fn a_dead_link_loses_what_is_on_it() {
    let packets = 100;
    // The last line: down at the very instant of an arrival, up at the very instant of a start.
    for (down, up) in [(300 * US, 500 * US), (301 * US, 302 * US), (10 * T + 2 * D, 20 * T + D)] {
        let faults = format!(
            "events = [{{ at = \"{down}ps\", target.link = [\"switch 0\", \"host 1\"], change = \"down\", \
             lasts = \"{}ps\" }}]",
            up - down
        );
        let text = over_a_switch(packets, &faults);
        let run = run(&text);
        let lost = |k: &u64| {
            let (start, arrival) = ((k + 1) * T + D, (k + 2) * T + 2 * D);
            start < up && arrival >= down
        };
        let expected = (0..packets).filter(lost).count() as u64;
        assert!(expected > 0);
        assert_eq!(run.flow("lost"), expected, "down from {down} to {up} ps");
        assert_eq!(run.link("switch 0", "host 1", "lost"), expected);
        assert_eq!(run.link("switch 0", "host 1", "packets"), packets);
        assert_eq!(run.flow("delivered_bytes"), (packets - expected) * PAYLOAD);
        assert_eq!((run.counters().lost, run.counters().unroutable), (expected, 0));
        assert_eq!(run_with(&text, &[("run.port_mode", "serviced")]).digest(), run.digest());
    }
}

/// Two flows of five datagrams from one host to another, which lose the packets of these items.
fn two_flows(items: &str) -> String {
    format!(
        r#"
        transport = "datagram"
        topology.line = {{ switches = 1, rate = "1Gbps", delay = "1us" }}
        [faults]
        packets = [{items}]
        [[traffic]]
        name = "flow"
        arrivals.at-once = {{ jitter = "0s" }}
        matrix.pairs = [[0, 1], [0, 1]]
        sizes.fixed = "{}B"
        "#,
        5 * PAYLOAD
    )
}

/// Of two flows from one host, which take turns on its wire, the second loses its packets 2 and 4: on the first link, of
/// that flow, and nothing of the other. All is as without faults but for these two, in both port modes.
#[test]
fn packets_are_lost_by_number() {
    let text =
        |numbers: &str| two_flows(&format!("{{ traffic = \"flow\", flow = 1, numbers = [{numbers}] }}"));
    let (lossy, whole) = (run(&text("4, 2")), run(&text("6")));
    assert_eq!(lossy.flows("lost"), [0, 2]);
    assert_eq!(whole.flows("lost"), [0, 0]);
    assert_eq!(lossy.flows("delivered_bytes"), [5 * PAYLOAD, 3 * PAYLOAD]);
    assert_eq!(lossy.link("host 0", "switch 0", "lost"), 2);
    assert_eq!(lossy.link("host 0", "switch 0", "packets"), 10);
    assert_eq!(lossy.link("switch 0", "host 1", "packets"), 8);
    assert_eq!(lossy.flow_cells("fct_ps")[0], whole.flow_cells("fct_ps")[0]);
    assert_eq!(run_with(&text("4, 2"), &[("run.port_mode", "serviced")]).digest(), lossy.digest());
}

/// Several items may name a flow, and others: each flow loses its own numbers, all of them.
#[test]
fn a_flow_loses_the_packets_of_all_its_items() {
    let text = two_flows(
        r#"
        { traffic = "flow", flow = 0, numbers = [2] },
        { traffic = "flow", flow = 1, numbers = [3, 4, 5] },
        { traffic = "flow", flow = 0, numbers = [1] },
        "#,
    );
    assert_eq!(run(&text).flows("lost"), [2, 3]);
}

/// Retransmissions count: of ten segments the first is lost, its retransmission is the eleventh packet and is lost,
/// too, and the timer, which runs from 0, retransmits it once more. Handshakes and acknowledgements do not count: the
/// other way a flow of the same numbers loses its own segments.
#[test]
fn repeats_count_and_acknowledgements_do_not() {
    let text = |numbers: &str| {
        format!(
            r#"
            transport.tcp = {{ mss = "1460B", initial_window = 10, rto_initial = "100ms" }}
            topology.line = {{ switches = 0, rate = "1Gbps", delay = "1ms" }}
            faults.packets = [{{ traffic = "there", numbers = [{numbers}] }}]
            {}
            {}
            "#,
            flows("there", &[[0, 1]], 14_600),
            flows("back", &[[1, 0]], 14_600)
        )
    };
    for (numbers, lost, sent, timeouts) in [("1", 1, 11, 0), ("1, 11", 2, 12, 1), ("11", 0, 10, 0)] {
        let run = run(&text(numbers));
        assert_eq!(run.flows("lost"), [lost, 0], "{numbers}");
        assert_eq!(run.flows("packets_sent"), [sent, 10], "{numbers}");
        assert_eq!(run.flows("timeouts"), [timeouts, 0], "{numbers}");
    }
}

/// A transmission that has begun keeps its rate; one that begins at the instant of the change has the new one.
#[test]
fn a_rate_changes_between_packets() {
    let (packets, from, until) = (50, 3 * T + D, 400 * US);
    let faults = format!(
        "events = [{{ at = \"{from}ps\", target.link = [\"switch 0\", \"host 1\"], change = {{ rate = \"500Mbps\" }}, \
         lasts = \"{}ps\" }}]",
        until - from
    );
    let text = over_a_switch(packets, &faults);
    let mut free = 0;
    for k in 0..packets {
        let start = free.max((k + 1) * T + D);
        free = start + if (from..until).contains(&start) { 2 * T } else { T };
    }
    assert_eq!(run(&text).flow("fct_ps"), free + D);
    assert_eq!(run_with(&text, &[("run.port_mode", "serviced")]).digest(), run(&text).digest());
}

/// A host's own port, too: its transport is asked packet by packet. Three of ten packets begin before 30 us;
/// the other seven leave from 36 us on in 6 us each, and wait at the switch, which is never idle.
#[test]
fn a_host_port_changes_its_rate() {
    let faults = "events = [{ at = \"30us\", target.link = [\"host 0\", \"switch 0\"], change = { rate = \"2Gbps\" } }]";
    let run = run(&over_a_switch(10, faults));
    assert_eq!(run.flow("fct_ps"), (T + D) + 10 * T + D);
    // The last one comes to the switch at 36 + 7 * 6 + 1 us; of the ten, sent from 13 us on, five are gone by then.
    assert_eq!(run.link("switch 0", "host 1", "queue_max_packets"), 5);
}

#[test]
fn random_losses_are_as_likely_as_said() {
    let packets = 20_000;
    let faults =
        "events = [{ at = \"0s\", target.cable = [\"host 1\", \"switch 0\"], change = { loss = 0.1 } }]";
    let run = run(&over_a_switch(packets, faults));
    let (lost, expected) = (run.flow("lost") as f64, packets as f64 * 0.1);
    assert!((lost - expected).abs() < 4.0 * (expected * 0.9).sqrt(), "{lost} lost");
    assert_eq!(run.flow("delivered_bytes"), (packets - run.flow("lost")) * PAYLOAD);
}

/// A flow of datagrams between two pods, packet by packet over all paths, with these faults.
fn between_pods(faults: &str) -> Run {
    run(&format!(
        r#"
        transport = "datagram"
        routing.balancer = "per-packet"
        topology.fat-tree = {{ k = 4, rate = "1Gbps" }}
        [[traffic]]
        name = "flow"
        arrivals.at-once = {{ jitter = "0s" }}
        matrix.pairs = [[0, 4]]
        sizes.fixed = "{}B"
        [faults]
        {faults}
        "#,
        400 * PAYLOAD
    ))
}

#[test]
fn routes_avoid_what_is_down() {
    let dead = ["pod 0 edge 0", "pod 0 aggregation 1"];
    let cable = |at: &str, more: &str| {
        format!("events = [{{ at = \"{at}\", target.cable = {dead:?}, change = \"down\" {more} }}]\n")
    };
    // Down before the run: routes know.
    let run = between_pods(&cable("0s", ""));
    assert_eq!((run.flow("lost"), run.link(dead[0], dead[1], "packets")), (0, 0));
    assert_eq!(run.link("pod 0 aggregation 0", "core 0", "lost"), 0);

    // Down later: half of the packets that begin between fault and detection are lost, and none that begin after.
    let run = between_pods(&(cable("1ms", "") + "detection_delay = \"600us\""));
    let lost = run.flow("lost");
    assert!((10..=45).contains(&lost), "{lost} of about 50 packets, each with a stream of a half");
    assert_eq!(run.link(dead[0], dead[1], "lost"), lost);
    let used = run.link(dead[0], dead[1], "packets");
    // 1.6 ms of 4.8 ms, half of the packets.
    assert!((40..=95).contains(&used), "{used}");

    // Noticed at once: only what was on the cable, or waited for it, is lost.
    let run = between_pods(&(cable("1ms", "") + "detection_delay = \"0s\""));
    assert!(run.flow("lost") <= 2, "{}", run.flow("lost"));

    // Up again and noticed: used again. 1.6 ms to 4.8 ms are avoided.
    let run = between_pods(&(cable("0s", ", lasts = \"2ms\"") + "detection_delay = \"1ms\""));
    let used = run.link(dead[0], dead[1], "packets");
    assert!((50..=100).contains(&used), "{used} of 150 packets that begin after 3 ms");
    assert_eq!(run.flow("lost"), 0);

    // A switch that is down carries nothing.
    let run =
        between_pods("events = [{ at = \"0s\", target.node = \"pod 0 aggregation 0\", change = \"down\" }]");
    assert_eq!(run.link(dead[0], "pod 0 aggregation 0", "packets"), 0);
    assert_eq!(run.link(dead[0], dead[1], "packets"), 400);
    assert_eq!(run.flow("lost"), 0);
}

/// A connection that opens while no path leads to its receiver takes one when there is one again: the cable is back after
/// 10 ms, the SYN is sent at 1 ms and, as it is lost, after 20 ms more.
#[test]
fn a_connection_may_open_without_a_path() {
    for balancer in ["dual", "mod-k", "nix"] {
        let text = format!(
            r#"
            topology.leaf-spine = {{ leaves = 2, spines = 1, hosts = 1 }}
            transport.tcp = {{ rto_min = "20ms", rto_initial = "20ms", delayed_ack_timeout = "1ms" }}
            routing.balancer = "{balancer}"
            [[traffic]]
            name = "late"
            arrivals.times = {{ at = ["1ms"], jitter = "0s" }}
            matrix.pairs = [[0, 1]]
            sizes.fixed = "1460B"
            [faults]
            detection_delay = "0s"
            events = [{{ at = "0s", target.cable = ["leaf 0", "spine 0"], change = "down", lasts = "10ms" }}]
            "#
        );
        let run = run(&text);
        assert_eq!(run.flow("timeouts"), 1, "{balancer}");
        let fct = run.flow("fct_ps");
        assert!((20 * MS..21 * MS).contains(&fct), "{balancer}: {fct}");
    }
}

/// A server with two ports whose one cable fails goes on by the other, whatever waited there, and comes back.
#[test]
fn hosts_with_several_ports_change_over() {
    for transport in ["[transport.ndp]", "[transport.tcp]\nrto_min = \"1ms\"\nrto_initial = \"2ms\""] {
        let run = run(&format!(
            r#"
            topology.bcube = {{ n = 4, k = 1 }}
            {transport}
            [[traffic]]
            name = "flows"
            arrivals.at-once = {{}}
            matrix.pairs = [[0, 5], [0, 10], [0, 15], [0, 7]]
            sizes.fixed = "2MB"
            [faults]
            detection_delay = "100us"
            events = [
                {{ at = "500us", target.cable = ["host 0", "level 0 switch 0"], change = "down", lasts = "1ms" }},
                {{ at = "2500us", target.cable = ["host 0", "level 1 switch 0"], change = "down" }},
            ]
            "#
        ));
        assert_eq!(run.flows("completed"), [1; 4]);
        assert!(run.end() < 1_000 * common::MS, "nobody waits for a second");
        let (first, second) = (run.row("host 0", "level 0 switch 0"), run.row("host 0", "level 1 switch 0"));
        let packets = run.links("packets");
        assert!(packets[second] > 1_000 && packets[first] > 50, "{} and {}", packets[first], packets[second]);
    }
}

/// So do answers: those of host 0, whose cables fail one after the other, leave by the one that is left.
#[test]
fn answers_change_their_port_too() {
    let run = run(r#"
        topology.bcube = { n = 4, k = 1 }
        transport.tcp = { rto_min = "1ms", rto_initial = "2ms" }
        [[traffic]]
        name = "flows"
        arrivals.at-once = {}
        matrix.pairs = [[5, 0], [10, 0], [15, 0], [7, 0]]
        sizes.fixed = "2MB"
        [faults]
        detection_delay = "100us"
        events = [
            { at = "500us", target.cable = ["host 0", "level 0 switch 0"], change = "down", lasts = "1ms" },
            { at = "2500us", target.cable = ["host 0", "level 1 switch 0"], change = "down" },
        ]
        "#);
    assert_eq!(run.flows("completed"), [1; 4]);
    assert!(run.end() < 1_000 * common::MS, "nobody waits for a second");
}

/// Routes change while a connection has a whole path, whose first cable is down: it goes by that path whatever happens, and
/// so by its first port, though its hosts have another one. Packets sent while the cable is down are lost.
#[test]
fn a_connection_with_a_whole_path_keeps_its_ports() {
    for answers in ["own", "backwards"] {
        let text = format!(
            r#"
            topology.bcube = {{ n = 2, k = 1, rate = "1Gbps" }}
            routing.balancer.nix.answers = "{answers}"
            transport.tcp = {{ rto_min = "300us", rto_initial = "300us" }}
            run.audit = true
            {}
            "#,
            flows("flow", &[[0, 3]], 100 * PAYLOAD)
        );
        let whole = run(&text);
        let ports = |run: &Run, host: &str| -> Vec<u64> {
            [0, 1].map(|level| run.link(host, &format!("level {level} switch 0"), "packets")).to_vec()
        };
        let by = ports(&whole, "host 0").iter().position(|&packets| packets > 0).expect("a port sends");
        let fault = format!(
            "[faults]\ndetection_delay = \"2us\"\nevents = [{{ at = \"50us\", lasts = \"100us\", change = \"down\", \
             target.cable = [\"host 0\", \"level {by} switch 0\"] }}]"
        );
        let failed = run(&(text + &fault));
        assert_eq!((failed.flow("completed"), failed.flow("lost") > 0), (1, true));
        assert_eq!(ports(&failed, "host 0")[1 - by], 0, "{answers}");
    }
}

/// A network in two parts: packets that have no way left are counted, and the run says that it stalled.
#[test]
fn who_is_cut_off_stalls() {
    let run = run(r#"
        topology.fat-tree = { k = 4 }
        [transport.tcp]
        rto_min = "1ms"
        rto_initial = "1ms"
        rto_max = "4ms"
        [[traffic]]
        name = "flow"
        arrivals.at-once = {}
        matrix.pairs = [[0, 15], [1, 2]]
        sizes.fixed = "1MB"
        [run]
        stall = "50ms"
        [faults]
        detection_delay = "10us"
        events = [{ at = "100us", target.node = "pod 3 edge 1", change = "down" }]
        "#);
    assert_eq!(run.0.summary.status, Status::Stalled);
    assert_eq!(run.flows("completed"), [1, 0]);
    let counters = run.counters();
    assert!(counters.unroutable > 0 && counters.lost > 0, "{counters:?}");
    assert_eq!(run.flows("lost").iter().sum::<u64>(), counters.lost + counters.unroutable);
    assert_eq!(run.links("lost").iter().sum::<u64>(), counters.lost);
}

/// The randomly drawn parts are as many as the share, the same for each run of a seed, and others for others.
#[test]
fn shares_are_drawn() {
    let parts = |share: f64, seed: &str| {
        let faults = format!(
            "events = [{{ at = \"0s\", target.random-cables = {{ share = {share} }}, change = {{ loss = 0.0 }} }}]"
        );
        let run = run_with(
            &over_a_switch(1, &faults).replace("switches = 1", "switches = 9"),
            &[("run.seed", seed)],
        );
        run.0.summary.faults[0].links.clone()
    };
    assert_eq!([0.0, 0.1, 0.44, 1.0].map(|share| parts(share, "1").len()), [0, 2, 8, 20]);
    assert_eq!(parts(0.5, "1"), parts(0.5, "1"));
    assert_ne!(parts(0.5, "1"), parts(0.5, "2"));
    for both in parts(0.5, "1").chunks(2) {
        assert_eq!(both[0] ^ 1, both[1], "both ways of a cable");
    }
}

/// Each fault ends for itself: a link is down while any of two keeps it down, a rate holds again when one that came
/// later is over, and so does a loss. Counted by packets of 12 us on the first link, sent from 0 on.
#[test]
fn faults_that_overlap_end_one_by_one() {
    let lost = |events: &str| run(&over_a_switch(1000, &format!("events = [{events}]"))).flow("lost");
    let down = |at: u64, lasts: u64, target: &str| {
        format!("{{ at = \"{at}us\", target.{target}, change = \"down\", lasts = \"{lasts}us\" }},")
    };
    let cable = "cable = [\"host 0\", \"switch 0\"]";
    // Packet k is on the link from 12 k to 12 k + 13 us: it is lost if that meets the dead time.
    let expected =
        |from: u64, to: u64| (0..1000).filter(|k| 12 * k < to && 12 * k + 13 >= from).count() as u64;
    assert_eq!(lost(&down(100, 100, cable)), expected(100, 200));
    assert_eq!(lost(&(down(100, 100, cable) + &down(150, 150, cable))), expected(100, 300));
    assert_eq!(lost(&(down(100, 500, cable) + &down(200, 10, cable))), expected(100, 600));
    // A node's fault is one thing, its cable's another.
    let node = "node = \"host 0\"";
    assert_eq!(lost(&(down(100, 100, cable) + &down(150, 150, node))), expected(100, 300));
    // "up" ends what keeps its own target down.
    let up = format!("{{ at = \"250us\", target.{cable}, change = \"up\" }},");
    assert_eq!(lost(&(down(100, 500, cable) + &down(200, 300, cable) + &up)), expected(100, 250));

    let flow = |events: &str| run(&over_a_switch(100, &format!("events = [{events}]"))).flow("fct_ps");
    let rate = |at: u64, rate: &str, more: &str| {
        format!("{{ at = \"{at}us\", target.{cable}, change = {{ rate = \"{rate}\" }}{more} }},")
    };
    // 500 Mbps from the start; 100 Mbps from 240 us for 240 us: 10 packets of 24 us, 2 of 120, 88 of 24, and the switch.
    let fct = flow(&(rate(0, "500Mbps", "") + &rate(240, "100Mbps", ", lasts = \"240us\"")));
    assert_eq!(fct, (10 * 24 + 2 * 120 + 88 * 24 + 1 + 12 + 1) * US);
    let loss = |at: u64, loss: f64, more: &str| {
        format!("{{ at = \"{at}us\", target.{cable}, change = {{ loss = {loss} }}{more} }},")
    };
    let lost = lost(&(loss(0, 0.5, "") + &loss(120, 1.0, ", lasts = \"120us\"")));
    assert!((440..=570).contains(&lost), "{lost} of 1000, half of them and 5 more");
}

#[test]
fn mistakes_are_named() {
    let message = |events: &str| {
        let text = over_a_switch(1, &format!("events = [{events}]"));
        read(&text).expect_err("a mistake").to_string()
    };
    assert_eq!(
        message("{ at = \"0s\", target.node = \"swich 0\", change = \"down\" }"),
        "faults.events.0.target.node: \"swich 0\" is no node of this network; did you mean \"switch 0\"?"
    );
    assert_eq!(
        message("{ at = \"0s\", target.cable = [\"host 0\", \"host 1\"], change = \"down\" }"),
        "faults.events.0.target.cable: there is no cable from \"host 0\" to \"host 1\"; its cables lead to \"switch 0\""
    );
    assert_eq!(
        message("{ at = \"0s\", target.random-nodes = { share = 0.5, tier = \"core\" }, change = \"down\" }"),
        "faults.events.0.target.random-nodes.tier: \"core\" is no tier of this network; use \"host\", \"switch\""
    );
    assert_eq!(
        message("{ at = \"0s\", target.node = \"switch 0\", change = { loss = 1.5 } }"),
        "faults.events.0.change.loss: 1.5 is too large (allowed: 0 to 1); use 1"
    );
    assert_eq!(
        message("{ at = \"0s\", target.node = \"switch 0\", change = \"up\", lasts = \"1ms\" }"),
        "faults.events.0.lasts: goes with a change that can be undone, and \"up\" undoes one"
    );
}

#[test]
fn mistakes_about_packets_are_named() {
    let message = |packets: &str| {
        let text = over_a_switch(1, &format!("packets = [{packets}]"));
        read(&text).expect_err("a mistake").to_string()
    };
    assert_eq!(
        message("{ traffic = \"flou\", numbers = [1] }"),
        "faults.packets.0.traffic: \"flou\" is the name of no traffic entry; did you mean \"flow\"?"
    );
    // The measuring window may be the only end that arrivals have.
    let text = "run.measure = { from = '10us', until = '99us' }
topology.dumbbell = {}
transport.ndp = {}
traffic = [{ name = 'flow', arrivals.poisson.load = 0.5, matrix = 'uniform', sizes.fixed = '1500B' }]
faults.packets = [{ traffic = 'flou', numbers = [1] }]";
    let found = read(text).expect_err("a mistake").to_string();
    assert!(found.contains("\"flou\" is the name of no traffic entry"), "{found}");
    assert_eq!(
        message("{ traffic = \"flow\", flow = 1, numbers = [1] }"),
        "faults.packets.0.flow: 1 is too large: \"flow\" has 1 flow, numbered from 0"
    );
    assert_eq!(
        message("{ traffic = \"flow\", numbers = [3, 0] }"),
        "faults.packets.0.numbers: has a 0; packets are numbered from 1"
    );
}

/// A schedule that is over after 6 ms at the latest: then everything is as the topology says.
fn random_faults() -> impl Strategy<Value = String> {
    let change = prop_oneof![
        3 => Just("\"down\"".to_string()),
        1 => Just("{ rate = \"200Mbps\" }".to_string()),
        2 => (0.0..0.5f64).prop_map(|loss| format!("{{ loss = {loss:.3} }}")),
    ];
    let event = (0u64..3_000, 1u64..3_000, 0.1..1.0f64, change).prop_map(|(at, lasts, share, change)| {
        format!(
            "{{ at = \"{at}us\", target.random-cables = {{ share = {share:.2} }}, change = {change}, lasts = \"{lasts}us\" }}"
        )
    });
    (proptest::collection::vec(event, 1..8), 0u64..500).prop_map(|(events, delay)| {
        format!("\n[faults]\ndetection_delay = \"{delay}us\"\nevents = [{}]", events.join(", "))
    })
}

proptest! {
    #![proptest_config(common::budget(64))]

    /// No transport hangs; every packet is delivered, dropped by a queue or lost to a fault, as the audit and
    /// the tables agree; and both port modes and both calendars see the same.
    #[test]
    fn faults_hang_nobody_and_lose_nothing_unaccounted((text, faults) in (random_scenario(), random_faults())) {
        // Counters are refused where requests may be lost.
        let text = text.replace("state = \"counters\"", "state = \"flows\"");
        // Explicit rates of a few kbps over links of Gbps end, too, after millions of small packets that ask for more.
        let settings = [("run.measure", "\"all\""), ("run.work_limit", "200000000")];
        let run = run_with(&(text.clone() + &faults), &settings);
        prop_assert_eq!(run.0.summary.status, Status::Complete);
        let transports = words(&run.0.flows, "transport");
        let (sizes, delivered) = (run.flows("size_bytes"), run.flows("delivered_bytes"));
        let (sent, drops, lost) = (run.flows("packets_sent"), run.flows("drops"), run.flows("lost"));
        let abandoned = run.flows("abandoned");
        for row in 0..sizes.len() {
            if transports[row] == "datagram" {
                // What is missing is in packets that were dropped or lost, or the flow is whole.
                prop_assert_eq!(delivered[row] == sizes[row], drops[row] + lost[row] == 0);
                prop_assert!(sent[row] >= drops[row] + lost[row]);
            } else {
                prop_assert_eq!(delivered[row] < sizes[row], abandoned[row] == 1, "flow {} did not end", row);
            }
        }
        let counters = run.counters();
        prop_assert_eq!(lost.iter().sum::<u64>(), counters.lost + counters.unroutable);
        prop_assert_eq!(run.links("lost").iter().sum::<u64>(), counters.lost);
        let crossed: u64 = run.links("packets").iter().sum();
        // What is on a wire when the last flow has ended crosses it no more.
        prop_assert!(crossed >= counters.packet_hops + counters.lost);
        let other = common::run_scenario(
            &common::scenario(&(text + &faults), &[settings[0], settings[1], ("run.port_mode", "serviced")]),
            flowyard_sim::engine::data::plan::Agenda::Heap,
        );
        prop_assert_eq!(other.digest(), run.digest());
    }
}
