//! Slots of SYN that are given ahead of the hosts' reports, and reports over a channel that loses some.

use crate::common::{US, run, run_with};

/// A short flow of the pair of a long one is served at once, whether or not the long one has grants on their way: two
/// delays of the channel, and few slots of 12.3 us, or a batch of these.
#[test]
fn a_short_flow_overtakes_grants_on_their_way() {
    let text = r#"
        topology.single-switch = { hosts = 3, rate = "1Gbps", delay = "0ps" }
        transport.central = {}
        controller.syn = { policy = "srjf", sequence = "shortest" }
        [[traffic]]
        name = "long"
        matrix.pairs = [[0, 1]]
        sizes.fixed = "3MB"
        arrivals.times = { at = ["0s"] }
        [[traffic]]
        name = "short"
        matrix.pairs = [[0, 1]]
        sizes.fixed = "1500B"
        arrivals.times = { at = ["1ms"] }
        "#;
    for (setting, value, most_us) in [
        ("controller.syn.control.delay", "0s", 40),
        ("controller.syn.control.delay", "20us", 100),
        ("controller.syn.batch", "4", 150),
    ] {
        let fct = run_with(text, &[(setting, value)]).flows("fct_ps")[1];
        assert!(fct < most_us * US, "{setting} = {value}: {fct} ps");
    }
}

/// Ten packets of 40 B share a slot, and get one grant, however far ahead: 37 % of a link in small flows leave room for
/// another pair's 200 kB.
#[test]
fn packets_that_share_slots_waste_none() {
    let text = r#"
        topology.single-switch = { hosts = 3, rate = "1Gbps" }
        transport.central.lengths.list = [40]
        controller.syn = { policy = "least-recently-allocated", aggregate = true }
        [[traffic]]
        name = "small"
        arrivals.poisson = { rate = 60000.0 }
        matrix.pairs = [[0, 2]]
        sizes.fixed = "400B"
        flows = 6000
        [[traffic]]
        name = "long"
        matrix.pairs = [[1, 2]]
        sizes.fixed = "200KB"
        arrivals.times = { at = ["1ms"] }
        "#;
    for (setting, value) in [
        ("controller.syn.batch", "1"),
        ("controller.syn.batch", "16"),
        ("controller.syn.control.delay", "40us"),
    ] {
        let run = run_with(text, &[(setting, value)]);
        let control = run.counters().control.expect("there is a controller");
        let fcts = run.flows_of("small", "fct_ps");
        let mean_us = fcts.iter().sum::<u64>() / fcts.len() as u64 / US;
        // One for each small flow at most, and for each 19 packets of the long one; few find nothing to send.
        let needed = 6_000 + 5_000 / 19 + 1;
        assert!(control.orders * 20 < needed * 21 && mean_us < 2_000, "{value}: {control:?}, {mean_us} us");
    }
}

/// A flow starts in the instant in which a retransmitted report on its queue arrives, and its own reports are processed
/// behind that: each flow gets its rate.
#[test]
fn a_report_waits_for_one_that_arrives_with_it() {
    let pairs: Vec<String> = (0..60).map(|host| format!("[{host}, {}]", host + 60)).collect();
    let pairs = pairs.join(", ");
    for controller in ["asy", "max-min", "syn"] {
        let run = run(&format!(
            r#"
            topology.single-switch = {{ hosts = 120, rate = "1Gbps" }}
            transport.central = {{}}
            controller.{controller}.control = {{ loss = 0.5, timeout = "200us" }}
            [[traffic]]
            name = "first"
            arrivals = "at-once"
            matrix.pairs = [{pairs}]
            sizes.fixed = "1500B"
            [[traffic]]
            name = "second"
            arrivals.after = {{ entry = "first", event = "acked", delay = "200us" }}
            matrix.pairs = [{pairs}]
            sizes.fixed = "1500B"
            "#
        ));
        assert_eq!(run.counters().unfinished_flows, 0, "{controller}");
    }
}

/// The last packet of a flow that is cut has 40 B at least, in the empty network, too.
#[test]
fn a_cut_flow_takes_no_longer_than_in_an_empty_network() {
    let run = run(r#"
        topology.single-switch = { hosts = 2, rate = "1Gbps" }
        transport.central.last = "cut"
        controller.max-min = {}
        [[traffic]]
        name = "alone"
        matrix.pairs = [[0, 1]]
        sizes.fixed = "1510B"
        arrivals.times = { at = ["0s"] }
        "#);
    assert_eq!(run.flows("fct_ps"), run.flows("ideal_fct_ps"));
}
