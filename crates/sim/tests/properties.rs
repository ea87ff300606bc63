//! Properties of every scenario, tested on random small ones.

mod common;

use common::random::random_scenario;
use common::{budget, run_with, words};
use flowyard_sim::engine::data::finished::Status;
use flowyard_sim::records::Values;
use proptest::prelude::*;

/// D3's base rate in random scenarios. Where requests alone fill the links, flows have no more than that, and the packets
/// without payload of the long time that they take may reach `work_limit` first: then flows have had it all the while.
const D3_BASE: &str = "base_rate = \"1Mbps\"";
const D3_BASE_BPS: f64 = 1e6;

proptest! {
    #![proptest_config(budget(48))]

    /// It ends; the audit is clean (as always); nothing is faster than light; bytes, packets and drops
    /// add up between the tables.
    #[test]
    fn books_balance(text in random_scenario()) {
        let run = run_with(&text, &[("run.measure", "\"all\"")]);
        let counters = run.counters();
        let is_slow = run.status() == Status::Limit && text.contains(D3_BASE);
        prop_assert!(is_slow || run.status() == Status::Complete, "{:?}", run.status());

        let sum = |values: Vec<u64>| values.into_iter().sum::<u64>();
        prop_assert_eq!(sum(run.flows("drops")), sum(run.links("drops")));
        prop_assert_eq!(sum(run.links("drops")), counters.drops);
        prop_assert_eq!(sum(run.links("trims")), counters.trims);
        // What is on a wire when the last flow has ended, such as a needless repeat, crosses it no more.
        prop_assert!(sum(run.links("packets")) >= counters.packet_hops);

        let (sizes, delivered) = (run.flows("size_bytes"), run.flows("delivered_bytes"));
        let (completed, fct) = (run.flows("completed"), run.flow_cells("fct_ps"));
        let (abandoned, sent) = (run.flows("abandoned"), run.flows("packets_sent"));
        let (acked, ideal) = (run.flow_cells("fct_acked_ps"), run.flow_cells("ideal_fct_ps"));
        let reliable = words(&run.0.flows, "transport").iter().all(|name| name != "datagram");
        let starts = run.flow_cells("start_ps");
        for row in 0..sizes.len() {
            if let (true, false, Some(start)) = (is_slow, completed[row] == 1, starts[row]) {
                // Bytes sent, not delivered: ports that are full of requests lose most of them.
                let least = D3_BASE_BPS * (run.end() - start) as f64 / 1e12 / 8.0 / 2.0 - 2.0 * 1500.0;
                let bytes = sent[row] * 1460;
                prop_assert!(bytes as f64 >= least, "flow {row}: {bytes} B, {least} at half its base rate");
            }
            prop_assert_eq!(completed[row] == 1, delivered[row] == sizes[row]);
            prop_assert_eq!(completed[row] == 1, fct[row].is_some());
            prop_assert!(!reliable || is_slow || completed[row] + abandoned[row] == 1, "flow {} did not end", row);
            if let (Some(fct), Some(ideal)) = (fct[row], ideal[row]) {
                prop_assert!(fct >= ideal, "flow {}: {} ps, ideal {}", row, fct, ideal);
            }
            if let (Some(fct), Some(acked)) = (fct[row], acked[row]) {
                prop_assert!(acked > fct);
            }
        }

        let (retransmissions, timeouts) = (run.flows("retransmissions"), run.flows("timeouts"));
        for row in 0..sizes.len() {
            let never_sent = is_slow && sent[row] == 0;
            prop_assert!(sent[row] > retransmissions[row] || abandoned[row] == 1 || never_sent, "at least one packet is new");
            prop_assert!(reliable || retransmissions[row] + timeouts[row] == 0);
        }
        prop_assert_eq!(sum(retransmissions), counters.retransmissions);
        prop_assert_eq!(sum(timeouts), counters.timeouts);

        let Values::F64(utilisation) = &run.0.links.column("utilisation").expect("a column").values else {
            panic!("a float")
        };
        let (most, mean) = (run.links("queue_max_bytes"), &run.0.links.column("queue_mean_bytes").expect("a column").values);
        let Values::F64(mean) = mean else { panic!("a float") };
        for row in 0..most.len() {
            prop_assert!(utilisation[row] <= 1.0, "link {} is used for {}", row, utilisation[row]);
            prop_assert!(mean[row] <= most[row] as f64);
        }
    }
}
