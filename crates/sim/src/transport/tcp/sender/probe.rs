//! Tail loss probes (RFC 8985, section 7): the last segments of the data have none behind them that would show their loss.
//!
//! Two smoothed round trips after the last acknowledgement of new data a probe goes: new data, if the receiver has room for
//! it, else the last missing segment. Its acknowledgement brings the SACKs by which losses are found; if the probe itself
//! has repaired the loss, the window is reduced all the same. With one segment in flight the probe waits for `rto_min`
//! more, as its acknowledgement may be delayed (RFC 8985: 200 ms), else for 2 ms (Linux). The retransmission timer runs
//! from the probe on anew. The same timer serves losses that only time will show (section 6).

use super::{PROBE, Sender};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::{Host, Timer};
use crate::ids::ConnId;
use crate::transport::source::Source;
use crate::transport::tcp::Tcp;
use crate::transport::tcp::congestion::Cause;
use crate::units::Time;

/// Added to two round trips (Linux: TCP_TIMEOUT_MIN).
const SLACK: Time = Time::from_us(2_000);

/// The probe of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Probe {
    timer: Timer,
    /// Whether the timer is for a loss that time will show.
    awaits_loss: bool,
    /// A probe that is to be sent: whether it is the last missing segment.
    due: Option<bool>,
    /// The end of the data when the probe was sent, and whether it was a retransmission: until that is acknowledged.
    sent: Option<(u64, bool)>,
}

impl Probe {
    /// No probe, and no loss to wait for.
    pub fn stop(&mut self) {
        self.timer.clear();
        (self.awaits_loss, self.due, self.sent) = (false, None, None);
    }

    /// Whether one is to be sent.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.due.is_some()
    }

    /// The one that is to be sent: whether it is the last missing segment.
    #[inline]
    pub fn take_due(&mut self) -> Option<bool> {
        self.due.take()
    }

    /// None is to be sent: a loss has been found before its time or its turn came (RFC 8985, 7.2: no probe in a recovery).
    pub fn call_off(&mut self) {
        self.due = None;
        if !self.awaits_loss {
            self.timer.clear();
        }
    }

    /// It is sent.
    pub fn sent(&mut self, end: u64, again: bool) {
        self.sent = Some((end, again));
    }
}

impl Sender {
    /// Sets the timer for a probe after the latest segment or acknowledgement.
    pub(super) fn plan_probe(&mut self, id: ConnId, config: &Tcp, cx: &mut impl Host) {
        let alone = self.end - self.una == 1;
        let (repairs, smoothed, timeout) =
            (self.recovering || self.repairs, self.rtt.smoothed(), self.timer.due());
        let probe = &mut self.own().probe;
        if probe.awaits_loss {
            return;
        }
        let plans = config.tail_loss_probe() && !repairs && probe.sent.is_none();
        let Some(smoothed) = smoothed.filter(|_| plans) else { return probe.timer.clear() };
        let wait = Time(2 * smoothed.0) + if alone { config.rto_min() } else { SLACK };
        let due = (cx.now() + wait).min(timeout);
        cx.set_timer(&mut probe.timer, due, Owner::Sender(id), PROBE);
    }

    /// A loss will be found then, unless the segment is acknowledged before.
    pub(super) fn await_loss(&mut self, id: ConnId, due: Option<Time>, cx: &mut impl Host) {
        let probe = &mut self.own().probe;
        match due {
            Some(due) => {
                probe.awaits_loss = true;
                cx.set_timer(&mut probe.timer, due, Owner::Sender(id), PROBE);
            }
            None if probe.awaits_loss => {
                probe.awaits_loss = false;
                probe.timer.clear();
            }
            None => {}
        }
    }

    /// The timer of a probe, or of a loss that time shows.
    pub fn on_probe(&mut self, id: ConnId, config: &Tcp, source: &impl Source, cx: &mut impl Host) {
        let probe = &mut self.own().probe;
        if !cx.timer_is_due(&mut probe.timer, Owner::Sender(id), PROBE) {
            return;
        }
        if std::mem::take(&mut probe.awaits_loss) {
            self.on_loss_time(id, config, source, cx);
        } else if self.una < self.end {
            self.send_probe(id, config, source, cx);
        }
    }

    /// Whether a probe is planned for the instant of a timeout: it takes its place.
    pub(super) fn probes_instead(&self, now: Time) -> bool {
        let probe = self.selective.as_ref().map(|own| &own.probe);
        probe.is_some_and(|probe| !probe.awaits_loss && probe.timer.due() <= now)
    }

    /// A probe is sent in the connection's next turn.
    pub(super) fn send_probe(&mut self, id: ConnId, config: &Tcp, source: &impl Source, cx: &mut impl Host) {
        let len = source.peek(self.window.mss);
        let fits = len > 0 && self.end_seq + len <= self.una_seq + self.receive_window(config);
        let probe = &mut self.own().probe;
        probe.timer.clear();
        probe.due = Some(!fits);
        self.start_timer(id, config, cx);
        cx.ready(id);
    }

    /// An acknowledgement while a probe is in flight (RFC 8985, 7.4): of that data, with news or without, or of a duplicate.
    pub(super) fn on_probe_ack(
        &mut self,
        una: u64,
        (news, duplicate): (bool, bool),
        source: &impl Source,
        now: Time,
    ) {
        let probe = &mut self.own().probe;
        let Some((end, again)) = probe.sent else { return };
        if una < end {
            return;
        }
        if !again || duplicate || una == end && !news {
            // The original has arrived, too.
            probe.sent = None;
        } else if una > end {
            probe.sent = None;
            if !self.recovering && !self.repairs && self.reduction.is_none() {
                self.on_congestion_event(Cause::FastRetransmit { dupacks: 0 }, source, now);
                self.reduced(self.end_seq);
            }
        }
    }
}
