//! Messages for malformed scenarios: all problems at once, each with its path, the value, the allowed values
//! and the nearest fix.

use flowyard_sim::balancer::Balancer;
use flowyard_sim::problem::Problems;
use flowyard_sim::queue::{Feature, Queue};
use flowyard_sim::scenario::{self, Format, Scenario, no_files};
use flowyard_sim::topology::Topology;
use flowyard_sim::transport::Transport;
use insta::assert_snapshot;
use proptest::prelude::*;
use serde::Deserialize;

const GOOD: &str = r#"
name = "example"

[topology.fat-tree]
k = 8
rate = "10Gbps"

[routing]
balancer = "per-packet"

[transport.ndp]
initial_window = 16

[[traffic]]
name = "queries"
arrivals.poisson = { load = 0.6 }
matrix = "uniform"
sizes = "web-search"
flows = 6000

[[traffic]]
name = "updates"
arrivals = "at-once"
matrix.incast = { senders = 8 }
sizes.fixed = "10KB"
flows = 100

[run]
until = "10ms"
"#;

fn read(text: &str, format: Format, overrides: &[(String, String)]) -> Result<Scenario, Problems> {
    scenario::read(text, format, overrides, &no_files)
}

/// Problems of the good scenario with some of its text replaced.
fn edited(edits: &[(&str, &str)]) -> String {
    let mut text = GOOD.to_string();
    for (old, new) in edits {
        assert!(text.contains(old), "{old}");
        text = text.replacen(old, new, 1);
    }
    said(read(&text, Format::Toml, &[]))
}

/// Problems of the good scenario with overrides.
fn set(overrides: &[&str]) -> String {
    said(with(overrides))
}

fn with(overrides: &[&str]) -> Result<Scenario, Problems> {
    let pair =
        |text: &&str| text.split_once('=').map(|(key, value)| (key.to_string(), value.to_string())).unwrap();
    read(GOOD, Format::Toml, &overrides.iter().map(pair).collect::<Vec<_>>())
}

fn said(result: Result<Scenario, Problems>) -> String {
    result.map_or_else(|problems| unlisted(&problems.to_string()), |_| "fine".into())
}

/// A message with each list of all members replaced by a word: a new member changes no message here, but a
/// message that leaves a member out differs.
fn unlisted(message: &str) -> String {
    [
        ("<all topologies>", Topology::NAMES),
        ("<all transports>", Transport::NAMES),
        ("<all balancers>", Balancer::NAMES),
    ]
    .iter()
    .fold(message.to_string(), |text, (word, names)| text.replace(&quoted(names).join(", "), word))
}

fn quoted(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("\"{name}\"")).collect()
}

/// The queues that trim, in quotes.
fn trimming() -> Vec<String> {
    let queue = |name: &&str| Queue::deserialize(&serde_json::json!({ *name: {} }));
    let trims = |name: &&str| queue(name).is_ok_and(|queue| queue.offers().contains(&Feature::Trimming));
    quoted(&Queue::NAMES.iter().copied().filter(trims).collect::<Vec<_>>())
}

#[test]
fn the_good_one_is_fine() {
    assert_eq!(edited(&[]), "fine");
}

#[test]
fn misspelt_key() {
    assert_snapshot!(
        edited(&[("initial_window", "initial_windw")]),
        @r#"transport.ndp.initial_windw: unknown key; did you mean "initial_window"?"#
    );
}

#[test]
fn key_that_resembles_none() {
    assert_snapshot!(
        edited(&[("rate =", "colour =")]),
        @"topology.fat-tree.colour: unknown key; the keys here are k, levels, oversubscription, rate, delay, host, aggregation, core"
    );
}

