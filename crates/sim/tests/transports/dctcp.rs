//! ECN in TCP and DCTCP against RFC 3168 and RFC 8257 by hand, and against the fluid model of DCTCP's paper.

use crate::common::scenarios::{endless_incast, flow_into_a_slower_link, queue_under_tcp};
use crate::common::{self, Run, observed, run};
use flowyard_sim::engine::contract::observer::{Observer, PacketAt, Point, Points, View};
use flowyard_sim::engine::contract::packet::flag;
use flowyard_sim::engine::data::plan::Agenda;
use flowyard_sim::ids::LinkId;
use flowyard_sim::transport::ack;
use flowyard_sim::transport::frame::{Frame, TcpFrame};
use flowyard_sim::transport::tcp::congestion::dctcp::{Dctcp, Reduce};
use flowyard_sim::transport::tcp::congestion::{
    Ack, Answer, Cause, Congestion, CongestionEvent, Control, Model, Progress, Window,
};
use flowyard_sim::transport::tcp::{Growth, Halves, ecn};
use flowyard_sim::units::Time;

const MSS: u64 = 1460;
const MARK: CongestionEvent = CongestionEvent {
    cause: Cause::EcnEcho,
    now: Time::ZERO,
    progress: Progress { left: 0, round_trip: None, time_left: None },
};

fn window(segments: u64) -> Window {
    let cwnd = segments * MSS;
    Window {
        cwnd,
        ssthresh: u64::MAX,
        mss: MSS,
        flight: cwnd,
        most: u32::MAX,
        min_ssthresh: 2,
        halves: Halves::Flight,
        growth: Growth::Acks,
        counted: 0,
        after_timeout: false,
    }
}

fn alpha(model: &Model) -> f64 {
    let Model::Dctcp(dctcp) = model else { panic!("DCTCP") };
    dctcp.alpha()
}

/// An acknowledgement of `acked` segments, the last of them the `una`th, when `next` segments have been sent.
fn echoed(model: &mut Model, acked: u64, una: u64, next: u64, marked: bool) -> Answer {
    let common =
        ack::Ack { acked: acked * MSS, marked, una: una * MSS, next: next * MSS, ..Default::default() };
    model.on_echo(&Ack { common, ..Ack::default() })
}

/// RFC 8257, 3.3: the first window of data ends with the first acknowledgement, each further one with the first
/// acknowledgement beyond what had been sent when the one before ended, and that acknowledgement still counts.
#[test]
fn alpha_by_hand() {
    let mut model = Congestion::from(Dctcp::default()).model();
    assert_eq!(alpha(&model), 1.0);
    echoed(&mut model, 1, 1, 10, false);
    assert_eq!(alpha(&model), 15.0 / 16.0);
    // Segments 2 to 10, of which 4 to 6 are marked, are the window; 11 ends it: 3 of 10.
    for una in 2..=10 {
        echoed(&mut model, 1, una, 20, (4..=6).contains(&una));
        assert_eq!(alpha(&model), 15.0 / 16.0);
    }
    echoed(&mut model, 1, 11, 20, false);
    let second = 15.0 / 16.0 * 15.0 / 16.0 + 3.0 / 10.0 / 16.0;
    assert!((alpha(&model) - second).abs() < 1e-15);
    // A duplicate acknowledges nothing, and so says nothing about bytes.
    echoed(&mut model, 0, 11, 20, true);
    // Delayed acknowledgements count by bytes: 2 + 4 + 4 segments, the 4 in the middle marked.
    echoed(&mut model, 2, 13, 30, false);
    echoed(&mut model, 4, 17, 30, true);
    echoed(&mut model, 4, 21, 30, false);
    let third = 15.0 / 16.0 * second + 4.0 / 10.0 / 16.0;
    assert!((alpha(&model) - third).abs() < 1e-15);
}

