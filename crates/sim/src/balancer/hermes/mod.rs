//! Hermes: hosts sense their paths to each leaf, and move a flow only if that pays.
//!
//! Source: Zhang, Zhang, Bai, Chen and Chowdhury, "Resilient datacenter load balancing in the wild", SIGCOMM 2017, section 3, and
//! the authors' simulator (ns3-load-balance, "TLB"), whose values and rules hold where both differ from what is said below. A
//! host learns of a path by the acknowledgements of its own data: round trip, marks, losses (`paths.rs`). Without the paper's
//! probes it knows nothing of paths by which it has not sent lately; these are grey, as in that simulator.
//!
//! A packet's label has its uplink in the lowest byte, and bits of its connection's label above.

mod paths;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::paths::{Class, HostPaths};
use super::Settings;
use super::leaves::{self, Leaves};
use crate::engine::contract::packet::reverse_label;
use crate::engine::contract::path::{Choose, Forgetting, Hop, News, Opening, Path, RateEstimator, Trip};
use crate::engine::contract::paths::Paths;
use crate::ids::{ConnId, LinkId, NodeId};
use crate::problem::Problem;
use crate::random::{Purpose, Stream, mix, salts, share};
use crate::routing::Routes;
use crate::topology::Fabric;
use crate::units::{Bytes, Rate, Time};

/// Hermes: a new flow takes a good path, and leaves a congested one only if it has sent much, is slow, and another path is notably
/// better. For leaves and spines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Hermes {
    /// A path with this share of marked packets or more is not good, and congested if its round trip is long, too.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ecn_threshold: f64,
    /// Round trip below which a path with few marks is good, T_low: a little more than that of an empty network.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "1s"))]
    pub rtt_low: Time,
    /// Round trip above which a path with many marks is congested, T_high.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "1s"))]
    pub rtt_high: Time,
    /// The round trip of a path that is notably better is shorter by more than this.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "1s"))]
    pub rtt_better: Time,
    /// The share of marked packets on it is less by more than this.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ecn_better: f64,
    /// Weight of an acknowledgement in the means of a path's round trip and marks.
    #[schemars(range(min = 0.001, max = 1.0))]
    pub weight: f64,
    /// Time without an acknowledgement after which nothing is known of a path.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub ageing: Time,
    /// A flow may leave a congested path after it has sent more than this, S.
    #[schemars(extend("x-minimum" = "0B"))]
    pub sent_least: Bytes,
    /// It may do so if it sends at less than this share of its host's link, R.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub rate_most: f64,
    /// Time between two attempts of a flow to leave its path.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "1s"))]
    pub retry: Time,
    /// Probability with which an attempt is made, so that flows do not move together.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub move_share: f64,
    /// Timeouts of flows between two hosts after which a path without any acknowledgement between them has failed.
    #[schemars(range(min = 1, max = 1000))]
    pub timeouts: u32,
    /// A path has failed if more than this share of its packets is sent again while it is not congested.
    #[schemars(range(min = 0.0001, max = 1.0))]
    pub loss_threshold: f64,
    /// The least interval over which that share is taken. It is longer until one packet is not above the share.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub loss_interval: Time,
    /// Time from one reduction of the estimates of rates to the next, as in CONGA.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub dre_interval: Time,
    /// Share by which each reduces them.
    #[schemars(range(min = 0.001, max = 0.999))]
    pub dre_weight: f64,
    /// A pause longer than this gives a flow's acknowledgements another path.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub answer_gap: Time,
}

impl Default for Hermes {
    fn default() -> Self {
        Hermes {
            ecn_threshold: 0.3,
            rtt_low: Time::from_us(60),
            rtt_high: Time::from_us(180),
            rtt_better: Time::from_us(100),
            ecn_better: 0.05,
            weight: 0.125,
            ageing: Time::from_us(500),
            sent_least: Bytes(600_000),
            rate_most: 0.3,
            retry: Time::from_us(100),
            move_share: 0.5,
            timeouts: 3,
            loss_threshold: 0.01,
            loss_interval: Time::from_us(10_000),
            dre_interval: Time::from_us(16),
            dre_weight: 0.1,
            answer_gap: Time::from_us(500),
        }
    }
}

