//! Timers of the sender: retransmission (RFC 6298), and windows after a pause.

use super::{RETRANSMIT, Sender};
use crate::engine::contract::event::Owner;
use crate::engine::contract::host::Host;
use crate::ids::ConnId;
use crate::transport::source::Source;
use crate::transport::tcp::Tcp;
use crate::transport::tcp::choices::{Floor, IdleRestart};
use crate::transport::tcp::congestion::Cause;
use crate::units::Time;

impl Sender {
    pub(super) fn restart_after_idle(&mut self, config: &Tcp, now: Time) {
        let models = config.congestion().models_path();
        if config.idle_restart() == IdleRestart::None || models || self.una < self.end || self.end == 0 {
            return;
        }
        let (idle, timeout) = (now.saturating_sub(self.last_sent), self.timeout(config));
        if idle > timeout {
            let initial = u64::from(config.initial_window()) * self.window.mss;
            config.idle_restart().apply(&mut self.window, initial, idle.0 / timeout.0);
        }
    }

    /// The retransmission timeout as of now, backed off.
    fn timeout(&self, config: &Tcp) -> Time {
        let timeout = match config.rto_floor() {
            Floor::Timeout => self.rtt.timeout(config.rto_granularity).map(|time| time.max(config.rto_min())),
            Floor::Variation => self.rtt.timeout(config.rto_granularity.max(config.rto_min())),
        };
        let timeout = timeout.unwrap_or_else(|| config.rto_initial());
        Time(timeout.0.saturating_mul(1 << self.backoff.min(30))).min(config.rto_max)
    }

    pub(super) fn start_timer(&mut self, id: ConnId, config: &Tcp, cx: &mut impl Host) {
        let due = cx.now() + self.timeout(config);
        cx.set_timer(&mut self.timer, due, Owner::Sender(id), RETRANSMIT);
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
        if self.probes_instead(cx.now()) {
            self.send_probe(id, config, source, cx);
            return false;
        }
        let counts = cx.sender(source.flow_at(self.una, self.una_seq, id).flow);
        counts.timeouts += 1;
        counts.timeouts_whole_window += u32::from(self.has_lost_whole_window());
        self.backoff += 1;
        self.steer_away(id, config, cx);
        if !self.established {
            self.send_syn(id, config, source, cx);
            return false;
        }
        self.begin_forward();
        if self.selective.is_some() {
            self.on_selective_timeout(config, source, cx.now());
        } else {
            self.go_back(source, cx.now());
        }
        self.window.after_timeout = true;
        self.answered = self.una;
        self.recover = self.end_seq;
        self.reduced(self.end_seq);
        self.recovering = false;
        self.repairs = true;
        self.dupacks = 0;
        self.timed = None;
        if let Some(watch) = &mut self.watch {
            watch.restart();
        }
        self.start_timer(id, config, cx);
        cx.ready(id);
        true
    }

    /// A timeout without SACK: back to the first unacknowledged segment.
    fn go_back(&mut self, source: &impl Source, now: Time) {
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
        self.on_congestion_event(Cause::Timeout { first }, source, now);
        (self.next, self.next_seq) = (self.una, self.una_seq);
        self.repair = false;
    }
}
