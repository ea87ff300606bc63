//! FLARE: a flowlet takes the next hop that has got least of its share of the bytes so far.
//!
//! Source: Kandula, Katabi, Sinha and Berger, "Dynamic load balancing without packet reordering", CCR 37(2), 2007. Each next hop
//! of a switch has tokens: a packet of B bytes adds B times its share to each, and takes B from the one that it goes by. The paper
//! measures the largest difference of delays by probes and sets the gap to it; here the gap is a field.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use super::flowlets::{Expiry, Flowlets};
use crate::engine::contract::path::{Choose, Hop, LOOK, Look};
use crate::random::{Purpose, Stream, share};
use crate::topology::Fabric;
use crate::units::Time;

/// FLARE: each flowlet of a flow takes the next hop with the largest deficit of bytes, at each switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Flare {
    /// A pause longer than this between two packets of a flow ends a flowlet. Shorter than the largest difference of the paths'
    /// delays, and packets overtake others.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub gap: Time,
    /// The share of the bytes that each next hop is to get.
    pub shares: Shares,
}

/// The share of the bytes of a next hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shares {
    /// All the same.
    #[default]
    Equal,
    /// In proportion to the present rate of the link.
    Rate,
}

impl Default for Flare {
    fn default() -> Self {
        Flare { gap: Time::from_us(500), shares: Shares::Equal }
    }
}

impl Settings for Flare {
    fn spreads(&self) -> bool {
        true
    }

    fn gap(&self) -> Option<Time> {
        Some(self.gap)
    }
}

/// The flowlets and tokens of all switches.
#[derive(Clone, Debug)]
pub struct Model {
    shares: Shares,
    flowlets: Flowlets,
    /// By link, in bytes.
    tokens: Vec<f64>,
    stream: Stream,
}

impl Model {
    pub(super) fn new(config: &Flare, fabric: &Fabric, seed: u64, replica: u64) -> Model {
        Model::of(config, fabric.nodes.len(), fabric.links.len(), seed, replica)
    }

    fn of(config: &Flare, nodes: usize, links: usize, seed: u64, replica: u64) -> Model {
        Model {
            shares: config.shares,
            flowlets: Flowlets::new(config.gap, Expiry::Exact, nodes),
            tokens: vec![0.0; links],
            stream: Stream::new(seed, replica, Purpose::Balancer, 5),
        }
    }
}

impl Choose for Model {
    fn choose(&mut self, hop: Hop, _now: Time) -> u32 {
        // The port of a host belongs to the connection.
        if hop.hops == 0 { share(self.stream.bits_at(hop.ticket), hop.count()) } else { LOOK }
    }

    fn choose_by_load(&mut self, hop: Hop, now: Time, look: Look) -> u32 {
        let Model { shares, flowlets, tokens, .. } = self;
        let part = |place: usize| match shares {
            Shares::Equal => 1.0,
            Shares::Rate => look.loads[place].rate.0 as f64,
        };
        let all: f64 = (0..look.loads.len()).map(part).sum();
        let size = f64::from(look.size);
        for (place, link) in hop.next_hops.iter().enumerate() {
            tokens[link.index()] += size * part(place) / all.max(1.0);
        }
        let most = |_| {
            let deficit = |place: &u32| tokens[hop.next_hops[*place as usize].index()];
            // The first among equals.
            (0..hop.count()).rev().max_by(|a, b| deficit(a).total_cmp(&deficit(b))).expect("a next hop")
        };
        let place = flowlets.place(&hop, now, most);
        tokens[hop.next_hops[place as usize].index()] -= size;
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::path::PortLoad;
    use crate::ids::{LinkId, NodeId};
    use crate::units::Rate;

    const THREE: [LinkId; 3] = [LinkId(0), LinkId(2), LinkId(4)];

    /// The next hops of packets of those flows and sizes, a microsecond apart, to ports of those rates; the gap is 10 us.
    fn places(shares: Shares, rates: [u64; 3], packets: &[(u32, u32)]) -> Vec<u32> {
        let mut model = Model::of(&Flare { gap: Time::from_us(10), shares }, 1, 6, 1, 0);
        let loads = rates.map(|rate| PortLoad { waiting: 0, ahead: 0, wire: 0, rate: Rate(rate), paused: 0 });
        let choose = |(number, (label, size)): (u64, &(u32, u32))| {
            let hop = Hop {
                at: NodeId(0),
                to: NodeId(1),
                label: *label,
                hops: 1,
                ticket: number,
                next_hops: &THREE,
            };
            assert_eq!(model.choose(hop, Time::from_us(number)), LOOK);
            model.choose_by_load(hop, Time::from_us(number), Look { size: *size, loads: &loads })
        };
        (0..).zip(packets).map(choose).collect()
    }

    /// By hand. A packet of 1500 B adds 500 B to each: the first flow takes 1500 B from the first port (-1000, 500, 500), the
    /// second flow's packet goes by the second port (-500, -500, 1000); a packet of the first flow stays with it, (-1500, 0, 1500);
    /// the third flow goes by the third.
    #[test]
    fn flowlets_take_the_port_with_the_largest_deficit() {
        let packets = [(1, 1500), (2, 1500), (1, 1500), (3, 1500), (2, 300), (4, 300)];
        // After the third flow (-1000, 500, 500); 300 B of the second flow (-900, 300, 600): the fourth goes by the third port.
        assert_eq!(places(Shares::Equal, [1, 1, 1], &packets), [0, 1, 0, 2, 1, 2]);
    }

    /// Of a thousand flows of one packet each, half go by a port with half of the rate of all.
    #[test]
    fn shares_follow_rates() {
        let packets: Vec<(u32, u32)> = (0..1000).map(|flow: u32| (flow.wrapping_mul(40_503), 1000)).collect();
        let places = places(Shares::Rate, [20, 10, 10], &packets);
        let count = |port| places.iter().filter(|place| **place == port).count();
        assert_eq!([count(0), count(1), count(2)], [500, 250, 250]);
    }
}
