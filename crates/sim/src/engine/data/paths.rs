//! Whole paths that sources have chosen: the same links are stored once for all connections.
//!
//! A packet with [`flag::ROUTED`] carries its path's number in its label; each node on the way finds the next link by how
//! many links the packet has crossed. The table only grows, and a path, once in it, never changes. Each part of a
//! run has a table of its own; the first packet on a path to another part carries the path's links to that part.

use super::packet::{Packet, flag};
use crate::ids::{LinkId, NodeId, PathId};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// Most links of a path: a packet counts those that it has crossed in a byte.
pub const LINKS_MAX: usize = 250;

/// All whole paths of a run.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// Path by path, how many links it has, then these. A path's number is the place of its first link.
    links: Vec<LinkId>,
    /// Paths by the hash of their links.
    known: FxHashMap<u64, PathId>,
    /// By path, the parts of the run that have received it, a bit each.
    announced: Vec<u64>,
    /// By part of the run and its number of a path, the number here.
    heard: Vec<Vec<PathId>>,
    /// By link, whether it begins in another part of the run; empty in a run that is not parted.
    begins_abroad: Vec<bool>,
    /// Bytes of the paths that begin in this part.
    bytes: u64,
}

impl Paths {
    /// The number of that path, from the first link to the last.
    ///
    /// # Panics
    /// If it has no link, or more than [`LINKS_MAX`].
    pub fn intern(&mut self, path: &[LinkId]) -> PathId {
        assert!((1..=LINKS_MAX).contains(&path.len()), "a path of {} links", path.len());
        let mut hasher = FxHasher::default();
        path.hash(&mut hasher);
        let hash = hasher.finish();
        if let Some(&known) = self.known.get(&hash)
            && self.links(known) == path
        {
            return known;
        }
        self.links.push(LinkId(path.len() as u32));
        let id = PathId(u32::try_from(self.links.len()).expect("paths of at most 2^32 links in all"));
        self.links.extend_from_slice(path);
        self.known.insert(hash, id);
        if !self.begins_abroad.get(path[0].index()).is_some_and(|&abroad| abroad) {
            self.bytes += bytes_of(path.len());
        }
        id
    }

    /// The links of a path.
    pub fn links(&self, path: PathId) -> &[LinkId] {
        &self.links[path.index()..][..self.len(path)]
    }

    fn len(&self, path: PathId) -> usize {
        self.links[path.index() - 1].index()
    }

    /// The next link, which begins at this node, of a packet that has a path and has crossed so many links of it.
    ///
    /// # Panics
    /// If the packet is not where its path is: it would go on from another node, in a run of several parts in the wrong one.
    #[inline(always)]
    pub fn next_at(&self, at: NodeId, packet: &Packet, crossed: u8, ends: &[NodeId]) -> LinkId {
        let link = self.next(packet, crossed);
        assert!(ends[link.reverse().index()] == at, "a packet has left its path: it is at {at}");
        link
    }

    #[inline(always)]
    fn next(&self, packet: &Packet, crossed: u8) -> LinkId {
        let (path, crossed) = (PathId(packet.label), usize::from(crossed));
        assert!(crossed < self.len(path), "a packet is beyond the end of its path");
        if packet.flags & flag::BACKWARDS == 0 {
            return self.links[path.index() + crossed];
        }
        self.links[path.index() + self.len(path) - 1 - crossed].reverse()
    }

    /// Turns a packet round: from here on it goes back by the links that it has crossed.
    #[cold]
    pub fn turn(&self, packet: &mut Packet) {
        packet.flags ^= flag::BACKWARDS;
        packet.hops = self.len(PathId(packet.label)) as u8 - packet.hops;
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Announces a path to another part of the run, unless that has been done: appends the path's number here, how many
    /// links it has, and these.
    pub fn announce(&mut self, path: PathId, part: usize, words: &mut Vec<u32>) {
        self.announced.resize(self.links.len(), 0);
        let announced = &mut self.announced[path.index()];
        if *announced & 1 << part == 0 {
            *announced |= 1 << part;
            words.extend([path.0, self.len(path) as u32]);
            words.extend(self.links(path).iter().map(|link| link.0));
        }
    }

    /// Enters the paths that another part has announced.
    pub fn receive(&mut self, part: usize, mut words: &[u32]) {
        while let [path, len, rest @ ..] = words {
            let (links, rest) = rest.split_at(*len as usize);
            let links: Vec<LinkId> = links.iter().copied().map(LinkId).collect();
            let (own, path) = (self.intern(&links), *path as usize);
            self.heard.resize_with(self.heard.len().max(part + 1), Vec::new);
            let heard = &mut self.heard[part];
            heard.resize(heard.len().max(path + 1), PathId::NONE);
            heard[path] = own;
            words = rest;
        }
    }

    /// Number in this part of a path that another part has announced.
    pub fn own(&self, part: usize, path: PathId) -> PathId {
        self.heard[part][path.index()]
    }

    /// These links begin in another part of the run. Each path is in the table of the part in which it begins.
    pub fn join(&mut self, begins_abroad: Vec<bool>) {
        self.begins_abroad = begins_abroad;
    }

    /// Bytes of the paths that begin in this part: their sum over all parts does not depend on the parts.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Bytes of a path with so many links in tables that have up to twice the room that they need.
fn bytes_of(links: usize) -> u64 {
    2 * (size_of::<LinkId>() * (links + 1) + size_of::<(u64, PathId)>() + 1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contract::fake::FakeHost;
    use crate::engine::contract::host::{Host, Toward};
    use crate::engine::data::packet::Header;
    use crate::ids::ConnId;

    fn path(links: &[u32]) -> Vec<LinkId> {
        links.iter().map(|&link| LinkId(link)).collect()
    }

    #[test]
    fn a_path_is_kept_once_and_walked_both_ways() {
        let mut paths = Paths::default();
        let [long, short] = [path(&[4, 8, 13, 6]), path(&[4, 9])].map(|links| paths.intern(&links));
        assert_eq!(paths.intern(&path(&[4, 8, 13, 6])), long);
        assert_eq!((paths.links(long), paths.links(short)), (&path(&[4, 8, 13, 6])[..], &path(&[4, 9])[..]));
        let packet =
            FakeHost::pair(1).packet(ConnId(0), Toward::Receiver, 1500, flag::ROUTED, Header::default());
        let mut packet = Packet { label: long.0, ..packet };
        let walk = |packet: &Packet, from| {
            (from..4).map(|crossed| paths.next(packet, crossed).0).collect::<Vec<_>>()
        };
        assert_eq!(walk(&packet, 0), [4, 8, 13, 6]);
        // After two links it turns round: back by 9, the other direction of 8, and by 5.
        packet.hops = 2;
        paths.turn(&mut packet);
        assert_eq!(walk(&packet, packet.hops), [9, 5]);
    }
}
