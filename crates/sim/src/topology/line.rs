//! Two hosts and a chain of switches between them: one path of a chosen length.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bisection, Counts, Fabric, Generator, capacity};
use crate::problem::Problem;
use crate::units::{Rate, Time};

/// Host 0, `switches` switches in a row, host 1: a path of `switches + 1` hops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Line {
    /// Number of switches; with 0 the hosts share a cable.
    #[schemars(range(max = 64))]
    pub switches: u32,
    /// Rate of every cable.
    #[schemars(extend("x-minimum" = "1Kbps"))]
    pub rate: Rate,
    /// Propagation delay of every cable.
    #[schemars(extend("x-maximum" = "10s"))]
    pub delay: Time,
    /// Rate of each cable, from host 0 to host 1, in place of `rate`; empty: all have `rate`.
    pub rates: Vec<Rate>,
}

impl Default for Line {
    fn default() -> Self {
        Line { switches: 1, rate: Rate(10_000_000_000), delay: Time::from_us(1), rates: Vec::new() }
    }
}

impl Generator for Line {
    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let (given, cables) = (self.rates.len(), self.switches as usize + 1);
        if given != 0 && given != cables {
            let switches = self.switches;
            let what = format!("has {given} rates; {switches} switches in a row have {cables} cables");
            problems.push(Problem::new("rates", what));
        }
        for (index, rate) in self.rates.iter().enumerate() {
            if *rate < Rate(1_000) {
                problems.push(Problem::new(format!("rates.{index}"), format!("{rate} is below 1Kbps")));
            }
        }
        problems
    }

    fn counts(&self) -> Counts {
        Counts { hosts: 2, switches: self.switches.into(), cables: u128::from(self.switches) + 1 }
    }

    fn build(&self) -> Fabric {
        let mut fabric = Fabric::default();
        let first = fabric.add_node("host 0".into(), "host");
        let last = fabric.add_node("host 1".into(), "host");
        let mut chain = vec![first];
        chain.extend((0..self.switches).map(|i| fabric.add_node(format!("switch {i}"), "switch")));
        chain.push(last);
        for (index, ends) in chain.windows(2).enumerate() {
            let rate = self.rates.get(index).copied().unwrap_or(self.rate);
            fabric.add_cable(ends[0], ends[1], rate, self.delay);
        }
        fabric
    }

    fn bisection(&self) -> Option<Bisection> {
        let slowest = self.rates.iter().min().copied().unwrap_or(self.rate);
        capacity::cut(1, slowest, "the slowest cable")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cable_may_have_its_rate() {
        let rates = vec![Rate(3_000), Rate(2_000), Rate(1_000)];
        let line = Line { switches: 2, rates: rates.clone(), ..Line::default() };
        assert_eq!(line.problems(), []);
        let fabric = line.build();
        assert_eq!(fabric.links.iter().step_by(2).map(|link| link.rate).collect::<Vec<_>>(), rates);

        let wrong = Line { switches: 2, rates: vec![Rate(0)], ..Line::default() };
        let problems: Vec<_> = wrong.problems().iter().map(ToString::to_string).collect();
        let expected =
            ["rates: has 1 rates; 2 switches in a row have 3 cables", "rates.0: 0bps is below 1Kbps"];
        assert_eq!(problems, expected);
    }
}
