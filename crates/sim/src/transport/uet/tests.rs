//! Both ends by hand, on a host without a network.

#![cfg(test)]

use super::control::React;
use super::control::both::Both;
use super::control::nscc::Nscc;
use super::control::rccc::Rccc;
use super::sleek::SleekRule;
use super::wire::{answer, data, kind};
use super::{BaseRtt, Model, Uet};
use crate::advice::tests::FABRIC;
use crate::balancer::Balancer;
use crate::balancer::entropy::Entropy;
use crate::derived::{Derived, Environment, Longest};
use crate::engine::contract::endpoint::Endpoint;
use crate::engine::contract::fake::{FakeHost, RECEIVER, SENDER};
use crate::engine::contract::host::Host;
use crate::engine::contract::packet::{Packet, TRIMMED_LAST, flag};
use crate::ids::ConnId;
use crate::transport::Settings;
use crate::units::{Bytes, Rate, Time};

const FLOW: ConnId = ConnId(0);
/// Ten packets of 4150 B at 10 Gbps: the window is of 15, 62,250 B.
const RTT: Time = Time(33_200_000);

fn config(control: impl Into<super::control::UetControl>) -> Uet {
    Uet {
        control: control.into(),
        network_rtt: Derived::Given(RTT),
        rto_min: Derived::Given(Time::from_us(200)),
        ..Uet::default()
    }
}

/// A flow of so many full packets, and the first packets that its sender sends.
fn started(uet: Uet, packets: u64) -> (FakeHost, Model, Vec<Packet>) {
    let mut host = FakeHost::pair(packets * uet.payload());
    let mut model = Model::new(host.configs(vec![uet]));
    host.start(&mut model, FLOW);
    let sent = host.sends(&mut model, FLOW, 99);
    (host, model, sent)
}

fn numbers(packets: &[Packet]) -> Vec<u32> {
    packets.iter().map(|packet| packet.header.number).collect()
}

fn kinds(packets: &[Packet]) -> Vec<u8> {
    packets.iter().map(|packet| packet.header.kind & kind::MASK).collect()
}

fn trimmed(packet: &Packet, last_hop: bool) -> Packet {
    let mut header = packet.header;
    header.class |= if last_hop { TRIMMED_LAST } else { 0 };
    Packet { size: 64, flags: packet.flags | flag::TRIMMED, header, ..*packet }
}

fn in_flight(model: &Model) -> i64 {
    model.senders.get(FLOW).as_ref().expect("it has started").in_flight
}

fn window(model: &Model) -> u64 {
    model.window(FLOW, &crate::engine::contract::conn::Conn::between(SENDER, RECEIVER)).expect("NSCC has one")
}

/// 15 packets fit, and the last two want an ACK at once: the size of the packet counts twice.
#[test]
fn the_first_window_is_one_and_a_half_bandwidth_delay_products() {
    let (_, model, sent) = started(config(Nscc::default()), 40);
    assert_eq!(numbers(&sent), (0..15).collect::<Vec<_>>());
    let wants: Vec<bool> = sent.iter().map(|packet| packet.header.kind & data::ACK_NOW != 0).collect();
    assert_eq!(wants.iter().position(|&wants| wants), Some(13));
    assert!(wants[13] && wants[14]);
    assert_eq!(in_flight(&model), 62_250);
}

/// An ACK for the first packet, then one for four full packets; one at once for a mark and for a packet that is there already.
#[test]
fn receivers_acknowledge_four_packets_at_once() {
    let (mut host, mut model, sent) = started(config(Nscc::default()), 40);
    let acks: Vec<usize> = sent[..10].iter().map(|packet| host.receives(&mut model, packet).len()).collect();
    assert_eq!(acks, [1, 0, 0, 0, 1, 0, 0, 0, 1, 0]);
    let again = host.receives(&mut model, &sent[3]);
    assert_eq!((kinds(&again), again[0].header.ack >> 32), (vec![kind::ACK], 10));
    let marked = Packet { flags: sent[10].flags | flag::CE, ..sent[10] };
    let ack = host.receives(&mut model, &marked);
    assert!(ack[0].header.kind & (answer::MARKED | answer::OWN_BASE) == answer::MARKED | answer::OWN_BASE);
    // All eleven have arrived, and take their bytes from those in flight.
    host.answers(&mut model, &ack[0]);
    assert_eq!(in_flight(&model), 4 * 4150);
}