impl Settings for Hermes {
    fn spreads(&self) -> bool {
        true
    }

    fn learns(&self) -> bool {
        true
    }

    fn problems(&self, fabric: &Fabric) -> Vec<Problem> {
        let mut problems = leaves::problems(fabric);
        if self.rtt_low > self.rtt_high {
            let why = "is above rtt_high: a path could be good and congested at once";
            problems.push(Problem::new("rtt_low", why));
        }
        problems
    }
}

/// No path.
const NONE: u8 = u8::MAX;

/// A flow at its sender's host, or its acknowledgements at the receiver's.
#[derive(Clone, Debug)]
struct Flow {
    from: NodeId,
    to: NodeId,
    label: u32,
    /// The uplink that its packets take, the one before it, and the time of the move.
    path: u8,
    old: u8,
    since: Time,
    /// Whether a packet that was sent since then has been acknowledged.
    settled: bool,
    expired: bool,
    /// Changes of routes that its path has seen.
    changes: u32,
    sent: u64,
    rate: RateEstimator,
    /// When it last tried to move, or sent.
    last: Time,
    draws: Stream,
}

/// The paths of all hosts, and the flows.
#[derive(Clone, Debug)]
pub struct Model {
    config: Hermes,
    forgetting: Forgetting,
    leaves: Leaves,
    /// By host.
    hosts: Vec<HostPaths>,
    /// By host, of its link.
    rates: Vec<Rate>,
    /// By connection: its acknowledgements, and its data.
    flows: Vec<[Flow; 2]>,
    changes: u32,
    salts: Vec<u64>,
    stream: Stream,
    seed: u64,
    replica: u64,
}

impl Model {
    pub(super) fn new(config: &Hermes, fabric: &Fabric, seed: u64, replica: u64) -> Model {
        let mut rates = vec![Rate(0); fabric.nodes.len()];
        for link in fabric.links.iter().filter(|link| fabric.is_host(link.from)) {
            rates[link.from.index()] = link.rate;
        }
        Model {
            forgetting: Forgetting { interval: config.dre_interval, share: config.dre_weight },
            config: config.clone(),
            leaves: Leaves::of(fabric).expect("the check has looked at the network"),
            hosts: vec![HostPaths::default(); fabric.nodes.len()],
            rates,
            flows: Vec::new(),
            changes: 0,
            salts: salts(fabric.nodes.len(), seed, replica),
            stream: Stream::new(seed, replica, Purpose::Balancer, 6),
            seed,
            replica,
        }
    }

    /// The next hop for a label.
    #[inline(always)]
    fn pick(&self, hop: Hop) -> u32 {
        if self.leaves.number(hop.at).is_none() {
            // Of several cables from a spine to a leaf, by a hash.
            let key = u64::from(hop.label >> 8) ^ self.salts[hop.at.index()];
            return share(mix(key), hop.count());
        }
        let uplink = hop.label & 0xff;
        let is_it = |link: &LinkId| u32::from(self.leaves.uplink[link.index()]) == uplink;
        if hop.next_hops.get(uplink as usize).is_some_and(is_it) {
            return uplink;
        }
        let place = hop.next_hops.iter().position(is_it).map(|place| place as u32);
        // Routes have changed since the packet was made.
        place.unwrap_or_else(|| share(self.stream.bits_at(hop.ticket), hop.count()))
    }

