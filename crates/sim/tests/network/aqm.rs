//! Ports that drop or mark before they are full, CoDel, RED and PIE, against their published equations.

use std::collections::BTreeSet;

use flowyard_sim::engine::contract::observer::{Observer, PacketAt, Point, Points};
use flowyard_sim::engine::data::plan::Agenda;
use flowyard_sim::units::Time;

use crate::common::scenarios::{flow, flows};
use crate::common::{Run, observed, run, scenario};

/// Numbers of the packets that have come to their host.
#[derive(Default)]
struct Came(BTreeSet<u64>);

impl Observer for Came {
    fn points(&self) -> Points {
        Points::ARRIVED
    }

    fn see(&mut self, _at: Time, point: &Point) {
        if let Point::Packet(_, PacketAt { packet, is_last: true, .. }) = point {
            self.0.insert(u64::from(packet.header.number));
        }
    }
}

/// `packets` of 1500 B at 2 Gbps into a port of 1 Gbps, whose wire takes one each 12 us from the first arrival on.
fn overload(queue: &str, packets: u64) -> String {
    format!(
        r#"
        transport.datagram = {{ header_bytes = "0B", lengths.fixed = "1500B", ecn_capable = true }}
        queue.{queue}
        topology.line.rates = ["2Gbps", "1Gbps"]
        {}
        "#,
        flow(1500 * packets)
    )
}

/// Numbers of the packets that do not come.
fn lost(text: &str, packets: u64) -> Vec<u64> {
    let mut came = Came::default();
    observed(&scenario(text, &[]), Agenda::Calendar, &mut [&mut came]);
    (0..packets).filter(|number| !came.0.contains(number)).collect()
}

/// At the wire's turn k, each 12 us, packet k has waited 6 k us: 300 us at turn 50. An interval of 3 ms, or 250 turns,
/// later, at turn 300, the first is dropped, and another one interval / sqrt(n) after the n-th (RFC 8289, section 5.3).
/// Each drop puts the packets behind it a turn earlier. The limits leave room for all.
#[test]
fn codel_drops_come_by_the_control_law() {
    let (packets, mut due, mut expected) = (4000, 300.0, Vec::new());
    while due + (expected.len() as f64) < packets as f64 - 2.0 {
        // The first turn that is not before the drop is due.
        let turn = f64::ceil(due - 1e-6) as u64;
        expected.push(turn + expected.len() as u64);
        due += 250.0 / (expected.len() as f64).sqrt();
    }
    assert!(expected.len() > 60, "{}", expected.len());
    let codel = "codel = { target = \"300us\", interval = \"3ms\", limit.packets = 10000 }";
    let lost = lost(&overload(codel, packets), packets);
    // The last ones go by when no more than a packet is left.
    expected.retain(|&number| number < packets - 2);
    assert_eq!(lost, expected);
    // Marks come at the same turns, but the packet stays: no packet behind it gains a turn.
    let marking = codel.replace("target", "ecn = true, target");
    let run = run(&overload(&marking, packets));
    let (mut due, mut marks) = (300.0, 0.0);
    while due <= packets as f64 - 2.0 {
        marks += 1.0;
        due += 250.0 / f64::sqrt(marks);
    }
    assert_eq!((run.counters().drops, run.counters().marks as f64), (0, marks));
}

/// 200 packets have waited above the target from turn 50 to the last, turn 199: not for 250 turns. Two such bursts do
/// so for 300, but the queue runs empty between them; of a burst that lasts to turn 300 the packet there is dropped.
#[test]
fn codel_spares_a_queue_that_drains_within_the_interval() {
    let codel = "codel = { target = \"300us\", interval = \"3ms\" }";
    let twice = format!(
        "{}\n[[traffic]]\nname = \"again\"\narrivals.at-once = {{ at = \"2500us\", jitter = \"0s\" }}\n\
         matrix.pairs = [[0, 1]]\nsizes.fixed = \"300000B\"",
        overload(codel, 200)
    );
    assert_eq!(run(&twice).counters().drops, 0);
    assert_eq!(lost(&overload(codel, 303), 303), [300]);
    assert_eq!(lost(&overload(codel, 302), 302), [] as [u64; 0]);
}

/// A stream at the link's rate, with `more` packets that came at its start and so wait all the time, or as many others.
fn standing(queue: &str, more: u64, packets: u64) -> Run {
    run(&format!(
        r#"
        transport.datagram = {{ header_bytes = "0B", lengths.fixed = "1500B", ecn_capable = true }}
        queue.{queue}
        topology.single-switch = {{ hosts = 3, rate = "1Gbps" }}
        {}
        {}
        "#,
        flows("stream", &[[0, 2]], 1500 * packets),
        flows("burst", &[[1, 2]], 1500 * more)
    ))
}

