//! TCP: Reno, NewReno, CUBIC, DCTCP, D2TCP and Swift, in parts with narrow interfaces.
//!
//! A source (`transport/source.rs`) gives the bytes to send, `sender` and `receiver` move them reliably (handshake,
//! acknowledgements, retransmission, timers), `congestion` limits the bytes in flight, `reduction` spreads a reduction over
//! a round trip, `slow_start` ends slow start early, `ecn` carries marks back, `blocks` the ranges that have arrived,
//! `quick_acks` says which acknowledgements are not delayed, `ictcp` sets windows at the receiver, `nic_pacer` spaces segments at
//! the interface. `settings` has the fields, `defaults` their values by preset.
//!
//! Sources: RFC 5681 (congestion control), RFC 6582 (NewReno), RFC 6298 (timers), RFC 3042 (limited transmit), RFC 3168
//! (ECN), RFC 8257 (DCTCP), RFC 9438 (CUBIC), RFC 9937 (proportional rate reduction), RFC 2018, RFC 2883 and RFC 6675
//! (SACK), RFC 8985 (RACK-TLP), RFC 5682 (F-RTO), RFC 9406 (HyStart++).

mod advice;
mod blocks;
mod choices;
pub mod congestion;
mod defaults;
pub mod ecn;
pub mod ictcp;
#[cfg(test)]
mod needless_tests;
pub mod nic_pacer;
mod preset;
mod quick_acks;
pub mod receiver;
pub mod reduction;
#[cfg(test)]
mod rfc_tests;
#[cfg(test)]
mod selective_tests;
pub mod sender;
mod settings;
pub mod slow_start;

pub use self::choices::{Duplicates, Floor, Growth, Halves, IdleRestart, Paced, Repair};
use self::ictcp::Interface;
use self::nic_pacer::{BUCKET, Bucket, Paced as AtPacer};
pub use self::preset::Preset;
use self::receiver::{DELAYED_ACK, Receiver};
use self::sender::{PACE, PROBE, RETRANSMIT, Sender};
pub use self::settings::Tcp;
use super::audit_ranges;
use super::source::Messages;
use crate::engine::contract::conn::Conn;
use crate::engine::contract::endpoint::{Configs, Endpoint, Ends};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start};
use crate::engine::contract::packet::Packet;
use crate::ids::ConnId;

/// Values of `Header::kind`. Data: `number` and `seq` are the segment's place in its connection, in segments
/// and bytes. Acknowledgement: `number` and `ack` are the next expected ones, in segments and bytes; `seq`
/// echoes when the segment was sent. To both belong bits for ECN.
mod kind {
    pub const DATA: u8 = 0;
    pub const LAST: u8 = 1;
    pub const ACK: u8 = 2;
    pub const SYN: u8 = 3;
    pub const SYN_ACK: u8 = 4;

    /// Of an acknowledgement: ECN-Echo, data came marked (RFC 3168; the bit has the same place in TCP's header).
    pub const ECE: u8 = 0x40;
    /// Of data: Congestion Window Reduced, the sender has received the echo.
    pub const CWR: u8 = 0x80;
    /// Of an acknowledgement: its record has SACK blocks.
    pub const SACK: u8 = 0x20;

    /// The kind without these bits.
    #[inline]
    pub fn plain(kind: u8) -> u8 {
        kind & !(ECE | CWR | SACK)
    }
}

/// All TCP connections of a run.
pub struct Model {
    configs: Configs<Tcp>,
    senders: Ends<(Sender, Messages)>,
    receivers: Ends<Receiver>,
    /// By the link by which a host's packets come, if a configuration sets windows at the receiver; else none.
    interfaces: Vec<Interface>,
    /// By port of a host, if a configuration has HULL's pacer; else none.
    buckets: Vec<Bucket>,
    /// The connections of such configurations.
    paced: Ends<AtPacer>,
}

impl Model {
    pub(super) fn new(configs: Configs<Tcp>) -> Model {
        let configs = configs.map(|config| config.resolved());
        let links = |has: fn(&Tcp) -> bool| if configs.any(has) { configs.ports().links } else { 0 };
        Model {
            interfaces: vec![Interface::default(); links(|config| config.ictcp.is_some())],
            buckets: vec![Bucket::default(); links(|config| config.nic_pacer.is_some())],
            configs,
            senders: Ends::default(),
            receivers: Ends::default(),
            paced: Ends::default(),
        }
    }

