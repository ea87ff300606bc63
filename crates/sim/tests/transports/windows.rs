//! TCP's window, call by call: its growth, its reduction by a loss or a mark, and when it counts as used.

use flowyard_sim::transport::ack;
use flowyard_sim::transport::source::Messages;
use flowyard_sim::transport::tcp::congestion::{
    Ack, Cause, Congestion, CongestionEvent, Control, Model, Progress, Window,
};
use flowyard_sim::transport::tcp::ecn::Heard;
use flowyard_sim::transport::tcp::{Growth, Halves};
use flowyard_sim::units::Time;

const MSS: u64 = 1000;

const WINDOW: Window = Window {
    cwnd: 10 * MSS,
    ssthresh: u64::MAX,
    mss: MSS,
    flight: 10 * MSS,
    most: 1_000_000,
    min_ssthresh: 2,
    halves: Halves::Flight,
    growth: Growth::Acks,
    counted: 0,
    after_timeout: false,
};

/// An acknowledgement of so many bytes by which the window may grow.
fn ack(acked: u64) -> Ack {
    Ack { common: ack::Ack { acked, ..Default::default() }, may_grow: true, ..Ack::default() }
}

fn new_reno() -> Model {
    Congestion::NewReno(Default::default()).model()
}

/// The window after it.
fn after(mut window: Window, acked: u64) -> u64 {
    new_reno().on_ack(&mut window, &ack(acked), &mut Messages::default());
    window.cwnd
}

/// The window is reduced.
fn reduce(window: &mut Window, cause: Cause) {
    let progress = Progress { left: 0, round_trip: None, time_left: None };
    new_reno().on_congestion_event(window, &CongestionEvent { cause, now: Time::ZERO, progress });
}

/// RFC 5681, equations 2 and 3: a segment at most for an acknowledgement in slow start, and a segment for a window of
/// them afterwards, here a tenth of one. RFC 3465: by what is acknowledged, two segments of it in slow start.
#[test]
fn growth_by_acknowledgements_or_by_bytes() {
    let avoiding = Window { ssthresh: 5 * MSS, ..WINDOW };
    for (growth, acked, slow_start, avoidance) in [
        (Growth::Acks, MSS / 2, MSS / 2, MSS / 10),
        (Growth::Acks, MSS, MSS, MSS / 10),
        (Growth::Acks, 2 * MSS, MSS, MSS / 10),
        (Growth::Bytes, MSS / 2, MSS / 2, MSS / 20),
        (Growth::Bytes, 2 * MSS, 2 * MSS, MSS / 5),
        (Growth::Bytes, 3 * MSS, 2 * MSS, 3 * MSS / 10),
    ] {
        assert_eq!(after(Window { growth, ..WINDOW }, acked), 10 * MSS + slow_start, "{growth:?}, {acked} B");
        assert_eq!(
            after(Window { growth, ..avoiding }, acked),
            10 * MSS + avoidance,
            "{growth:?}, {acked} B"
        );
    }
}

/// Linux: all that is acknowledged in slow start, up to the threshold; above it a segment for as many as the window holds
/// (RFC 5681, 3.1), and not a byte before. Half a segment more in the window changes nothing.
#[test]
fn growth_by_segments() {
    let mut model = new_reno();
    let mut grow = |window: &mut Window, acked| {
        model.on_ack(window, &ack(acked), &mut Messages::default());
        window.cwnd
    };
    let mut window = Window { growth: Growth::Segments, ..WINDOW };
    assert_eq!([MSS / 2, 2 * MSS].map(|acked| grow(&mut window, acked)), [10_500, 12_500]);
    // Up to the threshold; the rest counts for congestion avoidance, in which nothing of it is lost: 9 of 11 segments there,
    // and after 4 more a segment, with 2 over.
    let mut window = Window { ssthresh: 11 * MSS, ..Window { growth: Growth::Segments, ..WINDOW } };
    assert_eq!(
        [10 * MSS, 4 * MSS, 9 * MSS, MSS].map(|acked| grow(&mut window, acked) / MSS),
        [11, 12, 12, 13]
    );

    for cwnd in [10 * MSS, 10 * MSS + MSS / 2] {
        let mut window = Window { growth: Growth::Segments, ssthresh: 5 * MSS, cwnd, ..WINDOW };
        let grown: Vec<u64> = (0..11).map(|_| grow(&mut window, 2 * MSS) - cwnd).collect();
        // After 10 segments, after 11 more, which are 12 by twos, and not yet after the next 10.
        assert_eq!(grown, [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2].map(|segments| segments * MSS));
    }
}