/// Of two packets more than the wire takes, one is left when the other goes: an MTU, which is never dropped, although
/// each packet waits for longer than the target.
#[test]
fn codel_leaves_a_packet_alone() {
    let codel = |max_packet| {
        format!("codel = {{ target = \"1us\", interval = \"100us\", max_packet = \"{max_packet}B\" }}")
    };
    assert_eq!(standing(&codel(1500), 2, 2000).counters().drops, 0);
    assert!(standing(&codel(1499), 2, 2000).counters().drops > 0);
}

/// Four long TCP flows through one port, from the second to the sixth second: the mean wait is within a factor of two of
/// the target of 1 ms and the link is busy, where drop-tail's queue of 12 ms is full for most of the time.
#[test]
fn codel_holds_the_standing_queue_of_tcp_near_its_target() {
    let through = |queue: &str| {
        let until = |seconds: u64| {
            let run = run(&format!(
                r#"
                transport.tcp.preset = "datacentre"
                queue.{queue}
                topology.dumbbell = {{ hosts = 4, rate = "10Gbps", bottleneck = {{ rate = "1Gbps", delay = "1ms" }} }}
                [[traffic]]
                name = "long"
                arrivals.at-once = {{}}
                matrix.pairs = [[0, 4], [1, 5], [2, 6], [3, 7]]
                sizes.fixed = "1GB"
                [run]
                until = "{seconds}s"
                "#
            ));
            let stays = run.queue_mean("left switch", "right switch") * seconds as f64;
            (stays, run.link("left switch", "right switch", "bytes") as f64)
        };
        let (early, late) = (until(2), until(6));
        // Milliseconds at 1 Gbps, and the share of the 500 MB that the link could have carried.
        ((late.0 - early.0) / 4.0 * 8e-6, (late.1 - early.1) / 500e6)
    };
    let (wait, busy) = through("codel = { target = \"1ms\", interval = \"20ms\" }");
    println!("{wait} ms, {busy}");
    assert!((0.5..2.0).contains(&wait), "{wait} ms");
    assert!(busy > 0.95, "{busy}");
    let (full, _) = through("drop-tail.limit.packets = 1000");
    println!("{full} ms");
    assert!(full > 6.0, "{full} ms");
}

/// HULL gives some 10 % of the bandwidth up for short queues (NSDI 2012): long flows of DCTCP, two or eight, over a phantom
/// queue that drains at 95 % of 10 Gbps use between 80 and 95 % of the link, and on average fewer than two packets wait
/// for the one on the wire; from 20 to 60 ms.
#[test]
fn a_phantom_queue_trades_a_little_bandwidth_for_an_empty_port() {
    for flows in [2, 8] {
        let until = |tens: u64| {
            let run = run(&format!(
                r#"
                transport.tcp = {{ congestion = "dctcp", preset = "datacentre" }}
                queue.phantom = {{ drain = 0.95, threshold = "3KB" }}
                topology.single-switch = {{ hosts = {}, rate = "10Gbps", delay = "5us" }}
                [[traffic]]
                name = "long"
                arrivals.at-once = {{}}
                matrix.incast = {{ senders = {flows}, receiver = 0 }}
                sizes.fixed = "1GB"
                [run]
                until = "{}ms"
                "#,
                flows + 1,
                tens * 10
            ));
            let stays = run.queue_mean("switch", "host 0") * tens as f64;
            (stays, run.link("switch", "host 0", "bytes") as f64)
        };
        let (early, late) = (until(2), until(6));
        // The share of the 50 MB that the link could have carried, which is also that of a packet on the wire; of 1500 B each.
        let used = (late.1 - early.1) / 50e6;
        let packets = (late.0 - early.0) / 4.0 / 1500.0 - used;
        assert!((0.80..=0.95).contains(&used), "{flows} flows use {used}");
        assert!(packets < 2.0, "{flows} flows: {packets} packets");
    }
}

