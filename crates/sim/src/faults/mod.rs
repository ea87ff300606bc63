//! Faults of the network: their times, and their effect on links and packets.
//!
//! A scenario lists changes of cables, links and nodes; [`timeline::Timeline`] turns the list into the state
//! of each link over time, and into routes that avoid what is down. A packet is lost if its link is down at
//! any instant from the start of its transmission to its arrival; the port goes on sending meanwhile, like a
//! switch before it detects the fault. Routes change `detection_delay` after a link goes down or comes up,
//! everywhere at once. A fault at time 0 existed before the run: routes avoid it from the start.

pub mod link;
pub mod packets;
pub mod timeline;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::packets::LostPackets;
use crate::ids::{LinkId, NodeId};
use crate::problem::Problem;
use crate::random::{Purpose, Stream};
use crate::topology::Fabric;
use crate::topology::names::{no_cable, unknown};
use crate::units::{Rate, Time};

/// Faults of links and nodes, and lost packets; by default none.
///
/// The loss of a packet on a link is decided when its transmission begins, by the state of the link until the
/// packet would arrive: a packet on the wire when a link goes down is lost, a packet whose transmission
/// begins after it came up is not. The port sends and counts a lost packet like any other; the packet
/// disappears when it would have arrived.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// Routes avoid a link so long after it went down, and use it so long after it came up.
    #[schemars(extend("x-maximum" = "1000s"))]
    pub detection_delay: Time,
    /// Faults, in any order.
    #[schemars(length(max = 10_000))]
    pub events: Vec<Fault>,
    /// Data packets that are lost on the link by which their host sends them, flow by flow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    pub packets: Vec<LostPackets>,
}

/// One fault: a change to a part of the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Time of the change; a change at 0 s holds from before the run.
    pub at: Time,
    /// The cables, links or nodes that change.
    pub target: FaultTarget,
    /// Of several parallel cables or links between the two nodes of `target` only this one, counted from 0. Absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<u32>,
    /// The change.
    pub change: FaultChange,
    /// Undone after this time; by default never. A fault of the same part that overlaps it goes on; of two rates or
    /// two losses that hold at once the later counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ps"))]
    pub lasts: Option<Time>,
}

/// The cables, links or nodes of a fault. Nodes go by the names that `flowyard topology` shows, such as "host
/// 3" or "core 0".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FaultTarget {
    /// All cables between two nodes, both ways.
    Cable([String; 2]),
    /// All links from one node to another, one way. Routes count a cable as down if either way is.
    Link([String; 2]),
    /// A node: all its cables.
    Node(String),
    /// Nodes of a tier, drawn at random.
    RandomNodes(RandomNodes),
    /// Cables between two tiers, drawn at random.
    RandomCables(RandomCables),
}

/// A share of the nodes, drawn at random.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomNodes {
    /// The share, rounded to a whole number of them.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub share: f64,
    /// Only nodes of this tier, such as "core". Absent: all switches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
}

/// A share of the cables, drawn at random.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomCables {
    /// The share, rounded to a whole number of them.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub share: f64,
    /// Only cables between these tiers, such as "edge-aggregation". Absent: all cables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
}

/// The change to a part of the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FaultChange {
    /// It carries no packets any more.
    Down,
    /// It works again.
    Up,
    /// It has another rate; packets in transmission keep theirs.
    Rate(#[schemars(extend("x-minimum" = "1Kbps"))] Rate),
    /// It has this share of its rate as built, and the queue at its head this share of its limit and threshold, if that is
    /// "trimming", "ndp", "drop-tail" or "ecn", or of its limit, if it is "credit", "phantom" or "fpq"; packets in
    /// transmission keep their rate.
    Capacity(#[schemars(range(min = 0.001, max = 1000.0))] f64),
    /// Each packet is lost with this probability.
    Loss(#[schemars(range(min = 0.0, max = 1.0))] f64),
}

impl Default for Faults {
    fn default() -> Self {
        Faults { detection_delay: Time::from_us(1000), events: Vec::new(), packets: Vec::new() }
    }
}

/// The parts of a network that a fault happens to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// Links, by themselves.
    pub links: Vec<LinkId>,
    /// Nodes, with all their links.
    pub nodes: Vec<NodeId>,
}

/// So many problems have a suggestion of the name that was probably meant.
const GUESSES: usize = 20;

impl Faults {
    /// Whether it is empty: no event, and no delay of its own.
    pub fn is_empty(&self) -> bool {
        *self == Faults::default()
    }

    /// Whether any of it happens at a given time, or to a flow of a given number.
    pub fn is_fixed(&self) -> bool {
        self.events.iter().any(|fault| fault.at > Time::ZERO) || !self.packets.is_empty()
    }

    /// The place in it where packets of any kind are lost, if there is one; parts that are down from the
    /// start lose none, for routes avoid them.
    pub fn loses(&self) -> Option<String> {
        let loses = |fault: &Fault| match fault.change {
            FaultChange::Down => fault.at > Time::ZERO,
            FaultChange::Loss(share) => share > 0.0,
            FaultChange::Up | FaultChange::Rate(_) | FaultChange::Capacity(_) => false,
        };
        let event = self.events.iter().position(loses).map(|index| format!("events.{index}.change"));
        event.or_else(|| (!self.packets.is_empty()).then(|| "packets".to_string()))
    }

    /// All that is wrong with the events in that network; paths are below the faults.
    pub fn problems(&self, fabric: &Fabric) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (index, fault) in self.events.iter().enumerate() {
            let event = format!("events.{index}");
            // A guess looks at every name: a long list of mistakes has none behind the first ones.
            let guess = problems.len() < GUESSES;
            let mut stream = Stream::new(0, 0, Purpose::Faults, 0);
            if let Err(problem) = fault.find(fabric, &mut stream, guess) {
                problems.push(problem.within(&event));
            }
            if let (FaultChange::Up, Some(_)) = (&fault.change, fault.lasts) {
                let what = "goes with a change that can be undone, and \"up\" undoes one";
                problems.push(Problem::new("lasts", what).within(&event));
            }
        }
        problems
    }
}

