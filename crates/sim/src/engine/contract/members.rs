//! The kinds of parts that a run is put together from. The engine uses them only through their contracts;
//! `setup` names them.

use super::agent::PortAgent;
use super::controller::{Channel, Controller};
use super::discipline::Discipline;
use super::endpoint::Endpoint;
use super::path::Choose;
use crate::engine::data::credit::Credits;
use crate::engine::data::gate::Thresholds;
use crate::engine::data::memory::Memory;
use crate::engine::data::rules::Rules;
use crate::topology::{Fabric, Link};
use crate::units::Rate;

/// Transports, queues and load balancers of a run.
pub trait Members: Sync {
    /// The ends of all connections of one transport.
    type Endpoint: Endpoint + Send;
    /// Queues.
    type Queue: Discipline + Send;
    /// A load balancer at all nodes.
    type Balancer: Choose + Send;
    /// Agents at ports.
    type Agent: PortAgent + Send;
    /// Controllers.
    type Controller: Controller + Send;

    /// The transports, in the order by which connections name them.
    fn endpoints(&self, fabric: &Fabric) -> Vec<Self::Endpoint>;

    /// The balancers, in the order by which connections name them.
    fn balancers(&self, fabric: &Fabric, seed: u64, replica: u64) -> Vec<Self::Balancer>;

    /// The model of the transport that agents serve; none without agents.
    fn agents_serve(&self) -> Option<u8>;

    /// The agent at the port of a link, if there are any.
    fn agent(&self, link: &Link) -> Self::Agent;

    /// The controller, the model of the transport that it serves, and how it reaches the hosts; if there is one.
    fn controller(&self) -> Option<(Self::Controller, u8, Channel)>;

    /// Whether packets have records: see [`Record`](crate::engine::data::packet::Record).
    fn has_records(&self) -> bool;

    /// The models of transports into whose packets' records ports write, a bit each: see `engine/data/telemetry.rs`. No port may
    /// then be committed.
    fn telemetry(&self) -> u32;

    /// An empty queue at a switch's port of that rate, whose link may end at a host.
    fn queue(&self, rate: Rate, to_host: bool) -> Self::Queue;

    /// An empty queue at a host's port, which neither drops nor marks unless a transport wants that of switches there.
    fn host_queue(&self) -> Self::Queue;

    /// The rules of the switches' queue, if it is first-in first-out and decides all on arrival: then a port may commit
    /// to a departure when a packet arrives.
    fn committed(&self) -> Option<Rules>;

    /// Whether the queue does more on departure than choose a packet: then no departure is decided in retrospect.
    fn acts_on_departure(&self) -> bool;

    /// Whether the queue writes into a packet until its transmission has ended: then the packet is handed over to another part
    /// of a run no sooner.
    fn acts_after_departure(&self) -> bool {
        false
    }

    /// Whether the queue pauses the upstream ports before it has to drop: see `engine/network/pause.rs`.
    fn pauses(&self) -> bool;

    /// If so, the thresholds for packets that arrive by that link; the second one is its other direction.
    fn thresholds(&self, link: &Link, back: &Link) -> Thresholds;

    /// The credit of the heads of links; empty unless the queue gives credits: see `engine/network/credit.rs`.
    fn credits(&self) -> Credits;

    /// Whether the ports of a switch share its memory. No port is then committed, and no departure decided in retrospect.
    fn shares_memory(&self) -> bool;

    /// If so, the empty memory of all switches.
    fn memory(&self) -> Memory;

    /// Bytes of a pause frame on the wire.
    fn frame_bytes(&self) -> u32;

    /// Memory that a port takes beyond one with a single queue: see `engine/run/memory.rs`.
    fn port_bytes(&self) -> usize;
}
