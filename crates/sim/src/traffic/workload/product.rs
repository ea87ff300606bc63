//! Arrivals by matrix by sizes: when flows start, between which hosts, and how long they are, each drawn from a stream of
//! its own.

use std::borrow::Cow;
use std::iter::zip;
use std::sync::Arc;

use super::extent::{self, Extent, Scope};
use super::{Reference, Workload};
use crate::ids::NodeId;
use crate::problem::{Problem, within};
use crate::random::{Purpose, Stream};
use crate::traffic::arrivals::{Arrivals, Jitter, LoadOf, Own};
use crate::traffic::matrix::{Matrix, Order, PairIterator};
use crate::traffic::ports::HostPorts;
use crate::traffic::sizes::Sizes;
use crate::traffic::window::Window;
use crate::traffic::writer::{Load, Writer};
use crate::traffic::{Demand, Flow, LAST, ends};
use crate::units::Time;

/// The packet whose transmission time is the default jitter, in bytes.
const JITTER_PACKET: u64 = 1500;

/// Flows by arrivals, a matrix and sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    pub arrivals: Arrivals,
    /// Senders and receivers of the flows.
    pub matrix: Matrix,
    /// How many bytes of payload a flow carries.
    pub sizes: Sizes,
    /// Whether only the sources receive too.
    pub among_sources: bool,
    /// Number of flows; `None` if it follows from arrivals, matrix and sizes.
    pub flows: Option<u64>,
}

impl Product {
    /// Flows per second that would be load 1 of hosts that can send so many bits per second together.
    pub fn full(&self, capacity: f64) -> f64 {
        capacity / (8.0 * self.sizes.mean())
    }

    /// The capacity that its load is a share of, in bits per second.
    fn capacity(&self, name: &str, ranks: &[u32], hosts: u32, ports: &HostPorts) -> f64 {
        ports.sum(&self.loaded(name, ranks, hosts))
    }

    /// Number of flows in a round of its matrix, if that many hosts send.
    pub fn round(&self, sources: usize, hosts: u32) -> u64 {
        let among = if self.among_sources { sources as u32 } else { hosts };
        self.matrix.round(sources as u64, among)
    }

