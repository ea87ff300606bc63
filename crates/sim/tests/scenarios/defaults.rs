//! Defaults that follow from the network, against hand computation; and that they throttle no flow in silence.

use crate::common::{self, run, scenario};
use flowyard_sim::{Outlook, outlook};
use serde_json::{Value, json};

/// A flow alone in a k = 8 fat-tree with links of 1 us, at that rate.
fn alone(transport: &str, rate: u64) -> String {
    format!(
        r#"
        topology.fat-tree = {{ k = 8, rate = "{rate}Gbps", delay = "1us" }}
        transport = {transport}
        [[traffic]]
        name = "one"
        arrivals = "at-once"
        matrix.pairs = [[0, 127]]
        sizes.fixed = "10MB"
        "#
    )
}

const NDP: &str = "{ ndp = {} }";
const PFABRIC: &str = "{ pfabric = {} }";
const DCTCP: &str = r#"{ tcp = { congestion = "dctcp", preset = "datacentre" } }"#;
const DCQCN: &str = "{ dcqcn = {} }";

fn outlook_of(text: &str, overrides: &[(&str, &str)]) -> Outlook {
    outlook(&scenario(text, overrides)).expect("a scenario that can be run")
}

fn derived(text: &str, overrides: &[(&str, &str)], path: &str) -> Value {
    let outlook = outlook_of(text, overrides);
    outlook.derived.get(path).unwrap_or_else(|| panic!("no {path} in {:?}", outlook.derived)).clone()
}

fn slowdown(text: &str) -> f64 {
    let run = run(text);
    run.flow("fct_ps") as f64 / run.flow("ideal_fct_ps") as f64
}

#[test]
fn a_flow_alone_is_not_throttled() {
    for transport in [NDP, PFABRIC, DCQCN, DCTCP] {
        for rate in [10, 100, 400] {
            // Slow start: see below.
            if transport != DCTCP || rate < 400 {
                let slowdown = slowdown(&alone(transport, rate));
                assert!(slowdown <= 1.1, "{transport} at {rate} Gbps: {slowdown}");
            }
            let outlook = outlook_of(&alone(transport, rate), &[]);
            assert_eq!(outlook.advice, [], "{transport} at {rate} Gbps");
        }
    }
}

/// At 400 Gbps 10 MB are 17 bandwidth-delay products of 612 KB, and DCTCP begins with 10 segments. Until its window is one
/// such product the link is idle for the rest of each round trip; with half as many acknowledgements as segments, which
/// let it grow by a segment each, windows are 10, 15, 22, ... segments. Above that only the handshake is lost.
#[test]
fn what_slows_dctcp_at_400_gbps_is_slow_start() {
    let text = alone(DCTCP, 400);
    let run = run(&text);
    let (took, ideal) = (run.flow("fct_ps") as f64, run.flow("ideal_fct_ps") as f64);
    // 1500 B take 30 ns a hop, 40 B 0.8 ns.
    let (round_trip, packet) = (6.0 * (30.0 + 1000.0 + 0.8 + 1000.0), 30.0);
    let mut window = 10.0;
    let mut idle = 6.0 * 2.0 * (0.8 + 1000.0);
    while window * packet < round_trip {
        idle += round_trip - window * packet;
        window = (1.5f64 * window).floor();
    }
    let foreseen = 1.0 + 1000.0 * idle / ideal;
    assert!((took / ideal - foreseen).abs() < 0.05, "{} and not {foreseen}", took / ideal);
    let at_once = DCTCP.replace("preset", "initial_window = \"bdp\", preset");
    assert!(slowdown(&alone(&at_once, 400)) <= 1.1);
}

