//! Which links lead from a node to a host: all shortest paths by number of hops.
//!
//! Routes are per node, never by kind of node. The table is small because hosts with one port
//! share a column: whatever leads to the node that such a host hangs on (its *home*) leads to the
//! host. Such hosts have no row either, since they have only one way out. A cell points at one of
//! the distinct sets of next hops: a fat-tree has few. k = 48 takes 2,880 rows of 1,152 cells.

pub mod cycles;
pub mod dag;
pub mod spread;
pub mod survey;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fmt;
use std::iter::zip;
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::ids::{LinkId, NodeId};
use crate::topology::{Fabric, Link};
use crate::units::Time;

/// For every node and every host the links on which a shortest path to the host begins.
#[derive(Clone, Debug)]
pub struct Routes {
    /// For each node the start of its row in `table`; or, marked by [`SINGLE`], the set of its only link.
    rows: Vec<u32>,
    /// For each host where it is.
    places: Vec<Place>,
    /// Row by row, for each column the only next hop, or, marked by [`SET`], the set of them, or [`HERE`].
    table: Vec<LinkId>,
    /// The distinct sets of next hops, as [`Sets`] lays them out.
    sets: Vec<LinkId>,
}

/// Where a host is.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The column of the host's home, or of the host itself if it has several ports.
    column: u32,
    /// The link from the home to the host; none if it has several ports.
    down: LinkId,
}

/// Marks the row of a host with one port; the other bits are a set.
const SINGLE: u32 = 1 << 31;

/// Marks a cell with several next hops; the other bits are a set.
const SET: u32 = 1 << 31;

/// Cells in a cache line.
const GATHERED: usize = 16;

/// The cell of a column's own node: the host hangs on it, or is it.
const HERE: LinkId = LinkId::NONE;

/// Two nodes without a path between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disconnected {
    pub from: String,
    /// Name of a node that it cannot reach.
    pub to: String,
}

impl fmt::Display for Disconnected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no path from {} to {}", self.from, self.to)
    }
}

impl std::error::Error for Disconnected {}

/// Two nodes of which one cannot reach the other, if there are any.
pub fn disconnected(fabric: &Fabric) -> Option<Disconnected> {
    let mut search = Search::new(fabric.nodes.len());
    search.run(&Ports::all(fabric), NodeId(0));
    let lost = search.distance.iter().position(|&distance| distance == u32::MAX)?;
    let name = |node: usize| fabric.nodes[node].name.clone();
    Some(Disconnected { from: name(0), to: name(lost) })
}

/// The largest table of routes that a scenario may need: 1 GiB.
pub const MOST_CELLS: u64 = 1 << 28;

/// Cells of the table of routes: a row for each node that forwards, a column for each place where hosts are.
pub fn cells(fabric: &Fabric) -> u64 {
    let ports = Ports::all(fabric);
    let hosts = || (0..fabric.hosts).map(NodeId);
    let is_single = |host: &NodeId| ports.out(*host).len() == 1;
    let singles = hosts().filter(is_single).count();
    let mut homes: Vec<NodeId> =
        hosts().map(|host| if is_single(&host) { ports.ends(host)[0] } else { host }).collect();
    homes.sort_unstable();
    homes.dedup();
    (fabric.nodes.len() - singles) as u64 * homes.len() as u64
}

impl Routes {
    /// All shortest paths of the fabric; or two nodes of which one cannot reach the other.
    pub fn build(fabric: &Fabric) -> Result<Routes, Disconnected> {
        if let Some(disconnected) = disconnected(fabric) {
            return Err(disconnected);
        }
        Ok(Routes::around(fabric, &[]))
    }

