//! Swift (Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM 2020).
//!
//! Each acknowledgement brings a delay, the time since its segment was sent, which is held against a target
//! (sections 3.1 and 3.5, algorithm 1):
//!
//! ```text
//! target = base_target + hops * hop_target + max(0, min(a / sqrt(cwnd) + b, fs_range))
//! a = fs_range / (1 / sqrt(fs_min_cwnd) - 1 / sqrt(fs_max_cwnd)),   b = -a / sqrt(fs_max_cwnd)
//! below:  cwnd += ai / cwnd for each acknowledged segment; ai if cwnd is below 1
//! else:   cwnd *= max(1 - beta (delay - target) / delay, 1 - max_mdf), at most once a round trip
//! ```
//!
//! with windows in segments. A fast retransmit, and a timeout, takes max_mdf of the window, likewise at most once a round
//! trip; repeated timeouts without an acknowledgement between them lower it to its minimum. A window below one segment is
//! one segment that is paced: the next follows after rtt / cwnd.
//!
//! A decrease comes once a round trip: only if the segment that brings the delay was sent after the last decrease.
//!
//! Left out: the split of the delay into those of fabric and endpoint, with a window for each (section 3.2), as hosts of a
//! run take no time to process a packet: the window is the fabric's. Selective acknowledgements: fast recovery is
//! NewReno's, and in it the window does not grow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ack, Answer, Cause, CongestionEvent, Control, Pace, Recovery, Settings, Siblings, Step, Window};
use crate::problem::Problem;
use crate::units::{Rate, Time};

/// Swift: windows by delay, measured on each segment against a target (Kumar et al., SIGCOMM 2020). The paper leaves most
/// constants to measurement; where it is not named, the default is that of htsim, which calls most of its values guesses.
/// Every segment is acknowledged at once, and marks (ECN) are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Swift {
    /// Target of the delay without hops and flow scaling: at least the round trip within a rack (htsim: 20 us).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub base_target: Time,
    /// Contribution of each hop of the path to the target: topology scaling (htsim: 20 us / 6.55). A hop is a
    /// link that the acknowledgement has taken.
    #[schemars(extend("x-maximum" = "1s"))]
    pub hop_target: Time,
    /// Largest contribution of flow scaling to the target, by which many flows with small windows accept a
    /// longer queue (htsim: five times base_target). 0: none.
    #[schemars(extend("x-maximum" = "1s"))]
    pub fs_range: Time,
    /// Window in segments at which flow scaling adds all of fs_range (htsim: 0.1).
    #[schemars(range(min = 0.000001, max = 1_000_000))]
    pub fs_min_cwnd: f64,
    /// Window in segments at which flow scaling adds nothing (htsim: 100).
    #[schemars(range(min = 0.000001, max = 1_000_000))]
    pub fs_max_cwnd: f64,
    /// Additive increase in segments per round trip (htsim: 1).
    #[schemars(range(min = 0.000001, max = 1000))]
    pub ai: f64,
    /// Share of the excess delay by which the window is lowered (htsim: 0.8).
    #[schemars(range(min = 0.000001, max = 1))]
    pub beta: f64,
    /// Largest share of the window that one decrease takes (htsim: 0.5).
    #[schemars(range(min = 0.000001, max = 0.999))]
    pub max_mdf: f64,
    /// Least window in segments (a choice made here; htsim: 10 bytes, 0.007 of its segments).
    #[schemars(range(min = 0.000001, max = 1))]
    pub min_cwnd: f64,
    /// Largest window in segments (htsim: 1000).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_cwnd: f64,
    /// So many timeouts without an acknowledgement between them lower the window to the least (htsim: 5).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub retransmit_reset_threshold: u32,
}

impl Default for Swift {
    fn default() -> Self {
        Swift {
            base_target: Time::from_us(20),
            hop_target: Time::from_ns(3_053),
            fs_range: Time::from_us(100),
            fs_min_cwnd: 0.1,
            fs_max_cwnd: 100.0,
            ai: 1.0,
            beta: 0.8,
            max_mdf: 0.5,
            min_cwnd: 0.001,
            max_cwnd: 1000.0,
            retransmit_reset_threshold: 5,
        }
    }
}

impl Settings for Swift {
    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.fs_max_cwnd <= self.fs_min_cwnd {
            let why = format!("{} is not above fs_min_cwnd, which is {}", self.fs_max_cwnd, self.fs_min_cwnd);
            problems.push(Problem::new("fs_max_cwnd", why));
        }
        problems
    }

    fn acknowledges_each_segment(&self) -> bool {
        true
    }

    fn pace(&self) -> Pace {
        Pace::Strict
    }
}

