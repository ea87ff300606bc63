//! BBR, version 1 (Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016;
//! draft-cardwell-iccrg-bbr-congestion-control-00; Linux 6.18, `tcp_bbr.c`).
//!
//! The control models the path by two estimates (`path`): the bandwidth of the bottleneck, the largest rate of delivery of
//! ten rounds (`filter`), and the round trip without a queue, the least one of ten seconds. It paces at a gain times the
//! bandwidth, and lets at most twice their product be in flight. Losses and marks do not enter the model.
//!
//! - **Startup**: gain 2.885 = 2 / ln 2, which doubles the rate each round, until three rounds bring less than 25 % more.
//! - **Drain**: the inverse, until no more is in flight than the product of both estimates.
//! - **ProbeBw**: eight phases of a round trip, with gains 1.25, 0.75 and six times 1.
//! - **ProbeRtt**: when the round trip has not been measured for ten seconds, four segments in flight for 200 ms.
//!
//! Where the draft and Linux differ, Linux is taken: it paces 1 % below the estimate, and restores the window after a
//! recovery, in whose first round a segment is sent for each that is delivered. Left out of Linux: its estimate of policed
//! rates, its allowance for aggregated acknowledgements, and bursts by segmentation offload.

mod filter;
mod path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::path::Path;
use super::sample::{Repairing, Sample};
use super::{Ack, Answer, Cause, CongestionEvent, Control, Pace, Recovery, Settings, Siblings, Step, Window};
use crate::random::Stream;
use crate::units::{Rate, Time};

/// BBR: a model of the path, by rates of delivery and round trips, sets the pacing rate and the window (version 1, as in
/// Linux). It needs `sack`, ignores marks, and always paces. Several constants are meant for the Internet: with round trips
/// of microseconds, `min_rtt_window` and `probe_rtt_duration` are many thousands of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bbr {
    /// Gain of rate and window in Startup (2 / ln 2 = 2.885: the rate doubles each round trip); Drain paces by its inverse.
    #[schemars(range(min = 1.1, max = 100))]
    pub startup_gain: f64,
    /// Rounds in which the bandwidth does not grow to `full_pipe_growth` times: they end Startup (3).
    #[schemars(range(min = 1, max = 1000))]
    pub full_pipe_rounds: u32,
    /// Growth of the bandwidth below which the pipe is taken to be full (1.25).
    #[schemars(range(min = 1, max = 10))]
    pub full_pipe_growth: f64,
    /// Pacing gain of the phase that probes for bandwidth (1.25).
    #[schemars(range(min = 1, max = 10))]
    pub probe_gain: f64,
    /// Pacing gain of the phase behind it, in which the queue drains (0.75).
    #[schemars(range(min = 0.01, max = 1))]
    pub drain_gain: f64,
    /// Largest window after Startup, in bandwidth-delay products (2).
    #[schemars(range(min = 1, max = 100))]
    pub cwnd_gain: f64,
    /// Rounds of which the largest rate of delivery is the bandwidth (10).
    #[schemars(range(min = 1, max = 1000))]
    pub bandwidth_window: u32,
    /// Age at which the estimate of the round trip is measured anew, by ProbeRtt (10 s).
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1000s"))]
    pub min_rtt_window: Time,
    /// Shortest duration of ProbeRtt (200 ms); a round trip in any case.
    #[schemars(extend("x-maximum" = "10s"))]
    pub probe_rtt_duration: Time,
    /// Least window in segments, and that of ProbeRtt (4).
    #[schemars(range(min = 1, max = 1000))]
    pub min_cwnd: u32,
    /// Segments that a host sends as one: the window has room for three of them beyond its share (Linux: what TSO makes of a
    /// millisecond, at least 2). Segments of a run are sent one by one.
    #[schemars(range(min = 1, max = 64))]
    pub quantum: u32,
    /// Share of the bandwidth by which the pacing rate is below it (Linux: 0.01; the draft: 0).
    #[schemars(range(min = 0, max = 0.5))]
    pub pacing_margin: f64,
    /// Round trip by which the first window is paced before the first sample (Linux: 1 ms): without a handshake.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub initial_round_trip: Time,
}

