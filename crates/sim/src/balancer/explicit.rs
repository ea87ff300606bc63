//! Explicit routes: the scenario lists the paths between pairs of hosts, or of single flows.
//!
//! For paths that come from elsewhere: an optimiser, a trace, a routing scheme of one's own. Weights make a random choice
//! among them, such as with the probabilities that follow from the loads of links (Song's thesis, Iowa 2017, section 2.4).

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use super::assigned::{Answers, Assign, Way};
use crate::engine::contract::paths::LINKS_MAX;
use crate::ids::{LinkId, NodeId};
use crate::nearest::{closest, did_you_mean};
use crate::problem::{PROBLEMS_MAX, Problem};
use crate::random::{Purpose, Stream, flow_key};
use crate::topology::Fabric;
use crate::topology::names::{Names, no_cable};
use crate::traffic::references::position;
use crate::traffic::{Demand, Traffic};

/// Each connection goes by a route that the scenario lists; without one, by a shortest path as under "per-flow".
///
/// With several routes between two hosts, or of one flow, a connection draws one by their weights; its subflows draw
/// different ones as long as there are enough.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Explicit {
    /// The routes, from host to host in one direction each.
    pub routes: Vec<Route>,
    /// The path of acknowledgements and other answers: a route listed for their direction, or that of the data backwards.
    pub answers: Answers,
}

/// A route from one host to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Names of the nodes, both hosts included, as in links.parquet. Of parallel cables it takes the first.
    pub path: Vec<String>,
    /// Weight of the route in the draw, in proportion to the weights of the others between these hosts.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub weight: u32,
    /// The flows that take it. They take no other route, and other flows between these hosts do not take it.
    /// By default all flows without a route of their own take it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_by: Option<TakenBy>,
}

/// Flows of a traffic entry that take a route; or, if it leads from their receiver to their sender, flows
/// whose replies take it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TakenBy {
    /// The name of the entry.
    pub traffic: String,
    /// The flows' numbers in the entry, from 0: by start, or as drawn if flows of the entry wait for others. Of flows that
    /// share a kept connection, the first, whose routes are those of the connection.
    #[schemars(length(min = 1, max = 10_000_000))]
    pub flows: Vec<u32>,
}

fn one() -> u32 {
    1
}

impl Route {
    /// Its nodes and links; or the problem, with the path below the route.
    fn links(&self, fabric: &Fabric, names: &Names) -> Result<(Vec<NodeId>, Vec<LinkId>), Box<Problem>> {
        let wrong = |place: usize, message: String| Box::new(Problem::new(format!("path.{place}"), message));
        let mut nodes = Vec::new();
        for (place, name) in self.path.iter().enumerate() {
            let node = names.find(name).map_err(|message| wrong(place, message))?;
            if nodes.contains(&node) {
                return Err(wrong(place, format!("\"{name}\" is on the route already")));
            }
            nodes.push(node);
        }
        if nodes.len() < 2 || nodes.len() > LINKS_MAX {
            let message = format!("has {}; a route has between 2 and {LINKS_MAX} nodes", nodes.len());
            return Err(Box::new(Problem::new("path", message)));
        }
        for place in [0, nodes.len() - 1] {
            if !fabric.is_host(nodes[place]) {
                let message =
                    format!("\"{}\" is a switch; a route leads from host to host", self.path[place]);
                return Err(wrong(place, message));
            }
        }
        let mut links = Vec::new();
        for (place, ends) in nodes.windows(2).enumerate() {
            let link = names.link(ends[0], ends[1]);
            let gap = || wrong(place + 1, no_cable(fabric, ends[0], &self.path[place + 1]));
            links.push(link.ok_or_else(gap)?);
        }
        Ok((nodes, links))
    }
}

impl Explicit {
    /// Problems of the flows that routes are for, now that all are drawn; paths are below the balancer.
    /// `carried` is, for each traffic entry, whether its flows use this balancer.
    pub fn misled(
        &self,
        entries: &[Demand],
        carried: &[bool],
        traffic: &Traffic,
        fabric: &Fabric,
    ) -> Vec<Problem> {
        let mut problems = Vec::new();
        let taken = self.routes.iter().enumerate();
        let taken = taken.filter_map(|(place, route)| Some((place, route.taken_by.as_ref()?)));
        let mut ends: Vec<BTreeMap<u32, (NodeId, NodeId)>> = vec![BTreeMap::new(); entries.len()];
        // By entry and pair of hosts, the flow that starts first, and opens the connection if it is kept.
        let mut openers = BTreeMap::new();
        for flow in &traffic.flows {
            ends[flow.entry as usize].insert(flow.number, (flow.src, flow.dst));
            openers.entry((flow.entry as usize, flow.src, flow.dst)).or_insert(flow.number);
        }
        let names = Names::new(fabric);
        for (place, TakenBy { traffic: name, flows }) in taken {
            if problems.len() >= PROBLEMS_MAX {
                break;
            }
            let mut wrong = |below: &str, what: String| {
                problems.push(Problem::new(format!("routes.{place}.taken_by.{below}"), what));
            };
            let Some(entry) = position(entries, name) else {
                let near = closest(name, entries.iter().map(|entry| entry.name.as_str()));
                let hint = near.map(|near| format!("; {}", did_you_mean(near))).unwrap_or_default();
                wrong("traffic", format!("\"{name}\" is the name of no traffic entry{hint}"));
                continue;
            };
            let unfit = unfit(&entries[entry], carried[entry]);
            if let Some(unfit) = unfit {
                wrong("traffic", format!("the flows of \"{name}\" {unfit}"));
                continue;
            }
            let path = &self.routes[place].path;
            let end = |name: &String| names.find(name).expect("the check has looked at the routes");
            let (first, last) = (end(&path[0]), end(&path[path.len() - 1]));
            for (index, number) in flows.iter().enumerate() {
                let what = match ends[entry].get(number) {
                    None => {
                        let flows = ends[entry].len();
                        let s = if flows == 1 { "" } else { "s" };
                        format!("{number} is too large: \"{name}\" has {flows} flow{s}, numbered from 0")
                    }
                    Some(&(src, dst)) if [(src, dst), (dst, src)].contains(&(first, last)) => {
                        let opener = openers[&(entry, src, dst)];
                        if !entries[entry].kept || opener == *number {
                            continue;
                        }
                        format!(
                            "flow {number} of \"{name}\" goes over the connection that flow {opener} opens; list that one"
                        )
                    }
                    Some((src, dst)) => {
                        let [src, dst] = [src, dst].map(|node| &fabric.nodes[node.index()].name);
                        format!(
                            "flow {number} of \"{name}\" goes from \"{src}\" to \"{dst}\", the route does not"
                        )
                    }
                };
                wrong(&format!("flows.{index}"), what);
            }
        }
        problems
    }
}

