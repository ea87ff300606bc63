//! The sending end of DAQ: a handshake that measures the round trip, a window that follows the queue at the switch.

use super::{Daq, Send, kind};
use crate::engine::contract::credit::{LONG, SHORT, Word};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start, Timer, Toward};
use crate::engine::contract::packet::{Header, Packet};
use crate::ids::ConnId;
use crate::queue::daq::{EXPIRED, NO_DEADLINE};
use crate::transport::overdue::LateFlow;
use crate::transport::sent::{Sent, SentList, State};
use crate::transport::source::{Next, PlainFlow, Source};
use crate::units::Time;

/// Something has not been answered.
pub const RETRANSMIT: u8 = 0;
/// The deadline has passed.
pub const LATE: u8 = 2;

/// The sending end of a connection.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    source: PlainFlow,
    stage: Stage,
    /// The deadline; [`Time::NEVER`] without one. Packets carry the time left until it (the paper's D = D -
    /// RTT).
    due: Time,
    /// The last measured (paper: no smoothing).
    rtt: Time,
    /// flow_win, in bytes on the wire.
    window: u64,
    /// When it changes next: once in a round trip.
    change_at: Time,
    /// Bytes of full packets on the wire.
    full: u64,
    header: u64,
    /// Packets that have been sent; of each, whether it is the last one.
    sent: SentList<bool>,
    /// Bytes on the wire of the packets in flight.
    in_flight: u64,
    /// Bytes sent since the round began, where there are rounds.
    round: u64,
    timer: Timer,
    late: Timer,
}

/// How far a flow is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// It waits for the SYN/ACK.
    Opening,
    Open,
    /// It has been given up and waits for the receiver's acknowledgement of that.
    Quitting,
    /// Nothing is left to do.
    #[default]
    Over,
}

impl Sender {
    /// A flow starts, with the memory of the one before: a SYN goes out.
    pub fn start(&mut self, id: ConnId, start: Start, config: &Daq, cx: &mut impl Host) {
        *self = Sender {
            source: PlainFlow::new(start.size),
            stage: Stage::Opening,
            due: start.due,
            window: config.initial_window(),
            full: config.full(),
            header: config.header_bytes.0,
            sent: std::mem::take(&mut self.sent).restart(),
            ..Sender::default()
        };
        self.say(kind::SYN, id, config, cx);
        if config.late == LateFlow::GiveUp && self.due != Time::NEVER {
            // An arrival at the instant of the deadline is in time.
            let after = self.due.saturating_add(Time(1));
            cx.set_timer(&mut self.late, after, Owner::Sender(id), LATE);
        }
    }

    /// Bytes on the wire that may be in flight.
    pub fn window(&self) -> u64 {
        self.window
    }

    fn time_left(&self, now: Time) -> u64 {
        match self.due {
            Time::NEVER => NO_DEADLINE,
            due if due < now => EXPIRED,
            due => due.0 - now.0,
        }
    }

    /// Sends a control packet; one that is to be answered sets the timer.
    fn say(&mut self, kind: u8, id: ConnId, config: &Daq, cx: &mut impl Host) {
        let left = self.time_left(cx.now());
        let (seq, ack) = if kind == kind::SYN { (cx.conn(id).size, left) } else { (0, 0) };
        let number = self.sent.end();
        let header = Header { kind, number, seq, ack, ..Header::default() };
        cx.send_to_receiver(id, config.control_bytes.0 as u32, header);
        if kind != kind::FIN {
            let due = cx.now() + config.control_timeout();
            cx.set_timer(&mut self.timer, due, Owner::Sender(id), RETRANSMIT);
        }
    }

    /// Whether the window has room for a packet that is to be sent. A flow without packets in flight has room
    /// for one.
    fn may_send(&self, config: &Daq) -> bool {
        if self.stage != Stage::Open || (self.sent.lost() == 0 && self.source.left() == 0) {
            return false;
        }
        let len = match self.sent.lost() {
            0 => self.source.left().min(config.mss.0),
            _ => self.sent.get(self.sent.first_lost()).map_or(0, |sent| u64::from(sent.len)),
        };
        let size = self.header + len;
        let used = match config.send {
            Send::Sliding => self.in_flight,
            Send::Rounds => self.round,
        };
        used == 0 || used + size <= self.window
    }

    fn size(&self, sent: Sent<bool>) -> u64 {
        self.header + u64::from(sent.len)
    }