impl Fault {
    /// The parts of the network that change; or the problem, with the path below the fault.
    pub fn find(&self, fabric: &Fabric, stream: &mut Stream, guess: bool) -> Result<Parts, Box<Problem>> {
        let parts =
            self.target.find(fabric, stream, guess).map_err(|problem| Box::new(problem.within("target")))?;
        let Some(number) = self.parallel else { return Ok(parts) };
        let (from, both) = match &self.target {
            FaultTarget::Cable([from, _]) => (from, true),
            FaultTarget::Link([from, _]) => (from, false),
            _ => return Err(Box::new(Problem::new("parallel", "goes with target.cable or target.link"))),
        };
        let forward: Vec<LinkId> = parts
            .links
            .iter()
            .copied()
            .filter(|id| fabric.nodes[fabric.links[id.index()].from.index()].name == *from)
            .collect();
        let Some(&id) = forward.get(number as usize) else {
            let (last, count) = (forward.len() - 1, forward.len());
            let message = format!(
                "is {number}, and {count} such cables join these nodes, which are counted from 0: at most {last}"
            );
            return Err(Box::new(Problem::new("parallel", message)));
        };
        let links = if both { vec![id, id.reverse()] } else { vec![id] };
        Ok(Parts { links, ..Parts::default() })
    }
}

impl FaultTarget {
    /// The parts of the network that it selects; or the problem, with the path below the target.
    ///
    /// The problem of an unknown name has the one that was probably meant, if `guess` is set.
    pub fn find(&self, fabric: &Fabric, stream: &mut Stream, guess: bool) -> Result<Parts, Box<Problem>> {
        let node = |name: &str, path: String| {
            let place = fabric.nodes.iter().position(|node| node.name == name);
            let none = || Box::new(Problem::new(path, unknown(fabric, name, guess)));
            place.map(|place| NodeId(place as u32)).ok_or_else(none)
        };
        let between = |path: &str, [from, to]: &[String; 2], both: bool| {
            let (a, b) = (node(from, format!("{path}.0"))?, node(to, format!("{path}.1"))?);
            let joins = |id: &LinkId| {
                let link = &fabric.links[id.index()];
                (link.from, link.to) == (a, b) || both && (link.from, link.to) == (b, a)
            };
            let links: Vec<LinkId> = all_links(fabric).filter(joins).collect();
            let none = || Box::new(Problem::new(path, no_cable(fabric, a, to)));
            if links.is_empty() { Err(none()) } else { Ok(Parts { links, ..Parts::default() }) }
        };
        match self {
            FaultTarget::Cable(ends) => between("cable", ends, true),
            FaultTarget::Link(ends) => between("link", ends, false),
            FaultTarget::Node(name) => {
                Ok(Parts { nodes: vec![node(name, "node".into())?], ..Parts::default() })
            }
            FaultTarget::RandomNodes(RandomNodes { share, tier }) => {
                let chosen = |node: &NodeId| match tier {
                    Some(tier) => *tier == fabric.nodes[node.index()].tier,
                    None => !fabric.is_host(*node),
                };
                let nodes: Vec<_> = (0..fabric.nodes.len() as u32).map(NodeId).filter(chosen).collect();
                if nodes.is_empty() {
                    let tiers = fabric.nodes.iter().map(|node| node.tier.to_string());
                    return Err(nothing("random-nodes", tier, tiers).into());
                }
                Ok(Parts { nodes: draw(nodes, *share, stream), ..Parts::default() })
            }
            FaultTarget::RandomCables(RandomCables { share, tier }) => {
                let tier_of = |id: LinkId| fabric.tier_of(&fabric.links[id.index()]);
                let chosen = |id: &LinkId| match tier {
                    Some(name) => *name == tier_of(*id) || *name == tier_of(id.reverse()),
                    None => true,
                };
                let cables: Vec<_> = all_links(fabric).step_by(2).filter(chosen).collect();
                if cables.is_empty() {
                    return Err(nothing("random-cables", tier, all_links(fabric).map(tier_of)).into());
                }
                let drawn = draw(cables, *share, stream).into_iter();
                Ok(Parts { links: drawn.flat_map(|id| [id, id.reverse()]).collect(), ..Parts::default() })
            }
        }
    }
}

