//! Hedera: the natural demands of flows, if the network did not limit them, and paths on which these fit.
//!
//! Source: Al-Fares, Radhakrishnan, Raghavan, Huang and Vahdat, "Hedera: dynamic flow scheduling for data center networks",
//! NSDI 2010: the estimator of demands is that of section 4.2, global first fit 4.3.1, simulated annealing 4.3.2. Demands are
//! shares of a host's link; capacities are in the same unit. Small flows stay on the path of their hash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bytes;
use super::paths::Paths;
use crate::random::Stream;
use crate::units::{Bytes, Time};

/// Hedera's scheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Hedera {
    /// Counters are read and flows placed this often (paper: 5 s).
    #[schemars(extend("x-minimum" = "1us"))]
    pub period: Time,
    /// The sign by which a flow is found to be large: large flows alone are placed.
    pub detect: Detect,
    /// Under detect = "rate": a flow is large when it sends more than this share of its host's link.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub large: f64,
    /// Under detect = "sent" and "backlog": bytes from which on a flow is large.
    #[schemars(extend("x-minimum" = "1B"))]
    pub threshold: Bytes,
    /// Under detect = "sample": the probability with which a switch samples a packet.
    #[schemars(range(min = 0.000001, max = 1.0))]
    pub probability: f64,
    /// The placement of large flows on paths.
    pub placement: Placement,
    /// The temperature with which annealing begins; it falls by 1 with each step.
    #[schemars(range(min = 1, max = 1000000))]
    pub temperature: u32,
    /// A step to a higher energy is taken with probability exp(c (E - E') / T), where c is this times the first
    /// temperature.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub caution: f64,
}

/// The sign by which a flow is found to be large, when the controller looks. But for the rate, a flow stays large until its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Detect {
    /// Its rate since the last look, by the counters of switches: Hedera.
    #[default]
    Rate,
    /// Its delivered bytes reach `threshold`: the trigger of DevoFlow (Curtis et al., SIGCOMM 2011), 128 KB to 10 MB there.
    Sent,
    /// Its bytes that wait at the sender reach `threshold`, those in flight included: the host's mark of Mahout (Curtis, Kim and
    /// Yalagandula, INFOCOM 2011), 100 KB there.
    Backlog,
    /// One of its packets has been sampled, each with `probability`: sFlow, 1/1000 in DevoFlow's comparison.
    Sample,
}

/// The placement of large flows on paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Global first fit: each flow in turn takes the first path that has room for its demand; one without
    /// such a path stays.
    FirstFit,
    /// Simulated annealing: each destination host gets a core, such that links are exceeded as little as possible.
    #[default]
    Annealing,
}

impl Default for Hedera {
    fn default() -> Self {
        Hedera {
            period: Time::from_us(5_000_000),
            detect: Detect::Rate,
            large: 0.1,
            threshold: Bytes(100_000),
            probability: 0.001,
            placement: Placement::Annealing,
            temperature: 1000,
            caution: 0.5,
        }
    }
}

/// Sums that differ by less are equal: shares are not exact in binary.
const ROUNDING: f64 = 1e-9;

/// A large flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    pub source: u32,
    pub destination: u32,
    /// Its share of a host's link, by [`estimate`].
    pub demand: f64,
}

/// Sets the demands of all flows among so many hosts to their natural ones: the rates that they would get if
/// only hosts' links limited them.
pub fn estimate(flows: &mut [Flow], hosts: usize) {
    let mut converged = vec![false; flows.len()];
    let (by_source, by_destination) =
        (grouped(flows, hosts, |f| f.source), grouped(flows, hosts, |f| f.destination));
    flows.iter_mut().for_each(|flow| flow.demand = 0.0);
    loop {
        let mut changed = false;
        for own in &by_source {
            changed |= divide_source(flows, own, &converged);
        }
        for own in &by_destination {
            changed |= divide_destination(flows, own, &mut converged);
        }
        if !changed {
            return;
        }
    }
}

/// The numbers of flows by host.
fn grouped(flows: &[Flow], hosts: usize, host: impl Fn(&Flow) -> u32) -> Vec<Vec<usize>> {
    let mut groups = vec![Vec::new(); hosts];
    for (number, flow) in flows.iter().enumerate() {
        groups[host(flow) as usize].push(number);
    }
    groups
}

/// A source gives the rate that its converged flows leave to the others, in equal parts.
fn divide_source(flows: &mut [Flow], own: &[usize], converged: &[bool]) -> bool {
    let fixed: f64 = own.iter().filter(|&&flow| converged[flow]).map(|&flow| flows[flow].demand).sum();
    let open: Vec<usize> = own.iter().copied().filter(|&flow| !converged[flow]).collect();
    let share = (1.0 - fixed).max(0.0) / open.len() as f64;
    let mut changed = false;
    for flow in open {
        changed |= (flows[flow].demand - share).abs() > ROUNDING;
        flows[flow].demand = share;
    }
    changed
}