/// Packets 1 and 3 are trimmed on their way. Both reports let the lowest number go first; the window has lost 8300 B.
#[test]
fn reports_of_trimmed_packets_retransmit_them() {
    let (mut host, mut model, sent) = started(config(Nscc::default()), 15);
    host.now = Time::from_us(20);
    let nacks: Vec<Packet> =
        [3, 1].iter().flat_map(|&at| host.receives(&mut model, &trimmed(&sent[at], false))).collect();
    assert_eq!((kinds(&nacks), numbers(&nacks)), (vec![kind::NACK; 2], vec![3, 1]));
    nacks.iter().for_each(|nack| host.answers(&mut model, nack));
    // 33.2 us have fallen to 20: the largest window is 37,500 B, and the second report takes 4150 of it.
    assert_eq!((window(&model), in_flight(&model)), (33_350, 13 * 4150));
    assert!(host.sends(&mut model, FLOW, 99).is_empty());
    for at in [0, 2].into_iter().chain(4..14) {
        for ack in host.receives(&mut model, &sent[at]) {
            host.answers(&mut model, &ack);
        }
    }
    let again = host.sends(&mut model, FLOW, 99);
    assert_eq!(numbers(&again), [1, 3]);
    assert!(again.iter().all(|packet| packet.header.kind & data::REPEATED != 0));
    assert_eq!(host.sender(FLOW).retransmissions, 2);
}

/// A report comes for a packet that then arrives all the same: its bytes are not taken away twice.
#[test]
fn a_packet_that_was_reported_as_trimmed_may_arrive() {
    let (mut host, mut model, sent) = started(config(Nscc::default()), 5);
    let nack = host.receives(&mut model, &trimmed(&sent[2], false));
    host.answers(&mut model, &nack[0]);
    assert_eq!(in_flight(&model), 4 * 4150);
    let mut acks = Vec::new();
    sent.iter().for_each(|packet| acks.extend(host.receives(&mut model, packet)));
    acks.iter().for_each(|ack| host.answers(&mut model, ack));
    assert_eq!((in_flight(&model), host.finished.len(), host.completed.len()), (0, 1, 1));
    assert!(host.sends(&mut model, FLOW, 99).is_empty());
}

/// Without an answer the oldest packet is lost after 200 us: the window is 58,100 B, 14 packets are in flight, the packet may
/// not go, and a request does. Its answer is no data; the next timeout is that of the second packet.
#[test]
fn a_timeout_without_room_sends_a_request() {
    let (mut host, mut model, _) = started(config(Nscc::default()), 40);
    let sent = host.expires(&mut model);
    assert_eq!((host.now, kinds(&sent)), (Time::from_us(200), vec![kind::RTS]));
    assert_eq!((window(&model), in_flight(&model)), (58_100, 14 * 4150));
    let ack = host.receives(&mut model, &sent[0]);
    assert_eq!(ack[0].header.kind & answer::TO_RTS, answer::TO_RTS);
    host.answers(&mut model, &ack[0]);
    host.host = RECEIVER;
    assert_eq!(host.receiver(FLOW).delivered_bytes, 0);
}

/// Without credit but with 15 speculative packets; each has a target: what is left less the credit, at least a packet. A pull of
/// 64 quanta of 256 B lets four packets go, the last of which makes the credit negative.
#[test]
fn credit_lets_whole_packets_go() {
    let (mut host, mut model, sent) = started(config(Rccc::default()), 40);
    assert_eq!(numbers(&sent), (0..15).collect::<Vec<_>>());
    let targets: Vec<i64> = sent.iter().map(|packet| packet.header.ack as i64).collect();
    // 39 packets are left and capped to 15; credit is 58,100 B: 4150 B, 17 quanta. Then 8300 B, 33.
    assert_eq!(targets[..3], [17, 33, 49]);
    for packet in &sent {
        for ack in host.receives(&mut model, packet) {
            host.answers(&mut model, &ack);
        }
    }
    assert!(host.sends(&mut model, FLOW, 99).is_empty());
    let pull = host.expires(&mut model);
    assert_eq!((kinds(&pull), pull[0].header.ack), (vec![kind::PULL], 64));
    host.answers(&mut model, &pull[0]);
    assert_eq!(numbers(&host.sends(&mut model, FLOW, 99)), [15, 16, 17, 18]);
}

/// Of 40 packets 15 go without credit, each of which requests what is lacking: 39 are left, capped to 15, less a credit of 58,100 B,
/// 4150 B or 17 quanta. While two flows wait for their turn at the port it is half of that, 9 quanta, unless requests are not
/// shared.
#[test]
fn flows_at_one_port_share_their_requests() {
    for (share_requests, target) in [(true, 9), (false, 17)] {
        let uet = config(Rccc { share_requests, ..Rccc::default() });
        let mut host = FakeHost::pair(40 * uet.payload());
        let other = host.connection(40 * uet.payload());
        let mut model = Model::new(host.configs(vec![uet]));
        host.start(&mut model, FLOW);
        host.start(&mut model, other);
        assert_eq!(host.sends(&mut model, FLOW, 1)[0].header.ack, target);
    }
}

