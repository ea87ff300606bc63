//! Cases and examples of the RFCs on losses, each by hand on a fake network and named after its section: RFC 6675 (SACK), RFC
//! 6937 (PRR) and RFC 8985 (RACK-TLP).

use super::selective_tests::{FLOW, numbers, round, sack, started, window};
use super::*;
use crate::engine::contract::fake::FakeHost;
use crate::units::Time;

/// Whether a segment goes again when those at these places behind it have arrived. Each is a message by itself; one before them
/// opens the connection.
fn is_lost(segment_bytes: u64, arrive: &[usize]) -> bool {
    let (mut host, mut model, first) = started(13, segment_bytes, sack());
    let mut packets = Vec::new();
    for number in 1..13 {
        let id = host.connection(segment_bytes);
        host.conns[id.index()].via = FLOW;
        let start = Start { size: segment_bytes, key: number, due: Time::NEVER };
        model.message(id, start, &mut host);
        packets.extend(host.sends(&mut model, FLOW, 99));
    }
    assert_eq!(numbers(&packets), (1..13).collect::<Vec<_>>());
    round(&mut host, &mut model, &first[0]);
    arrive.iter().any(|&at| numbers(&round(&mut host, &mut model, &packets[at])).contains(&1))
}

/// `IsLost`: three sequences apart, or more than two full segments' bytes, are SACKed behind a segment. Of segments of 1000 B any
/// three are enough; of messages of 100 B three have to be apart.
#[test]
fn rfc_6675_section_4_is_lost() {
    for (arrive, of_full, of_short) in [
        (&[1][..], false, false),
        (&[1, 2], false, false),
        (&[2, 5], false, false),
        (&[1, 2, 3], true, false),
        (&[9, 10, 11], true, false),
        (&[1, 3, 5], true, true),
        (&[5, 3, 1], true, true),
        (&[1, 2, 3, 5, 6, 7], true, false),
        (&[1, 2, 4, 5, 7], true, true),
        (&[1, 3, 5, 2], true, true),
    ] {
        assert_eq!(is_lost(1000, arrive), of_full, "{arrive:?} of 1000 B");
        assert_eq!(is_lost(100, arrive), of_short, "{arrive:?} of 100 B");
    }
}

/// `NextSeg`, rules 1 and 2: lost segments from the first on, each once, then new data. Of twenty segments 0 to 14 are lost;
/// the first two SACKs let 20 and 21 go, the third leaves 18 to 21 in flight: six go in the window of ten, then one for each
/// delivered segment.
#[test]
fn rfc_6675_section_4_next_segment() {
    let (mut host, mut model, packets) = started(20, 100_000, sack());
    let mut in_flight = Vec::new();
    for (number, sent) in [(15, 20..21), (16, 21..22), (17, 0..6), (18, 6..7), (19, 7..8)] {
        let new = round(&mut host, &mut model, &packets[number]);
        assert_eq!(numbers(&new), sent.collect::<Vec<_>>(), "{number}");
        in_flight.extend(new);
    }
    // 20, 21 and 0 to 5.
    let sent: Vec<u32> =
        in_flight[..8].iter().flat_map(|packet| numbers(&round(&mut host, &mut model, packet))).collect();
    assert_eq!(sent, [8, 9, 10, 11, 12, 13, 14, 22]);
    assert_eq!(window(&host, &model), 10);
}

/// Rules 3 and 4 are left out, as in Linux: with six SACKs for a loss 0 goes, four are in flight in a window of five, nothing new
/// is there, and 4, behind which are three SACKs, does not go.
#[test]
fn rfc_6675_section_4_without_rules_3_and_4() {
    let (mut host, mut model, packets) = started(10, 10_000, Tcp { dupack_threshold: 6, ..sack() });
    let sent: Vec<u32> = [1, 2, 3, 5, 6, 7]
        .iter()
        .flat_map(|&at: &usize| numbers(&round(&mut host, &mut model, &packets[at])))
        .collect();
    assert_eq!(sent, [0]);
    assert_eq!(window(&host, &model), 5);
}

/// Numbers of the segments that go by each of these SACKs, of twenty segments.
fn sent_by(repair: Repair, arrive: impl Iterator<Item = usize>) -> Vec<Vec<u32>> {
    let config = Tcp { repair: Some(repair), ..sack() };
    let (mut host, mut model, packets) = started(20, 1_000_000, config);
    arrive.map(|number| numbers(&round(&mut host, &mut model, &packets[number]))).collect()
}

/// The first example, a single loss: after RFC 6675 half of a window passes in silence, until nine and the retransmission are in
/// flight. The RFC's figure has eleven for the window, as it counts the two segments of limited transmit, and one segment
/// more. For PRR see `a_reduction_in_proportion` in `selective_tests.rs`.
#[test]
fn rfc_6937_section_3_1_one_loss() {
    let expected = |number: u32| match number {
        1 | 2 => vec![19 + number],
        3 => vec![0],
        13.. => vec![22 + number - 13],
        _ => vec![],
    };
    assert_eq!(sent_by(Repair::AtOnce, 1..20), (1..20).map(expected).collect::<Vec<_>>());
}

