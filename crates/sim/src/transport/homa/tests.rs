//! Both ends of a message against a fake host: grants, requests, probes and acknowledgements that are lost.

use super::*;
use crate::engine::contract::fake::FakeHost;

const FLOW: ConnId = ConnId(0);

/// A message of ten full packets, four of which go without a grant.
fn started() -> (FakeHost, Model, Vec<Packet>) {
    let config = Homa {
        rtt_bytes: Derived::Given(Bytes(4 * 1500)),
        unscheduled_levels: Some(1),
        cutoffs: Some(Vec::new()),
        resend_interval: Derived::Given(Time::from_us(1000)),
        ..Homa::default()
    };
    let mut host = FakeHost::pair(10 * 1440);
    let mut model = Model::new(host.configs(vec![config]));
    host.start(&mut model, FLOW);
    let packets = host.sends(&mut model, FLOW, 99);
    assert_eq!(numbers(&packets), [0, 1, 2, 3]);
    (host, model, packets)
}

fn numbers(packets: &[Packet]) -> Vec<u32> {
    packets.iter().map(|packet| packet.header.number).collect()
}

/// The packets arrive, one every two microseconds: what is sent at once.
fn arrive(host: &mut FakeHost, model: &mut Model, packets: &[Packet]) -> Vec<Packet> {
    let mut answers = Vec::new();
    for packet in packets {
        host.now = host.now + Time::from_us(2);
        answers.extend(host.receives(model, packet));
    }
    answers
}

/// Timers expire until one sends packets.
fn next_sent(host: &mut FakeHost, model: &mut Model) -> Vec<Packet> {
    loop {
        let sent = host.expires(model);
        if !sent.is_empty() {
            return sent;
        }
    }
}

/// Each packet brings a grant; of four the last one says all that the others said. While its message is alone, and has no more
/// than a window left to grant, it has the last level and then that of its few bytes.
#[test]
fn a_lost_grant_is_covered_by_the_next() {
    let (mut host, mut model, packets) = started();
    assert!(packets.iter().all(|packet| packet.header.class == 0));
    let grants = arrive(&mut host, &mut model, &packets);
    let read = |grant: &Packet| (grant.header.kind, grant.header.number, grant.header.len);
    assert_eq!(
        grants.iter().map(read).collect::<Vec<_>>(),
        [(kind::GRANT, 5, 7), (kind::GRANT, 6, 7), (kind::GRANT, 7, 7), (kind::GRANT, 8, 0)]
    );
    host.answers(&mut model, &grants[3]);
    let more = host.sends(&mut model, FLOW, 99);
    assert_eq!(numbers(&more), [4, 5, 6, 7]);
    host.answers(&mut model, &grants[1]);
    assert!(host.sends(&mut model, FLOW, 99).is_empty());
}

/// All grants are lost: a request asks for the granted packets. None of them has been sent, so that the sender replies BUSY, and
/// sends them now, on the highest level; none counts as a retransmission.
#[test]
fn a_request_grants_what_it_asks_for() {
    let (mut host, mut model, packets) = started();
    arrive(&mut host, &mut model, &packets);
    let asked = next_sent(&mut host, &mut model);
    assert_eq!(host.now, Time::from_us(8 + 1000));
    assert_eq!((asked[0].header.kind, asked[0].header.number, asked[0].header.seq), (kind::RESEND, 4, 8));
    host.sent.clear();
    host.answers(&mut model, &asked[0]);
    let busy = host.sent[0];
    assert_eq!(busy.header.kind, kind::BUSY);
    let more = host.sends(&mut model, FLOW, 99);
    assert_eq!(numbers(&more), [4, 5, 6, 7]);
    assert!(more.iter().all(|packet| packet.header.class == 0));
    assert_eq!((host.sender(FLOW).retransmissions, host.sender(FLOW).timeouts), (0, 0));
    // BUSY puts the next request off by an interval, not by two.
    host.receives(&mut model, &busy);
    let again = next_sent(&mut host, &mut model);
    assert_eq!((again[0].header.kind, host.now), (kind::RESEND, Time::from_us(8 + 2000)));
}

/// The second of four packets is lost, and asked for alone; a second request before the retransmission has left adds none.
#[test]
fn a_lost_packet_is_retransmitted_once() {
    let (mut host, mut model, packets) = started();
    let kept = [packets[0], packets[2], packets[3]];
    let grants = arrive(&mut host, &mut model, &kept);
    let asked = next_sent(&mut host, &mut model);
    assert_eq!((asked[0].header.number, asked[0].header.seq), (1, 2));
    host.answers(&mut model, &asked[0]);
    host.answers(&mut model, &asked[0]);
    for grant in &grants {
        host.answers(&mut model, grant);
    }
    assert_eq!(numbers(&host.sends(&mut model, FLOW, 99)), [1, 4, 5, 6]);
    assert_eq!((host.sender(FLOW).retransmissions, host.sender(FLOW).timeouts), (1, 1));
}

/// All packets without a grant are lost: the sender asks after two intervals, and again after four more; the receiver, which
/// learns of the message thus, requests them at once.
#[test]
fn a_message_that_no_packet_announced() {
    let (mut host, mut model, _) = started();
    let lost = next_sent(&mut host, &mut model);
    assert_eq!((lost[0].header.kind, host.now), (kind::PROBE, Time::from_us(2000)));
    let probe = next_sent(&mut host, &mut model);
    assert_eq!((probe[0].header.kind, host.now), (kind::PROBE, Time::from_us(6000)));
    let asked = host.receives(&mut model, &probe[0]);
    assert_eq!((asked[0].header.kind, asked[0].header.number, asked[0].header.seq), (kind::RESEND, 0, 4));
    host.answers(&mut model, &asked[0]);
    assert_eq!(numbers(&host.sends(&mut model, FLOW, 99)), [0, 1, 2, 3]);
    assert_eq!(host.sender(FLOW).retransmissions, 4);
}

/// The acknowledgement is lost: a probe brings another one. A third says nothing new.
#[test]
fn a_lost_acknowledgement_is_sent_again() {
    let (mut host, mut model, mut packets) = started();
    for _ in 0..9 {
        let answers = arrive(&mut host, &mut model, &packets);
        answers
            .iter()
            .filter(|answer| answer.header.kind == kind::GRANT)
            .for_each(|grant| host.answers(&mut model, grant));
        packets = host.sends(&mut model, FLOW, 99);
    }
    assert_eq!((host.completed.len(), host.finished.len()), (1, 0));
    let probe = next_sent(&mut host, &mut model);
    assert_eq!(probe[0].header.kind, kind::PROBE);
    let acks = host.receives(&mut model, &probe[0]);
    assert_eq!((acks.len(), acks[0].header.kind), (1, kind::ACK));
    host.answers(&mut model, &acks[0]);
    host.answers(&mut model, &acks[0]);
    assert_eq!(host.finished, [FLOW]);
}
