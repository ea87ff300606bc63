//! Records of a run besides its totals: that they change nothing, and that they are right.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::scenarios::{flow_over_a_line, flows};
use crate::common::{self, US, observed, run, run_scenario, run_with, scenario};
use crate::window::TIMES;
use flowyard_sim::engine::contract::observer::{Observer, PacketAt, Point, Points, View};
use flowyard_sim::engine::data::finished::Status;
use flowyard_sim::engine::data::plan::Agenda;
use flowyard_sim::ids::{FlowId, LinkId};
use flowyard_sim::records::{Table, Values};
use flowyard_sim::transport::frame::Frame;
use flowyard_sim::units::Time;

const EVERYTHING: [(&str, &str); 4] = [
    ("observe.samples.every", "3700ns"),
    ("observe.histograms.every", "1300ns"),
    ("observe.capture.links", "[\"*\"]"),
    ("observe.events.rows_limit", "1000000"),
];

/// With everything observed the results are those of before, and what is observed does not depend on how ports work.
#[test]
fn observing_changes_nothing_on_any_golden_scenario() {
    for (name, text) in common::goldens() {
        let plain = run(&text);
        let watched = |mode, agenda| {
            let mut overrides = EVERYTHING.to_vec();
            overrides.push(("run.port_mode", mode));
            run_scenario(&scenario(&text, &overrides), agenda)
        };
        let (auto, serviced) = (watched("auto", Agenda::Calendar), watched("serviced", Agenda::Heap));
        for watched in [&auto, &serviced] {
            assert_eq!(plain.digest(), watched.digest(), "{name}");
            assert_eq!((plain.end(), plain.status()), (watched.end(), watched.status()), "{name}");
        }
        assert_eq!(plain.counters().events, auto.counters().events, "{name}");
        assert!(auto.0.summary.observed.samples.as_ref().unwrap().rows > 0, "{name}");
        let (one, other) = (&auto.0.observed, &serviced.0.observed);
        assert!(one.samples == other.samples, "samples of {name}");
        assert!(one.histograms == other.histograms, "histograms of {name}");
        assert!(one.cables == other.cables, "packets of {name}");
        assert!(one.events == other.events, "events of {name}");
    }
}

/// Rows of the samples: series, id, time, value.
fn samples(table: &Table) -> Vec<(String, u64, u64, f64)> {
    let column = |name| &table.column(name).unwrap().values;
    let (Values::U64(times), Values::U64(ids), Values::F64(values)) =
        (column("time_ps"), column("id"), column("value"))
    else {
        panic!("other kinds of columns")
    };
    let series = common::words(table, "series");
    (0..times.len()).map(|row| (series[row].clone(), ids[row], times[row], values[row])).collect()
}

const INCAST: &str = r#"
    transport.tcp = { rto_min = "1ms" }
    queue.drop-tail.limit.packets = 20
    [topology.single-switch]
    hosts = 6
    rate = "1Gbps"
    delay = "1us"
    [[traffic]]
    name = "reads"
    arrivals = "at-once"
    matrix.incast = { senders = 5 }
    sizes.fixed = "100KB"
    flows = 5
    [run]
    until = "20ms"
    [observe.samples]
    every = "10us"
"#;

/// Rates and utilisations add up to what was delivered and sent, mean queues to the exact ones.
#[test]
fn samples_add_up() {
    // The run does not wait for the background flow, so that it goes on to 20 ms, a multiple of the interval.
    let text = INCAST.replace("[run]", "[[traffic]]\nname = \"on\"\nbackground = true\narrivals = \"at-once\"\nmatrix.pairs = [[1, 2]]\nsizes.fixed = \"10KB\"\n[run]")
        .replace("flows = 5", "flows = 5\nbackground = true");
    let run = run(&text);
    assert_eq!((run.status(), run.end()), (Status::Complete, 20_000 * US));
    let mut sums = BTreeMap::new();
    for (series, id, _, value) in samples(run.0.observed.samples.as_ref().unwrap()) {
        *sums.entry((series, id)).or_insert(0.0) += value;
    }
    let sum = |series: &str, id: usize| sums[&(series.to_string(), id as u64)];
    for (flow, delivered) in run.flows("delivered_bytes").into_iter().enumerate() {
        assert!(delivered > 0);
        assert!((sum("rate_bps", flow) * 10e-6 / 8.0 - delivered as f64).abs() < 1e-3, "flow {flow}");
    }
    let bytes = run.links("bytes");
    for (link, bytes) in bytes.into_iter().enumerate() {
        assert!((sum("utilisation", link) * 1e9 * 10e-6 / 8.0 - bytes as f64).abs() < 1e-3, "link {link}");
    }
    let bottleneck = run.row("switch", &format!("host {}", run.flows("dst")[0]));
    let Values::F64(means) = &run.0.links.column("queue_mean_bytes").unwrap().values else { panic!() };
    let sampled = sum("queue_bytes", bottleneck) / 2000.0;
    assert!(means[bottleneck] > 1000.0);
    assert!((sampled / means[bottleneck] - 1.0).abs() < 0.02, "{sampled} is not {}", means[bottleneck]);
}

