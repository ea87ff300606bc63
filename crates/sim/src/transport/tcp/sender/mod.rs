//! The sending end of a connection: handshake, segments as window and source allow, retransmissions, timers.
//!
//! `acks` handles acknowledgements, `selective` those of a connection with SACK, by `scoreboard` and `rack`; `probe` sends
//! tail loss probes, `undo` takes needless reductions back, `forward` finds needless timeouts, `timers` has the timers.

mod acks;
mod delivered;
mod delivery_rate;
mod forward;
mod pacing;
mod probe;
mod rack;
mod scoreboard;
mod selective;
mod steering;
mod timers;
mod undo;

use std::collections::VecDeque;

use self::forward::Forward;
use self::pacing::Pacer;
use self::selective::Selective;
use super::congestion::{self, Cause, CongestionEvent, Control, Progress, Window};
use super::ecn::Heard;
use super::reduction::Reduction;
use super::slow_start::Watch;
use super::{Duplicates, Halves, Repair, Tcp, kind};
use crate::engine::contract::host::{Host, Timer, Toward};
use crate::engine::contract::packet::{Header, Packet, flag};
use crate::engine::contract::path::News;
use crate::ids::ConnId;
use crate::transport::repath::Repathing;
use crate::transport::rtt::Rtt;
use crate::transport::source::{Next, Source};
use crate::units::Time;

/// The retransmission timer.
pub const RETRANSMIT: u8 = 0;
/// The timer for the next segment, if the congestion control paces.
pub const PACE: u8 = 2;
/// The timer of a tail loss probe, or of a loss that time will show.
pub const PROBE: u8 = 3;

/// Memory of a connection with SACK beyond the sender itself, without that of its segments.
pub const SELECTIVE_BYTES: usize = size_of::<Selective>();

/// The sending end of a connection.
///
/// Segments are numbered as they are first cut; one that is sent again is cut the same way. `una` is the
/// first unacknowledged one, `next` the next to send, `end` the next to cut: after a timeout `next` goes
/// back to `una`.
///
/// Its bytes come from a source that each call hands it, because connections may share one; so may the
/// coupling of their windows.
#[derive(Debug)]
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
    /// The end of the data that the receiver permits, where it sets the window (ICTCP).
    edge: u64,
    window: Window,
    control: congestion::Model,
    /// The reduction for marks in progress, if reductions take a round trip.
    reduction: Option<Reduction>,
    in_proportion: bool,
    /// Whether these go by whole segments (`Repair::Proportional`).
    by_segments: bool,
    /// The first segment behind the latest window of which something has been acknowledged.
    answered: u32,
    dupacks: u32,
    recovering: bool,
    partial_seen: bool,
    /// All that had been sent when the last loss or timeout was noticed.
    recover: u64,
    /// Whether the segment at `una` is to be sent again ahead of everything else.
    repair: bool,
    /// Bytes sent beyond the window by limited transmit since the last acknowledgement of new data.
    limited: u64,
    /// Bytes behind the first unacknowledged segment that duplicates are taken to have acknowledged (`Duplicates::Sacks`).
    guessed: u64,
    rtt: Rtt,
    /// Timeouts since the last round-trip sample: each doubles the next one.
    backoff: u32,
    /// The segment that the timer has retransmitted last.
    expired: Option<u32>,
    /// The segment whose round trip is being timed, and when it was sent.
    timed: Option<(u32, Time)>,
    last_sent: Time,
    timer: Timer,
    /// Its pacing, if it is paced.
    pacer: Option<Box<Pacer>>,
    heard: Heard,
    /// The end of slow start by other signs than losses, if it has one.
    watch: Option<Box<Watch>>,
    /// Whether a timeout has come, and not all data sent before it is acknowledged.
    repairs: bool,
    /// Whether the latest timeout was needless, if that is looked at (F-RTO).
    forward: Option<Box<Forward>>,
    /// State of a connection with SACK.
    selective: Option<Box<Selective>>,
    /// The label of its packets, if it changes.
    path: Option<Box<Repathing>>,
    /// Whether something is to know of its acknowledgements: that label, or its balancer.
    steers: bool,
}

/// A range of the data in flight.
#[derive(Clone, Copy, Debug)]
struct Segment {
    len: u32,
    last: bool,
}

/// A segment that is sent: its number and first byte, and whether it was sent before.
#[derive(Clone, Copy, Debug)]
struct Choice {
    number: u32,
    seq: u64,
    segment: Segment,
    again: bool,
}

impl Default for Sender {
    fn default() -> Self {
        Sender::new(&Tcp::default())
    }
}

