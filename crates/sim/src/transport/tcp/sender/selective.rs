//! A sender with SACK: losses by the scoreboard, recovery with a pipe (RFC 6675), timeouts that spare SACKed segments.
//!
//! A recovery begins with the first lost segment and ends when all is acknowledged that had been sent by then. The window is
//! the threshold at once, or comes down to it by PRR (RFC 6937, RFC 9937). It limits the pipe, within which lost segments
//! go first. After a timeout the sender is in slow start, and does not begin a recovery before all data is acknowledged
//! that had been sent (RFC 6675, 5.1). Rules 3 and 4 of `NextSeg`, retransmissions of segments that are not known to be
//! lost, are left out, as in Linux.

use super::{Choice, Sender};
use crate::engine::contract::host::Host;
use crate::engine::contract::packet::Packet;
use crate::ids::ConnId;
use crate::transport::source::Source;
use crate::transport::tcp::blocks::Report;
use crate::transport::tcp::congestion::{Cause, Siblings};
use crate::transport::tcp::reduction::Reduction;
use crate::transport::tcp::sender::scoreboard::Delivered;
use crate::transport::tcp::{Repair, Tcp, kind};
use crate::units::Time;

impl Sender {
    /// An acknowledgement, perhaps with blocks.
    pub(super) fn on_selective_ack<S>(
        &mut self,
        id: ConnId,
        packet: &Packet,
        config: &Tcp,
        source: &mut S,
        cx: &mut impl Host,
    ) where
        S: Source + Siblings,
    {
        let una = packet.header.ack;
        if una < self.una_seq || self.una == self.end {
            return;
        }
        let advances = una > self.una_seq;
        let in_flight = self.board.pipe();
        self.window.flight = in_flight;
        let mut ack = self.ack(packet, source, cx.now());
        let (delivered, duplicate) = self.note_delivered(packet, cx);
        if advances {
            self.take_off_acknowledged(packet.header.number, una);
            self.sample_round_trip(packet, config, cx);
            self.dupacks = 0;
        } else {
            self.dupacks += 1;
        }
        ack.common.acked = delivered.bytes;
        ack.smoothed_rtt = self.rtt.smoothed();
        ack.common.next = self.next_seq;
        if duplicate && config.rack() {
            self.rack.on_duplicate(self.una, self.end);
        }
        if config.undo() && advances {
            self.undo_if_needless(Time(packet.header.seq));
        }
        let grows = self.grows(&ack, config, source);
        self.on_probe_ack(una, (advances || delivered.sacks, duplicate), source, cx.now());
        let newly_lost = self.find_losses(id, config, cx);
        self.leave_recovery();
        if self.board.has_lost() && !self.recovering && !self.repairs {
            self.window.flight = in_flight;
            self.enter_recovery(config, source, cx.now());
        }
        if self.reduction.is_some() {
            self.go_on_reducing(delivered.bytes, self.board.pipe(), advances && newly_lost == 0);
        } else if advances && !self.recovering {
            self.window.flight = in_flight;
            self.grow(&mut ack, grows, config, source);
        }
        if self.una == self.end {
            self.timer.clear();
            self.probe.stop();
        } else if advances {
            self.start_timer(id, config, cx);
            self.plan_probe(id, config, cx);
        }
        while let Some(flow) = source.take_acknowledged(self.una_seq) {
            cx.acknowledged(flow);
            cx.finish(flow);
        }
    }

    /// Brings the scoreboard up to date. Returns what is delivered, and whether a duplicate is reported.
    fn note_delivered(&mut self, packet: &Packet, cx: &mut impl Host) -> (Delivered, bool) {
        let mut delivered = Delivered::default();
        let mut duplicate = false;
        self.board.acknowledge(packet.header.number, &mut delivered);
        if packet.header.kind & kind::SACK != 0 {
            let report = Report::read(cx.record());
            self.board.sack(report.blocks(), &mut delivered);
            duplicate = report.duplicate.is_some();
        }
        if let Some(latest) = delivered.latest {
            self.rack.deliver(latest, cx.now());
            self.rack.note_order(&delivered);
        }
        (delivered, duplicate)
    }

    /// Finds lost segments. Returns their bytes; where only time will show a loss, the timer is set.
    fn find_losses(&mut self, id: ConnId, config: &Tcp, cx: &mut impl Host) -> u64 {
        if !config.rack() {
            return self.board.lose_by_count(u64::from(config.dupack_threshold - 1) * self.window.mss);
        }
        let enough = self.board.sacked_segments() >= config.dupack_threshold;
        let repairs = self.recovering || self.repairs;
        let window = self.rack.window(repairs, enough, self.rtt.smoothed());
        let (newly, next) = self.board.lose_by_time(&self.rack, window, cx.now());
        self.await_loss(id, next, cx);
        newly
    }