/// The loss rate of flow-proportional queueing does not follow the number of flows: each keeps a window of 6 packets at a
/// loss rate of (0.87 / 6)^2 = 2.1 %, within a quarter of it. Under a buffer of one bandwidth-delay product it is that of
/// Dhamdhere, Jiang and Dovrolis, (0.87 N / (P + B))^2, which grows with the number of flows until timeouts limit it: 200
/// flows lose more than twice as much as 50. 1 Gbps and 1 ms, so that the path holds 83 packets.
#[test]
fn the_loss_rate_of_flow_proportional_queueing_does_not_follow_the_flows() {
    let loss = |queue: &str, flows: u64| {
        let until = |ms: u64| {
            let run = run(&format!(
                r#"
                transport.tcp = {{ congestion = "newreno", sack = true, rto_min = "10ms", delayed_ack = 2 }}
                queue.{queue}
                topology.dumbbell = {{ hosts = {flows}, rate = "1Gbps", delay = "10us", bottleneck = {{ rate = "1Gbps", delay = "480us" }} }}
                [[traffic]]
                name = "long"
                arrivals.at-once = {{ jitter = "10ms" }}
                matrix.pairs = {:?}
                sizes.fixed = "1GB"
                [run]
                until = "{ms}ms"
                "#,
                (0..flows).map(|host| [host, host + flows]).collect::<Vec<_>>()
            ));
            let of = |column| run.link("left switch", "right switch", column) as f64;
            (of("drops"), of("packets"))
        };
        let (early, late) = (until(500), until(1500));
        let (lost, sent) = (late.0 - early.0, late.1 - early.1);
        lost / (lost + sent)
    };
    for flows in [50, 100, 200] {
        let share = loss("fpq = { in_flight = 83, least = 83, clear = \"40ms\" }", flows);
        assert!((0.75..=1.25).contains(&(share / 0.021025)), "{flows} flows lose {share}");
    }
    let [few, many] = [50, 200].map(|flows| loss("drop-tail = { limit.packets = 83 }", flows));
    assert!(many > 2.0 * few, "{few}, {many}");
}

/// RED with the queue itself as its average, which marks.
fn red(rest: &str) -> String {
    format!("red = {{ weight = 1, ecn = true, hard_drop = false, limit.packets = 1000, {rest} }}")
}

/// 20 packets are in the port whenever one of the stream comes.
///
/// Marks are uniform (paper, section 7): by its figure 2 with p_b = 1/k the n-th packet after a mark is the next one
/// with probability 1 / (k - 1), n from 1 to k - 1. The mean gap is k / 2, its variance ((k - 1)^2 - 1) / 12, so that
/// of N packets 2 N / k are marked with a variance of N variance / mean^3; the bound is four deviations and the 40
/// packets of the start, when the queue is shorter.
#[test]
fn red_marks_the_share_of_the_formula() {
    let packets = 20_000;
    let assert_share = |rest: &str, k: f64| {
        let marks = standing(&red(rest), 20, packets).counters().marks as f64;
        let (mean, variance) = (k / 2.0, ((k - 1.0).powi(2) - 1.0) / 12.0);
        let (expected, deviation) =
            (packets as f64 / mean, (packets as f64 * variance / mean.powi(3)).sqrt());
        println!("{rest}: {marks} of {expected} +- {deviation}");
        assert!((marks - expected).abs() < 4.0 * deviation + 40.0, "{rest}: {marks}, not {expected}");
    };
    let packets_of = |min, max| format!("min_threshold.packets = {min}, max_threshold.packets = {max}");
    // p_b = 0.1 (20 - 10) / (30 - 10) = 1 / 20, in packets and in bytes.
    assert_share(&format!("max_probability = 0.1, {}", packets_of(10, 30)), 20.0);
    let bytes = "min_threshold.bytes = \"15KB\", max_threshold.bytes = \"45KB\"";
    assert_share(&format!("max_probability = 0.1, {bytes}"), 20.0);
    // Gentle: p_b = 0.1 + 0.9 (20 - 18) / 18 = 1 / 5.
    assert_share(&format!("max_probability = 0.1, {}", packets_of(5, 18)), 5.0);
}

/// Below min_th no packet is marked, from max_th on each is; and if they are dropped, the queue never passes max_th.
#[test]
fn red_spares_all_below_and_hits_all_above() {
    let packets_of = |min, max| format!("min_threshold.packets = {min}, max_threshold.packets = {max}");
    let marks = |rest: &str| standing(&red(rest), 20, 1000).counters().marks;
    assert_eq!(marks(&packets_of(21, 22)), 0);
    // In the port are n packets when the n-th of each flow come, one of which goes before the other: from the 19th on
    // the last of the two, then all.
    let all = marks(&format!("{}, gentle = false", packets_of(20, 20)));
    assert!((980..=981).contains(&all), "{all}");
    let dropping =
        format!("red = {{ weight = 1, gentle = false, {}, limit.packets = 1000 }}", packets_of(20, 20));
    let run = run(&overload(&dropping, 1000));
    assert_eq!(run.link("switch 0", "host 1", "queue_max_packets"), 20);
}

