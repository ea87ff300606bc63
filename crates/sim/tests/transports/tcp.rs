//! TCP against times worked out by hand from RFC 5681, 6582, 6298 and 3042, to the picosecond.
//!
//! Segments carry 1460 B in 1500 B, so that one takes T = 12 us at 1 Gbps; packets without payload are 40 B.
//! Windows are whole segments, and round trips so long that a round of the window has been sent before the
//! first of its acknowledgements comes: then round r begins one round trip after round r - 1.

use crate::common::scenarios::flow_over_a_line;
use crate::common::{MS, PACKET, Run, US, read, run};

const T: u64 = PACKET;
const MSS: u64 = 1460;
/// An acknowledgement at 1 Gbps.
const A: u64 = 320_000;

/// `segments` segments over one cable of 1 Gbps with a delay of 1 ms, under TCP with these settings.
fn cable(segments: u64, settings: &str) -> Run {
    cable_losing(segments, settings, "")
}

/// The same, and of the segments as they are sent those of these numbers are lost.
fn cable_losing(segments: u64, settings: &str, lost: &str) -> Run {
    let faults =
        if lost.is_empty() { "[]".into() } else { format!("[{{ traffic = \"flow\", numbers = [{lost}] }}]") };
    run(&format!(
        r#"
        faults.packets = {faults}
        transport.tcp = {{ {settings} }}
        {}
        "#,
        flow_over_a_line(0, 1000, segments * MSS)
    ))
}

/// On the cable: the handshake, and from the start of a segment to its acknowledgement.
const D: u64 = MS;
const HANDSHAKE: u64 = 2 * (A + D);
const ROUND: u64 = T + D + A + D;

/// When the last of `n` segments arrives, if rounds have these sizes and start at these times.
fn last_arrival(n: u64, rounds: &[(u64, u64)]) -> u64 {
    let mut before = 0;
    for &(start, size) in rounds {
        if n <= before + size {
            return start + (n - before) * T + D;
        }
        before += size;
    }
    panic!("{n} segments are more than the rounds have");
}

/// SYN and SYN/ACK take 40 B and a delay each; then the data, then its acknowledgement.
#[test]
fn handshake() {
    let run = cable(1, "");
    assert_eq!(run.flow("fct_ps"), HANDSHAKE + T + D);
    assert_eq!(run.flow("fct_acked_ps"), HANDSHAKE + T + D + A + D);
    assert_eq!(run.counters().packets, 4);
    let run = cable(1, "handshake = false");
    assert_eq!(run.flow("fct_ps"), T + D);
    let run = cable(1, "link_bytes = \"18B\"");
    // 18 B more take 144 ns more, for each of four packets.
    assert_eq!(run.flow("fct_acked_ps"), HANDSHAKE + ROUND + 4 * 144_000);
}

/// A segment of 100 B of payload at the end: 140 B take 1.12 us.
#[test]
fn short_last_segment() {
    let run = run(&format!("transport = \"tcp\"\n{}", flow_over_a_line(0, 1000, 2 * MSS + 100)));
    assert_eq!(run.flow("fct_ps"), HANDSHAKE + 2 * T + 1_120_000 + D);
    assert_eq!(run.link("host 0", "host 1", "bytes"), 40 + 2 * 1500 + 140);
}

/// Without delayed ACKs each round is twice the one before, and each acknowledgement, one every T,
/// lets two segments go: a round is sent without a gap.
#[test]
fn slow_start_doubles() {
    for window in [1, 2, 10] {
        let rounds: Vec<(u64, u64)> = (0..5).map(|r| (HANDSHAKE + r * ROUND, window << r)).collect();
        for n in (1..=31 * window).step_by(if window == 10 { 7 } else { 1 }) {
            let run = cable(n, &format!("delayed_ack = 1, initial_window = {window}"));
            assert_eq!(
                run.flow("fct_ps"),
                last_arrival(n, &rounds),
                "{n} segments from a window of {window}"
            );
            assert_eq!(run.counters().retransmissions, 0);
        }
    }
}

