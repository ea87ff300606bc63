//! pFabric against times worked out by hand and against shortest remaining processing time: order of service,
//! order of drops, and the sender's behaviour when nothing gets through.

use crate::common::scenarios::timed_flows;
use crate::common::scenarios::{self, flow_into_a_slower_link};
use crate::common::{PACKET, US, read, run, run_with, scenario};
use proptest::prelude::*;

/// 1500 B and 40 B at 1 Gbps.
const T: u64 = PACKET;
const A: u64 = 320_000;
const D: u64 = US;
const PAYLOAD: u64 = 1460;
/// From sending a packet to its acknowledgement, over one idle switch.
const ROUND_TRIP: u64 = 2 * (T + D) + 2 * (A + D);

/// Flows of so many full packets over one switch: name, source, destination, start, packets.
fn flows(settings: &str, flows: &[(&str, u32, u32, u64, u64)]) -> String {
    let in_bytes = |&(name, from, to, start, packets)| (name, from, to, start, packets * PAYLOAD);
    let flows = timed_flows(&flows.iter().map(in_bytes).collect::<Vec<_>>());
    let network = "[topology.single-switch]\nhosts = 6\nrate = \"1Gbps\"\ndelay = \"1us\"\n";
    format!("{settings}\n{network}{flows}")
}

/// A packet carries the bytes that its flow has not sent, itself included; timeouts are far away.
const UNSENT: &str = "transport.pfabric = { remaining = \"unsent\", rto = \"1ms\" }";

/// Packets of the long flow are at the port at 13, 25, ... us, those of the short one at 46, 58 and 70 us: that finds
/// the wire busy until 49 us, and has the port to itself from then on.
#[test]
fn the_smaller_flow_goes_first() {
    let text = flows(UNSENT, &[("long", 1, 0, 0, 10), ("short", 2, 0, 33 * US, 3)]);
    let run = run(&text);
    assert_eq!(run.flow_of("short", "fct_ps"), 3 * US + 4 * T + 2 * D);
    assert_eq!(run.flow_of("long", "fct_ps"), 14 * T + 2 * D);
    assert_eq!((run.counters().drops, run.counters().retransmissions), (0, 0));
}

/// A has sent three of its ten packets when nine of B come. B's first goes at 49 us, as no other waits yet;
/// A's fourth, the seventh from its end, before B's second, the eighth; and so on until A is through, at 145
/// us. By then B's last packet is there, with the lowest rank of all, and the others go before it: no packet
/// overtakes one of its own flow.
#[test]
fn what_counts_is_what_remains_and_a_flow_keeps_its_order() {
    let text = flows(UNSENT, &[("A", 1, 0, 0, 10), ("B", 2, 0, 33 * US, 9)]);
    for mode in ["auto", "serviced"] {
        let run = run_with(&text, &[("run.port_mode", mode)]);
        assert_eq!(run.flow_of("A", "fct_ps"), 12 * T + 2 * D);
        assert_eq!(run.flow_of("B", "fct_ps"), (241 + 1 - 33) * US);
        assert_eq!((run.counters().drops, run.flow_of("B", "reordered")), (0, 0));
    }
}

/// The same with room for two packets beside the one on the wire. B's second packet waits with A's fifth when its third
/// comes, at 70 us: the second lacks most and is dropped; so it goes, every 12 us, up to the seventh. The first, the
/// eighth and the ninth arrive. A millisecond after the first acknowledgement the timer comes: B repeats its second
/// packet, and with windows of two, three and four the third to the seventh, which are on the wire back to back.
#[test]
fn the_packet_of_the_largest_flow_is_dropped() {
    let settings = format!("{UNSENT}\nqueue.pfabric.limit.packets = 2");
    let run = run(&flows(&settings, &[("A", 1, 0, 0, 10), ("B", 2, 0, 33 * US, 9)]));
    assert_eq!(run.flow_of("A", "fct_ps"), 12 * T + 2 * D);
    assert_eq!((run.flow_of("A", "drops"), run.flow_of("B", "drops")), (0, 6));
    assert_eq!((run.flow_of("B", "retransmissions"), run.flow_of("B", "timeouts")), (6, 1));
    let first_ack = 49 * US + T + D + 2 * (A + D);
    let repeats_sent = first_ack + 1000 * US + 2 * ROUND_TRIP + 2 * T;
    assert_eq!(run.flow_of("B", "fct_ps"), repeats_sent + 2 * (T + D) - 33 * US);
}

