//! Which flows start when, between whom, of what size.
//!
//! A scenario has entries; each joins arrivals (when), a matrix (who to whom) and sizes (how much),
//! drawn from three streams of its own, keyed by its name: an entry that comes or goes moves no
//! flow of another. All flows are drawn here, before the run and without knowing the transport,
//! so that the same traffic under two transports is the same flows, as its digest shows.

pub mod arrivals;
pub mod matrix;
pub mod sizes;
pub mod sources;

use std::iter::zip;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use self::arrivals::{Arrivals, Jitter};
use self::matrix::{Matrix, Order};
use self::sizes::Sizes;
use self::sources::Sources;
use crate::balancer::Routing;
use crate::ids::NodeId;
use crate::random::{Purpose, Stream, name_key};
use crate::topology::Fabric;
use crate::transport::Transport;
use crate::units::{Rate, Time};

/// Most flows of a scenario: what keeps a slip of the pen from eating the memory.
pub const FLOWS_MAX: u64 = 10_000_000;

/// The packet whose transmission time is the default jitter, in bytes.
const JITTER_PACKET: u64 = 1500;

/// A set of flows that belong together: one entry of a scenario's traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Names the entry in results (column `tag`) and keys its random draws; letters, digits, "-" and "_".
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    /// When flows start.
    pub arrivals: Arrivals,
    /// Who sends to whom.
    pub matrix: Matrix,
    /// How many bytes of payload a flow carries.
    pub sizes: Sizes,
    /// Which hosts send, for a matrix in which every host does; by default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<Sources>,
    /// Number of flows; by default one round of the matrix, or one for each given time. Poisson arrivals need it
    /// unless they have an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub flows: Option<u64>,
    /// When a flow is due, counted from its start; by default never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,
    /// What hosts do for these flows; by default what the scenario says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// How packets of these flows find their way; by default as the scenario says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<Routing>,
}

/// A flow: so many bytes from one host to another, handed to the transport at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// When it starts.
    pub start: Time,
    /// The host that sends.
    pub src: NodeId,
    /// The host that receives.
    pub dst: NodeId,
    /// Bytes of payload, at least 1.
    pub size: u64,
    /// Index of its traffic entry.
    pub entry: u32,
    /// When it is due, counted from its start.
    pub deadline: Option<Time>,
}

/// All flows of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// By start, then entry, then the order in which they were drawn.
    pub flows: Vec<Flow>,
    /// SHA-256 over all flows: equal for two runs that carry the same traffic.
    pub digest: String,
    /// What became of each entry.
    pub entries: Vec<EntrySummary>,
}

/// What became of a traffic entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EntrySummary {
    /// Its name.
    pub name: String,
    /// Number of flows.
    pub flows: u64,
    /// Mean of the distribution of sizes, not of the sizes drawn.
    pub mean_size_bytes: f64,
    /// Payload offered a second over the capacity of the hosts that the matrix loads; only for Poisson arrivals.
    pub offered_load: Option<f64>,
    /// The same for the flows drawn: the bytes of all but the last, from the first start to the last.
    pub realised_load: Option<f64>,
}