/// With an acknowledgement for every second segment the window grows by one for two: 4, 6, 9. The first
/// acknowledgement of a round comes after its second segment, T later than without delay, and each
/// lets three segments go.
#[test]
fn slow_start_with_delayed_acks() {
    let round = ROUND + T;
    let rounds = [(HANDSHAKE, 4), (HANDSHAKE + round, 6), (HANDSHAKE + 2 * round, 9)];
    for n in 1..=19 {
        let run = cable(n, "delayed_ack = 2, initial_window = 4, ack_first_segment = false");
        assert_eq!(run.flow("fct_ps"), last_arrival(n, &rounds), "{n} segments");
    }
    // The first segment is acknowledged at once, then 3, 5, 7 and 9: 2 + 4 * 3 segments follow.
    let rounds = [(HANDSHAKE, 10), (HANDSHAKE + ROUND, 14)];
    for n in 1..=24 {
        let run = cable(n, "delayed_ack = 2, initial_window = 10");
        assert_eq!(run.flow("fct_ps"), last_arrival(n, &rounds), "{n} segments");
    }
    // From 1: 1, acknowledged at once; 2, with one ACK; 3, of which one waits for the next round's first.
    let start = |round: u64| HANDSHAKE + ROUND + round * (ROUND + T);
    let rounds = [(HANDSHAKE, 1), (start(0), 2), (start(1), 3), (start(2), 3)];
    for n in 1..=9 {
        let run = cable(n, "delayed_ack = 2, initial_window = 1");
        assert_eq!(run.flow("fct_ps"), last_arrival(n, &rounds), "{n} segments");
    }
}

/// A lone segment's acknowledgement waits for the timer, which is what `ack_first_segment` spares a
/// connection that starts with one segment.
#[test]
fn delayed_ack_timer() {
    let wait = 7 * MS;
    let settings = "delayed_ack_timeout = \"7ms\", initial_window = 1";
    let run = cable(2, &format!("{settings}, ack_first_segment = false"));
    assert_eq!(run.flow("fct_ps"), HANDSHAKE + ROUND + wait + T + D);
    let run = cable(2, settings);
    assert_eq!(run.flow("fct_ps"), HANDSHAKE + ROUND + T + D);
    // The second one is the last and carries FIN: it is acknowledged at once, unless the field is off.
    assert_eq!(run.flow("fct_acked_ps"), HANDSHAKE + 2 * ROUND);
    let run = cable(2, &format!("{settings}, ack_last_segment = false"));
    assert_eq!(run.flow("fct_acked_ps"), HANDSHAKE + 2 * ROUND + wait);
    assert_eq!(run.counters().timeouts, 0);
}

/// A receive window of 8 segments: 8 in every round, whatever the congestion window.
#[test]
fn receive_window_caps() {
    let rounds: Vec<(u64, u64)> = (0..20).map(|r| (HANDSHAKE + r * ROUND, 8)).collect();
    for n in [1, 8, 9, 79, 160] {
        let settings = format!("delayed_ack = 1, initial_window = 100, receive_window = \"{}B\"", 8 * MSS);
        assert_eq!(cable(n, &settings).flow("fct_ps"), last_arrival(n, &rounds), "{n} segments");
    }
    // In the long run rwnd / RTT: 100 rounds for 800 segments.
    let settings = format!("delayed_ack = 1, receive_window = \"{}B\"", 8 * MSS + 1459);
    let seconds = (cable(800, &settings).flow("fct_ps") - HANDSHAKE) as f64;
    assert!((seconds / (100 * ROUND) as f64 - 1.0).abs() < 0.01);
}

/// Above the threshold an acknowledgement adds 1460^2 / cwnd bytes, rounded down. From 4 segments (5840)
/// the four acknowledgements of the first round lead to 6205, 6548, 6873 and 7183: still 4 segments. The
/// next makes 7479 (5 segments), then 7764, 8038, 8303; then 8559, 8808 (6 segments): 4, 4, 5, 6.
#[test]
fn congestion_avoidance() {
    let sizes = |sizes: &[u64]| -> Vec<(u64, u64)> {
        sizes.iter().enumerate().map(|(r, &size)| (HANDSHAKE + r as u64 * ROUND, size)).collect()
    };
    for n in 1..=19 {
        let run = cable(n, "delayed_ack = 1, initial_window = 4, initial_ssthresh = \"5840B\"");
        assert_eq!(run.flow("fct_ps"), last_arrival(n, &sizes(&[4, 4, 5, 6])), "{n} segments");
    }
    // Slow start up to the threshold, then the same.
    for n in 1..=16 {
        let run = cable(n, "delayed_ack = 1, initial_window = 1, initial_ssthresh = \"5840B\"");
        assert_eq!(run.flow("fct_ps"), last_arrival(n, &sizes(&[1, 2, 4, 4, 5])), "{n} segments");
    }
    // One segment a round trip: n rounds from w on carry about n w + n^2 / 2; 40 rounds from 10 are 1200.
    let run = cable(1200, "delayed_ack = 1, initial_window = 10, initial_ssthresh = \"14600B\"");
    let rounds = (run.flow("fct_ps") - HANDSHAKE) as f64 / ROUND as f64;
    assert!((38.0..44.0).contains(&rounds), "{rounds} rounds");
}

