//! The sending end of NDP: the first window at line rate, then a packet for each pull, retransmissions first.

use std::collections::{BTreeSet, VecDeque};

use super::paths::{Fate, Paths};
use super::{BackstopRepeats, DECODED, Ndp, RepeatOrder, kind};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Start, Timer, Toward};
use crate::engine::contract::packet::{Header, Packet, flag};
use crate::ids::ConnId;
use crate::random::Purpose;
use crate::transport::rtt::Rtt;
use crate::transport::source::{Next, PlainFlow, Source};
use crate::units::Time;

/// The sender's timer, by the convention of `Endpoint::timer`.
pub const BACKSTOP: u8 = 0;

/// A timeout is doubled so often at the most, even if that is below the longest one.
const BACKOFF_MOST: u32 = 40;

/// The sending end of a connection.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    source: PlainFlow,
    ended: bool,
    /// Packets from the first unacknowledged one on; `base` is its number.
    sent: VecDeque<Sent>,
    base: u32,
    /// Packets of the first window that may still be pushed.
    first_window: u32,
    /// Pulls that have come, and packets sent for them: both count from the start of the connection.
    pulled: u32,
    answered: u32,
    /// Packets that the backstop timer lets go without a pull.
    forced: u32,
    /// Pulls requested, in all, because the packets that would have caused them never arrived.
    asked: u32,
    repeats: Repeats,
    rtt: Rtt,
    /// Timeouts since the last packet from the receiver.
    backoff: u32,
    /// By this factor the present timeout is longer than computed; and the key of the flow's random draws.
    stretch: f64,
    key: u64,
    /// Time of the last packet from the receiver.
    heard: Time,
    /// When a pull came that was not the repetition of another, the longest time between two, and how often silence
    /// has been taken for the loss of one since.
    pulled_at: Time,
    pull_gap: Time,
    silences: u32,
    timer: Timer,
    /// Packets of the first window without an ACK, a NACK or a returned header.
    unheard: u32,
    /// ACKs and NACKs that have come: as many pulls are to come.
    answers: u32,
    lately: Lately,
    paths: Paths,
    /// Whether it has a code, and the receiver has not decoded the flow yet.
    codes: bool,
}

/// The last answers, headers that came back included: a bit each, set for ACKs.
#[derive(Clone, Copy, Debug, Default)]
struct Lately {
    acks: u16,
    count: u16,
}

impl Lately {
    /// As many are kept (htsim).
    const KEPT: u16 = 12;

    fn note(&mut self, ack: bool) {
        self.acks = (self.acks << 1 | u16::from(ack)) & ((1 << Self::KEPT) - 1);
        self.count = (self.count + 1).min(Self::KEPT);
    }

    /// Whether enough gets through for a header that comes back to be the fault of its path and not of an incast. htsim
    /// has total / ACKs of at most 3 in whole numbers: more than a quarter.
    fn gets_through(self) -> bool {
        4 * self.acks.count_ones() > u32::from(self.count)
    }
}

/// A packet that has been sent and not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// When it was last sent.
    at: Time,
    len: u16,
    state: State,
    last: bool,
    /// The path that it took last, or its entropy value, if the sender chooses.
    path: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    ToRepeat,
    Acknowledged,
}

/// Packets to be sent again, by number, in the order that the configuration names.
#[derive(Clone, Debug, Default)]
struct Repeats {
    lowest: BTreeSet<u32>,
    fifo: VecDeque<u32>,
}

impl Repeats {
    fn push(&mut self, number: u32, order: RepeatOrder) {
        match order {
            RepeatOrder::Lowest => {
                self.lowest.insert(number);
            }
            RepeatOrder::Fifo => self.fifo.push_back(number),
            RepeatOrder::Lifo => self.fifo.push_front(number),
        }
    }

    fn pop(&mut self) -> Option<u32> {
        self.fifo.pop_front().or_else(|| self.lowest.pop_first())
    }

    fn is_empty(&self) -> bool {
        self.fifo.is_empty() && self.lowest.is_empty()
    }

    fn remove(&mut self, number: u32) {
        if !self.lowest.remove(&number) {
            self.fifo.retain(|&other| other != number);
        }
    }
}

