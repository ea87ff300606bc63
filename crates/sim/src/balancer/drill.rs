//! DRILL: each packet takes the port with the fewest bytes among a few random ones and those that were best before.
//!
//! Source: Ghorbani et al., "DRILL: micro load balancing for low-latency data center networks", SIGCOMM 2017, section 3. Bytes
//! are exact at the instant of the choice, as in the simulators of ConWeave and Hermes; in a switch of several engines they are
//! a little late. Memory is that of a switch, as in the paper, not of each destination; the best ports are those once the packet
//! has joined its queue (Mitzenmacher, Prabhakar and Shah, "Load balancing with memory", FOCS 2002).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use crate::engine::contract::path::{Choose, Hop, LOOK, Look};
use crate::ids::LinkId;
use crate::random::{Purpose, Stream, share};
use crate::topology::Fabric;
use crate::units::Time;

/// DRILL: each packet takes the shortest of some queues, at each switch that has a choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Drill {
    /// Random next hops that are compared for each packet, all different: d of DRILL(d, m).
    #[schemars(range(min = 1, max = 64))]
    pub samples: u32,
    /// Best next hops of the last choice of the switch that are compared with them, before them: m of DRILL(d, m). Those that
    /// do not lead to the packet's destination are left out.
    #[schemars(range(min = 0, max = 64))]
    pub memory: u32,
}

impl Default for Drill {
    fn default() -> Self {
        Drill { samples: 2, memory: 1 }
    }
}

impl Settings for Drill {
    fn spreads(&self) -> bool {
        true
    }
}

/// The best ports of the last choices of all switches, and the streams of their samples.
#[derive(Clone, Debug)]
pub struct Model {
    memory: usize,
    /// By node, so many links; none where fewer are known.
    best: Vec<LinkId>,
    /// One for each sample.
    streams: Vec<Stream>,
    /// Memory for the samples of a choice, ascending, and for all ports that are compared.
    sampled: Vec<u32>,
    candidates: Vec<(u64, u32)>,
}

impl Model {
    pub(super) fn new(config: &Drill, fabric: &Fabric, seed: u64, replica: u64) -> Model {
        Model::of(config, fabric.nodes.len(), seed, replica)
    }

    fn of(config: &Drill, nodes: usize, seed: u64, replica: u64) -> Model {
        let stream = |sample| Stream::new(seed, replica, Purpose::Balancer, 1 << 8 | u64::from(sample));
        let memory = config.memory as usize;
        Model {
            memory,
            best: vec![LinkId::NONE; memory * nodes],
            streams: (0..config.samples).map(stream).collect(),
            sampled: Vec::new(),
            candidates: Vec::new(),
        }
    }

    /// The next of the samples: each place that is left is as likely.
    fn sample(&mut self, sample: usize, hop: &Hop) -> u32 {
        let left = hop.count() - sample as u32;
        let mut place = share(self.streams[sample].bits_at(hop.ticket), left);
        let mut at = 0;
        while at < self.sampled.len() && self.sampled[at] <= place {
            place += 1;
            at += 1;
        }
        self.sampled.insert(at, place);
        place
    }
}

impl Choose for Model {
    fn choose(&mut self, hop: Hop, _now: Time) -> u32 {
        // The port of a host belongs to the connection, and no queue is known there.
        if hop.hops == 0 { share(self.streams[0].bits_at(hop.ticket), hop.count()) } else { LOOK }
    }

    fn choose_by_load(&mut self, hop: Hop, _now: Time, look: Look) -> u32 {
        let own = hop.at.index() * self.memory..(hop.at.index() + 1) * self.memory;
        self.sampled.clear();
        self.candidates.clear();
        let bytes = |place: u32| look.loads[place as usize].bytes();
        for link in &self.best[own.clone()] {
            let place = hop.next_hops.iter().position(|next| next == link);
            self.candidates.extend(place.map(|place| (bytes(place as u32), place as u32)));
        }
        for sample in 0..self.streams.len().min(hop.next_hops.len()) {
            let place = self.sample(sample, &hop);
            if self.candidates.iter().all(|(_, other)| *other != place) {
                self.candidates.push((bytes(place), place));
            }
        }
        // Among equals the one that has been compared first: a sample must be shorter than the best of before.
        self.candidates.sort_by_key(|(bytes, _)| *bytes);
        let chosen = self.candidates[0].1;
        // The best are those behind the packet.
        self.candidates[0].0 += u64::from(look.size);
        self.candidates.sort_by_key(|(bytes, _)| *bytes);
        let best = self.candidates.iter().map(|(_, place)| hop.next_hops[*place as usize]);
        let best = best.chain(std::iter::repeat(LinkId::NONE));
        self.best[own].iter_mut().zip(best).for_each(|(own, link)| *own = link);
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::path::PortLoad;
    use crate::ids::NodeId;
    use crate::units::Rate;

    fn links(count: u32) -> Vec<LinkId> {
        (0..count).map(|link| LinkId(2 * link)).collect()
    }

    fn hop(ticket: u64, next_hops: &[LinkId]) -> Hop<'_> {
        Hop { at: NodeId(0), to: NodeId(1), label: 7, hops: 1, ticket, next_hops }
    }

    fn loads(waiting: &[u64]) -> Vec<PortLoad> {
        let load = |&waiting: &u64| PortLoad { waiting, ahead: waiting, wire: 0, rate: Rate(1), paused: 0 };
        waiting.iter().map(load).collect()
    }

