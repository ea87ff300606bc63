//! The empty network at time zero.

use super::agents::Agents;
use super::egress::{Egress, PortQueue};
use crate::engine::calendar::Calendar;
use crate::engine::calendar::ties::Ties;
use crate::engine::contract::members::Members;
use crate::engine::data::boundary::Remote;
use crate::engine::data::conn::ReadyList;
use crate::engine::data::deferred::Deferred;
use crate::engine::data::event::Links;
use crate::engine::data::gate::{FlowControl, Gate, Pauses, Stops, Thresholds};
use crate::engine::data::packet::{Arena, Record};
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
        let stream = |purpose, entity: usize| Stream::new(seed, replica, purpose, entity as u64);
        let links = fabric.links.len();
        let hosts = fabric.hosts as usize;
        let ranks = |count: usize, entity| {
            let mut ranks: Vec<u32> = (0..count as u32).collect();
            stream(Purpose::Ties, entity).shuffle(&mut ranks);
            ranks
        };
        let link_ranks = ranks(links, 0);
        let lossless = parts.members.pauses();
        let in_retrospect = !parts.serviced_only && !lossless && !parts.members.acts_on_departure();
        let mut pauses = Pauses::default();
        if lossless {
            // While it is fastest most comes by a link before its head stops, and most again while the way back is
            // slowest.
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
            pauses.stops = vec![Stops::default(); links];
        }
        let committed = if parts.serviced_only { None } else { parts.members.committed() };
        let mut fault_of: FxHashMap<LinkId, LinkState> = parts.faults.links.iter().copied().collect();
        for (at, link) in fabric.links.iter().enumerate() {
            if parts.faults.picked.iter().any(|picked| picked.host == link.from) {
                fault_of.entry(LinkId(at as u32)).or_insert_with(|| nominal(link, Time::NEVER));
            }
        }
        let queue_of = |id: LinkId, link: &Link| match committed {
            // A host's port is asked packet by packet: it must be serviced.
            _ if fabric.is_host(link.from) => PortQueue::Serviced(parts.members.host_queue()),
            // A packet's fate on a faulty link is decided when it is sent.
            Some(rules) if !fault_of.contains_key(&id) => PortQueue::Committed(Departures::default(), rules),
            _ => PortQueue::Serviced(parts.members.queue()),
        };
        let credits = parts.members.credits();
        let asks = parts.members.telemetry();
        let port_of = |id: LinkId, link: &Link, rank| {
            let mut port = Port::new(link, rank);
            // The drop of a packet, and the resumption of a paused port, take place at their own time, not in retrospect.
            if in_retrospect && !fabric.is_host(link.from) {
                port.lookahead = link.delay;
            }
            let chance = || stream(Purpose::Loss, id.index());
            let fault = |&state: &LinkState| {
                Box::new(LinkFault {
                    state,
                    chance: chance(),
                    named: false,
                    lost: 0,
                    bytes: 0,
                    busy: Time::ZERO,
                })
            };
            port.fault = fault_of.get(&id).map(fault);
            port.paused = credits.paused_at_first(id);
            port.stamps = asks != 0;
            port
        };
        let egress_of = |(at, (link, rank)): (usize, (&Link, u32))| Egress {
            port: port_of(LinkId(at as u32), link, rank),
            queue: queue_of(LinkId(at as u32), link),
            chance: stream(Purpose::Queue, at),
            losses: Losses::default(),
        };
        Network {
            now: Time::ZERO,
            calendar: Calendar::new(parts.agenda, Ties::new(parts.ties, seed, replica)),
            arena: Arena::new(
                parts.members.has_records(),
                Stamps::new(asks, telemetry::rates(fabric, parts.faults)),
            ),
            links: Links::new(&link_ranks),
            egress: fabric.links.iter().zip(link_ranks).enumerate().map(egress_of).collect(),
            ends: fabric.links.iter().map(|link| link.to).collect(),
            tallies: Vec::new(),
            shows: parts.members.agents_serve().is_some(),
            agents: match parts.members.agents_serve() {
                Some(serves) => {
                    let agent = |(at, link)| (parts.members.agent(link), stream(Purpose::Agent, at));
                    Agents::new(serves, fabric.links.iter().enumerate().map(agent))
                }
                None => Agents::none(),
            },
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
            control: FlowControl { pauses, credits },
            reacts: false,
            host_ranks: ranks(hosts, 1),
            host_timers: vec![0; hosts],
            packet_hops: 0,
            packets_made: 0,
            unroutable: 0,
            picked: parts.faults.picked.clone(),
            moved_at: Time::ZERO,
            seed,
            replica,
            balancers: parts.members.balancers(fabric, seed, replica),
            loads: Vec::new(),
            paths: Paths::default(),
            routes: parts.routes,
            whole: parts.routes,
        }
    }
}
