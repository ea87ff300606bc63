//! The flows that share a port, and the sum of their weights.

use crate::agent::flows::Flows;
use crate::engine::contract::numbers::Numbers;
use crate::ids::FlowId;
use crate::units::Time;

/// The weight of a flow with so many full packets left.
#[inline]
pub fn weight(left: f64, exponent: f64) -> f64 {
    let left = left.max(1.0);
    // What the power is for the default exponent, without the work of a general one.
    if exponent == 1.0 { 1.0 / left } else { libm::pow(left, -exponent) }
}

/// Claim of a flow on a port.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    pub weight: f64,
    /// When it is taken off unless a packet of it comes.
    pub expires: Time,
}

/// The claims on a port.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    flows: Flows<Claim>,
    sum: f64,
    /// The largest sum since all were added up.
    largest: f64,
}

impl Weights {
    /// Flows that share the port.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (FlowId, &Claim)> {
        self.flows.iter()
    }

    /// A flow reports its weight; returns its share of all.
    pub fn note(&mut self, flow: FlowId, claim: Claim) -> f64 {
        let before = self.flows.insert(flow, claim).map_or(0.0, |before| before.weight);
        self.change(claim.weight, before);
        (claim.weight / self.sum).min(1.0)
    }

    /// Flows get their numbers.
    pub fn number(&mut self, numbers: &Numbers) {
        self.flows.number(numbers);
    }

    /// A packet of a flow arrives that carries no weight.
    pub fn renew(&mut self, flow: FlowId, expires: Time) {
        if let Some(claim) = self.flows.get(flow) {
            claim.expires = claim.expires.max(expires);
        }
    }

    /// A flow is over.
    pub fn remove(&mut self, flow: FlowId) {
        if let Some(claim) = self.flows.remove(flow) {
            self.change(0.0, claim.weight);
        }
    }

    /// Takes off flows of which nothing has come in time.
    pub fn forget(&mut self, now: Time) {
        self.flows.retain(|claim| claim.expires > now);
        self.add_up();
    }

    /// A weight changes. Where next to nothing is left of the largest sum, the rest may be rounding, and all
    /// is added up anew.
    fn change(&mut self, new: f64, old: f64) {
        self.sum += new - old;
        self.largest = self.largest.max(self.sum);
        if self.sum < 1e-6 * self.largest {
            self.add_up();
        }
    }

    fn add_up(&mut self) {
        self.sum = self.iter().map(|(_, claim)| claim.weight).sum();
        self.largest = self.sum;
    }

    /// Inconsistencies in it.
    pub fn audit(&self, found: &mut dyn FnMut(String)) {
        let sum: f64 = self.iter().map(|(_, claim)| claim.weight).sum();
        if (sum - self.sum).abs() > 1e-6 * sum {
            found(format!("weights add up to {sum}, {} counted", self.sum));
        }
        self.flows.audit(found);
    }

    /// Bytes that it takes beyond its own size.
    pub fn heap_bytes(&self) -> usize {
        self.flows.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 10, 20 and 50 packets left have shares of 10/17, 5/17 and 2/17 with k = 1, and 100/129, 25/129 and 4/129 with
    /// k = 2; with k = 0 a third each, and with k = 30 the first has all but 2^-30.
    #[test]
    fn shares_are_in_proportion_to_weights() {
        let shares = |exponent| {
            let mut flows = Weights::default();
            let claims = [(3, 10.0), (1, 20.0), (2, 50.0)].map(|(flow, left)| {
                (FlowId(flow), Claim { weight: weight(left, exponent), expires: Time::ZERO })
            });
            claims.iter().for_each(|&(flow, claim)| _ = flows.note(flow, claim));
            claims.map(|(flow, claim)| flows.note(flow, claim))
        };
        let close = |found: [f64; 3], expected: [f64; 3]| {
            let close = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12);
            assert!(close, "{found:?} {expected:?}");
        };
        close(shares(1.0), [10.0 / 17.0, 5.0 / 17.0, 2.0 / 17.0]);
        close(shares(2.0), [100.0 / 129.0, 25.0 / 129.0, 4.0 / 129.0]);
        close(shares(0.0), [1.0 / 3.0; 3]);
        close(shares(30.0), [1.0 - 0.5_f64.powi(30), 0.5_f64.powi(30), 0.0]);
    }

    /// Weights of which one is 10^-240 of the other: when the large one goes, the small one has all.
    #[test]
    fn a_weight_that_was_lost_in_rounding_comes_back() {
        let mut flows = Weights::default();
        let claim = |left, expires| Claim { weight: weight(left, 30.0), expires };
        flows.note(FlowId(1), claim(1e8, Time::ZERO));
        assert_eq!(flows.note(FlowId(2), claim(1.0, Time::ZERO)), 1.0);
        flows.remove(FlowId(2));
        assert_eq!(flows.note(FlowId(1), claim(1e8, Time::from_us(1))), 1.0);
        flows.forget(Time::from_us(1));
        assert_eq!((flows.len(), flows.sum), (0, 0.0));
    }
}
