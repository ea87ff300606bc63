//! The order of a matching's packets between two hosts, without a network.

use super::*;
use crate::engine::contract::fake::FakeHost;

const FLOW: ConnId = ConnId(0);
/// Rounds of the default, 1.3 times 5.216 us.
const ROUND: u64 = 6_780_800;
/// A packet without payload from end to end.
const ONE_WAY: u64 = 2_608_000;

fn model(host: &FakeHost) -> Model {
    Model::new(host.configs(vec![Dcpim::default()]))
}

fn kinds(packets: &[Packet]) -> Vec<u8> {
    packets.iter().map(|packet| packet.header.kind).collect()
}

/// A host with a flow of so many bytes whose request has come to the receiver, which has asked for channels.
fn asked(size: u64) -> (FakeHost, Model, Packet) {
    let mut host = FakeHost::pair(size);
    let mut model = model(&host);
    host.start(&mut model, FLOW);
    let opening = std::mem::take(&mut host.sent);
    host.now = Time(ONE_WAY);
    assert_eq!(host.receives(&mut model, &opening[0]).len(), 0);
    let requests = host.expires(&mut model);
    assert_eq!((host.now, kinds(&requests)), (Time(ROUND), vec![kind::REQUEST]));
    (host, model, requests[0])
}

/// A flow of 100 packets at 10 Gbps, where a channel has five packets: its receiver asks for all four channels when the next round
/// begins, the sender grants them half a round later, and at the end of the round the receiver accepts and sends the first token,
/// as no channel of the running phase is used; it expires when the first data phase has begun, and the last packet may have
/// come.
#[test]
fn a_round_leads_to_tokens() {
    let (mut host, mut model, request) = asked(100 * 1460);
    let all = Channels { all: 4, prompt: 4 };
    assert_eq!((request.header.number, Channels::of_word(request.header.ack)), (100, all));
    host.now = Time(ROUND + ONE_WAY);
    host.answers(&mut model, &request);
    let grants = host.expires(&mut model);
    assert_eq!((host.now, kinds(&grants)), (Time(ROUND + ROUND / 2), vec![kind::GRANT]));
    assert_eq!(host.receives(&mut model, &grants[0]).len(), 0);
    let accepted = host.expires(&mut model);
    assert_eq!((host.now, kinds(&accepted)), (Time(2 * ROUND), vec![kind::ACCEPT, kind::TOKEN]));
    let token = accepted[1].header;
    assert_eq!((token.number, token.seq), (0, 4 * ROUND + ONE_WAY + 4_800_000));
    host.now = Time(2 * ROUND + ONE_WAY);
    accepted.iter().for_each(|packet| host.answers(&mut model, packet));
    assert_eq!(host.sends(&mut model, FLOW, 9).len(), 1);
    host.answers(&mut model, &accepted[1]);
    host.now = Time(token.seq + 1);
    assert_eq!(host.sends(&mut model, FLOW, 9).len(), 0, "it has expired");
}

/// A request that comes in the second half of its round is dropped.
#[test]
fn a_late_request_is_not_granted() {
    let (mut host, mut model, request) = asked(100 * 1460);
    host.now = Time(ROUND + ROUND / 2 + 1);
    host.answers(&mut model, &request);
    assert!(host.timers.iter().all(|(_, _, kind)| *kind != GRANT));
}

/// Two accepts that are for more than all channels together: the second one returns what exceeds them, and its receiver sends
/// tokens for the rest.
#[test]
fn channels_that_are_not_left_return() {
    let mut host = FakeHost::pair(146_000);
    let other = host.connection(146_000);
    let mut model = model(&host);
    let mut opening = Vec::new();
    for id in [FLOW, other] {
        host.start(&mut model, id);
        opening.append(&mut host.sent);
    }
    opening.iter().for_each(|packet| assert_eq!(host.receives(&mut model, packet).len(), 0));
    let accept = |conn: ConnId, all: u32| {
        let ack = Channels { all, prompt: 0 }.word();
        let header = Header { kind: kind::ACCEPT, ack, ..Header::default() };
        Packet { conn, dst: crate::engine::contract::fake::SENDER, header, ..opening[0] }
    };
    host.answers(&mut model, &accept(FLOW, 3));
    assert_eq!(host.sent.len(), 0);
    host.answers(&mut model, &accept(other, 3));
    let returned = std::mem::take(&mut host.sent);
    assert_eq!((kinds(&returned), returned[0].conn), (vec![kind::RETURN], other));
    assert_eq!(Channels::of_word(returned[0].header.ack), Channels { all: 2, prompt: 0 });
    let grant = Offer {
        conn: other,
        source: host.conns[1].src,
        round: 0,
        left: 100,
        channels: Channels { all: 3, prompt: 0 },
        key: 0,
    };
    model.downlinks[0].matches.accept(&grant, host.now);
    host.receives(&mut model, &returned[0]);
    assert_eq!(model.downlinks[0].matches.given(), [0, 1]);
}

/// A short flow ends without a matching: of the timers that it set none does anything, and none sets another.
#[test]
fn hosts_without_flows_set_no_timers() {
    let mut host = FakeHost::pair(1000);
    let mut model = model(&host);
    host.start(&mut model, FLOW);
    let mut packets = std::mem::take(&mut host.sent);
    packets.extend(host.sends(&mut model, FLOW, 9));
    assert_eq!(kinds(&packets), [kind::RTS, kind::LAST]);
    assert_eq!(host.receives(&mut model, &packets[0]).len(), 0);
    let ack = host.receives(&mut model, &packets[1]);
    assert_eq!(kinds(&ack), [kind::ACK]);
    host.answers(&mut model, &ack[0]);
    let pending = host.timers.len();
    assert!(pending <= 2, "{:?}", host.timers);
    (0..pending).for_each(|_| assert_eq!(host.expires(&mut model).len(), 0));
    assert_eq!(host.timers.len(), 0);
    let late = Header { kind: kind::TOKEN, seq: Time::NEVER.0, ..Header::default() };
    host.answers(&mut model, &Packet { header: late, ..ack[0] });
    assert_eq!(host.sends(&mut model, FLOW, 9).len(), 0);
}