/// The share of the candidates, as a number of them.
fn draw<T>(mut candidates: Vec<T>, share: f64, stream: &mut Stream) -> Vec<T> {
    stream.shuffle(&mut candidates);
    candidates.truncate((share * candidates.len() as f64).round() as usize);
    candidates
}

/// The message if there are no candidates.
fn nothing(path: &str, tier: &Option<String>, tiers: impl Iterator<Item = String>) -> Problem {
    let tiers: BTreeSet<String> = tiers.map(|tier| format!("\"{tier}\"")).collect();
    let tiers = tiers.into_iter().collect::<Vec<_>>().join(", ");
    match tier {
        Some(tier) => Problem::new(
            format!("{path}.tier"),
            format!("\"{tier}\" is no tier of this network; use {tiers}"),
        ),
        None => Problem::new(path, format!("this network has no switch; name a tier: {tiers}")),
    }
}

fn all_links(fabric: &Fabric) -> impl Iterator<Item = LinkId> {
    (0..fabric.links.len() as u32).map(LinkId)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;
    use crate::topology::Generator;
    use crate::topology::fat_tree::FatTree;
    use crate::topology::leaf_spine::LeafSpine;

    /// A k = 4 fat-tree has 20 switches, 8 of them aggregation switches, and 48 cables, 16 of them to the core. A share of them
    /// is a number of different ones, rounded.
    #[test]
    fn random_targets_are_a_share_of_the_candidates() {
        let fabric = FatTree { k: 4, ..FatTree::default() }.build();
        let found = |target: &FaultTarget| {
            let mut stream = Stream::new(1, 0, Purpose::Faults, 0);
            let Parts { mut links, mut nodes } =
                target.find(&fabric, &mut stream, false).expect("candidates");
            (links.len(), nodes.len(), {
                links.sort_unstable();
                links.dedup();
                nodes.sort_unstable();
                nodes.dedup();
                (links.len(), nodes.len())
            })
        };
        let tier = |name: &str| Some(name.to_string());
        for (share, name, nodes) in
            [(0.25, tier("aggregation"), 2), (0.1, None, 2), (0.75, tier("core"), 3), (0.37, tier("host"), 6)]
        {
            let target = FaultTarget::RandomNodes(RandomNodes { share, tier: name });
            assert_eq!(found(&target), (0, nodes, (0, nodes)), "{target:?}");
        }
        for (share, name, cables) in [(0.25, None, 12), (0.75, tier("aggregation-core"), 12)] {
            let target = FaultTarget::RandomCables(RandomCables { share, tier: name });
            assert_eq!(found(&target), (2 * cables, 0, (2 * cables, 0)), "{target:?}");
        }
    }

    /// Two parallel cables between each leaf and spine: a fault of all is one of four links, of one cable of two, of one link of
    /// one, and both numbers together are all. There is no third, and nodes have none.
    #[test]
    fn one_of_parallel_cables_can_fail() {
        let fabric =
            LeafSpine { leaves: 2, spines: 2, hosts: 1, parallel: 2, ..LeafSpine::default() }.build();
        let ends = || ["leaf 1".to_string(), "spine 0".to_string()];
        let find = |target: FaultTarget, parallel| {
            let fault = Fault { at: Time::ZERO, target, parallel, change: FaultChange::Down, lasts: None };
            fault.find(&fabric, &mut Stream::new(0, 0, Purpose::Faults, 0), false)
        };
        let links = |target, parallel| {
            let mut links = find(target, parallel).expect("such cables").links;
            links.sort_unstable();
            links
        };
        let all = links(FaultTarget::Cable(ends()), None);
        assert_eq!(all.len(), 4);
        let mut both = [0, 1].map(|number| links(FaultTarget::Cable(ends()), Some(number))).concat();
        both.sort_unstable();
        assert_eq!(both, all);
        for number in [0, 1] {
            let cable = links(FaultTarget::Cable(ends()), Some(number));
            let [link] = links(FaultTarget::Link(ends()), Some(number))[..] else { panic!("one link") };
            assert!(cable.len() == 2 && cable.contains(&link) && cable.contains(&link.reverse()));
            assert_eq!(fabric.nodes[fabric.links[link.index()].from.index()].name, "leaf 1");
        }
        let problem = |target, number| find(target, Some(number)).expect_err("no such cable");
        let third = problem(FaultTarget::Cable(ends()), 2);
        assert_eq!(third.path, "parallel");
        assert!(third.message.contains("2 such cables join these nodes"), "{}", third.message);
        assert_eq!(problem(FaultTarget::Node("leaf 1".into()), 0).path, "parallel");
    }
}
