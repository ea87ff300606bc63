//! The empty network at time zero.

use super::agents::Agents;
use super::egress::{Egress, PortQueue};
use crate::engine::calendar::Calendar;
use crate::engine::calendar::ties::Ties;
use crate::engine::contract::members::Members;
use crate::engine::contract::path::Choose;
use crate::engine::data::arena::Arena;
use crate::engine::data::boundary::Remote;
use crate::engine::data::conn::ReadyList;
use crate::engine::data::credit::Credits;
use crate::engine::data::deferred::Deferred;
use crate::engine::data::event::Links;
use crate::engine::data::flow_control::FlowControl;
use crate::engine::data::gate::{Gate, Pauses, Stops, Thresholds};
use crate::engine::data::packet::Record;
use crate::engine::data::paths::Paths;
use crate::engine::data::plan::Parts;
use crate::engine::data::port::{Departures, Losses, Port};
use crate::engine::data::telemetry::{self, Stamps};
use crate::engine::network::Network;
use crate::faults::link::LinkFault;
use crate::faults::timeline::{LinkState, nominal};
use crate::ids::LinkId;
use crate::random::{Purpose, Stream};
use crate::topology::Link;
use crate::units::Time;
use rustc_hash::FxHashMap;

impl<'a, M: Members> Network<'a, M> {
    /// The empty network at time zero.
    pub fn new(parts: &Parts<'a, M>) -> Network<'a, M> {
        let Parts { fabric, seed, replica, .. } = *parts;
        let links = fabric.links.len();
        let hosts = fabric.hosts as usize;
        let link_ranks = ranks(parts, links, 0);
        let asks = parts.members.telemetry();
        let credits = parts.members.credits();
        let egress = egress(parts, &link_ranks, &credits);
        let balancers = parts.members.balancers(fabric, seed, replica);
        let has_tags = balancers.iter().any(Choose::tags);
        Network {
            now: Time::ZERO,
            fabric,
            calendar: Calendar::new(parts.agenda, Ties::new(parts.ties, seed, replica)),
            arena: Arena::new(
                parts.members.has_records(),
                has_tags,
                Stamps::new(asks, telemetry::rates(fabric, parts.faults)),
            ),
            links: Links::new(&link_ranks),
            egress,
            ends: fabric.links.iter().map(|link| link.to).collect(),
            tallies: Vec::new(),
            shows: has_tags || parts.members.agents_serve().is_some(),
            agents: agents(parts),
            control_plane: None,
            mailbox: None,
            record: Record::default(),
            conns: Vec::new(),
            free_conns: Vec::new(),
            ready: vec![ReadyList::default(); links],
            ranks: Vec::new(),
            kicks: Vec::new(),
            after: Deferred::default(),
            remote: Remote { of: 1, ..Remote::default() },
            control: FlowControl { pauses: pauses(parts), credits, memory: parts.members.memory() },
            reacts: false,
            host_ranks: ranks(parts, hosts, 1),
            host_timers: vec![0; hosts],
            packet_hops: 0,
            packets_made: 0,
            unroutable: 0,
            picked: parts.faults.picked.clone(),
            moved_at: Time::ZERO,
            seed,
            replica,
            balancers,
            loads: Vec::new(),
            paths: Paths::default(),
            routes: parts.routes,
            whole: parts.routes,
        }
    }
}

fn stream<M>(parts: &Parts<M>, purpose: Purpose, entity: usize) -> Stream {
    Stream::new(parts.seed, parts.replica, purpose, entity as u64)
}

/// Places among simultaneous events, of the links (0) or of the hosts (1).
fn ranks<M>(parts: &Parts<M>, count: usize, entity: usize) -> Vec<u32> {
    let mut ranks: Vec<u32> = (0..count as u32).collect();
    stream(parts, Purpose::Ties, entity).shuffle(&mut ranks);
    ranks
}

/// A port with its queue at the head of each link.
fn egress<M: Members>(parts: &Parts<M>, ranks: &[u32], credits: &Credits) -> Vec<Egress<M::Queue>> {
    let Parts { fabric, .. } = *parts;
    let in_retrospect = !parts.serviced_only && !parts.members.pauses() && !parts.members.acts_on_departure();
    let committed = if parts.serviced_only { None } else { parts.members.committed() };
    let stamps = parts.members.telemetry() != 0;
    let shares = parts.members.shares_memory();
    let faults = faults(parts);
    let egress_of = |(at, (link, &rank)): (usize, (&Link, &u32))| {
        let (id, is_host) = (LinkId(at as u32), fabric.is_host(link.from));
        let mut port = Port::new(link, rank);
        // The drop of a packet, and the resumption of a paused port, take place at their own time, not in retrospect.
        if in_retrospect && !is_host {
            port.lookahead = link.delay;
        }
        port.fault = faults.get(&id).map(|&state| fault(state, stream(parts, Purpose::Loss, at)));
        port.paused = credits.paused_at_first(id);
        port.stamps = stamps;
        port.shares = shares && !is_host;
        if parts.whole_ns {
            port.cut_off_below_ns();
        }
        let queue = match committed {
            // A host's port is asked packet by packet: it must be serviced.
            _ if is_host => PortQueue::Serviced(parts.members.host_queue()),
            // A packet's fate on a faulty link is decided when it is sent.
            Some(rules) if port.fault.is_none() => PortQueue::Committed(Departures::default(), rules),
            _ => PortQueue::Serviced(parts.members.queue(link.rate, fabric.is_host(link.to))),
        };
        Egress { port, queue, stream: stream(parts, Purpose::Queue, at), losses: Losses::default() }
    };
    fabric.links.iter().zip(ranks).enumerate().map(egress_of).collect()
}

/// The links that ever have a fault, each with its first state.
fn faults<M>(parts: &Parts<M>) -> FxHashMap<LinkId, LinkState> {
    let mut fault_of: FxHashMap<LinkId, LinkState> = parts.faults.links.iter().copied().collect();
    for (at, link) in parts.fabric.links.iter().enumerate() {
        if parts.faults.picked.iter().any(|picked| picked.host == link.from) {
            fault_of.entry(LinkId(at as u32)).or_insert_with(|| nominal(link, Time::NEVER));
        }
    }
    fault_of
}

fn fault(state: LinkState, stream: Stream) -> Box<LinkFault> {
    Box::new(LinkFault { state, stream, named: false, lost: 0, bytes: 0, busy: Time::ZERO })
}

/// The thresholds at which nodes stop the heads of their links, if their queues pause.
fn pauses<M: Members>(parts: &Parts<M>) -> Pauses {
    let mut pauses = Pauses::default();
    if !parts.members.pauses() {
        return pauses;
    }
    let fabric = parts.fabric;
    // While it is fastest most comes by a link before its head stops, and most again while the way back is slowest.
    let (mut fastest, mut slowest) = (fabric.links.clone(), fabric.links.clone());
    for step in &parts.faults.steps {
        let (link, rate) = (step.link.index(), step.state.rate);
        fastest[link].rate = fastest[link].rate.max(rate);
        slowest[link].rate = slowest[link].rate.min(rate);
    }
    let gate = |(at, link): (usize, &Link)| {
        let back = &slowest[LinkId(at as u32).reverse().index()];
        // Hosts hold whatever comes.
        Gate::new(match fabric.is_host(link.to) {
            true => Thresholds::NONE,
            false => parts.members.thresholds(link, back),
        })
    };
    pauses.gates = fastest.iter().enumerate().map(gate).collect();
    pauses.stops = vec![Stops::default(); fabric.links.len()];
    pauses.frame_bytes = parts.members.frame_bytes();
    pauses
}

fn agents<M: Members>(parts: &Parts<M>) -> Agents<M::Agent> {
    let Some(serves) = parts.members.agents_serve() else { return Agents::none() };
    let agent = |(at, link)| (parts.members.agent(link), stream(parts, Purpose::Agent, at));
    Agents::new(serves, parts.fabric.links.iter().enumerate().map(agent))
}
