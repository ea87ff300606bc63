//! Explicit routes: the scenario lists the paths between pairs of hosts.
//!
//! For paths that come from elsewhere: an optimiser, a trace, a routing scheme of one's own. Weights make a random choice
//! among them, such as with the probabilities that follow from the loads of links (Song's thesis, Iowa 2017, section 2.4).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use super::assigned::{Answers, Assign, Way};
use crate::engine::paths::LINKS_MAX;
use crate::ids::{LinkId, NodeId};
use crate::problem::Problem;
use crate::random::{Purpose, Stream};
use crate::topology::Fabric;
use crate::topology::names::{Names, no_cable};

/// Each connection goes by a route that the scenario lists; without one, by a shortest path as under "per-flow".
///
/// With several routes between two hosts, a connection draws one by their weights; its subflows draw different ones as long
/// as there are enough.
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
    /// How often it is drawn, in proportion to the weights of the others between these hosts.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub weight: u32,
}

fn one() -> u32 {
    1
}

impl Route {
    /// Its nodes and links; or what is wrong, with the path below the route.
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

impl Settings for Explicit {
    fn one_path(&self) -> bool {
        true
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
    routes: BTreeMap<(NodeId, NodeId), Vec<Weighted>>,
    seed: u64,
    replica: u64,
}

impl Scheme {
    pub(super) fn new(config: &Explicit, fabric: &Fabric, seed: u64, replica: u64) -> Scheme {
        let names = Names::new(fabric);
        let mut routes: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for route in &config.routes {
            let (nodes, links) = route.links(fabric, &names).expect("the check has looked at the routes");
            routes
                .entry((nodes[0], nodes[nodes.len() - 1]))
                .or_default()
                .push(Weighted { weight: route.weight, links });
        }
        Scheme { routes, seed, replica }
    }
}

impl Assign for Scheme {
    fn assign(&self, way: Way, path: &mut Vec<LinkId>) -> Option<u32> {
        let routes = self.routes.get(&(way.from, way.to))?;
        let mut stream = Stream::new(self.seed, self.replica, Purpose::Paths, u64::from(way.flow_label));
        // Subflows draw one after the other, each from what the ones before it have left.
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
