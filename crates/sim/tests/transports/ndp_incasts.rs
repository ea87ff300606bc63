//! NDP's incasts, small and large: when they end, which packets are retransmitted and by which trigger, and
//! the effect of turns on trims.

use crate::common::scenarios::{self, TOGETHER, flow_over_a_line, flows};
use crate::common::{HEADER, MS, PACKET, Run, US, run, run_with};

/// A flow of 10 KB is six full packets of 1500 B and one of 1384 B of payload, with a header of 64 B each.
const PACKETS: u64 = 7;
const ON_WIRE: u64 = 6 * 1500 + 1384 + 64;

/// So many senders of 10 KB to host 0 of one switch, with links of 10 Gbps and 1 us.
fn incast(senders: u64, settings: &str) -> Run {
    let text = format!("{settings}\n{}", scenarios::incast(senders, "10Gbps", 10_000));
    run_with(&text, &[TOGETHER])
}

/// All packets one behind the other on the receiver's link, the first of which has come there from its host.
fn ideal(senders: u64) -> u64 {
    PACKET / 10 + 2 * US + senders * ON_WIRE * 800
}

/// With the defaults of all fields the receiver's link is never idle, and nothing is lost: what is sent arrives, arrives
/// as a header, or comes back, and each of the latter two is repeated once.
#[test]
fn large_incasts_end_near_the_ideal_and_lose_nothing() {
    for senders in [10, 100, 1000, 2000] {
        let run = incast(senders, "transport = \"ndp\"");
        let (end, ideal) = (run.most("fct_ps"), ideal(senders));
        assert!((ideal..=ideal * 12 / 10).contains(&end), "{senders} senders: {end}, ideal {ideal}");
        let counters = run.counters();
        assert_eq!((counters.drops, counters.timeouts, counters.unfinished_flows), (0, 0, 0));
        assert_eq!(counters.trims, run.total("trims") + counters.bounces);
        assert_eq!(counters.retransmissions, counters.trims);
        assert_eq!(run.total("packets_sent"), senders * PACKETS + counters.retransmissions);
    }
}

/// Where headers are lost, most packets of the first window are, and all senders wait for their timeouts. These are
/// spread over half of themselves, and what they repeat is pulled: so the receiver's link carries everything without a gap
/// from the longest of them on at the latest, however long they are. Together and at once, as a second incast, it is
/// several timeouts instead.
#[test]
fn what_has_timed_out_is_pulled() {
    for rto in [20, 50] {
        let settings = |more: &str| {
            format!(
                "transport.ndp = {{ pull_ack = false, rto_min = \"{rto}ms\", rto_initial = \"{rto}ms\", {more} }}\n\
                 queue.ndp.return_to_sender = false"
            )
        };
        let senders = 1000;
        // Packets that were neither in the first window nor pulled: PULLs are what the receiver sends beside answers.
        let unpulled = |run: &Run| {
            let arrived = run.link("switch", "host 0", "packets");
            let pulls = run.link("host 0", "switch", "packets") - arrived;
            (run.total("packets_sent") - senders * PACKETS).saturating_sub(pulls)
        };
        let spread = incast(senders, &settings(""));
        let end = spread.most("fct_ps");
        assert!(spread.counters().drops > senders, "{:?}", spread.counters());
        assert!(end > rto * MS && end < rto * MS * 3 / 2 + ideal(senders) * 12 / 10, "{end} with {rto} ms");
        assert!(unpulled(&spread) <= spread.counters().timeouts);
        let together = incast(senders, &settings("backstop_repeats = \"at-once\", rto_spread = 0"));
        assert!(together.most("fct_ps") > 2 * end, "{} and {end}", together.most("fct_ps"));
        assert!(unpulled(&together) > 2 * together.counters().timeouts);
    }
}