#[test]
fn marks_take_half_of_alpha_off_the_window() {
    for (initial, segments, expected) in [(1.0, 20, 14_600), (0.5, 20, 21_900), (0.0, 20, 29_200)] {
        let mut model = Congestion::from(Dctcp { initial_alpha: initial, ..Dctcp::default() }).model();
        let mut window = window(segments);
        model.on_congestion_event(&mut window, &MARK);
        assert_eq!((window.cwnd, window.ssthresh), (expected, expected), "alpha {initial}");
    }
    // Down to two segments, and no window is lifted to them.
    for (segments, expected) in [(3, 2), (2, 2), (1, 1)] {
        let mut model = Congestion::from(Dctcp::default()).model();
        let mut window = window(segments);
        model.on_congestion_event(&mut window, &MARK);
        assert_eq!(window.cwnd, expected * MSS);
    }
}

/// One that echoes a mark asks for a reduction and lets nothing grow; the other readings are fields.
#[test]
fn what_an_echo_asks_for() {
    let answers = |config: Dctcp| {
        let mut model = Congestion::from(config).model();
        // The end of a window without a mark, then a mark within the next.
        [echoed(&mut model, 1, 1, 10, false), echoed(&mut model, 1, 2, 10, true)]
    };
    let answer = |grow, reduce| Answer { grow, reduce, ends_slow_start: false };
    let (plain, stop) = (answer(true, false), answer(false, true));
    assert_eq!(answers(Dctcp::default()), [plain, stop]);
    let grows = Dctcp { echoes_grow_window: true, ..Dctcp::default() };
    assert_eq!(answers(grows), [plain, answer(true, true)]);
    let all = Dctcp { reduce: Reduce::All, ..Dctcp::default() };
    // The reduction comes at the end of the window, but slow start ends with the first echo.
    let ends = Answer { ends_slow_start: true, ..answer(false, false) };
    assert_eq!(answers(all.clone()), [answer(true, true), ends]);
    assert_eq!(answers(Dctcp { initial_alpha: 0.0, ..all })[0], plain);
}

/// The receiver's machine, transition by transition (RFC 8257, figure 1; RFC 3168, 6.1.3).
#[test]
fn what_a_receiver_makes_of_marks() {
    use ecn::{Echo, Marks};
    let says = |echo, echoes, marked, reduced| {
        let mut marks = Marks::new(echo);
        marks.echoes = echoes;
        let change = marks.on_segment(marked, reduced);
        (change.changes, change.echoes, change.at_once)
    };
    for (echo, at_once) in [(Echo::Exact, false), (Echo::ExactAtOnce, true)] {
        for reduced in [false, true] {
            assert_eq!(says(Some(echo), false, false, reduced), (false, false, false));
            assert_eq!(says(Some(echo), false, true, reduced), (true, true, at_once));
            assert_eq!(says(Some(echo), true, true, reduced), (false, true, false));
            assert_eq!(says(Some(echo), true, false, reduced), (true, false, at_once));
        }
    }
    let classic = Some(Echo::UntilReduced);
    assert_eq!(says(classic, false, true, false), (false, true, false));
    assert_eq!(says(classic, true, false, false), (false, true, false));
    assert_eq!(says(classic, true, false, true), (false, false, false));
    assert_eq!(says(classic, true, true, true), (false, true, false));
    assert_eq!(says(None, false, true, false), (false, false, false));
}

/// `segments` segments, nine in the first window, come at 10 Gbps to a port of 1 Gbps that marks what finds more than
/// three packets there. The nine come within 9.6 us, before the first has left: 5 to 9 are marked. Acknowledgements are
/// back after 400 us, when the port is empty, and let two or three segments go at a time, 24 us apart: these are not.
fn nine_at_once(segments: u64, congestion: &str, settings: &str) -> Run {
    run(&format!(
        r#"
        transport.tcp = {{ congestion = {congestion}, initial_window = 9, handshake = false, {settings} }}
        queue.ecn = {{ limit.packets = 100, threshold.packets = 4 }}
        {}
        [observe.samples]
        every = "1us"
        links = []
        [observe.capture]
        links = ["* -> host 1", "host 1 -> *"]
        "#,
        flow_into_a_slower_link(100, segments * MSS)
    ))
}