/// A destination that is offered more than its link limits the flows that offer more than an equal part of
/// the rate that smaller ones leave.
fn divide_destination(flows: &mut [Flow], own: &[usize], converged: &mut [bool]) -> bool {
    let offered: f64 = own.iter().map(|&flow| flows[flow].demand).sum();
    if offered <= 1.0 + ROUNDING {
        return false;
    }
    let mut limited = own.to_vec();
    let mut small = 0.0;
    let share = loop {
        let share = (1.0 - small) / limited.len() as f64;
        let before = limited.len();
        limited.retain(|&flow| {
            let stays = flows[flow].demand >= share - ROUNDING;
            small += if stays { 0.0 } else { flows[flow].demand };
            stays
        });
        if limited.len() == before {
            break share;
        }
    };
    let mut changed = false;
    for flow in limited {
        changed |= !converged[flow] || (flows[flow].demand - share).abs() > ROUNDING;
        flows[flow].demand = share;
        converged[flow] = true;
    }
    changed
}

/// Global first fit: for each flow the first of its paths on which every link has as much left as it demands,
/// which is then taken from these; none if it stays on the path of its hash. `candidates` has the paths of
/// each flow; one that it has already, `current`, is tried first, so that no flow moves without need.
pub fn first_fit(
    flows: &[Flow],
    candidates: &[Paths],
    current: &[Option<usize>],
    left: &mut [f64],
) -> Vec<Option<usize>> {
    let place = |((flow, paths), current): ((&Flow, &Paths), &Option<usize>)| {
        let fits = |path: &usize| {
            paths.links(*path).iter().all(|&link| left[link as usize] >= flow.demand - ROUNDING)
        };
        let path = current.iter().copied().chain(0..paths.len()).find(fits)?;
        for &link in paths.links(path) {
            left[link as usize] -= flow.demand;
        }
        Some(path)
    };
    flows.iter().zip(candidates).zip(current).map(place).collect()
}

/// Where a host is: neighbours in the search exchange the cores of two hosts of one switch, of one pod, or of any place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPlace {
    pub edge: u32,
    pub pod: u32,
}

/// Simulated annealing: its state from one period to the next.
#[derive(Clone, Debug)]
pub struct Annealing {
    /// By destination host.
    cores: Vec<u32>,
    /// Hosts of an edge switch, and of a pod, with more than one.
    edges: Vec<Vec<u32>>,
    pods: Vec<Vec<u32>>,
}

impl Annealing {
    /// Bytes that it takes beyond its own size.
    pub fn heap_bytes(&self) -> usize {
        let groups = |groups: &Vec<Vec<u32>>| bytes(groups) + groups.iter().map(bytes).sum::<usize>();
        bytes(&self.cores) + groups(&self.edges) + groups(&self.pods)
    }

    /// Hosts take so many cores in turn.
    pub fn new(places: &[HostPlace], cores: u32) -> Annealing {
        let groups = |group: fn(&HostPlace) -> u32| {
            let count = places.iter().map(group).max().map_or(0, |most| most as usize + 1);
            let mut groups = vec![Vec::new(); count];
            for (host, place) in places.iter().enumerate() {
                groups[group(place) as usize].push(host as u32);
            }
            groups.retain(|hosts| hosts.len() > 1);
            groups
        };
        Annealing {
            cores: (0..places.len() as u32).map(|host| host % cores).collect(),
            edges: groups(|place| place.edge),
            pods: groups(|place| place.pod),
        }
    }

    /// The core of the traffic to a host. A flow with fewer paths than there are cores takes the path of that
    /// number, modulo their count.
    pub fn core(&self, host: u32) -> u32 {
        self.cores[host as usize]
    }

    /// Searches for cores from the best of the last period on; returns the energy of the best: by how much links are
    /// exceeded, in all.
    pub fn search(
        &mut self,
        config: &Hedera,
        flows: &[Flow],
        candidates: &[Paths],
        capacities: &[f64],
        stream: &mut Stream,
    ) -> f64 {
        let mut loads = Loads::new(&self.cores, flows, candidates, capacities);
        if self.cores.len() < 2 {
            return loads.energy;
        }
        let mut best = (loads.energy, self.cores.clone());
        let caution = config.caution * f64::from(config.temperature);
        for temperature in (1..=config.temperature).rev() {
            if best.0 <= ROUNDING {
                break;
            }
            let before = loads.energy;
            let (one, other) = self.neighbour(stream);
            loads.exchange(&mut self.cores, one, other);
            let draw = || stream.unit();
            if !is_taken(before, loads.energy, caution, f64::from(temperature), draw) {
                loads.exchange(&mut self.cores, one, other);
            } else if loads.energy < best.0 {
                best.0 = loads.energy;
                best.1.clone_from(&self.cores);
            }
        }
        self.cores = best.1;
        // Counted anew: the sum of a thousand differences is not exact.
        Loads::new(&self.cores, flows, candidates, capacities).energy
    }

