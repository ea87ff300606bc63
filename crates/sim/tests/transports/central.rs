//! Packets under central control: times worked out by hand.

use proptest::prelude::*;

use crate::common::{budget, read, run, run_with};

/// 1500 B of IP and 38 B of frame at 1 Gbps.
const PACKET: u64 = 12_304_000;

/// Two hosts of three at one switch send ten packets each to the third, by links of 1 Gbps without delay.
fn incast(controller: &str) -> String {
    format!(
        r#"
        topology.single-switch = {{ hosts = 3, rate = "1Gbps", delay = "0ps" }}
        transport.central = {{}}
        controller.{controller}
        [[traffic]]
        name = "first"
        arrivals.at-once.jitter = "0s"
        matrix.pairs = [[0, 2]]
        sizes.fixed = "15000B"
        [[traffic]]
        name = "second"
        arrivals.at-once.jitter = "0s"
        matrix.pairs = [[1, 2]]
        sizes.fixed = "15000B"
        "#
    )
}

/// Two flows share the receiver's link: each sends a packet every 24.608 us. The last of ten leaves after nine such gaps,
/// and crosses two links; that of the other comes at the same time and waits.
#[test]
fn rates_share_the_receivers_link() {
    for controller in ["max-min = {}", "asy = {}"] {
        let run = run(&incast(controller));
        let mut ends = run.flows("fct_ps");
        ends.sort_unstable();
        let last = 9 * 2 * PACKET + 2 * PACKET;
        assert_eq!(ends, [last, last + PACKET], "{controller}");
        // Both queues fill at once, and both empty at once: two changes, and each makes two reports. Rates
        // are sent once.
        let control = run.counters().control.expect("there is a controller");
        assert_eq!((control.acts, control.reports, control.orders), (2, 4, 2), "{controller}");
    }
}

/// Two hosts send to two others, of each link 0.6 to one queue and 0.4 to the other. Packets of both wait for each other on
/// the wire, and still each queue has its rate: that of a link is guaranteed, to a packet of each queue.
#[test]
fn rates_are_kept_where_queues_meet_on_the_wire() {
    let entry = |name: &str, priority: u8, pairs: &str| {
        format!(
            r#"
            [[traffic]]
            name = "{name}"
            priority = {priority}
            arrivals.at-once.jitter = "0s"
            matrix.pairs = {pairs}
            sizes.fixed = "100MB"
            "#
        )
    };
    // A packet waits for one other at most: to make up for one is as good as to make up for all.
    for late in ["", "late_limit = 1"] {
        let run = run(&format!(
            r#"
        topology.single-switch = {{ hosts = 4, rate = "1Gbps", delay = "0ps" }}
        transport.central = {{ {late} }}
        controller.asy.normalisation.priorities = [0.6, 0.4]
        run.until = "100ms"
        {}{}
        "#,
            entry("much", 0, "[[0, 2], [1, 3]]"),
            entry("less", 1, "[[0, 3], [1, 2]]"),
        ));
        let packets = 100_000_000_000 / PACKET;
        for (number, sent) in run.flows("packets_sent").into_iter().enumerate() {
            let share = [6, 6, 4, 4][number];
            assert!(
                (packets * share / 10).abs_diff(sent) <= 2,
                "flow {number} has sent {sent} of {packets}: {late}"
            );
        }
    }
}

