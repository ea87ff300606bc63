//! Flows: their start times, endpoints and sizes.
//!
//! A scenario has entries; each is a [`Demand`] of arrivals (start times), a matrix (endpoints) and sizes
//! (bytes), drawn from three streams of its own, keyed by its name: an entry that comes or goes moves no flow
//! of another. All flows are drawn here, before the run and independently of the transport, so that the same
//! traffic under two transports is the same flows, as its digest shows. When a flow starts may depend on
//! others ([`dependencies`]); sources that start one flow after the other draw them during the run, each from
//! a stream of its own ([`chains`]).

pub mod arrivals;
pub mod chains;
pub mod deadlines;
pub mod dependencies;
pub mod ends;
pub mod matrix;
pub mod references;
pub mod sizes;
pub mod sources;
pub mod window;

use std::borrow::Cow;
use std::iter::zip;

use serde::Serialize;
use sha2::{Digest, Sha256};

use self::arrivals::{Arrivals, Jitter, LoadOf, Own};
use self::chains::Chains;
use self::deadlines::Deadlines;
use self::dependencies::{Dependencies, Writer};
use self::matrix::{Matrix, Order, PairIterator};
use self::references::{Extent, extent, position};
use self::sizes::Sizes;
use self::sources::Sources;
use self::window::Window;
use crate::ids::NodeId;
use crate::problem::{Problem, within};
use crate::random::{Purpose, Stream, flow_key, name_key};
use crate::topology::Fabric;
use crate::units::{Rate, Time};

/// Most flows of a scenario: a bound that keeps a typing error from using up the memory.
pub const FLOWS_MAX: u64 = 10_000_000;

/// The packet whose transmission time is the default jitter, in bytes.
const JITTER_PACKET: u64 = 1500;

/// The last start that can be given; [`Time::NEVER`] means that a flow waits for others.
const LAST: Time = Time(Time::NEVER.0 - 1);

/// A set of flows that belong together: the traffic of one entry of a scenario, whatever its transport.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Name of the entry, which keys its random draws.
    pub name: String,
    /// When flows start.
    pub arrivals: Arrivals,
    /// Senders and receivers of the flows.
    pub matrix: Matrix,
    /// How many bytes of payload a flow carries.
    pub sizes: Sizes,
    /// Which hosts send, for a matrix in which every host does; `None` for all.
    pub sources: Option<Sources>,
    /// Whether only the sources receive too.
    pub among_sources: bool,
    /// Number of flows; `None` if it follows from arrivals, matrix and sizes.
    pub flows: Option<u64>,
    /// Whether the run ends without them.
    pub background: bool,
    /// Whether flows between the same hosts share a connection, so that no packet belongs to one flow alone.
    pub kept: bool,
    /// When a flow is due, counted from its start; `None` for never.
    pub deadline: Option<Time>,
    /// In place of `deadline`: when flows are due, each drawn by itself.
    pub deadlines: Option<Deadlines>,
}

/// A flow: so many bytes from one host to another, handed to the transport at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// When it starts; [`Time::NEVER`] if it waits for others.
    pub start: Time,
    /// The host that sends.
    pub src: NodeId,
    /// The host that receives.
    pub dst: NodeId,
    /// Bytes of payload, at least 1.
    pub size: u64,
    /// Index of its traffic entry.
    pub entry: u32,
    /// Its number in the entry, by start, or as drawn if flows of the entry wait for others.
    pub number: u32,
    /// Keys its random draws: of the entry and the number; of one that is drawn during the run by its source's stream.
    pub key: u64,
    /// When it is due, counted from its start.
    pub deadline: Option<Time>,
}

/// All flows of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// By start, then entry, then the order in which they were drawn; those that wait for others come last.
    pub flows: Vec<Flow>,
    /// How many of them have a start that is known: the first ones.
    pub timed: usize,
    /// The dependencies of the others.
    pub dependencies: Dependencies,
    /// Sources that draw their flows during the run.
    pub chains: Chains,
    /// SHA-256 over all flows and their dependencies: equal for two runs that carry the same traffic.
    pub digest: String,
    /// Outcome of each entry.
    pub entries: Vec<EntrySummary>,
    /// For each entry the hosts whose links its load is a share of.
    pub loaded: Vec<Vec<u32>>,
    /// The flows that are measured.
    pub window: Window,
}

