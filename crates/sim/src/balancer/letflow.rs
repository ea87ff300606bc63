//! LetFlow: a flow of which nothing has come for a while takes a random next hop.
//!
//! Source: Vanini et al., "Let it flow: resilient asymmetric load balancing with flowlet switching", NSDI 2017, section 4. On a
//! slow path the packets of a flow are further apart, so that its flowlets end sooner: load moves to fast paths without any
//! measurement. Each switch that has a choice has flowlets of its own, as in the paper; the simulator of ConWeave (SIGCOMM 2023)
//! draws whole paths at the first switch instead.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use super::flowlets::{Expiry, Flowlets};
use crate::engine::contract::path::{Choose, Hop};
use crate::random::{Purpose, Stream, share};
use crate::topology::Fabric;
use crate::units::Time;

/// LetFlow: each flowlet of a flow takes a uniformly random next hop at each switch, and may get the same one again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LetFlow {
    /// A pause longer than this between two packets of a flow ends a flowlet. Shorter than the largest difference of the paths'
    /// delays, and packets overtake others.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub gap: Time,
    /// The end of a flowlet: an exact time, or a bit as in CONGA's switch.
    pub expiry: Expiry,
}

impl Default for LetFlow {
    fn default() -> Self {
        LetFlow { gap: Time::from_us(500), expiry: Expiry::Exact }
    }
}

impl Settings for LetFlow {
    fn spreads(&self) -> bool {
        true
    }

    fn gap(&self) -> Option<Time> {
        Some(self.gap)
    }
}

/// The flowlets of all switches, and the stream of their choices.
#[derive(Clone, Debug)]
pub struct Model {
    flowlets: Flowlets,
    stream: Stream,
}

impl Model {
    pub(super) fn new(config: &LetFlow, fabric: &Fabric, seed: u64, replica: u64) -> Model {
        Model {
            flowlets: Flowlets::new(config.gap, config.expiry, fabric.nodes.len()),
            stream: Stream::new(seed, replica, Purpose::Balancer, 2),
        }
    }
}

impl Choose for Model {
    #[inline(always)]
    fn choose(&mut self, hop: Hop, now: Time) -> u32 {
        let Model { flowlets, stream } = self;
        let draw = || share(stream.bits_at(hop.ticket), hop.count());
        // The port of a host belongs to the connection.
        if hop.hops == 0 { draw() } else { flowlets.place(&hop, now, |_| draw()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{LinkId, NodeId};
    use crate::units::SECOND;

    const HOPS: [LinkId; 4] = [LinkId(4), LinkId(6), LinkId(8), LinkId(10)];

    fn model(gap: Time) -> Model {
        let flowlets = Flowlets::new(gap, Expiry::Exact, 1);
        Model { flowlets, stream: Stream::new(1, 0, Purpose::Balancer, 2) }
    }

    fn hop(label: u32, ticket: u64, next_hops: &[LinkId]) -> Hop<'_> {
        Hop { at: NodeId(0), to: NodeId(1), label, hops: 1, ticket, next_hops }
    }

    /// LIT-LB-FLOWLET: of m pauses above the gap over k next hops, m (1 - 1/k) change the path; three deviations.
    #[test]
    fn a_pause_changes_the_path_as_often_as_not_the_same_is_drawn() {
        for ways in [2, 4] {
            let mut model = model(Time::from_us(10));
            let pauses = 20_000u64;
            let choose = |number| model.choose(hop(7, number, &HOPS[..ways]), Time::from_us(11 * number));
            let places: Vec<u32> = (0..=pauses).map(choose).collect();
            let changes = places.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64;
            let share = 1.0 - 1.0 / ways as f64;
            let (expected, deviation) =
                (pauses as f64 * share, (pauses as f64 * share * (1.0 - share)).sqrt());
            assert!((changes - expected).abs() < 3.0 * deviation, "{changes} of {pauses} over {ways}");
        }
    }

    /// LIT-LB-LETFLOW-CHAIN: a hundred flows that always have packets, on paths of 10 Gbps and of so much more, whose packets of
    /// 1500 B leave as a Poisson process and are of a flow each as likely. How many are on the slow path on average, and on how
    /// many it would be in proportion to the rates.
    fn on_the_slow_path(fast_gbps: f64, gap: Time) -> f64 {
        let mut model = model(gap);
        let mut draws = Stream::new(3, 0, Purpose::Arrivals, 0);
        let rates = [10e9 / 12_000.0, fast_gbps * 1e9 / 12_000.0];
        let label = |flow: u32| flow.wrapping_mul(2_654_435_761);
        // The flows of each path.
        let mut on: [Vec<u32>; 2] = [Vec::new(), Vec::new()];
        for flow in 0..100 {
            let path = model.choose(hop(label(flow), u64::from(flow), &HOPS[..2]), Time::ZERO);
            on[path as usize].push(flow);
        }
        let (mut now, mut ticket) = (0.0, 100);
        let (mut sum, mut counted) = (0.0, 0);
        while ticket < 1_500_000 {
            let busy = [0, 1].map(|path: usize| if on[path].is_empty() { 0.0 } else { rates[path] });
            now += draws.exponential(1.0 / (busy[0] + busy[1]));
            let path = usize::from(draws.unit() * (busy[0] + busy[1]) >= busy[0]);
            let place = draws.below(on[path].len() as u64) as usize;
            let flow = on[path][place];
            ticket += 1;
            let time = Time((now * SECOND as f64) as u64);
            let chosen = model.choose(hop(label(flow), ticket, &HOPS[..2]), time) as usize;
            if chosen != path {
                on[path].swap_remove(place);
                on[chosen].push(flow);
            }
            if ticket > 100_000 {
                (sum, counted) = (sum + on[0].len() as f64, counted + 1);
            }
        }
        sum / f64::from(counted)
    }

    /// 40.1 and 26.6 by a Monte Carlo run of the chain; 33.3 and 20 in proportion to the rates. Two per cent are some deviations
    /// of a run of this length.
    #[test]
    fn flowlets_find_the_rates_of_paths() {
        for (fast, expected) in [(20.0, 40.1), (40.0, 26.6)] {
            let found = on_the_slow_path(fast, Time::from_us(100));
            assert!(
                (found - expected).abs() < 0.02 * expected,
                "{found}, not {expected}, beside {fast} Gbps"
            );
        }
    }
}
