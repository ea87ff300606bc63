//! CUBIC (RFC 9438): in congestion avoidance the window is a cubic function of the time since the last reduction.
//!
//! ```text
//! W_cubic(t) = C (t - K)^3 + W_max,   K = cbrt((W_max - cwnd_epoch) / C)                (equations 1 and 2)
//! W_est += alpha acked / cwnd,        alpha = 3 (1 - beta) / (1 + beta), 1 once W_est is cwnd_prior   (equation 4)
//! ```
//!
//! in segments and seconds. An acknowledged segment lets the window grow by (target - cwnd) / cwnd, where target is
//! W_cubic(t + RTT) between cwnd and 1.5 cwnd; where W_cubic(t) is below W_est, the window of Reno with the same beta, the
//! window is W_est (the Reno-friendly region). A reduction leaves beta of the window. t starts with congestion avoidance
//! and stands still while something other than the window limits the flow (section 5.8).
//!
//! Slow start and its end (section 4.10), the scoreboard and the answer to spurious losses (section 4.9) are TCP's: see
//! `slow_start` and `sender`. Without SACK fast recovery is NewReno's. The growth of (target - cwnd) / cwnd is for each
//! acknowledged segment, as in Linux, so that delayed acknowledgements do not slow it down; section 4.4 has
//! it for each acknowledgement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::new_reno::{self, NewReno};
use super::{Ack, Cause, CongestionEvent, Control, Recovery, Settings, Siblings, Step, Window};
use crate::transport::tcp::preset::Preset;
use crate::units::Time;

/// CUBIC: a window that grows by the time since the last reduction, and not by round trips (RFC 9438).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cubic {
    /// C, by which the cubic function is scaled, in segments per cubic second (RFC 9438, 5: 0.4).
    #[schemars(range(min = 0.000001, max = 1_000_000_000.0))]
    pub c: f64,
    /// Share of the window that a loss or a mark leaves (RFC 9438, 4.6, and Linux: 0.7; RFC 5681 would be 0.5).
    #[schemars(range(min = 0.01, max = 0.99))]
    pub beta: f64,
    /// Whether a flow that is reduced before it has reached its last maximum takes (1 + beta) / 2 of its
    /// window for the new maximum, to leave room to newer flows (RFC 9438, 4.7).
    pub fast_convergence: bool,
    /// Whether the window is at least that of Reno with the same beta (RFC 9438, 4.3). In a data centre, where a round
    /// trip takes microseconds, this decides alone.
    pub reno_friendly: bool,
    /// Growth of Reno's window once it is back at the maximum before the reduction. Absent: "rfc"; under TCP's preset
    /// "linux" "constant".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub friendly_alpha: Option<FriendlyAlpha>,
    /// Share of the window by which it grows in a round trip at least, as long as there has been no reduction, and none
    /// since a timeout: Linux has 0.05, RFC 9438 none. Absent: 0; under TCP's preset "linux" 0.05.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    pub first_growth: Option<f64>,
    /// Upper bound of the target as a multiple of the window (RFC 9438, 4.2: 1.5).
    #[schemars(range(min = 1, max = 100))]
    pub max_target: f64,
    /// Recovery from losses.
    pub losses: NewReno,
}

/// Growth of Reno's window as CUBIC computes it, in segments a round trip, with beta = 0.7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FriendlyAlpha {
    /// 0.53 up to the window before the reduction and 1 from there on (RFC 9438, 4.3).
    Rfc,
    /// 0.53 always, and the window comes up to Reno's whole segments by their distance for each window of acknowledged
    /// segments, rather than at once (Linux; Ha, Rhee, Xu, 2008).
    Constant,
}

impl Cubic {
    /// The defaults.
    pub const DEFAULT: Cubic = Cubic {
        c: 0.4,
        beta: 0.7,
        fast_convergence: true,
        reno_friendly: true,
        friendly_alpha: None,
        first_growth: None,
        max_target: 1.5,
        losses: NewReno::DEFAULT,
    };
}

impl Default for Cubic {
    fn default() -> Self {
        Cubic::DEFAULT
    }
}