/// Outcome of a traffic entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EntrySummary {
    /// Its name.
    pub name: String,
    /// Number of flows.
    pub flows: u64,
    /// Whether the run ends without them.
    pub background: bool,
    /// Mean of the distribution of sizes, not of the sizes drawn; none if they have no end.
    pub mean_size_bytes: Option<f64>,
    /// Payload offered a second over the capacity of the hosts that the matrix loads; only for Poisson arrivals.
    pub offered_load: Option<f64>,
    /// The same in bits a second.
    #[serde(skip)]
    pub offered_bps: Option<f64>,
    /// The load of the flows drawn: the bytes of those that start in the measuring window over its length; where the whole run
    /// is measured, the bytes of all but the last, from the first start to the last.
    pub realised_load: Option<f64>,
    /// The payload delivered a second in the measuring window over the same capacity.
    pub carried_load: Option<f64>,
    /// Half the width of the 95 % confidence interval of that, by batch means over spans of the window.
    pub carried_ci95: Option<f64>,
    /// The capacity that these loads are shares of.
    #[serde(skip)]
    pub capacity_bps: f64,
    /// The variance of the bits that arrive in a second, and by which that of a longer time grows; only for Poisson arrivals.
    #[serde(skip)]
    pub variance: f64,
    /// If the run has stalled: the conditions for which the entry's flows wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
}

/// Conditions for which the unfinished flows of a traffic entry wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Waits {
    /// Flows that have started.
    pub open: u64,
    /// When the first timer of their senders is due; `None` if no sender has one, so that none sends again.
    pub next_timer_ps: Option<u64>,
    /// Flows that have not started.
    pub not_started: u64,
    /// When the first of these starts; `None` if all wait for flows that have not ended.
    pub next_start_ps: Option<u64>,
}

impl Waits {
    /// The sum of both.
    pub fn and(self, other: Waits) -> Waits {
        let first = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        Waits {
            open: self.open + other.open,
            next_timer_ps: first(self.next_timer_ps, other.next_timer_ps),
            not_started: self.not_started + other.not_started,
            next_start_ps: first(self.next_start_ps, other.next_start_ps),
        }
    }
}

impl Demand {
    /// When a flow of the entry is due, counted from its start.
    fn due(&self, stream: &mut Stream) -> Option<Time> {
        self.deadline.or_else(|| self.deadlines.as_ref().map(|deadlines| deadlines.sample(stream)))
    }

    /// Whether its flows are ever due.
    pub fn has_deadlines(&self) -> bool {
        self.deadline.is_some() || self.deadlines.is_some()
    }

    /// All that is wrong with the entry by itself on so many hosts.
    pub fn problems(&self, hosts: u32) -> Vec<Problem> {
        let mut problems = Vec::new();
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.name.is_empty() || !self.name.chars().all(allowed) {
            let what = format!("\"{}\" is not a name; use letters, digits, \"-\" and \"_\"", self.name);
            problems.push(Problem::new("name", what));
        }
        problems.extend(within(format!("arrivals.{}", self.arrivals.name()), self.arrivals.problems()));
        problems.extend(within(format!("matrix.{}", self.matrix.name()), self.matrix.problems(hosts)));
        problems.extend(within(format!("sizes.{}", self.sizes.name()), self.sizes.problems()));
        let own = self.matrix.senders(hosts, &mut Stream::new(0, 0, Purpose::Matrix, 0));
        problems.extend(within("sources", self.sources.iter().flat_map(|sources| sources.problems(hosts))));
        if own.is_some() {
            let given = [("sources", self.sources.is_some()), ("among_sources", self.among_sources)];
            for (field, _) in given.into_iter().filter(|(_, given)| *given) {
                let what = format!("matrix.{} has its own; leave them out", self.matrix.name());
                problems.push(Problem::new(field, what));
            }
        }
        if self.among_sources && self.arrivals.on_off().is_some() {
            let what =
                format!("arrivals.{} has receivers among all hosts; leave it out", self.arrivals.name());
            problems.push(Problem::new("among_sources", what));
        }
        problems.extend(within("deadlines", self.deadlines.iter().flat_map(Deadlines::problems)));
        if self.deadline.is_some() && self.deadlines.is_some() {
            problems.push(Problem::new("deadlines", "stands beside deadline; keep one of the two"));
        }
        if self.sizes.endless() && !self.background {
            let what =
                "has no end, and the run would have none; only an entry with background = true may do that";
            problems.push(Problem::new(format!("sizes.{}", self.sizes.name()), what));
        }
        if self.sizes.endless() && self.arrivals.waits_for_own() {
            let what =
                "waits for flows of its own, which sizes.endless never ends; give them sizes with an end";
            problems.push(Problem::new(format!("arrivals.{}", self.arrivals.name()), what));
        }
        let unknown = [
            (self.sizes.endless(), "flows without an end have no mean size"),
            (self.matrix.reply_to().is_some(), "a reply has no ports of its own to load"),
        ];
        for (_, why) in unknown.into_iter().filter(|(unknown, _)| *unknown && self.arrivals.load().is_some())
        {
            let path = format!("arrivals.{}.load", self.arrivals.name());
            problems.push(Problem::new(path, format!("cannot be met: {why}; give rate")));
        }
        if self.arrivals.on_off().is_some() && self.sizes.most().is_some() {
            let what = format!(
                "has a size for each flow drawn in advance; arrivals.{} has none",
                self.arrivals.name()
            );
            problems.push(Problem::new(format!("sizes.{}", self.sizes.name()), what));
        }
        problems
    }