/// Twelve packets at 10 Gbps into a port of 1 Gbps with room for two: all say the same, as nothing is acknowledged yet, so
/// that the one that comes is dropped: the fourth to the tenth, and the twelfth. So the timeout comes a while after the
/// acknowledgement of the third; were it the earliest that is dropped, it would come after that of the first.
#[test]
fn of_equals_the_latest_is_dropped() {
    let third_ack = T / 10 + D + 3 * T + D + A + D + A / 10 + D;
    for (until, timeouts) in [(third_ack + 100 * US - 1, 0), (third_ack + 100 * US, 1)] {
        let run = run(&format!(
            r#"
            transport.pfabric.rto = "100us"
            queue.pfabric.limit.packets = 2
            run.until = "{until}ps"
            {}
            "#,
            flow_into_a_slower_link(1, 12 * PAYLOAD)
        ));
        assert_eq!((run.flow("drops"), run.flow("delivered_bytes")), (8, 4 * PAYLOAD));
        assert_eq!(run.flow("timeouts"), timeouts);
    }
}

/// As many bytes as two packets and a half: nothing but two packets fits, whether or not the limit is in bytes.
#[test]
fn limits_in_bytes_and_with_the_wire() {
    let drops = |queue: &str| {
        let settings = format!("{UNSENT}\nqueue.pfabric = {queue}");
        let run = run(&flows(&settings, &[("A", 1, 0, 0, 10), ("B", 2, 0, 33 * US, 9)]));
        (run.flow_of("A", "drops"), run.flow_of("B", "drops"))
    };
    assert_eq!(drops("{ limit = { bytes = \"3750B\" } }"), (0, 6));
    assert_eq!(drops("{ limit = { packets = 3 }, limit_counts_wire = true }"), (0, 6));
    assert_eq!(drops("{ limit = { full-packets = 2 } }"), (0, 6));
    // Room for one beside the wire: the eighth meets the ninth, too.
    assert_eq!(drops("{ limit = { packets = 1 } }"), (0, 7));
}

/// The long flow's first packet is on the wire, and the next one in line, when the short flow starts at the same instant:
/// that goes at once, or after two of the others and then in turns.
#[test]
fn a_host_serves_its_shortest_flow() {
    for (order, packets) in [("shortest", 4), ("turns", 7)] {
        let settings = format!("transport.pfabric = {{ host_order = \"{order}\", rto = \"1ms\" }}");
        let run = run(&flows(&settings, &[("long", 0, 1, 0, 10), ("short", 0, 2, 0, 3)]));
        assert_eq!(run.flow_of("short", "fct_ps"), (packets + 1) * T + 2 * D, "{order}");
        assert_eq!(run.flow_of("long", "fct_ps"), 14 * T + 2 * D, "{order}");
    }
}

/// Flows of so many packets from host 0, one to each of the hosts 1, 2, ..., by 10 Gbps and 200 ns; packets pass the port that
/// it has for them, and three timeouts of 45 us in a row do not make a sender probe.
fn through_the_port_of_a_host(flows: &[u64]) -> String {
    let entry = |(at, packets): (usize, &u64)| {
        scenarios::flows(&format!("to-{}", at + 1), &[[0, at as u32 + 1]], packets * PAYLOAD)
    };
    let entries: String = flows.iter().enumerate().map(entry).collect();
    format!(
        r#"
        queue.pfabric.limit = {{ bytes = "36864B" }}
        [transport.pfabric]
        host_order = "port"
        initial_window = 12
        max_window = 15
        rto = "45us"
        probe_after = 1000000000
        [topology.single-switch]
        hosts = 4
        rate = "10Gbps"
        delay = "200ns"
        {entries}
        "#
    )
}

