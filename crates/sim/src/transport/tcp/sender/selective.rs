//! A sender with SACK: losses by the scoreboard, recovery with a pipe (RFC 6675), timeouts that spare SACKed segments.
//!
//! A recovery begins with the first lost segment and ends when all is acknowledged that had been sent by then. The window is
//! the threshold at once, or comes down to it by PRR (RFC 6937, RFC 9937). It limits the pipe, within which lost segments
//! go first. After a timeout the sender is in slow start, and does not begin a recovery before all data is acknowledged
//! that had been sent (RFC 6675, 5.1). Rules 3 and 4 of `NextSeg`, retransmissions of segments that are not known to be
//! lost, are left out, as in Linux.

use super::delivered::Delivered;
use super::delivery_rate::Sampler;
use super::probe::Probe;
use super::rack::Rack;
use super::scoreboard::Scoreboard;
use super::undo::Undo;
use super::{Choice, Sender};
use crate::engine::contract::host::Host;
use crate::engine::contract::packet::Packet;
use crate::ids::ConnId;
use crate::transport::source::Source;
use crate::transport::tcp::blocks::Report;
use crate::transport::tcp::congestion::{Cause, Siblings};
use crate::transport::tcp::reduction::Reduction;
use crate::transport::tcp::{Repair, Tcp, kind};
use crate::units::Time;

/// State that only a connection with SACK has. It is apart from the sender, so that others do without its memory.
#[derive(Debug, Default)]
pub struct Selective {
    pub board: Scoreboard,
    pub rack: Rack,
    pub probe: Probe,
    pub undo: Undo,
    /// Samples of the delivery rate, for a control that models the path.
    pub sampler: Option<Box<Sampler>>,
}

impl Selective {
    /// Starts over with the memory of before; `models_path`: for a control that takes samples of the delivery rate.
    pub fn reset(&mut self, models_path: bool) {
        let mut board = std::mem::take(&mut self.board);
        board.reset();
        let sampler = models_path.then(|| {
            let mut sampler = self.sampler.take().unwrap_or_default();
            sampler.reset();
            sampler
        });
        *self = Selective { board, sampler, ..Selective::default() };
    }

    /// Whether the control sets the window by samples of the delivery rate.
    #[inline]
    pub fn samples(&self) -> bool {
        self.sampler.is_some()
    }
}

