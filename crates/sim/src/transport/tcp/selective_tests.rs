//! TCP with SACK, each mechanism alone and by hand, on a fake network.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::congestion::bbr::Bbr;
use super::slow_start::SlowStart;
use super::*;
use crate::derived::Derived;
use crate::engine::contract::fake::FakeHost;
use crate::engine::contract::packet::{Record, flag};
use crate::units::{Bytes, Time};

pub(super) const FLOW: ConnId = ConnId(0);

/// SACK and nothing else, with segments of 1000 B that are acknowledged one by one.
pub(super) fn sack() -> Tcp {
    Tcp { mss: Bytes(1000), handshake: false, delayed_ack: 1, sack: Some(true), ..Tcp::default() }
}

pub(super) fn started(window: u32, size: u64, config: Tcp) -> (FakeHost, Model, Vec<Packet>) {
    let config = Tcp { initial_window: Derived::Given(window), ..config };
    let mut host = FakeHost::pair(size);
    let mut model = Model::new(host.configs(vec![config]));
    host.start(&mut model, FLOW);
    let packets = host.sends(&mut model, FLOW, 99);
    (host, model, packets)
}

pub(super) fn numbers(packets: &[Packet]) -> Vec<u32> {
    packets.iter().map(|packet| packet.header.number).collect()
}

/// A segment arrives, its acknowledgement comes back at once: numbers of the segments that are sent by it.
pub(super) fn round(host: &mut FakeHost, model: &mut Model, packet: &Packet) -> Vec<Packet> {
    for ack in host.receives(model, packet) {
        host.answers(model, &ack);
    }
    host.sends(model, FLOW, 99)
}

pub(super) fn window(host: &FakeHost, model: &Model) -> u64 {
    model.window(FLOW, &host.conns[0]).expect("TCP has one") / 1000
}

/// RFC 6675 by hand: of ten segments 0 and 4 are lost. The first two SACKs leave room for 10 and 11, the third shows that 0
/// is lost: the window is 5, and 0 goes whatever the pipe is. The SACKs of 5 to 7 bring the pipe of nine (3, which is
/// SACKed, does not count; 4 to 11 and 0) to six, in which 4 is lost: five. 8 leaves four: 4 goes. With 9 four again: 12.
#[test]
fn recovery_with_a_pipe() {
    let (mut host, mut model, packets) = started(10, 100_000, sack());
    let sent: Vec<_> = [1, 2, 3, 5, 6, 7, 8, 9]
        .map(|number: usize| numbers(&round(&mut host, &mut model, &packets[number])))
        .into();
    assert_eq!(sent, [vec![10], vec![11], vec![0], vec![], vec![], vec![], vec![4], vec![12]]);
    assert_eq!(window(&host, &model), 5);
}

/// A timeout spares SACKed segments: of ten, 0, 5 and 9 are lost, and so is the retransmission of 0. With a window of one,
/// 0 goes again; its acknowledgement covers 1 to 4 and lets 5 and 9 go, but nothing that has arrived.
#[test]
fn a_timeout_spares_what_has_arrived() {
    let (mut host, mut model, packets) = started(10, 10_000, sack());
    for number in [1, 2, 3, 4, 6, 7, 8] {
        round(&mut host, &mut model, &packets[number]);
    }
    host.times_out(&mut model, FLOW);
    let again = host.sends(&mut model, FLOW, 99);
    assert_eq!(numbers(&again), [0]);
    assert_eq!(numbers(&round(&mut host, &mut model, &again[0])), [5, 9]);
}

/// PRR (RFC 6937, 3), the first example of its section 4: twenty segments in flight, of which the first is lost, and a
/// threshold of ten. Two new segments go by the first SACKs. From the third on half of the delivered segments may go, rounded
/// up: the retransmission at once, then a segment with every second SACK, until ten are in flight after the last.
#[test]
fn a_reduction_in_proportion() {
    let config = Tcp { repair: Some(Repair::Proportional), ..sack() };
    let (mut host, mut model, packets) = started(20, 1_000_000, config);
    let sent: Vec<_> =
        packets[1..].iter().map(|packet| numbers(&round(&mut host, &mut model, packet))).collect();
    let new = |at: usize| match at {
        1 => vec![20],
        2 => vec![21],
        3 => vec![0],
        5 | 7 | 9 | 11 | 13 | 15 | 17 => vec![22 + (at as u32 - 5) / 2],
        _ => vec![],
    };
    assert_eq!(sent, (1..20).map(new).collect::<Vec<_>>());
}

