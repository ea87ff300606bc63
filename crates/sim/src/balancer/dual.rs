//! Dual-stack routing: two families of addresses, each with default routes of its own upwards.
//!
//! Source: Song's thesis (Iowa, 2017), section 2.3.2 and figure 2.2. Each switch has one default port up for IPv4 and one
//! for IPv6; a flow with a connection in each family so has two paths. The figure has arrows only; the loads of its example
//! (6, 6, 6, 6) fix the rule: switches of a tier take turns, and the families are half of the ports apart.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;
use super::assigned::{Answers, Assign, Way};
use crate::ids::LinkId;
use crate::topology::Fabric;

/// Default routes upwards by family: two static paths between any two hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dual {
    /// The place where the families part.
    pub by: By,
    /// The path of acknowledgements and other answers: by default that of the same family.
    pub answers: Answers,
}

/// The place where the two families part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// At switches, by the address: subflows with even numbers are of the first family, the others of the second.
    #[default]
    Address,
    /// At hosts alone, by the interface: a host with two cables sends one family by each, and switches have one default.
    Interface,
}

impl Settings for Dual {
    fn one_path(&self) -> bool {
        true
    }

    fn answers_backwards(&self) -> bool {
        self.answers == Answers::Backwards
    }

    fn climbs(&self) -> bool {
        true
    }
}

/// The tables of all nodes.
#[derive(Clone, Debug)]
pub struct Scheme {
    by: By,
    /// Each node's place among those of its tier.
    places: Vec<usize>,
    hosts: u32,
}

impl Scheme {
    pub(super) fn new(config: &Dual, fabric: &Fabric, _seed: u64, _replica: u64) -> Scheme {
        let mut seen: Vec<(&str, usize)> = Vec::new();
        let mut place = |tier| match seen.iter_mut().find(|(known, _)| *known == tier) {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                seen.push((tier, 0));
                0
            }
        };
        let places = fabric.nodes.iter().map(|node| place(node.tier.as_ref())).collect();
        Scheme { by: config.by, places, hosts: fabric.hosts }
    }
}

impl Assign for Scheme {
    fn assign(&self, way: Way, path: &mut Vec<LinkId>) -> Option<u32> {
        let family = usize::from(way.subflow % 2);
        let choose = |at: crate::ids::NodeId, count: usize| match self.by {
            _ if at.0 < self.hosts => family % count,
            By::Interface => self.places[at.index()] % count,
            By::Address => (self.places[at.index()] + family * count.div_ceil(2)) % count,
        };
        way.walk(path, choose).then_some(family as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;
    use crate::routing::Routes;
    use crate::topology::Generator;
    use crate::topology::fat_tree::FatTree;

    /// Names of the nodes behind the two switches at which a path goes up, from a host to the last one of FT(6, 3).
    fn climbs(by: By, from: u32, subflow: u8) -> [String; 2] {
        let fabric = FatTree { k: 6, ..FatTree::default() }.build();
        let scheme = Scheme::new(&Dual { by, ..Dual::default() }, &fabric, 1, 0);
        let routes = Routes::build(&fabric).expect("a connected network");
        let ends: Vec<NodeId> = fabric.links.iter().map(|link| link.to).collect();
        let (from, to) = (NodeId(from), NodeId(fabric.hosts - 1));
        let way = Way { from, to, label: 0, flow_label: 0, subflow, key: 0, routes: &routes, ends: &ends };
        let mut path = Vec::new();
        assert_eq!(scheme.assign(way, &mut path), Some(u32::from(subflow % 2)));
        [1, 2].map(|climb| fabric.nodes[ends[path[climb].index()].index()].name.clone())
    }

    /// Each switch of FT(6, 3) has three ports up. By the rule of figure 2.2 the first family takes the switch's place in its
    /// tier modulo 3, the second half of the ports further on, rounded up: 2. Port c of an
    /// aggregation switch a leads to core a + 3 c. Pod 1 begins with number 3 of both tiers.
    #[test]
    fn tables_with_three_ports_up() {
        for (host, first, second) in [
            (0, ["pod 0 aggregation 0", "core 0"], ["pod 0 aggregation 2", "core 5"]),
            (3, ["pod 0 aggregation 1", "core 4"], ["pod 0 aggregation 0", "core 6"]),
            (6, ["pod 0 aggregation 2", "core 8"], ["pod 0 aggregation 1", "core 1"]),
            (9, ["pod 1 aggregation 0", "core 0"], ["pod 1 aggregation 2", "core 5"]),
        ] {
            assert_eq!(climbs(By::Address, host, 0), first, "host {host}");
            assert_eq!(climbs(By::Address, host, 1), second, "host {host}");
            assert_eq!(climbs(By::Address, host, 2), first, "host {host}: subflow 2 is of the first family");
            // By interface a host with one cable has the first family's way for both.
            assert_eq!(climbs(By::Interface, host, 1), first, "host {host}");
        }
    }
}
