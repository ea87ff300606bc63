//! Reliable delivery: handshake, sending what window and source allow, acknowledgements, repair, timers.

use std::collections::VecDeque;

use super::congestion::{
    self, Ack, Cause, CongestionEvent, Control, Progress, Recovery, Siblings, Step, Window,
};
use super::ecn::{Heard, Marks};
use super::reduction::Reduction;
use super::{Halves, IdleRestart, Tcp, kind};
use crate::engine::host::{Host, Owner, Timer, Toward};
use crate::engine::packet::{Header, Packet, flag};
use crate::ids::ConnId;
use crate::transport::delivery::Delivery;
use crate::transport::reassembly::Arrival;
use crate::transport::rtt::Rtt;
use crate::transport::source::{Next, Source};
use crate::units::Time;

/// The sender's timer; even, by the convention of `Endpoint::timer`.
pub const RETRANSMIT: u8 = 0;
/// The receiver's timer; odd, likewise.
pub const DELAYED_ACK: u8 = 1;
/// The sender's timer for its next segment, if its congestion control paces.
pub const PACE: u8 = 2;

/// The sending end of a connection.
///
/// Segments are numbered as they are first cut; one that is sent again is cut the same way. `una` is the
/// first unacknowledged one, `next` the next to send, `end` the next to cut: after a timeout `next` goes
/// back to `una`.
///
/// Its bytes come from a source that each call hands it, because connections may share one; so may what
/// lets their windows grow.
#[derive(Clone, Debug)]
pub struct Sender {
    established: bool,
    /// Segments from `una` to `end`.
    segments: VecDeque<Segment>,
    una: u32,
    next: u32,
    end: u32,
    /// Sequence numbers, in bytes, at `una`, `next` and `end`.
    una_seq: u64,
    next_seq: u64,
    end_seq: u64,
    window: Window,
    control: congestion::Model,
    /// The reduction for marks that is under way, if they take a round trip.
    reduction: Option<Reduction>,
    /// Whether they do.
    in_proportion: bool,
    dupacks: u32,
    recovering: bool,
    partial_seen: bool,
    /// All that had been sent when the last loss or timeout was noticed.
    recover: u64,
    /// Whether the segment at `una` is to be sent again ahead of everything else.
    repair: bool,
    /// Bytes sent beyond the window by limited transmit since the last acknowledgement of new data.
    limited: u64,
    rtt: Rtt,
    /// Timeouts since the last round-trip sample: each doubles the next one.
    backoff: u32,
    /// The segment that the timer has repeated last.
    expired: Option<u32>,
    /// The segment whose round trip is being timed, and when it was sent.
    timed: Option<(u32, Time)>,
    last_sent: Time,
    /// Payload of the segment sent last.
    last_len: u32,
    timer: Timer,
    pace: Timer,
    heard: Heard,
}

/// A range of the data on its way.
#[derive(Clone, Copy, Debug)]
struct Segment {
    len: u32,
    last: bool,
}

impl Default for Sender {
    fn default() -> Self {
        Sender::new(&Tcp::default())
    }
}

impl Sender {
    /// A sender that has not sent anything.
    pub fn new(config: &Tcp) -> Sender {
        let mss = config.mss.0;
        Sender {
            established: false,
            segments: VecDeque::new(),
            una: 0,
            next: 0,
            end: 0,
            una_seq: 0,
            next_seq: 0,
            end_seq: 0,
            window: Window {
                cwnd: u64::from(config.initial_window()) * mss,
                ssthresh: config.initial_ssthresh.map_or(u64::MAX, |bytes| bytes.0),
                mss,
                flight: 0,
                most: config.receive_window.0 as u32,
                min_ssthresh: config.min_ssthresh as u16,
                halves: config.loss_halves,
                growth: config.growth,
                counted: 0,
                after_timeout: false,
            },
            control: config.congestion.model(),
            reduction: None,
            in_proportion: config.congestion.reduces_in_proportion(),
            dupacks: 0,
            recovering: false,
            partial_seen: false,
            recover: 0,
            repair: false,
            limited: 0,
            rtt: Rtt::default(),
            backoff: 0,
            expired: None,
            timed: None,
            last_sent: Time::ZERO,
            last_len: 0,
            timer: Timer::default(),
            pace: Timer::default(),
            heard: Heard::new(config.echo().is_some()),
        }
    }

