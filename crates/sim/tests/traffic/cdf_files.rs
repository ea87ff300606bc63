//! Files with a distribution of sizes: the dialects, and the messages for bad files.

use flowyard_sim::problem::Problems;
use flowyard_sim::scenario::{self, Format, Scenario};
use flowyard_sim::traffic::sizes::Sizes;
use flowyard_sim::traffic::sizes::cdf::{Dialect, Interpolation};
use flowyard_sim::traffic::sizes::cdf_file::{CdfFile, Options, read};
use insta::assert_snapshot;

const HPCC: &str = "0 0\n10000 15\n20000 20\n30000 30\n50000 40\n80000 53\n200000 60\n1000000 70\n2000000 80\n\
                    5000000 90\n10000000 97\n30000000 100\n";
const GENERATOR: &str = "0 0\n10000 0.15\n20000 0.2\n30000 0.3\n50000 0.4\n80000 0.53\n200000 0.6\n1e+06 0.7\n\
                         2e+06 0.8\n5e+06 0.9\n1e+07 0.97\n3e+07 1\n";
const NS2: &str = "6 1 0\n6 1 0.15\n13 1 0.2\n19 1 0.3\n33 1 0.4\n53 1 0.53\n133 1 0.6\n667 1 0.7\n1333 1 0.8\n\
                   3333 1 0.9\n6667 1 0.97\n20000 1 1\n";
const HOMA: &str = "440.7907\n1 0\n2 0.25\n10 0.75\n100 1\n";

fn plain(text: &str) -> CdfFile {
    read(text, Options::default()).unwrap()
}

#[test]
fn each_dialect_is_known_by_its_looks() {
    let hpcc = plain(HPCC);
    assert_eq!((hpcc.dialect, hpcc.interpolation), (Dialect::Percent, Interpolation::Linear));
    assert_eq!(hpcc.points[1], (10_000, 15.0));
    // The published mean of this table.
    assert!((hpcc.mean_bytes - 1_711_250.0).abs() < 1e-6);

    let generator = plain(GENERATOR);
    assert_eq!((generator.dialect, generator.interpolation), (Dialect::Fraction, Interpolation::Linear));
    assert_eq!(generator.points, hpcc.points);

    let options = Options { packet_bytes: Some(1_460), ..Options::default() };
    let ns2 = read(NS2, options).unwrap();
    assert_eq!((ns2.dialect, ns2.interpolation), (Dialect::Ns2, Interpolation::Linear));
    assert_eq!(ns2.points[2], (13 * 1_460, 20.0));
    // Homa's authors give the mean of the same table as steps: 1622.94 packets.
    let steps = read(NS2, Options { interpolation: Some(Interpolation::Step), ..options }).unwrap();
    assert!((steps.mean_bytes / 1_460.0 - 1_622.94).abs() < 0.005, "{}", steps.mean_bytes);

    let homa = plain(HOMA);
    assert_eq!((homa.dialect, homa.interpolation), (Dialect::Homa, Interpolation::Step));
    // A size has the share that it adds: 2 with 25 %, 10 with 50 %, 100 with 25 %.
    assert_eq!(homa.points, [(2, 25.0), (10, 25.0), (10, 75.0), (100, 75.0), (100, 100.0)]);
    assert_eq!(homa.mean_bytes, 0.25 * 2.0 + 0.5 * 10.0 + 0.25 * 100.0);
    let linear = Options { interpolation: Some(Interpolation::Linear), ..Options::default() };
    assert_eq!(read(HOMA, linear).unwrap().mean_bytes, 0.25 * 1.5 + 0.5 * 6.0 + 0.25 * 55.0);
}

/// netbench's fabricated distribution in both its readings: 10 KB half of the time, 1 MB the other half.
#[test]
fn a_step_and_a_line_differ() {
    let table = "10000 50\n1000000 100";
    assert_eq!(plain(table).mean_bytes, 0.5 * 10_000.0 + 0.5 * 505_000.0);
    let step = Options { interpolation: Some(Interpolation::Step), ..Options::default() };
    assert_eq!(read(table, step).unwrap().mean_bytes, 505_000.0);
}

#[test]
fn what_stands_around_the_numbers_does_not_matter() {
    let dressed = "\u{feff}# from a paper\nsize_bytes,cumulative_percent\r\n0,0\r\n\r\n 1000 ,\t50  # half\r\n2000, 100\r\n";
    assert_eq!(plain(dressed).points, [(0, 0.0), (1_000, 50.0), (2_000, 100.0)]);
    // Two lines may differ by less than a byte; a fraction in decimal stays one.
    assert_eq!(plain("100.1 0\n100.2 0\n200 0.07\n300 1").points, [(100, 0.0), (200, 7.0), (300, 100.0)]);
}