    /// The hosts whose links are the capacity that a load refers to.
    pub fn loaded<'a>(&'a self, sources: &'a [u32], hosts: u32) -> Cow<'a, [u32]> {
        match self.arrivals.load_of() {
            None => Cow::Borrowed(self.matrix.loaded(sources)),
            Some(LoadOf::Sources) => Cow::Borrowed(sources),
            Some(LoadOf::Receivers) => Cow::Owned(ends::receivers(self, sources, hosts)),
        }
    }

    /// Flows a second that would be load 1.
    fn full(&self, capacity: f64) -> f64 {
        capacity / (8.0 * self.sizes.mean())
    }
}

/// All that is wrong with the entries: (index of the entry, problem with its path below the entry).
pub fn problems(entries: &[Demand], fabric: &Fabric) -> Vec<(usize, Problem)> {
    let hosts = fabric.hosts;
    let ports = HostPorts::of(fabric);
    let (sources, wrong) = sources::resolve(entries, hosts, 0, 0);
    let (order, mut between) = references::order(entries);
    let mut own: Vec<Vec<Problem>> = entries.iter().map(|entry| entry.problems(hosts)).collect();
    for (index, what) in wrong {
        own[index].push(Problem::new("sources.not-in", what));
    }
    for ((entry, sources), own) in zip(entries, &sources).zip(&mut own) {
        if entry.among_sources && own.is_empty() {
            own.extend(too_few(entry, sources.len() as u32));
        }
    }
    let mut extents = vec![Extent::default(); entries.len()];
    for index in order {
        let (entry, sources) = (&entries[index], &sources[index]);
        // Invalid sizes may have no mean.
        let full = || ports.full(entry, sources);
        let expected = entry.arrivals.expected(if own[index].is_empty() { full() } else { 0.0 });
        let (extent, wrong) = extent(entry, entries, &extents, size(entry, sources, hosts), expected);
        extents[index] = extent;
        between.extend(wrong.map(|wrong| (index, wrong)));
    }
    let mut problems = Vec::new();
    let mut total = 0u64;
    for (index, (entry, own)) in zip(entries, own).enumerate() {
        problems.extend(own.into_iter().map(|own| (index, own)));
        problems.extend(between.extract_if(.., |(of, ..)| *of == index));
        if let Some(first) = entries[..index].iter().position(|other| other.name == entry.name) {
            let what = format!("\"{}\" is already the name of entry {first}; names are unique", entry.name);
            problems.push((index, Problem::new("name", what)));
        }
        let before = total;
        total = total.saturating_add(extents[index].flows);
        if before <= FLOWS_MAX && total > FLOWS_MAX {
            let what =
                format!("makes {total} flows with the entries before; a scenario has at most {FLOWS_MAX}");
            problems.push((index, Problem::new("flows", what)));
        }
    }
    problems
}