/// Data of 1500 B takes 6 x (120 ns + 1 us) there, an answer of 64 B 6 x (5.12 ns + 1 us) back: 12.75072 us, in which 100
/// Gbps carry 159,384 B, 106.3 packets.
#[test]
fn windows_fill_the_longest_path() {
    let text = alone(NDP, 100);
    assert_eq!(derived(&text, &[], "transport.ndp.initial_window"), json!(107));
    // At 10 Gbps: 6 x (1.2 + 1) + 6 x (0.0512 + 1) us = 19.5072 us, 24,384 B, 16.3 packets: fewer than the paper's 30.
    assert_eq!(derived(&alone(NDP, 10), &[], "transport.ndp.initial_window"), json!(30));
    // Answers of 40 B: 12.7392 us, 159,240 B, 106.2 packets.
    let text = alone(PFABRIC, 100);
    assert_eq!(derived(&text, &[], "transport.pfabric.initial_window"), json!(107));
    assert_eq!(derived(&text, &[], "transport.pfabric.max_window"), json!(134));
    assert_eq!(derived(&text, &[], "queue.pfabric.limit"), json!({"bytes": "318480B"}));
    // A window that is given is kept, and what depends on it follows.
    let given = [("transport.pfabric.initial_window", "200")];
    let outlook = outlook_of(&text, &given);
    assert_eq!(outlook.derived["transport.pfabric.max_window"], json!(250));
    assert!(!outlook.derived.contains_key("transport.pfabric.initial_window"));
}

/// Three times 12.7392 us are less than 45 us. With links of 10 us: 6 x (0.12 + 10) + 6 x (0.0032 + 10) us = 120.7392 us,
/// three times that 362.2176 us, rounded up to 362.3 us.
#[test]
fn timeouts_are_some_round_trips() {
    let text = alone(PFABRIC, 100);
    assert_eq!(derived(&text, &[], "transport.pfabric.rto"), json!("45us"));
    let far = [("topology.fat-tree.delay", "10us")];
    assert_eq!(derived(&text, &far, "transport.pfabric.rto"), json!("362300ns"));
    let text = alone(NDP, 100);
    assert_eq!(derived(&text, &far, "transport.ndp.rto_min"), json!("1ms"));
    assert_eq!(derived(&text, &far, "transport.ndp.rto_initial"), json!("20ms"));
    // 6 x 2 x 1 ms and 750.72 ns: three are 36.00225216 ms, ten 120.0075072 ms.
    let farther = [("topology.fat-tree.delay", "1ms")];
    assert_eq!(derived(&text, &farther, "transport.ndp.rto_min"), json!("36002300ns"));
    assert_eq!(derived(&text, &farther, "transport.ndp.rto_initial"), json!("120007600ns"));
}

/// C RTT / 7: at 100 Gbps 159,240 B / 7 are 15.2 packets, fewer than the paper's 65 against bursts; with links of 10 us
/// 120.7392 us x 12.5 B / ns / 7 / 1500 B = 143.7.
#[test]
fn the_threshold_of_dctcp_follows_rate_and_round_trip() {
    let threshold = |rate, delay| {
        let far = [("topology.fat-tree.delay", delay)];
        derived(&alone(DCTCP, rate), &far, "queue.ecn.threshold")
    };
    assert_eq!(threshold(1, "1us"), json!({"packets": 20}));
    assert_eq!(threshold(4, "1us"), json!({"packets": 35}));
    assert_eq!(threshold(10, "1us"), json!({"packets": 65}));
    assert_eq!(threshold(100, "1us"), json!({"packets": 65}));
    assert_eq!(threshold(100, "10us"), json!({"packets": 144}));
}

/// In proportion to the rate from 40 Gbps on, never on the wrong side of what is given.
#[test]
fn thresholds_of_dcqcn_follow_the_rate() {
    let all = |rate, overrides: &[(&str, &str)]| {
        let derived = outlook_of(&alone(DCQCN, rate), overrides).derived;
        let of = |field| derived.get(&format!("queue.lossless.{field}")).cloned();
        ["xoff", "kmin", "kmax"].map(of)
    };
    let sizes = |texts: [&str; 3]| texts.map(|text| Some(json!(text)));
    assert_eq!(all(10, &[]), sizes(["200KB", "5KB", "200KB"]));
    assert_eq!(all(40, &[]), sizes(["200KB", "5KB", "200KB"]));
    assert_eq!(all(100, &[]), sizes(["500KB", "12500B", "500KB"]));
    let given = [("queue.lossless.kmin", "1MB"), ("queue.lossless.xon", "2MB")];
    assert_eq!(all(100, &given), [Some(json!("2MB")), None, Some(json!("1MB"))]);
}