    /// The best path for a flow, by class and then by what this host sends by it; `notably`: only a good or grey one that is
    /// notably better than the flow's own. None if all have failed, or none is better.
    #[inline(never)]
    fn best(&mut self, flow: &Flow, trip: &Trip, notably: bool, draw: u64) -> Option<u8> {
        let Model { config, forgetting, leaves, hosts, .. } = self;
        let (now, to) = (trip.now, leaves.number(trip.to)?);
        let host = &mut hosts[flow.from.index()];
        let own = host.to(to, (leaves.count, leaves.width), config);
        let bar = notably.then(|| own[usize::from(flow.path)].view(now, config));
        let (mut best, mut equals, mut found) = ((Class::Failed, 0.0), 0, None);
        for &link in trip.routes.next_hops(trip.ends[trip.port.index()], trip.to) {
            let uplink = leaves.uplink[link.index()] as u8;
            let silent = host.is_silent(flow.to, uplink, config);
            let path = &mut host.to(to, (leaves.count, leaves.width), config)[usize::from(uplink)];
            let class = if silent { Class::Failed } else { path.class(now, config) };
            let excluded = match bar {
                Some(bar) => class >= Class::Bad || !path.view(now, config).beats(bar, config),
                None => class == Class::Failed,
            };
            if excluded {
                continue;
            }
            // Among congested paths any is as good.
            let load = if class == Class::Bad { 0.0 } else { path.rate.bytes(now, *forgetting) };
            if found.is_none() || (class, load) < best {
                (best, equals) = ((class, load), 0);
            }
            if (class, load) == best {
                equals += 1;
                if share(mix(draw.wrapping_add(u64::from(uplink))), equals) == 0 {
                    found = Some(uplink);
                }
            }
        }
        found
    }

    /// Any path.
    #[cold]
    fn any(&self, trip: &Trip, draw: u64) -> u8 {
        let hops = trip.routes.next_hops(trip.ends[trip.port.index()], trip.to);
        if hops.is_empty() {
            return NONE;
        }
        self.leaves.uplink[hops[share(draw, hops.len() as u32) as usize].index()] as u8
    }

    /// Algorithm 2: whether a flow takes another path now, and which.
    fn reroute(&mut self, flow: &mut Flow, trip: &Trip, class: Class) -> Option<u8> {
        let now = trip.now;
        if flow.path == NONE || flow.changes != self.changes || flow.expired || class == Class::Failed {
            let must = flow.path == NONE || flow.changes != self.changes || flow.expired;
            (flow.changes, flow.expired) = (self.changes, false);
            let draw = flow.draws.bits();
            let best = self.best(flow, trip, false, draw);
            return best.or_else(|| must.then(|| self.any(trip, draw)));
        }
        let due = class == Class::Bad
            && flow.sent > self.config.sent_least.0
            && now.0 - flow.last.0 > self.config.retry.0;
        let rate = self.rates[flow.from.index()];
        if !due || flow.rate.utilisation(now, self.forgetting, rate) >= self.config.rate_most {
            return None;
        }
        flow.last = now;
        let (coin, draw) = (flow.draws.unit(), flow.draws.bits());
        if coin < self.config.move_share { self.best(flow, trip, true, draw) } else { None }
    }

    /// The path of a packet of data.
    fn send(&mut self, flow: &mut Flow, trip: &Trip, to: usize) {
        let (now, size) = (trip.now, (self.leaves.count, self.leaves.width));
        let class = match flow.path {
            NONE => Class::Grey,
            path => {
                let host = &mut self.hosts[flow.from.index()];
                let silent = host.is_silent(flow.to, path, &self.config);
                let state = &host.to(to, size, &self.config)[usize::from(path)];
                if silent { Class::Failed } else { state.class(now, &self.config) }
            }
        };
        if let Some(path) = self.reroute(flow, trip, class) {
            (flow.old, flow.path) = (flow.path, path);
            (flow.since, flow.settled, flow.last) = (now, false, now);
        }
        flow.sent += u64::from(trip.size);
        flow.rate.add(trip.size, now, self.forgetting);
        if flow.path != NONE {
            let path = &mut self.hosts[flow.from.index()].to(to, size, &self.config)[usize::from(flow.path)];
            path.rate.add(trip.size, now, self.forgetting);
            path.send(now, &self.config);
        }
    }

