//! Sizes and deadlines of flows on the slotted link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NO_DEADLINE;
use crate::random::Stream;

/// How often a deadline that cannot be met is drawn anew before it is taken as it is.
const REDRAWS: usize = 100_000;

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
        /// What becomes of deadlines that are shorter than the flow.
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

/// What becomes of exponential deadlines that are shorter than the flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Infeasible {
    /// They stay: the flow counts, and fails. Mode A of the thesis's reading.
    #[default]
    Keep,
    /// There are none, since the size is added to every deadline. Mode B.
    Shift,
    /// They are drawn anew. Mode C.
    Redraw,
}

impl Sizes {
    /// Draws a size.
    pub fn sample(&self, stream: &mut Stream) -> u32 {
        match *self {
            Sizes::Uniform { min, max } => min + stream.below(u64::from(max - min) + 1) as u32,
            Sizes::Fixed(size) => size,
        }
    }

    /// Packets of a flow on average.
    pub fn mean(&self) -> f64 {
        match *self {
            Sizes::Uniform { min, max } => (f64::from(min) + f64::from(max)) / 2.0,
            Sizes::Fixed(size) => f64::from(size),
        }
    }
}

impl Deadlines {
    /// Draws the deadline of a flow of that size.
    pub fn sample(&self, size: u32, stream: &mut Stream) -> u64 {
        let whole = |value: f64| (libm::ceil(value) as u64).max(1);
        match *self {
            Deadlines::Exponential { mean, infeasible } => {
                let mut draw = || whole(stream.exponential(mean));
                match infeasible {
                    Infeasible::Keep => draw(),
                    Infeasible::Shift => u64::from(size) + draw(),
                    Infeasible::Redraw => {
                        let met = (0..REDRAWS).map(|_| draw()).find(|&deadline| deadline >= u64::from(size));
                        met.unwrap_or(u64::from(size))
                    }
                }
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
