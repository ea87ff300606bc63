//! Which paths are left out for a while: those on which too many packets are trimmed, sent back or lost.
//!
//! Source: Handley et al., SIGCOMM 2017, section 3.2.3; the rule that identifies an outlier is that of the
//! paper's public simulator (htsim, strategy "pull"). It counts from the start of the connection. Unlike
//! htsim, which calls the share of a path without ten ACKs zero, by default it also judges a path that never
//! brought an ACK.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::contract::host::Host;
use crate::engine::contract::packet::Packet;

/// Conditions under which a sender leaves a path out for a while. Only for senders that choose their paths:
/// this needs the balancer "permuted".
///
/// Each answer to a packet judges its path: bad if all conditions below hold, else good. A bad one makes the
/// path be passed over once more each time before it is used again, a good one once less.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PathPenalty {
    /// A path is bad only after more than so many answers (htsim: 100).
    #[schemars(range(max = 1_000_000))]
    pub answers: u32,
    /// A path is bad only from so many ACKs on (htsim: 11; by default also one without any).
    #[schemars(range(max = 1_000_000))]
    pub acks: u32,
    /// A path is bad only if it has more than so many NACKs for each ACK (htsim: 0.3).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub nacks_per_ack: f64,
    /// A path is bad only if its NACKs for each ACK are more than those of all paths by this factor (htsim: 1.25).
    #[schemars(range(min = 1.0, max = 1000.0))]
    pub over_mean: f64,
    /// The NACKs that a returned header counts as (htsim: 3).
    #[schemars(range(max = 1000))]
    pub bounce: u32,
    /// The NACKs that a packet counts as when the backstop gives it up (paper: losses count; htsim has none).
    #[schemars(range(max = 1000))]
    pub loss: u32,
}

impl Default for PathPenalty {
    fn default() -> Self {
        PathPenalty { answers: 100, acks: 0, nacks_per_ack: 0.3, over_mean: 1.25, bounce: 3, loss: 3 }
    }
}

/// A connection's records of its paths.
#[derive(Clone, Debug, Default)]
pub struct Scores {
    /// By the path's number.
    paths: Vec<Score>,
    all: Count,
}

/// Outcomes of packets.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    acks: u32,
    nacks: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Score {
    count: Count,
    /// Times that the path is passed over before each use.
    passes: u32,
    /// Of these, those still to come before the next one.
    left: u32,
}

impl Scores {
    /// NACKs of all paths.
    #[cfg(test)]
    pub fn nacks(&self) -> u32 {
        self.all.nacks
    }

    /// Starts over, with the memory of before.
    pub fn clear(&mut self) {
        self.paths.clear();
        self.all = Count::default();
    }

    /// Moves a packet that has just been made on to the next path that is not to be passed over: its number.
    pub fn settle(&mut self, packet: &mut Packet, cx: &mut impl Host) -> u32 {
        loop {
            let Some(path) = cx.path(packet) else { return 0 };
            let score = self.of(path);
            if score.left == 0 {
                score.left = score.passes;
                return path;
            }
            score.left -= 1;
            cx.next_path(packet);
        }
    }

    /// A packet on that path was acknowledged.
    pub fn ack(&mut self, path: u32, rule: &PathPenalty) {
        self.of(path).count.acks += 1;
        self.all.acks += 1;
        self.judge(path, rule);
    }

    /// A packet on that path was trimmed; or worse, which counts as so many.
    pub fn nack(&mut self, path: u32, nacks: u32, rule: &PathPenalty) {
        self.of(path).count.nacks += nacks;
        self.all.nacks += nacks;
        self.judge(path, rule);
    }

    fn of(&mut self, path: u32) -> &mut Score {
        let place = path as usize;
        if place >= self.paths.len() {
            self.paths.resize(place + 1, Score::default());
        }
        &mut self.paths[place]
    }

    fn judge(&mut self, path: u32, rule: &PathPenalty) {
        let all = self.all;
        let score = self.of(path);
        let (acks, nacks) = (f64::from(score.count.acks), f64::from(score.count.nacks));
        let bad = acks + nacks > f64::from(rule.answers)
            && score.count.acks >= rule.acks
            && nacks > rule.nacks_per_ack * acks
            && nacks * f64::from(all.acks) > rule.over_mean * f64::from(all.nacks) * acks;
        score.passes = if bad { score.passes + 1 } else { score.passes.saturating_sub(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three paths with 99 of 100 packets acknowledged and one with half of them: only that one is an outlier, and
    /// only from its 101st answer on. When it has recovered, each good answer takes one pass back.
    #[test]
    fn outliers_are_passed_over() {
        let rule = PathPenalty::default();
        let mut scores = Scores::default();
        for round in 0..200 {
            for path in 0..3 {
                if round % 100 == 99 { scores.nack(path, 1, &rule) } else { scores.ack(path, &rule) }
            }
            if round % 2 == 1 {
                scores.nack(3, 1, &rule)
            } else {
                scores.ack(3, &rule)
            }
            assert_eq!(scores.paths[3].passes, (round + 1_u32).saturating_sub(100), "round {round}");
        }
        assert!(scores.paths[..3].iter().all(|score| score.passes == 0));
        // 100 NACKs are no more than 0.3 for each ACK from 334 ACKs on: 234 more, of which 233 still make it worse.
        for _ in 0..234 {
            scores.ack(3, &rule);
        }
        assert_eq!(scores.paths[3].passes, 100 + 233 - 1);
    }

    /// A path that brings nothing but headers: bad from the 101st on, or, by htsim's rule, not before its eleventh ACK.
    #[test]
    fn a_path_without_acks_is_judged_if_the_rule_says_so() {
        for (acks, expected) in [(0, 10), (11, 0)] {
            let rule = PathPenalty { acks, ..PathPenalty::default() };
            let mut scores = Scores::default();
            (0..1000).for_each(|_| scores.ack(0, &rule));
            (0..110).for_each(|_| scores.nack(1, 1, &rule));
            assert_eq!(scores.paths[1].passes, expected, "from {acks} ACKs on");
            (0..11).for_each(|_| scores.ack(1, &rule));
            assert_eq!(scores.paths[1].passes, if acks == 0 { 21 } else { 1 }, "from {acks} ACKs on");
        }
    }
}