    /// All shortest paths over cables of which neither direction is among these links, which ascend. A node
    /// from which there is none has no next hop; a host with one port keeps it, whatever its state.
    pub fn around(fabric: &Fabric, down: &[LinkId]) -> Routes {
        let ports = Ports::all(fabric);
        let only_port = |node| match ports.out(node) {
            &[up] if fabric.is_host(node) => Some(up),
            _ => None,
        };
        let mut columns: Vec<NodeId> = Vec::new();
        let mut column_of = vec![u32::MAX; fabric.nodes.len()];
        let mut places = Vec::with_capacity(fabric.hosts as usize);
        for host in (0..fabric.hosts).map(NodeId) {
            let (node, down) = match only_port(host) {
                Some(up) => (fabric.links[up.index()].to, up.reverse()),
                None => (host, LinkId::NONE),
            };
            let column = &mut column_of[node.index()];
            if *column == u32::MAX {
                *column = columns.len() as u32;
                columns.push(node);
            }
            places.push(Place { column: *column, down });
        }

        let mut sets = Sets::default();
        let mut rows = Vec::with_capacity(fabric.nodes.len());
        let mut inner = Vec::new();
        for node in (0..fabric.nodes.len() as u32).map(NodeId) {
            if let Some(up) = only_port(node) {
                rows.push(SINGLE | sets.intern(&[up]));
            } else {
                let start = inner.len() * columns.len();
                assert!(start < SINGLE as usize, "the table of routes has at most 2^31 cells");
                rows.push(start as u32);
                inner.push(node);
            }
        }
        // Hosts with one port are on no path but their own, so the searches leave them out.
        let on_paths = |node: NodeId| only_port(node).is_none();
        let table = fill(&Ports::of(fabric, on_paths, down), &inner, &columns, &mut sets);
        Routes { rows, places, table, sets: sets.links }
    }

    /// The links out of `at` on which a shortest path to the host `to` begins, ascending.
    ///
    /// `at` is not `to`: a packet at its destination has no next hop.
    #[inline(always)]
    pub fn next_hops(&self, at: NodeId, to: NodeId) -> &[LinkId] {
        debug_assert_ne!(at, to);
        let row = self.rows[at.index()];
        if row & SINGLE != 0 {
            return members(&self.sets, row & !SINGLE);
        }
        let place = &self.places[to.index()];
        match &self.table[(row + place.column) as usize] {
            &HERE => std::slice::from_ref(&place.down),
            only if only.0 & SET == 0 => std::slice::from_ref(only),
            set => members(&self.sets, set.0 & !SET),
        }
    }

    /// The port of a host that has no other.
    pub fn only_port(&self, host: NodeId) -> Option<LinkId> {
        let row = self.rows[host.index()];
        (row & SINGLE != 0).then(|| members(&self.sets, row & !SINGLE)[0])
    }

    /// The shortest path on which a lone packet of `packet_bytes` arrives first, store-and-forward.
    ///
    /// Among equals the path with the lowest link at the first hop where they differ.
    pub fn best_path(&self, fabric: &Fabric, from: NodeId, to: NodeId, packet_bytes: u64) -> Vec<LinkId> {
        // Backwards over the levels: the least latency from each node to the end, and its link.
        let levels = self.levels(fabric, from, to);
        let mut best: BTreeMap<NodeId, (Time, LinkId)> = BTreeMap::from([(to, (Time::ZERO, LinkId::NONE))]);
        for level in levels[..levels.len() - 1].iter().rev() {
            for &node in level.keys() {
                let latency = |&id: &LinkId| {
                    let link = &fabric.links[id.index()];
                    (link.rate.transmission(packet_bytes) + link.delay + best[&link.to].0, id)
                };
                let least = self.next_hops(node, to).iter().map(latency).min();
                best.insert(node, least.expect("a node on the way has a next hop"));
            }
        }
        let mut path = Vec::with_capacity(levels.len() - 1);
        let mut at = from;
        while at != to {
            let link = best[&at].1;
            path.push(link);
            at = fabric.links[link.index()].to;
        }
        path
    }

    /// Number of links of a shortest path.
    pub fn distance(&self, fabric: &Fabric, from: NodeId, to: NodeId) -> u32 {
        let (mut at, mut links) = (from, 0);
        while at != to {
            at = fabric.links[self.next_hops(at, to)[0].index()].to;
            links += 1;
        }
        links
    }

    /// Bytes of the tables.
    pub fn bytes(&self) -> u64 {
        let cells = self.rows.len() + self.table.len() + self.sets.len();
        (4 * cells + size_of::<Place>() * self.places.len()) as u64
    }

    /// Number of shortest paths; parallel cables count as paths of their own.
    pub fn path_count(&self, fabric: &Fabric, from: NodeId, to: NodeId) -> u128 {
        self.levels(fabric, from, to).last().map_or(0, |last| last[&to])
    }

