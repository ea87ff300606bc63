//! Needless timeouts and retransmissions, and what takes them back, by hand on a fake network: F-RTO (RFC 5682) with and
//! without SACK, echoed times (RFC 3522) and counted duplicates (RFC 3708).

use super::congestion::bbr::Bbr;
use super::selective_tests::{FLOW, numbers, round, sack, started, window};
use super::*;
use crate::engine::contract::fake::FakeHost;
use crate::engine::contract::packet::flag;
use crate::units::{Bytes, Time};

/// F-RTO with SACK or without, and nothing else.
fn f_rto(sacks: bool) -> Tcp {
    Tcp { sack: Some(sacks), f_rto: Some(true), ..sack() }
}

/// Ten segments, and a timeout, by which 0 goes again.
fn timed_out(size: u64, config: Tcp) -> (FakeHost, Model, Vec<Packet>, Packet) {
    let (mut host, mut model, packets) = started(10, size, config);
    host.times_out(&mut model, FLOW);
    let again = host.sends(&mut model, FLOW, 99);
    assert_eq!(numbers(&again), [0]);
    assert_eq!(window(&host, &model), 1);
    (host, model, packets, again[0])
}

/// RFC 5682, 2.1 and 3.1, steps 1 to 3b: ten segments are late. The acknowledgement of the original 0 lets 10 and 11 go; that
/// of the original 1 shows that nothing was lost: the window of ten returns and grows by it, which lets 12 go. So does the
/// threshold, which there was none of: the next acknowledgement grows the window by a segment. Without F-RTO 1 and 2 go again.
#[test]
fn a_needless_timeout() {
    for sacks in [true, false] {
        let (mut host, mut model, packets, _) = timed_out(100_000, f_rto(sacks));
        assert_eq!(numbers(&round(&mut host, &mut model, &packets[0])), [10, 11], "SACK {sacks}");
        assert_eq!(window(&host, &model), 2);
        assert_eq!(numbers(&round(&mut host, &mut model, &packets[1])), [12], "SACK {sacks}");
        assert_eq!(window(&host, &model), 11);
        assert_eq!(numbers(&round(&mut host, &mut model, &packets[2])), [13, 14], "SACK {sacks}");
        assert_eq!(host.conns[0].counts().retransmissions, 1);
        let plain = Tcp { f_rto: Some(false), ..f_rto(sacks) };
        let (mut host, mut model, packets, _) = timed_out(100_000, plain);
        assert_eq!(numbers(&round(&mut host, &mut model, &packets[0])), [1, 2], "SACK {sacks}");
    }
}

/// Step 3a: all ten are lost. The acknowledgement of the retransmitted 0 lets 10 and 11 go, whose arrival shows that those before
/// them are missing. With SACK and a window of two 1 goes by the first, and 2 by the second; without it both go by the
/// first, as nothing behind 0 is known to be in flight.
#[test]
fn a_timeout_that_was_right() {
    for (sacks, by_first, by_second) in [(true, vec![1], vec![2]), (false, vec![1, 2], vec![])] {
        let (mut host, mut model, _, again) = timed_out(100_000, f_rto(sacks));
        let new = round(&mut host, &mut model, &again);
        assert_eq!(numbers(&new), [10, 11]);
        let first = round(&mut host, &mut model, &new[0]);
        assert_eq!(numbers(&first), by_first, "SACK {sacks}");
        assert_eq!(numbers(&round(&mut host, &mut model, &new[1])), by_second, "SACK {sacks}");
        assert_eq!(window(&host, &model), 2);
        // The decision is over: 1 lets two more old ones go.
        let next = round(&mut host, &mut model, &first[0]);
        assert_eq!(numbers(&next), [3, 4], "SACK {sacks}");
        assert_eq!(window(&host, &model), 3);
    }
}

/// Step 2b without new data: lost segments go, and that of an original afterwards decides nothing without SACK.
#[test]
fn nothing_new_to_send() {
    for sacks in [true, false] {
        let (mut host, mut model, _, again) = timed_out(10_000, f_rto(sacks));
        assert_eq!(numbers(&round(&mut host, &mut model, &again)), [1, 2], "SACK {sacks}");
    }
    let (mut host, mut model, packets, again) = timed_out(10_000, f_rto(false));
    round(&mut host, &mut model, &again);
    round(&mut host, &mut model, &packets[1]);
    assert_eq!(window(&host, &model), 3);
}