/// The window, in segments, and the time of its last decrease.
#[derive(Clone, Debug)]
pub struct Model {
    config: Swift,
    /// a and b of flow scaling, in picoseconds.
    fs_alpha: f64,
    fs_beta: f64,
    /// None before the first acknowledgement: the initial window.
    cwnd: Option<f64>,
    last_decrease: Option<Time>,
    /// The delay of the last acknowledgement.
    rtt: Time,
    retransmits: u32,
    /// Bytes that stand for segments which have left the network during fast recovery.
    inflation: u64,
    /// At which segments are sent, if the window is below one.
    rate: Option<Rate>,
}

impl Model {
    pub(super) fn new(config: &Swift) -> Model {
        let (least, most) = (1.0 / libm::sqrt(config.fs_min_cwnd), 1.0 / libm::sqrt(config.fs_max_cwnd));
        let fs_alpha = config.fs_range.0 as f64 / (least - most);
        Model {
            config: config.clone(),
            fs_alpha,
            fs_beta: -fs_alpha * most,
            cwnd: None,
            last_decrease: None,
            rtt: Time::ZERO,
            retransmits: 0,
            inflation: 0,
            rate: None,
        }
    }

    /// The target of the delay in picoseconds, with a window of so many segments over a path of so many hops.
    fn target(&self, cwnd: f64, hops: u8) -> f64 {
        let Swift { base_target, hop_target, fs_range, .. } = self.config;
        let scaling = (self.fs_alpha / libm::sqrt(cwnd) + self.fs_beta).min(fs_range.0 as f64).max(0.0);
        base_target.0 as f64 + f64::from(hops) * hop_target.0 as f64 + scaling
    }

    /// The window in segments.
    fn segments(&self, window: &Window) -> f64 {
        self.cwnd.unwrap_or(window.cwnd as f64 / window.mss as f64)
    }

    /// Whether the last decrease is a round trip ago: see the head of the file.
    fn can_decrease(&self, now: Time, rtt: Time) -> bool {
        self.last_decrease.is_none_or(|last| now.saturating_sub(last) >= rtt)
    }

    /// Sets the window, within its bounds, and how the connection sends by it: a window below a segment is a segment that
    /// is paced.
    fn set(&mut self, cwnd: f64, window: &mut Window, now: Time) {
        let before = self.segments(window);
        let cwnd = cwnd.clamp(self.config.min_cwnd, self.config.max_cwnd);
        if cwnd < before {
            self.last_decrease = Some(now);
        }
        self.cwnd = Some(cwnd);
        let bytes = cwnd * window.mss as f64;
        window.ssthresh = (bytes as u64).max(window.mss);
        window.cwnd = window.ssthresh + self.inflation;
        self.rate = (cwnd < 1.0).then(|| {
            let rtt = Time(self.rtt.0.max(1)).seconds();
            Rate((libm::round(8.0 * bytes / rtt) as u64).max(1))
        });
    }

    /// Algorithm 1, on receiving an acknowledgement.
    fn take(&mut self, window: &mut Window, ack: &Ack) {
        self.retransmits = 0;
        self.rtt = ack.rtt;
        let cwnd = self.segments(window);
        let (delay, target) = (ack.rtt.0 as f64, self.target(cwnd, ack.hops));
        let next = if delay < target {
            let acked = if ack.may_grow { ack.acked as f64 / window.mss as f64 } else { 0.0 };
            cwnd + self.config.ai * acked / cwnd.max(1.0)
        } else if self.can_decrease(ack.now, ack.rtt) {
            let factor = 1.0 - self.config.beta * (delay - target) / delay;
            cwnd * factor.max(1.0 - self.config.max_mdf)
        } else {
            cwnd
        };
        self.set(next, window, ack.now);
    }

    /// A loss takes the largest share, at most once a round trip.
    fn lose(&mut self, window: &mut Window, now: Time) {
        let cwnd = self.segments(window);
        let kept = if self.can_decrease(now, self.rtt) { 1.0 - self.config.max_mdf } else { 1.0 };
        self.set(cwnd * kept, window, now);
    }
}

