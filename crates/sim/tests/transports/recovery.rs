//! Recovery of RoCE on a switch with two hosts, 100 Gbps and 1 us: a packet of 1048 B takes P = 83.84 ns, and is
//! acknowledged by 60 B, 4.8 ns a link, R = 2 P + 2 x 4.8 + 4000 ns after its start. n packets in an idle network are
//! acknowledged after (n - 1) P + R.

use crate::common::{Run, in_parts, run, same, scenario};
use flowyard_sim::engine::data::finished::Status;
use flowyard_sim::engine::parted::executor::InTurn;

const P: u64 = 83_840;
const R: u64 = 2 * P + 2 * 4_800 + 4_000_000;

/// A flow of so many packets, of which those at the given places among all that are sent are lost.
fn flow(recovery: &str, packets: u64, lost: &[u32]) -> Run {
    let faults = match lost {
        [] => String::new(),
        lost => format!("faults.packets = [{{ traffic = \"flow\", numbers = {lost:?} }}]"),
    };
    run(&format!(
        r#"
        transport.roce = {{ header_bytes = "48B", ack_bytes = "60B", congestion.dctcp = {{}}, recovery.{recovery} }}
        queue.lossless = {{ kmin = "100MB", kmax = "100MB", xoff = "10MB" }}
        topology.single-switch = {{ hosts = 2, rate = "100Gbps", delay = "1us" }}
        {faults}
        [[traffic]]
        name = "flow"
        arrivals.at-once.jitter = "0s"
        matrix.pairs = [[0, 1]]
        sizes.fixed = "{}B"
        "#,
        packets * 1000
    ))
}

fn acked(run: &Run) -> u64 {
    assert_eq!(run.status(), Status::Complete);
    run.flow("fct_acked_ps")
}

/// Go-back-N: packet 100 starts at t; the next one, at t + P, is discarded, and its report is back at t + P + R. Until then
/// packets start at t + i P for i = 0 to 50: these 51 are retransmitted.
#[test]
fn go_back_n_retransmits_a_flight() {
    let run = flow("go-back-n = {}", 1000, &[100]);
    assert_eq!(run.flow("retransmissions"), 51);
    // The first of them goes when the wire is free after the report.
    assert_eq!(acked(&run), (1000 + 51 - 1) * P + R);
}

/// Reported again after 4 us without progress, as in ConWeave's simulator, the same loss makes two flights: discarded packets
/// arrive each P until the retransmitted one does, R after the first report. The 48th after it is the first that comes
/// 4 us later, so that the second report finds 48 packets retransmitted and has the sender begin anew.
#[test]
fn a_repeated_report_makes_a_second_flight() {
    let run = flow("go-back-n.nak_interval = \"4us\"", 1000, &[100]);
    assert_eq!((run.flow("retransmissions"), 4_000_000_u64.div_ceil(P)), (51 + 48, 48));
}

/// Go-back-0 with chunks of four: packet 102 is the second of its chunk, which begins with packet 101: it is retransmitted,
/// too, and was accepted before.
#[test]
fn go_back_0_retransmits_the_chunk() {
    for (lost, flight) in [(101, 51), (102, 52), (104, 54)] {
        let run = flow("go-back-0.chunk = \"4000B\"", 1000, &[lost]);
        assert_eq!((run.flow("retransmissions"), run.flow("delivered_bytes")), (flight, 1_000_000), "{lost}");
        acked(&run);
    }
}

/// A flow whose size is no multiple of the chunk completes.
#[test]
fn the_end_of_a_flow_ends_a_chunk() {
    for packets in 1..9 {
        assert_eq!(acked(&flow("go-back-0 = {}", packets, &[])), (packets - 1) * P + R);
    }
}

/// IRN retransmits what is missing and nothing else, while new packets go on: the wire never rests. With `resend = "all"`
/// it is a flight but for the packets known to have arrived: the first report is back after 50 more packets, of which 49
/// are still unacknowledged, and each that is retransmitted gives time for the answer of one more.
#[test]
fn irn_retransmits_what_is_missing() {
    let run = flow("irn.bdp_cap = \"1MB\"", 1000, &[100]);
    assert_eq!((run.flow("retransmissions"), acked(&run)), (1, 1000 * P + R));
    let run = flow("irn.bdp_cap = \"1MB\"", 1000, &[100, 103, 104, 120]);
    assert_eq!((run.flow("retransmissions"), acked(&run)), (4, 1003 * P + R));
    let run = flow("irn = { bdp_cap = \"1MB\", resend = \"all\" }", 1000, &[100]);
    assert!((2..=51).contains(&run.flow("retransmissions")), "{}", run.flow("retransmissions"));
    acked(&run);
}