/// A window that starts at one segment and doubles each round trip, with an acknowledgement for each segment.
#[test]
fn windows_double_in_slow_start() {
    let settings = r#"
        transport.tcp = { initial_window = 1, delayed_ack = 1, handshake = false }
        observe.samples = { every = "100us", links = ["host 0 -> *"] }
    "#;
    let run = run(&format!("{settings}{}", flow_over_a_line(0, 100, 100_000)));
    let windows: Vec<_> = samples(run.0.observed.samples.as_ref().unwrap())
        .into_iter()
        .filter(|row| row.0 == "cwnd_bytes")
        .collect();
    // Data takes 112 us, an acknowledgement 100.32 us: after each 212.32 us the window has doubled.
    let expected = |at: u64| 1460.0 * (1u64 << (at / (212_320 * US / 1000))) as f64;
    for (_, _, at, window) in &windows {
        let (from, phase) = (at / (212_320 * US / 1000), at % (212_320 * US / 1000));
        // Acknowledgements of one round come 12 us apart.
        if phase > 12 * US * (1 << from) {
            assert_eq!(*window, expected(*at), "at {at}");
        }
    }
    assert!(windows.len() >= 10);
}

#[test]
fn only_what_is_asked_for_is_sampled() {
    let chosen = |links: &str, flows: &str| {
        let overrides = [("observe.samples.links", links), ("observe.samples.flows", flows)];
        let run = run_with(INCAST, &overrides);
        let mut found: Vec<_> =
            samples(run.0.observed.samples.as_ref().unwrap()).into_iter().map(|row| (row.0, row.1)).collect();
        found.sort();
        found.dedup();
        found
    };
    let found = chosen("[\"host 2 -> *\"]", "[]");
    assert_eq!(found, ["queue_bytes", "queue_packets", "utilisation"].map(|series| (series.to_string(), 4)));
    assert_eq!(chosen("[\"switch-host\"]", "[]").len(), 3 * 6);
    let of_flows = chosen("[]", "[\"re*\"]");
    assert_eq!(of_flows.len(), 2 * 5);
    assert!(of_flows.iter().all(|(series, _)| series == "cwnd_bytes" || series == "rate_bps"));
    let run = run_with(INCAST, &[("observe.samples.flow_limit", "2"), ("observe.samples.links", "[]")]);
    let ids: std::collections::BTreeSet<_> =
        samples(run.0.observed.samples.as_ref().unwrap()).into_iter().map(|row| row.1).collect();
    assert_eq!(ids.len(), 2);
}

#[test]
fn samples_end_where_their_room_does() {
    let run = run_with(INCAST, &[("observe.samples.rows_limit", "1000")]);
    let summary = run.0.summary.observed.samples.clone().unwrap();
    let rows = samples(run.0.observed.samples.as_ref().unwrap());
    assert!(summary.rows <= 1000 && summary.rows == rows.len() as u64);
    let last = rows.iter().map(|row| row.2).max().unwrap();
    assert_eq!(summary.cut_off_ps, Some(last + 10 * US));
    assert_eq!(run_with(INCAST, &[]).0.summary.observed.samples.unwrap().cut_off_ps, None);
}