/// How many flows each entry has at most. Called only if there are no [`problems`].
pub fn flows_at_most(entries: &[Demand], fabric: &Fabric) -> Vec<u64> {
    extents(entries, fabric).iter().map(|extent| extent.most).collect()
}

/// Number of flows that will be drawn before the run, on average where it is random. Called only if there are no
/// [`problems`].
pub fn flows_drawn(entries: &[Demand], fabric: &Fabric) -> u64 {
    let drawn = |(entry, extent): (&Demand, &Extent)| match entry.arrivals.on_off() {
        Some(_) => 0,
        None => extent.flows,
    };
    zip(entries, &extents(entries, fabric)).map(drawn).fold(0, u64::saturating_add)
}

fn extents(entries: &[Demand], fabric: &Fabric) -> Vec<Extent> {
    let ports = HostPorts::of(fabric);
    let (sources, _) = sources::resolve(entries, fabric.hosts, 0, 0);
    let mut extents = vec![Extent::default(); entries.len()];
    for index in references::order(entries).0 {
        let (entry, sources) = (&entries[index], &sources[index]);
        let expected = entry.arrivals.expected(ports.full(entry, sources));
        let of = size(entry, sources, fabric.hosts);
        (extents[index], _) = extent(entry, entries, &extents, of, expected);
    }
    extents
}

/// Problems of an entry whose matrix is drawn among so many sources.
fn too_few(entry: &Demand, sources: u32) -> Vec<Problem> {
    if sources < 2 {
        let what = format!("{sources} source has no other source to send to; have at least 2");
        return vec![Problem::new("among_sources", what)];
    }
    within(format!("matrix.{}", entry.matrix.name()), entry.matrix.problems(sources)).collect()
}

/// How many hosts send, and among how many the matrix is drawn.
fn size(entry: &Demand, sources: &[u32], hosts: u32) -> (u64, u32) {
    (sources.len() as u64, if entry.among_sources { sources.len() as u32 } else { hosts })
}

/// Why a run of these entries needs a time at which to stop, if it does.
pub fn endless(entries: &[Demand]) -> Option<String> {
    let unbounded = |entry: &&Demand| {
        !entry.background && entry.arrivals.on_off().is_some_and(|on_off| on_off.flows_each.is_none())
    };
    if let Some(entry) = entries.iter().find(unbounded) {
        return Some(format!(
            "the sources of \"{}\" go on for ever; give a time, or the entry flows_each or background = true",
            entry.name
        ));
    }
    let only_background = !entries.is_empty() && entries.iter().all(|entry| entry.background);
    only_background
        .then(|| "all entries are background, and a run does not wait for such flows; give a time".into())
}

