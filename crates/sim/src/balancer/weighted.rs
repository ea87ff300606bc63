//! Weighted per-flow ECMP: of a switch's next hops some get more flows than others.
//!
//! Source: Zhou et al., "WCMP: weighted cost multipathing for improved fairness in data centers", EuroSys 2014. A weight is what
//! the next hop can pass on: the capacity of the links to it, or the one behind it to the destination if that is less. Where all
//! weights of a switch are equal the choice is that of "per-flow".

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use crate::engine::contract::path::{Choose, Hop};
use crate::ids::{LinkId, NodeId};
use crate::problem::Problem;
use crate::random::{mix, salts, share};
use crate::routing::Routes;
use crate::topology::Fabric;
use crate::topology::names::{Names, no_cable};
use crate::units::{Rate, Time};

/// Weighted per-flow ECMP, WCMP: a hash of the 5-tuple chooses among entries, of which a next hop has as many as its weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Weighted {
    /// The weights of next hops.
    pub weights: Weights,
    /// Most entries of a group of next hops in a switch's table; a group has one at least for each next hop. Weights that
    /// need more are replaced by the ones within the bound that overload a next hop least.
    #[schemars(range(min = 1, max = 4096))]
    pub entries: u32,
}

/// The weights of next hops.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// The capacity to the destination: that of the links to the next hop, or the one behind it if that is less. It follows
    /// routes and rates whenever routing reacts to a fault.
    #[default]
    Capacity,
    /// Those of the links listed; all others have weight 1.
    Links(Vec<LinkWeight>),
}

/// The weight of a link, whatever the destination.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkWeight {
    /// Names of the node that chooses and of the next one, as in links.parquet. Parallel links have this weight each.
    pub link: [String; 2],
    /// Entries of the link for each one of a link that is not listed.
    #[schemars(range(min = 1, max = 4096))]
    pub weight: u32,
}

impl Default for Weighted {
    fn default() -> Self {
        Weighted { weights: Weights::Capacity, entries: 256 }
    }
}

impl Settings for Weighted {
    fn hashes(&self) -> bool {
        true
    }

    fn one_path(&self) -> bool {
        true
    }

    fn weighs(&self) -> bool {
        self.weights == Weights::Capacity
    }

    fn problems(&self, fabric: &Fabric) -> Vec<Problem> {
        let Weights::Links(listed) = &self.weights else { return Vec::new() };
        let names = Names::new(fabric);
        let problem = |(place, link): (usize, &LinkWeight)| {
            let known = listed[..place].iter().any(|other| other.link == link.link);
            let problem = match link.ends(fabric, &names) {
                Ok(_) if !known => return None,
                Ok(_) => {
                    let [from, to] = &link.link;
                    let message = format!("the link from \"{from}\" to \"{to}\" is listed already");
                    Problem::new("link", message)
                }
                Err(problem) => *problem,
            };
            Some(problem.within(&format!("weights.links.{place}")))
        };
        listed.iter().enumerate().filter_map(problem).collect()
    }
}

impl LinkWeight {
    /// The nodes at both ends; or the problem, with its path below the entry.
    fn ends(&self, fabric: &Fabric, names: &Names) -> Result<(NodeId, NodeId), Box<Problem>> {
        let find = |end: usize| {
            let wrong = |message| Box::new(Problem::new(format!("link.{end}"), message));
            names.find(&self.link[end]).map_err(wrong)
        };
        let (from, to) = (find(0)?, find(1)?);
        match names.link(from, to) {
            Some(_) => Ok((from, to)),
            None => Err(Box::new(Problem::new("link.1", no_cable(fabric, from, &self.link[1])))),
        }
    }
}

/// The groups of all switches, for the routes that hold.
#[derive(Clone, Debug)]
pub struct Model {
    /// As under "per-flow".
    salts: Vec<u64>,
    /// Of links listed; none if weights are capacities.
    listed: Option<FxHashMap<(NodeId, NodeId), u32>>,
    entries_most: u32,
    groups: Groups,
}