    /// The link is free: lost packets go first. The link's credit is the port's concern.
    pub fn next_packet(&mut self, id: ConnId, config: &Daq, cx: &mut impl Host) -> (Option<Packet>, bool) {
        if !self.may_send(config) {
            return (None, false);
        }
        let again = self.sent.lost() > 0;
        let number = if again { self.sent.send_first_lost() } else { self.cut(config) };
        let sent = self.sent.get(number).expect("it has just been sent");
        let counts = cx.sender(id);
        counts.packets_sent += 1;
        counts.retransmissions += u32::from(again);
        let size = self.size(sent);
        self.in_flight += size;
        self.round += size;
        if !self.timer.is_set() {
            self.start_timer(id, config, cx);
        }
        let header = Header {
            kind: if sent.note { kind::LAST } else { kind::DATA },
            class: self.class() as u8,
            len: sent.len,
            number,
            seq: self.rtt.0,
            ack: self.time_left(cx.now()),
        };
        let packet = cx.packet(id, Toward::Receiver, size as u32, 0, header);
        (Some(packet), self.may_send(config))
    }

    fn class(&self) -> usize {
        if self.due == Time::NEVER { LONG } else { SHORT }
    }

    /// Cuts a new packet off the source.
    fn cut(&mut self, config: &Daq) -> u32 {
        let Next::Range { len, last, .. } = self.source.next(config.mss.0 as u32) else {
            unreachable!("who may send has something to send");
        };
        self.sent.push(len as u16, last)
    }

    fn start_timer(&mut self, id: ConnId, config: &Daq, cx: &mut impl Host) {
        cx.set_timer(&mut self.timer, cx.now() + config.timeout, Owner::Sender(id), RETRANSMIT);
    }

    /// An answer: the round trip is measured anew, and the window follows the queue.
    pub fn on_packet(&mut self, packet: &Packet, config: &Daq, cx: &mut impl Host) {
        let (id, header) = (packet.conn, &packet.header);
        match (self.stage, header.kind) {
            (Stage::Opening, kind::SYN_ACK) => {
                self.measure(header.seq, cx);
                self.stage = Stage::Open;
                self.change_at = cx.now() + self.rtt;
                self.timer.clear();
                cx.ready(id);
            }
            (Stage::Open, kind::ACK) => {
                self.measure(header.seq, cx);
                self.acknowledge(header.number);
                let whole = config.send == Send::Sliding || self.in_flight == 0;
                if whole && cx.now() >= self.change_at {
                    self.change_at = cx.now() + self.rtt;
                    let word = cx.word(cx.port(id), self.class());
                    self.change(word, config);
                }
                self.go_on(id, config, cx);
            }
            (Stage::Quitting, kind::QUIT_ACK) => self.end(id, cx),
            _ => {}
        }
    }

    /// The packet that is answered was made at that time.
    fn measure(&mut self, stamp: u64, cx: &impl Host) {
        self.rtt = cx.now() - Time(stamp);
    }

    /// A packet has arrived, perhaps not for the first time.
    fn acknowledge(&mut self, number: u32) {
        if let Some(sent) = self.sent.acknowledge(number)
            && sent.state == State::InFlight
        {
            self.in_flight -= self.size(sent);
        }
    }

    /// Once in a round trip (the paper's flow_win + 1 and flow_win / 2^k): a packet more, or a half or a quarter.
    fn change(&mut self, word: Word, config: &Daq) {
        if word.queue <= config.target_queue() {
            self.window += self.full;
        } else {
            let k = if config.is_loaded(word.load) { 2 } else { 1 };
            self.window = (self.window >> k).max(self.full);
        }
    }

    /// After an acknowledgement.
    fn go_on(&mut self, id: ConnId, config: &Daq, cx: &mut impl Host) {
        if self.in_flight == 0 {
            self.round = 0;
        }
        if self.sent.is_empty() && self.source.left() == 0 {
            self.say(kind::FIN, id, config, cx);
            cx.acknowledged(id);
            return self.end(id, cx);
        }
        if self.in_flight == 0 {
            self.timer.clear();
        } else {
            self.start_timer(id, config, cx);
        }
        if self.may_send(config) {
            cx.ready(id);
        }
    }

    fn end(&mut self, id: ConnId, cx: &mut impl Host) {
        self.stage = Stage::Over;
        self.timer.clear();
        self.late.clear();
        cx.finish(id);
    }

