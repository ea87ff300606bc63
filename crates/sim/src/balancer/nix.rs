//! NIX-vector routing: the source finds a whole shortest path and writes it into the packet, a few bits for each hop.
//!
//! Source: Song, "Multipath routing and TCP Incast in data centers" (PhD thesis, Iowa, 2017), section 2.2 and table 2.1,
//! after Riley, Ammar and Fujimoto's NIX-vectors. With a path drawn for each connection it is the thesis's DNVR; with as
//! many connections of a flow on distinct paths, MDNVR (transport "parallel-tcp").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use super::assigned::{Answers, Assign, Way};
use crate::ids::{LinkId, NodeId};
use crate::random::{Purpose, Stream};
use crate::routing::Ports;
use crate::routing::dag::Dag;
use crate::topology::Fabric;

/// Each connection has a shortest path of its own, chosen by its source when it opens.
///
/// Subflows of one flow, or its parallel connections, have different paths as long as there are enough.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Nix {
    /// The choice among the shortest paths.
    pub search: Search,
    /// The path of acknowledgements and other answers. The thesis: the receiver's own.
    pub answers: Answers,
}

/// The way in which a source finds a shortest path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Search {
    /// Each of the shortest paths is equally likely.
    #[default]
    Uniform,
    /// The first that a breadth-first search over ports in their order finds, as in plain ns-3; the second
    /// subflow has the second path in that order, and so on.
    First,
    /// The first that a breadth-first search over the ports of each node in a random order finds: the
    /// thesis's "Dynamic". Uniform in a fat-tree, but not on all networks. Subflows may share a path.
    Shuffled,
}

impl Settings for Nix {
    fn one_path(&self) -> bool {
        true
    }

    fn answers_backwards(&self) -> bool {
        self.answers == Answers::Backwards
    }
}

/// A path as table 2.1 packs it: at each node, in as many bits as the number of its ports takes, which of them is next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vector {
    words: Vec<u64>,
    bits: u32,
}

/// Bits that name one of so many ports: at least one.
pub fn bits_of(ports: usize) -> u32 {
    ports.next_power_of_two().trailing_zeros().max(1)
}

impl Vector {
    /// The path along those links.
    pub fn pack(links: &[LinkId], from: NodeId, ports: &Ports) -> Vector {
        let (mut vector, mut at) = (Vector::default(), from);
        for link in links {
            let out = ports.out(at);
            let place = out.iter().position(|other| other == link).expect("a link out of the node");
            vector.push(place as u64, bits_of(out.len()));
            at = ports.ends(at)[place];
        }
        vector
    }

    /// Follows it hop by hop: each node reads its own bits, and a counter holds the number of used ones.
    pub fn unpack(&self, from: NodeId, ports: &Ports, links: &mut Vec<LinkId>) {
        let (mut used, mut at) = (0, from);
        while used < self.bits {
            let width = bits_of(ports.out(at).len());
            let place = self.read(used, width) as usize;
            used += width;
            links.push(ports.out(at)[place]);
            at = ports.ends(at)[place];
        }
    }

    /// Bits in use.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Appends a number of so many bits, at most 32.
    pub fn push(&mut self, number: u64, width: u32) {
        let (word, shift) = ((self.bits / 64) as usize, self.bits % 64);
        self.bits += width;
        self.words.resize(self.bits.div_ceil(64) as usize, 0);
        self.words[word] |= number << shift;
        if shift + width > 64 {
            self.words[word + 1] |= number >> (64 - shift);
        }
    }

    fn read(&self, from: u32, width: u32) -> u64 {
        let (word, shift) = ((from / 64) as usize, from % 64);
        let mut number = self.words[word] >> shift;
        if shift + width > 64 {
            number |= self.words[word + 1] << (64 - shift);
        }
        number & ((1 << width) - 1)
    }
}

/// How paths are found.
#[derive(Clone, Debug)]
pub struct Scheme {
    search: Search,
    ports: Ports,
    seed: u64,
    replica: u64,
}

impl Scheme {
    pub(super) fn new(config: &Nix, fabric: &Fabric, seed: u64, replica: u64) -> Scheme {
        Scheme { search: config.search, ports: Ports::all(fabric), seed, replica }
    }
}