/// Two pairs of hosts share a cable of 2 Gbps, on which T/2 is a packet's time, with room for one packet.
/// The first pair has `segments` segments of TCP, from 1 ms on; the other pair sends single datagrams.
/// One that is on the shared cable as a segment arrives costs that segment.
fn losing(segments: u64, settings: &str, datagrams: &[u64]) -> Run {
    let starts: Vec<String> = datagrams.iter().map(|start| format!("\"{start}ps\"")).collect();
    let initial = if settings.contains("rto_initial") { "" } else { "rto_initial = \"200ms\", " };
    run(&format!(
        r#"
        transport.tcp = {{ delayed_ack = 1, {initial}{settings} }}
        [topology.dumbbell]
        hosts = 2
        rate = "1Gbps"
        delay = "1ms"
        bottleneck = {{ rate = "2Gbps" }}
        [queue.drop-tail]
        limit = {{ packets = 1 }}
        [[traffic]]
        name = "tcp"
        arrivals.at-once = {{ at = "1ms", jitter = "0s" }}
        matrix.pairs = [[0, 2]]
        sizes.fixed = "{}B"
        [[traffic]]
        name = "datagrams"
        arrivals.times = {{ at = [{}], jitter = "0s" }}
        matrix.pairs = [[1, 3]]
        sizes.fixed = "1472B"
        transport = "datagram"
        "#,
        segments * MSS,
        starts.join(", ")
    ))
}

/// There, from the start of a segment to its arrival, and to its acknowledgement.
const WAY: u64 = T + D + T / 2 + D + T + D;
const TRIP: u64 = WAY + A + D + A / 2 + D + A + D;
const RTO: u64 = 200 * MS;

/// When a datagram starts that costs a segment whose own transmission starts at this time, counted from
/// the flow's start: it comes to the shared cable T/4 earlier, after the segment before has left.
fn against(segment_start: u64) -> u64 {
    MS + segment_start - T / 4
}

/// The same for segment `i` of the first window.
fn against_segment(i: u64) -> u64 {
    against((i - 1) * T)
}

/// How a flow fares that loses exactly one segment: FCT, retransmissions, timeouts.
fn fate(run: &Run) -> (u64, u64, u64) {
    (run.flow_of("tcp", "fct_ps"), run.flow_of("tcp", "retransmissions"), run.flow_of("tcp", "timeouts"))
}

/// Ten segments in the first window, and segment i is lost. Segment i + 3 brings the third duplicate
/// acknowledgement, at (i + 2) T + TRIP; the repeat then takes WAY. With fewer than three behind it (i of 8
/// to 10), the timer must do it, restarted by the last new acknowledgement, of i - 1, at (i - 2) T + TRIP.
#[test]
fn loss_of_any_one_segment() {
    for congestion in ["reno", "newreno"] {
        for i in 1..=10 {
            let settings = format!("handshake = false, initial_window = 10, congestion = \"{congestion}\"");
            let run = losing(10, &settings, &[against_segment(i)]);
            let expected = if i <= 7 {
                ((i + 2) * T + TRIP + WAY, 1, 0)
            } else {
                ((i - 2) * T + TRIP + RTO + WAY, 1, 1)
            };
            assert_eq!(fate(&run), expected, "segment {i} of 10, {congestion}");
            assert_eq!(run.flow_of("tcp", "drops"), 1);
        }
    }
}

/// With a threshold of 1 the first duplicate repeats the segment: a tail loss with one segment behind.
#[test]
fn dupack_threshold() {
    let run =
        losing(10, "handshake = false, initial_window = 10, dupack_threshold = 1", &[against_segment(9)]);
    assert_eq!(fate(&run), (9 * T + TRIP + WAY, 1, 0));
}