impl Sender {
    /// Starts over for another flow, with the memory of the one before.
    pub fn reset(&mut self, config: &Ndp, start: &Start, cx: &impl Host) {
        let mut sent = std::mem::take(&mut self.sent);
        sent.clear();
        let mut paths = std::mem::take(&mut self.paths);
        paths.clear();
        paths.start(start, config, cx);
        let source = PlainFlow::new(start.size);
        let first_window = config.initial_window();
        let codes = config.code.is_some();
        *self = Sender { source, sent, paths, first_window, codes, key: start.key, ..Sender::default() };
    }

    /// The flow starts: the link may take the whole first window.
    pub fn open(&mut self, id: ConnId, config: &Ndp, cx: &mut impl Host) {
        (self.heard, self.pulled_at) = (cx.now(), cx.now());
        self.spread(id, config, cx);
        cx.ready(id);
    }

    /// An ACK, a NACK or a pull; or a header that comes back.
    #[inline]
    pub fn on_packet(&mut self, packet: &Packet, config: &Ndp, cx: &mut impl Host) {
        if packet.has(flag::BOUNCED) {
            return self.on_bounce(packet, config, cx);
        }
        let id = packet.conn;
        let header = &packet.header;
        self.heard = cx.now();
        self.backoff = 0;
        let (in_order, pull) = super::unpack(header.ack);
        match header.kind & kind::WHAT {
            kind::ACK => {
                self.note_answer(header.number, Fate::Acknowledged, config, cx.now());
                if let Some(sent) = self.unacknowledged(header.number) {
                    if sent.state == State::InFlight {
                        self.rtt.sample(cx.now() - Time(header.seq));
                        self.hurry(id, config, cx);
                    }
                    self.acknowledge(header.number);
                }
            }
            kind::NACK => {
                let last_hop = header.kind & kind::LAST_HOP != 0;
                let fate = if last_hop { Fate::TrimmedLast } else { Fate::Trimmed };
                self.note_answer(header.number, fate, config, cx.now());
                self.make_up_for(header.number, config);
            }
            _ => {}
        }
        if header.kind & kind::PULLS != 0 && pull > self.pulled {
            // The very next one was not lost, whatever the silence was taken for.
            if self.silences == 0 || pull == self.pulled + 1 {
                self.pull_gap = self.pull_gap.max(cx.now() - self.pulled_at);
            }
            self.pulled = pull;
            (self.pulled_at, self.silences) = (cx.now(), 0);
        }
        self.codes &= in_order != DECODED;
        self.forget_before(in_order);
        if self.ended && self.sent.is_empty() && !self.codes {
            self.timer.clear();
            if cx.sender(id).acked_at == Time::NEVER {
                cx.acknowledged(id);
                cx.finish(id);
            }
        } else if self.may_send() {
            cx.ready(id);
        }
    }

    /// The sender's records of ACKs and NACKs for later decisions.
    #[inline]
    fn note_answer(&mut self, number: u32, fate: Fate, config: &Ndp, now: Time) {
        self.answers += 1;
        self.unheard = self.unheard.saturating_sub(1);
        self.lately.note(fate == Fate::Acknowledged);
        if config.chooses_paths()
            && let Some(&Sent { path, .. }) = self.unacknowledged(number).as_deref()
        {
            self.paths.judge(path, fate, config, now);
        }
    }

    /// A header found the header queue full and was returned. Its packet is retransmitted at once if no pull
    /// is to come that would let it go, or if only its path can be the cause, else a pull decides (paper,
    /// section 3.2.4). As in htsim a returned packet no longer counts as an unanswered one of the first
    /// window, and one of these may be missing: if all are returned, the last two are retransmitted.
    #[cold]
    fn on_bounce(&mut self, packet: &Packet, config: &Ndp, cx: &mut impl Host) {
        let number = packet.header.number;
        self.unheard = self.unheard.saturating_sub(1);
        self.lately.note(false);
        let Some(path) = self.unacknowledged(number).map(|sent| sent.path) else { return };
        if !self.make_up_for(number, config) {
            return;
        }
        self.paths.judge(path, Fate::Returned, config, cx.now());
        let pushes = self.first_window > 0 && self.source.left() > 0;
        let forgotten = self.answers <= self.pulled && self.unheard <= 1 && !pushes;
        if forgotten || self.lately.gets_through() {
            self.forced += 1;
        } else if self.codes {
            // The receiver counts the packets that it has yet to pull.
            self.asked += 1;
        }
        if self.may_send() {
            cx.ready(packet.conn);
        }
    }