    /// Problems of the hosts that take part.
    fn hosts_problems(&self, entry: &Demand, hosts: u32) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.ranks(hosts, &mut Stream::new(0, 0, Purpose::Matrix, 0)).is_some() {
            let given = [("sources", entry.sources.is_some()), ("among_sources", self.among_sources)];
            for (field, _) in given.into_iter().filter(|(_, given)| *given) {
                let what = format!("matrix.{} has its own; leave them out", self.matrix.name());
                problems.push(Problem::new(field, what));
            }
        }
        if self.among_sources && !self.known_before() {
            let what =
                format!("arrivals.{} has receivers among all hosts; leave it out", self.arrivals.name());
            problems.push(Problem::new("among_sources", what));
        }
        problems
    }

    /// Problems of arrivals, matrix and sizes that do not go together.
    fn mismatches(&self, entry: &Demand) -> Vec<Problem> {
        let mut problems = Vec::new();
        let (arrivals, sizes) = (self.arrivals.name(), self.sizes.name());
        if self.sizes.endless() && !entry.background {
            let what =
                "has no end, and the run would have none; only an entry with background = true may do that";
            problems.push(Problem::new(format!("sizes.{sizes}"), what));
        }
        if self.sizes.endless() && self.arrivals.waits_for_own() {
            let what =
                "waits for flows of its own, which sizes.endless never ends; give them sizes with an end";
            problems.push(Problem::new(format!("arrivals.{arrivals}"), what));
        }
        let unknown = [
            (self.sizes.endless(), "flows without an end have no mean size"),
            (self.matrix.base().is_some(), "a reply has no ports of its own to load"),
        ];
        for (_, why) in unknown.into_iter().filter(|(unknown, _)| *unknown && self.arrivals.load().is_some())
        {
            let path = format!("arrivals.{arrivals}.load");
            problems.push(Problem::new(path, format!("cannot be met: {why}; give rate")));
        }
        if let Some(field) = self.matrix.drawn_by_round()
            && (!self.known_before() || self.arrivals.order() == Order::Singly)
        {
            let matrix = self.matrix.name();
            let what =
                format!("\"random\" is drawn for each round, and arrivals.{arrivals} starts flow by flow");
            let hint = "say arrivals.poisson.each = \"round\", or arrivals.periodic".to_string();
            problems.push(Problem::new(format!("matrix.{matrix}.{field}"), what).with_hint(Some(hint)));
        }
        if !self.known_before() && self.sizes.most().is_some() {
            let what = format!("has a size for each flow drawn in advance; arrivals.{arrivals} has none");
            problems.push(Problem::new(format!("sizes.{sizes}"), what));
        }
        problems
    }

    /// The pairs of the flows, one after the other.
    fn pairs<'a>(
        &'a self,
        ranks: &'a [u32],
        places: &'a [u32],
        order: Order,
        out: &Writer,
    ) -> PairIterator<'a> {
        let stream = out.stream(Purpose::Matrix);
        if let Some(base) = self.matrix.base() {
            let (base, _) = out.entry(base);
            return Box::new(self.matrix.pairs_of(out.flows(base)).into_iter());
        }
        if !self.among_sources {
            return self.matrix.pairs(out.hosts(), ranks, order, stream);
        }
        // Among sources the matrix is one of their places in the list.
        let host = |place: NodeId| NodeId(ranks[place.index()]);
        let pairs = self.matrix.pairs(places.len() as u32, places, order, stream);
        Box::new(pairs.map(move |(src, dst)| (host(src), host(dst))))
    }

    /// A random time added to the start of a flow from that host.
    fn jitter(&self, src: NodeId, ports: &HostPorts, stream: &mut Stream) -> Time {
        let mut up_to = |most: Time| Time(stream.below(most.0.saturating_add(1)));
        match self.arrivals.jitter() {
            Jitter::None => Time::ZERO,
            Jitter::OnePacket => up_to(ports.fastest[src.index()].transmission(JITTER_PACKET)),
            Jitter::UpTo(most) => up_to(most),
        }
    }

    /// The most that is added to the start of a flow.
    pub fn longest_jitter(&self, ports: &HostPorts) -> Time {
        match self.arrivals.jitter() {
            Jitter::None => Time::ZERO,
            Jitter::OnePacket => {
                let packets = ports.fastest.iter().map(|rate| rate.transmission(JITTER_PACKET));
                packets.max().unwrap_or_default()
            }
            Jitter::UpTo(most) => most,
        }
    }

    /// Writes at most so many flows; the jitter of each that waits for others.
    fn write_flows(
        &self,
        starts: impl Iterator<Item = Time>,
        pairs: PairIterator,
        most: u64,
        out: &mut Writer,
    ) -> Vec<Time> {
        let sizes = self.sizes.draws(out.stream(Purpose::Sizes));
        let mut jitters = out.stream(Purpose::Jitter);
        let mut waiting = Vec::new();
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let drawn = zip(zip(starts, pairs), sizes).take(most);
        out.reserve(drawn.size_hint().0);
        for ((start, (src, dst)), size) in drawn {
            let jitter = self.jitter(src, out.ports(), &mut jitters);
            let start = if start == Time::NEVER && self.arrivals.waits() {
                waiting.push(jitter);
                None
            } else {
                Some(start.saturating_add(jitter).min(LAST))
            };
            out.flow(start, src, dst, size);
        }
        waiting
    }

    /// Mean square of the bytes that so many flows have together, over their number: of single flows that of a size.
    pub fn mean_square(&self, together: u64) -> f64 {
        let mean = self.sizes.mean();
        self.sizes.mean_square() + (together - 1) as f64 * mean * mean
    }

    /// The load that it offers at a rate, and that of the flows drawn, of which so many start together.
    fn load(
        &self,
        (rate, capacity): (Option<f64>, f64),
        together: u64,
        drawn: &[Flow],
        window: &Window,
    ) -> Load {
        let full = self.full(capacity);
        let offered = rate.filter(|_| full > 0.0 && self.matrix.base().is_none());
        Load {
            offered: offered.map(|rate| rate / full),
            bps: offered.map(|rate| 8.0 * rate * self.sizes.mean()),
            realised: offered.and_then(|_| realised_load(drawn, together, capacity, window)),
            capacity,
            variance: 64.0 * rate.unwrap_or(0.0) * self.mean_square(together),
        }
    }
}

impl Workload for Product {
    fn problems(&self, entry: &Demand, hosts: u32) -> Vec<Problem> {
        let Product { arrivals, matrix, sizes, .. } = self;
        let own = within(format!("arrivals.{}", arrivals.name()), arrivals.problems())
            .chain(within(format!("matrix.{}", matrix.name()), matrix.problems(hosts)))
            .chain(within(format!("sizes.{}", sizes.name()), sizes.problems()));
        own.chain(self.hosts_problems(entry, hosts)).chain(self.mismatches(entry)).collect()
    }

    fn ranks(&self, hosts: u32, stream: &mut Stream) -> Option<Vec<u32>> {
        self.matrix.senders(hosts, stream)
    }