/// Of three windows of twelve packets the first packet takes the wire at once and 24 more fit: 36,000 B of 36,864 B. All
/// are equal, so that the third flow's other eleven are dropped on arrival. The senders learn of it after 45 us.
#[test]
fn a_host_whose_port_is_full_drops() {
    let drops = |until: &str| {
        let run = run_with(&through_the_port_of_a_host(&[100; 3]), &[("run.until", until)]);
        assert_eq!(run.counters().drops, run.link("host 0", "switch", "drops"));
        [1, 2, 3].map(|flow| run.flow_of(&format!("to-{flow}"), "drops"))
    };
    assert_eq!(drops("1ns"), [0, 0, 11]);
    // The third flow's first packet leaves after 25 of 1.2 us; the timer is older than that.
    let run = run_with(&through_the_port_of_a_host(&[100; 3]), &[("run.until", "45us")]);
    assert_eq!((run.flow_of("to-3", "timeouts"), run.flow_of("to-1", "timeouts")), (1, 0));
}

/// Two windows of twelve fit.
#[test]
fn a_port_of_a_host_holds_two_windows() {
    let run = run(&through_the_port_of_a_host(&[12; 2]));
    assert_eq!((run.counters().drops, run.counters().retransmissions), (0, 0));
    // 24 packets of 1.2 us back to back; the last one on to its host, and its acknowledgement of 32 ns a link back.
    assert_eq!(run.most("fct_acked_ps"), 24 * 1_200_000 + 200_000 + 1_400_000 + 2 * 232_000);
}

/// NetSys/simulator has the last acknowledgements of the three flows at 122.064, 254.064 and 377.328 us, after 17 drops, all
/// at the host: 3 of the second flow and 14 of the third.
#[test]
fn a_port_of_a_host_is_near_the_public_simulator() {
    let run = run(&through_the_port_of_a_host(&[100; 3]));
    let ends = [1, 2, 3].map(|flow| run.flow_of(&format!("to-{flow}"), "fct_acked_ps"));
    assert_eq!(ends, [122_064_000, 254_064_000, 377_328_000]);
    assert_eq!([1, 2, 3].map(|flow| run.flow_of(&format!("to-{flow}"), "drops")), [0, 3, 14]);
    assert_eq!(run.link("host 0", "switch", "drops"), 17);
}

/// Where the host asks its flows in turn of remaining size, each of three equal ones has the link for itself until it is
/// through: the first ends as if it were alone, and the others 120 us later each.
#[test]
fn equal_flows_of_a_host_go_one_after_the_other() {
    let port = through_the_port_of_a_host(&[100; 3]);
    let run = run_with(&port, &[("transport.pfabric.host_order", "shortest")]);
    let ends = [1, 2, 3].map(|flow| run.flow_of(&format!("to-{flow}"), "fct_acked_ps"));
    assert_eq!(ends, [122_064_000, 242_064_000, 362_064_000]);
    assert_eq!(run.counters().drops + run.total("timeouts"), 0);
}

