//! The sending end of a connection: handshake, segments as window and source allow, retransmissions, timers.
//!
//! `acks` handles acknowledgements.

mod acks;

use std::collections::VecDeque;

use super::congestion::{self, Cause, CongestionEvent, Control, Progress, Window};
use super::ecn::Heard;
use super::reduction::Reduction;
use super::{Duplicates, Halves, IdleRestart, Tcp, kind};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Timer, Toward};
use crate::engine::contract::packet::{Header, Packet, flag};
use crate::ids::ConnId;
use crate::transport::rtt::Rtt;
use crate::transport::source::{Next, Source};
use crate::units::{Rate, Time};

/// The retransmission timer.
pub const RETRANSMIT: u8 = 0;
/// The timer for the next segment, if the congestion control paces.
pub const PACE: u8 = 2;

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
    window: Window,
    control: congestion::Model,
    /// The reduction for marks in progress, if reductions take a round trip.
    reduction: Option<Reduction>,
    in_proportion: bool,
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
    /// Payload of the segment sent last.
    last_len: u32,
    timer: Timer,
    pace: Timer,
    heard: Heard,
}

/// A range of the data in flight.
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

    /// The rate at which the congestion control paces, if it does: for observers.
    pub fn rate(&self) -> Option<Rate> {
        self.control.pacing_rate()
    }

    /// Whether the handshake is over.
    pub fn is_established(&self) -> bool {
        self.established
    }

    /// The window as it will be after a recovery, during which it counts segments that have left the network, too.
    pub fn steady_window(&self) -> u64 {
        if self.recovering { self.window.ssthresh } else { self.window.cwnd }
    }

    /// Smoothed round-trip time; none before the first sample.
    pub fn round_trip(&self) -> Option<Time> {
        self.rtt.smoothed()
    }

    /// None of the data that it has sent matters any more.
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
        cx.send_to_receiver(source.flow_at(0, 0, id).flow, config.ack_bytes(), header);
        self.last_sent = cx.now();
        self.start_timer(id, config, cx);
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

    /// The window is reduced.
    fn on_congestion_event(&mut self, cause: Cause, source: &impl Source, now: Time) {
        let event = CongestionEvent { cause, now, progress: self.progress(source, now) };
        self.control.on_congestion_event(&mut self.window, &event);
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
        let size = segment.len + config.data_header_bytes();
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

    /// Whether nothing has come back of the window when the timer expires: neither the acknowledgement of a segment of it
    /// nor a duplicate one.
    ///
    /// A window is the data in flight when the first acknowledgement of any of it arrives, as DCTCP's
    /// observation windows are (RFC 8257, 3.3); a timeout begins a new one. A SYN is a window of its own.
    /// Kulkarni, "Incast-free TCP for Data Center Networks", 2012, distinguishes by this the causes of
    /// goodput collapse: the anterior block transfer timeout, for which all of a window has to be lost, and
    /// the intermediate one, for which too few duplicates arrive.
    fn has_lost_whole_window(&self) -> bool {
        self.una >= self.answered && self.dupacks == 0 && !self.recovering
    }

    /// The retransmission timer: SYN again, or back to the first unacknowledged segment (go back N). Whether data has
    /// been given up.
    pub fn on_timer(&mut self, id: ConnId, config: &Tcp, source: &impl Source, cx: &mut impl Host) -> bool {
        if !cx.timer_is_due(&mut self.timer, Owner::Sender(id), RETRANSMIT) {
            return false;
        }
        let counts = cx.sender(source.flow_at(self.una, self.una_seq, id).flow);
        counts.timeouts += 1;
        counts.timeouts_whole_window += u32::from(self.has_lost_whole_window());
        self.backoff += 1;
        if !self.established {
            self.send_syn(id, config, source, cx);
            return false;
        }
        self.window.flight = self.next_seq - self.una_seq;
        self.limited = 0;
        self.guessed = 0;
        let first = self.expired.replace(self.una) != Some(self.una);
        if self.recovering {
            // Without the inflation for segments that have left the network; so does htsim.
            self.window.cwnd = self.window.ssthresh.min(self.window.flight + self.window.mss);
        } else {
            self.window.flight = self.let_go(source);
        }
        self.end_reduction();
        self.on_congestion_event(Cause::Timeout { first }, source, cx.now());
        self.window.after_timeout = true;
        (self.next, self.next_seq) = (self.una, self.una_seq);
        self.answered = self.una;
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