    /// A sample may shorten the timeout, at first by far: packets sent before are not to wait for the long
    /// one.
    fn hurry(&mut self, id: ConnId, config: &Ndp, cx: &mut impl Host) {
        let due = cx.now() + self.timeout(config);
        if self.timer.is_set() && due < self.timer.due() {
            cx.set_timer(&mut self.timer, due, Owner::Sender(id), BACKSTOP);
        }
    }

    fn unacknowledged(&mut self, number: u32) -> Option<&mut Sent> {
        let sent = self.sent.get_mut(number.checked_sub(self.base)? as usize)?;
        (sent.state != State::Acknowledged).then_some(sent)
    }

    /// A packet in flight is gone: it is to be sent again, or a packet of code goes in its place. Whether it was in flight.
    fn make_up_for(&mut self, number: u32, config: &Ndp) -> bool {
        let codes = config.code.is_some();
        let Some(sent) = self.unacknowledged(number).filter(|sent| sent.state == State::InFlight) else {
            return false;
        };
        if codes {
            self.acknowledge(number);
        } else {
            sent.state = State::ToRepeat;
            self.repeats.push(number, config.repeat_order);
        }
        true
    }

    fn acknowledge(&mut self, number: u32) {
        let sent = &mut self.sent[(number - self.base) as usize];
        if sent.state == State::ToRepeat {
            self.repeats.remove(number);
        }
        self.sent[(number - self.base) as usize].state = State::Acknowledged;
        while self.sent.front().is_some_and(|sent| sent.state == State::Acknowledged) {
            self.sent.pop_front();
            self.base += 1;
        }
    }

    /// The receiver has everything before that number, whatever became of its ACKs.
    fn forget_before(&mut self, in_order: u32) {
        while self.base < in_order && !self.sent.is_empty() {
            self.acknowledge(self.base);
        }
    }

    fn has_credit(&self) -> bool {
        self.answered < self.pulled || self.forced > 0
    }

    fn may_send(&self) -> bool {
        (self.has_credit() && (!self.repeats.is_empty() || self.source.left() > 0 || self.codes))
            || (self.first_window > 0 && self.source.left() > 0)
    }

    /// Retransmissions before new data, each for one pull; new data of the first window needs none.
    #[inline]
    pub fn next_packet(&mut self, id: ConnId, config: &Ndp, cx: &mut impl Host) -> (Option<Packet>, bool) {
        let now = cx.now();
        let mut flags = if config.trimming { flag::TRIMMABLE } else { 0 };
        let number = if self.has_credit() && !self.repeats.is_empty() {
            self.use_credit();
            cx.sender(id).retransmissions += 1;
            self.repeats.pop().expect("there is one")
        } else if self.source.left() > 0 && (self.first_window > 0 || self.has_credit()) {
            if self.first_window > 0 {
                self.first_window -= 1;
                self.unheard += 1;
                flags = if config.first_window_as_headers { flag::CONTROL } else { flags | flag::DROPPABLE };
            } else {
                self.use_credit();
            }
            let Next::Range { len, last, .. } = self.source.next(config.payload() as u32) else {
                return (None, false);
            };
            self.ended = last;
            self.send_new(len, last, now)
        } else if self.codes && self.has_credit() {
            self.use_credit();
            cx.sender(id).retransmissions += 1;
            self.send_new(config.payload() as u32, false, now)
        } else {
            return (None, false);
        };
        let sent = &mut self.sent[(number - self.base) as usize];
        *sent = Sent { at: now, state: State::InFlight, ..*sent };
        let kind = if sent.last { kind::LAST } else { kind::DATA };
        let payload = if config.pad_last { config.payload() as u32 } else { u32::from(sent.len) };
        let size = payload + config.header_bytes.0 as u32;
        let header = Header { kind, len: sent.len, number, ack: u64::from(self.asked), ..Header::default() };
        cx.sender(id).packets_sent += 1;
        if config.backstop && !self.timer.is_set() {
            let due = now + self.timeout(config);
            cx.set_timer(&mut self.timer, due, Owner::Sender(id), BACKSTOP);
        }
        let mut packet = cx.packet(id, Toward::Receiver, size, flags, header);
        if config.chooses_paths() {
            let sent = self.base + self.sent.len() as u32;
            let path = self.paths.settle(&mut packet, sent, config, cx);
            self.sent[(number - self.base) as usize].path = path;
        }
        (Some(packet), self.may_send())
    }