/// Step 2b: from 1 on the receiver has room for 10.5 segments, so that 10 goes alone; or the data ends after it.
#[test]
fn little_new_to_send() {
    for sacks in [true, false] {
        let config = Tcp { receive_window: Bytes(10_500), ..f_rto(sacks) };
        let (mut host, mut model, packets, _) = timed_out(100_000, config);
        assert_eq!(numbers(&round(&mut host, &mut model, &packets[0])), [10], "SACK {sacks}");
        let (mut host, mut model, packets, _) = timed_out(10_400, f_rto(sacks));
        assert_eq!(numbers(&round(&mut host, &mut model, &packets[0])), [10], "SACK {sacks}");
        assert!(round(&mut host, &mut model, &packets[1]).is_empty(), "SACK {sacks}");
        assert_eq!(window(&host, &model), 11);
    }
}

/// Step 2a. A duplicate before anything else ends the decision without SACK: 1 and 2 go by the acknowledgement of 0. So does one of
/// all that had been sent: the window is two, and three after the next.
#[test]
fn the_first_acknowledgement_without_sack() {
    let (mut host, mut model, packets, again) = timed_out(100_000, f_rto(false));
    assert!(round(&mut host, &mut model, &packets[5]).is_empty());
    assert_eq!(numbers(&round(&mut host, &mut model, &again)), [1, 2]);
    let (mut host, mut model, packets, again) = timed_out(100_000, f_rto(false));
    packets[1..].iter().for_each(|packet| drop(host.receives(&mut model, packet)));
    let new = round(&mut host, &mut model, &again);
    assert_eq!(numbers(&new), [10, 11]);
    round(&mut host, &mut model, &new[0]);
    assert_eq!(window(&host, &model), 3);
}

/// With SACK, as in Linux, an original sent once is enough: behind the first segment by a SACK, which leaves nine in flight and lets
/// 10 go; or before new data has gone, by an acknowledgement of two segments, which leaves eight and lets three go.
#[test]
fn the_first_acknowledgement_with_sack() {
    let (mut host, mut model, packets, _) = timed_out(100_000, f_rto(true));
    assert_eq!(numbers(&round(&mut host, &mut model, &packets[9])), [10]);
    assert_eq!(window(&host, &model), 10);
    let (mut host, mut model, packets, _) = timed_out(100_000, f_rto(true));
    drop(host.receives(&mut model, &packets[0]));
    assert_eq!(numbers(&round(&mut host, &mut model, &packets[1])), [10, 11, 12]);
    assert_eq!(window(&host, &model), 11);
}

/// A report of the retransmission of 0 as a duplicate, between the new data and the original 1, decides nothing (Linux).
#[test]
fn a_reported_duplicate_decides_nothing() {
    let (mut host, mut model, packets, again) = timed_out(100_000, Tcp { dsack: Some(true), ..f_rto(true) });
    assert_eq!(numbers(&round(&mut host, &mut model, &packets[0])), [10, 11]);
    assert!(round(&mut host, &mut model, &again).is_empty());
    assert_eq!(numbers(&round(&mut host, &mut model, &packets[1])), [12]);
    assert_eq!(window(&host, &model), 11);
}

/// A timeout in a recovery, or after one whose repair is not over, decides nothing: 4 and 5 go. Again for the same segment it
/// does, and the window before the first of the two returns.
#[test]
fn timeouts_that_follow_others() {
    let (mut host, mut model, packets) = started(10, 100_000, f_rto(true));
    for number in [1, 2, 3] {
        round(&mut host, &mut model, &packets[number]);
    }
    host.times_out(&mut model, FLOW);
    let again = host.sends(&mut model, FLOW, 99);
    assert_eq!(numbers(&again), [0]);
    assert_eq!(numbers(&round(&mut host, &mut model, &again[0])), [4, 5]);
    for sacks in [true, false] {
        let (mut host, mut model, _, again) = timed_out(100_000, f_rto(sacks));
        assert_eq!(numbers(&round(&mut host, &mut model, &again)), [10, 11]);
        host.times_out(&mut model, FLOW);
        let second = host.sends(&mut model, FLOW, 99);
        assert_eq!(numbers(&second), [1], "10 and 11 are lost, too");
        assert_eq!(numbers(&round(&mut host, &mut model, &second[0])), [2, 3], "SACK {sacks}");
        let (mut host, mut model, packets, _) = timed_out(100_000, f_rto(sacks));
        host.times_out(&mut model, FLOW);
        assert_eq!(numbers(&host.sends(&mut model, FLOW, 99)), [0]);
        assert_eq!(numbers(&round(&mut host, &mut model, &packets[0])), [10, 11]);
        round(&mut host, &mut model, &packets[1]);
        assert_eq!(window(&host, &model), 11, "SACK {sacks}");
    }
}