/// RFC 3465, section 2.3: in the slow start that follows a timeout by a segment at most, since an acknowledgement may
/// cover what had arrived before. What comes later is a slow start as any other.
#[test]
fn growth_by_bytes_after_a_timeout() {
    let window = Window { growth: Growth::Bytes, after_timeout: true, ..WINDOW };
    assert_eq!(after(window, 3 * MSS), 11 * MSS);
    let mut window = Window { ssthresh: 11 * MSS, ..window };
    let mut model = new_reno();
    let mut grow = |window: &mut Window| model.on_ack(window, &ack(2 * MSS), &mut Messages::default());
    grow(&mut window);
    assert!(window.after_timeout);
    grow(&mut window);
    assert!(!window.after_timeout, "slow start is over");
    window.ssthresh = u64::MAX;
    let before = window.cwnd;
    grow(&mut window);
    assert_eq!(window.cwnd, before + 2 * MSS);
}

/// Two segments at least (RFC 5681, equation 4), or what is asked for.
#[test]
fn what_a_loss_leaves_at_least() {
    for (min_ssthresh, left) in [(1, MSS), (2, 2 * MSS), (7, 7 * MSS)] {
        let mut window = Window { flight: 2 * MSS, min_ssthresh, ..WINDOW };
        reduce(&mut window, Cause::Timeout { first: true });
        assert_eq!((window.cwnd, window.ssthresh), (MSS, left));
    }
}

/// An acknowledgement by which it may not grow (an echo, or window validation) leaves it as it is.
#[test]
fn what_may_not_grow() {
    let mut window = WINDOW;
    let refused = Ack { may_grow: false, ..ack(2 * MSS) };
    new_reno().on_ack(&mut window, &refused, &mut Messages::default());
    assert_eq!(window.cwnd, WINDOW.cwnd);
}

/// A mark does not lift a window that is below the floor.
#[test]
fn a_mark_never_raises_the_window() {
    for (cwnd, left) in [(10 * MSS, 5 * MSS), (3 * MSS, 2 * MSS), (MSS, MSS)] {
        let mut window = Window { cwnd, flight: cwnd, ..WINDOW };
        reduce(&mut window, Cause::EcnEcho);
        assert_eq!(window.cwnd, left);
    }
}

/// The window is what limits a flow if no full segment more fits into it; in slow start, if half of it is used.
#[test]
fn when_the_window_limits() {
    let limits = |flight, ssthresh| Window { flight, ssthresh, ..WINDOW }.limits();
    for (flight, slow_start, avoidance) in
        [(10 * MSS, true, true), (9 * MSS + 1, true, true), (9 * MSS, true, false), (5 * MSS, false, false)]
    {
        assert_eq!(limits(flight, u64::MAX), slow_start, "{flight} B");
        assert_eq!(limits(flight, 5 * MSS), avoidance, "{flight} B");
    }
}

/// RFC 3168, 6.1.2: the first new segment after a reduction of any kind says so, and marks on what had been sent before
/// it are no news.
#[test]
fn a_reduction_is_told_once() {
    let mut heard = Heard::new(true);
    assert!(!heard.take_cwr());
    heard.reduced(5 * MSS);
    assert!(!heard.is_news(5 * MSS) && heard.is_news(5 * MSS + 1));
    assert!(heard.take_cwr() && !heard.take_cwr());
}