    /// The next segment of a connection with HULL's pacer.
    #[cold]
    fn next_at_pacer(&mut self, id: ConnId, cx: &mut impl Host) -> (Option<Packet>, bool) {
        let config = self.configs.of(cx.conn(id));
        let Some(rules) = &config.nic_pacer else { return (None, false) };
        let (sender, source) = self.senders.at(id, cx);
        let (own, bucket) = (self.paced.at(id, cx), &mut self.buckets[cx.port(id).index()]);
        if !sender.may_send(config, source) {
            return (None, false);
        }
        let waiting = sender.released(config, source);
        let next = if waiting > 0 { waiting.min(config.mss.0) } else { config.mss.0 };
        if own.holds(id, (next, waiting), bucket, rules, cx) {
            return (None, false);
        }
        let (packet, more) = sender.next_packet(id, config, source, cx);
        if let Some(packet) = &packet {
            own.on_send(u64::from(packet.header.len), bucket, cx.now());
        }
        (packet, more)
    }

    /// A packet has come to the sender of a connection with HULL's pacer.
    #[cold]
    fn at_pacer(&mut self, id: ConnId, packet: &Packet, cx: &impl Host) {
        let config = self.configs.of(cx.conn(id));
        let Some(rules) = &config.nic_pacer else { return };
        let (sender, source) = self.senders.at(id, cx);
        let waiting = if sender.may_send(config, source) { sender.released(config, source) } else { 0 };
        let marked = kind::plain(packet.header.kind) == kind::ACK && packet.header.kind & kind::ECE != 0;
        let port = cx.port(id);
        let bucket = &mut self.buckets[port.index()];
        self.paced.at(id, cx).on_ack(marked, waiting, bucket, rules, cx.rate(port), cx.now());
    }
}

impl Endpoint for Model {
    fn start(&mut self, id: ConnId, start: Start, cx: &mut impl Host) {
        self.connect(id, start.key, cx);
        self.message(id, start, cx);
    }