impl Settings for Cubic {
    fn fill(&mut self, preset: Preset) {
        let linux = preset == Preset::Linux;
        self.friendly_alpha.get_or_insert(if linux { FriendlyAlpha::Constant } else { FriendlyAlpha::Rfc });
        self.first_growth.get_or_insert(if linux { 0.05 } else { 0.0 });
    }
}

/// The maxima of the window, and the stage of congestion avoidance. Windows are in segments.
#[derive(Clone, Debug)]
pub struct Model {
    c: f64,
    beta: f64,
    alpha: f64,
    /// Reno's growth beyond the window before the reduction.
    alpha_beyond: f64,
    /// Whether the window follows that of Reno by acknowledgements.
    follows: bool,
    first_growth: f64,
    fast_convergence: bool,
    reno_friendly: bool,
    max_target: f64,
    losses: new_reno::Model,
    /// W_max; none before the first reduction and after a timeout: then it is the window with which avoidance begins.
    w_max: Option<f64>,
    /// The window before the last reduction.
    cwnd_prior: f64,
    stage: Option<Stage>,
    /// Share of a byte by which the window is larger than whole bytes.
    fraction: f64,
}

/// A stage of congestion avoidance, up to the next reduction.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// When it began, put off by the time in which the window did not limit the flow.
    start: Time,
    k: f64,
    w_max: f64,
    w_est: f64,
    /// The last acknowledgement, and whether something else than the window limited the flow then.
    last: Time,
    app_limited: bool,
    /// Whether no reduction has set a maximum.
    first: bool,
}

impl Model {
    pub(super) fn new(config: &Cubic) -> Model {
        let alpha = 3.0 * (1.0 - config.beta) / (1.0 + config.beta);
        let constant = config.friendly_alpha == Some(FriendlyAlpha::Constant);
        Model {
            c: config.c,
            beta: config.beta,
            alpha,
            alpha_beyond: if constant { alpha } else { 1.0 },
            follows: constant,
            first_growth: config.first_growth.unwrap_or(0.0),
            fast_convergence: config.fast_convergence,
            reno_friendly: config.reno_friendly,
            max_target: config.max_target,
            losses: new_reno::Model::new(&config.losses),
            w_max: None,
            cwnd_prior: 0.0,
            stage: None,
            fraction: 0.0,
        }
    }

    /// The stage that begins with a window of so many segments (equation 2).
    fn begin(&mut self, cwnd: f64, now: Time) -> Stage {
        let first = self.w_max.is_none();
        let w_max = *self.w_max.get_or_insert(cwnd);
        let k = libm::cbrt((w_max - cwnd).max(0.0) / self.c);
        Stage { start: now, k, w_max, w_est: cwnd, last: now, app_limited: false, first }
    }

    /// W_cubic so many seconds after the stage has begun (equation 1).
    fn w_cubic(&self, stage: &Stage, t: f64) -> f64 {
        let since = t - stage.k;
        self.c * since * since * since + stage.w_max
    }

    fn grow_in_avoidance(&mut self, window: &mut Window, ack: &Ack) {
        let mss = window.mss as f64;
        let cwnd = (window.cwnd as f64 + self.fraction) / mss;
        let mut stage = match self.stage {
            Some(stage) => stage,
            None => self.begin(cwnd, ack.now),
        };
        if stage.app_limited {
            stage.start = stage.start + (ack.now - stage.last);
        }
        (stage.last, stage.app_limited) = (ack.now, ack.app_limited);
        if ack.may_grow && !ack.app_limited {
            let (t, rtt) = ((ack.now - stage.start).seconds(), ack.smoothed_rtt.unwrap_or(ack.rtt).seconds());
            let acked = ack.acked as f64 / mss;
            let alpha = if stage.w_est < self.cwnd_prior { self.alpha } else { self.alpha_beyond };
            stage.w_est += alpha * acked / cwnd;
            let least = if stage.first { 1.0 + self.first_growth } else { 1.0 };
            let least = least.min(self.max_target);
            let target = self.w_cubic(&stage, t + rtt).clamp(least * cwnd, self.max_target * cwnd);
            let cubic = cwnd + (target - cwnd) / cwnd * acked;
            let next = if self.reno_friendly && self.follows {
                let distance = libm::floor(stage.w_est) - libm::floor(cwnd);
                cubic.max(cwnd + (distance / cwnd).min(self.max_target - 1.0) * acked)
            } else if self.reno_friendly && self.w_cubic(&stage, t) < stage.w_est {
                stage.w_est.max(cwnd)
            } else {
                cubic
            };
            let bytes = next * mss;
            window.cwnd = bytes as u64;
            self.fraction = bytes - window.cwnd as f64;
        }
        self.stage = Some(stage);
    }