/// Two timeouts of a segment in a recovery without SACK: the window that returns is that of the recovery, five, without its
/// inflation by three duplicates. 1 to 3 have arrived, so that the retransmission is acknowledged up to 4.
#[test]
fn timeouts_in_a_recovery() {
    let (mut host, mut model, packets) = started(10, 100_000, f_rto(false));
    for number in [1, 2, 3] {
        round(&mut host, &mut model, &packets[number]);
    }
    assert_eq!(window(&host, &model), 8);
    host.times_out(&mut model, FLOW);
    host.sends(&mut model, FLOW, 99);
    host.times_out(&mut model, FLOW);
    let again = host.sends(&mut model, FLOW, 99);
    assert_eq!(numbers(&round(&mut host, &mut model, &again[0])), [10, 11]);
    round(&mut host, &mut model, &packets[4]);
    assert_eq!(window(&host, &model), 5);
}

/// Two timeouts of a segment in a recovery under BBR, which has no threshold: the original 4 shows that they were not
/// needed. The window that returns is one that it had: ten segments at the start, and one more for each of the four
/// SACKed.
#[test]
fn needless_timeouts_in_a_recovery_of_bbr() {
    let config = Tcp { congestion: Some(Bbr::default().into()), ..f_rto(true) };
    let (mut host, mut model, packets) = started(10, 100_000, config);
    host.now = Time::from_us(10_000);
    for number in [1, 2, 3] {
        round(&mut host, &mut model, &packets[number]);
    }
    for _ in 0..2 {
        host.times_out(&mut model, FLOW);
        assert_eq!(numbers(&host.sends(&mut model, FLOW, 1)), [0]);
    }
    round(&mut host, &mut model, &packets[4]);
    assert!((10..=14).contains(&window(&host, &model)), "{}", window(&host, &model));
}

/// After a needless timeout the slow start is not that after a timeout: an acknowledgement of two segments grows the window by
/// both under `growth = "bytes"` (RFC 3465, 2.3).
#[test]
fn the_growth_after_a_needless_timeout() {
    let config = Tcp { growth: Some(Growth::Bytes), ..f_rto(false) };
    let (mut host, mut model, packets, _) = timed_out(100_000, config);
    for number in [0, 1] {
        round(&mut host, &mut model, &packets[number]);
    }
    assert_eq!(window(&host, &model), 11);
    drop(host.receives(&mut model, &packets[2]));
    round(&mut host, &mut model, &packets[3]);
    assert_eq!(window(&host, &model), 13);
}

/// After a needless timeout without SACK three duplicates show a loss at once: the data sent before it is not distrusted (RFC
/// 5682, 2.1; RFC 6582 ignores duplicates up to there after one that was right).
#[test]
fn a_loss_after_a_needless_timeout() {
    let (mut host, mut model, packets, _) = timed_out(100_000, f_rto(false));
    for number in [0, 1, 2] {
        round(&mut host, &mut model, &packets[number]);
    }
    let sent: Vec<_> =
        [4, 5, 6].map(|number: usize| numbers(&round(&mut host, &mut model, &packets[number]))).into();
    assert_eq!(sent, [vec![], vec![], vec![3]]);
}

/// 1 to 8 overtake 0: a recovery, in which the window is five, and 10, 11, 0 and 12 go after 1 ms. All of the first window, and
/// those of these that are named, arrive; their acknowledgements are lost.
fn overtaken(config: Tcp, silent: &[usize]) -> (FakeHost, Model, Vec<Packet>) {
    let (mut host, mut model, packets) = started(10, 100_000, config);
    host.now = Time::from_us(1_000);
    let mut later = Vec::new();
    for packet in &packets[1..=8] {
        later.extend(round(&mut host, &mut model, packet));
    }
    assert_eq!(numbers(&later), [10, 11, 0, 12]);
    assert_eq!(window(&host, &model), 5);
    for packet in [packets[0], packets[9]].into_iter().chain(silent.iter().map(|&at| later[at])) {
        drop(host.receives(&mut model, &packet));
    }
    (host, model, later)
}