/// The only packet of a flow under credit is trimmed, and it has requested nothing more: its pull is empty, and it does not go
/// again until no other flow lacks credit. With `repair_credit` the pull has the packet's 17 quanta of 256 B.
#[test]
fn a_trimmed_last_packet_has_credit_only_by_the_field() {
    for (repair_credit, granted) in [(false, 0), (true, 17)] {
        let rccc = Rccc { slow_pulls: false, repair_credit, ..Rccc::default() };
        let (mut host, mut model, sent) = started(config(rccc), 1);
        let nack = host.receives(&mut model, &trimmed(&sent[0], true));
        assert_eq!(kinds(&nack), [kind::NACK]);
        host.answers(&mut model, &nack[0]);
        assert!(host.sends(&mut model, FLOW, 9).is_empty());
        let pull = host.expires(&mut model);
        assert_eq!((kinds(&pull), pull[0].header.ack), (vec![kind::PULL], granted));
        host.answers(&mut model, &pull[0]);
        assert_eq!(numbers(&host.sends(&mut model, FLOW, 9)).len(), usize::from(repair_credit));
    }
}

/// The only packet of a flow under credit is lost. Its sender, which has no answer yet, asks after the timeout of 200 us for
/// credit, and with that the packet goes again.
#[test]
fn a_lone_packet_under_credit_is_sent_again() {
    for uet in [config(Rccc::default()), config(Both::default())] {
        let (mut host, mut model, _) = started(uet, 1);
        let request = host.expires(&mut model);
        assert_eq!((host.now, kinds(&request)), (Time::from_us(200), vec![kind::RTS]));
        for answer in host.receives(&mut model, &request[0]) {
            host.answers(&mut model, &answer);
        }
        let mut again = host.sends(&mut model, FLOW, 9);
        while again.is_empty() {
            host.expires(&mut model).iter().for_each(|pull| host.answers(&mut model, pull));
            again = host.sends(&mut model, FLOW, 9);
        }
        assert_eq!((numbers(&again), again[0].header.kind & data::REPEATED), (vec![0], data::REPEATED));
    }
}

/// A receiver never gives more than its sender may have requested, and a surplus of a window.
#[test]
fn credit_is_conserved() {
    let (mut host, mut model, mut sent) = started(config(Both::default()), 60);
    for _ in 0..400 {
        host.now = Time(host.now.0 + 1_000_000);
        for packet in std::mem::take(&mut sent) {
            for ack in host.receives(&mut model, &packet) {
                host.answers(&mut model, &ack);
            }
        }
        if !host.timers.is_empty() && host.finished.is_empty() {
            for pull in host.expires(&mut model) {
                if pull.dst == SENDER {
                    host.answers(&mut model, &pull);
                }
            }
        }
        sent = host.sends(&mut model, FLOW, 99);
    }
    let account = model.receivers.get(FLOW).account;
    assert_eq!(host.finished, [FLOW]);
    assert_eq!(model.pacers[0].granted.max(model.pacers[1].granted), account.granted);
    assert!(account.granted <= account.target + 62_250 / 256 + 64, "{account:?}");
}

/// Packet 0 of 40 is dropped. When 22 have passed it, a window and a half, all packets of the gap are sent again: it alone.
#[test]
fn sleek_recovers_a_dropped_packet() {
    let uet = Uet { trimming: false, sleek: Some(SleekRule::default()), ..config(Nscc::default()) };
    assert!(uet.problems().is_empty());
    let (mut host, mut model, mut sent) = started(uet, 40);
    let mut repeated = Vec::new();
    let mut first = true;
    for _ in 0..40 {
        host.now = Time(host.now.0 + 3_320_000);
        let arriving: Vec<Packet> = std::mem::take(&mut sent);
        for packet in arriving {
            if std::mem::take(&mut first) {
                continue;
            }
            for ack in host.receives(&mut model, &packet) {
                host.answers(&mut model, &ack);
            }
        }
        sent = host.sends(&mut model, FLOW, 99);
        repeated.extend(sent.iter().filter(|packet| packet.header.kind & data::REPEATED != 0).copied());
    }
    assert_eq!((numbers(&repeated), host.finished.len()), (vec![0], 1));
    assert_eq!(host.sender(FLOW).timeouts, 0);
}

/// The only packet is dropped. A probe follows a base round trip and the target later, and its answer brings the packet back.
#[test]
fn a_probe_finds_the_last_packet() {
    let uet = Uet { trimming: false, sleek: Some(SleekRule::default()), ..config(Nscc::default()) };
    let (mut host, mut model, sent) = started(uet, 2);
    let ack = host.receives(&mut model, &sent[0]);
    host.answers(&mut model, &ack[0]);
    let probe = host.expires(&mut model);
    assert_eq!((kinds(&probe), probe[0].size, probe[0].has(flag::CONTROL)), (vec![kind::PROBE], 64, false));
    let ack = host.receives(&mut model, &probe[0]);
    host.answers(&mut model, &ack[0]);
    assert_eq!(numbers(&host.sends(&mut model, FLOW, 99)), [1]);
}

