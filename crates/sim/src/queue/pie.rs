//! PIE: drops on arrival with a probability that a timer adjusts by the queueing delay (RFC 8033).
//!
//! The delay is the queued bytes over the link's rate, which is constant at a port (as in DOCSIS, RFC 8034),
//! in place of RFC 8033's measured departure rate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::waiting::Waiting;
use super::{Build, Feature, Limit, Settings};
use crate::advice::Unread;
use crate::engine::contract::discipline::{Discipline, DropReason, PortContext, Queued};
use crate::engine::contract::rules::BufferLimit;
use crate::ids::PacketId;
use crate::units::{Bytes, Time};

/// First-in first-out; arriving packets are dropped, or marked, with a probability that follows the queueing delay (PIE,
/// RFC 8033).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pie {
    /// QDELAY_REF, the queueing delay that is aimed at (RFC 8033, section 4.2: 15 ms).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "100s"))]
    pub target: Time,
    /// T_UPDATE, the time between two adjustments of the probability (RFC 8033, section 4.2: 15 ms).
    #[schemars(extend("x-minimum" = "100ns", "x-maximum" = "100s"))]
    pub update: Time,
    /// MAX_BURST, for which a port that was not congested drops nothing (RFC 8033, section 4.4: 150 ms).
    #[schemars(extend("x-maximum" = "100s"))]
    pub max_burst: Time,
    /// alpha, by how much the probability grows for each second above the target (RFC 8033, section 4.2: 0.125).
    #[schemars(range(min = 0.001, max = 1_000_000.0))]
    pub alpha: f64,
    /// beta, by how much it grows for each second by which the delay has grown (RFC 8033, section 4.2: 1.25).
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub beta: f64,
    /// MEAN_PKTSIZE: nothing is dropped while no more than two of these are queued (RFC 8033, section 4.1).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub mean_packet: Bytes,
    /// Whether ECN-capable packets are marked in place of dropped, up to `mark_most` (RFC 8033, section 5.1).
    pub ecn: bool,
    /// Mark_ecnth, the probability above which ECN-capable packets, too, are dropped (RFC 8033, section 5.1: 0.1).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub mark_most: f64,
    /// Limit of the queue, the packet on the wire not counted; more is dropped (Linux: 1000 packets).
    pub limit: Limit,
}

impl Default for Pie {
    fn default() -> Self {
        Pie {
            target: Time::from_us(15_000),
            update: Time::from_us(15_000),
            max_burst: Time::from_us(150_000),
            alpha: 0.125,
            beta: 1.25,
            mean_packet: Bytes(1024),
            ecn: false,
            mark_most: 0.1,
            limit: Limit::Packets(1000),
        }
    }
}

/// The probability is adjusted by its share of this below each bound, so that small ones move little (RFC 8033, section
/// 4.2).
const TUNING: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
/// From the probability of the first on, it grows by at most the second at once (RFC 8033, section 5.5).
const STEP_MOST: (f64, f64) = (0.1, 0.02);
/// It shrinks by this factor while nothing waits (RFC 8033, section 4.2).
const DECAY: f64 = 0.98;
/// Below the target's half, probabilities below this drop nothing (RFC 8033, section 4.1).
const SAFE: f64 = 0.2;
/// The probabilities of packets since the last drop: below the first sum none is dropped, from the second on each is
/// (RFC 8033, section 5.4).
const SPACED: (f64, f64) = (0.85, 8.5);

impl Settings for Pie {
    fn joins_buffer(&self) -> bool {
        true
    }

    fn for_marks(&self) -> &'static [&'static str] {
        &["ecn", "mark_most"]
    }

    fn unread(&self) -> Vec<Unread> {
        Unread::among([("mark_most", self.ecn, "ecn = true")])
    }

    fn offers(&self) -> &'static [Feature] {
        if self.ecn { &[Feature::Ecn] } else { &[] }
    }

    fn port_bytes(&self) -> usize {
        size_of::<State>()
    }

    fn most_packets(&self, full_packet: u64) -> Option<u64> {
        self.limit.room(full_packet).most_packets(full_packet)
    }
}

