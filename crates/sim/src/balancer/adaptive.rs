//! Adaptive routing of switches: each packet, or each flow after a pause, takes the best of all next hops by queues, by use, or
//! by pauses.
//!
//! Source: htsim (github.com/Broadcom/csg-htsim, 2026), "ecmp_ar": switches compare a few levels, not bytes, and read them at
//! intervals. Two differences: a port's use is a discounting estimate over the packets that the switch has sent there by its own
//! choice, where htsim averages over all of a port; and htsim's NDP queue never reports use, so that "bandwidth" there is random.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Settings;
use super::flowlets::{Expiry, Flowlets};
use crate::advice::Unread;
use crate::derived::{Derived, Values};
use crate::engine::contract::path::{Choose, Forgetting, Hop, LOOK, Look, PortLoad, RateEstimator};
use crate::ids::LinkId;
use crate::problem::Problem;
use crate::random::{Purpose, Stream, share};
use crate::topology::Fabric;
use crate::units::{Bytes, Time};

/// Adaptive routing: the best of all next hops by levels that switches compare; among equals a random one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Adaptive {
    /// The levels that are compared, in their order.
    pub method: Method,
    /// Whether each packet chooses, or a flow after a pause.
    pub granularity: Granularity,
    /// Under granularity "flow": after a longer pause of a flow, every other time, it moves to the best next hop if that is
    /// better than its own.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub gap: Time,
    /// Shares of `limit` at which levels of queues begin: 0 below the first, 1 below the second, and so on.
    #[schemars(length(min = 1, max = 15), inner(range(min = 0.0, max = 1.0)))]
    pub levels: Vec<f64>,
    /// Bytes at a port to which `levels` refer. "derived": the limit of the queue of the switches' ports; 100 full packets if
    /// it has none.
    #[schemars(extend("x-minimum" = "1B"))]
    pub limit: Derived<Bytes>,
    /// Time after which the level of a port is read anew; between, choices use the old one.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "1s"))]
    pub refresh: Time,
    /// Time over which the use of a port is averaged: the time constant of a discounting estimate. Levels are 0 for an unused
    /// port, 1 below 15 %, 2 below 50 %, and 3.
    #[schemars(extend("x-minimum" = "10ns", "x-maximum" = "1s"))]
    pub window: Time,
}

/// Levels of ports in the order in which they are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The level of the queue.
    #[default]
    Queue,
    /// The level of use.
    Bandwidth,
    /// A port without paused classes is better than one with them.
    Pause,
    /// Pauses, then the queue.
    PauseQueue,
    /// Pauses, then use.
    PauseBandwidth,
    /// The queue, then use.
    QueueBandwidth,
    /// Pauses, then the queue, then use.
    PauseQueueBandwidth,
}

/// The unit of a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Granularity {
    /// Each packet.
    #[default]
    Packet,
    /// A flow, at the first packet after a pause.
    Flow,
}

impl Default for Adaptive {
    fn default() -> Self {
        Adaptive {
            method: Method::Queue,
            granularity: Granularity::Packet,
            gap: Time::from_us(10),
            levels: vec![0.05, 0.1, 0.2],
            limit: Derived::FromNetwork,
            refresh: Time::from_ns(100),
            window: Time::from_us(30),
        }
    }
}

/// Bytes of a limit that is not derived yet, or of a queue without one: full packets.
const PACKETS_UNLIMITED: u64 = 100;

impl Settings for Adaptive {
    fn spreads(&self) -> bool {
        true
    }

    fn gap(&self) -> Option<Time> {
        (self.granularity == Granularity::Flow).then_some(self.gap)
    }

    fn derived(&self, limit_packets: Option<u64>, full_packet: u64) -> Values {
        match self.limit {
            Derived::FromNetwork => {
                let bytes = limit_packets.unwrap_or(PACKETS_UNLIMITED).saturating_mul(full_packet);
                vec![("limit".into(), json!(Bytes(bytes)))]
            }
            Derived::Given(_) => Vec::new(),
        }
    }

    fn unread(&self) -> Vec<Unread> {
        use Method::{Bandwidth, Pause, PauseBandwidth, PauseQueue, Queue};
        let reads_queues = !matches!(self.method, Bandwidth | Pause | PauseBandwidth);
        let reads_use = !matches!(self.method, Queue | Pause | PauseQueue);
        let queue = "a method that reads queues";
        Unread::among([
            ("gap", self.granularity == Granularity::Flow, "granularity = \"flow\""),
            ("levels", reads_queues, queue),
            ("limit", reads_queues, queue),
            ("window", reads_use, "a method that reads use"),
        ])
    }

    fn problems(&self, _fabric: &Fabric) -> Vec<Problem> {
        let falls = self.levels.windows(2).position(|pair| pair[0] >= pair[1]);
        let problem = |place: usize| {
            let [before, value] = [self.levels[place], self.levels[place + 1]];
            let message = format!("{value} is not above {before}, which is before it; levels ascend");
            Problem::new(format!("levels.{}", place + 1), message)
        };
        falls.map(problem).into_iter().collect()
    }
}

