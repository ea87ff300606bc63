//! Credit feedback control: the rate of a receiver's credits, by the share of them that ports have dropped.
//!
//! Source: Cho, Jang and Han, "Credit-Scheduled Delay-Bounded Congestion Control for Datacenters", SIGCOMM 2017, algorithm 1;
//! rules and numbers after the authors' simulator, kaist-ina/ns2-xpass (`xpass`). Rates are shares of the largest one, a
//! credit in each slot: the time of a credit and its full packet on the link of the host.

use crate::units::Time;

/// Steps and the upper bound of the weight (ns2-xpass).
const STEP: f64 = 0.05;
const WEIGHT_MOST: f64 = 0.5;
/// Weight of the last round trip in their mean (ns2-xpass).
const RTT_GAIN: f64 = 0.2;

/// Constants of the control.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Weight of the largest rate in an increase, at first and at least.
    pub w_initial: f64,
    pub w_min: f64,
    /// Share of lost credits that a rate near zero accepts; less in proportion to the rate.
    pub target_loss: f64,
}

/// The control of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Feedback {
    /// Share of the largest rate.
    rate: f64,
    weight: f64,
    may_increase: bool,
    /// Mean round trip in picoseconds, from a credit to its data; 0 before the first one.
    rtt: f64,
    /// Credits known to have arrived or to be lost since the last change, and the lost ones.
    total: u32,
    lost: u32,
    changed_at: Time,
    /// The first credit that no data has answered.
    next: u32,
}

impl Feedback {
    /// A flow begins at that share of the largest rate.
    pub fn new(rate: f64, now: Time, rules: &Rules) -> Feedback {
        Feedback { rate, weight: rules.w_initial, may_increase: true, changed_at: now, ..Feedback::default() }
    }

    /// Data has come that answers the credit of that number, sent at that time. Those before it are lost.
    #[inline]
    pub fn answered(&mut self, credit: u32, sent_at: Time, now: Time) {
        let rtt = (now - sent_at).0 as f64;
        self.rtt = if self.rtt == 0.0 { rtt } else { (1.0 - RTT_GAIN) * self.rtt + RTT_GAIN * rtt };
        // After a change of routes credits may overtake one another.
        let Some(skipped) = credit.checked_sub(self.next) else { return };
        self.total += skipped + 1;
        self.lost += skipped;
        self.next = credit + 1;
    }

    /// A credit is sent: changes the rate if the last change was a round trip ago and data has come since.
    #[inline]
    pub fn change(&mut self, now: Time, slot: Time, rules: &Rules) {
        let interval = (now - self.changed_at).0 as f64;
        if self.total == 0 || interval < self.rtt {
            return;
        }
        let arrived = f64::from(self.total - self.lost);
        let loss = f64::from(self.lost) / f64::from(self.total);
        let target = (1.0 - self.rate) * rules.target_loss;
        if loss > target {
            let carried = arrived * slot.0 as f64 / interval * (1.0 + target);
            self.rate = self.rate.min(carried);
            self.weight = (self.weight / 2.0).max(rules.w_min);
            self.may_increase = false;
        } else {
            if self.may_increase {
                self.weight = (self.weight + STEP).min(WEIGHT_MOST);
            }
            self.may_increase = true;
            self.rate = self.weight + (1.0 - self.weight) * self.rate;
        }
        // At least one credit a round trip.
        self.rate = self.rate.max(slot.0 as f64 / self.rtt).min(1.0);
        (self.total, self.lost, self.changed_at) = (0, 0, now);
    }