/// Rows of the histograms: metric, class, low, high, count.
fn buckets(table: &Table) -> Vec<(String, String, u64, u64, u64)> {
    let column = |name| match &table.column(name).unwrap().values {
        Values::U64(values) => values.clone(),
        _ => panic!("not whole numbers"),
    };
    let (metrics, classes) = (common::words(table, "metric"), common::words(table, "class"));
    let (lows, highs, counts) = (column("low"), column("high"), column("count"));
    let row = |row: usize| (metrics[row].clone(), classes[row].clone(), lows[row], highs[row], counts[row]);
    (0..lows.len()).map(row).collect()
}

/// On an empty line a packet takes its transmission and the delay at each link, by hand.
#[test]
fn latencies_are_those_of_the_way() {
    let settings = r#"
        transport.datagram = { pace.rate = "100Mbps" }
        observe.histograms = {}
    "#;
    let run = run(&format!("{settings}{}", flow_over_a_line(2, 5, 147_200)));
    let rows = buckets(run.0.observed.histograms.as_ref().unwrap());
    let latencies: Vec<_> = rows.iter().filter(|row| row.0 != "queue_bytes").collect();
    // 147,200 bytes are 100 packets of 1,472; each 12 us + 5 us at each of three links.
    let [(metric, class, low, high, count), (other, _, from, to, packets)] = &latencies[..] else {
        panic!("{latencies:?}")
    };
    assert_eq!((metric.as_str(), class.as_str(), *count), ("server_ps", "3 links", 100));
    assert!((*low..=*high).contains(&0));
    assert_eq!((other.as_str(), *packets), ("network_ps", 100));
    assert!((*from..=*to).contains(&(51 * US)) && to - from <= 51 * US / 1000, "{from} to {to}");
    // A port is looked at each microsecond, whatever the packets do.
    let end = run.end() / US;
    let looks: u64 = rows.iter().filter(|row| row.0 == "queue_bytes").map(|row| row.4).sum();
    assert_eq!(looks, end * run.0.links.rows() as u64);
    // Of each 120 us a packet is on each wire for 12: a tenth of the looks at three of six ports.
    let busy: u64 = rows.iter().filter(|row| row.0 == "queue_bytes" && row.3 >= 1500).map(|row| row.4).sum();
    let share = busy as f64 / (end * 3) as f64;
    assert!((share - 0.1).abs() < 0.01, "{share}");
}

/// Two flows of one host make a packet each at the same instants: the second waits 12 us at the server for the wire. In
/// the network neither waits, and both take what a packet alone takes.
#[test]
fn a_wait_at_the_server_is_no_part_of_the_network() {
    let settings = r#"
        transport.datagram = { pace.rate = "100Mbps" }
        topology.line = { switches = 2, rate = "1Gbps", delay = "5us" }
        observe.histograms = {}
    "#;
    let run = run(&format!("{settings}{}", flows("two", &[[0, 1], [0, 1]], 147_200)));
    let rows = buckets(run.0.observed.histograms.as_ref().unwrap());
    let of = |name: &str| -> Vec<(u64, u64, u64)> {
        rows.iter().filter(|row| row.0 == name).map(|row| (row.2, row.3, row.4)).collect()
    };
    let holds = |(low, high, _): (u64, u64, u64), value| (low..=high).contains(&value);
    let [at_once, later] = of("server_ps")[..] else { panic!("{rows:?}") };
    assert_eq!((at_once.2, later.2), (100, 100));
    assert!(holds(at_once, 0) && holds(later, 12 * US), "{at_once:?} {later:?}");
    let [network] = of("network_ps")[..] else { panic!("{rows:?}") };
    assert!(network.2 == 200 && holds(network, 51 * US), "{network:?}");
}

/// The way over a host that relays begins at the source's wire, too: 12 us + 5 us at each of two links.
#[test]
fn a_relaying_host_is_part_of_the_network() {
    let settings = r#"
        transport.datagram = { pace.rate = "100Mbps" }
        topology.relay = { rate = "1Gbps", delay = "5us" }
        observe.histograms = {}
    "#;
    let run = run(&format!("{settings}{}", flows("relayed", &[[0, 2]], 147_200)));
    let rows = buckets(run.0.observed.histograms.as_ref().unwrap());
    let network: Vec<_> = rows.iter().filter(|row| row.0 == "network_ps").collect();
    let [(_, class, low, high, count)] = &network[..] else { panic!("{network:?}") };
    assert_eq!((class.as_str(), *count), ("2 links", 100));
    assert!((*low..=*high).contains(&(34 * US)), "{low} to {high}");
}