/// Before there is a sample the timeout is rto_initial: the loss of the only segment.
/// With samples it is SRTT + max(G, 4 RTTVAR): one sample R makes R + 4 R/2 = 3 R, or R + G.
#[test]
fn timeouts_follow_rfc_6298() {
    let base = "handshake = false, initial_window = 10";
    let run = losing(1, &format!("{base}, rto_initial = \"30ms\""), &[against_segment(1)]);
    assert_eq!(fate(&run), (30 * MS + WAY, 1, 1));
    // Only segment 1 is timed: the others are in flight when its sample arrives. The timer is restarted by
    // the acknowledgement of segment 9, at 8 T + TRIP.
    let run = losing(10, &format!("{base}, rto_min = \"1ns\""), &[against_segment(10)]);
    assert_eq!(fate(&run), (8 * T + TRIP + 3 * TRIP + WAY, 1, 1));
    let run =
        losing(10, &format!("{base}, rto_min = \"1ns\", rto_granularity = \"50ms\""), &[against_segment(10)]);
    assert_eq!(fate(&run), (8 * T + TRIP + TRIP + 50 * MS + WAY, 1, 1));
    // With timestamps each of nine acknowledgements is a sample of TRIP: segments leave when the wire is
    // free, and are not made before. RTTVAR = TRIP / 2 * (3/4)^8, each step rounded down to a picosecond.
    let run = losing(10, &format!("{base}, rto_min = \"1ns\", timestamps = true"), &[against_segment(10)]);
    let variation = TRIP as f64 / 2.0 * 0.75f64.powi(8);
    let expected = (8 * T + TRIP + TRIP + WAY) as f64 + 4.0 * variation;
    assert!((run.flow_of("tcp", "fct_ps") as f64 - expected).abs() < 20.0);
}

/// The handshake gives a sample: 2 * (A + A/2 + A + 3 D) of 40 B there and back, and the timeout is 3 of it.
#[test]
fn the_handshake_is_a_sample() {
    let handshake = 2 * (A + A / 2 + A + 3 * D);
    let run = losing(1, "rto_min = \"1ns\"", &[against(handshake)]);
    assert_eq!(fate(&run), (handshake + 3 * handshake + WAY, 1, 1));
}

/// A lost SYN is sent again after rto_initial, then after twice that, up to rto_max. A datagram that comes
/// to the shared cable T/4 before a SYN that takes A to get there costs it.
#[test]
fn lost_syns() {
    let handshake = 2 * (A + A / 2 + A + 3 * D);
    let before = |syn: u64| MS + syn + A - T - T / 4;
    let lost = |count: usize, settings: &str, syns: &[u64]| {
        let starts: Vec<u64> = syns[..count].iter().map(|&syn| before(syn)).collect();
        let run = losing(1, settings, &starts);
        assert_eq!(
            fate(&run),
            (syns[count] + handshake + WAY, 0, count as u64),
            "{count} SYNs lost, {settings}"
        );
        assert_eq!(run.flow_of("tcp", "drops"), count as u64);
    };
    let initial = "rto_initial = \"20ms\", rto_min = \"10ms\"";
    for count in 1..=3 {
        lost(count, initial, &[0, 20 * MS, 60 * MS, 140 * MS]);
        lost(count, &format!("{initial}, rto_max = \"30ms\""), &[0, 20 * MS, 50 * MS, 80 * MS]);
    }
}

/// A segment that is lost again and again: the timeout doubles, up to rto_max.
#[test]
fn timeouts_back_off() {
    let base = "handshake = false, rto_initial = \"20ms\", rto_min = \"10ms\"";
    let sent = [0, 20 * MS, 60 * MS, 140 * MS, 300 * MS];
    let lost: Vec<u64> = sent[..4].iter().map(|&at| against(at)).collect();
    assert_eq!(fate(&losing(1, base, &lost)), (300 * MS + WAY, 4, 4));
    let sent = [0, 20 * MS, 60 * MS, 105 * MS, 150 * MS];
    let lost: Vec<u64> = sent[..4].iter().map(|&at| against(at)).collect();
    assert_eq!(fate(&losing(1, &format!("{base}, rto_max = \"45ms\""), &lost)), (150 * MS + WAY, 4, 4));
}

/// Karn: the acknowledgement of a repeated segment is no sample, and the timeout stays backed off until
/// there is one. Of two segments, both lost, the first is repeated at 20 ms; its acknowledgement lets the
/// second go, which is lost too: the next timeout is still 2 * 20 ms. With timestamps the acknowledgement
/// is a sample of TRIP, and the timeout is 3 TRIP.
#[test]
fn back_off_lasts_until_a_sample() {
    let base = "handshake = false, initial_window = 2, rto_initial = \"20ms\", rto_min = \"1ns\"";
    let second = 20 * MS + TRIP;
    let lost = [against(0), against(second)];
    // Both of the first window: the datagram leaves the shared cable at T/4, the other comes at T.
    let lost = [&lost[..1], &[against_segment(2)], &lost[1..]].concat();
    let run = losing(2, base, &lost);
    assert_eq!(fate(&run), (second + 40 * MS + WAY, 3, 2));
    let run = losing(2, &format!("{base}, timestamps = true"), &lost);
    assert_eq!(fate(&run), (second + 3 * TRIP + WAY, 3, 2));
}

