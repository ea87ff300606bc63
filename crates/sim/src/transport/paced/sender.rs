//! The sending end: packets one by one at the rate that switches gave, and the questions that they carry.

use std::collections::VecDeque;

use super::{Asks, Flow, Paced, Pacing, Scheme, kind, next_at, timer};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start, Timer, Toward};
use crate::engine::contract::packet::{Header, Packet, Record, flag};
use crate::ids::ConnId;
use crate::transport::rtt::Rtt;
use crate::transport::sent::{SentList, State};
use crate::transport::source::{Next, PlainFlow, Source};
use crate::units::{Rate, Time};

/// The sender of one flow.
#[derive(Clone, Debug, Default)]
pub struct Sender<S> {
    scheme: S,
    stage: Stage,
    size: u64,
    due: Time,
    source: PlainFlow,
    /// Bytes that have not been acknowledged.
    left: u64,
    /// Packets that have been sent; of each, the number of its last transmission.
    sent: SentList<u32>,
    /// Transmissions that may be in flight, in their order: number of the transmission, and of the packet.
    flight: VecDeque<(u32, u32)>,
    /// Packets that are to be sent again, and the bytes of those of them that have not arrived meanwhile.
    lost: VecDeque<u32>,
    lost_bytes: u64,
    transmissions: u32,
    /// The last transmission that was acknowledged, and one more.
    heard: u32,
    /// The rate that switches gave, in bit/s.
    rate: u64,
    /// When the last packet of data left, and its bytes on the wire.
    last: (Time, u32),
    /// When the next one may leave at that rate; never without one.
    next_at: Time,
    /// The first request without payload since then that was due while a packet of data waited for its turn.
    passed: Option<Time>,
    /// Time of the last request, if it has no reply yet: requests and replies keep their order, so that
    /// earlier requests have been replied to then, or are lost.
    asked: Option<Time>,
    /// From the last request that was answered to the next one.
    spacing: Time,
    rtt: Rtt,
    last_rtt: Option<Time>,
    /// Timeouts since the last answer.
    silent: u32,
    pace: Timer,
    ask: Timer,
    /// Retransmits a request without a reply. Apart from `ask`, which each reply sets to an earlier time:
    /// this one's event is put off and need not be replaced.
    unanswered: Timer,
    retransmit: Timer,
}

/// How far a flow is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Its SYN is not answered.
    #[default]
    Opens,
    Open,
    /// Its FIN is not answered; or, of one that was given up, its TERM.
    Closes {
        given_up: bool,
    },
    Over,
}

impl<S: Scheme> Sender<S> {
    /// The flow starts: requests a rate.
    pub fn begin(&mut self, id: ConnId, start: Start, config: &S::Config, cx: &mut impl Host) {
        let (mut flight, mut lost) = (std::mem::take(&mut self.flight), std::mem::take(&mut self.lost));
        flight.clear();
        lost.clear();
        *self = Sender {
            size: start.size,
            left: start.size,
            due: start.due,
            source: PlainFlow::new(start.size),
            sent: std::mem::take(&mut self.sent).restart(),
            flight,
            lost,
            next_at: Time::NEVER,
            ..Sender::default()
        };
        self.send_alone(id, kind::SYN, config, cx);
    }