/// Under a queue of q the average after n packets is q - (q - a) (1 - w)^n, from a on. While the burst of 20 comes beside
/// the stream, the n-th two packets find n and n + 1 in the port; then q is 20. The first average of 10 is the first mark.
#[test]
fn red_average_is_that_of_the_closed_form() {
    for weight in [0.002, 0.0005] {
        let ramp = (0..20).flat_map(|n| [f64::from(n), f64::from(n + 1)]);
        let a = ramp.fold(0.0, |average, queue| average + weight * (queue - average));
        let first = (f64::ln((20.0 - 10.0) / (20.0 - a)) / f64::ln(1.0 - weight)).ceil() as u64;
        let one = "gentle = false, min_threshold.packets = 10, max_threshold.packets = 10";
        let queue = red(one).replace("weight = 1", &format!("weight = {weight}"));
        let marks = standing(&queue, 20, 3000).counters().marks;
        assert!(first > 100);
        assert_eq!(marks, 3000 - 20 - (first - 1), "{weight}");
    }
}

/// 20 packets, each 6 us after the one before, into a port that sends one in 12 us: the n-th finds n / 2, rounded up. The
/// average, of weight 1/2, then halves with every packet that could have been sent while the port was idle, and once
/// for the packet that comes.
#[test]
fn red_average_shrinks_while_the_port_is_idle() {
    let average = (0..20u32).fold(0.0, |average: f64, n| (average + f64::from(n.div_ceil(2))) / 2.0);
    let one = "gentle = false, min_threshold.packets = 1, max_threshold.packets = 1";
    let burst = overload(&red(one).replace("weight = 1", "weight = 0.5"), 20);
    let before = run(&burst).counters().marks;
    for idle in 1..6 {
        // The first one arrives 6 us and a delay after time zero; the port has sent the last one 240 us later. The single
        // packet of the second flow comes so many times 12 us and 1 us after that.
        let at = 240 + 12 * idle + 1;
        let text = format!(
            "{burst}\n[[traffic]]\nname = \"late\"\narrivals.at-once = {{ at = \"{at}us\", jitter = \"0s\" }}\n\
             matrix.pairs = [[0, 1]]\nsizes.fixed = \"1500B\""
        );
        let marked = average / 2f64.powi(idle + 1) >= 1.0;
        assert_eq!(run(&text).counters().marks - before, u64::from(marked), "{idle}");
    }
    assert!((4.0..16.0).contains(&average), "both happen: {average}");
}

/// While its burst allowance lasts, PIE is a queue without end: its timer, which fires a thousand times, moves nothing
/// and lets the run end when the last packet has come.
#[test]
fn a_queue_timer_neither_moves_a_run_nor_keeps_it_from_ending() {
    let runs = ["pie = { update = \"1us\", max_burst = \"1s\", limit.packets = 10000 }", "infinite = {}"]
        .map(|queue| run(&overload(queue, 1000)));
    let [pie, infinite] = &runs;
    assert_eq!(pie.digest(), infinite.digest());
    assert_eq!(pie.end(), infinite.end());
    assert!(pie.counters().events > infinite.counters().events + 1000);
}

/// 25 % or 60 % more than the link takes, without response: the probability stands still only when the delay is QDELAY_REF
/// (RFC 8033, section 4.2), and then a fifth or three eighths are dropped. Within 10 % after a tenth of the 20 s.
#[test]
fn pie_settles_at_its_target() {
    for (rate, target_ms, share) in [("125Mbps", 15, 0.2), ("160Mbps", 15, 0.375), ("125Mbps", 30, 0.2)] {
        pie_settles(rate, target_ms, share);
    }
}

/// A stream at that rate over 100 Mbps through PIE with that target: what waits and the share that is dropped.
fn pie_settles(rate: &str, target_ms: u64, share: f64) {
    let text = |seconds: u64| {
        format!(
            r#"
            transport.datagram = {{ header_bytes = "0B", lengths.fixed = "1500B", pace.rate = "{rate}" }}
            queue.pie.target = "{target_ms}ms"
            topology.line = {{ switches = 1, rates = ["1Gbps", "100Mbps"] }}
            [[traffic]]
            name = "stream"
            arrivals.at-once = {{ jitter = "0s" }}
            matrix.pairs = [[0, 1]]
            sizes.fixed = "1GB"
            [run]
            until = "{seconds}s"
            "#
        )
    };
    let [early, late] = [2, 20].map(|seconds| run(&text(seconds)));
    let between = |value: &dyn Fn(&Run) -> f64| value(&late) - value(&early);
    let bytes = between(&|run| run.queue_mean("switch 0", "host 1") * run.end() as f64) / 18e12;
    let wait = bytes * 8.0 / 100e6;
    let sent = between(&|run| run.link("switch 0", "host 1", "packets") as f64);
    let dropped = between(&|run| run.counters().drops as f64);
    assert!((wait * 1e3 / target_ms as f64 - 1.0).abs() < 0.1, "{rate}: {wait} s, not {target_ms} ms");
    assert!((dropped / (dropped + sent) - share).abs() < 0.01, "{rate}: {dropped} of {}", dropped + sent);
}
