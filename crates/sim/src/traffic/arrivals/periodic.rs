//! Rounds of flows at a fixed interval.

use std::iter::repeat_n;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Jitter, Process};
use crate::problem::Problem;
use crate::random::Stream;
use crate::units::Time;

/// Rounds of the matrix at a fixed interval, whether or not the flows of the round before have ended: all flows of a
/// round start together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{ "every": "1ms", "rounds": 3 }]))]
pub struct Periodic {
    /// Time from the start of a round to that of the next.
    #[schemars(extend("x-minimum" = "1ps"))]
    pub every: Time,
    /// Number of rounds; by default those up to `until`, or those of the entry's `flows`, which then are whole rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub rounds: Option<u64>,
    /// When the first round starts.
    #[serde(default)]
    pub start: Time,
    /// No round starts after it: ends the rounds in place of a number, or before that number is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ps"))]
    pub until: Option<Time>,
    /// Added to each start, uniform from 0 up to this; by default the time of 1500 B at the source's port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Time>,
}

impl Periodic {
    /// Why there is no time for so many rounds, if there is none.
    fn too_long(&self, rounds: u64) -> Option<String> {
        let span = self.every.0.checked_mul(rounds - 1);
        let fits = span.and_then(|span| span.checked_add(self.start.0)).is_some();
        let what = || format!("{rounds} starts {} apart reach beyond the longest time of a run", self.every);
        (!fits).then(what)
    }

    /// Number of rounds, if it is known without that of the flows.
    fn rounds(&self) -> Option<u64> {
        let by_time =
            |until: Time| until.0.checked_sub(self.start.0).map_or(0, |span| span / self.every.0 + 1);
        self.rounds.into_iter().chain(self.until.map(by_time)).min()
    }
}

impl Process for Periodic {
    fn problems(&self) -> Vec<Problem> {
        let what = self.rounds.and_then(|rounds| self.too_long(rounds));
        let mut problems: Vec<Problem> = what.map(|what| Problem::new("rounds", what)).into_iter().collect();
        if let Some(until) = self.until.filter(|until| *until < self.start) {
            let what = format!("{until} is before the start, which is {}", self.start);
            problems.push(Problem::new("until", what));
        }
        problems
    }

    fn end(&self) -> Option<&'static str> {
        Some("rounds")
    }

    fn begins(&self) -> Time {
        self.start
    }

    fn ends(&self) -> Option<Time> {
        self.until
    }

    fn end_at(&mut self, until: Time) {
        // One that is over before it begins has a round.
        if self.rounds.is_none() {
            self.until = Some(until.max(self.start));
        }
    }

    fn problem_with_flows(&self, flows: u64, round: u64) -> Option<String> {
        if self.rounds().is_some() || round == 0 || flows == 0 {
            return None;
        }
        let (rounds, rest) = (flows / round, flows % round);
        if rest == 0 {
            return self.too_long(rounds);
        }
        let whole = [rounds, rounds + 1].map(|rounds| rounds * round);
        let whole: Vec<_> = whole.iter().filter(|flows| **flows > 0).map(u64::to_string).collect();
        let (whole, all) = (whole.join(" or "), rounds + 1);
        Some(format!(
            "{flows} is not a whole number of rounds of {round} flows; use {whole}, or add arrivals.periodic.rounds = {all}, \
             whose last round is cut"
        ))
    }

    fn flows(&self, round: u64) -> Option<u64> {
        self.flows_max(round)
    }

    fn flows_max(&self, round: u64) -> Option<u64> {
        Some(self.rounds()?.saturating_mul(round))
    }

    fn starts(&self, _full: f64, round: u64, _stream: Stream) -> Box<dyn Iterator<Item = Time> + '_> {
        let start = |number: u64| Time(self.start.0.saturating_add(self.every.0.saturating_mul(number)));
        // Without a number of rounds the number of flows ends them.
        let rounds = self.rounds().unwrap_or(u64::MAX);
        Box::new((0..rounds).flat_map(move |number| repeat_n(start(number), round as usize)))
    }

    fn jitter(&self) -> Jitter {
        self.jitter.into()
    }
}
