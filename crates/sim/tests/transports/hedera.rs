//! Hedera on fat-trees: flows that collide at random are moved apart.

use crate::common::{Run, read, run, run_with};

/// Payload that a flow of TCP sends over a free link of 1 Gbps in that many milliseconds: 1460 of each 1500 B.
fn free(ms: f64) -> f64 {
    ms * 1e-3 * 1e9 / 8.0 * 1460.0 / 1500.0
}

/// Long flows between those hosts of a fat-tree of k = 4, whose first scheduling is after 10 ms.
fn flows(pairs: &str, controller: &str) -> String {
    format!(
        r#"
        topology.fat-tree = {{ k = 4, rate = "1Gbps", delay = "1us" }}
        transport.tcp = {{ rto_min = "1ms" }}
        queue.drop-tail.limit.packets = 50
        {controller}
        [[traffic]]
        name = "long"
        arrivals.at-once = {{}}
        matrix.pairs = {pairs}
        sizes.fixed = "1GB"
        "#
    )
}

const HEDERA: &str = "controller.hedera.scheduler.period = \"10ms\"";

/// Payload of each flow between those times.
fn between(times: [&str; 2], text: &str, overrides: &[(&str, &str)]) -> Vec<f64> {
    let [early, late] = times.map(|end| {
        run_with(text, &[overrides, &[("run.until", end), ("run.ties", "link")]].concat())
            .flows("delivered_bytes")
    });
    late.into_iter().zip(early).map(|(late, early)| (late - early) as f64).collect()
}

/// Payload of each flow from 40 to 80 ms.
fn later(text: &str, overrides: &[(&str, &str)]) -> Vec<f64> {
    between(["40ms", "80ms"], text, overrides)
}

/// Two hosts at one edge switch send to two at another of another pod. At random both take one of two
/// uplinks, one of two cores, or one of two downlinks at the end, or none: they share a link or have one
/// each. Under Hedera they have.
#[test]
fn two_flows_that_meet_are_moved_apart() {
    let pairs = "[[0, 8], [1, 9]]";
    let mut met = 0;
    for seed in ["1", "2", "3", "4", "5", "6"] {
        let by_hash = later(&flows(pairs, ""), &[("run.seed", seed)]);
        let shares = by_hash.iter().sum::<f64>() / free(40.0);
        assert!((shares - 1.0).abs() < 0.05 || (shares - 2.0).abs() < 0.05, "seed {seed}: {by_hash:?}");
        met += usize::from(shares < 1.5);
        for placement in ["first-fit", "annealing"] {
            let set = [("run.seed", seed), ("controller.hedera.scheduler.placement", placement)];
            for bytes in later(&flows(pairs, HEDERA), &set) {
                assert!(bytes > 0.97 * free(40.0), "{placement}, seed {seed}: {bytes} of {}", free(40.0));
            }
        }
    }
    assert!((1..6).contains(&met), "{met} of 6 met");
}

/// Each of 16 hosts sends to the one eight further on. A fat-tree has room for all at their full rate; on
/// random paths flows collide.
#[test]
fn a_permutation_has_the_whole_network() {
    let pairs: Vec<String> = (0..16).map(|host| format!("[{host}, {}]", (host + 8) % 16)).collect();
    let pairs = format!("[{}]", pairs.join(", "));
    let whole = 16.0 * free(40.0);
    let by_hash: f64 = later(&flows(&pairs, ""), &[]).iter().sum();
    assert!(by_hash < 0.8 * whole, "{by_hash} of {whole}: nothing to gain");
    let placed = later(&flows(&pairs, HEDERA), &[]);
    assert!(placed.iter().sum::<f64>() > 0.97 * whole, "{placed:?} of {whole}");
    // First fit takes no path back: it may leave flows without one.
    let first_fit = [("controller.hedera.scheduler.placement", "first-fit")];
    let first_fit: f64 = later(&flows(&pairs, HEDERA), &first_fit).iter().sum();
    assert!(first_fit > 1.1 * by_hash, "{first_fit}, by hash {by_hash}");
}

fn orders(run: &Run) -> u64 {
    run.counters().control.expect("there is a controller").orders
}

/// A flow that sends less than a tenth of its link is left alone, and so is one whose path is the best already.
#[test]
fn only_large_flows_are_placed_and_once() {
    let pairs = "[[0, 8], [1, 9]]";
    let text = flows(pairs, HEDERA);
    let long = run_with(&text, &[("run.until", "95ms")]);
    let control = long.counters().control.expect("there is a controller");
    // Every 10 ms; each flow gets its path once.
    assert_eq!((control.acts, control.orders), (9, 2));
    // Two packets each round trip of 1.2 ms and more are 2 % of the link.
    let thin = [
        ("run.until", "95ms"),
        ("topology.fat-tree.delay", "100us"),
        ("transport.tcp.receive_window", "2920B"),
    ];
    assert_eq!(orders(&run_with(&text, &thin)), 0);
    let all = [("controller.hedera.scheduler.large", "0.001")];
    assert_eq!(orders(&run_with(&text, &[&thin[..], &all].concat())), 2);
}