    fn problems_among(&self, ranks: u32) -> Vec<Problem> {
        if !self.among_sources {
            return Vec::new();
        }
        if ranks < 2 {
            let what = format!("{ranks} source has no other source to send to; have at least 2");
            return vec![Problem::new("among_sources", what)];
        }
        within(format!("matrix.{}", self.matrix.name()), self.matrix.problems(ranks)).collect()
    }

    fn references(&self) -> Vec<Reference<'_>> {
        let path = |group: &str, member: &str, field: &str| format!("{group}.{member}.{field}");
        let behind = self.arrivals.behind().map(|behind| Reference {
            path: path("arrivals", self.arrivals.name(), "entry"),
            entry: behind.entry,
            waits: true,
        });
        let base = self.matrix.base().map(|entry| Reference {
            path: path("matrix", self.matrix.name(), "to"),
            entry,
            waits: false,
        });
        behind.into_iter().chain(base).collect()
    }

    fn extent(&self, scope: &Scope) -> (Extent, Option<Problem>) {
        // Invalid sizes may have no mean.
        let full = match scope.valid {
            true => self.full(self.capacity(scope.name, scope.ranks, scope.hosts, scope.ports)),
            false => 0.0,
        };
        extent::of_product(self, scope, self.arrivals.expected(full))
    }

    fn write(&self, ranks: &[NodeId], out: &mut Writer) {
        let ranks: Vec<u32> = ranks.iter().map(|rank| rank.0).collect();
        let places: Vec<u32> = (0..ranks.len() as u32).collect();
        let capacity = self.capacity(out.name(), &ranks, out.hosts(), out.ports());
        let full = self.full(capacity);
        let rate = self.arrivals.rate(full);
        let (Extent { round, most, .. }, _) = out.extent(self, &ranks);
        let pairs = self.pairs(&ranks, &places, self.arrivals.order(), out);
        if !self.known_before() {
            return out.chains(self, pairs.take(round as usize));
        }
        let starts = self.arrivals.starts(full, round, out.stream(Purpose::Arrivals));
        let jitters = self.write_flows(starts, pairs, most, out);
        let together = self.arrivals.together(round);
        out.load(self.load((rate, capacity), together, out.own(), out.window()));
        if self.arrivals.waits() {
            let own = Own { entry: out.index(), round, flows: out.own().len() as u64, jitters };
            self.arrivals.write(&own, out);
        }
    }

    fn numbered_as_written(&self) -> bool {
        self.arrivals.waits()
    }

    fn order_is_known(&self) -> bool {
        self.arrivals.order_is_known()
    }

    fn known_before(&self) -> bool {
        self.arrivals.closed_loop().is_none()
    }

    fn unbounded(&self) -> Option<&'static str> {
        self.arrivals.closed_loop().filter(|sources| sources.flows_each().is_none()).map(|_| "flows_each")
    }

    fn endless(&self) -> bool {
        self.sizes.endless()
    }

    fn mean_size(&self, _flows: &[Flow]) -> Option<f64> {
        Some(self.sizes.mean()).filter(|mean| mean.is_finite())
    }

    fn loaded<'a>(&'a self, name: &str, ranks: &'a [u32], hosts: u32) -> Cow<'a, [u32]> {
        match self.arrivals.load_of() {
            None => Cow::Borrowed(self.matrix.loaded(ranks)),
            Some(LoadOf::Sources) => Cow::Borrowed(ranks),
            Some(LoadOf::Receivers) => Cow::Owned(ends::receivers(self, name, ranks, hosts)),
        }
    }

    fn offers(&self) -> Option<&Product> {
        Some(self)
    }

    fn offering(&self, offer: Product) -> Option<Arc<dyn Workload>> {
        Some(Arc::new(offer))
    }
}

/// Bytes of the flows that start in the window over its length, or of all flows but those of the last arrival from the first
/// start to the last; over the capacity in bits per second.
fn realised_load(flows: &[Flow], together: u64, capacity: f64, window: &Window) -> Option<f64> {
    if window.ends() {
        let own = flows.iter().filter(|flow| window.has(flow.start));
        let bits: f64 = own.map(|flow| 8.0 * flow.size as f64).sum();
        return Some(bits / window.until.saturating_sub(window.from).seconds() / capacity);
    }
    let last = flows.last()?;
    let others = &flows[..(flows.len() - 1) / together as usize * together as usize];
    let span = last.start.saturating_sub(others.first()?.start).seconds();
    let bits: f64 = others.iter().map(|flow| 8.0 * flow.size as f64).sum();
    (span > 0.0).then(|| bits / span / capacity)
}
