//! Points of observation: what an observer is shown, when and in which order, by hand; the same in all modes of ports and
//! in any number of parts.

use crate::common::random::random_scenario;
use crate::common::scenarios::{flow, flow_over_a_line, flows};
use crate::common::{self, scenario};
use flowyard_sim::Checked;
use flowyard_sim::engine::contract::observer::{DropReason, End, Observer, PacketAt, Point, Points, Step};
use flowyard_sim::engine::data::plan::Agenda;
use flowyard_sim::engine::parted::executor::InTurn;
use flowyard_sim::results::{Outcome, Partition};
use flowyard_sim::scenario::Scenario;
use flowyard_sim::units::Time;
use proptest::prelude::*;

/// A random run may repeat its packets until a limit ends it: so many of its points are compared.
const LINES_MOST: usize = 100_000;

/// Writes down the points that it asks for, the first ones if there are many. Of packets and connections it writes what is the same in any number of parts.
struct Log {
    points: Points,
    lines: Vec<(u64, String)>,
}

impl Log {
    fn of(points: Points) -> Log {
        Log { points, lines: Vec::new() }
    }
}

impl Observer for Log {
    fn points(&self) -> Points {
        self.points
    }

    fn see(&mut self, at: Time, point: &Point) {
        if self.lines.len() == LINES_MOST {
            return;
        }
        let line = match *point {
            Point::Packet(step, PacketAt { link, packet, conn, queue, is_last }) => {
                let last = if is_last { ", the last" } else { "" };
                let there = queue.map_or(String::new(), |bytes| format!(" {bytes} B there,"));
                let size = packet.size;
                let kind = if packet.dst == conn.dst { "packet" } else { "answer" };
                let (flow, number) = (conn.flow, packet.header.number);
                format!("{step:?}: {kind} {number} of flow {flow}, {size} B,{there} link {link}{last}")
            }
            Point::Timer { host, end, kind } => match end {
                End::Sender(conn) => format!("Timer {kind} of flow {}'s sender at host {host}", conn.flow),
                End::Receiver(conn) => {
                    format!("Timer {kind} of flow {}'s receiver at host {host}", conn.flow)
                }
                End::Interface(link) => format!("Timer {kind} of link {link} at host {host}"),
            },
            Point::Pause { link, classes } => format!("Pause: classes {classes:#b}, link {link}"),
            Point::Window { conn, bytes } => format!("Window: {bytes} B, flow {}", conn.first),
            Point::Rate { conn, rate } => format!("Rate: {rate}, flow {}", conn.first),
        };
        self.lines.push((at.0, line));
    }
}

/// The points that an observer of these is shown in a run in at most so many parts.
fn shown(scenario: &Scenario, points: Points, parts: u32) -> (Vec<(u64, String)>, Outcome) {
    let mut log = Log::of(points);
    let checked = Checked::of(scenario);
    let run = checked.simulate_in(parts, &InTurn, Agenda::Calendar, &mut |_| true, &mut [&mut log]);
    let outcome = run.unwrap_or_else(|problem| panic!("{problem}"));
    assert_eq!(outcome.violations, Vec::<String>::new(), "what the audit found in {parts} parts");
    (log.lines, outcome)
}

/// The same in each mode of ports and in two parts; returns it for the mode that the queue has by itself.
fn in_all_modes(text: &str, points: Points) -> Vec<(u64, String)> {
    let auto = scenario(text, &[]);
    let (expected, _) = shown(&auto, points, 1);
    let (serviced, _) = shown(&scenario(text, &[("run.port_mode", "\"serviced\"")]), points, 1);
    assert_eq!(expected, serviced, "with serviced ports");
    let (parted, outcome) = shown(&auto, points, 2);
    assert!(matches!(outcome.summary.partition, Some(Partition::Parts(_))), "in two parts");
    assert_eq!(expected, parted, "in two parts");
    expected
}

/// In microseconds, for lists by hand.
fn lines(expected: &[(f64, &str)]) -> Vec<(u64, String)> {
    expected.iter().map(|&(at, line)| ((at * 1e6).round() as u64, line.to_string())).collect()
}