    fn connect(&mut self, id: ConnId, key: u64, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(id));
        let (sender, source) = self.senders.open(id, cx);
        source.reset();
        sender.reset(config);
        sender.steer(id, key, config, cx);
        if config.nic_pacer.is_some() {
            self.paced.open(id, cx).reset(key, cx);
        }
    }

    fn message(&mut self, flow: ConnId, start: Start, cx: &mut impl Host) {
        let conn = cx.conn(flow);
        let (id, config) = (conn.via, self.configs.of(conn));
        let (sender, source) = self.senders.at(id, cx);
        let opens = source.is_fresh();
        source.push(flow, start.size, start.due);
        if opens {
            sender.open(id, config, source, cx);
        } else if sender.may_send(config, source) {
            cx.ready(id);
        }
    }

    fn accept(&mut self, id: ConnId, cx: &mut impl Host) {
        let config = self.configs.of(cx.conn(id));
        let now = cx.now();
        self.receivers.open(id, cx).reset(config, now);
    }

    #[inline]
    fn at_receiver(&mut self, packet: &Packet, cx: &mut impl Host) {
        let conn = cx.conn(packet.conn);
        let (id, config) = (conn.via, self.configs.of(conn));
        let receiver = self.receivers.at(id, cx);
        if config.ictcp.is_some() {
            receiver.set_window(packet, config, &mut self.interfaces[cx.port(id).reverse().index()], cx);
        }
        receiver.on_packet(id, packet, config, cx);
    }

    #[inline]
    fn at_sender(&mut self, packet: &Packet, cx: &mut impl Host) {
        let conn = cx.conn(packet.conn);
        let (id, config) = (conn.via, self.configs.of(conn));
        let (sender, source) = self.senders.at(id, cx);
        sender.on_packet(id, packet, config, source, cx);
        if config.nic_pacer.is_some() {
            self.at_pacer(id, packet, cx);
        }
    }

    #[inline]
    fn next_packet(&mut self, id: ConnId, cx: &mut impl Host) -> (Option<Packet>, bool) {
        let config = self.configs.of(cx.conn(id));
        if config.nic_pacer.is_some() {
            return self.next_at_pacer(id, cx);
        }
        let (sender, source) = self.senders.at(id, cx);
        sender.next_packet(id, config, source, cx)
    }

    fn timer(&mut self, owner: Owner, kind: u8, cx: &mut impl Host) {
        match (owner, kind) {
            (Owner::Sender(id), RETRANSMIT) => {
                let (sender, source) = self.senders.at(id, cx);
                sender.on_timer(id, self.configs.of(cx.conn(id)), source, cx);
            }
            (Owner::Receiver(id), DELAYED_ACK) => {
                let config = self.configs.of(cx.conn(id));
                self.receivers.at(id, cx).on_timer(id, config, cx);
            }
            (Owner::Sender(id), PACE) => {
                let (sender, source) = self.senders.at(id, cx);
                sender.on_pace(id, self.configs.of(cx.conn(id)), source, cx);
            }
            (Owner::Sender(id), PROBE) => {
                let (sender, source) = self.senders.at(id, cx);
                sender.on_probe(id, self.configs.of(cx.conn(id)), source, cx);
            }
            (Owner::Sender(id), BUCKET) => {
                if self.paced.at(id, cx).is_due(id, cx) {
                    cx.ready(id);
                }
            }
            _ => unreachable!("TCP has no other timers"),
        }
    }

    fn window(&self, id: ConnId, _conn: &Conn) -> Option<u64> {
        Some(self.senders.get(id).0.cwnd())
    }

    fn rate(&self, id: ConnId, _conn: &Conn) -> Option<crate::units::Rate> {
        self.senders.get(id).0.rate()
    }

    fn audit(&self, conns: &[(ConnId, Conn)], found: &mut dyn FnMut(String)) {
        for (id, conn) in conns.iter().filter(|(id, conn)| conn.via == *id && conn.accepted()) {
            audit_ranges(*id, conn, self.receivers.get(*id).received(), found);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::derived::Derived;
    use crate::engine::contract::fake::FakeHost;
    use crate::engine::contract::packet::flag;
    use crate::transport::tcp::congestion::d2tcp::D2tcp;
    use crate::transport::tcp::congestion::dctcp::Dctcp;
    use crate::units::{Bytes, Time};

    const FLOW: ConnId = ConnId(0);

    /// A flow of a hundred segments of 1000 B, and the first window.
    fn started(initial_window: u32, delayed_ack: u32) -> (FakeHost, Model, Vec<Packet>) {
        started_with(initial_window, Tcp { delayed_ack, ..Tcp::default() })
    }

    fn started_with(initial_window: u32, config: Tcp) -> (FakeHost, Model, Vec<Packet>) {
        let config = Tcp {
            mss: Bytes(1000),
            handshake: false,
            initial_window: Derived::Given(initial_window),
            ..config
        };
        let mut host = FakeHost::pair(100_000);
        let mut model = Model::new(host.configs(vec![config]));
        host.start(&mut model, FLOW);
        let packets = host.sends(&mut model, FLOW, 99);
        assert_eq!(packets.len(), initial_window as usize);
        (host, model, packets)
    }

    fn numbers(packets: &[Packet]) -> Vec<u32> {
        packets.iter().map(|packet| packet.header.number).collect()
    }

    /// A segment arrives, and its acknowledgement comes back at once: its bytes, and the window after it.
    fn round(host: &mut FakeHost, model: &mut Model, packet: &Packet) -> (u64, u64) {
        let acks = host.receives(model, packet);
        assert_eq!(acks.len(), 1);
        host.answers(model, &acks[0]);
        (acks[0].header.ack, model.window(FLOW, &host.conns[0]).expect("TCP has one"))
    }

    /// RFC 6582, 3.2. Of ten segments 0 and 3 are lost. The third duplicate halves 10 to 5 and adds 3, five more make 13:
    /// 0 goes again, and 10 to 12. The partial acknowledgement of three segments leaves 13 - 3 + 1 = 11: 3 goes again, and
    /// of new ones only 13, the eleventh from 3 on. The full one leaves four in flight: these and one more.
    #[test]
    fn a_partial_acknowledgement_deflates_the_window() {
        let (mut host, mut model, packets) = started(10, 1);
        let arrives = [1, 2, 4, 5, 6, 7, 8, 9];
        let windows: Vec<_> =
            arrives.iter().map(|&number| round(&mut host, &mut model, &packets[number])).collect();
        assert_eq!(windows.iter().map(|(ack, _)| *ack).collect::<Vec<_>>(), [0; 8]);
        assert_eq!(
            windows.iter().map(|(_, window)| *window / 1000).collect::<Vec<_>>(),
            [10, 10, 8, 9, 10, 11, 12, 13]
        );
        let again = host.sends(&mut model, FLOW, 99);
        assert_eq!(numbers(&again), [0, 10, 11, 12]);
        assert_eq!(round(&mut host, &mut model, &again[0]), (3_000, 11_000));
        let again = host.sends(&mut model, FLOW, 99);
        assert_eq!(numbers(&again), [3, 13]);
        assert_eq!(round(&mut host, &mut model, &again[0]), (10_000, 5_000));
    }

    /// The same where duplicates are SACKs: the third leaves a window of 5, and it and five more take the segments 1 to 6
    /// for arrived, so that 0 goes again, and of new ones only 10. The acknowledgement of three shows that 3 was not there:
    /// it goes again, and 4 to 7 are out of the flight, which leaves room for 11. The full one leaves 10 and 11: three
    /// segments.
    #[test]
    fn duplicates_may_stand_for_sacks() {
        let config = Tcp { delayed_ack: 1, duplicates: Duplicates::Sacks, ..Tcp::default() };
        let (mut host, mut model, packets) = started_with(10, config);
        let arrives = [1, 2, 4, 5, 6, 7, 8, 9];
        let windows = arrives.map(|number| round(&mut host, &mut model, &packets[number]).1 / 1000);
        assert_eq!(windows, [10, 10, 5, 5, 5, 5, 5, 5]);
        let again = host.sends(&mut model, FLOW, 99);
        assert_eq!(numbers(&again), [0, 10]);
        assert_eq!(round(&mut host, &mut model, &again[0]), (3_000, 5_000));
        let again = host.sends(&mut model, FLOW, 99);
        assert_eq!(numbers(&again), [3, 11]);
        assert_eq!(round(&mut host, &mut model, &again[0]), (10_000, 3_000));
    }

    /// Five duplicates take 1 to 3 for arrived. The acknowledgement of three shows that 3 was not: 4 is taken for arrived in
    /// its place, and with two more duplicates 5 and 6: of seven from 3 to 9 four are in flight, and the window of five has room for 10.
    #[test]
    fn a_wrong_guess_passes_on_to_the_next_segment() {
        let config = Tcp { delayed_ack: 1, duplicates: Duplicates::Sacks, ..Tcp::default() };
        let (mut host, mut model, packets) = started_with(10, config);
        for number in [1, 2, 4, 5, 6] {
            round(&mut host, &mut model, &packets[number]);
        }
        let again = host.sends(&mut model, FLOW, 99);
        assert_eq!(numbers(&again), [0]);
        assert_eq!(round(&mut host, &mut model, &again[0]), (3_000, 5_000));
        assert_eq!(numbers(&host.sends(&mut model, FLOW, 99)), [3]);
        for (number, next) in [(7, &[][..]), (8, &[10])] {
            assert_eq!(round(&mut host, &mut model, &packets[number]), (3_000, 5_000));
            assert_eq!(numbers(&host.sends(&mut model, FLOW, 99)), next);
        }
    }

    /// A timeout takes back what duplicates stood for: with a window of one segment one goes.
    #[test]
    fn a_timeout_ends_all_guesses() {
        let config = Tcp { delayed_ack: 1, duplicates: Duplicates::Sacks, ..Tcp::default() };
        let (mut host, mut model, packets) = started_with(10, config);
        for number in [1, 2, 4, 5, 6] {
            round(&mut host, &mut model, &packets[number]);
        }
        assert_eq!(numbers(&host.sends(&mut model, FLOW, 99)), [0]);
        host.times_out(&mut model, FLOW);
        assert_eq!(numbers(&host.sends(&mut model, FLOW, 99)), [0]);
    }

    /// D2TCP, by hand: the first of ten segments is acknowledged with a mark after 300 us. Nine are left, all of them in flight;
    /// at 3/4 of the window of ten they take 9 / 7.5 round trips, which are the 360 us up to the deadline. So the exponent is
    /// 1, and half of alpha = 1/4 goes.
    #[test]
    fn data_in_flight_counts_as_left() {
        let dctcp = Dctcp { g: 0.0, initial_alpha: 0.25, proportional_reduction: false, ..Dctcp::default() };
        let config = Tcp {
            mss: Bytes(1000),
            handshake: false,
            initial_window: Derived::Given(10),
            delayed_ack: 1,
            congestion: Some(D2tcp { dctcp, ..D2tcp::default() }.into()),
            ..Tcp::default()
        };
        let mut host = FakeHost::pair(10_000);
        let mut model = Model::new(host.configs(vec![config]));
        model.start(FLOW, Start { size: 10_000, key: 0, due: Time::from_us(660) }, &mut host);
        let packets = host.sends(&mut model, FLOW, 99);
        host.now = Time::from_us(300);
        let marked = Packet { flags: packets[0].flags | flag::CE, ..packets[0] };
        assert_eq!(round(&mut host, &mut model, &marked), (1_000, 8_750));
    }

    /// The same on a kept connection: the acknowledgement of the last of ten segments of a message, 300 us old, has a mark, and behind
    /// it a message of ten has been sent up to the ninth. Its ten segments, and not the none that is left of the first one, take
    /// 10 / 7.5 round trips, which are the 400 us up to its deadline: the exponent is 1 again. With a deadline of 800 us it
    /// is a half, and half of sqrt(1/4) goes. Without a further message there is no deadline, and the exponent is 1.
    #[test]
    fn a_mark_behind_a_message_is_for_the_next_one() {
        for (further, due_us, left) in [(true, 700, 8_750), (true, 1_100, 7_500), (false, 0, 8_750)] {
            let dctcp =
                Dctcp { g: 0.0, initial_alpha: 0.25, proportional_reduction: false, ..Dctcp::default() };
            let config = Tcp {
                mss: Bytes(1000),
                handshake: false,
                initial_window: Derived::Given(10),
                initial_ssthresh: Some(Bytes(1000)),
                growth: Some(Growth::Segments),
                delayed_ack: 1,
                congestion: Some(D2tcp { dctcp, ..D2tcp::default() }.into()),
                ..Tcp::default()
            };
            let mut host = FakeHost::pair(10_000);
            let mut model = Model::new(host.configs(vec![config]));
            model.start(FLOW, Start { size: 10_000, key: 0, due: Time::from_us(310) }, &mut host);
            let packets = host.sends(&mut model, FLOW, 99);
            if further {
                let next = host.connection(10_000);
                host.conns[next.index()].via = FLOW;
                model.message(next, Start { size: 10_000, key: 1, due: Time::from_us(due_us) }, &mut host);
            }
            host.now = Time::from_us(300);
            for packet in &packets[..9] {
                assert_eq!(round(&mut host, &mut model, packet).1, 10_000);
                host.sends(&mut model, FLOW, 99);
            }
            let marked = Packet { flags: packets[9].flags | flag::CE, ..packets[9] };
            assert_eq!(round(&mut host, &mut model, &marked), (10_000, left), "due after {due_us} us");
        }
    }

    /// Karn: the acknowledgement of a segment that was sent twice, 100 us after the second time, is no sample, and the
    /// timeout stays doubled (RFC 6298, section 5): 2 s for the next segment, which is never acknowledged.
    #[test]
    fn a_segment_that_was_sent_twice_gives_no_sample() {
        let (mut host, mut model, _) = started(1, 1);
        host.times_out(&mut model, FLOW);
        assert_eq!(host.now, Time::from_us(1_000_000));
        let again = host.sends(&mut model, FLOW, 99);
        assert_eq!(numbers(&again), [0]);
        host.now = Time::from_us(1_000_100);
        assert_eq!(round(&mut host, &mut model, &again[0]).0, 1_000);
        assert_eq!(model.senders.get(FLOW).0.round_trip(), None);
        assert_eq!(numbers(&host.sends(&mut model, FLOW, 99)), [1, 2]);
        host.times_out(&mut model, FLOW);
        assert_eq!(host.now, Time::from_us(3_000_100));
    }

    /// RFC 5681, equation 4: the first timeout halves ten segments to five; the second one of the same segment, with only
    /// that one in flight, leaves the threshold there. So slow start goes from one segment to five, and the next
    /// acknowledgement adds 1000 * 1000 / 5000 B.
    #[test]
    fn only_the_first_timeout_of_a_segment_halves_the_flight() {
        let (mut host, mut model, _) = started(10, 1);
        let mut in_flight = VecDeque::new();
        for seconds in [1, 3] {
            host.times_out(&mut model, FLOW);
            assert_eq!(host.now, Time::from_us(seconds * 1_000_000));
            in_flight = VecDeque::from(host.sends(&mut model, FLOW, 99));
            assert_eq!(in_flight.len(), 1);
        }
        let mut windows = Vec::new();
        for _ in 0..5 {
            let packet = in_flight.pop_front().expect("the window is open");
            windows.push(round(&mut host, &mut model, &packet).1);
            in_flight.extend(host.sends(&mut model, FLOW, 99));
        }
        assert_eq!(windows, [2_000, 3_000, 4_000, 5_000, 5_200]);
    }

    /// A timeout in recovery halves the window without its inflation, at most the flight and a segment. Of twenty segments 0
    /// and 12 to 19 are lost, and all acknowledgements but three; the threshold is 10. The retransmission of 0 is
    /// acknowledged with 11 more, that of 12 is lost: with 8 in flight the window is 9, and slow start goes beyond 4 to 5.
    #[test]
    fn a_timeout_in_recovery_halves_the_window_without_inflation() {
        let config = Tcp { delayed_ack: 1, loss_halves: Some(Halves::Window), ..Tcp::default() };
        let (mut host, mut model, packets) = started_with(20, config);
        for packet in &packets[1..4] {
            round(&mut host, &mut model, packet);
        }
        packets[4..12].iter().for_each(|packet| drop(host.receives(&mut model, packet)));
        let again = host.sends(&mut model, FLOW, 99);
        assert_eq!(numbers(&again), [0]);
        assert_eq!(round(&mut host, &mut model, &again[0]).0, 12_000);
        assert_eq!(numbers(&host.sends(&mut model, FLOW, 99)), [12]);
        host.times_out(&mut model, FLOW);
        let mut under_way = VecDeque::from(host.sends(&mut model, FLOW, 99));
        let mut windows = Vec::new();
        for _ in 0..5 {
            let packet = under_way.pop_front().expect("the window is open");
            windows.push(round(&mut host, &mut model, &packet).1);
            under_way.extend(host.sends(&mut model, FLOW, 99));
        }
        assert_eq!(windows, [2_000, 3_000, 4_000, 5_000, 5_200]);
    }

    /// Timeouts, and those for which a whole window was lost.
    fn causes(host: &FakeHost) -> (u32, u32) {
        let end = host.conns[FLOW.index()].counts();
        (end.timeouts, end.timeouts_whole_window)
    }

    /// All ten segments are lost, then the retransmitted one, twice. Of the two that its acknowledgement
    /// releases both are lost as well: they were the whole window.
    #[test]
    fn a_flight_that_nothing_answers_is_a_whole_window() {
        let (mut host, mut model, _) = started(10, 1);
        let mut repeated = Vec::new();
        for timeouts in 1..=3 {
            host.times_out(&mut model, FLOW);
            assert_eq!(causes(&host), (timeouts, timeouts));
            repeated = host.sends(&mut model, FLOW, 99);
            assert_eq!(numbers(&repeated), [0]);
        }
        assert_eq!(round(&mut host, &mut model, &repeated[0]), (1_000, 2_000));
        assert_eq!(numbers(&host.sends(&mut model, FLOW, 99)), [1, 2]);
        host.times_out(&mut model, FLOW);
        assert_eq!(causes(&host), (4, 4));
    }

    /// All of the first window arrives, and nothing of the one that its acknowledgements let go; or the first segment of
    /// that one does.
    #[test]
    fn a_window_is_what_the_acknowledgements_of_the_one_before_let_go() {
        for (arrive, whole) in [(0, 1), (1, 0)] {
            let (mut host, mut model, first) = started(4, 1);
            let mut second = Vec::new();
            for packet in &first {
                round(&mut host, &mut model, packet);
                second.extend(host.sends(&mut model, FLOW, 99));
            }
            assert_eq!(numbers(&second), [4, 5, 6, 7, 8, 9, 10, 11]);
            for packet in &second[..arrive] {
                round(&mut host, &mut model, packet);
                host.sends(&mut model, FLOW, 99);
            }
            host.times_out(&mut model, FLOW);
            assert_eq!(causes(&host), (1, whole));
        }
    }

    /// Eight of ten segments arrive, in order, and whatever they let go is lost: nothing is ever acknowledged twice.
    #[test]
    fn a_lost_tail_is_part_of_a_window() {
        let (mut host, mut model, packets) = started(10, 1);
        for (at, packet) in packets[..8].iter().enumerate() {
            assert_eq!(round(&mut host, &mut model, packet).0, 1_000 * (at as u64 + 1));
            host.sends(&mut model, FLOW, 99);
        }
        host.times_out(&mut model, FLOW);
        assert_eq!(causes(&host), (1, 0));
    }

    /// The first segment is lost, and only two arrive behind it: two duplicates, where three make the sender
    /// retransmit.
    #[test]
    fn two_duplicates_answer_a_window() {
        let (mut host, mut model, packets) = started(10, 1);
        for packet in &packets[1..3] {
            assert_eq!(round(&mut host, &mut model, packet), (0, 10_000));
        }
        assert!(host.sends(&mut model, FLOW, 99).is_empty());
        host.times_out(&mut model, FLOW);
        assert_eq!(causes(&host), (1, 0));
    }

    /// Three duplicates make the sender retransmit the first segment, which is lost again. After the timeout
    /// it is retransmitted once more, and that is a window of its own.
    #[test]
    fn a_lost_repair_is_part_of_a_window() {
        let (mut host, mut model, packets) = started(10, 1);
        for packet in &packets[1..4] {
            round(&mut host, &mut model, packet);
        }
        assert_eq!(numbers(&host.sends(&mut model, FLOW, 99)), [0]);
        host.times_out(&mut model, FLOW);
        assert_eq!(causes(&host), (1, 0));
        assert_eq!(numbers(&host.sends(&mut model, FLOW, 99)), [0]);
        host.times_out(&mut model, FLOW);
        assert_eq!(causes(&host), (2, 1));
    }

    /// A SYN that nothing answers is all that was sent.
    #[test]
    fn a_lost_syn_is_a_whole_window() {
        let mut host = FakeHost::pair(100_000);
        let mut model = Model::new(host.configs(vec![Tcp::default()]));
        host.start(&mut model, FLOW);
        host.times_out(&mut model, FLOW);
        assert_eq!(causes(&host), (1, 1));
    }

    /// Every second segment is acknowledged at once, and so is the first of all. The fourth waits alone for 40 ms, whatever
    /// timer the second one has left behind.
    #[test]
    fn a_delayed_acknowledgement_waits_for_its_timer() {
        let (mut host, mut model, packets) = started(4, 2);
        let mut acks = Vec::new();
        for (packet, us) in packets.iter().zip([0, 10, 20, 30]) {
            host.now = Time::from_us(us);
            let answers = host.receives(&mut model, packet);
            acks.push(answers.iter().map(|ack| ack.header.ack).collect::<Vec<_>>());
        }
        assert_eq!(acks, [vec![1_000], vec![], vec![3_000], vec![]]);
        assert!(host.expires(&mut model).is_empty(), "the timer of the second one");
        assert_eq!(host.now, Time::from_us(40_010));
        let ack = host.expires(&mut model);
        assert_eq!((host.now, ack.len()), (Time::from_us(40_030), 1));
        assert_eq!(ack[0].header.ack, 4_000);
    }
}