/// The packets on the receiver's cable, in the order of their arrival: whether to the receiver, and their headers.
fn frames(run: &Run) -> Vec<(bool, u8, TcpFrame)> {
    let frame = |packet: &flowyard_sim::observe::capture::Captured| {
        let Frame::Tcp(frame) = packet.frame else { panic!("TCP") };
        (packet.forward, packet.ecn, frame)
    };
    run.0.observed.cables[0].packets.iter().map(frame).collect()
}

/// The acknowledgements: up to which segment, and whether they echo a mark.
fn acks(run: &Run) -> Vec<(u64, bool)> {
    let acks = frames(run).into_iter().filter(|(forward, ..)| !forward);
    acks.map(|(_, _, frame)| ((u64::from(frame.ack) - 1) / MSS, frame.ece)).collect()
}

#[test]
fn echoes_packet_for_packet() {
    let dctcp = |echo: &str| format!("{{ dctcp = {{ initial_alpha = 0, echo = \"{echo}\" }} }}");
    let of = |congestion: &str, settings: &str| acks(&nine_at_once(11, congestion, settings));
    // The first and the last at once, else every second one; 4 goes by itself when 5 is marked, 9 when 10 is not.
    let exact = [(1, false), (3, false), (4, false), (6, true), (8, true), (9, true), (11, false)];
    assert_eq!(of(&dctcp("exact"), ""), exact);
    // 5 and 10, with which the change comes, go at once.
    let at_once =
        [(1, false), (3, false), (4, false), (5, true), (7, true), (9, true), (10, false), (11, false)];
    assert_eq!(of(&dctcp("exact-at-once"), ""), at_once);
    let each: Vec<_> = (1..=11).map(|n| (n, (5..=9).contains(&n))).collect();
    assert_eq!(of(&dctcp("each-segment"), ""), each);
    assert_eq!(of(&dctcp("exact"), "delayed_ack = 1"), each);
    // RFC 3168: every one from the mark on, as all 11 were sent before the echo could reach the sender.
    let classic = [(1, false), (3, false), (5, true), (7, true), (9, true), (11, true)];
    assert_eq!(of("\"newreno\"", "ecn = true"), classic);
    let deaf = [(1, false), (3, false), (5, false), (7, false), (9, false), (11, false)];
    assert_eq!(of("\"newreno\"", ""), deaf);
}

/// Only data asks for marks, and the one new segment after a reduction says so; then RFC 3168's echo ends.
#[test]
fn what_packets_carry() {
    let run = nine_at_once(40, "\"newreno\"", "ecn = true");
    let seen = frames(&run);
    assert!(seen.iter().all(|&(forward, ecn, _)| (ecn != 0) == forward));
    let marked: Vec<_> = seen.iter().filter(|packet| packet.1 == 0b11).map(|packet| packet.2.seq).collect();
    assert_eq!(marked, [4, 5, 6, 7, 8].map(|before| 1 + before * MSS as u32));
    let told: Vec<_> = (0..seen.len()).filter(|&at| seen[at].0 && seen[at].2.cwr).collect();
    assert_eq!(told.len(), 1, "one reduction, one CWR");
    let echoes = |packets: &[(bool, u8, TcpFrame)]| packets.iter().filter(|packet| packet.2.ece).count();
    assert!(echoes(&seen[..told[0]]) > 2);
    // At most those that were on the cable meanwhile.
    let after: Vec<_> =
        seen[told[0]..].iter().filter(|packet| !packet.0).map(|packet| packet.2.ece).collect();
    let last = after.iter().rposition(|&ece| ece).map_or(0, |at| at + 1);
    assert!(after[..last].iter().all(|&ece| ece) && after.len() > last + 3, "{after:?}");
}

/// The values that the window takes one after the other.
fn windows(run: &Run) -> Vec<u64> {
    let samples = run.samples("cwnd_bytes").into_iter();
    let mut windows: Vec<u64> = samples.map(|(_, bytes)| bytes as u64).collect();
    windows.dedup();
    windows
}