impl Default for Bbr {
    fn default() -> Self {
        Bbr {
            startup_gain: 2.885,
            full_pipe_rounds: 3,
            full_pipe_growth: 1.25,
            probe_gain: 1.25,
            drain_gain: 0.75,
            cwnd_gain: 2.0,
            bandwidth_window: 10,
            min_rtt_window: Time::from_us(10_000_000),
            probe_rtt_duration: Time::from_us(200_000),
            min_cwnd: 4,
            quantum: 1,
            pacing_margin: 0.01,
            initial_round_trip: Time::from_us(1_000),
        }
    }
}

impl Settings for Bbr {
    fn models_path(&self) -> bool {
        true
    }

    fn pace(&self) -> Pace {
        Pace::Smooth
    }
}

/// Phases of ProbeBw; the first one probes, the second one drains.
const PHASES: u8 = 8;
const PROBES: u8 = 0;
const DRAINS: u8 = 1;

/// Segments of an initial window, until there is a model (RFC 6928).
const INITIAL: u64 = 10;

/// Parts of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    /// A phase of it.
    ProbeBw(u8),
    /// With the end of its duration, once the window is down, and whether a round has passed since.
    ProbeRtt {
        until: Option<Time>,
        round: bool,
    },
}

/// State of a connection.
#[derive(Clone, Debug)]
pub struct Model {
    config: Bbr,
    stream: Stream,
    path: Path,
    mode: Mode,
    /// When the phase of ProbeBw began.
    phase_from: Time,
    rate: Rate,
    /// Whether the rate is by a round trip that was measured.
    has_round_trip: bool,
    /// The window before a recovery or ProbeRtt.
    prior_cwnd: u64,
    /// Repair of losses as of the sample before.
    repair: Repairing,
    /// Whether it is the first round of a recovery: as much is sent as is delivered.
    conserves: bool,
    /// Whether it sends after a pause, and nothing of that is delivered yet.
    restarts: bool,
}

impl Model {
    pub(super) fn new(config: &Bbr) -> Model {
        Model {
            config: config.clone(),
            stream: Stream::default(),
            path: Path::new(),
            mode: Mode::Startup,
            phase_from: Time::ZERO,
            rate: Rate(1),
            has_round_trip: false,
            prior_cwnd: 0,
            repair: Repairing::Nothing,
            conserves: false,
            restarts: false,
        }
    }

    /// Gains of rate and window.
    fn gains(&self) -> (f64, f64) {
        let Bbr { startup_gain, probe_gain, drain_gain, cwnd_gain, .. } = self.config;
        match self.mode {
            Mode::Startup => (startup_gain, startup_gain),
            Mode::Drain => (1.0 / startup_gain, startup_gain),
            Mode::ProbeBw(PROBES) => (probe_gain, cwnd_gain),
            Mode::ProbeBw(DRAINS) => (drain_gain, cwnd_gain),
            Mode::ProbeBw(_) => (1.0, cwnd_gain),
            Mode::ProbeRtt { .. } => (1.0, 1.0),
        }
    }

    /// Bytes in flight at such a gain, and room for segments that are sent or acknowledged together.
    fn target(&self, gain: f64, mss: u64) -> u64 {
        let Some(bdp) = self.path.bdp() else { return INITIAL * mss };
        let segments = libm::ceil(gain * bdp / mss as f64) as u64 + 3 * u64::from(self.config.quantum);
        // An even number, so that fewer acknowledgements are delayed; probing exceeds small products, too (Linux).
        let more = if self.mode == Mode::ProbeBw(PROBES) { 2 } else { 0 };
        (segments.next_multiple_of(2) + more) * mss
    }

    fn is_pipe_full(&self) -> bool {
        self.path.is_full
    }

    /// Pacing rate at such a gain of that bandwidth in bytes per second.
    fn paced(&self, bandwidth: f64, gain: f64) -> Rate {
        let bits = 8.0 * bandwidth * gain * (1.0 - self.config.pacing_margin);
        Rate((libm::round(bits) as u64).max(1))
    }