/// The link is dead until 950 us. Of three packets the first is repeated at 100 us, after the first timeout; after the
/// second there is a probe every 100 us. That of 1000 us is answered; the first packet goes again, and with its
/// acknowledgement the other two.
#[test]
fn probes_until_one_gets_through() {
    let settings = r#"
        transport.pfabric = { rto = "100us", probe_after = 2 }
        [faults]
        events = [{ at = "0s", target.link = ["host 1", "switch"], change = "down", lasts = "950us" }]
    "#;
    let run = run(&flows(settings, &[("flow", 1, 0, 0, 3)]));
    assert_eq!(run.flow("timeouts"), 10);
    assert_eq!((run.flow("packets_sent"), run.flow("retransmissions")), (3 + 1 + 3, 1 + 3));
    assert_eq!(run.flow("lost"), 3 + 1 + 8);
    let answered = 1000 * US + 4 * (A + D);
    assert_eq!(run.flow("fct_ps"), answered + ROUND_TRIP + 3 * T + 2 * D);
}

/// The time at which each flow ends, given starts and sizes, on one server that always works on the flow with the least
/// left and has it leave others at once: an oracle with no packets in it.
fn shortest_remaining_first(flows: &[(f64, f64)]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..flows.len()).collect();
    order.sort_by(|&a, &b| flows[a].0.total_cmp(&flows[b].0));
    let mut left: Vec<f64> = flows.iter().map(|flow| flow.1).collect();
    let mut ends = vec![f64::NAN; flows.len()];
    let (mut present, mut now) = (Vec::new(), 0.0);
    let mut coming = order.into_iter().peekable();
    while !present.is_empty() || coming.peek().is_some() {
        let next = coming.peek().map_or(f64::INFINITY, |&flow| flows[flow].0);
        let shortest = present.iter().copied().min_by(|&a: &usize, &b| left[a].total_cmp(&left[b]));
        match shortest {
            Some(flow) if now + left[flow] <= next => {
                now += left[flow];
                ends[flow] = now;
                present.retain(|&other| other != flow);
            }
            _ => {
                if let Some(flow) = shortest {
                    left[flow] -= next - now;
                }
                now = next;
                present.extend(coming.next());
            }
        }
    }
    ends
}

/// By hand: of 10 from 0 on, 2 from 3 on and 8 from 4 on, the second goes first, then the 7 that are left of the first.
#[test]
fn the_oracle() {
    assert_eq!(shortest_remaining_first(&[(0.0, 10.0), (3.0, 2.0), (4.0, 8.0)]), [12.0, 5.0, 20.0]);
}