    /// The scheme's view of the flow.
    #[inline]
    fn flow<'a>(&self, id: ConnId, pacing: &'a Pacing, cx: &impl Host) -> Flow<'a> {
        Flow {
            pacing,
            now: cx.now(),
            left: self.left,
            unsent: self.source.left() + self.lost_bytes,
            due: self.due,
            rtt: self.last_rtt,
            line: cx.rate(cx.port(id)),
            rate: self.rate,
            last: self.last,
        }
    }

    /// Has the scheme fill in the record of the next packet.
    #[inline]
    fn fill(&mut self, asks: Asks, flow: &Flow, config: &S::Config, cx: &mut impl Host) {
        let record = cx.record();
        *record = Record::default();
        self.scheme.ask(asks, flow, config, record);
        self.asked = Some(cx.now());
    }

    /// Sends a request without payload.
    fn send_alone(&mut self, id: ConnId, kind: u8, config: &S::Config, cx: &mut impl Host) {
        let asks = match kind {
            kind::SYN => Asks::First,
            kind::ASK => Asks::Again,
            _ => Asks::Last,
        };
        let flow = self.flow(id, config.pacing(), cx);
        self.fill(asks, &flow, config, cx);
        let header = Header { kind, seq: self.size, ack: cx.now().0, ..Header::default() };
        cx.send_to_receiver(id, config.pacing().control_size(), header);
        if kind == kind::ASK {
            self.await_answer(id, config.pacing(), cx);
        } else {
            self.start_timer(id, config.pacing(), cx);
        }
    }

    /// The time after which a packet without a reply is lost.
    fn timeout(&self, pacing: &Pacing) -> Time {
        let timeout = self.rtt.timeout(Time::ZERO).unwrap_or(pacing.rto_min).max(pacing.rto_min);
        Time(timeout.0.saturating_mul(1 << self.silent.min(30))).min(pacing.rto_max)
    }

    /// The rate that switches gave: for observers.
    pub fn rate(&self) -> Rate {
        Rate(self.rate)
    }

    /// Switches give another rate, or the same.
    fn set_rate(&mut self, rate: u64) {
        if rate != self.rate {
            self.rate = rate;
            self.next_at = next_at(self.last, rate);
        }
    }

    /// Whether there is data to send.
    fn has_data(&self) -> bool {
        self.stage == Stage::Open && (!self.lost.is_empty() || self.source.left() > 0)
    }

    /// Takes the flow's turn if its next packet may go, else when it may. The timer of the next request gets an event
    /// only if that packet may leave after it or carries no request: mostly the packet is earlier.
    #[inline(always)]
    fn wait_for_turn(&mut self, id: ConnId, cx: &mut impl Host) {
        let due = if self.has_data() { self.next_at } else { Time::NEVER };
        if due <= cx.now() {
            cx.ready(id);
            if self.ask.is_set() && !(self.next_asks() && cx.is_next(id)) {
                self.start_ask(id, cx);
            }
            return;
        }
        if self.ask.is_set() && !(self.next_asks() && due < self.ask.due()) {
            self.start_ask(id, cx);
        }
        if due == Time::NEVER {
            self.pace.clear();
        } else {
            cx.set_timer(&mut self.pace, due, Owner::Sender(id), timer::PACE);
        }
    }

    /// Whether the next packet of data carries a request.
    #[inline]
    fn next_asks(&self) -> bool {
        S::EACH_ASKS || self.asked.is_none()
    }

    /// Gives the timer of the next request its event.
    #[cold]
    #[inline(never)]
    fn start_ask(&mut self, id: ConnId, cx: &mut impl Host) {
        let due = self.ask.due();
        cx.set_timer(&mut self.ask, due, Owner::Sender(id), timer::ASK);
    }

    /// The wire is free.
    #[inline(always)]
    pub fn next_packet(
        &mut self,
        id: ConnId,
        config: &S::Config,
        cx: &mut impl Host,
    ) -> (Option<Packet>, bool) {
        if !self.has_data() || self.next_at > cx.now() {
            self.wait_for_turn(id, cx);
            return (None, false);
        }
        let pacing = config.pacing();
        // A packet that requests a rate for the remaining bytes is itself part of them.
        let asking = self.next_asks().then(|| self.flow(id, pacing, cx));
        let Some(number) = self.next_number(pacing) else {
            // What was lost has arrived meanwhile.
            self.wait_for_turn(id, cx);
            return (None, false);
        };
        let (sent, again) = self.sent.send(number);
        sent.note = self.transmissions;
        let len = sent.len;
        self.flight.push_back((self.transmissions, number));
        self.transmissions += 1;
        let counts = cx.sender(id);
        counts.packets_sent += 1;
        counts.retransmissions += u32::from(again);
        if let Some(flow) = asking {
            self.fill(Asks::Again, &flow, config, cx);
            self.await_answer(id, pacing, cx);
        } else if self.ask.is_set() {
            self.start_ask(id, cx);
        }
        let kind = if asking.is_some() { kind::DATA_ASKS } else { kind::DATA };
        let size = pacing.data_size(u32::from(len));
        let header = Header { kind, len, number, ack: cx.now().0, ..Header::default() };
        let flags = if asking.is_some() { flag::TRIMMABLE } else { 0 };
        let packet = cx.packet(id, Toward::Receiver, size, flags, header);
        self.last = (cx.now(), size);
        self.next_at = next_at(self.last, self.rate);
        self.passed = None;
        if !self.retransmit.is_set() {
            self.start_timer(id, pacing, cx);
        }
        // The port calls again when the packet has been transmitted.
        let more =
            self.has_data() && self.next_at <= cx.now().saturating_add(cx.transmission(cx.port(id), size));
        if !more {
            self.wait_for_turn(id, cx);
        }
        (Some(packet), more)
    }

    /// The packet to send next: lost packets go first.
    fn next_number(&mut self, pacing: &Pacing) -> Option<u32> {
        while let Some(number) = self.lost.pop_front() {
            if let Some(sent) = self.sent.get(number)
                && sent.state == State::Lost
            {
                self.lost_bytes -= u64::from(sent.len);
                return Some(number);
            }
        }
        let Next::Range { len, .. } = self.source.next(pacing.mss.0 as u32) else { return None };
        Some(self.sent.push(len as u16, 0))
    }

    fn start_timer(&mut self, id: ConnId, pacing: &Pacing, cx: &mut impl Host) {
        let due = cx.now().saturating_add(self.timeout(pacing));
        cx.set_timer(&mut self.retransmit, due, Owner::Sender(id), timer::RETRANSMIT);
    }

    /// A request has left: the next one is due after the reply, or without one when that is overdue.
    fn await_answer(&mut self, id: ConnId, pacing: &Pacing, cx: &mut impl Host) {
        let overdue = self.overdue(pacing).unwrap_or_else(|| self.timeout(pacing));
        let due = cx.now().saturating_add(overdue);
        self.ask.clear();
        cx.set_timer(&mut self.unanswered, due, Owner::Sender(id), timer::UNANSWERED);
    }

    /// The time after which a request without a reply is repeated, unless that is a retransmission timeout, in which switches
    /// may give the flow's rate to others.
    fn overdue(&self, pacing: &Pacing) -> Option<Time> {
        let round_trips = pacing.request_rtts.or(S::REQUEST_RTTS)?;
        let least = Time((self.rtt.smoothed()?.0 as f64 * round_trips) as u64);
        Some(self.rtt.timeout(Time::ZERO)?.max(least).max(self.spacing))
    }

    /// An answer arrives.
    #[inline(always)]
    pub fn on_answer(&mut self, packet: &Packet, config: &S::Config, cx: &mut impl Host) {
        let (id, header, pacing) = (packet.conn, packet.header, config.pacing());
        let last = self.asked.is_some_and(|asked| asked.0 == header.ack);
        let asked = match header.kind {
            kind::ACK => None,
            kind::SYN_ANSWER => Some(Asks::First),
            kind::FIN_ANSWER => Some(Asks::Last),
            _ => Some(Asks::Again),
        };
        if asked.is_some() && last {
            self.asked = None;
        }
        match (self.stage, asked) {
            (Stage::Over, _) => return,
            (Stage::Closes { given_up }, Some(Asks::Last)) => {
                let is_off = self.scheme.is_off(cx.record());
                return match last {
                    true if is_off => self.finish(id, cx),
                    true => self.send_last(id, given_up, config, cx),
                    false => {}
                };
            }
            (Stage::Closes { .. }, Some(asked)) => {
                let flow = self.flow(id, pacing, cx);
                self.scheme.answer(asked, cx.record(), &flow, config);
                return;
            }
            (Stage::Closes { .. }, None) => return,
            (Stage::Opens, Some(Asks::First)) => {
                self.stage = Stage::Open;
                self.retransmit.clear();
            }
            _ => {}
        }
        let rtt = cx.now() - Time(header.ack);
        self.rtt.sample(rtt);
        self.last_rtt = Some(rtt);
        self.silent = 0;
        if matches!(header.kind, kind::ACK | kind::DATA_ANSWER | kind::CUT_ANSWER) {
            self.acknowledge(header, id, pacing, cx);
        }
        if let Some(asked) = asked {
            let flow = self.flow(id, pacing, cx);
            let granted = self.scheme.answer(asked, cx.record(), &flow, config);
            self.set_rate(granted.rate);
            self.unanswered.clear();
            let next = cx.now().saturating_add(granted.again);
            self.spacing = next - Time(header.ack);
            self.ask.plan(next);
        }
        if self.left == 0 {
            cx.acknowledged(id);
            return self.close(id, false, config, cx);
        }
        if asked.is_some() && self.gives_up(id, config, cx) {
            return;
        }
        self.wait_for_turn(id, cx);
    }

    /// Switches have forgotten the flow.
    fn finish(&mut self, id: ConnId, cx: &mut impl Host) {
        self.stage = Stage::Over;
        for timer in [&mut self.pace, &mut self.ask, &mut self.unanswered, &mut self.retransmit] {
            timer.clear();
        }
        cx.finish(id);
    }

    /// Gives the flow up if it has a deadline and the scheme decides so.
    #[inline]
    fn gives_up(&mut self, id: ConnId, config: &S::Config, cx: &mut impl Host) -> bool {
        if self.due == Time::NEVER {
            return false;
        }
        let flow = self.flow(id, config.pacing(), cx);
        let gives_up = self.scheme.gives_up(&flow, config);
        if gives_up {
            cx.give_up(id);
            self.close(id, true, config, cx);
        }
        gives_up
    }

    /// Takes the flow off the switches.
    fn close(&mut self, id: ConnId, given_up: bool, config: &S::Config, cx: &mut impl Host) {
        self.stage = Stage::Closes { given_up };
        self.set_rate(0);
        self.silent = 0;
        self.pace.clear();
        self.ask.clear();
        self.unanswered.clear();
        self.send_last(id, given_up, config, cx);
    }

    /// Sends a FIN, or a TERM.
    fn send_last(&mut self, id: ConnId, given_up: bool, config: &S::Config, cx: &mut impl Host) {
        self.send_alone(id, if given_up { kind::TERM } else { kind::FIN }, config, cx);
    }

    /// A packet of data, or its header, has arrived at the receiver, by the reply that the sender now gets.
    fn acknowledge(&mut self, header: Header, id: ConnId, pacing: &Pacing, cx: &mut impl Host) {
        if let Some(sent) = self.sent.get(header.number) {
            self.heard = self.heard.max(sent.note + 1);
            if header.kind != kind::CUT_ANSWER {
                self.arrived(header.number);
            } else if sent.state == State::InFlight {
                self.lose(header.number);
            }
        }
        // Acknowledgements that were lost are made good for.
        while u64::from(self.sent.base()) < header.seq {
            self.arrived(self.sent.base());
        }
        while let Some(&(transmission, number)) = self.flight.front() {
            if self.is_under_way(transmission, number) {
                if transmission + pacing.reordering >= self.heard {
                    break;
                }
                self.lose(number);
            }
            self.flight.pop_front();
        }
        if self.flight.is_empty() {
            self.retransmit.clear();
        } else {
            self.start_timer(id, pacing, cx);
        }
    }

    /// Whether that transmission of a packet is its last one, and has no reply.
    fn is_under_way(&self, transmission: u32, number: u32) -> bool {
        let sent = self.sent.get(number);
        sent.is_some_and(|sent| sent.state == State::InFlight && sent.note == transmission)
    }

    /// A packet in flight is to be retransmitted.
    fn lose(&mut self, number: u32) {
        self.sent.lose(number);
        self.lost_bytes += self.sent.get(number).map_or(0, |sent| u64::from(sent.len));
        self.lost.push_back(number);
    }

    fn arrived(&mut self, number: u32) {
        let Some(sent) = self.sent.acknowledge(number) else { return };
        let len = u64::from(sent.len);
        if sent.state == State::Lost {
            self.lost_bytes -= len;
        }
        self.left -= len;
    }

    /// One of the sender's timers.
    pub fn on_timer(&mut self, id: ConnId, kind: u8, config: &S::Config, cx: &mut impl Host) {
        let owner = Owner::Sender(id);
        match kind {
            timer::PACE => {
                if cx.timer_is_due(&mut self.pace, owner, kind) {
                    self.wait_for_turn(id, cx);
                }
            }
            timer::ASK | timer::UNANSWERED => {
                let timer = if kind == timer::ASK { &mut self.ask } else { &mut self.unanswered };
                if !cx.timer_is_due(timer, owner, kind)
                    || self.stage != Stage::Open
                    || self.gives_up(id, config, cx)
                {
                    return;
                }
                if self.is_passed_for_long(config.pacing(), cx) {
                    let due = cx.now().saturating_add(self.timeout(config.pacing()));
                    cx.set_timer(&mut self.ask, due, owner, timer::ASK);
                } else {
                    self.send_alone(id, kind::ASK, config, cx);
                }
            }
            _ => {
                if cx.timer_is_due(&mut self.retransmit, owner, kind) {
                    self.on_timeout(id, config, cx);
                }
            }
        }
    }

    /// Whether requests without payload, the next one of which is due, have passed a packet of data for a timeout. That packet
    /// could carry the request, and waits for its turn alone.
    ///
    /// A host sends control packets ahead of data; in the authors' models both share a queue. Where the requests of a few flows
    /// fill a link with a short round trip, data would never have its turn, and no flow would end.
    fn is_passed_for_long(&mut self, pacing: &Pacing, cx: &impl Host) -> bool {
        if !self.has_data() || self.next_at > cx.now() || !self.next_asks() {
            return false;
        }
        let since = *self.passed.get_or_insert(cx.now());
        cx.now() - since >= self.timeout(pacing)
    }

    /// Nothing has been answered for too long.
    fn on_timeout(&mut self, id: ConnId, config: &S::Config, cx: &mut impl Host) {
        cx.sender(id).timeouts += 1;
        self.silent += 1;
        match self.stage {
            Stage::Opens => {
                if !self.gives_up(id, config, cx) {
                    self.send_alone(id, kind::SYN, config, cx);
                }
            }
            Stage::Closes { given_up } => self.send_last(id, given_up, config, cx),
            Stage::Open => {
                while let Some((transmission, number)) = self.flight.pop_front() {
                    if self.is_under_way(transmission, number) {
                        self.lose(number);
                    }
                }
                self.wait_for_turn(id, cx);
            }
            Stage::Over => {}
        }
    }

    /// Inconsistencies of the sender's own counters, if there are any.
    pub fn audit(&self) -> Option<String> {
        if self.stage != Stage::Open {
            return None;
        }
        let unsent = self.source.left();
        let open = self.sent.those(State::InFlight).chain(self.sent.those(State::Lost));
        let missing = unsent + open.map(|sent| u64::from(sent.len)).sum::<u64>();
        if missing != self.left {
            return Some(format!("{missing} bytes are not acknowledged, {} counted", self.left));
        }
        let timers = [&self.pace, &self.ask, &self.unanswered, &self.retransmit];
        let idle = !timers.into_iter().any(Timer::is_set);
        idle.then(|| "an open flow has no timer that would wake it".to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::d3::word;
    use crate::engine::contract::endpoint::Endpoint;
    use crate::engine::contract::fake::FakeHost;
    use crate::transport::d3::{self, D3};
    use crate::units::Bytes;

    const FLOW: ConnId = ConnId(0);
    const MS: Time = Time::from_us(1000);
    const DUE: Time = Time(100 * MS.0);

    /// A flow of one packet of 1000 B, due at 100 ms, with timeouts of 10 ms; its SYN has been lost so many times, and the next
    /// one answered at once with 1 Gbps.
    fn opened(lost: usize) -> (FakeHost, d3::Model) {
        let pacing = Pacing {
            mss: Bytes(1000),
            rto_min: Time(10 * MS.0),
            rto_max: Time(1000 * MS.0),
            ..Pacing::default()
        };
        let mut host = FakeHost::pair(1000);
        let mut model = d3::Model::new(host.configs(vec![D3 { pacing, ..D3::default() }]));
        model.start(FLOW, Start { size: 1000, key: 0, due: DUE }, &mut host);
        let mut syn = host.sent[0];
        for _ in 0..lost {
            syn = host.expires(&mut model)[0];
        }
        let answer = host.receives(&mut model, &syn)[0];
        host.record.0[word::ALLOCATED] = word::pack(0, 1_000_000);
        host.answers(&mut model, &answer);
        (host, model)
    }

    /// Two SYNs are lost, at 0 and 10 ms, the third goes at 30 ms and is answered. So is the doubling over: the packet sent
    /// then is missed 10 ms later, and 20 ms after that once more.
    #[test]
    fn an_answer_ends_the_back_off() {
        let (mut host, mut model) = opened(2);
        assert_eq!(host.now, Time(30 * MS.0));
        for missed in [40, 60] {
            assert_eq!(host.sends(&mut model, FLOW, 9).len(), 1);
            host.times_out(&mut model, FLOW);
            assert_eq!(host.now, Time(missed * MS.0));
        }
    }

    /// The packet is lost. The first request behind its timeout names the rate at which it can be sent once more in the time that
    /// is left.
    #[test]
    fn lost_bytes_are_still_to_be_sent() {
        let (mut host, mut model) = opened(0);
        let packet = host.sends(&mut model, FLOW, 9)[0];
        let bits = 8.0 * f64::from(packet.size);
        host.times_out(&mut model, FLOW);
        host.record = Record::default();
        while host.expires(&mut model).is_empty() {}
        let desired = word::unpack(host.record.0[word::DESIRED]).0;
        let kbits = (bits / (DUE - host.now).seconds() / 1000.0).ceil();
        assert_eq!(f64::from(desired), kbits);
    }
}