/// The level of a port that a switch has read last.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    /// Since when it holds; none before the first.
    at: Option<Time>,
    /// The levels in the order of the method: the smaller, the better.
    rank: u16,
}

/// The state of all ports.
#[derive(Clone, Debug)]
pub struct Model {
    method: Method,
    /// Bytes at which each level of queues begins.
    steps: Vec<u64>,
    refresh: Time,
    forgetting: Forgetting,
    /// Of all flows, if these choose.
    flowlets: Option<Flowlets>,
    /// By link.
    readings: Vec<Reading>,
    sent: Vec<RateEstimator>,
    stream: Stream,
    coins: Stream,
    /// Memory for the ranks of a choice.
    ranks: Vec<u16>,
}

impl Model {
    pub(super) fn new(config: &Adaptive, fabric: &Fabric, seed: u64, replica: u64) -> Model {
        Model::of(config, (fabric.nodes.len(), fabric.links.len()), seed, replica)
    }

    fn of(config: &Adaptive, (nodes, links): (usize, usize), seed: u64, replica: u64) -> Model {
        let limit = config.limit.or(Bytes(PACKETS_UNLIMITED * 1500)).0 as f64;
        let flowlets = || Flowlets::new(config.gap, Expiry::Exact, nodes);
        Model {
            method: config.method,
            steps: config.levels.iter().map(|share| (share * limit).ceil() as u64).collect(),
            refresh: config.refresh,
            // The time constant is interval / share.
            forgetting: Forgetting { interval: Time(config.window.0 / 10), share: 0.1 },
            flowlets: (config.granularity == Granularity::Flow).then(flowlets),
            readings: vec![Reading::default(); links],
            sent: vec![RateEstimator::default(); links],
            stream: Stream::new(seed, replica, Purpose::Balancer, 3),
            coins: Stream::new(seed, replica, Purpose::Balancer, 4),
            ranks: Vec::new(),
        }
    }

    /// The rank of a port, by the last reading if that is recent.
    fn rank(&mut self, link: LinkId, load: &PortLoad, now: Time) -> u16 {
        let reading = self.readings[link.index()];
        if let Some(at) = reading.at
            && now.0 - at.0 < self.refresh.0
        {
            return reading.rank;
        }
        let queue = self.steps.iter().filter(|step| load.bytes() >= **step).count() as u16;
        let used = match self.sent[link.index()].utilisation(now, self.forgetting, load.rate) {
            0.0 => 0,
            share if share < 0.15 => 1,
            share if share < 0.5 => 2,
            _ => 3,
        };
        let pause = u16::from(load.paused != 0);
        let rank = match self.method {
            Method::Queue => queue,
            Method::Bandwidth => used,
            Method::Pause => pause,
            Method::PauseQueue => pause << 8 | queue,
            Method::PauseBandwidth => pause << 8 | used,
            Method::QueueBandwidth => queue << 4 | used,
            Method::PauseQueueBandwidth => pause << 8 | queue << 4 | used,
        };
        self.readings[link.index()] = Reading { at: Some(now), rank };
        rank
    }
}

impl Choose for Model {
    fn choose(&mut self, hop: Hop, _now: Time) -> u32 {
        // The port of a host belongs to the connection, and no queue is known there.
        if hop.hops == 0 { share(self.stream.bits_at(hop.ticket), hop.count()) } else { LOOK }
    }

    fn choose_by_load(&mut self, hop: Hop, now: Time, look: Look) -> u32 {
        let mut ranks = std::mem::take(&mut self.ranks);
        ranks.clear();
        ranks.extend(hop.next_hops.iter().zip(look.loads).map(|(link, load)| self.rank(*link, load, now)));
        let least = *ranks.iter().min().expect("a next hop");
        let best = || {
            let count = ranks.iter().filter(|rank| **rank == least).count() as u32;
            let drawn = share(self.stream.bits_at(hop.ticket), count) as usize;
            let mut equals = ranks.iter().zip(0..).filter(|(rank, _)| **rank == least);
            equals.nth(drawn).expect("one of them").1
        };
        let heads = self.coins.bits_at(hop.ticket) >> 63 == 1;
        let place = match &mut self.flowlets {
            None => best(),
            Some(flowlets) => flowlets.place(&hop, now, |old| match old {
                Some(old) if !heads || ranks[old as usize] == least => old,
                _ => best(),
            }),
        };
        self.ranks = ranks;
        self.sent[hop.next_hops[place as usize].index()].add(look.size, now, self.forgetting);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;
    use crate::units::Rate;

    const HOPS: [LinkId; 3] = [LinkId(0), LinkId(1), LinkId(2)];

    fn model(config: &Adaptive) -> Model {
        Model::of(config, (1, 3), 1, 0)
    }

    fn hop(label: u32, ticket: u64) -> Hop<'static> {
        Hop { at: NodeId(0), to: NodeId(1), label, hops: 1, ticket, next_hops: &HOPS }
    }

    /// Ports of 10 Gbps with so many bytes and paused classes.
    fn loads(ports: [(u64, u8); 3]) -> [PortLoad; 3] {
        ports.map(|(waiting, paused)| PortLoad {
            waiting,
            ahead: waiting,
            wire: 0,
            rate: Rate(10_000_000_000),
            paused,
        })
    }