/// RFC 3708: the acknowledgements of the originals are lost, and the retransmission, the only one, is reported as a duplicate: the
/// window of ten returns, and grows by what is acknowledged. Its echoed time alone shows nothing.
#[test]
fn all_retransmissions_are_duplicates() {
    for (undo, dsack, left) in [(true, true, 11), (true, false, 5), (false, true, 5)] {
        let config = Tcp { undo: Some(undo), dsack: Some(dsack), ..sack() };
        let (mut host, mut model, later) = overtaken(config, &[]);
        round(&mut host, &mut model, &later[2]);
        assert_eq!(window(&host, &model), left, "undo {undo}, DSACK {dsack}");
    }
}

/// The same after the recovery, which 12 has ended: all is acknowledged, or 13 to 17 are in flight. After a reduction for a mark,
/// from five to two, it changes nothing.
#[test]
fn duplicates_after_the_recovery() {
    let config = Tcp { undo: Some(true), dsack: Some(true), ecn: true, ..sack() };
    let (mut host, mut model, later) = overtaken(config.clone(), &[0, 1]);
    assert_eq!(numbers(&round(&mut host, &mut model, &later[3])), [13, 14, 15, 16, 17]);
    assert_eq!(window(&host, &model), 5);
    assert_eq!(numbers(&round(&mut host, &mut model, &later[2])), [18, 19, 20, 21, 22]);
    assert_eq!(window(&host, &model), 10);
    let (mut host, mut model, later) = overtaken(config.clone(), &[0, 1]);
    for ack in host.receives(&mut model, &later[3]) {
        host.answers(&mut model, &ack);
    }
    assert_eq!(host.ready, [FLOW], "nothing is in flight");
    for ack in host.receives(&mut model, &later[2]) {
        host.answers(&mut model, &ack);
    }
    assert_eq!(window(&host, &model), 10);
    let (mut host, mut model, later) = overtaken(config, &[0, 1]);
    let new = round(&mut host, &mut model, &later[3]);
    round(&mut host, &mut model, &Packet { flags: new[0].flags | flag::CE, ..new[0] });
    assert_eq!(window(&host, &model), 2);
    round(&mut host, &mut model, &later[2]);
    assert_eq!(window(&host, &model), 2);
}

/// 0 and 1 both go again, and one report is not enough.
#[test]
fn each_retransmission_is_counted() {
    let config = Tcp { undo: Some(true), dsack: Some(true), ..sack() };
    let (mut host, mut model, packets) = started(10, 10_000, config);
    host.now = Time::from_us(1_000);
    let mut again = Vec::new();
    for packet in &packets[2..7] {
        again.extend(round(&mut host, &mut model, packet));
    }
    assert_eq!(numbers(&again), [0, 1]);
    packets[..2].iter().for_each(|packet| drop(host.receives(&mut model, packet)));
    round(&mut host, &mut model, &again[0]);
    assert_eq!(window(&host, &model), 5);
    round(&mut host, &mut model, &again[1]);
    assert_eq!(window(&host, &model), 10);
}

/// Two timeouts of the same segment belong to one reduction, and so does one in a recovery: by the original's time the window
/// before the first returns.
#[test]
fn timeouts_of_one_reduction() {
    let config = Tcp { undo: Some(true), ..sack() };
    let (mut host, mut model, packets, _) = timed_out(100_000, config.clone());
    host.times_out(&mut model, FLOW);
    host.sends(&mut model, FLOW, 99);
    round(&mut host, &mut model, &packets[0]);
    assert_eq!(window(&host, &model), 11);
    let (mut host, mut model, packets) = started(10, 100_000, config);
    host.now = Time::from_us(1_000);
    for packet in &packets[1..4] {
        round(&mut host, &mut model, packet);
    }
    assert_eq!(window(&host, &model), 5);
    host.times_out(&mut model, FLOW);
    host.sends(&mut model, FLOW, 99);
    round(&mut host, &mut model, &packets[0]);
    assert_eq!(window(&host, &model), 11);
}