/// Settings that stand in other places or other files: the hint is the way that works.
#[test]
fn hints_lead_to_the_place_that_takes_the_setting() {
    let leaf_spine =
        ("[topology.fat-tree]\nk = 8\nrate = \"10Gbps\"", "[topology.leaf-spine]\nspine_rate = \"40Gbps\"");
    let ndp = "[transport.ndp]\ninitial_window = 16";
    for (edit, hint) in [
        ((ndp, "[transport]\nname = \"tcp\""), "write transport = \"tcp\""),
        ((ndp, "[transport]\ntype = \"dctcp\""), "write transport.tcp.congestion = \"dctcp\""),
        (("rate = \"10Gbps\"", "transport = \"tcp\""), "move the line above the first [table]"),
        (("sizes = \"web-search\"", "sizes = 64000"), "write { fixed = \"64000B\" }"),
        (("[run]", "[queue.ecn]\nkmin = \"100KB\"\n[run]"), "marks between two thresholds are queue.red"),
        (("[run]", "[queue.ecn]\nthreshold = \"65 packets\"\n[run]"), "write { packets = 65 }"),
        (("[run]", "[queue.lossless]\npfc = true\n[run]"), "xoff and xon are its thresholds"),
        (("name = \"example\"", "buffer = \"12MB\""), "write { dynamic = { size = \"12MB\" } }"),
        (
            ("name = \"example\"", "buffer.shared = \"12MB\""),
            "write buffer = { dynamic = { size = \"...\" } }",
        ),
        (("poisson = { load = 0.6 }", "poisson = { mean = \"1ms\" }"), "write rate, arrivals a second"),
        (("balancer = \"per-packet\"", "balancer = \"reps\""), "transport.uet.entropy = \"reps\""),
        (("matrix = \"uniform\"", "matrix = \"all-reduce\""), "a collective is written as entries"),
        (leaf_spine, "did you mean \"spine.rate\"?"),
        (
            ("[topology.fat-tree]\nk = 8\nrate = \"10Gbps\"", "[topology]\nfile = \"links.csv\""),
            "flowyard import links.csv -o NETWORK.toml",
        ),
        (
            ("[topology.fat-tree]\nk = 8\nrate = \"10Gbps\"", "topology = \"f.graphml\""),
            "flowyard import f.graphml -o NETWORK.toml",
        ),
        (("flows = 6000", "file = \"flows.csv\""), "flowyard import flows.csv -o SCENARIO.toml"),
        (("\"web-search\"", "\"mine.txt\""), "write { cdf = { file = \"mine.txt\" } }"),
        (
            ("sizes.fixed = \"10KB\"", "sizes.cdf = [[100, 0.1], [1000, 1.0]]"),
            "write { points = [[100,0.1],[1000,1.0]] }",
        ),
        (
            ("arrivals = \"at-once\"", "arrivals.periodic = { every = \"1ms\", count = 10 }"),
            "did you mean \"rounds\"?",
        ),
        (("rate = \"10Gbps\"", "rate = \"3.125GBps\""), "did you mean \"25Gbps\"?"),
        (("rate = \"10Gbps\"", "rate = \"125 MB/s\""), "did you mean \"1000Mbps\"?"),
        (("matrix = \"uniform\"", "matrix = a2a"), "a text has quotes; write \"a2a\""),
        (
            ("[transport.ndp]\ninitial_window = 16", "[transport]\nndp = yes"),
            "a text has quotes; write \"yes\"",
        ),
        (("arrivals = \"at-once\"", "arrivals = \"now\""), "did you mean \"at-once\"?"),
        (("[topology.fat-tree]\nk = 8", "[topology.leaf-spine]\nhost = 8"), "did you mean \"hosts\"?"),
        (("until = \"10ms\"", "warmup = \"1ms\""), "did you mean \"measure\"?"),
        (("[run]", "[[faults]]\nat = \"1ms\"\n[run]"), "in TOML each item begins with [[faults.events]]"),
        (
            ("[run]", "[queue.RandDrop]\nlimit = 20\n[run]"),
            "a class of --prototype is queue.python = { name = \"RandDrop\" }",
        ),
        (
            ("[run]", "[observe.samples]\nevery = \"10us\"\nlinks = [\"host0->pod 0 edge 0\"]\n[run]"),
            "did you mean \"host 0 -> pod 0 edge 0\"?",
        ),
    ] {
        let said = edited(&[edit]);
        assert!(said.contains(hint), "{edit:?}: {said}");
    }
}

#[test]
fn misspelt_required_key() {
    assert_snapshot!(
        edited(&[("name = \"queries\"", "nmae = \"queries\"")]),
        @r#"traffic.0.nmae: unknown key; did you mean "name"?"#
    );
}