    /// All is acknowledged that had been sent when the first loss was found, or the timeout came.
    fn leave_recovery(&mut self) {
        if self.una_seq < self.recover {
            return;
        }
        self.repairs = false;
        if self.recovering {
            self.recovering = false;
            self.undo.forget();
            self.end_reduction();
            self.window.cwnd = self.window.ssthresh;
            self.rack.on_recovered();
        }
    }

    /// A loss is found: the window is reduced, unless it is being reduced for marks.
    fn enter_recovery(&mut self, config: &Tcp, source: &impl Source, now: Time) {
        self.undo.note(&self.window);
        if let Some(reduction) = &mut self.reduction {
            reduction.extend(self.end_seq);
        } else {
            // FlightSize without segments that went by duplicate acknowledgements (RFC 6675, 5, step 4.2).
            let outstanding = (self.end_seq - self.una_seq).min(self.window.cwnd);
            let before = self.window.cwnd;
            self.window.flight = outstanding.max(self.window.flight);
            self.window.flight = self.let_go(source);
            self.on_congestion_event(Cause::FastRetransmit { dupacks: 0 }, source, now);
            if config.repair() == Repair::Proportional {
                self.reduction = Some(Reduction::by_segments(before, self.window.cwnd, self.end_seq));
            }
        }
        self.recovering = true;
        self.recover = self.end_seq;
        self.repair = true;
        self.reduced(self.end_seq);
    }

    /// The timer for losses that time shows has expired.
    pub(super) fn on_loss_time(
        &mut self,
        id: ConnId,
        config: &Tcp,
        source: &impl Source,
        cx: &mut impl Host,
    ) {
        self.window.flight = self.board.pipe();
        let newly_lost = self.find_losses(id, config, cx);
        if newly_lost > 0 && !self.recovering && !self.repairs {
            self.enter_recovery(config, source, cx.now());
        }
        if newly_lost > 0 && self.reduction.is_some() {
            self.go_on_reducing(0, self.board.pipe(), false);
        }
        if self.may_send(config, source) {
            cx.ready(id);
        }
    }

    /// A timeout: the threshold is lowered, unless it has been in a recovery that is not over, and the window is a segment
    /// beyond what is in flight.
    pub(super) fn on_selective_timeout(&mut self, config: &Tcp, source: &impl Source, now: Time) {
        self.undo.note(&self.window);
        self.window.flight = self.board.pipe();
        self.window.flight = self.let_go(source);
        let again = self.expired.replace(self.una) == Some(self.una);
        let reduced = self.recovering || self.reduction.is_some();
        self.end_reduction();
        self.on_congestion_event(Cause::Timeout { first: !again && !reduced }, source, now);
        self.board.lose_all(config.rack().then_some(&self.rack), now);
        self.window.cwnd = self.board.pipe() + self.window.mss;
        self.repair = true;
        self.probe.stop();
    }

    /// Whether a lost segment or new data may be sent.
    #[inline]
    pub(super) fn may_send_selectively(&self, config: &Tcp, source: &impl Source) -> bool {
        if self.probe.is_due() {
            return true;
        }
        let pipe = self.board.pipe();
        if self.board.has_lost() {
            return self.repair || pipe + self.window.mss <= self.window.cwnd;
        }
        let len = source.peek(self.window.mss);
        len > 0
            && pipe + len <= self.window.cwnd
            && self.end_seq + len <= self.una_seq + config.receive_window.0
    }

    /// The next segment: a probe, the first lost one, new data.
    #[inline]
    pub(super) fn choose_missing(&mut self, source: &mut impl Source, now: Time) -> Option<Choice> {
        self.repair = false;
        let probe = self.probe.take_due();
        let again = match probe {
            Some(last) => last.then(|| self.board.last_missing()).flatten(),
            None => self.board.first_lost(),
        };
        let choice = match again {
            Some(number) => {
                self.board.send_again(number, now);
                self.undo.note_retransmission(now);
                let segment = self.segments[(number - self.una) as usize];
                Choice { number, seq: self.board.seq(number), segment, again: true }
            }
            None => {
                let choice = self.cut(source)?;
                self.board.send(choice.seq, choice.segment.len, now);
                choice
            }
        };
        if probe.is_some() {
            self.probe.sent(self.end_seq, choice.again);
        }
        Some(choice)
    }
}
