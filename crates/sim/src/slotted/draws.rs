//! Sizes and deadlines of flows on the slotted link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NO_DEADLINE;
use crate::random::Stream;

/// Of the flows that are drawn, the least share that may be feasible where the others are drawn again: fewer would take
/// more than a thousand draws a flow.
pub const LEAST_FEASIBLE: f64 = 1e-3;

/// Packets of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Sizes {
    /// Every whole number from `min` to `max` is equally likely.
    Uniform {
        /// Smallest size, packets.
        #[schemars(range(min = 1, max = 1_000_000))]
        min: u32,
        /// Largest size, packets.
        #[schemars(range(min = 1, max = 1_000_000))]
        max: u32,
    },
    /// All flows are alike, packets.
    Fixed(#[schemars(range(min = 1, max = 1_000_000))] u32),
}

/// Slots from its arrival in which a flow is to be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Deadlines {
    /// Exponential, rounded up to whole slots, at least 1.
    Exponential {
        /// Mean, slots.
        #[schemars(range(min = 1, max = 1_000_000))]
        mean: f64,
        /// Treatment of deadlines that are shorter than the flow.
        #[serde(default)]
        infeasible: Infeasible,
    },
    /// Every whole number from `min` to `max` is equally likely.
    Uniform {
        /// Fewest slots.
        #[schemars(range(min = 0, max = 1_000_000))]
        min: u32,
        /// Most slots.
        #[schemars(range(min = 0, max = 1_000_000))]
        max: u32,
        /// Whether the flow's size is added.
        #[serde(default)]
        beyond_size: bool,
    },
    /// A straight line over the size, rounded up: with a negative slope larger flows are due earlier.
    Linear {
        /// Slots for a size of 0.
        #[schemars(range(min = 0, max = 1_000_000))]
        at_zero: f64,
        /// Slots more for each packet.
        #[schemars(range(min = -1000, max = 1000))]
        slope: f64,
    },
    /// All flows have the same, slots.
    Fixed(#[schemars(range(min = 1, max = 1_000_000))] u32),
    /// Flows are never late.
    None {},
}

/// Treatment of exponential deadlines that are shorter than the flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Infeasible {
    /// They stay: the flow counts, and fails. Mode A of the thesis's reading.
    #[default]
    Keep,
    /// There are none, since the size is added to every deadline. Mode B.
    Shift,
    /// The flow is drawn again, size and deadline together, until its deadline is not shorter; only that one counts.
    /// Most flows are small then. Mode C. Refused if fewer than one flow in 1000 is feasible.
    Redraw,
}

impl Sizes {
    /// Draws a size.
    fn sample(&self, stream: &mut Stream) -> u32 {
        match *self {
            Sizes::Uniform { min, max } => min + stream.below(u64::from(max - min) + 1) as u32,
            Sizes::Fixed(size) => size,
        }
    }
}

impl Deadlines {
    /// Whether flows are drawn again whose deadline is shorter than they are.
    fn are_redrawn(&self) -> bool {
        matches!(self, Deadlines::Exponential { infeasible: Infeasible::Redraw, .. })
    }

    /// Draws the deadline of a flow of that size; it may be shorter.
    fn sample(&self, size: u32, stream: &mut Stream) -> u64 {
        let whole = |value: f64| (libm::ceil(value) as u64).max(1);
        match *self {
            Deadlines::Exponential { mean, infeasible } => {
                let beyond = if infeasible == Infeasible::Shift { u64::from(size) } else { 0 };
                beyond + whole(stream.exponential(mean))
            }
            Deadlines::Uniform { min, max, beyond_size } => {
                let drawn = u64::from(min) + stream.below(u64::from(max - min) + 1);
                (drawn + if beyond_size { u64::from(size) } else { 0 }).max(1)
            }
            Deadlines::Linear { at_zero, slope } => whole(at_zero + slope * f64::from(size)),
            Deadlines::Fixed(slots) => u64::from(slots),
            Deadlines::None {} => NO_DEADLINE,
        }
    }
}

/// Draws a flow: its size and its deadline.
pub fn draw(sizes: &Sizes, deadlines: &Deadlines, stream: &mut Stream) -> (u32, u64) {
    loop {
        let size = sizes.sample(stream);
        let deadline = deadlines.sample(size, stream);
        // This ends, since a share of at least LEAST_FEASIBLE is feasible.
        if deadline >= u64::from(size) || !deadlines.are_redrawn() {
            return (size, deadline);
        }
    }
}

/// The share of feasible flows among those with exponential deadlines of a mean, rounded up: the mean over the sizes of
/// exp(-(size - 1) / mean).
pub fn feasible_share(sizes: &Sizes, mean: f64) -> f64 {
    let feasible = |size: u32| libm::exp(-f64::from(size - 1) / mean);
    match *sizes {
        Sizes::Fixed(size) => feasible(size),
        // A geometric series.
        Sizes::Uniform { min, max } => {
            let count = f64::from(max - min) + 1.0;
            feasible(min) * libm::expm1(-count / mean) / libm::expm1(-1.0 / mean) / count
        }
    }
}

/// The least whole mean with which enough flows are feasible to draw the others again.
pub fn least_mean(sizes: &Sizes) -> u32 {
    // The share rises with the mean. With a million, which is the largest size, too, it is above a third.
    let (mut too_low, mut enough) = (0, 1_000_000);
    while enough - too_low > 1 {
        let mean = (too_low + enough) / 2;
        if feasible_share(sizes, f64::from(mean)) < LEAST_FEASIBLE {
            too_low = mean;
        } else {
            enough = mean;
        }
    }
    enough
}