    /// The congestion window in bytes.
    pub fn cwnd(&self) -> u64 {
        self.control.cwnd(&self.window)
    }

    /// Whether the handshake is over.
    pub fn is_established(&self) -> bool {
        self.established
    }

    /// Number of the first segment that is not acknowledged.
    pub fn una(&self) -> u32 {
        self.una
    }

    /// The window as it will be after a recovery, during which it counts segments that have left the network, too.
    pub fn steady_window(&self) -> u64 {
        if self.recovering { self.window.ssthresh } else { self.window.cwnd }
    }

    /// Smoothed round-trip time; none before the first sample.
    pub fn round_trip(&self) -> Option<Time> {
        self.rtt.smoothed()
    }

    /// Nothing of what it has sent matters any more.
    pub fn stop(&mut self) {
        self.timer.clear();
        self.pace.clear();
    }

    /// Starts over for another connection, with the memory of the one before.
    pub fn reset(&mut self, config: &Tcp) {
        let mut segments = std::mem::take(&mut self.segments);
        segments.clear();
        *self = Sender { segments, ..Sender::new(config) };
    }

    /// The connection opens with its first flow: a SYN, or data at once.
    pub fn open(&mut self, id: ConnId, config: &Tcp, source: &impl Source, cx: &mut impl Host) {
        if config.handshake {
            self.send_syn(id, config, source, cx);
        } else {
            self.established = true;
            cx.ready(id);
        }
    }

    fn send_syn(&mut self, id: ConnId, config: &Tcp, source: &impl Source, cx: &mut impl Host) {
        let header = Header { kind: kind::SYN, seq: cx.now().0, ..Header::default() };
        cx.send_control(source.flow_at(0, 0, id).flow, Toward::Receiver, config.ack_bytes(), header);
        self.last_sent = cx.now();
        self.start_timer(id, config, cx);
    }

    /// A SYN/ACK or an acknowledgement.
    #[inline]
    pub fn on_packet<S>(
        &mut self,
        id: ConnId,
        packet: &Packet,
        config: &Tcp,
        source: &mut S,
        cx: &mut impl Host,
    ) where
        S: Source + Siblings,
    {
        match kind::plain(packet.header.kind) {
            kind::SYN_ACK if !self.established => {
                self.established = true;
                // A SYN that was sent twice gives no sample (Karn).
                if self.backoff == 0 {
                    self.rtt.sample(cx.now() - self.last_sent);
                }
                self.backoff = 0;
                self.timer.clear();
            }
            kind::ACK => self.on_ack(id, packet, config, source, cx),
            _ => return,
        }
        if self.may_send(config, source) {
            cx.ready(id);
        }
    }

    fn on_ack<S>(&mut self, id: ConnId, packet: &Packet, config: &Tcp, source: &mut S, cx: &mut impl Host)
    where
        S: Source + Siblings,
    {
        let una = packet.header.ack;
        self.window.flight = self.next_seq - self.una_seq;
        if una > self.una_seq {
            let mut ack = self.ack(packet, source, cx.now());
            self.take_off_acknowledged(packet.header.number, una);
            self.limited = 0;
            self.sample_round_trip(packet, config, cx);
            ack.smoothed_rtt = self.rtt.smoothed();
            ack.next = self.next_seq;
            let mut restart_timer = true;
            let grows = !self.heard.listens || self.on_echo(&ack, source);
            if self.recovering {
                restart_timer = self.on_recovery_ack(&ack);
            } else {
                self.dupacks = 0;
                if self.reduction.is_some() {
                    self.go_on_reducing(ack.acked);
                } else {
                    ack.may_grow = grows && (!config.window_validation || self.window.limits());
                    self.control.on_ack(&mut self.window, &ack, source);
                }
            }
            if self.una == self.end {
                self.timer.clear();
            } else if restart_timer {
                self.start_timer(id, config, cx);
            }
            while let Some(flow) = source.take_acknowledged(self.una_seq) {
                cx.acknowledged(flow);
                cx.finish(flow);
            }
        } else if una == self.una_seq && self.una < self.end {
            let ack = self.ack(packet, source, cx.now());
            if self.heard.listens {
                self.on_echo(&ack, source);
            }
            self.on_duplicate_ack(&ack, config, source);
        }
    }