/// Acknowledgements 1, 3 and 4 let nine segments grow to twelve. The first has ended a window of data without a mark:
/// alpha is 15/16. That of 6 is the first echo, 17520 (1 - 15/32) = 9307.5; that of 8 and 9 are in the same window.
/// That of 11 adds 1460^2 / 9307 = 229.
#[test]
fn the_window_by_hand() {
    let of = |congestion: &str| windows(&nine_at_once(30, congestion, ""));
    let at_once = |fields: &str| format!("{{ dctcp = {{ {fields} proportional_reduction = false }} }}");
    let start = [9, 10, 11, 12].map(|segments| segments * MSS);
    let begins = |congestion: &str, then: &[u64]| {
        let (found, wanted) = (of(congestion), [&start, then].concat());
        assert_eq!(found[..wanted.len()], wanted, "{congestion}");
    };
    begins(&at_once(""), &[9307, 9307 + 229]);
    begins(&at_once("min_window = 7,"), &[7 * MSS, 7 * MSS + 208]);
    begins(&at_once("marks_end_slow_start = false,"), &[9307, 9307 + MSS]);
    // Each of the echoes adds, too: 1460^2 over 9307, 9536, 9759, and then 9977.
    begins(&at_once("echoes_grow_window = true,"), &[9536, 9759, 9977, 10_190]);
    // Of a deadline it knows nothing here.
    begins(&format!("{{ d2tcp = {} }}", at_once("")), &[9307, 9307 + 229]);
    // htsim: half of 15/32 goes at the first acknowledgement, 13140 (1 - 15/64) = 10060.3, to which it adds 211.
    let all = of(&at_once("initial_alpha = 0.5, reduce = \"all\","));
    assert_eq!(all[..2], [9 * MSS, 10_060 + 211]);
    // RFC 3168: 5 is the first echo; 14 have been sent, 3 acknowledged: half of 11 segments.
    let classic = windows(&nine_at_once(30, "\"newreno\"", "ecn = true"));
    assert_eq!(classic[..4], [9 * MSS, 10 * MSS, 11 * MSS, 8030]);
}

/// The same in proportion. When 6 comes, 12 segments are in flight and 9307 B are to be: of what is acknowledged 0.531
/// may go. 6, 8, 9 and 11 acknowledge 2, 4, 5 and 7 segments, for which 1552, 3103, 3878 and 5430 B may have been sent;
/// 1, 2, 2 and 3 segments are. The window is what is then in flight, before them, and the rest of these bytes. With 13
/// and 15 less than 9307 B are in flight. The last one that had been sent before is 16; of those after it 19 grows.
#[test]
fn the_window_in_proportion_by_hand() {
    let found = windows(&nine_at_once(30, "\"dctcp\"", ""));
    let flight = [10, 9, 9, 7].map(|segments| segments * MSS);
    let left = [1552, 3103 - MSS, 3878 - 2 * MSS, 5430 - 2 * MSS];
    let shrinks: Vec<u64> = flight.iter().zip(left).map(|(flight, left)| flight + left).collect();
    let start = [9, 10, 11, 12].map(|segments| segments * MSS);
    let wanted = [&start[..], &shrinks, &[9307, 9307 + 229]].concat();
    assert_eq!(found[..wanted.len()], wanted);
}

/// Acknowledgements 1, 3 and 4 let nine segments grow by four, and the echo leaves 18980 (1 - 15/32) = 10083.1 B. Six whole
/// segments fit into these: 11, 13 and 15 acknowledge as many. Into 11543 B seven fit: 17, 19, 21 and 23.
#[test]
fn growth_by_whole_segments() {
    let at_once = "{ dctcp = { proportional_reduction = false } }";
    let found = windows(&nine_at_once(30, at_once, "growth = \"segments\""));
    let start = [9, 10, 12, 13].map(|segments| segments * MSS);
    assert_eq!(found, [&start[..], &[10_083, 10_083 + MSS, 10_083 + 2 * MSS]].concat());
}

/// Packets that pass a link after a start: those with payload, marked ones, and the mean number in its port.
struct Watch {
    link: LinkId,
    from: Time,
    every: Time,
    next: Time,
    packets: u64,
    marked: u64,
    looks: u64,
    queued: u64,
}

impl Watch {
    fn new(link: LinkId, from: Time) -> Watch {
        Watch { link, from, every: Time::from_us(2), next: from, packets: 0, marked: 0, looks: 0, queued: 0 }
    }

