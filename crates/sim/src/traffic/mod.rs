//! Which flows start when, between whom, of what size.
//!
//! A scenario has entries; each joins arrivals (when), a matrix (who to whom) and sizes (how much),
//! drawn from three streams of its own, keyed by its name: an entry that comes or goes moves no
//! flow of another. All flows are drawn here, before the run and without knowing the transport,
//! so that the same traffic under two transports is the same flows, as its digest shows.

pub mod arrivals;
pub mod matrix;
pub mod sizes;

use std::iter::zip;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use self::arrivals::{Arrivals, Jitter};
use self::matrix::{Matrix, Order};
use self::sizes::Sizes;
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
    /// Number of flows; by default one round of the matrix, or one for each given time. Poisson arrivals need it.
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
    /// All that is wrong with the entry on so many hosts: (path below the entry, what is wrong).
    pub fn problems(&self, hosts: u32) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.name.is_empty() || !self.name.chars().all(allowed) {
            let what = format!("\"{}\" is not a name; use letters, digits, \"-\" and \"_\"", self.name);
            problems.push(("name".into(), what));
        }
        let mut below = |group: &str, member: &str, found: Vec<(String, String)>| {
            for (path, what) in found {
                let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
                problems.push((format!("{group}.{member}{dot}{path}"), what));
            }
        };
        below("arrivals", self.arrivals.name(), self.arrivals.problems());
        below("matrix", self.matrix.name(), self.matrix.problems(hosts));
        below("sizes", self.sizes.name(), self.sizes.problems());

        let natural = self.arrivals.flows(self.matrix.round(hosts));
        let member = self.arrivals.name();
        let what = match (self.flows, natural, self.arrivals.flows_max()) {
            (None, None, _) => {
                Some(format!("is missing; arrivals.{member} has no end of its own: say flows = 1000"))
            }
            (Some(flows), _, Some(most)) if flows > most => {
                Some(format!("{flows} is more than arrivals.{member} has starts, {most}"))
            }
            (None, Some(flows), _) | (Some(flows), ..) if flows > FLOWS_MAX => {
                Some(format!("{flows} is too many; a scenario has at most {FLOWS_MAX} flows"))
            }
            (Some(0), ..) => Some("0 is too few; use 1 or more".into()),
            _ => None,
        };
        problems.extend(what.map(|what| ("flows".into(), what)));
        problems
    }

    /// Number of flows on so many hosts; 0 if the entry should say it and does not.
    fn count(&self, hosts: u32) -> u64 {
        self.flows.or_else(|| self.arrivals.flows(self.matrix.round(hosts))).unwrap_or(0)
    }
}

/// All that is wrong with the entries: (index of the entry, path below it, what is wrong).
pub fn problems(entries: &[Entry], hosts: u32) -> Vec<(usize, String, String)> {
    let mut problems = Vec::new();
    let mut total = 0u64;
    for (index, entry) in entries.iter().enumerate() {
        let own = entry.problems(hosts);
        let fits = !own.iter().any(|(path, _)| path == "flows");
        problems.extend(own.into_iter().map(|(path, what)| (index, path, what)));
        if let Some(first) = entries[..index].iter().position(|other| other.name == entry.name) {
            let what = format!("\"{}\" is already the name of entry {first}; names are unique", entry.name);
            problems.push((index, "name".into(), what));
        }
        let before = total;
        total = total.saturating_add(if fits { entry.count(hosts) } else { 0 });
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
        let mut flows = Vec::new();
        let mut summaries = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let first = flows.len();
            let streams = |purpose| Stream::new(seed, replica, purpose, name_key(&entry.name));
            let capacity: f64 =
                entry.matrix.loaded(fabric.hosts).map(|host| ports.capacity[host.index()]).sum();
            let full = capacity / (8.0 * entry.sizes.mean());
            let rate = entry.arrivals.rate(full);
            let order = if rate.is_some() { Order::Singly } else { Order::Rounds };
            let starts = entry.arrivals.starts(full, streams(Purpose::Arrivals));
            let pairs = entry.matrix.pairs(fabric.hosts, order, streams(Purpose::Matrix));
            let (mut sizes, mut jitters) = (streams(Purpose::Sizes), streams(Purpose::Jitter));
            let count = usize::try_from(entry.count(fabric.hosts)).expect("a number of flows fits");
            flows.extend(zip(starts, pairs).take(count).map(|(start, (src, dst))| Flow {
                start: start.saturating_add(match entry.arrivals.jitter() {
                    Jitter::None => Time::ZERO,
                    Jitter::OnePacket => {
                        up_to(ports.fastest[src.index()].transmission(JITTER_PACKET), &mut jitters)
                    }
                    Jitter::UpTo(most) => up_to(most, &mut jitters),
                }),
                src,
                dst,
                size: entry.sizes.sample(&mut sizes),
                entry: index as u32,
                deadline: entry.deadline,
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
}