/// RACK finds the loss of a retransmission (RFC 8985, 3.2): 0 goes again after 10 ms, and is lost again. When 10, which was
/// sent by a later SACK, is acknowledged a round trip after that, 0 is lost again. By counting nothing happens.
#[test]
fn a_lost_retransmission() {
    for (rack, again) in [(true, vec![0]), (false, vec![])] {
        let config = Tcp { rack: Some(rack), ..sack() };
        let (mut host, mut model, packets) = started(10, 100_000, config);
        let mut later = Vec::new();
        for (number, packet) in (1..).zip(&packets[1..10]) {
            host.now = Time::from_us(10_000 + number);
            later.extend(round(&mut host, &mut model, packet));
        }
        let first = later.iter().position(|packet| packet.header.number == 0).expect("0 goes again");
        let behind = later[first + 1..].iter().find(|packet| packet.header.number >= 10).expect("a new one");
        host.now = behind.created_at + Time::from_us(10_000);
        let sent = round(&mut host, &mut model, behind);
        let zero: Vec<_> = numbers(&sent).into_iter().filter(|number| *number == 0).collect();
        assert_eq!(zero, again, "rack = {rack}");
    }
}

/// Two of ten segments arrive behind 0 and 1, which are lost: too few to count. RACK waits for a quarter of the round trip
/// of 10 ms (RFC 8985, 6.2, step 4); both were sent at the same time, and the window of two has room for both.
#[test]
fn losses_that_time_shows() {
    let config = Tcp { rack: Some(true), ..sack() };
    let (mut host, mut model, packets) = started(4, 4_000, config);
    host.now = Time::from_us(10_000);
    for number in [2, 3] {
        assert!(round(&mut host, &mut model, &packets[number]).is_empty());
    }
    host.expires(&mut model);
    while !host.ready.contains(&FLOW) {
        host.expires(&mut model);
    }
    assert_eq!(host.now, Time::from_us(12_500));
    assert_eq!(numbers(&host.sends(&mut model, FLOW, 99)), [0, 1]);
}

/// TLP (RFC 8985, 7): the last two of ten segments are lost. The last acknowledgement comes after 10 ms; the probe two round
/// trips and 2 ms later is the last segment, by whose SACK 8 is lost too.
#[test]
fn a_probe_for_the_tail() {
    let config = Tcp { rack: Some(true), tail_loss_probe: Some(true), ..sack() };
    let (mut host, mut model, packets) = started(10, 10_000, config);
    host.now = Time::from_us(10_000);
    for packet in &packets[..8] {
        round(&mut host, &mut model, packet);
    }
    while !host.ready.contains(&FLOW) {
        host.expires(&mut model);
    }
    assert_eq!(host.now, Time::from_us(32_000));
    let probe = host.sends(&mut model, FLOW, 99);
    assert_eq!(numbers(&probe), [9]);
    host.now = Time::from_us(42_000);
    assert_eq!(numbers(&round(&mut host, &mut model, &probe[0])), [8]);
    assert_eq!(host.conns[0].counts().timeouts, 0);
}

/// A probe whose time or turn at a busy port has not come when a loss is found is called off: of ten segments 0 arrives, a probe is
/// due at 32 ms, and before it is sent 3 to 5 show that 1 and 2 are lost. The window is five, and four are in flight: 1 goes, not
/// 9; and nothing more until the timeout.
#[test]
fn a_loss_calls_a_probe_off() {
    for is_due in [true, false] {
        let config = Tcp { tail_loss_probe: Some(true), ..sack() };
        let (mut host, mut model, packets) = started(10, 10_000, config);
        host.now = Time::from_us(10_000);
        round(&mut host, &mut model, &packets[0]);
        while is_due && !host.ready.contains(&FLOW) {
            host.expires(&mut model);
        }
        for packet in &packets[3..6] {
            for ack in host.receives(&mut model, packet) {
                host.answers(&mut model, &ack);
            }
        }
        assert_eq!(numbers(&host.sends(&mut model, FLOW, 99)), [1], "{is_due}");
        host.times_out(&mut model, FLOW);
        assert_eq!(host.conns[0].counts().timeouts, 1);
    }
}

/// With the last segment alone in flight the probe waits for rto_min more; it repairs the loss, and the window is halved all
/// the same when more than it is acknowledged (RFC 8985, 7.4.2).
#[test]
fn a_probe_that_repairs_the_loss() {
    let config = Tcp { tail_loss_probe: Some(true), rto_min: Some(Time::from_us(50_000)), ..sack() };
    let (mut host, mut model, packets) = started(10, 10_000, config);
    host.now = Time::from_us(10_000);
    for packet in &packets[..9] {
        round(&mut host, &mut model, packet);
    }
    while !host.ready.contains(&FLOW) {
        host.expires(&mut model);
    }
    // The timeout is max(50 ms, 10 + 4 * 5 ms) and comes before the 70 ms: the probe takes its place.
    assert_eq!((host.now, host.conns[0].counts().timeouts), (Time::from_us(60_000), 0));
    assert_eq!(numbers(&host.sends(&mut model, FLOW, 99)), [9]);
    host.times_out(&mut model, FLOW);
    assert_eq!(host.now, Time::from_us(110_000));
}