/// Orders take their time: of two flows that share a link, which are placed at 10 ms, the path changes when the order comes.
/// From 25 to 35 ms they go on as before if it takes 30 ms, and have a link each if it takes 1 ms; from 70 to 80 ms, after
/// the last timeout of the one that starved, they have either way.
#[test]
fn orders_change_paths_when_they_come() {
    let text = flows("[[0, 8], [1, 9]]", HEDERA);
    let links = |times, seed, delay| {
        let set = [("run.seed", seed), ("controller.hedera.control.delay", delay)];
        between(times, &text, &set).iter().sum::<f64>() / free(10.0)
    };
    let early = ["25ms", "35ms"];
    let met = ["1", "2", "3", "4", "5", "6"].into_iter().find(|seed| links(early, seed, "30ms") < 1.5);
    let seed = met.expect("a seed with which they meet");
    let before = links(early, seed, "30ms");
    assert!((before - 1.0).abs() < 0.05, "{before}");
    for (times, delay) in [(early, "1ms"), (["70ms", "80ms"], "30ms")] {
        let after = links(times, seed, delay);
        assert!(after > 1.9, "{after} from {times:?} with {delay}");
    }
}

/// A lost order is repeated: every flow is placed in the end.
#[test]
fn orders_travel() {
    let pairs = "[[0, 8], [1, 9]]";
    let slow = [
        ("controller.hedera.control.delay", "1ms"),
        ("controller.hedera.control.loss", "0.5"),
        ("controller.hedera.control.timeout", "1ms"),
    ];
    for bytes in later(&flows(pairs, HEDERA), &slow) {
        assert!(bytes > 0.97 * free(40.0), "{bytes} of {}", free(40.0));
    }
    // Of two orders each at least one is lost for some seed: for none of six with probability 4^-6.
    let lost = |seed| {
        let run = run_with(
            &flows(pairs, HEDERA),
            &[&slow[..], &[("run.seed", seed), ("run.until", "40ms")]].concat(),
        );
        run.counters().control.expect("there is a controller").lost
    };
    assert!(["1", "2", "3", "4", "5", "6"].map(lost).iter().sum::<u64>() > 0);
}

/// The messages of a connection that is kept go by its path.
#[test]
fn kept_connections_are_placed_whole() {
    let text = flows("[[0, 8], [1, 9]]", HEDERA).replace("\"1GB\"", "\"2MB\"").replace(
        "arrivals.at-once = {}",
        "connection = \"kept\"\n        arrivals.at-once = {}\n        flows = 40",
    );
    let until = |end| run_with(&text, &[("run.until", end)]);
    let (early, late) = (until("40ms"), until("80ms"));
    assert!(orders(&late) >= 2);
    let bytes = late.total("delivered_bytes") - early.total("delivered_bytes");
    assert!(bytes as f64 > 0.97 * 2.0 * free(40.0), "{bytes} of {}", 2.0 * free(40.0));
}

/// One message each.
#[test]
fn what_does_not_fit_is_refused() {
    let problem = |text: &str| read(text).expect_err("it is wrong").to_string();
    let good = flows("[[0, 8]]", HEDERA);
    run(&good.replace("1GB", "1MB"));
    let unserved = problem(
        &good
            .replace("transport.tcp = { rto_min = \"1ms\" }", "transport = \"ndp\"")
            .replace("queue.drop-tail.limit.packets = 50", ""),
    );
    assert!(unserved.contains("it serves the transport \"tcp\", which no traffic entry has"), "{unserved}");
    let other = problem(&good.replace("[[traffic]]", "routing.balancer = \"per-flow\"\n[[traffic]]"));
    assert!(other.contains("chooses paths where the controller \"hedera\" has chosen them"), "{other}");
    let relays = problem(&good.replace("topology.fat-tree = { k = 4,", "topology.bcube = { n = 4, k = 1,"));
    assert!(relays.contains("is for hosts with one port each"), "{relays}");
    let none = problem(
        &good.replace(HEDERA, "").replace("transport.tcp = { rto_min = \"1ms\" }", "transport = \"central\""),
    );
    assert!(none.contains("add [controller.asy]") && !none.contains("hedera"), "{none}");
}