    /// The rate that sends a window in a round trip, at the gain of Startup.
    fn pace_by(&mut self, window: &Window, round_trip: Time) {
        let bandwidth = window.cwnd as f64 / Time(round_trip.0.max(1)).seconds();
        self.rate = self.paced(bandwidth, self.config.startup_gain);
    }

    /// A phase of ProbeBw at random, but the one that drains.
    fn enter_probe_bw(&mut self, now: Time) {
        let drawn = self.stream.below(u64::from(PHASES) - 1) as u8;
        self.mode = Mode::ProbeBw(if drawn < DRAINS { drawn } else { drawn + 1 });
        self.phase_from = now;
    }

    /// The next phase of ProbeBw, if this one is over: after a round trip; one that probes lasts until so much is in flight
    /// or lost, one that drains no longer than until no more is in flight than the path holds.
    fn advance_phase(&mut self, sample: &Sample, mss: u64) {
        let (Mode::ProbeBw(phase), Some(round_trip)) = (self.mode, self.path.round_trip) else { return };
        let lasted = sample.now.saturating_sub(self.phase_from) > round_trip;
        let gain = self.gains().0;
        let is_over = if gain > 1.0 {
            lasted && (sample.lost > 0 || sample.prior_in_flight >= self.target(gain, mss))
        } else if gain < 1.0 {
            lasted || sample.prior_in_flight <= self.target(1.0, mss)
        } else {
            lasted
        };
        if is_over {
            self.mode = Mode::ProbeBw((phase + 1) % PHASES);
            self.phase_from = sample.now;
        }
    }

    /// From Startup to Drain, when the pipe is full, and on when the queue is empty.
    fn check_drain(&mut self, window: &mut Window, sample: &Sample) {
        let target = self.target(1.0, window.mss);
        if self.mode == Mode::Startup && self.is_pipe_full() {
            self.mode = Mode::Drain;
            window.ssthresh = target;
        }
        if self.mode == Mode::Drain && sample.in_flight <= target {
            self.enter_probe_bw(sample.now);
        }
    }

    /// The round trip, and ProbeRtt when it is old.
    fn take_round_trip(&mut self, window: &mut Window, sample: &Sample) {
        let now = sample.now;
        let old = self.path.is_round_trip_old(now, self.config.min_rtt_window);
        if let Some(round_trip) = sample.round_trip {
            self.path.take_round_trip(round_trip, now, old);
        }
        let probes = matches!(self.mode, Mode::ProbeRtt { .. });
        if old && !self.restarts && !probes {
            self.mode = Mode::ProbeRtt { until: None, round: false };
            self.save_window(window);
        }
        if let Mode::ProbeRtt { until, round } = self.mode {
            match until {
                None if sample.in_flight <= self.least(window) => {
                    self.path.begin_round(sample.delivered);
                    let until = Some(now + self.config.probe_rtt_duration);
                    self.mode = Mode::ProbeRtt { until, round: false };
                }
                None => {}
                Some(_) => {
                    let round = round || self.path.round_starts;
                    self.mode = Mode::ProbeRtt { until, round };
                    if round {
                        self.end_probe_rtt(window, now);
                    }
                }
            }
        }
        self.restarts &= sample.acked == 0;
    }

