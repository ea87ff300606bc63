//! Slow start that ends before a loss, by signs of a filling path.
//!
//! A member watches the acknowledgements of slow start, lowers the threshold to the window where it ends, and says which
//! share of the acknowledged bytes lets the window grow.

mod hystart;
mod plus_plus;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::hystart::Hystart;
use self::plus_plus::PlusPlus;
use super::congestion::{Ack, Window};
use crate::units::Time;

/// End of slow start before a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SlowStart {
    /// At `initial_ssthresh`, or none (RFC 5681).
    Standard,
    /// With acknowledgements that follow each other for half a round trip, or with a delay that has risen by an eighth (Ha,
    /// Rhee, "Taming the elephants: new TCP slow start", 2011, in the form that Linux has in CUBIC).
    Hystart,
    /// With a delay that has risen by an eighth, by way of rounds of slower growth (HyStart++, RFC 9406).
    HystartPlusPlus,
}

impl SlowStart {
    /// The state of a connection that starts, if there is any.
    pub fn watch(self) -> Option<Box<Watch>> {
        let watch = match self {
            SlowStart::Standard => return None,
            SlowStart::Hystart => Watch::Hystart(Hystart::default()),
            SlowStart::HystartPlusPlus => Watch::PlusPlus(PlusPlus::default()),
        };
        Some(Box::new(watch))
    }
}

/// Round trips that one connection's slow start has seen.
#[derive(Clone, Copy, Debug)]
pub enum Watch {
    Hystart(Hystart),
    PlusPlus(PlusPlus),
}

impl Watch {
    /// An acknowledgement in slow start: the divisor of the growth by it.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack, window: &mut Window) -> u64 {
        match self {
            Watch::Hystart(hystart) => hystart.on_ack(ack, window),
            Watch::PlusPlus(hystart) => hystart.on_ack(ack, window),
        }
    }

    /// A timeout begins another slow start.
    pub fn restart(&mut self) {
        match self {
            Watch::Hystart(hystart) => *hystart = Hystart::default(),
            // RFC 9406, 4.3: only the first slow start of a connection.
            Watch::PlusPlus(hystart) => hystart.give_up(),
        }
    }
}

/// Samples of a round that both members need before they compare delays.
const SAMPLES: u32 = 8;

/// An eighth of a round trip, at least 4 ms and at most 16 ms.
fn rise(round_trip: Time) -> Time {
    Time((round_trip.0 / 8).clamp(Time::from_us(4_000).0, Time::from_us(16_000).0))
}
