//! HPCC against closed forms: a lone flow to the picosecond, the fixed point of one flow and of several, an incast's queue,
//! and one reaction by hand.
//!
//! Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019. The network is a switch with links of 100 Gbps and 1
//! us; T = 4160 ns, so that a window has 52,000 B. A packet of 1000 B has 1090 B on the wire, 87.2 ns, with room for the
//! telemetry of five ports; an acknowledgement 88 B, 7.04 ns. The step is C / 2500, 40 Mbps.

use crate::common::{MS, Run, run};
use flowyard_sim::transport::roce::congestion::hpcc::{Hpcc, Model};
use flowyard_sim::transport::roce::congestion::{Ack, Control, Telemetry};
use flowyard_sim::units::Rate;

/// A run of these flows, whose control has these fields besides, until that many ms.
fn flows(senders: u32, fields: &str, sizes: &str, until_ms: u32) -> Run {
    let until = if until_ms > 0 { format!("until = \"{until_ms}ms\"") } else { String::new() };
    let (background, jitter) = if until_ms > 0 { ("true", "10us") } else { ("false", "0s") };
    run(&format!(
        r#"
        topology.single-switch = {{ hosts = {}, rate = "100Gbps", delay = "1us" }}
        [transport.roce]
        header_bytes = "90B"
        ack_bytes = "88B"
        congestion.hpcc = {{ base_rtt = "4160ns"{fields} }}
        [[traffic]]
        name = "flows"
        background = {background}
        arrivals.at-once = {{ jitter = "{jitter}" }}
        matrix.incast = {{ senders = {senders}, receiver = 0 }}
        sizes = {sizes}
        [run]
        audit = true
        {until}
        [observe.samples]
        every = "10us"
        links = ["switch -> host 0"]
        "#,
        senders + 1
    ))
}

/// Rate on the wire of each flow between two instants, in Gbps.
fn rates(senders: u32, fields: &str, from_ms: u32, until_ms: u32) -> Vec<f64> {
    let at = |ms| flows(senders, fields, "\"endless\"", ms).flows("delivered_bytes");
    let bits = |(before, after): (u64, u64)| (after - before) as f64 * 8.0 * 1.09;
    let gbps = 1e-6 / f64::from(until_ms - from_ms);
    at(from_ms).into_iter().zip(at(until_ms)).map(|pair| bits(pair) * gbps).collect()
}

/// Up to 50 packets leave back to back: the second acknowledgement, the first to which the flow reacts, comes later.
#[test]
fn a_lone_flow_to_the_picosecond() {
    for packets in [1, 50] {
        let fct = (packets + 1) * 87_200 + 2 * 7_040 + 4_000_000;
        assert_eq!(flows(1, "", &format!("{{ fixed = \"{packets}KB\" }}"), 0).flow("fct_acked_ps"), fct);
    }
    let longer = flows(1, "", "{ fixed = \"500KB\" }", 0).flow("fct_acked_ps");
    assert!(longer > 501 * 87_200 + 2 * 7_040 + 4_000_000, "it holds the port below its rate: {longer}");
}

/// With R = R eta / U + AI and U = R / C: R = eta C + AI, for any number of stages.
#[test]
fn one_flow_has_the_share_eta_and_a_step() {
    for fields in ["", ", max_stage = 5", ", fast_react = false", ", multi_rate = true"] {
        let rate = rates(1, fields, 2, 12)[0];
        assert!((rate / 95.04 - 1.0).abs() < 2e-4, "{fields}: {rate}");
    }
}

/// Together N flows have eta C + N AI. Behind their start nothing waits but packets that come at once.
#[test]
fn flows_share_the_target_without_a_queue() {
    for senders in [2, 16] {
        let sum: f64 = rates(senders, "", 2, 6).iter().sum();
        let target = 95.0 + f64::from(senders) * 0.04;
        assert!((sum / target - 1.0).abs() < 0.02, "{senders} flows: {sum}, not {target}");
        let run = flows(senders, "", "\"endless\"", 6);
        let late = run.samples("queue_bytes").into_iter().filter(|(time, _)| *time > 2 * MS);
        let waiting: Vec<f64> = late.map(|(_, bytes)| bytes).collect();
        let mean = waiting.iter().sum::<f64>() / waiting.len() as f64;
        // Fewer than two packets, and the one on the wire.
        assert!(mean < 3.0 * 1090.0, "{senders} flows: {mean} B wait on average");
        let most = waiting.iter().copied().fold(0.0, f64::max);
        assert!(most < f64::from(senders + 1) * 1090.0, "{senders} flows: {most} B wait at most");
    }
}

/// With a step of C / 100 the flows of a port become equal within milliseconds: differences shrink by N AI / (eta C) in a
/// round trip.
#[test]
fn large_steps_make_fair_shares() {
    let shares = rates(4, ", ai = \"1Gbps\"", 2, 4);
    let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|share| share * share).sum::<f64>());
    assert!(sum * sum / (4.0 * squares) >= 0.98, "{shares:?}");
}

/// All windows of 52 packets leave before any cut. The port sends the packets of one while those of the others come.
#[test]
fn an_incast_fills_the_port_with_all_windows() {
    let run = flows(16, "", "{ fixed = \"300KB\" }", 0);
    let most = run.link("switch", "host 0", "queue_max_bytes");
    let expected = 15 * 52 * 1090;
    assert!(most >= expected && most <= expected + 9 * 1090, "{most}, not {expected}");
    assert_eq!(run.counters().drops + run.counters().pauses, 0);
}

/// At the least rate, 1 Gbps, a window of 520 B lets one packet of each of 250 flows be in flight: 48 are on the way, the
/// others wait.
#[test]
fn at_the_least_rate_a_packet_of_each_flow_waits() {
    let run = flows(250, ", min_rate = \"1Gbps\"", "\"endless\"", 4);
    let late = run.samples("queue_bytes").into_iter().filter(|(time, _)| *time > 3 * MS);
    for (time, bytes) in late {
        let packets = bytes / 1090.0;
        assert!((199.0..=205.0).contains(&packets), "{packets} packets at {time}");
    }
}

/// An acknowledgement without the telemetry of a port changes nothing.
#[test]
fn nothing_changes_without_telemetry() {
    let line = Rate(100_000_000_000);
    let mut model = Model::new(&Hpcc::default(), line);
    for una in 1..10u64 {
        let ack = Ack { acked: 1000, una: 1000 * una, next: 1000 * una + 50_000, ..Ack::default() };
        model.on_ack(&ack, &Telemetry::NONE);
    }
    assert_eq!((model.rate(), model.load(0)), (100e9, 1.0));
}