const STEPS: Points = Points::MADE.and(Points::ENQUEUED).and(Points::STARTED).and(Points::ARRIVED);

/// One flow over two switches, in a part each, at 10 Gbps, 10 Gbps and 1 Gbps over cables of 1 us. A packet of 1500 B takes
/// 1.2 us on the first two and 12 us on the last: the second one comes to the last switch at 5.6 us, and the third 1.2 us
/// later.
fn slow_line(bytes: u64) -> String {
    format!(
        "[topology.line]\nswitches = 2\nrates = [\"10Gbps\", \"10Gbps\", \"1Gbps\"]\ndelay = \"1us\"\n{}",
        flow(bytes)
    )
}

/// The second packet waits at the last switch from 5.6 us on until the first has left it at 16.4 us. The port there is
/// committed under drop-tail, and serves in retrospect under strict priority.
#[test]
fn two_packets_wait_for_each_other() {
    let expected = lines(&[
        (0.0, "Made: packet 0 of flow 0, 1500 B, link 0"),
        (0.0, "Enqueued: packet 0 of flow 0, 1500 B, 1500 B there, link 0"),
        (0.0, "Started: packet 0 of flow 0, 1500 B, link 0"),
        (1.2, "Made: packet 1 of flow 0, 1500 B, link 0"),
        (1.2, "Enqueued: packet 1 of flow 0, 1500 B, 1500 B there, link 0"),
        (1.2, "Started: packet 1 of flow 0, 1500 B, link 0"),
        (2.2, "Arrived: packet 0 of flow 0, 1500 B, link 0"),
        (2.2, "Enqueued: packet 0 of flow 0, 1500 B, 1500 B there, link 2"),
        (2.2, "Started: packet 0 of flow 0, 1500 B, link 2"),
        (3.4, "Arrived: packet 1 of flow 0, 1500 B, link 0"),
        (3.4, "Enqueued: packet 1 of flow 0, 1500 B, 1500 B there, link 2"),
        (3.4, "Started: packet 1 of flow 0, 1500 B, link 2"),
        (4.4, "Arrived: packet 0 of flow 0, 1500 B, link 2"),
        (4.4, "Enqueued: packet 0 of flow 0, 1500 B, 1500 B there, link 4"),
        (4.4, "Started: packet 0 of flow 0, 1500 B, link 4"),
        (5.6, "Arrived: packet 1 of flow 0, 1500 B, link 2"),
        (5.6, "Enqueued: packet 1 of flow 0, 1500 B, 3000 B there, link 4"),
        (16.4, "Started: packet 1 of flow 0, 1500 B, link 4"),
        (17.4, "Arrived: packet 0 of flow 0, 1500 B, link 4, the last"),
        (29.4, "Arrived: packet 1 of flow 0, 1500 B, link 4, the last"),
    ]);
    for queue in ["drop-tail", "strict-priority"] {
        let text = format!("transport = \"datagram\"\nqueue = \"{queue}\"\n{}", slow_line(2944));
        assert_eq!(in_all_modes(&text, Points::ALL), expected, "{queue}");
    }
}

/// An observer is shown what it asks for: points of that kind, at that link.
#[test]
fn an_observer_is_shown_what_it_asks_for() {
    struct Narrow(Vec<u64>);
    impl Observer for Narrow {
        fn points(&self) -> Points {
            Points::STARTED
        }
        fn watches_link(&self, link: flowyard_sim::ids::LinkId) -> bool {
            link.0 == 4
        }
        fn see(&mut self, at: Time, point: &Point) {
            assert!(matches!(point, Point::Packet(Step::Started, _)), "{point:?}");
            self.0.push(at.0);
        }
    }
    let text = format!("transport = \"datagram\"\n{}", slow_line(2944));
    let (mut narrow, mut wide) = (Narrow(Vec::new()), Log::of(STEPS));
    common::observed(&scenario(&text, &[]), Agenda::Calendar, &mut [&mut narrow, &mut wide]);
    assert_eq!(narrow.0, [4_400_000, 16_400_000]);
    assert_eq!(wide.lines.len(), 20);
}

