//! Classes of traffic and PIAS against service orders, drops and marks worked out by hand.

use crate::common::scenarios::queue_under_tcp;
use crate::common::{Run, run, run_with};
use crate::two_flows::{MSS, places, scenario};
use flowyard_sim::transport::tagging::{TagBy, TagRepeats, Tagging};
use flowyard_sim::units::Bytes;

fn tagging(by: TagBy, repeats: TagRepeats) -> Tagging {
    Tagging { thresholds: vec![Bytes(1000), Bytes(2000), Bytes(2001)], by, repeats }
}

/// Thresholds are exact to the byte. Packets whose first byte is one of the first 1000 have class 0, where the first
/// one decides; where it is the last one, they must end there.
#[test]
fn a_class_is_the_number_of_thresholds_passed() {
    let first = tagging(TagBy::First, TagRepeats::AsBefore);
    let of_first = |before| first.class(before, 1460, None);
    assert_eq!([0, 999, 1000, 1999, 2000, 2001, u64::MAX / 2].map(of_first), [0, 0, 1, 1, 2, 3, 3]);
    let last = tagging(TagBy::Last, TagRepeats::AsBefore);
    let of_last = |end: u64| last.class(end - 10, 10, None);
    assert_eq!([10, 1000, 1001, 2000, 2001, 2002].map(of_last), [0, 0, 1, 1, 2, 3]);
    assert_eq!(last.class(0, 1000, None), 0);
    assert_eq!(last.class(0, 1001, None), 1);
}

/// A retransmission has the class that it had, or that of all that has been sent.
#[test]
fn the_class_of_what_is_sent_again() {
    for by in [TagBy::First, TagBy::Last] {
        assert_eq!(tagging(by, TagRepeats::AsBefore).class(100, 100, Some(5000)), 0);
        assert_eq!(tagging(by, TagRepeats::AsNewest).class(100, 100, Some(5000)), 3);
        assert_eq!(tagging(by, TagRepeats::AsNewest).class(100, 100, None), 0);
    }
    // A flow that has sent 1000 bytes: its last byte is before the threshold, its next is not.
    assert_eq!(tagging(TagBy::Last, TagRepeats::AsNewest).class(0, 100, Some(1000)), 0);
    assert_eq!(tagging(TagBy::First, TagRepeats::AsNewest).class(0, 100, Some(1000)), 1);
}

/// The port of strict priority serves two flows of TCP, whose first windows are sent at once.
fn two_flows(transport: &str, queue: &str) -> Run {
    let parts = format!(
        "[transport.tcp]\ninitial_window = 10\nhandshake = false\n{transport}\n[queue.strict-priority]\n{queue}"
    );
    run(&scenario(&parts, ["", ""]))
}

/// One threshold after so many segments.
fn after(segments: u64) -> String {
    format!("tagging.thresholds = [\"{}B\"]", segments * MSS)
}

#[test]
fn a_short_flow_overtakes_a_long_one() {
    // First-in first-out: five of the long flow, one short, one long, one short, four long.
    assert_eq!(places(&two_flows("", "")), [12, 8]);
    // Two segments of the long flow have class 0 as well.
    assert_eq!(places(&two_flows(&after(2), "")), [12, 4]);
    assert_eq!(places(&two_flows(&after(4), "")), [12, 6]);
    // A byte less, and the third segment has class 0, too; a byte more changes nothing.
    let threshold = |bytes: u64| format!("tagging.thresholds = [\"{bytes}B\"]");
    assert_eq!(places(&two_flows(&threshold(2 * MSS + 1), "")), [12, 5]);
    assert_eq!(places(&two_flows(&threshold(3 * MSS), "")), [12, 5]);
    assert_eq!(places(&two_flows(&threshold(3 * MSS + 1), "")), [12, 6]);
    // By the last byte: the second segment of either flow ends behind this threshold.
    let last = format!("tagging = {{ thresholds = [\"{}B\"], by = \"last\" }}", 2 * MSS - 1);
    assert_eq!(places(&two_flows(&last, "")), [12, 8]);
}