/// The first answer comes after a round trip. With 25 of 40 packets unsent a probe follows three round trips later, as the
/// window may just be closed; with all sent, one and the target, which is a round trip here.
#[test]
fn probes_wait_longer_while_data_is_unsent() {
    for (packets, round_trips) in [(40, 4), (2, 3)] {
        let uet = Uet { trimming: false, sleek: Some(SleekRule::default()), ..config(Nscc::default()) };
        let (mut host, mut model, sent) = started(uet, packets);
        host.now = RTT;
        let ack = host.receives(&mut model, &sent[0]);
        host.answers(&mut model, &ack[0]);
        let probe = host.expires(&mut model);
        assert_eq!((kinds(&probe), host.now), (vec![kind::PROBE], Time(round_trips * RTT.0)), "{packets}");
    }
}

/// Packets go by their entropy values, which switches hash and senders change: spraying is for a scenario to choose.
#[test]
fn entropy_values_choose_the_paths() {
    assert_eq!(Uet::default().profile().balancer, Balancer::from(Entropy {}));
}

/// A first window of 10,000 B where the longest path holds 154,000 B: advised is half as much again as that.
#[test]
fn a_small_window_is_advised_against() {
    let uet = Uet { initial_window: Some(Bytes(10_000)), ..Uet::default() };
    let [advice] = &uet.advice("t", &FABRIC)[..] else { panic!("one piece of advice") };
    assert_eq!((&advice.path[..], &advice.write[..]), ("t.initial_window", "t.initial_window = \"231KB\""));
}

/// A pair whose cables have 8 us in place of the network's 12: its base round trip is 33.2 - 4 = 29.2 us, in which 10 Gbps carry
/// 36,500 B; 1.5 times that, 54,750 B, are its first window and the limit of its credit. A pair as far apart as any has the
/// network's 62,250 B, and so has each where base_rtt = "network".
#[test]
fn the_first_window_is_that_of_the_pair() {
    for (base_rtt, us, bytes) in
        [(BaseRtt::Pair, 8, 54_750), (BaseRtt::Pair, 12, 62_250), (BaseRtt::Network, 8, 62_250)]
    {
        let nscc =
            Uet { base_rtt, network_delay: Derived::Given(Time::from_us(12)), ..config(Nscc::default()) };
        let rccc = Uet { control: Rccc::default().into(), ..nscc.clone() };
        for uet in [nscc, rccc] {
            let mut host = FakeHost::pair(100 * uet.payload());
            host.path_delay = Time::from_us(us);
            let mut model = Model::new(host.configs(vec![uet]));
            host.start(&mut model, FLOW);
            let sent = host.sends(&mut model, FLOW, 99).len();
            let sender = model.senders.get(FLOW).as_ref().expect("it has started");
            assert_eq!(sender.delays.base_rtt, if bytes == 54_750 { Time(29_200_000) } else { RTT });
            match sender.credit {
                // A packet goes as long as any credit is left.
                Some(_) => assert_eq!(sent as u64, (bytes as u64).div_ceil(4150)),
                None => assert_eq!((sender.window.bytes(), sent as i64), (bytes, bytes / 4150)),
            }
        }
    }
}

/// Two cables of 1 us each way: at 100 Gbps a full packet there and its ACK back take 4 us and 2 x (332 + 5.12) ns, 4.674 us, in
/// which 58,428 B go, 14.1 packets, of a window of 21: seven more, so that the simulator's 16,384 B stay. At 25 Gbps 20,928 B are 5.04
/// packets of 7: two packets, 8,300 B. At 10 Gbps 13,428 B are 3.2 of 4: one. A given threshold stays.
#[test]
fn acknowledgements_fit_the_window() {
    let derived = |gbps: u64, uet: Uet| {
        let longest = Longest { rate: Rate(gbps * 1_000_000_000), ..FABRIC };
        let environment = Environment {
            longest,
            nearest_delay: Time(4_000_000),
            marks_last_hop: true,
            marks_as_share: false,
            port_bytes: None,
            oversubscription: 1.0,
            demands: Vec::new(),
        };
        let values = uet.derived(&environment);
        values.iter().find(|(field, _)| field == "ack_bytes").map(|(_, value)| value.clone())
    };
    let is = |bytes: u64| Some(serde_json::json!(Bytes(bytes)));
    assert_eq!(derived(100, Uet::default()), is(16_384));
    assert_eq!(derived(25, Uet::default()), is(8_300));
    assert_eq!(derived(10, Uet::default()), is(4_150));
    assert_eq!(derived(10, Uet { ack_bytes: Derived::Given(Bytes(99_000)), ..Uet::default() }), None);
}