impl Assign for Scheme {
    fn assign(&self, way: Way, path: &mut Vec<LinkId>) -> Option<u32> {
        let Way { from, to, .. } = way;
        let stream = |label: u32| Stream::new(self.seed, self.replica, Purpose::Paths, u64::from(label));
        let (mut links, mut number) = (Vec::new(), u64::from(way.subflow));
        match self.search {
            Search::Shuffled => shuffled(way, stream(way.label), &mut links)?,
            search => {
                let dag = Dag::new(way.routes, way.ends, from, to)?;
                number %= dag.count();
                if search == Search::Uniform {
                    number = drawn(stream(way.flow_label), dag.count(), number);
                }
                dag.path(number, &mut links);
            }
        }
        Vector::pack(&links, from, &self.ports).unpack(from, &self.ports, path);
        Some(number as u32)
    }
}

/// The number at that place in a random order of all numbers below `count`: the first few steps of Fisher and
/// Yates' shuffle, of which only the moved numbers are kept.
fn drawn(mut stream: Stream, count: u64, place: u64) -> u64 {
    let mut moved: Vec<(u64, u64)> = Vec::new();
    let mut last = 0;
    for step in 0..=place {
        let other = step + stream.below(count - step);
        let at =
            |place| moved.iter().rev().find(|(moved, _)| *moved == place).map_or(place, |(_, value)| *value);
        let (here, there) = (at(step), at(other));
        moved.push((other, here));
        last = there;
    }
    last
}

/// A breadth-first search that looks at the ports of each node in a random order. Nodes off all shortest paths cannot
/// be on the path that it finds, nor do they keep others from being found: they are left out.
fn shuffled(way: Way, mut stream: Stream, path: &mut Vec<LinkId>) -> Option<()> {
    let mut found: Vec<(NodeId, LinkId)> = vec![(way.from, LinkId::NONE)];
    let mut next = 0;
    while found[found.len() - 1].0 != way.to {
        let (at, _) = *found.get(next)?;
        next += 1;
        let mut out = way.routes.next_hops(at, way.to).to_vec();
        stream.shuffle(&mut out);
        for link in out {
            let end = way.ends[link.index()];
            if found.iter().all(|(node, _)| *node != end) {
                found.push((end, link));
            }
        }
    }
    let mut at = way.to;
    while at != way.from {
        let (_, link) = *found.iter().find(|(node, _)| *node == at).expect("it has been found");
        path.push(link);
        at = way.ends[link.reverse().index()];
    }
    path.reverse();
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Generator;
    use crate::topology::fat_tree::FatTree;

    /// Table 2.1: ten hops between 1 and 27 neighbours take 27 bits.
    #[test]
    fn bits_of_table_2_1() {
        let neighbours = [2, 3, 6, 13, 27, 5, 14, 5, 2, 1];
        assert_eq!(neighbours.map(bits_of), [1, 2, 3, 4, 5, 3, 4, 3, 1, 1]);
        assert_eq!(neighbours.map(bits_of).iter().sum::<u32>(), 27);
    }

    /// From pod to pod in FT(4, 3): a host with one port and five switches with four.
    #[test]
    fn a_path_across_ft_4_3_takes_11_bits() {
        let fabric = FatTree { k: 4, ..FatTree::default() }.build();
        let (routes, ports) =
            (crate::routing::Routes::build(&fabric).expect("connected"), Ports::all(&fabric));
        let ends: Vec<NodeId> = fabric.links.iter().map(|link| link.to).collect();
        let dag = Dag::new(&routes, &ends, NodeId(2), NodeId(9)).expect("a path");
        assert_eq!((dag.count(), dag.links()), (4, 6));
        for number in 0..4 {
            let (mut links, mut again) = (Vec::new(), Vec::new());
            dag.path(number, &mut links);
            let vector = Vector::pack(&links, NodeId(2), &ports);
            assert_eq!(vector.bits(), 11);
            vector.unpack(NodeId(2), &ports, &mut again);
            assert_eq!(links, again);
        }
    }

    /// Numbers that reach across the words of a vector come back.
    #[test]
    fn vectors_may_be_long() {
        let mut vector = Vector::default();
        let numbers: Vec<(u64, u32)> =
            (0..60).map(|at| (at * 2_654_435_761 % (1 << (1 + at % 31)), 1 + at as u32 % 31)).collect();
        numbers.iter().for_each(|&(number, width)| vector.push(number, width));
        let mut used = 0;
        for (number, width) in numbers {
            assert_eq!(vector.read(used, width), number);
            used += width;
        }
        assert_eq!(used, vector.bits());
    }

    /// All places of one shuffle together are a permutation.
    #[test]
    fn drawn_numbers_differ() {
        for count in [1, 2, 7, 64] {
            let mut all: Vec<u64> =
                (0..count).map(|place| drawn(Stream::new(5, 0, Purpose::Paths, 77), count, place)).collect();
            all.sort_unstable();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }
}
