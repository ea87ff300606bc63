//! RoCE on a fake host: recovery, notifications, pacing, windows, and the input of a control; and telemetry over three
//! ports in a whole run.

#![cfg(test)]

use std::cell::RefCell;

use super::congestion::{Ack, Control, Loss};
use super::recovery::irn::{Irn, Resend};
use super::*;
use crate::derived::Derived;
use crate::engine::contract::fake::FakeHost;
use crate::engine::contract::packet::flag;
use crate::engine::contract::telemetry::{Hop, Telemetry};
use crate::setup::replaced::run_with_transport;
use crate::topology::Fabric;
use crate::units::Rate;

const FLOW: ConnId = ConnId(0);

fn started(packets: u64) -> (FakeHost, Model) {
    let mut host = FakeHost::pair(packets * 1000);
    let mut model = Model::new(host.configs(vec![Roce::default()]));
    host.start(&mut model, FLOW);
    (host, model)
}

/// Kind of each answer, and the packet that the receiver expects next.
fn says(answers: &[Packet]) -> Vec<(u8, u32)> {
    answers.iter().map(|answer| (answer.header.kind & !kind::MARKED, answer.header.number)).collect()
}

/// Packet 1 of five is lost. The receiver reports it once; the sender goes back to it once, and
/// retransmits all packets from there.
#[test]
fn a_missing_packet_makes_the_sender_go_back_to_it_once() {
    let (mut host, mut model) = started(5);
    let packets = host.sends(&mut model, FLOW, 9);
    assert_eq!(packets.len(), 5);
    let mut answers = Vec::new();
    for number in [0, 2, 3, 4] {
        answers.extend(host.receives(&mut model, &packets[number]));
    }
    assert_eq!(says(&answers), [(kind::ACK, 1), (kind::NAK, 1)]);
    answers.iter().for_each(|answer| host.answers(&mut model, answer));
    let again = host.sends(&mut model, FLOW, 9);
    assert_eq!(again.iter().map(|packet| packet.header.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(host.sender(FLOW).retransmissions, 4);
    for (packet, next) in again.iter().zip(2..) {
        let answers = host.receives(&mut model, packet);
        assert_eq!(says(&answers), [(kind::ACK, next)]);
        host.answers(&mut model, &answers[0]);
        assert!(host.sends(&mut model, FLOW, 9).is_empty());
    }
    assert_eq!((&host.completed[..], &host.finished[..]), (&[FLOW][..], &[FLOW][..]));
}

/// Marks at 0, 10, 49.999 and 50 us and an interval of 50 us: the first and the last make a notification.
#[test]
fn there_is_one_notification_in_an_interval() {
    let (mut host, mut model) = started(6);
    let packets = host.sends(&mut model, FLOW, 9);
    let mut notified = Vec::new();
    let marked = [(0, true), (10_000, true), (49_999, true), (50_000, true), (200_000, false)];
    for (packet, (ns, marked)) in packets.iter().zip(marked) {
        host.now = Time::from_ns(ns);
        let flags = if marked { packet.flags | flag::CE } else { packet.flags };
        let answers = host.receives(&mut model, &Packet { flags, ..*packet });
        let is_notification = |answer: &&Packet| answer.header.kind == kind::CNP;
        notified.push(answers.iter().filter(is_notification).count());
    }
    assert_eq!(notified, [1, 0, 0, 1, 0]);
}

/// The first notification finds alpha at 1 and halves 10 Gbps: a packet of 1062 B is followed by the next one after
/// 1062 * 8 / 5 Gbps = 1699.2 ns.
#[test]
fn the_first_notification_halves_the_rate() {
    let (mut host, mut model) = started(6);
    let packet = host.sends(&mut model, FLOW, 1)[0];
    let answers = host.receives(&mut model, &Packet { flags: packet.flags | flag::CE, ..packet });
    assert_eq!(says(&answers), [(kind::CNP, 0), (kind::ACK, 1)]);
    answers.iter().for_each(|answer| host.answers(&mut model, answer));
    assert_eq!(host.sends(&mut model, FLOW, 9).len(), 1);
    assert!(host.sends(&mut model, FLOW, 9).is_empty());
    host.expires(&mut model);
    assert_eq!(host.now, Time(1_699_200));
    assert_eq!(host.sends(&mut model, FLOW, 9).len(), 1);
}

/// The timeout makes the sender go back to packet 0. Before its turn comes, an acknowledgement of the first three does:
/// the fourth is the next one.
#[test]
fn what_is_acknowledged_meanwhile_is_not_sent_again() {
    let (mut host, mut model) = started(5);
    let packets = host.sends(&mut model, FLOW, 9);
    let acks: Vec<Packet> =
        packets[..3].iter().flat_map(|packet| host.receives(&mut model, packet)).collect();
    host.times_out(&mut model, FLOW);
    host.answers(&mut model, &acks[2]);
    let again = host.sends(&mut model, FLOW, 9);
    assert_eq!(again.iter().map(|packet| packet.header.number).collect::<Vec<_>>(), [3, 4]);
}

/// Each gap is reported, once: that before packet 2, and when it is filled, that before packet 4.
#[test]
fn each_gap_is_reported_once() {
    let (mut host, mut model) = started(6);
    let packets = host.sends(&mut model, FLOW, 9);
    let arrive = [0, 1, 3, 4, 2, 3, 5, 5];
    let answers = arrive.map(|number: usize| says(&host.receives(&mut model, &packets[number])));
    let (ack, nak) = (|next| vec![(kind::ACK, next)], |next| vec![(kind::NAK, next)]);
    assert_eq!(answers, [ack(1), ack(2), nak(2), vec![], ack(3), ack(4), nak(4), vec![]]);
}

/// Acknowledgements echo marks: one of the packets since the last acknowledgement was marked.
#[test]
fn acknowledgements_echo_marks() {
    let mut host = FakeHost::pair(8_000);
    let mut model = Model::new(host.configs(vec![Roce { ack_every: 2, ..Roce::default() }]));
    host.start(&mut model, FLOW);
    let packets = host.sends(&mut model, FLOW, 9);
    let mut echoes = Vec::new();
    for (packet, marked) in packets.iter().zip([true, false, false, true, false, false, true, true]) {
        let flags = packet.flags | if marked { flag::CE } else { 0 };
        let answers = host.receives(&mut model, &Packet { flags, ..*packet });
        let acks = answers.iter().filter(|answer| answer.header.kind != kind::CNP);
        echoes.extend(acks.map(|ack| ack.header.kind & kind::MARKED != 0));
    }
    assert_eq!(echoes, [true, true, false, true]);
}

/// A control at half of its line's rate, with a window of so many bytes, that notes its calls.
#[derive(Debug)]
struct Probe<const WINDOW: u64> {
    line: f64,
    acks: Vec<Ack>,
    losses: Vec<(Time, Loss)>,
    sent: Vec<(Time, u32)>,
}

impl<const WINDOW: u64> Begin for Probe<WINDOW> {
    fn begin(_control: &RateControl, line: Rate) -> Self {
        Probe { line: line.0 as f64, acks: Vec::new(), losses: Vec::new(), sent: Vec::new() }
    }
}

impl<const WINDOW: u64> Control for Probe<WINDOW> {
    fn on_line(&mut self, line: Rate) {
        self.line = line.0 as f64;
    }

    fn on_ack(&mut self, ack: &Ack, _telemetry: &Telemetry) {
        self.acks.push(*ack);
    }

    fn on_loss(&mut self, now: Time, loss: Loss) {
        self.losses.push((now, loss));
    }

    fn on_sent(&mut self, bytes: u32, now: Time) {
        self.sent.push((now, bytes));
    }

    fn rate(&self) -> f64 {
        self.line / 2.0
    }

    fn window(&self) -> Option<u64> {
        (WINDOW > 0).then_some(WINDOW)
    }
}

impl<const WINDOW: u64> Connections<Probe<WINDOW>> {
    fn probe(&self) -> &Probe<WINDOW> {
        self.senders.get(FLOW).control.as_ref().expect("the flow has started")
    }
}

/// A flow of so many packets and 500 B under a probe, and times of its first packets if nothing answers.
fn probed<const WINDOW: u64>(packets: u64) -> (FakeHost, Connections<Probe<WINDOW>>) {
    let mut host = FakeHost::pair(packets * 1000 + 500);
    let mut model = Connections::new(host.configs(vec![Roce::default()]));
    host.start(&mut model, FLOW);
    (host, model)
}

/// Sends what may be sent without an answer in so many turns; one packet a turn.
fn paced<const WINDOW: u64>(
    host: &mut FakeHost,
    model: &mut Connections<Probe<WINDOW>>,
    turns: u32,
) -> Vec<Packet> {
    let mut packets = Vec::new();
    for turn in 0..turns {
        if turn > 0 {
            host.expires(model);
        }
        packets.extend(host.sends(model, FLOW, 9));
    }
    packets
}

/// At 5 Gbps a packet of 1062 B is followed by the next one after 1699.2 ns, the last one, of 562 B, comes in its turn too.
#[test]
fn packets_are_paced_at_the_rate() {
    let (mut host, mut model) = probed::<0>(3);
    assert_eq!(paced(&mut host, &mut model, 4).len(), 4);
    let at = |turn: u64, bytes| (Time(turn * 1_699_200), bytes);
    assert_eq!(model.probe().sent, [at(0, 1062), at(1, 1062), at(2, 1062), at(3, 562)]);
    // A port of half the rate: on_line comes before the packet is sent again.
    host.rate = Rate(5_000_000_000);
    host.times_out(&mut model, FLOW);
    let start = host.now;
    paced(&mut host, &mut model, 2);
    assert_eq!(model.probe().sent[4..], [(start, 1062), (start + Time(3_398_400), 1062)]);
}

/// Of 2500 B three packets may be in flight: the test is before a packet. Rate and window hold together: an acknowledgement
/// at 6 us lets the next packet go at once, whose time by the rate, 5097.6 ns, is over; another one at 6.1 us does not,
/// since the rate has it wait until 7699.2 ns.
#[test]
fn a_window_and_a_rate_limit_together() {
    let (mut host, mut model) = probed::<2500>(9);
    let packets = paced(&mut host, &mut model, 4);
    assert_eq!((packets.len(), host.now), (3, Time(5_097_600)));
    let answers: Vec<Packet> = packets.iter().flat_map(|packet| host.receives(&mut model, packet)).collect();
    host.now = Time(6_000_000);
    host.answers(&mut model, &answers[0]);
    assert_eq!(host.sends(&mut model, FLOW, 9).len(), 1);
    host.now = Time(6_100_000);
    host.answers(&mut model, &answers[1]);
    assert!(host.sends(&mut model, FLOW, 9).is_empty());
    host.expires(&mut model);
    assert_eq!((host.now, host.sends(&mut model, FLOW, 9).len()), (Time(7_699_200), 1));
    assert_eq!(model.window(FLOW, &host.conns[0]), Some(2500));
}

/// A window below a packet lets one at a time pass; where one acknowledgement answers four packets, four.
#[test]
fn a_window_is_never_too_small_for_an_acknowledgement() {
    for (ack_every, packets) in [(1, 1), (4, 4)] {
        let mut host = FakeHost::pair(10_000);
        let mut model: Connections<Probe<1>> =
            Connections::new(host.configs(vec![Roce { ack_every, ..Roce::default() }]));
        host.start(&mut model, FLOW);
        let sent = paced(&mut host, &mut model, packets + 1);
        assert_eq!(sent.len(), packets as usize);
        let answers: Vec<Packet> = sent.iter().flat_map(|packet| host.receives(&mut model, packet)).collect();
        assert_eq!(says(&answers), [(kind::ACK, packets)]);
        host.answers(&mut model, &answers[0]);
        assert_eq!(host.sends(&mut model, FLOW, 9).len(), 1);
    }
}

/// Packet 1 is lost: packet 0 is acknowledged, marked, after 2 us, packet 2 reported, marked, after 4 us; then nothing until
/// the timeout.
#[test]
fn what_a_control_is_told() {
    let (mut host, mut model) = probed::<0>(5);
    let packets = paced(&mut host, &mut model, 3);
    let mut answers = Vec::new();
    for number in [0, 2] {
        let packet = Packet { flags: packets[number].flags | flag::CE, ..packets[number] };
        answers.extend(host.receives(&mut model, &packet));
    }
    let acks: Vec<Packet> = answers.into_iter().filter(|answer| answer.header.kind != kind::CNP).collect();
    for (answer, us) in acks.iter().zip([6, 8]) {
        host.now = Time::from_us(us);
        host.answers(&mut model, answer);
    }
    let fields = |ack: &Ack| (ack.acked, ack.una, ack.next, ack.in_flight, ack.marked, ack.hops);
    let acks: Vec<_> = model.probe().acks.iter().map(fields).collect();
    // The second is a NAK: the sender has gone back to byte 1000.
    assert_eq!(acks, [(1000, 1000, 3000, 3000, true, 1), (0, 1000, 1000, 2000, true, 1)]);
    let round_trips: Vec<Time> = model.probe().acks.iter().map(|ack| ack.rtt).collect();
    assert_eq!(round_trips, [Time::from_us(6), Time(8_000_000 - 2 * 1_699_200)]);
    host.times_out(&mut model, FLOW);
    let timeout = Time::from_us(6) + Roce::default().timeout;
    assert_eq!(model.probe().losses, [(Time::from_us(8), Loss::Nak), (timeout, Loss::Timeout)]);
}

thread_local! {
    /// Telemetry of each acknowledgement, for [`Collector`].
    static COLLECTED: RefCell<Vec<Telemetry>> = const { RefCell::new(Vec::new()) };
}

/// A control at the rate of its line that collects telemetry.
#[derive(Debug)]
struct Collector;

impl Begin for Collector {
    fn begin(_control: &RateControl, _line: Rate) -> Self {
        Collector
    }
}

impl Control for Collector {
    fn on_ack(&mut self, _ack: &Ack, telemetry: &Telemetry) {
        COLLECTED.with_borrow_mut(|collected| collected.push(*telemetry));
    }

    fn rate(&self) -> f64 {
        f64::INFINITY
    }
}

/// Connections with that control, which asks for telemetry.
fn collecting(fabric: &Fabric) -> Connections<Collector> {
    let configs = Configs::new(vec![Roce { payload: Bytes(1188), ..Roce::default() }], fabric);
    let Connections { configs, senders, receivers, turns } = Connections::new(configs);
    let asks = |mut config: Config| {
        config.signals.telemetry = true;
        config
    };
    Connections { configs: configs.map(asks), senders, receivers, turns }
}

/// The telemetry of a flow of so many packets of 1188 + 62 = 1250 B over three switches, in so many parts.
fn collected(queue: &str, packets: u64, parts: u32) -> Vec<Telemetry> {
    let text = format!(
        r#"
        topology.line = {{ switches = 3, rates = ["10Gbps", "20Gbps", "4Gbps", "10Gbps"], delay = "1us" }}
        transport.roce = {{ payload = "1188B", congestion.dcqcn = {{}} }}
        queue.{queue} = {{}}
        [[traffic]]
        name = "flow"
        arrivals.at-once = {{ jitter = "0s" }}
        matrix.pairs = [[0, 1]]
        sizes.fixed = "{}B"
        "#,
        1188 * packets
    );
    COLLECTED.take();
    run_with_transport(&text, parts, collecting);
    COLLECTED.take()
}

/// Five packets of 1250 B, from 10 Gbps by ports of 20, 4 and 10 Gbps, which take 1, 0.5, 2.5 and 1 us; links of 1 us.
///
/// Packet i leaves the first port when it comes, at 2 + i us, since the one before has left at 1.5 + i. It comes to the
/// second at 3.5 + i and leaves it at 3.5 + 2.5 i. Then there wait behind it, by the packets that have come: of packet
/// 1, at 6 us, packet 2, come at 5.5; of packet 2, at 8.5, packets 3 and 4, come at 6.5 and 7.5; of packet 3 packet 4.
/// The third port it leaves when it comes, 3.5 us later. The last acknowledgement ends the flow, and no control
/// receives it.
#[test]
fn telemetry_over_three_hops_by_hand() {
    let gbps = |rate: u64| Rate(rate * 1_000_000_000);
    let expected: Vec<[Hop; 3]> = (0..4u64)
        .map(|i| {
            let hop = |halves: u64, waiting: u64, rate| Hop {
                time: Time(halves * 500_000),
                sent: 1250 * i as u32,
                queue_bytes: 1250 * waiting,
                rate,
            };
            [
                hop(4 + 2 * i, 0, gbps(20)),
                hop(7 + 5 * i, [0, 1, 2, 1][i as usize], gbps(4)),
                hop(14 + 5 * i, 0, gbps(10)),
            ]
        })
        .collect();
    for queue in ["infinite", "drop-tail", "ecn", "lossless", "strict-priority"] {
        for parts in [1, 3] {
            let found = collected(queue, 5, parts);
            assert!(found.iter().all(|telemetry| telemetry.path == found[0].path));
            let hops: Vec<&[Hop]> = found.iter().map(|telemetry| &telemetry[..]).collect();
            assert_eq!(
                hops,
                expected.iter().map(|hops| &hops[..]).collect::<Vec<_>>(),
                "{queue}, {parts} parts"
            );
        }
    }
}

/// A connection under IRN with these fields, whose receiver acknowledges so many packets at a time.
fn irn(packets: u64, recovery: Irn, ack_every: u32) -> (FakeHost, Model) {
    let mut host = FakeHost::pair(1000 * packets);
    let mut model =
        Model::new(host.configs(vec![Roce { recovery: recovery.into(), ack_every, ..Roce::default() }]));
    host.start(&mut model, FLOW);
    (host, model)
}

/// The cap of 3000 B is of the packets behind the last one that has been acknowledged in order: each acknowledgement lets one
/// more go.
#[test]
fn the_cap_of_irn_moves_with_acknowledgements() {
    for resend in [Resend::Lost, Resend::All] {
        let bdp_cap = Derived::Given(Bytes(3000));
        let (mut host, mut model) = irn(6, Irn { bdp_cap, resend, ..Irn::default() }, 1);
        let mut sent = host.sends(&mut model, FLOW, 9);
        assert_eq!(sent.len(), 3, "{resend:?}");
        for place in 0..3 {
            let answers = host.receives(&mut model, &sent[place].clone());
            answers.iter().for_each(|answer| host.answers(&mut model, answer));
            sent.extend(host.sends(&mut model, FLOW, 9));
            assert_eq!(sent.len(), 4 + place, "{resend:?}");
        }
    }
}

/// Packets 1 and 2 of a full cap have arrived: packet 0 is retransmitted, and no new one is sent.
#[test]
fn packets_out_of_order_do_not_move_the_cap() {
    for resend in [Resend::Lost, Resend::All] {
        let bdp_cap = Derived::Given(Bytes(3000));
        let (mut host, mut model) = irn(6, Irn { bdp_cap, resend, ..Irn::default() }, 1);
        let sent = host.sends(&mut model, FLOW, 9);
        for packet in &sent[1..3] {
            let answers = host.receives(&mut model, packet);
            answers.iter().for_each(|answer| host.answers(&mut model, answer));
        }
        let again: Vec<_> =
            host.sends(&mut model, FLOW, 9).iter().map(|packet| packet.header.number).collect();
        assert_eq!(again, [0], "{resend:?}");
    }
}

/// A report of a missing packet is a mark to a control that reads marks, if it is to count as a notification.
#[test]
fn a_report_may_count_as_a_mark() {
    for cnp_on_nak in [false, true] {
        let mut host = FakeHost::pair(5000);
        let recovery = Irn { cnp_on_nak, ..Irn::default() }.into();
        let mut model: Connections<Probe<0>> =
            Connections::new(host.configs(vec![Roce { recovery, ..Roce::default() }]));
        host.start(&mut model, FLOW);
        let packets = paced(&mut host, &mut model, 3);
        for (packet, marked) in [(&packets[0], false), (&packets[2], cnp_on_nak)] {
            let answers = host.receives(&mut model, packet);
            host.answers(&mut model, &answers[0]);
            assert_eq!(model.probe().acks.last().map(|ack| ack.marked), Some(marked));
        }
    }
}

/// Three packets leave at once, and at 50 us a report comes: 100 us count from the first packet, or from the report.
#[test]
fn a_report_may_restart_the_timeout() {
    for (restart_always, us) in [(false, 100), (true, 150)] {
        let (mut host, mut model) = irn(3, Irn { restart_always, ..Irn::default() }, 1);
        let packets = host.sends(&mut model, FLOW, 9);
        host.now = Time::from_us(50);
        let answers = host.receives(&mut model, &packets[1]);
        host.answers(&mut model, &answers[0]);
        host.times_out(&mut model, FLOW);
        assert_eq!(host.now, Time::from_us(us));
    }
}

/// Every fourth packet is acknowledged, also where a packet that fills a gap brings the receiver from 2 past 4 to 7.
#[test]
fn an_acknowledgement_is_due_where_a_gap_is_filled() {
    let (mut host, mut model) = irn(12, Irn::default(), 4);
    let packets = host.sends(&mut model, FLOW, 99);
    let answers: Vec<_> = [0, 1, 3, 4, 5, 6, 2, 7, 8]
        .into_iter()
        .flat_map(|number: usize| says(&host.receives(&mut model, &packets[number])))
        .collect();
    let nak = (kind::NAK, 2);
    assert_eq!(answers, [nak, nak, nak, nak, (kind::ACK, 7), (kind::ACK, 8)]);
}

/// Under IRN the receiver keeps packets beyond a missing one and names each; the sender retransmits the missing one alone.
#[test]
fn irn_names_the_packets_that_have_arrived() {
    let mut host = FakeHost::pair(5000);
    let recovery = recovery::irn::Irn::default().into();
    let mut model = Model::new(host.configs(vec![Roce { recovery, ..Roce::default() }]));
    host.start(&mut model, FLOW);
    let packets = host.sends(&mut model, FLOW, 9);
    let mut answers = Vec::new();
    for number in [0, 2, 4, 2] {
        answers.extend(host.receives(&mut model, &packets[number]));
    }
    assert_eq!(says(&answers), [(kind::ACK, 1), (kind::NAK, 1), (kind::NAK, 1), (kind::NAK, 1)]);
    assert_eq!(answers.iter().map(|answer| answer.header.ack).collect::<Vec<_>>(), [1, 3, 5, 3]);
    answers.iter().for_each(|answer| host.answers(&mut model, answer));
    let again = host.sends(&mut model, FLOW, 9);
    assert_eq!(again.iter().map(|packet| packet.header.number).collect::<Vec<_>>(), [1, 3]);
    for (packet, next) in again.iter().zip([3, 5]) {
        let answers = host.receives(&mut model, packet);
        assert_eq!(says(&answers), [(kind::ACK, next)]);
        host.answers(&mut model, &answers[0]);
    }
    assert_eq!((&host.completed[..], &host.finished[..]), (&[FLOW][..], &[FLOW][..]));
}

/// Four entropy values, each once among the first four packets; answers return them. The packet of one was marked: its value is
/// passed over once, so that the next three packets have the other three. Under IRN a report is an answer to a packet that has
/// arrived, and blames none; a timeout blames the first value.
#[test]
fn marks_blame_an_entropy_value() {
    let roce = Roce {
        congestion: congestion::dctcp::DctcpControl::default().into(),
        recovery: Irn::default().into(),
        entropy: Some(entropy::bitmap::Bitmap::default().into()),
        entropy_values: 4,
        ..Roce::default()
    };
    let mut host = FakeHost::pair(100_000);
    host.conns[0].by_entropy = true;
    let mut model = Model::new(host.configs(vec![roce]));
    host.start(&mut model, FLOW);
    let sends = |host: &mut FakeHost, model: &mut Model, count: usize| {
        let mut packets = Vec::new();
        for _ in 0..99 {
            let sent = host.sends(model, FLOW, count - packets.len());
            packets.extend(sent);
            if packets.len() == count {
                break;
            }
            // The pause after a packet, before any timeout.
            host.expires(model);
        }
        packets
    };
    let values = |packets: &[Packet]| packets.iter().map(|packet| packet.header.ack).collect::<Vec<_>>();
    let first = sends(&mut host, &mut model, 4);
    let mut known = values(&first);
    let labels: std::collections::BTreeSet<u32> = first.iter().map(|packet| packet.label).collect();
    known.sort_unstable();
    assert_eq!((known, labels.len()), (vec![0, 1, 2, 3], 4));
    for (packet, mark) in [(&first[0], flag::CE), (&first[2], 0)] {
        let answers = host.receives(&mut model, &Packet { flags: packet.flags | mark, ..*packet });
        assert_eq!(u64::from(answers[0].header.len), packet.header.ack);
        host.answers(&mut model, &answers[0]);
    }
    let mut next = values(&sends(&mut host, &mut model, 3));
    assert!(!next.contains(&first[0].header.ack), "{next:?}");
    next.sort_unstable();
    next.dedup();
    assert_eq!(next.len(), 3);
}

/// Without a control all packets of a flow go one after another at the rate of its port, whatever is marked and lost, and ports
/// need not mark.
#[test]
fn without_a_control_the_port_alone_limits() {
    let roce = Roce { congestion: congestion::line_rate::LineRate {}.into(), ..Roce::default() };
    assert!(!roce.profile().ecn_capable);
    let mut host = FakeHost::pair(40_000);
    let mut model = Model::new(host.configs(vec![roce]));
    host.start(&mut model, FLOW);
    let packets = host.sends(&mut model, FLOW, 99);
    assert_eq!(packets.len(), 40);
    for number in [0, 2] {
        for answer in host.receives(&mut model, &Packet { flags: flag::CE, ..packets[number] }) {
            host.answers(&mut model, &answer);
        }
    }
    assert_eq!(host.sends(&mut model, FLOW, 99).len(), 39);
    assert_eq!(model.senders.get(FLOW).rate(), None);
}
