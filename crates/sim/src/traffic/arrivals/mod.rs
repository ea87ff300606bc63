//! When the flows of a traffic entry start.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::matrix::Order;
use super::writer::Writer;
use crate::problem::Problem;
use crate::random::Stream;
use crate::register::register;
use crate::units::Time;

register! {
    /// When flows start.
    pub enum Arrivals: Process {
        at_once::AtOnce = "at-once",
        poisson::Poisson = "poisson",
        times::Times = "times",
        after::After = "after",
        periodic::Periodic = "periodic",
        blocks::Blocks = "blocks",
        on_off::OnOff = "on-off",
        triggers::Triggers = "triggers",
    }
}

/// A process of arrivals: one start after the other.
pub trait Process {
    /// All problems of the parameters beyond those that the schema finds; paths are below the arrivals.
    fn problems(&self) -> Vec<Problem> {
        Vec::new()
    }

    /// Number of flows unless the entry has its own, where a round of the matrix has `round`; none if the
    /// entry must have one.
    fn flows(&self, round: u64) -> Option<u64>;

    /// Most flows that there are starts for, with such a round; none if there is no end.
    fn flows_max(&self, round: u64) -> Option<u64> {
        let _ = round;
        None
    }

    /// The field that ends it, if one does and the entry's number of flows can do so instead.
    fn end(&self) -> Option<&'static str> {
        None
    }

    /// The problem with an entry's own number of flows, where a round of the matrix has `round`.
    fn problem_with_flows(&self, flows: u64, round: u64) -> Option<String> {
        let _ = (flows, round);
        None
    }

    /// Flows per second over all sources, where `full` would be load 1; none if arrivals have no rate.
    fn rate(&self, full: f64) -> Option<f64> {
        let _ = full;
        None
    }

    /// The load that its rate follows from, if it is given by one: payload over the rate of the sources' links.
    fn load(&self) -> Option<f64> {
        None
    }

    /// Whose links that load is a share of, if it says so.
    fn load_of(&self) -> Option<LoadOf> {
        None
    }

    /// How the pairs of the matrix follow each other.
    fn order(&self) -> Order {
        Order::Rounds
    }

    /// Number of flows that one arrival starts, with such a round.
    fn together(&self, round: u64) -> u64 {
        let _ = round;
        1
    }

    /// Whether it can go on for as long as a run needs arrivals.
    fn goes_on(&self) -> bool {
        false
    }

    /// When it begins.
    fn begins(&self) -> Time {
        Time::ZERO
    }

    /// The time after which no flow starts, if a time ends it.
    fn ends(&self) -> Option<Time> {
        None
    }

    /// Ends it at that time, if it goes on.
    fn end_at(&mut self, until: Time) {
        let _ = until;
    }

    /// The number of flows to expect, `full` as for [`Process::rate`], if a time ends them; none if nothing but a
    /// number does.
    fn expected(&self, full: f64) -> Option<f64> {
        let _ = full;
        None
    }

    /// The starts before jitter, [`Time::NEVER`] for a flow that waits for others; `full` as for [`Process::rate`],
    /// `round` the number of flows in a round of the matrix.
    fn starts(&self, full: f64, round: u64, stream: Stream) -> Box<dyn Iterator<Item = Time> + '_>;

    /// The offset added to a start, so that flows that start together do not move in step.
    fn jitter(&self) -> Jitter {
        Jitter::None
    }

    /// The entry whose flows these wait for.
    fn behind(&self) -> Option<Behind<'_>> {
        None
    }

    /// Whether any of its flows waits for others: then [`Process::write`] gives the dependencies.
    fn waits(&self) -> bool {
        false
    }

    /// Whether any of its flows waits for others of the same entry.
    fn waits_for_own(&self) -> bool {
        false
    }

    /// Writes the dependencies of its flows.
    fn write(&self, own: &Own, writer: &mut Writer) {
        let _ = (own, writer);
    }

    /// Whether it is known before the run which of the flows between two hosts starts first.
    fn order_is_known(&self) -> bool {
        !self.waits()
    }

    /// How each source goes from one flow to the next, if flows are drawn during the run.
    fn closed_loop(&self) -> Option<&dyn ClosedLoop> {
        None
    }
}

/// Sources that start one flow, wait until it has ended, and start the next.
pub trait ClosedLoop {
    /// When a source that has been idle since then starts its next flow. `free` is the source's own: the first slot in
    /// which it may start, of slots that are not taken.
    fn next_start(&self, idle: Time, free: &mut u64, stream: &mut Stream) -> Time;

    /// Number of flows of each source; none if they go on until the run ends.
    fn flows_each(&self) -> Option<u64>;
}

/// Whose links a load is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadOf {
    /// Those of the hosts that send.
    Sources,
    /// Those of the hosts that receive.
    Receivers,
}

/// The entry that another one waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behind<'a> {
    pub entry: &'a str,
    /// Whether the i-th flow waits for the i-th, so that there are no more of them.
    pub flow_by_flow: bool,
}

/// An entry's flows, as drawn.
pub struct Own {
    pub entry: usize,
    /// Flows in a round of its matrix.
    pub round: u64,
    pub flows: u64,
    /// The jitter of each that waits.
    pub jitters: Vec<Time>,
}

/// A random time added to a flow's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    None,
    /// Uniform up to the time of a packet of 1500 B at the source's port, whatever the transport sends.
    OnePacket,
    UpTo(Time),
}

impl From<Option<Time>> for Jitter {
    fn from(field: Option<Time>) -> Jitter {
        field.map_or(Jitter::OnePacket, Jitter::UpTo)
    }
}
