//! BOS, "buffer occupancy suppression", the window of XMP (Cao et al., "Explicit multipath congestion control for data center
//! networks", CoNEXT 2013): a mark takes a fixed share off the window, at most once a round.
//!
//! A round ends when the data that was sent until its start is acknowledged. In congestion avoidance the window grows at the
//! end of each round without a reduction, by a segment or, with subflows, by what their coupling gives for a window
//! (`transport/session/trash.rs`). The first echo takes a `beta`-th of the window off and ends slow start; there is no
//! estimate as in DCTCP. A port that marks above K packets then stays busy if K >= BDP / (beta - 1). The rules are from memory
//! of the paper, as other work restates them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::new_reno::{self, NewReno};
use super::{Ack, Answer, Cause, CongestionEvent, Control, Recovery, Settings, Siblings, Step, Window};
use crate::transport::tcp::ecn::Echo;

/// BOS: marks take a fixed share off the window, which grows once a round (Cao et al. 2013).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bos {
    /// A mark takes 1 / beta of the window (XMP: 4).
    #[schemars(range(min = 1, max = 1000))]
    pub beta: f64,
    /// The way in which the receiver echoes marks. XMP's acknowledgements count up to three; BOS reacts to the first.
    pub echo: Echo,
    /// Lower bound of the window after a reduction for marks, in segments (XMP: 2).
    #[schemars(range(min = 1, max = 1000))]
    pub min_window: u32,
    /// Recovery from losses.
    pub losses: NewReno,
}

impl Default for Bos {
    fn default() -> Self {
        Bos { beta: 4.0, echo: Echo::Exact, min_window: 2, losses: NewReno::default() }
    }
}

impl Settings for Bos {
    fn echo(&self) -> Option<Echo> {
        Some(self.echo)
    }
}

/// The present round.
#[derive(Clone, Debug)]
pub struct Model {
    beta: f64,
    min_window: u64,
    /// The round is over when something beyond this byte is acknowledged.
    round_end: u64,
    /// Whether the window was reduced in it.
    reduced: bool,
    losses: new_reno::Model,
}

impl Model {
    pub(super) fn new(config: &Bos) -> Model {
        Model {
            beta: config.beta,
            min_window: u64::from(config.min_window),
            round_end: 0,
            reduced: false,
            losses: new_reno::Model::new(&config.losses),
        }
    }

    /// Takes the share of a mark off the window, and ends slow start.
    fn shrink(&self, window: &mut Window) {
        let cut = ((window.cwnd as f64 / self.beta) as u64).max(window.mss);
        let least = self.min_window * window.mss;
        // The floor never lifts a window that is below it.
        window.cwnd = window.cwnd.saturating_sub(cut).max(least).min(window.cwnd);
        window.ssthresh = window.cwnd - window.mss.min(window.cwnd);
    }
}

impl Control for Model {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, siblings: &mut impl Siblings) {
        if ack.may_grow && window.is_in_slow_start() {
            window.grow_in_slow_start(ack.acked);
        }
        if ack.una <= self.round_end {
            return;
        }
        if ack.may_grow && !window.is_in_slow_start() && !self.reduced {
            window.cwnd += siblings.increase(window, window.cwnd).unwrap_or(window.mss);
        }
        (self.round_end, self.reduced) = (ack.next, false);
    }

    /// Growth follows rounds: an acknowledgement with an echo lets the window grow as any other does.
    #[inline]
    fn on_echo(&mut self, ack: &Ack) -> Answer {
        Answer { grow: true, reduce: ack.marked, ends_slow_start: false }
    }

    fn on_congestion_event(&mut self, window: &mut Window, event: &CongestionEvent) {
        self.reduced = true;
        match event.cause {
            Cause::EcnEcho => self.shrink(window),
            loss => window.reduce(loss),
        }
    }

    fn on_recovery_ack(&mut self, window: &mut Window, ack: &Ack, recovery: Recovery) -> Step {
        self.losses.on_recovery_ack(window, ack, recovery)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::ack;
    use crate::transport::source::Messages;
    use crate::transport::tcp::congestion::Progress;
    use crate::transport::tcp::congestion::fixtures::{MSS, window};
    use crate::units::Time;

    fn ack(una: u64, next: u64) -> Ack {
        Ack {
            common: ack::Ack { acked: MSS, una, next, ..ack::Ack::default() },
            may_grow: true,
            ..Ack::default()
        }
    }

    fn mark(model: &mut Model, window: &mut Window) {
        let progress = Progress { left: 0, round_trip: None, time_left: None };
        let event = CongestionEvent { cause: Cause::EcnEcho, now: Time::ZERO, progress };
        model.on_congestion_event(window, &event);
    }

    /// A quarter goes, a segment at least, and two stay; the window is then in congestion avoidance.
    #[test]
    fn the_cut_by_hand() {
        for (segments, left) in [(100, 75), (8, 6), (3, 2), (2, 2), (1, 1)] {
            let (mut model, mut window) = (Model::new(&Bos::default()), window(segments));
            mark(&mut model, &mut window);
            assert_eq!((window.cwnd, window.is_in_slow_start()), (left * MSS, false), "{segments}");
        }
    }

    /// Rounds of ten segments in congestion avoidance: one segment for each, none for the round with the reduction.
    #[test]
    fn it_grows_once_a_round() {
        let (mut model, mut window) = (Model::new(&Bos::default()), window(10));
        window.ssthresh = MSS;
        let mut windows = Vec::new();
        let (mut una, mut next) = (0, 10 * MSS);
        for number in 0..60 {
            una += MSS;
            next += MSS;
            if number == 25 {
                mark(&mut model, &mut window);
            }
            model.on_ack(&mut window, &ack(una, next), &mut Messages::default());
            windows.push(window.cwnd / MSS);
        }
        // The first acknowledgement ends the empty first round. Those after it end with the segments 12, 23, 34 and so on.
        assert_eq!(windows[..24], [[11; 11].as_slice(), &[12; 11], &[13; 2]].concat());
        assert_eq!(windows[24], 13);
        // 13 segments less a quarter are 9.75; the round in which that was ends without growth.
        assert_eq!((windows[25], windows[33], windows[43], windows[44]), (9, 9, 9, 10));
    }

    /// In slow start it doubles in a round, as TCP does.
    #[test]
    fn slow_start_is_that_of_tcp() {
        let (mut model, mut window) = (Model::new(&Bos::default()), window(10));
        (1..=10).for_each(|n| model.on_ack(&mut window, &ack(n * MSS, 20 * MSS), &mut Messages::default()));
        assert_eq!(window.cwnd, 20 * MSS);
    }
}