impl Model {
    pub(super) fn new(config: &Weighted, fabric: &Fabric, seed: u64, replica: u64) -> Model {
        let names = Names::new(fabric);
        let listed = match &config.weights {
            Weights::Capacity => None,
            Weights::Links(links) => {
                let ends =
                    |link: &LinkWeight| link.ends(fabric, &names).expect("the check has looked at them");
                Some(links.iter().map(|link| (ends(link), link.weight)).collect())
            }
        };
        Model {
            salts: salts(fabric.nodes.len(), seed, replica),
            listed,
            entries_most: config.entries,
            groups: Groups::default(),
        }
    }

    #[inline(always)]
    fn pick(&self, hop: Hop) -> u32 {
        let hash = mix(u64::from(hop.label) ^ self.salts[hop.at.index()]);
        match self.groups.of(hop.at, hop.to) {
            [] => share(hash, hop.count()),
            entries => u32::from(entries[share(hash, entries.len() as u32) as usize]),
        }
    }
}

impl Choose for Model {
    #[inline(always)]
    fn choose(&mut self, hop: Hop, _now: Time) -> u32 {
        self.pick(hop)
    }

    #[inline(always)]
    fn foresee(&self, hop: Hop) -> Option<u32> {
        Some(self.pick(hop))
    }

    #[cold]
    fn routes_change(&mut self, routes: &Routes, fabric: &Fabric, rate: &dyn Fn(LinkId) -> Rate) {
        let mut groups = Groups::for_hosts(fabric, routes);
        let mut known = FxHashMap::default();
        let mut capacities = Capacities { fabric, routes, rate, to: NodeId(0), known: Vec::new() };
        for (column, to) in groups.homes() {
            capacities.to = to;
            capacities.known.clear();
            capacities.known.resize(fabric.nodes.len(), 0);
            for end in [to, home(fabric, routes, to)] {
                capacities.known[end.index()] = u64::MAX;
            }
            for at in (0..fabric.nodes.len() as u32).map(NodeId).filter(|at| *at != to) {
                let hops = routes.next_hops(at, to);
                if hops.len() < 2 {
                    continue;
                }
                let listed = |own: &FxHashMap<(NodeId, NodeId), u32>| {
                    let end = |link: &LinkId| fabric.links[link.index()].to;
                    hops.iter()
                        .map(|link| own.get(&(at, end(link))).map_or(1, |&weight| weight.into()))
                        .collect()
                };
                let weights: Vec<u64> = self.listed.as_ref().map_or_else(|| capacities.weights(at), listed);
                if weights.iter().any(|weight| *weight != weights[0]) {
                    let most = self.entries_most;
                    let group = known.entry(weights);
                    let group = *group.or_insert_with_key(|weights| groups.add(&reduced(weights, most)));
                    groups.set(at, column, group, fabric.nodes.len());
                }
            }
        }
        self.groups = groups;
    }
}

/// For each switch and each place of hosts the group of next hops, where these have different weights.
#[derive(Clone, Debug, Default)]
struct Groups {
    /// By host, its place: that of all hosts at the same switch.
    columns: Vec<u32>,
    columns_count: u32,
    /// By node and column, the group; 0 where all weights are equal. Empty if they are everywhere.
    cells: Vec<u32>,
    /// Where the entries of each group begin; that of group 0 has none.
    starts: Vec<u32>,
    /// Places among the next hops.
    entries: Vec<u16>,
}

impl Groups {
    /// Without any group.
    fn for_hosts(fabric: &Fabric, routes: &Routes) -> Groups {
        let mut known = FxHashMap::default();
        let column = |host| {
            let next = known.len() as u32;
            *known.entry(home(fabric, routes, NodeId(host))).or_insert(next)
        };
        let columns: Vec<u32> = (0..fabric.hosts).map(column).collect();
        Groups { columns_count: known.len() as u32, columns, starts: vec![0, 0], ..Groups::default() }
    }

    /// Each column with a host of it.
    fn homes(&self) -> BTreeMap<u32, NodeId> {
        self.columns.iter().copied().zip((0..).map(NodeId)).collect()
    }

    /// The entries at a node for a host; none where all weights are equal.
    #[inline(always)]
    fn of(&self, at: NodeId, to: NodeId) -> &[u16] {
        if self.cells.is_empty() {
            return &[];
        }
        let cell = at.index() * self.columns_count as usize + self.columns[to.index()] as usize;
        let group = self.cells[cell] as usize;
        &self.entries[self.starts[group] as usize..self.starts[group + 1] as usize]
    }