/// A queue with a tenth of its host's link sends a packet at once, and is ready for the next one every 123.04 us. Then a packet
/// of 60 kB of another queue has the wire until 492.608 us: the first queue is late by three packets. Without a bound it sends
/// four in a row, and its tenth packet starts when its rate has it, at 9 x 123.04 us. If it makes up for n packets it sends n + 1
/// in a row, and the next ones 123.04 us apart, counted from 492.608 us: the tenth starts 8 - n of these later.
#[test]
fn what_a_late_queue_makes_up_for_is_bounded() {
    let entry = |name: &str, priority: u8, to: u32, transport: &str, size: u32| {
        format!(
            r#"
            [[traffic]]
            name = "{name}"
            priority = {priority}
            transport.central = {{ {transport} }}
            arrivals.at-once.jitter = "0s"
            matrix.pairs = [[0, {to}]]
            sizes.fixed = "{size}B"
            "#
        )
    };
    let gap = 10 * PACKET;
    let busy = PACKET + 60_038 * 8_000;
    for (bound, start) in [
        ("", 9 * gap),
        ("late_limit = 2", busy + 6 * gap),
        ("late_limit = 1", busy + 7 * gap),
        ("late = \"lost\"", busy + 8 * gap),
    ] {
        let run = run(&format!(
            r#"
            topology.single-switch = {{ hosts = 3, rate = "1Gbps", delay = "0ps" }}
            transport.central = {{}}
            controller.asy.normalisation = {{ priorities = [0.1, 0.9], scaling = "down", fill = false }}
            {}{}
            "#,
            entry("short", 0, 1, bound, 15_000),
            entry("long", 1, 2, "lengths.fixed = \"60KB\", mtu = \"65535B\"", 60_000),
        ));
        let end = run.flow_of("short", "fct_ps");
        // Times are rounded to a picosecond, up.
        assert!(end.abs_diff(start + 2 * PACKET) < 100, "{bound}: {end} instead of {}", start + 2 * PACKET);
    }
}

/// One packet a slot goes to the receiver: 20 slots, and the last packet crosses the second link in the slot
/// behind. Under MMF flows take turns, but that both have been first since the first slot when the second
/// comes: the first flow is done after 18 or 19 slots. Under SRJF it is done after 10, and under OCF, where
/// all packets are of one age, a random number decides.
#[test]
fn slots_are_for_one_packet_to_a_host() {
    for (policy, least) in [("mmf", 18..=19), ("srjf", 10..=10), ("ocf", 10..=19)] {
        let run = run(&incast(&format!("syn.policy = \"{policy}\"")));
        let mut ends = run.flows("fct_ps");
        ends.sort_unstable();
        assert_eq!(ends[1], 20 * PACKET + PACKET, "{policy}");
        assert!(
            least.contains(&(ends[0] / PACKET - 1)) && ends[0].is_multiple_of(PACKET),
            "{policy}: {ends:?}"
        );
        // No packet met another: at most one at a time in the port to the receiver.
        assert_eq!(run.link("switch", "host 2", "queue_max_packets"), 1);
    }
}

/// Three packets of one pair, a millisecond and more apart. Where the wait of an empty queue passes, and where its bucket
/// drains, each crosses an empty network; where it is kept, the second and the third first wait for a packet time of the one before.
#[test]
fn a_queue_that_was_idle_keeps_its_wait_or_not() {
    let packet = |name: &str, at: &str| {
        format!(
            r#"
            [[traffic]]
            name = "{name}"
            arrivals.at-once = {{ at = "{at}", jitter = "0s" }}
            matrix.pairs = [[0, 2]]
            sizes.fixed = "1500B"
            "#
        )
    };
    let each = ["asy", "max-min"].map(|controller| {
        [("kept", PACKET), ("passes", 0), ("drains", 0)].map(|(idle, wait)| (controller, idle, wait))
    });
    for (controller, idle, wait) in each.into_iter().flatten() {
        let run = run(&format!(
            r#"
            topology.single-switch = {{ hosts = 3, rate = "1Gbps", delay = "0ps" }}
            transport.central.idle = "{idle}"
            controller.{controller} = {{}}
            {}{}{}
            "#,
            packet("first", "0s"),
            packet("second", "1ms"),
            packet("third", "10ms"),
        ));
        let later = 2 * PACKET + wait;
        assert_eq!(run.flows("fct_ps"), [2 * PACKET, later, later], "{controller}, {idle}");
    }
}

