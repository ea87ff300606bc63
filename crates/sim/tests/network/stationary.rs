//! Queues in a steady state by default settings: nothing in these scenarios says how long a warm-up is.

use crate::common::{Run, run_with};

/// Setting of a scenario that does not specify its measurement.
const DEFAULT: (&str, &str) = ("run.measure", "\"auto\"");

/// One-packet flows over a source of 8 Tbps into a port of 1 Gbps, whose load is that of its own link.
fn port(sizes: &str, load: f64, flows: u64) -> String {
    format!(
        r#"
        transport.datagram = {{ header_bytes = "0B", lengths = {{ fixed = "65000B" }} }}
        [topology.line]
        switches = 1
        rates = ["8Tbps", "1Gbps"]
        delay = "0s"
        [[traffic]]
        name = "packets"
        arrivals.poisson = {{ load = {load}, of = "receivers" }}
        matrix.pairs = [[0, 1]]
        sizes.{sizes}
        flows = {flows}
        "#
    )
}

/// The measured flows of a run: bytes, and the time at the port in picoseconds, transmission included.
fn stays(run: &Run) -> Vec<(f64, f64)> {
    let rows = run.flows("size_bytes").into_iter().zip(run.flow_cells("fct_ps")).zip(run.bools("measured"));
    // The source takes a picosecond a byte.
    let stay = |(size, fct): (u64, Option<u64>)| (size as f64, (fct.expect("it ended") - size) as f64);
    rows.filter(|(_, measured)| *measured).map(|(row, _)| stay(row)).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// Mean over replicas, and its standard error.
fn over_replicas(values: &[f64]) -> (f64, f64) {
    let own = mean(values.iter().copied());
    let squares: f64 = values.iter().map(|value| (value - own).powi(2)).sum();
    (own, (squares / (values.len() - 1) as f64 / values.len() as f64).sqrt())
}

/// Mean waits of replicas, in the time that a mean packet takes.
fn waits(text: &str, replicas: u32, overrides: &[(&str, &str)]) -> Vec<f64> {
    let wait = |replica: u32| {
        let replica = replica.to_string();
        let own = [("run.replica", replica.as_str()), DEFAULT];
        let run = run_with(text, &[&own[..], overrides].concat());
        mean(stays(&run).into_iter().map(|(size, stay)| (stay - 8_000.0 * size) / 12e6))
    };
    (0..replicas).map(wait).collect()
}

/// Pollaczek and Khinchine: load E[S^2] / (2 (1 - load)), in mean services. 1500 B; exponential; one in four of 4200 B and
/// the others of 600 B, of which E[S^2] = (7.84 + 3 x 0.16) / 4 = 2.08.
#[test]
fn mean_waits_by_default() {
    let services = [
        ("fixed = \"1500B\"", 1.0),
        ("exponential.mean = \"1500B\"", 2.0),
        ("cdf.points = [[600, 75], [4200, 75], [4200, 100]]", 2.08),
    ];
    for (sizes, square) in services {
        for load in [0.2, 0.5, 0.8, 0.9] {
            let expected = load * square / (2.0 * (1.0 - load));
            let (own, error) = over_replicas(&waits(&port(sizes, load, 4000), 30, &[]));
            assert!(
                (own - expected).abs() < 4.0 * error,
                "{sizes} at {load}: {own} +- {error}, not {expected}"
            );
        }
    }
}

/// Few flows from an empty port wait far too little, few flows behind the default warm-up do not: at 0.9 the first hundred
/// packets lack 241 of 450 mean services (see `mg1.py` for the formula).
#[test]
fn few_flows_do_not_see_an_empty_port() {
    let text = port("fixed = \"1500B\"", 0.9, 100);
    let (own, error) = over_replicas(&waits(&text, 300, &[]));
    assert!((own - 4.5).abs() < 4.0 * error + 0.45, "{own} +- {error}");
    let (empty, _) = over_replicas(&waits(&text, 300, &[("run.measure", "\"all\"")]));
    assert!(empty < 3.2, "{empty}");
}

/// Little's law within one window: bytes in the port over time are the arrivals' bytes times stays, but for the flows that
/// are in the port at either end of the window.
#[test]
fn littles_law() {
    for load in [0.3, 0.7, 0.9] {
        let run = run_with(&port("exponential.mean = \"1500B\"", load, 20_000), &[DEFAULT]);
        let measured = &run.0.summary.measured;
        let time = (measured.until_ps - measured.from_ps) as f64;
        let stays = stays(&run);
        let sum: f64 = stays.iter().map(|(size, stay)| size * stay).sum();
        let held = run.queue_mean("switch 0", "host 1") * time;
        let edge = stays.iter().map(|(_, stay)| *stay).fold(0.0, f64::max);
        let most = run.link("switch 0", "host 1", "queue_max_bytes") as f64;
        assert!((held - sum).abs() <= 2.0 * edge * most, "{load}: {held} and {sum}");
        assert!((held / sum - 1.0).abs() < 0.02, "{load}: {held} and {sum}");
    }
}

/// Below saturation what is carried is what is offered, above it the capacity, and the advice is given.
#[test]
fn carried_and_offered() {
    for load in [0.2, 0.5, 0.8, 0.9] {
        let run = run_with(&port("exponential.mean = \"1500B\"", load, 20_000), &[DEFAULT]);
        let measured = &run.0.summary.measured;
        let (carried, half) =
            (measured.carried_load.expect("a load"), measured.carried_ci95.expect("an interval"));
        assert!((carried - load).abs() < half, "{load}: {carried} +- {half}");
        assert!(half < 0.05 * load, "{load}: {half}");
        assert_eq!(measured.unstable, Vec::<String>::new(), "{load}");
        // Without headers the wire carries the payload.
        assert!((measured.hosts_wire / measured.hosts_payload - 1.0).abs() < 0.01);
    }
    let run = run_with(&port("exponential.mean = \"1500B\"", 1.2, 20_000), &[DEFAULT]);
    let measured = &run.0.summary.measured;
    assert!((measured.carried_load.expect("a load") - 1.0).abs() < 0.001, "{:?}", measured.carried_load);
    assert!(!measured.unstable.is_empty());
    let told = run.0.summary.advice.iter().map(|advice| advice.path.as_str()).collect::<Vec<_>>();
    assert!(
        told.contains(&"run.measure") && told.contains(&"traffic.packets.arrivals.poisson.load"),
        "{told:?}"
    );
}

/// M/G/1 processor sharing: the mean slowdown is 1 / (1 - load), whatever the sizes. A central controller shares the
/// receiver's link among a hundred senders at once; a flow's packets are small against the flow.
#[test]
fn processor_sharing() {
    for (sizes, load) in [
        ("exponential.mean = \"300KB\"", 0.5),
        ("cdf.points = [[60000, 75], [1020000, 75], [1020000, 100]]", 0.5),
        ("exponential.mean = \"300KB\"", 0.8),
    ] {
        let text = format!(
            r#"
            topology.single-switch = {{ hosts = 101, rate = "10Gbps", delay = "0s" }}
            transport.central = {{}}
            controller.max-min = {{}}
            [[traffic]]
            name = "flows"
            arrivals.poisson.load = {load}
            matrix.incast.senders = 100
            sizes.{sizes}
            flows = 1000
            "#
        );
        let slowdown = |replica: u32| {
            let replica = replica.to_string();
            let run = run_with(&text, &[("run.replica", replica.as_str()), DEFAULT]);
            let own =
                run.slowdowns().into_iter().zip(run.bools("measured")).filter(|(_, measured)| *measured);
            mean(own.map(|(slowdown, _)| slowdown))
        };
        let slowdowns: Vec<f64> = (0..8).map(slowdown).collect();
        let (own, error) = over_replicas(&slowdowns);
        // Frames take 38 B of 1538 B of the link.
        let expected = 1.0 / (1.0 - load * 1538.0 / 1500.0);
        assert!((own - expected).abs() < 4.0 * error, "{sizes} at {load}: {own} +- {error}, not {expected}");
    }
}