    /// The path of an acknowledgement: another one after a pause, of which a path that loses them may be the reason.
    fn answer(&mut self, flow: &mut Flow, trip: &Trip, to: usize) {
        let now = trip.now;
        let paused = now.0 - flow.last.0 > self.config.answer_gap.0;
        if flow.path == NONE || paused || flow.changes != self.changes {
            flow.changes = self.changes;
            flow.path = self.any(trip, flow.draws.bits());
        }
        flow.last = now;
        if flow.path != NONE {
            let size = (self.leaves.count, self.leaves.width);
            let path = &mut self.hosts[flow.from.index()].to(to, size, &self.config)[usize::from(flow.path)];
            path.rate.add(trip.size, now, self.forgetting);
        }
    }
}

impl Choose for Model {
    #[inline(always)]
    fn choose(&mut self, hop: Hop, _now: Time) -> u32 {
        self.pick(hop)
    }

    #[inline(always)]
    fn foresee(&self, hop: Hop) -> Option<u32> {
        Some(self.pick(hop))
    }

    fn routes_change(&mut self, _routes: &Routes, _fabric: &Fabric, _rate: &dyn Fn(LinkId) -> Rate) {
        self.changes += 1;
        self.hosts.iter_mut().for_each(HostPaths::forgive);
    }

    #[cold]
    fn open(&mut self, opening: Opening, _paths: &mut Paths) -> (LinkId, LinkId) {
        let Opening { id, src, dst, label, ports, .. } = opening;
        let flow = |from, to, label: u32| Flow {
            from,
            to,
            label: label & !0xff,
            path: NONE,
            old: NONE,
            since: Time::ZERO,
            settled: false,
            expired: false,
            changes: 0,
            sent: 0,
            rate: RateEstimator::default(),
            last: Time::ZERO,
            draws: Stream::new(self.seed, self.replica, Purpose::Paths, u64::from(label)),
        };
        let flows = [flow(dst, src, reverse_label(label)), flow(src, dst, label)];
        if id.index() >= self.flows.len() {
            self.flows.resize(id.index() + 1, flows.clone());
        }
        self.flows[id.index()] = flows;
        ports
    }

    fn at_source(&self) -> bool {
        true
    }

    fn next_path(&mut self, trip: Trip) -> Option<Path> {
        let mut flows = std::mem::take(&mut self.flows);
        let flow = &mut flows[trip.conn.index()][usize::from(trip.forward)];
        let (from, to) = (self.leaves.number(flow.from), self.leaves.number(flow.to));
        match to {
            Some(to) if from != Some(to) && trip.forward => self.send(flow, &trip, to),
            Some(to) if from != Some(to) => self.answer(flow, &trip, to),
            _ => {}
        }
        let (number, label) = (u32::from(flow.path), flow.label | u32::from(flow.path));
        let known = flow.path != NONE;
        self.flows = flows;
        known.then_some(Path { number, label, flags: 0 })
    }

    fn learns(&self) -> bool {
        true
    }

    fn learn(&mut self, conn: ConnId, news: News, now: Time) {
        let flow = &mut self.flows[conn.index()][1];
        let Some(to) = self.leaves.number(flow.to).filter(|_| flow.path != NONE) else { return };
        let host = &mut self.hosts[flow.from.index()];
        let size = (self.leaves.count, self.leaves.width);
        match news {
            News::Acked { sent, marked } => {
                let newer = sent >= flow.since;
                flow.settled |= newer;
                let path = if newer { flow.path } else { flow.old };
                if path != NONE {
                    host.answered(flow.to, path);
                    let own = &mut host.to(to, size, &self.config)[usize::from(path)];
                    own.hear(now - sent, marked, now, &self.config);
                }
            }
            // Until then the lost packets were on the path before.
            News::SentAgain if flow.settled => {
                host.to(to, size, &self.config)[usize::from(flow.path)].send_again(now, &self.config);
            }
            News::SentAgain => {}
            News::Timeout => {
                host.expire(flow.to, flow.path);
                (flow.expired, flow.settled) = (true, false);
            }
        }
    }

    fn path(&self, id: ConnId, forward: bool) -> Option<u32> {
        let path = self.flows[id.index()][usize::from(forward)].path;
        (path != NONE).then_some(u32::from(path))
    }
}

#[cfg(test)]
mod tests;
