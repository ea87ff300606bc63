//! Utilisation is the share of time in which a port transmits: of a packet that is on the wire when a run or a sample
//! ends, only the part until then. Against times worked out by hand.

use crate::common::{Run, US, cells, run, run_with, words};
use flowyard_sim::records::{Table, Values};

/// A long flow of datagrams over one switch; a full packet takes 12 us at 1 Gbps.
const LINE: &str = r#"
    transport = "datagram"
    queue = "infinite"
    topology.line = { switches = 1, rate = "1Gbps", delay = "1us" }
    [[traffic]]
    name = "flow"
    arrivals.at-once.jitter = "0s"
    matrix.pairs = [[0, 1]]
    sizes.fixed = "1MB"
"#;

fn shares(table: &Table, column: &str) -> Vec<f64> {
    match &table.column(column).expect("a column").values {
        Values::F64(values) => values.clone(),
        _ => panic!("{column} is no float"),
    }
}

fn utilisation(run: &Run, from: &str, to: &str) -> f64 {
    shares(&run.0.links, "utilisation")[run.row(from, to)]
}

/// After 30 us the host has sent two packets and half of the third; the switch, which has its first packet at 13 us, has
/// sent for 17 us. Bytes and packets count those that have begun.
#[test]
fn a_packet_counts_until_the_run_ends() {
    for mode in ["auto", "serviced"] {
        let run = run_with(LINE, &[("run.until", "30us"), ("run.port_mode", mode)]);
        assert_eq!(run.end(), 30 * US);
        assert_eq!(utilisation(&run, "host 0", "switch 0"), 1.0);
        assert_eq!(utilisation(&run, "switch 0", "host 1"), 17.0 / 30.0);
        assert_eq!(utilisation(&run, "host 1", "switch 0"), 0.0);
        assert_eq!(run.link("host 0", "switch 0", "bytes"), 4500);
        assert_eq!(run.link("switch 0", "host 1", "bytes"), 3000);
    }
}

/// A port that waits packets for: only what it has sent by then counts. At 10 Gbps ten packets come to the switch from
/// 2.2 us on, which has sent for 17.8 us after 20 us.
#[test]
fn what_waits_does_not_count() {
    for mode in ["auto", "serviced"] {
        let rates = ("topology.line.rates", "[\"10Gbps\", \"1Gbps\"]");
        let run = run_with(LINE, &[rates, ("run.until", "20us"), ("run.port_mode", mode)]);
        assert_eq!(utilisation(&run, "host 0", "switch 0"), 1.0);
        assert_eq!(utilisation(&run, "switch 0", "host 1"), 17.8 / 20.0);
    }
}

/// At 7 Gbps a packet takes a fraction of a picosecond less than is counted for it: a port that is always busy is off by
/// no more than two parts in a million, and never above 1.
#[test]
fn rates_that_do_not_divide() {
    for until in ["1us", "33us", "1ms"] {
        let run = run_with(LINE, &[("topology.line.rate", "7Gbps"), ("run.until", until)]);
        let share = utilisation(&run, "host 0", "switch 0");
        assert!((1.0 - 2e-6..=1.0).contains(&share), "{share} of {until}");
    }
}

/// Samples every 5 us: the switch begins at 13 us, so that the third has 2 us of 5, and from then on it never rests.
/// The host has half a packet in most of its samples.
#[test]
fn samples_share_packets_out() {
    let run = run(&format!("{LINE}\n[run]\nuntil = \"50us\"\n[observe.samples]\nevery = \"5us\""));
    let samples = run.0.observed.samples.as_ref().expect("samples");
    let (series, ids, values) = (words(samples, "series"), cells(samples, "id"), shares(samples, "value"));
    let of = |from: &str, to: &str| -> Vec<f64> {
        let link = Some(run.row(from, to) as u64);
        let rows = (0..values.len()).filter(|&row| series[row] == "utilisation" && ids[row] == link);
        rows.map(|row| values[row]).collect()
    };
    assert_eq!(of("host 0", "switch 0"), [1.0; 10]);
    assert_eq!(of("switch 0", "host 1"), [0.0, 0.0, 0.4, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
}

/// The wire is busy all the time, whatever its rate: 1 Gbps for 30 us, then 3 Gbps. In 60 us it has begun the three
/// packets of the first rate, the last of which ends at 36 us, and six of 4 us.
#[test]
fn a_rate_that_changes() {
    let fault = r#"
        [faults]
        events = [{ at = "30us", target.link = ["host 0", "switch 0"], change.rate = "3Gbps" }]
        [run]
        until = "60us"
    "#;
    let run = run(&format!("{LINE}{fault}"));
    assert_eq!(utilisation(&run, "host 0", "switch 0"), 1.0);
    // The seventh begins at the instant of the end.
    assert_eq!(run.link("host 0", "switch 0", "packets"), 10);
}

/// The counters of a window begin a picosecond before it; a link that is always busy is so for the window and no longer.
#[test]
fn a_window_in_which_a_link_is_always_busy() {
    let window = r#"
        [[traffic]]
        name = "later"
        arrivals.at-once = { at = "150us", jitter = "0s" }
        matrix.pairs = [[1, 0]]
        sizes.fixed = "1KB"
        [run]
        until = "300us"
        measure = { from = "100us", until = "end" }
    "#;
    let run = run(&format!("{LINE}{window}"));
    assert_eq!(utilisation(&run, "host 0", "switch 0"), 1.0);
}