/// Bursts of a packet each fill nine tenths of a link, from four hosts. As long as a queue has its rate until its last packet
/// has leaked out, rates sum to those of the link at every moment, so that its port holds a packet of each sender at most; so
/// it does where the wait is kept. Where it passes, the port gets more than its link takes.
#[test]
fn a_bucket_that_drains_holds_its_rate() {
    let of = |controller: &str, idle: &str| {
        run(&format!(
            r#"
            topology.single-switch = {{ hosts = 5, rate = "1Gbps", delay = "0ps" }}
            transport.central.idle = "{idle}"
            controller.{controller} = {{}}
            [[traffic]]
            name = "bursts"
            arrivals.poisson.rate = 73000.0
            matrix.pairs = [[0, 4], [1, 4], [2, 4], [3, 4]]
            sizes.fixed = "1500B"
            flows = 5000
            "#
        ))
    };
    for controller in ["asy", "max-min"] {
        let [kept, passes, drains] = ["kept", "passes", "drains"].map(|idle| of(controller, idle));
        let held = [&kept, &passes, &drains].map(|run| run.link("switch", "host 4", "queue_max_bytes"));
        assert!(held[0] <= 4 * 1538 && held[2] <= 4 * 1538 && held[1] > 4 * 1538, "{controller}: {held:?}");
        let [kept, drains] = [kept, drains].map(|run| run.flows("fct_ps").iter().sum::<u64>());
        assert!(drains < kept, "{controller}: {drains}, {kept}");
    }
}

/// A burst that comes while its queue drains waits for the rest, at the rate that the queue still has. Two hosts send to a
/// third, at half of its link each; the first has sent its packet at once, and the next one comes at 10 us: it may leave
/// when the first has leaked out, after 24.608 us.
#[test]
fn a_burst_that_meets_a_draining_queue_has_its_rate() {
    let entry = |name: &str, at: &str, from: u32, size: &str| {
        format!(
            r#"
            [[traffic]]
            name = "{name}"
            arrivals.at-once = {{ at = "{at}", jitter = "0s" }}
            matrix.pairs = [[{from}, 2]]
            sizes.fixed = "{size}"
            "#
        )
    };
    let run = run(&format!(
        r#"
        topology.single-switch = {{ hosts = 3, rate = "1Gbps", delay = "0ps" }}
        transport.central.idle = "drains"
        controller.asy = {{}}
        {}{}{}
        "#,
        entry("packet", "0s", 0, "1500B"),
        entry("other", "0s", 1, "15000B"),
        entry("next", "10us", 0, "1500B"),
    ));
    // The switch gets packets of both at the same times, two for each two packet times: from then on a wait of none or one.
    let from = 2 * PACKET - 10_000_000 + 2 * PACKET;
    let next = run.flow_of("next", "fct_ps");
    assert!([from, from + PACKET].contains(&next), "{next}, {from}");
    // Its queue fills once and empties once for the controller.
    let control = run.counters().control.expect("there is a controller");
    assert_eq!((control.acts, control.reports), (3, 5));
}