impl Build for Pie {
    type Model = Model;

    fn model(&self, full_packet: u64) -> Model {
        Model(Box::new(State {
            waiting: Waiting::default(),
            room: self.limit.room(full_packet),
            pie: self.clone(),
            probability: 0.0,
            sum: 0.0,
            delay: Time::ZERO,
            burst: self.max_burst,
        }))
    }
}

/// The queue at one port.
#[derive(Clone, Debug)]
pub struct Model(Box<State>);

#[derive(Clone, Debug)]
struct State {
    waiting: Waiting,
    room: BufferLimit,
    pie: Pie,
    /// drop_prob.
    probability: f64,
    /// accu_prob, of the packets since the last drop.
    sum: f64,
    /// The queueing delay at the last update.
    delay: Time,
    /// burst_allowance.
    burst: Time,
}

impl State {
    /// Whether an arriving packet is to be dropped or marked (RFC 8033, sections 4.1 and 5.4).
    fn hits(&mut self, cx: &mut PortContext) -> bool {
        let calm = self.delay.0 < self.pie.target.0 / 2 && self.probability < SAFE;
        if self.burst > Time::ZERO || calm || self.waiting.bytes() <= 2 * self.pie.mean_packet.0 {
            return false;
        }
        self.sum = if self.probability == 0.0 { 0.0 } else { self.sum + self.probability };
        if self.sum < SPACED.0 || (self.sum < SPACED.1 && cx.stream.unit() >= self.probability) {
            return false;
        }
        self.sum = 0.0;
        true
    }

    /// Adjusts the probability (RFC 8033, sections 4.2 and 5.5) and the burst that is let pass (4.4).
    fn update(&mut self, delay: Time) {
        let Pie { target, alpha, beta, .. } = self.pie;
        let (now, before) = (delay.seconds(), self.delay.seconds());
        let share =
            TUNING.iter().find(|(bound, _)| self.probability < *bound).map_or(1.0, |(_, share)| *share);
        let mut step = (alpha * (now - target.seconds()) + beta * (now - before)) / share;
        if self.probability >= STEP_MOST.0 {
            step = step.min(STEP_MOST.1);
        }
        self.probability += step;
        if delay == Time::ZERO && self.delay == Time::ZERO {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst = self.burst.saturating_sub(self.pie.update);
        if self.probability == 0.0 && delay.0.max(self.delay.0) < target.0 / 2 {
            self.burst = self.pie.max_burst;
        }
        self.delay = delay;
    }
}

impl Discipline for Model {
    fn enqueue(&mut self, id: PacketId, cx: &mut PortContext) {
        let (state, size) = (&mut *self.0, cx.arena[id].size);
        if !cx.port.timer_set {
            cx.wake_at(cx.now + state.pie.update);
        }
        if state.hits(cx) {
            let marks = state.pie.ecn && state.probability <= state.pie.mark_most;
            if !marks || !cx.mark(id) {
                return cx.drop(id, DropReason::Managed);
            }
        }
        if !state.room.holds(state.waiting.len() + 1, state.waiting.bytes() + u64::from(size)) {
            return cx.drop(id, DropReason::Full);
        }
        cx.keep(size);
        state.waiting.push(Queued { id, size });
    }

    fn dequeue(&mut self, _cx: &mut PortContext) -> Option<Queued> {
        self.0.waiting.pop()
    }

    /// Once nothing has waited for two updates and nothing would be dropped, the timer rests until a packet comes.
    fn timer(&mut self, cx: &mut PortContext) {
        let state = &mut *self.0;
        let calm = state.delay == Time::ZERO;
        state.update(cx.port.rate.transmission(state.waiting.bytes()));
        if !calm || state.delay > Time::ZERO || state.probability > 0.0 {
            cx.wake_at(cx.now + state.pie.update);
        }
    }

