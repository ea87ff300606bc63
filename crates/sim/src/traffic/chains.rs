//! Sources that start a flow, wait until it is over, and start the next: drawn as the run goes.
//!
//! Each has a stream of its own, from which it draws gap, destination, size and key of one flow after the
//! other: its i-th flow is the same whatever others do, only its start depends on the run.

use std::ops::Range;

use sha2::{Digest, Sha256};

use super::arrivals::ClosedLoop;
use super::deadlines::{Deadlines, due};
use super::workload::product::Product;
use super::{Demand, Flow};
use crate::ids::NodeId;
use crate::random::{Purpose, Stream, mix, name_key};
use crate::units::Time;

/// Shared state of an entry's sources.
#[derive(Clone, Debug, PartialEq)]
struct Rules {
    index: u32,
    name: String,
    product: Product,
    deadline: Option<Time>,
    deadlines: Option<Deadlines>,
}

impl Rules {
    /// How the sources go from one flow to the next.
    fn sources(&self) -> &dyn ClosedLoop {
        self.product.arrivals.closed_loop().expect("only such arrivals have sources")
    }
}

/// A host that sends one flow after the other.
#[derive(Clone, Debug, PartialEq)]
struct Chain {
    rules: u32,
    host: NodeId,
    /// Its destinations in a round of the matrix, in `Chains::partners`.
    partners: Range<usize>,
    stream: Stream,
    drawn: u64,
    /// The first slot in which the next one may start.
    free: u64,
}

/// All such sources of a run, by entry, then by host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chains {
    hosts: u32,
    rules: Vec<Rules>,
    partners: Vec<NodeId>,
    chains: Vec<Chain>,
}

impl Chains {
    pub(super) fn new(hosts: u32) -> Chains {
        Chains { hosts, ..Chains::default() }
    }

    /// A source for each host that sends in this round of the entry's matrix.
    pub(super) fn add(
        &mut self,
        index: usize,
        (entry, product): (&Demand, &Product),
        round: impl Iterator<Item = (NodeId, NodeId)>,
        (seed, replica): (u64, u64),
    ) {
        let rules = self.rules.len() as u32;
        self.rules.push(Rules {
            index: index as u32,
            name: entry.name.clone(),
            product: product.clone(),
            deadline: entry.deadline,
            deadlines: entry.deadlines.clone(),
        });
        let mut pairs: Vec<_> = round.collect();
        pairs.sort_by_key(|(src, _)| *src);
        for own in pairs.chunk_by(|one, other| one.0 == other.0) {
            let host = own[0].0;
            let first = self.partners.len();
            self.partners.extend(own.iter().map(|(_, dst)| *dst));
            let entity = mix(name_key(&entry.name) ^ u64::from(host.0));
            let stream = Stream::new(seed, replica, Purpose::OnOff, entity);
            self.chains.push(Chain {
                rules,
                host,
                partners: first..self.partners.len(),
                stream,
                drawn: 0,
                free: 0,
            });
        }
    }

    /// All sources are there: entries may come in another order than theirs, such as one behind its answer.
    pub(super) fn sort(&mut self) {
        let Chains { rules, chains, .. } = self;
        chains.sort_by_key(|chain| (rules[chain.rules as usize].index, chain.host));
    }

    /// Number of sources.
    pub fn len(&self) -> usize {
        self.chains.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.chains.is_empty()
    }

    /// The host of a source.
    pub fn host(&self, chain: u32) -> NodeId {
        self.chains[chain as usize].host
    }

    /// The index of a source's entry.
    pub fn entry(&self, chain: u32) -> u32 {
        self.rules(chain).index
    }

    /// Most flows of a source; none without an end.
    pub fn flows_max(&self, chain: u32) -> Option<u64> {
        self.rules(chain).sources().flows_each()
    }

    /// The source that drew a flow.
    pub fn of(&self, flow: &Flow) -> u32 {
        let key = |chain: &Chain| (self.rules[chain.rules as usize].index, chain.host);
        let found = self.chains.binary_search_by_key(&(flow.entry, flow.src), key);
        found.expect("a flow drawn in the run has a source") as u32
    }

    /// When a source that has had nothing to do since then starts its next flow; at first it is idle from
    /// time zero. None if it has started all.
    pub fn next_start(&mut self, chain: u32, idle: Time) -> Option<Time> {
        let chain = &mut self.chains[chain as usize];
        let sources = self.rules[chain.rules as usize].sources();
        let left = sources.flows_each().is_none_or(|flows| chain.drawn < flows);
        left.then(|| sources.next_start(idle, &mut chain.free, &mut chain.stream))
    }

    /// Draws the flow that a source starts now.
    pub fn draw(&mut self, chain: u32, now: Time) -> Flow {
        let chain = &mut self.chains[chain as usize];
        let Rules { index, product, deadline, deadlines, .. } = &self.rules[chain.rules as usize];
        let partners = &self.partners[chain.partners.clone()];
        let next = partners[(chain.drawn % partners.len() as u64) as usize];
        let dst = product.matrix.anew(chain.host, self.hosts, &mut chain.stream).unwrap_or(next);
        let size = product.sizes.sample(&mut chain.stream);
        let deadline = due(*deadline, deadlines.as_ref(), &mut chain.stream);
        let key = chain.stream.bits();
        let number = chain.drawn as u32;
        chain.drawn += 1;
        Flow { start: now, src: chain.host, dst, size, entry: *index, number, key, deadline }
    }

    /// Adds to the digest of the traffic what flows drawn during the run follow from.
    pub(super) fn digest(&self, hash: &mut Sha256, (seed, replica): (u64, u64)) {
        let mut all: Vec<&Rules> = self.rules.iter().collect();
        all.sort_by_key(|rules| rules.index);
        for Rules { name, product: Product { arrivals, matrix, sizes, .. }, deadline, deadlines, .. } in all {
            hash.update(seed.to_le_bytes());
            hash.update(replica.to_le_bytes());
            let rules = (name, arrivals, matrix, sizes, deadline, deadlines);
            hash.update(serde_json::to_value(rules).expect("an entry is plain JSON").to_string());
        }
    }

    fn rules(&self, chain: u32) -> &Rules {
        &self.rules[self.chains[chain as usize].rules as usize]
    }
}