    /// Two hosts of one edge switch, of one pod, or any two, each with the same probability.
    fn neighbour(&self, stream: &mut Stream) -> (u32, u32) {
        let all = self.cores.len();
        let groups = match stream.below(3) {
            0 => &self.edges,
            1 => &self.pods,
            _ => return pair(stream, all, |place| place as u32),
        };
        if groups.is_empty() {
            return pair(stream, all, |place| place as u32);
        }
        let group = &groups[stream.below(groups.len() as u64) as usize];
        pair(stream, group.len(), |place| group[place])
    }
}

/// Whether a step from one energy to another is taken at that temperature: always to a lower one, else if what is drawn is below
/// exp(c (E - E') / T).
fn is_taken(before: f64, energy: f64, caution: f64, temperature: f64, draw: impl FnOnce() -> f64) -> bool {
    energy < before || draw() < libm::exp(caution * (before - energy) / temperature)
}

/// Two different ones of so many.
fn pair(stream: &mut Stream, count: usize, host: impl Fn(usize) -> u32) -> (u32, u32) {
    let one = stream.below(count as u64) as usize;
    let other = (one + 1 + stream.below(count as u64 - 1) as usize) % count;
    (host(one), host(other))
}

/// The load that cores put on links.
struct Loads<'a> {
    flows: &'a [Flow],
    candidates: &'a [Paths],
    capacities: &'a [f64],
    by_destination: Vec<Vec<usize>>,
    loads: Vec<f64>,
    /// By how much links are exceeded, in all.
    energy: f64,
}

impl<'a> Loads<'a> {
    fn new(cores: &[u32], flows: &'a [Flow], candidates: &'a [Paths], capacities: &'a [f64]) -> Loads<'a> {
        let by_destination = grouped(flows, cores.len(), |flow| flow.destination);
        let loads = vec![0.0; capacities.len()];
        let mut all = Loads { flows, candidates, capacities, by_destination, loads, energy: 0.0 };
        for (host, &core) in cores.iter().enumerate() {
            all.add(host, core, 1.0);
        }
        all
    }

    fn exchange(&mut self, cores: &mut [u32], one: u32, other: u32) {
        let (one, other) = (one as usize, other as usize);
        self.add(one, cores[one], -1.0);
        self.add(other, cores[other], -1.0);
        cores.swap(one, other);
        self.add(one, cores[one], 1.0);
        self.add(other, cores[other], 1.0);
    }

    /// Adds the traffic to the host, so many times.
    fn add(&mut self, host: usize, core: u32, times: f64) {
        for &flow in &self.by_destination[host] {
            let paths = &self.candidates[flow];
            if paths.is_empty() {
                continue;
            }
            for &link in paths.links(core as usize % paths.len()) {
                let (load, capacity) = (&mut self.loads[link as usize], self.capacities[link as usize]);
                let before = (*load - capacity).max(0.0);
                *load += times * self.flows[flow].demand;
                self.energy += (*load - capacity).max(0.0) - before;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    /// By hand: with c = 500, 0.5 times the first temperature of 1000, a step that exceeds links by 0.8 more is taken at T = 400
    /// with probability exp(-1) = 0.3679, at T = 1 hardly ever; one to the same energy always, and a better one without a draw.
    #[test]
    fn a_worse_step_is_taken_by_its_probability() {
        let taken = |energy, temperature, drawn| is_taken(2.0, energy, 500.0, temperature, || drawn);
        assert!(taken(2.8, 400.0, 0.3678) && !taken(2.8, 400.0, 0.3679));
        assert!(!taken(2.8, 1.0, 1e-9));
        assert!(taken(2.0, 1.0, 0.999_999));
        assert!(is_taken(2.0, 1.9, 500.0, 1.0, || unreachable!("nothing to draw")));
    }

    /// Neighbours are of one edge switch, of one pod or any two, a third each: of four hosts, two to a switch and all in one pod,
    /// two of a switch so come in 1/3 + 2/3 x 1/3 of the draws.
    #[test]
    fn neighbours_are_drawn_from_near_and_far() {
        let places = [0, 0, 1, 1].map(|edge| HostPlace { edge, pod: 0 });
        let annealing = Annealing::new(&places, 2);
        let mut stream = Stream::new(1, 0, Purpose::Queue, 0);
        let mut near = 0;
        for _ in 0..9000 {
            let (one, other) = annealing.neighbour(&mut stream);
            assert_ne!(one, other);
            near += u32::from(one / 2 == other / 2);
        }
        // 5000 expected; four standard deviations are 189.
        assert!((4811..5189).contains(&near), "{near}");
    }
}
