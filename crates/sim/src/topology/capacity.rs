//! Capacity that follows from a topology's parameters: oversubscription and bisection bandwidth in closed
//! form.
//!
//! The bisection bandwidth is the least total rate, in one direction, of the cables between two sides,
//! over all ways to put half of the hosts on either side (of an odd number, one side has one more) and
//! each switch on any. A form is given only where it is exact.

use crate::units::Rate;

/// The bisection bandwidth by a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bisection {
    /// Bits per second over the cut, in one direction.
    pub bps: u128,
    /// The formula, and where it comes from.
    pub formula: &'static str,
}

/// The upward cables of one tier of a tree: of the hosts, the edge switches, the pods.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tier {
    /// Number of parts of the network below these cables, all alike: hosts, racks, pods.
    pub parts: u64,
    /// Cables upwards of each part.
    pub cables: u64,
    pub rate: Rate,
}

impl Tier {
    fn bps(&self) -> u128 {
        u128::from(self.parts) * u128::from(self.cables) * u128::from(self.rate.0)
    }
}

/// The rate that the hosts can send over the capacity of the narrowest tier above them; the hosts' tier comes
/// first.
pub(super) fn oversubscription(tiers: &[Tier]) -> Option<f64> {
    let (hosts, above) = tiers.split_first()?;
    let narrowest = above.iter().map(Tier::bps).min()?;
    Some(hosts.bps() as f64 / narrowest as f64)
}

/// Half of the narrowest tier, for trees that carry every permutation of the hosts at that tier's rate.
///
/// A split into halves is crossed by a permutation in which every host sends, so that no split is
/// narrower; and the parts below the narrowest tier, divided evenly, are such a split. There is no
/// form if they are odd in number.
pub(super) fn half_of_the_narrowest(tiers: &[Tier]) -> Option<Bisection> {
    let least = tiers.iter().map(Tier::bps).min()?;
    let even = tiers.iter().any(|tier| tier.bps() == least && tier.parts.is_multiple_of(2));
    even.then_some(Bisection { bps: least / 2, formula: "half of the cables of the narrowest tier" })
}

/// So many cables of one rate are cut.
pub(super) fn cut(cables: u64, rate: Rate, formula: &'static str) -> Option<Bisection> {
    Some(Bisection { bps: u128::from(cables) * u128::from(rate.0), formula })
}

/// Half of the hosts' cables: all hosts on one switch.
pub(super) fn star(hosts: u64, rate: Rate) -> Option<Bisection> {
    cut(hosts / 2, rate, "half of the hosts' cables")
}
