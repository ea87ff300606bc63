//! Flows start as a Poisson process: independent, exponentially distributed gaps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Jitter, LoadOf, Process};
use crate::problem::Problem;
use crate::random::Stream;
use crate::traffic::matrix::Order;
use crate::units::{SECOND, Time};

/// A Poisson process over all sources, given by exactly one of `load` and `rate`: of flows, or of rounds of the matrix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("examples" = [{ "load": 0.5, "until": "1ms" }, { "load": 0.1, "each": "round" }]))]
pub struct Poisson {
    /// Payload offered per second, over the summed rate of the links of the hosts that `of` names.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1e-9, max = 1000.0))]
    pub load: Option<f64>,
    /// Whose links `load` is a share of. By default those of the sources; in an incast that of the receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<LoadOf>,
    /// Flows per second over all sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1e-6, max = 1e12))]
    pub rate: Option<f64>,
    /// The flows that each arrival starts. With "round" the rate of arrivals follows from load or rate, sizes and the number of flows
    /// in a round: an incast by load.
    pub each: PoissonEach,
    /// Added to each start, uniform from 0 up to this; by default 0 for single flows, and in rounds the time of 1500 B at the
    /// source's port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Time>,
    /// When the process begins: the first flow starts one gap later.
    pub start: Time,
    /// No flow starts after it: ends the flows in place of a number, or before that number is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ps"))]
    pub until: Option<Time>,
}

/// The flows that each arrival of a Poisson process starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoissonEach {
    /// One flow.
    #[default]
    Flow,
    /// All flows of a round of the matrix.
    Round,
}

impl Process for Poisson {
    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        match (self.load, self.rate) {
            (None, None) => {
                problems.push(Problem::new("", "has neither load nor rate; give one, such as load = 0.6"))
            }
            (Some(_), Some(_)) => problems.push(Problem::new("", "has both load and rate; give one")),
            _ => {}
        }
        if self.of.is_some() && self.load.is_none() && self.rate.is_some() {
            problems.push(Problem::new(
                "of",
                "says whose links load is a share of, and there is no load; leave it out",
            ));
        }
        for (name, value) in [("load", self.load), ("rate", self.rate)] {
            if let Some(value) = value.filter(|value| !value.is_finite() || *value <= 0.0) {
                problems.push(Problem::new(name, format!("{value} is not a number above 0")));
            }
        }
        if let Some(until) = self.until.filter(|until| *until <= self.start) {
            problems.push(Problem::new(
                "until",
                format!("{until} is not after the start, which is {}", self.start),
            ));
        }
        problems
    }

    fn flows(&self, _round: u64) -> Option<u64> {
        None
    }

    fn rate(&self, full: f64) -> Option<f64> {
        self.load.map(|load| load * full).or(self.rate)
    }

    fn load(&self) -> Option<f64> {
        self.load
    }

    fn load_of(&self) -> Option<LoadOf> {
        self.of
    }

    fn order(&self) -> Order {
        match self.each {
            PoissonEach::Flow => Order::Singly,
            PoissonEach::Round => Order::Rounds,
        }
    }

    fn goes_on(&self) -> bool {
        true
    }

    fn begins(&self) -> Time {
        self.start
    }

    fn ends(&self) -> Option<Time> {
        self.until
    }

    fn end_at(&mut self, until: Time) {
        // Nothing starts at its begin, and one that is over before it begins has no flows.
        self.until = Some(until.max(self.start));
    }

    fn expected(&self, full: f64) -> Option<f64> {
        Some(self.until?.saturating_sub(self.start).seconds() * self.rate(full).unwrap_or(0.0))
    }

    fn starts(&self, full: f64, round: u64, mut stream: Stream) -> Box<dyn Iterator<Item = Time> + '_> {
        let rate = self.rate(full).expect("checked: load or rate is given");
        let together = self.together(round);
        let mean = together as f64 * SECOND as f64 / rate;
        let mut at = self.start;
        let starts = std::iter::repeat_with(move || {
            at = at.saturating_add(Time(stream.exponential(mean).round() as u64));
            at
        });
        let until = self.until.unwrap_or(Time::NEVER);
        let starts = starts.take_while(move |start| *start <= until);
        Box::new(starts.flat_map(move |start| std::iter::repeat_n(start, together as usize)))
    }

    fn together(&self, round: u64) -> u64 {
        match self.each {
            PoissonEach::Flow => 1,
            PoissonEach::Round => round.max(1),
        }
    }

    fn jitter(&self) -> Jitter {
        match (self.jitter, self.each) {
            (None, PoissonEach::Flow) => Jitter::None,
            (jitter, _) => jitter.into(),
        }
    }
}
