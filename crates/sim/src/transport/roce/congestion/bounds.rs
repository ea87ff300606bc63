//! The bounds of a flow's rate: the rate of its port, and the least rate of its control.

use serde_json::json;

use crate::derived::{Derived, Longest, Values};
use crate::units::{Rate, Time};

/// The least rate, unless it is given, as a part of the line's.
const LEAST: f64 = 1000.0;

/// The bounds of a flow's rate, in bit/s.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    line: f64,
    given: Option<Rate>,
}

impl Bounds {
    /// At a port of the rate `line`, for a control with that `min_rate`.
    pub fn new(line: Rate, min_rate: Option<Rate>) -> Bounds {
        Bounds { line: line.0 as f64, given: min_rate }
    }

    /// The rate of the flow's port.
    pub fn line(&self) -> f64 {
        self.line
    }

    /// The least rate of the flow: 1/1000 of the line's unless it is given.
    pub fn least(&self) -> f64 {
        self.step(self.given, LEAST)
    }

    /// The given step of a rate, or that part of the rate of the line.
    pub fn step(&self, given: Option<Rate>, part: f64) -> f64 {
        given.map_or(self.line / part, |rate| rate.0 as f64)
    }

    /// The rate within the bounds.
    pub fn clamp(&self, rate: f64) -> f64 {
        rate.max(self.least()).min(self.line)
    }

    /// The port has another rate.
    pub fn set_line(&mut self, line: Rate) {
        self.line = line.0 as f64;
    }

    /// The same; the rate of the flow, which was `rate`: a flow at the rate of its line stays there.
    pub fn follow(&mut self, line: Rate, rate: f64) -> f64 {
        let free = rate >= self.line;
        self.set_line(line);
        self.clamp(if free { self.line } else { rate })
    }
}

/// The value of a field `base_rtt` that is left to the network: the longest round trip of a full packet and its
/// acknowledgement. None if it is given.
pub fn base_rtt(field: &Derived<Time>, longest: &Longest) -> Values {
    match field.given() {
        Some(_) => Vec::new(),
        None => vec![("base_rtt".into(), json!(longest.round_trip))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 10 Gbps without a given least rate it is 10 Mbps, and a hundredth 100 Mbps.
    #[test]
    fn rates_stay_within_their_bounds() {
        let (line, half) = (Rate(10_000_000_000), Rate(5_000_000_000));
        let mut bounds = Bounds::new(line, None);
        assert_eq!([1e6, 1e9, 2e10].map(|rate| bounds.clamp(rate)), [1e7, 1e9, 1e10]);
        assert_eq!([bounds.step(None, 100.0), bounds.step(Some(Rate(7)), 100.0)], [1e8, 7.0]);
        assert_eq!(Bounds::new(line, Some(Rate(3_000_000))).least(), 3e6);
        // A flow at the line's rate follows it down and up; one below keeps its own.
        assert_eq!(bounds.follow(half, 1e10), 5e9);
        assert_eq!(bounds.follow(line, 5e9), 1e10);
        assert_eq!(bounds.follow(half, 4e9), 4e9);
    }
}