/// Segments 1 and 4 of ten are lost. The third duplicate, of segment 5, comes at 4 T + TRIP: segment 4 is a
/// gap in the row of duplicates. The repeat of 1 brings the acknowledgement of 2 and 3 at 4 T + 2 TRIP. To
/// NewReno that is partial, and it repeats 4 at once; Reno leaves recovery with that acknowledgement, no
/// duplicates follow, and the timer, started anew by it, must end the silence.
#[test]
fn two_losses_in_one_window() {
    let lost = [against_segment(1), against_segment(4)];
    let base = "handshake = false, initial_window = 10";
    let run = losing(10, &format!("{base}, congestion = \"newreno\""), &lost);
    assert_eq!(fate(&run), (4 * T + 2 * TRIP + WAY, 2, 0));
    let run = losing(10, &format!("{base}, congestion = \"reno\""), &lost);
    assert_eq!(fate(&run), (4 * T + 2 * TRIP + RTO + WAY, 2, 1));
}

/// After recovery, eight segments being in flight at the loss and the receive window letting no more: the
/// third duplicate makes ssthresh 4, the full acknowledgement comes at 3 T + 2 TRIP with nothing in
/// flight. Reno goes on with 4 segments; NewReno with min(ssthresh, 1 + 1) = 2, then in slow start 4.
/// Halving the window instead, which with no acknowledgement yet is 8 too, changes nothing.
#[test]
fn the_window_after_recovery() {
    let base = format!("handshake = false, initial_window = 8, receive_window = \"{}B\"", 8 * MSS);
    let leave = 3 * T + 2 * TRIP;
    for halves in ["flight", "window"] {
        for more in 1..=4 {
            let settings = format!("{base}, loss_halves = \"{halves}\"");
            let run = losing(8 + more, &format!("{settings}, congestion = \"reno\""), &[against_segment(1)]);
            assert_eq!(fate(&run), (leave + (more - 1) * T + WAY, 1, 0), "Reno, {more} more");
            let run =
                losing(8 + more, &format!("{settings}, congestion = \"newreno\""), &[against_segment(1)]);
            let start = if more <= 2 { leave + (more - 1) * T } else { leave + TRIP + (more - 3) * T };
            assert_eq!(fate(&run), (start + WAY, 1, 0), "NewReno, {more} more");
            // Option 2 of RFC 6582, 3.2, step 3: ssthresh, as Reno.
            let option = "congestion.newreno.full_ack = \"ssthresh\"";
            let run = losing(8 + more, &format!("{settings}, {option}"), &[against_segment(1)]);
            assert_eq!(fate(&run), (leave + (more - 1) * T + WAY, 1, 0), "NewReno to ssthresh, {more} more");
        }
    }
}

/// With a window of 16 of which a receive window of 8 lets only half go, half the flight is 4 segments,
/// half the window 8: Reno then sends 4 or 8 at once.
#[test]
fn what_a_loss_halves() {
    let base = format!("handshake = false, initial_window = 16, receive_window = \"{}B\"", 8 * MSS);
    let leave = 3 * T + 2 * TRIP;
    for (halves, start) in [("flight", leave + TRIP), ("window", leave + 4 * T)] {
        let settings = format!("{base}, congestion = \"reno\", loss_halves = \"{halves}\"");
        let run = losing(8 + 5, &settings, &[against_segment(1)]);
        assert_eq!(fate(&run), (start + WAY, 1, 0), "half the {halves}");
    }
}