    fn share(&self) -> f64 {
        self.marked as f64 / self.packets as f64
    }

    fn queue(&self) -> f64 {
        self.queued as f64 / self.looks as f64
    }
}

impl Observer for Watch {
    fn next_look(&self) -> Time {
        self.next
    }

    fn look(&mut self, at: Time, view: &mut View) {
        self.next = at + self.every;
        self.looks += 1;
        self.queued += u64::from(view.port(self.link).packets);
    }

    fn points(&self) -> Points {
        Points::ARRIVED
    }

    fn watches_link(&self, link: LinkId) -> bool {
        link == self.link
    }

    fn see(&mut self, at: Time, point: &Point) {
        if let Point::Packet(_, PacketAt { packet, .. }) = point
            && at >= self.from
        {
            self.packets += 1;
            self.marked += u64::from(packet.has(flag::CE));
        }
    }
}

const K: u64 = 65;
/// Four cables of 25 us there and back, two packets of 1.2 us and two acknowledgements of 32 ns.
const ROUND_TRIP: f64 = 102.464;

/// So many flows without an end to one host, all at 10 Gbps, under TCP with these settings; what passes from 20 ms on.
fn long_flows(flows: u64, settings: &str) -> (Run, Watch) {
    let text = format!(
        r#"
        transport.tcp = {{ delayed_ack = 1, {settings} }}
        queue.ecn = {{ limit.packets = 500, threshold.packets = {K} }}
        run = {{ until = "60ms", ties = "link" }}
        {}
        "#,
        endless_incast(flows, "10Gbps", "25us")
    );
    let scenario = common::scenario(&text, &[]);
    // Links of cable i are 2 i and 2 i + 1; the second of host 0's leads to it.
    let mut watch = Watch::new(LinkId(1), Time::from_us(20_000));
    let run = observed(&scenario, Agenda::Calendar, &mut [&mut watch]);
    assert_eq!(run.row("switch", "host 0"), 1);
    (run, watch)
}

/// Section 3.3 of DCTCP's paper: N windows in step, each W* = (C RTT + K) / N when the port reaches K; in the
/// round trip until the echo arrives they grow by one more, marked throughout: alpha^2 (1 - alpha / 4) = (2
/// W* + 1) / (W* + 1)^2.
fn fluid_alpha(flows: u64) -> f64 {
    let window = (10e9 * ROUND_TRIP * 1e-6 / (8.0 * 1500.0) + K as f64) / flows as f64;
    let share = (2.0 * window + 1.0) / (window + 1.0).powi(2);
    let (mut low, mut high) = (0.0, 2.0);
    for _ in 0..60 {
        let alpha = (low + high) / 2.0;
        if alpha * alpha * (1.0 - alpha / 4.0) < share { low = alpha } else { high = alpha }
    }
    low
}

/// Two to twenty flows keep the port near K, lose nothing and leave no capacity unused.
#[test]
fn the_queue_stays_near_the_threshold() {
    for flows in [2, 3, 5, 10, 20] {
        let (run, watch) = long_flows(flows, "congestion = \"dctcp\"");
        let queue = watch.queue();
        assert!((queue / K as f64 - 1.0).abs() < 0.3, "{flows} flows: {queue}");
        assert_eq!((run.counters().drops, run.counters().timeouts), (0, 0));
        let used = watch.packets as f64 * 12_000.0 / 10e9 / 40e-3;
        assert!(used > 0.99, "{flows} flows: {used}");
    }
}

/// If windows shrink at once and an echo does not keep them from growing, as the model supposes, alpha is the model's.
#[test]
fn alpha_is_that_of_the_fluid_model() {
    for flows in [2, 3, 5, 10, 20] {
        let (_, watch) = long_flows(
            flows,
            "congestion.dctcp = { echoes_grow_window = true, proportional_reduction = false }",
        );
        let (share, model) = (watch.share(), fluid_alpha(flows));
        assert!((share / model - 1.0).abs() < 0.15, "{flows} flows: {share}, {model}");
    }
    // Otherwise it is less, the more so the larger the share of time with marks; few flows hardly notice.
    for flows in [2, 3, 5] {
        let (_, watch) = long_flows(flows, "congestion.dctcp = { proportional_reduction = false }");
        let (share, model) = (watch.share(), fluid_alpha(flows));
        assert!((share / model - 1.0).abs() < 0.15, "{flows} flows: {share}, {model}");
    }
}

