//! DeTail's adaptive load balancing: each packet takes a random one of the ports with the fewest bytes that leave before it.
//!
//! Source: Zats et al., "DeTail: reducing the flow completion time tail in datacenter networks", SIGCOMM 2012. A switch compares
//! the drain bytes of each next hop's port, those of the packet's class and of the classes served before it, with two
//! thresholds, and takes any port of the best group that has one: below the lower threshold, between both, above. Thresholds
//! of 16 and 64 KB are given from memory of the paper. Its switches queue at inputs too, behind a crossbar four times as fast
//! as a link; ports here queue at outputs alone, as if that had no bound.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use crate::engine::contract::path::{Choose, Hop, LOOK, Look};
use crate::problem::Problem;
use crate::random::{Purpose, Stream, share};
use crate::topology::Fabric;
use crate::units::{Bytes, Time};

/// DeTail: each packet takes any of the ports at which the fewest bytes go before it, in three groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Detail {
    /// Ports at which fewer bytes leave before the packet are in the best group (DeTail: 16 KB).
    #[schemars(extend("x-maximum" = "1GB"))]
    pub low: Bytes,
    /// Of the others, those with fewer than this are in the second group (DeTail: 64 KB).
    #[schemars(extend("x-maximum" = "1GB"))]
    pub high: Bytes,
}

impl Default for Detail {
    fn default() -> Self {
        Detail { low: Bytes(16_000), high: Bytes(64_000) }
    }
}

impl Settings for Detail {
    fn spreads(&self) -> bool {
        true
    }

    fn problems(&self, _fabric: &Fabric) -> Vec<Problem> {
        if self.low <= self.high {
            return Vec::new();
        }
        vec![Problem::new("high", format!("{} is below low, which is {}", self.high, self.low))]
    }
}

/// The thresholds, and the stream of choices among equals.
#[derive(Clone, Debug)]
pub struct Model {
    steps: [u64; 2],
    stream: Stream,
}

impl Model {
    pub(super) fn new(config: &Detail, _fabric: &Fabric, seed: u64, replica: u64) -> Model {
        let stream = Stream::new(seed, replica, Purpose::Balancer, 2 << 8);
        Model { steps: [config.low.0, config.high.0], stream }
    }

    /// The group of a port: how many thresholds the bytes there have reached.
    fn group(&self, ahead: u64) -> usize {
        self.steps.iter().filter(|&&step| ahead >= step).count()
    }
}

impl Choose for Model {
    fn choose(&mut self, hop: Hop, _now: Time) -> u32 {
        // The port of a host belongs to the connection, and no queue is known there.
        if hop.hops == 0 { share(self.stream.bits_at(hop.ticket), hop.count()) } else { LOOK }
    }

    fn choose_by_load(&mut self, hop: Hop, _now: Time, look: Look) -> u32 {
        let groups = || look.loads.iter().map(|load| self.group(load.ahead));
        let best = groups().min().expect("a choice has next hops");
        let count = groups().filter(|&group| group == best).count();
        let chosen = share(self.stream.bits_at(hop.ticket), count as u32) as usize;
        let mut places = groups().enumerate().filter(|&(_, group)| group == best);
        places.nth(chosen).expect("so many are in the group").0 as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::path::PortLoad;
    use crate::ids::{LinkId, NodeId};
    use crate::units::Rate;

    /// How often each port is chosen in 3,000 choices, given the bytes that go before the packet.
    fn counts(ahead: [u64; 4]) -> [u32; 4] {
        let stream = Stream::new(1, 0, Purpose::Balancer, 2 << 8);
        let mut model = Model { steps: [16_000, 64_000], stream };
        let loads =
            ahead.map(|ahead| PortLoad { waiting: 1 << 20, ahead, wire: 1500, rate: Rate(1), paused: 0 });
        let next_hops = [0, 2, 4, 6].map(LinkId);
        let mut counts = [0; 4];
        for ticket in 0..3000 {
            let hop = Hop { at: NodeId(0), to: NodeId(1), label: 7, hops: 1, ticket, next_hops: &next_hops };
            let look = Look { size: 1500, loads: &loads };
            counts[model.choose_by_load(hop, Time::ZERO, look) as usize] += 1;
        }
        counts
    }

    /// All ports of the best group are as likely, within four deviations of 3,000 draws, and no other port is taken; bytes that
    /// leave after the packet do not count.
    #[test]
    fn any_port_of_the_best_group() {
        let shares = |ahead, expected: [u32; 4]| {
            let found = counts(ahead);
            for (found, expected) in found.into_iter().zip(expected) {
                let deviation = 4.0 * (f64::from(expected) * (1.0 - f64::from(expected) / 3000.0)).sqrt();
                assert!(
                    (f64::from(found) - f64::from(expected)).abs() <= deviation,
                    "{found}, not {expected}"
                );
            }
        };
        shares([0, 15_999, 16_000, 70_000], [1500, 1500, 0, 0]);
        shares([16_000, 63_999, 64_000, 30_000], [1000, 1000, 0, 1000]);
        shares([64_000, 1 << 30, 64_001, 70_000], [750; 4]);
        shares([64_000, 1 << 30, 64_001, 63_999], [0, 0, 0, 3000]);
    }

    /// Equal thresholds leave two groups; the higher one may not be below the lower one.
    #[test]
    fn thresholds_may_be_equal() {
        let problems = |low, high| {
            let config = Detail { low: Bytes(low), high: Bytes(high) };
            config
                .problems(&Fabric::default())
                .into_iter()
                .map(|problem| problem.to_string())
                .collect::<Vec<_>>()
        };
        assert!(problems(16_000, 16_000).is_empty());
        assert_eq!(problems(16_001, 16_000), ["high: 16KB is below low, which is 16001B"]);
    }
}