/// The window lets 200 segments go, of which the wire has taken 171 when the third duplicate comes, at 3 T + ROUND: it
/// takes one every 12 us, and ROUND is 2012.32 us. Half of the flight are 85.5 segments, half of what the window has let
/// go 100, half of that less a segment 99.5. The k-th duplicate comes at k T + ROUND and makes the window half + k:
/// segment 230 goes with the first k for which that is 230. If there are only 175 segments, no more has been let go,
/// though the window, and its half, stay as they are.
#[test]
fn what_the_wire_has_not_taken() {
    let base = "handshake = false, initial_window = 200, congestion = \"reno\"";
    for (segments, halves, duplicates) in [
        (230, "flight", 145),
        (230, "queued", 130),
        (230, "pipe", 131),
        (230, "window", 130),
        (175, "flight", 90),
        (175, "queued", 88),
        (175, "pipe", 88),
        (175, "window", 75),
    ] {
        let settings = format!("{base}, receive_window = \"1MB\", loss_halves = \"{halves}\"");
        let run = cable_losing(segments, &settings, "1");
        let arrival = duplicates * T + ROUND + T + D;
        assert_eq!(run.flow("fct_ps"), arrival, "half the {halves} of {segments} segments");
        assert_eq!((run.flow("retransmissions"), run.flow("timeouts")), (1, 0), "{halves}");
    }
}

/// When the window is first seen at this many segments, by looking every microsecond: a flow of 60 segments on the
/// cable, with a window of ten from which growth is by whole segments, and ten that the receiver lets go. Of the
/// segments as they are sent those of these numbers are lost.
fn window_reaches(segments: u64, lost: &[u64]) -> u64 {
    let run = run(&format!(
        r#"
        faults.packets = [{{ traffic = "flow", numbers = {lost:?} }}]
        observe.samples = {{ every = "1us", links = [] }}
        [transport.tcp]
        congestion = "reno"
        growth = "segments"
        handshake = false
        delayed_ack = 1
        initial_window = 10
        initial_ssthresh = "{0}B"
        receive_window = "{0}B"
        {1}
        "#,
        10 * MSS,
        flow_over_a_line(0, 1000, 60 * MSS),
    ));
    let mut windows = run.samples("cwnd_bytes").into_iter();
    windows.find(|(_, bytes)| *bytes as u64 == segments * MSS).expect("it gets there").0
}

/// A loss or a timeout forgets which segments of the window have been acknowledged. Before either, five of ten are.
///
/// Segment 6 is lost: the third duplicate, of 9, comes at 8 T + ROUND and halves the ten in flight; its repeat and all
/// up to 15 are acknowledged at 8 T + 2 ROUND. The five segments that go then are acknowledged from 8 T + 3 ROUND on, the
/// fifth at 12 T + 3 ROUND; the six after these up to 13 T + 4 ROUND.
///
/// 6 to 15 are lost: the timer was restarted at 4 T + ROUND. From the timeout on slow start sends one, two, and four
/// segments; with the first acknowledgement of the four the window is at its threshold of five, the other three count,
/// and two more of the next round.
#[test]
fn a_reduction_forgets_what_was_counted() {
    let seen = |time: u64| time.next_multiple_of(1_000_000);
    assert_eq!(window_reaches(6, &[6]), seen(12 * T + 3 * ROUND));
    assert_eq!(window_reaches(7, &[6]), seen(13 * T + 4 * ROUND));
    let timeout = 4 * T + ROUND + RTO;
    let lost: Vec<u64> = (6..=15).collect();
    assert_eq!(window_reaches(5, &lost), seen(timeout + 3 * ROUND));
    assert_eq!(window_reaches(6, &lost), seen(timeout + 4 * ROUND + T));
}

/// A timeout leaves a window of one segment and ssthresh at half the flight. The first of eight segments is
/// lost twice, as the receive window of eight lets nothing else go: at 0 and by its fast repeat, at
/// 3 T + TRIP. The timer, which runs from 0, repeats it at RTO; all eight are acknowledged at RTO + TRIP, and
/// slow start goes on with 2 segments, then, ssthresh being 4, with 4. Growth by bytes is no faster after a timeout.
#[test]
fn slow_start_after_a_timeout() {
    let base = format!("handshake = false, initial_window = 8, receive_window = \"{}B\"", 8 * MSS);
    let lost = [against_segment(1), against(3 * T + TRIP)];
    let restart = RTO + TRIP;
    for growth in ["acks", "bytes"] {
        for (more, start) in [(1, 0), (2, T), (3, TRIP), (6, TRIP + 3 * T)] {
            let run = losing(8 + more, &format!("{base}, growth = \"{growth}\""), &lost);
            assert_eq!(fate(&run), (restart + start + WAY, 2, 1), "{more} more, growth by {growth}");
        }
    }
}