    /// No acknowledgement has arrived: packets in flight are taken for lost.
    pub fn on_timeout(&mut self, id: ConnId, config: &Daq, cx: &mut impl Host) {
        if !cx.timer_is_due(&mut self.timer, Owner::Sender(id), RETRANSMIT) {
            return;
        }
        cx.sender(id).timeouts += 1;
        match self.stage {
            Stage::Opening => self.say(kind::SYN, id, config, cx),
            Stage::Quitting => self.say(kind::QUIT, id, config, cx),
            Stage::Open => {
                self.sent.lose_all();
                (self.in_flight, self.round) = (0, 0);
                cx.ready(id);
            }
            Stage::Over => unreachable!("a flow that has ended has no timer"),
        }
    }

    /// The deadline has passed and not all is acknowledged: the receiver is notified that no more packets
    /// will come.
    pub fn on_deadline(&mut self, id: ConnId, config: &Daq, cx: &mut impl Host) {
        if cx.timer_is_due(&mut self.late, Owner::Sender(id), LATE) {
            self.stage = Stage::Quitting;
            cx.give_up(id);
            self.say(kind::QUIT, id, config, cx);
        }
    }

    /// Inconsistencies of the sender's own counters, if there are any.
    pub fn audit(&self) -> Option<String> {
        let in_flight: u64 = self.sent.those(State::InFlight).map(|sent| self.size(sent)).sum();
        if in_flight != self.in_flight {
            return Some(format!("{in_flight} bytes in flight, counted {}", self.in_flight));
        }
        if let Some(wrong) = self.sent.audit() {
            return Some(wrong);
        }
        let waits = self.stage != Stage::Over && in_flight > 0 && !self.timer.is_set();
        waits.then(|| "packets are in flight and no timer is set".to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derived::Derived;
    use crate::engine::contract::credit::FULL_LOAD;
    use crate::engine::contract::endpoint::Endpoint;
    use crate::engine::contract::fake::FakeHost;
    use crate::transport::daq::Model;
    use crate::units::Bytes;

    const FLOW: ConnId = ConnId(0);

    /// Windows of two packets of 1500 B.
    fn config(send: Send) -> Daq {
        Daq { initial_window: Derived::Given(Bytes(3000)), send, ..Daq::default() }
    }

    /// A flow of four packets whose SYN has been answered after 100 us.
    fn opened(send: Send) -> (FakeHost, Model) {
        let mut host = FakeHost::pair(4 * 1460);
        let mut model = Model::new(host.configs(vec![config(send)]));
        host.start(&mut model, FLOW);
        let syn = host.sent[0];
        host.now = Time::from_us(100);
        let answer = host.receives(&mut model, &syn);
        host.answers(&mut model, &answer[0]);
        (host, model)
    }

    fn numbers(packets: &[Packet]) -> Vec<u32> {
        packets.iter().map(|packet| packet.header.number).collect()
    }

    /// The acknowledgements of packets come to the sender.
    fn acknowledge(host: &mut FakeHost, model: &mut Model, packets: &[Packet]) {
        for packet in packets {
            let ack = host.receives(model, packet);
            host.answers(model, &ack[0]);
        }
    }

    /// All of a window is lost: after the timeout it goes again, as a whole, and when it has arrived the rest follows.
    #[test]
    fn a_window_that_is_lost_goes_again_at_the_timeout() {
        for send in [Send::Sliding, Send::Rounds] {
            let (mut host, mut model) = opened(send);
            assert_eq!(numbers(&host.sends(&mut model, FLOW, 9)), [0, 1]);
            host.times_out(&mut model, FLOW);
            assert_eq!(host.now, Time::from_us(100) + Daq::default().timeout);
            let again = host.sends(&mut model, FLOW, 9);
            assert_eq!(numbers(&again), [0, 1], "{send:?}");
            acknowledge(&mut host, &mut model, &again);
            let rest = host.sends(&mut model, FLOW, 9);
            assert_eq!(numbers(&rest), [2, 3], "{send:?}");
            acknowledge(&mut host, &mut model, &rest);
            assert_eq!((&host.completed[..], &host.finished[..]), (&[FLOW][..], &[FLOW][..]));
            let sender = host.sender(FLOW);
            assert_eq!((sender.packets_sent, sender.retransmissions, sender.timeouts), (6, 2, 1));
        }
    }

    /// The timeout counts from the first packet in flight: one that is sent 40 us later does not put it off.
    #[test]
    fn a_later_packet_leaves_the_timer_as_it_is() {
        let (mut host, mut model) = opened(Send::Sliding);
        assert_eq!(numbers(&host.sends(&mut model, FLOW, 1)), [0]);
        host.now = Time::from_us(140);
        assert_eq!(numbers(&host.sends(&mut model, FLOW, 1)), [1]);
        host.times_out(&mut model, FLOW);
        assert_eq!(host.now, Time::from_us(100) + Daq::default().timeout);
    }

    /// A window slides by a packet for each acknowledgement, or goes on when all of it is acknowledged.
    #[test]
    fn an_acknowledgement_makes_room() {
        for (send, next) in [(Send::Sliding, vec![2]), (Send::Rounds, vec![])] {
            let (mut host, mut model) = opened(send);
            let packets = host.sends(&mut model, FLOW, 9);
            acknowledge(&mut host, &mut model, &packets[..1]);
            assert_eq!(numbers(&host.sends(&mut model, FLOW, 9)), next, "{send:?}");
            acknowledge(&mut host, &mut model, &packets[1..]);
            let (more, all) = (host.sends(&mut model, FLOW, 9), [2, 3]);
            assert_eq!(numbers(&more), all[next.len()..], "{send:?}");
        }
    }

    /// The paper's flow_win + 1 and flow_win / 2^k: with 6000 B a packet more up to the target, a half above it, and a quarter
    /// above a load of 80 %; never below a packet.
    #[test]
    fn the_window_follows_the_queue() {
        let config = Daq { target_queue: Derived::Given(Bytes(4500)), ..Daq::default() };
        let load = FULL_LOAD / 10 * 8;
        for (window, queue, load, expected) in [
            (6000, 4500, FULL_LOAD, 7500),
            (6000, 4501, load, 3000),
            (6000, 4501, load + 1, 1500),
            (1600, 4501, 0, 1500),
        ] {
            let mut sender = Sender { window, full: 1500, ..Sender::default() };
            sender.change(Word { queue, load }, &config);
            assert_eq!(sender.window, expected, "{window} B, {queue} B queued, load {load}");
        }
    }

    /// It changes once in a round trip: after the handshake's 100 us, acknowledgements before 200 us leave it as it is.
    #[test]
    fn the_window_changes_once_in_a_round_trip() {
        let (mut host, mut model) = opened(Send::Sliding);
        let packets = host.sends(&mut model, FLOW, 9);
        let window = |model: &Model, host: &FakeHost| model.window(FLOW, &host.conns[0]);
        host.now = Time(200_000_000 - 1);
        acknowledge(&mut host, &mut model, &packets[..1]);
        assert_eq!(window(&model, &host), Some(3000));
        host.now = Time::from_us(200);
        acknowledge(&mut host, &mut model, &packets[1..]);
        assert_eq!(window(&model, &host), Some(4500));
        let more = host.sends(&mut model, FLOW, 9);
        acknowledge(&mut host, &mut model, &more);
        assert_eq!(window(&model, &host), Some(4500), "the round trip of 100 us is not over");
    }

    /// The time left goes with each packet; a deadline that is now has no time left, one before it has expired.
    #[test]
    fn packets_carry_the_time_left() {
        let due = |due| Sender { due, ..Sender::default() }.time_left(Time::from_us(50));
        assert_eq!(due(Time::from_us(80)), Time::from_us(30).0);
        assert_eq!(due(Time::from_us(50)), 0);
        assert_eq!(due(Time::from_us(49)), EXPIRED);
        assert_eq!(due(Time::NEVER), NO_DEADLINE);
    }

    /// An arrival at the instant of the deadline is in time: the timer that gives up comes a picosecond later, and what comes
    /// with it comes first. So the last acknowledgement may be a picosecond late, and not two.
    #[test]
    fn a_flow_is_given_up_two_picoseconds_after_its_deadline() {
        let config = Daq { late: LateFlow::GiveUp, ..config(Send::Sliding) };
        let mut host = FakeHost::pair(1460);
        let mut sender = Sender::default();
        sender.start(FLOW, Start { size: 1460, key: 0, due: Time::from_us(80) }, &config, &mut host);
        let late: Vec<Time> =
            host.timers.iter().filter(|(_, _, kind)| *kind == LATE).map(|(at, ..)| *at).collect();
        assert_eq!(late, [Time(80_000_001)]);
        host.now = late[0];
        sender.on_deadline(FLOW, &config, &mut host);
        assert_eq!(sender.stage, Stage::Quitting);
        assert_eq!(host.sent.last().map(|packet| packet.header.kind), Some(kind::QUIT));
    }
}