    /// A packet that has not been sent before, with so many bytes of data or code: its number.
    #[inline]
    fn send_new(&mut self, len: u32, last: bool, now: Time) -> u32 {
        self.sent.push_back(Sent { at: now, len: len as u16, state: State::InFlight, last, path: 0 });
        self.base + self.sent.len() as u32 - 1
    }

    fn use_credit(&mut self) {
        if self.answered < self.pulled {
            self.answered += 1;
        } else {
            self.forced -= 1;
        }
    }

    fn timeout(&self, config: &Ndp) -> Time {
        let timeout =
            self.rtt.timeout(Time::ZERO).map_or(config.rto_initial(), |rto| rto.max(config.rto_min()));
        self.stretched(doubled(timeout, self.backoff, config))
    }

    /// Draws by how much the next timeout is longer than computed.
    fn spread(&mut self, id: ConnId, config: &Ndp, cx: &mut impl Host) {
        let past = u64::from(cx.sender(id).timeouts);
        let share = cx.flow_stream(Purpose::Timeouts, self.key).unit_at(past + 1);
        self.stretch = 1.0 + config.rto_spread * share;
    }

    fn stretched(&self, timeout: Time) -> Time {
        if self.stretch == 1.0 { timeout } else { Time((timeout.0 as f64 * self.stretch) as u64) }
    }

    /// How long the sender waits before it treats a missing PULL as lost. Widely spaced PULLs only mean that
    /// many connections share the pull queue: with 8000 senders of 9 KB at 10 Gbps (paper, section 6.2), 58
    /// ms. So it is twice the longest time between pulls so far, and never short: many connections may begin
    /// to wait at once.
    fn pull_timeout(&self, config: &Ndp) -> Time {
        let gap = Time(self.pull_gap.0.saturating_mul(2)).max(config.rto_initial());
        self.stretched(doubled(gap, self.silences, config))
    }

    /// Packets that have been neither ACKed nor NACKed for a timeout are to be retransmitted. No pull will
    /// come for them, so one goes without and requests pulls for the others: these arrive at the pace of the
    /// receiver's link, whatever else has been lost on it. A packet that waits for a pull is not lost,
    /// however long the receiver's queue of pulls is; but if no packet arrives for very long, the pull may be
    /// lost, and one packet goes without, and makes the receiver pull again.
    pub fn on_timer(&mut self, id: ConnId, config: &Ndp, cx: &mut impl Host) {
        if !cx.timer_is_due(&mut self.timer, Owner::Sender(id), BACKSTOP) {
            return;
        }
        let now = cx.now();
        let timeout = self.timeout(config);
        let oldest = self.sent.iter().filter(|sent| sent.state == State::InFlight).map(|sent| sent.at).min();
        let mut due = oldest.map_or(Time::NEVER, |at| at + timeout);
        let expired = if due <= now { self.give_up(timeout, config, now) } else { 0 };
        let has_more = !self.repeats.is_empty() || self.source.left() > 0 || self.codes;
        let waits_for_pull = expired == 0 && has_more;
        if expired > 0 {
            match config.backstop_repeats {
                BackstopRepeats::AtOnce => self.forced = self.forced.max(expired),
                BackstopRepeats::Pulled => {
                    let unpulled = expired.saturating_sub(self.pulled - self.answered);
                    self.forced = self.forced.max(unpulled.min(1));
                    self.asked += unpulled.saturating_sub(1);
                }
            }
            self.backoff += 1;
            self.timed_out(id, config, cx);
            due = now + self.timeout(config);
        } else if waits_for_pull {
            let silent_since = match self.heard + self.pull_timeout(config) <= now {
                true => {
                    self.forced = self.forced.max(1);
                    self.silences += 1;
                    self.timed_out(id, config, cx);
                    now
                }
                false => self.heard,
            };
            due = due.min(silent_since + self.pull_timeout(config));
        }
        cx.set_timer(&mut self.timer, due, Owner::Sender(id), BACKSTOP);
        if self.may_send() {
            cx.ready(id);
        }
    }