/// The same, and the repeat at RTO is lost as well: the timer, now of 2 RTO, repeats the segment at 3 RTO. By then one
/// segment is in flight, but a repeated timeout of the same segment leaves ssthresh at half of what was in flight at
/// the first one (RFC 5681, eq. 4): slow start goes on to 4 segments, where it would end at 2.
#[test]
fn a_repeated_timeout_leaves_ssthresh() {
    let base = format!("handshake = false, initial_window = 8, receive_window = \"{}B\"", 8 * MSS);
    let lost = [against_segment(1), against(3 * T + TRIP), against(RTO)];
    let restart = 3 * RTO + TRIP;
    for (more, start) in [(1, 0), (2, T), (3, TRIP), (6, TRIP + 3 * T)] {
        let run = losing(8 + more, &base, &lost);
        assert_eq!(fate(&run), (restart + start + WAY, 3, 2), "{more} more");
    }
}

/// Karn: the first of ten segments is timed, lost, and repeated at the third duplicate, at 3 T + TRIP. The
/// acknowledgement of the repeat, at 3 T + 2 TRIP, says nothing of a round trip, so that the timer for the tenth, which
/// is lost as well and which Reno does not repeat, is still rto_initial. As a sample it would be 3 times 3 T + 2 TRIP.
#[test]
fn the_acknowledgement_of_a_repeat_is_no_sample() {
    let settings = "handshake = false, initial_window = 10, congestion = \"reno\", rto_min = \"1ns\"";
    let run = losing(10, settings, &[against_segment(1), against_segment(10)]);
    assert_eq!(fate(&run), (3 * T + 2 * TRIP + RTO + WAY, 2, 1));
}

/// All seven segments are lost, and after the timeout the fourth once more. Slow start sends 1, then 2 and 3, then, as
/// these are acknowledged, 4 to 7 in a row from RTO + 2 TRIP on; the third duplicate, of segment 7, comes at
/// RTO + 3 TRIP + 3 T. Reno (RFC 5681) repeats 4 at once. NewReno (RFC 6582, 3.2, step 2) does not believe duplicates of
/// what was sent before the timeout: its timer, started by the acknowledgement of 3 at RTO + 2 TRIP + T and still
/// backed off, must end the silence.
#[test]
fn a_loss_among_what_a_timeout_has_put_back() {
    let base = "handshake = false, initial_window = 7";
    let lost: Vec<u64> = (1..=7).map(against_segment).chain([against(RTO + 2 * TRIP)]).collect();
    let run = losing(7, &format!("{base}, congestion = \"reno\""), &lost);
    assert_eq!(fate(&run), (RTO + 3 * TRIP + 3 * T + WAY, 8, 1));
    let run = losing(7, &format!("{base}, congestion = \"newreno\""), &lost);
    assert_eq!(fate(&run), (RTO + 2 * TRIP + T + 2 * RTO + WAY, 8, 2));
}

/// Three segments, the first is lost: two duplicates, at T and 2 T + TRIP, are too few. Limited transmit
/// sends segments 4 and 5 for them; that of 4 brings the third duplicate at T + 2 TRIP.
#[test]
fn limited_transmit() {
    let base = "handshake = false, initial_window = 3";
    let run = losing(5, &format!("{base}, limited_transmit = true"), &[against_segment(1)]);
    assert_eq!(fate(&run), (T + 2 * TRIP + WAY, 1, 0));
    // Without it the timer runs from the start of segment 1. Its repeat brings the acknowledgement of
    // 1 to 3, and 4 and 5 follow.
    let run = losing(5, base, &[against_segment(1)]);
    assert_eq!(fate(&run), (RTO + TRIP + T + WAY, 1, 1));
}

/// Segments of limited transmit do not count as flight when a loss halves it (RFC 5681, 3.2, step 2): of 8 segments the
/// first is lost, 9 and 10 go for two duplicates, the third makes ssthresh 4, not 5, and the window 7. Four more
/// duplicates make it 11: segment 11 goes at 7 T + TRIP; those of 9 and 10 let 12 and 13 go. At 3 T + 2 TRIP all up to
/// 10 is acknowledged, three are in flight: Reno sends 14, and 15 only with the acknowledgement of 11, at 7 T + 2 TRIP.
#[test]
fn limited_transmit_is_not_flight() {
    let settings = "handshake = false, initial_window = 8, limited_transmit = true, congestion = \"reno\"";
    let run = losing(15, settings, &[against_segment(1)]);
    assert_eq!(fate(&run), (7 * T + 2 * TRIP + WAY, 1, 0));
}