/// Eifel (RFC 3522): 1 to 3 overtake 0, which goes again. When the original's acknowledgement comes, the window of ten
/// returns, and grows by it.
#[test]
fn a_needless_reduction_is_taken_back() {
    for (undo, left) in [(true, 11), (false, 5)] {
        let config = Tcp { undo: Some(undo), ..sack() };
        let (mut host, mut model, packets) = started(10, 10_000, config);
        for number in [1, 2, 3] {
            host.now = Time::from_us(1_000);
            round(&mut host, &mut model, &packets[number]);
        }
        assert_eq!(window(&host, &model), 5);
        round(&mut host, &mut model, &packets[0]);
        assert_eq!(window(&host, &model), left, "undo = {undo}");
    }
}

/// After a timeout data is acknowledged with an echo, again and again, as retransmissions carry no CWR. The window grows
/// from one segment to two with `growth_in_repair`, and else stands still.
#[test]
fn echoes_after_a_timeout() {
    for sacks in [false, true] {
        for (grows, left) in [(true, 2), (false, 1)] {
            let config = Tcp { ecn: true, growth_in_repair: Some(grows), sack: Some(sacks), ..sack() };
            let (mut host, mut model, packets) = started(4, 100_000, config);
            let marked = Packet { flags: packets[1].flags | flag::CE, ..packets[1] };
            round(&mut host, &mut model, &marked);
            host.times_out(&mut model, FLOW);
            let again = host.sends(&mut model, FLOW, 1);
            assert_eq!(numbers(&again), [0]);
            round(&mut host, &mut model, &again[0]);
            assert_eq!(window(&host, &model), left, "SACK {sacks}, growth {grows}");
        }
    }
}

/// Marks take effect over a round trip under NewReno: from ten segments to five, the first acknowledgement lets one go.
#[test]
fn marks_in_proportion() {
    for (repair, sent) in [(Repair::Proportional, 1), (Repair::AtOnce, 0)] {
        let config = Tcp { ecn: true, sack: Some(false), repair: Some(repair), ..sack() };
        let (mut host, mut model, packets) = started(10, 100_000, config);
        let marked = Packet { flags: packets[0].flags | flag::CE, ..packets[0] };
        assert_eq!(round(&mut host, &mut model, &marked).len(), sent);
    }
}

/// Packets arrive a round trip of so many ms after they were sent, no two within a millisecond: what is sent by them.
fn flight(host: &mut FakeHost, model: &mut Model, packets: &[Packet], ms: u64) -> Vec<Packet> {
    let arrive = |packet: &Packet| {
        host.now = (host.now + Time::from_us(1_000)).max(packet.created_at + Time::from_us(1_000 * ms));
        round(host, model, packet)
    };
    packets.iter().flat_map(arrive).collect()
}

/// HyStart ends the slow start after a timeout, too (Linux: `bictcp_hystart_reset`). Of sixty segments twelve are
/// acknowledged 1 ms apart, for over half of the round trip of 20 ms: the window of 71 is the threshold. All others are
/// lost, 71 in flight, so that the threshold is 35. From one segment it doubles to 16 at 20 ms; at 30 ms the ninth
/// sample ends slow start at 24, where it would be 32.
#[test]
fn slow_start_after_a_timeout_is_watched() {
    let config = Tcp { slow_start: Some(SlowStart::Hystart), ..sack() };
    let (mut host, mut model, packets) = started(60, 1_000_000, config);
    flight(&mut host, &mut model, &packets[..12], 20);
    assert_eq!(window(&host, &model), 71);
    host.times_out(&mut model, FLOW);
    let mut sent = host.sends(&mut model, FLOW, 99);
    for expected in [1, 2, 4, 8] {
        assert_eq!((sent.len(), window(&host, &model)), (expected, expected as u64));
        sent = flight(&mut host, &mut model, &sent, 20);
    }
    assert_eq!(sent.len(), 16);
    flight(&mut host, &mut model, &sent, 30);
    assert_eq!(window(&host, &model), 24);
}