#[test]
fn missing_keys() {
    assert_snapshot!(said(read("[run]\nseed = 3", Format::Toml, &[])), @r#"
    topology: is missing; write one of <all topologies>
    transport: is missing; write one of <all transports>
    traffic: is missing; write a list; in TOML each item begins with [[traffic]]
    "#);
}

#[test]
fn key_one_table_too_high() {
    assert_snapshot!(
        edited(&[("name = \"example\"", "seed = 7")]),
        @r#"seed: unknown key; did you mean "run.seed"?"#
    );
}

#[test]
fn setting_beside_its_variant() {
    assert_snapshot!(
        edited(&[("[transport.ndp]\ninitial_window = 16", "[transport]\npull_ack = false")]),
        @r#"transport.pull_ack: "pull_ack" is not one of <all transports>; did you mean "transport.ndp.pull_ack"?"#
    );
    // All that have such a setting are named.
    let said = edited(&[("[transport.ndp]", "[transport]")]);
    let (_, meant) = said.split_once("did you mean ").expect("a hint");
    let meant: Vec<_> = meant.strip_suffix('?').expect("a question").split(" or ").collect();
    for name in ["tcp", "ndp"] {
        assert!(meant.contains(&format!("\"transport.{name}.initial_window\"").as_str()), "{said}");
    }
}

#[test]
fn misspelt_variant() {
    assert_snapshot!(
        edited(&[("[transport.ndp]", "[transport.npd]")]),
        @r#"transport.npd: "npd" is not one of <all transports>; did you mean "ndp"?"#
    );
}

#[test]
fn misspelt_bare_variant() {
    assert_snapshot!(
        edited(&[("per-packet", "per_paket")]),
        @r#"routing.balancer: "per_paket" is not one of <all balancers>; did you mean "per-packet"?"#
    );
}

#[test]
fn two_variants() {
    assert_snapshot!(
        edited(&[("[transport.ndp]", "[transport.tcp]\n[transport.ndp]")]),
        @r#"transport: has "tcp", "ndp" at once; keep one"#
    );
}

#[test]
fn no_variant() {
    assert_snapshot!(
        edited(&[("[transport.ndp]\ninitial_window = 16", "[transport]")]),
        @"transport: is empty; use one of <all transports>"
    );
}

#[test]
fn bare_name_of_a_variant_that_needs_more() {
    assert_snapshot!(edited(&[("\"web-search\"", "\"fixed\""), ("matrix.incast = { senders = 8 }", "matrix = \"incast\"")]), @r#"
    traffic.queries.sizes: "fixed" needs more than its name: a size with its unit, as in "64KiB"; write { fixed = ... }
    traffic.updates.matrix: "incast" needs more than its name: a table with senders; write { incast = ... }
    "#);
}

#[test]
fn table_for_a_variant_without_settings() {
    assert_snapshot!(
        edited(&[("[transport.ndp]\ninitial_window = 16", "[transport.datagram]\npace.line-rate = {}")]),
        @r#"transport.datagram.pace.line-rate: takes no settings; write "line-rate" in place of the table"#
    );
}

#[test]
fn number_out_of_range() {
    assert_snapshot!(edited(&[("k = 8", "k = 130"), ("initial_window = 16", "initial_window = 2000000")]), @r#"
    topology.fat-tree.k: 130 is too large (allowed: 2 to 128); use 128
    transport.ndp.initial_window: 2000000 is too large (allowed: 1 to 1000000); use 1000000, or "bdp"
    "#);
}

#[test]
fn number_that_is_none() {
    assert_snapshot!(edited(&[("k = 8", "k = \"8\""), ("initial_window = 16", "pull_rate = 0")]), @r#"
    topology.fat-tree.k: "8" is a string; use a whole number
    transport.ndp.pull_rate: 0 is too small (allowed: more than 0 and at most 10)
    "#);
    assert_snapshot!(edited(&[("k = 8", "k = 8.5"), ("initial_window = 16", "pull_rate = nan")]), @r#"
    topology.fat-tree.k: 8.5 is a number with a fraction; use a whole number
    transport.ndp.pull_rate: NaN is not finite; use a number
    "#);
}

#[test]
fn unknown_unit() {
    assert_snapshot!(
        edited(&[("\"10Gbps\"", "\"10 parsecs\"")]),
        @r#"topology.fat-tree.rate: "10 parsecs" has the unit "parsecs"; use one of Tbps, Gbps, Mbps, Kbps, bps"#
    );
}

#[test]
fn unit_in_the_wrong_case() {
    assert_snapshot!(
        edited(&[("\"10Gbps\"", "\"10gbps\"")]),
        @r#"topology.fat-tree.rate: "10gbps" has the unit "gbps"; use one of Tbps, Gbps, Mbps, Kbps, bps; did you mean "10Gbps"?"#
    );
}

#[test]
fn number_where_a_quantity_is_due() {
    assert_snapshot!(edited(&[("\"10ms\"", "10"), ("\"10KB\"", "1e4")]), @r#"
    traffic.updates.sizes.fixed: 10000 has no unit; write it with a unit, as in "64KiB"
    run.until: 10 has no unit; write it with a unit, as in "10us"
    "#);
}

#[test]
fn quantity_out_of_range() {
    assert_snapshot!(edited(&[("initial_window = 16", "mtu = \"9MB\""), ("\"10KB\"", "\"0B\"")]), @r#"
    transport.ndp.mtu: "9MB" is too large (allowed: "65B" to "65535B"); use "65535B"
    traffic.updates.sizes.fixed: "0B" is too small (allowed: "1B" to "1000GB"); use "1B"
    "#);
}

#[test]
fn wrong_types() {
    let edits = [("name = \"example\"", "name = 3"), ("until =", "audit = \"yes\"\nuntil = [1]\nseed =")];
    assert_snapshot!(edited(&edits), @r#"
    name: 3 is a number; use a string
    run.audit: "yes" is a string; use true or false
    run.until: [1] is a list; use a time with its unit, as in "10us"
    run.seed: "10ms" is a string; use a whole number
    "#);
}

#[test]
fn no_traffic() {
    let (text, _) = GOOD.split_once("[[traffic]]").unwrap();
    assert_snapshot!(
        said(read(&format!("traffic = []\n{text}"), Format::Toml, &[])),
        @"traffic: is empty; give at least 1"
    );
}

#[test]
fn two_entries_of_one_name() {
    assert_snapshot!(
        edited(&[("\"updates\"", "\"queries\"")]),
        @r#"traffic.1.name: "queries" is the name of traffic.0 already; each entry needs its own"#
    );
}

#[test]
fn configuration_at_odds_with_itself() {
    assert_snapshot!(
        edited(&[("initial_window = 16", "mtu = \"65B\"\nheader_bytes = \"80B\"")]),
        @"transport.ndp.header_bytes: 80B leaves no payload in an mtu of 65B"
    );
}

#[test]
fn odd_fat_tree() {
    assert_snapshot!(
        edited(&[("k = 8", "k = 7")]),
        @"topology.fat-tree.k: 7 is odd; use an even number such as 6 or 8"
    );
}

#[test]
fn traffic_that_the_network_cannot_carry() {
    let edits = [
        ("load = 0.6", "load = 0.6, rate = 5"),
        ("\nflows = 6000", ""),
        ("senders = 8", "senders = 128, receiver = 128"),
    ];
    assert_snapshot!(edited(&edits), @r#"
    traffic.queries.arrivals.poisson: has both load and rate; give one
    traffic.queries.flows: is missing; arrivals.poisson has no end of its own: say flows = 1000
    traffic.updates.matrix.incast.senders: 128 senders on 128 hosts; use 1 to 127
    traffic.updates.matrix.incast.receiver: 128 is not a host; hosts are 0 to 127
    "#);
    let pairs = [("matrix = \"uniform\"", "matrix.pairs = [[0, 1], [2, 500], [3, 3], [4], [5, -6]]")];
    assert_snapshot!(edited(&pairs), @r#"
    traffic.queries.matrix.pairs.3: a length of 1 is too small (allowed: 2)
    traffic.queries.matrix.pairs.4.1: -6 is too small (allowed: 0 to 4294967295); use 6
    "#);
    let pairs = [("matrix = \"uniform\"", "matrix.pairs = [[0, 1], [2, 500], [3, 3]]")];
    assert_snapshot!(edited(&pairs), @r#"
    traffic.queries.matrix.pairs.1.1: 500 is not a host; hosts are 0 to 127
    traffic.queries.matrix.pairs.2: [3, 3] has the same host at both ends; a flow joins two hosts
    "#);
}

#[test]
fn measuring_windows() {
    let window = |measure: &str| edited(&[("[run]", &format!("[run]\nmeasure = {measure}"))]);
    for fine in [
        "\"auto\"",
        "\"all\"",
        "{}",
        "{ from = \"1ms\" }",
        "{ from = 10, until = 6000 }",
        "{ until = \"end\" }",
    ] {
        assert_eq!(window(fine), "fine", "{fine}");
    }
    assert_snapshot!(window("\"everything\""), @r#"run.measure: "everything" is not one of "auto", "all""#);
    assert_snapshot!(window("{ form = \"1ms\" }"), @r#"run.measure.form: unknown key; did you mean "from"?"#);
    assert_snapshot!(window("{ from = \"1\" }"), @r#"run.measure.from: "1" has no unit; use one of s, ms, us, ns, ps, as in "10us""#);
    assert_snapshot!(window("{ from = -1 }"), @"run.measure.from: -1 is too small (allowed: at least 0); use 1");
    assert_snapshot!(window("{ until = \"ende\" }"), @r#"run.measure.until: "ende" is not one of "end"; did you mean "end"?"#);
    assert_snapshot!(window("{ from = \"2ms\", until = \"1ms\" }"), @r#"run.measure.until: "1ms" is not after from, which is "2ms""#);
    assert_snapshot!(window("{ from = 20, until = 20 }"), @"run.measure.until: 20 is not more than from, which is 20: no flow starts between");
    assert_snapshot!(window("{ until = 0 }"), @"run.measure.until: 0 leaves no flow to measure; use 1 or more");
    assert_snapshot!(window("{ from = \"10ms\" }"), @r#"run.measure.from: "10ms" is not before run.until, which is "10ms""#);
    assert_snapshot!(window("{ until = \"11ms\" }"), @r#"run.measure.until: "11ms" is behind run.until, which is "10ms""#);
    assert_snapshot!(window("{ until = 6001 }"), @"run.measure.until: 6001 is more flows than arrivals have, 6000; leave flows out, or give as many");
    let edit = |measure: &str, arrivals: &str, flows: &str| {
        let measure = format!("[run]\nmeasure = {measure}");
        edited(&[
            ("[run]", &measure),
            ("until = \"10ms\"", ""),
            ("{ load = 0.6 }", arrivals),
            ("flows = 6000", flows),
        ])
    };
    // Arrivals end before the window does.
    assert_snapshot!(edit("{ until = \"9ms\" }", "{ load = 0.6, until = \"5ms\" }", ""), @r#"run.measure.until: "9ms" is behind the last arrival of "queries", "5ms""#);
    assert_snapshot!(edit("{ until = \"200ms\" }", "{ load = 0.6 }", "flows = 60"), @r#"run.measure.until: "200ms" is behind the last arrival of "queries": it has 60 flows, and some 11220 arrive by then; leave flows out"#);
    // They go on for as long as it needs, and need no number then; but no more flows than a run may have.
    assert_eq!(edit("{ until = \"9ms\" }", "{ load = 0.6 }", ""), "fine");
    assert_eq!(edit("{ until = 500 }", "{ load = 0.6 }", ""), "fine");
    assert_snapshot!(edit("{ until = \"1000s\" }", "{ load = 0.6 }", ""), @"run.measure.until: lets 56099343 flows start, on average; a scenario has at most 10000000 flows");
    assert_snapshot!(edit("{ from = \"1ms\" }", "{ load = 0.6 }", ""), @"traffic.queries.flows: is missing; arrivals.poisson has no end of its own: say flows = 1000");
    // Flows are counted of Poisson arrivals only.
    assert_snapshot!(edited(&[("[run]", "[run]\nmeasure = { from = 5, until = 9 }"), ("flows = 6000", "flows = 6000\nbackground = true")]), @r"
    run.measure.from: is a number of flows, which are counted of Poisson arrivals that are not background, and there are none; give a time
    run.measure.until: is a number of flows, which are counted of Poisson arrivals that are not background, and there are none; give a time
    ");
    assert_snapshot!(edited(&[("[run]", "[run]\nwarm_up = \"1ms\"")]), @r#"run.warm_up: unknown key; did you mean "measure"?"#);
}

#[test]
fn queue_without_what_the_transport_needs() {
    let said = edited(&[("[run]", "[queue.drop-tail]\n[run]")]);
    assert_snapshot!(
        said.replace(&format!("; use {}", trimming().join(" or ")), "; use <what trims>"),
        @r#"queue: "drop-tail" has no trimming, which transport.ndp needs; use <what trims>"#
    );
}

#[test]
fn transports_that_recommend_different_queues() {
    let said = edited(&[("flows = 100", "transport = \"tcp\"")]);
    assert_snapshot!(
        said.replace(&format!("; {} would", trimming().join(", ")), "; <what trims> would"),
        @r#"queue: is missing; transport.ndp recommends "ndp", traffic.updates.transport.tcp recommends "drop-tail": name one; <what trims> would do for both"#
    );
    assert_eq!(edited(&[("flows = 100", "transport = \"tcp\""), ("[run]", "[queue.ndp]\n[run]")]), "fine");
}

#[test]
fn broken_toml() {
    assert_snapshot!(edited(&[("k = 8", "k = = 8")]), @r#"
    line 5, column 5: extra `=`, expected nothing
      5 | k = = 8
        |     ^
    "#);
}

#[test]
fn key_twice() {
    assert_snapshot!(edited(&[("k = 8", "k = 8\nk = 16")]), @r#"
    line 6, column 1: duplicate key
      6 | k = 16
        | ^
    "#);
    let json = "{\"name\": \"a\",\n \"transport\": {\"ndp\": {}, \"ndp\": {}}}";
    assert_snapshot!(said(read(json, Format::Json, &[])), @r#"
    line 2, column 31: duplicate key "ndp"
      2 |  "transport": {"ndp": {}, "ndp": {}}}
        |                               ^
    "#);
}

#[test]
fn broken_json() {
    assert_snapshot!(said(read("{\"name\": \"a\",\n \"transport\": }", Format::Json, &[])), @r#"
    line 2, column 15: expected value
      2 |  "transport": }
        |               ^
    "#);
}

/// A value that stands in the place of a table with one key that must be there.
#[test]
fn the_only_key_needed() {
    let arrivals = "arrivals.poisson = { load = 0.6 }";
    assert_snapshot!(edited(&[(arrivals, "arrivals.periodic = \"200us\"")]), @r#"traffic.queries.arrivals.periodic: "200us" is a string; use a table with every; write { every = "200us" }"#);
    assert_snapshot!(set(&["topology={\"explicit\":{\"hosts\":[\"a\",\"b\"],\"cables\":[[\"a\",\"b\"]]}}"]), @r#"topology.explicit.cables.0: ["a","b"] is a list; use a table with ends; write { ends = ["a","b"] }"#);
    assert_snapshot!(set(&["topology={\"links\":[]}"]), @r#"topology.links: "links" is not one of <all topologies>; a network of one's own is topology.explicit = { hosts = ["a", "b"], cables = [{ ends = ["a", "b"] }] }; flowyard import reads one from a file"#);
}

#[test]
fn not_a_table() {
    assert_snapshot!(
        said(read("[1, 2]", Format::Json, &[])),
        @"[1,2] is a list; use a table with topology, transport, traffic"
    );
}

#[test]
fn many_at_once() {
    let edits = [
        ("name = \"example\"", "nam = \"example\""),
        ("k = 8", "k = 7"),
        ("\"10Gbps\"", "10"),
        ("balancer = \"per-packet\"", "balancer = \"spray\""),
        ("initial_window = 16", "initial_window = -1\nmtu = \"1.5KiB\"\npull_order = \"fare\""),
        ("\"10KB\"", "\"2 MBit\""),
        ("flows = 100", "flows = 100\n[traffic.transport.tcp]\nrto_min = \"2s\"\nrto_max = \"1s\""),
        ("until = \"10ms\"", "until = \"1ms\"\nmeasure.from = \"2ms\""),
    ];
    assert_snapshot!(edited(&edits), @r#"
    nam: unknown key; did you mean "name"?
    topology.fat-tree.k: 7 is odd; use an even number such as 6 or 8
    topology.fat-tree.rate: 10 has no unit; write it with a unit, as in "10Gbps"
    routing.balancer: "spray" is not one of <all balancers>; did you mean "per-packet"?
    transport.ndp.initial_window: -1 is too small (allowed: 1 to 1000000); use 1, or "bdp"
    transport.ndp.pull_order: "fare" is not one of "fair", "fifo", "strict", "weighted"
    traffic.updates.sizes.fixed: "2 MBit" has the unit "MBit"; use one of GiB, GB, MiB, MB, KiB, KB, B
    traffic.updates.transport.tcp.rto_max: 1s is below rto_min, which is 2s
    run.measure.from: "2ms" is not before run.until, which is "1ms"
    "#);
}

#[test]
fn one_screen() {
    let keys: String = (0..30).map(|key| format!("key{key} = {key}\n")).collect();
    let text = edited(&[("initial_window = 16", &keys)]);
    assert_eq!(text.lines().count(), 21);
    assert!(text.ends_with("\nand 10 more"), "{text}");
}

#[test]
fn overrides_that_fit() {
    let scenario = with(&[
        "transport.ndp.initial_window=20",
        "traffic.queries.sizes.fixed=3MB",
        "traffic.1.flows=7",
        "queue.ndp.data_limit.packets=12",
        "run.audit=true",
        "run.until=null",
        "name=other",
    ]);
    let json = serde_json::to_value(scenario.unwrap()).unwrap();
    assert_eq!(json["transport"]["ndp"]["initial_window"], 20);
    assert_eq!(json["traffic"][0]["sizes"]["fixed"], "3MB");
    assert_eq!(json["traffic"][1]["flows"], 7);
    assert_eq!(json["queue"]["ndp"]["data_limit"]["packets"], 12);
    assert_eq!((&json["run"]["audit"], &json["run"]["until"]), (&true.into(), &serde_json::Value::Null));
    assert_eq!(json["name"], "other");
}

#[test]
fn overrides_that_change_the_variant() {
    assert_snapshot!(
        set(&["transport.tcp.mss=9000B"]),
        @r#"transport.tcp: transport is "ndp", not "tcp"; set transport=tcp first"#
    );
    let scenario = with(&["transport=tcp", "transport.tcp.mss=9000B"]).unwrap();
    assert_eq!(serde_json::to_value(scenario).unwrap()["transport"]["tcp"]["mss"], "9KB");
    // The whole of the new variant says all that there is to say.
    let scenario = with(&["transport.tcp={}", "transport.tcp.mss=9000B"]).unwrap();
    assert_eq!(scenario.transport.name(), "tcp");
}

/// Tables and lists may be written as in a scenario file; other text that begins with a bracket stays text.
#[test]
fn overrides_in_toml() {
    let scenario = with(&[
        r#"transport={ tcp = { congestion = "dctcp", mss = "9000B" } }"#,
        "traffic.queries.matrix={pairs=[[0, 1],\t[2, 3]]}",
        "name=[v2] of a name",
    ]);
    let json = serde_json::to_value(scenario.unwrap()).unwrap();
    assert!(json["transport"]["tcp"]["congestion"]["dctcp"].is_object());
    assert_eq!(json["transport"]["tcp"]["mss"], "9KB");
    assert_eq!(json["traffic"][0]["matrix"]["pairs"][1][1], 3);
    assert_eq!(json["name"], "[v2] of a name");
    let refusal = set(&["transport={ tcp = { congestion = \"dctcp\" } }\nname = 3"]);
    assert!(refusal.starts_with("transport: "), "{refusal}");
}

#[test]
fn overrides_that_lead_nowhere() {
    let overrides = [
        "traffic.querys.flows=3",
        "run.sede=1",
        "=2",
        "name.first=a",
        "transport.ndp.mtu=big",
        "traffic.9.flows=1",
    ];
    assert_snapshot!(set(&overrides), @r#"
    traffic.querys.flows: "querys" is not one of "queries", "updates"; did you mean "queries"?
    "" is not a key; write it as in transport.ndp.initial_window=20
    name.first: name is "example", which has nothing below it
    traffic.9.flows: "9" is not one of "queries", "updates"; did you mean "traffic.queries.flows" or "traffic.updates.flows"?
    transport.ndp.mtu: "big" is not a number with a unit, such as "64KiB"
    run.sede: unknown key; did you mean "seed"?
    "#);
}

#[test]
fn a_resolved_scenario_names_everything() {
    let scenario =
        read(GOOD, Format::Toml, &[("traffic.updates.routing.balancer".into(), "per-flow".into())]);
    let resolved = scenario.unwrap().resolved();
    assert_eq!(resolved.queue.as_ref().map(|queue| queue.name()), Some("ndp"));
    let balancers: Vec<_> = resolved.traffic.iter().map(|entry| resolved.balancer_of(entry).name()).collect();
    assert_eq!(balancers, ["per-packet", "per-flow"]);
    assert!(resolved.traffic.iter().all(|entry| entry.transport.as_ref() == Some(&resolved.transport)));
    assert_eq!(resolved.resolved(), resolved);
    assert_eq!(resolved.full_packet(), 1500);
}

/// The transports that need no more than the queue named "ndp" has.
fn over_the_trimming_queue() -> Vec<&'static str> {
    let fits = |name: &&str| with(&[&format!("transport={name}"), "queue.ndp.trim=arriving"]).is_ok();
    let fitting: Vec<_> = Transport::NAMES.iter().copied().filter(fits).collect();
    assert!(fitting.len() >= 3, "{fitting:?}");
    fitting
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is typed, the answer is a scenario or a list of problems.
    #[test]
    fn mutated_text_never_panics(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, "[ -~\n\u{e9}]{0,6}"), 1..6),
    ) {
        let mut text: Vec<char> = GOOD.chars().collect();
        for (at, length, with) in edits {
            let start = at.index(text.len() + 1);
            let end = (start + length).min(text.len());
            text.splice(start..end, with.chars());
        }
        let text: String = text.into_iter().collect();
        if let Err(problems) = read(&text, Format::Toml, &[]) {
            prop_assert!(!problems.to_string().is_empty());
        }
        let _ = read(&text, Format::Json, &[]);
    }

    /// Nor whatever stands in the place of a value.
    #[test]
    fn mutated_values_never_panic(
        key in prop::sample::select(vec![
            "topology", "topology.fat-tree.k", "transport", "transport.ndp", "transport.ndp.mtu", "queue",
            "transport.ndp.pull_rate", "queue.ndp.data_limit", "traffic", "traffic.queries", "traffic.1.sizes.fixed",
            "traffic.queries.transport", "run", "run.until", "run.seed", "name", "routing.balancer", "x.y.z",
        ]),
        value in prop::sample::select(vec![
            "0", "-1", "1e400", "1e300", "18446744073709551615", "18446744073709551616", "0.5", "\"\"", "65B", "1us",
            "99999999999999999999s", "null", "true", "[]", "[[]]", "{}", "ndp", "tcp", "{\"tcp\": {}}", "[{}]",
            "{\"tcp\": {\"mss\": \"1B\"}, \"ndp\": 3}", "[{\"name\": \"a\"}, {\"name\": \"a\"}]", "\u{e9}\u{e9}s",
        ]),
    ) {
        if let Err(problems) = read(GOOD, Format::Toml, &[(key.into(), value.into())]) {
            prop_assert!(!problems.to_string().is_empty());
        }
    }

    /// The content of run.json is a scenario that runs the same.
    #[test]
    fn printing_and_reading_are_inverse(
        k in 2u32..6,
        window in 1u32..1000,
        mtu in 100u64..65_000,
        size in 1u64..1_000_000_000_000,
        seed in 0u64..1 << 62,
        transport in prop::sample::select(over_the_trimming_queue()),
    ) {
        let overrides = [
            ("transport", transport.to_string()),
            ("traffic.updates.transport.ndp.initial_window", window.to_string()),
            ("traffic.updates.transport.ndp.mtu", format!("{mtu}B")),
            ("queue.ndp.trim", "arriving".to_string()),
            ("topology.fat-tree.k", (2 * k).to_string()),
            ("traffic.updates.sizes.fixed", format!("{size}B")),
            ("run.seed", seed.to_string()),
        ];
        let overrides = overrides.map(|(key, value)| (key.to_string(), value));
        let scenario = read(GOOD, Format::Toml, &overrides).map_err(|problems| problems.to_string()).unwrap().resolved();
        let json = serde_json::to_string(&scenario).unwrap();
        prop_assert_eq!(read(&json, Format::Json, &[]).unwrap(), scenario.clone());
        let toml = toml::to_string(&scenario).unwrap();
        prop_assert_eq!(read(&toml, Format::Toml, &[]).unwrap(), scenario);
    }
}
