//! One port under Poisson arrivals against queueing theory: Lindley's recursion for every single packet, to
//! the picosecond, and the formulas of M/D/1 and M/M/1 for the mean wait.

use crate::common::{PACKET, run_with};

/// A source of 8 Tbps, on which 1500 B take 1.5 ns, feeds a port of 1 Gbps: what it delays and smooths is
/// some 10^-4 of a packet's time at the port.
const FAST_INTO_SLOW: &str = r#"
    [topology.line]
    switches = 1
    rates = ["8Tbps", "1Gbps"]
    delay = "0s"
"#;

/// One-packet flows: each has its own start, size, and FCT, so the wait is what the FCT has over the empty network's.
/// A packet that comes as the one before has waited w and is served s after it came waits max(0, w + s - gap).
#[test]
fn every_wait_is_lindleys() {
    for sizes in ["fixed = \"1500B\"", "exponential = { mean = \"1500B\" }"] {
        for load in [0.3, 0.6, 0.9] {
            let text = format!(
                r#"
                transport.datagram = {{ header_bytes = "0B", lengths = {{ fixed = "65000B" }} }}
                {FAST_INTO_SLOW}
                [[traffic]]
                name = "packets"
                arrivals.poisson = {{ rate = {:.3} }}
                matrix.pairs = [[0, 1]]
                sizes.{sizes}
                flows = 5000
                "#,
                load * 1e9 / 8.0 / 1500.0
            );
            let run = run_with(&text, &[]);
            let (starts, sizes, fcts) = (run.flows("start_ps"), run.flows("size_bytes"), run.flows("fct_ps"));
            // Each packet is 1 ps a byte at the source, once that has sent the one before, then 8 ns a byte.
            let (mut source_free, mut port_free) = (0, 0);
            let mut waited = 0;
            for ((start, size), fct) in starts.into_iter().zip(sizes).zip(fcts) {
                source_free = source_free.max(start) + size;
                waited += u64::from(port_free > source_free);
                port_free = port_free.max(source_free) + 8_000 * size;
                assert_eq!(start + fct, port_free);
            }
            assert!(waited > 1000, "{waited} of 5000 packets waited");
        }
    }
}

/// The mean wait at the port of a Poisson stream of packets with that configuration of lengths, in packet
/// times: one replica of the run after the other, each `packets` long.
///
/// By Little's law in bytes: the time average of the bytes in the port is the sum of each packet's bytes times
/// its stay over the length of the run. The stay is a wait, which does not depend on the packet's own
/// length, and a service of s = T L / E[L]; so with the number of packets n,
/// bytes * time / (n E[L]) = E[W] + T E[L^2] / E[L]^2, which is T for fixed lengths and 2 T for exponential ones.
fn mean_waits(lengths: &str, service: f64, load: f64, replicas: u64, packets: u64) -> Vec<f64> {
    let text = format!(
        r#"
        transport.datagram = {{ header_bytes = "0B", lengths = {{ {lengths} }}, pace = {{ poisson = "{}Mbps" }} }}
        {FAST_INTO_SLOW}
        [[traffic]]
        name = "stream"
        arrivals.at-once = {{}}
        matrix.pairs = [[0, 1]]
        sizes.fixed = "{}B"
        "#,
        (load * 1000.0).round(),
        packets * 1500
    );
    let replica = |replica: u64| {
        let run = run_with(&text, &[("run.replica", &replica.to_string())]);
        let stays = run.queue_mean("switch 0", "host 1") * run.end() as f64;
        let mean_stay = stays / (packets * 1500) as f64;
        mean_stay / PACKET as f64 - service
    };
    (0..replicas).map(replica).collect()
}

/// The formula's value lies in the 99 % confidence interval of the batch means, and within 2 % of their mean.
/// Batches are replicas, 20 of them: Student's t with 19 degrees of freedom has 2.861 at 99.5 %.
fn assert_mean(waits: &[f64], expected: f64, what: &str) {
    let n = waits.len() as f64;
    assert_eq!(waits.len(), 20);
    let mean = waits.iter().sum::<f64>() / n;
    let variance = waits.iter().map(|wait| (wait - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = 2.861 * (variance / n).sqrt();
    println!(
        "{what}: {mean:.5} +- {half:.5}, expected {expected:.5}, off by {:.2} %",
        100.0 * (mean / expected - 1.0)
    );
    assert!((mean - expected).abs() < half, "{what}: {mean} +- {half}, not {expected}");
    assert!((mean / expected - 1.0).abs() < 0.02, "{what}: {mean}, not {expected}");
}

/// M/D/1: E[W] = load T / (2 (1 - load)).
fn fixed(load: f64, packets: u64) {
    let waits = mean_waits("fixed = \"1500B\"", 1.0, load, 20, packets);
    assert_mean(&waits, load / (2.0 * (1.0 - load)), &format!("M/D/1 at {load}"));
}

/// M/M/1: E[W] = load T / (1 - load).
fn exponential(load: f64, packets: u64) {
    let waits = mean_waits("exponential = { mean = \"1500B\" }", 2.0, load, 20, packets);
    assert_mean(&waits, load / (1.0 - load), &format!("M/M/1 at {load}"));
}

// As long as it takes for a standard error below 1 %.

#[test]
fn fixed_lengths_at_load_0_3() {
    fixed(0.3, 40_000);
}

#[test]
fn fixed_lengths_at_load_0_6() {
    fixed(0.6, 60_000);
}

#[test]
fn fixed_lengths_at_load_0_9() {
    fixed(0.9, 350_000);
}

#[test]
fn exponential_lengths_at_load_0_3() {
    exponential(0.3, 100_000);
}

#[test]
fn exponential_lengths_at_load_0_6() {
    exponential(0.6, 150_000);
}

#[test]
fn exponential_lengths_at_load_0_9() {
    exponential(0.9, 500_000);
}