/// A TCP flow of three segments on the wire, by hand.
#[test]
fn captured_packets_are_those_of_the_protocol() {
    let settings = r#"
        transport.tcp = { delayed_ack = 1 }
        observe.capture.links = ["host-host"]
    "#;
    let run = run(&format!("{settings}{}", flow_over_a_line(0, 1, 3000)));
    let [cable] = &run.0.observed.cables[..] else { panic!("one cable") };
    assert_eq!((cable.link, cable.ends.clone()), (LinkId(0), ["host 0".to_string(), "host 1".to_string()]));
    let seen: Vec<_> = cable
        .packets
        .iter()
        .map(|packet| {
            let Frame::Tcp(tcp) = packet.frame else { panic!("TCP") };
            (packet.forward, packet.ip_bytes, tcp.syn, tcp.is_ack, tcp.seq, tcp.ack)
        })
        .collect();
    let expected = [
        (true, 40, true, false, 0, 0),
        (false, 40, true, true, 0, 1),
        (true, 1500, false, true, 1, 1),
        (true, 1500, false, true, 1461, 1),
        (false, 40, false, true, 1, 1461),
        (true, 120, false, true, 2921, 1),
        (false, 40, false, true, 1, 2921),
        (false, 40, false, true, 1, 3001),
    ];
    let mut sorted = seen.clone();
    sorted.sort_unstable();
    let mut wanted = expected.to_vec();
    wanted.sort_unstable();
    assert_eq!(sorted, wanted);
    // The SYN takes 40 bytes at 1 Gbps and a microsecond, and so does the answer.
    let start = run.flow("start_ps");
    let first: Vec<_> = cable.packets[..3].iter().map(|packet| packet.at.0 - start).collect();
    assert_eq!(first, [1_320_000, 2_640_000, 2_640_000 + 13_000_000]);
}

#[test]
fn captures_end_where_their_room_does() {
    let overrides = [("observe.capture.links", "[\"*\"]"), ("observe.capture.packet_limit", "10")];
    let run = run_with(INCAST, &overrides);
    let summary = run.0.summary.observed.capture.clone().unwrap();
    let kept: Vec<_> = run.0.observed.cables.iter().flat_map(|cable| &cable.packets).collect();
    assert_eq!((summary.packets, kept.len()), (10, 10));
    assert!(kept.iter().all(|packet| packet.at.0 <= summary.cut_off_ps.unwrap()));
}

/// Classes of captured packets, one entry beside another: what a traffic entry names, for replies as well, or what a
/// transport does; none where neither does.
#[test]
fn captured_packets_have_the_class_that_is_given_them() {
    let classes = |settings: &str, own: &str| -> BTreeSet<(FlowId, bool, Option<u8>)> {
        let run = run(&format!(
            r#"
            topology.single-switch.hosts = 3
            observe.capture.links = ["*"]
            {settings}
            [[traffic]]
            name = "own"
            arrivals = "at-once"
            matrix.pairs = [[0, 1]]
            sizes.fixed = "3KB"
            {own}
            [[traffic]]
            name = "other"
            arrivals = "at-once"
            matrix.pairs = [[0, 2]]
            sizes.fixed = "3KB"
            "#
        ));
        let packets = run.0.observed.cables.iter().flat_map(|cable| &cable.packets);
        packets.map(|packet| (packet.flow, packet.forward, packet.class)).collect()
    };
    let each = |own: Option<u8>, other: Option<u8>| {
        [(0, true, own), (0, false, own), (1, true, other), (1, false, other)]
            .map(|(flow, forward, class)| (FlowId(flow), forward, class))
            .into()
    };
    let ports = "transport = \"tcp\"\nqueue = \"strict-priority\"";
    assert_eq!(classes("transport = \"tcp\"", ""), each(None, None));
    assert_eq!(classes(ports, ""), each(None, None));
    assert_eq!(classes(ports, "class = 0"), each(Some(0), None));
    assert_eq!(classes(ports, "class = 5"), each(Some(5), None));
    assert_eq!(classes("transport = \"tcp\"", "class = 5"), each(Some(5), None));
    // By the first byte: the segments from 1460 and 2920 on are in class 1; acknowledgements go first.
    let tags = "transport.tcp = { tagging.thresholds = [\"1KB\"] }";
    let tagged = [(true, 0), (true, 1), (false, 0)];
    let tagged = tagged.map(|(forward, class)| (forward, Some(class)));
    let expected =
        [0, 1].into_iter().flat_map(|flow| tagged.map(|(forward, class)| (FlowId(flow), forward, class)));
    assert_eq!(classes(tags, ""), expected.collect());
}

