//! DARD on a network: elephants that share a cable are moved apart by their hosts.

use crate::common::run_with;

/// Two hosts of one leaf send to two of another, over two spines. By hash both may take one spine; under DARD they have one each after
/// a decision of one of them.
#[test]
fn elephants_that_meet_are_moved_apart() {
    let rates = |controller: &str, seed: &str| {
        let text = format!(
            r#"
            topology.leaf-spine = {{ leaves = 2, spines = 2, hosts = 2, rate = "1Gbps", host.rate = "1Gbps", spine.rate = "1Gbps" }}
            transport.tcp = {{ rto_min = "1ms" }}
            queue.drop-tail.limit.packets = 50
            {controller}
            [[traffic]]
            name = "long"
            arrivals.at-once = {{}}
            matrix.pairs = [[0, 2], [1, 3]]
            sizes.fixed = "1GB"
            "#
        );
        let at = |end| run_with(&text, &[("run.until", end), ("run.seed", seed)]).flows("delivered_bytes");
        let (early, late) = (at("40ms"), at("80ms"));
        late.iter()
            .zip(early)
            .map(|(late, early)| (late - early) as f64 * 8.0 / 0.04 / 1e9)
            .collect::<Vec<f64>>()
    };
    let dard = "controller.dard = { elephant_after = \"2ms\", monitor = \"2ms\", schedule = \"3ms\", spread = \"5ms\" }";
    let mut met = 0;
    for seed in ["1", "2", "3", "4", "5", "6"] {
        let by_hash: f64 = rates("", seed).iter().sum();
        met += usize::from(by_hash < 1.2);
        for rate in rates(dard, seed) {
            assert!(rate > 0.92, "seed {seed}: {rate}");
        }
    }
    assert!(met > 0, "in some of the runs both are hashed to one spine");
}