    fn choose(model: &mut Model, ticket: u64, next_hops: &[LinkId], waiting: &[u64]) -> u32 {
        let look = Look { size: 1500, loads: &loads(waiting) };
        model.choose_by_load(hop(ticket, next_hops), Time::ZERO, look)
    }

    /// Two samples of two ports are both: the shorter queue, with the packet on the wire. Two of three are each pair as often.
    #[test]
    fn samples_differ() {
        let mut model = Model::of(&Drill { samples: 2, memory: 0 }, 1, 1, 0);
        let two = links(2);
        for ticket in 0..100 {
            assert_eq!(choose(&mut model, ticket, &two, &[3000, 1500]), 1);
            assert_eq!(choose(&mut model, ticket, &two, &[0, 1]), 0);
        }
        // Of fewer ports than samples each is compared.
        let mut more = Model::of(&Drill { samples: 3, memory: 0 }, 1, 1, 0);
        assert!((0..100).all(|ticket| choose(&mut more, ticket, &two, &[3000, 1500]) == 1));
        // The longest of three is never chosen, the shortest of them two times out of three.
        let mut seen = [0; 3];
        (0..3000).for_each(|ticket| seen[choose(&mut model, ticket, &links(3), &[2, 0, 1]) as usize] += 1);
        assert_eq!(seen[0], 0);
        assert!((seen[1] as f64 - 2000.0).abs() < 4.0 * (3000.0f64 * 2.0 / 9.0).sqrt(), "{seen:?}");
        // Among equals each is as likely.
        let mut seen = [0; 3];
        (0..3000).for_each(|ticket| seen[choose(&mut model, ticket, &links(3), &[0, 0, 0]) as usize] += 1);
        assert!(seen.iter().all(|&count: &i32| (count - 1000).abs() < 110), "{seen:?}");
    }

    /// The best port is compared again: once it has been drawn each packet takes it, as long as it is shorter with a packet more
    /// than the others without. A link that does not lead there any more is left out.
    #[test]
    fn the_best_port_is_compared_again() {
        let mut model = Model::of(&Drill { samples: 1, memory: 1 }, 1, 1, 0);
        let all = links(8);
        let mut waiting = [9000; 8];
        waiting[5] = 7499;
        let drawn = (0..200).find(|&ticket| choose(&mut model, ticket, &all, &waiting) == 5);
        let drawn = drawn.expect("a sample of port 5 in 200");
        assert!((drawn..drawn + 100).all(|ticket| choose(&mut model, ticket, &all, &waiting) == 5));
        assert_eq!(model.best, [all[5]]);
        // With a packet more it is longer than the others: the one that is compared with it is the next best.
        waiting[5] = 7501;
        let left = (400..600).find(|&ticket| {
            assert_eq!(choose(&mut model, ticket, &all, &waiting), 5);
            model.best != [all[5]]
        });
        assert!(left.is_some());
        let without = &all[..5];
        let place = choose(&mut model, 300, without, &[0; 5]);
        assert!(place < 5 && without.contains(&model.best[0]));
    }

    /// LIT-LB-DRILL-P2C: arrivals of a Poisson process and exponential sizes at 16 ports with a load of 0.8. The share of ports
    /// with k packets and more.
    fn shares(samples: u32, memory: u32) -> [f64; 5] {
        const PORTS: u32 = 16;
        let mut model = Model::of(&Drill { samples, memory }, 1, 1, 0);
        let next_hops = links(PORTS);
        let mut draws = Stream::new(5, 0, Purpose::Arrivals, 0);
        let mut queues = [0u64; PORTS as usize];
        let (mut sums, mut total) = ([0.0; 5], 0.0);
        for step in 0..1_600_000u64 {
            // Each port serves one packet a time, busy or not; 0.8 arrivals for each port and time.
            let time = draws.exponential(1.0 / (1.8 * f64::from(PORTS)));
            if step > 100_000 {
                total += time;
                for (k, sum) in sums.iter_mut().enumerate() {
                    *sum += time * queues.iter().filter(|&&queue| queue >= k as u64).count() as f64;
                }
            }
            if draws.unit() < 0.8 / 1.8 {
                let bytes = queues.map(|packets| 1500 * packets);
                queues[choose(&mut model, step, &next_hops, &bytes) as usize] += 1;
            } else {
                let queue = &mut queues[draws.below(u64::from(PORTS)) as usize];
                *queue = queue.saturating_sub(1);
            }
        }
        sums.map(|sum| sum / total / f64::from(PORTS))
    }

    /// For infinitely many ports it is 0.8^(2^k - 1) for two samples (Mitzenmacher 1996), 0.8^k for one; 16 ports have a few
    /// more, and with a memory of one port fewer (by simulation of the Markov chain).
    #[test]
    fn two_samples_suffice() {
        let near = |found: [f64; 5], expected: &[f64]| {
            for (k, &expected) in (1usize..).zip(expected) {
                let tolerance = [0.0, 0.03, 0.03, 0.1, 0.25][k];
                assert!(
                    (found[k] - expected).abs() < tolerance * expected,
                    "k = {k}: {found:?}, not {expected:?}"
                );
            }
        };
        near(shares(1, 0), &[0.8, 0.64, 0.512, 0.4096]);
        near(shares(2, 0), &[0.8, 0.518, 0.234, 0.062]);
        near(shares(2, 1), &[0.799, 0.467, 0.117, 0.009]);
    }
}