    /// Number of packets to retransmit because they have waited for a timeout. With them those that have
    /// waited for half of it, if one packet requests pulls for all: they left with the same window, and would
    /// need a request of their own.
    fn give_up(&mut self, timeout: Time, config: &Ndp, now: Time) -> u32 {
        let least = match config.backstop_repeats {
            BackstopRepeats::Pulled => Time(timeout.0 / 2),
            BackstopRepeats::AtOnce => timeout,
        };
        let mut expired = 0;
        for number in self.base..self.base + self.sent.len() as u32 {
            let Some(&Sent { at, path, .. }) = self.unacknowledged(number).as_deref() else { continue };
            if at + least <= now && self.make_up_for(number, config) {
                expired += 1;
                self.paths.judge(path, Fate::Lost, config, now);
            }
        }
        expired
    }

    fn timed_out(&mut self, id: ConnId, config: &Ndp, cx: &mut impl Host) {
        cx.sender(id).timeouts += 1;
        self.spread(id, config, cx);
    }
}

/// A timeout after so many that were in vain.
fn doubled(timeout: Time, times: u32, config: &Ndp) -> Time {
    let doubled = Time(timeout.0.saturating_mul(1 << times.min(BACKOFF_MOST)));
    doubled.min(config.rto_max.max(timeout))
}

#[cfg(test)]
mod tests {
    use super::super::{Model, PathPenalty};
    use super::*;
    use crate::derived::Derived;
    use crate::engine::contract::endpoint::Endpoint;
    use crate::engine::contract::fake::{FakeHost, SENDER};

    #[test]
    fn repeats_leave_in_the_order_asked_for() {
        let order_of = |order| {
            let mut repeats = Repeats::default();
            [7, 3, 5, 4].into_iter().for_each(|number| repeats.push(number, order));
            repeats.remove(5);
            std::iter::from_fn(|| repeats.pop()).collect::<Vec<_>>()
        };
        assert_eq!(order_of(RepeatOrder::Lowest), [3, 4, 7]);
        assert_eq!(order_of(RepeatOrder::Fifo), [7, 3, 4]);
        assert_eq!(order_of(RepeatOrder::Lifo), [4, 3, 7]);
    }

    /// A header that has come back counts as many NACKs of its path as the rule says for it, a lost packet as many as it says
    /// for that, and a NACK as one.
    #[test]
    fn paths_are_scored_by_the_rule() {
        let rule = PathPenalty { bounce: 5, loss: 7, ..PathPenalty::default() };
        let config = Ndp {
            path_penalty: Some(rule),
            initial_window: Derived::Given(9),
            rto_spread: 0.0,
            ..Ndp::default()
        };
        let id = ConnId(0);
        let mut host = FakeHost::pair(100_000);
        let mut model = Model::new(host.configs(vec![config]));
        host.start(&mut model, id);
        let packets = host.sends(&mut model, id, 3);
        let nacks = |model: &Model| model.senders.get(id).paths.scores.nacks();
        let back =
            Packet { flags: packets[0].flags | flag::TRIMMED | flag::BOUNCED, dst: SENDER, ..packets[0] };
        host.answers(&mut model, &back);
        assert_eq!(nacks(&model), 5);
        let trimmed = Packet { flags: packets[1].flags | flag::TRIMMED, ..packets[1] };
        let nack = host.receives(&mut model, &trimmed)[0];
        host.answers(&mut model, &nack);
        assert_eq!(nacks(&model), 5 + 1);
        // The third is lost.
        host.times_out(&mut model, id);
        assert_eq!(nacks(&model), 5 + 1 + 7);
    }

    /// A host may ask for a packet when all have been sent: none takes a place of the first window, which the next message
    /// of the connection may have.
    #[test]
    fn no_packet_is_none_of_the_first_window() {
        let config = Ndp { initial_window: Derived::Given(9), ..Ndp::default() };
        let id = ConnId(0);
        let mut host = FakeHost::pair(3 * config.payload());
        let mut model = Model::new(host.configs(vec![config]));
        host.start(&mut model, id);
        assert_eq!(host.sends(&mut model, id, 3).len(), 3);
        for _ in 0..2 {
            let (packet, more) = model.next_packet(id, &mut host);
            assert!(packet.is_none() && !more);
            let sender = model.senders.get(id);
            assert_eq!((sender.first_window, sender.unheard), (6, 3));
        }
    }
}