    /// An acknowledgement as the congestion control sees it, of a connection that has not taken note of it yet.
    #[inline]
    fn ack(&self, packet: &Packet, source: &impl Source, now: Time) -> Ack {
        let at_hand = self.end_seq - self.una_seq + source.left();
        Ack {
            acked: packet.header.ack - self.una_seq,
            now,
            rtt: now - Time(packet.header.seq),
            smoothed_rtt: self.rtt.smoothed(),
            in_flight: self.window.flight,
            app_limited: at_hand.min(u64::from(self.window.most)) + self.window.mss <= self.window.cwnd,
            marked: packet.header.kind & kind::ECE != 0,
            may_grow: false,
            una: packet.header.ack,
            next: self.next_seq,
            hops: packet.hops,
        }
    }

    /// How far the flow has come.
    fn progress(&self, source: &impl Source, now: Time) -> Progress {
        Progress {
            left: source.to_go(self.una_seq, self.end_seq),
            round_trip: self.rtt.smoothed(),
            time_left: Some(source.due())
                .filter(|due| *due != Time::NEVER)
                .map(|due| due.saturating_sub(now)),
        }
    }

    /// ECN: what an acknowledgement says of marks. Whether the window may grow by it.
    fn on_echo(&mut self, ack: &Ack, source: &impl Source) -> bool {
        let answer = self.control.on_echo(ack);
        if answer.ends_slow_start {
            self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd);
        }
        if answer.reduce && !self.recovering && self.heard.is_news(self.una_seq) {
            self.end_reduction();
            self.reduced(self.next_seq);
            let before = self.window.cwnd;
            let let_go = self.let_go(source);
            let flight = std::mem::replace(&mut self.window.flight, let_go);
            self.on_congestion_event(Cause::EcnEcho, source, ack.now);
            self.window.flight = flight;
            if self.in_proportion {
                let goal = std::mem::replace(&mut self.window.cwnd, before);
                self.reduction = Some(Reduction::new(flight, goal, self.next_seq));
            }
        }
        answer.grow
    }

    /// The window is reduced.
    fn on_congestion_event(&mut self, cause: Cause, source: &impl Source, now: Time) {
        let event = CongestionEvent { cause, now, progress: self.progress(source, now) };
        self.control.on_congestion_event(&mut self.window, &event);
    }

    /// Bytes are acknowledged while the window is being reduced.
    fn go_on_reducing(&mut self, acked: u64) {
        let Some(reduction) = &mut self.reduction else { return };
        if reduction.is_over(self.una_seq) {
            self.end_reduction();
        } else {
            let flight = self.next_seq - self.una_seq;
            self.window.cwnd = reduction.on_ack(acked, flight, self.window.mss);
        }
    }

    /// The window is what it was to be reduced to.
    fn end_reduction(&mut self) {
        if let Some(reduction) = self.reduction.take() {
            self.window.cwnd = reduction.goal();
        }
    }

    /// The window is reduced, for whatever sign, when so much has been sent.
    fn reduced(&mut self, sent: u64) {
        self.heard.reduced(sent);
        self.window.counted = 0;
    }

    /// Segments before number `una`, up to sequence number `ack`, have arrived.
    fn take_off_acknowledged(&mut self, una: u32, ack: u64) {
        self.segments.drain(..(una - self.una) as usize);
        self.una = una;
        self.una_seq = ack;
        if self.next < una {
            (self.next, self.next_seq) = (una, ack);
        }
        self.repair = false;
    }

    /// Only a sample ends the back-off (RFC 6298, end of section 5): a repeated segment gives none without timestamps (Karn).
    fn sample_round_trip(&mut self, packet: &Packet, config: &Tcp, cx: &impl Host) {
        if config.timestamps {
            self.rtt.sample(cx.now() - Time(packet.header.seq));
            self.backoff = 0;
        } else if let Some((number, sent)) = self.timed
            && number < self.una
        {
            self.rtt.sample(cx.now() - sent);
            self.backoff = 0;
            self.timed = None;
        }
    }

    /// Whether to restart the timer.
    fn on_recovery_ack(&mut self, ack: &Ack) -> bool {
        let full = ack.una >= self.recover;
        let first_partial = !full && !self.partial_seen;
        match self.control.on_recovery_ack(&mut self.window, ack, Recovery { full, first_partial }) {
            Step::Leave => {
                self.recovering = false;
                self.dupacks = 0;
                self.recover = self.recover.min(ack.una);
                true
            }
            Step::Repair { restart_timer } => {
                self.partial_seen = true;
                self.repair = true;
                restart_timer
            }
        }
    }

    /// What a loss or a mark halves, if it is not the window: the bytes in flight, or those that the window has let go by
    /// whole segments (`Halves`).
    fn let_go(&self, source: &impl Source) -> u64 {
        let Window { flight, mss, halves, .. } = self.window;
        match halves {
            Halves::Flight | Halves::Window => flight,
            Halves::Queued | Halves::Pipe => {
                let (all, room) = (self.end_seq - self.una_seq + source.left(), self.window.usable());
                flight.max(if room >= all { all } else { room / mss * mss })
            }
        }
    }

    fn on_duplicate_ack(&mut self, ack: &Ack, config: &Tcp, source: &impl Source) {
        self.dupacks += 1;
        if self.recovering {
            self.control.on_duplicate(&mut self.window, ack);
        } else if self.dupacks == config.dupack_threshold
            && (self.una_seq >= self.recover || !self.control.distrusts_duplicates())
        {
            // RFC 5681, 3.2, step 2: what limited transmit has sent does not count.
            self.window.flight -= self.limited;
            self.window.flight = self.let_go(source);
            if self.window.halves == Halves::Pipe {
                self.window.flight = self.window.flight.saturating_sub(self.window.mss);
            }
            self.end_reduction();
            self.on_congestion_event(Cause::FastRetransmit { dupacks: self.dupacks }, source, ack.now);
            self.recovering = true;
            self.partial_seen = false;
            self.recover = self.end_seq;
            self.repair = true;
            self.reduced(self.end_seq);
        }
    }

    /// How far beyond `una_seq` may be sent now.
    fn allowance(&self, config: &Tcp) -> u64 {
        let limited = config.limited_transmit && !self.recovering && self.dupacks < config.dupack_threshold;
        let extra = if limited { u64::from(self.dupacks.min(2)) * self.window.mss } else { 0 };
        (self.window.cwnd + extra).min(config.receive_window.0)
    }

    /// Whether it has something to send that its window has room for.
    #[inline(always)]
    pub fn may_send(&self, config: &Tcp, source: &impl Source) -> bool {
        self.established && (self.repair || self.next_len(source).is_some_and(|len| self.fits(len, config)))
    }

    /// Bytes of the next segment, if there is one: a short one only if nothing else is left.
    #[inline(always)]
    fn next_len(&self, source: &impl Source) -> Option<u64> {
        if self.next < self.end {
            return Some(u64::from(self.segments[(self.next - self.una) as usize].len));
        }
        let len = source.peek(self.window.mss);
        (len > 0).then_some(len)
    }

    fn fits(&self, len: u64, config: &Tcp) -> bool {
        self.next_seq + len <= self.una_seq + self.allowance(config)
    }

    /// When the next segment may be sent, if the congestion control paces.
    #[inline(always)]
    fn paced_until(&self) -> Option<Time> {
        let rate = self.control.pacing_rate()?;
        Some(self.last_sent.saturating_add(rate.transmission(u64::from(self.last_len))))
    }

    /// The wire asks: a repair first, then what a timeout has put back, then new data.
    #[inline]
    pub fn next_packet(
        &mut self,
        id: ConnId,
        config: &Tcp,
        source: &mut impl Source,
        cx: &mut impl Host,
    ) -> (Option<Packet>, bool) {
        if !self.may_send(config, source) {
            return (None, false);
        }
        if let Some(due) = self.paced_until().filter(|due| cx.now() < *due) {
            cx.set_timer(&mut self.pace, due, Owner::Sender(id), PACE);
            return (None, false);
        }
        self.restart_after_idle(config, cx.now());
        let (number, seq, segment, again);
        if self.repair {
            self.repair = false;
            (number, seq, again) = (self.una, self.una_seq, true);
            segment = self.segments[0];
        } else if self.next < self.end {
            (number, seq, again) = (self.next, self.next_seq, true);
            segment = self.segments[(self.next - self.una) as usize];
            self.next += 1;
            self.next_seq += u64::from(segment.len);
        } else {
            let Next::Range { len, last, .. } = source.next(self.window.mss as u32) else {
                return (None, false);
            };
            (number, seq, again) = (self.end, self.end_seq, false);
            segment = Segment { len, last };
            if self.next_seq + u64::from(len) > self.una_seq + self.window.cwnd {
                self.limited += u64::from(len);
            }
            self.segments.push_back(segment);
            self.end += 1;
            self.end_seq += u64::from(len);
            (self.next, self.next_seq) = (self.end, self.end_seq);
        }
        let message = source.flow_at(number, seq, id);
        if again {
            self.timed = None;
            cx.sender(message.flow).retransmissions += 1;
        } else if self.timed.is_none() {
            self.timed = Some((number, cx.now()));
        }
        if let Some(reduction) = &mut self.reduction {
            reduction.on_send(u64::from(segment.len));
        }
        cx.sender(message.flow).packets_sent += 1;
        self.last_sent = cx.now();
        self.last_len = segment.len;
        if !self.timer.is_set() {
            self.start_timer(id, config, cx);
        }
        let mut kind = if segment.last { kind::LAST } else { kind::DATA };
        let mut flags = 0;
        if self.heard.listens {
            if !again || config.ecn_retransmissions {
                flags = flag::ECN_CAPABLE;
            }
            if !again && self.heard.take_cwr() {
                kind |= kind::CWR;
            }
        }
        let class = config.tagging.as_ref().map_or(0, |tagging| {
            let sent = again.then_some(self.end_seq.min(message.end) - message.begin);
            tagging.class(seq - message.begin, segment.len, sent)
        });
        let header = Header { kind, class, len: segment.len as u16, number, seq, ack: 0 };
        let size = segment.len + config.ack_bytes();
        (Some(cx.packet(message.flow, Toward::Receiver, size, flags, header)), self.may_send(config, source))
    }

    fn restart_after_idle(&mut self, config: &Tcp, now: Time) {
        if config.idle_restart == IdleRestart::None || self.una < self.end || self.end == 0 {
            return;
        }
        let (idle, timeout) = (now.saturating_sub(self.last_sent), self.timeout(config));
        if idle > timeout {
            let initial = u64::from(config.initial_window()) * self.window.mss;
            config.idle_restart.apply(&mut self.window, initial, idle.0 / timeout.0);
        }
    }

    /// The retransmission timeout as of now, backed off.
    fn timeout(&self, config: &Tcp) -> Time {
        let timeout = match self.rtt.timeout(config.rto_granularity) {
            Some(timeout) => timeout.max(config.rto_min()),
            None => config.rto_initial(),
        };
        Time(timeout.0.saturating_mul(1 << self.backoff.min(30))).min(config.rto_max)
    }

    fn start_timer(&mut self, id: ConnId, config: &Tcp, cx: &mut impl Host) {
        let due = cx.now() + self.timeout(config);
        cx.set_timer(&mut self.timer, due, Owner::Sender(id), RETRANSMIT);
    }

    /// The timer for the next segment of a paced connection.
    pub fn on_pace(&mut self, id: ConnId, config: &Tcp, source: &impl Source, cx: &mut impl Host) {
        if cx.timer_is_due(&mut self.pace, Owner::Sender(id), PACE) && self.may_send(config, source) {
            cx.ready(id);
        }
    }

    /// The retransmission timer: SYN again, or back to the first unacknowledged segment (go back N). Whether data has
    /// been given up.
    pub fn on_timer(&mut self, id: ConnId, config: &Tcp, source: &impl Source, cx: &mut impl Host) -> bool {
        if !cx.timer_is_due(&mut self.timer, Owner::Sender(id), RETRANSMIT) {
            return false;
        }
        cx.sender(source.flow_at(self.una, self.una_seq, id).flow).timeouts += 1;
        self.backoff += 1;
        if !self.established {
            self.send_syn(id, config, source, cx);
            return false;
        }
        self.window.flight = self.next_seq - self.una_seq;
        self.limited = 0;
        let first = self.expired.replace(self.una) != Some(self.una);
        if self.recovering {
            // Without what stood for segments that have left the network; so does htsim.
            self.window.cwnd = self.window.ssthresh.min(self.window.flight + self.window.mss);
        } else {
            self.window.flight = self.let_go(source);
        }
        self.end_reduction();
        self.on_congestion_event(Cause::Timeout { first }, source, cx.now());
        self.window.after_timeout = true;
        (self.next, self.next_seq) = (self.una, self.una_seq);
        self.recover = self.end_seq;
        self.reduced(self.end_seq);
        self.recovering = false;
        self.repair = false;
        self.dupacks = 0;
        self.timed = None;
        self.start_timer(id, config, cx);
        cx.ready(id);
        true
    }
}