impl Entry {
    /// All that is wrong with the entry by itself on so many hosts: (path below the entry, what is wrong).
    pub fn problems(&self, hosts: u32) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.name.is_empty() || !self.name.chars().all(allowed) {
            let what = format!("\"{}\" is not a name; use letters, digits, \"-\" and \"_\"", self.name);
            problems.push(("name".into(), what));
        }
        problems.extend(below("arrivals", self.arrivals.name(), self.arrivals.problems()));
        problems.extend(below("matrix", self.matrix.name(), self.matrix.problems(hosts)));
        problems.extend(below("sizes", self.sizes.name(), self.sizes.problems()));
        let own = self.matrix.senders(hosts, &mut Stream::new(0, 0, Purpose::Matrix, 0));
        for (path, what) in self.sources.iter().flat_map(|sources| sources.problems(hosts)) {
            problems.push((format!("sources.{path}"), what));
        }
        if let (Some(_), Some(_)) = (&self.sources, own) {
            let what = format!("matrix.{} has its own; leave them out", self.matrix.name());
            problems.push(("sources".into(), what));
        }
        problems
    }

    /// What is wrong with the number of flows, where a round of the matrix has `round` and `expected` are due before
    /// an end, if there is one: (path below the entry, what is wrong).
    fn number_problem(&self, round: u64, expected: Option<f64>) -> Option<(String, String)> {
        let (arrivals, sizes) = (self.arrivals.name(), self.sizes.name());
        let natural = self.arrivals.flows(round);
        let flows = self.flows.or(natural);
        let what = match (flows, self.arrivals.flows_max(), self.sizes.most()) {
            (None, _, Some(most)) => {
                format!("is missing; sizes.{sizes} has {most} sizes: say flows = {most} or less")
            }
            (None, ..) => match expected {
                None => format!("is missing; arrivals.{arrivals} has no end of its own: say flows = 1000"),
                Some(flows) if flows > FLOWS_MAX as f64 => {
                    let what = format!(
                        "lets {flows:.0} flows start, on average; a scenario has at most {FLOWS_MAX} flows"
                    );
                    return Some((format!("arrivals.{arrivals}.until"), what));
                }
                Some(_) => return None,
            },
            (Some(0), ..) if self.flows.is_some() => "0 is too few; use 1 or more".into(),
            (Some(flows), Some(most), _) if flows > most => {
                format!("{flows} is more than arrivals.{arrivals} has starts, {most}")
            }
            (Some(flows), ..) if flows > FLOWS_MAX => {
                format!("{flows} is too many; a scenario has at most {FLOWS_MAX} flows")
            }
            (Some(flows), _, Some(most)) if flows > most => {
                format!("{flows} is more than sizes.{sizes} has sizes, {most}")
            }
            _ => return None,
        };
        Some(("flows".into(), what))
    }

    /// Flows a second that would be load 1.
    fn full(&self, capacity: f64) -> f64 {
        capacity / (8.0 * self.sizes.mean())
    }
}

/// What a member of a list says of itself, as seen from where the list is chosen from: (path, what is wrong).
pub fn below(
    list: &str,
    member: &str,
    problems: Vec<(String, String)>,
) -> impl Iterator<Item = (String, String)> {
    let place = format!("{list}.{member}");
    problems.into_iter().map(move |(path, what)| {
        let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
        (format!("{place}{dot}{path}"), what)
    })
}

/// All that is wrong with the entries: (index of the entry, path below it, what is wrong).
pub fn problems(entries: &[Entry], fabric: &Fabric) -> Vec<(usize, String, String)> {
    let hosts = fabric.hosts;
    let ports = HostPorts::of(fabric);
    let (sources, wrong) = sources::resolve(entries, hosts, 0, 0);
    let mut problems = Vec::new();
    let mut total = 0u64;
    for (index, entry) in entries.iter().enumerate() {
        let mut own = entry.problems(hosts);
        let wrong = wrong.iter().filter(|(at, _)| *at == index);
        own.extend(wrong.map(|(_, what)| ("sources.not-in".into(), what.clone())));
        let round = entry.matrix.round(sources[index].len() as u64, hosts);
        // What is wrong by itself may have no mean size.
        let full = || entry.full(ports.sum(entry.matrix.loaded(&sources[index])));
        let expected = entry.arrivals.expected(if own.is_empty() { full() } else { 0.0 });
        let number = entry.number_problem(round, expected);
        let flows = entry.flows.or_else(|| entry.arrivals.flows(round));
        let flows = flows.or(expected.map(|flows| flows.ceil() as u64)).filter(|_| number.is_none());
        own.extend(number);
        problems.extend(own.into_iter().map(|(path, what)| (index, path, what)));
        if let Some(first) = entries[..index].iter().position(|other| other.name == entry.name) {
            let what = format!("\"{}\" is already the name of entry {first}; names are unique", entry.name);
            problems.push((index, "name".into(), what));
        }
        let before = total;
        total = total.saturating_add(flows.unwrap_or(0));
        if before <= FLOWS_MAX && total > FLOWS_MAX {
            let what =
                format!("makes {total} flows with the entries before; a scenario has at most {FLOWS_MAX}");
            problems.push((index, "flows".into(), what));
        }
    }
    problems
}

