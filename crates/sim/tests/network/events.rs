//! Events of a run: the rows of a lone packet by hand, counts that agree with those of the run, and choices of flows, links,
//! kinds and times.

use crate::common::{Run, cells, run, run_with, words};
use flowyard_sim::records::{Table, Values};

fn events(run: &Run) -> &Table {
    run.0.observed.events.as_ref().expect("the scenario asks for events")
}

/// Time, kind, link, whether it is data, bytes on the wire.
type Row = (u64, String, Option<u64>, Option<u64>, Option<u64>);

fn rows(run: &Run) -> Vec<Row> {
    let table = events(run);
    let column = |name| cells(table, name);
    let (times, links, data) = (column("time_ps"), column("link"), column("data"));
    let (kinds, bytes) = (words(table, "kind"), column("wire_bytes"));
    (0..times.len())
        .map(|row| (times[row].expect("a time"), kinds[row].clone(), links[row], data[row], bytes[row]))
        .collect()
}

fn count(run: &Run, kind: &str) -> u64 {
    words(events(run), "kind").iter().filter(|word| *word == kind).count() as u64
}

const LONE: &str = r#"
    topology.single-switch = { hosts = 2, rate = "10Gbps", delay = "1us" }
    transport = "roce"
    [[traffic]]
    name = "lone"
    arrivals.at-once = { jitter = "0s" }
    matrix.pairs = [[1, 0]]
    sizes.fixed = "1KB"
    [observe.events]
"#;

/// A packet of 1062 B takes 849.6 ns and 1 us to the switch, and as long to the host, which answers with 66 B, 52.8 ns.
#[test]
fn a_lone_packet_by_hand() {
    let run = run(LONE);
    let link = |from, to| Some(run.row(from, to) as u64);
    let (there, on) = (link("host 1", "switch"), link("switch", "host 0"));
    let (back, home) = (link("host 0", "switch"), link("switch", "host 1"));
    let at = |time, kinds: &[&str], link, data, bytes| -> Vec<Row> {
        kinds.iter().map(|kind| (time, (*kind).to_string(), link, Some(data), Some(bytes))).collect()
    };
    let expected = [
        at(0, &["made", "enqueued", "started"], there, 1, 1062),
        at(1_849_600, &["arrived"], there, 1, 1062),
        at(1_849_600, &["enqueued", "started"], on, 1, 1062),
        at(3_699_200, &["arrived"], on, 1, 1062),
        at(3_699_200, &["made", "enqueued", "started"], back, 0, 66),
        at(4_752_000, &["arrived"], back, 0, 66),
        at(4_752_000, &["enqueued", "started"], home, 0, 66),
        at(5_804_800, &["arrived"], home, 0, 66),
    ];
    assert_eq!(rows(&run), expected.concat());
    assert_eq!(cells(events(&run), "hops")[6], Some(2));
    assert_eq!(cells(events(&run), "made_ps")[7..], [Some(3_699_200); 7]);
    assert_eq!(cells(events(&run), "payload_bytes")[..7], [Some(1000); 7]);
    assert_eq!(cells(events(&run), "forward")[6..8], [Some(1), Some(0)]);
}

/// `until` is an instant whose events are recorded, and `from` too: three at each of 1,849,600 and 4,752,000 ps.
#[test]
fn both_ends_of_the_span_are_recorded() {
    let (from, until) = (("observe.events.from", "1849600ps"), ("observe.events.until", "4752000ps"));
    let times: Vec<u64> = rows(&run_with(LONE, &[from, until])).into_iter().map(|row| row.0).collect();
    assert_eq!(times, [&[1_849_600; 3][..], &[3_699_200; 4], &[4_752_000; 3]].concat());
}

const INCAST: &str = r#"
    queue.drop-tail.limit.packets = 20
    transport.tcp = { rto_min = "1ms" }
    [topology.single-switch]
    hosts = 7
    rate = "1Gbps"
    delay = "1us"
    [[traffic]]
    name = "reads"
    arrivals = "at-once"
    matrix.incast = { senders = 5 }
    sizes.fixed = "100KB"
    [[traffic]]
    name = "other"
    arrivals = "at-once"
    matrix.pairs = [[6, 5]]
    sizes.fixed = "20KB"
    [observe.events]
"#;