impl Control for Model {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _siblings: &mut impl Siblings) {
        self.inflation = 0;
        let given = window.cwnd as f64 / window.mss as f64;
        if self.cwnd.is_some_and(|cwnd| given + 1.0 < cwnd) {
            // The connection has lowered it after a silence (`idle_restart`).
            self.cwnd = Some(given);
        }
        self.take(window, ack);
    }

    fn on_congestion_event(&mut self, window: &mut Window, event: &CongestionEvent) {
        match event.cause {
            Cause::FastRetransmit { dupacks } => {
                self.retransmits = 0;
                self.inflation = u64::from(dupacks) * window.mss;
                self.lose(window, event.now);
            }
            Cause::Timeout { .. } => {
                self.retransmits += 1;
                self.inflation = 0;
                if self.retransmits >= self.config.retransmit_reset_threshold {
                    self.set(0.0, window, event.now);
                } else {
                    self.lose(window, event.now);
                }
            }
            Cause::EcnEcho => {}
        }
    }

    fn on_duplicate(&mut self, window: &mut Window, ack: &Ack) {
        self.inflation += window.mss;
        self.take(window, ack);
    }

    /// As in NewReno: a partial acknowledgement deflates by the bytes that it acknowledges, and adds a
    /// segment back.
    fn on_recovery_ack(&mut self, window: &mut Window, ack: &Ack, recovery: Recovery) -> Step {
        self.inflation = self.inflation.saturating_sub(ack.acked);
        if recovery.full {
            self.inflation = 0;
        } else if ack.acked >= window.mss {
            self.inflation += window.mss;
        }
        self.take(window, ack);
        if recovery.full { Step::Leave } else { Step::Repair { restart_timer: recovery.first_partial } }
    }

    /// It ignores marks.
    #[inline]
    fn on_echo(&mut self, _ack: &Ack) -> Answer {
        Answer { grow: true, reduce: false, ends_slow_start: false }
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        self.rate
    }

    fn cwnd(&self, window: &Window) -> u64 {
        (self.segments(window) * window.mss as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::source::Messages;
    use crate::transport::tcp::congestion::fixtures::{MSS, acked_segment, event, window};

    /// Targets of 20 us without hops and flow scaling, with which delays are easy to compare.
    fn plain() -> Swift {
        Swift { hop_target: Time::ZERO, fs_range: Time::ZERO, ..Swift::default() }
    }

    /// The acknowledgement of a segment at so many microseconds, with a delay of so many.
    fn acknowledge(model: &mut Model, window: &mut Window, at: u64, delay: u64) {
        let (now, rtt) = (Time::from_us(at), Time::from_us(delay));
        let ack = Ack { may_grow: true, ..acked_segment(now, rtt) };
        model.on_ack(window, &ack, &mut Messages::default());
    }

    fn lose(model: &mut Model, window: &mut Window, cause: Cause, at: u64) {
        model.on_congestion_event(window, &event(cause, Time::from_us(at)));
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found} is not {expected}");
    }

    /// Section 3.5 by hand: between windows of 1 and 100 segments a range of 90 us gives a = 90 / (1 - 0.1) = 100 and
    /// b = -10 us: 90 us at 1, 40 at 4, 15 at 16, none from 100 on, and no more than 90 below 1. Hops add 3 us each.
    #[test]
    fn the_target_by_hand() {
        let model = Model::new(&Swift {
            base_target: Time::from_us(20),
            hop_target: Time::from_us(3),
            fs_range: Time::from_us(90),
            fs_min_cwnd: 1.0,
            fs_max_cwnd: 100.0,
            ..Swift::default()
        });
        for (cwnd, scaling) in
            [(0.01, 90.0), (1.0, 90.0), (4.0, 40.0), (16.0, 15.0), (100.0, 0.0), (400.0, 0.0)]
        {
            for hops in [0, 2, 6] {
                let expected = 20.0 + 3.0 * f64::from(hops) + scaling;
                assert!((model.target(cwnd, hops) / 1e6 - expected).abs() < 1e-9, "{cwnd}, {hops} hops");
            }
        }
        assert_eq!(Model::new(&plain()).target(0.5, 6), 20e6);
    }

    /// Below the target a window of acknowledgements adds a segment: 10 + 1/10, and so on. Below a segment each adds one.
    #[test]
    fn additive_increase() {
        let (mut model, mut window) = (Model::new(&plain()), window(10));
        let mut cwnd = 10.0;
        for at in 0..30 {
            acknowledge(&mut model, &mut window, at, 19);
            cwnd += 1.0 / cwnd;
            close(model.segments(&window), cwnd);
        }
        assert_eq!((window.cwnd, model.cwnd(&window)), ((cwnd * 1000.0) as u64, (cwnd * 1000.0) as u64));
        model.cwnd = Some(0.25);
        acknowledge(&mut model, &mut window, 100, 19);
        close(model.segments(&window), 1.25);
        // One by which it may not grow does not let it.
        let refused = acked_segment(Time::from_us(101), Time::from_us(19));
        model.on_ack(&mut window, &refused, &mut Messages::default());
        close(model.segments(&window), 1.25);
    }

    /// A delay of 25 us is 5 too long: 1 - 0.8 * 5 / 25 = 0.84 of the window is left. One of 200 us would leave 0.28, and
    /// leaves the half that max_mdf allows.
    #[test]
    fn multiplicative_decrease() {
        for (delay, left) in [(20, 10.0), (25, 8.4), (40, 6.0), (200, 5.0)] {
            let (mut model, mut window) = (Model::new(&plain()), window(10));
            acknowledge(&mut model, &mut window, 1000, delay);
            close(model.segments(&window), left);
        }
    }

    /// After a decrease at 1000 us, segments sent before it bring nothing more, whatever their delay; the first one sent
    /// then does, at 1050 us with a delay of 50.
    #[test]
    fn one_decrease_a_round_trip() {
        let (mut model, mut window) = (Model::new(&plain()), window(10));
        acknowledge(&mut model, &mut window, 1000, 40);
        close(model.segments(&window), 6.0);
        for (at, delay) in [(1001, 40), (1020, 45), (1049, 50)] {
            acknowledge(&mut model, &mut window, at, delay);
            close(model.segments(&window), 6.0);
        }
        acknowledge(&mut model, &mut window, 1050, 50);
        close(model.segments(&window), 6.0 * (1.0 - 0.8 * 30.0 / 50.0));
        // A loss in the same round trip takes nothing more, one in the next takes half.
        let left = model.segments(&window);
        lose(&mut model, &mut window, Cause::FastRetransmit { dupacks: 3 }, 1060);
        close(model.segments(&window), left);
        lose(&mut model, &mut window, Cause::FastRetransmit { dupacks: 3 }, 1100);
        close(model.segments(&window), left / 2.0);
        // Three segments have left the network.
        assert_eq!(window.cwnd, window.ssthresh + 3 * MSS);
    }

    /// A timeout takes half, the fifth in a row all but the least window; an acknowledgement starts the count anew.
    #[test]
    fn timeouts() {
        let (mut model, mut window) = (Model::new(&plain()), window(64));
        let timeout = Cause::Timeout { first: true };
        acknowledge(&mut model, &mut window, 0, 20);
        for (count, left) in [(1, 32.0), (2, 16.0), (3, 8.0), (4, 4.0), (5, 0.001), (6, 0.001)] {
            lose(&mut model, &mut window, timeout, 1000 * count);
            close(model.segments(&window), left);
        }
        acknowledge(&mut model, &mut window, 10_000, 19);
        lose(&mut model, &mut window, timeout, 20_000);
        close(model.segments(&window), 1.001 / 2.0);
    }

    /// A window of a quarter of a segment at a delay of 40 us: one segment each 160 us, which is 50 Mbps of payload.
    #[test]
    fn a_window_below_a_segment_is_paced() {
        let (mut model, mut window) = (Model::new(&plain()), window(1));
        model.cwnd = Some(0.25 / 0.6);
        acknowledge(&mut model, &mut window, 1000, 40);
        close(model.segments(&window), 0.25);
        assert_eq!((window.cwnd, model.cwnd(&window)), (MSS, 250));
        assert_eq!(model.pacing_rate(), Some(Rate(50_000_000)));
        assert_eq!(Rate(50_000_000).transmission(MSS), Time::from_us(160));
        acknowledge(&mut model, &mut window, 2000, 19);
        assert_eq!(model.pacing_rate(), None);
    }

    /// A round trip without decreases begins with a decrease alone: a delay of 40 us, a microsecond after an increase, takes
    /// its 0.4 at once.
    #[test]
    fn an_increase_puts_no_decrease_off() {
        let (mut model, mut window) = (Model::new(&plain()), window(10));
        acknowledge(&mut model, &mut window, 1000, 19);
        acknowledge(&mut model, &mut window, 1001, 40);
        close(model.segments(&window), 10.1 * 0.6);
    }
}