impl Sender {
    /// Its state of SACK, which it has.
    #[inline]
    pub(super) fn own(&mut self) -> &mut Selective {
        self.selective.as_deref_mut().expect("a connection with SACK")
    }

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
        if una < self.una_seq {
            return;
        }
        if self.una == self.end {
            return self.note_late_duplicate(packet, config, cx);
        }
        let advances = una > self.una_seq;
        let in_flight = self.own().board.pipe();
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
        if duplicate.is_some() && config.rack() {
            let (una, end) = (self.una, self.end);
            self.own().rack.on_duplicate(una, end);
        }
        if config.undo() {
            self.undo_if_needless(advances.then_some(Time(packet.header.seq)), duplicate);
        }
        if self.repairs {
            self.go_forward(&delivered, (advances, duplicate.is_some()), config, source);
        }
        let grows = self.grows(&ack, config, source);
        self.on_probe_ack(una, (advances || delivered.sacks, duplicate.is_some()), source, cx.now());
        let newly_lost = self.find_losses(id, config, cx);
        self.leave_recovery();
        if self.own().board.has_lost() && !self.recovering && !self.repairs {
            self.window.flight = in_flight;
            self.enter_recovery(config, source, cx.now());
        }
        if self.own().samples() {
            self.take_sample(&delivered, (in_flight, newly_lost), source, cx.now());
        } else if self.reduction.is_some() {
            let pipe = self.own().board.pipe();
            self.go_on_reducing(delivered.bytes, pipe, advances && newly_lost == 0);
        } else if advances && !self.recovering {
            self.window.flight = in_flight;
            self.grow(&mut ack, grows, config, source);
        }
        if self.una == self.end {
            self.timer.clear();
            self.own().probe.stop();
        } else if advances {
            self.start_timer(id, config, cx);
            self.plan_probe(id, config, cx);
        }
        while let Some(flow) = source.take_acknowledged(self.una_seq) {
            cx.acknowledged(flow);
            cx.finish(flow);
        }
    }

    /// Brings the scoreboard up to date. Returns the segments that are delivered, and one that is reported as a duplicate.
    fn note_delivered(&mut self, packet: &Packet, cx: &mut impl Host) -> (Delivered, Option<u32>) {
        let own = self.own();
        let mut delivered = Delivered::default();
        let mut duplicate = None;
        own.board.acknowledge(packet.header.number, &mut delivered);
        if packet.header.kind & kind::SACK != 0 {
            let report = Report::read(cx.record());
            own.board.sack(report.blocks(), &mut delivered);
            duplicate = report.duplicate;
        }
        if let Some(latest) = delivered.latest {
            own.rack.deliver(latest, cx.now());
            own.rack.note_order(&delivered);
        }
        (delivered, duplicate)
    }

    /// All is acknowledged, and a duplicate may be reported.
    #[cold]
    fn note_late_duplicate(&mut self, packet: &Packet, config: &Tcp, cx: &mut impl Host) {
        if config.undo() && packet.header.kind & kind::SACK != 0 {
            let duplicate = Report::read(cx.record()).duplicate;
            self.undo_if_needless(None, duplicate);
        }
    }

    /// Finds lost segments. Returns their bytes; where only time will show a loss, the timer is set.
    fn find_losses(&mut self, id: ConnId, config: &Tcp, cx: &mut impl Host) -> u64 {
        let (repairs, smoothed, mss) =
            (self.recovering || self.repairs, self.rtt.smoothed(), self.window.mss);
        let Selective { board, rack, .. } = self.own();
        if !config.rack() {
            let threshold = config.dupack_threshold;
            return board.lose_by_count(u64::from(threshold - 1) * mss, threshold);
        }
        let enough = board.sacked_segments() >= config.dupack_threshold;
        let window = rack.window(repairs, enough, smoothed);
        let (newly, next) = board.lose_by_time(rack, window, cx.now());
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
            self.end_reduction();
            if !self.own().samples() {
                self.window.cwnd = self.window.ssthresh;
            }
            self.own().rack.on_recovered();
        }
    }

    /// A loss is found: the window is reduced, unless it is being reduced for marks.
    fn enter_recovery(&mut self, config: &Tcp, source: &impl Source, now: Time) {
        let (window, una) = (self.window, self.una);
        self.own().undo.note(&window, una);
        self.own().probe.call_off();
        if let Some(reduction) = &mut self.reduction {
            reduction.extend(self.end_seq);
        } else {
            // FlightSize without segments that went by duplicate acknowledgements (RFC 6675, 5, step 4.2).
            let outstanding = (self.end_seq - self.una_seq).min(self.window.cwnd);
            let before = self.window.cwnd;
            self.window.flight = outstanding.max(self.window.flight);
            self.window.flight = self.let_go(source);
            self.on_congestion_event(Cause::FastRetransmit { dupacks: 0 }, source, now);
            if config.repair() == Repair::Proportional && !self.own().samples() {
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
        self.window.flight = self.own().board.pipe();
        let newly_lost = self.find_losses(id, config, cx);
        if newly_lost > 0 && !self.recovering && !self.repairs {
            self.enter_recovery(config, source, cx.now());
        }
        if newly_lost > 0 && self.reduction.is_some() {
            let pipe = self.own().board.pipe();
            self.go_on_reducing(0, pipe, false);
        }
        if self.may_send(config, source) {
            cx.ready(id);
        }
    }

    /// A timeout: the threshold is lowered, unless it has been in a recovery that is not over, and the window is a segment
    /// beyond what is in flight.
    pub(super) fn on_selective_timeout(&mut self, config: &Tcp, source: &impl Source, now: Time) {
        let (window, una) = (self.window, self.una);
        let again = self.expired.replace(una) == Some(una);
        if !again && !self.recovering {
            self.own().undo.note(&window, una);
        }
        self.window.flight = self.own().board.pipe();
        self.window.flight = self.let_go(source);
        let reduced = self.recovering || self.reduction.is_some();
        self.end_reduction();
        self.on_congestion_event(Cause::Timeout { first: !again && !reduced }, source, now);
        self.repair = true;
        let Selective { board, rack, probe, .. } = self.own();
        board.lose_all(config.rack().then_some(rack), now);
        probe.stop();
        let pipe = board.pipe();
        self.window.cwnd = pipe + self.window.mss;
    }

    /// Whether a lost segment or new data may be sent.
    #[inline]
    pub(super) fn may_send_selectively(&self, config: &Tcp, source: &impl Source) -> bool {
        let Some(Selective { board, probe, .. }) = self.selective.as_deref() else { return false };
        if probe.is_due() {
            return true;
        }
        if let Some(left) = self.forward_probes() {
            return self.probe_fits(left, source.peek(self.window.mss), config);
        }
        let pipe = board.pipe();
        if board.has_lost() {
            return self.repair || pipe + self.window.mss <= self.window.cwnd;
        }
        let len = source.peek(self.window.mss);
        len > 0 && self.pipe_fits(pipe, len, config)
    }

    /// Whether the window has room for so many bytes beyond those in flight.
    #[inline]
    pub(super) fn pipe_fits(&self, pipe: u64, len: u64, config: &Tcp) -> bool {
        pipe + len <= self.window.cwnd && self.end_seq + len <= self.una_seq + self.receive_window(config)
    }

    /// The next segment: a probe, the first lost one, new data.
    #[inline(never)]
    pub(super) fn choose_missing(&mut self, source: &mut impl Source, now: Time) -> Option<Choice> {
        self.repair = false;
        let forward = self.forward_probes().is_some();
        let own = self.own();
        let probe = own.probe.take_due();
        debug_assert!(probe.is_none() || !own.board.has_lost(), "a recovery calls the probe off");
        let again = match probe {
            Some(last) => last.then(|| own.board.last_missing()).flatten(),
            None if forward => None,
            None => own.board.first_lost(),
        };
        let choice = match again {
            Some(number) => {
                own.board.send_again(number, now);
                own.undo.note_retransmission(now);
                let seq = own.board.seq(number);
                let segment = self.segments[(number - self.una) as usize];
                Choice { number, seq, segment, again: true }
            }
            None => {
                self.note_forward();
                let choice = self.cut(source)?;
                self.own().board.send(choice.seq, choice.segment.len, now);
                choice
            }
        };
        if probe.is_some() {
            let end = self.end_seq;
            self.own().probe.sent(end, choice.again);
        }
        Some(choice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::packet::flag;
    use crate::transport::source::Messages;
    use crate::transport::tcp::congestion::Window;
    use crate::transport::tcp::receiver::Receiver;
    use crate::transport::tcp::selective_tests::{FLOW, round, sack, started};
    use crate::transport::tcp::sender::forward::Forward;
    use crate::transport::tcp::{Preset, Repair};

    /// Whether a sender has state of SACK, and of an end of slow start of its own.
    fn has(config: &Tcp) -> (bool, bool) {
        let mut sender = Sender::default();
        sender.reset(&config.resolved());
        (sender.selective.is_some(), sender.watch.is_some())
    }

    /// Bytes of a connection's ends, without its segments: as large as before there was SACK, or smaller.
    #[test]
    fn a_connection_without_sack_has_no_memory_for_it() {
        let (sender, receiver) = (size_of::<(Sender, Messages)>(), size_of::<Receiver>());
        println!("sender {sender} B, receiver {receiver} B, SACK {} B more", size_of::<Selective>());
        assert!(sender <= 528 && receiver <= 144, "{sender} and {receiver} B");
        let linux = Tcp { preset: Preset::Linux, ..Tcp::default() };
        assert_eq!(has(&Tcp::default()), (false, false));
        assert_eq!(has(&Tcp { repair: Some(Repair::Proportional), ..Tcp::default() }), (false, false));
        assert_eq!(has(&Tcp { sack: Some(false), ..linux.clone() }), (false, true));
        assert_eq!(has(&linux), (true, true));
    }

    /// A slot passes on from a connection with SACK to one without it, and back: nothing of the first is left.
    #[test]
    fn a_slot_serves_connections_of_both_kinds() {
        let linux = Tcp { preset: Preset::Linux, ..Tcp::default() }.resolved();
        let mut sender = Sender::default();
        sender.reset(&linux);
        sender.own().board.send(0, 1000, Time::ZERO);
        sender.reset(&linux);
        assert_eq!(sender.own().board.pipe(), 0);
        sender.own().board.send(0, 1000, Time::ZERO);
        sender.reset(&Tcp::default().resolved());
        assert!(sender.selective.is_none() && sender.watch.is_none());
        sender.reset(&linux);
        assert_eq!((sender.own().board.pipe(), sender.own().board.last_missing()), (0, None));
    }

    /// The same of F-RTO, which connections without SACK have, too: a decision is not that of the next connection.
    #[test]
    fn a_slot_forgets_a_decision() {
        let decides = Tcp { f_rto: Some(true), ..Tcp::default() }.resolved();
        let mut sender = Sender::default();
        sender.reset(&decides);
        sender.begin_forward();
        let forward = |sender: &Sender| sender.forward.as_deref().map(|forward| format!("{forward:?}"));
        assert_ne!(forward(&sender), Some(format!("{:?}", Forward::default())));
        sender.reset(&decides);
        assert_eq!(forward(&sender), Some(format!("{:?}", Forward::default())));
        sender.reset(&Tcp::default().resolved());
        assert_eq!(forward(&sender), None);
    }

    /// A mark of segment 0 begins a reduction until the twenty in flight are acknowledged. The recovery of 5, which enters
    /// it, makes it last until all is acknowledged that was sent before (RFC 6937: until the end of the recovery).
    #[test]
    fn a_recovery_goes_on_with_the_reduction_for_a_mark() {
        let config = Tcp { ecn: true, repair: Some(Repair::Proportional), ..sack() };
        let (mut host, mut model, packets) = started(20, 1_000_000, config);
        let mut later = Vec::new();
        for (number, packet) in packets.iter().enumerate().filter(|(number, _)| *number != 5) {
            let ce = if number == 0 { flag::CE } else { 0 };
            later.extend(round(&mut host, &mut model, &Packet { flags: packet.flags | ce, ..*packet }));
        }
        later.sort_by_key(|packet| packet.header.number);
        assert_eq!((later[0].header.number, later[1].header.number), (5, 20));
        round(&mut host, &mut model, &later[0]);
        let sender = &model.senders.get(FLOW).0;
        assert_eq!((sender.una, sender.recovering, sender.reduction.is_some()), (20, true, true));
        let until = sender.recover;
        for packet in &later[1..] {
            round(&mut host, &mut model, packet);
        }
        let sender = &model.senders.get(FLOW).0;
        assert!(sender.una_seq >= until && sender.reduction.is_none());
    }

    /// The acknowledgement that ends a recovery ends its reduction first: from the threshold the window grows as by any later
    /// one, by mss^2 / cwnd (RFC 5681, equation 3).
    #[test]
    fn the_end_of_a_recovery_lets_the_window_grow() {
        let config = Tcp { repair: Some(Repair::Proportional), ..sack() };
        let (mut host, mut model, packets) = started(20, 1_000_000, config);
        let mut later = Vec::new();
        for (_, packet) in packets.iter().enumerate().filter(|(number, _)| *number != 5) {
            later.extend(round(&mut host, &mut model, packet));
        }
        later.sort_by_key(|packet| packet.header.number);
        assert!(model.senders.get(FLOW).0.recovering);
        for packet in &later {
            round(&mut host, &mut model, packet);
            if !model.senders.get(FLOW).0.recovering {
                break;
            }
        }
        let sender = &model.senders.get(FLOW).0;
        let Window { cwnd, ssthresh, mss, .. } = sender.window;
        assert_eq!((sender.recovering, cwnd), (false, ssthresh + mss * mss / ssthresh));
    }
}