/// The last packet is lost, and one packet is in flight: the low timeout runs from the acknowledgement of the one before,
/// P before that of the last would have come.
#[test]
fn irn_repairs_the_end_by_its_low_timeout() {
    let run = flow("irn = {}", 100, &[100]);
    assert_eq!((run.flow("retransmissions"), run.flow("timeouts")), (1, 1));
    assert_eq!(acked(&run), 98 * P + R + 100_000_000 + R);
    // The last five: five are in flight, which are not few, and each timeout repairs one; the last three by low timeouts.
    let run = flow("irn = {}", 100, &[96, 97, 98, 99, 100]);
    assert_eq!((run.flow("retransmissions"), run.flow("timeouts")), (5, 5));
    assert_eq!(acked(&run), 94 * P + R + 2 * 320_000_000 + 3 * 100_000_000 + 5 * R);
}

/// With at most 20 packets in flight, which take less than R, 100 packets take five rounds of R and the rest of the last.
#[test]
fn irn_keeps_no_more_in_flight_than_its_cap() {
    let run = flow("irn.bdp_cap = \"20000B\"", 100, &[]);
    assert_eq!(acked(&run), 5 * R + 19 * P);
    assert_eq!(run.0.summary.derived.keys().filter(|key| key.contains("bdp_cap")).count(), 0);
    // R x 100 Gbps: 52,216 B.
    let run = flow("irn = {}", 1000, &[]);
    let cap = &run.0.summary.derived["transport.roce.recovery.irn.bdp_cap"];
    assert_eq!(cap.as_str(), Some("52216B"));
    assert_eq!(acked(&run), 999 * P + R);
}

/// An incast into a port that drops: all flows complete, retransmit less under IRN than under go-back-N, and parts give the
/// same results.
#[test]
fn flows_complete_over_a_port_that_drops() {
    let incast = |recovery: &str| {
        let text = format!(
            r#"
            transport.roce = {{ congestion.dctcp = {{}}, timeout = "1ms", lossless = false, recovery.{recovery} }}
            queue.ecn = {{ limit.packets = 60, threshold.packets = 20 }}
            topology.leaf-spine = {{ leaves = 2, spines = 2, hosts = 8, rate = "100Gbps", delay = "1us" }}
            [[traffic]]
            name = "incast"
            arrivals.at-once = {{}}
            matrix.incast = {{ senders = 12, receiver = 0 }}
            sizes.fixed = "300500B"
            "#
        );
        let run = run(&text);
        assert_eq!(run.status(), Status::Complete);
        assert!(run.flows("delivered_bytes").iter().all(|&bytes| bytes == 300_500));
        same(&run, &in_parts(&scenario(&text, &[]), 2, &InTurn));
        assert!(run.counters().drops > 0);
        run.flows("retransmissions").iter().sum::<u64>()
    };
    let [n, zero, irn] = ["go-back-n = {}", "go-back-0 = {}", "irn = {}"].map(incast);
    assert!(irn < n && n < 2 * zero, "{n} {zero} {irn}");
}

/// With whole nanoseconds P is 83 ns and an acknowledgement takes 4 ns a link: 100 packets are acknowledged after 12,391 ns
/// instead of 12,477.44 ns, and 52 instead of 51 are retransmitted after a loss.
#[test]
fn time_may_be_cut_off_below_a_nanosecond() {
    let text = |unit: &str, lost: &str| {
        format!(
            r#"
            run.time_unit = "{unit}"
            transport.roce = {{ header_bytes = "48B", ack_bytes = "60B", congestion.dctcp = {{}} }}
            queue.lossless = {{ kmin = "100MB", kmax = "100MB", xoff = "10MB" }}
            topology.single-switch = {{ hosts = 2, rate = "100Gbps", delay = "1us" }}
            faults.packets = [{{ traffic = "flow", numbers = [{lost}] }}]
            [[traffic]]
            name = "flow"
            arrivals.at-once.jitter = "0s"
            matrix.pairs = [[0, 1]]
            sizes.fixed = "100000B"
            "#
        )
    };
    for (unit, time, flight) in [("1ps", 99 * P + R, 51), ("1ns", 12_391_000, 52)] {
        assert_eq!(acked(&run(&text(unit, "1000"))), time);
        assert_eq!(run(&text(unit, "10")).flow("retransmissions"), flight);
    }
}