/// Each segment sinks by a class. With eight classes, after the first of the long flow: both flows' class 0, then class
/// 1. With two the short flow's second segment waits behind the five of class 1 that came before it.
#[test]
fn classes_beyond_the_last_go_with_it() {
    let steps: Vec<_> = (1..=7).map(|segments| format!("\"{}B\"", segments * MSS)).collect();
    let tagging = format!("tagging.thresholds = [{}]", steps.join(", "));
    assert_eq!(places(&two_flows(&tagging, "classes = 8")), [12, 4]);
    assert_eq!(places(&two_flows(&tagging, "classes = 2")), [12, 8]);
    assert_eq!(places(&two_flows(&tagging, "classes = 1")), [12, 8]);
}

/// A packet that arrives at a full buffer is dropped, of whatever class, and no other is.
#[test]
fn the_buffer_is_shared() {
    let drops = |queue: &str| two_flows(&after(1), queue).flows("drops");
    assert_eq!(drops("limit.packets = 12"), [0, 0]);
    // Five of the long flow are there when the short one comes, and nothing leaves before all have come.
    assert_eq!(drops("limit.packets = 5"), [5, 2]);
    assert_eq!(drops("limit.bytes = \"7500B\""), [5, 2]);
    assert_eq!(drops("limit.full-packets = 6"), [5, 1]);
    // The one on the wire does not count.
    assert_eq!(drops("limit.packets = 5\nlimit_counts_wire = false"), [5, 1]);
}

#[test]
fn marks_by_port_or_by_class() {
    let marks = |tagged: u64, queue: &str| {
        let run = two_flows(&format!("congestion = \"dctcp\"\n{}", after(tagged)), queue);
        run.link("switch", "receiver", "marks")
    };
    // Of twelve that come, the first three find no more than three with them.
    assert_eq!(marks(2, "threshold.packets = 3"), 9);
    assert_eq!(marks(2, "threshold.full-packets = 3"), 9);
    assert_eq!(marks(2, "threshold.packets = 3\nlimit_counts_wire = false"), 8);
    // Class 0: two of either flow, of which the last is too many; class 1: eight, of which five are.
    assert_eq!(marks(2, "threshold.packets = 3\nmark = \"class\""), 1 + 5);
    // Without the one on the wire, which has class 0.
    assert_eq!(marks(2, "threshold.packets = 3\nmark = \"class\"\nlimit_counts_wire = false"), 5);
    assert_eq!(marks(2, "threshold.packets = 1\nmark = \"class\""), 3 + 7);
    // Looked at on departure: the first finds the port empty, the second leaves as one of eleven, the last alone.
    let leaving = |queue: &str| marks(2, &format!("mark_on = \"dequeue\"\n{queue}"));
    assert_eq!(leaving("threshold.packets = 3"), 8);
    assert_eq!(leaving("threshold.packets = 3\nlimit_counts_wire = false"), 7);
    assert_eq!(leaving("threshold.packets = 1"), 10);
    assert_eq!(leaving("threshold.packets = 1\nlimit_counts_wire = false"), 9);
    // Class 0: the second leaves as one of three; class 1: the first as one of eight.
    assert_eq!(leaving("threshold.packets = 1\nmark = \"class\""), 2 + 7);
    assert_eq!(leaving("threshold.packets = 1\nmark = \"class\"\nlimit_counts_wire = false"), 1 + 6);
}

/// An incast under DCTCP over a long flow, with marks and drops.
fn incast(queue: &str, transport: &str) -> Run {
    run(&format!(
        r#"
        {queue}
        [topology.single-switch]
        hosts = 9
        [transport.tcp]
        congestion = "dctcp"
        rto_min = "1ms"
        {transport}
        [[traffic]]
        name = "long"
        arrivals = "at-once"
        matrix.pairs = [[8, 0]]
        sizes.fixed = "10MB"
        [[traffic]]
        name = "answers"
        arrivals.at-once = {{ at = "5ms" }}
        matrix.incast = {{ senders = 7, receiver = 0 }}
        sizes.fixed = "50KB"
        "#
    ))
}