    fn is_empty(&self) -> bool {
        self.0.waiting.is_empty()
    }

    fn resident(&self, found: &mut dyn FnMut(PacketId)) {
        self.0.waiting.iter().for_each(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::discipline::tests::FakePort;
    use crate::engine::contract::packet::flag;
    use crate::units::Rate;

    const MS: Time = Time::from_us(1000);

    fn ms(ms: u64) -> Time {
        Time(ms * MS.0)
    }

    /// A port of RFC 8033's numbers with that probability and delay, whose burst is over.
    fn state(probability: f64, delay: Time) -> State {
        let Model(state) = Pie::default().model(1500);
        State { probability, delay, burst: Time::ZERO, ..*state }
    }

    /// Section 4.2 by hand: with a delay of 20 ms, 5 above the target, after one of 18 ms, 0.125 x 5 ms + 1.25 x 2 ms =
    /// 0.003125, of which the share of the present probability counts. From 0.1 on at most 0.02 are added.
    #[test]
    fn the_probability_follows_delay_and_trend() {
        let step = 0.003_125;
        for (probability, share) in [
            (0.0, 2048.0),
            (1e-6, 512.0),
            (1e-5, 128.0),
            (1e-4, 32.0),
            (1e-3, 8.0),
            (1e-2, 2.0),
            (0.1, 1.0),
            (0.5, 1.0),
        ] {
            let mut state = state(probability, ms(18));
            state.update(ms(20));
            let expected = probability + step / share;
            assert!((state.probability - expected).abs() < 1e-12, "{probability}: {}", state.probability);
            assert_eq!(state.delay, ms(20));
        }
        for (probability, grown) in [(0.1, 0.02), (0.5, 0.02), (0.09, (0.125 * 0.985 + 1.25 * 0.98) / 2.0)] {
            let mut state = state(probability, ms(20));
            state.update(ms(1000));
            assert!((state.probability - probability - grown).abs() < 1e-12, "{}", state.probability);
        }
    }

    /// Section 4.2: while nothing waits, it shrinks by 2 % besides; it stays between 0 and 1.
    #[test]
    fn the_probability_decays_while_nothing_waits() {
        let mut idle = state(0.5, Time::ZERO);
        idle.update(Time::ZERO);
        assert!((idle.probability - 0.98 * (0.5 - 0.125 * 0.015)).abs() < 1e-12, "{}", idle.probability);
        // The first update without a delay comes after one with some.
        let mut just = state(0.5, ms(1));
        just.update(Time::ZERO);
        let expected = 0.5 - 0.125 * 0.015 - 1.25 * 0.001;
        assert!((just.probability - expected).abs() < 1e-12, "{}", just.probability);
        let mut bounds = state(0.999, ms(15));
        bounds.update(ms(100));
        assert_eq!(bounds.probability, 1.0);
        bounds.probability = 1e-3;
        bounds.update(Time::ZERO);
        assert_eq!(bounds.probability, 0.0);
    }

    /// Section 4.4: an update takes its time from the allowance, and renews it once the probability is 0 and both the present
    /// delay and the last one are below half of the target, 7.5 ms.
    #[test]
    fn the_burst_allowance_is_renewed_when_two_delays_are_short() {
        let mut state = state(0.0, ms(8));
        state.burst = ms(40);
        state.update(ms(7));
        assert_eq!((state.probability, state.burst), (0.0, ms(25)));
        state.update(ms(7));
        assert_eq!(state.burst, ms(150));
        // A delay of half the target is not below it.
        state.burst = ms(10);
        state.update(Time(7_500 * 1_000_000));
        assert_eq!((state.probability, state.burst), (0.0, Time::ZERO));
        // Nor is the allowance renewed while anything may be dropped.
        (state.probability, state.delay) = (0.01, ms(7));
        state.update(ms(7));
        assert!(state.probability > 0.0);
        assert_eq!(state.burst, Time::ZERO);
    }

    /// Section 4.4: in the first update of a queue that has emptied the last delay, 8 ms, still counts. The timer goes on to a
    /// second one, which renews the allowance, and then rests.
    #[test]
    fn the_timer_rests_after_two_updates_without_a_delay() {
        let mut at = FakePort::new(Rate(1_000_000_000));
        let mut model = Model(Box::new(state(0.0, ms(8))));
        model.timer(&mut at.cx());
        assert_eq!((model.0.burst, at.port.timer_set), (Time::ZERO, true));
        at.port.timer_set = false;
        model.timer(&mut at.cx());
        assert_eq!((model.0.burst, at.port.timer_set), (ms(150), false));
    }

    /// Sections 4.1 and 5.4: with probability 0.1 nothing is dropped until the sum since the last drop is 0.85, and with 1
    /// each packet is. Nothing is while the burst lasts, while the delay was short and the probability is low, or while no
    /// more than two mean packets wait.
    #[test]
    fn drops_are_spaced_and_spared() {
        let mut at = FakePort::new(Rate(1_000_000_000));
        let mut with = |probability, delay, burst, waiting: usize| {
            let mut state = State { burst, ..state(probability, delay) };
            let id = crate::ids::PacketId(0);
            (0..waiting).for_each(|_| state.waiting.push(Queued { id, size: 1500 }));
            (0..9).map(|_| state.hits(&mut at.cx())).collect::<Vec<_>>()
        };
        assert_eq!(with(0.1, ms(20), Time::ZERO, 2)[..8], [false; 8]);
        assert_eq!(with(1.0, ms(20), Time::ZERO, 2), [true; 9]);
        assert_eq!(with(1.0, ms(20), Time(1), 2), [false; 9]);
        assert_eq!(with(1.0, ms(20), Time::ZERO, 1), [false; 9]);
        assert_eq!(with(0.19, ms(7), Time::ZERO, 2), [false; 9]);
        assert!(with(0.9, ms(7), Time::ZERO, 2).contains(&true));
    }

    /// Section 5.1: packets that may be marked are, up to a probability of 0.1, and are dropped above it.
    #[test]
    fn marks_up_to_a_tenth() {
        for (probability, ecn, expected) in [(0.1, true, (1, 0)), (0.11, true, (0, 1)), (0.1, false, (0, 1))]
        {
            let mut at = FakePort::new(Rate(1_000_000_000));
            let mut model = Pie { ecn, ..Pie::default() }.model(1500);
            at.comes(&mut model, flag::ECN_CAPABLE);
            at.comes(&mut model, flag::ECN_CAPABLE);
            // So much that the next packet is hit for sure.
            let sum = SPACED.1;
            let pie = model.0.pie.clone();
            let waiting = std::mem::take(&mut model.0.waiting);
            *model.0 = State { pie, waiting, sum, ..state(probability, ms(20)) };
            at.comes(&mut model, flag::ECN_CAPABLE);
            assert_eq!((at.losses.marks, at.losses.dropped.packets), expected, "{probability}, {ecn}");
        }
    }

    /// Section 4.1, 5.4: a drop begins the sum anew. With probability 0.4 the next one is sure not to be among the two that
    /// follow it, whose sums are 0.4 and 0.8.
    #[test]
    fn the_sum_begins_anew_with_each_drop() {
        let mut at = FakePort::new(Rate(1_000_000_000));
        for _ in 0..100 {
            let mut state = State { sum: SPACED.1, ..state(0.4, ms(20)) };
            let id = crate::ids::PacketId(0);
            (0..2).for_each(|_| state.waiting.push(Queued { id, size: 1500 }));
            assert_eq!([0; 3].map(|_| state.hits(&mut at.cx())), [true, false, false]);
        }
    }
}