/// An observer of one's own: the longest queue, and the number of links that each flow crossed.
#[derive(Default)]
struct Own {
    looks: u32,
    longest: u64,
    last_hops: Vec<u8>,
}

impl Observer for Own {
    fn next_look(&self) -> Time {
        Time::from_us(u64::from(self.looks) + 1)
    }

    fn look(&mut self, at: Time, view: &mut View) {
        assert_eq!(at, self.next_look());
        self.looks += 1;
        let queue = |link| view.port(LinkId(link)).bytes;
        self.longest = self.longest.max((0..12).map(queue).max().unwrap());
    }

    fn points(&self) -> Points {
        Points::ARRIVED
    }

    fn see(&mut self, _at: Time, point: &Point) {
        if let Point::Packet(_, PacketAt { packet, is_last: true, .. }) = point {
            self.last_hops.push(packet.hops);
        }
    }
}

#[test]
fn an_observer_of_ones_own_sees_the_network() {
    let mut own = Own::default();
    let run = observed(&scenario(INCAST, &[]), Agenda::Calendar, &mut [&mut own]);
    assert_eq!(u64::from(own.looks), run.end() / US);
    assert!(own.last_hops.iter().all(|&hops| hops == 2));
    assert_eq!(own.last_hops.len() as u64, run.counters().packets - run.counters().drops);
    let most = run.links("queue_max_bytes").into_iter().max().unwrap();
    // Packets take 12 us: a look each microsecond misses nothing that lasts.
    assert_eq!(own.longest, most);
}

/// Flows that are drawn during the run are behind those whose start was known, with entries of their own.
#[test]
fn captured_packets_of_drawn_flows_have_their_entry_s_class() {
    let run = run(r#"
        topology.single-switch.hosts = 3
        transport = "datagram"
        observe.capture.links = ["*"]
        [[traffic]]
        name = "known"
        arrivals = "at-once"
        matrix.pairs = [[0, 1]]
        sizes.fixed = "1KB"
        [[traffic]]
        name = "drawn"
        arrivals.on-off = { probability = 0.3, slot = "12us", flows_each = 5 }
        matrix = "uniform"
        sizes.fixed = "1KB"
        class = 5
        "#);
    let packets = run.0.observed.cables.iter().flat_map(|cable| &cable.packets);
    let classes: BTreeSet<_> = packets.map(|packet| (packet.flow.0, packet.class)).collect();
    let expected = (0..16).map(|flow| (flow, (flow > 0).then_some(5)));
    assert_eq!(classes, expected.collect());
}

/// Five packets come out of the first link, each 12 us behind its start. A limit of five keeps all, and one of three the first
/// three: the fourth, at 312 us, is the first that is missing.
#[test]
fn a_capture_keeps_the_first_packets() {
    let links = ("observe.capture.links", r#"["host 0 -> switch 0"]"#);
    for (limit, kept, cut_off_ps) in [("5", 5, None), ("3", 3, Some(312_000_000))] {
        let run = run_with(TIMES, &[links, ("observe.capture.packet_limit", limit)]);
        let [cable] = &run.0.observed.cables[..] else { panic!("one cable") };
        let at: Vec<_> = cable.packets.iter().map(|packet| packet.at).collect();
        let expected: Vec<_> = (0..kept).map(|number| Time::from_us(12 + 100 * number)).collect();
        assert_eq!(at, expected, "a limit of {limit}");
        let capture = run.0.summary.observed.capture.as_ref().expect("a capture");
        assert_eq!((capture.packets, capture.cut_off_ps), (kept, cut_off_ps), "a limit of {limit}");
    }
}