/// Two entries with transports of their own, one with the scenario's: each has its values under its path.
#[test]
fn values_stand_under_the_path_of_their_field() {
    let text = format!(
        r#"{}
        [[traffic]]
        name = "two"
        transport.ndp.header_bytes = "40B"
        arrivals = "at-once"
        matrix.pairs = [[0, 127]]
        sizes.fixed = "10KB"
        "#,
        alone(NDP, 100)
    );
    let derived = outlook_of(&text, &[]).derived;
    assert_eq!(derived["transport.ndp.initial_window"], json!(107));
    assert_eq!(derived["traffic.two.transport.ndp.initial_window"], json!(107));
    // What a run says is what was foreseen.
    assert_eq!(run(&text).0.summary.derived, derived);
}

/// The preset's timers, but for those that are given; all are in what a run says of its scenario.
#[test]
fn a_preset_sets_the_timers_that_are_not_given() {
    let timers = |fields: &str| {
        let text = alone(&format!("{{ tcp = {{ {fields} }} }}"), 10);
        let resolved = serde_json::to_value(scenario(&text, &[]).resolved()).expect("plain JSON");
        let tcp = &resolved["transport"]["tcp"];
        assert_eq!(tcp, &resolved["traffic"][0]["transport"]["tcp"]);
        ["rto_min", "rto_initial", "delayed_ack_timeout"].map(|field| tcp[field].as_str().map(String::from))
    };
    let said = |texts: [&str; 3]| texts.map(|text| Some(text.to_string()));
    assert_eq!(timers(""), said(["200ms", "1s", "40ms"]));
    assert_eq!(timers("preset = \"internet\""), said(["200ms", "1s", "40ms"]));
    assert_eq!(timers("preset = \"datacentre\""), said(["5ms", "5ms", "500us"]));
    assert_eq!(timers("preset = \"datacentre\", rto_min = \"200ms\""), said(["200ms", "5ms", "500us"]));
    let text = alone("{ mptcp = { tcp = { preset = \"datacentre\" } } }", 10);
    let resolved = serde_json::to_value(scenario(&text, &[]).resolved()).expect("plain JSON");
    assert_eq!(resolved["transport"]["mptcp"]["tcp"]["rto_min"], json!("5ms"));
}

/// The advice holds: a window of 29 % of the product gives about that share of the link.
#[test]
fn advice_has_the_share_that_a_flow_reaches() {
    let text = alone(NDP, 100);
    let small = [("transport.ndp.initial_window", "30")];
    let [advice] = &outlook_of(&text, &small).advice[..] else { panic!("one piece of advice") };
    assert_eq!(advice.path, "transport.ndp.initial_window");
    assert_eq!(advice.write, "transport.ndp.initial_window = \"bdp\"");
    assert!(advice.message.contains("at most 28 % of its link"), "{}", advice.message);
    let run = common::run_with(&text, &small);
    let share = run.flow("ideal_fct_ps") as f64 / run.flow("fct_ps") as f64;
    assert!((share - 0.28).abs() < 0.02, "{share}");
    assert_eq!(run.0.summary.advice, outlook_of(&text, &small).advice);
    // It can be silenced.
    let silent = [small[0], ("run.advice", "false")];
    assert_eq!(outlook_of(&text, &silent).advice, []);
}

/// A message on a mistake beside a word names the word, too.
#[test]
fn a_mistake_names_the_word_that_is_allowed() {
    use flowyard_sim::scenario::{Format, no_files, read};
    let wrong = |value: &str| {
        let overrides = [("transport.ndp.initial_window".to_string(), value.to_string())];
        read(&alone(NDP, 100), Format::Toml, &overrides, &no_files).expect_err("a mistake").to_string()
    };
    let path = "transport.ndp.initial_window";
    assert_eq!(wrong("0"), format!("{path}: 0 is too small (allowed: 1 to 1000000); use 1, or \"bdp\""));
    assert_eq!(
        wrong("bpd"),
        format!("{path}: \"bpd\" is a string; use a whole number; did you mean \"bdp\"?")
    );
    assert_eq!(
        wrong("large"),
        format!("{path}: \"large\" is a string; use a whole number; or write \"bdp\"")
    );
}