    /// The nodes on shortest paths, by hops from `from`, each with the number of ways to reach it.
    fn levels(&self, fabric: &Fabric, from: NodeId, to: NodeId) -> Vec<BTreeMap<NodeId, u128>> {
        let mut levels = vec![BTreeMap::from([(from, 1)])];
        while !levels[levels.len() - 1].contains_key(&to) {
            let mut next = BTreeMap::new();
            for (&node, &ways) in &levels[levels.len() - 1] {
                for link in self.next_hops(node, to) {
                    let sum: &mut u128 = next.entry(fabric.links[link.index()].to).or_default();
                    *sum = sum.saturating_add(ways);
                }
            }
            levels.push(next);
        }
        levels
    }
}

/// The table: a row for each of the nodes, a column for each of the targets.
fn fill(ports: &Ports, nodes: &[NodeId], targets: &[NodeId], sets: &mut Sets) -> Vec<LinkId> {
    let mut search = Search::new(ports.starts.len() - 1);
    let mut table = vec![HERE; nodes.len() * targets.len()];
    // Each node's last set in the previous columns: often the same again.
    let mut latest = vec![0; nodes.len()];
    let mut hops = Vec::new();
    // A search fills a column, but the table lies row by row: so some columns are gathered and then written a cache line
    // at a time.
    let mut gathered = vec![HERE; nodes.len() * GATHERED];
    for (block, some) in targets.chunks(GATHERED).enumerate() {
        for (lane, &target) in some.iter().enumerate() {
            search.run(ports, target);
            let cells = gathered.iter_mut().skip(lane).step_by(GATHERED);
            for ((&node, latest), cell) in zip(nodes, &mut latest).zip(cells) {
                *cell = search.cell(ports, node, &mut hops, latest, sets);
            }
        }
        let rows = table.chunks_mut(targets.len()).zip(gathered.chunks(GATHERED));
        for (row, cells) in rows {
            row[block * GATHERED..][..some.len()].copy_from_slice(&cells[..some.len()]);
        }
    }
    table
}

/// Most shortest paths between any two hosts; if there are as many as are enough, perhaps not the most.
pub fn most_paths(fabric: &Fabric, routes: &Routes, enough: u64) -> u64 {
    let ports = Ports::all(fabric);
    let mut homes = BTreeSet::new();
    let (mut most, mut ways) = (0, vec![0_u64; fabric.nodes.len()]);
    for to in (0..fabric.hosts).map(NodeId) {
        // Hosts on one switch are reached alike.
        if routes.only_port(to).is_some_and(|port| !homes.insert(fabric.links[port.index()].to)) {
            continue;
        }
        let distances = ports.distances(to);
        let mut nodes: Vec<usize> = (0..distances.len()).collect();
        nodes.sort_by_key(|&node| distances[node]);
        ways[to.index()] = 1;
        for node in nodes.into_iter().map(|node| NodeId(node as u32)).filter(|node| *node != to) {
            let next = routes.next_hops(node, to).iter().map(|link| fabric.links[link.index()].to);
            ways[node.index()] = next.map(|next| ways[next.index()]).fold(0, u64::saturating_add);
            if fabric.is_host(node) {
                most = most.max(ways[node.index()]);
            }
        }
        if most >= enough {
            return most;
        }
    }
    most
}

/// The most links of a shortest path between two hosts, and such a pair; none with fewer than two hosts.
pub fn longest(fabric: &Fabric) -> Option<(u32, NodeId, NodeId)> {
    let ports = Ports::all(fabric);
    let mut homes = BTreeSet::new();
    let mut longest = None;
    for to in (0..fabric.hosts).map(NodeId) {
        // Hosts on one switch are reached alike.
        if let [home] = ports.ends(to)
            && !homes.insert(*home)
        {
            continue;
        }
        let distances = ports.distances(to);
        let hosts = (0..fabric.hosts).map(NodeId).filter(|from| *from != to);
        let farthest = hosts
            .map(|from| (distances[from.index()], from))
            .max_by_key(|(links, from)| (*links, std::cmp::Reverse(*from)));
        if let Some((links, from)) = farthest
            && longest.is_none_or(|(most, _, _)| links > most)
        {
            longest = Some((links, from, to));
        }
    }
    longest
}