    /// The window after a reduction (section 4.6).
    fn reduced(&self, window: &Window) -> u64 {
        window.reduced_to(self.beta)
    }

    /// A congestion event other than a timeout: the maxima (section 4.7).
    fn note_maximum(&mut self, window: &Window) {
        let cwnd = window.usable() as f64 / window.mss as f64;
        let falls = self.fast_convergence && self.w_max.is_some_and(|w_max| cwnd < w_max);
        self.w_max = Some(if falls { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd });
        self.cwnd_prior = cwnd;
    }
}

impl Control for Model {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, siblings: &mut impl Siblings) {
        if window.is_in_slow_start() {
            if ack.may_grow {
                window.grow_in_slow_start(ack.acked);
            }
            return;
        }
        window.after_timeout = false;
        match siblings.increase(window, ack.acked) {
            // Coupled subflows grow by their coupling.
            Some(coupled) if ack.may_grow => window.cwnd += coupled,
            Some(_) => {}
            None => self.grow_in_avoidance(window, ack),
        }
    }

    fn on_congestion_event(&mut self, window: &mut Window, event: &CongestionEvent) {
        self.stage = None;
        self.fraction = 0.0;
        match event.cause {
            Cause::FastRetransmit { dupacks } => {
                self.note_maximum(window);
                window.ssthresh = self.reduced(window);
                window.cwnd = window.ssthresh + u64::from(dupacks) * window.mss;
            }
            Cause::EcnEcho => {
                self.note_maximum(window);
                window.ssthresh = self.reduced(window);
                window.cwnd = window.cwnd.min(window.ssthresh);
            }
            // Section 4.8: as RFC 5681, with beta.
            Cause::Timeout { first } => {
                if first {
                    self.cwnd_prior = window.usable() as f64 / window.mss as f64;
                    window.ssthresh = self.reduced(window);
                }
                self.w_max = None;
                window.cwnd = window.mss;
            }
        }
    }

    fn on_recovery_ack(&mut self, window: &mut Window, ack: &Ack, recovery: Recovery) -> Step {
        self.losses.on_recovery_ack(window, ack, recovery)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::source::Messages;
    use crate::transport::tcp::congestion::fixtures::{MSS, acked_segment, event, window};

    fn lose(model: &mut Model, window: &mut Window, cause: Cause) {
        window.flight = window.cwnd;
        model.on_congestion_event(window, &event(cause, Time::ZERO));
        if matches!(cause, Cause::FastRetransmit { .. }) {
            window.cwnd = window.ssthresh;
        }
    }

    const LOSS: Cause = Cause::FastRetransmit { dupacks: 3 };

    /// An acknowledgement of a segment at that time, with a round trip of no length, so that W_cubic(t + RTT) is W_cubic(t).
    fn ack(ms: f64) -> Ack {
        Ack { may_grow: true, ..acked_segment(Time((ms * 1e9) as u64), Time::ZERO) }
    }

    fn acknowledge(model: &mut Model, window: &mut Window, ack: &Ack) {
        model.on_ack(window, ack, &mut Messages::default());
    }

    /// By hand: a loss at 1000 segments leaves 700; K = cbrt(300 / 0.4) = 9.0856 s. From the beginning of avoidance on the
    /// function goes 700 at 0, W_max at K, and by equation 1 beyond: 0.4 (t - K)^3 + 1000.
    #[test]
    fn the_function_by_hand() {
        let mut model = Model::new(&Cubic::default());
        let mut window = window(1000);
        lose(&mut model, &mut window, LOSS);
        assert_eq!((window.ssthresh, window.cwnd), (700 * MSS, 700 * MSS));
        let stage = model.begin(700.0, Time::ZERO);
        assert!((stage.k - 9.085_602_964).abs() < 1e-6, "{}", stage.k);
        for (t, expected) in
            [(0.0, 700.0), (1.0, 788.555), (5.0, 972.721), (stage.k, 1000.0), (12.0, 1009.902)]
        {
            assert!((model.w_cubic(&stage, t) - expected).abs() < 1e-3, "{t}: {}", model.w_cubic(&stage, t));
        }
    }

    /// Acknowledgements close to each other hold the window to W_cubic(t): each moves it by (target - cwnd) / cwnd, and a
    /// window of them closes all but 1 / e of the distance. 700 segments every 10 ms are 70 000 a second.
    #[test]
    fn the_window_follows_the_function() {
        let mut model = Model::new(&Cubic { reno_friendly: false, ..Cubic::default() });
        let mut window = window(1000);
        lose(&mut model, &mut window, LOSS);
        let k = libm::cbrt(300.0 / 0.4);
        for step in 0..=14_000 {
            let ms = f64::from(step);
            for part in 0..70 {
                acknowledge(&mut model, &mut window, &ack(ms + f64::from(part) / 70.0));
            }
            if step % 1000 == 999 {
                let t = (ms + 69.0 / 70.0) / 1000.0;
                let expected = 0.4 * (t - k) * (t - k) * (t - k) + 1000.0;
                let found = window.cwnd as f64 / MSS as f64;
                // It lags by a window of acknowledgements: by 15 ms at a slope of 99 segments a second at first.
                assert!((found - expected).abs() < 1.5, "{t} s: {found}, not {expected}");
            }
        }
    }

    /// One acknowledgement by hand: 10 s after the stage has begun at 700 segments the target is
    /// W_cubic(10) = 1000.306, the window grows by (1000.306 - 700) / 700. Were it above 1050, 1050 would be the target.
    #[test]
    fn one_acknowledgement_by_hand() {
        for (seconds, grown) in [(10.0, 0.429_008), (20.0, 0.5)] {
            let mut model = Model::new(&Cubic { reno_friendly: false, ..Cubic::default() });
            let mut window = window(1000);
            lose(&mut model, &mut window, LOSS);
            acknowledge(&mut model, &mut window, &ack(0.0));
            assert_eq!(window.cwnd, 700 * MSS);
            acknowledge(&mut model, &mut window, &ack(seconds * 1e3));
            let found = (window.cwnd as f64 + model.fraction) / MSS as f64 - 700.0;
            assert!((found - grown).abs() < 1e-5, "{seconds} s: {found}");
        }
    }

    /// Section 4.3 by hand: after a loss at 100 segments the window grows from 70 by alpha = 3 * 0.3 / 1.7 = 0.529 segments
    /// for a window of acknowledgements up to 100, and by a segment from there on, as long as no time passes.
    #[test]
    fn the_window_of_reno_by_hand() {
        let mut model = Model::new(&Cubic::default());
        let mut window = window(100);
        lose(&mut model, &mut window, LOSS);
        let mut cwnd = 70.0;
        for _ in 0..10_000 {
            let alpha = if cwnd < 100.0 { 0.9 / 1.7 } else { 1.0 };
            acknowledge(&mut model, &mut window, &ack(0.0));
            cwnd += alpha / cwnd;
            assert!((window.cwnd as f64 / MSS as f64 - cwnd).abs() < 0.002, "{} is not {cwnd}", window.cwnd);
        }
        assert!(cwnd > 110.0);
    }

    /// Section 4.7: a flow that comes down again below its last maximum takes 0.85 of its window for the new one.
    #[test]
    fn fast_convergence_by_hand() {
        for (fast_convergence, expected) in [(true, 0.85 * 80.0), (false, 80.0)] {
            let mut model = Model::new(&Cubic { fast_convergence, ..Cubic::default() });
            let mut first = window(100);
            lose(&mut model, &mut first, LOSS);
            assert_eq!(model.w_max, Some(100.0));
            let mut second = window(80);
            lose(&mut model, &mut second, Cause::EcnEcho);
            assert_eq!((second.cwnd, second.ssthresh), (56 * MSS, 56 * MSS));
            assert_eq!(model.w_max, Some(expected));
            // Above the last maximum there is nothing to give up.
            lose(&mut model, &mut window(90), LOSS);
            assert_eq!(model.w_max, Some(90.0));
        }
    }

    /// Section 4.8: a timeout leaves a segment and beta of the window for the threshold; avoidance begins with K = 0.
    #[test]
    fn after_a_timeout() {
        let mut model = Model::new(&Cubic::default());
        let mut window = window(100);
        lose(&mut model, &mut window, Cause::Timeout { first: true });
        assert_eq!((window.cwnd, window.ssthresh), (MSS, 70 * MSS));
        lose(&mut model, &mut window, Cause::Timeout { first: false });
        assert_eq!((window.cwnd, window.ssthresh), (MSS, 70 * MSS));
        while window.is_in_slow_start() {
            acknowledge(&mut model, &mut window, &ack(0.0));
        }
        assert_eq!(window.cwnd, 70 * MSS);
        acknowledge(&mut model, &mut window, &ack(0.0));
        let stage = model.stage.expect("avoidance has begun");
        assert_eq!((stage.k, stage.w_max), (0.0, 70.0));
        // Up to the 100 segments of before the timeout the window of Reno grows by alpha (section 4.3).
        let grown = stage.w_est - 70.0;
        assert!((grown - 0.9 / 1.7 / 70.0).abs() < 1e-9, "{grown}");
    }

    /// Section 5.8: time in which the window is not the limit does not count, and lets nothing grow.
    #[test]
    fn limited_by_the_application() {
        let mut model = Model::new(&Cubic { reno_friendly: false, ..Cubic::default() });
        let mut window = window(1000);
        lose(&mut model, &mut window, LOSS);
        acknowledge(&mut model, &mut window, &ack(0.0));
        acknowledge(&mut model, &mut window, &Ack { app_limited: true, ..ack(1000.0) });
        assert_eq!(window.cwnd, 700 * MSS);
        // Of 5 s the 4 from the acknowledgement that was limited on do not count: t is 1 s, W_cubic(1) = 788.555.
        acknowledge(&mut model, &mut window, &ack(5000.0));
        let found = (window.cwnd as f64 + model.fraction) / MSS as f64;
        assert!((found - 700.0 - 88.555_094 / 700.0).abs() < 1e-5, "{found}");
    }

    /// RFC 9438, section 4.2: the target is W_cubic(t + RTT) with the smoothed round trip, here 100 ms, whatever the last sample
    /// was. By hand, 10 s after the stage has begun at 700 segments: 0.4 (10.1 - K)^3 + 1000 with K = cbrt(300 / 0.4).
    #[test]
    fn the_target_is_a_smoothed_round_trip_ahead() {
        for (smoothed, ahead) in [(Some(Time::from_us(100_000)), 0.1), (None, 0.05)] {
            let mut model = Model::new(&Cubic { reno_friendly: false, ..Cubic::default() });
            let mut window = window(1000);
            lose(&mut model, &mut window, LOSS);
            let ack = |ms: u64| Ack {
                smoothed_rtt: smoothed,
                ..acked_segment(Time::from_us(1000 * ms), Time::from_us(50_000))
            };
            acknowledge(&mut model, &mut window, &ack(0));
            acknowledge(&mut model, &mut window, &Ack { may_grow: true, ..ack(10_000) });
            let since = 10.0 + ahead - libm::cbrt(750.0);
            let target = 0.4 * since * since * since + 1000.0;
            let found = (window.cwnd as f64 + model.fraction) / MSS as f64 - 700.0;
            assert!((found - (target - 700.0) / 700.0).abs() < 1e-9, "{found}");
        }
    }
}