    /// A group of so many entries for each next hop; its number.
    fn add(&mut self, weights: &[u32]) -> u32 {
        for (place, &weight) in weights.iter().enumerate() {
            self.entries.extend(std::iter::repeat_n(place as u16, weight as usize));
        }
        self.starts.push(self.entries.len() as u32);
        self.starts.len() as u32 - 2
    }

    fn set(&mut self, at: NodeId, column: u32, group: u32, nodes: usize) {
        let columns = self.columns_count as usize;
        if self.cells.is_empty() {
            self.cells.resize(nodes * columns, 0);
        }
        self.cells[at.index() * columns + column as usize] = group;
    }
}

/// The node at which all paths to a host end: its only neighbour, or the host itself.
fn home(fabric: &Fabric, routes: &Routes, host: NodeId) -> NodeId {
    routes.only_port(host).map_or(host, |port| fabric.links[port.index()].to)
}

/// Capacities to one host, without its own link.
struct Capacities<'a> {
    fabric: &'a Fabric,
    routes: &'a Routes,
    rate: &'a dyn Fn(LinkId) -> Rate,
    to: NodeId,
    /// By node, once it is known; 0 before.
    known: Vec<u64>,
}

impl Capacities<'_> {
    /// Of all next hops of a node: the links to one neighbour share what it can pass on, in proportion to their rates.
    fn weights(&mut self, at: NodeId) -> Vec<u64> {
        let hops = self.routes.next_hops(at, self.to);
        let mut links: Vec<(NodeId, u64, usize)> = Vec::with_capacity(hops.len());
        for (place, link) in hops.iter().enumerate() {
            links.push((self.fabric.links[link.index()].to, (self.rate)(*link).0, place));
        }
        links.sort_unstable();
        let mut weights = vec![0; hops.len()];
        for parallel in links.chunk_by(|one, other| one.0 == other.0) {
            let sum = parallel.iter().map(|(_, rate, _)| u128::from(*rate)).sum::<u128>();
            let passes = sum.min(u128::from(self.of(parallel[0].0)));
            for &(_, rate, place) in parallel {
                let share = passes * u128::from(rate) / sum;
                weights[place] = (share as u64).max(1);
            }
        }
        weights
    }

    /// Of a node. The recursion is as deep as paths are long.
    fn of(&mut self, at: NodeId) -> u64 {
        if self.known[at.index()] == 0 {
            self.known[at.index()] = self.weights(at).into_iter().fold(0, u64::saturating_add);
        }
        self.known[at.index()]
    }
}