/// Why an entry's flows cannot be given routes, if they cannot; `carried` is whether they use this balancer.
fn unfit(entry: &Demand, carried: bool) -> Option<&'static str> {
    match entry {
        _ if !carried => Some("go by another balancer; list the route in theirs"),
        entry if !entry.workload.known_before() => {
            Some("are drawn during the run; name an entry whose flows are known before")
        }
        // The routes of a kept connection are those of the flow that opens it.
        entry if entry.kept && !entry.workload.order_is_known() => Some(
            "share connections, and which flow opens one shows during the run; name an entry with new ones",
        ),
        _ => None,
    }
}

impl Settings for Explicit {
    fn one_path(&self) -> bool {
        true
    }

    fn among_shortest(&self) -> bool {
        false
    }

    fn answers_backwards(&self) -> bool {
        self.answers == Answers::Backwards
    }

    fn links_most(&self, longest: u32) -> u32 {
        self.routes.iter().map(|route| (route.path.len() as u32).saturating_sub(1)).fold(longest, u32::max)
    }

    fn problems(&self, fabric: &Fabric) -> Vec<Problem> {
        let names = Names::new(fabric);
        let problem = |(place, route): (usize, &Route)| {
            let problem = route.links(fabric, &names).err()?;
            Some(problem.within(&format!("routes.{place}")))
        };
        self.routes.iter().enumerate().filter_map(problem).collect()
    }
}

/// A route with its weight.
#[derive(Clone, Debug)]
struct Weighted {
    weight: u32,
    links: Vec<LinkId>,
}

/// The routes by their ends.
#[derive(Clone, Debug)]
pub struct Scheme {
    /// Those that are for all flows between two hosts.
    routes: BTreeMap<(NodeId, NodeId), Vec<Weighted>>,
    /// Those of single flows, by their keys.
    own: FxHashMap<(u64, NodeId, NodeId), Vec<Weighted>>,
    seed: u64,
    replica: u64,
}

impl Scheme {
    pub(super) fn new(config: &Explicit, fabric: &Fabric, seed: u64, replica: u64) -> Scheme {
        let names = Names::new(fabric);
        let mut routes: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let mut own: FxHashMap<_, Vec<_>> = FxHashMap::default();
        for route in &config.routes {
            let (nodes, links) = route.links(fabric, &names).expect("the check has looked at the routes");
            let (from, to) = (nodes[0], nodes[nodes.len() - 1]);
            let weighted = Weighted { weight: route.weight, links };
            match &route.taken_by {
                None => routes.entry((from, to)).or_default().push(weighted),
                Some(TakenBy { traffic, flows }) => flows.iter().for_each(|&number| {
                    own.entry((flow_key(traffic, number), from, to)).or_default().push(weighted.clone());
                }),
            }
        }
        Scheme { routes, own, seed, replica }
    }
}

impl Assign for Scheme {
    fn assign(&self, way: Way, path: &mut Vec<LinkId>) -> Option<u32> {
        let own = self.own.get(&(way.key, way.from, way.to));
        let routes = own.or_else(|| self.routes.get(&(way.from, way.to)))?;
        let mut stream = Stream::new(self.seed, self.replica, Purpose::Paths, u64::from(way.flow_label));
        // Subflows draw one after the other, each from the routes that the ones before it have left.
        let mut left: Vec<usize> = (0..routes.len()).collect();
        let mut taken = 0;
        for _ in 0..=usize::from(way.subflow) % routes.len() {
            let weights = || left.iter().map(|&route| u64::from(routes[route].weight));
            let mut place = stream.below(weights().sum());
            let drawn = weights().position(|weight| {
                let here = place < weight;
                place = place.wrapping_sub(weight);
                here
            });
            taken = left.remove(drawn.expect("below the sum of the weights"));
        }
        path.extend_from_slice(&routes[taken].links);
        Some(taken as u32)
    }
}