/// Web-search flows from sixteen hosts to one at load 0.7. What the oracle knows is the receiver's link; the way to it is
/// what a flow takes alone beyond its time on that link.
///
/// Small flows wait for the packet that is on the wire, no more. Large ones come back from giving way by timeouts, in
/// which two may change places, so that only their mean is the oracle's.
#[test]
fn one_link_is_shortest_remaining_first() {
    let run = run(r#"
        transport = "pfabric"
        [topology.single-switch]
        hosts = 17
        rate = "10Gbps"
        delay = "1us"
        [[traffic]]
        name = "flows"
        arrivals.poisson = { load = 0.7 }
        matrix.incast = { senders = 16 }
        sizes = "web-search"
        flows = 600
    "#);
    let (starts, sizes) = (run.flows("start_ps"), run.flows("size_bytes"));
    let on_wire = |&size: &u64| (size + 40 * size.div_ceil(PAYLOAD)) as f64 * 800.0;
    let flows: Vec<_> =
        starts.iter().zip(&sizes).map(|(&start, size)| (start as f64, on_wire(size))).collect();
    let (ideals, fcts) = (run.flows("ideal_fct_ps"), run.flows("fct_ps"));
    let (mut small, mut sum, mut expected_sum) = (0, 0.0, 0.0);
    for (flow, end) in shortest_remaining_first(&flows).into_iter().enumerate() {
        let (start, alone) = flows[flow];
        let expected = end - start + ideals[flow] as f64 - alone;
        let packets_off = (fcts[flow] as f64 - expected) / (1500.0 * 800.0);
        if sizes[flow] <= 100_000 {
            small += 1;
            assert!((-0.01..2.0).contains(&packets_off), "flow {flow}: {packets_off}");
        }
        sum += fcts[flow] as f64;
        expected_sum += expected;
    }
    assert!(small > 300 && run.counters().drops > 1000);
    assert!((sum / expected_sum - 1.0).abs() < 0.02, "{}", sum / expected_sum);
}

/// Needs of the transport that the port cannot meet are refused with path and what is allowed.
#[test]
fn mistakes() {
    let problems = |settings: &str| {
        let text = flows(settings, &[("flow", 1, 0, 0, 3)]);
        read(&text).expect_err("a mistake").to_string()
    };
    let said = problems("transport = \"pfabric\"\nqueue = \"drop-tail\"");
    assert!(said.contains("\"drop-tail\" has no scheduling by remaining size"), "{said}");
    assert!(said.contains("use \"pfabric\""), "{said}");
    for (limit, most) in
        [("packets = 1001", "1000"), ("full-packets = 1001", "1000"), ("bytes = \"2MB\"", "1500KB")]
    {
        let said = problems(&format!("transport = \"pfabric\"\nqueue.pfabric.limit = {{ {limit} }}"));
        assert!(said.contains("queue.pfabric.limit."), "{said}");
        assert!(said.contains(&format!("at most {most}")), "{said}");
    }
    let said = problems("transport.pfabric = { initial_window = 20, max_window = 15 }");
    assert!(said.contains("transport.pfabric.max_window: 15 is below initial_window, which is 20"), "{said}");
    let two = [("flow", 1, 0, 0, 3), ("other", 1, 0, 0, 3)];
    let apart = flows("transport = \"pfabric\"", &two) + "transport.pfabric.host_order = \"port\"";
    let said = read(&apart).expect_err("a host has one order").to_string();
    let expected =
        "traffic.other.transport.pfabric.host_order: \"port\" is not \"shortest\", as transport has";
    assert!(said.contains(expected), "{said}");
    let port = "transport.pfabric.host_order = \"port\"";
    let said = problems(&format!("{port}\nfaults.packets = [{{ traffic = \"flow\", numbers = [1] }}]"));
    assert!(
        said.contains("faults.packets.0.traffic: the packets of \"flow\" have no number on the wire"),
        "{said}"
    );
    assert!(said.contains("set another transport.pfabric.host_order"), "{said}");
    scenario(
        &flows("transport = \"pfabric\"\nqueue.pfabric.limit.packets = 1000", &[("flow", 1, 0, 0, 3)]),
        &[],
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// No flow is lost under any pattern of drops, in both directions, whatever is the timeout; what arrives is what
    /// was sent and not dropped.
    #[test]
    fn no_flow_is_lost(
        senders in 2u32..16,
        limit in 1u32..20,
        window in 1u32..30,
        rto in 20u32..2000,
        probe_after in 1u32..6,
        size in 1u64..60_000,
        seed in any::<u32>(),
        [unsent, wire] in any::<[bool; 2]>(),
        order in prop::sample::select(&["shortest", "turns", "port"][..]),
    ) {
        let back: Vec<[u32; 2]> = (1..=senders).map(|host| [0, host]).collect();
        let text = format!(
            r#"
            run.seed = {seed}
            [transport.pfabric]
            initial_window = {window}
            max_window = {}
            rto = "{rto}us"
            probe_after = {probe_after}
            remaining = "{}"
            host_order = "{order}"
            [queue.pfabric]
            limit = {{ packets = {limit} }}
            limit_counts_wire = {wire}
            {}
            {}
            "#,
            window + 5,
            if unsent { "unsent" } else { "unacknowledged" },
            scenarios::incast(u64::from(senders), "1Gbps", size),
            scenarios::flows("back", &back, size)
        );
        let run = run(&text);
        prop_assert_eq!(run.counters().unfinished_flows, 0);
        prop_assert!(run.flows("delivered_bytes").iter().all(|&bytes| bytes == size));
    }
}