/// Of four packets the first is on the wire when the others come, 1.2 us apart; one more has room.
#[test]
fn a_packet_that_finds_no_room_is_dropped_because_of_that() {
    let text =
        format!("transport = \"datagram\"\nqueue.drop-tail.limit.packets = 2\n{}", slow_line(4 * 1472));
    let expected = lines(&[
        (6.8, "Dropped(Full): packet 2 of flow 0, 1500 B, 3000 B there, link 4"),
        (8.0, "Dropped(Full): packet 3 of flow 0, 1500 B, 3000 B there, link 4"),
    ]);
    assert_eq!(in_all_modes(&text, Points::DROPPED), expected);
    // One that is dropped has not joined the port.
    let joined = in_all_modes(&text, Points::ENQUEUED);
    assert_eq!(joined.iter().filter(|(_, line)| line.ends_with("link 4")).count(), 2);
}

/// The same four packets come to an NDP port with room for two: the last two are trimmed to 64 B, and join it so. Headers go
/// first when the wire is free.
#[test]
fn a_packet_is_trimmed() {
    let port = "queue.ndp = { data_limit.packets = 2, trim = \"arriving\" }";
    let text =
        format!("transport.ndp = {{ initial_window = 4, mtu = \"1500B\" }}\n{port}\n{}", slow_line(4 * 1436));
    let shown = in_all_modes(&text, Points::TRIMMED.and(Points::ENQUEUED).and(Points::STARTED));
    let of = |number: u32, what: &str| {
        let packet = format!("packet {number} of flow 0");
        shown
            .iter()
            .find(|(_, line)| line.starts_with(what) && line.contains(&packet) && line.ends_with("link 4"))
    };
    let (at, trimmed) = of(2, "Trimmed").expect("it is trimmed");
    assert_eq!(trimmed, "Trimmed: packet 2 of flow 0, 64 B, 3000 B there, link 4");
    let (joined_at, joined) = of(2, "Enqueued").expect("it is kept");
    assert_eq!(
        (joined_at, joined.as_str()),
        (at, "Enqueued: packet 2 of flow 0, 64 B, 3064 B there, link 4")
    );
    let place = |what: &str| shown.iter().position(|(_, line)| line == what).expect("it is shown");
    assert!(place(trimmed) < place(joined));
    // Both packets of data are before it on the wire or behind its header.
    assert!(of(2, "Started").expect("it is sent").0 < of(1, "Started").expect("it is sent").0);
}

/// A port marks what comes when more than one packet is in it.
#[test]
fn a_packet_is_marked() {
    let text = format!(
        "transport.datagram.ecn_capable = true\nqueue.ecn = {{ threshold.packets = 1 }}\n{}",
        slow_line(3 * 1472)
    );
    let (marks, outcome) = shown(&scenario(&text, &[]), Points::MARKED, 1);
    assert_eq!(Some(marks.len() as u64), outcome.summary.counters.marks);
    assert_eq!(in_all_modes(&text, Points::MARKED), marks);
    let expected = lines(&[
        (5.6, "Marked: packet 1 of flow 0, 1500 B, 3000 B there, link 4"),
        (6.8, "Marked: packet 2 of flow 0, 1500 B, 4500 B there, link 4"),
    ]);
    assert_eq!(marks, expected);
}

/// See `pfc.rs`: the port of the first switch stands still from 5 T + 2 d + F + d on, to 2 T + 2 d + 4 L + F + d.
#[test]
fn a_port_is_paused_and_resumes() {
    let text = format!(
        "transport = \"datagram\"\nqueue.lossless = {{ xoff = \"3000B\", xon = \"1500B\" }}\n{}",
        slow_line(7 * 1472)
    );
    let expected = lines(&[(9.0512, "Pause: classes 0b1, link 2"), (53.4512, "Pause: classes 0b0, link 2")]);
    assert_eq!(in_all_modes(&text, Points::PAUSES), expected);
}