    /// ProbeRtt is over after its duration: the window is that of before.
    fn end_probe_rtt(&mut self, window: &mut Window, now: Time) {
        let Mode::ProbeRtt { until: Some(until), .. } = self.mode else { return };
        if now <= until {
            return;
        }
        self.path.confirm_round_trip(now);
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        if self.is_pipe_full() {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn least(&self, window: &Window) -> u64 {
        u64::from(self.config.min_cwnd) * window.mss
    }

    /// Keeps the window for the time after a recovery or ProbeRtt; the larger one, if both overlap.
    fn save_window(&mut self, window: &Window) {
        let probes = matches!(self.mode, Mode::ProbeRtt { .. });
        let before = if self.repair == Repairing::Nothing && !probes { 0 } else { self.prior_cwnd };
        self.prior_cwnd = before.max(window.cwnd);
    }

    fn set_rate(&mut self, window: &Window, sample: &Sample) {
        if let (false, Some(smoothed)) = (self.has_round_trip, sample.smoothed) {
            self.has_round_trip = true;
            self.pace_by(window, smoothed);
        }
        let rate = self.paced(self.path.bandwidth(), self.gains().0);
        if self.is_pipe_full() || rate > self.rate {
            self.rate = rate;
        }
    }

    /// The window in a recovery and at its beginning and end: whether it is set by that.
    fn conserve(&mut self, window: &mut Window, sample: &Sample) -> bool {
        let before = std::mem::replace(&mut self.repair, sample.repair);
        window.cwnd = window.cwnd.saturating_sub(sample.lost).max(window.mss);
        let sent = sample.in_flight + sample.acked;
        if sample.repair == Repairing::Recovery && before != Repairing::Recovery {
            self.conserves = true;
            self.path.begin_round(sample.delivered);
            window.cwnd = sent;
        } else if before > Repairing::Nothing && sample.repair == Repairing::Nothing {
            window.cwnd = window.cwnd.max(self.prior_cwnd);
            self.conserves = false;
        }
        if self.conserves {
            window.cwnd = window.cwnd.max(sent);
        }
        self.conserves
    }

    fn set_window(&mut self, window: &mut Window, sample: &Sample) {
        if sample.acked > 0 && !self.conserve(window, sample) {
            let target = self.target(self.gains().1, window.mss);
            if self.is_pipe_full() {
                window.cwnd = (window.cwnd + sample.acked).min(target);
            } else if window.cwnd < target || sample.delivered < INITIAL * window.mss {
                window.cwnd += sample.acked;
            }
            window.cwnd = window.cwnd.max(self.least(window));
        }
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            window.cwnd = window.cwnd.min(self.least(window));
        }
    }
}

impl Control for Model {
    fn start(&mut self, window: &Window, round_trip: Option<Time>, now: Time) {
        if let Some(round_trip) = round_trip {
            self.has_round_trip = true;
            self.path.take_round_trip(round_trip, now, false);
        }
        self.pace_by(window, round_trip.unwrap_or(self.config.initial_round_trip));
    }

    fn seed(&mut self, stream: Stream) {
        self.stream = stream;
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample) -> bool {
        self.path.take_rate(sample, &self.config);
        if self.path.round_starts {
            self.conserves = false;
        }
        self.advance_phase(sample, window.mss);
        self.path.check_full(sample, &self.config);
        self.check_drain(window, sample);
        self.take_round_trip(window, sample);
        self.set_rate(window, sample);
        self.set_window(window, sample);
        matches!(self.mode, Mode::ProbeRtt { .. })
    }

    fn on_restart(&mut self, window: &mut Window, now: Time) {
        self.restarts = true;
        match self.mode {
            Mode::ProbeBw(_) => self.rate = self.paced(self.path.bandwidth(), 1.0),
            Mode::ProbeRtt { .. } => self.end_probe_rtt(window, now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// The window is set by samples: an acknowledgement alone does not let it grow.
    fn on_ack(&mut self, _window: &mut Window, _ack: &Ack, _siblings: &mut impl Siblings) {}

    /// Neither losses nor marks reduce it; after a timeout the connection begins with one segment.
    fn on_congestion_event(&mut self, window: &mut Window, event: &CongestionEvent) {
        if event.cause == Cause::EcnEcho {
            return;
        }
        self.save_window(window);
        if let Cause::Timeout { .. } = event.cause {
            self.repair = Repairing::Timeout;
            self.path.forget_growth();
        }
    }

    fn on_recovery_ack(&mut self, _window: &mut Window, _ack: &Ack, recovery: Recovery) -> Step {
        if recovery.full { Step::Leave } else { Step::Repair { restart_timer: true } }
    }

    fn on_echo(&mut self, _ack: &Ack) -> Answer {
        Answer { grow: true, reduce: false, ends_slow_start: false }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.rate)
    }
}

#[cfg(test)]
mod tests;