impl Traffic {
    /// Draws all flows. Called only if there are no [`problems`].
    pub fn build(entries: &[Demand], fabric: &Fabric, seed: u64, replica: u64, window: Window) -> Traffic {
        let ports = HostPorts::of(fabric);
        let (sources, _) = sources::resolve(entries, fabric.hosts, seed, replica);
        let (order, _) = references::order(entries);
        let mut flows: Vec<Flow> = Vec::new();
        let mut chains = Chains::new(fabric.hosts);
        let mut owns = Vec::new();
        let mut extents = vec![Extent::default(); entries.len()];
        // For each entry how many flows are drawn before it, and how many it has.
        let mut places = vec![(0, 0); entries.len()];
        let mut summaries = vec![None; entries.len()];
        for index in order {
            let entry = &entries[index];
            let first = flows.len();
            let streams = |purpose| Stream::new(seed, replica, purpose, name_key(&entry.name));
            let sources = &sources[index];
            let capacity = ports.sum(&entry.loaded(sources, fabric.hosts));
            let full = entry.full(capacity);
            let rate = entry.arrivals.rate(full);
            let loads = full > 0.0 && entry.matrix.reply_to().is_none();
            let order = if rate.is_some() { Order::Singly } else { Order::Rounds };
            let of = size(entry, sources, fabric.hosts);
            // Among sources the matrix is one of their places in the list.
            let own: Vec<u32> = (0..of.1).collect();
            let (Extent { round, most, .. }, _) =
                extent(entry, entries, &extents, of, entry.arrivals.expected(full));
            let starts = entry.arrivals.starts(full, round, streams(Purpose::Arrivals));
            let pairs: PairIterator = match entry.matrix.reply_to().and_then(|name| position(entries, name)) {
                Some(base) => {
                    let (start, count) = places[base];
                    let answered = &flows[start..start + count as usize];
                    let reversed: Vec<_> = answered.iter().map(|flow| (flow.dst, flow.src)).collect();
                    Box::new(reversed.into_iter())
                }
                None if entry.among_sources => {
                    let host = |place: NodeId| NodeId(sources[place.index()]);
                    let places = entry.matrix.pairs(of.1, &own, order, streams(Purpose::Matrix));
                    Box::new(places.map(move |(src, dst)| (host(src), host(dst))))
                }
                None => entry.matrix.pairs(fabric.hosts, sources, order, streams(Purpose::Matrix)),
            };
            if let Some(on_off) = entry.arrivals.on_off() {
                chains.add(index, (entry, on_off), pairs.take(round as usize), (seed, replica));
                summaries[index] = Some(summary(entry, &[]));
                continue;
            }
            let sizes = entry.sizes.draws(streams(Purpose::Sizes));
            let mut jitters = streams(Purpose::Jitter);
            let mut dues = streams(Purpose::Deadlines);
            let mut waiting = Vec::new();
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            let drawn = zip(zip(starts, pairs), sizes).take(most).enumerate();
            flows.extend(drawn.map(|(number, ((start, (src, dst)), size))| {
                let jitter = match entry.arrivals.jitter() {
                    Jitter::None => Time::ZERO,
                    Jitter::OnePacket => {
                        up_to(ports.fastest[src.index()].transmission(JITTER_PACKET), &mut jitters)
                    }
                    Jitter::UpTo(most) => up_to(most, &mut jitters),
                };
                let start = match start {
                    Time::NEVER if entry.arrivals.waits() => {
                        waiting.push(jitter);
                        start
                    }
                    _ => start.saturating_add(jitter).min(LAST),
                };
                let deadline = entry.due(&mut dues);
                let (entry, number) = (index as u32, number as u32);
                Flow { start, src, dst, size, entry, number, key: 0, deadline }
            }));
            let drawn = &flows[first..];
            let count = drawn.len() as u64;
            places[index] = (first, count);
            extents[index] = Extent { round, most: count, flows: count, exact: true };
            owns.push(Own { entry: index, round, flows: count, jitters: waiting });
            summaries[index] = Some(EntrySummary {
                offered_load: rate.filter(|_| loads).map(|rate| rate / full),
                offered_bps: rate.filter(|_| loads).map(|rate| 8.0 * rate * entry.sizes.mean()),
                realised_load: rate.filter(|_| loads).and_then(|_| realised_load(drawn, capacity, &window)),
                capacity_bps: capacity,
                variance: 64.0 * rate.unwrap_or(0.0) * entry.sizes.mean_square(),
                ..summary(entry, drawn)
            });
        }
        chains.sort();
        // Stable: the order is (start, entry, drawn), and those that wait come last.
        flows.sort_by_key(|flow| (flow.start, flow.entry));
        let timed = flows.partition_point(|flow| flow.start != Time::NEVER);
        let names = entries.iter().map(|entry| entry.name.as_str()).collect();
        let dependencies = dependencies(entries, &flows, &owns, (&places, names));
        number_by_start(entries, &mut flows);
        flows
            .iter_mut()
            .for_each(|flow| flow.key = flow_key(&entries[flow.entry as usize].name, flow.number));
        let digest = digest(entries, &flows, &dependencies, (seed, replica));
        let loaded =
            zip(entries, &sources).map(|(entry, sources)| entry.loaded(sources, fabric.hosts).into_owned());
        let loaded = loaded.collect();
        let entries = summaries.into_iter().map(|summary| summary.expect("every entry is drawn")).collect();
        Traffic { flows, timed, dependencies, chains, digest, entries, loaded, window }
    }
}