/// Each packet-hop is an arrival, each drop a drop, each timeout a timer of a sender. Windows are those of senders.
#[test]
fn counts_agree_with_those_of_the_run() {
    let tcp = run(INCAST);
    let counters = tcp.counters();
    assert!(counters.drops > 0 && counters.timeouts > 0);
    assert_eq!(count(&tcp, "arrived"), counters.packet_hops);
    assert_eq!(count(&tcp, "dropped"), counters.drops);
    assert_eq!(
        words(events(&tcp), "detail").iter().filter(|word| *word == "full").count() as u64,
        counters.drops
    );
    assert_eq!(count(&tcp, "made"), counters.packets);
    assert_eq!(count(&tcp, "enqueued"), count(&tcp, "started"));
    assert!(
        words(events(&tcp), "detail").iter().filter(|word| *word == "sender").count() as u64
            >= counters.timeouts
    );
    assert!(count(&tcp, "window") > 0);

    let ndp = run_with(INCAST, &[("transport", "ndp"), ("queue", "ndp")]);
    let counters = ndp.counters();
    assert!(counters.trims > 0);
    assert_eq!((count(&ndp, "trimmed"), count(&ndp, "arrived")), (counters.trims, counters.packet_hops));
    let trimmed = cells(events(&ndp), "trimmed").iter().filter(|trimmed| **trimmed == Some(1)).count() as u64;
    assert!(trimmed > counters.trims, "a trimmed packet is so in its later events, too");

    let dctcp = run_with(INCAST, &[("transport.tcp.congestion", "dctcp"), ("queue", "ecn")]);
    assert!(dctcp.counters().marks > 0);
    assert_eq!(count(&dctcp, "marked"), dctcp.counters().marks);
}

#[test]
fn choices_are_of_flows_links_kinds_and_times() {
    let all = run(INCAST);
    let table = |overrides: &[(&str, &str)]| run_with(INCAST, overrides);
    let flows = cells(events(&all), "flow");
    let of = |flow: u64| flows.iter().filter(|other| **other == Some(flow)).count();
    let numbered =
        |tag: &str| all.tags().iter().position(|own| own == tag).expect("a flow of that entry") as u64;
    let (other, read) = (numbered("other"), numbered("reads"));
    let only = |run: &Run, flow: u64, count: usize| {
        let found = cells(events(run), "flow");
        assert!(found.len() == count && found.iter().all(|own| *own == Some(flow)), "not only flow {flow}");
    };

    let named = table(&[("observe.events.flows", "[\"oth*\"]")]);
    only(&named, other, of(other));
    let numbers = format!("[{other}, {read}]");
    let two = table(&[("observe.events.numbers", &numbers)]);
    assert_eq!(cells(events(&two), "flow").len(), of(read) + of(other));
    let both = table(&[("observe.events.flows", "[\"reads\"]"), ("observe.events.numbers", &numbers)]);
    only(&both, read, of(read));

    let kinds = table(&[("observe.events.kinds", "[\"dropped\", \"window\"]")]);
    assert_eq!(rows(&kinds).len() as u64, count(&all, "dropped") + count(&all, "window"));
    let link = Some(all.row("switch", "host 0") as u64);
    let links = table(&[("observe.events.links", "[\"switch -> host 0\"]")]);
    let at_link = |row: &&Row| row.2 == link;
    assert_eq!(
        rows(&links).iter().filter(|row| row.2.is_some()).count(),
        rows(&all).iter().filter(at_link).count()
    );

    let span = table(&[("observe.events.from", "100us"), ("observe.events.until", "300us")]);
    let within = |row: &Row| (100_000_000..=300_000_000).contains(&row.0);
    assert_eq!(rows(&span), rows(&all).into_iter().filter(within).collect::<Vec<_>>());
    let few = table(&[("observe.events.rows_limit", "100")]);
    assert_eq!(rows(&few), rows(&all)[..100]);
    let cut_off = few.0.summary.observed.events.as_ref().and_then(|events| events.cut_off_ps);
    assert_eq!(cut_off, Some(rows(&all)[100].0));
}

/// Pauses have the classes that stand still, rates are in bit/s.
#[test]
fn values_of_pauses_and_rates() {
    let run = run(r#"
        topology.single-switch = { hosts = 12, rate = "40Gbps" }
        transport = "roce"
        queue.lossless.xoff = "20KB"
        [[traffic]]
        name = "incast"
        arrivals = "at-once"
        matrix.incast = { senders = 10, receiver = 0 }
        sizes.fixed = "200KB"
        [observe.events]
        kinds = ["paused", "rate"]
    "#);
    let table = events(&run);
    let Values::F64(values) = &table.column("value").expect("a column").values else { panic!("numbers") };
    let kinds = words(table, "kind");
    let of = |kind: &'static str| {
        let rows = kinds.iter().zip(values).filter(move |(word, _)| *word == kind);
        rows.map(|(_, value)| *value).collect::<Vec<f64>>()
    };
    let paused = of("paused");
    // Class 1, and no class; each pause frame stops the class once, and is followed by one that resumes it.
    assert_eq!(paused.iter().filter(|classes| **classes == 2.0).count() as u64, run.counters().pauses);
    assert_eq!(paused.iter().filter(|classes| **classes == 0.0).count() as u64, run.counters().pauses);
    // The first notification halves the rate.
    assert_eq!(of("rate")[0], 20e9);
}