/// Weights as numbers of entries, at most so many altogether, and one at least for each next hop.
///
/// Entries are given one by one, as by Zhou et al. (algorithm 1): each to the next hop that it overloads least. Of all sums on
/// the way the first is taken at which the largest ratio of a next hop's share of entries to its share of the weights is least.
fn reduced(weights: &[u64], most: u32) -> Vec<u32> {
    let total = weights.iter().map(|&weight| weight as f64).sum::<f64>();
    let ideal: Vec<f64> = weights.iter().map(|&weight| weight as f64 / total).collect();
    let mut entries = vec![1u32; weights.len()];
    let mut best = (f64::INFINITY, entries.clone());
    loop {
        let sum = f64::from(entries.iter().sum::<u32>());
        let overload = entries.iter().zip(&ideal).map(|(&own, ideal)| f64::from(own) / sum / ideal);
        let overload = overload.fold(0.0, f64::max);
        // Rounding is no difference.
        if overload < best.0 * (1.0 - 1e-9) {
            best = (overload, entries.clone());
        }
        if overload < 1.0 + 1e-9 || sum >= f64::from(most) {
            return best.1;
        }
        let after = |place: &usize| (f64::from(entries[*place]) + 1.0) / ideal[*place];
        let next = (0..entries.len()).min_by(|a, b| after(a).total_cmp(&after(b))).expect("a next hop");
        entries[next] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Generator;
    use crate::topology::leaf_spine::LeafSpine;

    /// 1:2 and 2:4 are two entries for one; 1:1000 needs 1001, and with 8 the larger has 7, with 4 it has 3.
    #[test]
    fn weights_become_entries() {
        assert_eq!(reduced(&[40, 80], 256), [1, 2]);
        assert_eq!(reduced(&[3, 3, 6], 256), [1, 1, 2]);
        assert_eq!(reduced(&[1, 1000], 4096), [1, 1000]);
        assert_eq!(reduced(&[1, 1000], 8), [1, 7]);
        assert_eq!(reduced(&[1, 1000], 4), [1, 3]);
        // A bound below the number of next hops leaves each one.
        assert_eq!(reduced(&[1, 2, 3], 1), [1, 1, 1]);
        // A third of 100 Gbps on each of three parallel links, in whole bits.
        assert_eq!(
            reduced(&[33_333_333_333, 33_333_333_333, 33_333_333_333, 100_000_000_000], 256),
            [1, 1, 1, 3]
        );
    }

    /// Entries of a group whose ideal shares are 0.2 and 0.8, at most four: of 1:1, 1:2 and 1:3 the last overloads least, by 1.25.
    #[test]
    fn a_small_table_overloads_least() {
        assert_eq!(reduced(&[2, 8], 4), [1, 3]);
        assert_eq!(reduced(&[2, 8], 5), [1, 4]);
    }

    /// The testbed of CONGA (section 5): two leaves, two spines, two cables between each pair, one of them down. Its spine passes
    /// half as much on, so that each cable to it has half the weight of one to the other spine: 2:1 by spine.
    #[test]
    fn a_cable_that_is_down_halves_a_spine() {
        let shape = LeafSpine { leaves: 2, spines: 2, hosts: 2, parallel: 2, ..LeafSpine::default() };
        let fabric = shape.build();
        let name = |node: NodeId| fabric.nodes[node.index()].name.as_str();
        let find = |from: &str, to: &str| {
            let ends = |link: &crate::topology::Link| name(link.from) == from && name(link.to) == to;
            LinkId(fabric.links.iter().position(ends).expect("a cable") as u32)
        };
        let cut = find("leaf 1", "spine 1");
        let mut model = Model::new(&Weighted::default(), &fabric, 1, 0);
        let whole = Routes::build(&fabric).expect("a connected network");
        let rate = |link: LinkId| fabric.links[link.index()].rate;
        model.routes_change(&whole, &fabric, &rate);
        assert!(model.groups.cells.is_empty());
        let mut down = [cut, cut.reverse()];
        down.sort_unstable();
        let routes = Routes::around(&fabric, &down);
        model.routes_change(&routes, &fabric, &rate);
        let entries = |model: &Model, from: &str, host: u32| {
            let at = fabric.nodes.iter().position(|node| node.name == from).expect("a leaf");
            let at = NodeId(at as u32);
            let mut by_spine = BTreeMap::new();
            for place in model.groups.of(at, NodeId(host)) {
                let link = routes.next_hops(at, NodeId(host))[usize::from(*place)];
                *by_spine.entry(name(fabric.links[link.index()].to)).or_insert(0) += 1;
            }
            by_spine.into_iter().collect::<Vec<_>>()
        };
        // From leaf 0 by four links of weights 2, 2, 1, 1; from leaf 1 by three links of one rate.
        assert_eq!(entries(&model, "leaf 0", 3), [("spine 0", 4), ("spine 1", 2)]);
        assert_eq!(entries(&model, "leaf 1", 0), []);
        // A rate that changes, as routing learns of it: spine 0 passes a quarter on.
        let slow = find("spine 0", "leaf 1");
        let degraded = |link: LinkId| {
            if link == slow || link.0 == slow.0 + 2 { Rate(rate(link).0 / 4) } else { rate(link) }
        };
        model.routes_change(&whole, &fabric, &degraded);
        let at = NodeId(fabric.nodes.iter().position(|node| node.name == "leaf 0").expect("a leaf") as u32);
        let mut counts = [0; 4];
        model.groups.of(at, NodeId(3)).iter().for_each(|place| counts[usize::from(*place)] += 1);
        assert_eq!(counts, [1, 1, 4, 4]);
    }
}