/// The second example: the first fifteen are lost. RFC 6675 sends a burst, here of six segments, as the window is ten; PRR one for
/// each delivered segment, as long as no acknowledgement advances (the conservative bound; RFC 9937).
#[test]
fn rfc_6937_section_3_1_fifteen_losses() {
    let burst = [vec![20], vec![21], (0..6).collect(), vec![6], vec![7]];
    assert_eq!(sent_by(Repair::AtOnce, 15..20), burst);
    assert_eq!(sent_by(Repair::Proportional, 15..20), [vec![20], vec![21], vec![0], vec![1], vec![2]]);
}

/// The same, on until acknowledgements advance: 20 and 21 let one go each, and each retransmission that arrives two (the
/// slow-start bound), until ten are in flight: four less one and two, five times.
#[test]
fn rfc_6937_section_3_1_slow_start_bound() {
    let config = Tcp { repair: Some(Repair::Proportional), ..sack() };
    let (mut host, mut model, packets) = started(20, 1_000_000, config);
    let mut in_flight = Vec::new();
    for packet in &packets[15..] {
        in_flight.extend(round(&mut host, &mut model, packet));
    }
    assert_eq!(numbers(&in_flight), [20, 21, 0, 1, 2]);
    let mut sent = Vec::new();
    for at in 0..10 {
        let new = round(&mut host, &mut model, &in_flight[at]);
        sent.push(new.len());
        in_flight.extend(new);
    }
    assert_eq!(sent, [1, 1, 2, 2, 2, 2, 2, 1, 1, 1]);
    assert_eq!(numbers(&in_flight[5..17]), [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
}

/// RACK with probes on a path of 10 ms each round trip: four segments, of which 0 arrives. Two round trips and 2 ms later the probe
/// goes.
fn probed() -> (FakeHost, Model, Packet) {
    let config = Tcp { rack: Some(true), tail_loss_probe: Some(true), ..sack() };
    let (mut host, mut model, packets) = started(4, 4_000, config);
    host.now = Time::from_us(10_000);
    assert!(round(&mut host, &mut model, &packets[0]).is_empty());
    while !host.ready.contains(&FLOW) {
        host.expires(&mut model);
    }
    assert_eq!(host.now, Time::from_us(32_000));
    let probe = host.sends(&mut model, FLOW, 99);
    assert_eq!(numbers(&probe), [3]);
    (host, model, probe[0])
}

/// A segment arrives so many milliseconds after the start.
fn arrives(host: &mut FakeHost, model: &mut Model, packet: &Packet, ms: u64) -> Vec<Packet> {
    host.now = Time::from_us(1_000 * ms);
    round(host, model, packet)
}

/// Fast recovery: the SACK of the probe shows that 1 and 2 are lost, and that of 2 that the retransmission of 1 is lost, too.
#[test]
fn rfc_8985_section_3_4_fast_recovery() {
    let (mut host, mut model, probe) = probed();
    let again = arrives(&mut host, &mut model, &probe, 42);
    assert_eq!(numbers(&again), [1, 2]);
    let third = arrives(&mut host, &mut model, &again[1], 52);
    assert_eq!(numbers(&third), [1]);
    assert!(arrives(&mut host, &mut model, &third[0], 62).is_empty());
    let counts = host.conns[0].counts();
    assert_eq!((host.finished.len(), counts.timeouts, counts.retransmissions), (1, 0, 4));
}

/// The same where the probe is lost, and so is the retransmission of 2 after the timeout, 200 ms after the probe.
#[test]
fn rfc_8985_section_3_5_timeout() {
    let (mut host, mut model, _) = probed();
    host.times_out(&mut model, FLOW);
    assert_eq!(host.now, Time::from_us(232_000));
    let first = host.sends(&mut model, FLOW, 99);
    assert_eq!(numbers(&first), [1]);
    let both = arrives(&mut host, &mut model, &first[0], 242);
    assert_eq!(numbers(&both), [2, 3]);
    let second = arrives(&mut host, &mut model, &both[1], 252);
    assert_eq!(numbers(&second), [2]);
    assert!(arrives(&mut host, &mut model, &second[0], 262).is_empty());
    let counts = host.conns[0].counts();
    assert_eq!((host.finished.len(), counts.timeouts, counts.retransmissions), (1, 1, 5));
}

/// RFC 6298, (5.5) and (5.7): without an answer each timeout is twice the one before, from 1 ms on, up to the most, which
/// 16 doublings exceed.
#[test]
fn rfc_6298_section_5_timeouts_double_up_to_the_most() {
    let (least, most) = (Time::from_us(1_000), Time::from_us(60_000_000));
    let config = Tcp { rto_min: Some(least), rto_initial: Some(least), rto_max: most, ..sack() };
    let (mut host, mut model, _) = started(1, 1_000, config);
    for expiry in 0..20 {
        let before = host.now;
        host.times_out(&mut model, FLOW);
        assert_eq!(host.now - before, Time(least.0 << expiry).min(most), "timeout {expiry}");
        assert_eq!(numbers(&host.sends(&mut model, FLOW, 99)), [0]);
    }
}