/// At a tenth of the link's rate a packet is due each 120 us. The timer's point comes before what it does.
#[test]
fn a_timer_fires() {
    let text = format!("transport.datagram.pace.rate = \"100Mbps\"\n{}", flow_over_a_line(2, 1, 2 * 1472));
    let shown = in_all_modes(&text, Points::TIMERS.and(Points::MADE));
    let expected = lines(&[
        (0.0, "Made: packet 0 of flow 0, 1500 B, link 0"),
        (120.0, "Timer 0 of flow 0's sender at host 0"),
        (120.0, "Made: packet 1 of flow 0, 1500 B, link 0"),
    ]);
    assert_eq!(shown, expected);
}

/// A retransmission timer is put off by each acknowledgement, and fires once: an event that only puts it off is no point.
#[test]
fn a_timer_that_is_put_off_does_not_fire() {
    let text = format!(
        "transport.tcp = {{ rto_min = \"1ms\", rto_initial = \"1ms\" }}\n\
         faults.packets = [{{ traffic = \"flow\", numbers = [20] }}]\n{}",
        flow_over_a_line(1, 1, 20 * 1460)
    );
    let (shown, outcome) = shown(&scenario(&text, &[]), Points::TIMERS, 1);
    let timeouts = shown.iter().filter(|(_, line)| line.ends_with("sender at host 0")).count();
    assert_eq!((timeouts as u64, outcome.summary.counters.timeouts), (1, Some(1)), "{shown:?}");
}

/// A window of one segment that grows by one with each acknowledgement: data takes 112 us, acknowledgements 100.32 us.
#[test]
fn a_window_grows() {
    let text = format!(
        "transport.tcp = {{ initial_window = 1, delayed_ack = 1, handshake = false }}\n{}",
        flow_over_a_line(0, 100, 20 * 1460)
    );
    let shown = in_all_modes(&text, Points::WINDOWS);
    let expected = lines(&[
        (0.0, "Window: 1460 B, flow 0"),
        (212.32, "Window: 2920 B, flow 0"),
        (424.64, "Window: 4380 B, flow 0"),
        (436.64, "Window: 5840 B, flow 0"),
    ]);
    assert_eq!(shown[..4], expected);
}

/// DCQCN starts at the rate of the host's link, 10 Gbps, which the first congestion notification halves.
#[test]
fn a_rate_changes() {
    let text =
        format!("transport.roce.congestion = \"dcqcn\"\nqueue.lossless = {{}}\n{}", slow_line(1_000_000));
    let rates = in_all_modes(&text, Points::RATES);
    assert_eq!(rates[0].1, "Rate: 5Gbps, flow 0");
    assert!(rates.len() > 2, "{rates:?}");
}

/// Each reason has a scenario: room, room for another, active queue management, a link that is down, and no way.
#[test]
fn drops_have_reasons() {
    let reasons = |text: &str| {
        let (shown, outcome) = shown(&scenario(text, &[]), Points::DROPPED, 1);
        let counters = &outcome.summary.counters;
        let all: u64 = [counters.drops, counters.lost, counters.unroutable].into_iter().flatten().sum();
        assert_eq!(shown.len() as u64, all, "a point for each packet that was dropped or lost");
        let mut reasons: Vec<String> =
            shown.iter().map(|(_, line)| line.split(':').next().unwrap().to_string()).collect();
        reasons.sort();
        reasons.dedup();
        reasons
    };
    let dropped = |reason: DropReason| format!("{:?}", Step::Dropped(reason));
    let slow = slow_line(1_000_000);
    let managed = reasons(&format!(
        "transport = \"datagram\"\n\
         queue.codel = {{ limit.packets = 1000, target = \"50us\", interval = \"500us\" }}\n{slow}"
    ));
    assert_eq!(managed, [dropped(DropReason::Managed)]);
    let early = reasons(&format!("transport = \"datagram\"\nqueue.pie = {{ limit.packets = 100 }}\n{slow}"));
    assert!(early.contains(&dropped(DropReason::Full)) && early.len() <= 2, "{early:?}");
    let pairs = [[0, 2], [1, 2]];
    let urgent = format!(
        "transport = \"pfabric\"\nqueue.pfabric.limit.packets = 4\n[topology.single-switch]\nhosts = 3\n{}{}",
        flows("long", &pairs, 300_000),
        flows("short", &pairs, 3_000)
    );
    assert!(reasons(&urgent).contains(&dropped(DropReason::Displaced)));
    let down = "faults = { detection_delay = \"10us\", \
                events = [{ at = \"100us\", target.node = \"pod 3 edge 1\", change = \"down\" }] }";
    let cut_off = reasons(&format!(
        "transport.tcp = {{ rto_min = \"1ms\", rto_initial = \"1ms\", rto_max = \"4ms\" }}\n\
         run.stall = \"50ms\"\ntopology.fat-tree.k = 4\n{down}\n{}",
        flows("flow", &[[0, 15]], 1_000_000)
    ));
    assert_eq!(cut_off, [DropReason::Fault, DropReason::NoRoute].map(dropped));
}

