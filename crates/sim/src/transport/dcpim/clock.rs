//! Epochs and rounds, which begin at the same time at all hosts.
//!
//! Source: Terabit-Ethernet/dcPIM (`simulator/ext/pimhost`): epochs of matching follow each other by the length of a data phase,
//! and the data phase of an epoch begins with the end of its matching.

use crate::units::Time;

/// When rounds of matching and data phases begin. Rounds are numbered from the first of epoch 0 on, whatever their epoch.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    round: u64,
    rounds: u64,
    /// From an epoch to the next: the length of a data phase.
    phase: u64,
}

impl Clock {
    /// So many rounds of that time, and data phases of `alpha`, at least 1, times all of them.
    pub fn new(round: Time, rounds: u32, alpha: f64) -> Clock {
        let (round, rounds) = (round.0.max(1), u64::from(rounds));
        let matching = round * rounds;
        Clock { round, rounds, phase: ((matching as f64 * alpha).round() as u64).max(matching) }
    }

    /// The length of a data phase.
    pub fn phase(&self) -> Time {
        Time(self.phase)
    }

    /// The epoch of a round.
    pub fn epoch(&self, round: u64) -> u64 {
        round / self.rounds
    }

    /// The number of a round in its epoch, from 0.
    pub fn number(&self, round: u64) -> u64 {
        round % self.rounds
    }

    /// The round that runs then, if one does.
    pub fn round_at(&self, now: Time) -> Option<u64> {
        let number = now.0 % self.phase / self.round;
        (number < self.rounds).then(|| now.0 / self.phase * self.rounds + number)
    }

    /// When senders answer the requests of a round.
    pub fn halfway(&self, round: u64) -> Time {
        Time(self.epoch(round) * self.phase + self.number(round) * self.round + self.round / 2)
    }

    /// Number of data phases that have begun.
    pub fn phases(&self, now: Time) -> u64 {
        (now.0 + self.phase - self.rounds * self.round) / self.phase
    }

    /// When the data phase of that number begins, from 0: when so many have begun, the end of the last one.
    pub fn phase_begins(&self, number: u64) -> Time {
        Time(number * self.phase + self.rounds * self.round)
    }

    /// The first time from `from` on when a round begins, or a data phase.
    pub fn next_stage(&self, from: Time) -> Time {
        let number = (from.0 % self.phase).div_ceil(self.round);
        let epoch = from.0 / self.phase;
        if number <= self.rounds {
            Time(epoch * self.phase + number * self.round)
        } else {
            Time((epoch + 1) * self.phase)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four rounds of 10 ps and data phases of 40 ps: the matching of an epoch runs during the data of the one before.
    #[test]
    fn matching_and_data_are_pipelined() {
        let clock = Clock::new(Time(10), 4, 1.0);
        assert_eq!([0, 9, 10, 39, 40, 95].map(|now| clock.round_at(Time(now)).unwrap()), [0, 0, 1, 3, 4, 9]);
        assert_eq!([0, 39, 40, 79, 80].map(|now| clock.phases(Time(now))), [0, 0, 1, 1, 2]);
        assert_eq!([0, 1, 2].map(|number| clock.phase_begins(number).0), [40, 80, 120]);
        assert_eq!(
            [0, 1, 10, 39, 40, 41].map(|from| clock.next_stage(Time(from)).0),
            [0, 10, 10, 40, 40, 50]
        );
        assert_eq!((clock.halfway(5).0, clock.epoch(5), clock.number(5)), (55, 1, 1));
    }

    /// Data phases of two and a half times the matching: hosts wait for the next epoch.
    #[test]
    fn longer_data_phases_leave_a_gap() {
        let clock = Clock::new(Time(10), 2, 2.5);
        assert_eq!([0, 19, 20, 49, 50, 65].map(|now| clock.round_at(Time(now))), {
            [Some(0), Some(1), None, None, Some(2), Some(3)]
        });
        assert_eq!([0, 19, 20, 69, 70].map(|now| clock.phases(Time(now))), [0, 0, 1, 1, 2]);
        assert_eq!([11, 20, 21, 50].map(|from| clock.next_stage(Time(from)).0), [20, 20, 50, 50]);
    }
}