/// Of eight segments the last is lost. With no more to send nothing brings duplicates, and the timer,
/// restarted at 6 T + TRIP, repeats it. If seven more follow, on the acknowledgements of 1 to 7, that of the
/// third of them is the third duplicate, at 2 T + 2 TRIP.
#[test]
fn tail_loss() {
    let base = format!("handshake = false, initial_window = 8, receive_window = \"{}B\"", 8 * MSS);
    let run = losing(8, &base, &[against_segment(8)]);
    assert_eq!(fate(&run), (6 * T + TRIP + RTO + WAY, 1, 1));
    let run = losing(15, &base, &[against_segment(8)]);
    assert_eq!(fate(&run), (2 * T + 2 * TRIP + WAY, 1, 0));
}

/// On one path, nothing is repeated without a loss.
#[test]
fn nothing_is_repeated_without_a_loss() {
    for settings in
        ["", "delayed_ack = 1", "timestamps = true", "congestion = \"reno\"", "limited_transmit = true"]
    {
        let run = cable(500, settings);
        assert_eq!((run.flow("retransmissions"), run.flow("timeouts")), (0, 0), "{settings}");
        assert_eq!(run.flow("packets_sent"), 500);
    }
}

/// See `losing`: the datagram costs one segment, which then comes in nine others, a repeat and a datagram.
#[test]
fn the_set_up_drops_what_it_says() {
    let run = losing(10, "handshake = false, initial_window = 10", &[against_segment(3)]);
    assert_eq!(run.counters().drops, 1);
    assert_eq!(run.link("left switch", "right switch", "drops"), 1);
    assert_eq!(run.link("left switch", "right switch", "packets"), 9 + 1 + 1);
}

/// htsim's packets are as long as their payload, and its acknowledgements have 40 B: a thousand packets of 1500 B leave back to
/// back in 1.2 us each, and the last one crosses a second link. The sender knows after two links of 40 B more.
#[test]
fn packets_without_headers_as_in_htsim() {
    let run = run(r#"
        topology.single-switch = { hosts = 2, rate = "10Gbps", delay = "1us" }
        queue = "infinite"
        [transport.tcp]
        mss = "1500B"
        header_bytes = "0B"
        ack_bytes = "40B"
        handshake = false
        initial_window = 1000
        receive_window = "2MB"
        delayed_ack = 1
        [[traffic]]
        name = "flow"
        arrivals.at-once.jitter = "0s"
        matrix.pairs = [[0, 1]]
        sizes.fixed = "1500KB"
    "#);
    let packet = 1_200_000;
    assert_eq!(run.flow("fct_ps"), 1001 * packet + 2 * US);
    assert_eq!(run.flow("fct_acked_ps"), 1001 * packet + 2 * US + 2 * (32_000 + US));
}

#[test]
fn an_acknowledgement_has_bytes() {
    let told = read("topology.single-switch.hosts = 2\ntransport.tcp.header_bytes = \"0B\"\ntraffic = []")
        .unwrap_err();
    assert!(told.to_string().contains("transport.tcp.ack_bytes: header_bytes is 0"), "{told}");
}

/// Sixteen flows of 2 MB across pods whose packets overtake each other and are not lost, each segment acknowledged. ns-3 3.37
/// takes 235 ms, as windows of a few segments have 45 in flight; `make bench-peers PEERS=spraying` compares the means.
#[test]
fn taken_for_sacks_duplicates_keep_far_more_in_flight_than_the_window() {
    let mean = |duplicates: &str| {
        let run = run(&format!(
            r#"
            topology.fat-tree = {{ k = 4, rate = "1Gbps", delay = "500us" }}
            routing.balancer = "per-packet"
            queue.drop-tail = {{ limit.packets = 200, limit_counts_wire = false }}
            [transport.tcp]
            mss = "1448B"
            header_bytes = "52B"
            link_bytes = "2B"
            initial_window = 1
            initial_ssthresh = "65535B"
            receive_window = "65535B"
            delayed_ack = 1
            rto_initial = "3s"
            rto_granularity = "1ms"
            timestamps = true
            loss_halves = "pipe"
            congestion.newreno.full_ack = "ssthresh"
            duplicates = "{duplicates}"
            [[traffic]]
            name = "stride"
            arrivals.at-once.jitter = "0ps"
            matrix.stride.by = [4]
            sizes.fixed = "2MB"
            "#
        ));
        let fcts = run.flows("fct_ps");
        fcts.iter().sum::<u64>() as f64 / fcts.len() as f64 / 1e9
    };
    let (inflate, sacks) = (mean("inflate"), mean("sacks"));
    assert!(inflate > 350.0 && (220.0..250.0).contains(&sacks), "{inflate} ms, {sacks} ms");
}