    fn choose(model: &mut Model, (label, ticket): (u32, u64), now: Time, ports: [(u64, u8); 3]) -> u32 {
        model.choose_by_load(hop(label, ticket), now, Look { size: 1500, loads: &loads(ports) })
    }

    /// Of 100 KB levels begin at 5, 10 and 20 KB: 4,999 B and none are equal, each chosen as often; 5,000 B are worse.
    #[test]
    fn levels_are_compared_not_bytes() {
        let limit = Derived::Given(Bytes(100_000));
        let mut model = model(&Adaptive { limit, refresh: Time::ZERO, ..Adaptive::default() });
        let mut seen = [0; 3];
        for ticket in 0..2000 {
            let ports = [(4_999, 0), (0, 0), (5_000, 0)];
            seen[choose(&mut model, (7, ticket), Time(ticket), ports) as usize] += 1;
        }
        assert_eq!(seen[2], 0);
        assert!((seen[0] - 1000_i32).abs() < 90, "{seen:?}");
        assert_eq!(choose(&mut model, (7, 0), Time(1 << 20), [(20_000, 0), (19_999, 0), (1 << 40, 0)]), 1);
        assert_eq!(choose(&mut model, (7, 1), Time(2 << 20), [(9_999, 0), (10_000, 0), (19_999, 0)]), 0);
    }

    /// A level is read again 100 ns after it has been read, not before.
    #[test]
    fn levels_are_stale_for_a_while() {
        let limit = Derived::Given(Bytes(100_000));
        let mut model = model(&Adaptive { limit, ..Adaptive::default() });
        let ns = Time::from_ns;
        assert_eq!(choose(&mut model, (7, 0), ns(0), [(0, 0), (90_000, 0), (90_000, 0)]), 0);
        for later in 1..100 {
            assert_eq!(choose(&mut model, (7, later), ns(later), [(90_000, 0), (0, 0), (90_000, 0)]), 0);
        }
        assert_eq!(choose(&mut model, (7, 100), ns(100), [(90_000, 0), (0, 0), (90_000, 0)]), 1);
    }

    /// Pauses count before queues if the method says so, and use if queues are equal: the port that has sent least.
    #[test]
    fn methods_compare_in_their_order() {
        let chosen = |method, ports| {
            let limit = Derived::Given(Bytes(100_000));
            let mut model = model(&Adaptive { method, limit, refresh: Time::ZERO, ..Adaptive::default() });
            // Ports 0 and 1 have sent 45 KB and 3 KB: of 37.5 KB that stand for 10 Gbps over 30 us, levels 3 and 1.
            for (port, packets) in [(0, 30), (1, 2)] {
                (0..packets).for_each(|_| model.sent[port].add(1500, Time::ZERO, model.forgetting));
            }
            choose(&mut model, (7, 0), Time(1), ports)
        };
        let ports = [(0, 0), (30_000, 0), (6_000, 1)];
        assert_eq!(chosen(Method::Queue, ports), 0);
        assert_eq!(chosen(Method::Bandwidth, ports), 2);
        assert_eq!(chosen(Method::PauseQueue, [(0, 1), (30_000, 0), (6_000, 1)]), 1);
        assert_eq!(chosen(Method::PauseBandwidth, ports), 1);
        assert_eq!(chosen(Method::QueueBandwidth, [(0, 0), (0, 0), (6_000, 0)]), 1);
        assert_eq!(chosen(Method::PauseQueueBandwidth, [(0, 0), (0, 0), (0, 1)]), 1);
        // A queue of the next level counts before use of a lower one.
        assert_eq!(chosen(Method::PauseQueueBandwidth, [(0, 0), (6_000, 0), (0, 1)]), 0);
        assert_eq!(chosen(Method::QueueBandwidth, [(0, 0), (30_000, 0), (6_000, 0)]), 0);
        assert_ne!(chosen(Method::Pause, ports), 2);
    }

    /// A flow stays for pauses up to the gap, and where its port is as good as the best; after a longer one it moves, every
    /// other time.
    #[test]
    fn flows_move_after_a_pause() {
        let limit = Derived::Given(Bytes(100_000));
        let granularity = Granularity::Flow;
        let mut model = model(&Adaptive { limit, granularity, refresh: Time::ZERO, ..Adaptive::default() });
        let us = Time::from_us;
        let (mut moved, flows) = (0, 1000);
        for flow in 0..flows {
            let start = 100 * u64::from(flow);
            let mut at =
                |later: u64, ports| choose(&mut model, (flow, start + later), us(start + later), ports);
            let worse = [(90_000, 0), (0, 0), (90_000, 0)];
            assert_eq!(at(0, [(0, 0), (90_000, 0), (90_000, 0)]), 0);
            assert_eq!(at(10, worse), 0, "no pause above the gap");
            assert_eq!(at(21, [(0, 0), (0, 0), (0, 0)]), 0, "none is better");
            let place = at(32, worse);
            assert!(place < 2);
            moved += place;
        }
        assert!((moved as i32 - 500).abs() < 64, "{moved} of {flows}");
    }
}
