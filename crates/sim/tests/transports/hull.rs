//! HULL, DCTCP over phantom queues with a pacer in the hosts, against its closed form and without the pacer.

use crate::common::{Run, run};

/// Long flows over a link of 10 Gbps with a phantom queue, from hosts of that rate; with these fields of TCP.
fn long(flows: u32, rate: &str, tcp: &str) -> Run {
    let pairs: Vec<String> = (0..flows).map(|host| format!("[{host}, {}]", flows + host)).collect();
    run(&format!(
        r#"
        run.measure = "all"
        run.until = "100ms"
        topology.dumbbell = {{ hosts = {flows}, rate = "{rate}", bottleneck = {{ rate = "10Gbps", delay = "20us" }} }}
        transport.tcp = {{ preset = "datacentre", congestion = "dctcp", {tcp} }}
        queue.phantom = {{ drain = 0.95, threshold = "3KB" }}
        [[traffic]]
        name = "long"
        arrivals.at-once = {{ jitter = "100us" }}
        matrix.pairs = [{}]
        sizes.fixed = "1GB"
        "#,
        pairs.join(", ")
    ))
}

/// The share of the link's time in which it sends: the phantom queue, which drains at 0.95 of its rate, lets no more pass
/// for long, and HULL gives away about a tenth of the bandwidth (abstract). The real queue has fewer than two packets on
/// average where windows can fall as low: eight flows of two segments each, the least window, have sixteen of the 75 that
/// the path takes.
#[test]
fn a_part_of_the_link_stays_free() {
    for (flows, most) in [(4, 2.0), (8, 3.0)] {
        let run = long(flows, "10Gbps", "nic_pacer = {}");
        let share = run.float("utilisation", run.row("left switch", "right switch"));
        assert!((0.80..=0.95).contains(&share), "{flows} flows: {share}");
        let packets = run.queue_mean("left switch", "right switch") / 1500.0;
        assert!(packets < most, "{flows} flows: {packets} packets");
    }
}

/// A host at four times the rate of the link, whose segments are acknowledged by sixteen, releases bursts. The pacer spaces
/// them: for what it sends the port has less than half as much in it.
#[test]
fn bursts_are_spaced() {
    let queue = |pacer: &str| {
        let run = long(1, "40Gbps", &format!("delayed_ack = 16{pacer}"));
        let share = run.float("utilisation", run.row("left switch", "right switch"));
        run.queue_mean("left switch", "right switch") / share
    };
    let (plain, paced) = (queue(""), queue(", nic_pacer = { association = 1.0 }"));
    assert!(paced < 0.5 * plain, "{paced} with the pacer, {plain} without it");
}