/// The receiving end of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    delivery: Delivery,
    /// Segments that have arrived and not been acknowledged, and when the first of them was sent.
    unacknowledged: u32,
    echo: Time,
    /// The flow of the last of them.
    latest: ConnId,
    timer: Timer,
    marks: Marks,
}

impl Default for Receiver {
    fn default() -> Self {
        Receiver {
            delivery: Delivery::default(),
            unacknowledged: 0,
            echo: Time::ZERO,
            latest: ConnId::NONE,
            timer: Timer::default(),
            marks: Marks::default(),
        }
    }
}

impl Receiver {
    /// Starts over for another connection, with the memory of the one before.
    pub fn reset(&mut self, config: &Tcp) {
        self.delivery.clear();
        let delivery = std::mem::take(&mut self.delivery);
        *self = Receiver { delivery, marks: Marks::new(config.echo()), ..Receiver::default() };
    }

    /// A SYN or a segment.
    #[inline]
    pub fn on_packet(&mut self, id: ConnId, packet: &Packet, config: &Tcp, cx: &mut impl Host) {
        let flow = packet.conn;
        let kind = kind::plain(packet.header.kind);
        if kind == kind::SYN {
            let header = Header { kind: kind::SYN_ACK, ..Header::default() };
            return cx.send_control(flow, Toward::Sender, config.ack_bytes(), header);
        }
        cx.note_arrival(packet);
        let heard = self.marks.hear(packet.has(flag::CE), packet.header.kind & kind::CWR != 0);
        if heard.changes && self.unacknowledged > 0 {
            // What came before the change is acknowledged by itself, so that the echo is exact (RFC 8257, 3.2).
            self.acknowledge(flow, config, cx);
        }
        self.marks.echoes = heard.echoes;
        let Header { number, len, .. } = packet.header;
        let first = self.delivery.received() == 0;
        let arrival = self.delivery.receive(flow, number, len, kind == kind::LAST, cx).arrival;
        self.latest = flow;
        self.unacknowledged += 1;
        if self.unacknowledged == 1 {
            self.echo = packet.created_at;
        }
        let at_once = arrival != Arrival::InOrder
            || self.unacknowledged >= config.segments_per_ack()
            || (first && config.ack_first_segment)
            || (kind == kind::LAST && config.ack_last_segment)
            || heard.at_once;
        if at_once {
            self.acknowledge(flow, config, cx);
        } else if !self.timer.is_set() {
            let due = cx.now() + config.delayed_ack_timeout();
            cx.set_timer(&mut self.timer, due, Owner::Receiver(id), DELAYED_ACK);
        }
    }

    fn acknowledge(&mut self, flow: ConnId, config: &Tcp, cx: &mut impl Host) {
        self.unacknowledged = 0;
        self.timer.clear();
        let header = Header {
            kind: if self.marks.echoes { kind::ACK | kind::ECE } else { kind::ACK },
            number: self.delivery.next(),
            seq: self.echo.0,
            ack: self.delivery.in_order(),
            ..Header::default()
        };
        cx.send_control(flow, Toward::Sender, config.ack_bytes(), header);
    }

    /// Acknowledges what waits for that.
    pub fn flush(&mut self, config: &Tcp, cx: &mut impl Host) {
        if self.unacknowledged > 0 {
            self.acknowledge(self.latest, config, cx);
        }
    }

    /// The delayed-acknowledgement timer.
    pub fn on_timer(&mut self, id: ConnId, config: &Tcp, cx: &mut impl Host) {
        if cx.timer_is_due(&mut self.timer, Owner::Receiver(id), DELAYED_ACK) {
            self.acknowledge(self.latest, config, cx);
        }
    }

    /// Bytes of the ranges that have arrived.
    pub fn received(&self) -> u64 {
        self.delivery.received()
    }
}