/// A header that finds no room at an NDP port goes back.
#[test]
fn a_header_is_returned() {
    let text = format!(
        "transport.ndp = {{ initial_window = 60 }}\n\
         queue.ndp = {{ data_limit.packets = 2, header_limit.packets = 2 }}\n{}",
        slow_line(100_000)
    );
    let (returned, outcome) = shown(&scenario(&text, &[]), Points::RETURNED, 1);
    assert!(!returned.is_empty());
    assert_eq!(Some(returned.len() as u64), outcome.summary.counters.bounces);
    assert_eq!(in_all_modes(&text, Points::RETURNED), returned);
}

/// Wherever a packet goes it is enqueued, started and then arrives or is lost at each link, or is dropped; and it waits until
/// the packet before it has left.
#[test]
fn packets_take_their_steps_in_order() {
    let text = "transport.tcp = { rto_min = \"1ms\", rto_initial = \"1ms\" }\nqueue.drop-tail.limit.packets = 10\n\
                topology.fat-tree.k = 4\n[[traffic]]\nname = \"all\"\narrivals = \"at-once\"\n\
                matrix.incast = { senders = 8 }\nsizes.fixed = \"100KB\"\nflows = 8\n";
    let shown = in_all_modes(text, Points::ALL);
    assert!(shown.is_sorted_by_key(|&(at, _)| at), "points come in the order of time");
    let count = |what: &str| shown.iter().filter(|(_, line)| line.starts_with(what)).count();
    let (enqueued, started, arrived) = (count("Enqueued"), count("Started"), count("Arrived"));
    assert!(count("Dropped(Full)") > 0, "ten packets are few");
    // At the end some are on their way.
    assert!(enqueued - started < 20 && started - arrived < 20, "{enqueued} {started} {arrived}");
    let last = count("Made") - count("Dropped");
    assert!(shown.iter().filter(|(_, line)| line.ends_with("the last")).count() <= last);
}

/// The first points that differ.
fn difference(one: &[(u64, String)], other: &[(u64, String)]) -> Option<String> {
    let lines = one.len().max(other.len());
    let first = (0..lines).find(|&line| one.get(line) != other.get(line))?;
    let around = |lines: &[(u64, String)]| {
        lines.iter().skip(first.saturating_sub(2)).take(6).cloned().collect::<Vec<_>>()
    };
    Some(format!("{:#?}\nand\n{:#?}", around(one), around(other)))
}

proptest! {
    #![proptest_config(common::budget(16))]

    /// Whatever the transports, queues and faults: points are the same in both modes of ports and in any number of parts,
    /// and change nothing.
    #[test]
    fn points_do_not_depend_on_how_a_run_goes(text in random_scenario()) {
        let auto = scenario(&text, &[]);
        let plain = common::run_scenario(&auto, Agenda::Calendar);
        let (expected, outcome) = shown(&auto, Points::ALL, 1);
        prop_assert_eq!(plain.digest(), &outcome.summary.digest);
        prop_assert_eq!(plain.counters().events, outcome.summary.counters.events);
        prop_assert!(expected.is_sorted_by_key(|&(at, _)| at), "points come in the order of time");
        let serviced = scenario(&text, &[("run.port_mode", "\"serviced\"")]);
        prop_assert_eq!(difference(&expected, &shown(&serviced, Points::ALL, 1).0), None, "serviced ports");
        for parts in [2, 5] {
            let other = shown(&auto, Points::ALL, parts).0;
            prop_assert_eq!(difference(&expected, &other), None, "{} parts", parts);
        }
    }
}