/// A retransmission gives BBR no round trip (Karn): the original 0, which 1 to 3 have overtaken, arrives 10 us after it
/// went again. With a round trip of 10 us the path would hold less than a segment, and Startup would stop at four; it
/// goes on to more than twice the first window.
#[test]
fn the_round_trip_of_a_retransmission_is_none() {
    let config = Tcp { congestion: Some(Bbr::default().into()), ..sack() };
    let (mut host, mut model, packets) = started(10, 1_000_000, config);
    let mut later = flight(&mut host, &mut model, &packets[1..4], 10);
    while later.iter().all(|packet| packet.header.number != 0) {
        host.expires(&mut model);
        later.extend(host.sends(&mut model, FLOW, 99));
    }
    host.now = host.now + Time::from_us(10);
    later.extend(round(&mut host, &mut model, &packets[0]));
    later.retain(|packet| packet.header.number != 0);
    let mut next: VecDeque<Packet> = packets[4..].iter().copied().chain(later).collect();
    for _ in 0..40 {
        let Some(packet) = next.pop_front() else {
            host.expires(&mut model);
            next.extend(host.sends(&mut model, FLOW, 99));
            continue;
        };
        next.extend(flight(&mut host, &mut model, &[packet], 10));
    }
    assert!(window(&host, &model) > 20, "{}", window(&host, &model));
}

/// RTO of RFC 6298 and of Linux: a round trip of 10 ms gives 10 + 4 * 5 ms. With rto_min = 50 ms that is 50 ms, or 10 and
/// 50 ms.
#[test]
fn the_floor_of_the_timeout() {
    for (floor, due) in [(Floor::Timeout, 60_000), (Floor::Variation, 70_000)] {
        let rto_min = Some(Time::from_us(50_000));
        let config = Tcp { sack: Some(false), rto_floor: Some(floor), rto_min, ..sack() };
        let (mut host, mut model, packets) = started(2, 2_000, config);
        host.now = Time::from_us(10_000);
        round(&mut host, &mut model, &packets[0]);
        host.times_out(&mut model, FLOW);
        assert_eq!(host.now, Time::from_us(due));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Under random loss, reordering and duplication all arrives; with neither nothing goes twice.
    #[test]
    fn all_arrives(
        fates in prop::collection::vec((0u8..20, any::<prop::sample::Index>()), 600),
        (trouble, rack, dsack, probe, repair) in (0u8..3, any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        (models, sacks, f_rto) in (any::<bool>(), any::<bool>(), any::<bool>()),
    ) {
        let sacks = sacks || models;
        let repair = if repair { Repair::Proportional } else { Repair::AtOnce };
        let config = Tcp {
            rack: Some(rack), dsack: Some(dsack), tail_loss_probe: Some(probe), undo: Some(dsack), repair: Some(repair),
            delayed_ack: 2, congestion: models.then(|| Bbr::default().into()), sack: Some(sacks), f_rto: Some(f_rto),
            ..sack()
        };
        let (mut host, mut model, packets) = started(10, 60_000, config);
        let mut in_flight: VecDeque<(Packet, Record)> = packets.into_iter().map(|packet| (packet, Record::default())).collect();
        let mut fates = fates.into_iter();
        while host.finished.is_empty() {
            // Behind them all goes well.
            let fate = fates.next();
            let trouble = if fate.is_some() { trouble } else { 0 };
            let (fate, place) = fate.map_or((9, None), |(fate, place)| (fate, Some(place)));
            host.now = host.now + Time::from_us(100);
            let at = match (trouble, fate, place) {
                (2, 4..=7, Some(place)) if !in_flight.is_empty() => place.index(in_flight.len()),
                _ => 0,
            };
            let Some(next) = in_flight.remove(at) else {
                host.expires(&mut model);
                in_flight.extend(host.sent.drain(..).map(|packet| (packet, host.record)));
                let sent = host.sends(&mut model, FLOW, 99);
                in_flight.extend(sent.into_iter().map(|packet| (packet, Record::default())));
                continue;
            };
            if trouble > 0 && fate < 2 {
                continue;
            }
            if trouble == 2 && fate == 3 {
                in_flight.push_back(next);
            }
            let (packet, record) = next;
            host.record = record;
            if packet.dst == host.conns[0].dst {
                for ack in host.receives(&mut model, &packet) {
                    in_flight.push_back((ack, host.record));
                }
            } else {
                host.answers(&mut model, &packet);
                let sent = host.sends(&mut model, FLOW, 99);
                in_flight.extend(sent.into_iter().map(|packet| (packet, Record::default())));
            }
        }
        prop_assert_eq!(host.conns[0].counts().delivered_bytes, 60_000);
        if trouble == 0 && !probe {
            prop_assert_eq!(host.conns[0].counts().retransmissions, 0);
        }
    }
}
