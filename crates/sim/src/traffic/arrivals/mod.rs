//! When the flows of a traffic entry start.

use crate::random::Stream;
use crate::register::register;
use crate::units::Time;

register! {
    /// When flows start.
    pub enum Arrivals: Process {
        at_once::AtOnce = "at-once",
        poisson::Poisson = "poisson",
        times::Times = "times",
    }
}

/// What a process of arrivals does: one start after the other.
pub trait Process {
    /// All that is wrong with the parameters beyond what the schema says: (path below the arrivals, what is wrong).
    fn problems(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Number of flows unless the entry says it, where a round of the matrix has `round`; none if it must say.
    fn flows(&self, round: u64) -> Option<u64>;

    /// Most flows that there are starts for; none if there is no end.
    fn flows_max(&self) -> Option<u64> {
        None
    }

    /// Flows a second over all sources, where `full` would be load 1; none if arrivals have no rate.
    fn rate(&self, full: f64) -> Option<f64> {
        let _ = full;
        None
    }

    /// The number of flows to expect, `full` as for [`Process::rate`], if a time ends them; none if nothing but a
    /// number does.
    fn expected(&self, full: f64) -> Option<f64> {
        let _ = full;
        None
    }

    /// The starts before jitter; `full` as for [`Process::rate`].
    fn starts(&self, full: f64, stream: Stream) -> Box<dyn Iterator<Item = Time> + '_>;

    /// What is added to a start, so that flows that start together do not move in step.
    fn jitter(&self) -> Jitter {
        Jitter::None
    }
}

/// A random time added to a flow's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// Nothing.
    None,
    /// Uniform up to the time of a packet of 1500 B at the source's port, whatever the transport sends.
    OnePacket,
    /// Uniform up to this.
    UpTo(Time),
}

impl From<Option<Time>> for Jitter {
    fn from(field: Option<Time>) -> Jitter {
        field.map_or(Jitter::OnePacket, Jitter::UpTo)
    }
}
