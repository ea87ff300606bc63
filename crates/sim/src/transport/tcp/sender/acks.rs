//! Acknowledgements at the sender: of new data, duplicate, in fast recovery, with the echo of a mark.

use super::Sender;
use crate::engine::contract::host::Host;
use crate::engine::contract::packet::Packet;
use crate::ids::ConnId;
use crate::transport::ack;
use crate::transport::source::Source;
use crate::transport::tcp::congestion::{Ack, Cause, Control, Recovery, Siblings, Step};
use crate::transport::tcp::receiver::EDGE;
use crate::transport::tcp::reduction::Reduction;
use crate::transport::tcp::{Duplicates, Halves, Tcp, kind};
use crate::units::Time;

impl Sender {
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
                self.control.start(&self.window, self.rtt.smoothed(), cx.now());
            }
            kind::ACK => {
                if config.ictcp.is_some() {
                    self.edge = self.edge.max(cx.record().0[EDGE]);
                }
                let before = self.una_seq;
                self.on_ack(id, packet, config, source, cx);
                if self.steers {
                    self.steer_by(id, before, packet, config, cx);
                }
            }
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
        if self.selective.is_some() {
            return self.on_selective_ack(id, packet, config, source, cx);
        }
        let una = packet.header.ack;
        self.window.flight = self.next_seq - self.una_seq;
        if una > self.una_seq {
            let mut ack = self.ack(packet, source, cx.now());
            self.take_off_acknowledged(packet.header.number, una);
            self.limited = 0;
            self.sample_round_trip(packet, config, cx);
            ack.smoothed_rtt = self.rtt.smoothed();
            ack.common.next = self.next_seq;
            if self.repairs {
                self.go_forward_without_sack(config, source);
            }
            let mut restart_timer = true;
            let grows = self.grows(&ack, config, source);
            if self.recovering {
                restart_timer = self.on_recovery_ack(&ack, config);
            } else {
                self.dupacks = 0;
                if self.reduction.is_some() {
                    self.go_on_reducing(ack.acked, self.next_seq - self.una_seq, true);
                } else {
                    self.grow(&mut ack, grows, config, source);
                }
            }
            self.repairs &= self.una_seq < self.recover;
            if config.duplicates == Duplicates::Sacks {
                self.correct_guesses(ack.acked);
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

    /// Whether the window may grow by an acknowledgement, as far as its echo goes.
    #[inline]
    pub(super) fn grows(&mut self, ack: &Ack, config: &Tcp, source: &impl Source) -> bool {
        !self.heard.listens || self.on_echo(ack, source) || self.repairs && config.growth_in_repair()
    }

    /// The window may grow by an acknowledgement of new data.
    #[inline]
    pub(super) fn grow<S: Source + Siblings>(
        &mut self,
        ack: &mut Ack,
        grows: bool,
        config: &Tcp,
        source: &mut S,
    ) {
        ack.may_grow = grows && (!config.window_validation() || self.window.limits());
        if let Some(watch) = &mut self.watch
            && self.window.is_in_slow_start()
        {
            let divisor = watch.on_ack(ack, &mut self.window);
            ack.common.acked /= divisor;
        }
        self.control.on_ack(&mut self.window, ack, source);
    }

    /// An acknowledgement as the congestion control sees it, of a connection that has not taken note of it yet.
    #[inline]
    pub(super) fn ack(&self, packet: &Packet, source: &impl Source, now: Time) -> Ack {
        let at_hand = self.end_seq - self.una_seq + source.left();
        let common = ack::Ack {
            acked: packet.header.ack - self.una_seq,
            now,
            rtt: now - Time(packet.header.seq),
            in_flight: self.window.flight,
            marked: packet.header.kind & kind::ECE != 0,
            una: packet.header.ack,
            next: self.next_seq,
            hops: packet.hops,
        };
        Ack {
            common,
            smoothed_rtt: self.rtt.smoothed(),
            app_limited: at_hand.min(u64::from(self.window.most)) + self.window.mss <= self.window.cwnd,
            may_grow: false,
        }
    }

    /// ECN: handles the echo of an acknowledgement. Returns whether the window may grow by it.
    fn on_echo(&mut self, ack: &Ack, source: &impl Source) -> bool {
        let answer = self.control.on_echo(ack);
        if answer.ends_slow_start {
            self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd);
        }
        if answer.reduce && !self.recovering && self.heard.is_news(self.una_seq) {
            self.end_reduction();
            self.reduced(self.next_seq);
            if let Some(own) = &mut self.selective {
                own.undo.forget();
            }
            let before = self.window.cwnd;
            let let_go = self.let_go(source);
            let flight = std::mem::replace(&mut self.window.flight, let_go);
            self.on_congestion_event(Cause::EcnEcho, source, ack.now);
            self.window.flight = flight;
            if self.in_proportion {
                let goal = std::mem::replace(&mut self.window.cwnd, before);
                self.reduction = Some(if self.by_segments {
                    Reduction::by_segments(before, goal, self.next_seq)
                } else {
                    Reduction::new(flight, goal, self.next_seq)
                });
            }
        }
        answer.grow
    }

    /// Bytes are acknowledged while the window is being reduced, with so many in flight; `safe`: see [`Reduction`].
    pub(super) fn go_on_reducing(&mut self, acked: u64, flight: u64, safe: bool) {
        let Some(reduction) = &mut self.reduction else { return };
        if reduction.is_over(self.una_seq) {
            self.end_reduction();
        } else {
            self.window.cwnd = reduction.on_ack(acked, flight, self.window.mss, safe);
        }
    }

    /// Segments before number `una`, up to sequence number `ack`, have arrived.
    pub(super) fn take_off_acknowledged(&mut self, una: u32, ack: u64) {
        self.segments.drain(..(una - self.una) as usize);
        self.una = una;
        self.una_seq = ack;
        if una > self.answered {
            self.answered = self.next.max(una);
        }
        if self.next < una {
            (self.next, self.next_seq) = (una, ack);
        }
        self.repair = false;
    }

    /// Only a sample ends the back-off (RFC 6298, end of section 5): a retransmitted segment gives none
    /// without timestamps (Karn).
    pub(super) fn sample_round_trip(&mut self, packet: &Packet, config: &Tcp, cx: &impl Host) {
        if config.timestamps() {
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

    /// One more segment behind the first one is taken to have arrived, if there is one.
    fn guess(&mut self) {
        let mss = self.window.mss;
        let behind = (self.end_seq - self.una_seq).saturating_sub(mss);
        self.guessed = (self.guessed + mss).min(behind);
    }

    /// So many bytes are acknowledged: the first segment, and others. What is first now has not arrived: if that was a guess,
    /// it passes on to the next segment.
    fn correct_guesses(&mut self, acked: u64) {
        let wrong = self.guessed >= acked;
        self.guessed = self.guessed.saturating_sub(acked);
        if wrong && self.una < self.end {
            self.guess();
            self.repair = true;
        }
    }

    /// Whether to restart the timer.
    fn on_recovery_ack(&mut self, ack: &Ack, config: &Tcp) -> bool {
        let full = ack.una >= self.recover;
        let first_partial = !full && !self.partial_seen;
        let before = self.window.cwnd;
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
                if config.duplicates == Duplicates::Sacks {
                    // It was not inflated.
                    self.window.cwnd = before;
                }
                restart_timer
            }
        }
    }

    fn on_duplicate_ack(&mut self, ack: &Ack, config: &Tcp, source: &impl Source) {
        self.dupacks += 1;
        if self.repairs {
            self.forward_duplicate();
        }
        let sacks = config.duplicates == Duplicates::Sacks;
        if sacks && (self.recovering || config.limited_transmit && self.dupacks < config.dupack_threshold) {
            self.guess();
        } else if self.recovering {
            self.control.on_duplicate(&mut self.window, ack);
        } else if self.dupacks == config.dupack_threshold
            && (self.una_seq >= self.recover || !self.control.distrusts_duplicates())
        {
            // RFC 5681, 3.2, step 2: data sent by limited transmit does not count.
            let beyond = if sacks { self.guessed } else { self.limited };
            self.window.flight = self.window.flight.saturating_sub(beyond);
            self.window.flight = self.let_go(source);
            if self.window.halves == Halves::Pipe {
                self.window.flight = self.window.flight.saturating_sub(self.window.mss);
            }
            self.end_reduction();
            self.on_congestion_event(Cause::FastRetransmit { dupacks: self.dupacks }, source, ack.now);
            if sacks {
                self.window.cwnd = self.window.ssthresh;
                self.guess();
            }
            self.recovering = true;
            self.partial_seen = false;
            self.recover = self.end_seq;
            self.repair = true;
            self.reduced(self.end_seq);
        }
    }
}