/// With one class, or without tags, the queue is the first-in first-out one that marks.
#[test]
fn one_class_is_first_in_first_out() {
    let rules = "limit = { packets = 40 }, threshold = { packets = 10 }";
    for wire in [true, false] {
        let rules = format!("{rules}, limit_counts_wire = {wire}");
        let plain = incast(&format!("queue.ecn = {{ {rules} }}"), "");
        assert!(plain.counters().drops > 0 && plain.counters().marks > 0);
        let alike = [
            ("", "classes = 8"),
            ("", "classes = 8, mark = \"class\""),
            ("tagging.thresholds = [\"3000B\"]", "classes = 1"),
        ];
        for (transport, classes) in alike {
            let same = incast(&format!("queue.strict-priority = {{ {rules}, {classes} }}"), transport);
            assert_eq!(same.digest(), plain.digest(), "{transport} {classes}");
        }
        let tagged =
            incast(&format!("queue.strict-priority = {{ {rules} }}"), "tagging.thresholds = [\"3000B\"]");
        assert_ne!(tagged.digest(), plain.digest());
    }
}

/// Web search at load 0.8 on one switch: short flows are faster under PIAS than under DCTCP alone, and no byte is lost.
#[test]
fn short_flows_gain() {
    let text = r#"
        [topology.single-switch]
        hosts = 8
        rate = "10Gbps"
        delay = "5us"
        [transport.tcp]
        congestion = "dctcp"
        rto_min = "2ms"
        rto_initial = "2ms"
        delayed_ack = 1
        handshake = false
        [queue.strict-priority]
        [[traffic]]
        name = "web-search"
        arrivals.poisson = { load = 0.8 }
        matrix = "uniform"
        sizes = "web-search"
        flows = 600
    "#;
    let mean = |run: &Run| {
        let (sizes, fct) = (run.flows("size_bytes"), run.flows("fct_ps"));
        assert_eq!(run.flows("delivered_bytes"), sizes);
        let short: Vec<_> = (0..sizes.len()).filter(|&row| sizes[row] < 100_000).collect();
        assert!(short.len() > 200);
        short.iter().map(|&row| fct[row] as f64).sum::<f64>() / short.len() as f64
    };
    let dctcp = mean(&run(text));
    let pias = mean(&run_with(text, &[("transport.tcp.tagging", "{}")]));
    assert!(pias < dctcp, "{pias} against {dctcp}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |transport: &str, queue: &str, says: &str| {
        let why = queue_under_tcp(transport, queue);
        assert!(why.contains(says), "{why}");
    };
    assert_eq!(queue_under_tcp("tagging = {}", ""), "strict-priority");
    assert_eq!(queue_under_tcp("congestion = \"dctcp\", tagging = {}", ""), "strict-priority");
    refused(
        "congestion = \"dctcp\", tagging = {}",
        "queue = \"ecn\"",
        "\"ecn\" has no classes, which transport.tcp needs; use \"strict-priority\"",
    );
    refused(
        "congestion = \"dctcp\"",
        "queue.strict-priority.mark = \"none\"",
        "\"strict-priority\" has no ECN marking, which transport.tcp needs",
    );
    let falling = "tagging.thresholds = [\"1KB\", \"3KB\", \"3KB\"]";
    refused(falling, "", "transport.tcp.tagging.thresholds.2: 3KB must be above 3KB");
    refused("tagging.thresholds = [\"0B\"]", "", "transport.tcp.tagging.thresholds.0: 0B must be above 0B");
    refused("tagging.thresholds = []", "", "transport.tcp.tagging.thresholds");
    refused("", "queue.strict-priority.classes = 9", "queue.strict-priority.classes");
}