/// Under SRJF the residual of a flow is what its packets have left of it: after the first of 1600 B, 100 B, which go before
/// another flow's 500 B.
#[test]
fn the_shortest_job_is_known_to_the_byte() {
    let run = run(r#"
        topology.single-switch = { hosts = 3, rate = "1Gbps", delay = "0ps" }
        transport.central = {}
        controller.syn.policy = "srjf"
        [[traffic]]
        name = "longer"
        arrivals.at-once.jitter = "0s"
        matrix.pairs = [[0, 2]]
        sizes.fixed = "1600B"
        [[traffic]]
        name = "shorter"
        arrivals.at-once = { at = "1us", jitter = "0s" }
        matrix.pairs = [[1, 2]]
        sizes.fixed = "500B"
        "#);
    assert_eq!(run.flows("fct_ps"), [3 * PACKET, 4 * PACKET - 1_000_000]);
}

/// The packet of a slot may end its flow and so start another one within the slot's instant. That one waits for the next
/// slot: the receiver gets one packet a slot.
#[test]
fn a_slot_is_given_once() {
    let run = run(r#"
        topology.single-switch = { hosts = 5, rate = "1Gbps", delay = "0ps" }
        transport.central = {}
        controller.syn = {}
        [[traffic]]
        name = "flows"
        matrix.pairs = [[0, 1], [0, 2], [3, 2]]
        sizes.fixed = "1500B"
        [traffic.arrivals.triggers]
        starts = ["0s", { trigger = 1 }, "5us"]
        fires = [{ flow = 0, event = "acked", trigger = 1 }]
        list = [{ id = 1, kind = "once" }]
        "#);
    // The flow that is started comes last.
    assert_eq!(run.flows("fct_ps"), [2 * PACKET, 4 * PACKET - 5_000_000, 3 * PACKET]);
    assert_eq!(run.link("switch", "host 2", "queue_max_packets"), 1);
}

/// A controller that is 30 us away gets the report of the burst after these, and its grant arrives as late:
/// for the slot that begins at 73.824 us, the first boundary at or after 36.912 (the first after 30) and 30.
#[test]
fn control_takes_its_time() {
    let run = run_with(&incast("syn = {}"), &[("controller.syn.control.delay", "30us")]);
    let mut ends = run.flows("fct_ps");
    ends.sort_unstable();
    assert_eq!(ends[1], (6 + 20 + 1) * PACKET);
}

/// A controller is 10 ms away, and two queues of a host get half of its link each after 20 ms. When the first is empty, a
/// burst for a third host waits for its rate until 40 ms. The second queue has its own: its last of 100 packets leaves
/// 99 gaps after the first.
#[test]
fn a_burst_without_a_rate_delays_no_other_queue() {
    let flows = [("short", 2, "0s", "15000B"), ("long", 3, "0s", "150000B"), ("late", 1, "20100us", "1500B")];
    let traffic = flows.map(|(name, to, start, size)| {
        format!(
            r#"
            [[traffic]]
            name = "{name}"
            arrivals.at-once = {{ at = "{start}", jitter = "0s" }}
            matrix.pairs = [[0, {to}]]
            sizes.fixed = "{size}"
            "#
        )
    });
    let network = r#"
        topology.single-switch = { hosts = 4, rate = "1Gbps", delay = "0ps" }
        transport.central = {}
        controller.asy.control.delay = "10ms"
        "#;
    let run = run(&format!("{network}{}", traffic.concat()));
    let last = 20_000_000_000 + 99 * 2 * PACKET + 2 * PACKET;
    let long = run.flows("fct_ps")[1];
    // A bucket rounds up to a picosecond for each packet.
    assert!((last..last + 100).contains(&long), "{long} instead of {last}");
}

/// A controller is 10 ms away. Its first rate for a queue is on its way from 10 to 20 ms when, at 15 ms, another flow to the
/// same host has it send a lower one: the first is valid until that comes at 25 ms, and suffices for ten packets.
#[test]
fn a_rate_is_valid_until_a_later_one_arrives() {
    let entry = |name: &str, from: u32, at: &str| {
        format!(
            r#"
            [[traffic]]
            name = "{name}"
            arrivals.at-once = {{ at = "{at}", jitter = "0s" }}
            matrix.pairs = [[{from}, 2]]
            sizes.fixed = "15000B"
            "#
        )
    };
    for controller in ["asy", "max-min"] {
        let run = run(&format!(
            r#"
            topology.single-switch = {{ hosts = 3, rate = "1Gbps", delay = "0ps" }}
            transport.central = {{}}
            controller.{controller}.control.delay = "10ms"
            {}{}
            "#,
            entry("first", 0, "0s"),
            entry("second", 1, "5ms"),
        ));
        let last = 20_000_000_000 + 9 * PACKET + 2 * PACKET;
        let fct = run.flows("fct_ps")[0];
        assert!((last..last + 100).contains(&fct), "{controller}: {fct} instead of {last}");
    }
}

/// Whatever is lost on the way to and from the controller, every packet is sent once: flows complete, and no byte is
/// delivered twice, or the audit finds it.
#[test]
fn lost_control_loses_no_packet() {
    for controller in ["syn = {}", "asy = {}", "max-min = {}"] {
        let name = controller.split(' ').next().unwrap_or_default();
        let set = |field: &str| format!("controller.{name}.control.{field}");
        let run = run_with(
            &incast(controller),
            &[(&set("delay"), "5us"), (&set("loss"), "0.3"), (&set("timeout"), "40us")],
        );
        assert_eq!(run.flows("delivered_bytes"), [15_000, 15_000], "{controller}");
        assert_eq!(run.flows("packets_sent"), [10, 10], "{controller}");
    }
}

/// Half of all messages are lost, and bursts of one queue come so close that reports on it would arrive in another order than
/// they were sent: that it is empty after a later burst, after which it would never get a rate.
#[test]
fn reports_on_a_queue_are_heard_in_order() {
    for controller in ["asy = {}", "max-min = {}", "flowtune = {}", "syn = {}", "syn = { aggregate = true }"]
    {
        let name = controller.split(' ').next().unwrap_or_default();
        let set = |field: &str| format!("controller.{name}.control.{field}");
        let run = run_with(
            &format!(
                r#"
                topology.single-switch = {{ hosts = 3, rate = "1Gbps", delay = "0ps" }}
                transport.central.lengths.list = [1500, 40, 40]
                controller.{controller}
                [[traffic]]
                name = "bursts"
                arrivals.poisson.rate = 3000.0
                matrix.pairs = [[0, 1]]
                sizes.exponential.mean = "20KB"
                flows = 200
                "#
            ),
            &[(&set("delay"), "5us"), (&set("loss"), "0.5"), (&set("timeout"), "100us")],
        );
        assert_eq!(run.flows("delivered_bytes"), run.flows("size_bytes"), "{controller}");
    }
}

/// Alone in the network, a flow under ASY has the whole link: its time is the ideal one, whatever its packets' lengths, but
/// that a bucket rounds up to a picosecond for each packet.
#[test]
fn a_lone_flow_has_its_ideal_time() {
    for lengths in ["fixed = \"1500B\"", "bimodal = {}", "fbw = {}", "list = [1500, 40]"] {
        let run = run(&format!(
            r#"
            topology.leaf-spine = {{ leaves = 2, spines = 2, hosts = 2, rate = "1Gbps", delay = "500ns" }}
            transport.central.lengths.{lengths}
            controller.asy = {{}}
            [[traffic]]
            name = "only"
            arrivals.at-once.jitter = "0s"
            matrix.pairs = [[0, 2]]
            sizes.fixed = "100KB"
            "#
        ));
        let (fct, ideal) = (run.flow("fct_ps"), run.flow("ideal_fct_ps"));
        assert!((ideal..=ideal + run.flow("packets_sent")).contains(&fct), "{lengths}: {fct}, ideal {ideal}");
    }
}

/// Slots for one short packet each, or filled: a hundred packets of 40 B to one host take a hundred slots, or, at
/// 1538 / 78 = 19 to a slot, six.
#[test]
fn a_slot_may_be_filled() {
    let text = |aggregate: bool| {
        format!(
            r#"
            topology.single-switch = {{ hosts = 3, rate = "1Gbps", delay = "0ps" }}
            transport.central.lengths.fixed = "40B"
            controller.syn = {{ slot = "1538B", aggregate = {aggregate} }}
            [[traffic]]
            name = "only"
            arrivals.at-once.jitter = "0s"
            matrix.pairs = [[0, 2]]
            sizes.fixed = "4000B"
            "#
        )
    };
    let short = 78 * 8_000;
    assert_eq!(run(&text(false)).flow("fct_ps"), 99 * PACKET + 2 * short);
    // Five slots of 19 packets, and five packets in the sixth.
    assert_eq!(run(&text(true)).flow("fct_ps"), 5 * PACKET + 5 * short + short);
}

proptest! {
    #![proptest_config(budget(24))]

    /// Audited: a matching and paths in each slot, rates that no link exceeds, every packet where it was counted.
    #[test]
    fn any_traffic_is_carried(
        controller in prop_oneof![
            Just("syn.policy = \"ocf\""),
            Just("syn.policy = \"srjf\""),
            Just("syn = { policy = \"srjf\", sequence = \"shortest\" }"),
            Just("syn = { batch = 16, policy = \"least-recently-allocated\", aggregate = true }"),
            Just("syn = { aggregate = true, control = { delay = \"20us\", loss = 0.3, timeout = \"100us\" } }"),
            Just("syn.clock_error = \"3us\""),
            Just("syn.control = { delay = \"20us\", loss = 0.1, timeout = \"100us\" }"),
            Just("asy = {}"),
            Just("asy.offered.backlog = \"1ms\""),
            Just("asy.offered.average = \"1ms\""),
            Just("asy.normalisation.scaling = \"down\""),
            Just("asy.control = { delay = \"20us\", loss = 0.1, timeout = \"100us\" }"),
            Just("max-min = {}"),
            Just("flowtune = {}"),
            Just("flowtune.allocator = { normaliser = \"uniform\", period = \"0s\" }"),
        ],
        late in prop_oneof![Just("made-up"), Just("lost")],
        idle in prop_oneof![Just("kept"), Just("passes"), Just("drains")],
        lengths in prop_oneof![
            Just("fixed = \"1500B\""), Just("bimodal = {}"), Just("fbw = {}"), Just("list = [1500, 40, 40]"),
        ],
        seed in 0u64..1000,
    ) {
        let run = run_with(&format!(
            r#"
            topology.leaf-spine = {{ leaves = 3, spines = 2, hosts = 4, rate = "1Gbps", delay = "500ns", spine.rate = "2Gbps" }}
            transport.central.lengths.{lengths}
            transport.central.late = "{late}"
            transport.central.idle = "{idle}"
            controller.{controller}
            [[traffic]]
            name = "all"
            arrivals.poisson.rate = 3000.0
            matrix = "uniform"
            sizes.exponential.mean = "20KB"
            flows = 60
            "#
        ), &[("run.seed", &seed.to_string())]);
        prop_assert_eq!(run.flows("delivered_bytes"), run.flows("size_bytes"));
    }
}

/// Proportional fairness on one link is an equal share, of the share that `headroom` leaves: 99 % of the
/// receiver's link. The two flows get their first rates, by prices of 1 on two links each, at the start, and
/// of the last ones within 100 iterations of 10 us; they so end within 4 % (1 ms of 24.6) of 2 x 1000 packets
/// at that rate.
#[test]
fn prices_find_the_receivers_link() {
    let text = incast("flowtune = {}").replace("15000B", "1500KB");
    let ends = run(&text).flows("fct_ps");
    let expected = 2_000.0 * PACKET as f64 / 0.99;
    for end in ends {
        assert!((end as f64 / expected - 1.0).abs() < 0.04, "{end} instead of {expected}");
    }
}

/// One flow leaves its leaf and crosses the only uplink of 1 Gbps, one stays with its source's neighbour, one leaves from that
/// neighbour: the first meets the second at its host and the third at the uplink. The sum of logarithms is greatest where the
/// first, which pays for both links, has 1/3 and the others 2/3 (prices 3/2 each: Kelly 1997). Where only hosts' links have
/// prices, the uplink is offered 3/2.
#[test]
fn prices_of_the_fabric_are_paid_too() {
    let text = r#"
        topology.leaf-spine = { leaves = 2, spines = 1, hosts = 2, rate = "1Gbps", delay = "0ps" }
        transport.central = {}
        controller.flowtune.allocator.headroom = 0.0
        [[traffic]]
        name = "flows"
        arrivals.at-once.jitter = "0s"
        matrix.pairs = [[0, 2], [0, 1], [1, 3]]
        sizes.fixed = "10MB"
    "#;
    let sent = |normaliser: &str, links: &str, until: &str| {
        let set = [
            ("controller.flowtune.allocator.normaliser", normaliser),
            ("controller.flowtune.links", links),
            ("run.until", until),
        ];
        run_with(text, &set).flows("packets_sent")
    };
    let shares = |normaliser: &str, links: &str| -> Vec<f64> {
        let (early, late) = (sent(normaliser, links, "10ms"), sent(normaliser, links, "50ms"));
        let link = 40e9 / PACKET as f64;
        late.iter().zip(early).map(|(late, early)| (late - early) as f64 / link).collect()
    };
    for normaliser in ["per-flow", "uniform"] {
        for (share, expected) in shares(normaliser, "all").into_iter().zip([1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0])
        {
            // Hosts are notified of changes above 1 %.
            assert!((share / expected - 1.0).abs() < 0.015, "{normaliser}: {share} instead of {expected}");
        }
        for (share, expected) in shares(normaliser, "hosts").into_iter().zip([0.5, 0.5, 1.0]) {
            assert!(
                (share / expected - 1.0).abs() < 0.015,
                "{normaliser}, hosts: {share} instead of {expected}"
            );
        }
    }
}

/// One message each.
#[test]
fn what_does_not_fit_is_refused() {
    let problem = |text: &str| read(text).expect_err("it is wrong").to_string();
    let alone = incast("syn = {}").replace("controller.syn = {}", "");
    assert!(problem(&alone).contains("needs a controller"), "{}", problem(&alone));
    let other = incast("syn = {}").replace("transport.central = {}", "transport.tcp = {}");
    assert!(problem(&other).contains("it serves the transport \"central\""), "{}", problem(&other));
    let short = incast("syn.slot = \"1000B\"");
    assert!(problem(&short).contains("transport.central.fragment"), "{}", problem(&short));
    let late = incast("syn.clock_error = \"20us\"");
    assert!(problem(&late).contains("above a slot"), "{}", problem(&late));
    let lost = r#"transport.central = { late = "lost", late_limit = 1 }"#;
    let lost = incast("asy = {}").replace("transport.central = {}", lost);
    assert!(problem(&lost).contains("transport.central.late_limit"), "{}", problem(&lost));
}

/// Fragments of 1000 and 500 B, with 38 B of framing, have a slot of 830.4 ns and a path each through a fat-tree of 10 Gbps and
/// 1 us: six links. The shorter one of a packet arrives first, and a flow is complete with the longer one: 6 x 830.4 ns and
/// 6 us for one packet; that of the second packet has the third slot.
#[test]
fn a_packet_is_there_when_its_fragments_are() {
    for (size, fct) in [("1B", 10_982_400), ("1501B", 12_643_200)] {
        let run = run(&format!(
            r#"
            topology.fat-tree = {{ k = 4, rate = "10Gbps", delay = "1us" }}
            transport.central.fragment = "1000B"
            controller.syn = {{}}
            [[traffic]]
            name = "flow"
            arrivals.at-once = {{ jitter = "0s" }}
            matrix.pairs = [[0, 7]]
            sizes.fixed = "{size}"
            "#
        ));
        assert_eq!(run.flow("fct_ps"), fct, "{size}");
        assert!(run.slowdowns()[0] >= 1.0, "{size}");
    }
}