/// The smallest propagation delay from a host to another: a lower bound for every message between hosts.
pub fn min_host_delay(fabric: &Fabric) -> Time {
    // Dijkstra from all hosts at once: each node gets its nearest host. A shortest path between two hosts
    // crosses one link between nodes whose nearest hosts differ.
    let ports = Ports::all(fabric);
    let mut nearest = vec![(Time::NEVER, NodeId::NONE); fabric.nodes.len()];
    let mut open = BinaryHeap::new();
    for host in 0..fabric.hosts {
        nearest[host as usize] = (Time::ZERO, NodeId(host));
        open.push(Reverse((Time::ZERO, host)));
    }
    while let Some(Reverse((delay, node))) = open.pop() {
        let (least, host) = nearest[node as usize];
        if least < delay {
            continue;
        }
        for link in ports.out(NodeId(node)) {
            let link = &fabric.links[link.index()];
            let delay = delay.saturating_add(link.delay);
            if delay < nearest[link.to.index()].0 {
                nearest[link.to.index()] = (delay, host);
                open.push(Reverse((delay, link.to.0)));
            }
        }
    }
    let across = fabric.links.iter().filter_map(|link| {
        let (near, far) = (nearest[link.from.index()], nearest[link.to.index()]);
        (near.1 != far.1).then(|| near.0.saturating_add(link.delay).saturating_add(far.0))
    });
    across.min().unwrap_or(Time::NEVER)
}

/// The links out of each node, ascending, between the nodes that are kept, without cables that are down.
#[derive(Clone, Debug)]
pub struct Ports {
    starts: Vec<u32>,
    links: Vec<LinkId>,
    /// Where each of `links` leads: searches read it in order and leave the fabric's links alone.
    ends: Vec<NodeId>,
}

impl Ports {
    /// Those of a whole network.
    pub fn all(fabric: &Fabric) -> Ports {
        Ports::of(fabric, |_| true, &[])
    }

    fn of(fabric: &Fabric, keep: impl Fn(NodeId) -> bool, down: &[LinkId]) -> Ports {
        let kept: Vec<bool> = (0..fabric.nodes.len() as u32).map(|node| keep(NodeId(node))).collect();
        let links = || {
            let ends_kept = |link: &Link| kept[link.from.index()] && kept[link.to.index()];
            let up = |id: LinkId| {
                down.is_empty() || ![id, id.reverse()].iter().any(|id| down.binary_search(id).is_ok())
            };
            let usable = move |(id, link): &(usize, &Link)| ends_kept(link) && up(LinkId(*id as u32));
            fabric.links.iter().enumerate().filter(usable)
        };
        let mut starts = vec![0; fabric.nodes.len() + 1];
        for (_, link) in links() {
            starts[link.from.index() + 1] += 1;
        }
        for node in 0..fabric.nodes.len() {
            starts[node + 1] += starts[node];
        }
        let mut filled = starts.clone();
        let total = starts[fabric.nodes.len()] as usize;
        let (mut ordered, mut ends) = (vec![LinkId::NONE; total], vec![NodeId::NONE; total]);
        for (id, link) in links() {
            let place = &mut filled[link.from.index()];
            ordered[*place as usize] = LinkId(id as u32);
            ends[*place as usize] = link.to;
            *place += 1;
        }
        Ports { starts, links: ordered, ends }
    }

    /// The links out of a node.
    pub fn out(&self, node: NodeId) -> &[LinkId] {
        &self.links[self.range(node)]
    }

    /// Where each of these leads.
    pub fn ends(&self, node: NodeId) -> &[NodeId] {
        &self.ends[self.range(node)]
    }

    /// By node, the number of links to that node; `u32::MAX` where there is no way.
    pub fn distances(&self, to: NodeId) -> Vec<u32> {
        let mut search = Search::new(self.starts.len() - 1);
        search.run(self, to);
        search.distance
    }

    fn range(&self, node: NodeId) -> Range<usize> {
        self.starts[node.index()] as usize..self.starts[node.index() + 1] as usize
    }
}