    /// Time to the next credit, without jitter.
    #[inline]
    pub fn gap(&self, slot: Time) -> f64 {
        slot.0 as f64 / self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { w_initial: 0.5, w_min: 0.01, target_loss: 0.125 };
    const SLOT: Time = Time(1000);
    const RTT: u64 = 10_000;

    /// A flow at that rate, of which so many credits have arrived and been lost in the last round trip, after the change.
    fn changed(rate: f64, arrived: u32, lost: u32) -> Feedback {
        let mut flow = Feedback::new(rate, Time::ZERO, &RULES);
        flow.answered(0, Time::ZERO, Time(RTT));
        (flow.total, flow.lost) = (arrived + lost, lost);
        flow.change(Time(RTT), SLOT, &RULES);
        flow
    }

    /// LIT-XPASS-2: without losses the rate after k changes is 1 - 0.5^(k + 1) of the largest.
    #[test]
    fn without_losses_the_rate_doubles_towards_the_largest() {
        let mut flow = Feedback::new(0.5, Time::ZERO, &RULES);
        let mut rates = Vec::new();
        for round in 1..=4 {
            let now = Time(round * RTT);
            flow.answered(round as u32 - 1, Time(now.0 - RTT), now);
            flow.change(now, SLOT, &RULES);
            rates.push(flow.rate);
        }
        assert_eq!(rates, [0.75, 0.875, 0.9375, 0.96875]);
        assert_eq!(flow.gap(SLOT), 1000.0 / 0.96875);
    }

    /// At half the rate up to 6.25 % may be lost. By hand: 9 of 10 in 10 slots are 0.9 of the largest rate, above the flow's;
    /// 4 of 10 are 0.4, and 6.25 % more; the weight is halved, and grows again only after a second round trip without losses.
    #[test]
    fn losses_beyond_the_target_lower_the_rate() {
        assert_eq!((changed(0.5, 31, 2).rate, changed(0.5, 15, 1).rate), (0.75, 0.75));
        let few = changed(0.5, 9, 1);
        assert_eq!((few.rate, few.weight), (0.5, 0.25));
        let mut flow = changed(0.5, 4, 6);
        assert_eq!((flow.rate, flow.weight, flow.may_increase), (0.4 * 1.0625, 0.25, false));
        (flow.total, flow.lost) = (4, 0);
        flow.change(Time(2 * RTT), SLOT, &RULES);
        assert!((flow.rate - (0.25 + 0.75 * 0.425)).abs() < 1e-12, "{}", flow.rate);
        assert_eq!(flow.weight, 0.25);
        (flow.total, flow.lost) = (4, 0);
        flow.change(Time(3 * RTT), SLOT, &RULES);
        assert_eq!(flow.weight, 0.3);
    }

    /// All credits lost, or nearly: one credit in each round trip, of ten slots, is left.
    #[test]
    fn one_credit_a_round_trip_is_left() {
        assert_eq!(changed(0.5, 0, 10).rate, 0.1);
        assert_eq!(changed(1.0, 10, 1).rate, 1.0);
        assert_eq!(changed(1.0, 5, 1).rate, 0.5);
        let mut flow = changed(0.5, 0, 10);
        for round in 2..9 {
            (flow.total, flow.lost) = (1, 1);
            flow.change(Time(round * RTT), SLOT, &RULES);
        }
        assert_eq!(flow.weight, RULES.w_min);
    }

    /// A change is due a round trip after the last one, and not before data has come.
    #[test]
    fn a_change_is_due_after_a_round_trip() {
        let mut flow = Feedback::new(0.5, Time::ZERO, &RULES);
        flow.change(Time(5 * RTT), SLOT, &RULES);
        assert_eq!(flow.rate, 0.5);
        flow.answered(0, Time(4 * RTT), Time(5 * RTT));
        flow.change(Time(5 * RTT), SLOT, &RULES);
        assert_eq!(flow.rate, 0.75);
        flow.answered(1, Time(5 * RTT), Time(6 * RTT));
        flow.change(Time(6 * RTT - 1), SLOT, &RULES);
        assert_eq!(flow.rate, 0.75);
        flow.change(Time(6 * RTT), SLOT, &RULES);
        assert_eq!(flow.rate, 0.875);
    }

    /// Gaps in the numbers of answered credits are losses; round trips of 10,000 and 20,000 have a mean of 12,000.
    #[test]
    fn gaps_between_answers_are_losses() {
        let mut flow = Feedback::new(0.5, Time::ZERO, &RULES);
        flow.answered(0, Time::ZERO, Time(RTT));
        flow.answered(3, Time::ZERO, Time(2 * RTT));
        assert_eq!((flow.total, flow.lost, flow.next), (4, 2, 4));
        assert!((flow.rtt - 12_000.0).abs() < 1e-9);
        flow.answered(2, Time::ZERO, Time(RTT));
        assert_eq!((flow.total, flow.lost, flow.next), (4, 2, 4));
    }
}