impl Traffic {
    /// Draws all flows. Called only if there are no [`problems`].
    pub fn build(entries: &[Entry], fabric: &Fabric, seed: u64, replica: u64) -> Traffic {
        let ports = HostPorts::of(fabric);
        let (sources, _) = sources::resolve(entries, fabric.hosts, seed, replica);
        let mut flows = Vec::new();
        let mut summaries = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let first = flows.len();
            let streams = |purpose| Stream::new(seed, replica, purpose, name_key(&entry.name));
            let sources = &sources[index];
            let capacity = ports.sum(entry.matrix.loaded(sources));
            let full = entry.full(capacity);
            let rate = entry.arrivals.rate(full);
            let order = if rate.is_some() { Order::Singly } else { Order::Rounds };
            let starts = entry.arrivals.starts(full, streams(Purpose::Arrivals));
            let pairs = entry.matrix.pairs(fabric.hosts, sources, order, streams(Purpose::Matrix));
            let sizes = entry.sizes.draws(streams(Purpose::Sizes));
            let mut jitters = streams(Purpose::Jitter);
            let round = entry.matrix.round(sources.len() as u64, fabric.hosts);
            let number = entry.flows.or_else(|| entry.arrivals.flows(round)).unwrap_or(u64::MAX);
            let number = usize::try_from(number).unwrap_or(usize::MAX);
            flows.extend(zip(zip(starts, pairs), sizes).take(number).map(|((start, (src, dst)), size)| {
                Flow {
                    start: start.saturating_add(match entry.arrivals.jitter() {
                        Jitter::None => Time::ZERO,
                        Jitter::OnePacket => {
                            up_to(ports.fastest[src.index()].transmission(JITTER_PACKET), &mut jitters)
                        }
                        Jitter::UpTo(most) => up_to(most, &mut jitters),
                    }),
                    src,
                    dst,
                    size,
                    entry: index as u32,
                    deadline: entry.deadline,
                }
            }));
            let own = &flows[first..];
            summaries.push(EntrySummary {
                name: entry.name.clone(),
                flows: own.len() as u64,
                mean_size_bytes: entry.sizes.mean(),
                offered_load: rate.map(|rate| rate / full),
                realised_load: rate.and_then(|_| realised_load(own, capacity)),
            });
        }
        // Stable, and entries stand one after the other: the order is (start, entry, drawn).
        flows.sort_by_key(|flow| flow.start);
        Traffic { digest: digest(&flows), flows, entries: summaries }
    }
}

/// Uniform from nothing up to `most`.
fn up_to(most: Time, stream: &mut Stream) -> Time {
    Time(stream.below(most.0.saturating_add(1)))
}

/// Bytes of all flows but the last from the first start to the last, over the capacity in bits a second.
fn realised_load(flows: &[Flow], capacity: f64) -> Option<f64> {
    let (last, others) = flows.split_last()?;
    let span = last.start.saturating_sub(others.first()?.start).seconds();
    let bits: f64 = others.iter().map(|flow| 8.0 * flow.size as f64).sum();
    (span > 0.0).then(|| bits / span / capacity)
}

fn digest(flows: &[Flow]) -> String {
    let mut hash = Sha256::new();
    hash.update((flows.len() as u64).to_le_bytes());
    for flow in flows {
        hash.update(flow.start.0.to_le_bytes());
        hash.update(flow.src.0.to_le_bytes());
        hash.update(flow.dst.0.to_le_bytes());
        hash.update(flow.size.to_le_bytes());
        hash.update(flow.entry.to_le_bytes());
        hash.update([u8::from(flow.deadline.is_some())]);
        hash.update(flow.deadline.unwrap_or_default().0.to_le_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a host can send, over all its ports.
struct HostPorts {
    /// For each host the sum of its ports' rates, in bits a second.
    capacity: Vec<f64>,
    /// For each host the rate of its fastest port.
    fastest: Vec<Rate>,
}

impl HostPorts {
    fn of(fabric: &Fabric) -> HostPorts {
        let hosts = fabric.hosts as usize;
        let mut ports = HostPorts { capacity: vec![0.0; hosts], fastest: vec![Rate(0); hosts] };
        for link in fabric.links.iter().filter(|link| fabric.is_host(link.from)) {
            let host = link.from.index();
            ports.capacity[host] += link.rate.0 as f64;
            ports.fastest[host] = ports.fastest[host].max(link.rate);
        }
        ports
    }

    /// What so many hosts can send together, in bits a second.
    fn sum(&self, hosts: &[u32]) -> f64 {
        hosts.iter().map(|&host| self.capacity[host as usize]).sum()
    }
}