/// Nothing arrives for two seconds. Timeouts are 20, 40, 80 and then 100 ms, so that one packet leaves at 20, 60, 140,
/// 240, ... 2040 ms. It is at the receiver 2 T + 2 d later, asks for nine pulls, and has one of its own; the first nine of
/// these, T apart from that instant on, bring the other nine packets: C + d a link for the ninth, and 2 T + 2 d for its
/// packet.
#[test]
fn timeouts_are_doubled_up_to_the_longest() {
    let flow = |settings: &str| {
        run(&format!(
            r#"
            transport.ndp = {{ rto_spread = 0.0, {settings} }}
            faults.events = [{{ at = "0s", lasts = "2s", target.link = ["switch 0", "host 1"], change = "down" }}]
            {}
            "#,
            flow_over_a_line(1, 1, 14_360)
        ))
    };
    let run = flow("");
    let first = 2040 * MS + 2 * (PACKET + US);
    assert_eq!(run.flow("fct_ps"), first + 8 * PACKET + 2 * (HEADER + US) + 2 * (PACKET + US));
    assert_eq!((run.flow("timeouts"), run.flow("retransmissions")), (22, 22 + 9));
    // 20 ms doubled each time: 20, 60, 140, 300, 620, 1260, 2540 ms. One that is longer from the first on stays so.
    assert_eq!(flow("rto_max = \"100s\"").flow("fct_ps") / MS, 2540);
    assert_eq!(flow("rto_initial = \"300ms\"").flow("fct_ps") / MS, 2100);
}

/// Timeouts of flows that have lost the same at the same time are longer by shares of their own, from nothing up to
/// `rto_spread`, and differ from one timeout to the next.
#[test]
fn timeouts_are_spread() {
    let settings = r#"
        transport.ndp = { rto_initial = "10ms", rto_spread = 0.5 }
        faults.events = [{ at = "0s", lasts = "1ms", target.link = ["switch", "host 0"], change = "down" }]
    "#;
    let text = format!("{settings}{}", scenarios::incast(100, "10Gbps", 1000));
    let run = run_with(&text, &[TOGETHER]);
    let mut ends = run.flows("fct_ps");
    ends.sort_unstable();
    let way = 2 * (PACKET / 10 + US) + 10 * US;
    assert!(ends[0] >= 10 * MS && ends[99] <= 15 * MS + way, "{} to {}", ends[0], ends[99]);
    // Of 100 independent draws, the least and the greatest leave out a tenth with probability 2 x 0.95^100.
    assert!(ends[0] < 10 * MS + MS / 4 && ends[99] > 15 * MS - MS / 4, "{} to {}", ends[0], ends[99]);
    let mean = ends.iter().sum::<u64>() as f64 / 100.0;
    assert!((mean / (12.5 * MS as f64) - 1.0).abs() < 0.04, "mean {mean}");
}

/// Some senders are near, and named first. Turns that keep them together, by number or in the order of arrival, have their
/// packets come together with those of far ones, which were pulled before, to the last port, in every round, and leave it
/// idle after that. Turns in a random order do not, and the incast ends within 2 % of the ideal, the paper's number.
#[test]
fn random_turns_do_not_keep_neighbours_together() {
    let incast = |near: u32, turns: &str| {
        let senders = (1..=near).chain(16..106 - near);
        let pairs: Vec<[u32; 2]> = senders.map(|sender| [sender, 0]).collect();
        let run = run(&format!(
            r#"
            transport.ndp = {{ mtu = "4000B", mtu_includes_header = false, initial_window = 10, pull_turns = "{turns}" }}
            queue.ndp = {{ data_limit.bytes = "32000B", header_limit.bytes = "64000B", headers_per_data = 0 }}
            topology.fat-tree = {{ k = 8, rate = "100Gbps" }}
            routing.balancer = "permuted"
            {}
            "#,
            flows("incast", &pairs, 300_000)
        ));
        assert_eq!(run.counters().timeouts, 0);
        (run.counters().trims, run.most("fct_ps") as f64 / (90.0 * 75.0 * 4064.0 * 80.0))
    };
    for near in [12, 15] {
        let (trims, end) = incast(near, "random");
        assert!((1.0..1.02).contains(&end), "{near} near: {end}");
        for turns in ["number", "arrival"] {
            let (more, late) = incast(near, turns);
            assert!(
                late > 1.04 && more > trims * 11 / 10,
                "{near} near, {turns}: {late}, {more} and {trims} trims"
            );
        }
    }
}
