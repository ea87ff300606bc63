//! Input of a run: the network, the flows, and the limits at which it ends.

use crate::faults::timeline::Timeline;
use crate::routing::Routes;
use crate::topology::Fabric;
use crate::traffic::{Flow, Traffic};
use crate::units::Time;

/// Transport and balancer of each traffic entry's flows, the entry's name, and whether the run waits for
/// them.
#[derive(Clone, Debug)]
pub struct Carrier {
    /// Name of the traffic entry.
    pub name: String,
    /// Index among the run's transports, each with its configuration.
    pub transport: u8,
    /// Index of the model of that transport: see [`Members::endpoints`](crate::engine::contract::members::Members::endpoints).
    pub model: u8,
    /// Index among the configurations of that model.
    pub config: u8,
    /// Index among the run's balancers.
    pub balancer: u8,
    /// Whether the run ends without them.
    pub background: bool,
    /// Their priority; the lowest number goes first.
    pub priority: u8,
    /// The lowest class of their packets at ports.
    pub class: u8,
    /// Whether the entry or its transport gives them classes, so that captures have them.
    pub classed: bool,
    /// Whether those between the same two hosts share a connection.
    pub kept: bool,
    /// Whether they end only when every byte has arrived, and their senders know it.
    pub delivers: bool,
}

/// Input of a run besides the network.
pub struct Plan<'a, M> {
    /// The parts of the network.
    pub parts: Parts<'a, M>,
    /// For each traffic entry, the transport of its flows.
    pub carriers: &'a [Carrier],
    /// The flows, and the events that start them.
    pub traffic: &'a Traffic,
    /// More flows than this end the run.
    pub flows_max: u64,
    /// With background traffic: from the end of the last other flow to that of the run.
    pub stop_delay: Time,
    /// Stop at this time at the latest.
    pub until: Option<Time>,
    /// Give up when nothing has moved for so long.
    pub stall: Time,
    /// The longest time for which a sender that the run waits for may be silent before it tries again.
    pub timeout_max: Time,
    /// Stop when about so many bytes of memory are in use.
    pub memory_limit: u64,
    /// Stop when packets have crossed so many links.
    pub work_limit: u64,
    /// Bytes on the wire of the largest data packet of any transport.
    pub full_packet: u64,
    pub audit: bool,
}

impl<M> Plan<'_, M> {
    /// Whether there is traffic that the run does not wait for.
    pub fn has_background(&self) -> bool {
        self.traffic.window.ends() || self.carriers.iter().any(|carrier| carrier.background)
    }

    /// Whether the run waits for the end of a flow: if it is not background, and in the measuring window where that ends.
    pub fn awaits(&self, flow: &Flow) -> bool {
        let window = &self.traffic.window;
        !self.carriers[flow.entry as usize].background && (!window.ends() || window.has(flow.start))
    }
}

/// Input of a network.
pub struct Parts<'a, M> {
    /// Nodes and links.
    pub fabric: &'a Fabric,
    /// The ways through it while nothing is down.
    pub routes: &'a Routes,
    pub faults: &'a Timeline,
    /// The run's transports, queue and load balancers.
    pub members: &'a M,
    /// Seed of every random stream.
    pub seed: u64,
    pub replica: u64,
    /// Whether no port may commit to departures.
    pub serviced_only: bool,
    /// Whether transmissions take whole nanoseconds, the rest of which is cut off.
    pub whole_ns: bool,
    /// Which of several packets that arrive at one instant goes first. By arrival, transmissions are to begin in their order:
    /// `serviced_only`.
    pub ties: Rule,
    pub agenda: Agenda,
}

/// Which structure holds the future; both give the same order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Agenda {
    #[default]
    Calendar,
    /// A plain binary heap: the oracle, and the alternative for benchmarks.
    Heap,
}

/// The rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// By a hash of instant, link and seed: each order is as likely as any other, at each instant anew.
    Drawn,
    /// In the order in which the transmissions began; of those that began at one instant, in the order of the events that
    /// began them. The ends of transmissions have their places in that order: a packet may find a buffer full that has room
    /// at the same instant, when a transmission ends that began later.
    Arrival,
    /// By the rank of the link: one of two links wins every tie of a run.
    #[default]
    Link,
}