/// Jain's index of what so many flows get at 1 Gbps with K = 20 packets.
fn fairness(flows: usize, seed: u64, congestion: &str) -> f64 {
    struct Counts(Vec<f64>);
    impl Observer for Counts {
        fn next_look(&self) -> Time {
            Time::NEVER
        }

        fn look(&mut self, _at: Time, _view: &mut View) {}

        fn points(&self) -> Points {
            Points::ARRIVED
        }

        fn watches_link(&self, link: LinkId) -> bool {
            link == LinkId(1)
        }

        fn see(&mut self, at: Time, point: &Point) {
            if let Point::Packet(_, PacketAt { packet, .. }) = point
                && at >= Time::from_us(50_000)
            {
                self.0[packet.conn.index()] += 1.0;
            }
        }
    }
    let text = format!(
        r#"
        transport.tcp = {{ delayed_ack = 1, congestion = {congestion} }}
        queue.ecn = {{ limit.packets = 500, threshold.packets = 20 }}
        run = {{ until = "250ms", seed = {seed}, ties = "link" }}
        {}
        "#,
        endless_incast(flows as u64, "1Gbps", "25us")
    );
    let mut counts = Counts(vec![0.0; flows]);
    observed(&common::scenario(&text, &[]), Agenda::Calendar, &mut [&mut counts]);
    let (sum, squares) = counts.0.iter().fold((0.0, 0.0), |(sum, squares), n| (sum + n, squares + n * n));
    sum * sum / (flows as f64 * squares)
}

/// Packets of two senders come to the port at the same instant, where those of one link are always first: which one,
/// the seed draws. The flow behind is marked more often. Where windows shrink at once it stays at a quarter of the
/// port, in ns-3 as well if one cable is a nanosecond longer; in proportion the packets of both stay mixed.
#[test]
fn flows_share_a_port() {
    for flows in [2, 3, 8] {
        for seed in 1..=3 {
            let index = fairness(flows, seed, "\"dctcp\"");
            assert!(index >= 0.95, "{flows} flows, seed {seed}: {index}");
        }
    }
    let index = fairness(2, 1, "{ dctcp = { proportional_reduction = false } }");
    assert!(index < 0.85, "{index}");
}

/// With the same buffer TCP fills it and loses; halving for a mark leaves the port empty at times.
#[test]
fn the_queue_is_shorter_than_that_of_tcp() {
    for flows in [2, 10] {
        let queue = |settings: &str| {
            let (run, watch) = long_flows(flows, settings);
            (watch.queue(), run.counters().drops > 0)
        };
        let ((dctcp, lost), (tcp, tcp_lost)) = (queue("congestion = \"dctcp\""), queue(""));
        assert!(dctcp < 0.5 * tcp && !lost && tcp_lost, "{flows} flows: {dctcp}, {tcp}");
    }
    let (_, classic) = long_flows(2, "ecn = true");
    let (_, dctcp) = long_flows(2, "congestion = \"dctcp\"");
    assert!(classic.packets < dctcp.packets && classic.queue() < dctcp.queue());
}

/// A port that does not mark is refused, and one that does is recommended.
#[test]
fn needs_a_port_that_marks() {
    for transport in ["congestion = \"dctcp\"", "congestion = \"d2tcp\"", "ecn = true"] {
        assert_eq!(queue_under_tcp(transport, ""), "ecn");
        let why = queue_under_tcp(transport, "queue = \"drop-tail\"");
        assert!(why.contains("\"drop-tail\" has no ECN marking, which transport.tcp needs"), "{why}");
    }
    assert_eq!(queue_under_tcp("", ""), "drop-tail");
    let why = queue_under_tcp("congestion.d2tcp = { min_exponent = 3 }", "");
    assert!(
        why.contains("transport.tcp.congestion.d2tcp.max_exponent: 2 is below min_exponent, which is 3"),
        "{why}"
    );
}