fn summary(entry: &Demand, drawn: &[Flow]) -> EntrySummary {
    EntrySummary {
        name: entry.name.clone(),
        flows: drawn.len() as u64,
        background: entry.background,
        mean_size_bytes: Some(entry.sizes.mean()).filter(|mean| mean.is_finite()),
        offered_load: None,
        offered_bps: None,
        realised_load: None,
        carried_load: None,
        carried_ci95: None,
        capacity_bps: 0.0,
        variance: 0.0,
        waits: None,
    }
}

/// The dependencies of waiting flows.
fn dependencies(
    entries: &[Demand],
    flows: &[Flow],
    owns: &[Own],
    (places, names): (&[(usize, u64)], Vec<&str>),
) -> Dependencies {
    let mut waiting = owns.iter().filter(|own| entries[own.entry].arrivals.waits()).peekable();
    if waiting.peek().is_none() {
        return Dependencies::default();
    }
    let mut writer = Writer::new(flows, places, names);
    waiting.for_each(|own| entries[own.entry].arrivals.write(own, &mut writer));
    writer.finish()
}

/// Counts the flows of an entry by their start where that is known for all of them.
fn number_by_start(entries: &[Demand], flows: &mut [Flow]) {
    let mut counts = vec![0; entries.len()];
    for flow in flows.iter_mut().filter(|flow| !entries[flow.entry as usize].arrivals.waits()) {
        let count = &mut counts[flow.entry as usize];
        flow.number = *count;
        *count += 1;
    }
}

/// Uniform from nothing up to `most`.
fn up_to(most: Time, stream: &mut Stream) -> Time {
    Time(stream.below(most.0.saturating_add(1)))
}

/// Bytes of the flows that start in the window over its length, or of all flows but the last from the first start to the
/// last; over the capacity in bits a second.
fn realised_load(flows: &[Flow], capacity: f64, window: &Window) -> Option<f64> {
    if window.ends() {
        let own = flows.iter().filter(|flow| window.has(flow.start));
        let bits: f64 = own.map(|flow| 8.0 * flow.size as f64).sum();
        return Some(bits / window.until.saturating_sub(window.from).seconds() / capacity);
    }
    let (last, others) = flows.split_last()?;
    let span = last.start.saturating_sub(others.first()?.start).seconds();
    let bits: f64 = others.iter().map(|flow| 8.0 * flow.size as f64).sum();
    (span > 0.0).then(|| bits / span / capacity)
}

fn digest(
    entries: &[Demand],
    flows: &[Flow],
    dependencies: &Dependencies,
    (seed, replica): (u64, u64),
) -> String {
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
    dependencies.digest(&mut hash);
    // Flows drawn during the run follow from these.
    for entry in entries.iter().filter(|entry| entry.arrivals.on_off().is_some()) {
        hash.update(seed.to_le_bytes());
        hash.update(replica.to_le_bytes());
        let rules =
            (&entry.name, &entry.arrivals, &entry.matrix, &entry.sizes, entry.deadline, &entry.deadlines);
        hash.update(serde_json::to_value(rules).expect("an entry is plain JSON").to_string());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The rate that a host can send at, over all its ports.
pub struct HostPorts {
    /// For each host the sum of its ports' rates, in bits a second.
    pub capacity: Vec<f64>,
    /// For each host the rate of its fastest port.
    fastest: Vec<Rate>,
}

impl HostPorts {
    /// Of each host.
    pub fn of(fabric: &Fabric) -> HostPorts {
        let hosts = fabric.hosts as usize;
        let mut ports = HostPorts { capacity: vec![0.0; hosts], fastest: vec![Rate(0); hosts] };
        for link in fabric.links.iter().filter(|link| fabric.is_host(link.from)) {
            let host = link.from.index();
            ports.capacity[host] += link.rate.0 as f64;
            ports.fastest[host] = ports.fastest[host].max(link.rate);
        }
        ports
    }

    /// Flows a second of an entry with these sources that would be load 1.
    pub fn full(&self, entry: &Demand, sources: &[u32]) -> f64 {
        entry.full(self.sum(&entry.loaded(sources, self.capacity.len() as u32)))
    }

    /// The rate that so many hosts can send at together, in bits a second.
    pub fn sum(&self, hosts: &[u32]) -> f64 {
        hosts.iter().map(|&host| self.capacity[host as usize]).sum()
    }
}