/// The distinct sets of next hops, end to end; a set is known by where it starts, which is never 0.
struct Sets {
    links: Vec<LinkId>,
    known: FxHashMap<Vec<LinkId>, u32>,
}

impl Default for Sets {
    fn default() -> Sets {
        Sets { links: vec![LinkId(0)], known: FxHashMap::default() }
    }
}

impl Sets {
    fn get(&self, set: u32) -> &[LinkId] {
        members(&self.links, set)
    }

    fn intern(&mut self, set: &[LinkId]) -> u32 {
        if let Some(&start) = self.known.get(set) {
            return start;
        }
        let start = self.links.len() as u32;
        self.links.push(LinkId(set.len() as u32));
        self.links.extend_from_slice(set);
        self.known.insert(set.to_vec(), start);
        start
    }
}

/// The set that starts at `set`: its length comes first, then its links.
#[inline]
fn members(sets: &[LinkId], set: u32) -> &[LinkId] {
    let start = set as usize + 1;
    let length = sets[set as usize].index();
    &sets[start..start + length]
}

/// A breadth-first search that keeps its memory.
struct Search {
    /// Hops to the target; `u32::MAX` if there is no way.
    distance: Vec<u32>,
    queue: Vec<NodeId>,
}

impl Search {
    fn new(nodes: usize) -> Search {
        Search { distance: vec![0; nodes], queue: Vec::with_capacity(nodes) }
    }

    /// The cell of a node for the target of the last search.
    fn cell(
        &self,
        ports: &Ports,
        node: NodeId,
        hops: &mut Vec<LinkId>,
        latest: &mut u32,
        sets: &mut Sets,
    ) -> LinkId {
        let distance = self.distance[node.index()];
        if distance == 0 {
            return HERE;
        }
        hops.clear();
        let nearer = |end: &NodeId| self.distance[end.index()] < distance;
        hops.extend(
            zip(ports.out(node), ports.ends(node)).filter(|(_, end)| nearer(end)).map(|(&link, _)| link),
        );
        if let [only] = hops[..] {
            return only;
        }
        if *latest == 0 || sets.get(*latest) != *hops {
            *latest = sets.intern(hops);
        }
        LinkId(SET | *latest)
    }

    /// Cables go both ways, so that the distances from the target are those to it.
    fn run(&mut self, ports: &Ports, target: NodeId) {
        self.distance.fill(u32::MAX);
        self.distance[target.index()] = 0;
        self.queue.clear();
        self.queue.push(target);
        let mut next = 0;
        while let Some(&node) = self.queue.get(next) {
            next += 1;
            let further = self.distance[node.index()] + 1;
            for &to in ports.ends(node) {
                if self.distance[to.index()] == u32::MAX {
                    self.distance[to.index()] = further;
                    self.queue.push(to);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Generator;
    use crate::topology::fat_tree::FatTree;
    use crate::units::Rate;

    #[test]
    fn the_largest_published_fat_tree_takes_little_memory() {
        let fabric = FatTree { k: 48, ..FatTree::default() }.build();
        let routes = Routes::build(&fabric).expect("a fat-tree is connected");
        let cells = routes.rows.len() + 2 * routes.places.len() + routes.table.len() + routes.sets.len();
        assert_eq!(routes.table.len(), 2_880 * 1_152);
        assert!(4 * cells < 16 << 20, "{cells} cells of 4 bytes");
        let path_count = |to| routes.path_count(&fabric, NodeId(0), NodeId(to));
        assert_eq!([1, 24, 27_647].map(path_count), [1, 24, 576]);
    }

    /// Two hosts that are all of a network: each has no other way than its only port.
    #[test]
    fn two_hosts_and_a_cable() {
        let mut fabric = Fabric::default();
        let ends = ["one", "other"].map(|name| fabric.add_node(name.into(), "host"));
        fabric.add_cable(ends[0], ends[1], Rate(1), Time::ZERO);
        let routes = Routes::build(&fabric).expect("they are joined");
        assert_eq!(routes.next_hops(ends[0], ends[1]), [LinkId(0)]);
        assert_eq!(routes.next_hops(ends[1], ends[0]), [LinkId(1)]);
        assert_eq!(most_paths(&fabric, &routes, 2), 1);
    }
}