#[test]
fn the_user_has_the_last_word() {
    let said = |dialect| Options { dialect: Some(dialect), ..Options::default() };
    // One line, 100 bytes: a percent, and a fraction too small.
    assert_eq!(read("100 100", said(Dialect::Percent)).unwrap().points, [(100, 100.0)]);
    assert_snapshot!(read(HPCC, said(Dialect::Fraction)).unwrap_err(), @"line 2: 15 is above 1");
    assert_snapshot!(read(GENERATOR, said(Dialect::Percent)).unwrap_err(), @"line 12: the last share is 1; it must be 100");
    assert_snapshot!(read(HPCC, said(Dialect::Homa)).unwrap_err(), @r#"line 1: is not the mean alone, as in the dialect "homa""#);
    assert_snapshot!(read(HPCC, said(Dialect::Ns2)).unwrap_err(), @r#"has sizes in packets; give packet_bytes, the payload of a packet, such as "1460B""#);
    assert_eq!(
        Options::named(Some("homa"), None, Some("linear"))
            .map(|options| (options.dialect, options.interpolation)),
        Ok((Some(Dialect::Homa), Some(Interpolation::Linear)))
    );
    assert_snapshot!(Options::named(Some("hpcc"), None, None).unwrap_err(), @r#"dialect is "hpcc"; use one of "percent", "fraction", "ns2", "homa""#);
    assert_snapshot!(Options::named(None, Some(0), None).unwrap_err(), @"packet_bytes is 0; use 1 or more");
}

#[test]
fn bad_files_are_refused_with_their_line() {
    let texts = [
        "",
        "# nothing\n\n",
        "hello world",
        "0 0\n10 x\n20 100",
        "0 0\n10 nan\n20 100",
        "0 0\n-10 50\n20 100",
        "0 0\n10 inf\n20 100",
        "0 0\n10 50\n5 60\n20 100",
        "0 0\n10 50\n15 40\n20 100",
        "0 0\n10 50\n10 50\n20 100",
        "0 0\n10 50\n20 97",
        "0 0\n10\n20 100",
        "0 0\n10 120\n20 100",
        "0 0\n2e12 100",
        "12.5",
        "1 2 3 4\n5 6 7 8",
        "6 1 0\n13 1 1",
        "name,share\nother,share\n20 100",
    ];
    let said: Vec<String> = texts
        .iter()
        .map(|text| format!("{text:?}: {}", read(text, Options::default()).unwrap_err()))
        .collect();
    assert_snapshot!(said.join("\n"), @r##"
    "": has no points
    "# nothing\n\n": has no points
    "hello world": line 1: "hello" is not a number of at least 0
    "0 0\n10 x\n20 100": line 2: "x" is not a number of at least 0
    "0 0\n10 nan\n20 100": line 2: "nan" is not a number of at least 0
    "0 0\n-10 50\n20 100": line 2: "-10" is not a number of at least 0
    "0 0\n10 inf\n20 100": line 2: "inf" is not a number of at least 0
    "0 0\n10 50\n5 60\n20 100": line 3: size 5 comes after 10; sizes ascend
    "0 0\n10 50\n15 40\n20 100": line 3: share 40 comes after 50; shares ascend
    "0 0\n10 50\n10 50\n20 100": line 3: repeats the line before
    "0 0\n10 50\n20 97": line 3: the last line does not end with 1 or 100, which would identify the dialect; give it: "percent" (size, percent), "fraction" (size, probability), "ns2" (packets, anything, probability) or "homa" (the mean, then size, probability)
    "0 0\n10\n20 100": line 2: a line has 2 numbers, this one 1
    "0 0\n10 120\n20 100": line 2: 120 is above 100
    "0 0\n2e12 100": line 2: 2000000000000 bytes is above 1000GB
    "12.5": line 1: the last line does not end with 1 or 100, which would identify the dialect; give it: "percent" (size, percent), "fraction" (size, probability), "ns2" (packets, anything, probability) or "homa" (the mean, then size, probability)
    "1 2 3 4\n5 6 7 8": line 1: has 4 numbers; a line has 2 or 3
    "6 1 0\n13 1 1": has sizes in packets; give packet_bytes, the payload of a packet, such as "1460B"
    "name,share\nother,share\n20 100": line 2: "other" is not a number of at least 0
    "##);
    let long: String = (0..50_001).map(|line| format!("{line} 0\n")).collect();
    assert_snapshot!(read(&long, Options::default()).unwrap_err(), @"line 50001: is one too many; at most 50000 have numbers");
}

const SCENARIO: &str = "topology = \"single-switch\"\ntransport = \"datagram\"\n[[traffic]]\nname = \"flows\"\n\
                        arrivals = \"at-once\"\nmatrix = \"permutation\"\n";

fn scenario(rest: &str) -> Result<Scenario, Problems> {
    let files = |name: &str| match name {
        "a/hpcc.txt" => Ok(HPCC.to_string()),
        "packets.cdf" => Ok(NS2.to_string()),
        "bad.txt" => Ok("0 0\n10 50\n5 60\n20 100".to_string()),
        _ => Err("No such file or directory".to_string()),
    };
    scenario::read(&format!("{SCENARIO}{rest}"), Format::Toml, &[], &files)
}

#[test]
fn a_scenario_with_a_file_becomes_one_with_its_points() {
    let read = scenario("sizes.cdf = { file = \"a/hpcc.txt\" }").unwrap();
    let Sizes::Cdf(cdf) = &read.traffic[0].sizes else { panic!("a cdf") };
    assert_eq!((&cdf.points, &cdf.file), (&plain(HPCC).points, &None));
    // What the run records runs alone.
    let json = serde_json::to_string(&read.resolved()).unwrap();
    let again = scenario::read(&json, Format::Json, &[], &scenario::no_files).unwrap();
    assert_eq!(again.traffic[0].sizes, read.traffic[0].sizes);

    let packets =
        "sizes.cdf = { file = \"packets.cdf\", packet_bytes = \"1460B\", interpolation = \"step\" }";
    let mean = scenario(packets).unwrap().traffic[0].sizes.mean();
    assert!((mean / 1_460.0 - 1_622.94).abs() < 0.005);
    // Packet lengths are sizes too, the scenario's and an entry's.
    let lengths =
        "sizes.fixed = \"1MB\"\n[traffic.transport.datagram]\nlengths.cdf = { file = \"a/hpcc.txt\" }";
    assert!(!serde_json::to_string(&scenario(lengths).unwrap()).unwrap().contains("hpcc"));
}

#[test]
fn a_scenario_with_a_bad_file_is_told_which() {
    let cases = [
        "sizes.cdf = { file = \"missing.txt\" }",
        "sizes.cdf = { file = \"bad.txt\" }",
        "sizes.cdf = { file = \"packets.cdf\" }",
        "sizes.cdf = { file = \"packets.cdf\", packet_bytes = \"0B\" }",
        "sizes.cdf = { file = \"a/hpcc.txt\", dialect = \"fractions\" }",
        "sizes.cdf = { file = \"a/hpcc.txt\", dialct = \"percent\" }",
        "sizes.cdf = { file = \"a/hpcc.txt\", points = [[10, 100]] }",
        "sizes.cdf = { file = 3 }",
        "sizes.cdf = { points = [[10, 100]], interpolation = \"step\" }",
        "sizes.cdf = {}",
        "sizes = \"cdf\"",
    ];
    let said: Vec<String> = cases.iter().map(|case| scenario(case).unwrap_err().to_string()).collect();
    assert_snapshot!(said.join("\n"), @r#"
    traffic.flows.sizes.cdf.file: "missing.txt": No such file or directory
    traffic.flows.sizes.cdf.file: "bad.txt": line 3: size 5 comes after 10; sizes ascend
    traffic.flows.sizes.cdf.file: "packets.cdf": has sizes in packets; give packet_bytes, the payload of a packet, such as "1460B"
    traffic.flows.sizes.cdf.packet_bytes: "0B" is too small (allowed: "1B" to "64KB"); use "1B"
    traffic.flows.sizes.cdf.dialect: "fractions" is not one of "percent", "fraction", "ns2", "homa"; did you mean "fraction"?
    traffic.flows.sizes.cdf.dialct: unknown key; did you mean "dialect"?
    traffic.flows.sizes.cdf: has both points and file; give one
    traffic.flows.sizes.cdf.file: 3 is a number; use a string
    traffic.flows.sizes.cdf.interpolation: sets how a file is read, and no file is given; leave it out
    traffic.flows.sizes.cdf: has neither points nor file; give points such as [[1000, 0], [2000, 100]]
    traffic.flows.sizes.cdf: has neither points nor file; give points such as [[1000, 0], [2000, 100]]
    "#);
    // Packet lengths are held to the same.
    let lengths = "sizes.fixed = \"1MB\"\n[traffic.transport.datagram]\nlengths.cdf = ";
    let said = |cdf: &str| scenario(&format!("{lengths}{cdf}")).unwrap_err().to_string();
    assert_snapshot!(said("{}"), @"traffic.flows.transport.datagram.lengths.cdf: has neither points nor file; give points such as [[1000, 0], [2000, 100]]");
    assert_snapshot!(said("{ points = [[40, 50], [30, 100]] }"), @"traffic.flows.transport.datagram.lengths.cdf.points.1: 30 bytes comes after 40; sizes ascend");
    assert_snapshot!(said("{ file = \"bad.txt\" }"), @r#"traffic.flows.transport.datagram.lengths.cdf.file: "bad.txt": line 3: size 5 comes after 10; sizes ascend"#);
    let alone = scenario::read(
        &format!("{SCENARIO}sizes.cdf = {{ file = \"a/hpcc.txt\" }}"),
        Format::Toml,
        &[],
        &scenario::no_files,
    );
    assert_snapshot!(alone.unwrap_err(), @r#"traffic.flows.sizes.cdf.file: "a/hpcc.txt": there are no files here; give the points"#);
}