impl Sender {
    /// A sender that has not sent anything, without SACK.
    fn new(config: &Tcp) -> Sender {
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
            edge: config.ictcp.as_ref().map_or(u64::MAX, |rules| u64::from(rules.least) * mss),
            window: Window {
                cwnd: u64::from(config.initial_window()) * mss,
                ssthresh: config.initial_ssthresh.map_or(u64::MAX, |bytes| bytes.0),
                mss,
                flight: 0,
                most: config.receive_window.0 as u32,
                min_ssthresh: config.min_ssthresh as u16,
                halves: config.loss_halves(),
                growth: config.growth(),
                counted: 0,
                after_timeout: false,
            },
            control: config.congestion().model(),
            reduction: None,
            in_proportion: config.congestion().reduces_in_proportion()
                || config.repair() == Repair::Proportional,
            by_segments: config.repair() == Repair::Proportional,
            answered: 0,
            dupacks: 0,
            recovering: false,
            partial_seen: false,
            recover: 0,
            repair: false,
            limited: 0,
            guessed: 0,
            rtt: Rtt::default(),
            backoff: 0,
            expired: None,
            timed: None,
            last_sent: Time::ZERO,
            timer: Timer::default(),
            pacer: Pacer::new(config),
            heard: Heard::new(config.echo().is_some()),
            watch: config.slow_start().watch(),
            repairs: false,
            forward: None,
            selective: None,
            path: None,
            steers: false,
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

    /// The window as it will be after a recovery, during which it counts segments that have left the network, too. That
    /// of a control that models the path is the same at any time, and has no threshold.
    pub fn steady_window(&self) -> u64 {
        let models = self.selective.as_ref().is_some_and(|own| own.samples());
        if self.recovering && !models { self.window.ssthresh } else { self.window.cwnd }
    }

    /// Smoothed round-trip time; none before the first sample.
    pub fn round_trip(&self) -> Option<Time> {
        self.rtt.smoothed()
    }

    /// None of the data that it has sent matters any more.
    pub fn stop(&mut self) {
        self.timer.clear();
        if let Some(pacer) = &mut self.pacer {
            pacer.stop();
        }
        if let Some(own) = &mut self.selective {
            own.probe.stop();
        }
    }

    /// Starts over for another connection, with the memory of the one before.
    pub fn reset(&mut self, config: &Tcp) {
        let mut segments = std::mem::take(&mut self.segments);
        segments.clear();
        let selective = config.sack().then(|| {
            let mut own = self.selective.take().unwrap_or_default();
            own.reset(config.congestion().models_path());
            own
        });
        let forward = config.f_rto().then(|| {
            let mut own = self.forward.take().unwrap_or_default();
            *own = Forward::default();
            own
        });
        *self = Sender { segments, forward, selective, ..Sender::new(config) };
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
        cx.send_to_receiver(source.flow_at(0, 0, id).flow, config.ack_bytes(), header);
        self.last_sent = cx.now();
        self.start_timer(id, config, cx);
    }

    /// How far the flow has come.
    fn progress(&self, source: &impl Source, now: Time) -> Progress {
        Progress {
            left: source.to_go(self.una_seq, self.end_seq),
            round_trip: self.rtt.smoothed(),
            time_left: Some(source.due(self.una_seq))
                .filter(|due| *due != Time::NEVER)
                .map(|due| due.saturating_sub(now)),
        }
    }

    /// The window is reduced.
    fn on_congestion_event(&mut self, cause: Cause, source: &impl Source, now: Time) {
        let event = CongestionEvent { cause, now, progress: self.progress(source, now) };
        let before = self.steady_window();
        self.control.on_congestion_event(&mut self.window, &event);
        if let Some(bytes) = source.takes() {
            self.window.set_threshold(before.saturating_sub(bytes), cause);
        }
    }

    /// The window has reached the goal of its reduction.
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

    /// The quantity that a loss or a mark halves, if it is not the window: the bytes in flight, or those that
    /// the window has released by whole segments (`Halves`).
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

    /// How far beyond `una_seq` may be sent now.
    fn allowance(&self, config: &Tcp) -> u64 {
        let limited = config.limited_transmit && !self.recovering && self.dupacks < config.dupack_threshold;
        let extra = match config.duplicates {
            Duplicates::Inflate if limited => u64::from(self.dupacks.min(2)) * self.window.mss,
            Duplicates::Inflate => 0,
            Duplicates::Sacks => self.guessed,
        };
        (self.window.cwnd + extra).min(self.receive_window(config))
    }

    /// How far beyond `una_seq` the receiver lets it send.
    #[inline]
    fn receive_window(&self, config: &Tcp) -> u64 {
        config.receive_window.0.min(self.edge - self.una_seq)
    }

    /// Whether it has something to send that its window has room for.
    #[inline(always)]
    pub fn may_send(&self, config: &Tcp, source: &impl Source) -> bool {
        if self.selective.is_some() {
            return self.established && self.may_send_selectively(config, source);
        }
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

    /// Whether it may send a new segment of so many bytes, with nothing to retransmit first.
    pub fn has_room(&self, len: u64, config: &Tcp) -> bool {
        if !self.established || self.repairs || self.repair || self.next < self.end {
            return false;
        }
        match self.selective.as_deref() {
            Some(own) => !own.board.has_lost() && self.pipe_fits(own.board.pipe(), len, config),
            None => self.fits(len, config),
        }
    }

    /// Payload of new segments, and of those that a timeout rewound, that could go at once.
    pub fn released(&self, config: &Tcp, source: &impl Source) -> u64 {
        let (gone, most) = match self.selective.as_deref() {
            Some(own) => (own.board.pipe(), self.window.usable().min(self.receive_window(config))),
            None => (self.next_seq - self.una_seq, self.allowance(config)),
        };
        most.saturating_sub(gone).min(self.end_seq - self.next_seq + source.left())
    }

    /// Whether the receiver has reported a segment in flight as arrived, by SACK.
    pub fn has_sack_of(&self, number: u32) -> bool {
        self.selective.as_ref().is_some_and(|own| own.board.is_sacked(number))
    }

    #[inline(always)]
    fn fits(&self, len: u64, config: &Tcp) -> bool {
        if let Some(left) = self.forward_probes() {
            return self.probe_fits(left, len, config);
        }
        self.next_seq + len <= self.una_seq + self.allowance(config)
    }

    /// The next segment to send: a fast retransmission, then segments rewound by a timeout, then new data.
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
        let due = self.paced_until(config);
        if let Some(due) = due.filter(|due| cx.now() < *due) {
            self.await_pace(id, due, cx);
            return (None, false);
        }
        self.restart_after_idle(config, cx.now());
        let choice = if self.selective.is_some() {
            self.choose_missing(source, cx.now())
        } else {
            self.choose(source)
        };
        let Some(Choice { number, seq, segment, again }) = choice else { return (None, false) };
        let message = source.flow_at(number, seq, id);
        if again {
            self.timed = None;
            cx.sender(message.flow).retransmissions += 1;
            if self.steers && cx.conn(id).learns {
                cx.tell_path(id, News::SentAgain);
            }
        } else if self.timed.is_none() {
            self.timed = Some((number, cx.now()));
        }
        if let Some(reduction) = &mut self.reduction {
            reduction.on_send(u64::from(segment.len));
        }
        cx.sender(message.flow).packets_sent += 1;
        self.last_sent = cx.now();
        if self.pacer.is_some() {
            self.note_pace(segment.len, due, cx.now());
        }
        let selective = self.selective.is_some();
        if selective {
            self.note_sending(number, again, cx.now());
        }
        if !self.timer.is_set() || selective && again && number == self.una {
            self.start_timer(id, config, cx);
        }
        if selective {
            self.plan_probe(id, config, cx);
        }
        let (kind, flags) = self.bits(segment.last, again, config);
        let class = config.tagging.as_ref().map_or(0, |tagging| {
            let sent = again.then_some(self.end_seq.min(message.end) - message.begin);
            tagging.class(seq - message.begin, segment.len, sent)
        });
        let header = Header { kind, class, len: segment.len as u16, number, seq, ack: 0 };
        let size = segment.len + config.data_header_bytes();
        let mut packet = cx.packet(message.flow, Toward::Receiver, size, flags, header);
        if let Some(path) = &self.path {
            packet.label = path.label();
        }
        (Some(packet), self.may_send(config, source))
    }

    /// Kind and flags of a segment.
    #[inline]
    fn bits(&mut self, last: bool, again: bool, config: &Tcp) -> (u8, u8) {
        let mut kind = if last { kind::LAST } else { kind::DATA };
        let mut flags = 0;
        if self.heard.listens {
            if !again || config.ecn_retransmissions {
                flags = flag::ECN_CAPABLE;
            }
            if !again && self.heard.take_cwr() {
                kind |= kind::CWR;
            }
        }
        (kind, flags)
    }

    /// The next segment, without SACK.
    #[inline(always)]
    fn choose(&mut self, source: &mut impl Source) -> Option<Choice> {
        if self.repair {
            self.repair = false;
            return Some(Choice {
                number: self.una,
                seq: self.una_seq,
                segment: self.segments[0],
                again: true,
            });
        }
        if self.next < self.end {
            let (number, seq) = (self.next, self.next_seq);
            let segment = self.segments[(self.next - self.una) as usize];
            self.next += 1;
            self.next_seq += u64::from(segment.len);
            return Some(Choice { number, seq, segment, again: true });
        }
        self.note_forward();
        let choice = self.cut(source)?;
        if choice.seq + u64::from(choice.segment.len) > self.una_seq + self.window.cwnd {
            self.limited += u64::from(choice.segment.len);
        }
        Some(choice)
    }

    /// The next segment of new data.
    #[inline(always)]
    fn cut(&mut self, source: &mut impl Source) -> Option<Choice> {
        let Next::Range { len, last, .. } = source.next(self.window.mss as u32) else { return None };
        let (number, seq, segment) = (self.end, self.end_seq, Segment { len, last });
        self.segments.push_back(segment);
        self.end += 1;
        self.end_seq += u64::from(len);
        (self.next, self.next_seq) = (self.end, self.end_seq);
        Some(Choice { number, seq, segment, again: false })
    }
}
